//! The interface for languages.
//!
//! 1. [`Frontend::claim`] takes a command line.
//! 2. [`Claim::model`] makes a model of the command that is about to start; [`Model::prepare`] decides what
//!    can be decided before and changes words and environment so that the processes connect.
//! 3. The model takes what processes and the tracer report, and hands finished units to the [`Ledger`].
//! 4. [`Frontend::restore`] gives the scopes of earlier runs, so that explanations and dry runs need not
//!    start the command.

use crate::ledger::Ledger;
use crate::session::Session;
use anyhow::Result;
use std::ffi::OsString;
use std::fmt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tamis_core::decide::Demand;
use tamis_core::{Planned, Question, TestKey, Tool, ToolScope, Unit};
use tamis_observe::{CoveredPaths, WindowEnded};
use tamis_project::{Project, RestoreScopes, ScopeFacts};
use tamis_settings::Settings;
use tamis_store::Store;
use tamis_wire::{FromProcess, Hello};

use crate::planner::Choice;

/// What tamis knows of one language or family of tools.
pub trait Frontend: fmt::Debug + Send + Sync {
    /// The tools whose scopes belong to it.
    fn tools(&self) -> &'static [Tool];

    /// Takes a command whose units it can distinguish; `None` for other commands. Nothing is started.
    fn claim(&self, invocation: &Invocation) -> Option<Box<dyn Claim>>;

    /// The scopes that earlier runs kept in the store, with the facts of now.
    fn restore(&self, project: &Project, store: &Store) -> Vec<Arc<dyn KnownScope>>;

    /// Whether a unit that did not pass when it last ran may still be there.
    fn may_exist(&self, project: &Project, key: &TestKey) -> bool;
}

/// What a command can be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ability {
    /// `--granularity method`.
    Parts,
    /// `--select static`.
    Static,
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

    /// Why the command may not be skipped as a whole, where the settings or its words say so.
    fn demand(&self, _: &Project) -> Demand {
        Demand::None
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

    /// The file whose opening makes a process a host; written where it is not there.
    fn library(&self, folder: &Path) -> Result<PathBuf>;

    /// A model of the command that is about to start.
    fn model(&self, session: &Session, options: &crate::SessionOptions) -> Box<dyn Model>;

    /// What to say of a command in which no unit was seen, if anything.
    fn nothing_seen(&self, _: &crate::Collected, _: bool) -> Option<String> {
        None
    }
}

/// The command as it will be started.
#[derive(Debug, Clone)]
pub struct Invocation {
    pub words: Vec<OsString>,
    pub environment: Vec<(OsString, OsString)>,
    pub folder: PathBuf,
}

/// Whether a command has to be started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    Run,
    /// Nothing in it has to run, and it has no other purpose.
    NothingToRun,
}

/// What the command around the units brings along.
#[derive(Debug, Clone)]
pub struct CommandContext {
    pub key: TestKey,
    /// What the user, or the suite of the command, wants of the units inside.
    pub demand: Demand,
    /// Which modules run their tests, where that was chosen.
    pub choice: Option<Arc<Choice>>,
    /// Globs whose files count for every unit.
    pub run_all_on: Vec<String>,
}

/// What a model may use.
#[derive(Debug)]
pub struct Services<'s, 'e> {
    pub ledger: &'s mut Ledger<'e>,
    pub session: &'s Session,
    /// Whether the command ended with success; `None` before its end.
    pub passed: Option<bool>,
    listen: Listen<'s>,
}

type Listener<'s> = &'s dyn Fn(usize) -> Result<PathBuf>;

struct Listen<'s>(Listener<'s>);

impl fmt::Debug for Listen<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Listen")
    }
}

impl<'s, 'e> Services<'s, 'e> {
    pub(crate) fn new(
        ledger: &'s mut Ledger<'e>,
        session: &'s Session,
        listen: Listener<'s>,
    ) -> Self {
        Self { ledger, session, passed: None, listen: Listen(listen) }
    }

    pub(crate) fn after(mut self, passed: Option<bool>) -> Self {
        self.passed = passed;
        self
    }

    /// Makes one more socket; processes that connect to it come with this channel.
    pub fn listen(&self, channel: usize) -> Result<PathBuf> {
        (self.listen.0)(channel)
    }
}

/// A command while it runs. One thread calls it, in the order of what is reported.
pub trait Model: Send {
    /// Before the command starts.
    fn prepare(
        &mut self,
        services: &mut Services<'_, '_>,
        invocation: &mut Invocation,
    ) -> Result<Start>;

    /// What its processes report in more detail than the tracer.
    fn covered(&self) -> Arc<dyn CoveredPaths + Send + Sync>;

    /// A process connected; `channel` is the socket that it came by, `None` for the first one.
    fn connected(
        &mut self,
        services: &mut Services<'_, '_>,
        channel: Option<usize>,
        hello: Hello,
        answers: UnixStream,
    );

    fn message(&mut self, services: &mut Services<'_, '_>, pid: u32, message: FromProcess);

    /// A process that had connected is gone.
    fn gone(&mut self, services: &mut Services<'_, '_>, pid: u32);

    /// The tracer saw the end of a window.
    fn window(&mut self, services: &mut Services<'_, '_>, window: WindowEnded);

    /// Nothing was reported for a while: what waits can be handed over.
    fn idle(&mut self, _: &mut Services<'_, '_>) {}

    /// Everything was reported.
    fn finish(self: Box<Self>, services: &mut Services<'_, '_>);
}

/// A scope of a tool whose facts can be asked for now.
pub trait KnownScope: ScopeFacts {
    fn scope(&self) -> &ToolScope;

    /// The folder of its tests, relative to the root.
    fn folder(&self) -> &str;

    /// As a build names it, to find what was chosen for it.
    fn module_name(&self) -> Option<&str> {
        None
    }

    /// What the settings, or the unit itself, want of it before any evidence.
    fn demand(&self, _: &Settings, _: &Unit) -> Demand {
        Demand::None
    }

    /// The units that one which is a part can belong to; none for whole units.
    fn wholes_of(&self, _part: &Unit) -> Vec<Unit> {
        Vec::new()
    }

    /// The other part of the same unit that a question of a part's record names.
    fn sibling(&self, _: &Question) -> Option<Unit> {
        None
    }

    /// Decides by a graph that is made without running anything; `None` where that is not possible.
    fn by_graph(
        &self,
        _: &Project,
        _units: &[TestKey],
        _calls: bool,
    ) -> Option<Result<GraphDecision>> {
        None
    }
}

/// What a graph says.
pub struct GraphDecision {
    pub planned: Vec<Planned>,
    /// Takes the outcomes, so that the next decision knows them.
    pub strategy: Box<dyn GraphStrategy>,
    /// What the user should know of it.
    pub remarks: Vec<String>,
}

impl fmt::Debug for GraphDecision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GraphDecision").field("planned", &self.planned).finish_non_exhaustive()
    }
}

/// A decision by a graph between its making and the end of the tests.
pub trait GraphStrategy: fmt::Debug + Send {
    /// A unit ended. One that runs twice passes if both runs do.
    fn finished(&mut self, unit: &Unit, passed: bool);

    /// Moves the state on for all that finished; gives what stands in the way.
    fn record(&self) -> Option<String>;
}

/// All front ends of this tamis.
#[derive(Debug)]
pub struct Frontends(Vec<Box<dyn Frontend>>);

impl Frontends {
    pub fn new(all: Vec<Box<dyn Frontend>>) -> Self {
        Self(all)
    }

    /// The first front end that takes the command.
    pub fn claim(&self, invocation: &Invocation) -> Option<Box<dyn Claim>> {
        self.0.iter().find_map(|frontend| frontend.claim(invocation))
    }

    /// Whether a unit that did not pass may still be there.
    pub fn may_exist(&self, project: &Project, key: &TestKey) -> bool {
        let of = |tool: &Tool| self.0.iter().find(|frontend| frontend.tools().contains(tool));
        let frontend = key.scope.tool().and_then(of);
        frontend.is_none_or(|frontend| frontend.may_exist(project, key))
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
