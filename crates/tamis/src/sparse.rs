//! `--collect-every N`: which runs are recorded.
//!
//! Between two recorded runs the records stay as they are, so every change since the last recorded
//! run still counts: what ran without being recorded runs again.

use crate::args::Running;
use crate::cases::Case;
use crate::project::Project;
use std::path::PathBuf;
use tamis_core::Hash;

/// Whether this run is recorded. Counts it.
pub(crate) fn collects(project: &Project, running: &Running, cases: &[Case]) -> bool {
    let Some(every) = running.collect_every else { return !running.no_collect };
    let Some(file) = counter(project, cases) else { return true };
    let since = std::fs::read_to_string(&file).ok().and_then(|n| n.trim().parse::<u32>().ok());
    // Without a count there is no recorded run to compare with.
    let next = since.map_or(0, |n| n.saturating_add(1)) % every.get();
    let written = std::fs::create_dir_all(file.parent().unwrap_or(&file))
        .and_then(|()| std::fs::write(&file, format!("{next}\n")));
    next == 0 || written.is_err()
}

/// Runs since the recorded one, for these tests together.
fn counter(project: &Project, cases: &[Case]) -> Option<PathBuf> {
    let mut names: Vec<String> = match cases {
        [one] => vec![one.key.to_string(), one.key.folder.clone()],
        several => several.iter().map(|case| case.key.suite.clone()).collect(),
    };
    names.dedup();
    let key = Hash::of_parts(names.iter().map(String::as_bytes));
    Some(project.store_folder.as_ref().ok()?.join("sparse").join(key.to_string()))
}
