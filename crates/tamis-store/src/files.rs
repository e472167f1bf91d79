//! The store's folder: opening, and setting a store aside that cannot be used.
//!
//! SQLite finds the write-ahead log by name, next to the database. Between opening one and opening
//! the other no process may rename them, so both happen under a lock on the folder. A process that
//! already has all files open keeps working on the renamed ones and does no harm: SQLite notices
//! at the end that its file has moved and leaves the new log alone.
//!
//! A store that can only be read is copied, and the copy is opened: it decides what is skipped, and
//! what is recorded in it is lost. A store of a newer format is not opened at all.

use crate::error::{Failure, SetAside, StoreError};
use crate::format;
use crate::schema::connect;
use rusqlite::Connection;
use std::ffi::CString;
use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};
use tamis_private::TempFolder;

pub(crate) const FILE: &str = "tamis.db";

/// An open database and which file it is.
#[derive(Debug)]
pub(crate) struct Open {
    pub(crate) conn: Connection,
    identity: Option<(u64, u64)>,
    /// Where the store cannot be written: the folder of the copy that is open in its place.
    pub(crate) copy: Option<Copy>,
}

/// A copy of a store that cannot be written.
#[derive(Debug)]
pub(crate) struct Copy {
    _folder: TempFolder,
    /// Why the store cannot be written.
    pub(crate) why: String,
}

/// Opens the store in `dir`, which must exist.
pub(crate) fn open(dir: &Path) -> Result<(Open, Option<SetAside>), StoreError> {
    let _lock = FolderLock::take(dir)?;
    if let Some(found) = format::newer(&dir.join(FILE)) {
        return Err(StoreError::Newer { dir: dir.to_path_buf(), found });
    }
    if let Some(why) = unwritable(dir) {
        return open_copy(dir, why).map(|open| (open, None));
    }
    open_locked(dir).or_else(|error| {
        // What cannot be written to now can still be read.
        let why = match &error {
            StoreError::Sql { .. } | StoreError::Full { .. } if !has_room(dir) => {
                "no space is left".to_owned()
            }
            StoreError::Denied { why, .. } => why.clone(),
            _ => return Err(error),
        };
        open_copy(dir, why).map(|open| (open, None)).map_err(|_| error)
    })
}

/// Sets the store aside that `damaged` has open and opens what is there then. Another process may
/// have done the first half already.
pub(crate) fn replace(
    dir: &Path,
    damaged: &Open,
    why: &str,
) -> Result<(Open, Option<SetAside>), StoreError> {
    if let Some(copy) = &damaged.copy {
        let why = format!("{why}; {}", copy.why);
        return Err(StoreError::Damaged { dir: dir.to_path_buf(), why });
    }
    let _lock = FolderLock::take(dir)?;
    // It may be damaged in our eyes because a newer version has rewritten it meanwhile.
    if let Some(found) = format::newer(&dir.join(FILE)) {
        return Err(StoreError::Newer { dir: dir.to_path_buf(), found });
    }
    let mut moved = None;
    if damaged.identity.is_some() && identity(&dir.join(FILE)) == damaged.identity {
        moved = Some(set_aside(dir, why)?);
    }
    let (open, again) = open_locked(dir)?;
    Ok((open, moved.or(again)))
}

/// An error that may come from the place as well as from the bytes is damage where the place is fine.
pub(crate) fn judged(failure: Failure, dir: &Path) -> Failure {
    match failure {
        failure if !failure.may_be_damage() || !is_fine(dir) => failure,
        Failure::Sql(error) => Failure::Damage(format!("it cannot be worked with: {error}")),
        other => other,
    }
}

fn open_locked(dir: &Path) -> Result<(Open, Option<SetAside>), StoreError> {
    let file = dir.join(FILE);
    let mut moved = None;
    let conn = match connect(&file).map_err(|failure| judged(failure, dir)) {
        Ok(conn) => conn,
        Err(Failure::Damage(why)) => {
            moved = Some(set_aside(dir, &why)?);
            connect(&file).map_err(|e| e.into_error(dir))?
        }
        Err(failure) => return Err(failure.into_error(dir)),
    };
    Ok((Open { conn, identity: identity(&file), copy: None }, moved))
}

/// Opens a copy of a store that can only be read: SQLite wants to write beside what it opens. What is
/// written to the copy goes with it.
fn open_copy(dir: &Path, why: String) -> Result<Open, StoreError> {
    let failed = |source| StoreError::Folder { dir: dir.to_path_buf(), source };
    let folder = TempFolder::new().map_err(failed)?;
    for suffix in ["", "-wal"] {
        let name = format!("{FILE}{suffix}");
        match fs::copy(dir.join(&name), folder.path().join(&name)) {
            Err(e) if suffix.is_empty() || e.kind() != io::ErrorKind::NotFound => {
                return Err(StoreError::Denied { dir: dir.to_path_buf(), why: e.to_string() });
            }
            _ => {}
        }
        let own = fs::Permissions::from_mode(0o600);
        let _ = fs::set_permissions(folder.path().join(&name), own);
    }
    let file = folder.path().join(FILE);
    let conn = connect(&file).map_err(|failure| judged(failure, folder.path()).into_error(dir))?;
    Ok(Open { conn, identity: identity(&file), copy: Some(Copy { _folder: folder, why }) })
}

/// Why a store that is there cannot be written.
fn unwritable(dir: &Path) -> Option<String> {
    let file = dir.join(FILE);
    file.symlink_metadata().ok()?;
    let beside = ["-wal", "-shm"].map(|suffix| format::with_suffix(&file, suffix));
    let all = std::iter::once(&file).chain(beside.iter().filter(|f| f.symlink_metadata().is_ok()));
    let may = |path: &Path, what| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        match access(path, what).err()?.kind() {
            io::ErrorKind::ReadOnlyFilesystem => Some("its file system is read-only".to_owned()),
            _ if path == dir => Some("no permission to write in its folder".to_owned()),
            _ => Some(format!("no permission to write {name}")),
        }
    };
    may(dir, libc::W_OK | libc::X_OK).or_else(|| all.into_iter().find_map(|f| may(f, libc::W_OK)))
}

/// What this user may do with a path.
fn access(path: &Path, what: libc::c_int) -> io::Result<()> {
    let path = CString::new(path.as_os_str().as_bytes())?;
    // SAFETY: a live C string.
    match unsafe { libc::faccessat(libc::AT_FDCWD, path.as_ptr(), what, libc::AT_EACCESS) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Whether files in this folder can be read and written: what SQLite complains about comes from the
/// bytes of the store then.
fn is_fine(dir: &Path) -> bool {
    let read = |suffix: &str| {
        let file = dir.join(format!("{FILE}{suffix}"));
        // What is no file at all can be set aside like one.
        !file.is_file() || format::is_readable(&file)
    };
    unwritable(dir).is_none() && ["", "-wal"].into_iter().all(read) && has_room(dir)
}

/// More than one transaction of ours usually writes.
const ROOM: usize = 1 << 20;

fn has_room(dir: &Path) -> bool {
    let probe = dir.join(format!(".room-{}", std::process::id()));
    let written = tamis_private::write(&probe, &vec![1; ROOM]);
    let _ = fs::remove_file(&probe);
    written.is_ok()
}

fn identity(file: &Path) -> Option<(u64, u64)> {
    fs::metadata(file).ok().map(|m| (m.dev(), m.ino()))
}

fn set_aside(dir: &Path, why: &str) -> Result<SetAside, StoreError> {
    let failed = |e: io::Error| StoreError::Damaged {
        dir: dir.to_path_buf(),
        why: format!("{why}; renaming it failed: {e}"),
    };
    let target = free_name(dir);
    // The database first: a kill in between leaves a log without a database, which SQLite discards.
    // The other way round the database would come back without its latest transactions.
    for suffix in ["", "-wal", "-shm", "-journal"] {
        let from = dir.join(format!("{FILE}{suffix}"));
        let to = dir.join(format!("{target}{suffix}"));
        match fs::rename(from, to) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(failed(e)),
            _ => {}
        }
    }
    Ok(SetAside { moved_to: dir.join(target), why: why.to_owned() })
}

fn free_name(dir: &Path) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs());
    let base = format!("{FILE}.damaged-{}", utc(now));
    let taken = |name: &String| fs::symlink_metadata(dir.join(name)).is_ok();
    std::iter::once(base.clone())
        .chain((2..).map(|n| format!("{base}-{n}")))
        .find(|name| !taken(name))
        .unwrap_or(base)
}

/// `20260131T235959Z`, from seconds since the Unix epoch.
fn utc(seconds: u64) -> String {
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    // Years that start in March have their leap day at the end.
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    let (hour, minute, second) = (rest / 3_600, rest / 60 % 60, rest % 60);
    format!("{year:04}{month:02}{day:02}T{hour:02}{minute:02}{second:02}Z")
}

/// All files of the store, for its size.
pub(crate) fn size(dir: &Path) -> u64 {
    ["", "-wal", "-shm"]
        .iter()
        .filter_map(|suffix| fs::metadata(dir.join(format!("{FILE}{suffix}"))).ok())
        .map(|m| m.len())
        .sum()
}

/// An advisory lock that ends with the process at the latest.
#[derive(Debug)]
pub(crate) struct FolderLock {
    _file: File,
}

impl FolderLock {
    /// Waits for the folder's lock. On a file system that has no such locks it goes on without.
    fn take(dir: &Path) -> Result<Self, StoreError> {
        let file = File::open(dir)
            .map_err(|source| StoreError::Folder { dir: dir.to_path_buf(), source })?;
        flock(&file, libc::LOCK_EX);
        Ok(Self { _file: file })
    }

    /// Takes the lock of one kind of work, `None` where another process has it or where there are
    /// no locks.
    pub(crate) fn try_named(dir: &Path, name: &str) -> Option<Self> {
        let path: PathBuf = dir.join(name);
        let file = tamis_private::create_file(&path).ok()?;
        flock(&file, libc::LOCK_EX | libc::LOCK_NB).then_some(Self { _file: file })
    }
}

fn flock(file: &File, operation: libc::c_int) -> bool {
    loop {
        // SAFETY: flock takes no pointers, and the descriptor is open while `file` is borrowed.
        if unsafe { libc::flock(file.as_raw_fd(), operation) } == 0 {
            return true;
        }
        if io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
            return false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_readable() {
        assert_eq!(utc(0), "19700101T000000Z");
        assert_eq!(utc(951_782_399), "20000228T235959Z");
        assert_eq!(utc(951_782_400), "20000229T000000Z");
        assert_eq!(utc(1_798_761_599), "20261231T235959Z");
    }

    #[test]
    fn names_of_set_aside_stores_do_not_collide() {
        let dir = tempfile::tempdir().unwrap();
        let mut names = Vec::new();
        for text in ["one", "two", "three"] {
            fs::write(dir.path().join(FILE), text).unwrap();
            names.push(set_aside(dir.path(), "test").unwrap().moved_to);
        }
        let texts: Vec<_> = names.iter().map(|n| fs::read_to_string(n).unwrap()).collect();
        assert_eq!(texts, ["one", "two", "three"]);
    }

    #[test]
    fn a_named_lock_is_held_once() {
        let dir = tempfile::tempdir().unwrap();
        let first = FolderLock::try_named(dir.path(), "work.lock");
        assert!(first.is_some());
        assert!(FolderLock::try_named(dir.path(), "work.lock").is_none());
        drop(first);
        assert!(FolderLock::try_named(dir.path(), "work.lock").is_some());
    }
}
