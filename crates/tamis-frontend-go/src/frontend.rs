//! The front end: `go test` is taken, its packages are units.

use crate::build_output;
use crate::command::{Claim as Claimed, GoTest, claim};
use crate::environment::Surroundings;
use crate::facts;
use crate::language::GoLanguage;
use crate::saved_listings;
use crate::scope::{GO, GoScope};
use crate::tool_paths::{ToolPath, tool_paths};
use crate::whole::WholeCommand;
use anyhow::{Context as _, Result};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tamis_core::decide::Demand;
use tamis_core::{Scope, Silent, TestKey, Tool, Unit};
use tamis_project::Project;
use tamis_session::{
    Claim, Frontend, Invocation, KnownScope, Model, ScopeUnits, Session, SessionOptions, UsualModel,
};
use tamis_store::Store;

/// `go test` by packages.
#[derive(Debug, Clone, Copy, Default)]
pub struct GoFrontend;

impl Frontend for GoFrontend {
    fn tools(&self) -> &'static [Tool] {
        const TOOLS: &[Tool] = &[GO];
        TOOLS
    }

    fn source_of(&self, fact: &str) -> Option<String> {
        facts::package_of(fact).map(str::to_owned)
    }

    fn may_claim(&self, words: &[OsString]) -> bool {
        words.iter().any(|word| word == "test")
    }

    fn claim(&self, invocation: &Invocation) -> Option<Box<dyn Claim>> {
        let at = Surroundings::new(&invocation.folder, invocation.environment.iter().cloned());
        match claim(&invocation.words, &at) {
            Claimed::Packages(test) => Some(Box::new(GoCommand::new(test, at))),
            Claimed::Whole { why } => {
                Some(Box::new(WholeCommand::new(why, invocation.words.clone())))
            }
            Claimed::Other => None,
        }
    }

    fn restore(&self, project: &Project, store: &Store) -> Vec<Arc<dyn KnownScope>> {
        let known = |scope| -> Arc<dyn KnownScope> { Arc::new(scope) };
        saved_listings::restore(project, store).into_iter().map(known).collect()
    }

    fn may_exist(&self, project: &Project, key: &TestKey) -> bool {
        let mut keys = vec![key.clone()];
        self.retain_existing(project, &mut keys);
        !keys.is_empty()
    }

    /// A package is gone if its scope has listings, and none of them has it any more.
    fn retain_existing(&self, project: &Project, keys: &mut Vec<TestKey>) {
        keys.retain(|key| project.root().join(&key.folder).is_dir());
        let Ok(Some(store)) = project.existing_store(&Silent) else { return };
        if keys.is_empty() {
            return;
        }
        let scopes = saved_listings::restore(project, &store);
        keys.retain(|key| {
            let is_its = |scope: &&GoScope| {
                Scope::Tool(scope.scope().clone()) == key.scope && scope.folder() == key.folder
            };
            let mut its = scopes.iter().filter(is_its).peekable();
            let has = |scope: &GoScope| scope.listing.package(&key.unit.name()).is_some();
            its.peek().is_none() || its.any(has)
        });
    }
}

/// A `go test` whose packages are distinguished.
#[derive(Debug, Clone)]
struct GoCommand {
    test: GoTest,
    at: Surroundings,
    own: Vec<ToolPath>,
}

impl GoCommand {
    fn new(test: GoTest, at: Surroundings) -> Self {
        let own = tool_paths(&at);
        Self { test, at, own }
    }
}

impl Claim for GoCommand {
    fn tools(&self) -> Vec<Tool> {
        vec![GO]
    }

    fn folder(&self) -> Option<PathBuf> {
        Some(self.test.folder(self.at.folder()))
    }

    fn demand(&self, _: &Project) -> Demand {
        let always = self.test.always_runs();
        always.map_or(Demand::None, |why| Demand::Effect(why.to_owned()))
    }

    fn units(&self, project: &Project) -> Option<Vec<ScopeUnits>> {
        let listing = saved_listings::current(project, &self.test, &self.at).ok()?;
        let scope = GoScope::new(project, &self.test, self.at.folder(), listing);
        let units = scope.listing.packages().iter().map(GoScope::unit).collect();
        Some(vec![(Arc::new(scope), units)])
    }

    fn owns(&self, path: &Path) -> bool {
        self.own.iter().any(|own| own.covers(path))
    }

    fn message_of(&self, unit: &Unit, printed: &[u8]) -> Option<Vec<u8>> {
        build_output::about(&unit.name(), printed)
    }

    /// The shim opens it before it says anything.
    fn library(&self, folder: &Path) -> Result<PathBuf> {
        let file = folder.join("host");
        std::fs::write(&file, "").context("the session's folder cannot be written")?;
        Ok(file)
    }

    fn model(&self, _: &Session, _: &SessionOptions) -> Box<dyn Model> {
        let language = GoLanguage::new(self.test.clone(), self.at.clone(), self.own.clone());
        Box::new(UsualModel::new(language))
    }
}
