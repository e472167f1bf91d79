//! What a process prints into a pipe, kept on its way.
//!
//! A command has the user's own streams, so tamis does not see what it prints. Where such a stream is a pipe, the
//! command gets another pipe, and a process of its own hands on all that comes, byte by byte, and keeps the end of it in
//! memory that tamis shares. For the command nothing is different: it writes to a pipe, and a reader that goes away
//! ends it by SIGPIPE.
//!
//! It is a process and no thread because what a command leaves running holds the pipe beyond the end of tamis, and
//! has to be able to print to where it did. It is forked and starts no program, and what it does is read, write and
//! poll: between `fork` and its end there is nothing that a thread of tamis could have left locked, and inside of an
//! observed tree it looks at no file.
//!
//! Not seen: what is printed to a terminal, which stays the command's own.

use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

/// So much of the end is kept.
const KEPT: usize = 4 << 20;
/// The number of all bytes stands before them.
const HEAD: usize = size_of::<u64>();
/// Read at once.
const CHUNK: usize = 64 << 10;

/// It has read to the end of the stream and ends now.
const CLOSED: u8 = b'c';
/// Something still holds the stream.
const OPEN: u8 = b'o';

/// A pipe before a pipe.
#[derive(Debug)]
pub struct Passage {
    kept: Kept,
    asks: UnixStream,
    process: libc::pid_t,
}

impl Passage {
    /// A pipe whose content goes on to this stream; the end to write to comes with it. `None` where the stream
    /// is no pipe.
    pub fn before(stream: BorrowedFd<'_>) -> io::Result<Option<(Self, OwnedFd)>> {
        if !is_pipe(stream) {
            return Ok(None);
        }
        let (reader, writer) = io::pipe()?;
        let (asks, answers) = UnixStream::pair()?;
        let kept = Kept::new()?;
        let ends = Ends {
            from: reader.as_raw_fd(),
            to: stream.as_raw_fd(),
            asked_by: answers.as_raw_fd(),
        };
        // SAFETY: the child calls nothing but `pass_on`, which makes system calls only and never returns.
        match unsafe { libc::fork() } {
            -1 => Err(io::Error::last_os_error()),
            0 => pass_on(ends, &kept),
            process => Ok(Some((Self { kept, asks, process }, writer.into()))),
        }
    }

    /// The end of all that came by until now. Whoever printed has ended, and the writing end is closed here.
    pub fn end(mut self) -> Vec<u8> {
        let mut answer = [OPEN];
        // A process that is gone, because the stream is not read any more, has kept what there was.
        let asked = self.asks.write_all(b"?").and_then(|()| self.asks.read(&mut answer));
        let goes_on = matches!(asked, Ok(1)) && answer[0] == OPEN;
        let options = if goes_on { libc::WNOHANG } else { 0 };
        // SAFETY: waits for our own child.
        unsafe { libc::waitpid(self.process, std::ptr::null_mut(), options) };
        self.kept.text()
    }
}

/// Whether this is a pipe.
pub(crate) fn is_pipe(stream: BorrowedFd<'_>) -> bool {
    status_of(stream).is_some_and(|found| found.st_mode & libc::S_IFMT == libc::S_IFIFO)
}

/// What the kernel says of a descriptor.
pub(crate) fn status_of(stream: BorrowedFd<'_>) -> Option<libc::stat> {
    let mut found = std::mem::MaybeUninit::<libc::stat>::uninit();
    // SAFETY: the call fills the structure where it succeeds.
    unsafe {
        let done = libc::fstat(stream.as_raw_fd(), found.as_mut_ptr()) == 0;
        done.then(|| found.assume_init())
    }
}

/// A ring in memory that parent and child share.
#[derive(Debug)]
struct Kept(NonNull<u8>);

// SAFETY: the memory belongs to this value; only its one reader and the child touch it.
unsafe impl Send for Kept {}

impl Kept {
    fn new() -> io::Result<Self> {
        let (access, kind) =
            (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_ANONYMOUS);
        // SAFETY: new memory at an address that the kernel chooses.
        let at: *mut libc::c_void =
            unsafe { libc::mmap(std::ptr::null_mut(), HEAD + KEPT, access, kind, -1, 0) };
        match NonNull::new(at.cast::<u8>()).filter(|_| at != libc::MAP_FAILED) {
            Some(at) => Ok(Self(at)),
            None => Err(io::Error::last_os_error()),
        }
    }

    fn count(&self) -> &AtomicU64 {
        // SAFETY: the mapping begins on a page, is longer than this, and lives as long as `self`.
        unsafe { self.0.cast().as_ref() }
    }

    /// Makes system calls and copies only.
    fn push(&self, bytes: &[u8]) {
        let count = self.count().load(Ordering::Relaxed);
        for (n, byte) in (count..).zip(bytes) {
            // SAFETY: the remainder is below the length of the ring.
            unsafe { self.0.add(HEAD + (n % KEPT as u64) as usize).write(*byte) };
        }
        self.count().store(count + bytes.len() as u64, Ordering::Release);
    }

    /// In order; where it is not all, from the beginning of a line.
    fn text(&self) -> Vec<u8> {
        let count = self.count().load(Ordering::Acquire);
        let from = count.saturating_sub(KEPT as u64);
        // SAFETY: the remainder is below the length of the ring.
        let byte = |n: u64| unsafe { self.0.add(HEAD + (n % KEPT as u64) as usize).read() };
        let mut text: Vec<u8> = (from..count).map(byte).collect();
        if from > 0
            && let Some(end) = text.iter().position(|byte| *byte == b'\n')
        {
            text.drain(..=end);
        }
        text
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `new` with this length, and nothing refers to it any more.
        unsafe { libc::munmap(self.0.as_ptr().cast(), HEAD + KEPT) };
    }
}

/// The descriptors of the child.
#[derive(Clone, Copy)]
struct Ends {
    from: RawFd,
    to: RawFd,
    asked_by: RawFd,
}

/// The child. It lives until nothing can write to the pipe any more.
fn pass_on(mut ends: Ends, kept: &Kept) -> ! {
    ignore_signals();
    close_others(ends);
    let mut buffer = [0; CHUNK];
    while ends.from >= 0 || ends.asked_by >= 0 {
        let poll = |fd, events| libc::pollfd { fd, events, revents: 0 };
        // Of the stream only that its reader is gone.
        let mut fds =
            [poll(ends.from, libc::POLLIN), poll(ends.asked_by, libc::POLLIN), poll(ends.to, 0)];
        // SAFETY: three live entries; a negative descriptor is passed over.
        if unsafe { libc::poll(fds.as_mut_ptr(), 3, -1) } < 0 {
            continue;
        }
        if fds[2].revents & libc::POLLERR != 0 {
            leave();
        }
        if fds[0].revents != 0 {
            match read(ends.from, &mut buffer) {
                0 => ends.from = -1,
                n => {
                    kept.push(&buffer[..n]);
                    write(ends.to, &buffer[..n]);
                }
            }
        } else if fds[1].revents != 0 {
            // Asked while nothing is left in the pipe. Without an answer tamis is gone.
            if read(ends.asked_by, &mut buffer) > 0 {
                let answer = if ends.from < 0 { CLOSED } else { OPEN };
                // SAFETY: one byte of a live buffer; without a reader there is nothing to say.
                unsafe { libc::write(ends.asked_by, [answer].as_ptr().cast(), 1) };
            }
            ends.asked_by = -1;
        }
    }
    leave()
}

fn leave() -> ! {
    // SAFETY: ends this process, and runs nothing of the one that it was forked from.
    unsafe { libc::_exit(0) }
}

/// What ends the command does not end what it prints.
fn ignore_signals() {
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT, libc::SIGPIPE] {
        // SAFETY: sets no handler.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
}

/// Other streams must be able to end.
fn close_others(ends: Ends) {
    let mut own = [ends.from, ends.to, ends.asked_by];
    own.sort_unstable();
    let mut next: libc::c_uint = 0;
    for fd in own {
        let fd = fd as libc::c_uint;
        if next < fd {
            close_range(next, fd - 1);
        }
        next = fd + 1;
    }
    close_range(next, libc::c_uint::MAX);
}

fn close_range(first: libc::c_uint, last: libc::c_uint) {
    // SAFETY: closes descriptors that this process does not use.
    unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) };
}

/// What there is to read; 0 at the end.
fn read(from: RawFd, buffer: &mut [u8]) -> usize {
    // SAFETY: a live buffer and its length.
    match unsafe { libc::read(from, buffer.as_mut_ptr().cast(), buffer.len()) } {
        n if n > 0 => n as usize,
        _ => 0,
    }
}

/// Writes all; ends the process where it is not read any more.
fn write(to: RawFd, mut bytes: &[u8]) {
    while !bytes.is_empty() {
        // SAFETY: a live buffer and its length.
        let written = unsafe { libc::write(to, bytes.as_ptr().cast(), bytes.len()) };
        match usize::try_from(written) {
            Ok(n) => bytes = &bytes[n..],
            Err(_) => wait_for_room(to),
        }
    }
}

/// A stream can be one that its owner does not want to wait for.
fn wait_for_room(to: RawFd) {
    // SAFETY: reads the number of this thread's last error.
    let error = unsafe { *libc::__errno_location() };
    if error != libc::EAGAIN && error != libc::EINTR {
        leave();
    }
    let mut fd = libc::pollfd { fd: to, events: libc::POLLOUT, revents: 0 };
    // SAFETY: one live entry.
    unsafe { libc::poll(&raw mut fd, 1, -1) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::os::fd::AsFd;

    fn start() -> (io::PipeReader, Passage, File) {
        let (reader, writer) = io::pipe().unwrap();
        let (passage, own) = Passage::before(writer.as_fd()).unwrap().unwrap();
        (reader, passage, own.into())
    }

    #[test]
    fn everything_goes_on_and_is_kept() {
        let (mut reader, passage, mut own) = start();
        own.write_all(b"one\n").unwrap();
        let mut buffer = [0; 4];
        reader.read_exact(&mut buffer).unwrap();
        own.write_all(b"two\n").unwrap();
        drop(own);
        assert_eq!(passage.end(), b"one\ntwo\n");
        let mut rest = String::new();
        reader.read_to_string(&mut rest).unwrap();
        assert_eq!((&buffer, rest.as_str()), (b"one\n", "two\n"));
    }

    #[test]
    fn of_much_the_end_is_kept_by_whole_lines() {
        let (mut reader, passage, mut own) = start();
        let counted = std::thread::spawn(move || {
            let mut all = Vec::new();
            reader.read_to_end(&mut all).map(|_| all)
        });
        let text: String = (0..700_000).map(|n| format!("line {n}\n")).collect();
        own.write_all(text.as_bytes()).unwrap();
        drop(own);
        let kept = passage.end();
        assert!(kept.len() <= KEPT && kept.len() > KEPT - 20, "{}", kept.len());
        assert!(kept.starts_with(b"line ") && text.as_bytes().ends_with(&kept));
        assert_eq!(counted.join().unwrap().unwrap(), text.as_bytes());
    }

    #[test]
    fn what_is_left_running_goes_on_printing() {
        let (mut reader, passage, own) = start();
        let mut survivor = own.try_clone().unwrap();
        drop(own);
        survivor.write_all(b"before\n").unwrap();
        assert_eq!(passage.end(), b"before\n");
        survivor.write_all(b"after\n").unwrap();
        drop(survivor);
        let mut all = String::new();
        reader.read_to_string(&mut all).unwrap();
        assert_eq!(all, "before\nafter\n");
    }

    #[test]
    fn without_a_reader_writing_fails() {
        let (reader, passage, mut own) = start();
        drop(reader);
        // The answer shows that the process has seen it.
        assert_eq!(passage.end(), b"");
        let error = own.write_all(b"x").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
    }

    #[test]
    fn only_pipes_get_one() {
        let null = File::open("/dev/null").unwrap();
        assert!(Passage::before(null.as_fd()).unwrap().is_none());
        let (socket, _other) = UnixStream::pair().unwrap();
        assert!(Passage::before(socket.as_fd()).unwrap().is_none());
    }
}
