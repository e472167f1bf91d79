//! Answers. A [`Value`] is what the world says to a [`Question`](crate::Question) at one moment.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The first 128 bits of a BLAKE3 hash. Records travel between machines, so that it must be impossible to make another
/// content of the same fingerprint. (For two contents of one's own making that is 2^64 work.)
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Hash(pub u128);

impl Hash {
    pub fn of(bytes: &[u8]) -> Self {
        Self::from_digest(&blake3::hash(bytes))
    }

    /// Hash of a sequence of byte strings; their borders count.
    pub fn of_parts<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> Self {
        // Most are a few short words, for which the start and end of an incremental hash cost more than a copy.
        let mut text = Vec::with_capacity(256);
        for part in parts {
            text.extend_from_slice(&(part.len() as u64).to_le_bytes());
            text.extend_from_slice(part);
        }
        Self::of(&text)
    }

    fn from_digest(digest: &blake3::Hash) -> Self {
        let mut first = [0; 16];
        first.copy_from_slice(&digest.as_bytes()[..16]);
        Self(u128::from_le_bytes(first))
    }
}

/// A [`Hash`] of bytes that come one after the other.
#[derive(Debug, Clone, Default)]
pub struct Hasher(blake3::Hasher);

impl Hasher {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The same as [`Hash::of`] of all of them.
    pub fn finish(&self) -> Hash {
        Hash::from_digest(&self.0.finalize())
    }
}

impl fmt::Display for Hash {
    /// The first 48 bits: enough to tell two versions apart in a message.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:012x}", self.0 >> 80)
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// What the world answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Value {
    /// Nothing is there: no file, no variable.
    Absent,
    /// Nothing can be there for this user: a file stands where a folder would have to be, a folder
    /// on the way is closed, or the way is too long. Programs get another error than for absence.
    Barred,
    /// A regular file, its content not asked for.
    File,
    /// A directory, its names not asked for.
    Directory,
    /// A symbolic link; the hash is of its target text.
    Link(Hash),
    Pipe,
    Socket,
    /// The hash is of its kind and numbers.
    Device(Hash),
    /// The content of a regular file under the question's scheme, and whether it may be executed.
    Content {
        hash: Hash,
        executable: bool,
    },
    /// The names in a directory.
    Listing(Hash),
    /// A file that exists and that we may not read: hash of size, mode and modification time.
    Opaque(Hash),
    /// A text value (environment variable, settings).
    Text(Hash),
    /// The scheme says that this state carries no information (for instance byte code that its
    /// runtime checks against the source by itself). Equal whether the file is there or not.
    Derived,
}

impl Value {
    pub fn text(bytes: &[u8]) -> Self {
        Self::Text(Hash::of(bytes))
    }

    /// The answer is not known before a build has run. Equal to no answer that a test ever got.
    pub fn unbuilt() -> Self {
        Self::text(b"not known before it is built")
    }

    /// Tag and hash, the form in which a value is stored.
    pub fn to_raw(self) -> (u8, u128) {
        match self {
            Self::Absent => (0, 0),
            Self::File => (1, 0),
            Self::Directory => (2, 0),
            Self::Link(h) => (3, h.0),
            Self::Device(h) => (4, h.0),
            Self::Content { hash, executable: false } => (5, hash.0),
            Self::Content { hash, executable: true } => (6, hash.0),
            Self::Listing(h) => (7, h.0),
            Self::Opaque(h) => (8, h.0),
            Self::Text(h) => (9, h.0),
            Self::Derived => (10, 0),
            Self::Barred => (11, 0),
            Self::Pipe => (12, 0),
            Self::Socket => (13, 0),
        }
    }

    /// The inverse of [`Value::to_raw`]; `None` for a tag of a newer tamis.
    pub fn from_raw(tag: u8, hash: u128) -> Option<Self> {
        let hash = Hash(hash);
        Some(match tag {
            0 => Self::Absent,
            1 => Self::File,
            2 => Self::Directory,
            3 => Self::Link(hash),
            4 => Self::Device(hash),
            5 => Self::Content { hash, executable: false },
            6 => Self::Content { hash, executable: true },
            7 => Self::Listing(hash),
            8 => Self::Opaque(hash),
            9 => Self::Text(hash),
            10 => Self::Derived,
            11 => Self::Barred,
            12 => Self::Pipe,
            13 => Self::Socket,
            _ => return None,
        })
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Absent => write!(f, "absent"),
            Self::Barred => write!(f, "out of reach"),
            Self::File => write!(f, "a file"),
            Self::Directory => write!(f, "a directory"),
            Self::Link(h) => write!(f, "a symbolic link {h}"),
            Self::Pipe => write!(f, "a pipe"),
            Self::Socket => write!(f, "a socket"),
            Self::Device(h) => write!(f, "a device {h}"),
            Self::Content { hash, executable: false } => write!(f, "content {hash}"),
            Self::Content { hash, executable: true } => write!(f, "content {hash}, executable"),
            Self::Listing(h) => write!(f, "names {h}"),
            Self::Opaque(h) => write!(f, "unreadable {h}"),
            Self::Text(h) => write!(f, "value {h}"),
            Self::Derived => write!(f, "derived"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_survives_its_stored_form() {
        let h = Hash::of(b"x");
        for value in [
            Value::Absent,
            Value::Barred,
            Value::File,
            Value::Directory,
            Value::Link(h),
            Value::Pipe,
            Value::Socket,
            Value::Device(h),
            Value::Content { hash: h, executable: false },
            Value::Content { hash: h, executable: true },
            Value::Listing(h),
            Value::Opaque(h),
            Value::Text(h),
            Value::Derived,
        ] {
            let (tag, hash) = value.to_raw();
            assert_eq!(Value::from_raw(tag, hash), Some(value));
        }
        assert_eq!(Value::from_raw(200, 0), None);
    }

    #[test]
    fn bytes_one_after_the_other_are_the_same_as_all_at_once() {
        let bytes: Vec<u8> = (0..100_000_u32).map(|n| n as u8).collect();
        let mut hasher = Hasher::new();
        bytes.chunks(777).for_each(|some| hasher.update(some));
        assert_eq!(hasher.finish(), Hash::of(&bytes));
        // The test vector of BLAKE3 for nothing.
        let nothing = u128::from_le_bytes(
            *b"\xaf\x13\x49\xb9\xf5\xf9\xa1\xa6\xa0\x40\x4d\xea\x36\xdc\xc9\x49",
        );
        assert_eq!(Hash::of(b""), Hash(nothing));
    }

    #[test]
    fn borders_of_parts_count() {
        assert_ne!(
            Hash::of_parts([b"ab".as_slice(), b"c".as_slice()]),
            Hash::of_parts([b"a".as_slice(), b"bc".as_slice()])
        );
    }
}
