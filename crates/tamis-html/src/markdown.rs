//! The headline figures in Markdown: for the job's page (GitHub's step summary, GitLab), and as the text of a comment
//! on a pull request.

use crate::model::Report;
use crate::words::{line, mood, verdict};
use std::fmt::Write as _;
use std::time::Duration;
use tamis_report::excerpt;
use tamis_report::human::{counted, duration, number};
use tamis_report::kept::{KeptRun, KeptTest};
use tamis_report::markdown::escape;
use tamis_report::reason;

/// The first line of a comment, by which whoever posts it finds the one from before.
pub const MARK: &str = "<!-- tamis-report -->";

/// Failures and reasons of the job's page.
const MOST: usize = 20;
/// Likewise of a comment, which is read between others.
const MOST_IN_COMMENT: usize = 5;

/// For the job's page: all calls whose last run is kept.
pub fn summary(report: &Report, link: &str) -> String {
    let mut text = String::from("## tamis\n\n");
    for run in &report.runs {
        text += &of_run(run, MOST);
    }
    if report.runs.is_empty() {
        text += "No run is known yet.\n\n";
    }
    text += &in_all(report);
    let _ = writeln!(text, "[The whole report]({})", destination(link));
    text
}

/// For a pull request: the call that was made last.
pub fn comment(report: &Report, link: &str) -> String {
    let mut text = format!("{MARK}\n");
    match report.last() {
        Some(run) => text += &of_run(run, MOST_IN_COMMENT),
        None => text += "No run is known yet.\n\n",
    }
    let _ = writeln!(text, "[What ran and why]({})", destination(link));
    text
}

fn of_run(run: &KeptRun, most: usize) -> String {
    let sign = match mood(run) {
        "bad" => "❌",
        "warn" => "⚠️",
        _ => "✅",
    };
    let options: String = run.called.options.iter().map(|option| format!(" {option}")).collect();
    let called = escape(&format!("{}{options}", run.called.name));
    let mut text =
        format!("### {sign} {}\n\n{called}: {}\n\n", escape(&verdict(run)), line(&run.figures));
    if let Some((line, missed)) = &run.checked {
        let _ = writeln!(text, "{}\n", escape(line));
        for miss in missed.iter().take(most) {
            let _ = writeln!(text, "- {}", escape(miss));
        }
        text += if missed.is_empty() { "" } else { "\n" };
    }
    let failed: Vec<&KeptTest> = run.tests.iter().filter(|test| test.failed()).collect();
    for test in failed.iter().take(most) {
        let output = test.more.as_ref().and_then(|more| more.output.as_deref());
        let message = output.and_then(|text| excerpt::headline(text.as_bytes()));
        let how = test.outcome.map(|how| reason::outcome(&test.key, how)).unwrap_or_default();
        let flaky = if test.flaky() { " (flaky)" } else { "" };
        let _ = writeln!(
            text,
            "- **{}**{flaky}: {}",
            escape(&test.key.to_string()),
            escape(&message.unwrap_or(how))
        );
    }
    text += &more(failed.len(), most, "failure", "failures");
    if !failed.is_empty() {
        text.push('\n');
    }
    let reasons = reasons(run);
    if !reasons.is_empty() {
        text += "| ran because | tests |\n| --- | ---: |\n";
        for (reason, n) in reasons.iter().take(most) {
            let _ = writeln!(text, "| {} | {} |", escape(reason), number(*n));
        }
        text.push('\n');
        text += &more(reasons.len(), most, "reason", "reasons");
    }
    text
}

fn more(all: usize, shown: usize, one: &str, many: &str) -> String {
    match all.saturating_sub(shown) {
        0 => String::new(),
        left => format!(
            "\n... and {}\n\n",
            counted(left as u64, &format!("more {one}"), &format!("more {many}"))
        ),
    }
}

/// Why tests ran, most frequent first.
fn reasons(run: &KeptRun) -> Vec<(&str, u64)> {
    let mut counts = vec![0_u64; run.reasons.len()];
    for test in run.tests.iter().filter(|test| test.outcome.is_some()) {
        if let Some(count) = counts.get_mut(test.reason as usize) {
            *count += 1;
        }
    }
    let reasons = run.reasons.iter().map(String::as_str).zip(counts);
    let mut reasons: Vec<(&str, u64)> = reasons.filter(|(_, n)| *n > 0).collect();
    reasons.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
    reasons
}

fn in_all(report: &Report) -> String {
    let saved = report.saved_in_all();
    let calls = report.saved.iter().filter(|(_, saved)| !saved.is_zero()).count();
    match saved {
        Duration::ZERO => String::new(),
        saved => format!(
            "Saved in all: {} in {}.\n\n",
            duration(saved),
            counted(calls as u64, "call", "calls")
        ),
    }
}

/// A link's destination: what would end it is encoded.
fn destination(link: &str) -> String {
    let mut text = String::new();
    for c in link.chars() {
        match c {
            ' ' | '(' | ')' | '<' | '>' | '\\' | '"' => {
                let _ = write!(text, "%{:02X}", u32::from(c));
            }
            c if c.is_control() => {}
            c => text.push(c),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use tamis_core::{Cause, Decision, Outcome, TestKey};
    use tamis_report::kept::Called;
    use tamis_report::{RunReport, TestReport};

    fn report() -> Report {
        let mut failed = TestReport::new(
            TestKey::item("s", "a|b<c>`*", "."),
            Decision::Run(Cause::New),
            "never run before",
        );
        failed.outcome = Some(Outcome::Failed(1));
        failed.output = Some(b"Error: [x](javascript:y) <img>\n".to_vec());
        let mut passed = failed.clone();
        passed.key = TestKey::item("s", "fine", ".");
        (passed.outcome, passed.output) = (Some(Outcome::Passed), None);
        let run = RunReport {
            tests: vec![failed, passed],
            wall: Duration::from_secs(3),
            ..RunReport::default()
        };
        let called = Called {
            name: "mvn test".into(),
            options: vec!["--only a".into()],
            ..Called::default()
        };
        let saved = vec![(1, Duration::ZERO), (2, Duration::from_secs(90))];
        Report { runs: vec![KeptRun::of(&run, called)], saved, ..Report::default() }
    }

    #[test]
    fn the_summary_of_a_job() {
        let expected = "\
## tamis

### ❌ 1 of 2 tests that ran failed

mvn test --only a: 2 of 2 tests ran · nothing saved · took 3.0 s

- **s::a\\|b&lt;c&gt;\\`\\***: Error: \\[x\\](javascript:y) &lt;img&gt;

| ran because | tests |
| --- | ---: |
| never run before | 2 |

Saved in all: 1 min 30 s in 1 call.

[The whole report](https://ci.example/a%20b%29)
";
        assert_eq!(summary(&report(), "https://ci.example/a b)"), expected);
    }

    #[test]
    fn a_comment_is_found_again_and_short() {
        let text = comment(&report(), "index.html");
        assert!(text.starts_with(MARK), "{text}");
        assert!(text.ends_with("[What ran and why](index.html)\n"), "{text}");
        assert!(!text.contains("Saved in all"), "{text}");
        assert!(comment(&Report::default(), "x").contains("No run is known yet"));
    }
}
