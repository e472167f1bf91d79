//! Failures that are known: what a test said when it did not pass, and which tests that are not run now
//! did not pass when they last were.
//!
//! The messages are small files beside the records, one per failing test, so that they travel with the
//! store; losing one costs a message and nothing else. A test whose file is gone from the project is no
//! known failure any more.

use crate::cases::Case;
use crate::commands::status::when;
use crate::jvm;
use crate::project::Project;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use tamis_core::{Decision, Hash, TestKey};
use tamis_report::{StillFailing, TestReport};
use tamis_store::Store;

/// Bytes of a message that are kept.
const LONGEST: usize = 8 << 10;

#[derive(Debug, Serialize, Deserialize)]
struct Saved {
    version: u32,
    test: TestKey,
    text: String,
}

const VERSION: u32 = 1;

fn file(project: &Project, key: &TestKey) -> Option<PathBuf> {
    let parts = [&key.suite, &key.name, &key.folder].map(String::as_bytes);
    let name = format!("{}.json", Hash::of_parts(parts));
    Some(project.store_folder.as_ref().ok()?.join("failures").join(name))
}

/// Remembers what a test said, the end of it where it is long.
pub(crate) fn save(project: &Project, key: &TestKey, text: &[u8]) {
    let text = String::from_utf8_lossy(&text[text.len().saturating_sub(LONGEST)..]).into_owned();
    let saved = Saved { version: VERSION, test: key.clone(), text };
    let write = || -> Option<()> {
        let file = file(project, key)?;
        let folder = file.parent()?;
        std::fs::create_dir_all(folder).ok()?;
        let temporary = file.with_extension(format!("{}.new", std::process::id()));
        std::fs::write(&temporary, serde_json::to_vec(&saved).ok()?).ok()?;
        std::fs::rename(&temporary, &file).ok()
    };
    // Without it a later report is poorer, nothing else.
    let _ = write();
}

/// Keeps what a test said if it did not pass; drops what it said before.
pub(crate) fn keep(project: &Project, report: &TestReport) {
    match &report.output {
        Some(text) if report.failed() && !text.is_empty() => save(project, &report.key, text),
        _ => drop(file(project, &report.key).map(std::fs::remove_file)),
    }
}

fn load(project: &Project, key: &TestKey) -> Option<String> {
    let bytes = std::fs::read(file(project, key)?).ok()?;
    let saved: Saved = serde_json::from_slice(&bytes).ok()?;
    (saved.version == VERSION && saved.test == *key).then_some(saved.text)
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
    let Some(Ok(tests)) = store.map(Store::tests) else { return Vec::new() };
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
            message: load(project, &test.key),
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
