//! What a fault is.

use std::fmt;
use std::ops::Range;
use std::path::PathBuf;

/// What is wrong with the program then.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    ConditionNegated,
    ReturnChanged,
    CallRemoved,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ConditionNegated => "condition negated",
            Self::ReturnChanged => "return value changed",
            Self::CallRemoved => "call removed",
        })
    }
}

/// Lines of a source, both ends among them; counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Lines {
    pub first: u32,
    pub last: u32,
}

impl Lines {
    pub fn meets(self, other: Self) -> bool {
        self.first <= other.last && other.first <= self.last
    }
}

/// One fault: other bytes in one place of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    pub kind: Kind,
    /// The method or function, for people: `org.a.B.size`, `Parser.parse`.
    pub place: String,
    /// The line of the source; 0 where it is not known.
    pub line: u32,
    /// The lines of the method or function.
    pub around: Lines,
    /// The bytes of the file that are replaced.
    pub at: Range<usize>,
    pub bytes: Vec<u8>,
    /// The file that is changed.
    pub file: PathBuf,
    /// The source that it is in, from the top of the repository.
    pub source: String,
}

impl Fault {
    /// The file's bytes with the fault in them.
    pub fn applied(&self, original: &[u8]) -> Vec<u8> {
        let mut bytes = original[..self.at.start.min(original.len())].to_vec();
        bytes.extend(&self.bytes);
        bytes.extend(&original[self.at.end.min(original.len())..]);
        bytes
    }
}
