//! The interface for languages.
//!
//! 1. [`Frontend::claim`] takes a command line.
//! 2. [`Claim::model`] makes a model of the command that is about to start; [`Model::prepare`] decides what
//!    can be decided before and changes words and environment so that the processes connect.
//! 3. The model takes what processes and the tracer report, and hands finished units to the [`Ledger`].
//! 4. [`Frontend::restore`] gives the scopes of earlier runs, so that explanations and dry runs need not
//!    start the command.

use crate::command::Invocation;
use crate::ledger::Collected;
use crate::model::Model;
use crate::options::SessionOptions;
use crate::scope::KnownScope;
use crate::session::Session;
use anyhow::Result;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tamis_core::decide::Demand;
use tamis_core::record::Observed;
use tamis_core::{TestKey, Tool, Unit};
use tamis_project::{Project, RestoreScopes, ScopeFacts};
use tamis_store::Store;

/// What tamis knows of one language or family of tools.
pub trait Frontend: fmt::Debug + Send + Sync {
    /// The tools whose scopes belong to it.
    fn tools(&self) -> &'static [Tool];

    /// Whether a command could be its own, by its words alone: asked for each test of a suite before its
    /// surroundings are gathered.
    fn may_claim(&self, _words: &[OsString]) -> bool {
        true
    }

    /// Takes a command whose units it can distinguish; `None` for other commands. Nothing is started.
    fn claim(&self, invocation: &Invocation) -> Option<Box<dyn Claim>>;

    /// The scopes that earlier runs kept in the store, with the facts of now.
    fn restore(&self, project: &Project, store: &Store) -> Vec<Arc<dyn KnownScope>>;

    /// Whether a unit that did not pass when it last ran may still be there.
    fn may_exist(&self, project: &Project, key: &TestKey) -> bool;

    /// Takes those out that are gone; where many are asked about, this may look once for all.
    fn retain_existing(&self, project: &Project, keys: &mut Vec<TestKey>) {
        keys.retain(|key| self.may_exist(project, key));
    }

    /// The units that a part may belong to.
    fn wholes_of(&self, _part: &Unit) -> Vec<Unit> {
        Vec::new()
    }

    /// Whether a fact is about the code of a unit itself.
    fn is_about(&self, _fact: &str, _unit: &Unit) -> bool {
        false
    }

    /// What a person edits to change a fact of its scopes, as a path below the project for reports: a source
    /// file, a class, a package.
    fn source_of(&self, _fact: &str) -> Option<String> {
        None
    }

    /// Units that it knows of besides the records: of a strategy that has a state of its own.
    fn remembered(&self, _: &Project, _: &Store) -> Vec<TestKey> {
        Vec::new()
    }

    /// Forgets what it knows of a unit besides the records; how many proofs there were.
    fn forget(&self, _: &Project, _: &Store, _: &TestKey) -> Result<usize> {
        Ok(0)
    }
}

/// What a command can be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ability {
    /// `--granularity class` and `method`.
    Parts,
    /// `--granularity file` and `function`.
    Files,
    /// `--select static`.
    Static,
    /// One call runs each unit in a process of its own, where a trial asks for that.
    Apart,
}

/// A scope with units of it.
pub type ScopeUnits = (Arc<dyn KnownScope>, Vec<Unit>);

/// A command of a front end.
pub trait Claim: fmt::Debug + Send + Sync {
    /// The tools whose units this command runs.
    fn tools(&self) -> Vec<Tool>;

    fn can(&self, _: Ability) -> bool {
        false
    }

    /// The folder that its words send the tool to, where that is not the one in which it is started.
    fn folder(&self) -> Option<PathBuf> {
        None
    }

    /// Why the command may not be skipped as a whole, where the settings or its words say so.
    fn demand(&self, _: &Project) -> Demand {
        Demand::None
    }

    /// What it does elsewhere than in its own folders, one line, where it does.
    fn effect_elsewhere(&self) -> Option<String> {
        None
    }

    /// Whether what it makes has to be there still for it to be skipped.
    fn is_build(&self) -> bool {
        false
    }

    /// The units that the command would decide about now, by scope, where that can be known without running
    /// it; `None`: those that earlier runs recorded.
    fn units(&self, _: &Project) -> Option<Vec<ScopeUnits>> {
        None
    }

    /// Why what it does is not seen, where that is known beforehand.
    fn unseen(&self) -> Option<String> {
        None
    }

    /// Whether this is a place of the tool itself, whose content is nothing to its tests: a build cache.
    fn owns(&self, _: &Path) -> bool {
        false
    }

    /// Whether the tool certainly ends with an error where it is given this option, `--name`. Asked to find
    /// options of tamis that stand behind the command.
    fn refuses(&self, _option: &str) -> bool {
        false
    }

    /// The file whose opening makes a process a host; written where it is not there.
    fn library(&self, folder: &Path) -> Result<PathBuf>;

    /// A model of the command that is about to start.
    fn model(&self, session: &Session, options: &SessionOptions) -> Box<dyn Model>;

    /// The part of what the command printed that is about this unit, which did not pass.
    fn message_of(&self, _: &Unit, _printed: &[u8]) -> Option<Vec<u8>> {
        None
    }

    /// What to say of a command in which no unit was seen, if anything.
    fn nothing_seen(&self, _: &Collected, _: bool) -> Option<String> {
        None
    }

    /// The same by what the command read: its units ran, and its processes did not connect.
    fn not_entered(&self, _: &Collected, _read: &[Observed]) -> Option<String> {
        None
    }
}

/// All front ends of this tamis.
#[derive(Debug)]
pub struct Frontends(Vec<Box<dyn Frontend>>);

impl Frontends {
    pub fn new(all: Vec<Box<dyn Frontend>>) -> Self {
        Self(all)
    }

    /// Whether any front end could take a command with these words.
    pub fn may_claim(&self, words: &[OsString]) -> bool {
        self.0.iter().any(|frontend| frontend.may_claim(words))
    }

    /// The first front end that takes the command.
    pub fn claim(&self, invocation: &Invocation) -> Option<Box<dyn Claim>> {
        self.0.iter().find_map(|frontend| frontend.claim(invocation))
    }

    /// Takes units out that are gone. What belongs to no front end stays.
    pub fn retain_existing(&self, project: &Project, keys: &mut Vec<TestKey>) {
        for frontend in &self.0 {
            let is_its = |key: &TestKey| {
                key.scope.tool().is_some_and(|tool| frontend.tools().contains(tool))
            };
            let (mut its, others): (Vec<TestKey>, Vec<TestKey>) =
                std::mem::take(keys).into_iter().partition(is_its);
            if !its.is_empty() {
                frontend.retain_existing(project, &mut its);
            }
            *keys = others;
            keys.append(&mut its);
        }
    }

    /// The units that a part may belong to, in its scope.
    pub fn wholes_of(&self, part: &TestKey) -> Vec<Unit> {
        self.of(part).map(|frontend| frontend.wholes_of(&part.unit)).unwrap_or_default()
    }

    /// What a person edits to change a fact, as a path for reports.
    pub fn source_of(&self, fact: &str) -> Option<String> {
        self.0.iter().find_map(|frontend| frontend.source_of(fact))
    }

    /// Whether a fact is about the code of a unit itself.
    pub fn is_about(&self, fact: &str, unit: &TestKey) -> bool {
        self.of(unit).is_some_and(|frontend| frontend.is_about(fact, &unit.unit))
    }

    /// The units that front ends know of besides the records.
    pub fn remembered(&self, project: &Project, store: &Store) -> Vec<TestKey> {
        self.0.iter().flat_map(|frontend| frontend.remembered(project, store)).collect()
    }

    /// Forgets what is known of a unit besides the records.
    pub fn forget(&self, project: &Project, store: &Store, key: &TestKey) -> Result<usize> {
        self.of(key).map_or(Ok(0), |frontend| frontend.forget(project, store, key))
    }

    /// The front end that a unit belongs to.
    fn of(&self, key: &TestKey) -> Option<&dyn Frontend> {
        let tool = key.scope.tool()?;
        self.0.iter().find(|frontend| frontend.tools().contains(tool)).map(AsRef::as_ref)
    }

    /// The scopes of earlier runs of all front ends, in a fixed order.
    pub fn scopes(&self, project: &Project) -> Vec<Arc<dyn KnownScope>> {
        let Ok(Some(store)) = project.existing_store(&tamis_core::Silent) else {
            return Vec::new();
        };
        let all = self.0.iter().flat_map(|frontend| frontend.restore(project, &store));
        let mut all: Vec<Arc<dyn KnownScope>> = all.collect();
        all.sort_by(|a, b| (a.scope(), a.folder()).cmp(&(b.scope(), b.folder())));
        all
    }
}

impl RestoreScopes for Frontends {
    fn restore(&self, project: &Project) -> Vec<Arc<dyn ScopeFacts>> {
        let facts = |scope: Arc<dyn KnownScope>| -> Arc<dyn ScopeFacts> { scope };
        self.scopes(project).into_iter().map(facts).collect()
    }
}
