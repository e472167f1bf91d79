//! What leaves a store for another machine: records, what they observed, and what front ends keep beside them.
//!
//! A shipment knows no number of the store it came from. Its observations stand once, in the order of their
//! questions; a record names them by their places, as bitmaps. Whoever ships says of each observation whether it
//! travels, and in which form ([`Outbound`]): a record never holds elsewhere because something was left out
//! that another form stands for, and that is for the caller to see to.
//!
//! A record with an observation that cannot be read is not shipped, nor one that passed and was not completely
//! observed, which proves nothing anywhere.

use crate::blocks;
use crate::codec::{bitmap_bytes, integer};
use crate::error::{Failure, StoreError};
use crate::explain::{RecordDetail, part_of, read_observations};
use crate::proofs::Proofs;
use crate::store::{Store, all_tests};
use crate::summary::{RECORD_COLUMNS, RecordRow};
use roaring::RoaringBitmap;
use rusqlite::Connection;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use tamis_core::record::{Detail, Observed, RecordId, Run};

/// Records on their way between two stores.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Shipment {
    /// Each once.
    pub observations: Vec<ShippedObservation>,
    pub records: Vec<ShippedRecord>,
    pub kept: Vec<Kept>,
}

/// A question with one answer; `observed.after` is not set.
pub type ShippedObservation = Observed;

/// One finished run. Its `run` has no observations of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShippedRecord {
    pub run: Run,
    /// The places of the observations of its first proof, as a serialized bitmap.
    pub before: Vec<u8>,
    /// Of its second one, where it has two.
    pub after: Option<Vec<u8>>,
    /// Where the test changed what it had looked at: the places of both answers.
    pub changes: Vec<(u32, u32)>,
}

/// What a front end keeps under a kind and a name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Kept {
    pub kind: String,
    pub name: String,
    pub bytes: Vec<u8>,
}

/// What came of taking a shipment in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TakenIn {
    /// Records that the store did not have.
    pub records: usize,
    /// Records that it had.
    pub known: usize,
    /// Records of tests that the user had forgotten here.
    pub forgotten: usize,
}

/// What of an observation travels: `None` is left out.
pub type Outbound<'a> = dyn Fn(Observed) -> Option<Observed> + 'a;

impl Shipment {
    /// The places of a proof; `None` for bytes that are no bitmap, or name more than there is.
    pub fn places(&self, bitmap: &[u8]) -> Option<RoaringBitmap> {
        let places = RoaringBitmap::deserialize_from(bitmap).ok()?;
        (places.max().is_none_or(|last| (last as usize) < self.observations.len()))
            .then_some(places)
    }
}

impl Store {
    /// The records of this machine after this one, by number: those that did not come from elsewhere.
    pub fn own_records_after(&self, after: u32) -> Result<Vec<RecordId>, StoreError> {
        self.with(|conn| {
            let sql = "SELECT id FROM record WHERE id > ?1 AND behind = 0 ORDER BY id";
            let mut statement = conn.prepare_cached(sql)?;
            let mut rows = statement.query([after])?;
            let mut ids = Vec::new();
            while let Some(row) = rows.next()? {
                let id = integer(row.get_ref(0)?).and_then(|id| u32::try_from(id).ok());
                ids.extend(id.map(RecordId));
            }
            Ok(ids)
        })
    }

    /// All records that count, by number: who hands them on vouches for them.
    pub fn believed_records(&self) -> Result<Vec<RecordId>, StoreError> {
        let believed = self.believed();
        self.with(|conn| {
            let mut ids = Vec::new();
            crate::store::all_records(conn, |id, row| {
                let counts = row.is_some_and(|row| believed.believes(&row.summary.origin));
                ids.extend(counts.then_some(RecordId(id)));
            })?;
            ids.sort_unstable();
            Ok(ids)
        })
    }

    /// These records, and what this store itself keeps of these kinds, ready to travel.
    pub fn ship(
        &self,
        records: &[RecordId],
        kinds: &[&str],
        outbound: &Outbound<'_>,
    ) -> Result<Shipment, StoreError> {
        let mut shipment = self.with(|conn| {
            let tx = conn.transaction()?;
            ship(&tx, records, outbound)
        })?;
        for kind in kinds {
            let kept = self.own_kept(kind)?.into_iter();
            let one = |(name, bytes)| Kept { kind: (*kind).to_owned(), name, bytes };
            shipment.kept.extend(kept.map(one));
        }
        Ok(shipment)
    }
}

/// A record that is read, before its observations are.
struct Loaded {
    row: RecordRow,
    before: RoaringBitmap,
    after: Option<RoaringBitmap>,
}

fn ship(
    conn: &Connection,
    records: &[RecordId],
    outbound: &Outbound<'_>,
) -> Result<Shipment, Failure> {
    let wanted: RoaringBitmap = records.iter().map(|id| id.0).collect();
    let keys = all_tests(conn)?;
    let mut loaded = Vec::new();
    let mut union = RoaringBitmap::new();
    let mut proofs = Proofs::new(conn);
    let sql = format!("SELECT {RECORD_COLUMNS} FROM record ORDER BY id");
    let mut statement = conn.prepare(&sql)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let key = |test| keys.get(&test).map(|(stored, _)| stored.columns());
        let Some(row) = RecordRow::read(row, key)? else { continue };
        let proves_nothing = row.summary.outcome.passed() && !row.summary.is_complete();
        if !wanted.contains(row.summary.id.0) || proves_nothing {
            continue;
        }
        let Some(before) = proofs.get(row.before.0)? else { continue };
        let after = match row.after {
            Some(after) => match proofs.get(after.0)? {
                Some(after) => Some(after),
                None => continue,
            },
            None => None,
        };
        union |= &before;
        after.iter().for_each(|after| union |= after);
        loaded.push(Loaded { row, before, after });
    }
    let mut shipment = Shipment::default();
    let places = load_observations(conn, &union, outbound, &mut shipment)?;
    for record in loaded {
        let Some((_, key)) = keys.get(&record.row.test) else { continue };
        let Some(before) = placed(&record.before, &places) else { continue };
        let after = match &record.after {
            Some(after) => match placed(after, &places) {
                Some(after) => Some(bitmap_bytes(&after)),
                None => continue,
            },
            None => None,
        };
        let id = record.row.summary.id.0;
        let detail: RecordDetail = part_of(conn, "looks", id)?.unwrap_or_default();
        let place = |id: u32| places.get(&id).copied().flatten();
        let changes = detail.changes.iter().filter_map(|&(a, b)| Some((place(a)?, place(b)?)));
        let summary = record.row.summary;
        let run = Run {
            test: key.clone(),
            outcome: summary.outcome,
            started_ms: summary.started_ms,
            wall_us: summary.wall_us,
            cpu_us: summary.cpu_us,
            engine: summary.engine,
            observed: Vec::new(),
            taints: summary.taints,
            notes: summary.notes,
            left_behind: part_of(conn, "left_behind", id)?.unwrap_or_default(),
        };
        let changes = changes.collect();
        shipment.records.push(ShippedRecord { run, before: bitmap_bytes(&before), after, changes });
    }
    Ok(shipment)
}

/// From an observation's number to its place in the shipment; `None` for what does not travel. A number that is
/// not there could not be read.
type Places = FxHashMap<u32, Option<u32>>;

fn load_observations(
    conn: &Connection,
    wanted: &RoaringBitmap,
    outbound: &Outbound<'_>,
    shipment: &mut Shipment,
) -> Result<Places, Failure> {
    let mut details = blocks::details_of(conn, wanted)?;
    let mut found = Vec::new();
    for (id, mut observed) in read_observations(conn, wanted)? {
        observed.detail = details.remove(&id).unwrap_or(Detail::None);
        found.push((id, outbound(observed)));
    }
    // By question, so that neighbours share their bytes.
    found.sort_by(|(_, a), (_, b)| {
        let question = |o: &Option<Observed>| o.as_ref().map(|o| o.question.clone());
        question(a).cmp(&question(b))
    });
    let mut places = Places::default();
    for (id, observed) in found {
        let place = observed.map(|observed| {
            shipment.observations.push(observed);
            shipment.observations.len() as u32 - 1
        });
        places.insert(id, place);
    }
    Ok(places)
}

/// A proof by places; `None` where something in it could not be read.
fn placed(proof: &RoaringBitmap, places: &Places) -> Option<RoaringBitmap> {
    let mut set = RoaringBitmap::new();
    for id in proof {
        set.extend(*places.get(&id)?);
    }
    set.optimize();
    Some(set)
}
