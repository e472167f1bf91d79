//! The handle, and the simple questions about tests and their records.

use crate::believed::Believed;
use crate::codec::{blob, id, integer, text};
use crate::error::{Failure, SetAside, StoreError};
use crate::files::{self, FILE, Open};
use crate::key::{KeyColumns, StoredKey};
use crate::summary::{RECORD_COLUMNS, RecordRow, TestSummary, newest_first};
use crate::with_record::drop_with;
use roaring::RoaringBitmap;
use rusqlite::{Connection, Row, TransactionBehavior};
use rustc_hash::FxHashMap;
use std::collections::{BTreeSet, HashMap};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use tamis_core::{RecordSummary, TestKey};

/// How many records of one test are kept unless another number is given.
const KEEP_PER_TEST: usize = 16;

/// An open store. Clones share one connection and take turns; threads that should not wait for
/// each other open their own.
#[derive(Debug, Clone)]
pub struct Store {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    dir: PathBuf,
    open: Mutex<Open>,
    set_aside: Mutex<Option<SetAside>>,
    keep_per_test: AtomicUsize,
    believed: Mutex<Believed>,
}

impl Store {
    /// Opens the store in this folder; makes the folder and an empty store where there is none.
    ///
    /// A store that is damaged or of an older format is renamed, an empty one takes its place, and
    /// the second part of the answer says so. One that can only be read is open for deciding, see
    /// [`Store::read_only`]. An error means that no store can be had there.
    pub fn open(dir: &Path) -> Result<(Self, Option<SetAside>), StoreError> {
        tamis_private::make_folder(dir)
            .map_err(|source| StoreError::Folder { dir: dir.to_path_buf(), source })?;
        let (open, moved) = files::open(dir)?;
        let inner = Inner {
            dir: dir.to_path_buf(),
            open: Mutex::new(open),
            set_aside: Mutex::new(None),
            keep_per_test: AtomicUsize::new(KEEP_PER_TEST),
            believed: Mutex::default(),
        };
        Ok((Self { inner: Arc::new(inner) }, moved))
    }

    /// Like [`Store::open`], and `None` where there is no store yet. Makes no file then.
    pub fn open_existing(dir: &Path) -> Result<Option<(Self, Option<SetAside>)>, StoreError> {
        match dir.join(FILE).symlink_metadata() {
            Ok(_) => Self::open(dir).map(Some),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(StoreError::Folder { dir: dir.to_path_buf(), source }),
        }
    }

    /// An error where a newer version wrote the store in this folder. Touches nothing.
    pub fn refuse_newer(dir: &Path) -> Result<(), StoreError> {
        let newer = |found| Err(StoreError::Newer { dir: dir.to_path_buf(), found });
        crate::format::newer(&dir.join(FILE)).map_or(Ok(()), newer)
    }

    /// Why nothing that is recorded stays, where the store can only be read.
    pub fn read_only(&self) -> Option<String> {
        let open = self.inner.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.copy.as_ref().map(|copy| copy.why.clone())
    }

    /// An error where the store can only be read.
    pub(crate) fn must_be_writable(&self) -> Result<(), StoreError> {
        let dir = self.inner.dir.clone();
        self.read_only().map_or(Ok(()), |why| Err(StoreError::ReadOnly { dir, why }))
    }

    /// The folder of the store.
    pub fn dir(&self) -> &Path {
        &self.inner.dir
    }

    /// The database file.
    pub fn path(&self) -> PathBuf {
        self.inner.dir.join(FILE)
    }

    /// Bytes of all files of the store.
    pub fn size_on_disk(&self) -> u64 {
        files::size(&self.inner.dir)
    }

    /// How many records of one test [`Store::append`] keeps.
    pub fn set_keep_per_test(&self, keep: NonZeroUsize) {
        self.inner.keep_per_test.store(keep.get(), Ordering::Relaxed);
    }

    /// From now on records from elsewhere count as this says; before that, nothing that was pulled does.
    pub fn believe(&self, believed: Believed) {
        *self.inner.believed.lock().unwrap_or_else(PoisonError::into_inner) = believed;
    }

    pub(crate) fn believed(&self) -> Believed {
        self.inner.believed.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn keep_per_test(&self) -> usize {
        self.inner.keep_per_test.load(Ordering::Relaxed)
    }

    /// What was set aside since the store was opened: damage deep in a file shows only when that
    /// part is read. Whoever asks gets it once.
    pub fn take_set_aside(&self) -> Option<SetAside> {
        self.inner.set_aside.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Works with the connection. Where that meets damage, the store is set aside and the work is
    /// done once more on the empty one.
    pub(crate) fn with<T>(
        &self,
        mut work: impl FnMut(&mut Connection) -> Result<T, Failure>,
    ) -> Result<T, StoreError> {
        let dir = &self.inner.dir;
        let mut open = self.inner.open.lock().unwrap_or_else(PoisonError::into_inner);
        let why = match work(&mut open.conn).map_err(|failure| files::judged(failure, dir)) {
            Ok(done) => return Ok(done),
            Err(Failure::Damage(why)) => why,
            Err(failure) => return Err(failure.into_error(dir)),
        };
        let (fresh, moved) = files::replace(dir, &open, &why)?;
        *open = fresh;
        if let Some(moved) = moved {
            let mut slot = self.inner.set_aside.lock().unwrap_or_else(PoisonError::into_inner);
            slot.get_or_insert(moved);
        }
        work(&mut open.conn).map_err(|failure| failure.into_error(dir))
    }

    /// Works in one write transaction.
    pub(crate) fn write<T>(
        &self,
        mut work: impl FnMut(&Connection) -> Result<T, Failure>,
    ) -> Result<T, StoreError> {
        self.with(|conn| write(conn, &mut work))
    }

    /// All tests that have a record, in the order of their keys.
    pub fn tests(&self) -> Result<Vec<TestSummary>, StoreError> {
        self.with(|conn| {
            let mut tests: Vec<TestSummary> = newest_records(conn)?
                .into_iter()
                .map(|(key, counts, row)| TestSummary {
                    key,
                    records: counts.records,
                    flaky: counts.flaky,
                    last: row.summary,
                })
                .collect();
            tests.sort_by(|a, b| a.key.cmp(&b.key));
            Ok(tests)
        })
    }

    /// The tests whose newest record did not pass, by key. It costs little where there are few, however many tests
    /// there are: of the others only the outcome is looked at. (A newest record that is damaged and seems to have
    /// passed hides an older one here, not in a decision.)
    pub fn not_passed(&self) -> Result<Vec<TestSummary>, StoreError> {
        let believed = self.believed();
        self.with(|conn| {
            let mut found = Vec::new();
            for test in tests_not_passed(conn)? {
                let Some(key) = key_of(conn, test)? else { continue };
                let mut records = records_of(conn, &StoredKey::of(&key))?;
                records.retain(|row| believed.believes(&row.summary.origin));
                let flaky = records.iter().filter(|row| row.summary.is_flaky()).count();
                let count = records.len();
                let newest = records.into_iter().next().map(|row| row.summary);
                if let Some(last) = newest.filter(|last| !last.outcome.passed()) {
                    found.push(TestSummary { key, records: count, flaky, last });
                }
            }
            found.sort_by(|a: &TestSummary, b| a.key.cmp(&b.key));
            Ok(found)
        })
    }

    /// The records of one test, newest first.
    pub fn history(&self, test: &TestKey) -> Result<Vec<RecordSummary>, StoreError> {
        self.with(|conn| {
            let rows = records_of(conn, &StoredKey::of(test))?;
            Ok(rows.into_iter().map(|row| row.summary).collect())
        })
    }
}

/// One short write transaction. It takes the write lock at the start: a reader that becomes a
/// writer half-way would fail when another one was faster.
pub(crate) fn write<T>(
    conn: &mut Connection,
    work: impl FnOnce(&Connection) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let done = work(&tx)?;
    tx.commit()?;
    Ok(done)
}

/// The row of a test; `None` where it has none.
pub(crate) fn test_id(conn: &Connection, test: &StoredKey) -> Result<Option<i64>, Failure> {
    let id = test.row();
    let mut statement =
        conn.prepare_cached("SELECT scope, unit, folder FROM test WHERE id = ?1")?;
    let mut rows = statement.query([id])?;
    let Some(row) = rows.next()? else {
        return Ok(None);
    };
    let columns = (text(row.get_ref(0)?), text(row.get_ref(1)?), text(row.get_ref(2)?));
    let (Some(scope), Some(unit), Some(folder)) = columns else {
        return Ok(None);
    };
    Ok((KeyColumns { scope, unit, folder } == test.columns()).then_some(id))
}

/// The readable records of a test, newest first.
pub(crate) fn records_of(conn: &Connection, test: &StoredKey) -> Result<Vec<RecordRow>, Failure> {
    let Some(id) = test_id(conn, test)? else {
        return Ok(Vec::new());
    };
    let sql = format!("SELECT {RECORD_COLUMNS} FROM record WHERE test = ?1 ORDER BY id DESC");
    let mut statement = conn.prepare_cached(&sql)?;
    let mut rows = statement.query([id])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.extend(RecordRow::read(row, |_| Some(test.columns()))?);
    }
    newest_first(&mut found);
    Ok(found)
}

/// The readable records of one test in figures.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RecordCounts {
    pub(crate) records: usize,
    pub(crate) flaky: usize,
}

/// Every test with the number of its readable records and the newest of them.
pub(crate) fn newest_records(
    conn: &Connection,
) -> Result<Vec<(TestKey, RecordCounts, RecordRow)>, Failure> {
    let keys = all_tests(conn)?;
    let mut newest: HashMap<i64, (RecordCounts, RecordRow)> = HashMap::with_capacity(keys.len());
    let sql = format!("SELECT {RECORD_COLUMNS} FROM record ORDER BY id");
    let mut statement = conn.prepare(&sql)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let key = |id| keys.get(&id).map(|(stored, _)| stored.columns());
        let Some(record) = RecordRow::read(row, key)? else {
            continue;
        };
        let mut counts =
            newest.get(&record.test).map_or_else(RecordCounts::default, |(counts, _)| *counts);
        counts.records += 1;
        counts.flaky += usize::from(record.summary.is_flaky());
        let record = match newest.remove(&record.test) {
            // They come by number; one from elsewhere is not newer than one of this machine.
            Some((_, known)) if known.behind < record.behind => known,
            _ => record,
        };
        newest.insert(record.test, (counts, record));
    }
    Ok(keys
        .into_iter()
        .filter_map(|(id, (_, key))| newest.remove(&id).map(|(counts, row)| (key, counts, row)))
        .collect())
}

/// The rows of tests whose newest record seems not to have passed.
fn tests_not_passed(conn: &Connection) -> Result<Vec<i64>, Failure> {
    let sql = "SELECT test, summary, behind FROM record ORDER BY id";
    let mut statement = conn.prepare_cached(sql)?;
    let mut rows = statement.query([])?;
    let mut failed = BTreeSet::new();
    // How far behind the newest record of each test is: one from elsewhere hides none of this machine.
    let mut places: FxHashMap<i64, i64> = FxHashMap::default();
    while let Some(row) = rows.next()? {
        let (Some(test), Some(sealed)) = (integer(row.get_ref(0)?), blob(row.get_ref(1)?)) else {
            continue;
        };
        let behind = integer(row.get_ref(2)?).unwrap_or(0);
        let newest = places.entry(test).or_insert(behind);
        if *newest < behind {
            continue;
        }
        *newest = behind;
        if RecordRow::seems_passed(sealed) {
            failed.remove(&test);
        } else {
            failed.insert(test);
        }
    }
    Ok(failed.into_iter().collect())
}

fn key_of(conn: &Connection, test: i64) -> Result<Option<TestKey>, Failure> {
    let mut statement =
        conn.prepare_cached("SELECT id, scope, unit, folder FROM test WHERE id = ?1")?;
    let mut rows = statement.query([test])?;
    Ok(rows.next()?.map(read_key).transpose()?.flatten().map(|(_, key)| key))
}

fn read_key(row: &Row<'_>) -> rusqlite::Result<Option<(i64, TestKey)>> {
    let columns = (
        integer(row.get_ref(0)?),
        text(row.get_ref(1)?),
        text(row.get_ref(2)?),
        text(row.get_ref(3)?),
    );
    let (Some(id), Some(scope), Some(unit), Some(folder)) = columns else { return Ok(None) };
    Ok((KeyColumns { scope, unit, folder }).to_key().map(|key| (id, key)))
}

/// Every test by the id of its row; a row that is damaged is left out.
pub(crate) fn all_tests(conn: &Connection) -> Result<HashMap<i64, (StoredKey, TestKey)>, Failure> {
    let mut statement = conn.prepare("SELECT id, scope, unit, folder FROM test")?;
    let mut rows = statement.query([])?;
    let mut keys = HashMap::new();
    while let Some(row) = rows.next()? {
        if let Some((id, key)) = read_key(row)? {
            keys.insert(id, (StoredKey::of(&key), key));
        }
    }
    Ok(keys)
}

/// Removes one record and what belongs to it alone. Its proofs and interned observations stay for
/// the garbage collection.
pub(crate) fn delete_record(conn: &Connection, record: u32) -> Result<(), Failure> {
    for sql in ["DELETE FROM record_detail WHERE record = ?1", "DELETE FROM record WHERE id = ?1"] {
        conn.prepare_cached(sql)?.execute([record])?;
    }
    drop_with(conn, record)
}

/// Visits all records, newest first; those that cannot be read as `None`.
pub(crate) fn all_records(
    conn: &Connection,
    mut visit: impl FnMut(u32, Option<RecordRow>),
) -> Result<(), Failure> {
    let keys = all_tests(conn)?;
    let sql = format!("SELECT {RECORD_COLUMNS} FROM record ORDER BY id DESC");
    let mut statement = conn.prepare_cached(&sql)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        if let Some(record) = id(row.get_ref(0)?) {
            visit(
                record,
                RecordRow::read(row, |test| keys.get(&test).map(|(stored, _)| stored.columns()))?,
            );
        }
    }
    Ok(())
}

/// All proofs that a record has.
pub(crate) fn live_proofs(conn: &Connection) -> Result<RoaringBitmap, Failure> {
    let mut live = RoaringBitmap::new();
    all_records(conn, |_, row| live.extend(row.iter().flat_map(RecordRow::proofs).map(|p| p.0)))?;
    Ok(live)
}
