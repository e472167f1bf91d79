//! The tables, the ids of their rows, and how a connection is made ready.
//!
//! The format is named by `application_id` and `user_version` in the file's header. Another number
//! means that the file is not ours to interpret; it is set aside and not migrated, because all
//! that is lost is one run of each test. A higher number is somebody's who has a newer tamis: that
//! store is left as it is ([`crate::format`]).

use crate::error::Failure;
use crate::format::{APPLICATION, FORMAT};
use rusqlite::{Connection, OpenFlags, OptionalExtension, TransactionBehavior};
use std::path::Path;
use std::time::Duration;

/// How long a writer waits for its turn.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// Small pages: most stores are small, every table has at least one page, and every block and proof
/// leaves half a page empty.
const PAGE: u32 = 1_024;

/// Ids of records, proofs, observations (which are in the blocks) and segments are never reused: an
/// id that is kept somewhere (index, explanation, another process) can only become unknown, never
/// mean another thing. A test's id is the hash of its key.
const TABLES: &str = "
CREATE TABLE test (
    id INTEGER PRIMARY KEY,
    scope TEXT NOT NULL, unit TEXT NOT NULL, folder TEXT NOT NULL, message BLOB);
CREATE TABLE block (
    id INTEGER PRIMARY KEY AUTOINCREMENT, observations BLOB NOT NULL, details BLOB);
CREATE TABLE record (
    id INTEGER PRIMARY KEY AUTOINCREMENT, test INTEGER NOT NULL, summary BLOB NOT NULL,
    behind INTEGER NOT NULL DEFAULT 0);
CREATE INDEX record_by_test ON record (test);
CREATE TABLE proof (id INTEGER PRIMARY KEY AUTOINCREMENT, sets BLOB NOT NULL);
CREATE TABLE record_detail (record INTEGER PRIMARY KEY, looks BLOB, left_behind BLOB);
CREATE TABLE segment (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    live INTEGER NOT NULL, last_proof INTEGER NOT NULL,
    observations BLOB, proofs BLOB);
CREATE TABLE posting (id INTEGER PRIMARY KEY, proofs BLOB NOT NULL);
CREATE TABLE kept (kind TEXT, name TEXT, bytes BLOB NOT NULL, PRIMARY KEY (kind, name))
    WITHOUT ROWID;
";

const TABLE_COUNT: i64 = 8;

/// Opens the file, makes the tables where it is new, and checks that it can be read.
pub(crate) fn connect(file: &Path) -> Result<Connection, Failure> {
    if let Ok(meta) = std::fs::metadata(file)
        && !meta.is_file()
    {
        return Err(Failure::Damage("something else is in the place of its file".into()));
    }
    // Made before SQLite does it: its log and the index of that get the same permissions.
    // Only where it is new: closing a second descriptor of an open store would drop SQLite's locks on it.
    if std::fs::symlink_metadata(file).is_err()
        && let Err(source) = tamis_private::create_file(file)
    {
        return Err(Failure::Place(source));
    }
    tamis_private::tighten(file);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut conn = Connection::open_with_flags(file, flags)?;
    // First of all: also the switch to WAL can meet another process that holds a lock.
    conn.busy_timeout(PATIENCE)?;
    conn.set_prepared_statement_cache_capacity(64);
    conn.execute_batch("PRAGMA synchronous = NORMAL;")?;

    match header(&conn)? {
        (0, 0) => create(&mut conn)?,
        (APPLICATION, FORMAT) => {}
        (APPLICATION, newer) if newer > FORMAT => return Err(Failure::Newer(newer)),
        (APPLICATION, other) => {
            return Err(Failure::Damage(format!("its format {other} is not known")));
        }
        _ => return Err(Failure::Damage("it is not a store of tamis".into())),
    }
    conn.execute_batch(
        "PRAGMA journal_mode = WAL;
         PRAGMA cell_size_check = ON;
         PRAGMA trusted_schema = OFF;
         PRAGMA temp_store = MEMORY;
         PRAGMA cache_size = -32768;",
    )?;
    if table_count(&conn)? != TABLE_COUNT {
        return Err(Failure::Damage("some of its tables are missing".into()));
    }
    Ok(conn)
}

fn header(conn: &Connection) -> Result<(i32, i32), Failure> {
    let application = conn.pragma_query_value(None, "application_id", |row| row.get(0))?;
    let format = conn.pragma_query_value(None, "user_version", |row| row.get(0))?;
    Ok((application, format))
}

fn table_count(conn: &Connection) -> Result<i64, Failure> {
    let sql = "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'";
    Ok(conn.query_row(sql, [], |row| row.get(0))?)
}

fn create(conn: &mut Connection) -> Result<(), Failure> {
    if table_count(conn)? != 0 {
        return Err(Failure::Damage("it is not a store of tamis".into()));
    }
    // These only take effect before the first table, and the first two before WAL.
    conn.execute_batch(&format!(
        "PRAGMA page_size = {PAGE}; PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL;"
    ))?;
    let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Another process may have been faster.
    if header(&tx)? == (0, 0) {
        tx.execute_batch(TABLES)?;
        tx.pragma_update(None, "application_id", APPLICATION)?;
        tx.pragma_update(None, "user_version", FORMAT)?;
    }
    tx.commit()?;
    Ok(())
}

/// The id that comes next in this table. Checksums cover ids, so we have to know it beforehand.
pub(crate) fn next_id(conn: &Connection, table: &str) -> Result<u32, Failure> {
    let last: Option<i64> = conn
        .prepare_cached("SELECT seq FROM sqlite_sequence WHERE name = ?1")?
        .query_row([table], |row| row.get(0))
        .optional()?;
    last.unwrap_or(0)
        .checked_add(1)
        .and_then(|next| u32::try_from(next).ok())
        .ok_or_else(Failure::used_up)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_count_is_right() {
        let dir = tempfile::tempdir().unwrap();
        let conn = connect(&dir.path().join("tamis.db")).unwrap();
        assert_eq!(table_count(&conn).unwrap(), TABLE_COUNT);
        let mode: String = conn.pragma_query_value(None, "journal_mode", |r| r.get(0)).unwrap();
        assert_eq!(mode, "wal");
        let vacuum: i32 = conn.pragma_query_value(None, "auto_vacuum", |r| r.get(0)).unwrap();
        assert_eq!(vacuum, 2);
        let page: u32 = conn.pragma_query_value(None, "page_size", |r| r.get(0)).unwrap();
        assert_eq!(page, PAGE);
    }

    #[test]
    fn a_database_of_somebody_else_is_not_touched() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("tamis.db");
        Connection::open(&file).unwrap().execute_batch("CREATE TABLE theirs (x);").unwrap();
        assert!(matches!(connect(&file), Err(Failure::Damage(_))));
    }
}
