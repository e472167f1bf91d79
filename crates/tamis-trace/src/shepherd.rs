//! One small process per run that stands between tamis and the command.
//!
//! ```text
//! tamis ── shepherd (child subreaper) ── command ── its children ...
//! ```
//!
//! The shepherd starts the command, which waits for a "go" until the engine is attached. It reaps
//! every process of the tree, also those that lost their parent, so that the end of the *tree* is
//! known and not only the end of the command. It ends the tree when asked, or when tamis itself is
//! gone. If the user's command leaves a process behind on purpose (a server), the shepherd goes on
//! answering the tracer's notifications for it after tamis has ended.
//!
//! It is a fork without exec. Between fork and exec only system calls and glibc's malloc are used,
//! which glibc keeps usable in the child of a threaded process.

use crate::command::{Command, Ending};
use crate::filter::Filter;
use crate::notify;
use crate::tracer::{Stopping, Tracer};
use crate::tree::{descendants, program_name, signal_all};
use crate::wire::{Frame, receive, send, socket_pair};
use std::ffi::{CString, OsStr};
use std::io;
use std::os::fd::{AsRawFd, IntoRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

/// What the shepherd tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Message {
    /// The main process ended.
    Ended(Ending),
    /// Every process of the tree is gone; their processor time.
    AllGone { cpu: Duration },
}

/// What tamis tells the shepherd.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    Go = b'g' as isize,
    /// SIGTERM to every process of the tree.
    Terminate = b't' as isize,
    /// SIGKILL to every process of the tree.
    Kill = b'k' as isize,
    /// Let the rest of the tree live and serve its notifications after tamis has ended.
    Keep = b'p' as isize,
}

/// How the calls of the tree come to tamis.
#[derive(Debug)]
pub(crate) enum Stops {
    /// By this filter, through a listener of the kernel.
    Notified(Filter),
    /// Through the shepherd as a tracer, by this filter or by stopping at every call.
    Traced { filter: Option<Filter>, watch_stdin: bool },
}

impl Stops {
    fn filter(&self) -> Option<&Filter> {
        match self {
            Self::Notified(filter) => Some(filter),
            Self::Traced { filter, .. } => filter.as_ref(),
        }
    }
}

/// A command that waits for its go.
#[derive(Debug)]
pub(crate) struct Shepherd {
    socket: OwnedFd,
    pid: libc::pid_t,
    /// The process that will become the command.
    pub(crate) command_pid: u32,
    /// Where the stopped calls come out: the kernel's listener or the tracer's socket.
    pub(crate) listener: Option<OwnedFd>,
    /// Whether set-user-id programs lose their privileges in this tree.
    pub(crate) no_new_privileges: bool,
}

const STARTED: u8 = 1;
const FAILED: u8 = 2;
const EXITED: u8 = 3;
const SIGNALLED: u8 = 4;
const NOT_STARTED: u8 = 5;
const ALL_GONE: u8 = 6;

/// Everything the child needs, allocated before the fork.
struct Prepared {
    programs: Vec<CString>,
    argv: Vec<*const libc::c_char>,
    envp: Vec<*const libc::c_char>,
    folder: CString,
    stops: Option<Stops>,
    // The pointers above point into these.
    _words: Vec<CString>,
    _environment: Vec<CString>,
}

impl Shepherd {
    /// Starts the shepherd and, below it, the command, which waits for [`Shepherd::go`].
    pub(crate) fn start(command: &Command, stops: Option<Stops>) -> io::Result<Self> {
        let prepared = Prepared::new(command, stops)?;
        let (ours, theirs) = socket_pair()?;
        let stdio = [
            command.stdin.as_ref().map_or(0, AsRawFd::as_raw_fd),
            command.stdout.as_ref().map_or(1, AsRawFd::as_raw_fd),
            command.stderr.as_ref().map_or(2, AsRawFd::as_raw_fd),
        ];
        let keep_open = inherited_descriptors();
        // SAFETY: the child runs `shepherd_main` only, which never returns.
        let pid = unsafe { libc::fork() };
        match pid {
            -1 => return Err(io::Error::last_os_error()),
            0 => shepherd_main(&prepared, theirs.as_raw_fd(), stdio, &keep_open),
            _ => drop(theirs),
        }
        let mut shepherd =
            Self { socket: ours, pid, command_pid: 0, listener: None, no_new_privileges: false };
        let (frame, descriptor) = receive::<Frame>(shepherd.socket.as_raw_fd(), true)?
            .ok_or_else(|| io::Error::other("the process that starts the command died"))?;
        if frame.kind != STARTED {
            return Err(io::Error::from_raw_os_error(frame.value));
        }
        shepherd.command_pid = frame.value as u32;
        shepherd.no_new_privileges = frame.flag != 0;
        shepherd.listener = descriptor;
        Ok(shepherd)
    }

    pub(crate) fn go(&self) -> io::Result<()> {
        self.order(Order::Go)
    }

    pub(crate) fn terminate(&self) {
        // The shepherd may be gone already: then so is the tree.
        let _ = self.order(Order::Terminate);
    }

    pub(crate) fn kill(&self) {
        let _ = self.order(Order::Kill);
    }

    /// Leaves the rest of the tree alive. The shepherd is not waited for.
    pub(crate) fn keep(mut self) {
        let _ = self.order(Order::Keep);
        self.pid = 0;
    }

    /// The programs of the tree that are running now.
    pub(crate) fn running(&self) -> Vec<String> {
        descendants(self.pid as u32).into_iter().map(|pid| program_name(pid as u32)).collect()
    }

    fn order(&self, order: Order) -> io::Result<()> {
        send(self.socket.as_raw_fd(), &Frame { kind: order as u8, ..Frame::default() }, None)
    }

    /// For `poll`: readable when [`Shepherd::message`] has something to say.
    pub(crate) fn descriptor(&self) -> RawFd {
        self.socket.as_raw_fd()
    }

    /// The next message, if there is one. The end of the shepherd counts as [`Message::AllGone`].
    pub(crate) fn message(&self) -> io::Result<Option<Message>> {
        let frame = match receive::<Frame>(self.socket.as_raw_fd(), false) {
            Ok(Some((frame, _))) => frame,
            Ok(None) => return Ok(Some(Message::AllGone { cpu: Duration::ZERO })),
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(None),
            Err(e) => return Err(e),
        };
        Ok(Some(match frame.kind {
            EXITED => Message::Ended(Ending::Exited(frame.value)),
            SIGNALLED => Message::Ended(Ending::Signalled(frame.value)),
            NOT_STARTED => Message::Ended(Ending::NotStarted(frame.value)),
            _ => Message::AllGone { cpu: Duration::from_micros(frame.cpu_us) },
        }))
    }
}

impl Drop for Shepherd {
    fn drop(&mut self) {
        if self.pid > 0 {
            // Closing the socket ends the tree if it is still there; then reap the shepherd.
            // SAFETY: shutdown and waitpid on our own descriptor and child.
            unsafe {
                libc::shutdown(self.socket.as_raw_fd(), libc::SHUT_RDWR);
                libc::waitpid(self.pid, std::ptr::null_mut(), 0);
            }
        }
    }
}

impl Prepared {
    fn new(command: &Command, stops: Option<Stops>) -> io::Result<Self> {
        let c = |s: &OsStr| CString::new(s.as_bytes()).map_err(io::Error::other);
        let words = command.words.iter().map(|w| c(w)).collect::<io::Result<Vec<_>>>()?;
        let first = command.words.first().ok_or_else(|| io::Error::other("no command given"))?;
        let environment = command
            .environment
            .iter()
            .map(|(name, value)| {
                let mut pair = name.as_bytes().to_vec();
                pair.push(b'=');
                pair.extend_from_slice(value.as_bytes());
                CString::new(pair).map_err(io::Error::other)
            })
            .collect::<io::Result<Vec<_>>>()?;
        let path = command.environment.iter().find(|(name, _)| name == "PATH").map_or_else(
            || b"/usr/local/bin:/usr/bin:/bin".to_vec(),
            |(_, v)| v.as_bytes().to_vec(),
        );
        let programs = if first.as_bytes().contains(&b'/') {
            vec![c(first)?]
        } else {
            path.split(|&b| b == b':')
                .map(|dir| {
                    let dir = if dir.is_empty() { b".".as_slice() } else { dir };
                    CString::new([dir, b"/", first.as_bytes()].concat()).map_err(io::Error::other)
                })
                .collect::<io::Result<Vec<_>>>()?
        };
        let pointers = |strings: &[CString]| {
            strings.iter().map(|s| s.as_ptr()).chain([std::ptr::null()]).collect()
        };
        Ok(Self {
            programs,
            argv: pointers(&words),
            envp: pointers(&environment),
            folder: c(command.folder.as_os_str())?,
            stops,
            _words: words,
            _environment: environment,
        })
    }
}

/// The life of the shepherd process.
fn shepherd_main(prepared: &Prepared, socket: RawFd, stdio: [RawFd; 3], keep: &[RawFd]) -> ! {
    // SAFETY: plain system calls on descriptors and memory of this process.
    unsafe {
        libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
        // Signals of the terminal reach the command by itself; the shepherd stays to reap.
        for signal in [libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGHUP, libc::SIGPIPE] {
            libc::signal(signal, libc::SIG_IGN);
        }
        let mut child_signals: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut child_signals);
        libc::sigaddset(&raw mut child_signals, libc::SIGCHLD);
        // Ignored (by whoever started tamis), it would never come, and children reap themselves.
        libc::signal(libc::SIGCHLD, libc::SIG_DFL);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const child_signals, std::ptr::null_mut());
        let signals = libc::signalfd(-1, &raw const child_signals, libc::SFD_CLOEXEC);

        if arrange_descriptors(stdio).is_err() {
            fail(socket);
        }
        let Ok((link, childs_link)) = socket_pair() else { fail(socket) };
        let (link, childs_link) = (link.into_raw_fd(), childs_link.into_raw_fd());
        // Copies of descriptors that belong to other runs would keep those alive.
        close_others(&[keep, &[socket, signals, link, childs_link]].concat());
        let child = libc::fork();
        match child {
            -1 => fail(socket),
            0 => command_main(prepared, childs_link),
            _ => {}
        }
        libc::close(childs_link);
        // Hold nothing open that the command's readers wait for.
        let null = libc::open(c"/dev/null".as_ptr(), libc::O_RDWR | libc::O_CLOEXEC);
        for fd in 0..3 {
            libc::dup2(null, fd);
        }
        let hello = match receive::<Frame>(link, true) {
            Ok(Some(hello)) if hello.0.kind == STARTED => hello,
            Ok(Some((failure, _))) => {
                let _ = send(socket, &failure, None);
                libc::_exit(1);
            }
            _ => fail(socket),
        };
        let (charge, descriptor) = match take_charge(prepared, child, hello.1) {
            Ok(charge) => charge,
            Err(value) => {
                libc::kill(child, libc::SIGKILL);
                let _ = send(socket, &Frame { kind: FAILED, value, ..Frame::default() }, None);
                libc::_exit(1);
            }
        };
        let started = Frame { value: child, ..hello.0 };
        if send(socket, &started, descriptor.as_ref().map(AsRawFd::as_raw_fd)).is_err() {
            libc::kill(child, libc::SIGKILL);
            libc::_exit(1);
        }
        drop(descriptor);
        Herd { child, charge, socket, socket_open: true, signals, link }.watch()
    }
}

/// What the shepherd does for the tree besides reaping it.
enum Charge {
    Nothing,
    /// Keeps the listener for processes that outlive the run.
    Listener(RawFd),
    Tracer(Tracer),
}

/// The shepherd's charge, and the descriptor that tamis gets.
fn take_charge(
    prepared: &Prepared,
    child: libc::pid_t,
    listener: Option<OwnedFd>,
) -> Result<(Charge, Option<OwnedFd>), i32> {
    let errno = |e: io::Error| e.raw_os_error().unwrap_or(libc::EIO);
    match (&prepared.stops, listener) {
        (Some(Stops::Traced { filter, watch_stdin }), _) => {
            let (ours, theirs) = socket_pair().map_err(errno)?;
            let stopping = if filter.is_some() { Stopping::Filtered } else { Stopping::EveryCall };
            let tracer = Tracer::attach(child, ours, stopping, *watch_stdin)?;
            Ok((Charge::Tracer(tracer), Some(theirs)))
        }
        (_, Some(listener)) => {
            let ours = listener.try_clone().map_err(errno)?;
            Ok((Charge::Listener(ours.into_raw_fd()), Some(listener)))
        }
        (_, None) => Ok((Charge::Nothing, None)),
    }
}

/// The shepherd at work.
struct Herd {
    child: libc::pid_t,
    charge: Charge,
    socket: RawFd,
    socket_open: bool,
    signals: RawFd,
    link: RawFd,
}

impl Herd {
    /// Reaps, reports and obeys until the tree is gone.
    fn watch(mut self) -> ! {
        loop {
            let polled = |fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
            let calls = match &self.charge {
                Charge::Tracer(tracer) => tracer.poll(),
                _ => polled(-1),
            };
            let socket = polled(if self.socket_open { self.socket } else { -1 });
            let mut fds = [polled(self.signals), socket, calls];
            // SAFETY: polls descriptors of this process.
            unsafe { libc::poll(fds.as_mut_ptr(), fds.len() as libc::nfds_t, -1) };
            if fds[0].revents != 0 {
                let mut info = [0_u8; 128];
                // SAFETY: reads one signalfd record into a large enough buffer.
                unsafe { libc::read(self.signals, info.as_mut_ptr().cast(), info.len()) };
                if self.reap() {
                    let gone =
                        Frame { kind: ALL_GONE, cpu_us: cpu_of_children(), ..Frame::default() };
                    let _ = send(self.socket, &gone, None);
                    // SAFETY: ends this process.
                    unsafe { libc::_exit(0) };
                }
            }
            if let (Charge::Tracer(tracer), true) = (&mut self.charge, fds[2].revents != 0) {
                tracer.hear();
            }
            if fds[1].revents != 0 {
                self.obey();
            }
        }
    }

    fn obey(&mut self) {
        match receive::<Frame>(self.socket, false) {
            Ok(Some((frame, _))) => match frame.kind {
                b'g' => {
                    let _ = send(self.link, &frame, None);
                }
                b't' => signal_all(libc::SIGTERM),
                b'k' => signal_all(libc::SIGKILL),
                b'p' => match &mut self.charge {
                    // A tracer that ended would take the tree along.
                    Charge::Tracer(tracer) => {
                        tracer.alone();
                        self.socket_open = false;
                    }
                    Charge::Listener(listener) => {
                        notify::serve_blindly(*listener);
                        // SAFETY: ends this process.
                        unsafe { libc::_exit(0) };
                    }
                    // SAFETY: as above.
                    Charge::Nothing => unsafe { libc::_exit(0) },
                },
                _ => {}
            },
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
            _ => {
                // tamis is gone: what it ran goes too, or it would wait for answers for ever.
                self.socket_open = false;
                signal_all(libc::SIGKILL);
            }
        }
    }

    /// Reaps what ended, sees to what stopped. True when no child is left.
    fn reap(&mut self) -> bool {
        loop {
            let mut status = 0;
            // SAFETY: waits for any child or traced thread of this process.
            let pid = unsafe { libc::waitpid(-1, &raw mut status, libc::WNOHANG | libc::__WALL) };
            match pid {
                0 => return false,
                -1 => return true,
                _ => {}
            }
            if libc::WIFSTOPPED(status) {
                if let Charge::Tracer(tracer) = &mut self.charge {
                    tracer.stopped(pid, status);
                }
                continue;
            }
            if pid != self.child {
                continue;
            }
            let (kind, value) = match receive::<Frame>(self.link, false) {
                Ok(Some((frame, _))) => (NOT_STARTED, frame.value),
                _ if libc::WIFSIGNALED(status) => (SIGNALLED, libc::WTERMSIG(status)),
                _ => (EXITED, libc::WEXITSTATUS(status)),
            };
            let _ = send(self.socket, &Frame { kind, value, ..Frame::default() }, None);
        }
    }
}

/// Processor time of the processes that this one has reaped, and of those that they have.
fn cpu_of_children() -> u64 {
    // SAFETY: rusage is plain data that getrusage fills.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_CHILDREN, &raw mut usage);
        usage
    };
    let us = |t: libc::timeval| t.tv_sec as u64 * 1_000_000 + t.tv_usec as u64;
    us(usage.ru_utime) + us(usage.ru_stime)
}

/// The child: becomes the command. Its end of the link closes with a successful exec.
fn command_main(prepared: &Prepared, link: RawFd) -> ! {
    // SAFETY: system calls between fork and exec, on memory prepared before the fork.
    unsafe {
        for signal in [libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGHUP, libc::SIGPIPE] {
            libc::signal(signal, libc::SIG_DFL);
        }
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
        let mut errno = match libc::chdir(prepared.folder.as_ptr()) {
            0 => 0,
            _ => *libc::__errno_location(),
        };
        let mut link = link;
        let mut hello = Frame { kind: STARTED, ..Frame::default() };
        let mut listener = None;
        if let Some(filter) = prepared.stops.as_ref().and_then(Stops::filter) {
            // The filter lets messages on this one descriptor pass.
            link = libc::dup3(link, filter.handoff(), libc::O_CLOEXEC);
            match filter.install() {
                Ok(installed) => {
                    hello.flag = u8::from(installed.no_new_privileges);
                    listener = installed.listener;
                }
                Err(errno) => hello = Frame { kind: FAILED, value: errno, ..Frame::default() },
            }
        }
        let sent = send(link, &hello, listener);
        if sent.is_err()
            || hello.kind == FAILED
            || !matches!(receive::<Frame>(link, true), Ok(Some(_)))
        {
            libc::_exit(127);
        }
        if errno == 0 {
            errno = libc::ENOENT;
            for program in &prepared.programs {
                libc::execve(program.as_ptr(), prepared.argv.as_ptr(), prepared.envp.as_ptr());
                match *libc::__errno_location() {
                    libc::ENOENT | libc::ENOTDIR => {}
                    libc::ENOEXEC => exec_by_shell(prepared, program),
                    // Like execvp: remember the refusal, look further.
                    e => errno = e,
                }
            }
        }
        let _ = send(link, &Frame { kind: NOT_STARTED, value: errno, ..Frame::default() }, None);
        libc::_exit(127);
    }
}

/// A script without an interpreter line runs in the shell, as execvp and every shell do.
fn exec_by_shell(prepared: &Prepared, program: &CString) {
    let mut argv = vec![c"/bin/sh".as_ptr(), program.as_ptr()];
    argv.extend(prepared.argv.iter().skip(1));
    // SAFETY: a null-terminated array of live C strings.
    unsafe { libc::execve(c"/bin/sh".as_ptr(), argv.as_ptr(), prepared.envp.as_ptr()) };
}

fn arrange_descriptors(stdio: [RawFd; 3]) -> io::Result<()> {
    for (target, &source) in stdio.iter().enumerate() {
        // SAFETY: duplicates descriptors of this process.
        let done = unsafe {
            if source == target as RawFd { 0 } else { libc::dup2(source, target as RawFd) }
        };
        // A closed standard descriptor stays closed.
        if done < 0 && source != target as RawFd {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

/// Closes every descriptor from 3 on but these.
fn close_others(keep: &[RawFd]) {
    let mut keep: Vec<RawFd> = keep.iter().copied().filter(|&fd| fd >= 3).collect();
    keep.sort_unstable();
    let mut first = 3;
    for fd in keep {
        if fd > first {
            // SAFETY: closes a range of our own descriptors.
            unsafe { libc::syscall(libc::SYS_close_range, first, fd - 1, 0) };
        }
        first = first.max(fd + 1);
    }
    // SAFETY: as above.
    unsafe { libc::syscall(libc::SYS_close_range, first, u32::MAX, 0) };
}

/// The descriptors beyond the standard three that whoever started tamis wants to hand on (a make
/// job server, say): all that survive an exec.
fn inherited_descriptors() -> Vec<RawFd> {
    let Ok(entries) = std::fs::read_dir("/proc/self/fd") else { return Vec::new() };
    entries
        .flatten()
        .filter_map(|e| e.file_name().to_str()?.parse().ok())
        .filter(|&fd: &RawFd| {
            // SAFETY: asks for the flags of a descriptor; a closed one answers -1.
            let flags = unsafe { libc::fcntl(fd, libc::F_GETFD) };
            fd > 2 && flags >= 0 && flags & libc::FD_CLOEXEC == 0
        })
        .collect()
}

fn fail(socket: RawFd) -> ! {
    let value = io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO);
    let _ = send(socket, &Frame { kind: FAILED, value, ..Frame::default() }, None);
    // SAFETY: ends this process.
    unsafe { libc::_exit(1) }
}
