//! What a command prints to the user's own streams.
//!
//! A pipe gets another pipe before it ([`Passage`]). Of a file, what the run added is read from it afterwards. A
//! terminal, a device and a socket stay the command's own, and nothing of what goes there is known.

use crate::passage::{Passage, status_of};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt;

/// So much of the end of a file is read.
const MOST: u64 = 4 << 20;

/// Where standard output and standard error lead, and what comes by there.
#[derive(Debug)]
pub struct Printed {
    streams: Vec<Way>,
}

/// The descriptors that the command gets instead of ours.
#[derive(Debug, Default)]
pub struct Instead {
    pub stdout: Option<OwnedFd>,
    pub stderr: Option<OwnedFd>,
}

#[derive(Debug)]
enum Way {
    Pipe(Passage),
    /// How long it was before, and the place of it by which it can be read.
    File {
        path: String,
        from: u64,
    },
}

impl Printed {
    /// For a command that gets these two streams.
    pub fn to(stdout: BorrowedFd<'_>, stderr: BorrowedFd<'_>) -> io::Result<(Self, Instead)> {
        let mut printed = Self { streams: Vec::new() };
        let first = printed.add(stdout)?;
        // Both in one, so that the order stays what it is.
        let second = match same(stdout, stderr) {
            true => first.as_ref().map(OwnedFd::try_clone).transpose()?,
            false => printed.add(stderr)?,
        };
        Ok((printed, Instead { stdout: first, stderr: second }))
    }

    fn add(&mut self, stream: BorrowedFd<'_>) -> io::Result<Option<OwnedFd>> {
        if let Some((passage, instead)) = Passage::before(stream)? {
            self.streams.push(Way::Pipe(passage));
            return Ok(Some(instead));
        }
        self.streams.extend(file_of(stream));
        Ok(None)
    }

    /// What was printed, standard output first, now that the command has ended.
    pub fn text(self) -> Vec<u8> {
        self.streams.into_iter().flat_map(Way::text).collect()
    }
}

impl Way {
    fn text(self) -> Vec<u8> {
        match self {
            Self::Pipe(passage) => passage.end(),
            Self::File { path, from } => read_from(&path, from).unwrap_or_default(),
        }
    }
}

fn read_from(path: &str, from: u64) -> io::Result<Vec<u8>> {
    let file = File::open(path)?;
    let end = file.metadata()?.len();
    let from = from.max(end.saturating_sub(MOST));
    let mut text = vec![0; usize::try_from(end.saturating_sub(from)).unwrap_or_default()];
    file.read_exact_at(&mut text, from)?;
    Ok(text)
}

fn file_of(stream: BorrowedFd<'_>) -> Option<Way> {
    let found = status_of(stream)?;
    if found.st_mode & libc::S_IFMT != libc::S_IFREG {
        return None;
    }
    let number = stream.as_raw_fd();
    // SAFETY: asks about a live descriptor.
    let (flags, at) =
        unsafe { (libc::fcntl(number, libc::F_GETFL), libc::lseek(number, 0, libc::SEEK_CUR)) };
    let at = if flags & libc::O_APPEND != 0 { found.st_size } else { at };
    let path = format!("/proc/self/fd/{number}");
    Some(Way::File { path, from: u64::try_from(at).ok()? })
}

fn same(one: BorrowedFd<'_>, other: BorrowedFd<'_>) -> bool {
    let place = |stream| status_of(stream).map(|found| (found.st_dev, found.st_ino));
    place(one).is_some_and(|found| place(other) == Some(found))
}

/// The same for this process's own two streams.
pub fn to_ours() -> io::Result<(Printed, Instead)> {
    Printed::to(io::stdout().as_fd(), io::stderr().as_fd())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};

    #[test]
    fn two_names_of_one_pipe_keep_their_order() {
        let (mut reader, writer) = io::pipe().unwrap();
        let other = writer.try_clone().unwrap();
        let (printed, instead) = Printed::to(writer.as_fd(), other.as_fd()).unwrap();
        let (mut out, mut err): (File, File) =
            (instead.stdout.unwrap().into(), instead.stderr.unwrap().into());
        out.write_all(b"1 ").unwrap();
        err.write_all(b"2 ").unwrap();
        out.write_all(b"3").unwrap();
        drop((out, err, writer, other));
        assert_eq!(printed.text(), b"1 2 3");
        let mut all = String::new();
        reader.read_to_string(&mut all).unwrap();
        assert_eq!(all, "1 2 3");
    }

    #[test]
    fn of_a_file_counts_what_was_added() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let mut log = File::create(&path).unwrap();
        log.write_all(b"before\n").unwrap();
        let null = File::open("/dev/null").unwrap();
        let (printed, instead) = Printed::to(log.as_fd(), null.as_fd()).unwrap();
        assert!(instead.stdout.is_none() && instead.stderr.is_none());
        log.write_all(b"now\n").unwrap();
        assert_eq!(printed.text(), b"now\n");
        let mut appending = File::options().append(true).open(&path).unwrap();
        let (printed, _) = Printed::to(appending.as_fd(), null.as_fd()).unwrap();
        appending.write_all(b"later\n").unwrap();
        assert_eq!(printed.text(), b"later\n");
    }

    #[test]
    fn a_file_that_was_cut_gives_nothing() {
        let mut log = tempfile::tempfile().unwrap();
        log.write_all(b"before\n").unwrap();
        let (printed, _) = Printed::to(log.as_fd(), log.as_fd()).unwrap();
        log.set_len(2).unwrap();
        assert_eq!(printed.text(), b"");
    }
}
