//! JUnit XML, as CI systems read it; valid by Jenkins' junit-10.xsd.
//!
//! One `testsuite` per suite, in the order in which suites first appear. A skipped test is
//! `skipped` with its proof, one that did not pass is a `failure` with its output, one that did
//! not run to an end is an `error`. A test that was not run and did not pass when it last was is a
//! `failure` with what it printed then. A flaky one is a `failure` as well, or, where the user accepts
//! flaky tests, a passed test with Surefire's `flakyFailure`. Why a test ran stands in its `system-out`,
//! in lines that begin with `[tamis]`: the schema has no other place for it. What `--check-isolation` ran alone is a
//! suite of its own. Characters that XML forbids
//! and colours are removed from foreign text.

use crate::excerpt;
use crate::isolation::{Found, Isolation};
use crate::model::{RunReport, StillFailing, TestReport};
use crate::savings::wall;
use crate::text::{failure_text, known_failure_text};
use quick_junit::{
    NonSuccessKind, Property, Report, TestCase, TestCaseStatus, TestRerun, TestSuite, XmlString,
};
use std::collections::HashSet;
use std::io::{self, Write};
use std::time::Duration;
use tamis_core::{Outcome, Scope, TestKey};

/// The name of the suite of bare commands.
const COMMANDS: &str = "commands";

/// The name of the suite of tests that were run alone.
const ISOLATION: &str = "isolation";

/// Writes the report of a run.
pub fn write(report: &RunReport, out: &mut dyn Write) -> io::Result<()> {
    let mut suites: Vec<&Scope> = Vec::new();
    let keys = report.tests.iter().map(|test| &test.key);
    for key in keys.chain(others(report).map(|failure| &failure.key)) {
        if !suites.contains(&&key.scope) {
            suites.push(&key.scope);
        }
    }
    let mut xml = Report::new("tamis");
    xml.set_time(total(report.tests.iter()));
    xml.add_test_suites(suites.into_iter().map(|suite| test_suite(report, suite)));
    xml.add_test_suites(report.isolation.as_ref().filter(|i| !i.alone.is_empty()).map(isolation));
    // The schema has no place for properties of all suites together.
    if let Some(first) = xml.test_suites.first_mut() {
        for (name, value) in properties(report) {
            first.add_property(Property::new(name, value));
        }
    }
    let text = xml.to_string().map_err(io::Error::other)?;
    // The schema has this number for each suite, and not for all of them together.
    let text = text.replacen(&format!(" skipped=\"{}\"", xml.skipped), "", 1);
    out.write_all(text.as_bytes())
}

/// What is true of the run as a whole.
fn properties(report: &RunReport) -> Vec<(String, String)> {
    let Some(phases) = report.phases else { return Vec::new() };
    let text = |time: Duration| format!("{:.6}", time.as_secs_f64());
    let phases = phases.named().into_iter();
    let mut all: Vec<(String, String)> =
        phases.map(|(name, time)| (format!("tamis.{name}-seconds"), text(time))).collect();
    all.push(("tamis.wall-seconds".into(), text(report.wall)));
    all.push(("tamis.saved-seconds".into(), text(report.counts().saved)));
    if let Some(checked) = &report.checked {
        all.push((format!("tamis.{}-checked", checked.check), checked.checked.to_string()));
        all.push((format!("tamis.{}-missed", checked.check), checked.missed.len().to_string()));
    }
    all
}

/// Known failures of tests that the run knows nothing else of.
fn others(report: &RunReport) -> impl Iterator<Item = &StillFailing> {
    let known: HashSet<&TestKey> = report.tests.iter().map(|test| &test.key).collect();
    report.still_failing.iter().filter(move |failure| !known.contains(&failure.key))
}

fn test_suite(report: &RunReport, suite: &Scope) -> TestSuite {
    let name = match suite {
        Scope::Command => text(COMMANDS),
        other => text(&other.to_string()),
    };
    let mut xml = TestSuite::new(name.clone());
    let tests = || report.tests.iter().filter(|test| test.key.scope == *suite);
    xml.set_time(total(tests()));
    xml.add_test_cases(tests().map(|test| {
        let mut case = test_case(&test.key, &name, test.wall(), status(report, test));
        case.system_out = system_out(test, matches!(case.status, TestCaseStatus::Success { .. }));
        case
    }));
    let others = others(report).filter(|failure| failure.key.scope == *suite);
    xml.add_test_cases(others.map(|f| test_case(&f.key, &name, Duration::ZERO, known_failure(f))));
    xml
}

/// One test for each that was run alone; one that ends otherwise then is a failure.
fn isolation(isolation: &Isolation) -> TestSuite {
    let mut xml = TestSuite::new(text(ISOLATION));
    xml.set_time(Duration::ZERO);
    xml.add_test_cases(isolation.alone.iter().map(|test| {
        let its = isolation.found.iter().filter(|found| found.test == *test);
        let texts: Vec<String> = its.clone().map(Found::text).collect();
        let messages: Vec<&str> = its.filter_map(|found| found.message.as_deref()).collect();
        let status = match texts.as_slice() {
            [] => TestCaseStatus::success(),
            texts => failure("isolation", &texts.join("; "), &messages.join("\n")),
        };
        let mut case = TestCase::new(text(test), status);
        case.set_classname(text(ISOLATION));
        case.set_time(Duration::ZERO);
        case
    }));
    xml
}

/// How long they ran, by the clock.
fn total<'r>(tests: impl Iterator<Item = &'r TestReport> + Clone) -> Duration {
    wall(tests.filter(|test| test.outcome.is_some()).map(|test| (test.span, test.wall())))
}

fn test_case(key: &TestKey, class: &XmlString, wall: Duration, status: TestCaseStatus) -> TestCase {
    // The folder of a bare command belongs to its identity, as in the key's own text.
    let name = match &key.scope {
        Scope::Command => key.to_string(),
        _ => key.unit.to_string(),
    };
    let mut case = TestCase::new(text(&name), status);
    case.set_classname(class.clone());
    case.set_time(wall);
    case
}

fn failure(kind: &str, message: &str, description: &str) -> TestCaseStatus {
    let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
    status.set_type(kind).set_message(text(message)).set_description(text(description));
    status
}

fn known_failure(known: &StillFailing) -> TestCaseStatus {
    let mut message = format!("still failing, not run now: {}", known_failure_text(known));
    let what = known.message.as_deref().and_then(|text| excerpt::headline(text.as_bytes()));
    message.extend(what.map(|what| format!(": {what}")));
    failure("still failing", &message, known.message.as_deref().unwrap_or_default())
}

fn status(report: &RunReport, test: &TestReport) -> TestCaseStatus {
    if let Some(known) = report.known_failure(test) {
        return known_failure(known);
    }
    if test.skipped() {
        let proof = test.proof.as_ref();
        let proof = proof.map_or(test.reason.clone(), |p| format!("{} ({p})", test.reason));
        let mut status = TestCaseStatus::skipped();
        status.set_message(text(&proof));
        return status;
    }
    let kind = match test.outcome {
        None => {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
            let problem = test.problem().unwrap_or("did not run to an end");
            status.set_type("not finished").set_message(text(problem));
            return status;
        }
        Some(Outcome::Passed) => return TestCaseStatus::success(),
        Some(_) if test.flaky() => "flaky",
        Some(Outcome::Failed(_)) if test.key.scope.tool().is_some() => "failed",
        Some(Outcome::Failed(_)) => "exit code",
        Some(Outcome::Killed(_)) => "signal",
        Some(Outcome::TimedOut) => "timeout",
    };
    let output = output(test);
    if !(test.flaky() && report.flaky_ok) {
        return failure(kind, &failure_text(test), &output);
    }
    // Surefire's element: readers that do not know it see a passed test.
    let mut run = TestRerun::new(NonSuccessKind::Failure);
    run.set_type(kind).set_message(text(&failure_text(test))).set_description(text(&output));
    let mut status = TestCaseStatus::success();
    status.add_rerun(run);
    status
}

fn output(test: &TestReport) -> String {
    excerpt::clean(test.output.as_deref().unwrap_or_default())
}

/// Why a test ran and what was noticed, and what it printed where no failure shows that.
fn system_out(test: &TestReport, passed: bool) -> Option<XmlString> {
    let reason = test.decision.is_run().then(|| format!("ran because: {}", test.reason));
    let lines = reason
        .into_iter()
        .chain(test.way.iter().map(|way| format!("by way of: {}", way.short)))
        .chain(test.taints.iter().map(|taint| format!("not completely observed: {taint}")))
        .chain(test.notes.iter().map(|note| format!("note: {note}")));
    let mut out: String = lines.map(|line| format!("[tamis] {line}\n")).collect();
    if passed && !test.flaky() {
        out += &output(test);
    }
    (!out.is_empty()).then(|| text(&out))
}

/// Foreign text without colours and without what XML 1.0 forbids.
fn text(foreign: &str) -> XmlString {
    // `XmlString` keeps these two.
    XmlString::new(foreign.replace(['\u{fffe}', '\u{ffff}'], ""))
}

#[cfg(test)]
mod schema;

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
        insta::assert_snapshot!(xml(&samples::mixed()));
    }

    #[test]
    fn flaky_tests_are_failures_unless_they_are_accepted() {
        let mut report = samples::mixed();
        report.tests[1].reruns = Some(crate::Reruns { runs: 2, failed: 1 });
        let text = xml(&report);
        let flaky = r#"<failure message="failed with exit code 1, then passed without a change (1 of 2 runs failed): expected "#;
        assert!(text.contains(flaky) && text.contains(r#"" type="flaky">expected"#), "{text}");
        assert!(text.contains(r#"name="tamis" tests="6" failures="2""#), "{text}");
        report.flaky_ok = true;
        let text = xml(&report);
        assert!(text.contains("<flakyFailure ") && !text.contains("type=\"exit code\""), "{text}");
        assert!(text.contains(r#"name="tamis" tests="6" failures="1""#), "{text}");
    }

    #[test]
    fn known_failures_of_tests_that_were_not_run() {
        let mut report = samples::mixed();
        // One that the run skipped for another reason, one that it does not know.
        report.still_failing =
            vec![samples::still_failing("shell", "tests/a.sh"), samples::still_failing("old", "x")];
        let text = xml(&report);
        assert!(text.contains(r#"name="tamis" tests="7" failures="4" errors="0""#), "{text}");
        let failure = r#"<failure message="still failing, not run now: failed with exit code 3 3 h ago (record #7): expected 1" type="still failing">expected 1"#;
        assert_eq!(text.matches(failure).count(), 2, "{text}");
        let old = r#"<testsuite name="old" tests="1" skipped="0" errors="0" failures="1""#;
        assert!(text.contains(old), "{text}");
    }

    #[test]
    fn it_reads_back() {
        let mut report = samples::mixed();
        report.tests[0].outcome = None;
        report.tests[2].key.scope = Scope::Command;
        report.tests[2].key.folder = "a\"b".into();
        report.tests[2].output = Some(b"fine\n".to_vec());
        let read = Report::deserialize_from_str(&xml(&report)).unwrap();
        assert_eq!((read.tests, read.failures, read.errors), (6, 2, 1));
        let cases: Vec<&TestCase> = read.test_suites.iter().flat_map(|s| &s.test_cases).collect();
        assert_eq!(cases.len(), 6);
        let skipped = |case: &&&TestCase| matches!(case.status, TestCaseStatus::Skipped { .. });
        assert_eq!(cases.iter().filter(skipped).count(), 2);
        let failed = cases.iter().find(|case| case.name.as_str() == "tests/t3.sh").unwrap();
        let TestCaseStatus::NonSuccess { description: Some(output), .. } = &failed.status else {
            panic!("{failed:?}");
        };
        assert_eq!(output.trim(), "expected <1> & got \"2\"\u{fffd}\n]]>");
        let commands = &read.test_suites[1];
        assert_eq!(commands.name.as_str(), "commands");
        assert_eq!(commands.test_cases[0].name.as_str(), "tests/net.sh (in a\"b)");
        let out = commands.test_cases[0].system_out.as_ref().unwrap().as_str();
        assert!(out.starts_with("[tamis] ran because: never run before\n"), "{out}");
        assert!(out.ends_with("[tamis] note: talks to example.org:443\nfine"), "{out}");
    }

    #[test]
    fn all_forms_are_valid_by_the_schema() {
        let mut report = samples::mixed();
        schema::check(&xml(&report)).unwrap();
        report.tests[0].outcome = None;
        report.tests[1].reruns = Some(crate::Reruns { runs: 2, failed: 1 });
        report.tests[2].output = Some(b"fine\n".to_vec());
        report.still_failing =
            vec![samples::still_failing("shell", "tests/a.sh"), samples::still_failing("old", "x")];
        schema::check(&xml(&report)).unwrap();
        report.flaky_ok = true;
        schema::check(&xml(&report)).unwrap();
        let (test, message) = ("mvn:a::p.ReaderTest".to_owned(), Some("no <1>".to_owned()));
        let alone = vec![test.clone(), "other".into()];
        let found = vec![Found { test, message, ..Found::default() }];
        report.isolation = Some(Isolation { alone, found, ..Isolation::default() });
        let text = xml(&report);
        schema::check(&text).unwrap();
        assert!(text.contains(
            r#"<testsuite name="isolation" tests="2" skipped="0" errors="0" failures="1""#
        ));
        let failure = r#"message="fails alone, passes behind the tests before it" type="isolation">no &lt;1&gt;"#;
        assert!(text.contains(failure), "{text}");
        schema::check(&xml(&RunReport::default())).unwrap();
    }

    #[test]
    fn the_check_of_the_schema_finds_mistakes() {
        let good = xml(&samples::mixed());
        for (part, instead) in [
            ("<testsuites ", "<testsuites skipped=\"2\" "),
            (" failures=\"1\" time=\"1.350\"", " time=\"1.350\""),
            ("time=\"1.350\"", "time=\"1 s\""),
            ("<system-out>", "<properties/><system-out>"),
            ("<skipped ", "<ignored "),
            ("<testcase name=\"tests/t1.sh\"", "<testcase"),
        ] {
            assert!(good.contains(part), "{part} is not in {good}");
            let bad = good.replace(part, instead);
            assert!(schema::check(&bad).is_err(), "{instead}");
        }
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
            let checked = schema::check(&text);
            prop_assert!(checked.is_ok(), "{:?}\n{}", checked.err(), text);
        }
    }
}
