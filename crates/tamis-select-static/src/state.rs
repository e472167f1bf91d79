//! What each test was proven against.
//!
//! A *snapshot* is all nodes of a module's classpath with their fingerprints at one moment. A
//! *proof* says: this test finished in the state of that snapshot, with that outcome. Tests that did
//! not finish keep the proof they had, so an interrupted run loses nothing. Snapshots are files
//! named by their digest; when nothing changed, the digest alone decides and no snapshot is read.
//!
//! Nothing in here is a path of one machine.

use crate::definitions::{Configuration, Definitions, Origin};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use tamis_classpath::disk;
use tamis_classpath::names::{NameId, Names};
use tamis_core::Hash;

/// Raised whenever the meaning of stored proofs changes; older ones then prove nothing.
const STATE_VERSION: u32 = 4;

/// One node as it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeState {
    pub name: NameId,
    pub whole: Hash,
    pub raw: Hash,
    pub order: Hash,
    pub header: Hash,
    pub bodies: Vec<(String, Hash)>,
    pub resource: bool,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Snapshot {
    pub names: Names,
    pub nodes: Vec<NodeState>,
    /// Libraries by content, in classpath order.
    pub libraries: Vec<Hash>,
    pub mixed_order: Vec<bool>,
    pub environment: u128,
}

/// What a test did, and in which state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proof {
    pub snapshot: Hash,
    /// The kinds of edges that were on: a proof that was carried over changes under weaker rules
    /// says nothing under stronger ones.
    pub kinds: u16,
    pub passed: bool,
    /// How it ran, see [`Configuration`].
    pub seen: Option<Hash>,
    pub declared: Option<Hash>,
}

impl Proof {
    /// Whether it is about tests that run as this configuration says. What one side does not know is not the same:
    /// who knows the configuration of the run needs a proof of exactly that one; who knows only what the build
    /// declares needs a proof from under the same declaration.
    pub(crate) fn is_about(&self, now: &Configuration) -> bool {
        match now.seen {
            Some(_) => self.seen == now.seen,
            None if self.seen.is_some() => now.declared.is_some() && self.declared == now.declared,
            None => self.declared == now.declared,
        }
    }
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Proofs {
    version: u32,
    /// By test, and by the run of the build ([`Configuration::execution`]): one test may belong to several.
    pub tests: BTreeMap<String, BTreeMap<String, Proof>>,
    /// The state of the last update, for listings of changes.
    pub latest: Option<Hash>,
    /// The state in which tests were last announced to run, by hand and without reports.
    pub announced: Option<Hash>,
}

/// What is known of a test for somebody who asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Evidence {
    /// It ran never.
    Nothing,
    DidNotPass,
    /// It ran, and not in a way that is known to be this one.
    OtherConfiguration,
    /// Each of these must still hold. By the run of the build.
    Proofs(Vec<(String, Proof)>),
}

impl Proofs {
    /// What counts for a test of this configuration.
    ///
    /// A run of the build asks for its own proof, and must not overlook that somebody recorded a failure by hand.
    /// Who sees no run asks for what was recorded by hand, which is newer than any run (see [`Proofs::insert`]), else
    /// for all runs of the build: the test need not run only if it need not run in any of them.
    pub(crate) fn evidence(&self, test: &str, now: &Configuration) -> Evidence {
        let Some(all) = self.tests.get(test) else { return Evidence::Nothing };
        let by_hand = all.get("");
        if by_hand.is_some_and(|proof| !proof.passed) {
            return Evidence::DidNotPass;
        }
        let wanted: Vec<(String, Proof)> = match (now.execution.as_str(), by_hand) {
            ("", Some(proof)) => vec![(String::new(), *proof)],
            ("", None) => all.iter().map(|(run, proof)| (run.clone(), *proof)).collect(),
            (own, _) => all.get(own).map(|proof| (own.to_owned(), *proof)).into_iter().collect(),
        };
        if wanted.iter().any(|(_, proof)| !proof.passed) {
            return Evidence::DidNotPass;
        }
        if wanted.is_empty() || wanted.iter().any(|(_, proof)| !proof.is_about(now)) {
            return Evidence::OtherConfiguration;
        }
        Evidence::Proofs(wanted)
    }

    /// A test finished. What was recorded by hand before is older than this run of the build.
    pub(crate) fn insert(&mut self, test: &str, execution: &str, proof: Proof) {
        let of_test = self.tests.entry(test.to_owned()).or_default();
        if !execution.is_empty() {
            of_test.remove("");
        }
        of_test.insert(execution.to_owned(), proof);
    }
}

/// The state of one module on disk.
#[derive(Debug, Clone)]
pub struct State {
    folder: PathBuf,
}

impl State {
    /// `folder` is the project's state folder, `key` the module's.
    pub fn new(folder: &Path, key: &str) -> Self {
        Self { folder: folder.join(format!("{:016x}", Hash::of(key.as_bytes()).0 as u64)) }
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    pub fn proofs(&self) -> Proofs {
        let proofs: Option<Proofs> = disk::load(&self.folder.join("proofs"));
        proofs
            .filter(|p| p.version == STATE_VERSION)
            .unwrap_or_else(|| Proofs { version: STATE_VERSION, ..Proofs::default() })
    }

    fn snapshot_file(&self, digest: Hash) -> PathBuf {
        self.folder.join(format!("snapshot-{:032x}", digest.0))
    }

    pub fn snapshot(&self, digest: Hash) -> Option<Snapshot> {
        disk::load(&self.snapshot_file(digest))
    }

    /// Writes the snapshot first and the proofs that refer to it second: a kill in between leaves
    /// the old proofs with all they need.
    pub fn save(&self, proofs: &Proofs, digest: Hash, snapshot: &Snapshot) -> io::Result<()> {
        let file = self.snapshot_file(digest);
        if !file.exists() {
            disk::save(&file, snapshot)?;
        }
        disk::save(&self.folder.join("proofs"), proofs)?;
        self.collect(proofs);
        Ok(())
    }

    /// Removes snapshots, and classes kept for them, that no proof needs. Leftovers are harmless.
    fn collect(&self, proofs: &Proofs) {
        let needed = |digest: Hash| {
            proofs.latest == Some(digest)
                || proofs.tests.values().flat_map(BTreeMap::values).any(|p| p.snapshot == digest)
        };
        for entry in std::fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let digest = name
                .to_str()
                .and_then(|n| n.strip_prefix("snapshot-").or_else(|| n.strip_prefix("classes-")))
                .and_then(|n| u128::from_str_radix(n, 16).ok());
            if digest.is_some_and(|d| !needed(Hash(d))) {
                std::fs::remove_file(entry.path()).ok();
            }
        }
    }

    /// The tests that it has proofs of, whatever they prove.
    pub fn tests(&self) -> Vec<String> {
        self.proofs().tests.into_keys().collect()
    }

    /// Forgets one test, so that it is selected next time; how many proofs there were. The caller holds the
    /// lock of the project's state.
    pub fn forget(&self, test: &str) -> io::Result<usize> {
        let mut proofs = self.proofs();
        let Some(gone) = proofs.tests.remove(test) else { return Ok(0) };
        disk::save(&self.folder.join("proofs"), &proofs)?;
        Ok(gone.len())
    }

    /// Forgets everything (`starts:clean`).
    pub fn clean(&self) -> io::Result<()> {
        match std::fs::remove_dir_all(&self.folder) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
            _ => Ok(()),
        }
    }
}

/// The nodes that the project defines, in the order of their names.
fn sorted_nodes(definitions: &Definitions) -> Vec<NameId> {
    let mut nodes: Vec<NameId> =
        definitions.nodes().filter(|&n| definitions.origin(n) != Some(Origin::Library)).collect();
    nodes.sort_unstable_by(|&a, &b| definitions.names.get(a).cmp(definitions.names.get(b)));
    nodes
}

/// One value for the whole state: equal digests, equal states.
pub fn digest(definitions: &Definitions) -> Hash {
    let mut bytes = Vec::new();
    for node in sorted_nodes(definitions) {
        let name = definitions.names.get(node);
        bytes.extend_from_slice(&(name.len() as u32).to_le_bytes());
        bytes.extend_from_slice(name);
        let whole = definitions.fingerprint(node).map_or(0, |h| h.0);
        bytes.extend_from_slice(&whole.to_le_bytes());
    }
    for library in &definitions.libraries.contents {
        bytes.extend_from_slice(&library.0.to_le_bytes());
    }
    bytes.extend(definitions.libraries.mixed_order.iter().map(|&l| u8::from(l)));
    bytes.extend_from_slice(&definitions.environment.0.to_le_bytes());
    Hash::of(&bytes)
}

/// The state of all definitions, to be kept.
pub fn snapshot(definitions: &Definitions) -> Snapshot {
    let mut snapshot = Snapshot {
        libraries: definitions.libraries.contents.clone(),
        mixed_order: definitions.libraries.mixed_order.clone(),
        environment: definitions.environment.0,
        ..Snapshot::default()
    };
    for node in sorted_nodes(definitions) {
        let name = snapshot.names.intern(definitions.names.get(node));
        snapshot.nodes.extend(node_state(definitions, node, name));
    }
    snapshot
}

fn node_state(definitions: &Definitions, node: NameId, name: NameId) -> Option<NodeState> {
    if let Some(class) = definitions.class(node) {
        let facts = class.facts;
        return Some(NodeState {
            name,
            whole: facts.whole,
            raw: facts.raw,
            order: facts.members.order,
            header: facts.header,
            bodies: facts.bodies(),
            resource: false,
        });
    }
    let content = definitions.resource(node)?.facts.content;
    Some(NodeState {
        name,
        whole: content,
        raw: content,
        order: content,
        header: content,
        bodies: Vec::new(),
        resource: true,
    })
}
