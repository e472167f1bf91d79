//! The answer of `report`.

use super::Version;
use schemars::JsonSchema;
use serde::Serialize;

/// A report was written.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ReportLine {
    pub version: Version,
    /// The HTML file.
    pub html: String,
    /// Markdown for the page of a CI job.
    pub summary: String,
    /// Markdown for a comment on a pull request.
    pub comment: String,
    /// How many tests it shows.
    pub tests: usize,
    /// How many of the kept runs it shows.
    pub runs: usize,
}
