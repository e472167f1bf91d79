//! `tamis status` and `tamis history`.

use crate::args::Options;
use crate::context::Context;
use crate::terminal;
use anyhow::Result;
use std::collections::HashMap;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::time::Duration;
use tamis_core::taints::{self, TaintGroup};
use tamis_core::{Planned, RecordSummary, Taint, TestKey};
use tamis_project::Project;
use tamis_report::json::status::{RecordFacts, RecordLine, TestLine};
use tamis_report::json::{Line, Version, seconds};
use tamis_report::style::Role;
use tamis_report::{TestReport, human};
use tamis_runner::cases;
use tamis_store::{Store, TestSummary};

pub(crate) fn status(options: &Options) -> Result<i32> {
    let context = Context::new(options)?;
    let (call, project) = (context.call(), &context.project);
    let store = call.existing_store()?;
    let planned = tamis_runner::plan::known(call, store.as_ref())?;
    // Losing this cache costs time only.
    let _ = project.fingerprinter.flush();
    if options.common.json {
        let tests = store.as_ref().map(Store::tests).transpose()?.unwrap_or_default();
        let flaky: HashMap<&TestKey, usize> = tests.iter().map(|t| (&t.key, t.flaky)).collect();
        let mut text = String::new();
        for p in &planned {
            let line = planned_json(p, flaky.get(&p.key).copied().unwrap_or(0));
            let _ = writeln!(text, "{}", line.text()?);
        }
        terminal::print(&text);
        return Ok(0);
    }
    let mut text = format!("project   {}\n", project.root().display());
    let settings = match &project.settings_file {
        Some(file) => file.display().to_string(),
        None => "none (defaults); `tamis init` writes one".into(),
    };
    let _ = writeln!(text, "settings  {settings}");
    let size = store.as_ref().map_or("empty".into(), |s| bytes(s.size_on_disk()));
    let place =
        project.store_folder.as_ref().map_or_else(Clone::clone, |f| f.display().to_string());
    let _ = writeln!(text, "store     {place} ({size})");
    if planned.is_empty() {
        let none = match options.selecting.only.is_empty() && !options.selecting.failed {
            true => "none yet; try `tamis ./check.sh`",
            false => "none of those that are asked for",
        };
        let _ = writeln!(text, "tests     {none}");
    } else {
        text += &tests_text(&planned, terminal::output_style(options));
    }
    if let Some(store) = &store {
        let mut tests = store.tests()?;
        tests.retain(|test| planned.iter().any(|p| p.key == test.key));
        text += &flaky_text(&tests);
    }
    terminal::print(&text);
    Ok(0)
}

fn tests_text(planned: &[Planned], style: tamis_report::Style) -> String {
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
        let last =
            planned.evidence.newest.as_ref().map_or_else(String::new, |r| {
                format!("{} {}; ", r.outcome, human::ago(r.started_ms))
            });
        let why = test.proof.as_deref().unwrap_or(&test.reason);
        let _ = writeln!(text, "  {word}  {}  ({last}{why})", test.key);
    }
    text
}

/// The tests with flaky runs among their records.
fn flaky_text(tests: &[TestSummary]) -> String {
    let flaky: Vec<&TestSummary> = tests.iter().filter(|test| test.flaky > 0).collect();
    if flaky.is_empty() {
        return String::new();
    }
    let mut text = format!("flaky     {}\n", human::number(flaky.len() as u64));
    for test in flaky {
        let _ = writeln!(text, "  {}  ({})", test.key, flaky_counts(test.flaky, test.records));
    }
    text
}

/// `flaky in 2 of 5 records`.
fn flaky_counts(flaky: usize, records: usize) -> String {
    let records = human::counted(records as u64, "record", "records");
    format!("flaky in {} of {records}", human::number(flaky as u64))
}

fn bytes(size: u64) -> String {
    match size {
        0..10_000 => human::counted(size, "byte", "bytes"),
        10_000..10_000_000 => format!("{} kB", human::number(size / 1000)),
        _ => format!("{} MB", human::number(size / 1_000_000)),
    }
}

fn planned_json(planned: &Planned, flaky_records: usize) -> Line {
    let test = TestReport::of(planned);
    Line::Test(TestLine {
        version: Version,
        test: test.key.to_string(),
        run: test.decision.is_run(),
        reason: test.reason,
        proof: test.proof,
        last: planned.evidence.newest.as_ref().map(record_json),
        flaky_records,
    })
}

fn record_json(record: &RecordSummary) -> RecordFacts {
    RecordFacts {
        record: record.id.0,
        outcome: record.outcome.to_string(),
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

pub(crate) fn history(options: &Options, words: &[OsString]) -> Result<i32> {
    let project = Project::find(options.common.store.as_deref())?;
    let Some(store) = project.existing_store(&terminal::Messages)? else {
        if !options.common.json {
            terminal::print("nothing is recorded for this project yet\n");
        }
        return Ok(0);
    };
    let mut keys: Vec<_> = store.tests()?.into_iter().map(|t| t.key).collect();
    if !words.is_empty() {
        let wanted = cases::wanted_name(words);
        keys = vec![cases::find(&wanted, &project.relative_folder(), &keys)?];
    }
    let mut text = String::new();
    for key in keys {
        let records = store.history(&key)?;
        if !options.common.json {
            let flaky = records.iter().filter(|record| record.is_flaky()).count();
            let counts = match flaky {
                0 => String::new(),
                _ => format!("  ({})", flaky_counts(flaky, records.len())),
            };
            let _ = writeln!(text, "{key}{counts}");
        }
        for record in records {
            if options.common.json {
                let (test, facts) = (key.to_string(), record_json(&record));
                let line = Line::Record(RecordLine { version: Version, test, facts });
                let _ = writeln!(text, "{}", line.text()?);
            } else {
                text += &record_text(&record);
            }
        }
    }
    terminal::print(&text);
    Ok(0)
}

/// Taints of one kind as part of a record.
pub(crate) fn taint_text(taint: &TaintGroup<'_>) -> String {
    match taint.first() {
        Taint::Flaky { .. } => taint.text(),
        _ => format!("not completely observed: {}", taint.text()),
    }
}

fn record_text(record: &RecordSummary) -> String {
    let mut text = format!(
        "  {}  {}, {} in {}, {}, observed by {}\n",
        record.id,
        human::ago(record.started_ms),
        record.outcome,
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
