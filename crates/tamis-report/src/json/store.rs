//! The answers of `tamis store`.

use super::Version;
use schemars::JsonSchema;
use serde::Serialize;

/// Something was done with the shared store, or is known of it.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct StoreLine {
    pub version: Version,
    /// `pushed`, `pulled`, `read` and `write` (of `status`), `verified`, `collected`, `key`, `new-key`, `merged`, `exported`.
    pub action: String,
    /// The scope that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packs: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub records: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Records that are still to be pushed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waiting: Option<u64>,
    /// How the last push ended, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_push: Option<String>,
    /// Who signed; of `key` and `new-key` the public key.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keys: Vec<String>,
    /// Of `new-key`: what belongs into TAMIS_SIGNING_KEY.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
    /// What is refused, wrong or could not be read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
}
