//! JSON lines: one object a line, for programs. The fields are described in `docs/json.md`.
//!
//! The first line carries the version of the format. Within a version fields are only added.
//! Keys stand in a fixed order, `event` first.

use crate::model::{Mode, RunReport, StillFailing, TestReport};
use serde_json::Value;
use std::io::{self, Write};
use std::time::Duration;
use tamis_core::{Cause, Decision, Outcome};

/// The version of the format.
pub const VERSION: u32 = 1;

/// One object under construction.
struct Line(String);

impl Line {
    fn new(event: &str) -> Self {
        let mut line = Self(String::from("{"));
        line.add("event", event);
        line
    }

    fn add(&mut self, key: &str, value: impl Into<Value>) -> &mut Self {
        if self.0.len() > 1 {
            self.0.push(',');
        }
        // The text of a `Value` is its JSON.
        self.0 += &format!("{}:{}", Value::from(key), value.into());
        self
    }

    fn add_some(&mut self, key: &str, value: Option<impl Into<Value>>) -> &mut Self {
        match value {
            Some(value) => self.add(key, value),
            None => self,
        }
    }

    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "{}}}", self.0)
    }
}

fn seconds(duration: Duration) -> f64 {
    // Whole microseconds, so that no digits of a binary fraction are shown.
    duration.as_micros() as f64 / 1e6
}

/// The first line. `tests` is how many will be decided about.
pub fn start(tests: usize, mode: Mode, out: &mut dyn Write) -> io::Result<()> {
    Line::new("start")
        .add("version", VERSION)
        .add("tamis", env!("CARGO_PKG_VERSION"))
        .add("mode", if mode == Mode::Select { "select" } else { "run" })
        .add("tests", tests)
        .write(out)
}

fn test_line(event: &str, test: &TestReport) -> Line {
    let mut line = Line::new(event);
    line.add("test", test.key.to_string())
        .add("suite", test.key.scope.to_string())
        .add("name", test.key.unit.to_string())
        .add("folder", test.key.folder.as_str());
    line
}

/// What was decided about a test.
pub fn decision(test: &TestReport, out: &mut dyn Write) -> io::Result<()> {
    let mut line = test_line("decision", test);
    let (decision, cause, record) = match &test.decision {
        Decision::Skip { record, .. } => ("skip", None, Some(record)),
        Decision::OutOfReach => ("skip", None, None),
        Decision::Run(cause) => {
            let (name, record) = match cause {
                Cause::New => ("new", None),
                Cause::NoStore => ("no-store", None),
                Cause::Requested => ("requested", None),
                Cause::AlwaysRun(_) => ("always-run", None),
                Cause::Effect(_) => ("effect", None),
                Cause::Module(_) => ("module", None),
                Cause::ByGraph(_) => ("graph", None),
                Cause::DidNotPass(record, _) => ("did-not-pass", Some(record)),
                Cause::Incomplete(record) => ("incomplete", Some(record)),
                Cause::Changed(record) => ("changed", Some(record)),
            };
            ("run", Some(name), record)
        }
    };
    line.add("decision", decision)
        .add_some("cause", cause)
        .add("reason", test.reason.as_str())
        .add_some("way", test.way.as_ref().map(|way| way.steps.clone()))
        .add_some("record", record.map(|id| id.0));
    if test.skipped() {
        line.add_some("proof", test.proof.as_deref())
            .add_some("inputs", test.inputs)
            .add("saved_seconds", seconds(test.saved));
    }
    line.write(out)
}

/// How a test that ran ended; nothing for one that did not end.
pub fn finished(test: &TestReport, out: &mut dyn Write) -> io::Result<()> {
    let Some(outcome) = test.outcome else {
        return Ok(());
    };
    let mut line = test_line("finished", test);
    add_outcome(&mut line, outcome);
    line.add("seconds", seconds(test.wall))
        .add_some("inputs", test.inputs)
        .add("complete", test.taints.is_empty())
        .add("taints", test.taints.clone())
        .add("notes", test.notes.clone())
        .add("failed_before", test.failed_before);
    if let Some(reruns) = test.reruns {
        line.add("runs", reruns.runs).add("failed_runs", reruns.failed).add("flaky", test.flaky());
    }
    let output = test.output.as_ref().map(|output| String::from_utf8_lossy(output).into_owned());
    line.add_some("output", output).write(out)
}

/// A known failure of a test that was not run.
pub fn still_failing(failure: &StillFailing, out: &mut dyn Write) -> io::Result<()> {
    let mut line = Line::new("still-failing");
    line.add("test", failure.key.to_string())
        .add("suite", failure.key.scope.to_string())
        .add("name", failure.key.unit.to_string())
        .add("folder", failure.key.folder.as_str());
    add_outcome(&mut line, failure.outcome);
    line.add("flaky", failure.flaky);
    line.add("record", failure.record.0).add_some("message", failure.message.as_deref()).write(out)
}

fn add_outcome(line: &mut Line, outcome: Outcome) {
    match outcome {
        Outcome::Passed => line.add("outcome", "passed"),
        Outcome::Failed(code) => line.add("outcome", "failed").add("exit_code", code),
        Outcome::Killed(signal) => line.add("outcome", "killed").add("signal", signal),
        Outcome::TimedOut => line.add("outcome", "timed-out"),
    };
}

/// The last line.
pub fn summary(report: &RunReport, out: &mut dyn Write) -> io::Result<()> {
    let counts = report.counts();
    let would_run = counts.total - counts.skipped;
    let mut line = Line::new("summary");
    line.add("tests", counts.total);
    if report.mode == Mode::Select {
        line.add("would_run", would_run);
    } else {
        line.add("ran", counts.ran)
            .add("passed", counts.passed)
            .add("failed", counts.failed)
            .add("flaky", counts.flaky)
            .add("still_failing", report.still_failing.len())
            .add("unfinished", counts.unfinished)
            .add("tainted", counts.tainted)
            .add("ran_seconds", seconds(counts.ran_time));
    }
    line.add("skipped", counts.skipped)
        .add("saved_seconds", seconds(counts.saved))
        .add("wall_seconds", seconds(report.wall))
        .add("interrupted", report.interrupted)
        .write(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;
    use proptest::prelude::*;

    fn lines(report: &RunReport) -> Vec<String> {
        let mut out = Vec::new();
        start(report.tests.len(), report.mode, &mut out).unwrap();
        for test in &report.tests {
            decision(test, &mut out).unwrap();
        }
        for test in &report.tests {
            finished(test, &mut out).unwrap();
        }
        for failure in &report.still_failing {
            still_failing(failure, &mut out).unwrap();
        }
        summary(report, &mut out).unwrap();
        String::from_utf8(out).unwrap().lines().map(str::to_owned).collect()
    }

    #[test]
    fn a_run() {
        let got = lines(&samples::mixed());
        assert_eq!(got.len(), 1 + 6 + 4 + 1);
        let start = format!(
            r#"{{"event":"start","version":1,"tamis":"{}","mode":"run","tests":6}}"#,
            env!("CARGO_PKG_VERSION")
        );
        assert_eq!(got[0], start);
        assert_eq!(
            got[3],
            r#"{"event":"decision","test":"shell::tests/net.sh","suite":"shell","name":"tests/net.sh","folder":".","decision":"run","cause":"new","reason":"never run before"}"#
        );
        assert_eq!(
            got[5],
            r#"{"event":"decision","test":"shell::tests/a.sh","suite":"shell","name":"tests/a.sh","folder":".","decision":"skip","reason":"nothing it looked at has changed","record":12,"proof":"record #12, 1,034 inputs","inputs":1034,"saved_seconds":41.0}"#
        );
        assert_eq!(
            got[8],
            r#"{"event":"finished","test":"shell::tests/t3.sh","suite":"shell","name":"tests/t3.sh","folder":".","outcome":"failed","exit_code":1,"seconds":0.45,"inputs":17,"complete":true,"taints":[],"notes":[],"failed_before":2,"output":"expected <1> & got \u001b[31m\"2\"�\n]]>\n"}"#
        );
        assert!(got[9].contains(r#""complete":false,"taints":["talked to "#), "{}", got[9]);
        assert!(got[10].contains(r#""outcome":"timed-out","seconds""#), "{}", got[10]);
        assert_eq!(
            got[11],
            r#"{"event":"summary","tests":6,"ran":4,"passed":2,"failed":2,"flaky":0,"still_failing":0,"unfinished":0,"tainted":1,"ran_seconds":1.8,"skipped":2,"saved_seconds":41.2,"wall_seconds":1.9,"interrupted":false}"#
        );
    }

    #[test]
    fn flaky_tests_and_known_failures() {
        let mut report = samples::mixed();
        report.tests[1].reruns = Some(crate::Reruns { runs: 3, failed: 2 });
        report.still_failing = vec![samples::still_failing("shell", "tests/old.sh")];
        let got = lines(&report);
        let flaky = r#""failed_before":2,"runs":3,"failed_runs":2,"flaky":true,"output""#;
        assert!(got[8].contains(flaky), "{}", got[8]);
        assert_eq!(
            got[11],
            r#"{"event":"still-failing","test":"shell::tests/old.sh","suite":"shell","name":"tests/old.sh","folder":".","outcome":"failed","exit_code":3,"flaky":false,"record":7,"message":"expected 1\ngot 2"}"#
        );
        assert!(got[12].contains(r#""failed":2,"flaky":1,"still_failing":1"#), "{}", got[12]);
    }

    #[test]
    fn a_selection() {
        let mut report = samples::mixed();
        report.mode = Mode::Select;
        report.tests.iter_mut().for_each(|test| test.outcome = None);
        let got = lines(&report);
        assert_eq!(
            got.last().unwrap(),
            r#"{"event":"summary","tests":6,"would_run":4,"skipped":2,"saved_seconds":41.2,"wall_seconds":1.9,"interrupted":false}"#
        );
    }

    #[test]
    fn every_field_is_documented() {
        let page = include_str!("../../../docs/json.md");
        let mut report = samples::mixed();
        report.tests[0].outcome = Some(Outcome::Killed(9));
        report.tests[1].reruns = Some(crate::Reruns { runs: 2, failed: 1 });
        report.still_failing = vec![samples::still_failing("shell", "tests/old.sh")];
        let mut all = lines(&report);
        report.mode = Mode::Select;
        all.extend(lines(&report));
        for line in all {
            let value: Value = serde_json::from_str(&line).unwrap();
            for key in value.as_object().unwrap().keys() {
                assert!(page.contains(&format!("`{key}`")), "{key} is not in docs/json.md");
            }
        }
    }

    proptest! {
        #[test]
        fn any_text_is_one_line_of_json(name in ".{0,20}", output in prop::collection::vec(any::<u8>(), 0..40)) {
            let mut report = samples::mixed();
            report.tests[1].key.unit = tamis_core::Unit::Item(name.clone());
            report.tests[1].output = Some(output);
            for line in lines(&report) {
                let value: Value = serde_json::from_str(&line).unwrap();
                prop_assert!(value.is_object());
            }
        }
    }
}
