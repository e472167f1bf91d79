//! The summary at the end of a run, for people.
//!
//! First line: what happened and what was saved. Then, each only where there is something to say:
//! why tests ran (grouped), what failed, what was not completely observed, what else was noticed.

use crate::checks;
use crate::excerpt;
use crate::human;
use crate::model::{Counts, Mode, Reruns, RunReport, StillFailing, TestReport};
use crate::reason;
use crate::style::{Role, Style};
use std::io::{self, Write};
use std::time::Duration;
use tamis_core::{Cause, Decision};

/// Groups of reasons and notes that are listed.
const MOST_GROUPS: usize = 8;
/// Tests that are listed under one heading.
const MOST_TESTS: usize = 20;
/// Names are aligned up to this many columns.
const WIDEST_NAME: usize = 48;
/// Columns of a failure's message that are shown.
const WIDEST_MESSAGE: usize = 160;

/// Writes the summary of a run of several tests.
pub fn summary(report: &RunReport, style: Style, out: &mut dyn Write) -> io::Result<()> {
    let counts = report.counts();
    writeln!(out, "{} {}", style.paint(Role::Strong, "tamis:"), headline(report, &counts, style))?;
    let heading = if report.mode == Mode::Select { "would run because" } else { "ran because" };
    groups(heading, "reason", &report.reasons(), |reason| report.example(reason), out)?;
    tests("failed", report, Role::Bad, style, out, |test| {
        (test.failed() && !test.flaky()).then(|| outcome_text(test))
    })?;
    let heading = match report.flaky_ok {
        true => "flaky, not counted as failed (flaky-ok); will run again",
        false => "flaky, counted as failed (will run again)",
    };
    tests(heading, report, Role::Bad, style, out, |test| test.flaky().then(|| outcome_text(test)))?;
    still_failing(report, style, out)?;
    if !report.interrupted {
        // After an interruption it is no surprise, and could be thousands of lines.
        tests("did not run to an end", report, Role::Warning, style, out, |test| {
            let unfinished = report.mode == Mode::Run && test.unfinished();
            unfinished.then(|| test.problem().unwrap_or(&test.reason).to_owned())
        })?;
    }
    tests("not completely observed (will run again)", report, Role::Warning, style, out, |test| {
        if test.outcome.is_some() { taint_text(test) } else { None }
    })?;
    groups("noticed", "note", &report.notes(), |_| None, out)?;
    after(report, style, out)
}

/// What a check found, and what the time was spent on.
pub fn after(report: &RunReport, style: Style, out: &mut dyn Write) -> io::Result<()> {
    if let Some(checked) = &report.checked {
        checks::summary(report, checked, style, out)?;
    }
    if let Some(isolation) = &report.isolation {
        isolation.summary(style, out)?;
    }
    let ran = report.tests.iter().chain(&report.around).any(|test| test.outcome.is_some());
    match report.phases.filter(|_| ran) {
        Some(phases) => {
            let (wall, phases) = (human::duration(report.wall), phases.text());
            writeln!(out, "  {}", style.paint(Role::Faint, &format!("took {wall}: {phases}")))
        }
        None => Ok(()),
    }
}

/// The figures in one line, without the leading `tamis:`.
pub fn headline(report: &RunReport, counts: &Counts, style: Style) -> String {
    let n = |count: usize| human::number(count as u64);
    if counts.total == 0 && report.still_failing.is_empty() {
        return "no tests".to_owned();
    }
    let mut parts = Vec::new();
    if report.mode == Mode::Select {
        match counts.total - counts.skipped {
            0 => parts.push("nothing would run".to_owned()),
            run => parts.push(format!("{} would run", n(run))),
        }
    } else if counts.ran == 0 && counts.unfinished == 0 {
        parts.push("nothing to run".to_owned());
    } else {
        let passed = style.paint(Role::Good, &format!("{} passed", n(counts.passed)));
        let failed = counts.failed - counts.flaky;
        let mut outcomes = Vec::new();
        if counts.passed > 0 {
            outcomes.push(passed);
        }
        if failed > 0 {
            outcomes.push(style.paint(Role::Bad, &format!("{} failed", n(failed))));
        }
        if counts.flaky > 0 {
            outcomes.push(style.paint(Role::Bad, &format!("{} flaky", n(counts.flaky))));
        }
        parts.push(match outcomes.is_empty() {
            true => "none ran to its end".to_owned(),
            false => format!("{} ran ({})", n(counts.ran), outcomes.join(", ")),
        });
    }
    if counts.unfinished > 0 && report.mode == Mode::Run {
        let text = format!("{} not finished", n(counts.unfinished));
        parts.push(style.paint(Role::Warning, &text));
    }
    if counts.skipped > 0 {
        let word = if report.mode == Mode::Select { "would be skipped" } else { "skipped" };
        parts.push(format!("{} {word}", n(counts.skipped)));
    }
    if !report.still_failing.is_empty() {
        let text = format!("{} still failing", n(report.still_failing.len()));
        parts.push(style.paint(Role::Bad, &text));
    }
    let mut line = parts.join(", ");
    if !counts.saved.is_zero() {
        let verb = if report.mode == Mode::Select { "saves" } else { "saved" };
        line += &format!(": {verb} {}", human::duration(counts.saved));
        let all = counts.saved.saturating_add(counts.ran_time);
        if all > counts.saved {
            line += &format!(" of {}", human::duration(all));
        }
    }
    if report.interrupted {
        line = format!("{}; {line}", style.paint(Role::Bad, "interrupted"));
    }
    line
}

/// Numbered groups below a heading, each with an example where there is one.
fn groups<'a>(
    heading: &str,
    what: &str,
    groups: &[(usize, &str)],
    example: impl Fn(&str) -> Option<&'a str>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let Some((largest, _)) = groups.first() else {
        return Ok(());
    };
    writeln!(out, "  {heading}:")?;
    let column = human::number(*largest as u64).len();
    for (n, text) in groups.iter().take(MOST_GROUPS) {
        writeln!(out, "    {:>column$}  {}", human::number(*n as u64), human::one_line(text))?;
        if let Some(example) = example(text) {
            writeln!(out, "    {:column$}  by {}", "", human::one_line(example))?;
        }
    }
    more(groups.len().saturating_sub(MOST_GROUPS), what, out)
}

fn more(left: usize, what: &str, out: &mut dyn Write) -> io::Result<()> {
    if left == 0 {
        return Ok(());
    }
    writeln!(
        out,
        "    ... and {}",
        human::counted(left as u64, &format!("more {what}"), &format!("more {what}s"))
    )
}

/// Tests with a text each, below a heading; only those for which there is a text.
fn tests(
    heading: &str,
    report: &RunReport,
    role: Role,
    style: Style,
    out: &mut dyn Write,
    text: impl Fn(&TestReport) -> Option<String>,
) -> io::Result<()> {
    let lines: Vec<(String, String, Option<String>)> = report
        .tests
        .iter()
        .filter_map(|test| {
            let failure = test.failure().filter(|_| role == Role::Bad);
            Some((human::one_line(&test.key.to_string()), text(test)?, failure))
        })
        .collect();
    if lines.is_empty() {
        return Ok(());
    }
    writeln!(out, "  {}:", style.paint(role, heading))?;
    let shown = &lines[..lines.len().min(MOST_TESTS)];
    let widths = shown.iter().map(|(name, ..)| name.chars().count());
    let column = widths.filter(|width| *width <= WIDEST_NAME).max().unwrap_or(0);
    for (name, text, failure) in shown {
        let text = human::one_line(text);
        if name.chars().count() > WIDEST_NAME {
            writeln!(out, "    {name}\n    {:column$}  {text}", "")?;
        } else {
            writeln!(out, "    {name:column$}  {text}")?;
        }
        shown_failure(failure.clone(), out)?;
    }
    more(lines.len() - shown.len(), "test", out)
}

/// Known failures of tests that were not run, below a heading.
pub fn still_failing(report: &RunReport, style: Style, out: &mut dyn Write) -> io::Result<()> {
    if report.still_failing.is_empty() {
        return Ok(());
    }
    writeln!(out, "  {}:", style.paint(Role::Bad, "still failing, not run now"))?;
    for failure in report.still_failing.iter().take(MOST_TESTS) {
        let name = human::one_line(&failure.key.to_string());
        writeln!(out, "    {name}  {}", known_failure_text(failure))?;
        shown_failure(
            failure.message.as_deref().and_then(|m| excerpt::headline(m.as_bytes())),
            out,
        )?;
    }
    more(report.still_failing.len().saturating_sub(MOST_TESTS), "test", out)
}

/// What failed, below the name of the test.
fn shown_failure(line: Option<String>, out: &mut dyn Write) -> io::Result<()> {
    match line {
        Some(line) => {
            writeln!(out, "      {}", human::cut(&human::one_line(&line), WIDEST_MESSAGE))
        }
        None => Ok(()),
    }
}

/// How a test ended, and what failed.
pub(crate) fn failure_text(test: &TestReport) -> String {
    let outcome = outcome_text(test);
    test.failure().map_or(outcome.clone(), |failure| format!("{outcome}: {failure}"))
}

/// `failed with exit code 1 3 h ago (record #12)`.
pub(crate) fn known_failure_text(failure: &StillFailing) -> String {
    let flaky = if failure.flaky { ", flaky" } else { "" };
    let outcome = reason::outcome(&failure.key, failure.outcome);
    format!("{outcome} {} (record {}{flaky})", failure.when, failure.record)
}

/// `failed with exit code 1 (as in the 2 recorded runs before)`.
///
/// Not "still failing": in between it may have been proven to pass, and been skipped.
pub(crate) fn outcome_text(test: &TestReport) -> String {
    let Some(how) = test.outcome else {
        return test.problem().unwrap_or("did not run to an end").to_owned();
    };
    let outcome = reason::outcome(&test.key, how);
    match test.reruns {
        Some(Reruns { runs, failed }) if test.flaky() => {
            return format!(
                "{outcome}, then passed without a change ({failed} of {runs} runs failed)"
            );
        }
        Some(Reruns { runs, .. }) if !how.passed() => {
            return format!("{outcome} in each of {runs} runs");
        }
        _ => {}
    }
    if test.failed_before == 0 || how.passed() {
        return outcome;
    }
    let runs = match test.failed_before {
        1 => "recorded run".to_owned(),
        runs => format!("{runs} recorded runs"),
    };
    format!("{outcome} (as in the {runs} before)")
}

/// The first taint, and how many more there are.
pub(crate) fn taint_text(test: &TestReport) -> Option<String> {
    let (first, others) = test.taints.split_first()?;
    Some(match others.len() {
        0 => first.clone(),
        n => format!("{first} (and {})", human::counted(n as u64, "more reason", "more reasons")),
    })
}

/// Why tests are about to run, in groups.
pub(crate) fn reasons(tests: Vec<TestReport>, out: &mut dyn Write) -> io::Result<()> {
    let report = RunReport { tests, mode: Mode::Select, ..RunReport::default() };
    groups("because", "reason", &report.reasons(), |reason| report.example(reason), out)
}

/// Writes the one line for a single command that is about to run.
pub(crate) fn beginning(test: &TestReport, style: Style, out: &mut dyn Write) -> io::Result<()> {
    let (tamis, name) =
        (style.paint(Role::Strong, "tamis:"), human::one_line(&test.key.to_string()));
    writeln!(out, "{tamis} running {name} {}", why(test))
}

/// `for the first time`, `because src/a.c changed`.
fn why(test: &TestReport) -> String {
    match &test.decision {
        Decision::Run(Cause::New) => "for the first time".to_owned(),
        Decision::Run(Cause::Requested) => "as asked".to_owned(),
        _ => format!("because {}", human::one_line(&test.reason)),
    }
}

/// Writes the one line for a single command; `saved` is what skipping it saved.
pub fn single(
    test: &TestReport,
    saved: Duration,
    style: Style,
    out: &mut dyn Write,
) -> io::Result<()> {
    let name = human::one_line(&test.key.to_string());
    let mut line = format!("{} ", style.paint(Role::Strong, "tamis:"));
    if test.skipped() {
        line += &format!("skipped {name}, {}", human::one_line(&test.reason));
        let mut details: Vec<String> = test.proof.iter().map(|p| human::one_line(p)).collect();
        if !saved.is_zero() {
            details.push(format!("saved {}", human::duration(saved)));
        }
        if !details.is_empty() {
            line += &format!(" ({})", details.join(", "));
        }
        return writeln!(out, "{line}");
    }
    let why = why(test);
    let Some(outcome) = test.outcome else {
        return match test.problem() {
            // A warning has named it.
            Some(_) => Ok(()),
            None => writeln!(out, "{line}{name} did not run to an end; it was started {why}"),
        };
    };
    line += &format!("ran {name} {why}");
    if !outcome.passed() {
        line += &format!("; it {}", style.paint(Role::Bad, &outcome_text(test)));
    }
    if let Some(inputs) = test.inputs {
        line += &format!("; {} recorded", human::counted(inputs, "input", "inputs"));
    }
    writeln!(out, "{line}")?;
    shown_failure(test.failure(), out)?;
    if test.flaky() {
        let text = "flaky: the same state fails and passes; it will run again";
        writeln!(out, "       {}", style.paint(Role::Bad, text))?;
    }
    if let Some(taint) = taint_text(test) {
        let text = format!("not completely observed, will run again: {}", human::one_line(&taint));
        writeln!(out, "       {}", style.paint(Role::Warning, &text))?;
    }
    for note in test.notes.iter().take(MOST_GROUPS) {
        writeln!(out, "       {}", human::one_line(note))?;
    }
    if test.notes.len() > MOST_GROUPS {
        let left = (test.notes.len() - MOST_GROUPS) as u64;
        writeln!(out, "       ... and {}", human::counted(left, "more note", "more notes"))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;
    use tamis_core::Outcome;
    use tamis_core::Way;

    fn text(report: &RunReport) -> String {
        let mut out = Vec::new();
        summary(report, Style::plain(), &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    fn line(test: &TestReport) -> String {
        let mut out = Vec::new();
        single(test, test.saved, Style::plain(), &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn everything_at_once() {
        insta::assert_snapshot!(text(&samples::mixed()));
    }

    #[test]
    fn nothing_to_say() {
        assert_eq!(text(&RunReport::default()), "tamis: no tests\n");
        let report = RunReport {
            tests: vec![samples::skipped("s", "a", 2_100), samples::skipped("s", "b", 0)],
            ..RunReport::default()
        };
        assert_eq!(text(&report), "tamis: nothing to run, 2 skipped: saved 2.1 s\n");
        let report = RunReport {
            tests: vec![samples::ran("s", "a", "a.c changed", Outcome::Passed)],
            ..RunReport::default()
        };
        let expected = "tamis: 1 ran (1 passed)\n  ran because:\n    1  a.c changed\n";
        assert_eq!(text(&report), expected);
    }

    #[test]
    fn flaky_tests_and_known_failures() {
        let mut report = samples::mixed();
        report.tests.truncate(2);
        report.tests[1].reruns = Some(Reruns { runs: 3, failed: 2 });
        report.still_failing = vec![samples::still_failing("old", "x")];
        let expected = "\
tamis: 2 ran (1 passed, 1 flaky), 1 still failing
  ran because:
    2  src/parse.c changed
  flaky, counted as failed (will run again):
    shell::tests/t3.sh  failed with exit code 1, then passed without a change (2 of 3 runs failed)
      expected <1> & got \"2\"�
  still failing, not run now:
    old::x  failed with exit code 3 3 h ago (record #7)
      expected 1
";
        assert_eq!(text(&report), expected);
        report.tests[1].reruns = Some(Reruns { runs: 3, failed: 3 });
        let text = text(&report);
        assert!(
            text.contains(
                "  failed:\n    shell::tests/t3.sh  failed with exit code 1 in each of 3 runs\n"
            ),
            "{text}"
        );
    }

    #[test]
    fn an_interrupted_run() {
        let mut report = samples::mixed();
        report.interrupted = true;
        for test in report.tests.iter_mut().take(3) {
            test.outcome = None;
        }
        let expected = "\
tamis: interrupted; 1 ran (1 failed), 3 not finished, 2 skipped
  ran because:
    1  src/parse.c changed
  failed:
    py::test_slow.py  timed out
";
        assert_eq!(text(&report), expected);
    }

    #[test]
    fn what_was_not_interrupted_and_has_no_end_is_named() {
        let mut test = samples::ran("s", "a", "cannot start bats: not found", Outcome::Passed);
        test.outcome = None;
        let report = RunReport { tests: vec![test], ..RunReport::default() };
        let expected = "\
tamis: none ran to its end, 1 not finished
  did not run to an end:
    s::a  cannot start bats: not found
";
        assert_eq!(text(&report), expected);
    }

    #[test]
    fn a_selection() {
        let mut report = samples::mixed();
        report.mode = Mode::Select;
        for test in &mut report.tests {
            test.outcome = None;
        }
        let expected = "\
tamis: 4 would run, 2 would be skipped: saves 41.2 s
  would run because:
    3  src/parse.c changed
    1  never run before
";
        assert_eq!(text(&report), expected);
    }

    #[test]
    fn long_lists_are_cut_and_aligned() {
        let mut tests = Vec::new();
        for n in 0..12 {
            for copy in 0..=(n / 11) * 9 {
                let mut test = samples::ran(
                    "s",
                    &format!("t{n}-{copy}"),
                    &format!("f{n:02} changed"),
                    Outcome::Passed,
                );
                if n < 9 {
                    test.taints = vec!["x".into(), "y".into(), "z".into()];
                }
                tests.push(test);
            }
        }
        for test in tests.iter_mut().skip(1).take(10) {
            test.outcome = Some(Outcome::Killed(9));
        }
        tests[0].key.unit = tamis_core::Unit::Item("n".repeat(60));
        tests[0].taints = vec!["x\ny".into()];
        for test in tests.iter_mut().skip(2) {
            test.taints.clear();
        }
        let way = |short: &str, steps: usize| {
            Some(Way { short: short.into(), steps: vec![String::new(); steps] })
        };
        let (last, before) = (tests.len() - 1, tests.len() - 2);
        tests[last].way = way("T -> A", 2);
        tests[before].way = way("U -> B -> A", 3);
        let got = text(&RunReport { tests, ..RunReport::default() });
        let reasons = "\
  ran because:
    10  f11 changed
        by T -> A
     1  f00 changed
     1  f01 changed
     1  f02 changed
     1  f03 changed
     1  f04 changed
     1  f05 changed
     1  f06 changed
    ... and 4 more reasons
  failed:
";
        assert!(got.contains(reasons), "{got}");
        let tainted = format!(
            "  not completely observed (will run again):\n    s::{}\n             x\\ny\n    s::t1-0  x (and 2 more reasons)\n",
            "n".repeat(60)
        );
        assert!(got.ends_with(&tainted), "{got}");
    }

    #[test]
    fn many_failures() {
        let tests = (0..21)
            .map(|n| samples::ran("s", &format!("t{n:02}"), "r", Outcome::Failed(2)))
            .collect();
        let got = text(&RunReport { tests, ..RunReport::default() });
        assert!(
            got.contains("    s::t19  failed with exit code 2\n    ... and 1 more test\n"),
            "{got}"
        );
        assert!(got.starts_with("tamis: 21 ran (21 failed)\n"), "{got}");
    }

    #[test]
    fn colours_only_when_asked() {
        let mut out = Vec::new();
        summary(&samples::mixed(), Style::coloured(), &mut out).unwrap();
        let coloured = String::from_utf8(out).unwrap();
        assert!(coloured.contains("\u{1b}[32m2 passed\u{1b}[0m"), "{coloured}");
        assert!(!text(&samples::mixed()).contains('\u{1b}'));
    }

    #[test]
    fn a_single_command() {
        let skipped = samples::skipped("", "./check.sh", 2_100);
        assert_eq!(
            line(&skipped),
            "tamis: skipped ./check.sh, nothing it looked at has changed (record #12, 1,034 inputs, saved 2.1 s)\n"
        );
        let mut ran = samples::ran("", "./check.sh", "src/a.c changed", Outcome::Passed);
        ran.inputs = Some(1_034);
        assert_eq!(
            line(&ran),
            "tamis: ran ./check.sh because src/a.c changed; 1,034 inputs recorded\n"
        );
        ran.outcome = Some(Outcome::Failed(1));
        ran.failed_before = 1;
        ran.taints = vec!["read its standard input, which cannot be compared".into()];
        ran.notes = vec!["talks to example.org:443".into()];
        assert_eq!(
            line(&ran),
            "\
tamis: ran ./check.sh because src/a.c changed; it failed with exit code 1 (as in the recorded run before); 1,034 inputs recorded
       not completely observed, will run again: read its standard input, which cannot be compared
       talks to example.org:443
"
        );
        let mut first = samples::ran("", "make test", "never run before", Outcome::Passed);
        first.key.folder = "sub".into();
        assert_eq!(
            line(&first),
            "tamis: ran make test (in sub) for the first time; 17 inputs recorded\n"
        );
        first.outcome = None;
        assert_eq!(
            line(&first),
            "tamis: make test (in sub) did not run to an end; it was started for the first time\n"
        );
        first.outcome = Some(Outcome::Passed);
        first.span.length = Duration::ZERO;
        first.decision = Decision::Run(Cause::Requested);
        first.inputs = Some(1);
        assert_eq!(line(&first), "tamis: ran make test (in sub) as asked; 1 input recorded\n");
    }
}
