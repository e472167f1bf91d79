//! A finished run becomes a record with one or two proofs.
//!
//! The first proof is the set of answers before the test changed anything. Where the test changed
//! what it had looked at, the second is the set with those answers replaced by the ones it left.
//! Questions and answers are interned ([`crate::intern`]): an answer that another test got as well
//! costs one bit.

use crate::codec::{bitmap_bytes, pack, seal};
use crate::error::{Failure, StoreError};
use crate::explain::RecordDetail;
use crate::forgotten::is_known_again;
use crate::gc::shrink_if_small;
use crate::intern::Interned;
use crate::key::StoredKey;
use crate::packed::squeeze;
use crate::proofs::NewProofs;
use crate::schema::next_id;
use crate::store::{Store, delete_record, records_of, test_id};
use crate::summary::RecordRow;
use roaring::RoaringBitmap;
use rusqlite::{Connection, params};
use std::collections::HashSet;
use tamis_core::record::{Origin, RecordId, RecordSummary, Run};
use xxhash_rust::xxh3::xxh3_64;

impl Store {
    /// Adds a finished run, in one transaction. Of each test the newest records are kept.
    pub fn append(&self, run: &Run) -> Result<RecordId, StoreError> {
        let ids = self.append_many(std::slice::from_ref(run))?;
        // One run in, one id out.
        Ok(ids[0])
    }

    /// Adds several runs in one transaction: all of them or, after a kill, none.
    pub fn append_many(&self, runs: &[Run]) -> Result<Vec<RecordId>, StoreError> {
        let keep = self.keep_per_test();
        let ids = self.write(|conn| {
            let interned = Interned::of(conn, runs)?;
            let mut proofs = NewProofs::new(conn)?;
            let mut add = |(n, run)| append(conn, &interned, &mut proofs, n, run, keep);
            let ids = runs.iter().enumerate().map(&mut add).collect::<Result<Vec<_>, _>>()?;
            proofs.finish()?;
            is_known_again(conn, runs.iter().map(|run| &run.test))?;
            shrink_if_small(conn)?;
            Ok(ids)
        })?;
        // The runs are in the store; an index that could not be brought up to date costs time only.
        let _ = self.index_if_due();
        Ok(ids)
    }
}

fn append(
    conn: &Connection,
    interned: &Interned<'_>,
    proofs: &mut NewProofs<'_>,
    n: usize,
    run: &Run,
    keep: usize,
) -> Result<RecordId, Failure> {
    let seen = interned.observations(n);
    let mut before: RoaringBitmap = seen.iter().map(|&(was, _)| was).collect();
    let mut after: RoaringBitmap = seen.iter().map(|&(was, left)| left.unwrap_or(was)).collect();
    let changed = before != after;
    before.optimize();
    after.optimize();

    let key = StoredKey::of(&run.test);
    let test = intern_test(conn, &key)?;
    let before_bytes = bitmap_bytes(&before);
    let after_bytes = if changed { bitmap_bytes(&after) } else { Vec::new() };
    let row = RecordRow {
        summary: RecordSummary {
            id: RecordId(next_id(conn, "record")?),
            outcome: run.outcome,
            started_ms: run.started_ms,
            wall_us: run.wall_us,
            cpu_us: run.cpu_us,
            engine: run.engine.clone(),
            inputs: u32::try_from(before.len()).unwrap_or(u32::MAX),
            taints: run.taints.clone(),
            notes: run.notes.clone(),
            origin: Origin::Here,
        },
        test,
        state: state(&before_bytes, &after_bytes),
        before: proofs.add(&before_bytes)?,
        after: if changed { Some(proofs.add(&after_bytes)?) } else { None },
        behind: 0,
    };
    let record = row.summary.id.0;
    conn.prepare_cached("INSERT INTO record (id, test, summary) VALUES (?1, ?2, ?3)")?
        .execute(params![record, test, row.pack(&key)])?;

    let looks = RecordDetail::of(&run.observed, &seen, |id| interned.usual_look(id));
    let looks = (!looks.is_empty()).then(|| seal(record.into(), &squeeze(&pack(&looks))));
    let left = (!run.left_behind.is_empty())
        .then(|| seal(record.into(), &squeeze(&pack(&run.left_behind))));
    if looks.is_some() || left.is_some() {
        conn.prepare_cached(
            "INSERT INTO record_detail (record, looks, left_behind) VALUES (?1, ?2, ?3)",
        )?
        .execute(params![record, looks, left])?;
    }
    trim(conn, &key, keep)?;
    Ok(row.summary.id)
}

pub(crate) fn intern_test(conn: &Connection, test: &StoredKey) -> Result<i64, Failure> {
    if let Some(id) = test_id(conn, test)? {
        return Ok(id);
    }
    let id = test.row();
    conn.prepare_cached(
        "INSERT OR REPLACE INTO test (id, scope, unit, folder) VALUES (?1, ?2, ?3, ?4)",
    )?
    .execute(params![id, test.scope, test.unit, test.folder])?;
    Ok(id)
}

/// Equal where two runs saw the same.
pub(crate) fn state(before: &[u8], after: &[u8]) -> u32 {
    (xxh3_64(before) ^ xxh3_64(after).rotate_left(1)) as u32
}

/// Removes records of a test beyond the number to keep: first older runs that saw just the same as
/// a newer one, which proves all that they prove, then the oldest, wherever they ran. So a test that runs
/// every time does not push out the records of other branches.
pub(crate) fn trim(conn: &Connection, test: &StoredKey, keep: usize) -> Result<(), Failure> {
    let mut records = records_of(conn, test)?;
    if records.iter().any(|record| record.behind != 0) {
        records.sort_by_key(|record| std::cmp::Reverse(record.summary.started_ms));
    }
    let mut excess = records.len().saturating_sub(keep);
    if excess == 0 {
        return Ok(());
    }
    let mut states = HashSet::new();
    let (fresh, repeated): (Vec<_>, Vec<_>) =
        records.iter().partition(|record| states.insert(record.state));
    for record in repeated.iter().rev().chain(fresh.iter().rev()) {
        if excess == 0 {
            break;
        }
        delete_record(conn, record.summary.id.0)?;
        excess -= 1;
    }
    Ok(())
}
