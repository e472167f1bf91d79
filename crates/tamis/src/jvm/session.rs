//! The JVMs of one run: the agent's file, the sockets that they connect to, the threads that listen.

use crate::cases::Case;
use crate::jvm::collect::{Collected, Collector, Input, Wishes};
use crate::jvm::goal::Told;
use crate::modules::choice::Choice;
use crate::project::{Project, cache_folder};
use anyhow::{Context as _, Result};
use std::ffi::OsString;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Mutex, PoisonError};
use std::thread::Scope;
use tamis_observe::Agent;
use tamis_wire::{FromJvm, Options, Role};

/// What is made before the command starts.
#[derive(Debug)]
pub(crate) struct Session {
    /// A folder of this run alone; removed at its end.
    folder: tempfile::TempDir,
    library: PathBuf,
    token: String,
    pub(crate) told: Told,
    /// Made first: where there can be no socket, the command is observed as a whole.
    build: Mutex<Option<UnixListener>>,
    over: AtomicBool,
    sockets: Mutex<Vec<PathBuf>>,
    /// Agents tell the methods of test classes apart.
    methods: bool,
}

impl Session {
    pub(crate) fn new(methods: bool) -> Result<Self> {
        let folder = socket_folder().context("no temp folder for the agent's socket")?;
        let build = bind(&folder.path().join(BUILD))?;
        let place = cache_folder().map_or_else(|| folder.path().into(), |c| c.join("agent"));
        let mut library = tamis_agent_file::install(&place)
            .or_else(|_| tamis_agent_file::install(folder.path()))
            .context("the agent for the JVM could not be written")?;
        // Arguments of JVMs are split at blanks: such a path gets another name.
        if options(Path::new("/s"), "t", Role::Build, false).argument(&library).is_none() {
            let link = folder.path().join("agent.so");
            std::os::unix::fs::symlink(&library, &link)
                .context("the agent for the JVM could not be linked")?;
            library = link;
        }
        let token = folder.path().file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Self {
            folder,
            library,
            token,
            told: Told::default(),
            build: Mutex::new(Some(build)),
            over: AtomicBool::new(false),
            sockets: Mutex::default(),
            methods,
        })
    }

    pub(crate) fn agent(&self) -> Agent<'_> {
        Agent {
            token: &self.token,
            library: self.library.as_os_str().as_encoded_bytes(),
            folder: self.folder.path().as_os_str().as_encoded_bytes(),
            hosts: &self.told,
        }
    }

    /// The environment with the agent for the build tool's own JVM.
    pub(crate) fn environment(
        &self,
        mut environment: Vec<(OsString, OsString)>,
        choice: Option<&Choice>,
    ) -> Vec<(OsString, OsString)> {
        let Some(argument) = self.argument(&self.folder.path().join(BUILD), Role::Build) else {
            return environment;
        };
        let mut value = OsString::from(argument);
        if let Some(file) = choice.and_then(|choice| self.module_properties(choice)) {
            value.push(format!(" -Dtamis.module.properties={file}"));
        }
        if let Some(at) = environment.iter().position(|(name, _)| name == "MAVEN_OPTS") {
            value.push(" ");
            value.push(environment.remove(at).1);
        }
        environment.push(("MAVEN_OPTS".into(), value));
        environment
    }

    /// A file with the properties of modules, for the agent in Maven; none where there are none.
    fn module_properties(&self, choice: &Choice) -> Option<String> {
        let lines = choice.properties.iter();
        let text: String =
            lines.map(|(m, name, value)| format!("{m}\t{name}\t{value}\n")).collect();
        let file = self.folder.path().join("module-properties");
        let name = file.to_str().filter(|name| !name.contains(char::is_whitespace));
        if text.is_empty() {
            return None;
        }
        if name.is_none() || std::fs::write(&file, text).is_err() {
            eprintln!(
                "tamis: upstream-args and downstream-args have no effect: no temp file for them"
            );
            return None;
        }
        name.map(str::to_owned)
    }

    /// The argument for a JVM that is started without a build tool; its runner asks.
    pub(crate) fn launch_argument(&self) -> Option<String> {
        self.argument(&self.folder.path().join(BUILD), Role::Launched)
    }

    /// The argument that gives a JVM the agent.
    pub(crate) fn argument(&self, socket: &Path, role: Role) -> Option<String> {
        options(socket, &self.token, role, self.methods).argument(&self.library)
    }

    /// Starts the collector and the socket of the build tool.
    pub(crate) fn start<'scope, 'env>(
        &'env self,
        scope: &'scope Scope<'scope, 'env>,
        project: &'env Project,
        case: &'env Case,
        wishes: Wishes,
    ) -> Running<'scope> {
        let (tell, told) = std::sync::mpsc::channel();
        let collector = Collector::new(project, self, case, wishes, tell.clone());
        if let Some(build) = self.build.lock().unwrap_or_else(PoisonError::into_inner).take() {
            self.accept(scope, build, &self.folder.path().join(BUILD), None, &tell);
        }
        let thread = scope.spawn(move || collector.run(scope, told));
        Running { tell, thread }
    }

    /// Makes the socket for the tests of a goal; what comes is told to the collector.
    pub(crate) fn listen<'scope, 'env>(
        &'env self,
        scope: &'scope Scope<'scope, 'env>,
        goal: usize,
        tell: &Sender<Input>,
    ) -> Result<PathBuf> {
        let socket = self.folder.path().join(format!("tests-{goal}"));
        self.accept(scope, bind(&socket)?, &socket, Some(goal), tell);
        Ok(socket)
    }

    fn accept<'scope, 'env>(
        &'env self,
        scope: &'scope Scope<'scope, 'env>,
        listener: UnixListener,
        socket: &Path,
        goal: Option<usize>,
        tell: &Sender<Input>,
    ) {
        self.sockets.lock().unwrap_or_else(PoisonError::into_inner).push(socket.to_path_buf());
        let tell = tell.clone();
        scope.spawn(move || {
            let take = |stream: UnixStream| {
                let tell = tell.clone();
                scope.spawn(move || receive(stream, goal, &tell));
            };
            for stream in listener.incoming() {
                stream.into_iter().for_each(take);
                if self.over.load(Ordering::Acquire) {
                    break;
                }
            }
            // What was connected before the end may still wait.
            if listener.set_nonblocking(true).is_ok() {
                while let Ok((stream, _)) = listener.accept() {
                    take(stream);
                }
            }
        });
    }

    /// The command has ended: wakes those who wait for connections, so that they end.
    pub(crate) fn close(&self) {
        self.over.store(true, Ordering::Release);
        for socket in &*self.sockets.lock().unwrap_or_else(PoisonError::into_inner) {
            drop(UnixStream::connect(socket));
        }
    }
}

/// The socket of the build tool's own JVM.
const BUILD: &str = "build";

/// The path of a socket has room for about a hundred bytes.
const LONGEST_FOLDER: usize = 80;

pub(crate) fn socket_folder() -> std::io::Result<tempfile::TempDir> {
    let usual = std::env::temp_dir();
    let folder = match usual.as_os_str().len() > LONGEST_FOLDER {
        true => Path::new("/tmp"),
        false => &usual,
    };
    tempfile::Builder::new().prefix("tamis-").tempdir_in(folder)
}

fn bind(socket: &Path) -> Result<UnixListener> {
    UnixListener::bind(socket)
        .with_context(|| format!("the socket {} cannot be made", socket.display()))
}

fn options(socket: &Path, token: &str, role: Role, methods: bool) -> Options {
    Options { socket: socket.to_path_buf(), token: token.to_owned(), role, methods }
}

/// The threads of a session.
#[derive(Debug)]
pub(crate) struct Running<'scope> {
    pub(crate) tell: Sender<Input>,
    thread: std::thread::ScopedJoinHandle<'scope, Collected>,
}

impl Running<'_> {
    /// Waits until everything that was told is recorded.
    pub(crate) fn finish(self) -> Result<Collected> {
        let _ = self.tell.send(Input::Over);
        drop(self.tell);
        self.thread.join().map_err(|_| anyhow::anyhow!("the collector of test classes failed"))
    }
}

/// Passes on what one JVM says, until it ends.
fn receive(stream: UnixStream, goal: Option<usize>, tell: &Sender<Input>) {
    let Ok(answers) = stream.try_clone() else { return };
    let mut reader = std::io::BufReader::with_capacity(1 << 16, stream);
    let Ok(Some(FromJvm::Hello(hello))) = tamis_wire::read(&mut reader) else { return };
    let pid = hello.pid;
    let _ = tell.send(Input::Connected { goal, hello, answers });
    loop {
        match tamis_wire::read::<FromJvm>(&mut reader) {
            Ok(Some(message)) => {
                if tell.send(Input::Said { pid, message }).is_err() {
                    return;
                }
            }
            Ok(None) => break,
            Err(error) => {
                let message = FromJvm::Trouble(error.to_string());
                let _ = tell.send(Input::Said { pid, message });
                break;
            }
        }
    }
    let _ = tell.send(Input::Gone { pid });
}
