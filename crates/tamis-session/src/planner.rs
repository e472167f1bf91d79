//! The decision about units as a session asks for it. It is made in one place, above this crate, for dry
//! runs, explanations and real runs alike.

use crate::options::SessionOptions;
use crate::scope::{GraphStrategy, KnownScope};
use anyhow::Result;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;
use tamis_core::decide::Demand;
use tamis_core::{Planned, Unit};
use tamis_store::Store;

/// What happens with the tests of a module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModuleTests {
    /// None of them: the module is only built because others need it.
    None,
    /// All of them.
    All,
    /// Those that the records do not let be skipped.
    ByRecords,
}

/// What was chosen for the modules of a whole build.
#[derive(Debug, Clone)]
pub struct Choice {
    /// By the name that the build has for a module, with the reason.
    pub modules: BTreeMap<String, (ModuleTests, String)>,
    /// For a module that is not in the list, which was not foreseen.
    pub others: ModuleTests,
    /// Properties for some modules alone: module, name, value.
    pub properties: Vec<(String, String, String)>,
}

impl Choice {
    /// What happens with the tests of a module, and why.
    pub fn of(&self, module: &str) -> (ModuleTests, &str) {
        let known = self.modules.get(module);
        known.map_or((self.others, "it is in no list of modules"), |(tests, why)| (*tests, why))
    }
}

/// Units of one scope that are about to run.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    pub store: Option<&'a Store>,
    pub scope: &'a Arc<dyn KnownScope>,
    pub units: &'a [Unit],
    /// What is wanted of all of them.
    pub demand: &'a Demand,
    pub choice: Option<&'a Choice>,
    pub options: &'a SessionOptions,
}

/// What is decided about the units of a request, in their order.
#[derive(Default)]
pub struct Plan {
    pub units: Vec<PlannedUnit>,
    /// The graph that decided, where one did.
    pub graph: Option<Box<dyn GraphStrategy>>,
    pub remarks: Vec<String>,
}

impl fmt::Debug for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Plan").field("units", &self.units).finish_non_exhaustive()
    }
}

#[derive(Debug)]
pub enum PlannedUnit {
    /// It passed, or was found to be flaky, before in this call.
    Done,
    /// The user did not ask for it, and nothing proves it.
    NotAskedFor,
    /// With what is decided about its parts, where these are distinguished and known.
    Decided(Box<Planned>, Option<PartsPlan>),
}

/// The parts of one unit, as far as records know them.
#[derive(Debug, Default)]
pub struct PartsPlan {
    /// All of them, with what is decided about each.
    pub parts: BTreeMap<Unit, Planned>,
}

impl PartsPlan {
    pub fn skips_all(&self) -> bool {
        self.parts.values().all(Planned::skips)
    }

    pub fn skipped(&self) -> usize {
        self.parts.values().filter(|planned| planned.skips()).count()
    }

    pub fn is_of(&self, parts: &BTreeSet<Unit>) -> bool {
        self.parts.len() == parts.len() && parts.iter().all(|part| self.parts.contains_key(part))
    }
}

/// Decides.
pub trait Planner: Sync {
    fn plan(&self, request: Request<'_>) -> Result<Plan>;
}

impl fmt::Debug for dyn Planner + '_ {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Planner")
    }
}
