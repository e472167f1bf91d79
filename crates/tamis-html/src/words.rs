//! The sentences about a run, the same in the page and in Markdown.

use std::time::Duration;
use tamis_report::human::{counted, duration, number};
use tamis_report::kept::{KeptRun, RunFigures};

/// How the run looks at first sight.
pub(crate) fn mood(run: &KeptRun) -> &'static str {
    match (is_bad(&run.figures) || missed(run) > 0, run.figures.still_failing) {
        (true, _) => "bad",
        (false, 0) => "good",
        (false, _) => "warn",
    }
}

/// Tests that `--shadow` or `--audit` found to fail, and that would have been skipped.
fn missed(run: &KeptRun) -> u64 {
    run.checked.as_ref().map_or(0, |(_, missed)| missed.len() as u64)
}

/// Whether somebody has to look.
fn is_bad(figures: &RunFigures) -> bool {
    let flaky = if figures.flaky_ok { figures.flaky } else { 0 };
    figures.failed > flaky || figures.unfinished > 0 || figures.interrupted
}

/// The answer in one sentence.
pub(crate) fn verdict(run: &KeptRun) -> String {
    let f = &run.figures;
    let failed = f.failed - f.flaky.min(f.failed);
    let mut parts = Vec::new();
    if failed > 0 {
        parts.push(format!(
            "{} of {} failed",
            number(failed),
            counted(f.ran, "test that ran", "tests that ran")
        ));
    }
    if f.flaky > 0 {
        parts.push(counted(f.flaky, "flaky test", "flaky tests"));
    }
    if f.unfinished > 0 {
        parts.push(format!("{} did not end", counted(f.unfinished, "test", "tests")));
    }
    if f.interrupted {
        parts.push("the run was interrupted".into());
    }
    if missed(run) > 0 {
        let missed = counted(missed(run), "test", "tests");
        parts.push(format!("{missed} would have been missed"));
    }
    if parts.is_empty() {
        parts.push(match (f.ran, f.skipped) {
            (0, 0) => "No test was part of this run".into(),
            (0, _) => "Nothing had to run".into(),
            (1, _) => "The one test that ran passed".into(),
            (n, _) => format!("All {} tests that ran passed", number(n)),
        });
    }
    if f.still_failing > 0 {
        parts.push(format!("{} still failing", number(f.still_failing)));
    }
    let text = parts.join("; ");
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

/// What ran, what was skipped, what was saved.
pub(crate) fn line(f: &RunFigures) -> String {
    let time = |us: u64| duration(Duration::from_micros(us));
    let mut parts = vec![format!("{} of {} ran", number(f.ran), counted(f.total, "test", "tests"))];
    if f.skipped > 0 {
        parts.push(format!("{} skipped with proof", number(f.skipped)));
    }
    match f.times.saved_us {
        0 => parts.push("nothing saved".into()),
        saved => parts.push(format!("saved {} of {}", time(saved), time(saved + f.times.ran_us))),
    }
    parts.push(format!("took {}", time(f.times.wall_us)));
    parts.join(" · ")
}
