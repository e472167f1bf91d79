//! Tests of one rootdir, run in one way, and the facts about the project's sources.

use crate::fingerprint::SourceFacts;
use rustc_hash::{FxHashMap, FxHashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use tamis_core::decide::Demand;
use tamis_core::{Hash, Module, Planned, Scope, Tool, ToolScope, Unit, Value};
use tamis_project::{Project, ScopeFacts};
use tamis_session::KnownScope;
use tamis_settings::Settings;
use tamis_store::Store;

/// The tool whose scopes these are.
pub(crate) const PYTEST: Tool = Tool::new("pytest");

/// What a fact is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    /// A module without the bodies of its functions.
    Module,
    /// The body of a function.
    Function,
    /// The tree of a file.
    Code,
    /// The bytes of a file.
    Bytes,
    /// Whether there is a file.
    Look,
    /// Which distributions are installed in a folder.
    Distributions,
    /// Which conftests pytest loads before it collects, from folders in this one.
    Conftests,
}

const KINDS: [(Kind, &str); 7] = [
    (Kind::Module, "module-level code of "),
    (Kind::Function, "function "),
    (Kind::Code, "code of "),
    (Kind::Bytes, "text of "),
    (Kind::Look, "is there "),
    (Kind::Distributions, "distributions in "),
    (Kind::Conftests, "conftests of test folders in "),
];

/// The sources of the project, each read once.
#[derive(Debug, Default)]
pub(crate) struct Sources {
    root: PathBuf,
    known: Mutex<FxHashMap<String, Option<Arc<SourceFacts>>>>,
}

impl Sources {
    pub(crate) fn new(root: &Path) -> Self {
        Self { root: root.to_path_buf(), known: Mutex::default() }
    }

    pub(crate) fn path(&self, file: &str) -> PathBuf {
        self.root.join(file)
    }

    /// The facts of a file; `None` where there is none.
    pub(crate) fn facts(&self, file: &str) -> Option<Arc<SourceFacts>> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(facts) = known.get(file) {
            return facts.clone();
        }
        let facts = std::fs::read(self.path(file)).ok().map(|b| Arc::new(SourceFacts::of(&b)));
        known.insert(file.to_owned(), facts.clone());
        facts
    }

    fn answer(&self, kind: Kind, about: &str) -> Value {
        match kind {
            Kind::Look => return self.kind_of(about),
            Kind::Distributions => return self.names_in(about, is_distribution),
            Kind::Conftests => {
                return self.names_in(about, |folder| {
                    folder.starts_with("test")
                        && self.path(about).join(folder).join("conftest.py").is_file()
                });
            }
            _ => {}
        }
        let (file, name) = match kind {
            Kind::Function => about.split_once("::").unwrap_or((about, "")),
            _ => (about, ""),
        };
        let Some(facts) = self.facts(file) else { return Value::Absent };
        match kind {
            Kind::Module => Value::Text(facts.module),
            Kind::Function => facts.body(name),
            Kind::Code => Value::Text(facts.code),
            _ => Value::Text(facts.bytes),
        }
    }

    /// The names in a folder that count.
    fn names_in(&self, folder: &str, counts: impl Fn(&str) -> bool) -> Value {
        let Ok(entries) = std::fs::read_dir(self.path(folder)) else { return Value::Absent };
        let name = |entry: std::fs::DirEntry| entry.file_name().to_string_lossy().into_owned();
        let mut names: Vec<String> = entries.flatten().map(name).filter(|n| counts(n)).collect();
        names.sort_unstable();
        Value::Text(Hash::of_parts(names.iter().map(String::as_bytes)))
    }

    /// What is there, and where links lead.
    fn kind_of(&self, file: &str) -> Value {
        let Ok(real) = self.path(file).canonicalize() else { return Value::Absent };
        if real.is_dir() {
            return Value::Directory;
        }
        let real = real.strip_prefix(&self.root).unwrap_or(&real);
        Value::text(real.as_os_str().as_encoded_bytes())
    }
}

/// Whether an installed distribution is found by this name.
fn is_distribution(name: &str) -> bool {
    let name = name.to_lowercase();
    [".dist-info", ".egg-info", ".egg", ".egg-link"].iter().any(|end| name.ends_with(end))
}

#[derive(Debug, Clone)]
pub(crate) struct PytestScope {
    scope: ToolScope,
    folder: String,
    /// How its facts begin.
    id: String,
    pub(crate) sources: Arc<Sources>,
    /// Why all tests of this run have to run.
    everything: Option<String>,
    /// All tests of a file run where one of them needs to.
    by_files: bool,
}

impl PytestScope {
    pub(crate) fn new(sources: Arc<Sources>, folder: &str, execution: &str) -> Self {
        let module = Module::Folder(folder.to_owned());
        Self::of(
            sources,
            ToolScope { tool: PYTEST, module, execution: execution.to_owned() },
            folder,
        )
    }

    fn of(sources: Arc<Sources>, scope: ToolScope, folder: &str) -> Self {
        let id = scope.id();
        Self { scope, folder: folder.to_owned(), id, sources, everything: None, by_files: false }
    }

    /// All its tests have to run, where there is a reason.
    pub(crate) fn running_everything(self, everything: Option<String>) -> Self {
        Self { everything, ..self }
    }

    /// `--granularity file`.
    pub(crate) fn keeping_files(self, by_files: bool) -> Self {
        Self { by_files, ..self }
    }

    pub(crate) fn unit(node: &str) -> Unit {
        Unit::Item(node.to_owned())
    }

    /// The source that a fact of any scope is about.
    pub(crate) fn file_of(fact: &str) -> Option<&str> {
        let name = fact.strip_prefix("pytest:")?.split_once(": ")?.1;
        let (kind, about) =
            KINDS.iter().find_map(|(kind, words)| Some((*kind, name.strip_prefix(words)?)))?;
        match kind {
            Kind::Function => about.split_once("::").map(|(file, _)| file),
            Kind::Look | Kind::Distributions | Kind::Conftests => None,
            _ => Some(about),
        }
    }

    /// A fact by its name, with the value of now.
    pub(crate) fn fact(&self, kind: Kind, about: &str) -> (Arc<str>, Value) {
        let words = KINDS.iter().find(|(k, _)| *k == kind).map_or("", |(_, words)| words);
        (format!("{}: {words}{about}", self.id).into(), self.sources.answer(kind, about))
    }
}

impl ScopeFacts for PytestScope {
    fn answer(&self, fact: &str) -> Option<Value> {
        let name = fact.strip_prefix(&self.id)?.strip_prefix(": ")?;
        let found = KINDS.iter().find_map(|(kind, words)| Some((*kind, name.strip_prefix(words)?)));
        found.map(|(kind, about)| self.sources.answer(kind, about))
    }
}

impl KnownScope for PytestScope {
    fn scope(&self) -> &ToolScope {
        &self.scope
    }

    fn folder(&self) -> &str {
        &self.folder
    }

    fn demand(&self, _: &Settings, _: &Unit) -> Demand {
        self.everything.clone().map_or(Demand::None, Demand::Effect)
    }

    fn decides_together(&self) -> bool {
        self.by_files
    }

    fn wanted_besides(&self, _: Option<&Store>, planned: &[Planned]) -> Vec<(usize, String)> {
        if !self.by_files {
            return Vec::new();
        }
        let runs = planned.iter().filter(|planned| planned.decision.is_run());
        let files: FxHashSet<String> = runs.map(|planned| file_of(&planned.key.unit)).collect();
        let beside = |(at, planned): (usize, &Planned)| {
            let file = file_of(&planned.key.unit);
            let is_beside = !planned.decision.is_run() && files.contains(&file);
            is_beside
                .then(|| (at, format!("another test of {file} runs, and files are kept together")))
        };
        planned.iter().enumerate().filter_map(beside).collect()
    }
}

/// The file of a test.
fn file_of(unit: &Unit) -> String {
    unit.name().split("::").next().unwrap_or_default().to_owned()
}

/// The scopes that records know.
pub(crate) fn restore(project: &Project, store: &Store, by_files: bool) -> Vec<PytestScope> {
    let sources = Arc::new(Sources::new(project.root()));
    let mut found: Vec<(ToolScope, String)> = Vec::new();
    for test in store.tests().unwrap_or_default() {
        let Scope::Tool(scope) = test.key.scope else { continue };
        let known = (scope, test.key.folder);
        if known.0.tool == PYTEST && !found.contains(&known) {
            found.push(known);
        }
    }
    let scope = |(scope, folder): (ToolScope, String)| {
        PytestScope::of(Arc::clone(&sources), scope, &folder).keeping_files(by_files)
    };
    found.into_iter().map(scope).collect()
}
