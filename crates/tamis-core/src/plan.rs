//! A decision with what it rests on, before it is put into words.

use crate::decide::{Cause, Decision};
use crate::key::TestKey;
use crate::question::Question;
use crate::record::RecordSummary;
use crate::value::Value;
use std::time::Duration;

/// What is decided about one test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Planned {
    pub key: TestKey,
    pub decision: Decision,
    pub evidence: Evidence,
}

/// What a decision rests on, as far as it is known.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Evidence {
    /// The test's newest record.
    pub newest: Option<RecordSummary>,
    /// The record that the decision names: what proves the skip, or what no longer holds.
    pub record: Option<RecordSummary>,
    /// The first input that is different now.
    pub difference: Option<Difference>,
    /// Why the settings of now do not accept a record that was observed completely.
    pub refused: Option<String>,
    /// How many of the newest runs, one after the other, did not pass.
    pub failed_before: u32,
    /// How a graph leads from the test to the change.
    pub way: Option<Way>,
    /// Why a module is not affected, where that is why the test is skipped.
    pub out_of_reach: Option<String>,
}

/// One input that has another value than in the record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    pub question: Question,
    pub was: Value,
    pub is: Value,
}

/// The steps from a test to a change that it can reach.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Way {
    /// One line for people.
    pub short: String,
    pub steps: Vec<String>,
}

impl Planned {
    /// A decision that needs no evidence.
    pub fn new(key: TestKey, decision: Decision) -> Self {
        Self { key, decision, evidence: Evidence::default() }
    }

    pub fn skips(&self) -> bool {
        !self.decision.is_run()
    }

    /// How long its newest run took; one that never ran may take for ever.
    pub fn expected(&self) -> Duration {
        let newest = self.evidence.newest.as_ref();
        newest.map_or(Duration::MAX, |record| Duration::from_micros(record.wall_us))
    }

    /// Itself, where the newest run did not pass and no record proves that it would pass now; else nothing.
    pub fn if_failed(self) -> Option<Self> {
        let failed = self.evidence.newest.as_ref().is_some_and(|newest| !newest.outcome.passed());
        let is_proven = matches!(self.decision, Decision::Skip { .. });
        if !failed || is_proven {
            return None;
        }
        match (&self.decision, &self.evidence.newest) {
            // A graph, or a choice of modules, knows no outcome.
            (Decision::OutOfReach, Some(newest)) => {
                let decision = Decision::Run(Cause::DidNotPass(newest.id, newest.outcome));
                let evidence = Evidence { record: Some(newest.clone()), ..self.evidence };
                Some(Self { decision, evidence, key: self.key })
            }
            _ => Some(self),
        }
    }
}
