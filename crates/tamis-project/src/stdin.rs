//! The standard input of a bare command, as an input of the test.
//!
//! | what is there | what counts |
//! | --- | --- |
//! | a file | its content from the place where the reading begins, read or not |
//! | nothing (`/dev/null`) | that there was nothing, if the test tried to read |
//! | a pipe, a socket, a terminal, a device | cannot be compared: a test that reads it is not skipped |
//!
//! A test of a suite has nothing on its standard input, always.

use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::PathBuf;
use tamis_core::record::{Access, Detail, Observed};
use tamis_core::{Hash, Question, Scheme, Value};
use tamis_fs::Fingerprinter;

/// The fact under which records know it.
pub const FACT: &str = "the standard input";

/// What is on our own standard input, which a bare command inherits.
#[derive(Debug)]
pub enum Input {
    Nothing,
    /// A file, and how much of it was read by others already.
    File(PathBuf, i64),
    Stream,
}

impl Input {
    pub fn of_ours() -> Self {
        let Ok(metadata) = std::fs::metadata("/proc/self/fd/0") else { return Self::Nothing };
        let kind = metadata.file_type();
        if kind.is_file() {
            // SAFETY: asks about our own standard input.
            let begin = unsafe { libc::lseek(0, 0, libc::SEEK_CUR) };
            return match std::fs::read_link("/proc/self/fd/0") {
                Ok(path) if path.exists() => Self::File(path, begin),
                _ => Self::Stream,
            };
        }
        let null = libc::makedev(1, 3);
        if kind.is_char_device() && metadata.rdev() == null { Self::Nothing } else { Self::Stream }
    }

    /// The answer to the question about [`FACT`].
    pub fn value(&self, fingerprinter: &Fingerprinter) -> Value {
        match self {
            Self::Nothing => Value::text(b"nothing"),
            Self::File(path, begin) => {
                let (tag, hash) = fingerprinter.answer(path, Scheme::Raw).value.to_raw();
                Value::Text(Hash::of_parts([
                    b"file".as_slice(),
                    &begin.to_le_bytes(),
                    &[tag],
                    &hash.to_le_bytes(),
                ]))
            }
            // No record holds it: who read it was not recorded as complete.
            Self::Stream => Value::text(b"stream"),
        }
    }
}

/// The input as a record keeps it.
pub fn observed(value: Value) -> Observed {
    Observed {
        question: Question::Fact(FACT.into()),
        before: value,
        after: None,
        access: Access::READ,
        program: "tamis".into(),
        detail: Detail::None,
    }
}
