//! Records and the tests that have them, in words and in JSON, as `status`, `history` and `why` show them.

use crate::json::seconds;
use crate::json::status::RecordFacts;
use crate::style::Role;
use crate::{Style, TestReport, human, reason};
use std::fmt::Write as _;
use std::time::Duration;
use tamis_core::taints::{self, TaintGroup};
use tamis_core::{Planned, RecordSummary, Taint, TestKey};

/// All known tests with what would become of them, under a line that counts them.
pub fn known_tests(planned: &[Planned], style: Style) -> String {
    let run = planned.iter().filter(|p| p.decision.is_run()).count() as u64;
    let all = planned.len() as u64;
    let mut text = format!(
        "tests     {}: {} would run, {} would be skipped\n",
        human::number(all),
        human::number(run),
        human::number(all - run)
    );
    for planned in planned {
        let test = &TestReport::of(planned);
        let word = if test.decision.is_run() {
            style.paint(Role::Strong, "run ")
        } else {
            style.paint(Role::Faint, "skip")
        };
        let last = planned.evidence.newest.as_ref().map_or_else(String::new, |r| {
            let outcome = reason::outcome(&planned.key, r.outcome);
            format!("{outcome} {}; ", human::ago(r.started_ms))
        });
        let why = test.proof.as_deref().unwrap_or(&test.reason);
        let _ = writeln!(text, "  {word}  {}  ({last}{why})", test.key);
    }
    text
}

/// `flaky in 2 of 5 records`.
pub fn flaky_counts(flaky: usize, records: usize) -> String {
    let records = human::counted(records as u64, "record", "records");
    format!("flaky in {} of {records}", human::number(flaky as u64))
}

/// A record in the JSON of `status` and `history`.
pub fn json(key: &TestKey, record: &RecordSummary) -> RecordFacts {
    RecordFacts {
        record: record.id.0,
        outcome: reason::outcome(key, record.outcome),
        passed: record.outcome.passed(),
        flaky: record.is_flaky(),
        started_ms: record.started_ms,
        seconds: seconds(Duration::from_micros(record.wall_us)),
        cpu_seconds: seconds(Duration::from_micros(record.cpu_us)),
        engine: record.engine.clone(),
        inputs: record.inputs,
        taints: taints::lines(&record.taints),
        notes: record.notes.iter().map(ToString::to_string).collect(),
    }
}

/// Taints of one kind as part of a record.
pub fn taint_text(taint: &TaintGroup<'_>) -> String {
    match taint.first() {
        Taint::Flaky { .. } => taint.text(),
        _ => format!("not completely observed: {}", taint.text()),
    }
}

/// One record with what is to be known of it, in lines.
pub fn text(key: &TestKey, record: &RecordSummary) -> String {
    let mut text = format!(
        "  {}  {}, {} in {}, {}, observed by {}\n",
        record.id,
        human::ago(record.started_ms),
        reason::outcome(key, record.outcome),
        human::duration(Duration::from_micros(record.wall_us)),
        human::counted(u64::from(record.inputs), "input", "inputs"),
        record.engine
    );
    for taint in taints::by_kind(&record.taints) {
        let _ = writeln!(text, "        {}", taint_text(&taint));
    }
    for note in &record.notes {
        let _ = writeln!(text, "        {note}");
    }
    text
}

/// What `tamis deps` shows: the inputs of a record by kind, and what else is known of it.
pub fn inputs_of(
    key: &TestKey,
    id: tamis_core::RecordId,
    run: &tamis_core::record::Run,
    inputs: &[&tamis_core::record::Observed],
    shown: crate::inputs::Shown<'_>,
) -> String {
    let count = human::counted(run.observed.len() as u64, "input", "inputs");
    let mut text = format!("{key}: {count} in record {id}\n");
    if inputs.is_empty() && !shown.words.is_empty() {
        let _ = writeln!(text, "none of them has {} in its name", shown.words.join(" or "));
    }
    text += &crate::inputs::by_kind(inputs, shown);
    for note in &run.notes {
        let _ = writeln!(text, "note: {note}");
    }
    for taint in tamis_core::taints::lines(&run.taints) {
        let _ = writeln!(text, "not completely observed: {taint}");
    }
    text
}
