//! `--collect-every N`: which runs are recorded.
//!
//! Between two recorded runs the records stay as they are, so every change since the last recorded
//! run still counts: what ran without being recorded runs again.

use crate::call::Call;
use crate::cases::Case;
use std::path::PathBuf;
use tamis_core::Hash;
use tamis_project::Project;

/// Whether this run is recorded. Counts it.
pub(crate) fn collects(call: Call<'_>, cases: &[Case]) -> bool {
    let Some(every) = call.options.collect_every else { return !call.options.no_collect };
    let Some(file) = counter(call.project, cases) else { return true };
    let since = std::fs::read_to_string(&file).ok().and_then(|n| n.trim().parse::<u32>().ok());
    // Without a count there is no recorded run to compare with.
    let next = since.map_or(0, |n| n.saturating_add(1)) % every.get();
    let written = tamis_private::write(&file, format!("{next}\n").as_bytes());
    next == 0 || written.is_err()
}

/// Runs since the recorded one, for these tests together.
fn counter(project: &Project, cases: &[Case]) -> Option<PathBuf> {
    let mut names: Vec<String> = match cases {
        [one] => vec![one.key.scope.to_stored(), one.key.unit.to_stored(), one.key.folder.clone()],
        several => several.iter().map(|case| case.key.scope.to_stored()).collect(),
    };
    names.dedup();
    let key = Hash::of_parts(names.iter().map(String::as_bytes));
    Some(project.store_folder.as_ref().ok()?.join("sparse").join(key.to_string()))
}
