//! The shepherd as the tracer of what a command left running under the ptrace engine.
//!
//! A call that the filter stops fails when the thread has no tracer. So the tracer of the run stops
//! what is left and lets go of it ([`crate::tracer`]), and the shepherd, which lives as long as the
//! tree does, attaches itself and lets every call go on. A process that gets no tracer (it has made
//! itself undumpable, and tamis has no privilege) cannot go on; then nothing is adopted.

use crate::proc::{descendants, threads};
use crate::request::request;

/// Attaches to every thread below this process. Returns how many of them it may not trace; if there
/// are any, it lets go of the others again.
pub(crate) fn adopt_all() -> i32 {
    // SAFETY: getpid has no precondition.
    let me = unsafe { libc::getpid() } as u32;
    let all: Vec<u32> = descendants(me).into_iter().flat_map(threads).collect();
    let refused = all.iter().filter(|&&thread| !adopt(thread)).count();
    if refused > 0 {
        all.iter().for_each(|&thread| let_go(thread as libc::pid_t));
    }
    refused as i32
}

/// True also for a thread that has ended.
fn adopt(thread: u32) -> bool {
    let options = libc::PTRACE_O_TRACEFORK
        | libc::PTRACE_O_TRACEVFORK
        | libc::PTRACE_O_TRACECLONE
        | libc::PTRACE_O_TRACESECCOMP;
    match request(libc::PTRACE_SEIZE, thread as libc::pid_t, 0, options as usize) {
        Ok(()) => true,
        Err(error) => error.raw_os_error() == Some(libc::ESRCH),
    }
}

/// Waits for the stop that comes with attaching to a stopped thread, and detaches.
fn let_go(thread: libc::pid_t) {
    let mut status = 0;
    // SAFETY: waits for one thread; an error means that it is not traced by us.
    let waited = unsafe { libc::waitpid(thread, &raw mut status, libc::__WALL) };
    if waited == thread && libc::WIFSTOPPED(status) {
        let _ = request(libc::PTRACE_DETACH, thread, 0, 0);
    }
}

/// Lets every call go on, until no process is left.
pub(crate) fn serve_blindly() -> ! {
    loop {
        let mut status = 0;
        // SAFETY: waits for any child or traced thread of this process.
        let thread = unsafe { libc::waitpid(-1, &raw mut status, libc::__WALL) };
        // SAFETY: reads the error of the call before.
        if thread < 0 && unsafe { *libc::__errno_location() } != libc::EINTR {
            // SAFETY: ends this process.
            unsafe { libc::_exit(0) };
        }
        if thread > 0 && libc::WIFSTOPPED(status) {
            go_on(thread, status);
        }
    }
}

/// A thread that is gone meanwhile needs nothing.
fn go_on(thread: libc::pid_t, status: i32) {
    let signal = libc::WSTOPSIG(status);
    let _ = match status >> 16 {
        0 => request(libc::PTRACE_CONT, thread, 0, signal as usize),
        libc::PTRACE_EVENT_STOP if signal != libc::SIGTRAP => {
            request(libc::PTRACE_LISTEN, thread, 0, 0)
        }
        _ => request(libc::PTRACE_CONT, thread, 0, 0),
    };
}
