//! `tamis forget` and `tamis clean`.

use crate::args::Options;
use crate::context::Context;
use crate::terminal;
use anyhow::Result;
use std::ffi::OsString;
use tamis_project::Project;
use tamis_report::human::counted;
use tamis_report::json::clean::{CleanedLine, ForgottenLine};
use tamis_report::json::{Line, Version};
use tamis_runner::{ForgottenTest, gc_policy};

pub(crate) fn forget(options: &Options, words: &[OsString]) -> Result<i32> {
    let context = Context::new(options)?;
    let forgotten = tamis_runner::forget(context.call(), words)?;
    for test in &forgotten {
        if options.common.json {
            terminal::json(&Line::Forgotten(ForgottenLine {
                version: Version,
                test: test.key.to_string(),
                records: test.records,
                went_with: test.went_with.as_ref().map(ToString::to_string),
            }))?;
        } else {
            terminal::print(&forgotten_text(test));
        }
    }
    Ok(0)
}

fn forgotten_text(test: &ForgottenTest) -> String {
    let (key, count) = (&test.key, counted(test.records as u64, "record", "records"));
    match &test.went_with {
        None => format!("forgot {key} ({count}); it runs next time\n"),
        Some(named) => format!("  with it, so that {named} runs: {key} ({count})\n"),
    }
}

pub(crate) fn clean(options: &Options, only_old: bool) -> Result<i32> {
    let project = Project::find(options.common.store.as_deref())?;
    let Some(store) = project.existing_store(&terminal::Messages)? else {
        return answer(options, CleanedLine::default(), "nothing is recorded for this project");
    };
    if only_old {
        let report = store.collect_garbage(&gc_policy(&project))?;
        let text = format!(
            "dropped {} and {}; the store went from {} to {} bytes",
            counted(report.records as u64, "record", "records"),
            counted(report.tests as u64, "test", "tests"),
            report.bytes_before,
            report.bytes_after
        );
        let line = CleanedLine {
            records: report.records,
            tests: report.tests,
            bytes_before: Some(report.bytes_before),
            bytes_after: Some(report.bytes_after),
            ..CleanedLine::default()
        };
        return answer(options, line, &text);
    }
    let mut records = 0;
    let tests = store.tests()?;
    for test in &tests {
        records += store.forget(&test.key)?;
    }
    store.collect_garbage(&tamis_store::GcPolicy::default())?;
    store.drop_marks()?;
    store.forget_savings();
    store.forget_times();
    store.forget_runs();
    let text = format!(
        "dropped {} of {} from {}",
        counted(records as u64, "record", "records"),
        counted(tests.len() as u64, "test", "tests"),
        store.dir().display()
    );
    answer(options, CleanedLine { records, tests: tests.len(), ..CleanedLine::default() }, &text)
}

/// Answers in the form that the user asks for.
fn answer(options: &Options, line: CleanedLine, text: &str) -> Result<i32> {
    if options.common.json {
        terminal::json(&Line::Cleaned(line))?;
    } else {
        terminal::print(&format!("{text}\n"));
    }
    Ok(0)
}
