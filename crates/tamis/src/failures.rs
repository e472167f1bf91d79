//! Failures that are known: what a test said when it did not pass, and which tests that are not run now
//! did not pass when they last were.
//!
//! The messages are kept with the tests in the store; losing one costs a message and nothing else. A test whose file is gone from the project is no
//! known failure any more.

use crate::cases::Case;
use crate::commands::status::when;
use crate::jvm;
use crate::project::Project;
use std::collections::HashSet;
use std::ffi::OsString;
use std::path::Path;
use tamis_core::{Decision, TestKey};
use tamis_report::{StillFailing, TestReport};
use tamis_store::Store;

/// Bytes of a message that are kept.
const LONGEST: usize = 8 << 10;

/// Remembers what a test with a record said, the end of it where it is long.
pub(crate) fn save(store: Option<&Store>, key: &TestKey, text: &[u8]) {
    let text = &text[text.len().saturating_sub(LONGEST)..];
    // Without it a later report is poorer, nothing else.
    let _ = store.map(|store| store.set_message(key, Some(text)));
}

/// Keeps what a test said if it did not pass; drops what it said before.
pub(crate) fn keep(store: Option<&Store>, report: &TestReport) {
    match &report.output {
        Some(text) if report.failed() && !text.is_empty() => save(store, &report.key, text),
        _ => drop(store.map(|store| store.set_message(&report.key, None))),
    }
}

fn load(store: &Store, key: &TestKey) -> Option<String> {
    let text = store.message(key).ok()??;
    Some(String::from_utf8_lossy(&text).into_owned())
}

/// The tests that a call left alone and that did not pass when they last ran: those of `left_out`, those
/// that were not finished, and the test classes of the builds that were called.
pub(crate) fn still_failing(
    project: &Project,
    store: Option<&Store>,
    cases: &[Case],
    left_out: &[TestKey],
    reports: &[TestReport],
) -> Vec<StillFailing> {
    let Some(store) = store else { return Vec::new() };
    let Ok(tests) = store.tests() else { return Vec::new() };
    let settled = reports
        .iter()
        .filter(|r| r.outcome.is_some() || matches!(r.decision, Decision::Skip { .. }))
        .map(|report| &report.key);
    let settled: HashSet<&TestKey> = settled.collect();
    let asked: HashSet<&TestKey> = cases.iter().map(|case| &case.key).chain(left_out).collect();
    let tools: HashSet<&str> = cases.iter().filter_map(|case| jvm::tool(&case.words)).collect();
    let concerns = |key: &TestKey| {
        let of_tool = || tools.iter().any(|tool| key.suite.starts_with(tool));
        asked.contains(key) || of_tool() && may_be_there(project, key)
    };
    tests
        .into_iter()
        .filter(|test| !test.last.outcome.passed() && !settled.contains(&test.key))
        .filter(|test| concerns(&test.key))
        .map(|test| StillFailing {
            message: load(store, &test.key),
            outcome: test.last.outcome,
            flaky: test.last.is_flaky(),
            record: test.last.id,
            when: when(test.last.started_ms),
            key: test.key,
        })
        .collect()
}

/// The test classes of a command's tool that did not pass when they last ran, where it is not even
/// started.
pub(crate) fn of_tool(project: &Project, words: &[OsString]) -> Vec<TestKey> {
    let store = project.existing_store().ok().flatten();
    let (Some(tool), Some(Ok(tests))) = (jvm::tool(words), store.as_ref().map(Store::tests)) else {
        return Vec::new();
    };
    tests
        .into_iter()
        .filter(|test| !test.last.outcome.passed() && test.key.suite.starts_with(tool))
        .map(|test| test.key)
        .filter(|key| may_be_there(project, key))
        .collect()
}

/// Whether a test class may still be there: it is gone if its module has sources and none of them is
/// called like it.
fn may_be_there(project: &Project, key: &TestKey) -> bool {
    let folder = project.root().join(&key.folder);
    let sources = folder.join("src");
    let simple = key.name.rsplit('.').next().unwrap_or(&key.name);
    let outermost = simple.split('$').next().unwrap_or(simple);
    folder.is_dir() && (!sources.is_dir() || has_source(&sources, outermost, 0))
}

/// Deeper folders are no sources.
const DEEPEST: usize = 40;

fn has_source(folder: &Path, name: &str, depth: usize) -> bool {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut folders = Vec::new();
    for entry in entries {
        let path = entry.path();
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => folders.push(path),
            Ok(_) if path.file_stem().is_some_and(|stem| stem == name) => return true,
            _ => {}
        }
    }
    depth < DEEPEST && folders.iter().any(|folder| has_source(folder, name, depth + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_found_by_the_name_of_the_class() {
        let folder = tempfile::tempdir().unwrap();
        let deep = folder.path().join("test/java/com/acme");
        std::fs::create_dir_all(&deep).unwrap();
        std::fs::write(deep.join("ATest.java"), "").unwrap();
        assert!(has_source(folder.path(), "ATest", 0));
        assert!(!has_source(folder.path(), "BTest", 0));
        assert!(!has_source(folder.path(), "ATest", DEEPEST));
    }
}
