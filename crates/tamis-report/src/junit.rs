//! JUnit XML, as CI systems read it.
//!
//! One `testsuite` per suite, in the order in which suites first appear. A skipped test is
//! `skipped` with its proof, one that did not pass is a `failure` with its output, one that did
//! not run to an end is an `error`. A test that was not run and did not pass when it last was is a
//! `failure` with what it said then. A flaky one is a `failure` as well, or, where the user accepts
//! flaky tests, a passed test with Surefire's `flakyFailure`. Characters that XML forbids are removed
//! from foreign text.

use crate::model::{RunReport, StillFailing, TestReport};
use crate::text::{known_failure_text, outcome_text};
use std::collections::HashSet;
use std::io::{self, Write};
use std::time::Duration;
use tamis_core::{Outcome, Scope, TestKey};

/// The name of the suite of bare commands.
const COMMANDS: &str = "commands";

/// The figures of one suite.
#[derive(Default)]
struct Figures {
    tests: usize,
    failures: usize,
    errors: usize,
    skipped: usize,
    time: Duration,
}

impl Figures {
    fn of(report: &RunReport, suite: Option<&Scope>) -> Self {
        let is_of = |key: &TestKey| suite.is_none_or(|suite| key.scope == *suite);
        let mut figures = Self::default();
        for test in report.tests.iter().filter(|test| is_of(&test.key)) {
            figures.tests += 1;
            figures.time = figures.time.saturating_add(test.wall);
            if report.known_failure(test).is_some() {
                figures.failures += 1;
                continue;
            }
            let accepted = report.flaky_ok && test.flaky();
            figures.failures += usize::from(test.failed() && !accepted);
            figures.errors += usize::from(test.unfinished());
            figures.skipped += usize::from(test.skipped());
        }
        let others = others(report).filter(|failure| is_of(&failure.key)).count();
        figures.tests += others;
        figures.failures += others;
        figures
    }

    fn attributes(&self) -> String {
        let Self { tests, failures, errors, skipped, time } = self;
        format!(
            "tests=\"{tests}\" failures=\"{failures}\" errors=\"{errors}\" skipped=\"{skipped}\" time=\"{:.3}\"",
            time.as_secs_f64()
        )
    }
}

/// Known failures of tests that the run knows nothing else of.
fn others(report: &RunReport) -> impl Iterator<Item = &StillFailing> {
    let known: HashSet<&TestKey> = report.tests.iter().map(|test| &test.key).collect();
    report.still_failing.iter().filter(move |failure| !known.contains(&failure.key))
}

/// Writes the report of a run.
pub fn write(report: &RunReport, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>")?;
    writeln!(out, "<testsuites name=\"tamis\" {}>", Figures::of(report, None).attributes())?;
    let mut suites: Vec<&Scope> = Vec::new();
    let keys = report.tests.iter().map(|test| &test.key);
    for key in keys.chain(others(report).map(|failure| &failure.key)) {
        if !suites.contains(&&key.scope) {
            suites.push(&key.scope);
        }
    }
    for suite in suites {
        let tests = || report.tests.iter().filter(|test| test.key.scope == *suite);
        let name = match suite {
            Scope::Command => COMMANDS.to_owned(),
            other => escape(&other.to_string()),
        };
        let figures = Figures::of(report, Some(suite)).attributes();
        writeln!(out, "  <testsuite name=\"{name}\" {figures}>")?;
        for test in tests() {
            case(report, test, &name, out)?;
        }
        for failure in others(report).filter(|failure| failure.key.scope == *suite) {
            head(&failure.key, &name, Duration::ZERO, out)?;
            known_failure(failure, out)?;
            writeln!(out, "</testcase>")?;
        }
        writeln!(out, "  </testsuite>")?;
    }
    writeln!(out, "</testsuites>")
}

fn head(key: &TestKey, class: &str, wall: Duration, out: &mut dyn Write) -> io::Result<()> {
    // The folder of a bare command belongs to its identity, as in the key's own text.
    let name = match &key.scope {
        Scope::Command => key.to_string(),
        _ => key.unit.to_string(),
    };
    let time = wall.as_secs_f64();
    let name = escape(&name);
    write!(out, "    <testcase classname=\"{class}\" name=\"{name}\" time=\"{time:.3}\">")
}

fn known_failure(failure: &StillFailing, out: &mut dyn Write) -> io::Result<()> {
    let message = format!("still failing, not run now: {}", known_failure_text(failure));
    let text = escape(failure.message.as_deref().unwrap_or_default());
    let message = escape(&message);
    write!(out, "<failure type=\"still failing\" message=\"{message}\">{text}</failure>")
}

fn case(report: &RunReport, test: &TestReport, class: &str, out: &mut dyn Write) -> io::Result<()> {
    head(&test.key, class, test.wall, out)?;
    let properties: Vec<(&str, &str)> = test
        .decision
        .is_run()
        .then_some(("tamis.reason", test.reason.as_str()))
        .into_iter()
        .chain(test.way.iter().map(|way| ("tamis.way", way.short.as_str())))
        .chain(test.taints.iter().map(|text| ("tamis.not-completely-observed", text.as_str())))
        .chain(test.notes.iter().map(|text| ("tamis.note", text.as_str())))
        .collect();
    if !properties.is_empty() {
        write!(out, "<properties>")?;
        for (name, value) in properties {
            write!(out, "<property name=\"{name}\" value=\"{}\"/>", escape(value))?;
        }
        write!(out, "</properties>")?;
    }
    let output = test.output.as_deref().map(String::from_utf8_lossy).unwrap_or_default();
    let output = escape(&output);
    if let Some(failure) = report.known_failure(test) {
        known_failure(failure, out)?;
    } else if test.skipped() {
        let proof = match &test.proof {
            Some(proof) => format!("{} ({proof})", test.reason),
            None => test.reason.clone(),
        };
        write!(out, "<skipped message=\"{}\"/>", escape(&proof))?;
    } else if let Some(outcome) = test.outcome {
        let kind = match outcome {
            Outcome::Passed => None,
            Outcome::Failed(_) => Some("exit code"),
            Outcome::Killed(_) => Some("signal"),
            Outcome::TimedOut => Some("timeout"),
        };
        match kind {
            Some(kind) => {
                let message = escape(&outcome_text(test));
                if test.flaky() {
                    // Surefire's element: readers that do not know it see a passed test.
                    let element = if report.flaky_ok { "flakyFailure" } else { "failure" };
                    let start = format!("<{element} type=\"flaky\" message=\"{message}\">");
                    writeln!(out, "{start}{output}</{element}></testcase>")?;
                    return Ok(());
                }
                write!(out, "<failure type=\"{kind}\" message=\"{message}\">{output}</failure>")?;
            }
            None if !output.is_empty() => write!(out, "<system-out>{output}</system-out>")?,
            None => {}
        }
    } else {
        write!(out, "<error type=\"not finished\" message=\"did not run to an end\"/>")?;
    }
    writeln!(out, "</testcase>")
}

/// Text for an element or an attribute; what XML 1.0 forbids is left out.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            '"' => escaped.push_str("&quot;"),
            // Would be read back as a blank in an attribute and as a newline in text.
            '\n' | '\r' | '\t' => escaped.push_str(&format!("&#{};", u32::from(c))),
            '\u{0}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => {}
            _ => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;
    use proptest::prelude::*;

    fn xml(report: &RunReport) -> String {
        let mut out = Vec::new();
        write(report, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_run() {
        let expected = r#"<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="tamis" tests="6" failures="2" errors="0" skipped="2" time="1.800">
  <testsuite name="shell" tests="5" failures="1" errors="0" skipped="2" time="1.350">
    <testcase classname="shell" name="tests/t1.sh" time="0.450"><properties><property name="tamis.reason" value="src/parse.c changed"/></properties></testcase>
    <testcase classname="shell" name="tests/t3.sh" time="0.450"><properties><property name="tamis.reason" value="src/parse.c changed"/></properties><failure type="exit code" message="failed with exit code 1 (still failing, 3rd run in a row)">expected &lt;1&gt; &amp; got [31m&quot;2&quot;�&#10;]]&gt;&#10;</failure></testcase>
    <testcase classname="shell" name="tests/net.sh" time="0.450"><properties><property name="tamis.reason" value="never run before"/><property name="tamis.not-completely-observed" value="talked to a process that was already running: 127.0.0.1:5432"/><property name="tamis.note" value="talks to example.org:443"/></properties></testcase>
    <testcase classname="shell" name="tests/a.sh" time="0.000"><skipped message="nothing it looked at has changed (record #12, 1,034 inputs)"/></testcase>
    <testcase classname="shell" name="tests/b|c.sh" time="0.000"><skipped message="nothing it looked at has changed (record #12, 1,034 inputs)"/></testcase>
  </testsuite>
  <testsuite name="py" tests="1" failures="1" errors="0" skipped="0" time="0.450">
    <testcase classname="py" name="test_slow.py" time="0.450"><properties><property name="tamis.reason" value="src/parse.c changed"/></properties><failure type="timeout" message="timed out"></failure></testcase>
  </testsuite>
</testsuites>
"#;
        assert_eq!(xml(&samples::mixed()), expected);
    }

    #[test]
    fn flaky_tests_are_failures_unless_they_are_accepted() {
        let mut report = samples::mixed();
        report.tests[1].reruns = Some(crate::Reruns { runs: 2, failed: 1 });
        let text = xml(&report);
        let flaky = r#"<failure type="flaky" message="failed with exit code 1, then passed without a change (1 of 2 runs failed)">expected"#;
        assert!(text.contains(flaky), "{text}");
        assert!(text.contains(r#"tests="6" failures="2""#), "{text}");
        report.flaky_ok = true;
        let text = xml(&report);
        assert!(
            text.contains("<flakyFailure type=\"flaky\"") && !text.contains("type=\"exit code\"")
        );
        assert!(text.contains(r#"tests="6" failures="1""#), "{text}");
        assert!(roxmltree::Document::parse(&text).is_ok(), "{text}");
    }

    #[test]
    fn known_failures_of_tests_that_were_not_run() {
        let mut report = samples::mixed();
        // One that the run skipped for another reason, one that it does not know.
        report.still_failing =
            vec![samples::still_failing("shell", "tests/a.sh"), samples::still_failing("old", "x")];
        let text = xml(&report);
        assert!(text.contains(r#"tests="7" failures="4" errors="0" skipped="1""#), "{text}");
        let failure = r#"<failure type="still failing" message="still failing, not run now: failed with exit code 3 3 h ago (record #7)">expected 1&#10;got 2</failure></testcase>"#;
        assert_eq!(text.matches(failure).count(), 2, "{text}");
        assert!(text.contains(r#"<testsuite name="old" tests="1" failures="1""#), "{text}");
    }

    #[test]
    fn it_reads_back() {
        let mut report = samples::mixed();
        report.tests[0].outcome = None;
        report.tests[2].key.scope = Scope::Command;
        report.tests[2].key.folder = "a\"b".into();
        report.tests[2].output = Some(b"fine\n".to_vec());
        let text = xml(&report);
        let document = roxmltree::Document::parse(&text).unwrap();
        let all = |tag: &'static str| document.descendants().filter(move |n| n.has_tag_name(tag));
        assert_eq!(all("testcase").count(), 6);
        assert_eq!(all("skipped").count(), 2);
        assert_eq!(all("error").count(), 1);
        let failure = all("failure").next().unwrap();
        assert_eq!(failure.text(), Some("expected <1> & got [31m\"2\"\u{fffd}\n]]>\n"));
        let command = all("testcase").find(|n| n.attribute("classname") == Some("commands"));
        let command = command.unwrap();
        assert_eq!(command.attribute("name"), Some("tests/net.sh (in a\"b)"));
        assert_eq!(all("system-out").next().unwrap().text(), Some("fine\n"));
        let total = document.root_element();
        assert_eq!(total.attribute("errors"), Some("1"));
    }

    proptest! {
        #[test]
        fn any_name_and_output_is_valid_xml(
            name in ".{0,20}",
            reason in any::<String>(),
            output in prop::collection::vec(any::<u8>(), 0..60),
        ) {
            let mut report = samples::mixed();
            report.tests[1].key.scope = Scope::Suite(name.clone());
            report.tests[1].key.unit = tamis_core::Unit::Item(name);
            report.tests[1].reason.clone_from(&reason);
            report.tests[4].reason = reason;
            report.tests[1].output = Some(output);
            let text = xml(&report);
            let parsed = roxmltree::Document::parse(&text);
            prop_assert!(parsed.is_ok(), "{:?}\n{}", parsed.err(), text);
        }
    }
}
