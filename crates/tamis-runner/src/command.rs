//! `tamis`, `tamis COMMAND`: from words to the tests that run.

use crate::call::Call;
use crate::cases::{self, Case};
use crate::modules;
use crate::run::run;
use anyhow::{Result, bail};
use std::ffi::OsString;
use tamis_core::decide::Demand;
use tamis_core::{Strategy, TestKey};
use tamis_report::Shape;

/// The tests of the suites that the user asks for, and the keys of the others; with the next step where
/// there is none.
pub(crate) fn suite_cases(call: Call<'_>) -> Result<(Vec<Case>, Vec<TestKey>)> {
    let project = call.project;
    if project.settings.suites.is_empty() {
        match &project.settings_file {
            Some(file) => {
                bail!("{} has no [[suite]]; `tamis init --print` shows one", file.display())
            }
            None => bail!(
                "nothing to run: give a command (tamis ./check.sh), or let `tamis init` write a \
                 tamis.toml with the suites of this project"
            ),
        }
    }
    let only = &call.options.which.only;
    let wanted = call.options.session(true);
    let all = cases::of_suites(call)?;
    let mut wanted = wanted.wanted(all.iter().map(|case| &case.key));
    if !wanted.contains(&true) {
        // A name that no item has may be that of a test inside a build.
        wanted = all.iter().map(|case| case.claim.is_some()).collect();
    }
    let mut wanted = wanted.into_iter();
    let (cases, others): (Vec<Case>, Vec<Case>) =
        all.into_iter().partition(|_| wanted.next().unwrap_or_default());
    let others: Vec<TestKey> = others.into_iter().map(|case| case.key).collect();
    if cases.is_empty() && !only.is_empty() {
        bail!("no test of the suites is called so: {}", cases::not_found(only, &others));
    }
    Ok((cases, others))
}

/// Runs the suites; gives the exit code.
pub fn suites(call: Call<'_>) -> Result<i32> {
    let (cases, left_out) = suite_cases(call)?;
    run(call, &cases, Shape::Suites, &left_out)
}

/// Runs a command; gives the exit code.
pub fn command(call: Call<'_>, words: &[OsString]) -> Result<i32> {
    if matches!(call.options.strategy, Strategy::Modules | Strategy::Hybrid) {
        return match modules::narrowed(call, words)? {
            modules::Narrowed::Case(case) => run(call, &[*case], Shape::Command, &[]),
            modules::Narrowed::Nothing(failing) => run(call, &[], Shape::Suites, &failing),
        };
    }
    let mut case = cases::of_command(call, words, call.options.demand());
    if call.options.which.failed && case.claim.is_some() {
        if !any_failed(call, &case)? {
            call.remark("nothing failed the last time");
            return Ok(0);
        }
        case.demand = Demand::Requested;
    }
    run(call, &[case], Shape::Command, &[])
}

/// Whether the newest run of the command, or of any unit that its tools run, did not pass.
fn any_failed(call: Call<'_>, case: &Case) -> Result<bool> {
    let Some(store) = call.existing_store()? else { return Ok(false) };
    let tools = case.claim.as_ref().map(|claim| claim.tools()).unwrap_or_default();
    // Where a part fails, so does its whole.
    let concerns = |key: &TestKey| {
        let of_tool = key.scope.tool().is_some_and(|tool| tools.contains(tool));
        *key == case.key || of_tool && !key.unit.is_method()
    };
    let mut tests = store.tests()?.into_iter().filter(|test| concerns(&test.key));
    Ok(tests.any(|test| !test.last.outcome.passed()))
}
