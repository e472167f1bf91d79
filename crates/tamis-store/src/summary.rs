//! Summaries of records and tests: what lists, decisions and histories need, without the sets.

use crate::codec::{blob, id, integer, outcome, outcome_columns, seal, unseal};
use crate::key::{KeyColumns, StoredKey};
use rusqlite::Row;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use tamis_core::record::{Note, Origin, ProofId, RecordId, RecordSummary, Taint};
use tamis_core::{Outcome, TestKey};

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

/// How many bytes stand before what is packed; the kind of outcome comes first behind them.
const CHECKSUM: usize = 8;

/// The columns that [`RecordRow::read`] expects.
pub(crate) const RECORD_COLUMNS: &str = "record.id, record.test, record.summary, record.behind";

/// The order of decisions, for records that come by number, highest first: what ran here, and behind that what
/// came from elsewhere, by the time at which it ran. A failure of this machine is never hidden by what another
/// one saw.
pub(crate) fn newest_first(records: &mut [RecordRow]) {
    if records.iter().any(|record| record.behind != 0) {
        records.sort_by_key(|record| record.behind);
    }
}

/// The place of a record from elsewhere behind those of this machine: those that ran later come first.
pub(crate) fn behind(started_ms: u64) -> i64 {
    const LAST: u64 = 1 << 62;
    LAST.saturating_sub(started_ms).max(1).cast_signed()
}

/// A row of the table `record`.
#[derive(Debug, Clone)]
pub(crate) struct RecordRow {
    pub(crate) summary: RecordSummary,
    pub(crate) test: i64,
    /// A hash of the sets: equal where two runs saw the same.
    pub(crate) state: u32,
    pub(crate) before: ProofId,
    pub(crate) after: Option<ProofId>,
    /// Its place behind the records of this machine; 0 for one of these.
    pub(crate) behind: i64,
}

/// What is packed in the row, beside the ids.
#[derive(Serialize, Deserialize)]
struct Packed<'a> {
    outcome: (u8, i32),
    started_ms: u64,
    wall_us: u64,
    cpu_us: u64,
    engine: &'a str,
    inputs: u32,
    state: u32,
    before: u32,
    after: Option<u32>,
    taints: Cow<'a, [Taint]>,
    notes: Cow<'a, [Note]>,
    origin: Cow<'a, Origin>,
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
        key: impl FnOnce(i64) -> Option<KeyColumns<'k>>,
    ) -> rusqlite::Result<Option<Self>> {
        let columns = (row.get_ref(0)?, row.get_ref(1)?, row.get_ref(2)?, row.get_ref(3)?);
        Ok((|| {
            let (record, test) = (id(columns.0)?, integer(columns.1)?);
            let place = (test, integer(columns.3)?);
            Self::unpack(record, place, key(test)?, blob(columns.2)?)
        })())
    }

    /// Whether the packed row speaks of a test that passed, by a look at its outcome alone. What is damaged did not.
    pub(crate) fn seems_passed(sealed: &[u8]) -> bool {
        sealed.get(CHECKSUM) == Some(&outcome_columns(Outcome::Passed).0)
    }

    fn unpack(
        record: u32,
        (test, behind): (i64, i64),
        key: KeyColumns<'_>,
        sealed: &[u8],
    ) -> Option<Self> {
        let bytes = unseal(seed(record, behind, key), sealed)?;
        let packed: Packed<'_> = postcard::from_bytes(bytes).ok()?;
        Some(Self {
            summary: RecordSummary {
                id: RecordId(record),
                outcome: outcome(packed.outcome.0, packed.outcome.1)?,
                started_ms: packed.started_ms,
                wall_us: packed.wall_us,
                cpu_us: packed.cpu_us,
                engine: packed.engine.to_owned(),
                inputs: packed.inputs,
                taints: packed.taints.into_owned(),
                notes: packed.notes.into_owned(),
                origin: packed.origin.into_owned(),
            },
            test,
            state: packed.state,
            before: ProofId(packed.before),
            after: packed.after.map(ProofId),
            behind,
        })
    }

    /// The bytes of the row, under a checksum over the record's number and the key of its test.
    pub(crate) fn pack(&self, test: &StoredKey) -> Vec<u8> {
        let summary = &self.summary;
        let packed = Packed {
            outcome: outcome_columns(summary.outcome),
            started_ms: summary.started_ms,
            wall_us: summary.wall_us,
            cpu_us: summary.cpu_us,
            engine: &summary.engine,
            inputs: summary.inputs,
            state: self.state,
            before: self.before.0,
            after: self.after.map(|p| p.0),
            taints: Cow::Borrowed(&summary.taints),
            notes: Cow::Borrowed(&summary.notes),
            origin: Cow::Borrowed(&summary.origin),
        };
        // This cannot fail, and an empty blob would be refused on reading.
        let bytes = postcard::to_allocvec(&packed).unwrap_or_default();
        seal(seed(summary.id.0, self.behind, test.columns()), &bytes)
    }
}

/// The seed of a record's checksum. It has nothing in common with the test's id: two tests that
/// share an id by chance do not read each other's records.
fn seed(record: u32, behind: i64, key: KeyColumns<'_>) -> u64 {
    key.hash_from((u64::from(record) << 32 | 1) ^ behind.cast_unsigned().rotate_left(7))
}
