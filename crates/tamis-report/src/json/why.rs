//! The answers of `why` and `why-not`.

use super::Version;
use schemars::JsonSchema;
use serde::Serialize;

/// Why a test would run now.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct WhyLine {
    pub version: Version,
    /// The full name.
    pub test: String,
    /// Whether it would run.
    pub run: bool,
    /// Of a run: one line for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Of a run: the number of the record that it was compared with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub record: Option<u32>,
    /// Of a run: why that record was not observed completely, one line for people each.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub taints: Option<Vec<String>>,
    /// Of a run: the inputs that are not as they were.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub differences: Option<Vec<InputDifference>>,
    /// Changed files that do not count for modules.
    pub excluded: Vec<ExcludedFile>,
}

/// An input that is not as it was.
#[derive(Debug, Serialize, JsonSchema)]
pub struct InputDifference {
    pub input: String,
    /// What is different, one line for people.
    pub what: String,
    pub was: String,
    pub is: String,
    /// Of a folder: which names came and went.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub names: Option<String>,
    /// Of a test configuration and of a system property: which parameters are others, with their old and new values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parameters: Option<String>,
    /// How it was looked at.
    pub access: String,
    /// The program that looked at it.
    pub program: String,
}

/// A changed file, and the rule by which it does not count for modules.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ExcludedFile {
    pub file: String,
    pub rule: String,
}

/// Why a test may be skipped.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct WhyNotLine {
    pub version: Version,
    /// The full name.
    pub test: String,
    /// Whether it would run all the same.
    pub run: bool,
    /// Of a run: one line for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Of a skip: the number of the record that proves it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub record: Option<u32>,
    /// Of a skip: all inputs of that record.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inputs: Option<Vec<ProvenInput>>,
}

/// An input of a proof, with the value that it still has.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ProvenInput {
    pub input: String,
    pub value: String,
    /// How it was looked at.
    pub access: String,
    /// The program that looked at it.
    pub program: String,
}
