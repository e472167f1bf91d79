//! Finds out what this kernel and this surrounding (a container, an outer tamis) let us do, by
//! trying it in a child process.

use crate::filter::{Filter, Verdict};
use crate::listener::{receive, respond};
use crate::process::Process;
use crate::request::{call_information, request};
use std::io;
use std::sync::OnceLock;

/// Steps of a trial; the failed one is seen in the trial's exit code.
const WORKS: i32 = 0;
const NOT_ANSWERED: i32 = 200;
const NOT_READ: i32 = 201;
const NO_CALL_INFORMATION: i32 = 202;
const NOT_TRIED: i32 = 203;

/// Whether notifications work: a listener can be had, a call can be let go on, memory can be read.
pub(crate) fn notify() -> Result<(), String> {
    match notify_trial() {
        WORKS => Ok(()),
        libc::EBUSY => Err("a seccomp listener watches this process already (an outer tamis, or \
             a container manager); the ptrace engine works below it"
            .to_owned()),
        libc::ENOSYS | libc::EINVAL | NOT_ANSWERED => {
            Err("the kernel has no seccomp notifications that can be let go on (Linux 5.5 has); \
                 use the ptrace engine"
                .to_owned())
        }
        NOT_READ => Err("the memory of other processes cannot be read; allow process_vm_readv in \
             the container's profile"
            .to_owned()),
        other => Err(refusal("a seccomp filter cannot be installed", other)),
    }
}

/// Whether an outer listener sees (and may decide about) our calls. It is there from the start of
/// this process or not at all.
pub(crate) fn outer_listener() -> bool {
    static FOUND: OnceLock<bool> = OnceLock::new();
    *FOUND.get_or_init(|| notify_trial() == libc::EBUSY)
}

/// Whether ptrace works: a child can be attached to and its calls can be read.
pub(crate) fn ptrace() -> Result<(), String> {
    match trial(trace_a_child) {
        WORKS => Ok(()),
        libc::EPERM | libc::EACCES => Err("tracing is not permitted here; in a container allow \
             ptrace (--cap-add SYS_PTRACE), elsewhere look at kernel.yama.ptrace_scope"
            .to_owned()),
        NO_CALL_INFORMATION => {
            Err("the kernel cannot tell what a traced call is (Linux 5.3 can)".to_owned())
        }
        other => Err(refusal("a process cannot be traced", other)),
    }
}

/// Whether privileges of set-user-id programs survive our tracing.
pub(crate) fn may_trace_privileged() -> bool {
    const CAP_SYS_PTRACE: u64 = 19;
    crate::proc::capabilities("self", "CapEff")
        .is_some_and(|effective| effective & (1 << CAP_SYS_PTRACE) != 0)
}

fn refusal(what: &str, code: i32) -> String {
    match code {
        NOT_TRIED => format!("{what}: the trial process could not be started or died"),
        errno => format!("{what}: {}", io::Error::from_raw_os_error(errno)),
    }
}

fn notify_trial() -> i32 {
    let filter = Filter::new(Verdict::Notify, false);
    trial(move || listen_to_a_child(&filter))
}

/// Runs a step in a child of its own; its result is the exit code.
fn trial(step: impl Fn() -> Result<(), i32>) -> i32 {
    let code = |result: Result<(), i32>| result.err().unwrap_or(WORKS);
    // SAFETY: the child makes system calls and allocates, and ends here.
    unsafe {
        match libc::fork() {
            -1 => NOT_TRIED,
            0 => libc::_exit(code(step())),
            child => exit_code(child).unwrap_or(NOT_TRIED),
        }
    }
}

fn exit_code(child: libc::pid_t) -> Option<i32> {
    let mut status = 0;
    loop {
        // SAFETY: waits for our own child.
        match unsafe { libc::waitpid(child, &raw mut status, libc::__WALL) } {
            -1 if io::Error::last_os_error().raw_os_error() == Some(libc::EINTR) => {}
            -1 => return None,
            _ => return libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status)),
        }
    }
}

fn errno() -> i32 {
    io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO)
}

/// Installs the filter, forks, and lets one call of that child go on.
fn listen_to_a_child(filter: &Filter) -> Result<(), i32> {
    let listener = filter.install()?.listener.ok_or(libc::EINVAL)?;
    // SAFETY: plain system calls; the child ends here.
    unsafe {
        let child = libc::fork();
        if child < 0 {
            return Err(errno());
        }
        if child == 0 {
            libc::_exit(libc::access(c"/".as_ptr(), libc::F_OK));
        }
        let served = (|| {
            let notification = receive(listener).ok().flatten().ok_or(NOT_ANSWERED)?;
            let process = Process { thread: notification.pid };
            let pointer = if notification.data.nr as i64 == libc::SYS_faccessat { 1 } else { 0 };
            let read = process.read_path(notification.data.args[pointer]);
            respond(listener, notification.id).map_err(|_| NOT_ANSWERED)?;
            if matches!(read.as_deref(), Ok(b"/")) { Ok(()) } else { Err(NOT_READ) }
        })();
        if served.is_err() {
            libc::kill(child, libc::SIGKILL);
        }
        let code = exit_code(child);
        served.and(if code == Some(0) { Ok(()) } else { Err(NOT_ANSWERED) })
    }
}

/// Attaches to a child and asks what call it is in.
fn trace_a_child() -> Result<(), i32> {
    // SAFETY: plain system calls; the child waits until it is killed.
    unsafe {
        let child = libc::fork();
        if child < 0 {
            return Err(errno());
        }
        if child == 0 {
            loop {
                libc::pause();
            }
        }
        let traced = (|| {
            let errno = |e: io::Error| e.raw_os_error().unwrap_or(libc::EIO);
            let options = libc::PTRACE_O_EXITKILL | libc::PTRACE_O_TRACESECCOMP;
            request(libc::PTRACE_SEIZE, child, 0, options as usize).map_err(errno)?;
            request(libc::PTRACE_INTERRUPT, child, 0, 0).map_err(errno)?;
            let mut status = 0;
            libc::waitpid(child, &raw mut status, libc::__WALL);
            call_information(child).map(drop).map_err(|_| NO_CALL_INFORMATION)
        })();
        libc::kill(child, libc::SIGKILL);
        exit_code(child);
        traced
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trial_tells_how_it_failed() {
        assert_eq!(trial(|| Ok(())), WORKS);
        assert_eq!(trial(|| Err(libc::EBUSY)), libc::EBUSY);
    }
}
