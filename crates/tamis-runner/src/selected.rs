//! `tamis select`: the decision alone.

use crate::call::Call;
use crate::cases;
use crate::command::suite_cases;
use crate::modules::{self, Narrowed};
use crate::plan;
use crate::savings;
use anyhow::Result;
use std::ffi::OsString;
use std::time::Instant;
use tamis_core::{Planned, Strategy};
use tamis_report::{Mode, RunReport, TestReport};
use tamis_store::Store;

/// What would run now, of the suites or of a command. Nothing is run.
pub fn select(call: Call<'_>, words: &[OsString]) -> Result<RunReport> {
    let began = Instant::now();
    let store = call.existing_store()?;
    let store = store.as_ref();
    let planned =
        if words.is_empty() { of_suites(call, store)? } else { of_words(call, store, words)? };
    // Losing this cache costs time only.
    let _ = call.project.fingerprinter.flush();
    let tests: Vec<TestReport> =
        planned.iter().map(|planned| savings::report_of(store, planned)).collect();
    let around = tests.first().filter(|test| test.key.is_command()).cloned();
    let wall = began.elapsed();
    Ok(RunReport { tests, around, wall, mode: Mode::Select, ..RunReport::default() })
}

fn of_suites(call: Call<'_>, store: Option<&Store>) -> Result<Vec<Planned>> {
    let (cases, _) = suite_cases(call)?;
    let world = cases::world(call, &cases);
    let planned = plan::of_cases(call, store, &world, &cases)?;
    Ok(match call.options.which.failed {
        true => planned.into_iter().filter_map(Planned::if_failed).collect(),
        false => planned,
    })
}

fn of_words(call: Call<'_>, store: Option<&Store>, words: &[OsString]) -> Result<Vec<Planned>> {
    let case = match call.options.strategy {
        Strategy::Modules | Strategy::Hybrid => match modules::narrowed(call, words)? {
            Narrowed::Case(case) => *case,
            Narrowed::Nothing(_) => return Ok(Vec::new()),
        },
        _ => cases::of_command(call, words, call.options.demand()),
    };
    plan::of_command(call, store, &case, case.choice.as_deref())
}
