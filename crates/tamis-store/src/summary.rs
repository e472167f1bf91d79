//! Summaries of records and tests: what lists, decisions and histories need, without the sets.

use crate::codec::{blob, byte, id, integer, outcome, outcome_columns, text, unpack};
use rusqlite::Row;
use rusqlite::types::ValueRef;
use serde::de::DeserializeOwned;
use tamis_core::record::{Note, Outcome, ProofId, RecordId, Taint, TestKey};
use xxhash_rust::xxh3::xxh3_64;

/// One record without its observations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordSummary {
    pub id: RecordId,
    pub outcome: Outcome,
    /// Milliseconds since the Unix epoch.
    pub started_ms: u64,
    pub wall_us: u64,
    pub cpu_us: u64,
    pub engine: String,
    /// How many observations there are.
    pub inputs: u32,
    pub taints: Vec<Taint>,
    pub notes: Vec<Note>,
}

impl RecordSummary {
    /// Whether the run was observed completely, as far as the record itself knows. Settings can
    /// only be stricter.
    pub fn is_complete(&self) -> bool {
        self.taints.is_empty()
    }

    /// Whether the test did not pass, and then passed without a change.
    pub fn is_flaky(&self) -> bool {
        self.taints.iter().any(|taint| matches!(taint, Taint::Flaky { .. }))
    }
}

/// One test and its newest record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestSummary {
    pub key: TestKey,
    /// How many records there are.
    pub records: usize,
    /// How many of them are of a flaky run.
    pub flaky: usize,
    pub last: RecordSummary,
}

/// The columns that [`RecordRow::read`] expects.
pub(crate) const RECORD_COLUMNS: &str = "record.id, record.test, record.outcome, record.code, \
    record.started_ms, record.wall_us, record.cpu_us, record.engine, record.inputs, record.state, \
    record.before, record.after, record.taints, record.notes, record.checksum";

/// A row of the table `record`.
#[derive(Debug, Clone)]
pub(crate) struct RecordRow {
    pub(crate) summary: RecordSummary,
    pub(crate) test: i64,
    /// A hash of the sets: equal where two runs saw the same.
    pub(crate) state: i64,
    pub(crate) before: ProofId,
    pub(crate) after: Option<ProofId>,
}

impl RecordRow {
    pub(crate) fn proofs(&self) -> Vec<ProofId> {
        std::iter::once(self.before).chain(self.after).collect()
    }

    /// Reads a row; `None` where it is not as it was written. `key` gives the test that the row
    /// must belong to, by its row id; the checksum covers it, so that a flipped bit cannot give a
    /// record to another test.
    pub(crate) fn read<'k>(
        row: &Row<'_>,
        key: impl FnOnce(i64) -> Option<(&'k str, &'k str, &'k str)>,
        scratch: &mut Vec<u8>,
    ) -> rusqlite::Result<Option<Self>> {
        let columns = [
            row.get_ref(0)?,
            row.get_ref(1)?,
            row.get_ref(2)?,
            row.get_ref(3)?,
            row.get_ref(4)?,
            row.get_ref(5)?,
            row.get_ref(6)?,
            row.get_ref(7)?,
            row.get_ref(8)?,
            row.get_ref(9)?,
            row.get_ref(10)?,
            row.get_ref(11)?,
            row.get_ref(12)?,
            row.get_ref(13)?,
            row.get_ref(14)?,
        ];
        Ok(Self::from_columns(columns, key, scratch))
    }

    fn from_columns<'k>(
        columns: [ValueRef<'_>; 15],
        key: impl FnOnce(i64) -> Option<(&'k str, &'k str, &'k str)>,
        scratch: &mut Vec<u8>,
    ) -> Option<Self> {
        let number = |at: usize| integer(columns[at]);
        let test = number(1)?;
        let row = Self {
            summary: RecordSummary {
                id: RecordId(id(columns[0])?),
                outcome: outcome(byte(columns[2])?, i32::try_from(number(3)?).ok()?)?,
                started_ms: number(4)?.cast_unsigned(),
                wall_us: number(5)?.cast_unsigned(),
                cpu_us: number(6)?.cast_unsigned(),
                engine: text(columns[7])?.to_owned(),
                inputs: id(columns[8])?,
                taints: list(columns[12])?,
                notes: list(columns[13])?,
            },
            test,
            state: number(9)?,
            before: ProofId(id(columns[10])?),
            after: match columns[11] {
                ValueRef::Null => None,
                column => Some(ProofId(id(column)?)),
            },
        };
        let raw = |at: usize| match columns[at] {
            ValueRef::Null => Some(None),
            column => blob(column).map(Some),
        };
        let sum = row.checksum(key(test)?, raw(12)?, raw(13)?, scratch);
        (number(14)? == sum).then_some(row)
    }

    /// The checksum over the whole row and the key of its test. The lists are given as they are
    /// stored.
    pub(crate) fn checksum(
        &self,
        (suite, name, folder): (&str, &str, &str),
        taints: Option<&[u8]>,
        notes: Option<&[u8]>,
        scratch: &mut Vec<u8>,
    ) -> i64 {
        let summary = &self.summary;
        let (kind, code) = outcome_columns(summary.outcome);
        scratch.clear();
        for number in [
            u64::from(summary.id.0),
            u64::from(kind),
            u64::from(code.cast_unsigned()),
            summary.started_ms,
            summary.wall_us,
            summary.cpu_us,
            u64::from(summary.inputs),
            self.state.cast_unsigned(),
            u64::from(self.before.0),
            self.after.map_or(u64::MAX, |p| u64::from(p.0)),
        ] {
            scratch.extend_from_slice(&number.to_le_bytes());
        }
        let texts = [suite, name, folder, &summary.engine].map(str::as_bytes);
        for part in texts.into_iter().chain([taints, notes].map(Option::unwrap_or_default)) {
            scratch.extend_from_slice(&(part.len() as u32).to_le_bytes());
            scratch.extend_from_slice(part);
        }
        xxh3_64(scratch).cast_signed()
    }
}

/// A list that is NULL when empty.
fn list<T: DeserializeOwned>(column: ValueRef<'_>) -> Option<Vec<T>> {
    match column {
        ValueRef::Null => Some(Vec::new()),
        column => unpack(blob(column)?),
    }
}

pub(crate) fn parts(key: &TestKey) -> (&str, &str, &str) {
    (&key.suite, &key.name, &key.folder)
}
