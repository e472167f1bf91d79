//! Waits for the threads of a traced tree and sees to each stop.
//!
//! Tracing belongs to one thread, and so does the wait for the tracees. That thread must have no
//! child of its own, or it would take the status that somebody else waits for; the caller gives it
//! a thread of its own.
//!
//! Stops other than calls are passed on as if the process were not watched: signals are delivered, a stop by
//! SIGSTOP stays one until SIGCONT.

use crate::decode::Call;
use crate::nudge::Nudge;
use crate::request::{call_information, request};
use crate::serve::Server;
use crate::syscalls::{self, NATIVE_ARCHITECTURE};
use crate::tracees::Tracees;
use std::collections::HashSet;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

/// How the calls of the tree are made to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stopping {
    /// By the filter, which the command has installed.
    Filtered,
    /// Every call stops, watched or not.
    EveryCall,
}

pub(crate) struct Tracer<'a> {
    pub(crate) stopping: Stopping,
    pub(crate) watch_stdin: bool,
    pub(crate) server: Server<'a>,
    pub(crate) tracees: Tracees,
}

/// What a system-call stop is, in `ptrace_syscall_info`.
const ENTRY: u8 = 1;
const SECCOMP: u8 = 3;

impl Tracer<'_> {
    /// Attaches to a process, and all that will come from it. When this thread ends, so do they.
    pub(crate) fn attach(&mut self, pid: libc::pid_t) -> io::Result<()> {
        let options = libc::PTRACE_O_EXITKILL
            | libc::PTRACE_O_TRACEFORK
            | libc::PTRACE_O_TRACEVFORK
            | libc::PTRACE_O_TRACECLONE
            | libc::PTRACE_O_TRACESYSGOOD
            | libc::PTRACE_O_TRACESECCOMP;
        request(libc::PTRACE_SEIZE, pid, 0, options as usize)?;
        self.tracees.add(pid);
        if self.stopping == Stopping::EveryCall {
            // A first stop, from which the process goes on stopping at calls.
            request(libc::PTRACE_INTERRUPT, pid, 0, 0)?;
        }
        Ok(())
    }

    /// Serves the tree until its last thread is gone, or until `leave` is set: then it stops all
    /// threads, lets go of them, and gives the processes that it stopped.
    pub(crate) fn serve(&mut self, leave: &AtomicBool) -> io::Result<Option<HashSet<u32>>> {
        let nudge = Nudge::start()?;
        loop {
            if leave.load(Ordering::Relaxed)
                && let Some(stopped) = self.tracees.leave()
            {
                return Ok(Some(stopped));
            }
            match nudge.while_nothing_is_due(next_change) {
                Ok(None) => {}
                Ok(Some((thread, status))) if libc::WIFSTOPPED(status) => {
                    self.stopped(thread, status);
                }
                Ok(Some((thread, _))) => self.tracees.ended(thread),
                Err(error) if error.raw_os_error() == Some(libc::ECHILD) => return Ok(None),
                Err(error) => return Err(error),
            }
        }
    }

    fn stopped(&mut self, thread: libc::pid_t, status: i32) {
        let signal = libc::WSTOPSIG(status);
        self.tracees.add(thread);
        match status >> 16 {
            libc::PTRACE_EVENT_SECCOMP => self.at_call(thread),
            0 if signal == libc::SIGTRAP | 0x80 => self.at_call(thread),
            0 => self.resume(thread, signal),
            libc::PTRACE_EVENT_STOP if signal != libc::SIGTRAP => self.tracees.stands(thread),
            libc::PTRACE_EVENT_STOP => {
                self.tracees.runs(thread);
                self.resume(thread, 0);
            }
            _ => {
                self.expect_child_of(thread);
                self.resume(thread, 0);
            }
        }
    }

    /// A new thread is traced before it reports its first stop.
    fn expect_child_of(&mut self, thread: libc::pid_t) {
        let mut child: libc::c_ulong = 0;
        let place = &raw mut child as usize;
        if request(libc::PTRACE_GETEVENTMSG, thread, 0, place).is_ok() && child > 0 {
            self.tracees.add(child as libc::pid_t);
        }
    }

    fn at_call(&mut self, thread: libc::pid_t) {
        // Otherwise it was killed while it was stopped.
        let Ok(info) = call_information(thread) else { return };
        if matches!(info.op, ENTRY | SECCOMP) {
            let arguments = info.arguments;
            let call = Call { number: info.number as i64, arguments };
            // A filter of the test's own may stop calls that are none of ours.
            let ours = info.arch != NATIVE_ARCHITECTURE
                || syscalls::watches_traced(call.number, &arguments, self.watch_stdin);
            if ours {
                self.server.call(thread as u32, info.arch, &call);
            }
        }
        self.resume(thread, 0);
    }

    /// A thread that is gone meanwhile needs no resuming.
    fn resume(&self, thread: libc::pid_t, signal: i32) {
        let how = match self.stopping {
            Stopping::Filtered => libc::PTRACE_CONT,
            Stopping::EveryCall => libc::PTRACE_SYSCALL,
        };
        let _ = request(how, thread, 0, signal as usize);
    }
}

/// Waits for the next thread that stopped or ended; `None` when a signal came first.
fn next_change() -> io::Result<Option<(libc::pid_t, i32)>> {
    let mut status = 0;
    let which = libc::__WALL | libc::__WNOTHREAD;
    // SAFETY: waits for the tracees of this thread.
    let thread = unsafe { libc::waitpid(-1, &raw mut status, which) };
    if thread >= 0 {
        return Ok(Some((thread, status)));
    }
    match io::Error::last_os_error() {
        error if error.kind() == io::ErrorKind::Interrupted => Ok(None),
        error => Err(error),
    }
}
