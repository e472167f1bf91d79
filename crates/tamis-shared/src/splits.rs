//! How the machines of one run come to the same split of what has to run (`--shard`): the first one fixes it in the scope
//! that they write.

use crate::{is_off, pushing};
use tamis_project::Project;
use tamis_remote::Remote;
use tamis_remote::keys::SecretKey;
use tamis_remote::place::Deadline;
use tamis_remote::scope;

/// Fixes bytes under a name, and gives those that are fixed there; in words why that is not known.
pub type Fix = dyn Fn(&str, &[u8]) -> Result<Vec<u8>, String> + Send + Sync;

/// What all machines of this run of CI know it by.
pub fn ci_run() -> Option<String> {
    scope::ci_run(&|name| std::env::var(name).ok())
}

/// The way through the shared store; `None` where this machine writes nothing there.
pub fn fix(project: &Project, offline: bool) -> Option<Box<Fix>> {
    let settings = project.settings.remote.clone().filter(|_| !is_off(offline))?;
    settings.write.as_ref()?;
    let paths = project.paths.clone();
    Some(Box::new(move |name, proposal| {
        let (settings, paths) = (settings.clone(), paths.clone());
        let (name, proposal) = (name.to_owned(), proposal.to_vec());
        let time = settings.pull_timeout;
        let fixed = move || -> anyhow::Result<Vec<u8>> {
            let key = SecretKey::of_this_machine()?;
            let remote = Remote::with_key(&settings, &paths, Some(key.public()))?;
            let scope = remote.write_scope();
            let scope = scope.ok_or_else(|| anyhow::anyhow!("the branch is not known"))?;
            let until = Deadline::within(time);
            Ok(remote.fix((&scope, &name), &proposal, &key, until)?)
        };
        // A folder on a dead server cannot be asked with a deadline.
        let late = || Err(tamis_remote::RemoteError::Late(time).into());
        let fixed = pushing::within(time, "tamis-split", fixed).unwrap_or_else(late);
        fixed.map_err(|error| format!("{error:#}"))
    }))
}
