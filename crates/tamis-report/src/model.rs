//! The values that reports are made of.

use crate::checked::Checked;
use crate::excerpt;
use crate::isolation::Isolation;
use crate::phases::PhaseTimes;
use crate::reason;
use crate::savings::{Span, wall};
use std::collections::BTreeMap;
use std::time::Duration;
use tamis_core::record::Run;
use tamis_core::{Decision, Outcome, Planned, RecordId, RecordSummary, TestKey, Way};

/// What happened with one test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestReport {
    pub key: TestKey,
    pub decision: Decision,
    /// Why it was to run, or why it may be skipped; one line, without the name of the test.
    pub reason: String,
    /// How it comes to what the reason names, where a graph decided.
    pub way: Option<Way>,
    /// How it ended; `None` while or where it did not.
    pub outcome: Option<Outcome>,
    /// How long the run that proves a skip had taken, with what was left out of it.
    pub saved: Duration,
    /// When it ran: now, or when what proves a skip was recorded.
    pub span: Span,
    /// What proves a skip, one line: `record #12, 1,034 inputs`.
    pub proof: Option<String>,
    /// How many inputs were recorded, or are in the proof.
    pub inputs: Option<u64>,
    /// Why the run was not observed completely.
    pub taints: Vec<String>,
    /// What else was noticed; of a test that could not even be started, why.
    pub notes: Vec<String>,
    /// How many runs directly before this one did not pass either.
    pub failed_before: u32,
    /// What the test printed, if it was kept; of a flaky one, when it did not pass.
    pub output: Option<Vec<u8>>,
    /// How its runs ended, where it was run again because it did not pass.
    pub reruns: Option<Reruns>,
}

/// The runs of one test in one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reruns {
    pub runs: u32,
    /// How many of them did not pass.
    pub failed: u32,
}

impl TestReport {
    /// A report with only what a decision gives.
    pub fn new(key: TestKey, decision: Decision, reason: impl Into<String>) -> Self {
        Self {
            key,
            decision,
            reason: reason.into(),
            way: None,
            outcome: None,
            saved: Duration::ZERO,
            span: Span::default(),
            proof: None,
            inputs: None,
            taints: Vec::new(),
            notes: Vec::new(),
            failed_before: 0,
            output: None,
            reruns: None,
        }
    }

    /// What was decided, in words.
    pub fn of(planned: &Planned) -> Self {
        let Planned { key, decision, evidence } = planned;
        let proof = evidence.record.as_ref().filter(|_| decision.proof().is_some());
        Self {
            way: evidence.way.clone(),
            saved: proof
                .filter(|_| !decision.is_run())
                .map_or(Duration::ZERO, |proof| Duration::from_micros(proof.wall_us)),
            span: proof.map(span_of).unwrap_or_default(),
            proof: proof.map(reason::proof),
            inputs: proof.map(|proof| u64::from(proof.inputs)),
            notes: proof.into_iter().flat_map(|p| &p.notes).map(ToString::to_string).collect(),
            failed_before: evidence.failed_before,
            ..Self::new(key.clone(), decision.clone(), reason::decision(key, decision, evidence))
        }
    }

    /// Takes up how a run ended.
    pub fn ended(&mut self, run: &Run) {
        self.outcome = Some(run.outcome);
        let length = Duration::from_micros(run.wall_us);
        self.span = Span { began_ms: run.started_ms, length };
    }

    /// How long it ran.
    pub fn wall(&self) -> Duration {
        self.outcome.map_or(Duration::ZERO, |_| self.span.length)
    }

    /// Why it could not be started, where that is so.
    pub fn problem(&self) -> Option<&str> {
        self.notes.first().filter(|_| self.unfinished()).map(String::as_str)
    }

    pub fn skipped(&self) -> bool {
        !self.decision.is_run()
    }

    pub fn failed(&self) -> bool {
        self.outcome.is_some_and(|outcome| !outcome.passed())
    }

    /// The line of its output that says what failed, where it did not pass and its output is known.
    pub fn failure(&self) -> Option<String> {
        self.output.as_deref().filter(|_| self.failed()).and_then(excerpt::headline)
    }

    /// Did not pass, and then passed without a change. Its outcome stays that of the failure.
    pub fn flaky(&self) -> bool {
        self.reruns.is_some_and(|reruns| reruns.failed > 0 && reruns.failed < reruns.runs)
    }

    /// Was to run and did not end.
    pub fn unfinished(&self) -> bool {
        self.decision.is_run() && self.outcome.is_none()
    }
}

fn span_of(record: &RecordSummary) -> Span {
    Span { began_ms: record.started_ms, length: Duration::from_micros(record.wall_us) }
}

/// Whether tests were run, or only decided about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    #[default]
    Run,
    /// `tamis select`: nothing was run.
    Select,
}

/// A whole run.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RunReport {
    pub tests: Vec<TestReport>,
    /// From start to end.
    pub wall: Duration,
    /// The user ended the run early.
    pub interrupted: bool,
    pub mode: Mode,
    /// The user set that flaky tests do not make the run a failure.
    pub flaky_ok: bool,
    /// Tests that were not run now and did not pass when they last were.
    pub still_failing: Vec<StillFailing>,
    /// The commands that tests are inside of. Such a command is among the tests only where it says more than
    /// they do, and for `select`, where it is no test of its own beside them.
    pub around: Vec<TestReport>,
    /// What the wall time was spent on; nothing for `select`.
    pub phases: Option<PhaseTimes>,
    /// What was checked by running it although it could be skipped.
    pub checked: Option<Checked>,
    /// What running tests without the others found.
    pub isolation: Option<Isolation>,
}

/// A known failure of a test that was not run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StillFailing {
    pub key: TestKey,
    pub outcome: Outcome,
    /// It did not pass, and then passed without a change.
    pub flaky: bool,
    pub record: RecordId,
    /// When that was, in words.
    pub when: String,
    /// What the test printed then, where it is known.
    pub message: Option<String>,
}

/// The figures of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    pub total: usize,
    /// Ended, whatever the outcome.
    pub ran: usize,
    pub passed: usize,
    /// Flaky ones are among them.
    pub failed: usize,
    pub flaky: usize,
    pub skipped: usize,
    /// Were to run and did not end.
    pub unfinished: usize,
    /// Ran and were not observed completely.
    pub tainted: usize,
    /// How long tests ran, by the clock.
    pub ran_time: Duration,
    /// How much time was saved ([`crate::savings`]).
    pub saved: Duration,
}

impl RunReport {
    pub fn counts(&self) -> Counts {
        let (saved, ran_time) = (self.saved(), self.ran());
        let mut counts = Counts { saved, ran_time, ..Counts::default() };
        for test in self.tests.iter().filter(|test| !self.only_stands_around(test)) {
            counts.total += 1;
            if test.skipped() {
                counts.skipped += 1;
                continue;
            }
            match test.outcome {
                None => counts.unfinished += 1,
                Some(outcome) => {
                    counts.ran += 1;
                    if outcome.passed() {
                        counts.passed += 1;
                    } else {
                        counts.failed += 1;
                        counts.flaky += usize::from(test.flaky());
                    }
                    counts.tainted += usize::from(!test.taints.is_empty());
                }
            }
        }
        counts
    }

    /// Whether this is a command whose tests are counted instead.
    fn only_stands_around(&self, test: &TestReport) -> bool {
        let is_around = self.around.iter().any(|around| around.key == test.key);
        self.mode == Mode::Select && self.tests.len() > 1 && is_around
    }

    /// How long tests ran, by the clock, with the commands around them.
    fn ran(&self) -> Duration {
        let ran = self.tests.iter().chain(&self.around).filter(|test| test.outcome.is_some());
        wall(ran.map(|test| (test.span, test.wall())))
    }

    /// How much time was saved: see [`crate::savings`].
    fn saved(&self) -> Duration {
        if self.interrupted {
            return Duration::ZERO;
        }
        let saved = self.left_out();
        // What tamis itself took.
        let deciding = self.wall.saturating_sub(self.ran());
        if saved > deciding { saved } else { Duration::ZERO }
    }

    /// How long the skipped tests had run, by the clock.
    pub fn left_out(&self) -> Duration {
        let around = || self.around.iter().filter(|around| around.skipped());
        if let Some(whole) = around().find(|a| self.tests.iter().any(|t| t.key == a.key)) {
            // What is inside it was left out with it.
            return whole.saved;
        }
        let skipped = self.tests.iter().filter(|test| test.skipped()).chain(around());
        wall(skipped.map(|test| (test.span, test.saved)))
    }

    /// The known failure of a test that was not run.
    pub fn known_failure(&self, test: &TestReport) -> Option<&StillFailing> {
        if test.outcome.is_some() {
            return None;
        }
        self.still_failing.iter().find(|failure| failure.key == test.key)
    }

    /// Whether the tests make this run a failure.
    pub fn failed(&self) -> bool {
        self.tests.iter().any(|test| test.failed() && !(self.flaky_ok && test.flaky()))
    }

    /// The reasons of the tests that ran (or would run), most frequent first.
    pub(crate) fn reasons(&self) -> Vec<(usize, &str)> {
        grouped(self.running().map(|test| test.reason.as_str()))
    }

    /// A way to what this reason names: the shortest of the tests that have it.
    pub(crate) fn example(&self, reason: &str) -> Option<&str> {
        let ways = self.running().filter(|test| test.reason == reason);
        let ways = ways.filter_map(|test| test.way.as_ref());
        ways.min_by_key(|way| way.steps.len()).map(|way| way.short.as_str())
    }

    fn running(&self) -> impl Iterator<Item = &TestReport> {
        let run = self.tests.iter().filter(|test| test.decision.is_run());
        run.filter(|test| self.mode == Mode::Select || test.outcome.is_some())
    }

    /// The notes of the tests that ran, most frequent first.
    pub(crate) fn notes(&self) -> Vec<(usize, &str)> {
        let run = self.tests.iter().filter(|test| test.outcome.is_some());
        grouped(run.flat_map(|test| test.notes.iter().map(String::as_str)))
    }
}

fn grouped<'a>(texts: impl Iterator<Item = &'a str>) -> Vec<(usize, &'a str)> {
    let mut groups: BTreeMap<&str, usize> = BTreeMap::new();
    for text in texts {
        *groups.entry(text).or_default() += 1;
    }
    let mut groups: Vec<(usize, &str)> = groups.into_iter().map(|(text, n)| (n, text)).collect();
    groups.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(b.1)));
    groups
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    #[test]
    fn counts() {
        let counts = samples::mixed().counts();
        assert_eq!((counts.total, counts.ran, counts.skipped, counts.unfinished), (6, 4, 2, 0));
        assert_eq!((counts.passed, counts.failed, counts.tainted), (2, 2, 1));
        assert_eq!(counts.saved, Duration::from_millis(41_200));
    }

    #[test]
    fn groups_are_ordered_by_number_then_name() {
        let groups = grouped(["b", "c", "a", "c"].into_iter());
        assert_eq!(groups, [(2, "c"), (1, "a"), (1, "b")]);
    }

    fn span(began_ms: u64, ms: u64) -> Span {
        Span { began_ms, length: Duration::from_millis(ms) }
    }

    fn skipped(began_ms: u64, ms: u64) -> TestReport {
        TestReport { span: span(began_ms, ms), ..samples::skipped("s", "t", ms) }
    }

    fn saves(report: &RunReport) -> u128 {
        report.saved().as_millis()
    }

    #[test]
    fn parallel_tests_save_their_wall_time() {
        let tests = vec![skipped(1_000, 800), skipped(1_000, 900), skipped(9_000, 50)];
        let mut report = RunReport { tests, ..RunReport::default() };
        assert_eq!(saves(&report), 950);
        // The figures of a selection are those of the run.
        report.mode = crate::Mode::Select;
        assert_eq!(saves(&report), 950);
    }

    #[test]
    fn deciding_that_takes_longer_saves_nothing() {
        let mut report = RunReport { tests: vec![skipped(0, 20)], ..RunReport::default() };
        report.wall = Duration::from_millis(19);
        assert_eq!(saves(&report), 20);
        report.wall = Duration::from_millis(20);
        assert_eq!(saves(&report), 0);
        // Time in which tests ran is not that of tamis.
        let mut ran = samples::ran("s", "u", "r", Outcome::Passed);
        ran.span.length = Duration::from_millis(5);
        report.tests.push(ran);
        assert_eq!(saves(&report), 20);
        report.interrupted = true;
        assert_eq!(saves(&report), 0);
    }

    #[test]
    fn a_command_that_is_skipped_saves_what_is_inside_it_once() {
        let around = samples::skipped("", "mvn test", 5_000);
        let tests = vec![around.clone(), skipped(1_000, 400), skipped(9_000, 400)];
        let report = RunReport { tests, around: vec![around], ..RunReport::default() };
        assert_eq!(saves(&report), 5_000);
    }

    #[test]
    fn a_command_is_not_counted_beside_its_tests() {
        let around = samples::skipped("", "go test", 5_000);
        let tests = vec![around.clone(), skipped(1_000, 400)];
        let mut report = RunReport { tests, around: vec![around], ..RunReport::default() };
        report.mode = crate::Mode::Select;
        assert_eq!((report.counts().total, report.counts().skipped), (1, 1));
        // Where nothing is known inside, it is the one test.
        report.tests.truncate(1);
        assert_eq!((report.counts().total, report.counts().skipped), (1, 1));
    }

    #[test]
    fn items_of_a_suite_that_are_skipped_with_their_tests_save_once() {
        let around = vec![
            TestReport { span: span(1_000, 5_000), ..samples::skipped("s", "go test", 5_000) },
            TestReport { span: span(9_000, 2_000), ..samples::skipped("s", "mvn test", 2_000) },
        ];
        let tests = vec![samples::skipped("go:.", "p", 0), samples::skipped("mvn:.", "A", 0)];
        let report = RunReport { tests, around, ..RunReport::default() };
        assert_eq!(saves(&report), 7_000);
        assert_eq!(report.counts().skipped, 2);
    }

    #[test]
    fn a_command_that_ran_is_time_of_tests() {
        let mut around = samples::ran("", "mvn test", "r", Outcome::Passed);
        around.span = span(50_000, 3_000);
        let mut inside = samples::ran("s", "u", "r", Outcome::Passed);
        inside.span = span(51_000, 500);
        let tests = vec![inside, skipped(1_000, 40)];
        let wall = Duration::from_millis(3_030);
        let report = RunReport { tests, around: vec![around], wall, ..RunReport::default() };
        assert_eq!(report.ran(), Duration::from_millis(3_000));
        assert_eq!(saves(&report), 40);
    }

    #[test]
    fn nothing_skipped_saves_nothing() {
        let tests = vec![samples::ran("s", "u", "r", Outcome::Passed)];
        assert_eq!(saves(&RunReport { tests, ..RunReport::default() }), 0);
    }
}
