//! The lines of `deps`, one per input.

use super::Version;
use schemars::JsonSchema;
use serde::Serialize;

/// An input of a test.
#[derive(Debug, Serialize, JsonSchema)]
pub struct InputLine {
    pub version: Version,
    /// The full name of the test.
    pub test: String,
    /// What kind of input it is: files, directories, absent, programs, libraries, links, places written
    /// to, environment, other.
    pub kind: &'static str,
    pub input: String,
    /// What it was when the test looked at it.
    pub value: String,
    /// How it was looked at.
    pub access: String,
    /// The program that looked at it.
    pub program: String,
}
