//! `tamis select`: the decision alone.

use crate::call::Call;
use crate::cases;
use crate::command::suite_cases;
use crate::modules::{self, Narrowed};
use crate::plan;
use crate::savings;
use crate::shards::{self, ShardPlan};
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
    let planned = match words {
        [] => of_suites(call, store)?,
        words => of_words(call, store, words)?.0,
    };
    // Losing this cache costs time only.
    let _ = call.project.fingerprinter.flush();
    let tests: Vec<TestReport> = savings::reports_of(store, &planned);
    let around = tests.first().filter(|test| test.key.is_command()).cloned().into_iter().collect();
    let wall = began.elapsed();
    Ok(RunReport { tests, around, wall, mode: Mode::Select, ..RunReport::default() })
}

/// How what would run now is split among at most so many machines. Nothing is run.
pub fn shard_plan(call: Call<'_>, words: &[OsString], most: u32) -> Result<ShardPlan> {
    let store = call.existing_store()?;
    let store = store.as_ref();
    // The command around its tests is started by all.
    let (planned, inside) = match words {
        [] => (of_suites(call, store)?, false),
        words => of_words(call, store, words)?,
    };
    // Losing this cache costs time only.
    let _ = call.project.fingerprinter.flush();
    let run: Vec<&Planned> = planned.iter().filter(|planned| planned.decision.is_run()).collect();
    let is_whole = |planned: &&&Planned| inside && planned.key.is_command();
    let whole = run.iter().any(|planned| is_whole(&planned));
    let tests: Vec<&Planned> = run.iter().filter(|p| !is_whole(p)).copied().collect();
    let mut plan = shards::plan(&tests, whole, most);
    if whole && tests.is_empty() && planned.len() > 1 {
        // All that is known inside is proven; what is new in it needs a machine.
        plan = shards::plan(&tests, whole, 1);
    }
    Ok(plan)
}

fn of_suites(call: Call<'_>, store: Option<&Store>) -> Result<Vec<Planned>> {
    let (cases, _) = suite_cases(call)?;
    let world = cases::world(call, &cases);
    let planned = plan::of_cases(call, store, &world, &cases)?;
    let mine = plan::mine(call, store, &cases, &planned);
    let mut all = Vec::with_capacity(planned.len());
    for ((case, planned), mine) in cases.iter().zip(planned).zip(mine) {
        let planned = match call.options.which.failed {
            true => planned.if_failed(),
            false => Some(planned),
        };
        let Some(planned) = planned.filter(|_| mine) else { continue };
        let units = match planned.skips() {
            true => plan::inside_skipped(call, store, case, &planned)?,
            false => Vec::new(),
        };
        if units.is_empty() {
            all.push(planned);
        }
        all.extend(units);
    }
    Ok(all)
}

/// A command and the units inside it, and whether these are distinguished.
fn of_words(
    call: Call<'_>,
    store: Option<&Store>,
    words: &[OsString],
) -> Result<(Vec<Planned>, bool)> {
    let case = match call.options.strategy {
        Strategy::Modules | Strategy::Hybrid => match modules::narrowed(call, words)? {
            Narrowed::Case(case) => *case,
            Narrowed::Nothing(_) => return Ok((Vec::new(), false)),
        },
        _ => cases::of_command(call, words, call.options.demand()),
    };
    let mut planned = plan::of_command(call, store, &case, case.choice.as_deref())?;
    if case.claim.is_none() {
        let mine = plan::mine(call, store, std::slice::from_ref(&case), &planned);
        planned.truncate(usize::from(mine != [false]) * planned.len());
    }
    Ok((planned, case.claim.is_some()))
}
