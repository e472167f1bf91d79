//! The threads of a session: those that listen, and the one that has the model and takes everything in the
//! order in which it arrives.

use crate::command::{Invocation, Start};
use crate::ledger::{Collected, Ledger};
use crate::model::{Model, Services};
use crate::session::Session;
use anyhow::Result;
use std::cell::RefCell;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::thread::Scope;
use std::time::Duration;
use tamis_observe::WindowEnded;
use tamis_wire::{FromProcess, Hello};

/// How long records wait while nothing else happens.
const WAIT_TO_WRITE: Duration = Duration::from_millis(200);

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
        let (listener, socket) = self.bind(&format!("channel-{channel}"))?;
        self.accept(scope, listener, &socket, Some(channel), send);
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
        self.remember(socket);
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
}

fn no_sockets_yet(_: usize) -> Result<PathBuf> {
    anyhow::bail!("the command does not run")
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
