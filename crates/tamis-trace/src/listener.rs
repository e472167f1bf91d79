//! The descriptor over which the kernel reports stopped calls (seccomp user notification): receiving
//! them, and answering.

use std::io;
use std::os::fd::RawFd;

// The type of these numbers differs between C libraries.
const RECEIVE: libc::Ioctl = 0xc050_2100_u32 as libc::Ioctl;
const SEND: libc::Ioctl = 0xc018_2101_u32 as libc::Ioctl;
const SET_FLAGS: libc::Ioctl = 0x4008_2104_u32 as libc::Ioctl;
/// Wake the waiting side on the same processor: the two take turns.
const SYNC_WAKE_UP: u64 = 1;

/// Has the kernel wake the waiting side on the same processor. Older kernels refuse, which costs only
/// speed.
pub(crate) fn take_turns(listener: RawFd) {
    // SAFETY: sets a flag on our own descriptor.
    unsafe { libc::ioctl(listener, SET_FLAGS, SYNC_WAKE_UP) };
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

/// Lets a call go on.
pub(crate) fn respond(listener: RawFd, id: u64) -> io::Result<()> {
    let flags = libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE as u32;
    send(listener, libc::seccomp_notif_resp { id, val: 0, error: 0, flags })
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
            let _ = respond(listener, notification.id);
        }
    }
}
