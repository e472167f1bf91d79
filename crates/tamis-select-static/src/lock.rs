//! One process at a time changes a state.
//!
//! Proofs are read, changed and written back: two processes at it would lose what one of them wrote.
//! The lock is the kernel's and belongs to the open file, so it is gone with the process that holds
//! it, however that ends.

use rustix::fs::{FlockOperation, flock};
use std::fs::File;
use std::io;
use std::path::Path;

/// Held until it is dropped.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

impl Lock {
    /// Waits until no other process holds the lock of this state folder; `waiting` is called where
    /// that is not at once.
    pub fn take(state: &Path, waiting: impl FnOnce()) -> io::Result<Self> {
        tamis_private::make_folder(state)?;
        let file = tamis_private::create_file(&state.join("lock"))?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(Self { _file: file }),
            Err(rustix::io::Errno::WOULDBLOCK) => waiting(),
            Err(e) => return Err(e.into()),
        }
        loop {
            match flock(&file, FlockOperation::LockExclusive) {
                Ok(()) => return Ok(Self { _file: file }),
                Err(rustix::io::Errno::INTR) => {}
                Err(e) => return Err(e.into()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering};

    #[test]
    fn the_second_waits_for_the_first() {
        let folder = tempfile::tempdir().unwrap();
        let first = Lock::take(folder.path(), || panic!("it is free")).unwrap();
        let (waited, done) = (AtomicBool::new(false), AtomicBool::new(false));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let second = Lock::take(folder.path(), || waited.store(true, Ordering::SeqCst));
                done.store(second.is_ok(), Ordering::SeqCst);
            });
            while !waited.load(Ordering::SeqCst) {
                std::thread::yield_now();
            }
            assert!(!done.load(Ordering::SeqCst));
            drop(first);
        });
        assert!(done.load(Ordering::SeqCst));
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_an_error() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert!(Lock::take(&file.path().join("state"), || {}).is_err());
    }
}
