//! The native part of the plugin, tried in the interpreters that are here: it says what the plugin says without it.

use crate::plugin_files;
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

#[test]
fn it_finds_what_the_plugin_finds_without_it() {
    let pythons = ["python3", "python3.11", "python3.12", "python3.13"];
    let named = std::env::var("TAMIS_TEST_PYTHON").ok();
    let all = pythons.into_iter().chain(named.as_deref());
    for said in all.filter_map(tried_in) {
        // Of an interpreter that it does not know it says so, and the plugin does without it.
        assert!(
            ["as in Python", "no native part for this interpreter"].contains(&&*said),
            "{said}"
        );
    }
}
