//! Garbage collection: records by age, number and size of the store, then what nobody refers to.
//!
//! Each step is a short transaction, and others may append between them: what a record that came
//! meanwhile refers to is taken out of the list of garbage before each step.

use crate::codec::{blob, id, unsealed_bitmap};
use crate::error::{Failure, StoreError};
use crate::schema::PATIENCE;
use crate::store::{Store, delete_record, write};
use roaring::RoaringBitmap;
use rusqlite::Connection;
use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Rows removed in one transaction.
const BATCH: usize = 4_096;
/// The size is measured after removing; this many rounds get as close as is useful.
const ROUNDS: usize = 8;

/// What may stay. `None` means no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct GcPolicy {
    /// Records of runs that started longer ago are removed.
    pub max_age: Option<Duration>,
    /// Bytes on disk. Older records of a test go before the newest one of any.
    pub max_bytes: Option<u64>,
    pub keep_per_test: Option<NonZeroUsize>,
}

/// What was removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct GcReport {
    pub records: usize,
    /// Tests without any record left.
    pub tests: usize,
    pub observations: usize,
    pub questions: usize,
    pub bytes_before: u64,
    pub bytes_after: u64,
}

impl Store {
    /// Removes what the policy does not keep, and everything that only that referred to.
    pub fn collect_garbage(&self, policy: &GcPolicy) -> Result<GcReport, StoreError> {
        let mut report = GcReport { bytes_before: self.size_on_disk(), ..GcReport::default() };
        let doomed = self.with(|conn| too_old_or_many(conn, policy))?;
        self.remove_records(&doomed, &mut report)?;
        self.sweep(&mut report)?;
        for _ in 0..ROUNDS {
            let Some(max) = policy.max_bytes else {
                break;
            };
            let size = self.size_on_disk();
            let doomed = self.with(|conn| oldest_share(conn, size, max))?;
            if doomed.is_empty() {
                break;
            }
            self.remove_records(&doomed, &mut report)?;
            self.sweep(&mut report)?;
        }
        report.bytes_after = self.size_on_disk();
        Ok(report)
    }

    fn remove_records(&self, records: &[i64], report: &mut GcReport) -> Result<(), StoreError> {
        for batch in records.chunks(BATCH / 8) {
            self.write(|conn| batch.iter().try_for_each(|&record| delete_record(conn, record)))?;
            report.records += batch.len();
        }
        Ok(())
    }

    /// Removes what no record refers to and gives the space back to the file system.
    fn sweep(&self, report: &mut GcReport) -> Result<(), StoreError> {
        let (tests, observations, questions) = self.with(|conn| {
            for sql in [
                "DELETE FROM proof WHERE id NOT IN \
                 (SELECT before FROM record UNION SELECT after FROM record WHERE after IS NOT NULL)",
                "DELETE FROM record_detail WHERE record NOT IN (SELECT id FROM record)",
                "DELETE FROM leftover WHERE record NOT IN (SELECT id FROM record)",
            ] {
                write(conn, |conn| Ok(conn.execute(sql, [])?))?;
            }
            let tests = write(conn, |conn| {
                Ok(conn.execute(
                    "DELETE FROM test WHERE NOT EXISTS \
                     (SELECT 1 FROM record WHERE record.test = test.id)",
                    [],
                )?)
            })?;
            Ok((tests, sweep_observations(conn)?, sweep_questions(conn)?))
        })?;
        report.tests += tests;
        report.observations += observations;
        report.questions += questions;
        self.clean_index()?;
        self.with(|conn| give_space_back(conn))
    }
}

/// Shrinks the files, in short steps.
fn give_space_back(conn: &Connection) -> Result<(), Failure> {
    let free = || conn.pragma_query_value(None, "freelist_count", |row| row.get::<_, i64>(0));
    let mut left = free()?;
    while left > 0 {
        let mut statement = conn.prepare_cached("PRAGMA incremental_vacuum(4096)")?;
        let mut rows = statement.query([])?;
        // Every row of this pragma is a page that was freed.
        while rows.next()?.is_some() {}
        drop(rows);
        let now = free()?;
        if now >= left {
            break;
        }
        left = now;
    }
    // The log shrinks only when no reader needs it; otherwise the next collection will do it.
    conn.busy_timeout(Duration::from_millis(100))?;
    let shrunk = conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
    conn.busy_timeout(PATIENCE)?;
    match shrunk.map_err(Failure::from) {
        Err(Failure::Damage(why)) => Err(Failure::Damage(why)),
        _ => Ok(()),
    }
}

/// The records beyond the age or number of the policy.
fn too_old_or_many(conn: &Connection, policy: &GcPolicy) -> Result<Vec<i64>, Failure> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let oldest_ms = policy.max_age.map_or(0, |age| now.saturating_sub(age).as_millis() as u64);
    let keep = policy.keep_per_test.map_or(usize::MAX, NonZeroUsize::get);
    let mut newer: HashMap<i64, usize> = HashMap::new();
    let mut doomed = Vec::new();
    let mut statement = conn.prepare("SELECT id, test, started_ms FROM record ORDER BY id DESC")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let (record, test, started): (i64, i64, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let count = newer.entry(test).or_default();
        *count += 1;
        if *count > keep || started.cast_unsigned() < oldest_ms {
            doomed.push(record);
        }
    }
    Ok(doomed)
}

/// As many of the oldest records as probably make up what is too much.
fn oldest_share(conn: &Connection, size: u64, max: u64) -> Result<Vec<i64>, Failure> {
    if size <= max {
        return Ok(Vec::new());
    }
    let records: Vec<i64> = conn
        .prepare(
            "SELECT record.id FROM record LEFT JOIN \
             (SELECT max(id) AS newest FROM record GROUP BY test) ON newest = record.id \
             ORDER BY newest IS NOT NULL, record.id",
        )?
        .query_map([], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    let share = (records.len() as u128 * u128::from(size - max)).div_ceil(u128::from(size));
    Ok(records.into_iter().take(share as usize).collect())
}

/// Removes the observations that are in no proof.
fn sweep_observations(conn: &mut Connection) -> Result<usize, Failure> {
    let (mut garbage, mut last_proof) = {
        let tx = conn.transaction()?;
        let mut garbage = all_ids(&tx, "SELECT id FROM observation")?;
        let last = subtract_used(&tx, 0, &mut garbage)?;
        (garbage, last)
    };
    let mut removed = 0;
    while !garbage.is_empty() {
        removed += write(conn, |conn| {
            last_proof = subtract_used(conn, last_proof, &mut garbage)?;
            let batch: RoaringBitmap = garbage.iter().take(BATCH).collect();
            for sql in [
                "DELETE FROM observation WHERE id = ?1",
                "DELETE FROM value_detail WHERE observation = ?1",
            ] {
                let mut statement = conn.prepare_cached(sql)?;
                for id in &batch {
                    statement.execute([id])?;
                }
            }
            garbage -= &batch;
            Ok(batch.len() as usize)
        })?;
    }
    Ok(removed)
}

/// Takes out what the proofs after `last` refer to; gives the last proof now.
fn subtract_used(
    conn: &Connection,
    last: u32,
    garbage: &mut RoaringBitmap,
) -> Result<u32, Failure> {
    let mut statement =
        conn.prepare_cached("SELECT id, bitmap FROM proof WHERE id > ?1 ORDER BY id")?;
    let mut rows = statement.query([last])?;
    let mut last = last;
    while let Some(row) = rows.next()? {
        let Some(id) = id(row.get_ref(0)?) else {
            continue;
        };
        last = id;
        if let Some(set) = blob(row.get_ref(1)?).and_then(|b| unsealed_bitmap(id.into(), b)) {
            *garbage -= set;
        }
    }
    Ok(last)
}

/// Removes the questions that no observation has.
fn sweep_questions(conn: &mut Connection) -> Result<usize, Failure> {
    let mut removed = 0;
    loop {
        let batch = write(conn, |conn| {
            let all = all_ids(conn, "SELECT id FROM question")?;
            let garbage = all - all_ids(conn, "SELECT question FROM observation")?;
            let mut statement = conn.prepare_cached("DELETE FROM question WHERE id = ?1")?;
            garbage.iter().take(BATCH).try_fold(0, |n, id| Ok(n + statement.execute([id])?))
        })?;
        removed += batch;
        if batch < BATCH {
            return Ok(removed);
        }
    }
}

fn all_ids(conn: &Connection, sql: &str) -> Result<RoaringBitmap, Failure> {
    let mut statement = conn.prepare_cached(sql)?;
    let mut rows = statement.query([])?;
    let mut ids = Vec::new();
    while let Some(row) = rows.next()? {
        ids.extend(id(row.get_ref(0)?));
    }
    Ok(ids.into_iter().collect())
}
