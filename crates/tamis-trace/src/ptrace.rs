//! The engine of last resort: ptrace. Works where no notification listener can be had (an older
//! kernel, an outer listener), and costs about twice as much per call as the listener; under an
//! outer listener every call costs, watched or not.
//!
//! Events are those of the notification engine, at the entry of each call; see
//! [`crate::tracer`] for how the calls come here. Where it is weaker:
//! - a process has one tracer: gdb, strace and sanitizers that trace do not work inside the tree,
//!   and the run is marked when one tries;
//! - set-user-id programs lose their privileges unless tamis may trace them (CAP_SYS_PTRACE).

use crate::Engine;
use crate::command::{Command, Finish};
use crate::decode::Call;
use crate::event::Sink;
use crate::filter::{Filter, Verdict};
use crate::lifetime::Lifetime;
use crate::probe;
use crate::serve::Server;
use crate::shepherd::{Shepherd, Stops};
use crate::stdin::StandardInput;
use crate::wire::{Answer, StoppedCall, receive, send};
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::sync::atomic::AtomicBool;

/// See the module's head.
#[derive(Debug, Clone, Copy, Default)]
pub struct Ptrace;

impl Ptrace {
    /// Whether it can work here, or why not.
    pub fn available() -> Result<(), String> {
        probe::ptrace()
    }
}

impl Engine for Ptrace {
    fn name(&self) -> &'static str {
        "ptrace"
    }

    fn run(&self, command: Command, sink: &mut dyn Sink, stop: &AtomicBool) -> io::Result<Finish> {
        let watch_stdin = command.watch_stdin;
        let filter = (!probe::outer_listener()).then(|| Filter::new(Verdict::Trace, watch_stdin));
        run(command, filter, sink, stop)
    }
}

/// Runs with the filter, or without one by stopping at every call.
fn run(
    command: Command,
    filter: Option<Filter>,
    sink: &mut dyn Sink,
    stop: &AtomicBool,
) -> io::Result<Finish> {
    let stdin = StandardInput::of(&command)?;
    let stops = Stops::Traced { filter, watch_stdin: command.watch_stdin };
    let shepherd = Shepherd::start(&command, Some(stops))?;
    let mut lifetime = Lifetime::new(shepherd, command.timeout, stop);
    drop((command.stdin, command.stdout, command.stderr));
    let calls = lifetime
        .shepherd()
        .listener
        .as_ref()
        .map(AsRawFd::as_raw_fd)
        .ok_or_else(|| io::Error::other("the tracer gave no socket for the calls"))?;
    let mut server = Server { stdin, sink };
    let mut waited = [calls];
    lifetime.go()?;
    while lifetime.wait(&mut waited)? {
        if !serve_one(calls, &mut server)? {
            // The tracer has ended: from here on only the shepherd's last words count.
            waited = [-1];
        }
    }
    let mut finish = lifetime.finish();
    finish.no_new_privileges |= !probe::may_trace_privileged();
    Ok(finish)
}

/// Receives one call, reports it, lets it go on. False when no more will come.
fn serve_one(calls: RawFd, server: &mut Server<'_>) -> io::Result<bool> {
    let Some((stopped, _)) = receive::<StoppedCall>(calls, true)? else { return Ok(false) };
    let call = Call { number: stopped.number as i64, arguments: stopped.arguments };
    let error = server.call(stopped.thread, stopped.architecture, &call);
    let answer = Answer { id: stopped.id, thread: stopped.thread, error };
    // A tracer that is gone took its tree along.
    Ok(send(calls, &answer, None).is_ok())
}
