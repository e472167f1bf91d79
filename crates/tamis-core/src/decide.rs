//! The decision. Every command of tamis that says "run" or "skip" comes through [`decide`].
//!
//! Model: a test has records, newest first. A record is *complete* when everything the run looked
//! at was observed, and it *holds* when one of its proofs agrees with the world in every answer.
//!
//! 1. The newest complete record that holds decides: it passed, skip; it did not, run.
//! 2. A newer run that did not pass and was not completely observed may well hold: run. Not so where
//!    something that it did observe is different now: then it was another state, and what proves
//!    this one is as good as before.
//! 3. If no record holds, run. The reason is what differs from a record: here the newest; who knows
//!    how many answers of each differ takes the nearest one.
//!
//! Nothing else leads to a skip. What this does not see: inputs that are not observed (time,
//! randomness, the network); those are for the settings (`always-run`).

use crate::key::TestKey;
use crate::record::{Outcome, ProofId, RecordId};
use serde::{Deserialize, Serialize};

/// What the decision needs to know of one record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    pub record: RecordId,
    pub outcome: Outcome,
    /// Whether the run was observed completely, under the settings of now.
    pub complete: bool,
    /// Of a run that was not: whether something that was observed is known to be different now.
    pub elsewhere: bool,
    pub proofs: Vec<ProofId>,
}

/// A wish of the user that comes before the evidence.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Demand {
    #[default]
    None,
    /// `--all`, `tamis record`.
    Requested,
    /// An `always-run` pattern of the settings.
    AlwaysRun(String),
    /// Running it has a purpose besides its outcome; says which.
    Effect(String),
    /// A module is affected by a change; says which and why.
    Module(String),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Decision {
    Skip {
        record: RecordId,
        proof: ProofId,
    },
    /// Skipped because the graph of types, or of modules, leads to no change from it. Never the answer
    /// of [`decide`].
    OutOfReach,
    Run(Cause),
}

impl Decision {
    pub fn is_run(&self) -> bool {
        matches!(self, Self::Run(_))
    }

    /// Whether it could be skipped and runs to check that.
    pub fn is_checked(&self) -> bool {
        matches!(self, Self::Run(Cause::Checked(..)))
    }

    /// The proof of a skip, also of one that is checked or not done.
    pub fn proof(&self) -> Option<(RecordId, ProofId)> {
        match self {
            Self::Skip { record, proof } => Some((*record, *proof)),
            Self::Run(Cause::Checked(_, proof)) => *proof,
            _ => None,
        }
    }
}

/// Why a test runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Cause {
    /// No record of it.
    New,
    /// There is no store to look into. Never the answer of [`decide`].
    NoStore,
    Requested,
    AlwaysRun(String),
    /// Running it has a purpose besides its outcome; says which.
    Effect(String),
    /// A module is affected by a change; says which and why.
    Module(String),
    /// What the graph of types says. Never the answer of [`decide`].
    ByGraph(String),
    /// What it relies on has to be built before it is known whether it changed; says what. Never the
    /// answer of [`decide`].
    Unbuilt(String),
    /// It did not pass in this state.
    DidNotPass(RecordId, Outcome),
    /// The newest record was not observed completely and no older one holds.
    Incomplete(RecordId),
    /// Something that this record looked at is different now.
    Changed(RecordId),
    /// The user had it forgotten, or this test inside it. Never the answer of [`decide`].
    Forgotten(Option<TestKey>),
    /// It could be skipped, and runs all the same to see whether that is true. Never the answer of [`decide`].
    Checked(Check, Option<(RecordId, ProofId)>),
    /// It could be skipped, but a check has shown that a skip was wrong: nothing is skipped. Never the answer of
    /// [`decide`].
    Tripped,
}

/// Why a test runs that could be skipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Check {
    /// `--shadow`: everything runs.
    Shadow,
    /// `--audit`: some of what could be skipped.
    Audit,
}

impl std::fmt::Display for Check {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Shadow => "shadow",
            Self::Audit => "audit",
        })
    }
}

/// Decides about one test. `holds` says whether all answers of a proof are still the same; it is
/// asked as few times as possible, newest first.
pub fn decide(
    demand: &Demand,
    candidates: &[Candidate],
    mut holds: impl FnMut(ProofId) -> bool,
) -> Decision {
    match demand {
        Demand::None => {}
        Demand::Requested => return Decision::Run(Cause::Requested),
        Demand::AlwaysRun(pattern) => return Decision::Run(Cause::AlwaysRun(pattern.clone())),
        Demand::Effect(what) => return Decision::Run(Cause::Effect(what.clone())),
        Demand::Module(why) => return Decision::Run(Cause::Module(why.clone())),
    }
    let Some(newest) = candidates.first() else {
        return Decision::Run(Cause::New);
    };
    for candidate in candidates {
        if !candidate.complete {
            if candidate.outcome.passed() || candidate.elsewhere {
                continue;
            }
            return Decision::Run(Cause::DidNotPass(candidate.record, candidate.outcome));
        }
        if let Some(&proof) = candidate.proofs.iter().find(|&&p| holds(p)) {
            return if candidate.outcome.passed() {
                Decision::Skip { record: candidate.record, proof }
            } else {
                Decision::Run(Cause::DidNotPass(candidate.record, candidate.outcome))
            };
        }
    }
    // What was in another state explains nothing, as long as there is something else.
    let telling = candidates.iter().find(|candidate| !candidate.elsewhere).unwrap_or(newest);
    if telling.complete {
        Decision::Run(Cause::Changed(telling.record))
    } else {
        Decision::Run(Cause::Incomplete(telling.record))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(id: u32, outcome: Outcome, complete: bool) -> Candidate {
        let proofs = vec![ProofId(id)];
        Candidate { record: RecordId(id), outcome, complete, elsewhere: false, proofs }
    }

    fn run(candidates: &[Candidate], holding: &[u32]) -> Decision {
        decide(&Demand::None, candidates, |p| holding.contains(&p.0))
    }

    const PASS: Outcome = Outcome::Passed;
    const FAIL: Outcome = Outcome::Failed(1);

    #[test]
    fn no_record_runs() {
        assert_eq!(run(&[], &[]), Decision::Run(Cause::New));
    }

    #[test]
    fn a_complete_pass_that_holds_skips() {
        let skip = Decision::Skip { record: RecordId(3), proof: ProofId(3) };
        assert_eq!(run(&[candidate(3, PASS, true)], &[3]), skip);
    }

    #[test]
    fn an_incomplete_pass_never_skips() {
        let got = run(&[candidate(3, PASS, false)], &[3]);
        assert_eq!(got, Decision::Run(Cause::Incomplete(RecordId(3))));
    }

    #[test]
    fn a_failure_in_this_state_runs_again() {
        let got = run(&[candidate(4, FAIL, true), candidate(3, PASS, true)], &[3, 4]);
        assert_eq!(got, Decision::Run(Cause::DidNotPass(RecordId(4), FAIL)));
    }

    #[test]
    fn a_failure_in_another_state_does_not_hide_an_older_proof() {
        let got = run(&[candidate(4, FAIL, true), candidate(3, PASS, true)], &[3]);
        assert_eq!(got, Decision::Skip { record: RecordId(3), proof: ProofId(3) });
    }

    #[test]
    fn a_failure_that_was_not_completely_seen_runs_again() {
        let got = run(&[candidate(4, FAIL, false), candidate(3, PASS, true)], &[3]);
        assert_eq!(got, Decision::Run(Cause::DidNotPass(RecordId(4), FAIL)));
    }

    #[test]
    fn a_failure_that_was_certainly_in_another_state_does_not_hide_an_older_proof() {
        let mut failure = candidate(4, FAIL, false);
        failure.elsewhere = true;
        let records = [failure, candidate(3, PASS, true)];
        let skip = Decision::Skip { record: RecordId(3), proof: ProofId(3) };
        assert_eq!(run(&records, &[3]), skip);
        assert_eq!(run(&records, &[]), Decision::Run(Cause::Changed(RecordId(3))));
        let alone = run(&records[..1], &[]);
        assert_eq!(alone, Decision::Run(Cause::Incomplete(RecordId(4))));
    }

    #[test]
    fn an_incomplete_pass_does_not_hide_an_older_proof() {
        let got = run(&[candidate(4, PASS, false), candidate(3, PASS, true)], &[3]);
        assert_eq!(got, Decision::Skip { record: RecordId(3), proof: ProofId(3) });
    }

    #[test]
    fn the_newest_record_gives_the_reason() {
        let got = run(&[candidate(4, FAIL, true), candidate(3, PASS, true)], &[]);
        assert_eq!(got, Decision::Run(Cause::Changed(RecordId(4))));
    }

    #[test]
    fn demands_come_first() {
        let records = [candidate(3, PASS, true)];
        let always = Demand::AlwaysRun("net*".into());
        assert_eq!(
            decide(&always, &records, |_| true),
            Decision::Run(Cause::AlwaysRun("net*".into()))
        );
        assert_eq!(decide(&Demand::Requested, &records, |_| true), Decision::Run(Cause::Requested));
    }

    #[test]
    fn the_state_that_a_test_left_counts_as_well() {
        let mut record = candidate(3, PASS, true);
        record.proofs = vec![ProofId(7), ProofId(8)];
        let got = run(&[record], &[8]);
        assert_eq!(got, Decision::Skip { record: RecordId(3), proof: ProofId(8) });
    }
}
