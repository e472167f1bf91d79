//! JVMs that no build tool prepared: `tamis java ...`, `tamis ant ...`.
//!
//! The runner inside asks before its first tests: it reports where their classes come from, and with that
//! the JVM becomes a goal like those of a build tool. Then it asks about the test classes, many at once
//! where it knows them. What the JVM reported until then waits, because only the class path shows what it
//! means.
//!
//! A test class that was to be skipped and runs nevertheless (a suite has it as a member, say) is no test
//! of its own: what it does counts for those around it.

use super::{ClassReport, GoalState, Host, JvmModel};
use crate::commands::{self, JAVA};
use crate::configuration::Configuration;
use crate::coverage::{self, Measured};
use crate::goal::{GoalFacts, caches, module_descriptors};
use std::collections::{HashMap, HashSet};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tamis_classpath::ClassIndex;
use tamis_core::record::Observed;
use tamis_core::{
    Cause, Decision, Module, Planned, PortablePath, Question, Scheme, Taint, ToolScope, Value,
};
use tamis_dynamic::Jvm;
use tamis_jvm_wire::{Candidate, FromJvm, Hello, Launch, ToJvm, VERSION};
use tamis_project::Project;
use tamis_session::{Ledger, Services};

/// A JVM with our agent.
#[derive(Debug)]
pub(super) struct AskingJvm {
    hello: Hello,
    answers: UnixStream,
    /// Its goal, and what it reported before it had one.
    state: State,
    /// When it got its goal.
    properties: Vec<(String, String)>,
}

#[derive(Debug)]
enum State {
    Early(Vec<FromJvm>),
    Goal(usize),
}

/// What a runner asked about.
#[derive(Debug, Default)]
pub(super) struct Asks {
    answers: HashMap<String, (Value, Option<String>)>,
    /// Test classes of which several choices were made in one JVM.
    mixed: HashSet<String>,
}

impl Asks {
    /// Whether a test class was not to be skipped.
    pub(super) fn runs(&self, class: &str) -> bool {
        self.answers.get(class).is_none_or(|(_, skipped)| skipped.is_none())
    }
}

impl GoalState {
    pub(super) fn taint_of(&self, class: &str) -> Option<Taint> {
        let mixed = self.asks.as_ref().is_some_and(|asks| asks.mixed.contains(class));
        mixed.then(|| Taint::Unobserved("its runner ran different parts of it one by one".into()))
    }
}

impl JvmModel {
    pub(super) fn asking_connected(
        &mut self,
        services: &mut Services<'_, '_>,
        hello: Hello,
        answers: UnixStream,
    ) {
        services.ledger.collected.launched += 1;
        let state = State::Early(Vec::new());
        let jvm = AskingJvm { hello, answers, state, properties: Vec::new() };
        self.jvms.asking.insert(jvm.hello.pid, jvm);
    }

    /// Takes what only a JVM whose runner asks reports, and what it reports early; gives back what is
    /// left.
    pub(super) fn reported_by_asking(
        &mut self,
        services: &mut Services<'_, '_>,
        pid: u32,
        message: FromJvm,
    ) -> Option<FromJvm> {
        let Some(jvm) = self.jvms.asking.get_mut(&pid) else { return Some(message) };
        match (message, &mut jvm.state) {
            (FromJvm::Launch(launch), _) => self.launch(services, pid, &launch),
            (FromJvm::Choose(candidates), &mut State::Goal(goal)) => {
                let skipped = self.choose(services, goal, pid, &candidates);
                self.answer_asking(pid, &ToJvm::Chosen { skipped });
            }
            (FromJvm::Choose(candidates), State::Early(_)) => {
                self.answer_asking(pid, &ToJvm::Chosen { skipped: vec![None; candidates.len()] });
            }
            (FromJvm::Methods(listed), State::Early(_)) => {
                let skipped = vec![None; listed.methods.len()];
                self.answer_asking(pid, &ToJvm::Chosen { skipped });
            }
            (message, State::Early(early)) => early.push(message),
            (message, State::Goal(_)) => return Some(message),
        }
        None
    }

    /// A JVM ended. What kept it from asking about tests is remarked.
    pub(super) fn asking_gone(&mut self, services: &mut Services<'_, '_>, pid: u32) {
        let early = match self.jvms.asking.remove(&pid).map(|jvm| jvm.state) {
            Some(State::Early(early)) => early,
            Some(State::Goal(number)) => return self.save(services.ledger, number),
            None => return,
        };
        for message in early {
            if let FromJvm::Trouble(why) = message {
                services.ledger.remark(format!("the agent: {why}"));
            }
        }
    }

    fn answer_asking(&mut self, pid: u32, message: &ToJvm) {
        if let Some(jvm) = self.jvms.asking.get_mut(&pid) {
            // A JVM that has gone away needs no answer.
            let _ = tamis_wire::write(&mut jvm.answers, message);
        }
    }

    fn launch(&mut self, services: &mut Services<'_, '_>, pid: u32, launch: &Launch) {
        if self.is_below_tests(pid) {
            // Its tests are the business of the test that started it.
            return self.answer_asking(pid, &ToJvm::Goal { arguments: None });
        }
        let refused = self.launch_refused(services, pid, launch);
        let taken = refused.is_none();
        if let Some(why) = refused {
            services.ledger.collected.refused = true;
            services.ledger.remark(format!(
                "{why}: these test classes run each time, and are recorded with the command only"
            ));
        }
        self.answer_asking(pid, &ToJvm::Goal { arguments: taken.then(String::new) });
    }

    /// Whether a JVM was started by one that runs tests. That one had asked before, so it is known. Ant
    /// hands the agent on only while no test runs inside it.
    fn is_below_tests(&self, pid: u32) -> bool {
        let is_ant =
            |above: &u32| self.jvms.asking.get(above).is_some_and(|jvm| is_ant(&jvm.hello.command));
        tamis_trace::proc::ancestors(pid)
            .filter(|above| self.jvms.hosts.contains_key(above))
            .any(|above| !is_ant(&above))
    }

    /// Makes the JVM a goal; why not.
    fn launch_refused(
        &mut self,
        services: &mut Services<'_, '_>,
        pid: u32,
        launch: &Launch,
    ) -> Option<String> {
        if let Some(why) = &launch.unknown {
            return Some(why.clone());
        }
        let jvm = self.jvms.asking.get(&pid)?;
        let facts = facts(services.ledger.project(), launch, &jvm.hello);
        if let State::Goal(number) = jvm.state {
            return self.launched_again(pid, number, launch, &facts);
        }
        if let Some(why) = facts.index.blind().first() {
            return Some(format!("the classpath of the tests cannot be read: {why}"));
        }
        let facts = self.distinguished(facts);
        let jvm = self.jvms.asking.get_mut(&pid)?;
        let number = self.goals.len();
        let mut model = Jvm::new(Arc::clone(&facts.index), &facts.id).of_jdk(&jvm.hello.java_home);
        if jvm.hello.version != VERSION {
            model.trouble("the agent is of another version");
        }
        if super::has_other_agents(&jvm.hello.vm_arguments) {
            model.asked_unseen();
        }
        jvm.properties.clone_from(&launch.properties);
        let blind = !jvm.hello.blind.is_empty();
        let State::Early(early) = std::mem::replace(&mut jvm.state, State::Goal(number)) else {
            return None;
        };
        let Ok(answers) = jvm.answers.try_clone() else {
            return Some("the connection to the agent cannot be shared".into());
        };
        early.into_iter().for_each(|message| take_early(&mut model, message));
        let host = Host {
            goal: number,
            jvm: model,
            units: HashMap::new(),
            blind,
            ended_well: false,
            loaded: HashSet::new(),
            answers,
            stretches: HashMap::new(),
            cover: super::left_out::JvmCover::default(),
        };
        self.jvms.hosts.insert(pid, host);
        self.cover(launch, &facts);
        services.ledger.collected.scopes += 1;
        let reports = launch.own_folders.iter().map(PathBuf::from).collect();
        let mut goal = GoalState::new(facts, reports);
        goal.end.jvms = 1;
        goal.asks = Some(Asks::default());
        self.goals.push(goal);
        None
    }

    /// A JVM that is a goal already runs more tests; why these cannot be taken.
    fn launched_again(
        &mut self,
        pid: u32,
        number: usize,
        launch: &Launch,
        facts: &GoalFacts,
    ) -> Option<String> {
        let known = &self.jvms.asking.get(&pid)?.properties;
        let property = match launch.other_task {
            true => other_property(known, &launch.properties),
            false => None,
        };
        let differs = differs_from(&self.goals[number].facts, facts).or(property);
        if let (Some(why), Some(host)) = (&differs, self.jvms.hosts.get_mut(&pid)) {
            // From here on it is not certain which class a name stands for.
            host.jvm.trouble(why);
        }
        differs
    }

    /// The facts of a new goal, with a scope of its own where one that was started in another way has
    /// the same.
    fn distinguished(&self, mut facts: GoalFacts) -> GoalFacts {
        // One JVM per test class has the same classes each time.
        let known =
            self.goals.iter().rev().find(|known| known.facts.class_path == facts.class_path);
        if let Some(known) =
            known.filter(|known| known.facts.index.digest() == facts.index.digest())
        {
            facts.index = Arc::clone(&known.facts.index);
        }
        let usual = facts.scope.execution.clone();
        let differs = |facts: &GoalFacts, known: &GoalState| {
            (&known.facts.scope, &known.facts.folder) == (&facts.scope, &facts.folder)
                && !known.facts.configuration.is_like(&facts.configuration)
        };
        for n in 2.. {
            if !self.goals.iter().any(|known| differs(&facts, known)) {
                break;
            }
            facts.scope.execution = match usual.as_str() {
                "" => n.to_string(),
                _ => format!("{usual}/{n}"),
            };
        }
        facts.id = facts.scope.id();
        facts
    }

    fn cover(&self, launch: &Launch, facts: &GoalFacts) {
        self.covered.add_index(&facts.index);
        let folder = [launch.folder.as_str()];
        let others: Vec<&str> =
            folder.into_iter().chain(launch.class_path.iter().map(String::as_str)).collect();
        for folder in &launch.own_folders {
            self.covered.add_own(Path::new(folder), &others);
        }
    }

    /// Why each of these need not run; nothing for those that have to.
    fn choose(
        &mut self,
        services: &mut Services<'_, '_>,
        number: usize,
        pid: u32,
        candidates: &[Candidate],
    ) -> Vec<Option<String>> {
        let (mut answers, open) = self.known_answers(number, candidates);
        let asked = self.needed(services, number, candidates, open);
        let names: Vec<String> = asked.iter().map(|&n| candidates[n].class.clone()).collect();
        for skip in self.decide(services, number, &names) {
            let Some(&n) = asked.get(skip as usize) else { continue };
            let class = &candidates[n].class;
            let why = self.why_skipped(services, number, class);
            let asks = self.goals[number].asks.get_or_insert_default();
            if let Some((_, skipped)) = asks.answers.get_mut(class) {
                *skipped = Some(why.clone());
            }
            answers[n] = Some(why);
        }
        if let Some(host) = self.jvms.hosts.get_mut(&pid) {
            candidates.iter().for_each(|candidate| host.jvm.add_test(&candidate.class));
        }
        if candidates.len() > 1 {
            self.save(services.ledger, number);
        }
        answers
    }

    /// The answers that were given before, and the candidates that are new.
    fn known_answers(
        &mut self,
        number: usize,
        candidates: &[Candidate],
    ) -> (Vec<Option<String>>, Vec<usize>) {
        let mut answers = vec![None; candidates.len()];
        let mut open = Vec::new();
        let goal = &mut self.goals[number];
        let (asks, facts) = (goal.asks.get_or_insert_default(), &mut goal.facts);
        for (n, candidate) in candidates.iter().enumerate() {
            let class = &candidate.class;
            let choice = Value::text(candidate.choice.as_bytes());
            match asks.answers.get(class) {
                Some((known, skipped)) if *known == choice => answers[n].clone_from(skipped),
                Some(_) => drop(asks.mixed.insert(class.clone())),
                None => {
                    asks.answers.insert(class.clone(), (choice, None));
                    Arc::make_mut(&mut facts.choices).insert(class.clone(), choice);
                    open.push(n);
                }
            }
        }
        (answers, open)
    }

    /// Reports the candidates that have to run in any case; gives the others.
    fn needed(
        &mut self,
        services: &mut Services<'_, '_>,
        number: usize,
        candidates: &[Candidate],
        open: Vec<usize>,
    ) -> Vec<usize> {
        let mut asked = Vec::new();
        for n in open {
            let candidate = &candidates[n];
            let goal = &mut self.goals[number];
            let key = goal.facts.class_key(&candidate.class);
            let ran = services.ledger.has_run(&key);
            let again = ran.then(|| "it ran before in this command".to_owned());
            match candidate.needed.clone().or(again) {
                None => asked.push(n),
                Some(why) => {
                    let planned = Planned::new(key, Decision::Run(Cause::Effect(why)));
                    let at = services.ledger.add_planned(&planned);
                    goal.units.insert(candidate.class.clone(), at);
                }
            }
        }
        asked
    }

    fn why_skipped(&self, services: &Services<'_, '_>, number: usize, class: &str) -> String {
        match self.goals[number].units.get(class) {
            Some(&report) => {
                let report = services.ledger.report(report);
                let proof = report.proof.as_deref().map(|proof| format!(" ({proof})"));
                format!("{}{}", report.reason, proof.unwrap_or_default())
            }
            None if services.ledger.options().earlier.is_some() => {
                "it passed before in this call".to_owned()
            }
            None => "it was not asked for".to_owned(),
        }
    }

    /// Remembers the goal with all choices of this command.
    fn save(&mut self, ledger: &Ledger<'_>, number: usize) {
        if ledger.is_trial() {
            return;
        }
        let project = ledger.project();
        let mut facts = self.goals[number].facts.clone();
        let known = self.goals.iter().map(|goal| &goal.facts);
        let same = known.filter(|k| (&k.scope, &k.folder) == (&facts.scope, &facts.folder));
        let choices: Vec<_> = same.map(|known| Arc::clone(&known.choices)).collect();
        let all = Arc::make_mut(&mut facts.choices);
        for choices in choices {
            all.extend(choices.iter().map(|(class, choice)| (class.clone(), *choice)));
        }
        self.keep_goal(project, &facts);
    }

    /// What tools do for themselves while a test runs. TestNG writes reports, into the folder into which the build
    /// tool writes as well; Ant's runner notes each test in a file for Ant.
    pub(super) fn is_tools_own(
        &self,
        project: &Project,
        facts: &GoalFacts,
        path: &PortablePath,
    ) -> bool {
        let path = project.paths.to_absolute(path);
        self.covered.is_own(&path) || is_ants(facts) && is_of_ant(&path)
    }

    /// Whether something that was looked at outside of tests counts for a test. What a runner writes for
    /// itself does not; nor that it listed folders of classes to find tests: each of them is a test of
    /// its own, and whether there are more is nothing to it.
    pub(super) fn counts_outside(
        &self,
        project: &Project,
        facts: &GoalFacts,
        report: &ClassReport,
        observed: &Observed,
    ) -> bool {
        let asked = !facts.choices.is_empty();
        match &observed.question {
            Question::Path(path, scheme) if asked => {
                let absolute = project.paths.to_absolute(path);
                let found = *scheme == Scheme::Listing && holds_classes(&facts.index, &absolute);
                !(self.is_tools_own(project, facts, path) || found && report.depends.found_only)
            }
            _ => true,
        }
    }
}

/// Whether Ant started its tests.
pub(super) fn is_ants(facts: &GoalFacts) -> bool {
    facts.scope.tool == commands::ANT
}

/// What a JVM reported before it was a goal. Nothing that began so far is a test of its own.
fn take_early(model: &mut Jvm, message: FromJvm) {
    match message {
        FromJvm::Class(class) => model.class(&class),
        FromJvm::Window(mut window) => {
            window.open.clear();
            model.window(&window);
        }
        FromJvm::Trouble(why) => model.trouble(&why),
        FromJvm::Initialised { probe, hits, lookups } => model.initialised(probe, &hits, &lookups),
        FromJvm::Globals(globals) => model.globals(&globals),
        FromJvm::State(state) => {
            model.state(&state);
            model.forget_state();
        }
        _ => {}
    }
}

/// Whether the agent reports about this file.
pub(super) fn is_reported(project: &Project, facts: &GoalFacts, observed: &Observed) -> bool {
    let Some(path) = observed.question.path() else { return false };
    let path = project.paths.to_absolute(path);
    let is_class = path.extension().is_some_and(|extension| extension == "class");
    facts.index.has_jar(&path) || is_class && holds_classes(&facts.index, &path)
}

/// Why more tests of a JVM cannot be taken: what is known of its classes holds for the first ones only.
fn differs_from(known: &GoalFacts, now: &GoalFacts) -> Option<String> {
    if known.class_path != now.class_path {
        Some("one JVM runs tests from several classpaths".into())
    } else if known.index.digest() != now.index.digest() {
        Some("classes were compiled since the first tests of this JVM".into())
    } else {
        None
    }
}

/// Says which system property is another one now; tests may have set some, but so may a build tool for
/// the tests to come.
fn other_property(known: &[(String, String)], now: &[(String, String)]) -> Option<String> {
    let missing = |all: &[(String, String)], one: &&(String, String)| {
        !NO_PROPERTY.contains(&one.0.as_str()) && !all.contains(one)
    };
    let gone = known.iter().find(|one| missing(now, one));
    let (name, _) = gone.or_else(|| now.iter().find(|one| missing(known, one)))?;
    Some(format!("the system property {name} changed since the first tests of this JVM"))
}

/// Whether a path is below a folder of the classpath, or is one.
pub(super) fn holds_classes(index: &ClassIndex, path: &Path) -> bool {
    index.paths().any(|(folder, is_folder)| is_folder && path.starts_with(folder))
}

/// Whether a JVM that Gradle started for tests only talked to Gradle: it asks there for each test class.
/// What tests talk to by themselves is seen while they run.
pub(super) fn is_channel(facts: &GoalFacts, taint: &Taint) -> bool {
    let local = ["127.0.0.1:", "[::1]:", "[::ffff:127.0.0.1]:"];
    let is_local = |peer: &String| local.iter().any(|address| peer.starts_with(address));
    facts.scope.tool == commands::GRADLE
        && matches!(taint, Taint::RunningService(peer) if is_local(peer))
}

/// Files by which Ant tells the JVM that it starts what to run: `junit123.properties`.
fn is_of_ant(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let number = name.strip_prefix("junit").and_then(|rest| rest.strip_suffix(".properties"));
    let number = number.map(|n| n.trim_start_matches("vmwatcher").trim_start_matches("testcases"));
    number.is_some_and(|n| !n.is_empty() && n.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Properties that name places, or the process itself: what they lead to is looked at by itself.
const NO_PROPERTY: &[&str] = &[
    "java.class.path",
    "sun.java.command",
    "os.version",
    "java.vm.compressedOopsMode",
    "sun.nio.MaxDirectMemorySize",
    "org.gradle.test.worker",
];

fn facts(project: &Project, launch: &Launch, hello: &Hello) -> GoalFacts {
    let class_path: Vec<PathBuf> = launch.class_path.iter().map(PathBuf::from).collect();
    let folder = project.paths.to_portable(Path::new(&launch.folder)).to_string();
    let index = Arc::new(ClassIndex::load(&class_path, &caches(project)));
    let modules = module_descriptors(&class_path, &index, Path::new(""));
    let configuration = configuration(project, launch, hello, &modules);
    let scope = scope(&hello.command, &folder);
    let arguments = hello.vm_arguments.iter().map(String::as_str);
    let by = coverage::measured_by(arguments, &index);
    GoalFacts {
        id: scope.id(),
        scope,
        artifact: None,
        test_classes: None,
        words: Vec::new(),
        folder,
        index,
        class_path,
        configuration,
        choices: Arc::default(),
        measured: by.map(|by| Measured { by, keeps: false }),
        unbuilt: Arc::default(),
    }
}

/// How a JVM was started.
fn configuration(
    project: &Project,
    launch: &Launch,
    hello: &Hello,
    modules: &[Vec<u8>],
) -> Configuration {
    let command = how_started(&hello.command);
    // Ours is another one each time.
    let is_ours = |a: &str| a.starts_with("-agentpath:") && a.contains("role=launched");
    let arguments = hello.vm_arguments.iter().map(String::as_str).filter(|a| !is_ours(a));
    let arguments: Vec<&str> = arguments.collect();
    // No argument has this sign: the order counts, and where one ends.
    let arguments = arguments.join("\u{1f}");
    let properties = launch.properties.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let properties = properties.filter(|(name, _)| !NO_PROPERTY.contains(name));
    let jdk = tamis_jdk::identity(Path::new(&hello.java_home));
    let named = [("the program's arguments", command), ("the JVM's arguments", arguments.as_str())];
    Configuration::new(project, named.into_iter().chain(properties), &jdk, modules)
}

/// The words behind a program that count. Those of Ant and Gradle to their runners choose tests and name working
/// files; but whether Ant gives one test class to a JVM or a file with several counts: in a shared JVM each
/// finds what others left.
fn how_started(command: &str) -> &str {
    let main = command.split(' ').next().unwrap_or_default();
    if !(main.starts_with(ANT) || main.starts_with(GRADLE)) {
        return command;
    }
    const SEVERAL: &str = " testsfile=";
    match command[main.len()..].starts_with(SEVERAL) {
        true => &command[..main.len() + SEVERAL.len()],
        false => main,
    }
}

/// Ant itself, not what it starts.
fn is_ant(command: &str) -> bool {
    let mains = ["org.apache.tools.ant.launch.Launcher", "org.apache.tools.ant.Main"];
    command.split(' ').next().is_some_and(|main| mains.contains(&main))
}

const ANT: &str = "org.apache.tools.ant.";
const GRADLE: &str = "worker.org.gradle.";

/// What was started, and where.
fn scope(command: &str, folder: &str) -> ToolScope {
    let main = command.split(' ').next().unwrap_or_default();
    let (tool, name) = match main {
        _ if main.starts_with(GRADLE) => {
            let module = Module::Folder(folder.to_owned());
            return ToolScope { tool: commands::GRADLE, module, execution: String::new() };
        }
        _ if main.starts_with(ANT) => (commands::ANT, task_of(main)),
        _ => match main.strip_suffix(".jar") {
            Some(jar) => (JAVA, without_version(jar.rsplit('/').next().unwrap_or(jar))),
            None => (JAVA, main.rsplit(['.', '/']).next().unwrap_or(main)),
        },
    };
    let execution = if folder == "." { "" } else { name };
    ToolScope { tool, module: Module::of(folder, name), execution: execution.to_owned() }
}

/// The task of Ant that a main class is of; tests inside Ant's own JVM may be of any.
fn task_of(main: &str) -> &'static str {
    match main.rsplit('.').next() {
        Some("JUnitTestRunner") => "junit",
        Some("StandaloneLauncher") => "junitlauncher",
        _ => "inside",
    }
}

/// `thing` of `thing-1.2.3`.
fn without_version(name: &str) -> &str {
    let number = |at: &usize| name[at + 1..].starts_with(|c: char| c.is_ascii_digit());
    let at = name.match_indices('-').map(|(at, _)| at).find(number);
    at.map_or(name, |at| &name[..at])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suites_are_called_after_what_was_started() {
        let console = "/x/junit-platform-console-standalone-1.10.2.jar execute -c a.B";
        let scope = |command: &str, folder: &str| super::scope(command, folder).to_string();
        assert_eq!(scope(console, "."), "java:junit-platform-console-standalone");
        assert_eq!(scope("org.junit.runner.JUnitCore a.B", "sub"), "java:sub@JUnitCore");
        assert_eq!(scope("", "."), "java:");
        let junit = "org.apache.tools.ant.taskdefs.optional.junit.JUnitTestRunner a.B x=y";
        assert_eq!(scope(junit, "."), "ant:junit");
        assert_eq!(scope("org.apache.tools.ant.launch.Launcher test", "x"), "ant:x@inside");
    }

    #[test]
    fn properties_that_a_task_sets_are_noticed() {
        let all = |texts: &[(&str, &str)]| -> Vec<(String, String)> {
            texts.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect()
        };
        let known = all(&[("a", "1"), ("sun.java.command", "x")]);
        assert_eq!(other_property(&known, &all(&[("a", "1"), ("sun.java.command", "y")])), None);
        for now in [all(&[("a", "2")]), all(&[]), all(&[("a", "1"), ("b", "1")])] {
            assert!(other_property(&known, &now).is_some(), "{now:?}");
        }
    }

    #[test]
    fn one_test_class_or_several_in_a_jvm_of_ant() {
        let main = "org.apache.tools.ant.taskdefs.optional.junit.JUnitTestRunner";
        let started = |words: &str| how_started(&format!("{main} {words}")).to_owned();
        assert_eq!(started("a.OneTest filtertrace=true"), main);
        assert_eq!(started("testsfile=/tmp/x1 filtertrace=true"), started("testsfile=/tmp/x2"));
        assert_ne!(started("testsfile=/tmp/x1"), started("a.OneTest"));
        assert_eq!(how_started("org.junit.runner.JUnitCore a.B"), "org.junit.runner.JUnitCore a.B");
    }

    #[test]
    fn working_files_of_ant() {
        for name in ["junit32671.properties", "junitvmwatcher1.properties"] {
            assert!(is_of_ant(&Path::new("/x").join(name)), "{name}");
        }
        for name in ["junit.properties", "junit-platform.properties", "junit1.xml", "a1.properties"]
        {
            assert!(!is_of_ant(Path::new(name)), "{name}");
        }
    }

    #[test]
    fn a_test_class_without_an_answer_runs() {
        let mut asks = Asks::default();
        assert!(asks.runs("a.B"));
        let value = Value::text(b"x");
        asks.answers.insert("a.B".into(), (value, Some("proof".into())));
        asks.answers.insert("a.C".into(), (value, None));
        assert!(!asks.runs("a.B") && asks.runs("a.C"));
    }
}
