//! Which test files pytest need not import, and what has to be known of a file for that.
//!
//! The plugin has the rule about what a file does outside of itself (`plugin/_tamis_collect.py`). It tells of each file
//! that it imported which tests pytest collected from it. A test's record holds only while all that counted for this
//! is as it was: so the record of each test that ran has the name of what its file was then. A file may stay
//! out where such a record holds, all of its tests are proven, it had no effects when it was last collected, and what
//! had effects is as it was then (`Commons`).

use crate::messages::{AskedFiles, CollectedFile, CollectedFiles, CommonCode};
use crate::scope::{Kind, PytestScope, body_fact};
use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;
use tamis_core::{Decision, Hash, RecordId, Strategy, TestKey, Unit};
use tamis_session::{KnownScope, Ledger, PlannedUnit, SessionOptions};
use tamis_store::{Store, WithRecord};

/// Under this the files of a run are kept, by its scope and by how tests are chosen.
const KIND: &str = "files that pytest collects";
/// So many versions of a file are kept.
const VERSIONS: usize = 4;

/// The files of one way to run pytest.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct KnownFiles {
    texts: Vec<String>,
    commons: Vec<Commons>,
    files: BTreeMap<String, Vec<Version>>,
}

/// What has to be as it was, and a value of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Commons {
    code: CommonCode,
    value: Hash,
}

/// What a file was when it was collected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Version {
    name: Hash,
    commons: Hash,
    ids: Vec<String>,
    /// With those that other options deselect.
    all: usize,
    module: String,
    path: String,
    imports: Vec<(String, Vec<String>)>,
    /// Modules that its tests reach, by their place among the texts.
    names: Vec<u32>,
    fixtures: Vec<String>,
}

/// A file that may stay out, as it is sent to the plugin.
#[derive(Debug, Serialize)]
struct MayStayOut<'v> {
    file: &'v str,
    ids: &'v [String],
    all: usize,
    module: &'v str,
    path: &'v str,
    imports: &'v [(String, Vec<String>)],
    names: &'v [u32],
    fixtures: &'v [String],
}

/// The value of code now.
fn value_of(scope: &PytestScope, code: &CommonCode) -> Hash {
    let modules = code.modules.iter().map(|file| scope.fact(Kind::Module, file));
    let bodies = code.bodies.iter().map(|(file, name)| body_fact(scope, file, name));
    let all: Vec<String> =
        modules.chain(bodies).map(|(fact, value)| format!("{fact} {value:?}")).collect();
    Hash::of_parts(all.iter().map(String::as_bytes))
}

fn row(scope: &PytestScope, selection: &str) -> String {
    format!("{}\n{}\n{selection}", scope.scope().id(), scope.folder())
}

fn load(store: &Store, row: &str) -> Option<KnownFiles> {
    let kept = store.kept(KIND).ok()?;
    let (_, bytes) = kept.into_iter().find(|(name, _)| name == row)?;
    tamis_wire::from_bytes(&bytes).ok()
}

/// Whether this call runs what the records do not prove, and nothing else.
fn is_usual(options: &SessionOptions) -> bool {
    options.collect
        && matches!(options.strategy, Strategy::Records)
        && options.only.is_empty()
        && !options.failed
        && !options.shared_out
        && options.earlier.is_none()
        && options.trial.is_none()
}

/// What is sent to the plugin: the files that may stay out, and the texts that their numbers mean.
pub(crate) fn may_stay_out(
    ledger: &mut Ledger<'_>,
    scope: &Arc<PytestScope>,
    asked: &AskedFiles,
) -> serde_json::Value {
    let known = is_usual(ledger.options())
        .then(|| load(ledger.store()?, &row(scope, &asked.files)))
        .flatten()
        .unwrap_or_default();
    let proven = proven(ledger, scope, &known);
    let mut values: FxHashMap<Hash, bool> = FxHashMap::default();
    let mut files = Vec::new();
    for (file, versions) in &known.files {
        let holds = |version: &&Version| {
            let records: Option<Vec<RecordId>> =
                version.ids.iter().map(|id| proven.get(id.as_str()).copied()).collect();
            let first = records.and_then(|records| records.first().copied());
            let name = first.and_then(|record| kept_name(ledger.opened_store()?, record));
            name == Some(version.name)
        };
        let Some(version) = versions.iter().find(holds) else { continue };
        let is_as_it_was = *values.entry(version.commons).or_insert_with(|| {
            let commons = known.commons.iter().find(|commons| commons.value == version.commons);
            commons.is_some_and(|commons| value_of(scope, &commons.code) == commons.value)
        });
        if is_as_it_was {
            files.push(version.for_plugin(file));
        }
    }
    serde_json::json!({ "texts": if files.is_empty() { &[] } else { known.texts.as_slice() }, "files": files })
}

/// The tests that are proven now, with the records that prove it.
fn proven<'k>(
    ledger: &mut Ledger<'_>,
    scope: &Arc<PytestScope>,
    known: &'k KnownFiles,
) -> FxHashMap<&'k str, RecordId> {
    let ids: FxHashSet<&str> =
        known.files.values().flatten().flat_map(|v| v.ids.iter().map(String::as_str)).collect();
    let ids: Vec<&str> = ids.into_iter().collect();
    let units: Vec<Unit> = ids.iter().map(|id| PytestScope::unit(id)).collect();
    let known_scope: Arc<dyn KnownScope> = Arc::clone(scope) as _;
    let mut found = FxHashMap::default();
    if units.is_empty() {
        return found;
    }
    // Where nothing can be decided, all files are imported.
    let Ok(plan) = ledger.plan(&known_scope, &units) else { return found };
    for (id, planned) in ids.into_iter().zip(plan.units) {
        if let PlannedUnit::Decided(planned, _) = planned
            && let Decision::Skip { record, .. } = planned.decision
        {
            found.insert(id, record);
        }
    }
    found
}

impl Version {
    fn for_plugin<'v>(&'v self, file: &'v str) -> MayStayOut<'v> {
        MayStayOut {
            file,
            ids: &self.ids,
            all: self.all,
            module: &self.module,
            path: &self.path,
            imports: &self.imports,
            names: &self.names,
            fixtures: &self.fixtures,
        }
    }
}

/// The name of what the file of a test was when this record was made.
fn kept_name(store: &Store, record: RecordId) -> Option<Hash> {
    let bytes = store.kept_with(WithRecord::Collected, record).ok()??;
    tamis_wire::from_bytes(&bytes).ok()
}

/// What a file is called: another name wherever something else has to be known of it.
fn name_of(file: &CollectedFile) -> Hash {
    let imports = file.imports.iter().flat_map(|(name, of)| {
        std::iter::once(format!("import {name}")).chain(of.iter().map(|one| format!("of {one}")))
    });
    let parts: Vec<String> = [&file.file, &file.module, &file.path]
        .into_iter()
        .cloned()
        .chain([file.all.to_string()])
        .chain(file.ids.iter().map(|id| format!("test {id}")))
        .chain(imports)
        .chain(file.names.iter().map(|name| format!("module {name}")))
        .chain(file.fixtures.iter().map(|name| format!("fixture {name}")))
        .collect();
    Hash::of_parts(parts.iter().map(String::as_bytes))
}

/// What one process collected, until it is known how its windows ended.
#[derive(Debug)]
pub(crate) struct Collection {
    collected: CollectedFiles,
    scope: Arc<PytestScope>,
    commons: Hash,
    /// By file.
    names: FxHashMap<String, Hash>,
}

impl Collection {
    pub(crate) fn new(scope: Arc<PytestScope>, collected: CollectedFiles) -> Self {
        let commons = value_of(&scope, &collected.commons);
        let names = collected.collected.iter().map(|file| (file.file.clone(), name_of(file)));
        Self { names: names.collect(), commons, scope, collected }
    }

    /// What the file of a test was.
    pub(crate) fn name_of(&self, test: &str) -> Option<Hash> {
        self.names.get(test.split("::").next().unwrap_or_default()).copied()
    }

    /// Sources whose code was imported.
    pub(crate) fn sources(&self) -> impl Iterator<Item = &str> {
        let bodies = self.collected.commons.bodies.iter().map(|(file, _)| file.as_str());
        self.collected.commons.modules.iter().map(String::as_str).chain(bodies)
    }

    /// The windows in which each file was imported and collected.
    pub(crate) fn windows(&self) -> impl Iterator<Item = &[u32]> {
        self.collected.collected.iter().map(|file| file.windows.as_slice())
    }

    /// Keeps the files that had no effects; `quiet` says of each whether none is seen in its windows.
    pub(crate) fn keep(self, store: &Store, quiet: Vec<bool>) {
        let row = row(&self.scope, &self.collected.selection);
        let before = load(store, &row).unwrap_or_default();
        let mut known = before.clone();
        let mut numbers = known.numbers();
        for (file, is_quiet) in self.collected.collected.iter().zip(quiet) {
            let name = self.names[&file.file];
            let mut versions = known.files.remove(&file.file).unwrap_or_default();
            versions.retain(|version| version.name != name);
            if file.effects.is_empty() && is_quiet {
                let names =
                    file.names.iter().map(|name| known.number(&mut numbers, name)).collect();
                versions.insert(0, version(file, name, self.commons, names));
                versions.truncate(VERSIONS);
            }
            if !versions.is_empty() {
                known.files.insert(file.file.clone(), versions);
            }
        }
        if !known.commons.iter().any(|commons| commons.value == self.commons) {
            known.commons.push(Commons { code: self.collected.commons, value: self.commons });
        }
        known.drop_unused();
        if known != before
            && let Ok(bytes) = tamis_wire::to_bytes(&known)
        {
            // Without it the files are imported.
            let _ = store.keep(KIND, &row, &bytes);
        }
    }
}

fn version(file: &CollectedFile, name: Hash, commons: Hash, names: Vec<u32>) -> Version {
    Version {
        name,
        commons,
        ids: file.ids.clone(),
        all: file.all,
        module: file.module.clone(),
        path: file.path.clone(),
        imports: file.imports.clone(),
        names,
        fixtures: file.fixtures.clone(),
    }
}

impl KnownFiles {
    /// The place of each text.
    fn numbers(&self) -> FxHashMap<String, u32> {
        self.texts.iter().cloned().zip(0..).collect()
    }

    fn number(&mut self, numbers: &mut FxHashMap<String, u32>, text: &str) -> u32 {
        if let Some(known) = numbers.get(text) {
            return *known;
        }
        let place = self.texts.len() as u32;
        self.texts.push(text.to_owned());
        numbers.insert(text.to_owned(), place);
        place
    }

    /// Code that no file refers to goes.
    fn drop_unused(&mut self) {
        let used: FxHashSet<Hash> = self.files.values().flatten().map(|v| v.commons).collect();
        self.commons.retain(|commons| used.contains(&commons.value));
    }
}

/// Keeps with the records of tests what their files were.
pub(crate) fn keep_names(ledger: &Ledger<'_>, names: &[(TestKey, Hash)]) {
    let kept = |(key, name): &(TestKey, Hash)| {
        let record = ledger.collected.written.get(key)?;
        Some((*record, tamis_wire::to_bytes(name).ok()?))
    };
    let kept: Vec<_> = names.iter().filter_map(kept).collect();
    if let Some(store) = ledger.opened_store() {
        let _ = store.keep_with(WithRecord::Collected, &kept);
    }
}
