//! The default engine: seccomp user notification. No privilege, no kernel module.
//!
//! Every watched call of the tree stops at its entry and comes to us; we read its path, hand the
//! event to the sink and let the call go on. Because the process waits, the sink can look at the
//! world exactly as the process will find it, for instance take a file's fingerprint before the
//! call that overwrites it.
//!
//! io_uring is answered with "not implemented", which programs know how to handle; its operations
//! could not be seen. A filter of the test's own works; a second *listener* does not (EBUSY), and
//! the run is marked.

use crate::Engine;
use crate::command::{Command, Finish};
use crate::decode::Call;
use crate::event::Sink;
use crate::filter::{Filter, Verdict};
use crate::lifetime::Lifetime;
use crate::nudge::Nudge;
use crate::probe;
use crate::serve::Server;
use crate::shepherd::Shepherd;
use crate::stdin::StandardInput;
use crate::streams::Streams;
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::sync::atomic::AtomicBool;

const RECEIVE: libc::c_ulong = 0xc050_2100;
const SEND: libc::c_ulong = 0xc018_2101;
const SET_FLAGS: libc::c_ulong = 0x4008_2104;
/// Wake the waiting side on the same processor: the two take turns.
const SYNC_WAKE_UP: u64 = 1;

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
        let error = self.call(notification.pid, data.arch, &call);
        respond(listener, notification.id, error)
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
    // SAFETY: sets a flag on our own descriptor; older kernels refuse, which costs only speed.
    unsafe { libc::ioctl(listener, SET_FLAGS, SYNC_WAKE_UP) };
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

/// The next call, waited for; `None` when the caller was killed meanwhile, no process is left that
/// could call, or a signal came.
pub(crate) fn receive(listener: RawFd) -> io::Result<Option<libc::seccomp_notif>> {
    // SAFETY: the kernel wants a zeroed structure and fills it.
    let mut notification: libc::seccomp_notif = unsafe { std::mem::zeroed() };
    // SAFETY: as above.
    let done = unsafe { libc::ioctl(listener, RECEIVE, &raw mut notification) };
    if done == 0 {
        return Ok(Some(notification));
    }
    let error = io::Error::last_os_error();
    match error.raw_os_error() {
        Some(libc::ENOENT | libc::EINTR) => Ok(None),
        _ => Err(error),
    }
}

/// Lets a call go on, or fails it with a (negative) error.
pub(crate) fn respond(listener: RawFd, id: u64, error: i32) -> io::Result<()> {
    let flags = if error == 0 { libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE as u32 } else { 0 };
    send(listener, libc::seccomp_notif_resp { id, val: 0, error, flags })
}

/// Answers a call that is not made: with a value, or a (negative) error.
pub(crate) fn answer(listener: RawFd, id: u64, value: i64) -> io::Result<()> {
    let error = if value < 0 { value as i32 } else { 0 };
    send(listener, libc::seccomp_notif_resp { id, val: value.max(0), error, flags: 0 })
}

fn send(listener: RawFd, mut response: libc::seccomp_notif_resp) -> io::Result<()> {
    // SAFETY: the kernel reads the structure.
    let done = unsafe { libc::ioctl(listener, SEND, &raw mut response) };
    if done == 0 {
        return Ok(());
    }
    let failure = io::Error::last_os_error();
    match failure.raw_os_error() {
        // The caller was killed while we looked.
        Some(libc::ENOENT | libc::EINTR) => Ok(()),
        _ => Err(failure),
    }
}

/// Lets every call go on, until no process is left that asks. For processes that outlive the run.
pub(crate) fn serve_blindly(listener: RawFd) {
    loop {
        let mut fd = libc::pollfd { fd: listener, events: libc::POLLIN, revents: 0 };
        // SAFETY: polls one descriptor.
        unsafe { libc::poll(&raw mut fd, 1, -1) };
        if fd.revents & libc::POLLIN == 0 {
            return;
        }
        if let Ok(Some(notification)) = receive(listener) {
            let _ = respond(listener, notification.id, 0);
        }
    }
}
