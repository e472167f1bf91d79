//! Takes what JVMs and the tracer say, decides about test classes ([`deciding`]), and writes their
//! records ([`writing`]).
//!
//! One thread does it all, in the order in which it is told. A test class has two halves: what its
//! JVM said ([`Depends`]) and which files it looked at ([`PartEnded`]); they arrive in any order, and
//! the record is written when both are there. A test class that runs more than once in one build has
//! one record with everything, which did not pass if any of its runs did not.

mod children;
mod deciding;
mod finishing;
mod launched;
mod methods;
mod state;
mod terms;
mod writing;

pub(crate) use terms::{Collected, Input, Wishes};

use crate::cases::Case;
use crate::jvm::goal::{GoalFacts, Told, refusal};
use crate::jvm::saved;
use crate::jvm::session::Session;
use crate::project::Project;
use state::{Build, Division, GoalState, Half, Host, MethodSaid, MethodsSaid, Said, Unit};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::thread::Scope;
use std::time::{Duration, Instant, SystemTime};
use tamis_core::record::Run;
use tamis_core::{Outcome, Taint, TestKey};
use tamis_dynamic::{Depends, Jvm, outermost};
use tamis_observe::{ClassFiles, Observations, PartEnded};
use tamis_report::Reruns;
use tamis_store::Store;
use tamis_wire::{Began, Ended, FromJvm, Goal, Hello, Role, Scanned, ToJvm, VERSION, Verdict};

/// How long records wait while nothing else happens, and how long at most.
const WAIT_TO_WRITE: Duration = Duration::from_millis(200);
const WAIT_AT_MOST: Duration = Duration::from_secs(1);

pub(crate) struct Collector<'env> {
    project: &'env Project,
    session: &'env Session,
    command: &'env Case,
    wishes: Wishes,
    tell: Option<Sender<Input>>,
    store: Option<Store>,
    goals: Vec<GoalState>,
    builds: HashMap<u32, Build>,
    hosts: HashMap<u32, Host>,
    /// JVMs of tests that nobody knows; some wait for answers.
    strangers: HashMap<u32, UnixStream>,
    /// JVMs that tests started.
    children: HashMap<u32, children::Child>,
    /// What the tracer told of each host and is not taken yet.
    parts: HashMap<u32, VecDeque<PartEnded>>,
    /// JVMs whose runners ask.
    launched: HashMap<u32, launched::Launched>,
    halves: HashMap<(u32, u32), Half>,
    /// What each JVM looked at outside of tests, and what its ended tests looked at.
    outside: HashMap<u32, Vec<Arc<Observations>>>,
    /// What each JVM read as classes before it was known which of them its agent tells about.
    class_like: HashMap<u32, Vec<Observations>>,
    files: HashMap<(u32, u32), Arc<Observations>>,
    /// Ended, no test class of a goal, and their files not told yet.
    nobodys: HashSet<(u32, u32)>,
    runs: HashMap<TestKey, Run>,
    /// Records that wait to be written, with the positions of their reports.
    unwritten: Vec<(Run, Option<usize>)>,
    /// Since when nothing was written.
    written: Instant,
    /// Runs of a test class in this build, where there was more than one.
    repeated: HashMap<TestKey, Reruns>,
    began: SystemTime,
    /// Reports of test classes whose methods have reports of their own.
    dissolved: HashSet<usize>,
    collected: Collected,
}

impl<'env> Collector<'env> {
    pub(crate) fn new(
        project: &'env Project,
        session: &'env Session,
        command: &'env Case,
        wishes: Wishes,
        tell: Sender<Input>,
    ) -> Self {
        Self {
            project,
            session,
            command,
            wishes,
            tell: Some(tell),
            store: None,
            goals: Vec::new(),
            builds: HashMap::new(),
            hosts: HashMap::new(),
            strangers: HashMap::new(),
            children: HashMap::new(),
            parts: HashMap::new(),
            launched: HashMap::new(),
            halves: HashMap::new(),
            outside: HashMap::new(),
            class_like: HashMap::new(),
            files: HashMap::new(),
            nobodys: HashSet::new(),
            runs: HashMap::new(),
            unwritten: Vec::new(),
            written: Instant::now(),
            repeated: HashMap::new(),
            began: SystemTime::now(),
            dissolved: HashSet::new(),
            collected: Collected::default(),
        }
    }

    pub(crate) fn run<'scope>(
        mut self,
        scope: &'scope Scope<'scope, 'env>,
        inputs: Receiver<Input>,
    ) -> Collected {
        loop {
            // Whoever is killed has lost little.
            if self.written.elapsed() > WAIT_AT_MOST {
                self.write_records();
            }
            let input = match inputs.recv_timeout(WAIT_TO_WRITE) {
                Ok(input) => input,
                Err(RecvTimeoutError::Timeout) => {
                    self.write_records();
                    continue;
                }
                Err(RecvTimeoutError::Disconnected) => break,
            };
            match input {
                Input::Connected { goal, hello, answers } => self.connected(goal, hello, answers),
                Input::Said { pid, message } => self.said(scope, pid, message),
                Input::Gone { pid } => {
                    self.builds.remove(&pid);
                    self.strangers.remove(&pid);
                    self.launched_gone(pid);
                    self.child_gone(pid);
                    if let Some(host) = self.hosts.remove(&pid) {
                        let goal = &mut self.goals[host.goal];
                        goal.jvms_ended_well &= host.said_bye;
                        if host.said_bye {
                            goal.looked_at.extend(host.loaded);
                        }
                        goal.ran_outside.append(&mut host.jvm.ran_outside());
                    }
                }
                Input::Part(part) => self.part_ended(part),
                // From now on only those who still have something to tell keep us.
                Input::Over => self.tell = None,
            }
        }
        let hosts: Vec<u32> = self.parts.keys().copied().collect();
        for host in hosts {
            self.take_parts(host, true);
        }
        self.finish()
    }

    /// The files that a test looked at are known.
    fn files_seen(
        &mut self,
        (host, test): (u32, u32),
        observations: Observations,
        class_files: ClassFiles,
    ) {
        let observations = Arc::new(observations);
        if self.nobodys.remove(&(host, test)) {
            self.outside.entry(host).or_default().push(observations);
            return;
        }
        self.files.insert((host, test), Arc::clone(&observations));
        let half = self.halves.entry((host, test)).or_default();
        half.seen = Some((observations, class_files));
        self.join(host, test);
    }

    fn connected(&mut self, goal: Option<usize>, hello: Hello, answers: UnixStream) {
        match (hello.role, goal.filter(|&g| g < self.goals.len())) {
            (Role::Build, _) => {
                let java_home = hello.java_home;
                self.builds.insert(hello.pid, Build { java_home, answers, goals: HashMap::new() });
            }
            (Role::Tests | Role::Outcomes, Some(goal)) => {
                let goal_state = &self.goals[goal];
                let mut jvm =
                    Jvm::new(Arc::clone(&goal_state.facts.index), &goal_state.facts.scope)
                        .with_tests(goal_state.units.keys().map(String::as_str));
                if hello.version != VERSION {
                    jvm.trouble("the agent is of another version");
                }
                let blind = !hello.blind.is_empty();
                let (units, loaded) = (HashMap::new(), HashSet::new());
                let stretches = HashMap::new();
                let host =
                    Host { goal, jvm, units, blind, said_bye: false, loaded, answers, stretches };
                self.hosts.insert(hello.pid, host);
                self.goals[goal].jvms += 1;
            }
            (Role::Tests | Role::Outcomes, None) => drop(self.strangers.insert(hello.pid, answers)),
            (Role::Launched, _) => self.launched(hello, answers),
            (Role::Child(host), _) => {
                if !self.child_connected(host, &hello) {
                    self.strangers.insert(hello.pid, answers);
                }
            }
        }
    }

    fn said<'scope>(&mut self, scope: &'scope Scope<'scope, 'env>, pid: u32, message: FromJvm) {
        if self.builds.contains_key(&pid) {
            match message {
                FromJvm::Goal(goal) => self.goal(scope, pid, &goal),
                FromJvm::Scanned(scanned) => self.scanned(pid, &scanned),
                FromJvm::Trouble(why) => self.say(&format!("the agent in Maven: {why}")),
                FromJvm::GoalEnded { goal, error } => {
                    if let Some(&number) = self.builds[&pid].goals.get(&goal) {
                        self.goals[number].ended_green = error.is_none();
                        // Anything else than failed tests may have kept classes from running.
                        self.goals[number].ended_well =
                            error.is_none_or(|e| e.contains("There are test failures"));
                    }
                }
                _ => {}
            }
            return;
        }
        let Some(message) = self.said_by_child(pid, message) else { return };
        let Some(message) = self.said_by_launched(pid, message) else { return };
        if let FromJvm::Methods(methods) = &message {
            return self.methods_told(pid, methods);
        }
        let observes = self.observes();
        let Some(host) = self.hosts.get_mut(&pid) else { return };
        match message {
            FromJvm::Class(class) => {
                let name = tamis_classpath::names::dotted(&class.name);
                if self.goals[host.goal].units.contains_key(&name) {
                    host.loaded.insert(name);
                }
                if observes {
                    host.jvm.class(&class);
                }
            }
            FromJvm::Window(mut window) => {
                // What is no test class of the goal (a nested class, a suite's member that nobody
                // asked for) belongs to those that are, or else to everybody.
                window.open.retain(|test| {
                    host.units.contains_key(test) || host.stretches.contains_key(test)
                });
                host.jvm.window(&window);
            }
            FromJvm::Began(Began { test, stretch: Some(stretch), .. }) => {
                host.stretch_began(test, stretch);
            }
            FromJvm::Initialised { probe, hits } => host.jvm.initialised(probe, &hits),
            FromJvm::State(state) => host.jvm.state(&state),
            FromJvm::Undivided { class, why } => host.undivided(Some(&class), &why),
            FromJvm::Began(began) => {
                let class = test_class(&self.goals[host.goal], host, &began.class);
                if class.is_none() {
                    host.jvm.forget_state();
                }
                if let Some(class) = class {
                    host.jvm.began(began.test, &class);
                    let division = Division::default();
                    let unit = Unit { class, began: SystemTime::now(), division };
                    host.units.insert(began.test, unit);
                    if host.units.len() > 1 {
                        host.undivided(None, "other test classes run at the same time");
                    }
                }
            }
            FromJvm::Ended(ended) => self.test_ended(pid, &ended),
            FromJvm::Trouble(why) => {
                host.jvm.trouble(&why);
                self.goals[host.goal].jvms_ended_well = false;
            }
            FromJvm::Bye => host.said_bye = true,
            _ => {}
        }
    }

    fn goal<'scope>(&mut self, scope: &'scope Scope<'scope, 'env>, pid: u32, goal: &Goal) {
        let java_home = self.builds[&pid].java_home.clone();
        let facts = GoalFacts::new(self.project, goal, &java_home);
        let number = self.goals.len();
        let mut refusal = refusal(goal, &facts.index);
        let mut arguments = None;
        if refusal.is_none() {
            match self.tell.as_ref().map(|tell| self.session.listen(scope, number, tell)) {
                Some(Ok(socket)) => arguments = self.session.argument(&socket, self.role()),
                Some(Err(error)) => refusal = Some(format!("{error:#}")),
                None => refusal = Some("the build is being stopped".into()),
            }
        }
        if let Some(why) = &refusal {
            self.collected.refused = true;
            self.say(&format!("{}: {why}: all its tests run and none is recorded", facts.scope));
        } else {
            self.session.told.add(goal, &facts.index);
            // Without it explanations are poorer, nothing else.
            let _ = saved::save(self.project, &facts);
        }
        self.collected.goals += 1;
        self.goals.push(GoalState {
            facts,
            test_classes: goal.test_classes.clone(),
            graph: None,
            refusal,
            choice: self.command.choice.as_ref().map(|choice| {
                let (tests, why) = choice.of(&goal.artifact);
                (tests, why.to_owned())
            }),
            ended_well: false,
            jvms_ended_well: true,
            ended_green: false,
            jvms: 0,
            looked_at: HashSet::new(),
            ran_outside: BTreeSet::new(),
            units: HashMap::new(),
            asks: None,
            tries_again: tries_again(goal),
            reports: Told::own_folders(goal),
            plans: HashMap::new(),
            method_reports: HashMap::new(),
            began: HashSet::new(),
            undivided: BTreeMap::new(),
        });
        let build = self.builds.get_mut(&pid).expect("asked by this build");
        build.goals.insert(goal.id, number);
        answer(build, &ToJvm::Goal { arguments });
    }

    /// What the agent does in the JVMs of tests.
    fn role(&self) -> Role {
        if self.observes() { Role::Tests } else { Role::Outcomes }
    }

    /// Whether what test classes use is of interest.
    fn observes(&self) -> bool {
        self.wishes.collect && !self.wishes.by_graph
    }

    fn scanned(&mut self, pid: u32, scanned: &Scanned) {
        let number = self.builds[&pid].goals.get(&scanned.goal).copied();
        let skip = match number {
            Some(number) if self.goals[number].refusal.is_none() => {
                self.decide(number, &scanned.classes)
            }
            _ => Vec::new(),
        };
        let build = self.builds.get_mut(&pid).expect("asked by this build");
        answer(build, &ToJvm::Skip { classes: skip });
    }

    fn test_ended(&mut self, pid: u32, ended: &Ended) {
        let Some(host) = self.hosts.get_mut(&pid) else { return };
        if host.stretch_ended(ended) {
            return;
        }
        let Some(mut unit) = host.units.remove(&ended.test) else {
            // Its window belongs to those around it, its files to everybody later.
            match self.files.remove(&(pid, ended.test)) {
                Some(files) => self.outside.entry(pid).or_default().push(files),
                None => drop(self.nobodys.insert((pid, ended.test))),
            }
            return;
        };
        let passed = ended.verdict == Verdict::Passed;
        if !self.wishes.collect && self.goals[host.goal].graph.is_none() {
            return self.ended_unobserved(pid, unit, ended);
        }
        let key = key(&self.goals[host.goal].facts, &unit.class);
        let failed_before = self.wishes.again.as_ref().is_some_and(|again| again.failed(&key));
        if let Some(graph) = &mut self.goals[host.goal].graph {
            // One that is flaky is selected again.
            graph.finished(&unit.class, passed && !failed_before);
            return self.report_outcome(pid, &unit.class, passed, ended.wall_us);
        }
        let goal = host.goal;
        let partly = !unit.division.left_out.is_empty();
        let mut methods = MethodsSaid { partly, ..MethodsSaid::default() };
        if self.wishes.methods {
            match self.methods_said(pid, ended.test, &mut unit.division) {
                Ok(said) => {
                    methods.methods = said;
                    methods.between = unit.division.between;
                }
                // A class that failed before its methods is red anyway, and what is no class has none.
                Err(why) if passed && self.is_class(goal, &unit.class) => {
                    self.not_divided(goal, &unit.class, why);
                }
                Err(_) => {}
            }
        }
        let Some(host) = self.hosts.get_mut(&pid) else { return };
        let said = Said {
            goal,
            class: unit.class,
            method: None,
            began: unit.began,
            depends: host.jvm.ended(ended.test),
            verdict: ended.verdict,
            wall_us: ended.wall_us,
            blind: host.blind,
        };
        self.halves.entry((pid, ended.test)).or_default().said = Some((said, methods));
        self.join(pid, ended.test);
    }

    /// Nothing is recorded of a test class that passed. One that did not must not be skipped on an
    /// older record.
    fn ended_unobserved(&mut self, pid: u32, unit: Unit, ended: &Ended) {
        let Some(host) = self.hosts.get(&pid) else { return };
        let goal = host.goal;
        let key = key(&self.goals[goal].facts, &unit.class);
        let failed_before = self.wishes.again.as_ref().is_some_and(|again| again.failed(&key));
        if ended.verdict == Verdict::Passed && !failed_before {
            return self.report_outcome(pid, &unit.class, true, ended.wall_us);
        }
        let said = Said {
            goal,
            class: unit.class,
            method: None,
            began: unit.began,
            depends: Depends::default(),
            verdict: ended.verdict,
            wall_us: ended.wall_us,
            blind: true,
        };
        let why = Taint::Unobserved(crate::run::NOT_COLLECTED.into());
        self.write(pid, said, &Observations::default(), &ClassFiles::new(), Some(why));
    }

    fn report_outcome(&mut self, pid: u32, class: &str, passed: bool, wall_us: u64) {
        let Some(host) = self.hosts.get(&pid) else { return };
        let Some(&report) = self.goals[host.goal].units.get(class) else { return };
        let report = &mut self.collected.reports[report];
        let failed = report.failed() || !passed;
        report.outcome = Some(if failed { Outcome::Failed(1) } else { Outcome::Passed });
        report.wall += Duration::from_micros(wall_us);
    }

    fn say(&self, what: &str) {
        if !self.wishes.quiet {
            eprintln!("tamis: {what}");
        }
    }
}

/// The test class that a class which began stands for. One that is nested in a test class stands for it
/// where nobody told of that one, as with a `suite()` of JUnit 3.
fn test_class(goal: &GoalState, host: &Host, began: &str) -> Option<String> {
    if let Some(asks) = &goal.asks {
        // What was to be skipped, and a class nested in what was asked about, is a part only.
        let whole = goal.units.contains_key(began) && asks.runs(began);
        return whole.then(|| began.to_owned());
    }
    let outer = outermost(began);
    let is_open = || host.units.values().any(|unit| unit.class == outer);
    let class = match goal.units.contains_key(began) {
        true => began,
        false if goal.units.contains_key(outer) && !is_open() => outer,
        false => return None,
    };
    Some(class.to_owned())
}

/// Whether a goal was told to try failed tests again.
fn tries_again(goal: &Goal) -> bool {
    let number = |(name, value): &(String, String)| {
        name.ends_with("rerunFailingTestsCount") && value.trim().parse().is_ok_and(|n: u32| n > 0)
    };
    goal.configuration.iter().any(number)
}

fn key(facts: &GoalFacts, class: &str) -> TestKey {
    TestKey { suite: facts.scope.clone(), name: class.to_owned(), folder: facts.folder.clone() }
}

fn answer(build: &mut Build, message: &ToJvm) {
    // A build that has gone away needs no answer.
    let _ = tamis_wire::write(&mut build.answers, message);
}
