//! The lines of `status`, one per test and one for what calls saved, and of `history`, one per record.

use super::Version;
use crate::phases::PhaseSeconds;
use schemars::JsonSchema;
use serde::Serialize;

/// A test at a glance.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TestLine {
    pub version: Version,
    /// The full name.
    pub test: String,
    /// Whether it would run.
    pub run: bool,
    /// One line for people.
    pub reason: String,
    /// Of a skip: one line for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proof: Option<String>,
    /// The newest record.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last: Option<RecordFacts>,
    /// How many of its records are flaky.
    pub flaky_records: usize,
}

/// What all calls saved together; the last line, where there was a run.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SavingsLine {
    pub version: Version,
    /// When the first run was, in milliseconds since 1970.
    pub since_ms: u64,
    /// Of all weeks together.
    pub saved_seconds: f64,
    /// Calls that saved something.
    pub calls: u64,
    /// The weeks in which something was saved, oldest first.
    pub weeks: Vec<WeekOfSavings>,
}

/// What the calls of one week saved.
#[derive(Debug, Serialize, JsonSchema)]
pub struct WeekOfSavings {
    /// By ISO 8601, in UTC: `2026-W47`.
    pub week: String,
    pub saved_seconds: f64,
    /// Calls that saved something.
    pub calls: u64,
}

/// How long all calls took, by phase; where there was a run.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TimesLine {
    pub version: Version,
    /// Calls that are in the sum.
    pub calls: u64,
    pub phases: PhaseSeconds,
}

/// A recorded run.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RecordLine {
    pub version: Version,
    /// The full name of the test.
    pub test: String,
    #[serde(flatten)]
    pub facts: RecordFacts,
}

/// What a record says besides its inputs.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RecordFacts {
    /// Its number.
    pub record: u32,
    /// How the run ended, for people.
    pub outcome: String,
    pub passed: bool,
    /// Whether it did not pass and then passed without a change.
    pub flaky: bool,
    /// When it began, in milliseconds since 1970.
    pub started_ms: u64,
    pub seconds: f64,
    /// Time of all its processes on processors.
    pub cpu_seconds: f64,
    /// How its processes were watched.
    pub engine: String,
    /// How many inputs were recorded.
    pub inputs: u32,
    /// Why it was not observed completely, one line for people each.
    pub taints: Vec<String>,
    /// What else was noticed, one line for people each.
    pub notes: Vec<String>,
}
