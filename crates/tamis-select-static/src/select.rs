//! The selection: which tests a change can reach, and why.
//!
//! For each test there is at most one proof: a snapshot in which it finished. The names whose
//! fingerprints differ between that snapshot and now are the changes *for this test*; it is selected
//! when it can reach one of them. The graph is that of now, with every name that existed then or
//! exists now as a node. That gives what the graph of then would give: a type with an equal
//! fingerprint has equal code and so equal edges, and a type without is a change itself. In addition
//! it sees edges that a new name completes (a string that now names a class, a new provider).
//!
//! Selected as well: tests without a proof, tests that did not pass, tests that reach something
//! unreadable, and all tests where the classpath is not known completely.

use crate::definitions::{Configuration, Definitions, Origin, TestModule};
use crate::diff::{self, Change};
use crate::edges::{self, EdgeKinds, TypeGraph};
use crate::graph::{EdgeKind, Firewall};
use crate::recognise;
use crate::state::{self, Evidence, Proof, Proofs, Snapshot, State};
use rustc_hash::FxHashMap;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use tamis_classpath::Caches;
use tamis_classpath::names::{NameId, NameSet};
use tamis_core::Hash;

/// Whether types of libraries are nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Libraries {
    /// Only when a library changed. While none changes they cannot lead to a change: a library
    /// does not refer to the project's types, except through services, which are followed.
    #[default]
    Auto,
    Include,
    /// Never; a changed library then selects all tests.
    Exclude,
}

#[derive(Debug, Clone)]
pub struct StaticSettings {
    /// The project's root: jars below it belong to the project.
    pub root: PathBuf,
    /// Where states are kept.
    pub state: PathBuf,
    pub caches: Caches,
    pub kinds: EdgeKinds,
    pub libraries: Libraries,
    /// Answer first: what only helps the next call is left to [`Session::catch_up`].
    pub offline: bool,
    /// Files that all tests depend on because the user says so, in one value; 0 for none.
    pub watched: Hash,
}

/// One step of an explanation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Step {
    pub name: String,
    /// How this step leads to the next; None at the end.
    pub by: Option<&'static str>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "reason")]
pub enum Reason {
    /// No proof of it.
    New,
    /// The user asks for all tests.
    Requested,
    /// It did not pass when it last finished.
    DidNotPass,
    /// It reaches a change.
    Reaches { path: Vec<Step>, change: Change },
    /// The JDK or other circumstances of all tests changed.
    Environment,
    /// The classpath, or what it was, is not known completely.
    Unknown { why: String },
    /// Its proof was carried along under weaker rules.
    OtherRules,
    /// It ran in a way that is not known to be the one of now.
    Configuration,
}

/// A test class and what is to be done with it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TestDecision {
    pub name: String,
    /// None: it need not run.
    pub run: Option<Reason>,
}

/// A changed type or file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Changed {
    pub name: String,
    #[serde(flatten)]
    pub change: Change,
}

/// A module with all that the verbs need.
#[derive(Debug)]
pub struct Session {
    pub module: String,
    pub definitions: Definitions,
    pub tests: Vec<NameId>,
    settings: StaticSettings,
    state: State,
    pub(crate) proofs: Proofs,
    configuration: Configuration,
    digest: Hash,
    /// Snapshots that proofs refer to, with the ids that their names have now.
    snapshots: FxHashMap<Hash, (Snapshot, Vec<NameId>)>,
}

impl Session {
    /// Looks at a module as it is now.
    pub fn open(module: &TestModule, settings: &StaticSettings) -> Self {
        let keep = !settings.offline;
        let mut definitions =
            Definitions::load_with(module, &settings.root, &settings.caches, keep);
        if settings.libraries == Libraries::Include {
            definitions.load_libraries(&settings.caches);
        }
        if settings.watched != Hash(0) {
            let parts =
                [definitions.environment, settings.watched].map(|hash| hash.0.to_le_bytes());
            definitions.environment = Hash::of_parts(parts.iter().map(<[u8; 16]>::as_slice));
        }
        let key = if module.key.is_empty() { &module.name } else { &module.key };
        let state = State::new(&settings.state, key);
        let proofs = state.proofs();
        let digest = state::digest(&definitions);
        let tests = recognise::tests(&definitions);
        Self {
            module: module.name.clone(),
            definitions,
            tests,
            settings: settings.clone(),
            state,
            proofs,
            configuration: module.configuration.clone(),
            digest,
            snapshots: FxHashMap::default(),
        }
    }

    /// One value for the state that this session sees.
    pub fn digest(&self) -> Hash {
        self.digest
    }

    pub fn state_folder(&self) -> &Path {
        self.state.folder()
    }

    /// The proofs by which it is decided about a test; or why it runs whatever changed.
    pub(crate) fn proofs_of(&self, test: &str) -> Result<Vec<(String, Proof)>, Reason> {
        let proofs = match self.proofs.evidence(test, &self.configuration) {
            Evidence::Nothing => return Err(Reason::New),
            Evidence::DidNotPass => return Err(Reason::DidNotPass),
            Evidence::OtherConfiguration => return Err(Reason::Configuration),
            Evidence::Proofs(proofs) => proofs,
        };
        match proofs.iter().all(|(_, proof)| self.kinds() & !proof.kinds == 0) {
            true => Ok(proofs),
            false => Err(Reason::OtherRules),
        }
    }

    /// The snapshots by which it is decided about tests, other than the one of now.
    pub(crate) fn snapshots_of(&self, tests: &[String]) -> BTreeMap<Hash, Vec<String>> {
        let unreadable = !self.definitions.problems().is_empty();
        let mut needed: BTreeMap<Hash, Vec<String>> = BTreeMap::new();
        for test in tests {
            for (_, proof) in self.proofs_of(test).unwrap_or_default() {
                if proof.snapshot != self.digest || unreadable {
                    needed.entry(proof.snapshot).or_default().push(test.clone());
                }
            }
        }
        needed
    }

    /// What is proven now: that a test finished in the state and the way of this session.
    fn proof_of_now(&self, passed: bool) -> Proof {
        let Configuration { seen, declared, .. } = self.configuration;
        Proof { snapshot: self.digest, kinds: self.kinds(), passed, seen, declared }
    }

    /// The kinds of edges that are on.
    pub(crate) fn kinds(&self) -> u16 {
        self.settings.kinds.bits()
    }

    /// The names that the project itself defined in an earlier state.
    pub(crate) fn own_names_then(&self, digest: Hash) -> NameSet {
        let Some((snapshot, ids)) = self.snapshots.get(&digest) else { return NameSet::default() };
        snapshot.nodes.iter().filter_map(|node| ids.get(node.name as usize).copied()).collect()
    }

    /// Whether the libraries are not those of an earlier state.
    pub(crate) fn libraries_differ(&self, digest: Hash) -> bool {
        self.snapshots.get(&digest).is_none_or(|(old, _)| {
            old.libraries != self.definitions.libraries.contents
                || old.mixed_order != self.definitions.libraries.mixed_order
        })
    }

    pub fn test_names(&self) -> Vec<String> {
        self.tests.iter().map(|&t| self.definitions.display(t)).collect()
    }

    /// Loads a snapshot once; false where it is not there any more.
    fn need_snapshot(&mut self, digest: Hash) -> bool {
        if self.snapshots.contains_key(&digest) {
            return true;
        }
        let Some(snapshot) = self.state.snapshot(digest) else { return false };
        let ids = self.definitions.names.intern_all(&snapshot.names);
        self.snapshots.insert(digest, (snapshot, ids));
        true
    }

    /// Changes of libraries since a snapshot, by name of type.
    fn library_changes(&mut self, digest: Hash) -> Result<BTreeMap<NameId, Change>, String> {
        let Some((snapshot, _)) = self.snapshots.get(&digest) else { return Ok(BTreeMap::new()) };
        let old = snapshot.libraries.clone();
        let moved = snapshot.mixed_order != self.definitions.libraries.mixed_order;
        if old == self.definitions.libraries.contents && !moved {
            return Ok(BTreeMap::new());
        }
        if self.settings.libraries == Libraries::Exclude {
            return Err("a library changed, and libraries are excluded".into());
        }
        self.definitions.load_libraries(&self.settings.caches);
        if let Some(why) = self.definitions.blind.first() {
            return Err(why.clone());
        }
        let before = self.earlier_libraries(&old)?;
        let definitions = &self.definitions;
        let mut changes = BTreeMap::new();
        for (&id, &whole) in &before {
            match definitions.origin(id) {
                None => {
                    changes.insert(id, Change::Removed);
                }
                Some(Origin::Library) if definitions.fingerprint(id) != Some(whole) => {
                    let resource = definitions.resource(id).is_some();
                    let change = if resource { Change::Content } else { Change::Header(vec![]) };
                    changes.insert(id, change);
                }
                _ => {}
            }
        }
        for id in definitions.nodes().filter(|&id| definitions.origin(id) == Some(Origin::Library))
        {
            if let Some(why) = definitions.problem(id) {
                changes.insert(id, Change::Unreadable(why.into()));
            } else if !before.contains_key(&id) {
                changes.insert(id, Change::Added);
            }
        }
        for (&id, &whole) in &definitions.twice {
            if moved || before.get(&id) != Some(&whole) {
                changes.insert(id, Change::Header(vec![]));
            }
        }
        Ok(changes)
    }

    /// The types and files of earlier libraries: first definition first.
    fn earlier_libraries(&mut self, contents: &[Hash]) -> Result<FxHashMap<NameId, Hash>, String> {
        let mut before = FxHashMap::default();
        for &content in contents {
            let block = self.settings.caches.jars.block(content, None)?;
            let names = &mut self.definitions.names;
            let ids = names.intern_all(&block.names);
            for class in &block.classes {
                let id = ids.get(class.name as usize).copied().unwrap_or(NameId::MAX);
                before.entry(id).or_insert(class.whole);
            }
            for resource in &block.resources {
                let name = [b"/", block.names.get(resource.path)].concat();
                before.entry(names.intern(&name)).or_insert(resource.content);
            }
        }
        Ok(before)
    }

    /// All changes since a snapshot; an error where they are not known.
    pub(crate) fn changes(&mut self, digest: Hash) -> Result<BTreeMap<NameId, Change>, Reason> {
        let unknown = |why: String| Reason::Unknown { why };
        if !self.need_snapshot(digest) {
            return Err(unknown("the state of its last run is not there any more".into()));
        }
        let libraries = self.library_changes(digest).map_err(unknown)?;
        let Some((snapshot, ids)) = self.snapshots.get(&digest) else {
            return Err(unknown("the state of its last run is not there any more".into()));
        };
        if snapshot.environment != self.definitions.environment.0 {
            return Err(Reason::Environment);
        }
        let mut changes = diff::project_changes(&self.definitions, snapshot, ids, false);
        for (id, change) in libraries {
            changes.entry(id).or_insert(change);
        }
        Ok(changes)
    }

    /// The graph of now; everything in `changed` is a node as well.
    pub fn graph<'c>(&self, changed: impl IntoIterator<Item = &'c NameId>) -> TypeGraph {
        let known: NameSet = self.definitions.nodes().chain(changed.into_iter().copied()).collect();
        edges::build(&self.definitions, &known, &self.tests, self.settings.kinds)
    }

    /// Decides about every test.
    pub fn select(&mut self) -> Vec<TestDecision> {
        let tests: Vec<(NameId, String)> =
            self.tests.iter().map(|&t| (t, self.definitions.display(t))).collect();
        let names: Vec<String> = tests.iter().map(|(_, name)| name.clone()).collect();
        let mut outcomes: FxHashMap<Hash, Result<BTreeMap<NameId, Change>, Reason>> =
            FxHashMap::default();
        for snapshot in self.snapshots_of(&names).into_keys() {
            let changes = self.changes(snapshot);
            outcomes.insert(snapshot, changes);
        }
        let blind = self.definitions.blind.first().cloned();
        // Not before all snapshots are known: their names are nodes.
        let graph = (!outcomes.is_empty())
            .then(|| self.graph(outcomes.values().flatten().flat_map(BTreeMap::keys)));
        let mut firewalls: FxHashMap<Hash, Firewall> = FxHashMap::default();
        if let Some(graph) = &graph {
            for (&digest, changes) in &outcomes {
                if let Ok(changes) = changes {
                    firewalls.insert(digest, graph.graph.firewall(changes.keys().copied()));
                }
            }
        }
        let decide = |id: NameId, name: &str| -> Option<Reason> {
            if let Some(why) = &blind {
                return Some(Reason::Unknown { why: why.clone() });
            }
            let proofs = match self.proofs_of(name) {
                Ok(proofs) => proofs,
                Err(reason) => return Some(reason),
            };
            proofs.iter().find_map(|(_, proof)| match outcomes.get(&proof.snapshot) {
                None => None,
                Some(Err(reason)) => Some(reason.clone()),
                Some(Ok(changes)) => {
                    let (graph, firewall) = (graph.as_ref()?, firewalls.get(&proof.snapshot)?);
                    self.reason(id, graph, firewall, changes)
                }
            })
        };
        let mut decisions = Vec::with_capacity(tests.len());
        for (id, name) in tests {
            let run = decide(id, &name);
            decisions.push(TestDecision { name, run });
        }
        decisions
    }

    pub(crate) fn reason(
        &self,
        test: NameId,
        graph: &TypeGraph,
        firewall: &Firewall,
        changes: &BTreeMap<NameId, Change>,
    ) -> Option<Reason> {
        let nodes = firewall.path(test);
        let change = changes.get(nodes.last()?)?.clone();
        let mut path = Vec::with_capacity(nodes.len());
        for (i, &node) in nodes.iter().enumerate() {
            let by = nodes.get(i + 1).and_then(|&next| graph.graph.kind(node, next));
            let name = if node == graph.everywhere {
                "(every test)".into()
            } else {
                self.definitions.display(node)
            };
            path.push(Step { name, by: by.map(EdgeKind::name) });
        }
        Some(Reason::Reaches { path, change })
    }

    /// What changed since the last update, debug-only differences included. None where there was
    /// no update, or the changes are not known.
    pub fn diff(&mut self) -> Option<Vec<Changed>> {
        let latest = self.proofs.latest?;
        let mut changes = self.changes(latest).ok()?;
        let (snapshot, ids) = self.snapshots.get(&latest)?;
        for (id, change) in diff::project_changes(&self.definitions, snapshot, ids, true) {
            changes.entry(id).or_insert(change);
        }
        let mut out: Vec<Changed> = changes
            .into_iter()
            .map(|(id, change)| Changed { name: self.definitions.display(id), change })
            .collect();
        out.sort_by(|a, b| a.name.cmp(&b.name));
        Some(out)
    }

    /// All types and files inside the firewall of the changes since the last update. None where
    /// the changes are not known: then everything may be.
    pub fn impacted(&mut self) -> Option<Vec<String>> {
        let latest = self.proofs.latest?;
        let changes = self.changes(latest).ok()?;
        let graph = self.graph(changes.keys());
        let firewall = graph.graph.firewall(changes.keys().copied());
        let mut names: Vec<String> = firewall
            .members
            .iter()
            .filter(|&&n| n != graph.everywhere)
            .map(|&n| self.definitions.display(n))
            .collect();
        names.sort();
        Some(names)
    }

    /// Writes down which tests finished (with whether they passed) in the state of this session.
    /// Tests that were not selected are proven in it too; all others keep the proof they had.
    /// Returns false where nothing was written because the classpath is not known completely.
    pub fn record(
        &mut self,
        decisions: &[TestDecision],
        finished: &BTreeMap<String, bool>,
    ) -> io::Result<bool> {
        self.carry(decisions, finished, Some(self.digest))
    }

    fn carry(
        &mut self,
        decisions: &[TestDecision],
        finished: &BTreeMap<String, bool>,
        latest: Option<Hash>,
    ) -> io::Result<bool> {
        if !self.definitions.blind.is_empty() {
            return Ok(false);
        }
        for decision in decisions {
            match (finished.get(&decision.name), &decision.run) {
                (Some(&passed), _) => self.finish(&decision.name, passed),
                (None, None) => self.carry_one(&decision.name),
                (None, Some(_)) => {}
            }
        }
        // Tests keep their proofs for as long as there is such a class.
        let mut tests = std::mem::take(&mut self.proofs.tests);
        tests.retain(|name, _| self.defines(name) || decisions.iter().any(|d| d.name == *name));
        self.proofs.tests = tests;
        self.proofs.latest = latest;
        self.state.save(&self.proofs, self.digest, &state::snapshot(&self.definitions))?;
        // From now on these libraries are known, so that an upgrade can be compared with them.
        if self.settings.libraries != Libraries::Exclude {
            self.definitions.load_libraries(&self.settings.caches);
        }
        Ok(true)
    }

    fn finish(&mut self, test: &str, passed: bool) {
        let proof = self.proof_of_now(passed);
        self.proofs.insert(test, &self.configuration.execution, proof);
    }

    /// What decided that a test need not run now holds in the state of now. The way in which the test ran stays what
    /// it was: who skips it has not run it.
    fn carry_one(&mut self, test: &str) {
        let (snapshot, kinds) = (self.digest, self.kinds());
        let proofs = self.proofs_of(test).unwrap_or_default();
        let Some(of_test) = self.proofs.tests.get_mut(test) else { return };
        for (execution, proof) in proofs {
            of_test.insert(execution, Proof { snapshot, kinds, ..proof });
        }
    }

    /// The part of [`Session::record`] that cannot wait: the proofs of the tests that finished. The
    /// others keep the proofs they have, which hold as before; no graph is needed for that.
    pub fn record_finished(&mut self, finished: &BTreeMap<String, bool>) -> io::Result<bool> {
        if !self.definitions.blind.is_empty() {
            return Ok(false);
        }
        for name in self.test_names() {
            if let Some(&passed) = finished.get(&name) {
                self.finish(&name, passed);
            }
        }
        self.proofs.latest = Some(self.digest);
        self.state.save(&self.proofs, self.digest, &state::snapshot(&self.definitions))?;
        Ok(true)
    }

    /// Only notes the state in which tests are about to run; see [`Session::announce`].
    pub fn announce_only(&mut self) -> io::Result<bool> {
        self.proofs.announced = Some(self.digest);
        self.record_finished(&BTreeMap::new())
    }

    /// What answers do not need and the next ones profit from: proofs that hold are carried to the
    /// state of now, states that are not needed any more are removed, libraries are analysed. Changes
    /// no selection, so it does not matter whether, when or how often it is done.
    pub fn catch_up(&mut self) -> io::Result<bool> {
        if self.proofs.tests.is_empty() {
            return Ok(true);
        }
        let latest = self.proofs.latest;
        let decisions = self.select();
        self.carry(&decisions, &BTreeMap::new(), latest)
    }

    /// Whether a class of this name (`com.acme.Thing`) is on the classpath.
    pub fn defines(&self, name: &str) -> bool {
        let internal = name.replace('.', "/");
        self.definitions
            .names
            .find(internal.as_bytes())
            .is_some_and(|id| self.definitions.class(id).is_some())
    }

    /// Writes down that the selected tests are about to run in this state, and that the others are
    /// proven in it. The selected ones stay selected until they are recorded.
    pub fn announce(&mut self, decisions: &[TestDecision]) -> io::Result<bool> {
        self.proofs.announced = Some(self.digest);
        self.record(decisions, &BTreeMap::new())
    }

    /// Whether this is the state in which tests were last announced.
    pub fn is_announced(&self) -> bool {
        self.proofs.announced == Some(self.digest)
    }

    /// Counts these classes (`com.acme.Thing`) as tests, whatever they look like. Returns the names
    /// for which there is no class.
    pub fn add_tests(&mut self, names: &[String]) -> Vec<String> {
        let mut missing = Vec::new();
        for name in names {
            let internal = name.replace('.', "/");
            match self.definitions.names.find(internal.as_bytes()) {
                Some(id) if self.definitions.class(id).is_some() => {
                    if !self.tests.contains(&id) {
                        self.tests.push(id);
                    }
                }
                _ => missing.push(name.clone()),
            }
        }
        let names = &self.definitions.names;
        self.tests.sort_by(|&a, &b| names.get(a).cmp(names.get(b)));
        missing
    }

    /// Forgets all proofs of this module.
    pub fn clean(&self) -> io::Result<()> {
        self.state.clean()
    }
}
