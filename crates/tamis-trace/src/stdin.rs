//! Tells whether a read of descriptor 0 is a read of the standard input that the run was given, and
//! not of a file or pipe that the test put there itself.

use crate::command::Command;
use crate::process::Process;
use std::fs::{self, Metadata};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;

#[derive(Debug)]
pub(crate) struct StandardInput {
    given: Option<(u64, u64)>,
}

fn place(metadata: &Metadata) -> (u64, u64) {
    (metadata.dev(), metadata.ino())
}

impl StandardInput {
    pub(crate) fn of(command: &Command) -> io::Result<Self> {
        let number = command.stdin.as_ref().map_or(0, AsRawFd::as_raw_fd);
        // A closed descriptor cannot be read.
        let given = fs::metadata(format!("/proc/self/fd/{number}")).ok();
        let given = given.filter(|_| command.watch_stdin);
        Ok(Self { given: given.as_ref().map(place) })
    }

    /// Whether descriptor 0 of this process is it.
    pub(crate) fn is_behind(&self, process: Process) -> bool {
        let now = fs::metadata(format!("/proc/{}/fd/0", process.thread)).ok();
        match (self.given, now) {
            (Some(given), Some(now)) => given == place(&now),
            (Some(_), None) => true,
            (None, _) => false,
        }
    }
}
