//! Before and after a run.

use crate::{is_off, pushing};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::Duration;
use tamis_core::Notices;
use tamis_project::Project;
use tamis_remote::Remote;
use tamis_remote::place::Deadline;
use tamis_remote::pull::{Pulled, Wish};
use tamis_report::human::counted;
use tamis_settings::Push;
use tamis_store::Believed;

/// Reasons that are shown of those that are alike.
const MOST_REASONS: usize = 3;

/// Which records of other machines count in this call, also where the shared store is left alone.
pub fn believed(project: &Project, notices: &dyn Notices) -> Believed {
    let Some(settings) = project.settings.remote.as_ref() else { return Believed::default() };
    tamis_remote::believed(settings, &project.paths).unwrap_or_else(|error| {
        notices.warn(format!("records of other machines do not count: {error}"));
        Believed::default()
    })
}

/// Takes in what is new, within `pull-timeout`.
pub fn pull_before(project: &Project, offline: bool, notices: &dyn Notices) {
    let Some(settings) = project.settings.remote.as_ref().filter(|_| !is_off(offline)) else {
        return;
    };
    let remote = match Remote::new(settings, &project.paths) {
        Ok(remote) => remote,
        Err(error) => return notices.warn(format!("the shared store is not used: {error}")),
    };
    if remote.read_scopes().is_empty() {
        return;
    }
    let Some(store) = project.open_store(notices).filter(|store| store.read_only().is_none())
    else {
        return;
    };
    let time = settings.pull_timeout;
    // A thread of its own: a folder on a dead server cannot be asked with a deadline.
    let work = move || remote.pull(&store, Wish::default(), Deadline::within(time));
    match pushing::within(time, "tamis-pull", work) {
        Some(pulled) => tell(&pulled, notices),
        None => notices.warn(format!(
            "the shared store gave no answer within {}: it is decided without what is new there",
            seconds(time)
        )),
    }
}

fn seconds(time: Duration) -> String {
    format!("{} s", (time.as_millis() as f64 / 1000.0 * 10.0).round() / 10.0)
}

fn tell(pulled: &Pulled, notices: &dyn Notices) {
    if pulled.records > 0 {
        let records = counted(pulled.records as u64, "record", "records");
        notices.remark(format!("took {records} from the shared store"));
    }
    for why in pulled.refused.iter().take(MOST_REASONS) {
        notices.warn(format!("in the shared store, {why}"));
    }
    let more = pulled.refused.len().saturating_sub(MOST_REASONS);
    if more > 0 {
        notices.warn(format!("... and {more} more; `tamis store verify` lists them"));
    }
    if let Some(why) = pulled.failed.first() {
        notices.warn(format!(
            "the shared store could not be read, and it is decided without what is new there: {why}"
        ));
    }
}

/// Brings new records away, as `push` in tamis.toml says.
pub fn push_after(project: &Project, offline: bool, notices: &dyn Notices) {
    let settings = project.settings.remote.as_ref().filter(|_| !is_off(offline));
    let Some(settings) = settings.filter(|settings| settings.push != Push::No) else { return };
    let Ok(Some(store)) = project.existing_store(&tamis_core::Silent) else { return };
    let Ok(remote) = Remote::new(settings, &project.paths) else { return };
    let Some(scope) = remote.write_scope().filter(|_| store.read_only().is_none()) else { return };
    let new = remote.unpushed(&store, &scope).unwrap_or(0);
    if new == 0 {
        return;
    }
    let records = counted(new as u64, "new record", "new records");
    if settings.push == Push::Wait {
        let outcome = match pushing::push_within(
            &project.paths,
            store,
            remote,
            &scope,
            pushing::WAIT,
        ) {
            Ok(text) => text,
            Err(error) => format!(
                "{records} could not be pushed to {scope} and stay here for the next time: {error}"
            ),
        };
        return notices.remark(outcome);
    }
    match in_background(project) {
        Ok(()) => notices.remark(format!(
            "{records} for {scope} of the shared store; they are pushed in the background (`tamis store status` says what arrived)"
        )),
        Err(error) => notices.warn(format!("{records} were not pushed: {error}; `tamis store push` tries again")),
    }
}

/// Starts a process that pushes and loses its parent: neither the end of tamis nor a closed terminal stops it, and it
/// holds no pipe open that is waited for.
fn in_background(project: &Project) -> std::io::Result<()> {
    let folder = project.store_folder.clone().map_err(std::io::Error::other)?;
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("store").arg("--store").arg(folder).arg("push").current_dir(project.root());
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // SAFETY: between fork and exec only system calls are made.
    unsafe {
        command.pre_exec(|| {
            libc::setsid();
            libc::syscall(libc::SYS_close_range, 3_u32, u32::MAX, libc::CLOSE_RANGE_CLOEXEC);
            Ok(())
        });
    }
    command.spawn().map(drop)
}
