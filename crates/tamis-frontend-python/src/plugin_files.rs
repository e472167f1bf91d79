//! The plugin's files, which are in this program, and the variables by which a Python finds them.

use anyhow::{Context as _, Result};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

const FILES: [(&str, &str); 13] = [
    ("sitecustomize.py", include_str!("plugin/sitecustomize.py")),
    ("_tamis_agent.py", include_str!("plugin/_tamis_agent.py")),
    ("_tamis_collect.py", include_str!("plugin/_tamis_collect.py")),
    ("_tamis_coverage.py", include_str!("plugin/_tamis_coverage.py")),
    ("_tamis_evidence.py", include_str!("plugin/_tamis_evidence.py")),
    ("_tamis_imports.py", include_str!("plugin/_tamis_imports.py")),
    ("_tamis_left.py", include_str!("plugin/_tamis_left.py")),
    ("_tamis_library.py", include_str!("plugin/_tamis_library.py")),
    ("_tamis_link.py", include_str!("plugin/_tamis_link.py")),
    ("_tamis_process.py", include_str!("plugin/_tamis_process.py")),
    ("_tamis_pytest.py", include_str!("plugin/_tamis_pytest.py")),
    ("_tamis_state.py", include_str!("plugin/_tamis_state.py")),
    ("_tamis_watch.py", include_str!("plugin/_tamis_watch.py")),
];

/// The native part (tamis-python-agent), as it was built with this program.
const LIBRARY: (&str, &[u8]) =
    ("_tamis_native.so", include_bytes!(concat!(env!("OUT_DIR"), "/_tamis_native.so")));

/// What the plugin has to know, one per line: the file that makes it a host, socket, token, root.
pub(crate) const SESSION: &str = "TAMIS_PYTEST";
const PYTHONPATH: &str = "PYTHONPATH";
/// tox hands on only what its settings name; the plugin takes this out again.
const TOX: (&str, &str) = ("TOX_OVERRIDE", "testenv.pass_env+=PYTHONPATH,TAMIS_PYTEST");

/// Writes the plugin below the session's folder.
pub(crate) fn write(session: &Path) -> Result<()> {
    let folder = place(session);
    std::fs::create_dir_all(&folder).context("the session's folder cannot be written")?;
    let texts = FILES.map(|(name, text)| (name, text.as_bytes()));
    for (name, bytes) in texts.into_iter().chain([LIBRARY]) {
        std::fs::write(folder.join(name), bytes)
            .with_context(|| format!("{name} was not written"))?;
    }
    Ok(())
}

pub(crate) fn place(session: &Path) -> PathBuf {
    session.join("python")
}

/// Adds the plugin to the environment of a command. What the user has in PYTHONPATH stays behind it.
pub(crate) fn add_to(
    environment: &mut Vec<(OsString, OsString)>,
    folder: &Path,
    session: OsString,
) {
    let own = environment.iter().find(|(name, _)| name == PYTHONPATH);
    let own = own.map(|(_, value)| value.clone());
    let mut all = folder.as_os_str().to_owned();
    if let Some(own) = own.filter(|own| !own.is_empty()) {
        all.push(":");
        all.push(own);
    }
    environment.retain(|(name, _)| name != PYTHONPATH && name != SESSION);
    environment.push((PYTHONPATH.into(), all));
    environment.push((SESSION.into(), session));
}

/// tox, somewhere below the command, is asked to hand both on. What the user asks of it in the same way stays.
pub(crate) fn through_tox(environment: &mut Vec<(OsString, OsString)>) {
    if !environment.iter().any(|(name, _)| name == TOX.0) {
        environment.push((TOX.0.into(), TOX.1.into()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_users_path_stays_behind_ours() {
        let mut environment = vec![("A".into(), "1".into()), (PYTHONPATH.into(), "src:lib".into())];
        add_to(&mut environment, Path::new("/s/python"), "x".into());
        let expected = [("A", "1"), (PYTHONPATH, "/s/python:src:lib"), (SESSION, "x")];
        assert_eq!(environment, expected.map(|(n, v)| (n.into(), v.into())));
        add_to(&mut environment, Path::new("/t"), "y".into());
        assert_eq!(environment.len(), 3);
    }

    #[test]
    fn without_a_path_of_the_user_ours_stands_alone() {
        let mut environment = vec![(PYTHONPATH.into(), "".into())];
        add_to(&mut environment, Path::new("/s"), "x".into());
        assert_eq!(environment[0], (PYTHONPATH.into(), "/s".into()));
    }

    #[test]
    fn what_the_user_asks_of_tox_stays() {
        let mut environment = Vec::new();
        through_tox(&mut environment);
        assert_eq!(environment, [(TOX.0.into(), TOX.1.into())]);
        let mut environment = vec![(TOX.0.into(), "x=y".into())];
        through_tox(&mut environment);
        assert_eq!(environment, [(TOX.0.into(), "x=y".into())]);
    }

    #[test]
    fn all_files_are_written() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path()).unwrap();
        assert!(place(folder.path()).join("sitecustomize.py").is_file());
        assert_eq!(std::fs::read_dir(place(folder.path())).unwrap().count(), FILES.len() + 1);
    }
}
