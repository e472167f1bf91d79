//! The table of blocks: reading, writing, and merging small ones.
//!
//! A row's number is the last observation id that it may hold, its first one is behind the row
//! before it. Numbers of rows are never reused, and so no id of an observation is.
//!
//! Each append writes at most one block. It takes those before it along as long as they are not
//! much larger than what there is by then: every observation is rewritten a few times only, and
//! the number of small blocks grows with the logarithm.

use crate::block::{Block, Draft};
use crate::codec::{QuestionColumns, blob, id, pack, seal, unpack, unseal};
use crate::error::Failure;
use crate::packed::{expand, squeeze};
use roaring::RoaringBitmap;
use rusqlite::{Connection, OptionalExtension, params};
use std::collections::{BTreeMap, HashMap};
use tamis_core::PortablePath;
use tamis_core::record::Detail;

/// Observations of a full block. In a small store everything fits in one or two, which compresses
/// best. A large one has smaller blocks, so that a test that looked at little reads little.
const MOST_WHEN_SMALL: usize = 8_192;
const MOST_WHEN_LARGE: usize = 1_024;
/// A store in which the ids get this far is large.
const LARGE: u32 = 2 * MOST_WHEN_SMALL as u32;

/// How many observations a block with ids up to this one may have.
pub(crate) fn most(last: u32) -> usize {
    if last > LARGE { MOST_WHEN_LARGE } else { MOST_WHEN_SMALL }
}

/// A block is taken along by one that is this many times smaller.
const SIMILAR: usize = 16;

/// What only explanations need about values, by observation.
pub(crate) type Details = BTreeMap<u32, Detail>;

/// The numbers of all blocks, ascending.
pub(crate) fn block_ids(conn: &Connection) -> Result<Vec<u32>, Failure> {
    let mut statement = conn.prepare_cached("SELECT id FROM block ORDER BY id")?;
    let mut rows = statement.query([])?;
    let mut ids = Vec::new();
    while let Some(row) = rows.next()? {
        ids.extend(id(row.get_ref(0)?));
    }
    Ok(ids)
}

/// The numbers of the blocks that may hold any of these observations.
pub(crate) fn blocks_with(
    conn: &Connection,
    observations: &RoaringBitmap,
) -> Result<Vec<u32>, Failure> {
    let mut first = 0;
    let mut ids = block_ids(conn)?;
    ids.retain(|&last| {
        let wanted = observations.range_cardinality(first..=last) > 0;
        first = last.saturating_add(1);
        wanted
    });
    Ok(ids)
}

/// A block; `None` where it is gone or damaged.
pub(crate) fn read(conn: &Connection, block: u32) -> Result<Option<Block>, Failure> {
    let mut statement = conn.prepare_cached("SELECT observations FROM block WHERE id = ?1")?;
    let read = statement
        .query_row([block], |row| Ok(blob(row.get_ref(0)?).and_then(|b| Block::open(block, b))))
        .optional()?;
    Ok(read.flatten())
}

/// The details that come with a block; none where they are damaged.
pub(crate) fn read_details(conn: &Connection, block: u32) -> Result<Details, Failure> {
    let mut statement = conn.prepare_cached("SELECT details FROM block WHERE id = ?1")?;
    let read = statement
        .query_row([block], |row| {
            let sealed = blob(row.get_ref(0)?).and_then(|b| unseal(details_seed(block), b));
            Ok(sealed.and_then(expand).and_then(|bytes| unpack_details(&bytes)))
        })
        .optional()?;
    Ok(read.flatten().unwrap_or_default())
}

/// The details of these observations. They come with their block or, where a later run brought
/// them, with a later one.
pub(crate) fn details_of(
    conn: &Connection,
    observations: &RoaringBitmap,
) -> Result<Details, Failure> {
    let first = observations.min().unwrap_or(u32::MAX);
    let mut found = Details::new();
    for block in block_ids(conn)?.into_iter().filter(|&last| last >= first) {
        let details = read_details(conn, block)?;
        found.extend(details.into_iter().filter(|&(id, _)| observations.contains(id)));
    }
    Ok(found)
}

/// The observations whose question is about one of these paths.
pub(crate) fn about_paths(
    conn: &Connection,
    wanted: &dyn Fn(&PortablePath) -> bool,
) -> Result<HashMap<u32, PortablePath>, Failure> {
    let mut found = HashMap::new();
    for id in block_ids(conn)? {
        let Some(block) = read(conn, id)? else { continue };
        let mut about = Vec::new();
        let whole = block.walk(|question, answers| {
            if question.kind == QuestionColumns::PATH {
                let path = PortablePath::from_stored(question.key);
                if wanted(&path) {
                    about.extend(answers.iter().map(|answer| (answer.id, path.clone())));
                }
            }
        });
        if whole.is_some() {
            found.extend(about);
        }
    }
    Ok(found)
}

/// The number after the last one that any block had.
pub(crate) fn next_observation(conn: &Connection) -> Result<u32, Failure> {
    crate::schema::next_id(conn, "block")
}

/// Writes a block in place of others.
pub(crate) fn write(
    conn: &Connection,
    last: u32,
    draft: Draft,
    details: &Details,
    instead_of: &[u32],
) -> Result<(), Failure> {
    // First of all: what follows takes the pages that become free.
    remove(conn, instead_of)?;
    if draft.is_empty() {
        return Ok(());
    }
    let details =
        (!details.is_empty()).then(|| seal(details_seed(last), &squeeze(&pack_details(details))));
    conn.prepare_cached("INSERT INTO block (id, observations, details) VALUES (?1, ?2, ?3)")?
        .execute(params![last, draft.encode(last), details])?;
    Ok(())
}

pub(crate) fn remove(conn: &Connection, blocks: &[u32]) -> Result<(), Failure> {
    let mut statement = conn.prepare_cached("DELETE FROM block WHERE id = ?1")?;
    for block in blocks {
        statement.execute([block])?;
    }
    Ok(())
}

/// Writes the observations that an append brought, together with the blocks before them that are
/// not much larger. `blocks` are all that there are, ascending, those that cannot be read as `None`.
pub(crate) fn write_merged(
    conn: &Connection,
    last: u32,
    mut draft: Draft,
    mut details: Details,
    blocks: Vec<Option<Block>>,
) -> Result<(), Failure> {
    let mut taken = Vec::new();
    for block in blocks.into_iter().rev() {
        // One that cannot be read waits for the garbage collection.
        let Some(block) = block else { break };
        let size = block.observations as usize;
        if size + draft.observations() > most(last) || size > draft.observations().max(1) * SIMILAR
        {
            break;
        }
        if draft.absorb(&block, |_| true).is_none() {
            break;
        }
        for (id, detail) in read_details(conn, block.last)? {
            details.entry(id).or_insert(detail);
        }
        taken.push(block.last);
    }
    write(conn, last, draft, &details, &taken)
}

/// Ids as the distance to the one before: small numbers, most of them the same.
fn pack_details(details: &Details) -> Vec<u8> {
    let mut before = 0;
    let gaps = details.iter().map(|(&id, detail)| {
        let gap = id - before;
        before = id;
        (gap, detail)
    });
    pack(&gaps.collect::<Vec<_>>())
}

fn unpack_details(bytes: &[u8]) -> Option<Details> {
    let gaps: Vec<(u32, Detail)> = unpack(bytes)?;
    let mut id = 0_u32;
    let mut details = Details::new();
    for (gap, detail) in gaps {
        id = id.checked_add(gap)?;
        details.insert(id, detail);
    }
    Some(details)
}

/// The seed of a block's second blob is not that of the first.
fn details_seed(block: u32) -> u64 {
    1 << 32 | u64::from(block)
}
