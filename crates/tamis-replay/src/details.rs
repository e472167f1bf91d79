//! What tests did in a revision, for the sums and for the revision after it.

use crate::call::{Reported, Test};
use crate::selection::Before;
use serde::{Deserialize, Serialize};

/// All tests of one revision.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Details {
    pub(crate) commit: String,
    pub(crate) tests: Vec<TestDetails>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct TestDetails {
    pub(crate) name: String,
    pub(crate) seconds: f64,
    /// By the records.
    pub(crate) selected: bool,
    pub(crate) passed: Option<bool>,
}

impl Details {
    pub(crate) fn of(commit: &str, reported: &Reported) -> Self {
        let test = |test: &Test| TestDetails {
            name: test.name.clone(),
            seconds: if test.passed.is_some() { test.seconds } else { test.saved },
            selected: test.selected,
            passed: test.passed,
        };
        Self { commit: commit.to_owned(), tests: reported.tests.iter().map(test).collect() }
    }

    pub(crate) fn outcomes(&self) -> Before {
        self.tests.iter().filter_map(|test| Some((test.name.clone(), test.passed?))).collect()
    }
}
