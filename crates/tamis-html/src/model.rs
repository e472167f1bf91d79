//! The values that a report is made of.

use crate::sets::{Costs, Inputs, InputsOfTest};
use std::collections::HashMap;
use std::time::Duration;
use tamis_core::{Planned, TestKey};
use tamis_report::kept::{KeptRun, PastRun};
use tamis_store::{Ask, Remembered, Store};

/// Where the report comes from.
pub struct Sources<'a> {
    pub store: &'a Store,
    /// What would happen to each known test now.
    pub planned: &'a [Planned],
    /// Answers questions about the project's files.
    pub ask: &'a Ask<'a>,
    /// What a person edits to change a fact, as a path: a source file, a class, a package.
    pub source_of: &'a dyn Fn(&str) -> Option<String>,
    /// The name of the project's folder.
    pub project: String,
    /// In milliseconds since 1970.
    pub now_ms: u64,
}

impl std::fmt::Debug for Sources<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sources").field("project", &self.project).finish_non_exhaustive()
    }
}

/// Everything that the report shows.
#[derive(Debug, Default)]
pub struct Report {
    pub project: String,
    pub made_ms: u64,
    /// The last run of each call, newest first.
    pub runs: Vec<KeptRun>,
    /// All tests that have a record or were in one of the runs, by key.
    pub tests: Vec<Known>,
    /// The inputs that tests share.
    pub inputs: Inputs,
    pub costs: Costs,
    /// What calls saved and when, oldest first.
    pub saved: Vec<(u64, Duration)>,
    /// The figures of earlier runs, oldest first.
    pub past: Vec<PastRun>,
    /// Tests that settings or front ends let run always, and why.
    pub always: HashMap<TestKey, String>,
}

/// A test that is known.
#[derive(Debug)]
pub struct Known {
    pub key: TestKey,
    /// Newest first.
    pub records: Vec<Remembered>,
    /// What would happen to it now, where that is known.
    pub now: Option<Now>,
    /// Its place in [`Inputs`]; nothing where it has no record that can be read.
    pub inputs: Option<InputsOfTest>,
}

/// What would happen to a test now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Now {
    pub runs: bool,
    pub why: String,
}

impl Report {
    /// The call that was made last.
    pub fn last(&self) -> Option<&KeptRun> {
        self.runs.first()
    }

    /// What all calls saved.
    pub fn saved_in_all(&self) -> Duration {
        self.saved.iter().fold(Duration::ZERO, |sum, (_, saved)| sum.saturating_add(*saved))
    }
}
