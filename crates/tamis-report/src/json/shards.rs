//! The answer of `tamis shards`.

use super::Version;
use schemars::JsonSchema;
use serde::Serialize;

/// How what has to run is split among machines.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct ShardsLine {
    pub version: Version,
    /// What to give to `--shard`, one for each machine; empty where nothing has to run.
    pub shards: Vec<String>,
    /// How many tests have to run.
    pub selected: u64,
    /// The parts, in the order of `shards`.
    pub parts: Vec<ShardPart>,
}

/// The part of one machine.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct ShardPart {
    pub tests: u64,
    /// How long its tests took when they last ran; left out where one of them never did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
}
