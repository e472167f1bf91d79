//! Reads observations and their questions by id, in few and mostly sequential steps.

use crate::codec::{
    QuestionColumns, byte, id, integer, observation_checksum, unsealed_bitmap, wide,
};
use crate::error::Failure;
use roaring::RoaringBitmap;
use rusqlite::{Connection, OptionalExtension, Row};
use rustc_hash::FxHashMap;
use tamis_core::{Question, Value};

/// Rows between two wanted ones that are cheaper to step over than to start a new search.
const GAP: u32 = 12;

/// Observations whose questions are handed on before the next ones are read.
const BATCH: usize = 8_192;

/// Observations that are as they were written, by ascending id.
pub(crate) type Observations = Vec<LoadedObservation>;

#[derive(Debug, Clone, Copy)]
pub(crate) struct LoadedObservation {
    pub(crate) id: u32,
    /// Position of the question among all that were handed on.
    pub(crate) question: u32,
    pub(crate) value: Value,
}

struct RawObservation {
    id: u32,
    question: u32,
    tag: u8,
    hash: u128,
    checksum: i64,
}

/// Loads these observations, or all. What is missing or fails its checksum is left out. Their
/// questions are handed on batch by batch, so that the first are answered while others are read.
pub(crate) fn load(
    conn: &Connection,
    wanted: Option<&RoaringBitmap>,
    hand_on: impl FnMut(Vec<Question>),
) -> Result<Observations, Failure> {
    let mut loading = Loading {
        hand_on,
        raw: Vec::with_capacity(BATCH),
        observations: Vec::new(),
        positions: FxHashMap::default(),
        bytes: Vec::new(),
        ends: Vec::new(),
    };
    let select = "SELECT id, question, tag, hash, checksum FROM observation";
    for_ids(conn, select, wanted, |_, row| {
        let columns = (
            id(row.get_ref(0)?),
            id(row.get_ref(1)?),
            byte(row.get_ref(2)?),
            wide(row.get_ref(3)?),
            integer(row.get_ref(4)?),
        );
        if let (Some(id), Some(question), Some(tag), Some(hash), Some(checksum)) = columns {
            loading.raw.push(RawObservation { id, question, tag, hash, checksum });
            if loading.raw.len() == BATCH {
                loading.ask(conn)?;
            }
        }
        Ok(())
    })?;
    loading.ask(conn)?;
    Ok(loading.observations)
}

/// What is read so far.
struct Loading<H> {
    hand_on: H,
    /// Observations whose questions are not read yet.
    raw: Vec<RawObservation>,
    observations: Observations,
    /// From a question's id to its position among those that were handed on.
    positions: FxHashMap<u32, u32>,
    /// The bytes under the checksums, of all questions in a row.
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl<H: FnMut(Vec<Question>)> Loading<H> {
    /// Reads and hands on the questions of what was read, as far as they are new.
    fn ask(&mut self, conn: &Connection) -> Result<(), Failure> {
        let raw = std::mem::take(&mut self.raw);
        let new = raw.iter().map(|o| o.question).filter(|q| !self.positions.contains_key(q));
        let new: RoaringBitmap = new.collect();
        let mut batch = Vec::with_capacity(new.len() as usize);
        let select = "SELECT id, kind, scheme, parameter, key FROM question";
        for_ids(conn, select, Some(&new), |id, row| {
            if let Some(columns) = QuestionColumns::read(row, 1)?
                && let Some(question) = columns.to_question()
            {
                self.positions.insert(id, self.ends.len() as u32);
                columns.write_to(&mut self.bytes);
                self.ends.push(self.bytes.len());
                batch.push(question);
            }
            Ok(())
        })?;
        if !batch.is_empty() {
            (self.hand_on)(batch);
        }
        let mut scratch = Vec::new();
        for o in raw {
            let Some(&question) = self.positions.get(&o.question) else { continue };
            let at = question as usize;
            let start = if at == 0 { 0 } else { self.ends[at - 1] };
            scratch.clear();
            scratch.extend_from_slice(&self.bytes[start..self.ends[at]]);
            if observation_checksum(&mut scratch, o.tag, o.hash) == o.checksum
                && let Some(value) = Value::from_raw(o.tag, o.hash)
            {
                self.observations.push(LoadedObservation { id: o.id, question, value });
            }
        }
        Ok(())
    }
}

/// Visits the rows with these ids (or all rows), ascending. `select` has no WHERE and the id as
/// its first column.
fn for_ids(
    conn: &Connection,
    select: &str,
    ids: Option<&RoaringBitmap>,
    mut visit: impl FnMut(u32, &Row<'_>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let sql = format!("{select} WHERE id BETWEEN ?1 AND ?2 ORDER BY id");
    let mut statement = conn.prepare_cached(&sql)?;
    let everything = [(0, u32::MAX)];
    let ranges = ids.map_or(everything.to_vec(), ranges);
    let mut lowest = 0;
    for (first, last) in ranges {
        let mut rows = statement.query([first, last])?;
        while let Some(row) = rows.next()? {
            let Some(id) = id(row.get_ref(0)?).filter(|&id| id >= lowest) else {
                return Err(Failure::Damage("its rows are not in order".into()));
            };
            lowest = id.saturating_add(1);
            if ids.is_none_or(|ids| ids.contains(id)) {
                visit(id, row)?;
            }
        }
    }
    Ok(())
}

/// The ids as inclusive ranges; small gaps are bridged.
fn ranges(ids: &RoaringBitmap) -> Vec<(u32, u32)> {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for id in ids {
        match ranges.last_mut() {
            Some((_, last)) if id - *last <= GAP => *last = id,
            _ => ranges.push((id, id)),
        }
    }
    ranges
}

/// The observations of a proof; `None` where it is gone or damaged.
pub(crate) fn proof(conn: &Connection, proof: u32) -> Result<Option<RoaringBitmap>, Failure> {
    let mut statement = conn.prepare_cached("SELECT bitmap FROM proof WHERE id = ?1")?;
    let bitmap = statement
        .query_row([proof], |row| {
            Ok(row.get_ref(0)?.as_blob().ok().and_then(|b| unsealed_bitmap(proof.into(), b)))
        })
        .optional()?;
    Ok(bitmap.flatten())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_cover_all_ids_and_bridge_small_gaps() {
        let ids: RoaringBitmap = [1, 2, 3, 10, 100, 101, u32::MAX].into_iter().collect();
        assert_eq!(ranges(&ids), [(1, 10), (100, 101), (u32::MAX, u32::MAX)]);
        assert_eq!(ranges(&RoaringBitmap::new()), []);
    }
}
