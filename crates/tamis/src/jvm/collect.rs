//! Takes what JVMs and the tracer say, decides about test classes, and writes their records.
//!
//! One thread does it all, in the order in which it is told. A test class has two halves: what its
//! JVM said ([`Depends`]) and which files it looked at ([`PartEnded`]); they arrive in any order, and
//! the record is written when both are there. A test class that runs more than once in one build has
//! one record with everything, which did not pass if any of its runs did not.

use crate::cases::{self, Case};
use crate::jvm::by_graph::ByGraph;
use crate::jvm::goal::{GoalFacts, refusal};
use crate::jvm::saved;
use crate::jvm::session::Session;
use crate::plan;
use crate::project::Project;
use crate::world::World;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender};
use std::thread::Scope;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tamis_core::decide::Demand;
use tamis_core::record::{Access, Detail, Observed, Run};
use tamis_core::{Cause, Decision, Outcome, Question, Taint, TestKey};
use tamis_dynamic::{Depends, Fact, Jvm, Kind, outermost};
use tamis_observe::{ClassFiles, Observations, PartEnded};
use tamis_report::TestReport;
use tamis_store::Store;
use tamis_wire::{Ended, FromJvm, Goal, Hello, Role, Scanned, ToJvm, VERSION, Verdict};

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
}

/// How the user wants the tests inside a build to be treated.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Wishes {
    pub(crate) quiet: bool,
    /// Decide by the graph of types.
    pub(crate) by_graph: bool,
    /// Decide by a call graph instead.
    pub(crate) by_methods: bool,
}

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
    halves: HashMap<(u32, u32), Half>,
    /// What each JVM looked at outside of tests, and what its ended tests looked at.
    outside: HashMap<u32, Vec<Arc<Observations>>>,
    files: HashMap<(u32, u32), Arc<Observations>>,
    /// Ended, no test class of a goal, and their files not told yet.
    nobodys: HashSet<(u32, u32)>,
    runs: HashMap<TestKey, Run>,
    collected: Collected,
}

/// The JVM of a build tool.
struct Build {
    java_home: String,
    answers: UnixStream,
    /// From its own numbers of goals to ours.
    goals: HashMap<u32, usize>,
}

struct GoalState {
    facts: GoalFacts,
    test_classes: String,
    graph: Option<ByGraph>,
    refusal: Option<String>,
    /// Whether it ended, with all its test classes tried, and its JVMs in good order.
    ended_well: bool,
    jvms_ended_well: bool,
    /// Classes that did something, but not as tests that were told.
    ran_outside: BTreeSet<String>,
    /// From test class to its report.
    units: HashMap<String, usize>,
}

/// A JVM that runs tests.
struct Host {
    goal: usize,
    jvm: Jvm,
    units: HashMap<u32, Unit>,
    /// What its agent cannot see.
    blind: bool,
    said_bye: bool,
}

struct Unit {
    class: String,
    began: SystemTime,
}

/// A test class that ended, as far as it is known.
#[derive(Default)]
struct Half {
    said: Option<Said>,
    seen: Option<(Arc<Observations>, ClassFiles)>,
}

struct Said {
    goal: usize,
    class: String,
    began: SystemTime,
    depends: Depends,
    verdict: Verdict,
    wall_us: u64,
    blind: bool,
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
            halves: HashMap::new(),
            outside: HashMap::new(),
            files: HashMap::new(),
            nobodys: HashSet::new(),
            runs: HashMap::new(),
            collected: Collected::default(),
        }
    }

    pub(crate) fn run<'scope>(
        mut self,
        scope: &'scope Scope<'scope, 'env>,
        inputs: Receiver<Input>,
    ) -> Collected {
        for input in inputs {
            match input {
                Input::Connected { goal, hello, answers } => self.connected(goal, hello, answers),
                Input::Said { pid, message } => self.said(scope, pid, message),
                Input::Gone { pid } => {
                    self.builds.remove(&pid);
                    if let Some(host) = self.hosts.remove(&pid) {
                        let goal = &mut self.goals[host.goal];
                        goal.jvms_ended_well &= host.said_bye;
                        goal.ran_outside.append(&mut host.jvm.ran_outside());
                    }
                }
                Input::Part(PartEnded::Outside { host, observations }) => {
                    self.outside.entry(host).or_default().push(Arc::new(observations));
                }
                Input::Part(PartEnded::Test { host, test, observations, class_files }) => {
                    let observations = Arc::new(observations);
                    if self.nobodys.remove(&(host, test)) {
                        self.outside.entry(host).or_default().push(observations);
                        continue;
                    }
                    self.files.insert((host, test), Arc::clone(&observations));
                    let half = self.halves.entry((host, test)).or_default();
                    half.seen = Some((observations, class_files));
                    self.join(host, test);
                }
                // From now on only those who still have something to tell keep us.
                Input::Over => self.tell = None,
            }
        }
        self.finish()
    }

    fn connected(&mut self, goal: Option<usize>, hello: Hello, answers: UnixStream) {
        match (hello.role, goal.filter(|&g| g < self.goals.len())) {
            (Role::Build, _) => {
                let java_home = hello.java_home;
                self.builds.insert(hello.pid, Build { java_home, answers, goals: HashMap::new() });
            }
            (Role::Tests, Some(goal)) => {
                let goal_state = &self.goals[goal];
                let mut jvm = Jvm::new(Arc::clone(&goal_state.facts.index))
                    .with_tests(goal_state.units.keys().map(String::as_str));
                if hello.version != VERSION {
                    jvm.trouble("the agent is of another version");
                }
                let blind = !hello.blind.is_empty();
                let host = Host { goal, jvm, units: HashMap::new(), blind, said_bye: false };
                self.hosts.insert(hello.pid, host);
            }
            (Role::Tests, None) => {}
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
                        // Anything else than failed tests may have kept classes from running.
                        self.goals[number].ended_well =
                            error.is_none_or(|e| e.contains("There are test failures"));
                    }
                }
                _ => {}
            }
            return;
        }
        let Some(host) = self.hosts.get_mut(&pid) else { return };
        let by_graph = self.wishes.by_graph;
        match message {
            FromJvm::Class(_) | FromJvm::Window(_) if by_graph => {}
            FromJvm::Class(class) => host.jvm.class(&class),
            FromJvm::Window(mut window) => {
                // What is no test class of the goal (a nested class, a suite's member that nobody
                // asked for) belongs to those that are, or else to everybody.
                window.open.retain(|test| host.units.contains_key(test));
                host.jvm.window(&window);
            }
            FromJvm::Began(began) => {
                if let Some(class) = test_class(&self.goals[host.goal], host, &began.class) {
                    host.jvm.began(began.test, &class);
                    let unit = Unit { class, began: SystemTime::now() };
                    host.units.insert(began.test, unit);
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
                Some(Ok(socket)) => arguments = self.session.argument(&socket, Role::Tests),
                Some(Err(error)) => refusal = Some(format!("{error:#}")),
                None => refusal = Some("the build is being stopped".into()),
            }
        }
        if let Some(why) = &refusal {
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
            ended_well: false,
            jvms_ended_well: true,
            ran_outside: BTreeSet::new(),
            units: HashMap::new(),
        });
        let build = self.builds.get_mut(&pid).expect("asked by this build");
        build.goals.insert(goal.id, number);
        answer(build, &ToJvm::Goal { arguments });
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

    /// Decides about the test classes of a goal; gives those that need not run.
    fn decide(&mut self, number: usize, classes: &[String]) -> Vec<u32> {
        let facts = self.goals[number].facts.clone();
        let cases: Vec<Case> = classes
            .iter()
            .map(|class| {
                cases::of_test_class(self.project, &key(&facts, class), self.command.inside.clone())
            })
            .collect();
        if self.wishes.by_graph {
            return self.decide_by_graph(number, classes);
        }
        let world = World::new(self.project, &cases).with_goal(facts.clone());
        if self.store.is_none() {
            self.store = self.project.open_store();
        }
        let planned = match plan::decide(self.project, self.store.as_ref(), &world, &cases) {
            Ok(planned) => planned,
            Err(error) => {
                self.say(&format!("{}: {error:#}; all its tests run", facts.scope));
                return Vec::new();
            }
        };
        let mut skip = Vec::new();
        let mut proofs = Vec::new();
        for (n, (class, planned)) in classes.iter().zip(planned).enumerate() {
            if let Decision::Skip { record, proof } = planned.report.decision {
                skip.push(n as u32);
                proofs.push((record, proof));
            }
            self.goals[number].units.insert(class.clone(), self.collected.reports.len());
            self.collected.reports.push(planned.report);
        }
        self.rely_on(&proofs);
        self.tell_how_many(number, classes.len(), skip.len());
        skip
    }

    fn decide_by_graph(&mut self, number: usize, classes: &[String]) -> Vec<u32> {
        let goal = &self.goals[number];
        let level = self.wishes.by_methods.then(tamis_jvm::MethodLevel::default);
        let decided =
            ByGraph::decide(self.project, &goal.facts, &goal.test_classes, classes, level);
        let Some((graph, reports)) = decided else {
            self.say("without a store everything runs and nothing is recorded");
            return Vec::new();
        };
        let all = self.command.inside != Demand::None;
        let mut skip = Vec::new();
        for (n, (class, mut report)) in classes.iter().zip(reports).enumerate() {
            if all {
                report.decision = Decision::Run(Cause::Requested);
                report.reason = crate::reason::cause(&Cause::Requested, &[], None, |_| None);
            }
            if report.skipped() {
                skip.push(n as u32);
            }
            self.goals[number].units.insert(class.clone(), self.collected.reports.len());
            self.collected.reports.push(report);
        }
        self.goals[number].graph = Some(graph);
        self.collected.by_graph = true;
        self.tell_how_many(number, classes.len(), skip.len());
        if self.wishes.by_methods && !skip.is_empty() {
            self.say(tamis_jvm::methods::WARNING);
        }
        skip
    }

    fn tell_how_many(&self, number: usize, all: usize, skipped: usize) {
        if all > 0 {
            let scope = &self.goals[number].facts.scope;
            self.say(&format!("{scope}: {} of {all} test classes need to run", all - skipped));
        }
    }

    /// The command as a whole now relies on what the skipped tests had looked at.
    fn rely_on(&mut self, proofs: &[(tamis_core::RecordId, tamis_core::record::ProofId)]) {
        let Some(store) = &self.store else { return };
        for (record, proof) in proofs {
            let Ok(Some(stored)) = store.record(*record) else {
                self.collected.unread += 1;
                continue;
            };
            let found = stored.proofs.first() == Some(proof);
            for mut observed in stored.run.observed {
                if matches!(observed.question, Question::Path(..)) {
                    if let (false, Some(after)) = (found, observed.after) {
                        observed.before = after;
                    }
                    observed.after = None;
                    self.collected.relied_on.push(observed);
                }
            }
        }
    }

    fn test_ended(&mut self, pid: u32, ended: &Ended) {
        let Some(host) = self.hosts.get_mut(&pid) else { return };
        let Some(unit) = host.units.remove(&ended.test) else {
            // Its window belongs to those around it, its files to everybody later.
            match self.files.remove(&(pid, ended.test)) {
                Some(files) => self.outside.entry(pid).or_default().push(files),
                None => drop(self.nobodys.insert((pid, ended.test))),
            }
            return;
        };
        let passed = ended.verdict == Verdict::Passed;
        if let Some(graph) = &mut self.goals[host.goal].graph {
            graph.finished(&unit.class, passed);
            return self.report_outcome(pid, &unit.class, passed, ended.wall_us);
        }
        let said = Said {
            goal: host.goal,
            class: unit.class,
            began: unit.began,
            depends: host.jvm.ended(ended.test),
            verdict: ended.verdict,
            wall_us: ended.wall_us,
            blind: host.blind,
        };
        self.halves.entry((pid, ended.test)).or_default().said = Some(said);
        self.join(pid, ended.test);
    }

    fn report_outcome(&mut self, pid: u32, class: &str, passed: bool, wall_us: u64) {
        let Some(host) = self.hosts.get(&pid) else { return };
        let Some(&report) = self.goals[host.goal].units.get(class) else { return };
        let report = &mut self.collected.reports[report];
        let failed = report.failed() || !passed;
        report.outcome = Some(if failed { Outcome::Failed(1) } else { Outcome::Passed });
        report.wall += Duration::from_micros(wall_us);
    }

    /// Writes the record if both halves are there.
    fn join(&mut self, pid: u32, test: u32) {
        let complete =
            self.halves.get(&(pid, test)).is_some_and(|h| h.said.is_some() && h.seen.is_some());
        if !complete {
            return;
        }
        let half = self.halves.remove(&(pid, test)).unwrap_or_default();
        if let (Some(said), Some((files, class_files))) = (half.said, half.seen) {
            self.write(pid, said, &files, &class_files, None);
        }
    }

    fn write(
        &mut self,
        pid: u32,
        said: Said,
        files: &Observations,
        class_files: &ClassFiles,
        taint: Option<Taint>,
    ) {
        let facts = self.goals[said.goal].facts.clone();
        let key = key(&facts, &said.class);
        let case = cases::of_test_class(self.project, &key, Demand::None);
        let world = World::new(self.project, std::slice::from_ref(&case)).with_goal(facts.clone());
        let mut looked = Looked::default();
        looked.add(world.surroundings(&case));
        looked.add(class_facts(&facts, &said, class_files));
        looked.add(files.observed.iter().cloned());
        for piece in self.outside.get(&pid).into_iter().flatten() {
            looked.add(piece.observed.iter().cloned());
            looked.taints.extend(piece.taints.iter().cloned());
        }
        if said.depends.uses_bundles {
            let is_bundle = |o: &&Observed| {
                let path = o.question.path().map(tamis_core::PortablePath::as_bytes);
                path.is_some_and(|p| p.ends_with(b".properties"))
            };
            for (_, earlier) in self.files.iter().filter(|((host, _), _)| *host == pid) {
                looked.add(earlier.observed.iter().filter(is_bundle).cloned());
            }
        }
        for earlier in &said.depends.relies_on {
            if let Some(earlier) = self.files.get(&(pid, *earlier)) {
                looked.add(earlier.observed.iter().cloned());
                looked.taints.extend(earlier.taints.iter().cloned());
            }
        }
        looked.taints.extend(files.taints.iter().cloned());
        looked.taints.extend(said.depends.incomplete.map(Taint::Unobserved));
        looked.taints.extend(taint);
        let started = said.began.duration_since(UNIX_EPOCH).unwrap_or_default();
        let run = Run {
            test: key.clone(),
            outcome: match said.verdict {
                Verdict::Passed => Outcome::Passed,
                Verdict::Failed => Outcome::Failed(1),
            },
            started_ms: started.as_millis() as u64,
            wall_us: said.wall_us,
            cpu_us: 0,
            engine: "jvm".into(),
            observed: looked.observed.into_values().collect(),
            taints: looked.taints.into_iter().collect(),
            notes: files.notes.clone(),
            left_behind: files.left_behind.clone(),
        };
        let run = match self.runs.remove(&key) {
            Some(earlier) => together(earlier, run),
            None => run,
        };
        self.record(said.goal, &said.class, &run);
        self.runs.insert(key, run);
    }

    fn record(&mut self, goal: usize, class: &str, run: &Run) {
        let recorded = match self.store.as_ref().map(|store| store.append(run)) {
            Some(Ok(_)) => true,
            Some(Err(error)) => {
                self.say(&format!("{} was not recorded: {error}", run.test));
                false
            }
            None => false,
        };
        let Some(&report) = self.goals[goal].units.get(class) else { return };
        let report = &mut self.collected.reports[report];
        report.outcome = Some(run.outcome);
        report.wall = Duration::from_micros(run.wall_us);
        report.inputs = recorded.then_some(run.observed.len() as u64);
        report.taints = run.taints.iter().map(ToString::to_string).collect();
        report.notes = run.notes.iter().map(ToString::to_string).collect();
    }

    /// Everything was told. What has only one half by now was not observed completely.
    fn finish(mut self) -> Collected {
        for ((pid, _), half) in std::mem::take(&mut self.halves) {
            if let (Some(said), None) = (half.said, half.seen) {
                let taint =
                    Taint::Unobserved("the tracer did not see where it began and ended".into());
                self.write(pid, said, &Observations::default(), &ClassFiles::new(), Some(taint));
            }
        }
        self.record_classes_without_tests();
        for goal in &self.goals {
            if let Some(why) = goal.graph.as_ref().and_then(ByGraph::record) {
                self.say(&format!("{}: {why}", goal.facts.scope));
            }
        }
        let mut files: Vec<_> = Vec::new();
        for goal in self.goals.iter().filter(|g| g.refusal.is_none()) {
            for (path, is_folder) in goal.facts.index.paths() {
                add_files(path, is_folder, &mut files);
            }
        }
        files.sort_unstable();
        files.dedup();
        let answers = self.project.fingerprinter.answer_many(&files);
        for ((path, scheme), answer) in files.iter().zip(answers) {
            let question = Question::Path(self.project.paths.to_portable(path), *scheme);
            let observed = given(question, answer.value);
            self.collected.relied_on.push(Observed { detail: answer.detail, ..observed });
        }
        self.collected
    }

    /// Classes that look like tests by their names and have none: abstract ones, helpers. Whether a
    /// runner finds tests in them depends on them, their supertypes and the runner.
    fn record_classes_without_tests(&mut self) {
        for number in 0..self.goals.len() {
            let goal = &self.goals[number];
            if !(goal.ended_well && goal.jvms_ended_well) {
                continue;
            }
            let silent: Vec<String> = goal
                .units
                .iter()
                .filter(|&(_, &report)| self.collected.reports[report].unfinished())
                .filter(|(class, _)| !goal.ran_outside.contains(outermost(class)))
                .map(|(class, _)| class.clone())
                .collect();
            let GoalState { graph, units, .. } = &mut self.goals[number];
            if let Some(graph) = graph {
                for class in silent {
                    graph.finished(&class, true);
                    self.collected.reports[units[&class]].outcome = Some(Outcome::Passed);
                }
                continue;
            }
            for class in silent {
                let mut depends = Depends::default();
                let index = Arc::clone(&self.goals[number].facts.index);
                let mut names = vec![class.clone()];
                while let Some(name) = names.pop() {
                    let kind = Kind::Whole(name.clone());
                    let value = tamis_dynamic::answer(&index, &kind);
                    let value = value.unwrap_or(tamis_core::Value::Absent);
                    if depends.facts.insert(kind, value).is_none() {
                        names.extend(index.header_names(&name));
                    }
                }
                let (verdict, began) = (Verdict::Passed, SystemTime::now());
                let said =
                    Said { goal: number, class, began, depends, verdict, wall_us: 0, blind: true };
                self.write(0, said, &Observations::default(), &ClassFiles::new(), None);
            }
        }
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
    let outer = outermost(began);
    let is_open = || host.units.values().any(|unit| unit.class == outer);
    let class = match goal.units.contains_key(began) {
        true => began,
        false if goal.units.contains_key(outer) && !is_open() => outer,
        false => return None,
    };
    Some(class.to_owned())
}

fn key(facts: &GoalFacts, class: &str) -> TestKey {
    TestKey { suite: facts.scope.clone(), name: class.to_owned(), folder: facts.folder.clone() }
}

fn answer(build: &mut Build, message: &ToJvm) {
    // A build that has gone away needs no answer.
    let _ = tamis_wire::write(&mut build.answers, message);
}

/// An input that nobody looked at through the file system.
fn given(question: Question, before: tamis_core::Value) -> Observed {
    Observed {
        question,
        before,
        after: None,
        access: Access::default(),
        program: "java".into(),
        detail: Detail::None,
    }
}

/// What the JVM said, as observations.
fn class_facts(facts: &GoalFacts, said: &Said, class_files: &ClassFiles) -> Vec<Observed> {
    let mut kinds: BTreeMap<Kind, tamis_core::Value> = said.depends.facts.clone();
    let mut add = |kind: Kind| {
        let fact = Fact { scope: facts.scope.clone(), kind };
        let value = facts.answer(&fact).unwrap_or(tamis_core::Value::Absent);
        kinds.insert(fact.kind, value);
    };
    add(Kind::Configuration);
    if said.blind {
        add(Kind::Jars);
    }
    // Who looks at a class file without loading it depends on all of it.
    for (path, times) in class_files {
        let class = facts.index.class_at(path);
        if let Some(class) = class.filter(|c| *times > 1 || !said.depends.loaded.contains(c)) {
            add(Kind::Whole(class));
        }
    }
    kinds
        .into_iter()
        .map(|(kind, value)| {
            let fact = Fact { scope: facts.scope.clone(), kind };
            given(Question::Fact(fact.to_string()), value)
        })
        .collect()
}

/// Observations of several stretches as one.
#[derive(Default)]
struct Looked {
    observed: BTreeMap<Question, Observed>,
    taints: BTreeSet<Taint>,
}

impl Looked {
    fn add(&mut self, observed: impl IntoIterator<Item = Observed>) {
        for observed in observed {
            let Some(known) = self.observed.get_mut(&observed.question) else {
                self.observed.insert(observed.question.clone(), observed);
                continue;
            };
            if known.before != observed.before {
                // Another test of the same JVM changed it in between: what counts is not one state.
                if let Question::Path(path, _) = &observed.question {
                    self.taints.insert(Taint::Unstable(path.clone()));
                }
            }
            known.after = observed.after.or(known.after);
            known.access = known.access.with(observed.access);
        }
    }
}

/// Two runs of one test class in one build.
fn together(earlier: Run, later: Run) -> Run {
    let mut looked = Looked::default();
    looked.add(earlier.observed);
    looked.add(later.observed);
    looked.taints.extend(earlier.taints.into_iter().chain(later.taints));
    let mut left_behind = earlier.left_behind;
    left_behind.extend(later.left_behind);
    left_behind.sort_unstable();
    left_behind.dedup();
    let mut notes = earlier.notes;
    notes.extend(later.notes);
    notes.sort_unstable();
    notes.dedup();
    Run {
        outcome: if earlier.outcome.passed() { later.outcome } else { earlier.outcome },
        wall_us: earlier.wall_us + later.wall_us,
        observed: looked.observed.into_values().collect(),
        taints: looked.taints.into_iter().collect(),
        notes,
        left_behind,
        ..later
    }
}

/// All files and folders of an entry of the classpath.
fn add_files(
    path: &std::path::Path,
    is_folder: bool,
    files: &mut Vec<(std::path::PathBuf, tamis_core::Scheme)>,
) {
    if !is_folder {
        files.push((path.to_path_buf(), tamis_core::Scheme::Raw));
        return;
    }
    files.push((path.to_path_buf(), tamis_core::Scheme::Listing));
    for entry in std::fs::read_dir(path).into_iter().flatten().flatten() {
        let is_folder = entry.file_type().is_ok_and(|t| t.is_dir());
        add_files(&entry.path(), is_folder, files);
    }
}
