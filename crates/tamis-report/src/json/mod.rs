//! JSON lines: one object a line, for programs. All JSON of all verbs is here, one file per verb; the
//! commands fill these values and write them with [`Line::write`].
//!
//! Every line has an `event`, which comes first; the other keys stand in a fixed order. `run`, `select`
//! and `modules` have the `version` of the format in their first line; the lines of the other verbs stand
//! alone, and each has it. Within a version fields are only added. Fields without a value are left out.
//!
//! [`schema`] is the JSON Schema of a line, published as `docs/json-schema.json`. The pages for people
//! (`docs/json.md`) are held against it by a test.

pub mod clean;
pub mod deps;
pub mod doctor;
pub mod modules;
pub mod replay;
pub mod report;
mod run;
pub mod shards;
pub mod static_graph;
pub mod status;
pub mod store;
pub mod why;

pub use run::{
    DecisionLine, FinishedLine, StartLine, StillFailingLine, SummaryLine, TestName, decision,
    finished, start, still_failing, summary,
};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::io::{self, Write};
use std::time::Duration;

/// The version of the format.
pub const VERSION: u32 = 1;

/// One line of `tamis --json`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "event", rename_all = "kebab-case")]
#[schemars(title = "One line of tamis --json")]
pub enum Line {
    Start(StartLine),
    Decision(DecisionLine),
    Finished(FinishedLine),
    StillFailing(StillFailingLine),
    Summary(SummaryLine),
    Why(why::WhyLine),
    WhyNot(why::WhyNotLine),
    Input(deps::InputLine),
    Test(status::TestLine),
    Record(status::RecordLine),
    Savings(status::SavingsLine),
    Times(status::TimesLine),
    Audit(replay::AuditLine),
    Replay(replay::ReplayLine),
    Revision(replay::RevisionLine),
    ReplaySummary(replay::ReplaySummaryLine),
    Report(report::ReportLine),
    Check(doctor::CheckLine),
    Forgotten(clean::ForgottenLine),
    Cleaned(clean::CleanedLine),
    Store(store::StoreLine),
    Shards(shards::ShardsLine),
    Modules(modules::ModulesLine),
    Module(modules::ModuleLine),
    Read(modules::ReadLine),
    Excluded(modules::ExcludedLine),
    StaticDiff(static_graph::DiffLine),
    StaticImpacted(static_graph::ImpactedLine),
    StaticSelection(static_graph::SelectionLine),
    StaticRecorded(static_graph::RecordedLine),
    StaticEdge(static_graph::EdgeLine),
    StaticCall(static_graph::CallLine),
    StaticComparison(static_graph::ComparisonLine),
}

impl Line {
    /// Writes it with its end of line.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "{}", self.text()?)
    }

    /// The line without its end.
    pub fn text(&self) -> io::Result<String> {
        Ok(serde_json::to_string(self)?)
    }
}

/// Is [`VERSION`] in every line that has it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Version;

impl Serialize for Version {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u32(VERSION)
    }
}

/// Another version is an error: its lines may mean something else.
impl<'de> Deserialize<'de> for Version {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match u32::deserialize(deserializer)? {
            VERSION => Ok(Self),
            other => Err(serde::de::Error::custom(format!("version {other} is not known"))),
        }
    }
}

impl JsonSchema for Version {
    fn schema_name() -> Cow<'static, str> {
        "Version".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "const": VERSION, "description": "The version of the format." })
    }
}

/// The JSON Schema of a line.
pub fn schema() -> Schema {
    schemars::schema_for!(Line)
}

/// Whole microseconds, so that no digits of a binary fraction are shown.
pub fn seconds(duration: Duration) -> f64 {
    duration.as_micros() as f64 / 1e6
}

#[cfg(test)]
mod tests;
