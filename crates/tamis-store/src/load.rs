//! Reads observations and their questions by id, block by block.

use crate::block::GroupHead;
use crate::blocks;
use crate::error::Failure;
use roaring::RoaringBitmap;
use rusqlite::Connection;
use rustc_hash::FxHashMap;
use tamis_core::{Question, Value};
use xxhash_rust::xxh3::xxh3_128;

/// Observations that are as they were written, by ascending id.
pub(crate) type Observations = Vec<LoadedObservation>;

#[derive(Debug, Clone, Copy)]
pub(crate) struct LoadedObservation {
    pub(crate) id: u32,
    /// Position of the question among all that were handed on.
    pub(crate) question: u32,
    pub(crate) value: Value,
}

/// Loads these observations, or all. What is missing or in a damaged block is left out. Their
/// questions are handed on block by block, each once, so that the first are answered while others
/// are read.
pub(crate) fn load(
    conn: &Connection,
    wanted: Option<&RoaringBitmap>,
    mut hand_on: impl FnMut(Vec<Question>),
) -> Result<Observations, Failure> {
    let ids = match wanted {
        Some(wanted) => blocks::blocks_with(conn, wanted)?,
        None => blocks::block_ids(conn)?,
    };
    // Within one block a question is there once.
    let mut positions = (ids.len() > 1).then(FxHashMap::default);
    let mut observations = Observations::new();
    let mut handed_on = 0_u32;
    let mut bytes = Vec::new();
    for id in ids {
        let Some(block) = blocks::read(conn, id)? else { continue };
        let read = observations.len();
        let mut batch = Vec::new();
        let within = |head: GroupHead<'_>| wanted.is_none_or(|wanted| head.may_have(wanted));
        let whole = block.walk_some(within, |columns, answers| {
            let mut position = None;
            for answer in answers {
                if wanted.is_some_and(|wanted| !wanted.contains(answer.id)) {
                    continue;
                }
                if position.is_none() {
                    let hash = positions.is_some().then(|| {
                        bytes.clear();
                        columns.write_to(&mut bytes);
                        xxh3_128(&bytes)
                    });
                    let known = positions.as_ref().zip(hash);
                    position = known.and_then(|(positions, hash)| positions.get(&hash).copied());
                    if position.is_none() {
                        // One that we do not understand is not asked, and its answers do not hold.
                        let Some(question) = columns.to_question() else { return };
                        let next = handed_on + batch.len() as u32;
                        batch.push(question);
                        if let Some((positions, hash)) = positions.as_mut().zip(hash) {
                            positions.insert(hash, next);
                        }
                        position = Some(next);
                    }
                }
                observations.extend(position.map(|question| LoadedObservation {
                    id: answer.id,
                    question,
                    value: answer.value,
                }));
            }
        });
        if whole.is_none() {
            // Its questions may be asked; no answer makes a part of it hold.
            observations.truncate(read);
        }
        handed_on += batch.len() as u32;
        if !batch.is_empty() {
            hand_on(batch);
        }
    }
    observations.sort_unstable_by_key(|o| o.id);
    Ok(observations)
}
