//! The model of a command that starts JVMs: takes what JVMs and the tracer report, asks for decisions about
//! test classes ([`deciding`]), and makes their records ([`writing`]).
//!
//! One thread does it all, in the order in which it arrives. A test class has two halves: what its JVM
//! reported ([`Depends`]) and which files it looked at; they arrive in any order, and the record is made
//! when both are there.

mod children;
mod counted;
mod deciding;
mod finishing;
mod left_out;
mod parts;
mod runner_scope;
mod state;
mod writing;

use crate::agent_arguments::{self, AgentArguments};
use crate::commands::{self, Launcher};
use crate::covered::CoveredClasses;
use crate::goal::{GoalFacts, refusal};
use crate::launch;
use crate::saved_goals;
use anyhow::Result;
use counted::Numbering;
use left_out::{JvmCover, LeftOut};
use state::{
    Build, ClassReport, Division, GoalState, Host, Jvms, MethodReport, MethodReports, Unit,
};
use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::ffi::OsString;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;
use tamis_core::Taint;
use tamis_dynamic::{Depends, Jvm, outermost};
use tamis_jvm_wire::{Began, Ended, FromJvm, Goal, Hello, Role, Scanned, ToJvm, VERSION, Verdict};
use tamis_observe::{CoveredPaths, Observations, WindowEnded};
use tamis_project::Project;
use tamis_session::{
    Invocation, Joiner, Model, NOT_COLLECTED, Services, Session, SessionOptions, Start,
};
use tamis_wire::FromProcess;

pub(crate) struct JvmModel {
    launcher: Launcher,
    /// Of the command, behind its program.
    words: Vec<String>,
    arguments: AgentArguments,
    covered: Arc<CoveredClasses>,
    goals: Vec<GoalState>,
    jvms: Jvms,
    /// What the tracer saw of each host and is not taken yet.
    windows: HashMap<u32, VecDeque<WindowEnded>>,
    /// What each JVM read as classes before it was known which of them its agent reports about.
    undecided: HashMap<u32, Vec<Arc<Observations>>>,
    joiner: Joiner<(ClassReport, MethodReports)>,
    numbering: Numbering,
    began: SystemTime,
    /// Modules whose sources are kept as they are in this build.
    built: BTreeSet<PathBuf>,
}

impl JvmModel {
    pub(crate) fn new(
        launcher: Launcher,
        words: &[OsString],
        session: &Session,
        options: &SessionOptions,
    ) -> Self {
        let words = words.iter().skip(1).map(|word| word.to_string_lossy().into_owned());
        Self {
            launcher,
            words: words.collect(),
            arguments: AgentArguments::new(session, options.parts),
            covered: Arc::default(),
            goals: Vec::new(),
            jvms: Jvms::default(),
            windows: HashMap::new(),
            undecided: HashMap::new(),
            joiner: Joiner::default(),
            numbering: Numbering::default(),
            began: SystemTime::now(),
            built: BTreeSet::new(),
        }
    }

    /// Gives Maven's own JVM the agent, with the properties of modules where some were chosen.
    fn maven_environment(&self, services: &Services<'_, '_>, invocation: &mut Invocation) {
        let Some(mut value) = self.arguments.first(Role::Build) else { return };
        let choice = services.ledger.command().choice.as_deref();
        let folder = services.session.folder();
        match choice.map_or(Ok(None), |c| agent_arguments::module_properties(folder, c)) {
            Ok(Some(file)) => value += &format!(" -Dtamis.module.properties={file}"),
            Ok(None) => {}
            Err(()) => services.ledger.notices().warn(
                "upstream-args and downstream-args have no effect: no temp file for them".into(),
            ),
        }
        if let Some(trial) = &services.ledger.options().trial {
            value += if trial.apart { " -Dtamis.forks=apart" } else { " -Dtamis.forks=together" };
        }
        let environment = std::mem::take(&mut invocation.environment);
        invocation.environment = launch::put_first("MAVEN_OPTS", value, environment);
    }
}

impl Model for JvmModel {
    fn prepare(
        &mut self,
        services: &mut Services<'_, '_>,
        invocation: &mut Invocation,
    ) -> Result<Start> {
        if self.launcher == Launcher::Maven {
            self.maven_environment(services, invocation);
            return Ok(Start::Run);
        }
        let argument = self.arguments.first(Role::Launched);
        if let (Some(variable), Some(argument)) = (launch::variable(self.launcher), &argument) {
            let environment = std::mem::take(&mut invocation.environment);
            invocation.environment = launch::put_first(variable, argument, environment);
        }
        let words = std::mem::take(&mut invocation.words);
        invocation.words = launch::words(self.launcher, argument.as_deref(), words);
        Ok(Start::Run)
    }

    fn covered(&self) -> Arc<dyn CoveredPaths + Send + Sync> {
        Arc::clone(&self.covered) as _
    }

    fn connected(
        &mut self,
        services: &mut Services<'_, '_>,
        channel: Option<usize>,
        hello: tamis_wire::Hello,
        answers: UnixStream,
    ) {
        match hello.payload.read::<Hello>() {
            Ok(hello) => self.jvm_connected(services, channel, hello, answers),
            Err(error) => services.ledger.remark(format!("a JVM that connected: {error}")),
        }
    }

    fn message(&mut self, services: &mut Services<'_, '_>, pid: u32, message: FromProcess) {
        let message = FromJvm::of_process(message);
        self.reported(services, pid, message.unwrap_or_else(|e| FromJvm::Trouble(e.to_string())));
    }

    fn gone(&mut self, services: &mut Services<'_, '_>, pid: u32) {
        self.jvms.builds.remove(&pid);
        self.jvms.unclaimed.remove(&pid);
        self.asking_gone(services, pid);
        self.child_gone(services, pid);
        if let Some(host) = self.jvms.hosts.remove(&pid) {
            let end = &mut self.goals[host.goal].end;
            end.jvms_ended_well &= host.ended_well;
            if host.ended_well {
                end.looked_at.extend(host.loaded);
            }
            end.ran_outside.append(&mut host.jvm.ran_outside());
            if host.ended_well {
                self.note_outside(pid, host.goal, host.cover.outside);
            }
        }
    }

    fn window(&mut self, services: &mut Services<'_, '_>, window: WindowEnded) {
        self.window_ended(services, window);
    }

    fn finish(mut self: Box<Self>, services: &mut Services<'_, '_>) {
        let hosts: Vec<u32> = self.windows.keys().copied().collect();
        for host in hosts {
            self.take_windows(services, host, true);
        }
        self.finish_goals(services);
    }
}

impl JvmModel {
    fn jvm_connected(
        &mut self,
        services: &mut Services<'_, '_>,
        channel: Option<usize>,
        hello: Hello,
        answers: UnixStream,
    ) {
        match (hello.role, channel.filter(|&goal| goal < self.goals.len())) {
            (Role::Build, _) => {
                let java_home = hello.java_home;
                self.jvms
                    .builds
                    .insert(hello.pid, Build { java_home, answers, goals: HashMap::new() });
            }
            (Role::Tests | Role::Outcomes, Some(goal)) => {
                let goal_state = &self.goals[goal];
                let mut jvm = Jvm::new(Arc::clone(&goal_state.facts.index), &goal_state.facts.id)
                    .of_jdk(&hello.java_home)
                    .with_tests(goal_state.units.keys().map(String::as_str));
                if hello.version != VERSION {
                    jvm.trouble("the agent is of another version");
                }
                if has_other_agents(&hello.vm_arguments) {
                    jvm.asked_unseen();
                }
                let blind = !hello.blind.is_empty();
                let (units, loaded) = (HashMap::new(), HashSet::new());
                let stretches = HashMap::new();
                let cover = JvmCover::default();
                let ended_well = false;
                let host =
                    Host { goal, jvm, units, blind, ended_well, loaded, answers, stretches, cover };
                self.jvms.hosts.insert(hello.pid, host);
                self.goals[goal].end.jvms += 1;
            }
            (Role::Tests | Role::Outcomes, None) => {
                drop(self.jvms.unclaimed.insert(hello.pid, answers))
            }
            (Role::Launched, _) => self.asking_connected(services, hello, answers),
            (Role::Child(host), _) => {
                if !self.child_connected(host, &hello) {
                    self.jvms.unclaimed.insert(hello.pid, answers);
                }
            }
        }
    }

    fn reported(&mut self, services: &mut Services<'_, '_>, pid: u32, message: FromJvm) {
        if self.jvms.builds.contains_key(&pid) {
            match message {
                FromJvm::Goal(goal) => self.goal(services, pid, &goal),
                FromJvm::Scanned(scanned) => self.scanned(services, pid, &scanned),
                FromJvm::Trouble(why) => {
                    services.ledger.remark(format!("the agent in Maven: {why}"))
                }
                FromJvm::GoalEnded { goal, error } => self.goal_ended(services, pid, goal, error),
                _ => {}
            }
            return;
        }
        let Some(message) = self.reported_by_child(pid, message) else { return };
        let Some(message) = self.reported_by_asking(services, pid, message) else { return };
        if let FromJvm::Methods(methods) = &message {
            return self.methods_listed(services, pid, methods);
        }
        let observes = services.ledger.options().observes();
        let Some(host) = self.jvms.hosts.get_mut(&pid) else { return };
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
                // What is no test class of the goal (a nested class, a suite's member that is not
                // asked for) belongs to those that are, or else to all tests.
                window.open.retain(|test| {
                    host.units.contains_key(test) || host.stretches.contains_key(test)
                });
                host.jvm.window(&window);
            }
            FromJvm::Began(Began { test, stretch: Some(stretch), .. }) => {
                host.stretch_began(test, stretch);
            }
            FromJvm::Initialised { probe, hits, lookups } => {
                host.jvm.initialised(probe, &hits, &lookups);
            }
            FromJvm::Covered(covered) => {
                let open =
                    covered.open.iter().copied().filter(|test| host.units.contains_key(test));
                host.cover.covered(&open.collect::<Vec<u32>>(), &covered);
            }
            FromJvm::State(state) => host.jvm.state(&state),
            FromJvm::Globals(globals) => host.jvm.globals(&globals),
            FromJvm::Undivided { class, why } => host.undivided(Some(&class), &why),
            FromJvm::Began(began) => {
                let class = test_class(&self.goals[host.goal], host, &began.class);
                if class.is_none() {
                    host.jvm.forget_state();
                }
                if let Some(class) = class {
                    let key = self.goals[host.goal].facts.class_key(&class);
                    services.ledger.runs_in(pid, key);
                    host.jvm.began(began.test, &class);
                    let division = Division::default();
                    let unit = Unit { class, began: SystemTime::now(), division };
                    host.units.insert(began.test, unit);
                    if host.units.len() > 1 {
                        host.undivided(None, "other test classes run at the same time");
                    }
                }
            }
            FromJvm::Ended(ended) => self.test_ended(services, pid, &ended),
            FromJvm::Trouble(why) => {
                host.jvm.trouble(&why);
                self.goals[host.goal].end.jvms_ended_well = false;
            }
            FromJvm::Bye => host.ended_well = true,
            _ => {}
        }
    }

    fn goal_ended(
        &mut self,
        services: &mut Services<'_, '_>,
        pid: u32,
        goal: u32,
        error: Option<String>,
    ) {
        let mut files = Vec::new();
        if let Some(&number) = self.jvms.builds[&pid].goals.get(&goal) {
            let end = &mut self.goals[number].end;
            end.green = error.is_none();
            // Anything else than failed tests may have kept classes from running.
            end.well = error.is_none_or(|e| e.contains("There are test failures"));
            files = self.files_left_out(services.ledger, number);
        }
        let build = self.jvms.builds.get_mut(&pid).expect("asked by this build");
        answer(build, &ToJvm::Files(files));
    }

    fn goal(&mut self, services: &mut Services<'_, '_>, pid: u32, goal: &Goal) {
        let java_home = self.jvms.builds[&pid].java_home.clone();
        let project = services.ledger.project();
        let (facts, exec) = GoalFacts::new(project, goal, &java_home, &self.words);
        let number = self.goals.len();
        let mut refusal = refusal(goal, &facts.index);
        let mut arguments = None;
        if refusal.is_none() {
            let role =
                if services.ledger.options().observes() { Role::Tests } else { Role::Outcomes };
            match services.listen(number) {
                Ok(socket) => arguments = self.arguments.on(&socket, role),
                Err(error) => refusal = Some(format!("{error:#}")),
            }
        }
        if let Some(why) = &refusal {
            services.ledger.collected.refused = true;
            let scope = &facts.scope;
            services
                .ledger
                .remark(format!("{scope}: {why}: all its tests run and none is recorded"));
        } else {
            self.covered.add(goal, &facts.index);
            if let Some(exec) = &exec {
                self.covered.add_own(&exec.file, &[]);
            }
            remark_configuration(services.ledger, &facts);
            if !services.ledger.is_trial() {
                self.keep_goal(project, &facts);
            }
        }
        services.ledger.collected.scopes += 1;
        let mut state = GoalState::new(facts, CoveredClasses::own_folders(goal));
        state.refusal = refusal;
        state.left_out = LeftOut::of(goal, exec);
        state.retries = retries(goal);
        self.goals.push(state);
        let build = self.jvms.builds.get_mut(&pid).expect("asked by this build");
        build.goals.insert(goal.id, number);
        answer(build, &ToJvm::Goal { arguments });
    }

    /// Remembers a goal and what its classes were made of. Without it explanations are poorer, nothing else.
    fn keep_goal(&mut self, project: &Project, facts: &GoalFacts) {
        let _ = saved_goals::save(project, facts);
        if commands::compiles(self.launcher, &self.words) {
            saved_goals::save_sources(project, facts, &mut self.built, self.began);
        }
    }

    fn scanned(&mut self, services: &mut Services<'_, '_>, pid: u32, scanned: &Scanned) {
        let number = self.jvms.builds[&pid].goals.get(&scanned.goal).copied();
        let skip = match number {
            Some(number) if self.goals[number].refusal.is_none() => {
                self.decide(services, number, &scanned.classes)
            }
            _ => Vec::new(),
        };
        let build = self.jvms.builds.get_mut(&pid).expect("asked by this build");
        answer(build, &ToJvm::Skip { classes: skip });
    }

    fn test_ended(&mut self, services: &mut Services<'_, '_>, pid: u32, ended: &Ended) {
        let Some(host) = self.jvms.hosts.get_mut(&pid) else { return };
        if host.stretch_ended(ended) {
            return;
        }
        let Some(mut unit) = host.units.remove(&ended.test) else {
            // Its window belongs to those around it, its files to everybody later.
            return self.joiner.is_no_unit(pid, ended.test);
        };
        let passed = ended.verdict == Verdict::Passed;
        let options = services.ledger.options();
        let goal = host.goal;
        if !options.collect && self.goals[goal].graph.is_none() {
            return self.ended_unobserved(services, pid, unit, ended);
        }
        let key = self.goals[goal].facts.class_key(&unit.class);
        if let Some(graph) = &mut self.goals[goal].graph {
            // One that is flaky is selected again.
            graph.finished(&key.unit, passed && !options.failed_before(&key));
            return self.report_outcome(services, goal, &unit.class, passed, ended.wall_us);
        }
        let partly = !unit.division.left_out.is_empty();
        let mut methods = MethodReports { partly, ..MethodReports::default() };
        if options.parts {
            match self.method_reports(pid, ended.test, &mut unit.division) {
                Ok(reports) => {
                    methods.methods = reports;
                    methods.between = unit.division.between;
                    methods.listed = unit.division.listed.unwrap_or_default();
                }
                // A class that failed before its methods is red anyway, and what is no class has none.
                Err(why) if passed && self.is_class(goal, &unit.class) => {
                    self.not_divided(goal, &unit.class, why);
                }
                Err(_) => {}
            }
        }
        let Some(host) = self.jvms.hosts.get_mut(&pid) else { return };
        let (depends, blind) = (host.jvm.ended(ended.test), host.blind);
        self.note_cover(pid, ended.test, &unit.class, &depends);
        let report = ClassReport {
            goal,
            class: unit.class,
            method: None,
            began: unit.began,
            depends,
            verdict: ended.verdict,
            wall_us: ended.wall_us,
            blind,
        };
        let both = self.joiner.reported(pid, ended.test, (report, methods));
        if let Some((reports, seen)) = both {
            self.both_known(services, pid, reports, seen);
        }
    }

    /// Nothing is recorded of a test class that passed. One that did not must not be skipped on an
    /// older record.
    fn ended_unobserved(
        &mut self,
        services: &mut Services<'_, '_>,
        pid: u32,
        unit: Unit,
        ended: &Ended,
    ) {
        let Some(goal) = self.jvms.hosts.get(&pid).map(|host| host.goal) else { return };
        let key = self.goals[goal].facts.class_key(&unit.class);
        let failed_before = services.ledger.options().failed_before(&key);
        if ended.verdict == Verdict::Passed && !failed_before {
            return self.report_outcome(services, goal, &unit.class, true, ended.wall_us);
        }
        let report = ClassReport {
            goal,
            class: unit.class,
            method: None,
            began: unit.began,
            depends: Depends::default(),
            verdict: ended.verdict,
            wall_us: ended.wall_us,
            blind: true,
        };
        let why = Taint::Unobserved(NOT_COLLECTED.into());
        self.write(services.ledger, pid, report, &[&writing::nothing_seen()], Some(why));
    }

    fn report_outcome(
        &self,
        services: &mut Services<'_, '_>,
        goal: usize,
        class: &str,
        passed: bool,
        wall_us: u64,
    ) {
        if let Some(&at) = self.goals[goal].units.get(class) {
            services.ledger.report_outcome(at, passed, wall_us);
        }
    }
}

/// The test class that a class which began stands for. One that is nested in a test class stands for it
/// where that one was not reported, as with a `suite()` of JUnit 3.
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

/// Whether other agents came with the JVM: one can have asked for variables before ours was there.
pub(crate) fn has_other_agents(arguments: &[String]) -> bool {
    let native = arguments.iter().filter(|argument| argument.starts_with("-agentpath:"));
    let is_other = |argument: &String| {
        argument.starts_with("-javaagent:") || argument.starts_with("-agentlib:")
    };
    native.count() > 1 || arguments.iter().any(is_other)
}

/// Says what is different in how the tests are started.
fn remark_configuration(ledger: &mut tamis_session::Ledger<'_>, facts: &GoalFacts) {
    let before = saved_goals::configuration_before(ledger.project(), facts);
    let Some(before) = before else { return };
    if let Some(what) = facts.configuration.changed_since(&before) {
        ledger.remark(format!("{}: test configuration changed: {what}", facts.scope));
    }
    if let Some(what) = facts.configuration.properties_changed_since(&before) {
        let scope = &facts.scope;
        ledger.remark(format!("{scope}: for tests that ask for it: {what}"));
    }
}

/// Whether a goal was configured to try failed tests again.
fn retries(goal: &Goal) -> bool {
    let number = |(name, value): &(String, String)| {
        name.ends_with("rerunFailingTestsCount") && value.trim().parse().is_ok_and(|n: u32| n > 0)
    };
    goal.configuration.iter().any(number)
}

fn answer(build: &mut Build, message: &ToJvm) {
    // A build that has gone away needs no answer.
    let _ = tamis_wire::write(&mut build.answers, message);
}
