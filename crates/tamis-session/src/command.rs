//! The command around the units.

use crate::planner::Choice;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use tamis_core::TestKey;
use tamis_core::decide::Demand;

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
