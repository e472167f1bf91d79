//! `--rerun-failed N`: a test that did not pass is run again, up to N times, without a change.
//!
//! One that then passes is *flaky*: something decided that was not observed. Its record keeps the outcome
//! of the failure and has the taint `Flaky`, so that it runs next time whatever changed, and a call with
//! a flaky test ends as a failure unless the user says otherwise (`--flaky-ok`).
//!
//! A command whose units are distinguished is started again as it was, and its runner skips what passed:
//! any framework that tamis knows works, and no option of a build tool is needed. What the
//! first call did not reach (Maven stops after the first module with a failure) is decided about as usual.
//! A build that failed outside of its tests is not started again.

use crate::checks;
use crate::execute::{Ended, Executed, Job, execute};
use anyhow::Result;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tamis_core::record::Run;
use tamis_core::{Note, Unit};
use tamis_report::{Reruns, TestReport, human};
use tamis_session::{Earlier, SessionOptions, mark_flaky, runs_of};

/// The most that can be asked for; whoever needs more has another problem.
pub const MOST: u32 = 6;

/// Inputs that are named because they were different when the test passed.
const MOST_NAMED: usize = 3;

/// A failure that is tried again.
#[derive(Debug)]
pub(crate) struct Failed {
    pub(crate) ended: Ended,
    /// What is done now, one line.
    pub(crate) next: String,
}

/// Runs a test, and again up to `most` times where it does not pass. Failures are reported at once, so
/// that they are recorded whatever comes.
pub(crate) fn execute_and_rerun(
    job: Job<'_>,
    most: u32,
    report: impl Fn(Failed),
) -> Result<Executed> {
    let mut ended = match execute(job)? {
        Executed::Ended(ended) => *ended,
        other => return Ok(other),
    };
    let most = most.max(tries_of_checks(job, &ended));
    if most == 0 || job.stop.load(Ordering::Relaxed) {
        return Ok(Executed::Ended(Box::new(ended)));
    }
    if ended.inside.iter().any(is_failure) {
        return units(job, most, ended, report);
    }
    if ended.run.outcome.passed() {
        return Ok(Executed::Ended(Box::new(ended)));
    }
    let is_build = job.case.claim.as_ref().is_some_and(|claim| claim.is_build());
    if is_build && !ended.undistinguished {
        ended.run.notes.push(Note::NotRunAgain);
        return Ok(Executed::Ended(Box::new(ended)));
    }
    whole(job, most, ended, report)
}

/// A failure of what could have been skipped is tried again before it is called a miss. Parts are not: a unit
/// can only run again as a whole.
fn tries_of_checks(job: Job<'_>, ended: &Ended) -> u32 {
    let failed =
        |test: &TestReport| is_failure(test) && (job.checked || test.decision.is_checked());
    let missed = match ended.inside.is_empty() {
        true => job.checked && !ended.run.outcome.passed(),
        false => ended.inside.iter().any(failed),
    };
    if missed && !job.session.parts { checks::TRIES } else { 0 }
}

fn is_failure(report: &TestReport) -> bool {
    report.failed() && !report.flaky()
}

/// A test that is one command.
fn whole(job: Job<'_>, most: u32, first: Ended, report: impl Fn(Failed)) -> Result<Executed> {
    let failure = first.run.outcome;
    let (observed, failure_output) = (first.run.observed.clone(), first.output.clone());
    let mut last = first;
    let mut runs = 1;
    while runs <= most && !job.stop.load(Ordering::Relaxed) {
        let next =
            format!("{} {}; running it again ({runs} of {most})", job.case.key, last.run.outcome);
        report(Failed { ended: last, next });
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

/// Units inside a command.
fn units(job: Job<'_>, most: u32, first: Ended, report: impl Fn(Failed)) -> Result<Executed> {
    let mut ended = Ended { is_reported: true, inside: first.inside.clone(), ..first.outline() };
    let mut calls = Reruns { runs: 1, failed: u32::from(!first.run.outcome.passed()) };
    let mut first = Some(first);
    while calls.runs <= most
        && !job.stop.load(Ordering::Relaxed)
        && ended.inside.iter().any(is_failure)
    {
        let failed = ended.inside.iter().filter(|r| is_failure(r)).count() as u64;
        let next = format!(
            "{} did not pass; running {} again ({} of {most})",
            human::counted(failed, inside_name(&ended.inside), inside_names(&ended.inside)),
            if failed == 1 { "it" } else { "them" },
            calls.runs
        );
        let known = first.take().unwrap_or_else(|| ended.outline());
        report(Failed { ended: known, next });
        let earlier = Some(Arc::new(Earlier::of(&ended.inside)));
        let session = SessionOptions { earlier, ..job.session.clone() };
        // What was stopped in between leaves the results of before.
        let Executed::Ended(again) = execute(Job { session: &session, ..job })? else { break };
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

/// What the units inside a command are called.
fn inside_name(inside: &[TestReport]) -> &'static str {
    let is_package = |report: &TestReport| matches!(report.key.unit, Unit::Package(_));
    if inside.iter().any(is_package) { "package" } else { "test class" }
}

fn inside_names(inside: &[TestReport]) -> &'static str {
    if inside_name(inside) == "package" { "packages" } else { "test classes" }
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
    known.span.length += again.span.length;
    if !known.failed() {
        known.outcome = Some(outcome);
    }
    known.output = known.output.take().or(again.output);
    known.taints = again.taints;
}

#[cfg(test)]
mod tests {
    use super::*;
    use tamis_core::{Decision, Outcome, TestKey};

    fn class(ended: impl Into<Option<Outcome>>) -> TestReport {
        let mut report =
            TestReport::new(TestKey::item("s", "A", "."), Decision::OutOfReach, String::new());
        report.outcome = ended.into();
        report
    }

    #[test]
    fn runs_of_one_test_class_add_up() {
        let mut known = class(Outcome::Failed(1));
        merge(&mut known, class(Outcome::Failed(1)));
        assert_eq!(known.reruns, Some(Reruns { runs: 2, failed: 2 }));
        assert!(is_failure(&known));
        merge(&mut known, class(Outcome::Passed));
        assert_eq!(known.reruns, Some(Reruns { runs: 3, failed: 2 }));
        assert!(known.failed() && known.flaky() && !is_failure(&known));
        // One that did not come to an end says nothing.
        merge(&mut known, class(None));
        assert_eq!(known.reruns, Some(Reruns { runs: 3, failed: 2 }));
    }

    #[test]
    fn a_pass_that_later_fails_is_flaky_as_well() {
        let mut known = class(Outcome::Passed);
        merge(&mut known, class(Outcome::Failed(1)));
        assert!(known.failed() && known.flaky());
    }
}
