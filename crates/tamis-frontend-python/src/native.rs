//! The native part of the plugin, tried in the interpreters that are here: it says what the plugin says without it.

use crate::plugin_files;
use std::collections::BTreeSet;
use std::process::{Command, Stdio};

/// What the script says; `None` where there is no such interpreter (a name may be there and lead nowhere).
fn tried_in(python: &str) -> Option<String> {
    let mut starts = Command::new(python);
    starts.args(["-c", ""]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    if !starts.status().is_ok_and(|status| status.success()) {
        return None;
    }
    let folder = tempfile::tempdir().expect("a folder");
    plugin_files::write(folder.path()).expect("the plugin is written");
    let script = folder.path().join("tried.py");
    std::fs::write(&script, include_str!("native/tried.py")).expect("the script is written");
    let place = plugin_files::place(folder.path());
    let mut command = Command::new(python);
    command.arg("-S").arg(&script).arg(place).stdin(Stdio::null());
    let output = command.output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    assert!(output.status.success(), "{python}: {text}\n{output:?}");
    Some(text)
}

/// Each one by its name, and those that the tests of the plugin run with.
fn pythons() -> BTreeSet<String> {
    let usual = ["python3", "python3.11", "python3.12", "python3.13", "python3.14"];
    let named = |name: &str| std::env::var(name).unwrap_or_default();
    let several = named("TAMIS_TEST_PYTHONS") + ":" + &named("TAMIS_TEST_PYTHON");
    let all = usual.into_iter().chain(several.split(':')).filter(|name| !name.is_empty());
    all.map(str::to_owned).collect()
}

/// Whether the native part is for it.
fn is_supported(python: &str) -> bool {
    let asks = "import sys; print(sys.implementation.name == 'cpython' and (3, 11) <= sys.version_info < (3, 15) \
                and 't' not in sys.abiflags)";
    let answer = Command::new(python).args(["-c", asks]).stdin(Stdio::null()).output();
    answer.is_ok_and(|answer| answer.stdout.trim_ascii() == b"True")
}

#[test]
fn it_finds_what_the_plugin_finds_without_it() {
    for python in pythons() {
        let Some(found) = tried_in(&python) else { continue };
        // Of an interpreter that it does not know it says so, and the plugin does without it.
        let expected = match is_supported(&python) {
            true => "as in Python",
            false => "no native part for this interpreter",
        };
        assert_eq!(found, expected, "{python}");
    }
}
