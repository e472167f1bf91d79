//! What a call asks for, checked and resolved.

use crate::checker::CheckOption;
use crate::shards::Sharding;
use std::num::{NonZeroU32, NonZeroUsize};
use std::sync::Arc;
use std::time::Duration;
use tamis_core::Strategy;
use tamis_core::decide::Demand;
use tamis_session::SessionOptions;
use tamis_settings::NameFilter;

/// How processes are watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EngineName {
    Auto,
    Notify,
    Patch,
    Ebpf,
    Ptrace,
}

/// Which tests run, and how.
#[derive(Debug, Clone, Default)]
pub struct RunOptions {
    pub strategy: Strategy,
    pub which: Which,
    pub engine: Option<EngineName>,
    pub jobs: Option<NonZeroUsize>,
    pub timeout: Option<Duration>,
    pub no_collect: bool,
    pub collect_every: Option<NonZeroU32>,
    pub rerun_failed: Option<u32>,
    pub flaky_ok: bool,
    pub output: Output,
    pub check: Option<CheckOption>,
    pub isolation: Option<IsolationOption>,
}

/// How many tests are run alone after the run, and the number that chooses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IsolationOption {
    pub sample: usize,
    pub seed: Option<u64>,
}

/// Which of the tests are asked for.
#[derive(Debug, Clone, Default)]
pub struct Which {
    /// Run in any case.
    pub all: bool,
    pub only: NameFilter,
    pub failed: bool,
    pub no_command_skip: bool,
    pub since: Option<String>,
    /// The parts of units are distinguished.
    pub parts: bool,
    /// Only the part of this machine.
    pub shard: Option<Arc<Sharding>>,
}

/// What happens with the output of tests.
#[derive(Debug, Clone, Copy, Default)]
pub struct Output {
    /// Standard output is for a program: tests print on standard error.
    pub as_errors: bool,
    /// A report shows the output of failed tests.
    pub kept: bool,
}

impl RunOptions {
    /// What the user wants of every test.
    pub fn demand(&self) -> Demand {
        if self.which.all { Demand::Requested } else { Demand::None }
    }

    pub fn is_static(&self) -> bool {
        matches!(self.strategy, Strategy::Static { .. })
    }

    /// What is wanted of the units inside a command.
    pub(crate) fn session(&self, collect: bool) -> SessionOptions {
        SessionOptions {
            strategy: self.strategy,
            collect,
            only: self.which.only.clone(),
            failed: self.which.failed,
            earlier: None,
            parts: self.which.parts,
            shared_out: self.which.shard.is_some(),
            trial: None,
        }
    }
}
