//! Scopes as the plan asks about them, and graphs that decide without records.

use anyhow::Result;
use std::fmt;
use tamis_core::decide::Demand;
use tamis_core::{Planned, Question, TestKey, ToolScope, Unit};
use tamis_project::{Project, ScopeFacts};
use tamis_settings::Settings;
use tamis_store::Store;

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

    /// Whether it can matter for one unit what is decided about others.
    fn decides_together(&self) -> bool {
        false
    }

    /// Units that the records let be skipped, but of which something else than their outcome is wanted that
    /// would be missing: by position, with the reason. Without a store nothing is known of any.
    fn wanted_besides(&self, _: Option<&Store>, _: &[Planned]) -> Vec<(usize, String)> {
        Vec::new()
    }

    /// Whether parts of a unit may be left out while others run.
    fn may_divide(&self) -> bool {
        true
    }

    /// The units that one which is a part can belong to; none for whole units.
    fn wholes_of(&self, _part: &Unit) -> Vec<Unit> {
        Vec::new()
    }

    /// The other part of the same unit that a question of a part's record names.
    fn sibling(&self, _: &Question) -> Option<Unit> {
        None
    }

    /// Why the answer to a question is not known before a build has run.
    fn unbuilt(&self, _: &Question) -> Option<String> {
        None
    }

    /// What is not built yet, in one line, where answers are an upper bound for that reason.
    fn upper_bound(&self) -> Option<String> {
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

impl dyn KnownScope + '_ {
    /// The key of a unit in this scope.
    pub fn key(&self, unit: Unit) -> TestKey {
        TestKey { scope: self.scope().clone().into(), unit, folder: self.folder().to_owned() }
    }
}
