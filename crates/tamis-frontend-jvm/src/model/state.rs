//! What the collector knows of builds, goals, JVMs and the tests in them.

use super::left_out::{JvmCover, LeftOut};
use super::{children, parts, runner_scope};
use crate::goal::GoalFacts;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;
use tamis_dynamic::{Depends, Jvm};
use tamis_jvm_wire::Verdict;
use tamis_report::TestReport;
use tamis_session::{GraphStrategy, PartsPlan};

/// The JVMs that are connected, by their process.
#[derive(Default)]
pub(super) struct Jvms {
    pub(super) builds: HashMap<u32, Build>,
    pub(super) hosts: HashMap<u32, Host>,
    /// JVMs of tests that belong to no goal; some wait for answers.
    pub(super) unclaimed: HashMap<u32, UnixStream>,
    /// JVMs that tests started.
    pub(super) children: HashMap<u32, children::Child>,
    /// JVMs whose runners ask.
    pub(super) asking: HashMap<u32, runner_scope::AskingJvm>,
}

/// The JVM of a build tool.
pub(super) struct Build {
    pub(super) java_home: String,
    pub(super) answers: UnixStream,
    /// From its own numbers of goals to ours.
    pub(super) goals: HashMap<u32, usize>,
}

pub(super) struct GoalState {
    pub(super) facts: GoalFacts,
    pub(super) graph: Option<Box<dyn GraphStrategy>>,
    pub(super) refusal: Option<String>,
    pub(super) end: GoalEnd,
    /// From test class to the place of its report.
    pub(super) units: HashMap<String, usize>,
    /// What is known where the runner itself asks.
    pub(super) asks: Option<runner_scope::Asks>,
    /// Its runner tries failed tests again by itself.
    pub(super) retries: bool,
    /// Where its runner may write reports.
    pub(super) reports: Vec<PathBuf>,
    pub(super) methods: GoalMethods,
    /// What is missing where test classes are skipped.
    pub(super) left_out: LeftOut,
}

impl GoalState {
    pub(super) fn new(facts: GoalFacts, reports: Vec<PathBuf>) -> Self {
        Self {
            facts,
            graph: None,
            refusal: None,
            end: GoalEnd { jvms_ended_well: true, ..GoalEnd::default() },
            units: HashMap::new(),
            asks: None,
            retries: false,
            reports,
            methods: GoalMethods::default(),
            left_out: LeftOut::nothing(),
        }
    }
}

/// How a goal and its JVMs ended, as far as they did.
#[derive(Default)]
pub(super) struct GoalEnd {
    /// It ended, with all its test classes tried.
    pub(super) well: bool,
    /// It ended without any failure.
    pub(super) green: bool,
    /// All its JVMs ended in good order.
    pub(super) jvms_ended_well: bool,
    /// JVMs with our agent.
    pub(super) jvms: usize,
    /// Test classes that a JVM which ended in good order looked at.
    pub(super) looked_at: HashSet<String>,
    /// Classes that did something, but not as tests that were reported.
    pub(super) ran_outside: BTreeSet<String>,
}

/// The methods of a goal's test classes.
#[derive(Default)]
pub(super) struct GoalMethods {
    /// What the records say about the methods of test classes that run.
    pub(super) plans: HashMap<String, PartsPlan>,
    /// What was decided about methods that are not left out.
    pub(super) reports: HashMap<String, TestReport>,
    /// Test classes whose methods were listed.
    pub(super) listed: HashSet<String>,
    /// Test classes whose methods could not be distinguished, and why.
    pub(super) undivided: BTreeMap<String, String>,
}

/// A JVM that runs tests.
pub(super) struct Host {
    pub(super) goal: usize,
    pub(super) jvm: Jvm,
    pub(super) units: HashMap<u32, Unit>,
    /// What its agent cannot see.
    pub(super) blind: bool,
    pub(super) ended_well: bool,
    /// Test classes of the goal that were loaded.
    pub(super) loaded: HashSet<String>,
    pub(super) answers: UnixStream,
    /// Parts of test classes that are open.
    pub(super) stretches: HashMap<u32, parts::StretchSeen>,
    /// What JaCoCo counts in it.
    pub(super) cover: JvmCover,
}

pub(super) struct Unit {
    pub(super) class: String,
    pub(super) began: SystemTime,
    pub(super) division: Division,
}

/// What is known of the methods of a test class.
#[derive(Default)]
pub(super) struct Division {
    /// As its runner listed them before they ran.
    pub(super) listed: Option<BTreeSet<String>>,
    pub(super) left_out: BTreeSet<String>,
    /// Its runner made their objects before any of them ran.
    pub(super) made_before: bool,
    /// Those that ran: when, how, how long.
    pub(super) ran: BTreeMap<String, (SystemTime, Verdict, u64)>,
    /// The stretches between methods.
    pub(super) between: Vec<u32>,
    pub(super) undivided: Option<String>,
}

/// The methods of a test class that ended.
#[derive(Default)]
pub(super) struct MethodReports {
    pub(super) methods: Vec<MethodReport>,
    pub(super) between: Vec<u32>,
    /// All of the class.
    pub(super) listed: BTreeSet<String>,
    /// Whether some were left out.
    pub(super) partly: bool,
}

pub(super) struct MethodReport {
    pub(super) name: String,
    pub(super) depends: Depends,
    pub(super) own: Vec<u32>,
    pub(super) began: SystemTime,
    pub(super) verdict: Verdict,
    pub(super) wall_us: u64,
}

/// A test class, or one of its methods, that ended, as its JVM reported it.
#[derive(Clone)]
pub(super) struct ClassReport {
    pub(super) goal: usize,
    pub(super) class: String,
    /// Of a method only.
    pub(super) method: Option<MethodBeside>,
    pub(super) began: SystemTime,
    pub(super) depends: Depends,
    pub(super) verdict: Verdict,
    pub(super) wall_us: u64,
    pub(super) blind: bool,
}

/// A method, and all methods of its class with the numbers of the facts that they are there.
#[derive(Clone)]
pub(super) struct MethodBeside {
    pub(super) name: String,
    pub(super) all: Arc<[(String, u32)]>,
}

impl MethodBeside {
    /// The facts about the others.
    pub(super) fn beside(&self) -> impl Iterator<Item = u32> {
        self.all.iter().filter(|(name, _)| *name != self.name).map(|&(_, number)| number)
    }
}
