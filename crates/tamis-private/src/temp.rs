//! Temp folders that go with the process, at the latest when the next one is made.
//!
//! A process that is killed removes nothing. So each folder has a file that its process holds locked,
//! and whoever makes a folder removes those of this user whose lock is free. A folder that is younger
//! than a minute is left alone: its process may be just about to take the lock.

use crate::make::create_file;
use std::fs::{File, Permissions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::time::{Duration, SystemTime};
use tempfile::TempDir;

const PREFIX: &str = "tamis-";
const LOCK: &str = "lock";
const YOUNG: Duration = Duration::from_secs(60);

/// A folder of mode 0700 that is removed with this value.
#[derive(Debug)]
pub struct TempFolder {
    folder: TempDir,
    _lock: File,
}

impl TempFolder {
    /// Makes one in the usual place.
    pub fn new() -> io::Result<Self> {
        Self::new_in(&std::env::temp_dir())
    }

    /// Makes one in this folder, and removes what killed processes have left there.
    pub fn new_in(place: &Path) -> io::Result<Self> {
        remove_abandoned(place, SystemTime::now());
        let mut builder = tempfile::Builder::new();
        let private = Permissions::from_mode(0o700);
        let folder = builder.prefix(PREFIX).permissions(private).tempdir_in(place)?;
        // The umask may have taken something from the user, too.
        std::fs::set_permissions(folder.path(), Permissions::from_mode(0o700))?;
        let lock = create_file(&folder.path().join(LOCK))?;
        flock(&lock);
        Ok(Self { folder, _lock: lock })
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

fn flock(file: &File) -> bool {
    // SAFETY: flock takes no pointers, and the descriptor is open while `file` is borrowed.
    unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) == 0 }
}

fn remove_abandoned(place: &Path, now: SystemTime) {
    let entries = std::fs::read_dir(place).into_iter().flatten().flatten();
    let ours = |entry: &std::fs::DirEntry| {
        entry.file_name().to_str().is_some_and(|name| name.starts_with(PREFIX))
    };
    for entry in entries.filter(ours) {
        if is_abandoned(&entry.path(), now) {
            // Another process may be at it as well.
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

fn is_abandoned(folder: &Path, now: SystemTime) -> bool {
    let Ok(found) = folder.symlink_metadata() else { return false };
    // SAFETY: geteuid has no precondition.
    let ours = found.is_dir() && found.uid() == unsafe { libc::geteuid() };
    let Ok(lock) = folder.join(LOCK).symlink_metadata() else { return false };
    let old = lock.modified().is_ok_and(|made| now.duration_since(made).is_ok_and(|a| a > YOUNG));
    ours && lock.is_file() && old && File::open(folder.join(LOCK)).is_ok_and(|file| flock(&file))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn later() -> SystemTime {
        SystemTime::now() + Duration::from_secs(3600)
    }

    #[test]
    fn a_folder_is_private_and_goes_with_its_value() {
        let place = tempfile::tempdir().unwrap();
        let folder = TempFolder::new_in(place.path()).unwrap();
        let path = folder.path().to_path_buf();
        assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o700);
        std::fs::write(path.join("x"), "").unwrap();
        drop(folder);
        assert!(!path.exists());
    }

    #[test]
    fn only_what_a_killed_process_left_is_removed() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        let held = TempFolder::new_in(place.path()).unwrap();
        for name in ["tamis-left", "other-left", "tamis-strange"] {
            std::fs::create_dir(at(name)).unwrap();
        }
        for name in ["tamis-left/lock", "other-left/lock", "tamis-left/socket", "tamis-file"] {
            std::fs::write(at(name), "").unwrap();
        }
        std::os::unix::fs::symlink("other-left", at("tamis-link")).unwrap();
        remove_abandoned(place.path(), SystemTime::now());
        assert!(at("tamis-left").exists(), "it is young");
        remove_abandoned(place.path(), later());
        assert!(!at("tamis-left").exists());
        for name in ["other-left/lock", "tamis-strange", "tamis-file", "tamis-link"] {
            assert!(at(name).symlink_metadata().is_ok(), "{name}");
        }
        assert!(held.path().join(LOCK).exists());
    }
}
