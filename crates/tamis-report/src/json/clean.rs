//! The answers of `forget` and `clean`.

use super::Version;
use schemars::JsonSchema;
use serde::Serialize;

/// The records of a test were dropped.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ForgottenLine {
    pub version: Version,
    /// The full name.
    pub test: String,
    /// How many records of it were dropped.
    pub records: usize,
    /// The test that was named, where this one runs it, is inside it or is a part of it, and went with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub went_with: Option<String>,
}

/// Records of the project were dropped.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct CleanedLine {
    pub version: Version,
    /// How many records were dropped.
    pub records: usize,
    /// How many tests have none any more.
    pub tests: usize,
    /// With `--old`: the size of the store before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes_before: Option<u64>,
    /// With `--old`: its size now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes_after: Option<u64>,
}
