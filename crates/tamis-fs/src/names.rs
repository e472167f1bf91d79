//! The names in a directory as a list, for callers that take some out or put some back.

use crate::fingerprinter::{Answer, Fingerprinter};
use crate::identity::FileKind;
use crate::listing::{self, Listing};
use crate::read::Reading;
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use tamis_core::Value;
use tamis_core::record::Detail;

impl Fingerprinter {
    /// The names in a directory that are not ignored, each with the letter of its kind; sorted.
    pub fn names(&self, directory: &Path) -> io::Result<Vec<(Vec<u8>, u8)>> {
        match listing::read(directory, |entry| self.is_ignored(entry)) {
            Reading::Done(listing) => Ok(listing.into_entries()),
            Reading::Changed => Err(io::ErrorKind::NotFound.into()),
            Reading::Forbidden => Err(io::ErrorKind::PermissionDenied.into()),
            Reading::Failed(error) => Err(error),
        }
    }

    /// Whether listings leave out the entry at this full path.
    pub fn is_ignored(&self, entry: &Path) -> bool {
        self.ignored().is_some_and(|ignored| (ignored.predicate)(entry))
    }
}

/// The value that a directory with these names (sorted, with their letters) has.
pub fn listing_value(names: &[(Vec<u8>, u8)]) -> Value {
    Value::Listing(Listing::from_entries(names.to_vec()).hash())
}

impl Answer {
    /// An answer that comes from elsewhere than the file system of now.
    pub fn of(value: Value) -> Self {
        Self { value, detail: Detail::None, identity: None, error: None }
    }
}

impl FileKind {
    /// The letter of this kind in a listing.
    pub fn letter(self) -> u8 {
        match self {
            Self::File => b'f',
            Self::Directory => b'd',
            Self::Link => b'l',
            Self::Pipe => b'p',
            Self::Socket => b's',
            Self::Device => b'o',
        }
    }

    pub fn of(kind: std::fs::FileType) -> Self {
        if kind.is_file() {
            Self::File
        } else if kind.is_dir() {
            Self::Directory
        } else if kind.is_symlink() {
            Self::Link
        } else if kind.is_fifo() {
            Self::Pipe
        } else if kind.is_socket() {
            Self::Socket
        } else {
            Self::Device
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Options;
    use tamis_core::Scheme;

    #[test]
    fn a_listing_put_together_by_hand_equals_the_one_that_is_read() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("b"), "").unwrap();
        std::fs::create_dir(dir.path().join("a")).unwrap();
        let fingerprinter = Fingerprinter::new(Options::default());
        let names = fingerprinter.names(dir.path()).unwrap();
        assert_eq!(names, [(b"a".to_vec(), b'd'), (b"b".to_vec(), b'f')]);
        let read = fingerprinter.answer(dir.path(), Scheme::Listing).value;
        assert_eq!(listing_value(&names), read);
    }
}
