//! `tamis`, `tamis COMMAND`, `tamis run`, `tamis record`.

use crate::args::{Options, Strategy};
use crate::cases::{self, Case};
use crate::jvm;
use crate::jvm::always::AlwaysRun;
use crate::project::Project;
use crate::run::{Shape, run};
use crate::terminal;
use anyhow::{Result, bail};
use std::ffi::OsString;
use std::time::Duration;
use tamis_core::TestKey;
use tamis_core::decide::Demand;
use tamis_settings::NameGlobs;

pub(crate) fn demand(options: &Options, in_any_case: bool) -> Demand {
    if options.selecting.all || in_any_case { Demand::Requested } else { Demand::None }
}

pub(crate) fn timeout(options: &Options) -> Result<Option<Duration>> {
    options
        .running
        .timeout
        .as_deref()
        .map(|text| tamis_settings::duration(text).map_err(|e| anyhow::anyhow!("--timeout {e}")))
        .transpose()
}

/// The names that `--only` asks for.
pub(crate) fn only(options: &Options) -> Result<NameGlobs> {
    NameGlobs::new(options.selecting.only.clone()).map_err(|e| anyhow::anyhow!("--only: {e}"))
}

/// The tests of the suites that the user asks for, and the keys of the others; with a word to the user
/// where there is none.
pub(crate) fn suite_cases(
    project: &Project,
    options: &Options,
    demand: &Demand,
) -> Result<(Vec<Case>, Vec<TestKey>)> {
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
    let only = only(options)?;
    let all = cases::of_suites(project, demand, timeout(options)?)?;
    let wanted = |case: &Case| {
        let names = [&case.key.name, &case.key.to_string()];
        only.patterns().is_empty() || names.iter().any(|name| only.matches(name.as_bytes()))
    };
    let (cases, others): (Vec<Case>, Vec<Case>) = all.into_iter().partition(wanted);
    if cases.is_empty() && !only.patterns().is_empty() {
        bail!("no test matches --only {}", only.patterns().join(" "));
    }
    Ok((cases, others.into_iter().map(|case| case.key).collect()))
}

pub(crate) fn suites(options: &Options, in_any_case: bool) -> Result<i32> {
    let project = Project::find(options)?;
    let (cases, left_out) = suite_cases(&project, options, &demand(options, in_any_case))?;
    run(&project, options, &cases, Shape::Suites, &left_out)
}

pub(crate) fn command(options: &Options, words: &[OsString], in_any_case: bool) -> Result<i32> {
    if matches!(options.strategy(), Strategy::Modules | Strategy::Hybrid) {
        return crate::modules::run::command(options, words, in_any_case);
    }
    let project = Project::find(options)?;
    let demand = demand(options, in_any_case);
    let mut case = command_case(&project, options, words, demand)?;
    if options.selecting.failed && jvm::has_agent(words) {
        if !any_failed(&project, &case.key)? {
            terminal::say(options, "nothing failed the last time");
            return Ok(0);
        }
        case.demand = Demand::Requested;
    }
    run(&project, options, &[case], Shape::Command, &[])
}

/// Whether the newest run of any test class of a build, or of the command itself, did not pass.
fn any_failed(project: &Project, command: &TestKey) -> Result<bool> {
    let Some(store) = project.existing_store()? else { return Ok(false) };
    let tests = store.tests()?.into_iter();
    // Where a method fails, so does its class.
    let is_class = |t: &TestKey| jvm::is_scope(&t.suite) && !jvm::methods::is_method(&t.name);
    let mut inside = tests.filter(|t| is_class(&t.key) || t.key == *command);
    Ok(inside.any(|test| !test.last.outcome.passed()))
}

/// A command as a test. What a build does besides testing, or the user's wish, may keep it from being
/// skipped as a whole.
pub(crate) fn command_case(
    project: &Project,
    options: &Options,
    words: &[OsString],
    demand: Demand,
) -> Result<Case> {
    let mut case = cases::of_command(project, words, demand, timeout(options)?);
    if case.demand == Demand::None && jvm::has_agent(words) {
        if options.selecting.no_command_skip || options.is_static() {
            case.demand = Demand::Requested;
        } else if AlwaysRun::new(project).is_set() {
            case.demand = Demand::AlwaysRun("[jvm]".into());
        } else if let Some(what) = jvm::effect_elsewhere(words) {
            case.demand = Demand::Effect(what);
        }
    }
    Ok(case)
}

pub(crate) fn either(options: &Options, words: &[OsString], in_any_case: bool) -> Result<i32> {
    if words.is_empty() {
        suites(options, in_any_case)
    } else {
        command(options, words, in_any_case)
    }
}
