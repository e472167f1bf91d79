//! The lines of `doctor`, one per check.

use super::Version;
use schemars::JsonSchema;
use serde::Serialize;

/// One thing that was checked.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CheckLine {
    pub version: Version,
    /// What was checked: tamis, kernel, engine, java, project, settings, store, cache, or habit for what
    /// a test does that one wants to hear of.
    pub subject: &'static str,
    /// Whether it has to be mended.
    pub problem: bool,
    /// One line for people.
    pub text: String,
}

impl CheckLine {
    pub fn well(subject: &'static str, text: impl Into<String>) -> Self {
        Self { version: Version, subject, problem: false, text: text.into() }
    }

    pub fn problem(subject: &'static str, text: impl Into<String>) -> Self {
        Self { problem: true, ..Self::well(subject, text) }
    }

    /// The line for people.
    pub fn shown(&self) -> String {
        let subject = if self.problem { "PROBLEM" } else { self.subject };
        format!("{subject:<10}{}\n", self.text)
    }
}
