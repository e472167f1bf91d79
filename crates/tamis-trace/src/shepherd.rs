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

use crate::adopt;
use crate::command::{Command, Ending};
use crate::filter::Filter;
use crate::listener::serve_blindly;
use crate::proc::{descendants, pending_signals, program_name};
use crate::tree::signal_all;
use std::ffi::{CString, OsStr};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, IntoRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

/// What the shepherd tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Message {
    /// The main process ended; whether a signal of the terminal had reached the tree before.
    Ended { ending: Ending, signalled: bool },
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
    /// Trace the rest of the tree, which is stopped, and then as with [`Order::Keep`].
    Adopt = b'a' as isize,
}

/// A command that waits for its go.
#[derive(Debug)]
pub(crate) struct Shepherd {
    socket: OwnedFd,
    pid: libc::pid_t,
    /// The process that will become the command.
    pub(crate) command_pid: u32,
    /// The listener for notifications, where the filter asked for them.
    pub(crate) listener: Option<OwnedFd>,
    /// Whether set-user-id programs lose their privileges in this tree.
    pub(crate) no_new_privileges: bool,
}

/// Fixed-size frames on the socket between the two.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Frame {
    kind: u8,
    flag: u8,
    value: i32,
    cpu_us: u64,
}

const STARTED: u8 = 1;
const FAILED: u8 = 2;
const EXITED: u8 = 3;
const SIGNALLED: u8 = 4;
const NOT_STARTED: u8 = 5;
const ALL_GONE: u8 = 6;
const ADOPTED: u8 = 7;

/// Everything the child needs, allocated before the fork.
struct Prepared {
    programs: Vec<CString>,
    argv: Vec<*const libc::c_char>,
    envp: Vec<*const libc::c_char>,
    folder: CString,
    filter: Option<Filter>,
    // The pointers above point into these.
    _words: Vec<CString>,
    _environment: Vec<CString>,
}

impl Shepherd {
    /// Starts the shepherd and, below it, the command, which waits for [`Shepherd::go`].
    pub(crate) fn start(command: &Command, filter: Option<Filter>) -> io::Result<Self> {
        let prepared = Prepared::new(command, filter)?;
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
        let (frame, descriptor) = receive(shepherd.socket.as_raw_fd(), true)?
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

    /// Has the shepherd trace the rest of the tree, which has no tracer now and which is stopped. It
    /// serves that from then on. False where it may not trace one of the processes.
    pub(crate) fn adopt(&self) -> io::Result<bool> {
        self.order(Order::Adopt)?;
        loop {
            match receive(self.socket.as_raw_fd(), true)? {
                Some((frame, _)) if frame.kind == ADOPTED => return Ok(frame.value == 0),
                Some(_) => {}
                None => return Err(io::Error::other("the process that keeps the tree died")),
            }
        }
    }

    /// Whether a signal of the terminal has reached the shepherd, and so the whole process group.
    pub(crate) fn was_signalled(&self) -> bool {
        pending_signals(self.pid as u32).is_some_and(|pending| {
            STOPPING_SIGNALS.iter().any(|signal| pending & (1 << (signal - 1)) != 0)
        })
    }

    /// The programs of the tree that are running now.
    pub(crate) fn running(&self) -> Vec<String> {
        descendants(self.pid as u32).into_iter().map(program_name).collect()
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
        let frame = match receive(self.socket.as_raw_fd(), false) {
            Ok(Some((frame, _))) => frame,
            Ok(None) => return Ok(Some(Message::AllGone { cpu: Duration::ZERO })),
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(None),
            Err(e) => return Err(e),
        };
        let ended = |ending| Message::Ended { ending, signalled: frame.flag != 0 };
        Ok(Some(match frame.kind {
            EXITED => ended(Ending::Exited(frame.value)),
            SIGNALLED => ended(Ending::Signalled(frame.value)),
            NOT_STARTED => ended(Ending::NotStarted(frame.value)),
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
    fn new(command: &Command, filter: Option<Filter>) -> io::Result<Self> {
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
            filter,
            _words: words,
            _environment: environment,
        })
    }
}

const TERMINAL_SIGNALS: [libc::c_int; 4] =
    [libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGHUP];

/// Those of them that stop tamis. They stay pending in the shepherd for ever: a signal to the process
/// group reaches all of its members before one of them can end by it, so what is not pending when the
/// command ends did not end it.
const STOPPING_SIGNALS: [libc::c_int; 3] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP];

/// The life of the shepherd process.
fn shepherd_main(prepared: &Prepared, socket: RawFd, stdio: [RawFd; 3], keep: &[RawFd]) -> ! {
    // SAFETY: plain system calls on descriptors and memory of this process.
    unsafe {
        libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
        // Signals of the terminal reach the command by itself; the shepherd stays to reap.
        let before = TERMINAL_SIGNALS.map(|signal| libc::signal(signal, libc::SIG_IGN));
        libc::signal(libc::SIGPIPE, libc::SIG_IGN);
        let mut child_signals: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut child_signals);
        libc::sigaddset(&raw mut child_signals, libc::SIGCHLD);
        // Ignored (by whoever started tamis), it would never come, and children reap themselves.
        libc::signal(libc::SIGCHLD, libc::SIG_DFL);
        hold_signals(child_signals, before);
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
            0 => command_main(prepared, childs_link, before),
            _ => {}
        }
        libc::close(childs_link);
        // Hold nothing open that the command's readers wait for.
        let null = libc::open(c"/dev/null".as_ptr(), libc::O_RDWR | libc::O_CLOEXEC);
        for fd in 0..3 {
            libc::dup2(null, fd);
        }
        let listener = match receive(link, true) {
            Ok(Some((frame, listener))) if frame.kind == STARTED => {
                let started = Frame { value: child, ..frame };
                let descriptor = listener.as_ref().map(AsRawFd::as_raw_fd);
                if send(socket, &started, descriptor).is_err() {
                    libc::kill(child, libc::SIGKILL);
                    libc::_exit(1);
                }
                listener.map(IntoRawFd::into_raw_fd)
            }
            Ok(Some((frame, _))) => {
                let _ = send(socket, &frame, None);
                libc::_exit(1);
            }
            _ => fail(socket),
        };
        herd(child, listener, socket, signals, link)
    }
}

/// Blocks SIGCHLD, which is waited for, and the signals that stop tamis, which are remembered.
fn hold_signals(child_signals: libc::sigset_t, before: [libc::sighandler_t; 4]) {
    let mut held = child_signals;
    for signal in STOPPING_SIGNALS {
        let n = TERMINAL_SIGNALS.iter().position(|&other| other == signal);
        // What is ignored where tamis was started (nohup) stops nothing.
        if signal != libc::SIGHUP || n.is_none_or(|n| before[n] != libc::SIG_IGN) {
            // SAFETY: adds to a set of this process.
            unsafe { libc::sigaddset(&raw mut held, signal) };
        }
    }
    // SAFETY: changes the mask of this process, which has one thread.
    unsafe { libc::sigprocmask(libc::SIG_SETMASK, &raw const held, std::ptr::null_mut()) };
}

/// Whether one of the signals that stop tamis has come to this process.
fn is_signalled() -> bool {
    // SAFETY: plain data, filled by the call.
    unsafe {
        let mut pending: libc::sigset_t = std::mem::zeroed();
        libc::sigpending(&raw mut pending) == 0
            && STOPPING_SIGNALS.iter().any(|&s| libc::sigismember(&raw const pending, s) == 1)
    }
}

/// Reaps, reports and obeys until the tree is gone.
fn herd(
    child: libc::pid_t,
    listener: Option<RawFd>,
    socket: RawFd,
    signals: RawFd,
    link: RawFd,
) -> ! {
    let mut cpu_us = 0;
    let mut socket_open = true;
    loop {
        let polled = |fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
        let mut fds = [polled(signals), polled(if socket_open { socket } else { -1 })];
        // SAFETY: polls two descriptors of this process.
        unsafe { libc::poll(fds.as_mut_ptr(), 2, -1) };
        if fds[0].revents != 0 {
            let mut info = [0_u8; 128];
            // SAFETY: reads one signalfd record into a large enough buffer.
            unsafe { libc::read(signals, info.as_mut_ptr().cast(), info.len()) };
            if reap(child, socket, link, &mut cpu_us) {
                let _ = send(socket, &Frame { kind: ALL_GONE, cpu_us, ..Frame::default() }, None);
                // SAFETY: ends this process.
                unsafe { libc::_exit(0) };
            }
        }
        if fds[1].revents == 0 {
            continue;
        }
        match receive(socket, false) {
            Ok(Some((frame, _))) => match frame.kind {
                b'g' => {
                    let _ = send(link, &frame, None);
                }
                b't' => signal_all(libc::SIGTERM),
                b'k' => signal_all(libc::SIGKILL),
                b'p' => {
                    if let Some(listener) = listener {
                        serve_blindly(listener);
                    }
                    // SAFETY: ends this process.
                    unsafe { libc::_exit(0) };
                }
                b'a' => {
                    let value = adopt::adopt_all();
                    let _ = send(socket, &Frame { kind: ADOPTED, value, ..Frame::default() }, None);
                    if value == 0 {
                        adopt::serve_blindly()
                    }
                }
                _ => {}
            },
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
            _ => {
                // tamis is gone: what it ran goes too, or it would wait for answers for ever.
                socket_open = false;
                signal_all(libc::SIGKILL);
            }
        }
    }
}

/// Reaps what ended. True when no child is left.
fn reap(child: libc::pid_t, socket: RawFd, link: RawFd, cpu_us: &mut u64) -> bool {
    loop {
        let mut status = 0;
        // SAFETY: rusage is plain data that wait4 fills.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        // SAFETY: waits for any child of this process.
        let pid = unsafe { libc::wait4(-1, &raw mut status, libc::WNOHANG, &raw mut usage) };
        match pid {
            0 => return false,
            -1 => return true,
            _ => {}
        }
        let us = |t: libc::timeval| t.tv_sec as u64 * 1_000_000 + t.tv_usec as u64;
        *cpu_us += us(usage.ru_utime) + us(usage.ru_stime);
        if pid != child {
            continue;
        }
        let (kind, value) = match receive(link, false) {
            Ok(Some((frame, _))) => (NOT_STARTED, frame.value),
            _ if libc::WIFSIGNALED(status) => (SIGNALLED, libc::WTERMSIG(status)),
            _ => (EXITED, libc::WEXITSTATUS(status)),
        };
        let flag = u8::from(is_signalled());
        let _ = send(socket, &Frame { kind, flag, value, ..Frame::default() }, None);
    }
}

/// The child: becomes the command. Its end of the link closes with a successful exec.
fn command_main(prepared: &Prepared, link: RawFd, before: [libc::sighandler_t; 4]) -> ! {
    // SAFETY: system calls between fork and exec, on memory prepared before the fork.
    unsafe {
        // What whoever started tamis ignores (nohup, a shell's background job) stays ignored.
        for (signal, before) in TERMINAL_SIGNALS.into_iter().zip(before) {
            let keep = before == libc::SIG_IGN;
            libc::signal(signal, if keep { libc::SIG_IGN } else { libc::SIG_DFL });
        }
        // Rust itself ignores this one.
        libc::signal(libc::SIGPIPE, libc::SIG_DFL);
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
        if let Some(filter) = &prepared.filter {
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
        if sent.is_err() || hello.kind == FAILED || !matches!(receive(link, true), Ok(Some(_))) {
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

fn socket_pair() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut fds = [0; 2];
    let kind = libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC;
    // SAFETY: fills the two descriptors, which we then own.
    unsafe {
        if libc::socketpair(libc::AF_UNIX, kind, 0, fds.as_mut_ptr()) != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok((OwnedFd::from_raw_fd(fds[0]), OwnedFd::from_raw_fd(fds[1])))
    }
}

/// Space for one control message with one descriptor, aligned as the kernel wants it.
#[repr(C, align(8))]
struct Control([u8; 32]);

fn send(socket: RawFd, frame: &Frame, descriptor: Option<RawFd>) -> io::Result<()> {
    let mut part = libc::iovec {
        iov_base: std::ptr::from_ref(frame).cast_mut().cast(),
        iov_len: size_of::<Frame>(),
    };
    let mut control = Control([0; 32]);
    // SAFETY: msghdr is plain data; all pointers live until sendmsg returns.
    unsafe {
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        if let Some(fd) = descriptor {
            message.msg_control = (&raw mut control).cast();
            message.msg_controllen = libc::CMSG_SPACE(4) as _;
            let header = libc::CMSG_FIRSTHDR(&raw const message);
            (*header).cmsg_level = libc::SOL_SOCKET;
            (*header).cmsg_type = libc::SCM_RIGHTS;
            (*header).cmsg_len = libc::CMSG_LEN(4) as _;
            libc::CMSG_DATA(header).cast::<RawFd>().write_unaligned(fd);
        }
        if libc::sendmsg(socket, &raw const message, libc::MSG_NOSIGNAL) < 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

/// The next frame; `None` when the other end is gone.
fn receive(socket: RawFd, wait: bool) -> io::Result<Option<(Frame, Option<OwnedFd>)>> {
    let mut frame = Frame::default();
    let mut part = libc::iovec { iov_base: (&raw mut frame).cast(), iov_len: size_of::<Frame>() };
    let mut control = Control([0; 32]);
    // SAFETY: as in `send`; a received descriptor is ours.
    unsafe {
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        message.msg_control = (&raw mut control).cast();
        message.msg_controllen = size_of::<Control>() as _;
        let flags = libc::MSG_CMSG_CLOEXEC | if wait { 0 } else { libc::MSG_DONTWAIT };
        let got = loop {
            let got = libc::recvmsg(socket, &raw mut message, flags);
            if got >= 0 || *libc::__errno_location() != libc::EINTR {
                break got;
            }
        };
        if got < 0 {
            return Err(io::Error::last_os_error());
        }
        if got as usize != size_of::<Frame>() {
            return Ok(None);
        }
        let header = libc::CMSG_FIRSTHDR(&raw const message);
        let descriptor =
            (!header.is_null() && (*header).cmsg_type == libc::SCM_RIGHTS).then(|| {
                OwnedFd::from_raw_fd(libc::CMSG_DATA(header).cast::<RawFd>().read_unaligned())
            });
        Ok(Some((frame, descriptor)))
    }
}
