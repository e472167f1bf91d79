//! The default engine: seccomp user notification. No privilege, no kernel module.
//!
//! Every watched call of the tree stops at its entry and comes to us; we read its path, hand the
//! event to the sink and let the call go on. Because the process waits, the sink can look at the
//! world exactly as the process will find it, for instance take a file's fingerprint before the
//! call that overwrites it.
//!
//! What is done through io_uring cannot be seen: the run is marked, as with every engine. A filter of the test's own works; a second *listener* does not (EBUSY), and
//! the run is marked.

use crate::Engine;
use crate::command::{Command, Finish};
use crate::decode::Call;
use crate::event::Sink;
use crate::filter::{Filter, Verdict};
use crate::lifetime::Lifetime;
use crate::listener::{receive, respond, take_turns};
use crate::nudge::Nudge;
use crate::probe;
use crate::serve::Server;
use crate::shepherd::Shepherd;
use crate::stdin::StandardInput;
use crate::streams::Streams;
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::sync::atomic::AtomicBool;

/// See the module's head.
#[derive(Debug, Clone, Copy, Default)]
pub struct Notify;

impl Notify {
    /// Whether it can work here, or why not.
    pub fn available() -> Result<(), String> {
        probe::notify()
    }
}

impl Engine for Notify {
    fn name(&self) -> &'static str {
        "notify"
    }

    fn run(&self, command: Command, sink: &mut dyn Sink, stop: &AtomicBool) -> io::Result<Finish> {
        let filter = Filter::new(Verdict::Notify, command.watch_stdin);
        let (stdin, streams) = (StandardInput::of(&command)?, Streams::of(&command));
        listen(command, filter, &mut Server { stdin, streams, sink }, stop)
    }
}

/// Sees to the calls of a tree.
pub(crate) trait Serve {
    /// Reports one call and answers it.
    fn serve(&mut self, listener: RawFd, notification: &libc::seccomp_notif) -> io::Result<()>;

    /// Is called now and then while no call comes, and at the end.
    fn meanwhile(&mut self) {}
}

impl Serve for Server<'_> {
    fn serve(&mut self, listener: RawFd, notification: &libc::seccomp_notif) -> io::Result<()> {
        let data = &notification.data;
        let call = Call { number: i64::from(data.nr), arguments: data.args };
        self.call(notification.pid, data.arch, &call);
        respond(listener, notification.id)
    }
}

/// Runs the command with the filter and has its calls served.
pub(crate) fn listen(
    command: Command,
    filter: Filter,
    server: &mut dyn Serve,
    stop: &AtomicBool,
) -> io::Result<Finish> {
    let shepherd = Shepherd::start(&command, Some(filter))?;
    let mut lifetime = Lifetime::new(shepherd, command.timeout, stop);
    drop((command.stdin, command.stdout, command.stderr));
    let listener = lifetime
        .shepherd()
        .listener
        .as_ref()
        .map(AsRawFd::as_raw_fd)
        .ok_or_else(|| io::Error::other("the kernel gave no notification listener"))?;
    take_turns(listener);
    let nudge = Nudge::start()?;
    lifetime.go()?;
    while lifetime.wait_doing(&mut [listener], &mut || server.meanwhile())? {
        let mut waiting = receive(listener)?;
        while let Some(call) = waiting {
            server.serve(listener, &call)?;
            // Where one call comes, others follow: not worth asking each time.
            waiting = nudge.while_nothing_is_due(|| receive(listener))?;
        }
    }
    server.meanwhile();
    Ok(lifetime.finish())
}
