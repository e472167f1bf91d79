//! `tamis status` and `tamis history`.

use crate::args::Options;
use crate::context::Context;
use crate::terminal;
use anyhow::Result;
use std::collections::HashMap;
use std::ffi::OsString;
use std::fmt::Write as _;
use tamis_core::{Planned, TestKey};
use tamis_project::Project;
use tamis_report::json::status::{RecordLine, TestLine};
use tamis_report::json::{Line, Version};
use tamis_report::{TestReport, checks, human, records, sums};
use tamis_runner::checks::audit;
use tamis_runner::{cases, savings};
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
        if let Some(store) = &store {
            let lines =
                [savings::took(store).map(Line::Times), savings::saved(store).map(Line::Savings)];
            for line in lines.iter().flatten() {
                let _ = writeln!(text, "{}", line.text()?);
            }
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
    let size = store.as_ref().map_or("empty".into(), |s| human::bytes(s.size_on_disk()));
    let place =
        project.store_folder.as_ref().map_or_else(Clone::clone, |f| f.display().to_string());
    let _ = writeln!(text, "store     {place} ({size})");
    if let Some(store) = &store {
        text += &savings::saved(store).map(|line| sums::savings(&line)).unwrap_or_default();
        text += &savings::took(store).map(|line| sums::times(&line)).unwrap_or_default();
        text += &checks::open_text(&audit(Some(store)).open, terminal::output_style(options));
    }
    if planned.is_empty() {
        let none = match options.selecting.only.is_empty() && !options.selecting.failed {
            true => "none yet; try `tamis ./check.sh`",
            false => "none of those that are asked for",
        };
        let _ = writeln!(text, "tests     {none}");
    } else {
        text += &records::known_tests(&planned, terminal::output_style(options));
    }
    if let Some(store) = &store {
        let mut tests = store.tests()?;
        tests.retain(|test| planned.iter().any(|p| p.key == test.key));
        text += &flaky_text(&tests);
    }
    terminal::print(&text);
    Ok(0)
}

/// The tests with flaky runs among their records.
fn flaky_text(tests: &[TestSummary]) -> String {
    let flaky: Vec<&TestSummary> = tests.iter().filter(|test| test.flaky > 0).collect();
    if flaky.is_empty() {
        return String::new();
    }
    let mut text = format!("flaky     {}\n", human::number(flaky.len() as u64));
    for test in flaky {
        let _ =
            writeln!(text, "  {}  ({})", test.key, records::flaky_counts(test.flaky, test.records));
    }
    text
}

fn planned_json(planned: &Planned, flaky_records: usize) -> Line {
    let test = TestReport::of(planned);
    Line::Test(TestLine {
        version: Version,
        test: test.key.to_string(),
        run: test.decision.is_run(),
        reason: test.reason,
        proof: test.proof,
        last: planned.evidence.newest.as_ref().map(|record| records::json(&planned.key, record)),
        flaky_records,
    })
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
                _ => format!("  ({})", records::flaky_counts(flaky, records.len())),
            };
            let _ = writeln!(text, "{key}{counts}");
        }
        for record in records {
            if options.common.json {
                let (test, facts) = (key.to_string(), records::json(&key, &record));
                let line = Line::Record(RecordLine { version: Version, test, facts });
                let _ = writeln!(text, "{}", line.text()?);
            } else {
                text += &records::text(&key, &record);
            }
        }
    }
    terminal::print(&text);
    Ok(0)
}
