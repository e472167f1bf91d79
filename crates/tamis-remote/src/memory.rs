//! What this machine remembers of a scope, beside its records: the highest head that it saw, and which packs it has.
//!
//! Losing it costs a pull of everything and the notice that a head was put back.

use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use tamis_store::Store;

const KIND: &str = "remote";
const VERSION: u32 = 1;

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Memory {
    version: u32,
    /// The counter of the newest head, and the address of its bytes.
    pub counter: u64,
    pub head: String,
    /// By which the place knows that head; empty where something of it is still to come.
    pub tag: String,
    /// The packs that were taken in, of those that the head named.
    pub packs: BTreeSet<String>,
    /// The last record of this machine that is known to be in the scope.
    pub pushed: u32,
    /// What front ends keep and is in the scope already, by the address of its bytes.
    pub sent: BTreeSet<String>,
    /// How the last push ended, in words, and when.
    pub last_push: Option<(u64, String)>,
    /// When a pull last got an answer.
    pub last_pull_ms: u64,
}

fn name(url: &str, project: &str, scope: &str) -> String {
    format!("{url}\n{project}\n{scope}")
}

impl Memory {
    pub fn load(store: &Store, (url, project, scope): (&str, &str, &str)) -> Self {
        let name = name(url, project, scope);
        let kept = store.kept(KIND).unwrap_or_default();
        let bytes = kept.into_iter().find(|(known, _)| *known == name).map(|(_, bytes)| bytes);
        let memory: Option<Self> = bytes.and_then(|bytes| postcard::from_bytes(&bytes).ok());
        memory.filter(|memory| memory.version == VERSION).unwrap_or_default()
    }

    pub fn save(&self, store: &Store, (url, project, scope): (&str, &str, &str)) {
        let memory = Self { version: VERSION, ..self.clone() };
        // Losing it costs time.
        if let Ok(bytes) = postcard::to_allocvec(&memory) {
            let _ = store.keep(KIND, &name(url, project, scope), &bytes);
        }
    }
}
