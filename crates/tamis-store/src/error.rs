//! What can go wrong with a store, distinguished by what has to be done about it.

use crate::format::FORMAT;
use rusqlite::ErrorCode;
use std::fmt;
use std::path::{Path, PathBuf};

/// A store that could not be used was renamed and an empty one took its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetAside {
    pub moved_to: PathBuf,
    pub why: String,
}

impl fmt::Display for SetAside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the store could not be used ({}); it was moved to {} and a new one was started",
            self.why,
            self.moved_to.display()
        )
    }
}

/// The store cannot be used, and setting it aside would not help.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error(
        "cannot use {} as the store's folder: {source}; check its permissions or choose another with --store",
        dir.display()
    )]
    Folder { dir: PathBuf, source: std::io::Error },
    #[error(
        "cannot write to the store in {}: {why}; check its permissions or choose another with --store",
        dir.display()
    )]
    Denied { dir: PathBuf, why: String },
    #[error(
        "no space left for the store in {}; free some space or choose another with --store",
        dir.display()
    )]
    Full { dir: PathBuf },
    #[error(
        "another process kept the store in {} locked for too long; wait for it to end and try again",
        dir.display()
    )]
    Busy { dir: PathBuf },
    #[error(
        "the store in {} is damaged and could not be set aside ({why}); remove tamis.db there or choose another with --store",
        dir.display()
    )]
    Damaged { dir: PathBuf, why: String },
    #[error(
        "the store in {} was written by a newer tamis (format {found}, this one knows up to {FORMAT}) and is left as it is; update tamis or choose another store with --store",
        dir.display()
    )]
    Newer { dir: PathBuf, found: i32 },
    #[error("the store in {} can only be read ({why}); nothing in it was changed", dir.display())]
    ReadOnly { dir: PathBuf, why: String },
    #[error("the store in {} failed: {source}; try again or choose another with --store", dir.display())]
    Sql { dir: PathBuf, source: rusqlite::Error },
}

/// Why work inside the store stopped.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The file is not a store that this version can use.
    Damage(String),
    /// A newer version wrote it.
    Newer(i32),
    /// Its file cannot be made or opened.
    Place(std::io::Error),
    Sql(rusqlite::Error),
}

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Self {
        use ErrorCode as Code;
        match error.sqlite_error_code() {
            Some(Code::DatabaseCorrupt) => Self::Damage("it is damaged".into()),
            Some(Code::NotADatabase) => Self::Damage("it is not a database".into()),
            // Our statements are fixed: one that does not fit the tables, or a value of another
            // type or size than we wrote, means that the file is not what we made.
            Some(Code::Unknown) if is_plain_error(&error) => {
                Self::Damage(format!("it does not have the expected tables: {error}"))
            }
            Some(
                Code::ConstraintViolation
                | Code::TypeMismatch
                | Code::TooBig
                | Code::ParameterOutOfRange
                | Code::SchemaChanged
                | Code::InternalMalfunction
                | Code::NotFound,
            ) => Self::Damage(format!("it holds something unexpected: {error}")),
            None if !matches!(error, rusqlite::Error::QueryReturnedNoRows) => {
                Self::Damage(format!("it holds something unexpected: {error}"))
            }
            _ => Self::Sql(error),
        }
    }
}

fn is_plain_error(error: &rusqlite::Error) -> bool {
    error.sqlite_error().is_some_and(|e| e.extended_code == rusqlite::ffi::SQLITE_ERROR)
}

impl Failure {
    pub(crate) fn used_up() -> Self {
        Self::Damage("its numbers are used up".into())
    }

    /// The error of a file or a disk, which bytes in the store can cause as well: a header that says
    /// "read only", sizes that no disk has, a log that ends in the middle.
    pub(crate) fn may_be_damage(&self) -> bool {
        let others = [
            ErrorCode::DatabaseBusy,
            ErrorCode::DatabaseLocked,
            ErrorCode::OperationInterrupted,
            ErrorCode::OperationAborted,
        ];
        match self {
            Self::Sql(error) => error.sqlite_error_code().is_some_and(|c| !others.contains(&c)),
            _ => false,
        }
    }

    pub(crate) fn into_error(self, dir: &Path) -> StoreError {
        let dir = dir.to_path_buf();
        let source = match self {
            Self::Damage(why) => return StoreError::Damaged { dir, why },
            Self::Newer(found) => return StoreError::Newer { dir, found },
            Self::Place(source) if source.kind() == std::io::ErrorKind::StorageFull => {
                return StoreError::Full { dir };
            }
            Self::Place(source) => return StoreError::Denied { dir, why: source.to_string() },
            Self::Sql(source) => source,
        };
        match source.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => StoreError::Busy { dir },
            Some(ErrorCode::DiskFull) => StoreError::Full { dir },
            Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => {
                StoreError::Denied { dir, why: source.to_string() }
            }
            _ => StoreError::Sql { dir, source },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sqlite(code: i32) -> rusqlite::Error {
        rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(code), None)
    }

    #[test]
    fn only_a_bad_file_counts_as_damage() {
        use rusqlite::ffi;
        let bad = [
            ffi::SQLITE_CORRUPT,
            ffi::SQLITE_CORRUPT_INDEX,
            ffi::SQLITE_NOTADB,
            ffi::SQLITE_ERROR,
            ffi::SQLITE_CONSTRAINT_PRIMARYKEY,
            ffi::SQLITE_CONSTRAINT_NOTNULL,
            ffi::SQLITE_MISMATCH,
            ffi::SQLITE_TOOBIG,
            ffi::SQLITE_INTERNAL,
            ffi::SQLITE_SCHEMA,
        ];
        for code in bad {
            assert!(matches!(Failure::from(sqlite(code)), Failure::Damage(_)), "{code}");
        }
        for code in [ffi::SQLITE_BUSY, ffi::SQLITE_FULL, ffi::SQLITE_READONLY, ffi::SQLITE_IOERR] {
            assert!(matches!(Failure::from(sqlite(code)), Failure::Sql(_)), "{code}");
        }
        let doubtful = [
            ffi::SQLITE_IOERR_SHORT_READ,
            ffi::SQLITE_CANTOPEN,
            ffi::SQLITE_READONLY,
            ffi::SQLITE_FULL,
            ffi::SQLITE_NOMEM,
            ffi::SQLITE_PROTOCOL,
        ];
        for (code, may_be) in doubtful.map(|code| (code, true)).into_iter().chain([
            (ffi::SQLITE_BUSY_SNAPSHOT, false),
            (ffi::SQLITE_LOCKED, false),
            (ffi::SQLITE_INTERRUPT, false),
        ]) {
            assert_eq!(Failure::from(sqlite(code)).may_be_damage(), may_be, "{code}");
        }
    }

    #[test]
    fn errors_name_the_folder_and_a_next_step() {
        use rusqlite::ffi;
        for code in [ffi::SQLITE_BUSY, ffi::SQLITE_FULL, ffi::SQLITE_READONLY, ffi::SQLITE_IOERR] {
            let text = Failure::from(sqlite(code)).into_error(Path::new("a/b")).to_string();
            assert!(text.contains("a/b") && text.contains("; "), "{text}");
        }
    }
}
