//! What `tamis doctor` checks: can tamis observe here, and which tests have habits that one wants to hear of.

use anyhow::Result;
use tamis_core::{Notices, PortablePath};
use tamis_project::{Project, cache_folder, cache_problem};
use tamis_report::json::doctor::CheckLine;

/// The settings, the records and the tests of a project.
pub fn of_project(project: &Project, notices: &dyn Notices) -> Result<Vec<CheckLine>> {
    let settings = match &project.settings_file {
        Some(file) => format!("{}: no mistakes", file.display()),
        None => "none (defaults)".into(),
    };
    let mut checks = vec![
        CheckLine::well("project", project.root().display().to_string()),
        CheckLine::well("settings", settings),
        store(project, notices),
    ];
    let cache = cache_folder();
    checks.extend(cache.map(|folder| CheckLine::well("cache", folder.display().to_string())));
    checks.extend(cache_problem().map(|problem| CheckLine::problem("cache", problem)));
    // What is wrong with the store stands there already.
    if !checks.iter().any(|check| check.problem) {
        checks.extend(habits(project, notices)?);
    }
    Ok(checks)
}

/// How processes can be watched here.
pub fn engines() -> Vec<CheckLine> {
    let mut chosen = false;
    let mut checks = Vec::new();
    for engine in tamis_trace::choose::engines() {
        let state = match &engine.available {
            Ok(()) if chosen => "works".into(),
            Ok(()) => {
                chosen = true;
                "works, used by default".into()
            }
            Err(why) => format!("does not work here: {why}"),
        };
        checks.push(CheckLine::well("engine", format!("{}: {state}", engine.name)));
    }
    if !chosen {
        let what = "no engine works: tamis cannot run anything here";
        checks.push(CheckLine::problem("engine", what));
    }
    checks
}

/// Whether records can be read and written.
fn store(project: &Project, notices: &dyn Notices) -> CheckLine {
    let store = match project.existing_store(notices) {
        Ok(Some(store)) => store,
        Ok(None) => return CheckLine::well("store", "not made yet"),
        Err(error) => return CheckLine::problem("store", format!("{error:#}")),
    };
    let folder = store.dir().display();
    let probe = store.dir().join(".writable");
    match std::fs::write(&probe, "") {
        Ok(()) => {
            let _ = std::fs::remove_file(&probe);
            CheckLine::well("store", format!("{folder}: can be read and written"))
        }
        Err(error) => CheckLine::problem("store", format!("{folder} cannot be written: {error}")),
    }
}

/// Names tests that leave files behind, read each other's leavings, or cannot be observed. A problem
/// where results can depend on the order of tests.
fn habits(project: &Project, notices: &dyn Notices) -> Result<Vec<CheckLine>> {
    let Some(store) = project.existing_store(notices)? else { return Ok(Vec::new()) };
    let mut checks = Vec::new();
    let mut habit = |text: String| checks.push(CheckLine::well("habit", text));
    for (test, paths) in store.left_behind()? {
        habit(format!("{test} leaves behind {}", some_of(&paths)));
    }
    for test in store.tests()? {
        let key = &test.key;
        tamis_core::taints::lines(&test.last.taints)
            .iter()
            .for_each(|taint| habit(format!("{key} runs every time: {taint}")));
        test.last.notes.iter().for_each(|note| habit(format!("{key} {note}")));
    }
    for reader in store.readers_of_leftovers()? {
        let text = format!(
            "{} looks at {}, which {} left behind: its result may depend on the order",
            reader.reader, reader.path, reader.writer
        );
        checks.push(CheckLine::problem("habit", text));
    }
    Ok(checks)
}

/// The first few paths, and how many more there are.
pub fn some_of(paths: &[PortablePath]) -> String {
    let shown: Vec<String> = paths.iter().take(5).map(ToString::to_string).collect();
    match paths.len().saturating_sub(5) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}
