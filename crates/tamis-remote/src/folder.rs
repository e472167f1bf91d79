//! A folder that machines share, as a place.
//!
//! Objects are files that appear as a whole (written beside, then renamed). An object that is replaced is a folder of
//! numbered files: the highest is the one that counts, and the next one is made by a hard link that fails where there
//! is one already (or a rename that does not replace, where the file system knows no links). That
//! needs no lock, so a writer that dies holds nothing, and it holds on network file systems. Older numbers
//! stay for a day: a writer that slept through the others' work finds its number taken.
//!
//! What is made here has the permissions of the folder itself, whatever the umask of the user who makes it: else the others who may
//! write into that folder could not write beside what the first one made.

use crate::error::RemoteError;
use crate::place::{Deadline, Found, Listed, Place, Version};
use std::fs;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

/// How long replaced versions stay.
const STAY: Duration = Duration::from_secs(24 * 60 * 60);

#[derive(Debug)]
pub struct Folder {
    root: PathBuf,
    requests: AtomicU64,
    read: AtomicU64,
    written: AtomicU64,
}

impl Folder {
    pub fn new(root: PathBuf) -> Self {
        Self {
            root,
            requests: AtomicU64::new(0),
            read: AtomicU64::new(0),
            written: AtomicU64::new(0),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.requests.fetch_add(1, Ordering::Relaxed);
        self.root.join(name)
    }

    /// A file with these bytes that no other writer knows, beside its place.
    fn beside(&self, place: &Path, bytes: &[u8]) -> Result<PathBuf, RemoteError> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let folder = place.parent().unwrap_or(place);
        let made = self.root.is_dir() || fs::create_dir_all(&self.root).is_ok();
        if !made {
            return Err(RemoteError::Place(format!("{} is not there", self.root.display())));
        }
        let mode =
            fs::metadata(&self.root).map_err(|e| failed(&self.root, &e))?.permissions().mode();
        self.make(folder, mode).map_err(|e| failed(folder, &e))?;
        let nanos = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let host = fs::read_to_string("/proc/sys/kernel/random/uuid").unwrap_or_default();
        let name =
            format!(".new-{}-{}-{}-{number}", host.trim(), std::process::id(), nanos.as_nanos());
        let file = folder.join(name);
        let write = || {
            let mut new = fs::OpenOptions::new().write(true).create_new(true).open(&file)?;
            new.write_all(bytes)?;
            // Not every file system has permissions.
            let _ = new.set_permissions(fs::Permissions::from_mode(mode & 0o666));
            new.sync_data()
        };
        write().map_err(|e| {
            let _ = fs::remove_file(&file);
            failed(&file, &e)
        })?;
        self.written.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        Ok(file)
    }

    /// Makes a folder below the root, and those above it.
    fn make(&self, folder: &Path, mode: u32) -> std::io::Result<()> {
        if folder.is_dir() || folder == self.root {
            return Ok(());
        }
        if let Some(above) = folder.parent() {
            self.make(above, mode)?;
        }
        match fs::create_dir(folder) {
            Ok(()) => {
                let _ = fs::set_permissions(folder, fs::Permissions::from_mode(mode & 0o7777));
                Ok(())
            }
            Err(e) if e.kind() == ErrorKind::AlreadyExists => Ok(()),
            Err(e) => Err(e),
        }
    }

    fn read(&self, path: &Path) -> Result<Option<Vec<u8>>, RemoteError> {
        match fs::read(path) {
            Ok(bytes) => {
                self.read.fetch_add(bytes.len() as u64, Ordering::Relaxed);
                Ok(Some(bytes))
            }
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
            Err(e) => Err(failed(path, &e)),
        }
    }
}

fn failed(path: &Path, error: &std::io::Error) -> RemoteError {
    RemoteError::Place(format!("{}: {error}", path.display()))
}

/// The numbers of the versions of an object, ascending.
fn versions(folder: &Path) -> Result<Vec<u64>, RemoteError> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(failed(folder, &e)),
    };
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry.map_err(|e| failed(folder, &e))?;
        found.extend(entry.file_name().to_str().and_then(|name| name.parse::<u64>().ok()));
    }
    found.sort_unstable();
    Ok(found)
}

/// Gives a file its name, unless there is one of that name.
fn claim(new: &Path, name: &Path) -> std::io::Result<bool> {
    let linked = fs::hard_link(new, name);
    match linked {
        Ok(()) => {
            let _ = fs::remove_file(new);
            Ok(true)
        }
        Err(e) if e.kind() == ErrorKind::AlreadyExists => Ok(false),
        Err(_) => {
            let renamed = rustix::fs::renameat_with(
                rustix::fs::CWD,
                new,
                rustix::fs::CWD,
                name,
                rustix::fs::RenameFlags::NOREPLACE,
            );
            match renamed {
                Ok(()) => Ok(true),
                Err(rustix::io::Errno::EXIST) => Ok(false),
                Err(e) => Err(e.into()),
            }
        }
    }
}

impl Place for Folder {
    fn get(
        &self,
        name: &str,
        known: Option<&Version>,
        until: Deadline,
    ) -> Result<Found, RemoteError> {
        until.check()?;
        let path = self.path(name);
        if path.is_file() {
            return Ok(match self.read(&path)? {
                Some(bytes) => Found::Bytes(bytes, Version::new()),
                None => Found::Nothing,
            });
        }
        let Some(newest) = versions(&path)?.pop() else { return Ok(Found::Nothing) };
        let version = newest.to_string();
        if known == Some(&version) {
            return Ok(Found::Same);
        }
        match self.read(&path.join(&version))? {
            Some(bytes) => Ok(Found::Bytes(bytes, version)),
            None => Err(RemoteError::Place(format!("{} went away", path.display()))),
        }
    }

    fn put(&self, name: &str, bytes: &[u8], until: Deadline) -> Result<(), RemoteError> {
        until.check()?;
        let path = self.path(name);
        let new = self.beside(&path, bytes)?;
        fs::rename(&new, &path).map_err(|e| failed(&path, &e))
    }

    fn replace(
        &self,
        name: &str,
        bytes: &[u8],
        seen: Option<&Version>,
        until: Deadline,
    ) -> Result<bool, RemoteError> {
        let path = self.path(name);
        let next = match seen {
            Some(seen) => seen.parse::<u64>().unwrap_or(0) + 1,
            None => 1,
        };
        let place = path.join(next.to_string());
        let new = self.beside(&place, bytes)?;
        // A writer that slept here longer than versions stay must not go on.
        let claimed =
            until.check().and_then(|()| claim(&new, &place).map_err(|e| failed(&place, &e)));
        if !matches!(claimed, Ok(true)) {
            let _ = fs::remove_file(&new);
            return claimed;
        }
        let all = versions(&path)?;
        for old in all.iter().filter(|&&number| number < next) {
            let old = path.join(old.to_string());
            let age = fs::metadata(&old).and_then(|meta| meta.modified()).ok();
            let age = age.and_then(|at| SystemTime::now().duration_since(at).ok());
            if age.is_some_and(|age| age > STAY) {
                let _ = fs::remove_file(old);
            }
        }
        Ok(true)
    }

    fn list(&self, folder: &str, until: Deadline) -> Result<Vec<Listed>, RemoteError> {
        until.check()?;
        let path = self.path(folder);
        let entries = match fs::read_dir(&path) {
            Ok(entries) => entries,
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(e) => return Err(failed(&path, &e)),
        };
        let mut found = Vec::new();
        for entry in entries.flatten() {
            let (Ok(meta), Some(name)) =
                (entry.metadata(), entry.file_name().to_str().map(str::to_owned))
            else {
                continue;
            };
            let age = meta.modified().ok().and_then(|at| SystemTime::now().duration_since(at).ok());
            let name = format!("{folder}/{name}");
            found.push(Listed { name, bytes: meta.len(), age: age.unwrap_or_default() });
        }
        Ok(found)
    }

    fn remove(&self, name: &str, until: Deadline) -> Result<(), RemoteError> {
        until.check()?;
        let path = self.path(name);
        // An object that can be replaced is a folder.
        let removed =
            if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
        match removed {
            Err(e) if e.kind() != ErrorKind::NotFound => Err(failed(&path, &e)),
            _ => Ok(()),
        }
    }

    fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }

    fn traffic(&self) -> (u64, u64) {
        (self.read.load(Ordering::Relaxed), self.written.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_may_write_into_the_folder_may_write_into_all_of_it() {
        let root = tempfile::tempdir().unwrap();
        let until = Deadline::within(Duration::from_secs(60));
        let mode = |path: &str| {
            fs::metadata(root.path().join(path)).unwrap().permissions().mode() & 0o7777
        };
        for (given, of_files) in [(0o2777, 0o666), (0o2770, 0o660), (0o700, 0o600)] {
            fs::set_permissions(root.path(), fs::Permissions::from_mode(given)).unwrap();
            let place = Folder::new(root.path().into());
            place.put(&format!("v{given}/packs/a"), b"a", until).unwrap();
            assert!(place.replace(&format!("v{given}/heads/main"), b"b", None, until).unwrap());
            for folder in ["", "/packs", "/heads", "/heads/main"] {
                assert_eq!(mode(&format!("v{given}{folder}")), given, "{folder}");
            }
            assert_eq!(mode(&format!("v{given}/packs/a")), of_files);
            assert_eq!(mode(&format!("v{given}/heads/main/1")), of_files);
        }
    }
}
