//! Markdown for the job summary of GitHub Actions (`GITHUB_STEP_SUMMARY`).
//!
//! A summary may have one MiB, so tables are cut after a number of rows; failures come first.

use crate::checks;
use crate::excerpt;
use crate::human;
use crate::isolation::Found;
use crate::model::{Mode, RunReport, StillFailing, TestReport};
use crate::style::Style;
use crate::text::{failure_text, headline, known_failure_text, outcome_text, taint_text};
use std::io::{self, Write};
use tamis_core::Outcome;

/// Rows of one table.
const MOST_ROWS: usize = 200;
/// Characters of one cell.
const LONGEST_CELL: usize = 300;

/// Writes the summary of a run.
pub fn write(report: &RunReport, out: &mut dyn Write) -> io::Result<()> {
    let counts = report.counts();
    writeln!(out, "### tamis: {}\n", escape(&headline(report, &counts, Style::plain())))?;
    if let Some(checked) = &report.checked {
        writeln!(out, "{}\n", escape(&checks::headline(report, checked)))?;
    }
    if let Some(isolation) = &report.isolation {
        writeln!(out, "{}\n", escape(&isolation.headline()))?;
        let row = |found: &Found| vec![escape(&found.test), escape(&found.text())];
        let rows: Vec<Vec<String>> = isolation.found.iter().map(row).collect();
        if !rows.is_empty() {
            table(&["test", "ends otherwise alone"], "| --- | --- |", rows, out)?;
        }
    }
    if let Some(phases) = report.phases {
        writeln!(out, "Took {}: {}\n", human::duration(report.wall), phases.text())?;
    }
    let mut run: Vec<&TestReport> =
        report.tests.iter().filter(|test| test.decision.is_run()).collect();
    // Stable: within a group the order of the report.
    run.sort_by_key(|test| (!test.failed(), !test.unfinished()));
    if report.mode == Mode::Select {
        let rows = run.iter().map(|test| vec![name(test), escape(&test.reason)]).collect();
        table(&["test", "would run because"], "| --- | --- |", rows, out)?;
    } else {
        let rows = run
            .iter()
            .map(|test| {
                let time = test.outcome.map(|_| human::duration(test.wall())).unwrap_or_default();
                vec![name(test), result(test), time, escape(&test.reason)]
            })
            .collect();
        let columns = ["test", "result", "time", "ran because"];
        table(&columns, "| --- | --- | ---: | --- |", rows, out)?;
    }
    let flaky: Vec<Vec<String>> = run
        .iter()
        .filter(|test| test.flaky())
        .map(|test| vec![name(test), escape(&outcome_text(test))])
        .collect();
    if !flaky.is_empty() {
        let counted = match report.flaky_ok {
            true => "not counted as failed (flaky-ok)",
            false => "counted as failed",
        };
        writeln!(out, "**Flaky**, {counted}, will run again:\n")?;
        table(&["test", "what happened"], "| --- | --- |", flaky, out)?;
    }
    if !report.still_failing.is_empty() {
        writeln!(out, "**Still failing**, not run now:\n")?;
        let row = |failure: &StillFailing| {
            let message = failure.message.as_deref().unwrap_or_default();
            let message = &excerpt::headline(message.as_bytes()).unwrap_or_default();
            let test = escape(&failure.key.to_string());
            vec![test, escape(&known_failure_text(failure)), escape(message)]
        };
        let rows = report.still_failing.iter().map(row).collect();
        table(&["test", "last result", "message"], "| --- | --- | --- |", rows, out)?;
    }
    let tainted: Vec<Vec<String>> = run
        .iter()
        .filter(|test| test.outcome.is_some())
        .filter_map(|test| Some(vec![name(test), escape(&taint_text(test)?)]))
        .collect();
    if !tainted.is_empty() {
        writeln!(out, "Not completely observed, will run again:\n")?;
        table(&["test", "why"], "| --- | --- |", tainted, out)?;
    }
    let notes = report.notes();
    if !notes.is_empty() {
        writeln!(out, "Noticed:\n")?;
        for (n, note) in notes.iter().take(MOST_ROWS) {
            let tests = human::counted(*n as u64, "test", "tests");
            writeln!(out, "- {} ({tests})", escape(note))?;
        }
        writeln!(out)?;
    }
    let skipped: Vec<Vec<String>> = report
        .tests
        .iter()
        .filter(|test| test.skipped())
        .map(|test| {
            let proof = test.proof.as_deref().unwrap_or(&test.reason);
            vec![name(test), escape(proof), human::duration(test.saved)]
        })
        .collect();
    if !skipped.is_empty() {
        let number = human::number(skipped.len() as u64);
        writeln!(out, "<details><summary>{number} skipped, with what proves it</summary>\n")?;
        table(&["test", "proof", "saved"], "| --- | --- | ---: |", skipped, out)?;
        writeln!(out, "</details>\n")?;
    }
    Ok(())
}

fn name(test: &TestReport) -> String {
    escape(&test.key.to_string())
}

fn result(test: &TestReport) -> String {
    let text = escape(&failure_text(test));
    if test.outcome.is_some_and(Outcome::passed) { text } else { format!("**{text}**") }
}

fn table(
    columns: &[&str],
    rule: &str,
    rows: Vec<Vec<String>>,
    out: &mut dyn Write,
) -> io::Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    writeln!(out, "| {} |\n{rule}", columns.join(" | "))?;
    for row in rows.iter().take(MOST_ROWS) {
        writeln!(out, "| {} |", row.join(" | "))?;
    }
    writeln!(out)?;
    if rows.len() > MOST_ROWS {
        let left = human::number((rows.len() - MOST_ROWS) as u64);
        writeln!(out, "... and {left} more\n")?;
    }
    Ok(())
}

/// Foreign text that is shown as it is, on one line, also inside a table.
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    let line = human::one_line(text);
    for c in line.chars().take(LONGEST_CELL) {
        match c {
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '#' | '$' | '@' => {
                escaped.push('\\');
                escaped.push(c);
            }
            _ => escaped.push(c),
        }
    }
    if line.chars().count() > LONGEST_CELL {
        escaped.push('…');
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    fn markdown(report: &RunReport) -> String {
        let mut out = Vec::new();
        write(report, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_run() {
        insta::assert_snapshot!(markdown(&samples::mixed()));
    }

    #[test]
    fn a_selection_and_an_empty_run() {
        let mut report = samples::mixed();
        report.mode = Mode::Select;
        report.tests.truncate(1);
        report.tests[0].outcome = None;
        let expected = "### tamis: 1 would run\n\n| test | would run because |\n| --- | --- |\n| shell::tests/t1.sh | src/parse.c changed |\n\n";
        assert_eq!(markdown(&report), expected);
        assert_eq!(markdown(&RunReport::default()), "### tamis: no tests\n\n");
    }

    #[test]
    fn flaky_tests_and_known_failures() {
        let mut report = samples::mixed();
        report.tests[1].reruns = Some(crate::Reruns { runs: 2, failed: 1 });
        report.still_failing = vec![samples::still_failing("old", "x")];
        let text = markdown(&report);
        let head = "4 ran (2 passed, 1 failed, 1 flaky), 2 skipped, 1 still failing";
        assert!(text.contains(head), "{text}");
        let flaky = "**Flaky**, counted as failed, will run again:\n\n| test | what happened |\n| --- | --- |\n| shell::tests/t3.sh | failed with exit code 1, then passed without a change (1 of 2 runs failed) |\n";
        assert!(text.contains(flaky), "{text}");
        let still = "| old::x | failed with exit code 3 3 h ago (record \\#7) | expected 1 |\n";
        assert!(text.contains(still), "{text}");
    }

    #[test]
    fn foreign_text_stays_text() {
        assert_eq!(escape("a|b\n<c> `d` @e"), "a\\|b\\\\n&lt;c&gt; \\`d\\` \\@e");
        assert_eq!(escape(&"x".repeat(400)).chars().count(), LONGEST_CELL + 1);
    }

    #[test]
    fn long_tables_are_cut() {
        let tests = (0..250).map(|n| samples::ran("s", &format!("t{n}"), "r", Outcome::Passed));
        let text = markdown(&RunReport { tests: tests.collect(), ..RunReport::default() });
        assert!(text.ends_with("| s::t199 | passed | 0.45 s | r |\n\n... and 50 more\n\n"));
    }
}
