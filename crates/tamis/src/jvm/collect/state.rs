//! What the collector knows of builds, goals, JVMs and the tests in them.

use super::{launched, methods};
use crate::jvm::by_graph::ByGraph;
use crate::jvm::goal::GoalFacts;
use crate::jvm::methods::MethodPlan;
use crate::modules::choice::Tests;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;
use tamis_dynamic::{Depends, Jvm};
use tamis_observe::{ClassFiles, Observations};
use tamis_report::TestReport;
use tamis_wire::Verdict;

/// The JVM of a build tool.
pub(super) struct Build {
    pub(super) java_home: String,
    pub(super) answers: UnixStream,
    /// From its own numbers of goals to ours.
    pub(super) goals: HashMap<u32, usize>,
}

pub(super) struct GoalState {
    pub(super) facts: GoalFacts,
    pub(super) test_classes: String,
    pub(super) graph: Option<ByGraph>,
    pub(super) refusal: Option<String>,
    /// What happens with its tests, where modules were chosen, and why.
    pub(super) choice: Option<(Tests, String)>,
    /// Whether it ended, with all its test classes tried, and its JVMs in good order.
    pub(super) ended_well: bool,
    pub(super) jvms_ended_well: bool,
    /// Whether it ended without any failure.
    pub(super) ended_green: bool,
    /// JVMs with our agent.
    pub(super) jvms: usize,
    /// Test classes that a JVM which ended in good order looked at.
    pub(super) looked_at: HashSet<String>,
    /// Classes that did something, but not as tests that were told.
    pub(super) ran_outside: BTreeSet<String>,
    /// From test class to its report.
    pub(super) units: HashMap<String, usize>,
    /// What is known where the runner itself asks.
    pub(super) asks: Option<launched::Asks>,
    /// Its runner tries failed tests again by itself.
    pub(super) tries_again: bool,
    /// Where its runner may write reports.
    pub(super) reports: Vec<PathBuf>,
    /// What the records say about the methods of test classes that run.
    pub(super) plans: HashMap<String, MethodPlan>,
    /// What was decided about methods that are not left out.
    pub(super) method_reports: HashMap<String, TestReport>,
    /// Test classes whose methods were listed.
    pub(super) began: HashSet<String>,
    /// Test classes whose methods could not be told apart, and why.
    pub(super) undivided: BTreeMap<String, String>,
}

/// A JVM that runs tests.
pub(super) struct Host {
    pub(super) goal: usize,
    pub(super) jvm: Jvm,
    pub(super) units: HashMap<u32, Unit>,
    /// What its agent cannot see.
    pub(super) blind: bool,
    pub(super) said_bye: bool,
    /// Test classes of the goal that were loaded.
    pub(super) loaded: HashSet<String>,
    pub(super) answers: UnixStream,
    /// Parts of test classes that are open.
    pub(super) stretches: HashMap<u32, methods::StretchSeen>,
}

pub(super) struct Unit {
    pub(super) class: String,
    pub(super) began: SystemTime,
    pub(super) division: Division,
}

/// What is known of the methods of a test class.
#[derive(Default)]
pub(super) struct Division {
    /// As its runner told before they ran.
    pub(super) listed: Option<BTreeSet<String>>,
    pub(super) left_out: BTreeSet<String>,
    /// Those that ran: when, how, how long.
    pub(super) ran: BTreeMap<String, (SystemTime, Verdict, u64)>,
    /// The stretches between methods.
    pub(super) between: Vec<u32>,
    pub(super) undivided: Option<String>,
}

/// A test class that ended, as far as it is known.
#[derive(Default)]
pub(super) struct Half {
    pub(super) said: Option<(Said, MethodsSaid)>,
    pub(super) seen: Option<(Arc<Observations>, ClassFiles)>,
}

/// The methods of a test class that ended.
#[derive(Default)]
pub(super) struct MethodsSaid {
    pub(super) methods: Vec<MethodSaid>,
    pub(super) between: Vec<u32>,
    /// Whether some were left out.
    pub(super) partly: bool,
}

pub(super) struct MethodSaid {
    pub(super) name: String,
    pub(super) depends: Depends,
    pub(super) own: Vec<u32>,
    pub(super) beside: Vec<String>,
    pub(super) began: SystemTime,
    pub(super) verdict: Verdict,
    pub(super) wall_us: u64,
}

#[derive(Clone)]
pub(super) struct Said {
    pub(super) goal: usize,
    pub(super) class: String,
    /// Of a method only: its name, and those of the others.
    pub(super) method: Option<(String, Vec<String>)>,
    pub(super) began: SystemTime,
    pub(super) depends: Depends,
    pub(super) verdict: Verdict,
    pub(super) wall_us: u64,
    pub(super) blind: bool,
}
