//! The engine of last resort: ptrace. Works where no notification listener can be had: on an older
//! kernel, or below an outer listener.
//!
//! Events are those of the notification engine, at the entry of each call. Two ways to learn of a
//! call:
//! - the command carries a seccomp filter that stops the watched calls only;
//! - below an outer listener (tamis inside tamis) the kernel would let that listener decide and
//!   never ask our filter, so every call stops, watched or not, before it gets there.
//!
//! Where it is weaker:
//! - slower per call, and much slower below an outer listener;
//! - a process has one tracer: gdb, strace and leak checkers do not work inside the tree, and the
//!   run is marked when one tries;
//! - set-user-id programs lose their privileges unless tamis may trace them (CAP_SYS_PTRACE);
//! - processes that outlive the command are stopped for a moment, in which the shepherd becomes their
//!   tracer ([`crate::adopt`]). Where that fails they are ended, because a call that the filter stops
//!   fails when it has no tracer; [`Finish::ended_survivors`] says so.

use crate::Engine;
use crate::command::{Command, Finish};
use crate::event::Sink;
use crate::filter::{Filter, Verdict};
use crate::lifetime::Lifetime;
use crate::probe;
use crate::serve::Server;
use crate::shepherd::Shepherd;
use crate::stdin::StandardInput;
use crate::streams::Streams;
use crate::tracees::Tracees;
use crate::tracer::{Stopping, Tracer};
use std::collections::HashSet;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::Duration;

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
        let stopping =
            if probe::outer_listener() { Stopping::EveryCall } else { Stopping::Filtered };
        run(command, stopping, sink, stop)
    }
}

fn run(
    command: Command,
    stopping: Stopping,
    sink: &mut dyn Sink,
    stop: &AtomicBool,
) -> io::Result<Finish> {
    let watch_stdin = command.watch_stdin;
    let server =
        Server { stdin: StandardInput::of(&command)?, streams: Streams::of(&command), sink };
    let filter = (stopping == Stopping::Filtered).then(|| Filter::new(Verdict::Trace, watch_stdin));
    let shepherd = Shepherd::start(&command, filter)?;
    let pid = shepherd.command_pid as libc::pid_t;
    let mut lifetime = Lifetime::new(shepherd, command.timeout, stop);
    drop((command.stdin, command.stdout, command.stderr));
    let mut tracer = Tracer { stopping, watch_stdin, server, tracees: Tracees::default() };
    let (attached, attachment) = mpsc::sync_channel(1);
    let leave = AtomicBool::new(false);
    let (let_go, parting) = mpsc::channel();
    std::thread::scope(|scope| {
        let leave = &leave;
        let served = scope.spawn(move || {
            let done = tracer.attach(pid);
            let works = done.is_ok();
            // The receiver waits for exactly this.
            let _ = attached.send(done);
            let left = if works { tracer.serve(leave)? } else { None };
            // Not waited for where nothing is left running.
            let _ = left.map(|stopped| let_go.send(stopped));
            io::Result::Ok(())
        });
        attachment.recv().map_err(io::Error::other)??;
        lifetime.go()?;
        while lifetime.wait(&mut [])? {}
        if lifetime.leaves_some_running() {
            leave.store(true, Ordering::Relaxed);
            if !hand_over(stopping, &lifetime, &parting) {
                lifetime.end_survivors();
                while lifetime.wait(&mut [])? {}
            }
        }
        let mut finish = lifetime.finish();
        served.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        finish.no_new_privileges |= !probe::may_trace_privileged();
        Ok(finish)
    })
}

/// How long it may take until every thread stands still.
const PARTING: Duration = Duration::from_secs(3);

/// Lets what outlives the command go on without this tracer. False where that cannot be.
fn hand_over(
    stopping: Stopping,
    lifetime: &Lifetime<'_>,
    parting: &mpsc::Receiver<HashSet<u32>>,
) -> bool {
    let Ok(stopped) = parting.recv_timeout(PARTING) else { return false };
    // Without a filter no call waits for a tracer.
    let adopted =
        stopping == Stopping::EveryCall || lifetime.shepherd().adopt().is_ok_and(|all| all);
    if adopted {
        for process in stopped {
            // SAFETY: a process of our tree, which stands where we stopped it.
            unsafe { libc::kill(process as libc::pid_t, libc::SIGCONT) };
        }
    }
    adopted
}
