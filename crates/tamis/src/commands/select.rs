//! `tamis select`: the decision alone.

use crate::args::{Options, SelectArguments};
use crate::cases::Case;
use crate::commands::run::{command_case, demand, only, suite_cases};
use crate::jvm;
use crate::jvm::collect::Wishes;
use crate::jvm::methods::{self, is_method, may_divide};
use crate::jvm::saved::known_classes;
use crate::plan::{self, Planned};
use crate::project::Project;
use crate::terminal;
use crate::world::World;
use anyhow::Result;
use std::io::Write;
use tamis_report::style::Role;
use tamis_report::{Mode, RunReport, TestReport, exit};
use tamis_store::Store;

pub(crate) fn select(options: &Options, arguments: &SelectArguments) -> Result<i32> {
    let project = Project::find(options)?;
    let demand = demand(options, false);
    let words = &arguments.command.words;
    let cases = if words.is_empty() {
        suite_cases(&project, options, &demand)?.0
    } else {
        vec![command_case(&project, options, words, demand.clone())?]
    };
    let began = std::time::Instant::now();
    let store = project.existing_store()?;
    let mut cases = cases;
    if jvm::has_agent(words) {
        let wishes = Wishes { only: only(options)?, ..Wishes::default() };
        let classes = known_classes(&project, store.as_ref(), &demand)?.into_iter();
        // Methods come with their classes.
        let classes = classes.filter(|case| !is_method(&case.key.name));
        cases.extend(classes.filter(|case| wishes.wants(&case.key)));
    }
    let world = World::new(&project, &cases);
    let mut planned = plan::decide(&project, store.as_ref(), &world, &cases)?;
    if options.selecting.failed {
        (_, planned) = plan::only_failed(&cases, planned);
    } else if let Some(store) = store.as_ref().filter(|_| options.selecting.by_methods()) {
        planned = with_methods(&project, store, &cases, planned)?;
    }
    // Losing this cache costs time only.
    let _ = project.fingerprinter.flush();
    let tests: Vec<TestReport> = planned.into_iter().map(|p| p.report).collect();
    let selected = tests.iter().any(|t| t.decision.is_run());
    let report =
        RunReport { tests, wall: began.elapsed(), mode: Mode::Select, ..RunReport::default() };
    if options.common.quiet {
        return Ok(if selected { exit::FAILED } else { exit::SUCCESS });
    }
    // A reader that has seen enough (`| head`) is no error.
    let _ = show(&report, options, arguments.plain);
    Ok(0)
}

/// With the methods of test classes in their places, where those are known and the class runs.
fn with_methods(
    project: &Project,
    store: &Store,
    cases: &[Case],
    planned: Vec<Planned>,
) -> Result<Vec<Planned>> {
    let both = cases.iter().zip(&planned).filter(|(case, planned)| may_divide(case, planned));
    let divided: Vec<_> = both.map(|(case, planned)| (&case.key, planned)).collect();
    let mut plans = methods::plans(project, store, None, &divided)?;
    let mut all = Vec::new();
    for planned in planned {
        let key = &planned.report.key;
        match plans.remove(&key.name).filter(|_| !key.suite.is_empty()) {
            Some(plan) => all.extend(plan.methods.into_values()),
            None => all.push(planned),
        }
    }
    Ok(all)
}

fn show(report: &RunReport, options: &Options, plain: bool) -> std::io::Result<()> {
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    if options.common.json {
        tamis_report::json::start(report.tests.len(), Mode::Select, &mut out)?;
        for test in &report.tests {
            tamis_report::json::decision(test, &mut out)?;
        }
        tamis_report::json::summary(report, &mut out)?;
        return out.flush();
    }
    if plain {
        for test in report.tests.iter().filter(|t| t.decision.is_run()) {
            writeln!(out, "{}", test.key.name)?;
        }
        return out.flush();
    }
    let style = terminal::output_style(options);
    for test in &report.tests {
        let why = test.proof.as_deref().unwrap_or(&test.reason);
        let word = if test.decision.is_run() {
            style.paint(Role::Strong, "run ")
        } else {
            style.paint(Role::Faint, "skip")
        };
        writeln!(out, "{word}  {}  {}", test.key, style.paint(Role::Faint, &format!("({why})")))?;
    }
    out.flush()?;
    if report.tests.len() > 1 {
        tamis_report::text::summary(report, terminal::style(options), &mut std::io::stderr())?;
    }
    Ok(())
}
