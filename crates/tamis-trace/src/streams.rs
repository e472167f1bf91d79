//! The standard streams that a run inherited, and who asks what they are.
//!
//! A process asks a descriptor whether it is a terminal, or names one by /dev/stdin and the like. That
//! counts only for what is still behind it as the run was given it; what the test put there itself is
//! its own. Not seen: `fstat` of a descriptor, which every program with a buffer calls.

use crate::command::Command;
use crate::process::Process;
use std::fs::{self, Metadata};
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;

/// The requests of `ioctl` that only a terminal answers: its settings (two forms) and its size.
pub(crate) const OF_TERMINALS: [u32; 3] = [0x5401, 0x802c_542a, 0x5413];

/// Device, inode and, of a device, its number.
type Place = (u64, u64, u64);

fn place(metadata: &Metadata) -> Place {
    (metadata.dev(), metadata.ino(), metadata.rdev())
}

/// The three streams, as far as the run shares them with us, or has others that lead to them.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Streams {
    inherited: [Option<Place>; 3],
}

impl Streams {
    pub(crate) fn of(command: &Command) -> Self {
        let given = [&command.stdin, &command.stdout, &command.stderr];
        let mut inherited = [None; 3];
        for number in (0..3).filter(|n| given[*n].is_none() || command.stand_for_ours[*n]) {
            let descriptor = given[number].as_ref().map_or(number as i32, AsRawFd::as_raw_fd);
            let found = fs::metadata(format!("/proc/self/fd/{descriptor}")).ok();
            inherited[number] = found.as_ref().map(place);
        }
        Self { inherited }
    }

    /// The stream that is behind a descriptor of this process.
    pub(crate) fn behind(&self, process: Process, descriptor: i32) -> Option<u32> {
        let metadata = fs::metadata(format!("/proc/{}/fd/{descriptor}", process.thread)).ok()?;
        let found = Some(place(&metadata));
        self.find(descriptor, |inherited| inherited == found)
    }

    /// The same by the inode alone, which is all that is sent of it.
    pub(crate) fn with_inode(&self, descriptor: i32, inode: u64) -> Option<u32> {
        self.find(descriptor, |inherited| inherited.is_some_and(|(_, own, _)| own == inode))
    }

    /// Several can be the same thing: the one of that number is meant.
    fn find(&self, descriptor: i32, is: impl Fn(Option<Place>) -> bool) -> Option<u32> {
        let by_number = usize::try_from(descriptor).ok().filter(|n| *n < 3);
        by_number
            .into_iter()
            .chain(0..3)
            .find(|n| self.inherited[*n].is_some() && is(self.inherited[*n]))
            .map(|n| n as u32)
    }

    /// Whether the stream of this number was inherited.
    pub(crate) fn has(&self, number: u32) -> bool {
        self.inherited.get(number as usize).is_some_and(Option::is_some)
    }
}

/// The standard stream that a path names.
pub(crate) fn named(path: &[u8]) -> Option<u32> {
    let number = match path {
        b"/dev/stdin" => b"0",
        b"/dev/stdout" => b"1",
        b"/dev/stderr" => b"2",
        _ => path.strip_prefix(b"/dev/fd/").or_else(|| path.strip_prefix(b"/proc/self/fd/"))?,
    };
    match number {
        [digit @ b'0'..=b'2'] => Some(u32::from(digit - b'0')),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_streams() {
        for (path, number) in [
            ("/dev/stdin", Some(0)),
            ("/dev/stderr", Some(2)),
            ("/dev/fd/1", Some(1)),
            ("/proc/self/fd/0", Some(0)),
            ("/dev/fd/3", None),
            ("/dev/fd/10", None),
            ("/dev/null", None),
        ] {
            assert_eq!(named(path.as_bytes()), number, "{path}");
        }
    }

    #[test]
    fn what_the_test_put_there_is_not_inherited() {
        let (one, other) = (std::io::pipe().unwrap(), std::io::pipe().unwrap());
        let look = |fd: i32| fs::metadata(format!("/proc/self/fd/{fd}")).unwrap();
        let found = place(&look(one.0.as_raw_fd()));
        let streams = Streams { inherited: [Some(found), None, Some(found)] };
        let me = Process { thread: std::process::id() };
        assert_eq!(streams.behind(me, one.0.as_raw_fd()), Some(0));
        assert_eq!(streams.behind(me, other.0.as_raw_fd()), None);
        assert_eq!(streams.with_inode(2, found.1), Some(2));
        assert_eq!(streams.with_inode(1, found.1), Some(0));
        assert!(streams.has(0) && !streams.has(1) && !streams.has(7));
    }
}
