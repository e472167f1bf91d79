//! The shepherd's side of the ptrace engine: it traces the tree and hands every watched call to
//! tamis, the way the kernel hands notifications to a listener.
//!
//! The shepherd is the tracer, and not a thread of tamis, because a tracer must wait for its
//! tracees: in the shepherd that is the very wait that reaps the tree, no other run's children can
//! be met in it, and the tracer is still there for processes that outlive tamis. The price is one
//! more change of process per watched call.
//!
//! Two ways to learn of a call:
//! - the command carries a seccomp filter that stops the watched calls only;
//! - where an outer listener stands (tamis inside tamis), its verdict would come before the
//!   filter's and hide calls from us, so every call stops, watched or not.

use crate::filter::NATIVE_ARCHITECTURE;
use crate::syscalls;
use crate::wire::{Answer, StoppedCall, receive, send_now};
use std::collections::{HashMap, VecDeque};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

/// How the calls of the tree are made to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stopping {
    /// By the filter, which the command has installed.
    Filtered,
    /// Every call stops.
    EveryCall,
}

#[derive(Debug)]
pub(crate) struct Tracer {
    /// Calls go out here, answers come in.
    calls: OwnedFd,
    stopping: Stopping,
    watch_stdin: bool,
    /// Threads that wait for the answer with this id.
    waiting: HashMap<libc::pid_t, u64>,
    next_id: u64,
    /// Calls for which there was no room yet.
    outbox: VecDeque<StoppedCall>,
    /// Nobody answers any more: let everything pass.
    alone: bool,
}

/// What a system-call stop is, in `ptrace_syscall_info`.
const ENTRY: u8 = 1;
const SECCOMP: u8 = 3;

impl Tracer {
    /// Attaches to a process (and all that will come from it) without stopping it.
    pub(crate) fn attach(
        pid: libc::pid_t,
        calls: OwnedFd,
        stopping: Stopping,
        watch_stdin: bool,
    ) -> Result<Self, i32> {
        let options = libc::PTRACE_O_EXITKILL
            | libc::PTRACE_O_TRACEFORK
            | libc::PTRACE_O_TRACEVFORK
            | libc::PTRACE_O_TRACECLONE
            | libc::PTRACE_O_TRACESYSGOOD
            | libc::PTRACE_O_TRACESECCOMP;
        request(libc::PTRACE_SEIZE, pid, 0, options as usize)?;
        if stopping == Stopping::EveryCall {
            // The first stop, from which the process goes on stopping at calls.
            request(libc::PTRACE_INTERRUPT, pid, 0, 0)?;
        }
        Ok(Self {
            calls,
            stopping,
            watch_stdin,
            waiting: HashMap::new(),
            next_id: 0,
            outbox: VecDeque::new(),
            alone: false,
        })
    }

    /// What to poll for: answers, and room for calls that wait to be sent.
    pub(crate) fn poll(&self) -> libc::pollfd {
        let events = if self.outbox.is_empty() { 0 } else { libc::POLLOUT };
        let fd = if self.alone { -1 } else { self.calls.as_raw_fd() };
        libc::pollfd { fd, events: libc::POLLIN | events, revents: 0 }
    }

    /// A traced thread stopped: hand its call on, or let it go on.
    pub(crate) fn stopped(&mut self, thread: libc::pid_t, status: i32) {
        // An exec by another thread may have ended the one that waited under this number.
        self.waiting.remove(&thread);
        let signal = libc::WSTOPSIG(status);
        match status >> 16 {
            libc::PTRACE_EVENT_SECCOMP => self.at_call(thread),
            0 if signal == libc::SIGTRAP | 0x80 => self.at_call(thread),
            0 => self.resume(thread, signal),
            // A stop by SIGSTOP and the like is a stop for everybody: leave it in force.
            libc::PTRACE_EVENT_STOP if signal != libc::SIGTRAP => {
                let _ = request(libc::PTRACE_LISTEN, thread, 0, 0);
            }
            _ => self.resume(thread, 0),
        }
    }

    fn at_call(&mut self, thread: libc::pid_t) {
        // SAFETY: plain data.
        let mut info: libc::ptrace_syscall_info = unsafe { std::mem::zeroed() };
        let size = size_of_val(&info);
        if request(libc::PTRACE_GET_SYSCALL_INFO, thread, size, &raw mut info as usize).is_err() {
            // Killed while it was stopped.
            return;
        }
        // SAFETY: the kernel says which of the variants it filled; they begin alike.
        let (number, arguments) = unsafe { (info.u.entry.nr, info.u.entry.args) };
        let entry = matches!(info.op, ENTRY | SECCOMP);
        let foreign = info.arch != NATIVE_ARCHITECTURE;
        let watched = || syscalls::watches_traced(number as i64, &arguments, self.watch_stdin);
        if self.alone || !entry || !(foreign || watched()) {
            self.resume(thread, 0);
            return;
        }
        self.next_id += 1;
        self.waiting.insert(thread, self.next_id);
        let call = StoppedCall {
            id: self.next_id,
            thread: thread as u32,
            architecture: info.arch,
            number,
            arguments,
        };
        self.outbox.push_back(call);
        self.send();
    }

    /// Sends what fits. With blocking sends, tamis and the shepherd could wait for each other.
    fn send(&mut self) {
        while let Some(call) = self.outbox.front() {
            match send_now(self.calls.as_raw_fd(), call) {
                Ok(()) => self.outbox.pop_front(),
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return,
                Err(_) => return self.alone(),
            };
        }
    }

    /// Obeys the answers that are there.
    pub(crate) fn hear(&mut self) {
        self.send();
        while !self.alone {
            let answer: Answer = match receive(self.calls.as_raw_fd(), false) {
                Ok(Some((answer, _))) => answer,
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return,
                _ => return self.alone(),
            };
            let thread = answer.thread as libc::pid_t;
            if self.waiting.get(&thread) != Some(&answer.id) {
                continue;
            }
            self.waiting.remove(&thread);
            if answer.error != 0 && fail_call(thread, answer.error).is_err() {
                // It must not go on with a call that was refused.
                // SAFETY: ends a thread that we trace.
                unsafe { libc::kill(thread, libc::SIGKILL) };
            }
            self.resume(thread, 0);
        }
    }

    /// Lets everything pass from now on: processes that outlive the run.
    pub(crate) fn alone(&mut self) {
        self.alone = true;
        self.outbox.clear();
        for (thread, _) in std::mem::take(&mut self.waiting) {
            self.resume(thread, 0);
        }
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

/// One ptrace request.
pub(crate) fn request(
    what: libc::c_uint,
    pid: libc::pid_t,
    address: usize,
    data: usize,
) -> Result<(), i32> {
    // SAFETY: callers pass pointers to live memory of the size that the request wants.
    let done = unsafe { libc::ptrace(what, pid, address, data) };
    if done >= 0 {
        return Ok(());
    }
    Err(io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO))
}

/// Replaces the call at whose entry the thread stands by none, with this (negative) result.
fn fail_call(thread: libc::pid_t, error: i32) -> Result<(), i32> {
    // SAFETY: plain data.
    let mut registers: libc::user_regs_struct = unsafe { std::mem::zeroed() };
    register_set(libc::PTRACE_GETREGSET, thread, libc::NT_PRSTATUS as usize, &mut registers)?;
    #[cfg(target_arch = "x86_64")]
    {
        registers.orig_rax = u64::MAX;
        registers.rax = i64::from(error) as u64;
    }
    #[cfg(target_arch = "aarch64")]
    {
        const NT_ARM_SYSTEM_CALL: usize = 0x404;
        let mut none = -1_i32;
        register_set(libc::PTRACE_SETREGSET, thread, NT_ARM_SYSTEM_CALL, &mut none)?;
        registers.regs[0] = i64::from(error) as u64;
    }
    register_set(libc::PTRACE_SETREGSET, thread, libc::NT_PRSTATUS as usize, &mut registers)
}

fn register_set<T>(
    what: libc::c_uint,
    thread: libc::pid_t,
    set: usize,
    value: &mut T,
) -> Result<(), i32> {
    let mut part =
        libc::iovec { iov_base: std::ptr::from_mut(value).cast(), iov_len: size_of::<T>() };
    request(what, thread, set, &raw mut part as usize)
}
