//! What can go wrong with a store, distinguished by what has to be done about it.

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
    #[error("the store in {} failed: {source}; try again or choose another with --store", dir.display())]
    Sql { dir: PathBuf, source: rusqlite::Error },
}

/// Why work inside the store stopped.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The file is not a store that this version can use.
    Damage(String),
    Sql(rusqlite::Error),
}

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseCorrupt) => Self::Damage("it is damaged".into()),
            Some(ErrorCode::NotADatabase) => Self::Damage("it is not a database".into()),
            // Our statements are fixed: one that does not fit the tables, or a value of another
            // type than we wrote, means that the file is not what we made.
            Some(ErrorCode::Unknown) if is_plain_error(&error) => {
                Self::Damage(format!("it does not have the expected tables: {error}"))
            }
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

    pub(crate) fn into_error(self, dir: &Path) -> StoreError {
        let dir = dir.to_path_buf();
        let source = match self {
            Self::Damage(why) => return StoreError::Damaged { dir, why },
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
        for code in [ffi::SQLITE_CORRUPT, ffi::SQLITE_NOTADB, ffi::SQLITE_ERROR] {
            assert!(matches!(Failure::from(sqlite(code)), Failure::Damage(_)), "{code}");
        }
        for code in [ffi::SQLITE_BUSY, ffi::SQLITE_FULL, ffi::SQLITE_READONLY, ffi::SQLITE_IOERR] {
            assert!(matches!(Failure::from(sqlite(code)), Failure::Sql(_)), "{code}");
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
