//! The inverted index: from an observation to the proofs that contain it.
//!
//! A *segment* covers some proofs. For each observation in any of them it has a *posting*, the set
//! of those proofs. Segments are never changed: newer proofs get a new segment when enough have
//! come together (until then they are read directly), and neighbours of similar size are merged,
//! so that each proof is rewritten a few times only. Which observations have a posting is kept
//! with the segment: a posting that is lost is noticed, and not taken for "in no proof".
//!
//! The index only makes decisions faster. A segment that cannot be read is not used, its proofs
//! are read directly; a merge that meets damage throws the whole index away, to be built again.
//!
//! Work is done in short transactions under a lock of its own. Until the last one a new segment is
//! not live; a kill leaves rows that the next work removes.

use crate::codec::{blob, id, sealed_bitmap, unsealed_bitmap};
use crate::error::{Failure, StoreError};
use crate::files::FolderLock;
use crate::proofs;
use crate::store::{Store, live_proofs, write};
use roaring::RoaringBitmap;
use rusqlite::{Connection, OptionalExtension, params};
use std::collections::BTreeMap;

const LOCK: &str = "tamis.index.lock";
/// Fewer new proofs than this are not worth a segment.
const LEAST_TAIL: u64 = 2_048;
/// A larger index may have a larger tail: this part of it.
const TAIL_PART: u64 = 32;
/// About as many observations of proofs are turned around in memory at once.
const MOST_PAIRS: usize = 8_000_000;
const MOST_SEGMENTS: usize = 8;
/// Postings written, or removed, in one transaction.
const BATCH: usize = 4_096;

/// A live part of the index.
#[derive(Debug, Clone)]
pub(crate) struct Segment {
    id: u32,
    last_proof: u32,
    /// Those that have a posting.
    pub(crate) observations: RoaringBitmap,
    /// Those that are covered completely.
    pub(crate) proofs: RoaringBitmap,
}

/// Where a posting is: the segment in the upper half, the observation in the lower.
fn place(segment: u32, observation: u32) -> i64 {
    (i64::from(segment) << 32) | i64::from(observation)
}

impl Segment {
    /// The proofs that contain any of these observations, which must all have a posting; `None`
    /// where one cannot be read.
    pub(crate) fn proofs_with(
        &self,
        conn: &Connection,
        observations: &RoaringBitmap,
    ) -> Result<Option<RoaringBitmap>, Failure> {
        let mut statement = conn.prepare_cached("SELECT proofs FROM posting WHERE id = ?1")?;
        let mut proofs = RoaringBitmap::new();
        for observation in observations {
            let at = place(self.id, observation);
            let posting = statement
                .query_row([at], |row| {
                    let sealed = row.get_ref(0)?.as_blob().ok();
                    Ok(sealed.and_then(|b| unsealed_bitmap(at.cast_unsigned(), b)))
                })
                .optional()?
                .flatten();
            match posting {
                Some(posting) => proofs |= posting,
                None => return Ok(None),
            }
        }
        Ok(Some(proofs))
    }
}

/// The live segments that can be read, oldest first.
pub(crate) fn live_segments(conn: &Connection) -> Result<Vec<Segment>, Failure> {
    let mut statement = conn.prepare_cached(
        "SELECT id, last_proof, observations, proofs FROM segment WHERE live = 1 ORDER BY last_proof",
    )?;
    let mut rows = statement.query([])?;
    let mut segments = Vec::new();
    while let Some(row) = rows.next()? {
        let (Some(id), Some(last_proof)) = (id(row.get_ref(0)?), id(row.get_ref(1)?)) else {
            continue;
        };
        let bitmap = |column: usize| {
            let sealed = blob(row.get_ref(column).ok()?)?;
            unsealed_bitmap(segment_seed(id, column as u32 - 2), sealed)
        };
        if let (Some(observations), Some(proofs)) = (bitmap(2), bitmap(3)) {
            segments.push(Segment { id, last_proof, observations, proofs });
        }
    }
    Ok(segments)
}

fn segment_seed(segment: u32, which: u32) -> u64 {
    place(segment, which).cast_unsigned()
}

impl Store {
    /// Brings the index up to date with all proofs. Nothing to do where another process is at it.
    pub fn index_now(&self) -> Result<(), StoreError> {
        let Some(_lock) = FolderLock::try_named(self.dir(), LOCK) else {
            return Ok(());
        };
        self.with(|conn| {
            remove_dead_segments(conn)?;
            let live: i64 =
                conn.query_row("SELECT count(*) FROM segment WHERE live = 1", [], |row| {
                    row.get(0)
                })?;
            if live != live_segments(conn)?.len() as i64 {
                throw_away(conn)?;
            }
            while build_next(conn)? {}
            while let Some(some) = to_merge(&live_segments(conn)?) {
                merge(conn, some)?;
            }
            Ok(())
        })
    }

    /// Brings the index up to date if it is far behind. Costs next to nothing otherwise.
    pub(crate) fn index_if_due(&self) -> Result<(), StoreError> {
        let due = self.with(|conn| {
            let last: Option<i64> = conn
                .prepare_cached("SELECT max(id) FROM proof")?
                .query_row([], |row| row.get(0))?;
            let indexed = last_indexed(conn)?;
            let tail = last.unwrap_or(0).saturating_sub(indexed.into()).max(0).cast_unsigned();
            Ok(tail > LEAST_TAIL.max(u64::from(indexed) / TAIL_PART))
        })?;
        if due { self.index_now() } else { Ok(()) }
    }

    /// Rewrites the index without the proofs that are gone, where these are many.
    pub(crate) fn clean_index(&self) -> Result<(), StoreError> {
        let Some(_lock) = FolderLock::try_named(self.dir(), LOCK) else {
            return Ok(());
        };
        self.with(|conn| {
            remove_dead_segments(conn)?;
            let segments = live_segments(conn)?;
            let live = live_proofs(conn)?;
            let covered: u64 = segments.iter().map(|s| s.proofs.len()).sum();
            let gone: u64 = segments.iter().map(|s| s.proofs.difference_len(&live)).sum();
            if gone * 8 > covered {
                merge(conn, segments)?;
            }
            Ok(())
        })
    }
}

fn last_indexed(conn: &Connection) -> Result<u32, Failure> {
    let mut statement =
        conn.prepare_cached("SELECT max(last_proof) FROM segment WHERE live = 1")?;
    let last: Option<u32> = statement.query_row([], |row| row.get(0))?;
    Ok(last.unwrap_or(0))
}

/// Builds a segment of the next proofs that have none; false where there are none.
fn build_next(conn: &mut Connection) -> Result<bool, Failure> {
    let Some(Turned { last_proof, proofs, pairs }) = turn_around(conn, last_indexed(conn)?)? else {
        return Ok(false);
    };
    let observation_of = |pair: &u64| (pair >> 32) as u32;
    let segment = start_segment(conn, last_proof)?;
    let mut observations = RoaringBitmap::new();
    let mut postings = pairs.chunk_by(|a, b| observation_of(a) == observation_of(b)).peekable();
    while postings.peek().is_some() {
        let batch: Vec<(u32, RoaringBitmap)> = postings
            .by_ref()
            .take(BATCH)
            .map(|pairs| (observation_of(&pairs[0]), pairs.iter().map(|&p| p as u32).collect()))
            .collect();
        observations.extend(batch.iter().map(|(observation, _)| *observation));
        write_postings(conn, segment, batch)?;
    }
    publish(conn, Segment { id: segment, last_proof, observations, proofs }, &[])?;
    Ok(true)
}

/// Some proofs, ordered by what is in them.
struct Turned {
    last_proof: u32,
    proofs: RoaringBitmap,
    /// Observation in the upper half, proof in the lower; ascending.
    pairs: Vec<u64>,
}

/// Reads the proofs after this one, as many as fit in memory well; `None` where there are none.
fn turn_around(conn: &Connection, after: u32) -> Result<Option<Turned>, Failure> {
    let (mut proofs, mut pairs) = (RoaringBitmap::new(), Vec::new());
    let last_proof = proofs::visit_after(conn, after, |id, set| {
        if !set.is_empty() {
            proofs.insert(id);
            pairs.extend(set.iter().map(|o| u64::from(o) << 32 | u64::from(id)));
        }
        pairs.len() < MOST_PAIRS
    })?;
    pairs.sort_unstable();
    Ok((last_proof > after).then_some(Turned { last_proof, proofs, pairs }))
}

fn start_segment(conn: &mut Connection, last_proof: u32) -> Result<u32, Failure> {
    write(conn, |conn| {
        conn.execute("INSERT INTO segment (live, last_proof) VALUES (0, ?1)", [last_proof])?;
        u32::try_from(conn.last_insert_rowid())
            .map_err(|_| Failure::Damage("its numbers are used up".into()))
    })
}

fn write_postings(
    conn: &mut Connection,
    segment: u32,
    postings: Vec<(u32, RoaringBitmap)>,
) -> Result<(), Failure> {
    let sealed: Vec<(i64, Vec<u8>)> = postings
        .into_iter()
        .map(|(observation, mut proofs)| {
            proofs.optimize();
            let at = place(segment, observation);
            (at, sealed_bitmap(at.cast_unsigned(), &proofs))
        })
        .collect();
    write(conn, |conn| {
        let mut statement =
            conn.prepare_cached("INSERT OR REPLACE INTO posting (id, proofs) VALUES (?1, ?2)")?;
        for (at, posting) in sealed {
            statement.execute(params![at, posting])?;
        }
        Ok(())
    })
}

/// Makes a finished segment live in place of those that it was merged from.
fn publish(conn: &mut Connection, segment: Segment, instead_of: &[u32]) -> Result<(), Failure> {
    let Segment { id, last_proof, mut observations, mut proofs } = segment;
    observations.optimize();
    proofs.optimize();
    write(conn, |conn| {
        conn.prepare_cached(
            "UPDATE segment SET live = 1, last_proof = ?2, observations = ?3, proofs = ?4 \
             WHERE id = ?1",
        )?
        .execute(params![
            id,
            last_proof,
            sealed_bitmap(segment_seed(id, 0), &observations),
            sealed_bitmap(segment_seed(id, 1), &proofs),
        ])?;
        for old in instead_of {
            conn.execute("UPDATE segment SET live = 0 WHERE id = ?1", [old])?;
        }
        Ok(())
    })?;
    remove_dead_segments(conn)
}

/// Removes what is not live, also what a kill left half done.
fn remove_dead_segments(conn: &mut Connection) -> Result<(), Failure> {
    let dead: Vec<u32> = conn
        .prepare_cached("SELECT id FROM segment WHERE live <> 1")?
        .query_map([], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    for segment in dead {
        let (first, last) = (place(segment, 0), place(segment, u32::MAX));
        let sql = "DELETE FROM posting WHERE id IN \
                   (SELECT id FROM posting WHERE id BETWEEN ?1 AND ?2 LIMIT ?3)";
        while write(conn, |conn| {
            Ok(conn.prepare_cached(sql)?.execute(params![first, last, BATCH])?)
        })? > 0
        {}
        write(conn, |conn| Ok(conn.execute("DELETE FROM segment WHERE id = ?1", [segment])?))?;
    }
    Ok(())
}

/// The newest segments, as many as are of similar size, where there are too many.
fn to_merge(segments: &[Segment]) -> Option<Vec<Segment>> {
    if segments.len() <= MOST_SEGMENTS {
        return None;
    }
    let mut sum = 0;
    let mut taken = 0;
    for segment in segments.iter().rev() {
        let size = segment.proofs.len();
        if taken >= 2 && size > 2 * sum {
            break;
        }
        sum += size;
        taken += 1;
    }
    let from = segments.len() - taken;
    Some(segments[from..].to_vec())
}

/// Merges segments into one, less the proofs that are gone.
fn merge(conn: &mut Connection, segments: Vec<Segment>) -> Result<(), Failure> {
    let Some(last_proof) = segments.iter().map(|s| s.last_proof).max() else {
        return Ok(());
    };
    let live = live_proofs(conn)?;
    let mut proofs = RoaringBitmap::new();
    let mut all_observations = RoaringBitmap::new();
    for segment in &segments {
        proofs |= &segment.proofs & &live;
        all_observations |= &segment.observations;
    }
    let merged = start_segment(conn, last_proof)?;
    let mut observations = RoaringBitmap::new();
    let mut rest = all_observations.iter().peekable();
    while rest.peek().is_some() {
        let block: RoaringBitmap = rest.by_ref().take(BATCH).collect();
        let Some(postings) = merge_block(conn, &segments, &block, &proofs)? else {
            return throw_away(conn);
        };
        observations.extend(postings.iter().map(|(observation, _)| *observation));
        write_postings(conn, merged, postings)?;
    }
    let old: Vec<u32> = segments.iter().map(|s| s.id).collect();
    publish(conn, Segment { id: merged, last_proof, observations, proofs }, &old)
}

/// The merged postings of some observations; `None` where one is missing or damaged.
fn merge_block(
    conn: &Connection,
    segments: &[Segment],
    block: &RoaringBitmap,
    proofs: &RoaringBitmap,
) -> Result<Option<Vec<(u32, RoaringBitmap)>>, Failure> {
    let (Some(first), Some(last)) = (block.min(), block.max()) else {
        return Ok(Some(Vec::new()));
    };
    let mut merged: BTreeMap<u32, RoaringBitmap> = BTreeMap::new();
    let mut statement =
        conn.prepare_cached("SELECT id, proofs FROM posting WHERE id BETWEEN ?1 AND ?2")?;
    for segment in segments {
        let mut found = 0;
        let mut rows = statement.query([place(segment.id, first), place(segment.id, last)])?;
        while let Some(row) = rows.next()? {
            let at: i64 = row.get(0)?;
            let sealed = blob(row.get_ref(1)?);
            let Some(posting) = sealed.and_then(|b| unsealed_bitmap(at.cast_unsigned(), b)) else {
                return Ok(None);
            };
            found += 1;
            *merged.entry(at as u32).or_default() |= posting;
        }
        if found != segment.observations.intersection_len(block) {
            return Ok(None);
        }
    }
    let kept = merged.into_iter().filter_map(|(observation, posting)| {
        let posting = posting & proofs;
        (!posting.is_empty()).then_some((observation, posting))
    });
    Ok(Some(kept.collect()))
}

/// A damaged index is built again from the proofs.
fn throw_away(conn: &mut Connection) -> Result<(), Failure> {
    write(conn, |conn| Ok(conn.execute("UPDATE segment SET live = 0", [])?))?;
    remove_dead_segments(conn)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::Way;
    use tamis_core::RecordSummary;
    use tamis_core::record::{Access, Detail, Observed, Run};
    use tamis_core::{Outcome, PortablePath, Question, Scheme, TestKey, Value};

    fn path(name: &str) -> Question {
        Question::Path(PortablePath::from_stored(name), Scheme::Kind)
    }

    /// A run that found `shared` and a file of its own.
    fn run(n: usize) -> Run {
        let observed = ["shared".to_owned(), format!("own{n}")].map(|name| Observed {
            question: path(&name),
            before: Value::File,
            after: None,
            access: Access::STAT,
            program: "".into(),
            detail: Detail::None,
        });
        Run {
            test: TestKey::command(format!("t{n}"), "."),
            outcome: Outcome::Passed,
            started_ms: 0,
            wall_us: 0,
            cpu_us: 0,
            engine: String::new(),
            observed: observed.to_vec(),
            taints: Vec::new(),
            notes: Vec::new(),
            left_behind: Vec::new(),
        }
    }

    fn store_of(count: usize) -> (tempfile::TempDir, Store) {
        let dir = tempfile::tempdir().unwrap();
        let (store, _) = Store::open(dir.path()).unwrap();
        store.append_many(&(0..count).map(run).collect::<Vec<_>>()).unwrap();
        (dir, store)
    }

    /// How many of the tests hold when this path is gone, by way of the index.
    fn holding(store: &Store, count: usize, gone: &str) -> usize {
        let tests: Vec<TestKey> = (0..count).map(|n| run(n).test).collect();
        let ask = |questions: &[Question]| {
            let answer = |q| if q == &path(gone) { Value::Absent } else { Value::File };
            questions.iter().map(answer).collect()
        };
        let way = Some(Way::FromAnswers);
        let found = store.evidence_by(way, &tests, &RecordSummary::is_complete, &ask).unwrap();
        (0..count).filter(|&n| !found.decide(n, &Default::default()).is_run()).count()
    }

    fn segments(store: &Store) -> Vec<Segment> {
        store.with(|conn| live_segments(conn)).unwrap()
    }

    fn sql(store: &Store, statement: &str) {
        store.write(|conn| Ok(conn.execute_batch(statement)?)).unwrap();
    }

    fn count(store: &Store, what: &str) -> i64 {
        let sql = format!("SELECT count(*) FROM {what}");
        store.with(|conn| Ok(conn.query_row(&sql, [], |row| row.get(0))?)).unwrap()
    }

    #[test]
    fn the_index_is_built_when_enough_has_come_together() {
        let enough = LEAST_TAIL as usize + 1;
        let (_dir, store) = store_of(enough);
        let built = segments(&store);
        assert_eq!(built.iter().map(|s| s.proofs.len()).sum::<u64>(), enough as u64);
        assert_eq!(holding(&store, enough, "nothing"), enough);
        assert_eq!(holding(&store, enough, "own7"), enough - 1);
        assert_eq!(holding(&store, enough, "shared"), 0);
    }

    #[test]
    fn a_small_store_has_none() {
        let (_dir, store) = store_of(20);
        assert_eq!(segments(&store).len(), 0);
        assert_eq!(holding(&store, 20, "own7"), 19);
    }

    #[test]
    fn a_posting_that_is_lost_or_changed_is_noticed() {
        for statement in [
            "DELETE FROM posting WHERE id & 0xFFFFFFFF = 1",
            "UPDATE posting SET proofs = x'00' WHERE id & 0xFFFFFFFF = 1",
            "UPDATE posting SET proofs = (SELECT proofs FROM posting WHERE id & 0xFFFFFFFF = 2)",
            "UPDATE segment SET observations = zeroblob(20)",
            "UPDATE segment SET observations = proofs",
            "UPDATE segment SET proofs = NULL",
            "DELETE FROM segment",
        ] {
            let (_dir, store) = store_of(20);
            store.index_now().unwrap();
            assert_eq!((holding(&store, 20, "nothing"), holding(&store, 20, "shared")), (20, 0));
            sql(&store, statement);
            assert_eq!(holding(&store, 20, "nothing"), 20, "{statement}");
            assert_eq!(holding(&store, 20, "shared"), 0, "{statement}");
        }
    }

    #[test]
    fn a_segment_that_cannot_be_read_is_built_again() {
        let (_dir, store) = store_of(20);
        store.index_now().unwrap();
        sql(&store, "UPDATE segment SET observations = zeroblob(20)");
        assert_eq!(segments(&store).len(), 0);
        store.index_now().unwrap();
        assert_eq!(segments(&store)[0].proofs.len(), 20);
        assert_eq!(count(&store, "posting"), 21);
    }

    #[test]
    fn many_segments_are_merged_and_say_the_same() {
        let (_dir, store) = store_of(0);
        for n in 0..40 {
            store.append(&run(n)).unwrap();
            store.index_now().unwrap();
            assert!(segments(&store).len() <= MOST_SEGMENTS);
        }
        assert_eq!(count(&store, "segment WHERE live = 0"), 0);
        let live: u64 = segments(&store).iter().map(|s| s.observations.len()).sum();
        assert_eq!(count(&store, "posting"), live as i64);
        assert_eq!(holding(&store, 40, "nothing"), 40);
        assert_eq!(holding(&store, 40, "own3"), 39);
        assert_eq!(holding(&store, 40, "shared"), 0);
    }

    #[test]
    fn a_merge_that_meets_damage_starts_over() {
        let (_dir, store) = store_of(0);
        for n in 0..MOST_SEGMENTS {
            store.append(&run(n)).unwrap();
            store.index_now().unwrap();
        }
        sql(&store, "DELETE FROM posting WHERE id & 0xFFFFFFFF = 1");
        store.append(&run(MOST_SEGMENTS)).unwrap();
        store.index_now().unwrap();
        assert_eq!(segments(&store).len(), 0);
        assert_eq!(count(&store, "posting"), 0);
        store.index_now().unwrap();
        assert_eq!(segments(&store).len(), 1);
        assert_eq!(holding(&store, MOST_SEGMENTS + 1, "nothing"), MOST_SEGMENTS + 1);
        assert_eq!(holding(&store, MOST_SEGMENTS + 1, "shared"), 0);
    }

    #[test]
    fn what_a_kill_left_half_done_is_removed() {
        let (_dir, store) = store_of(20);
        let half = store.with(|conn| start_segment(conn, 20)).unwrap();
        let posting = vec![(1, (1..=20).collect())];
        store.with(|conn| write_postings(conn, half, posting.clone())).unwrap();
        assert_eq!(holding(&store, 20, "shared"), 0);
        store.index_now().unwrap();
        assert_eq!(count(&store, "segment"), 1);
        assert_eq!(count(&store, "posting"), 21);
        assert_eq!(holding(&store, 20, "nothing"), 20);
    }
}
