//! The values that reports are made of.

use crate::reason;
use std::collections::BTreeMap;
use std::time::Duration;
use tamis_core::{Decision, Outcome, Planned, RecordId, TestKey, Way};

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
    /// How long it ran.
    pub wall: Duration,
    /// How long the run that proves a skip had taken.
    pub saved: Duration,
    /// What proves a skip, one line: `record #12, 1,034 inputs`.
    pub proof: Option<String>,
    /// How many inputs were recorded, or are in the proof.
    pub inputs: Option<u64>,
    /// Why the run was not observed completely.
    pub taints: Vec<String>,
    /// What else was noticed.
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
            wall: Duration::ZERO,
            saved: Duration::ZERO,
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
        let proof = evidence.record.as_ref().filter(|_| matches!(decision, Decision::Skip { .. }));
        Self {
            way: evidence.way.clone(),
            saved: proof.map_or(Duration::ZERO, |proof| Duration::from_micros(proof.wall_us)),
            proof: proof.map(reason::proof),
            inputs: proof.map(|proof| u64::from(proof.inputs)),
            notes: proof.into_iter().flat_map(|p| &p.notes).map(ToString::to_string).collect(),
            failed_before: evidence.failed_before,
            ..Self::new(key.clone(), decision.clone(), reason::decision(decision, evidence))
        }
    }

    pub fn skipped(&self) -> bool {
        !self.decision.is_run()
    }

    pub fn failed(&self) -> bool {
        self.outcome.is_some_and(|outcome| !outcome.passed())
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

/// Whether tests were run, or only decided about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    #[default]
    Run,
    /// `tamis select`: nothing was run.
    Select,
}

/// A whole run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
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
    /// Running time of the tests that ran.
    pub ran_time: Duration,
    /// Running time of the tests that were skipped, as measured when they last ran.
    pub saved: Duration,
}

impl RunReport {
    pub fn counts(&self) -> Counts {
        let mut counts = Counts { total: self.tests.len(), ..Counts::default() };
        for test in &self.tests {
            if test.skipped() {
                counts.skipped += 1;
                counts.saved = counts.saved.saturating_add(test.saved);
                continue;
            }
            match test.outcome {
                None => counts.unfinished += 1,
                Some(outcome) => {
                    counts.ran += 1;
                    counts.ran_time = counts.ran_time.saturating_add(test.wall);
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
}
