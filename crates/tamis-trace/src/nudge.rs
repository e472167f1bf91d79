//! Lets a thread wait in a call that knows no time-out, for a short while.
//!
//! The kernel hands out notifications by a call that waits until there is one, whatever else
//! happens. To ask `poll` first, every time, costs one system call more for each event. So the
//! serving thread waits in the call itself, and a second thread interrupts it by a signal every few
//! milliseconds: then it looks at everything else, as it would after each `poll`.
//!
//! A signal that comes just before the wait begins is lost; the next one is not.

use std::io::{self, PipeReader, PipeWriter};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

/// How long nothing else is looked at.
const INTERVAL_MS: i32 = 10;

/// Ignored where it is not asked for, and hardly used by any program.
const SIGNAL: libc::c_int = libc::SIGURG;

/// Belongs to the thread that made it.
#[derive(Debug)]
pub(crate) struct Nudge {
    shared: Arc<Shared>,
    /// Closed to end the second thread.
    quit: Option<PipeWriter>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    /// The owner is in the call, or just before or behind it.
    waiting: AtomicBool,
    /// It is time to look at something else.
    due: AtomicBool,
}

impl Nudge {
    /// Starts nudging this thread.
    pub(crate) fn start() -> io::Result<Self> {
        interruptible()?;
        let shared = Arc::new(Shared::default());
        let (asked_to_quit, quit) = io::pipe()?;
        let theirs = Arc::clone(&shared);
        // SAFETY: pthread_self has no precondition.
        let owner = unsafe { libc::pthread_self() } as usize;
        let thread = std::thread::Builder::new()
            .name("tamis-nudge".into())
            .spawn(move || nudge(owner as libc::pthread_t, &theirs, &asked_to_quit))?;
        Ok(Self { shared, quit: Some(quit), thread: Some(thread) })
    }

    /// Does `wait`, which may wait for long and gives `None` when a signal ends it. `None` also
    /// when it is time to look at something else.
    pub(crate) fn while_nothing_is_due<T>(
        &self,
        wait: impl FnOnce() -> io::Result<Option<T>>,
    ) -> io::Result<Option<T>> {
        if self.shared.due.load(Ordering::Relaxed) {
            self.shared.due.store(false, Ordering::Relaxed);
            return Ok(None);
        }
        self.shared.waiting.store(true, Ordering::Relaxed);
        let got = wait();
        self.shared.waiting.store(false, Ordering::Relaxed);
        got
    }
}

impl Drop for Nudge {
    fn drop(&mut self) {
        drop(self.quit.take());
        if let Some(thread) = self.thread.take() {
            // It has nothing to tell.
            let _ = thread.join();
        }
    }
}

fn nudge(owner: libc::pthread_t, shared: &Shared, quit: &PipeReader) {
    loop {
        let mut fd = libc::pollfd { fd: quit.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: polls one live descriptor.
        let ended = unsafe { libc::poll(&raw mut fd, 1, INTERVAL_MS) } > 0;
        if ended {
            return;
        }
        shared.due.store(true, Ordering::Relaxed);
        if shared.waiting.load(Ordering::Relaxed) {
            // SAFETY: the owner joins this thread before it ends itself.
            unsafe { libc::pthread_kill(owner, SIGNAL) };
        }
    }
}

/// Makes the signal interrupt calls of this thread and do nothing else.
fn interruptible() -> io::Result<()> {
    static INSTALLED: OnceLock<bool> = OnceLock::new();
    extern "C" fn nothing(_: libc::c_int) {}
    let installed = *INSTALLED.get_or_init(|| {
        // SAFETY: plain data; no SA_RESTART, and a handler that does nothing.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = nothing as extern "C" fn(libc::c_int) as usize;
            libc::sigemptyset(&raw mut action.sa_mask);
            libc::sigaction(SIGNAL, &raw const action, std::ptr::null_mut()) == 0
        }
    });
    if !installed {
        return Err(io::Error::other("a signal handler cannot be installed"));
    }
    // SAFETY: plain data; changes the mask of this thread only.
    let failed = unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, SIGNAL);
        libc::pthread_sigmask(libc::SIG_UNBLOCK, &raw const set, std::ptr::null_mut())
    };
    if failed == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(failed)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Waits for a byte of a pipe that never has one.
    fn wait_for_ever(pipe: &PipeReader) -> io::Result<Option<u8>> {
        let mut byte = 0_u8;
        // SAFETY: reads one byte into one byte.
        match unsafe { libc::read(pipe.as_raw_fd(), (&raw mut byte).cast(), 1) } {
            1 => Ok(Some(byte)),
            _ => match io::Error::last_os_error() {
                e if e.kind() == io::ErrorKind::Interrupted => Ok(None),
                e => Err(e),
            },
        }
    }

    #[test]
    fn a_wait_without_end_is_interrupted_again_and_again() {
        let (reader, _writer) = io::pipe().unwrap();
        let nudge = Nudge::start().unwrap();
        for _ in 0..5 {
            assert_eq!(nudge.while_nothing_is_due(|| wait_for_ever(&reader)).unwrap(), None);
        }
    }

    #[test]
    fn what_comes_is_handed_on() {
        let nudge = Nudge::start().unwrap();
        let mut got = None;
        while got.is_none() {
            got = nudge.while_nothing_is_due(|| Ok(Some(7))).unwrap();
        }
        assert_eq!(got, Some(7));
    }

    #[test]
    fn threads_are_nudged_on_their_own() {
        let threads: Vec<_> = (0..4)
            .map(|_| {
                std::thread::spawn(|| {
                    let (reader, _writer) = io::pipe().unwrap();
                    let nudge = Nudge::start().unwrap();
                    nudge.while_nothing_is_due(|| wait_for_ever(&reader)).unwrap()
                })
            })
            .collect();
        for thread in threads {
            assert_eq!(thread.join().unwrap(), None);
        }
    }
}
