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
//! - processes that outlive the command are ended and named: a call that the filter stops fails
//!   when its tracer is gone.

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
use crate::tracer::{Stopping, Tracer};
use std::io;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc;

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
    let mut lifetime = Lifetime::new(shepherd, command.timeout, stop).ending_survivors();
    drop((command.stdin, command.stdout, command.stderr));
    let mut tracer = Tracer { stopping, watch_stdin, server };
    let (attached, attachment) = mpsc::sync_channel(1);
    std::thread::scope(|scope| {
        let served = scope.spawn(move || {
            let done = tracer.attach(pid);
            let works = done.is_ok();
            // The receiver waits for exactly this.
            let _ = attached.send(done);
            if works { tracer.serve() } else { Ok(()) }
        });
        attachment.recv().map_err(io::Error::other)??;
        lifetime.go()?;
        while lifetime.wait(&mut [])? {}
        let mut finish = lifetime.finish();
        served.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        finish.no_new_privileges |= !probe::may_trace_privileged();
        Ok(finish)
    })
}
