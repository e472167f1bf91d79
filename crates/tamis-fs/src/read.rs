//! Reads a regular file without ever blocking on, or being fooled by, something else at its path.

use crate::identity::{Identity, is_forbidden};
use std::cell::RefCell;
use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use tamis_core::{Hash, Hasher};

/// What became of an attempt to read the thing of a known identity.
#[derive(Debug)]
pub(crate) enum Reading<T> {
    Done(T),
    /// Something else is at the path now.
    Changed,
    /// It is there and may not be read.
    Forbidden,
    Failed(io::Error),
}

impl<T> Reading<T> {
    pub(crate) fn and_then<U>(self, then: impl FnOnce(T) -> Reading<U>) -> Reading<U> {
        match self {
            Self::Done(value) => then(value),
            Self::Changed => Reading::Changed,
            Self::Forbidden => Reading::Forbidden,
            Self::Failed(error) => Reading::Failed(error),
        }
    }

    pub(crate) fn map<U>(self, change: impl FnOnce(T) -> U) -> Reading<U> {
        self.and_then(|value| Reading::Done(change(value)))
    }
}

impl<T> From<io::Result<T>> for Reading<T> {
    fn from(result: io::Result<T>) -> Self {
        match result {
            Ok(value) => Self::Done(value),
            Err(error) => Self::Failed(error),
        }
    }
}

/// Opens the regular file at `path` if it still is the one of `expected`.
pub(crate) fn open(path: &Path, expected: &Identity) -> Reading<File> {
    // O_NONBLOCK: a pipe may have taken the file's place since `lstat`.
    let flags = libc::O_NONBLOCK | libc::O_NOFOLLOW | libc::O_CLOEXEC | libc::O_NOCTTY;
    let file = match OpenOptions::new().read(true).custom_flags(flags).open(path) {
        Ok(file) => file,
        Err(error) if is_forbidden(&error) => return Reading::Forbidden,
        // Gone, a link, or a pipe or device without a partner.
        Err(error)
            if matches!(
                error.raw_os_error(),
                Some(libc::ENOENT | libc::ENOTDIR | libc::ELOOP | libc::ENXIO | libc::ENODEV)
            ) =>
        {
            return Reading::Changed;
        }
        Err(error) => return Reading::Failed(error),
    };
    match file.metadata() {
        Ok(metadata) if Identity::of(&metadata) == *expected => Reading::Done(file),
        Ok(_) => Reading::Changed,
        Err(error) => Reading::Failed(error),
    }
}

const BUFFER: usize = 256 * 1024;

thread_local! {
    static BUFFER_OF_THREAD: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Hash of all bytes up to the end. Reads (not a memory mapping, which would kill the process when
/// the file is truncated meanwhile) through one buffer per thread.
pub(crate) fn hash_to_end(mut file: impl Read) -> io::Result<Hash> {
    BUFFER_OF_THREAD.with_borrow_mut(|buffer| {
        buffer.resize(BUFFER, 0);
        let first = fill(&mut file, buffer)?;
        if first < buffer.len() {
            return Ok(Hash::of(&buffer[..first]));
        }
        let mut hasher = Hasher::new();
        hasher.update(buffer);
        loop {
            let got = fill(&mut file, buffer)?;
            hasher.update(&buffer[..got]);
            if got < buffer.len() {
                return Ok(hasher.finish());
            }
        }
    })
}

/// Reads until the buffer is full or the end is reached.
pub(crate) fn fill(file: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut got = 0;
    while got < buffer.len() {
        match file.read(&mut buffer[got..]) {
            Ok(0) => break,
            Ok(n) => got += n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(got)
}

/// The text of a symbolic link.
pub(crate) fn link_target(path: &Path) -> Reading<Hash> {
    match std::fs::read_link(path) {
        Ok(target) => Reading::Done(Hash::of(target.as_os_str().as_bytes())),
        Err(error) => match error.raw_os_error() {
            Some(libc::ENOENT | libc::ENOTDIR | libc::EINVAL) => Reading::Changed,
            _ => Reading::Failed(error),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::identity;

    /// Gives its bytes in pieces of odd sizes, with interruptions.
    struct Trickle<'a>(&'a [u8], usize);

    impl Read for Trickle<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.1 += 1;
            if self.1.is_multiple_of(3) {
                return Err(io::ErrorKind::Interrupted.into());
            }
            let n = buffer.len().min(self.0.len()).min(7919);
            buffer[..n].copy_from_slice(&self.0[..n]);
            self.0 = &self.0[n..];
            Ok(n)
        }
    }

    #[test]
    fn streaming_and_one_shot_agree_at_every_border() {
        let bytes: Vec<u8> = (0..3 * BUFFER + 5).map(|i| (i * 31 % 251) as u8).collect();
        for size in [0, 1, 100, BUFFER - 1, BUFFER, BUFFER + 1, 2 * BUFFER, 3 * BUFFER + 5] {
            let expected = Hash::of(&bytes[..size]);
            assert_eq!(hash_to_end(&bytes[..size]).unwrap(), expected, "{size}");
            assert_eq!(hash_to_end(Trickle(&bytes[..size], 0)).unwrap(), expected, "{size}");
        }
    }

    #[test]
    fn another_file_at_the_path_is_a_change() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        std::fs::write(&path, "one").unwrap();
        let before = identity(&path).unwrap().unwrap();
        assert!(matches!(open(&path, &before), Reading::Done(_)));
        std::fs::write(dir.path().join("b"), "two").unwrap();
        std::fs::rename(dir.path().join("b"), &path).unwrap();
        assert!(matches!(open(&path, &before), Reading::Changed));
        std::fs::remove_file(&path).unwrap();
        assert!(matches!(open(&path, &before), Reading::Changed));
        std::os::unix::fs::symlink("/etc/passwd", &path).unwrap();
        assert!(matches!(open(&path, &before), Reading::Changed));
    }
}
