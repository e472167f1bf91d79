//! Garbage collection: records by age, number and size of the store, then what is not referred to.
//!
//! Each step is a short transaction, and others may append between them: what a record that came
//! meanwhile refers to is taken out of the list of garbage before each step.
//!
//! Only a record that went leaves something that is not referred to. Ids of records are never used again, so the
//! last id less the number of records says how many went since the store was made; where that is as it was after
//! the last sweep, there is nothing to look for.

use crate::block::{Block, Draft};
use crate::blocks::{self, Details};
use crate::error::{Failure, StoreError};
use crate::proofs;
use crate::schema::{PATIENCE, next_id};
use crate::store::{Store, all_records, delete_record, live_proofs, write};
use roaring::RoaringBitmap;
use rusqlite::Connection;
use std::collections::{HashMap, HashSet};
use std::num::NonZeroUsize;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use xxhash_rust::xxh3::xxh3_128;

/// Records removed in one transaction.
const BATCH: usize = 1_024;
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
        self.must_be_writable()?;
        let mut report = GcReport { bytes_before: self.size_on_disk(), ..GcReport::default() };
        let doomed = self.with(|conn| too_old_or_many(conn, policy))?;
        self.remove_records(&doomed, &mut report)?;
        if self.swept_at()? != self.with(|conn| records_gone(conn))? {
            self.sweep(&mut report)?;
        }
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

    fn remove_records(&self, records: &[u32], report: &mut GcReport) -> Result<(), StoreError> {
        for batch in records.chunks(BATCH) {
            self.write(|conn| batch.iter().try_for_each(|&record| delete_record(conn, record)))?;
            report.records += batch.len();
        }
        Ok(())
    }

    /// How many records had gone when everything was swept last; none in a store that never was.
    fn swept_at(&self) -> Result<u64, StoreError> {
        let kept = self.kept(SWEPT.0)?.into_iter().find(|(name, _)| name == SWEPT.1);
        Ok(kept.and_then(|(_, bytes)| bytes.try_into().ok()).map_or(0, u64::from_le_bytes))
    }

    /// Removes what no record refers to and gives the space back to the file system.
    fn sweep(&self, report: &mut GcReport) -> Result<(), StoreError> {
        // Taken before: what goes meanwhile is for the next time.
        let gone = self.with(|conn| records_gone(conn))?;
        let (tests, swept) = self.with(|conn| {
            sweep_proofs(conn)?;
            let tests = write(conn, |conn| {
                let sql = "DELETE FROM record_detail WHERE record NOT IN (SELECT id FROM record)";
                conn.execute(sql, [])?;
                let sql = "DELETE FROM test WHERE id NOT IN (SELECT test FROM record)";
                Ok(conn.execute(sql, [])?)
            })?;
            Ok((tests, sweep_observations(conn)?))
        })?;
        report.tests += tests;
        report.observations += swept.observations;
        report.questions += swept.questions;
        self.clean_index()?;
        self.with(|conn| give_space_back(conn))?;
        self.keep(SWEPT.0, SWEPT.1, &gone.to_le_bytes())
    }
}

/// Under which kind and name the side table has how many records had gone at the last sweep.
const SWEPT: (&str, &str) = ("gc", "swept");

/// How many records were removed since the store was made.
fn records_gone(conn: &Connection) -> Result<u64, Failure> {
    let there: u64 = conn.query_row("SELECT count(*) FROM record", [], |row| row.get(0))?;
    Ok(u64::from(next_id(conn, "record")? - 1).saturating_sub(there))
}

/// Pages that an append may leave empty for the next one.
const SPARE_PAGES: i64 = 16;
/// A file of more pages is left to the garbage collection: an append should not take long.
const SMALL_FILE: i64 = 4_096;

/// Gives free pages of a small store back: a merge of blocks leaves some, and it should stay small
/// between two collections.
pub(crate) fn shrink_if_small(conn: &Connection) -> Result<(), Failure> {
    let number = |name| conn.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    if number("freelist_count")? > SPARE_PAGES && number("page_count")? < SMALL_FILE {
        free_pages(conn)?;
    }
    Ok(())
}

fn free_pages(conn: &Connection) -> Result<(), Failure> {
    let mut statement = conn.prepare_cached("PRAGMA incremental_vacuum(4096)")?;
    let mut rows = statement.query([])?;
    // Every row of this pragma is a page that was freed.
    while rows.next()?.is_some() {}
    Ok(())
}

/// Shrinks the files, in short steps.
fn give_space_back(conn: &Connection) -> Result<(), Failure> {
    let free = || conn.pragma_query_value(None, "freelist_count", |row| row.get::<_, i64>(0));
    let mut left = free()?;
    while left > 0 {
        free_pages(conn)?;
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

/// The records beyond the age or number of the policy, and those that cannot be read.
fn too_old_or_many(conn: &Connection, policy: &GcPolicy) -> Result<Vec<u32>, Failure> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let oldest_ms = policy.max_age.map_or(0, |age| now.saturating_sub(age).as_millis() as u64);
    let keep = policy.keep_per_test.map_or(usize::MAX, NonZeroUsize::get);
    let mut newer: HashMap<i64, usize> = HashMap::new();
    let mut doomed = Vec::new();
    all_records(conn, |record, row| {
        let Some(row) = row else {
            doomed.push(record);
            return;
        };
        let count = newer.entry(row.test).or_default();
        *count += 1;
        if *count > keep || row.summary.started_ms < oldest_ms {
            doomed.push(record);
        }
    })?;
    Ok(doomed)
}

/// As many of the oldest records as probably make up what is too much.
fn oldest_share(conn: &Connection, size: u64, max: u64) -> Result<Vec<u32>, Failure> {
    if size <= max {
        return Ok(Vec::new());
    }
    let records: Vec<u32> = conn
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

/// Removes the proofs that no record has, some rows at a time.
fn sweep_proofs(conn: &mut Connection) -> Result<(), Failure> {
    let (used, new) = {
        let tx = conn.transaction()?;
        (live_proofs(&tx)?, next_id(&tx, "proof")?)
    };
    // Those that come meanwhile stay. A bitmap of all numbers that are still to come would take 65,536 containers.
    let stays = |proof: u32| proof >= new || used.contains(proof);
    let mut after = 0;
    while let Some(next) = write(conn, |conn| proofs::sweep_next(conn, after, stays))? {
        after = next;
    }
    Ok(())
}

#[derive(Debug, Default)]
struct Swept {
    observations: usize,
    questions: usize,
}

/// Rewrites the blocks without the observations that are in no proof, and neighbours that are small
/// into one.
fn sweep_observations(conn: &mut Connection) -> Result<Swept, Failure> {
    let (mut used, mut last_proof) = {
        let tx = conn.transaction()?;
        let mut used = RoaringBitmap::new();
        let last = add_used(&tx, 0, &mut used)?;
        (used, last)
    };
    let mut counts = Swept::default();
    let (mut asked, mut still_asked) = (HashSet::<u128>::new(), HashSet::<u128>::new());
    let mut after = 0;
    while let Some(next) = write(conn, |conn| {
        last_proof = add_used(conn, last_proof, &mut used)?;
        let Some(group) = Group::after(conn, after, &used)? else { return Ok(None) };
        counts.observations += group.removed;
        asked.extend(&group.asked);
        still_asked.extend(&group.still_asked);
        group.rewrite(conn).map(Some)
    })? {
        after = next;
    }
    counts.questions = asked.difference(&still_asked).count();
    Ok(counts)
}

/// Neighbouring blocks that become one.
struct Group<'u> {
    blocks: Vec<u32>,
    draft: Draft,
    /// Whether any of them has garbage or cannot be read.
    unclean: bool,
    removed: usize,
    asked: Vec<u128>,
    still_asked: Vec<u128>,
    used: &'u RoaringBitmap,
}

impl<'u> Group<'u> {
    /// The blocks after this one, as many as fit together; `None` where there are none.
    fn after(
        conn: &Connection,
        after: u32,
        used: &'u RoaringBitmap,
    ) -> Result<Option<Self>, Failure> {
        let mut group = Self {
            blocks: Vec::new(),
            draft: Draft::default(),
            unclean: false,
            removed: 0,
            asked: Vec::new(),
            still_asked: Vec::new(),
            used,
        };
        for id in blocks::block_ids(conn)?.into_iter().filter(|&id| id > after) {
            let block = blocks::read(conn, id)?;
            let counted = block.as_ref().and_then(|block| Counted::of(block, used));
            let kept = counted.as_ref().map_or(0, |counted| counted.kept);
            if !group.blocks.is_empty() && group.draft.observations() + kept > blocks::most(id) {
                break;
            }
            group.blocks.push(id);
            match block.zip(counted) {
                Some((block, counted))
                    if group.draft.absorb(&block, |id| used.contains(id)).is_some() =>
                {
                    group.unclean |= counted.removed > 0;
                    group.removed += counted.removed;
                    group.asked.extend(counted.asked);
                    group.still_asked.extend(counted.still_asked);
                }
                // What cannot be read proves nothing and goes.
                _ => group.unclean = true,
            }
        }
        Ok((!group.blocks.is_empty()).then_some(group))
    }

    /// Writes the group as one block where that is of use; gives the number of its last one.
    fn rewrite(self, conn: &Connection) -> Result<u32, Failure> {
        let last = self.blocks.last().copied().unwrap_or(u32::MAX);
        if !self.unclean && self.blocks.len() < 2 {
            return Ok(last);
        }
        let mut details = Details::new();
        for &block in &self.blocks {
            let some = blocks::read_details(conn, block)?;
            details.extend(some.into_iter().filter(|&(id, _)| self.used.contains(id)));
        }
        blocks::write(conn, last, self.draft, &details, &self.blocks)?;
        Ok(last)
    }
}

/// What a block keeps.
#[derive(Default)]
struct Counted {
    kept: usize,
    removed: usize,
    /// The questions, by their hashes: all, and those that stay.
    asked: Vec<u128>,
    still_asked: Vec<u128>,
}

impl Counted {
    fn of(block: &Block, used: &RoaringBitmap) -> Option<Self> {
        let mut counted = Self::default();
        let mut bytes = Vec::new();
        block.walk(|question, answers| {
            let kept = answers.iter().filter(|answer| used.contains(answer.id)).count();
            counted.kept += kept;
            counted.removed += answers.len() - kept;
            bytes.clear();
            question.write_to(&mut bytes);
            let hash = xxh3_128(&bytes);
            counted.asked.push(hash);
            counted.still_asked.extend((kept > 0).then_some(hash));
        })?;
        Some(counted)
    }
}

/// Adds what the proofs after `last` refer to; gives the last proof now.
fn add_used(conn: &Connection, last: u32, used: &mut RoaringBitmap) -> Result<u32, Failure> {
    proofs::visit_after(conn, last, |_, set| {
        *used |= set;
        true
    })
}
