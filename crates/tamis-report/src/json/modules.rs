//! The lines of `modules`.

use super::Version;
use schemars::JsonSchema;
use serde::Serialize;

/// The first line.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ModulesLine {
    pub version: Version,
    /// The build tool: maven, gradle, cargo, npm or go.
    pub tool: String,
    /// How many modules the build has.
    pub modules: usize,
    /// How many of them are affected.
    pub affected: usize,
    /// What it was compared with, as it was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    /// The commit that it was compared with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// Why everything counts, where it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub everything: Option<String>,
}

/// A module.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ModuleLine {
    /// As the build tool names it.
    pub name: String,
    /// Relative to the top folder.
    pub folder: String,
    /// The file that defines it.
    pub definition: String,
    /// What it builds, where the tool says it.
    pub packaging: String,
    pub affected: bool,
    /// Whether it changed itself, and not only something that it uses.
    pub changed: bool,
    /// Of an affected one: `all`, or `tests` where only its tests are affected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub part: Option<String>,
    pub reasons: Vec<ModuleReason>,
}

/// Why a module is affected. Which details there are depends on the kind.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct ModuleReason {
    /// file, folder, global, outside, resolution, unjudged, new, removed, uses, forced, everything, failed.
    pub kind: &'static str,
    /// One line for people.
    pub text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// Of a definition: what is different.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub what: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub was: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// The module that is used, or was removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub module: Option<String>,
    /// How it is used: parent, uses, uses-in-tests, uses-tests, uses-tests-in-tests, builds-with, imports.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub how: Option<String>,
    /// The setting that forces it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The test that did not pass.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub test: Option<String>,
}

/// A changed file that counts because a test read it.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ReadLine {
    pub file: String,
    pub test: String,
}

/// A changed file that does not count.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ExcludedLine {
    pub file: String,
    /// The rule that says so.
    pub rule: String,
}
