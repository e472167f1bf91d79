//! `tamis`, `tamis COMMAND`: from words to the tests that run.

use crate::call::Call;
use crate::cases::{self, Case};
use crate::checks;
use crate::failures::{self, LeftOut};
use crate::modules;
use crate::run::{NO_FAILURE, run};
use anyhow::{Result, bail};
use std::ffi::OsString;
use tamis_core::decide::Demand;
use tamis_core::{Strategy, TestKey};
use tamis_report::Shape;
use tamis_report::phases::Phase;

/// The tests of the suites that the user asks for, and the others; with the next step where
/// there is none.
pub(crate) fn suite_cases(call: Call<'_>) -> Result<(Vec<Case>, Vec<Case>)> {
    let project = call.project;
    if project.settings.suites.is_empty() {
        match &project.settings_file {
            Some(file) => {
                bail!(
                    "{} has no [[suite]]; add one, or run a command by itself, as in `tamis make test`",
                    file.display()
                )
            }
            None => bail!(
                "nothing to run: give a command (tamis ./check.sh), or let `tamis init` write a \
                 tamis.toml with the suites of this project"
            ),
        }
    }
    let only = &call.options.which.only;
    let wanted = call.options.session(true);
    let all = cases::of_all_suites(call)?;
    let mut wanted = wanted.wanted(all.iter().map(|case| &case.key));
    if !wanted.contains(&true) {
        // A name that no item has may be that of a test inside a build.
        wanted = all.iter().map(|case| case.claim.is_some()).collect();
    }
    let mut wanted = wanted.into_iter();
    let (cases, others): (Vec<Case>, Vec<Case>) =
        all.into_iter().partition(|_| wanted.next().unwrap_or_default());
    if cases.is_empty() && !only.is_empty() {
        let keys: Vec<TestKey> = others.into_iter().map(|case| case.key).collect();
        bail!("no test of the suites is called so: {}", cases::not_found(only, &keys));
    }
    Ok((cases, others))
}

/// Runs the suites; gives the exit code.
pub fn suites(call: Call<'_>) -> Result<i32> {
    let (cases, others) = suite_cases(call)?;
    let left_out = LeftOut { cases: others, ..LeftOut::default() };
    run(call, &cases, Shape::Suites, &left_out)
}

/// Runs a command; gives the exit code.
pub fn command(call: Call<'_>, words: &[OsString]) -> Result<i32> {
    if matches!(call.options.strategy, Strategy::Modules | Strategy::Hybrid) {
        if checks::wanted(call).is_some() {
            bail!(
                "shadow is on (tamis.toml or TAMIS_SHADOW), and --select modules and hybrid leave modules \
                 out of the build; turn one of them off"
            );
        }
        let narrowed = call.times.measure(Phase::Analyse, || modules::narrowed(call, words))?;
        return match narrowed {
            modules::Narrowed::Case(case) => {
                run(call, &[*case], Shape::Command, &LeftOut::default())
            }
            modules::Narrowed::Nothing(tools) => {
                run(call, &[], Shape::Suites, &LeftOut { tools, ..LeftOut::default() })
            }
        };
    }
    let mut case = cases::of_command(call, words, call.options.demand());
    let claim = case.claim.as_ref().filter(|_| call.options.isolation.is_some());
    if let Some(why) = claim.and_then(|claim| claim.effect_elsewhere()) {
        bail!(
            "--check-isolation starts the command several times, and {why}; test with another goal"
        );
    }
    if call.options.which.failed && case.claim.is_some() {
        let store = call.existing_store()?;
        if !store.is_some_and(|store| failures::any(call, &store, &case)) {
            call.remark(NO_FAILURE);
            return Ok(0);
        }
        case.demand = Demand::Requested;
    }
    run(call, &[case], Shape::Command, &LeftOut::default())
}
