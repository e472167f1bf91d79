//! The lines of `tamis --json COMMAND`, of the suites, and of `select`.

use super::{Line, Version, seconds};
use crate::checked::Checked;
use crate::excerpt;
use crate::isolation::Isolation;
use crate::model::{Mode, Reruns, RunReport, StillFailing, TestReport};
use crate::phases::PhaseSeconds;
use schemars::JsonSchema;
use serde::Serialize;
use std::io::{self, Write};
use tamis_core::{Cause, Check, Decision, Outcome, RecordId, TestKey};

/// The first line.
#[derive(Debug, Serialize, JsonSchema)]
pub struct StartLine {
    version: Version,
    /// The version of tamis.
    tamis: &'static str,
    mode: ModeName,
    /// How many tests there are.
    tests: usize,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum ModeName {
    Run,
    /// Nothing is run.
    Select,
}

/// Which test a line is about.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TestName {
    /// The full name, as `tamis why` takes it.
    test: String,
    /// The suite's name, or the scope of a tool such as `mvn:core`; empty for a bare command.
    suite: String,
    /// The item, test class, method or package, or the words of a bare command.
    name: String,
    /// Where it runs, relative to the project's root.
    folder: String,
}

impl TestName {
    fn of(key: &TestKey) -> Self {
        Self {
            test: key.to_string(),
            suite: key.scope.to_string(),
            name: key.unit.to_string(),
            folder: key.folder.clone(),
        }
    }
}

/// What was decided about a test.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DecisionLine {
    #[serde(flatten)]
    test: TestName,
    decision: DecisionName,
    /// Of a run.
    #[serde(skip_serializing_if = "Option::is_none")]
    cause: Option<CauseName>,
    /// One line for people.
    reason: String,
    /// With `graph`: the names from the test to the change that it can reach, all of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    way: Option<Vec<String>>,
    /// The number of the record that proves a skip, or that no longer holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    record: Option<u32>,
    /// Of a skip: one line for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    proof: Option<String>,
    /// Of a skip: how many inputs were compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    inputs: Option<u64>,
    /// Of a skip: how long the test ran when the record was made; of a command, with the tests that were left
    /// out of that run.
    #[serde(skip_serializing_if = "Option::is_none")]
    saved_seconds: Option<f64>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum DecisionName {
    Run,
    Skip,
}

/// Why a test runs.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum CauseName {
    New,
    NoStore,
    Requested,
    AlwaysRun,
    /// A build whose effects are elsewhere.
    Effect,
    /// `--select modules` and `hybrid`.
    Module,
    /// `--select static`.
    Graph,
    /// Not known before a build has run: sources are newer than what was made of them.
    Unbuilt,
    DidNotPass,
    Incomplete,
    Changed,
    /// `tamis forget`.
    Forgotten,
    /// `--shadow`: it could be skipped.
    Shadow,
    /// `--audit`: it could be skipped.
    Audit,
    /// A check found a wrong skip: nothing is skipped.
    Tripped,
}

fn cause(cause: &Cause) -> (CauseName, Option<&RecordId>) {
    match cause {
        Cause::New => (CauseName::New, None),
        Cause::NoStore => (CauseName::NoStore, None),
        Cause::Requested => (CauseName::Requested, None),
        Cause::AlwaysRun(_) => (CauseName::AlwaysRun, None),
        Cause::Effect(_) => (CauseName::Effect, None),
        Cause::Module(_) => (CauseName::Module, None),
        Cause::ByGraph(_) => (CauseName::Graph, None),
        Cause::Unbuilt(_) => (CauseName::Unbuilt, None),
        Cause::DidNotPass(record, _) => (CauseName::DidNotPass, Some(record)),
        Cause::Incomplete(record) => (CauseName::Incomplete, Some(record)),
        Cause::Changed(record) => (CauseName::Changed, Some(record)),
        Cause::Forgotten(_) => (CauseName::Forgotten, None),
        Cause::Checked(Check::Shadow, proof) => (CauseName::Shadow, proof.as_ref().map(|p| &p.0)),
        Cause::Checked(Check::Audit, proof) => (CauseName::Audit, proof.as_ref().map(|p| &p.0)),
        Cause::Tripped => (CauseName::Tripped, None),
    }
}

/// How a test ended.
#[derive(Debug, Serialize, JsonSchema)]
struct Ended {
    outcome: OutcomeName,
    /// Of `failed`.
    #[serde(skip_serializing_if = "Option::is_none")]
    exit_code: Option<i32>,
    /// Of `killed`: the number of the signal.
    #[serde(skip_serializing_if = "Option::is_none")]
    signal: Option<i32>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum OutcomeName {
    Passed,
    Failed,
    Killed,
    TimedOut,
}

impl Ended {
    fn of(outcome: Outcome) -> Self {
        let (outcome, exit_code, signal) = match outcome {
            Outcome::Passed => (OutcomeName::Passed, None, None),
            Outcome::Failed(code) => (OutcomeName::Failed, Some(code), None),
            Outcome::Killed(signal) => (OutcomeName::Killed, None, Some(signal)),
            Outcome::TimedOut => (OutcomeName::TimedOut, None, None),
        };
        Self { outcome, exit_code, signal }
    }
}

/// How a test that ran ended.
#[derive(Debug, Serialize, JsonSchema)]
pub struct FinishedLine {
    #[serde(flatten)]
    test: TestName,
    #[serde(flatten)]
    ended: Ended,
    /// How long it ran.
    seconds: f64,
    /// How many inputs were recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    inputs: Option<u64>,
    /// Whether the run was observed completely; if not, it will run again.
    complete: bool,
    /// Why not, one line for people each.
    taints: Vec<String>,
    /// What else was noticed, one line for people each.
    notes: Vec<String>,
    /// How many runs directly before this one did not pass either.
    failed_before: u32,
    #[serde(flatten)]
    again: Option<RanAgain>,
    /// Of a test that did not pass: the line of its output that says what failed, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    failure: Option<String>,
    /// What the test printed, where it was kept, without colours; of a flaky one, when it did not pass.
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<String>,
}

/// The runs of a test that was run again because it did not pass.
#[derive(Debug, Serialize, JsonSchema)]
struct RanAgain {
    /// With `--rerun-failed`: how often it ran.
    runs: u32,
    /// Likewise: how often it did not pass.
    failed_runs: u32,
    /// Likewise: whether it did not pass and then passed without a change.
    flaky: bool,
}

/// A test that was not run now, and did not pass when it last was.
#[derive(Debug, Serialize, JsonSchema)]
pub struct StillFailingLine {
    #[serde(flatten)]
    test: TestName,
    #[serde(flatten)]
    ended: Ended,
    /// Whether it then passed without a change.
    flaky: bool,
    /// The number of that record.
    record: u32,
    /// What it printed then, from where it failed, as far as it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
}

/// The last line.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SummaryLine {
    /// How many tests there are.
    tests: usize,
    /// Tests that would run; only for `select`.
    #[serde(skip_serializing_if = "Option::is_none")]
    would_run: Option<usize>,
    #[serde(flatten)]
    ran: Option<RanCounts>,
    /// Tests that were skipped, or would be.
    skipped: usize,
    /// How much time was saved, by the clock: how long the skipped tests had run, each moment once; zero where
    /// deciding took longer, and after an interruption.
    saved_seconds: f64,
    /// From start to end.
    wall_seconds: f64,
    /// Whether the user ended the run early.
    interrupted: bool,
    /// The wall time by phase; not for `select`.
    #[serde(skip_serializing_if = "Option::is_none")]
    phases: Option<PhaseSeconds>,
    /// With `--shadow` and `--audit`: what was checked.
    #[serde(skip_serializing_if = "Option::is_none")]
    checked: Option<Checked>,
    /// With `--check-isolation`: tests that end otherwise without the others.
    #[serde(skip_serializing_if = "Option::is_none")]
    isolation: Option<Isolation>,
}

/// The figures of tests that ran; not for `select`.
#[derive(Debug, Serialize, JsonSchema)]
struct RanCounts {
    /// Tests that ran to an end.
    ran: usize,
    passed: usize,
    failed: usize,
    /// Those of `failed` that were flaky.
    flaky: usize,
    /// Tests that were not run and did not pass when they last were.
    still_failing: usize,
    /// Tests that were to run and did not end.
    unfinished: usize,
    /// Tests that ran and were not observed completely.
    tainted: usize,
    /// How long tests ran, by the clock, with the command around them.
    ran_seconds: f64,
}

/// Writes the first line. `tests` is how many will be decided about.
pub fn start(tests: usize, mode: Mode, out: &mut dyn Write) -> io::Result<()> {
    let mode = if mode == Mode::Select { ModeName::Select } else { ModeName::Run };
    let tamis = env!("CARGO_PKG_VERSION");
    Line::Start(StartLine { version: Version, tamis, mode, tests }).write(out)
}

/// Writes what was decided about a test.
pub fn decision(test: &TestReport, out: &mut dyn Write) -> io::Result<()> {
    let (decision, cause, record) = match &test.decision {
        Decision::Skip { record, .. } => (DecisionName::Skip, None, Some(record)),
        Decision::OutOfReach => (DecisionName::Skip, None, None),
        Decision::Run(why) => {
            let (name, record) = cause(why);
            (DecisionName::Run, Some(name), record)
        }
    };
    let skipped = test.skipped();
    Line::Decision(DecisionLine {
        test: TestName::of(&test.key),
        decision,
        cause,
        reason: test.reason.clone(),
        way: test.way.as_ref().map(|way| way.steps.clone()),
        record: record.map(|id| id.0),
        proof: test.proof.clone().filter(|_| skipped),
        inputs: test.inputs.filter(|_| skipped),
        saved_seconds: skipped.then(|| seconds(test.saved)),
    })
    .write(out)
}

/// Writes how a test that ran ended; nothing for one that did not end.
pub fn finished(test: &TestReport, out: &mut dyn Write) -> io::Result<()> {
    let Some(outcome) = test.outcome else {
        return Ok(());
    };
    let output = test.output.as_ref().map(|output| excerpt::clean(output));
    Line::Finished(FinishedLine {
        test: TestName::of(&test.key),
        ended: Ended::of(outcome),
        seconds: seconds(test.wall()),
        inputs: test.inputs,
        complete: test.taints.is_empty(),
        taints: test.taints.clone(),
        notes: test.notes.clone(),
        failed_before: test.failed_before,
        again: test.reruns.map(|Reruns { runs, failed }| RanAgain {
            runs,
            failed_runs: failed,
            flaky: test.flaky(),
        }),
        failure: test.failure(),
        output,
    })
    .write(out)
}

/// Writes a known failure of a test that was not run.
pub fn still_failing(failure: &StillFailing, out: &mut dyn Write) -> io::Result<()> {
    Line::StillFailing(StillFailingLine {
        test: TestName::of(&failure.key),
        ended: Ended::of(failure.outcome),
        flaky: failure.flaky,
        record: failure.record.0,
        message: failure.message.clone(),
    })
    .write(out)
}

/// Writes the last line.
pub fn summary(report: &RunReport, out: &mut dyn Write) -> io::Result<()> {
    let counts = report.counts();
    let selects = report.mode == Mode::Select;
    let ran = RanCounts {
        ran: counts.ran,
        passed: counts.passed,
        failed: counts.failed,
        flaky: counts.flaky,
        still_failing: report.still_failing.len(),
        unfinished: counts.unfinished,
        tainted: counts.tainted,
        ran_seconds: seconds(counts.ran_time),
    };
    Line::Summary(SummaryLine {
        tests: counts.total,
        would_run: selects.then_some(counts.total - counts.skipped),
        ran: (!selects).then_some(ran),
        skipped: counts.skipped,
        saved_seconds: seconds(counts.saved),
        wall_seconds: seconds(report.wall),
        interrupted: report.interrupted,
        phases: report.phases.map(PhaseSeconds::from),
        checked: report.checked.clone(),
        isolation: report.isolation.clone(),
    })
    .write(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;
    use proptest::prelude::*;
    use serde_json::Value;

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
            r#"{"event":"finished","test":"shell::tests/t3.sh","suite":"shell","name":"tests/t3.sh","folder":".","outcome":"failed","exit_code":1,"seconds":0.45,"inputs":17,"complete":true,"taints":[],"notes":[],"failed_before":2,"failure":"expected <1> & got \"2\"�","output":"expected <1> & got \"2\"�\n]]>\n"}"#
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
        let flaky = r#""failed_before":2,"runs":3,"failed_runs":2,"flaky":true,"failure""#;
        assert!(got[8].contains(flaky), "{}", got[8]);
        assert_eq!(
            got[11],
            r#"{"event":"still-failing","test":"shell::tests/old.sh","suite":"shell","name":"tests/old.sh","folder":".","outcome":"failed","exit_code":3,"flaky":false,"record":7,"message":"expected 1\ngot 2"}"#
        );
        assert!(got[12].contains(r#""failed":2,"flaky":1,"still_failing":1"#), "{}", got[12]);
    }

    #[test]
    fn all_lines_of_a_run() {
        let mut report = samples::mixed();
        report.still_failing = vec![samples::still_failing("shell", "tests/old.sh")];
        let lines = lines(&report).join("\n").replace(env!("CARGO_PKG_VERSION"), "[version]");
        insta::assert_snapshot!(lines);
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
