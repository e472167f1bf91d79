//! What the collector is told, what is wanted of it, and what it gives.

use crate::again::Earlier;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use tamis_core::TestKey;
use tamis_core::record::Observed;
use tamis_observe::PartEnded;
use tamis_report::TestReport;
use tamis_settings::NameGlobs;
use tamis_wire::{FromJvm, Hello};

/// What the collector is told.
#[derive(Debug)]
pub(crate) enum Input {
    Connected {
        goal: Option<usize>,
        hello: Hello,
        answers: UnixStream,
    },
    Said {
        pid: u32,
        message: FromJvm,
    },
    Gone {
        pid: u32,
    },
    Part(PartEnded),
    /// The command has ended; nothing new begins.
    Over,
}

/// What a session was.
#[derive(Debug, Default)]
pub(crate) struct Collected {
    pub(crate) reports: Vec<TestReport>,
    /// The records that test classes were skipped on, with the goal's files.
    pub(crate) relied_on: Vec<Observed>,
    /// Records among them that could not be read again: the command relies on something unknown.
    pub(crate) unread: usize,
    /// Test goals that were seen.
    pub(crate) goals: usize,
    /// Test classes were decided about by the graph of types.
    pub(crate) by_graph: bool,
    /// Test classes that the user did not ask for, and nothing proves.
    pub(crate) left_out: usize,
    /// JVMs that were launched with our agent.
    pub(crate) launched: usize,
    /// A runner of tests was seen whose classes could not be told apart, which was said.
    pub(crate) refused: bool,
}

/// How the user wants the tests inside a build to be treated.
#[derive(Debug, Clone, Default)]
pub(crate) struct Wishes {
    pub(crate) quiet: bool,
    /// Decide by the graph of types.
    pub(crate) by_graph: bool,
    /// Decide by a call graph instead.
    pub(crate) by_methods: bool,
    /// Record what the test classes used; without it, only that one did not pass.
    pub(crate) collect: bool,
    /// Only test classes with such names; all where it is empty.
    pub(crate) only: NameGlobs,
    /// Only test classes that did not pass when they last ran.
    pub(crate) failed: bool,
    /// How test classes ended before in this call, where it is a second try.
    pub(crate) again: Option<Arc<Earlier>>,
    /// Tell the methods of test classes apart.
    pub(crate) methods: bool,
}

impl Wishes {
    pub(crate) fn wants(&self, key: &TestKey) -> bool {
        let simple = key.name.rsplit('.').next().unwrap_or(&key.name);
        let names = [key.name.as_str(), simple, &key.to_string()];
        self.only.patterns().is_empty() || names.iter().any(|n| self.only.matches(n.as_bytes()))
    }
}
