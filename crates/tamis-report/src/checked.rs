//! What `--shadow` and `--audit` find, as it is kept and reported; a part of several lines of [`crate::json`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A test that would have been skipped, and did not pass: something decided that tamis did not see.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Miss {
    /// The full name of the test.
    pub test: String,
    /// How it ended, for people.
    pub outcome: String,
    /// Why it was believed that it need not run, one line for people.
    pub believed: String,
    /// The number of the record by which it was believed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub record: Option<u32>,
    /// What it printed, from where it failed, as far as it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// What it looked at now and that record does not have, or has otherwise; the first few.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub besides: Vec<String>,
    /// Of a replay: the files that changed, the first few.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<String>,
}

/// A miss of a `--shadow` or `--audit` run that is kept until it is acknowledged.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OpenMiss {
    /// When the run was, in milliseconds since 1970.
    pub when_ms: u64,
    /// The version of tamis that believed it.
    pub tamis: String,
    /// `shadow` or `audit`.
    pub check: String,
    #[serde(flatten)]
    pub miss: Miss,
}

/// What a run with `--shadow` or `--audit` checked; a part of its summary.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Checked {
    /// `shadow` or `audit`.
    pub check: String,
    /// The number that chose, for `audit`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// Tests that could have been skipped.
    pub skippable: usize,
    /// Those of them that ran all the same.
    pub checked: usize,
    /// What skipping all of them saves, by the clock.
    pub skippable_seconds: f64,
    /// Those of them that failed, and failed again when they were tried again.
    pub missed: Vec<Miss>,
    /// Those of them that failed and then passed without a change.
    pub flaky: usize,
}
