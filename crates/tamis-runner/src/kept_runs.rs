//! What a run did, kept for `tamis report`: the whole of it for its call, and a line of its figures.
//!
//! Losing it costs a report and nothing else, so nothing here fails.

use crate::call::Call;
use crate::cases::Case;
use std::time::{SystemTime, UNIX_EPOCH};
use tamis_core::Strategy;
use tamis_report::kept::{Called, KeptRun, figures_line};
use tamis_report::{RunReport, Shape};
use tamis_store::Store;

/// Keeps a run that ended just now, or was interrupted.
pub(crate) fn keep(
    call: Call<'_>,
    store: &Store,
    cases: &[Case],
    shape: Shape,
    report: &RunReport,
) {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let at_ms = u64::try_from(now.saturating_sub(report.wall).as_millis()).unwrap_or_default();
    let case = cases.first().filter(|_| shape == Shape::Command);
    let command = case.map(|case| case.key.clone());
    let name = match (&command, cases.is_empty()) {
        (Some(key), _) => key.to_string(),
        (None, false) => "the suites of tamis.toml".to_owned(),
        (None, true) => "a command, of which no module is affected".to_owned(),
    };
    let kept = KeptRun::of(report, Called { at_ms, name, command, options: options(call) });
    let id = kept.called.command.as_ref().map(|key| key.unit.to_stored() + "\n" + &key.folder);
    // A part does not take the place of the whole.
    let which = &call.options.which;
    let part = if which.failed || !which.only.is_empty() { "\npart" } else { "" };
    store.keep_last_run(&(id.unwrap_or_default() + part), &kept.to_bytes());
    store.add_run(at_ms, &figures_line(&kept.figures, &kept.called));
}

/// The options by which other tests ran than a plain call would have run.
fn options(call: Call<'_>) -> Vec<String> {
    let which = &call.options.which;
    let mut words: Vec<String> =
        which.only.patterns().iter().map(|name| format!("--only {name}")).collect();
    words.extend(which.failed.then(|| "--failed".to_owned()));
    words.extend(which.all.then(|| "--all".to_owned()));
    let strategy = call.options.strategy;
    words.extend((strategy != Strategy::Records).then(|| format!("--select {strategy}")));
    words
}
