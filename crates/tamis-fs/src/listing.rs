//! The names in a directory, with the kind of each.

use crate::identity::{FileKind, is_absent, is_forbidden};
use crate::read::Reading;
use std::fs::ReadDir;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;
use tamis_core::Hash;

/// The entries of a directory that are not ignored, sorted by name.
#[derive(Debug)]
pub(crate) struct Listing {
    entries: Vec<(Vec<u8>, u8)>,
}

impl Listing {
    pub(crate) fn hash(&self) -> Hash {
        Hash::of_parts(
            self.entries
                .iter()
                .flat_map(|(name, letter)| [name.as_slice(), std::slice::from_ref(letter)]),
        )
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn from_entries(entries: Vec<(Vec<u8>, u8)>) -> Self {
        Self { entries }
    }

    pub(crate) fn into_entries(self) -> Vec<(Vec<u8>, u8)> {
        self.entries
    }

    pub(crate) fn into_names(self) -> Vec<Vec<u8>> {
        self.entries.into_iter().map(|(name, _)| name).collect()
    }
}

pub(crate) fn read(path: &Path, ignored: impl Fn(&Path) -> bool) -> Reading<Listing> {
    let entries = match std::fs::read_dir(path) {
        Ok(directory) => collect(path, directory, ignored),
        Err(error) => Err(error),
    };
    match entries {
        Ok(mut entries) => {
            entries.sort_unstable();
            Reading::Done(Listing { entries })
        }
        Err(error) if is_forbidden(&error) => Reading::Forbidden,
        // Also when an entry went away between its name and its kind.
        Err(error) if is_absent(&error) => Reading::Changed,
        Err(error) => Reading::Failed(error),
    }
}

fn collect(
    path: &Path,
    directory: ReadDir,
    ignored: impl Fn(&Path) -> bool,
) -> io::Result<Vec<(Vec<u8>, u8)>> {
    let mut entries = Vec::new();
    let mut full = path.to_path_buf();
    for entry in directory {
        let entry = entry?;
        let name = entry.file_name();
        full.push(&name);
        let skip = ignored(&full);
        full.pop();
        if !skip {
            // From the directory itself where it says so, else by `lstat`.
            entries.push((name.into_vec(), FileKind::of(entry.file_type()?).letter()));
        }
    }
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    fn listing(path: &Path) -> Listing {
        match read(path, |_| false) {
            Reading::Done(listing) => listing,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn sorted_names_of_any_bytes_with_their_kinds() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("b")).unwrap();
        std::fs::write(dir.path().join(OsStr::from_bytes(b"a\xff\n")), "").unwrap();
        std::os::unix::fs::symlink("nowhere", dir.path().join("c")).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(dir.path().join("d")).unwrap();
        let found = listing(dir.path());
        assert_eq!(
            found.entries,
            [
                (b"a\xff\n".to_vec(), b'f'),
                (b"b".to_vec(), b'd'),
                (b"c".to_vec(), b'l'),
                (b"d".to_vec(), b's')
            ]
        );
    }

    #[test]
    fn a_file_that_becomes_a_directory_changes_the_hash() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("x"), "").unwrap();
        let before = listing(dir.path()).hash();
        std::fs::remove_file(dir.path().join("x")).unwrap();
        std::fs::create_dir(dir.path().join("x")).unwrap();
        assert_ne!(listing(dir.path()).hash(), before);
    }

    #[test]
    fn the_filter_sees_the_full_path() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("x"), "").unwrap();
        std::fs::write(dir.path().join("y"), "").unwrap();
        let gone = dir.path().join("x");
        let Reading::Done(found) = read(dir.path(), |p| p == gone) else { panic!() };
        assert_eq!(found.into_names(), [b"y".to_vec()]);
    }
}
