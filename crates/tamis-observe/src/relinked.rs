//! Files that have several names, of which the tree gives or takes some.
//!
//! That moves a stamp of the file (ctime) under all of its names, and cargo does it all the time. What is
//! in the file stays the same, unless the tree writes to it under any name: then nothing is reported here, and
//! a stamp that moved means what it always means. Only calls that are seen before they are made count.

use crate::entry::Before;
use std::collections::HashSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use tamis_fs::{FileKind, Identity};

#[derive(Debug, Default)]
pub(crate) struct Relinked {
    /// By device and inode.
    linked: HashSet<(u64, u64)>,
    written: HashSet<(u64, u64)>,
}

impl Relinked {
    /// The tree is about to give or take a name of the file at this path.
    pub(crate) fn links(&mut self, path: &[u8]) {
        self.linked.extend(file_at(path).map(number));
    }

    /// The tree is about to write to the file at this path.
    pub(crate) fn writes(&mut self, path: &[u8]) {
        self.written.extend(file_at(path).filter(|file| file.names > 1).map(number));
    }

    pub(crate) fn contains(&self, before: &Before) -> bool {
        let Before::There(seen) = before else { return false };
        let number = number(*seen);
        self.linked.contains(&number) && !self.written.contains(&number)
    }
}

fn file_at(path: &[u8]) -> Option<Identity> {
    let found = tamis_fs::identity(Path::new(OsStr::from_bytes(path))).ok()??;
    (found.kind() == FileKind::File).then_some(found)
}

fn number(file: Identity) -> (u64, u64) {
    (file.device, file.inode)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_written_under_any_name_is_not_trusted() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let bytes = |name: &str| at(name).into_os_string().into_encoded_bytes();
        std::fs::write(at("a"), "x").unwrap();
        std::fs::hard_link(at("a"), at("b")).unwrap();
        let seen = Before::There(tamis_fs::identity(&at("a")).unwrap().unwrap());
        let mut relinked = Relinked::default();
        assert!(!relinked.contains(&seen));
        relinked.links(&bytes("b"));
        assert!(relinked.contains(&seen));
        assert!(!relinked.contains(&Before::Absent));
        relinked.writes(&bytes("b"));
        assert!(!relinked.contains(&seen));
    }
}
