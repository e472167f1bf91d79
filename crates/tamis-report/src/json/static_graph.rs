//! The lines of `static`: one per module, per edge of a graph, or per difference.

use super::Version;
use schemars::JsonSchema;
use serde::Serialize;

/// What changed in a module (`static diff`).
#[derive(Debug, Serialize, JsonSchema)]
pub struct DiffLine {
    pub version: Version,
    pub module: String,
    /// False where there is no earlier state to compare with.
    pub known: bool,
    pub changes: Vec<ChangedType>,
}

/// A changed type or file.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ChangedType {
    pub name: String,
    #[serde(flatten)]
    pub change: TypeChange,
}

/// What is different in a type or file.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TypeChange {
    /// added, removed, header, methods, overridden, only-order, only-debug, content, unreadable.
    pub change: &'static str,
    /// Of `header` and `methods` the methods whose bodies differ, of `unreadable` why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<ChangeDetail>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum ChangeDetail {
    Methods(Vec<String>),
    Why(String),
}

/// What can reach a change (`static impacted`).
#[derive(Debug, Serialize, JsonSchema)]
pub struct ImpactedLine {
    pub version: Version,
    pub module: String,
    /// False where there is no earlier state to compare with: everything is impacted.
    pub known: bool,
    /// Types and files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub types: Option<Vec<String>>,
    /// With `--granularity method`: methods.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub methods: Option<Vec<String>>,
}

/// The test classes of a module (`static select`).
#[derive(Debug, Serialize, JsonSchema)]
pub struct SelectionLine {
    pub version: Version,
    pub module: String,
    pub tests: Vec<SelectedTest>,
    /// What was noticed, one line for people each.
    pub notes: Vec<String>,
}

/// A test class.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SelectedTest {
    pub name: String,
    /// Why it is to run; null if it need not.
    pub run: Option<SelectionReason>,
}

/// Why a test class is to run.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct SelectionReason {
    /// new, requested, did-not-pass, reaches, environment, unknown, other-rules.
    pub reason: &'static str,
    /// Of `reaches`: from the test to the change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<Vec<PathStep>>,
    /// Of `reaches`: what is different there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub change: Option<TypeChange>,
    /// Of `unknown`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// One step from a test to a change.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PathStep {
    pub name: String,
    /// How this step leads to the next; null at the end.
    pub by: Option<&'static str>,
}

/// What was written down of a module's finished tests (`static record`).
#[derive(Debug, Serialize, JsonSchema)]
pub struct RecordedLine {
    pub version: Version,
    pub module: String,
    /// How many test classes finished.
    pub finished: usize,
    /// How many of them passed.
    pub passed: usize,
}

/// An edge of the graph of types (`static graph`).
#[derive(Debug, Serialize, JsonSchema)]
pub struct EdgeLine {
    pub version: Version,
    pub from: String,
    pub to: String,
    /// How the one uses the other.
    pub kind: &'static str,
}

/// An edge of a call graph (`static callgraph`).
#[derive(Debug, Serialize, JsonSchema)]
pub struct CallLine {
    pub version: Version,
    pub from: String,
    pub to: String,
}

/// A type that the two sides give different tests (`static compare`).
#[derive(Debug, Serialize, JsonSchema)]
pub struct ComparisonLine {
    pub version: Version,
    pub name: String,
    pub only_ours: Vec<String>,
    pub only_theirs: Vec<String>,
}
