//! `--rerun-failed N`: a test that did not pass is run again, up to N times, without a change.
//!
//! One that then passes is *flaky*: something decided that nobody observed. Its record keeps the outcome
//! of the failure and has the taint `Flaky`, so that it runs next time whatever changed, and a call with
//! a flaky test ends as a failure unless the user says otherwise (`--flaky-ok`).
//!
//! A command whose test classes are told apart is started again as it was, and its runner is told to skip
//! what passed: any framework that tamis knows works, and no option of a build tool is needed. What the
//! first call did not reach (Maven stops after the first module with a failure) is decided about as usual.
//! A build that failed outside of its tests is not started again.

use crate::execute::{Ended, Executed, Job, execute};
use crate::jvm;
use crate::jvm::collect::Wishes;
use anyhow::Result;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tamis_core::record::Run;
use tamis_core::{Note, Outcome, Taint, TestKey};
use tamis_report::{Reruns, TestReport, human};

/// The most that can be asked for; whoever needs more has another problem.
pub(crate) const MOST: u32 = 6;

/// Inputs that are named because they were different when the test passed.
const MOST_NAMED: usize = 3;

/// How test classes ended in the calls before this one.
#[derive(Debug, Clone, Default)]
pub(crate) struct Earlier(HashMap<TestKey, EarlierRuns>);

#[derive(Debug, Clone, Copy)]
pub(crate) struct EarlierRuns {
    runs: u32,
    failed: u32,
    /// Of the first failure; nothing where all is well.
    outcome: Option<Outcome>,
}

impl Earlier {
    fn of(reports: &[TestReport]) -> Self {
        let runs = |report: &TestReport| {
            let Reruns { runs, failed } = runs_of(report);
            let outcome = report.outcome.filter(|o| !o.passed() && !report.flaky());
            EarlierRuns { runs, failed, outcome }
        };
        let ended = reports.iter().filter(|r| r.outcome.is_some() || r.skipped());
        Self(ended.map(|report| (report.key.clone(), runs(report))).collect())
    }

    /// Whether a test class need not run again: it passed, was skipped, or is known to be flaky.
    pub(crate) fn is_done(&self, key: &TestKey) -> bool {
        self.0.get(key).is_some_and(|earlier| earlier.outcome.is_none())
    }

    /// Whether a test class did not pass before.
    pub(crate) fn failed(&self, key: &TestKey) -> bool {
        self.0.get(key).is_some_and(|earlier| earlier.outcome.is_some())
    }

    /// A run that passed after a failure, as it is recorded.
    pub(crate) fn mark(&self, run: &mut Run) {
        if let Some(EarlierRuns { runs, failed, outcome: Some(outcome) }) = self.0.get(&run.test)
            && run.outcome.passed()
        {
            mark_flaky(run, *outcome, Reruns { runs: runs + 1, failed: *failed });
        }
    }
}

/// The record of a flaky test keeps the failure.
pub(crate) fn mark_flaky(run: &mut Run, failure: Outcome, Reruns { runs, failed }: Reruns) {
    run.outcome = failure;
    run.taints.push(Taint::Flaky { failed, runs });
}

fn runs_of(report: &TestReport) -> Reruns {
    let once = Reruns { runs: 1, failed: u32::from(report.failed()) };
    report.reruns.unwrap_or(once)
}

/// A failure that is tried again.
#[derive(Debug)]
pub(crate) struct Failed {
    pub(crate) ended: Ended,
    /// What is done now, one line.
    pub(crate) next: String,
}

/// Runs a test, and again up to `most` times where it does not pass. Failures are told at once, so that
/// they are recorded whatever comes.
pub(crate) fn execute_and_again(
    job: Job<'_>,
    most: u32,
    tell: impl Fn(Failed),
) -> Result<Executed> {
    let mut ended = match execute(job)? {
        Executed::Ended(ended) => *ended,
        other => return Ok(other),
    };
    if most == 0 || job.stop.load(Ordering::Relaxed) {
        return Ok(Executed::Ended(Box::new(ended)));
    }
    if ended.inside.iter().any(is_failure) {
        return classes(job, most, ended, tell);
    }
    if ended.run.outcome.passed() {
        return Ok(Executed::Ended(Box::new(ended)));
    }
    if jvm::is_build(&job.case.words) && !ended.untold {
        ended.run.notes.push(Note::NotRunAgain);
        return Ok(Executed::Ended(Box::new(ended)));
    }
    whole(job, most, ended, tell)
}

fn is_failure(report: &TestReport) -> bool {
    report.failed() && !report.flaky()
}

/// A test that is one command.
fn whole(job: Job<'_>, most: u32, first: Ended, tell: impl Fn(Failed)) -> Result<Executed> {
    let failure = first.run.outcome;
    let (observed, failure_output) = (first.run.observed.clone(), first.output.clone());
    let mut last = first;
    let mut runs = 1;
    while runs <= most && !job.stop.load(Ordering::Relaxed) {
        let next =
            format!("{} {}; running it again ({runs} of {most})", job.case.key, last.run.outcome);
        tell(Failed { ended: last, next });
        let mut again = match execute(job)? {
            Executed::Ended(again) => *again,
            other => return Ok(other),
        };
        runs += 1;
        if again.run.outcome.passed() {
            again.run.notes.extend(differences(&observed, &again.run));
            let reruns = Reruns { runs, failed: runs - 1 };
            mark_flaky(&mut again.run, failure, reruns);
            again.reruns = Some(reruns);
            again.failure_output = failure_output;
            return Ok(Executed::Ended(Box::new(again)));
        }
        last = again;
    }
    last.reruns = (runs > 1).then_some(Reruns { runs, failed: runs });
    Ok(Executed::Ended(Box::new(last)))
}

/// Inputs that were different when the test passed: it may depend on what an earlier run left.
fn differences(failed: &[tamis_core::record::Observed], passed: &Run) -> Vec<Note> {
    let before: HashMap<_, _> = failed.iter().map(|o| (&o.question, o.before)).collect();
    let differs = passed.observed.iter().filter(|o| {
        let same = before.get(&o.question).is_none_or(|before| *before == o.before);
        !same
    });
    differs.take(MOST_NAMED).map(|o| Note::OtherWhenPassed(o.question.to_string())).collect()
}

/// Test classes inside a command.
fn classes(job: Job<'_>, most: u32, first: Ended, tell: impl Fn(Failed)) -> Result<Executed> {
    let mut ended = Ended { is_told: true, inside: first.inside.clone(), ..first.outline() };
    let mut calls = Reruns { runs: 1, failed: u32::from(!first.run.outcome.passed()) };
    let mut told = Some(first);
    while calls.runs <= most
        && !job.stop.load(Ordering::Relaxed)
        && ended.inside.iter().any(is_failure)
    {
        let failed = ended.inside.iter().filter(|r| is_failure(r)).count() as u64;
        let next = format!(
            "{} did not pass; running {} again ({} of {most})",
            human::counted(failed, "test class", "test classes"),
            if failed == 1 { "it" } else { "them" },
            calls.runs
        );
        let known = told.take().unwrap_or_else(|| ended.outline());
        tell(Failed { ended: known, next });
        let again = Some(Arc::new(Earlier::of(&ended.inside)));
        let wishes = Wishes { again, ..job.wishes.clone() };
        // What was stopped in between leaves the results of before.
        let Executed::Ended(again) = execute(Job { wishes: &wishes, ..job })? else { break };
        calls.runs += 1;
        calls.failed += u32::from(!again.run.outcome.passed());
        for report in again.inside {
            match ended.inside.iter_mut().find(|known| known.key == report.key) {
                Some(known) => merge(known, report),
                None => ended.inside.push(report),
            }
        }
    }
    ended.reruns = (calls.runs > 1).then_some(calls);
    Ok(Executed::Ended(Box::new(ended)))
}

/// Adds another run of a test class.
fn merge(known: &mut TestReport, again: TestReport) {
    let Some(outcome) = again.outcome else { return };
    if known.outcome.is_none() {
        *known = again;
        return;
    }
    let (Reruns { runs, failed }, now) = (runs_of(known), runs_of(&again));
    known.reruns = Some(Reruns { runs: runs + now.runs, failed: failed + now.failed });
    known.wall += again.wall;
    if !known.failed() {
        known.outcome = Some(outcome);
    }
    known.output = known.output.take().or(again.output);
    known.taints = again.taints;
}

#[cfg(test)]
mod tests {
    use super::*;
    use tamis_core::{Cause, Decision};

    fn report(name: &str, outcome: Option<Outcome>) -> TestReport {
        let key = TestKey { suite: "mvn:m".into(), name: name.into(), folder: ".".into() };
        TestReport { outcome, ..TestReport::new(key, Decision::Run(Cause::New), "never run") }
    }

    const FAILED: Option<Outcome> = Some(Outcome::Failed(1));
    const PASSED: Option<Outcome> = Some(Outcome::Passed);

    #[test]
    fn runs_of_one_test_class_add_up() {
        let mut known = report("A", FAILED);
        merge(&mut known, report("A", FAILED));
        assert_eq!(known.reruns, Some(Reruns { runs: 2, failed: 2 }));
        assert!(is_failure(&known));
        merge(&mut known, report("A", PASSED));
        assert_eq!(known.reruns, Some(Reruns { runs: 3, failed: 2 }));
        assert!(known.failed() && known.flaky() && !is_failure(&known));
        // One that did not come to an end says nothing.
        merge(&mut known, report("A", None));
        assert_eq!(known.reruns, Some(Reruns { runs: 3, failed: 2 }));
    }

    #[test]
    fn a_pass_that_later_fails_is_flaky_as_well() {
        let mut known = report("A", PASSED);
        merge(&mut known, report("A", FAILED));
        assert!(known.failed() && known.flaky());
    }

    #[test]
    fn what_runs_again() {
        let mut flaky = report("Flaky", FAILED);
        flaky.reruns = Some(Reruns { runs: 2, failed: 1 });
        let unfinished = report("Stopped", None);
        let reports = [report("Good", PASSED), report("Bad", FAILED), flaky, unfinished];
        let earlier = Earlier::of(&reports);
        let done: Vec<bool> = reports.iter().map(|r| earlier.is_done(&r.key)).collect();
        assert_eq!(done, [true, false, true, false]);
        assert!(earlier.failed(&reports[1].key) && !earlier.failed(&reports[3].key));
    }

    #[test]
    fn the_record_of_a_flaky_test_keeps_the_failure() {
        let earlier = Earlier::of(&[report("A", FAILED)]);
        let mut run = Run {
            test: report("A", None).key,
            outcome: Outcome::Passed,
            started_ms: 0,
            wall_us: 0,
            cpu_us: 0,
            engine: "jvm".into(),
            observed: Vec::new(),
            taints: Vec::new(),
            notes: Vec::new(),
            left_behind: Vec::new(),
        };
        earlier.mark(&mut run);
        assert_eq!(run.outcome, Outcome::Failed(1));
        assert_eq!(run.taints, [Taint::Flaky { failed: 1, runs: 2 }]);
        let (mut other, before) = (run.clone(), run);
        other.test.name = "B".into();
        earlier.mark(&mut other);
        assert_eq!(other.outcome, before.outcome);
    }
}
