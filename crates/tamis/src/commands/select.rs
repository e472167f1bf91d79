//! `tamis select`: the decision alone.

use crate::args::{Options, SelectArguments};
use crate::context::Context;
use crate::terminal;
use anyhow::Result;
use std::io::Write;
use tamis_report::style::Role;
use tamis_report::{Mode, RunReport, exit};

pub(crate) fn select(options: &Options, arguments: &SelectArguments) -> Result<i32> {
    let context = Context::new(options)?;
    let report = tamis_runner::select(context.call(), &arguments.command.words)?;
    if options.common.quiet {
        let selected = report.tests.iter().any(|test| test.decision.is_run());
        return Ok(if selected { exit::FAILED } else { exit::SUCCESS });
    }
    // A reader that has seen enough (`| head`) is no error.
    let _ = show(&report, options, arguments.plain);
    Ok(exit::SUCCESS)
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
            writeln!(out, "{}", test.key.unit)?;
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
