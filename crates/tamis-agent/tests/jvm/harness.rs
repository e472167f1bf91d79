//! Plays tamis: listens, answers, and puts together what the JVMs say.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use tamis_classfile::ClassFile;
use tamis_jvm_wire::{ClassSeen, FromJvm, Hello, Lookup, Options, Role, ToJvm, Verdict};
use tamis_testkit::tools::built;
use tamis_testkit::{Jdk, Sources, class_files, jdk, jdks};
use tempfile::TempDir;

/// How a question is answered; by default goals are left alone and nothing is skipped.
pub(crate) type Answer = dyn Fn(&FromJvm) -> Option<ToJvm> + Send + Sync;

pub(crate) struct Server {
    folder: TempDir,
    received: Arc<Mutex<Vec<(usize, FromJvm)>>>,
    accept: Option<JoinHandle<()>>,
}

impl Server {
    pub(crate) fn new() -> Self {
        Self::answering(|_| None)
    }

    pub(crate) fn answering(
        answer: impl Fn(&FromJvm) -> Option<ToJvm> + Send + Sync + 'static,
    ) -> Self {
        let folder = tempfile::tempdir().expect("a folder for the socket");
        let listener = UnixListener::bind(folder.path().join("s")).expect("a socket");
        let received = Arc::new(Mutex::new(Vec::new()));
        let answer: Arc<Answer> = Arc::new(answer);
        let accept = {
            let received = received.clone();
            std::thread::spawn(move || accept(&listener, &received, &answer))
        };
        Self { folder, received, accept: Some(accept) }
    }

    /// The argument for `java`.
    pub(crate) fn argument(&self, role: Role) -> String {
        let socket = self.folder.path().join("s");
        let options = Options { socket, token: "tok".into(), role, methods: false };
        options.argument(&library()).expect("the target folder has a plain path")
    }

    /// Waits until every JVM has hung up; gives what each sent, in order of their greeting.
    pub(crate) fn finish(mut self) -> Vec<Vec<FromJvm>> {
        // A connection that says nothing is the sign to stop.
        drop(UnixStream::connect(self.folder.path().join("s")));
        self.accept.take().expect("finished once").join().expect("no panic");
        let mut jvms: BTreeMap<usize, Vec<FromJvm>> = BTreeMap::new();
        for (jvm, message) in self.received.lock().expect("no panic").drain(..) {
            jvms.entry(jvm).or_default().push(message);
        }
        jvms.into_values().collect()
    }
}

fn accept(
    listener: &UnixListener,
    received: &Arc<Mutex<Vec<(usize, FromJvm)>>>,
    answer: &Arc<Answer>,
) {
    let mut readers = Vec::new();
    for jvm in 0.. {
        let (mut stream, _) = listener.accept().expect("a connection");
        let Ok(Some(first)) = tamis_jvm_wire::read(&mut stream) else { break };
        received.lock().expect("no panic").push((jvm, first));
        let (received, answer) = (received.clone(), answer.clone());
        readers.push(std::thread::spawn(move || {
            while let Ok(Some(message)) = tamis_jvm_wire::read(&mut stream) {
                let reply = match &message {
                    FromJvm::Goal(_) => answer(&message).or(Some(ToJvm::Goal { arguments: None })),
                    FromJvm::Scanned(_) => {
                        answer(&message).or(Some(ToJvm::Skip { classes: Vec::new() }))
                    }
                    FromJvm::GoalEnded { .. } => {
                        answer(&message).or(Some(ToJvm::Files(Vec::new())))
                    }
                    _ => None,
                };
                received.lock().expect("no panic").push((jvm, message));
                if let Some(reply) = reply {
                    tamis_jvm_wire::write(&mut stream, &reply).expect("the JVM waits for it");
                }
            }
        }));
    }
    for reader in readers {
        reader.join().expect("no panic");
    }
}

/// The agent as cargo built it for this test.
pub(crate) fn library() -> PathBuf {
    built("libtamis_agent.so")
}

/// Those that are tried: all from 8 on that are here.
pub(crate) fn tried_jdks() -> Vec<Jdk> {
    jdks().into_iter().filter(|jdk| jdk.release >= 8).collect()
}

/// A program under the agent.
pub(crate) struct Program<'p> {
    pub(crate) jdk: &'p Jdk,
    pub(crate) class_path: Vec<PathBuf>,
    pub(crate) jvm: Vec<String>,
    pub(crate) arguments: Vec<String>,
}

impl<'p> Program<'p> {
    /// A main class and its arguments.
    pub(crate) fn new(
        jdk: &'p Jdk,
        class_path: Vec<PathBuf>,
        arguments: &[impl AsRef<str>],
    ) -> Self {
        let arguments = arguments.iter().map(|a| a.as_ref().to_owned()).collect();
        Self { jdk, class_path, jvm: Vec::new(), arguments }
    }

    /// JUnit 4's own runner with these test classes.
    pub(crate) fn junit4(
        jdk: &'p Jdk,
        class_path: Vec<PathBuf>,
        tests: &[impl AsRef<str>],
    ) -> Self {
        let runner = std::iter::once("org.junit.runner.JUnitCore");
        let all: Vec<&str> = runner.chain(tests.iter().map(AsRef::as_ref)).collect();
        Self::new(jdk, class_path, &all)
    }

    pub(crate) fn command(&self, agent: &str) -> Command {
        let mut command = Command::new(self.jdk.tool("java"));
        command.arg(agent).args(&self.jvm).arg("-cp");
        command.arg(std::env::join_paths(&self.class_path).expect("a class path"));
        command.args(&self.arguments);
        command.env_remove("JAVA_TOOL_OPTIONS");
        command
    }

    /// Runs it to its end; its output and everything that it sent.
    pub(crate) fn run(&self) -> (Output, JvmReport) {
        let server = Server::new();
        let mut command = self.command(&server.argument(Role::Tests));
        let output = command.output().expect("java starts");
        let mut jvms = server.finish();
        assert_eq!(jvms.len(), 1, "one JVM was started: {output:?}");
        (output, JvmReport::new(jvms.remove(0), &self.class_path))
    }
}

/// What one JVM reported, by test.
#[derive(Debug, Default)]
pub(crate) struct JvmReport {
    pub(crate) hello: Option<Hello>,
    pub(crate) classes: Vec<ClassSeen>,
    /// Class name, then what ran in its tests; under "" what ran outside of any.
    pub(crate) tests: BTreeMap<String, Test>,
    pub(crate) troubles: Vec<String>,
    pub(crate) bye: bool,
    /// Static initialisers, and what ran in them.
    initialised: BTreeMap<String, BTreeSet<String>>,
    pub(crate) messages: Vec<FromJvm>,
}

#[derive(Debug, Default)]
pub(crate) struct Test {
    pub(crate) verdicts: Vec<Verdict>,
    pub(crate) framework: String,
    /// `a.B.method` for classes whose files are at hand, each once.
    pub(crate) methods: BTreeSet<String>,
    pub(crate) lookups: BTreeSet<Lookup>,
}

impl JvmReport {
    pub(crate) fn new(messages: Vec<FromJvm>, class_path: &[PathBuf]) -> Self {
        let mut report = Self::default();
        let mut names: BTreeMap<u32, String> = BTreeMap::new();
        let mut methods: BTreeMap<u32, String> = BTreeMap::new();
        let known = methods_by_class(class_path);
        for message in &messages {
            match message {
                FromJvm::Hello(hello) => report.hello = Some(hello.clone()),
                FromJvm::Class(class) => {
                    let name = String::from_utf8_lossy(&class.name).replace('/', ".");
                    for (offset, method) in known.get(&name).into_iter().flatten().enumerate() {
                        methods
                            .insert(class.first_probe + offset as u32, format!("{name}.{method}"));
                    }
                    if let Some(all) = known.get(&name).filter(|_| class.problem.is_none()) {
                        assert_eq!(all.len(), class.probes as usize, "{name}");
                    }
                    report.classes.push(class.clone());
                }
                FromJvm::Began(began) => {
                    names.insert(began.test, began.class.clone());
                    let test = report.tests.entry(began.class.clone()).or_default();
                    test.framework.clone_from(&began.framework);
                }
                FromJvm::Window(window) => {
                    let mut owners: Vec<String> =
                        window.open.iter().map(|id| names[id].clone()).collect();
                    if owners.is_empty() {
                        owners.push(String::new());
                    }
                    for owner in owners {
                        let test = report.tests.entry(owner).or_default();
                        let ids = window.hits.iter();
                        test.methods.extend(ids.filter_map(|id| methods.get(&id).cloned()));
                        test.lookups.extend(window.lookups.iter());
                    }
                }
                FromJvm::Ended(ended) => {
                    let test = report.tests.get_mut(&names[&ended.test]).expect("it began");
                    test.verdicts.push(ended.verdict);
                }
                FromJvm::Initialised { probe, hits, .. } => {
                    let ran = hits.iter().filter_map(|id| methods.get(&id).cloned()).collect();
                    report.initialised.insert(methods[probe].clone(), ran);
                }
                FromJvm::Trouble(what) => report.troubles.push(what.clone()),
                FromJvm::Bye => report.bye = true,
                FromJvm::Goal(_)
                | FromJvm::Scanned(_)
                | FromJvm::Launch(_)
                | FromJvm::Choose(_)
                | FromJvm::Methods(_)
                | FromJvm::State(_)
                | FromJvm::Undivided { .. }
                | FromJvm::Globals(_)
                | FromJvm::Covered(_)
                | FromJvm::GoalEnded { .. } => {}
            }
        }
        report.messages = messages;
        report
    }

    /// The methods of the class path's folders that ran in a test.
    pub(crate) fn ran(&self, test: &str) -> Vec<&str> {
        let test = self.tests.get(test).unwrap_or_else(|| panic!("{test} began: {self:?}"));
        test.methods.iter().map(String::as_str).collect()
    }

    pub(crate) fn initialised(&self) -> &BTreeMap<String, BTreeSet<String>> {
        &self.initialised
    }

    pub(crate) fn verdicts(&self, test: &str) -> &[Verdict] {
        &self.tests.get(test).unwrap_or_else(|| panic!("{test} began: {self:?}")).verdicts
    }

    /// Everything went well and every class has its probes.
    pub(crate) fn assert_sound(&self) {
        assert!(self.bye, "it said goodbye: {self:?}");
        assert!(self.troubles.is_empty(), "{:?}", self.troubles);
        let problems: Vec<_> = self.classes.iter().filter(|c| c.problem.is_some()).collect();
        assert!(problems.is_empty(), "{problems:?}");
        assert!(matches!(self.messages.first(), Some(FromJvm::Hello(_))));
    }
}

fn methods_by_class(class_path: &[PathBuf]) -> BTreeMap<String, Vec<String>> {
    let mut known = BTreeMap::new();
    for folder in class_path.iter().filter(|entry| entry.is_dir()) {
        for (_, bytes) in class_files(folder) {
            let class = ClassFile::parse(&bytes).expect("javac wrote it");
            let text = |name: &[u8]| String::from_utf8_lossy(name).replace('/', ".");
            let with_code = class.methods.iter().filter(|method| {
                method.attributes.iter(&class.pool).any(|a| a.is_ok_and(|a| a.name == b"Code"))
            });
            known.insert(text(class.name), with_code.map(|method| text(method.name)).collect());
        }
    }
    known
}

/// Java 8 classes of these sources.
pub(crate) fn compile(files: &[(&str, &str)], jars: &[PathBuf]) -> PathBuf {
    Sources::new().release(8).files(files).classpaths(jars).compile(&jdk())
}
