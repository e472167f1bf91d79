//! A finished run becomes a record with one or two proofs.
//!
//! The first proof is the set of answers before the test changed anything. Where the test changed
//! what it had looked at, the second is the set with those answers replaced by the ones it left.
//! Questions and answers are interned ([`crate::intern`]): an answer that another test got as well
//! costs one bit.

use crate::codec::{bitmap_bytes, pack, seal};
use crate::error::{Failure, StoreError};
use crate::explain::{Look, RecordDetail};
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
use tamis_core::record::{Numbers, Observed, Origin, RecordId, RecordSummary, Run};
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
        self.append_all(runs.iter(), |conn| {
            let interned = Interned::of(conn, runs.iter().map(|run| run.observed.iter()))?;
            Ok(move |n: usize| RunSeen::of(&runs[n].observed, &interned.observations(n), &interned))
        })
    }

    /// As [`Store::append_many`] for runs that have most in common: what each of them observed are numbers in
    /// `all`, of which no two may be of one question. Their own lists have to be empty.
    pub fn append_shared(
        &self,
        all: &[Observed],
        runs: &[(Run, Numbers)],
    ) -> Result<Vec<RecordId>, StoreError> {
        self.append_all(runs.iter().map(|(run, _)| run), |conn| {
            let mut used = Numbers::default();
            runs.iter().for_each(|(_, numbers)| used.add(numbers));
            let shared = SharedSeen::of(conn, all, &used)?;
            Ok(move |n: usize| shared.of_run(&runs[n].1))
        })
    }

    /// `seen` makes the function that says what each of the runs saw.
    fn append_all<'r, S: Fn(usize) -> RunSeen>(
        &self,
        runs: impl Iterator<Item = &'r Run> + Clone,
        seen: impl Fn(&Connection) -> Result<S, Failure>,
    ) -> Result<Vec<RecordId>, StoreError> {
        let keep = self.keep_per_test();
        let ids = self.write(|conn| {
            let seen = seen(conn)?;
            let mut proofs = NewProofs::new(conn)?;
            let mut add = |(n, run)| append(conn, &mut proofs, seen(n), run, keep);
            let ids = runs.clone().enumerate().map(&mut add).collect::<Result<Vec<_>, _>>()?;
            proofs.finish()?;
            is_known_again(conn, runs.clone().map(|run| &run.test))?;
            shrink_if_small(conn)?;
            Ok(ids)
        })?;
        // The runs are in the store; an index that could not be brought up to date costs time only.
        let _ = self.index_if_due();
        Ok(ids)
    }
}

/// What a run saw, by the ids of observations.
struct RunSeen {
    before: RoaringBitmap,
    /// Where it left something else.
    after: Option<RoaringBitmap>,
    detail: RecordDetail,
}

impl RunSeen {
    /// Of a run with a list of its own; `ids` are its interned observations.
    fn of(observed: &[Observed], ids: &[(u32, Option<u32>)], interned: &Interned<'_>) -> Self {
        let seen = observed.iter().zip(ids).map(|(one, &(id, _))| Look {
            id,
            program: &one.program,
            access: one.access.0,
            is_usual: false,
        });
        let mut seen: Vec<Look<'_>> = seen.collect();
        seen.sort_by_key(|look| look.id);
        // The same answer may be seen twice: by the first program, in both ways.
        seen.dedup_by(|look, kept| {
            let same = look.id == kept.id;
            if same {
                kept.access |= look.access;
            }
            same
        });
        for look in &mut seen {
            look.is_usual = interned.usual_look(look.id) == (look.program, look.access);
        }
        let changes = ids.iter().filter_map(|&(id, after)| Some((id, after?))).collect();
        let left = ids.iter().map(|&(was, left)| left.unwrap_or(was));
        Self::new(&seen, left, changes)
    }

    fn new(seen: &[Look<'_>], left: impl Iterator<Item = u32>, changes: Vec<(u32, u32)>) -> Self {
        let before: Vec<u32> = seen.iter().map(|look| look.id).collect();
        let before = ascending(before);
        let after = (!changes.is_empty()).then(|| {
            let mut left: Vec<u32> = left.collect();
            left.sort_unstable();
            left.dedup();
            ascending(left)
        });
        let after = after.filter(|after| *after != before);
        Self { before, after, detail: RecordDetail::of(seen.iter().copied(), changes) }
    }
}

/// The set of numbers that ascend.
fn ascending(numbers: Vec<u32>) -> RoaringBitmap {
    let mut set = RoaringBitmap::from_sorted_iter(numbers.iter().copied())
        .unwrap_or_else(|_| numbers.iter().copied().collect());
    set.optimize();
    set
}

/// Observations that runs have in common, ascending by their ids.
struct SharedSeen<'a>(Vec<SharedLook<'a>>);

struct SharedLook<'a> {
    number: u32,
    left: Option<u32>,
    look: Look<'a>,
}

impl<'a> SharedSeen<'a> {
    fn of(conn: &Connection, all: &'a [Observed], used: &Numbers) -> Result<Self, Failure> {
        let numbers: Vec<u32> = used.iter().filter(|n| (*n as usize) < all.len()).collect();
        let list = || numbers.iter().map(|&number| &all[number as usize]);
        let interned = Interned::of(conn, std::iter::once(list()))?;
        let ids = interned.observations(0);
        let look = |((number, one), (id, left)): ((&u32, &'a Observed), (u32, Option<u32>))| {
            let (program, access) = (&*one.program, one.access.0);
            let is_usual = interned.usual_look(id) == (program, access);
            let look = Look { id, program, access, is_usual };
            SharedLook { number: *number, left, look }
        };
        let mut looks: Vec<_> = numbers.iter().zip(list()).zip(ids).map(look).collect();
        looks.sort_by_key(|shared| shared.look.id);
        Ok(Self(looks))
    }

    fn of_run(&self, numbers: &Numbers) -> RunSeen {
        let of_run = || self.0.iter().filter(|shared| numbers.contains(shared.number));
        let looks: Vec<Look<'_>> = of_run().map(|shared| shared.look).collect();
        let changes = of_run().filter_map(|shared| Some((shared.look.id, shared.left?))).collect();
        let left = of_run().map(|shared| shared.left.unwrap_or(shared.look.id));
        RunSeen::new(&looks, left, changes)
    }
}

fn append(
    conn: &Connection,
    proofs: &mut NewProofs<'_>,
    seen: RunSeen,
    run: &Run,
    keep: usize,
) -> Result<RecordId, Failure> {
    let RunSeen { before, after, detail: looks } = seen;
    let key = StoredKey::of(&run.test);
    let test = intern_test(conn, &key)?;
    let before_bytes = bitmap_bytes(&before);
    let after_bytes = after.as_ref().map(bitmap_bytes).unwrap_or_default();
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
        after: after.map(|_| proofs.add(&after_bytes)).transpose()?,
        behind: 0,
    };
    let record = row.summary.id.0;
    conn.prepare_cached("INSERT INTO record (id, test, summary) VALUES (?1, ?2, ?3)")?
        .execute(params![record, test, row.pack(&key)])?;

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
