//! The program between go and a test binary (`go test -exec`).
//!
//! Go starts `SHIM words ... BINARY arguments`. The shim starts the binary as its child with the same
//! environment and file descriptors, hands it the signals that go sends, and ends as it ended: with the same
//! code, or by the same signal, since go prints `signal: killed`. It writes nothing by itself. Between a test binary
//! and a pipe stands a process that keeps what comes by (`tamis_session::Passage`); go waits for the end of both as it
//! does for one.
//!
//! - Signals are blocked and taken one after the other by `sigwaitinfo`: no handler, no race between a
//!   signal and the start of the child. Only signals that a process sent are handed on (go sends `SIGQUIT`
//!   to a test that takes too long, to see its stacks); those of the terminal reach the child anyway.
//! - If the shim is killed, the kernel kills the child: go waits for the end of its output.
//! - Right after go has written the binary, the kernel can refuse to start it (`ETXTBSY`, while another
//!   child of go still has the file open between `fork` and `exec`). Go tries again in that case, and so
//!   does the shim.

use std::ffi::OsString;
use std::io;
use std::mem::MaybeUninit;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};
use tamis_session::Instead;

/// How a test binary ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ended {
    /// The exit code; `None` where a signal ended it.
    pub code: Option<i32>,
    pub signal: Option<i32>,
    pub wall: Duration,
}

/// Runs a test binary (`words`: the binary and its arguments) and returns the exit code to end with. It
/// does not return where a signal ended the binary: the process ends by that signal.
///
/// `before` is called before the binary starts and gives the streams that it gets instead of ours, `after` when it has ended. An error of `before` lets nothing
/// start.
pub fn shim(
    words: &[OsString],
    before: impl FnOnce() -> io::Result<Instead>,
    after: impl FnOnce(&Ended),
) -> io::Result<i32> {
    let ended = run(words, before)?;
    after(&ended);
    match ended.signal {
        Some(signal) => end_by(signal),
        None => Ok(ended.code.unwrap_or(1)),
    }
}

fn run(words: &[OsString], before: impl FnOnce() -> io::Result<Instead>) -> io::Result<Ended> {
    let Some((program, arguments)) = words.split_first() else {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "no test binary was given"));
    };
    let Instead { stdout, stderr } = before()?;
    let began = Instant::now();
    let signals = Signals::block()?;
    let mut command = Command::new(program);
    command.args(arguments);
    if let Some(end) = stdout {
        command.stdout(end);
    }
    if let Some(end) = stderr {
        command.stderr(end);
    }
    let inherited = signals.before;
    // SAFETY: between fork and exec only system calls are made, which is all that is allowed there.
    unsafe { command.pre_exec(move || prepare_child(&inherited)) };
    let child = start(&mut command)?;
    // The ends that the child writes to are its own now.
    drop(command);
    let status = signals.serve(child)?;
    Ok(Ended { code: status.code(), signal: status.signal(), wall: began.elapsed() })
}

/// In the child: the signal mask that go gave, and an end with the shim.
fn prepare_child(mask: &libc::sigset_t) -> io::Result<()> {
    // SAFETY: plain system calls with valid arguments.
    let done = unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) == 0
            && libc::pthread_sigmask(libc::SIG_SETMASK, mask, std::ptr::null_mut()) == 0
    };
    if done { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn start(command: &mut Command) -> io::Result<Child> {
    const PATIENCE: Duration = Duration::from_secs(10);
    let began = Instant::now();
    loop {
        match command.spawn() {
            Err(error)
                if error.raw_os_error() == Some(libc::ETXTBSY) && began.elapsed() < PATIENCE =>
            {
                std::thread::sleep(Duration::from_millis(1));
            }
            other => return other,
        }
    }
}

/// All signals, blocked; the mask from before comes back at the end.
struct Signals {
    all: libc::sigset_t,
    before: libc::sigset_t,
}

impl Signals {
    fn block() -> io::Result<Self> {
        let mut all = MaybeUninit::uninit();
        let mut before = MaybeUninit::uninit();
        // SAFETY: `sigfillset` fills the set that is then read, and the call fills the mask from before.
        unsafe {
            libc::sigfillset(all.as_mut_ptr());
            if libc::pthread_sigmask(libc::SIG_BLOCK, all.as_ptr(), before.as_mut_ptr()) != 0 {
                return Err(io::Error::last_os_error());
            }
            Ok(Self { all: all.assume_init(), before: before.assume_init() })
        }
    }

    /// Takes signals until the child has ended.
    fn serve(&self, mut child: Child) -> io::Result<ExitStatus> {
        loop {
            if let Some(status) = child.try_wait()? {
                return Ok(status);
            }
            let mut info = MaybeUninit::<libc::siginfo_t>::uninit();
            // SAFETY: the set is initialised; the call fills `info` where it returns a signal.
            let signal = unsafe { libc::sigwaitinfo(&self.all, info.as_mut_ptr()) };
            if signal <= 0 || signal == libc::SIGCHLD {
                continue;
            }
            // SAFETY: a signal was returned, so `info` is filled.
            let from_process = unsafe { info.assume_init() }.si_code <= 0;
            if from_process {
                // SAFETY: the child is not waited for yet, so its number is its own.
                unsafe { libc::kill(child.id() as libc::pid_t, signal) };
            }
        }
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        // SAFETY: the mask was filled by the kernel.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &self.before, std::ptr::null_mut()) };
    }
}

/// Ends this process by a signal, without a core file of its own.
fn end_by(signal: i32) -> ! {
    // SAFETY: plain system calls with valid arguments; the set is filled before it is read.
    unsafe {
        let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        libc::setrlimit(libc::RLIMIT_CORE, &none);
        libc::signal(signal, libc::SIG_DFL);
        let mut only = MaybeUninit::uninit();
        libc::sigemptyset(only.as_mut_ptr());
        libc::sigaddset(only.as_mut_ptr(), signal);
        libc::pthread_sigmask(libc::SIG_UNBLOCK, only.as_ptr(), std::ptr::null_mut());
        libc::kill(libc::getpid(), signal);
    }
    // Not reached where the signal ends a process, which is what it has just done to the child.
    std::process::exit(128 + signal)
}
