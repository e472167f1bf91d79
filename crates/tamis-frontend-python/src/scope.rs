//! Tests of one rootdir, run in one way.

use crate::kept_coverage::{self, Measurement};
pub(crate) use crate::sources::{Kind, Sources};
use rustc_hash::FxHashSet;
use std::sync::Arc;
use tamis_core::decide::Demand;
use tamis_core::{Module, Planned, Scope, Tool, ToolScope, Unit, Value};
use tamis_project::{Project, ScopeFacts};
use tamis_session::KnownScope;
use tamis_settings::Settings;
use tamis_store::Store;

/// The tool whose scopes these are.
pub(crate) const PYTEST: Tool = Tool::new("pytest");

const KINDS: [(Kind, &str); 7] = [
    (Kind::Module, "module-level code of "),
    (Kind::Function, "function "),
    (Kind::Code, "code of "),
    (Kind::Bytes, "text of "),
    (Kind::Look, "is there "),
    (Kind::Distributions, "distributions in "),
    (Kind::Conftests, "conftests of test folders in "),
];

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
    /// Coverage is measured, and what tests cover that do not run is added.
    pub(crate) measurement: Option<Measurement>,
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
        Self {
            scope,
            folder: folder.to_owned(),
            id,
            sources,
            everything: None,
            by_files: false,
            measurement: None,
        }
    }

    /// All its tests have to run, where there is a reason.
    pub(crate) fn running_everything(self, everything: Option<String>) -> Self {
        Self { everything, ..self }
    }

    /// `--granularity file`.
    pub(crate) fn keeping_files(self, by_files: bool) -> Self {
        Self { by_files, ..self }
    }

    pub(crate) fn measuring(self, measurement: Option<Measurement>) -> Self {
        Self { measurement, ..self }
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
        self.by_files || self.measurement.is_some()
    }

    fn wanted_besides(&self, store: Option<&Store>, planned: &[Planned]) -> Vec<(usize, String)> {
        let measured = self.measurement.as_ref();
        let mut wanted = measured
            .map(|measured| kept_coverage::wanted(&self.sources, measured, store, planned))
            .unwrap_or_default();
        wanted.extend(self.beside(planned, &wanted));
        wanted
    }
}

impl PytestScope {
    /// Tests of files of which another test runs, where files are kept together.
    fn beside(&self, planned: &[Planned], wanted: &[(usize, String)]) -> Vec<(usize, String)> {
        if !self.by_files {
            return Vec::new();
        }
        let wanted: FxHashSet<usize> = wanted.iter().map(|(at, _)| *at).collect();
        let runs = |at: usize| planned[at].decision.is_run() || wanted.contains(&at);
        let running = (0..planned.len()).filter(|at| runs(*at));
        let files: FxHashSet<String> = running.map(|at| file_of(&planned[at].key.unit)).collect();
        let beside = |(at, planned): (usize, &Planned)| {
            let file = file_of(&planned.key.unit);
            let is_beside = !runs(at) && files.contains(&file);
            is_beside
                .then(|| (at, format!("another test of {file} runs, and files are kept together")))
        };
        planned.iter().enumerate().filter_map(beside).collect()
    }
}

/// The function that ran, or its module where the code belongs to no function.
pub(crate) fn body_fact(scope: &PytestScope, file: &str, name: &str) -> (Arc<str>, Value) {
    let facts = scope.sources.facts(file);
    match facts.as_ref().and_then(|facts| facts.function(name)) {
        Some(function) => scope.fact(Kind::Function, &format!("{file}::{function}")),
        None => scope.fact(Kind::Module, file),
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
