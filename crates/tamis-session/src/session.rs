//! One run of a command: the sockets that its processes connect to, and the threads that listen.
//!
//! One thread has the model and takes everything in the order in which it arrives.

use crate::frontend::{Invocation, Model, Services, Start};
use crate::ledger::{Collected, Ledger};
use anyhow::{Context as _, Result};
use std::cell::RefCell;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::sync::{Mutex, PoisonError};
use std::thread::Scope;
use std::time::Duration;
use tamis_observe::{CoveredPaths, Marks, WindowEnded};
use tamis_wire::{FromProcess, Hello};

/// How long records wait while nothing else happens.
const WAIT_TO_WRITE: Duration = Duration::from_millis(200);

/// What is made before the command starts.
#[derive(Debug)]
pub struct Session {
    /// A folder of this run alone; removed at its end.
    folder: tempfile::TempDir,
    library: PathBuf,
    token: String,
    /// Made first: where there can be no socket, the command is observed as a whole.
    first: Mutex<Option<UnixListener>>,
    over: AtomicBool,
    sockets: Mutex<Vec<PathBuf>>,
}

/// What the thread of the model takes.
#[derive(Debug)]
enum Input {
    Connected {
        channel: Option<usize>,
        hello: Hello,
        answers: UnixStream,
    },
    Message {
        pid: u32,
        message: FromProcess,
    },
    Gone {
        pid: u32,
    },
    Window(WindowEnded),
    /// The command has ended, with success or not; nothing new begins.
    Over {
        passed: bool,
    },
}

impl Session {
    /// `library` gives the file whose opening makes a process a host, from the session's folder.
    pub fn new(library: impl FnOnce(&Path) -> Result<PathBuf>) -> Result<Self> {
        let folder = socket_folder().context("no temp folder for the session's socket")?;
        let first = bind(&folder.path().join(FIRST))?;
        let library = library(folder.path())?;
        let token = folder.path().file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Self {
            folder,
            library,
            token,
            first: Mutex::new(Some(first)),
            over: AtomicBool::new(false),
            sockets: Mutex::default(),
        })
    }

    /// The folder of this run.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The file whose opening makes a process a host.
    pub fn library(&self) -> &Path {
        &self.library
    }

    /// Stands in every mark of this run.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// The socket that is there from the beginning.
    pub fn socket(&self) -> PathBuf {
        self.folder.path().join(FIRST)
    }

    /// How the tracer recognises hosts.
    pub fn marks<'s>(&'s self, covered: &'s dyn CoveredPaths) -> Marks<'s> {
        Marks {
            token: &self.token,
            library: self.library.as_os_str().as_encoded_bytes(),
            folder: self.folder.path().as_os_str().as_encoded_bytes(),
            covered,
        }
    }

    /// Lets the model prepare the command, before anything is started.
    pub fn prepare(
        &self,
        model: &mut dyn Model,
        ledger: &mut Ledger<'_>,
        invocation: &mut Invocation,
    ) -> Result<Start> {
        model.prepare(&mut Services::new(ledger, self, &no_sockets_yet), invocation)
    }

    /// The end of a command that did not have to be started.
    pub fn finish_unstarted(
        &self,
        model: Box<dyn Model + '_>,
        mut ledger: Ledger<'_>,
    ) -> Collected {
        model.finish(&mut Services::new(&mut ledger, self, &no_sockets_yet).after(Some(true)));
        ledger.finish()
    }

    /// Starts the thread of the model and the first socket.
    pub fn start<'scope, 'env>(
        &'env self,
        scope: &'scope Scope<'scope, 'env>,
        model: Box<dyn Model + 'env>,
        ledger: Ledger<'env>,
    ) -> Running<'scope> {
        let (send, inputs) = std::sync::mpsc::channel();
        if let Some(first) = self.first.lock().unwrap_or_else(PoisonError::into_inner).take() {
            self.accept(scope, first, &self.socket(), None, &send);
        }
        let own = send.clone();
        let thread = scope.spawn(move || self.run(scope, model, ledger, own, &inputs));
        Running { send, thread }
    }

    fn run<'scope, 'env>(
        &'env self,
        scope: &'scope Scope<'scope, 'env>,
        mut model: Box<dyn Model + 'env>,
        mut ledger: Ledger<'env>,
        send: Sender<Input>,
        inputs: &Receiver<Input>,
    ) -> Collected {
        let mut passed = None;
        let send = RefCell::new(Some(send));
        let listen = |channel: usize| match &*send.borrow() {
            Some(send) => self.listen(scope, channel, send),
            None => anyhow::bail!("the command is being stopped"),
        };
        loop {
            // Whoever is killed has lost little.
            ledger.write_if_due();
            let input = match inputs.recv_timeout(WAIT_TO_WRITE) {
                Ok(input) => input,
                Err(RecvTimeoutError::Timeout) => {
                    model.idle(&mut Services::new(&mut ledger, self, &listen));
                    ledger.write_records();
                    continue;
                }
                Err(RecvTimeoutError::Disconnected) => break,
            };
            let services = &mut Services::new(&mut ledger, self, &listen);
            match input {
                Input::Connected { channel, hello, answers } => {
                    model.connected(services, channel, hello, answers);
                }
                Input::Message { pid, message } => model.message(services, pid, message),
                Input::Gone { pid } => model.gone(services, pid),
                Input::Window(window) => model.window(services, window),
                // From now on only those who still have something to report keep us.
                Input::Over { passed: success } => {
                    passed = Some(success);
                    drop(send.borrow_mut().take());
                }
            }
        }
        model.finish(&mut Services::new(&mut ledger, self, &listen).after(passed));
        ledger.finish()
    }

    /// Makes one more socket; what comes by it has this channel.
    fn listen<'scope, 'env>(
        &'env self,
        scope: &'scope Scope<'scope, 'env>,
        channel: usize,
        send: &Sender<Input>,
    ) -> Result<PathBuf> {
        let socket = self.folder.path().join(format!("channel-{channel}"));
        self.accept(scope, bind(&socket)?, &socket, Some(channel), send);
        Ok(socket)
    }

    fn accept<'scope, 'env>(
        &'env self,
        scope: &'scope Scope<'scope, 'env>,
        listener: UnixListener,
        socket: &Path,
        channel: Option<usize>,
        send: &Sender<Input>,
    ) {
        self.sockets.lock().unwrap_or_else(PoisonError::into_inner).push(socket.to_path_buf());
        let send = send.clone();
        scope.spawn(move || {
            let take = |stream: UnixStream| {
                let send = send.clone();
                scope.spawn(move || receive(stream, channel, &send));
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
    pub fn close(&self) {
        self.over.store(true, Ordering::Release);
        for socket in &*self.sockets.lock().unwrap_or_else(PoisonError::into_inner) {
            drop(UnixStream::connect(socket));
        }
    }
}

fn no_sockets_yet(_: usize) -> Result<PathBuf> {
    anyhow::bail!("the command does not run")
}

/// The name of the socket that is there from the beginning.
const FIRST: &str = "first";

/// The path of a socket has room for about a hundred bytes.
const LONGEST_FOLDER: usize = 80;

/// A folder whose path is short enough for sockets.
pub fn socket_folder() -> std::io::Result<tempfile::TempDir> {
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

/// The threads of a session.
#[derive(Debug)]
pub struct Running<'scope> {
    send: Sender<Input>,
    thread: std::thread::ScopedJoinHandle<'scope, Collected>,
}

impl<'scope> Running<'scope> {
    /// A sender for the windows that the tracer sees.
    pub fn windows<'env>(&self, scope: &'scope Scope<'scope, 'env>) -> Sender<WindowEnded> {
        let (send, windows) = std::sync::mpsc::channel();
        let forward = self.send.clone();
        scope.spawn(move || {
            for window in windows {
                if forward.send(Input::Window(window)).is_err() {
                    return;
                }
            }
        });
        send
    }

    /// Waits until everything that was reported is recorded.
    pub fn finish(self, passed: bool) -> Result<Collected> {
        let _ = self.send.send(Input::Over { passed });
        drop(self.send);
        self.thread.join().map_err(|_| anyhow::anyhow!("the thread that takes reports failed"))
    }
}

/// Passes on what one process sends, until it ends.
fn receive(stream: UnixStream, channel: Option<usize>, send: &Sender<Input>) {
    let Ok(answers) = stream.try_clone() else { return };
    let mut reader = std::io::BufReader::with_capacity(1 << 16, stream);
    let Ok(Some(FromProcess::Hello(hello))) = tamis_wire::read(&mut reader) else { return };
    let pid = hello.pid;
    let _ = send.send(Input::Connected { channel, hello, answers });
    loop {
        match tamis_wire::read::<FromProcess>(&mut reader) {
            Ok(Some(message)) => {
                if send.send(Input::Message { pid, message }).is_err() {
                    return;
                }
            }
            Ok(None) => break,
            Err(error) => {
                let message = FromProcess::Trouble(error.to_string());
                let _ = send.send(Input::Message { pid, message });
                break;
            }
        }
    }
    let _ = send.send(Input::Gone { pid });
}
