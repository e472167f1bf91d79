//! A finished run becomes a record with one or two proofs.
//!
//! The first proof is the set of answers before the test changed anything. Where the test changed
//! what it had looked at, the second is the set with those answers replaced by the ones it left.
//! Questions and answers are interned: an answer that another test got as well costs one bit.

use crate::codec::{
    QuestionColumns, bitmap_bytes, id, observation_checksum, outcome_columns, pack, seal, value,
    wide_column,
};
use crate::error::{Failure, StoreError};
use crate::explain::RecordDetail;
use crate::store::{Store, delete_record, test_id};
use crate::summary::{RecordRow, RecordSummary, parts};
use roaring::RoaringBitmap;
use rusqlite::{Connection, OptionalExtension, params};
use std::collections::{HashMap, HashSet};
use tamis_core::record::{Detail, ProofId, RecordId, Run, TestKey};
use tamis_core::{Question, Value};
use xxhash_rust::xxh3::{xxh3_64, xxh3_128};

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
            let mut interner = Interner::new(conn);
            runs.iter().map(|run| append(conn, &mut interner, run, keep)).collect()
        })?;
        // The runs are in the store; an index that could not be brought up to date costs time only.
        let _ = self.index_if_due();
        Ok(ids)
    }
}

fn append(
    conn: &Connection,
    interner: &mut Interner<'_>,
    run: &Run,
    keep: usize,
) -> Result<RecordId, Failure> {
    let mut before = RoaringBitmap::new();
    let mut after = RoaringBitmap::new();
    let mut seen = Vec::with_capacity(run.observed.len());
    for observed in &run.observed {
        let was = interner.observation(&observed.question, observed.before, &observed.detail)?;
        let left = match observed.after {
            Some(value) => interner.observation(&observed.question, value, &Detail::None)?,
            None => was,
        };
        before.insert(was);
        after.insert(left);
        seen.push((was, (left != was || observed.after.is_some()).then_some(left)));
    }
    let changed = before != after;
    before.optimize();
    after.optimize();

    let test = intern_test(conn, &run.test)?;
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
        },
        test,
        state: (xxh3_64(&before_bytes) ^ xxh3_64(&after_bytes).rotate_left(1)).cast_signed(),
        before: insert_proof(conn, &before_bytes)?,
        after: if changed { Some(insert_proof(conn, &after_bytes)?) } else { None },
    };
    insert_record(conn, &row, &run.test)?;

    let record = row.summary.id.0;
    let detail = pack(&RecordDetail::of(&run.observed, &seen));
    conn.prepare_cached("INSERT INTO record_detail (record, detail) VALUES (?1, ?2)")?
        .execute(params![record, seal(record.into(), &detail)])?;
    if !run.left_behind.is_empty() {
        conn.prepare_cached("INSERT INTO leftover (record, paths) VALUES (?1, ?2)")?
            .execute(params![record, seal(record.into(), &pack(&run.left_behind))])?;
    }
    trim(conn, test, keep)?;
    Ok(row.summary.id)
}

fn intern_test(conn: &Connection, test: &TestKey) -> Result<i64, Failure> {
    if let Some(id) = test_id(conn, test)? {
        return Ok(id);
    }
    conn.prepare_cached("INSERT INTO test (suite, name, folder) VALUES (?1, ?2, ?3)")?
        .insert([&test.suite, &test.name, &test.folder])
        .map_err(Failure::from)
}

/// The id that comes next in this table. Checksums cover ids, so we have to know it beforehand.
fn next_id(conn: &Connection, table: &str) -> Result<u32, Failure> {
    let last: Option<i64> = conn
        .prepare_cached("SELECT seq FROM sqlite_sequence WHERE name = ?1")?
        .query_row([table], |row| row.get(0))
        .optional()?;
    last.unwrap_or(0)
        .checked_add(1)
        .and_then(|next| u32::try_from(next).ok())
        .ok_or_else(|| Failure::Damage("its numbers are used up".into()))
}

fn insert_proof(conn: &Connection, bitmap: &[u8]) -> Result<ProofId, Failure> {
    let id = next_id(conn, "proof")?;
    conn.prepare_cached("INSERT INTO proof (id, bitmap) VALUES (?1, ?2)")?
        .execute(params![id, seal(id.into(), bitmap)])?;
    Ok(ProofId(id))
}

fn insert_record(conn: &Connection, row: &RecordRow, test: &TestKey) -> Result<(), Failure> {
    let summary = &row.summary;
    let (outcome, code) = outcome_columns(summary.outcome);
    let taints = (!summary.taints.is_empty()).then(|| pack(&summary.taints));
    let notes = (!summary.notes.is_empty()).then(|| pack(&summary.notes));
    let sum = row.checksum(parts(test), taints.as_deref(), notes.as_deref(), &mut Vec::new());
    conn.prepare_cached(
        "INSERT INTO record (id, test, outcome, code, started_ms, wall_us, cpu_us, engine, inputs, \
         state, before, after, taints, notes, checksum) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)",
    )?
    .execute(params![
        summary.id.0,
        row.test,
        outcome,
        code,
        summary.started_ms.cast_signed(),
        summary.wall_us.cast_signed(),
        summary.cpu_us.cast_signed(),
        summary.engine,
        summary.inputs,
        row.state,
        row.before.0,
        row.after.map(|p| p.0),
        taints,
        notes,
        sum,
    ])?;
    Ok(())
}

/// Removes records of a test beyond the number to keep: first older runs that saw just the same as
/// a newer one, which proves all that they prove, then the oldest. So a test that runs every time
/// does not push out the records of other branches.
fn trim(conn: &Connection, test: i64, keep: usize) -> Result<(), Failure> {
    let mut statement =
        conn.prepare_cached("SELECT id, state FROM record WHERE test = ?1 ORDER BY id DESC")?;
    let records: Vec<(i64, i64)> = statement
        .query_map([test], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<Result<_, _>>()?;
    let mut excess = records.len().saturating_sub(keep);
    if excess == 0 {
        return Ok(());
    }
    let mut states = HashSet::new();
    let (fresh, repeated): (Vec<_>, Vec<_>) =
        records.iter().partition(|&&(_, state)| states.insert(state));
    for &(record, _) in repeated.iter().rev().chain(fresh.iter().rev()) {
        if excess == 0 {
            break;
        }
        delete_record(conn, record)?;
        excess -= 1;
    }
    Ok(())
}

/// Gives observations their ids, within one write transaction (nobody can remove them meanwhile).
struct Interner<'c> {
    conn: &'c Connection,
    known: HashMap<u128, u32>,
    bytes: Vec<u8>,
}

impl<'c> Interner<'c> {
    fn new(conn: &'c Connection) -> Self {
        Self { conn, known: HashMap::new(), bytes: Vec::new() }
    }

    fn observation(
        &mut self,
        question: &Question,
        answer: Value,
        detail: &Detail,
    ) -> Result<u32, Failure> {
        let columns = QuestionColumns::of(question);
        let (tag, hash) = answer.to_raw();
        self.bytes.clear();
        columns.write_to(&mut self.bytes);
        let question_hash = self.bytes.len();
        let checksum = observation_checksum(&mut self.bytes, tag, hash);
        let key = xxh3_128(&self.bytes);
        if let Some(&id) = self.known.get(&key) {
            return Ok(id);
        }
        let question_hash = xxh3_64(&self.bytes[..question_hash]).cast_signed();

        let (id, detailed) = match self.find_observation(columns, answer, checksum)? {
            Some(found) => found,
            None => {
                let question = self.question(columns, question_hash)?;
                let id = next_id(self.conn, "observation")?;
                self.conn
                    .prepare_cached(
                        "INSERT INTO observation (id, question, tag, hash, checksum) \
                         VALUES (?1, ?2, ?3, ?4, ?5)",
                    )?
                    .execute(params![id, question, tag, wide_column(hash), checksum])?;
                (id, false)
            }
        };
        if !detailed && *detail != Detail::None {
            self.conn
                .prepare_cached(
                    "INSERT OR REPLACE INTO value_detail (observation, detail) VALUES (?1, ?2)",
                )?
                .execute(params![id, seal(id.into(), &pack(detail))])?;
        }
        // An answer that was left behind comes without detail; the next one may bring it.
        if detailed || *detail != Detail::None {
            self.known.insert(key, id);
        }
        Ok(id)
    }

    /// The id, and whether the store knows details about the value.
    fn find_observation(
        &self,
        question: QuestionColumns<'_>,
        answer: Value,
        checksum: i64,
    ) -> Result<Option<(u32, bool)>, Failure> {
        let mut statement = self.conn.prepare_cached(
            "SELECT o.id, o.tag, o.hash, d.observation IS NOT NULL, \
                    q.kind, q.scheme, q.parameter, q.key \
             FROM observation o JOIN question q ON q.id = o.question \
             LEFT JOIN value_detail d ON d.observation = o.id \
             WHERE o.checksum = ?1",
        )?;
        let mut rows = statement.query([checksum])?;
        while let Some(row) = rows.next()? {
            if value(row.get_ref(1)?, row.get_ref(2)?) == Some(answer)
                && QuestionColumns::read(row, 4)? == Some(question)
                && let Some(id) = id(row.get_ref(0)?)
            {
                return Ok(Some((id, row.get(3)?)));
            }
        }
        Ok(None)
    }

    fn question(&self, question: QuestionColumns<'_>, hash: i64) -> Result<i64, Failure> {
        let mut statement = self.conn.prepare_cached(
            "SELECT kind, scheme, parameter, key, id FROM question WHERE hash = ?1",
        )?;
        let mut rows = statement.query([hash])?;
        while let Some(row) = rows.next()? {
            if QuestionColumns::read(row, 0)? == Some(question) {
                return Ok(row.get(4)?);
            }
        }
        self.conn
            .prepare_cached(
                "INSERT INTO question (hash, kind, scheme, parameter, key) \
                 VALUES (?1, ?2, ?3, ?4, ?5)",
            )?
            .insert(params![
                hash,
                question.kind,
                question.scheme,
                wide_column(question.parameter),
                question.key
            ])
            .map_err(Failure::from)
    }
}
