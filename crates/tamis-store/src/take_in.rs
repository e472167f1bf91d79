//! Takes the records of a shipment into the store.
//!
//! They stand behind the records of this machine ([`crate::summary::newest_first`]). A record that is there already (the
//! same test at the same moment, with the same outcome) is not taken twice: what was sent from here comes back, and
//! packs are put together anew. Where the one that is there is not believed any more ([`crate::Believed`]), it gets the new
//! origin. Records of tests that the user has forgotten are not taken. What is kept beside the records is kept apart from
//! what this store keeps itself, with its origin ([`crate::side_table`]).
//!
//! The bytes are somebody else's: a place that is not there, a set that is empty or cannot be read makes the record not
//! be taken. Whether somebody may be believed at all is the caller's question.

use crate::append::{intern_test, state, trim};
use crate::believed::Believed;
use crate::codec::{bitmap_bytes, pack, seal};
use crate::error::{Failure, StoreError};
use crate::explain::RecordDetail;
use crate::gc::shrink_if_small;
use crate::intern::Interned;
use crate::key::StoredKey;
use crate::packed::squeeze;
use crate::proofs::NewProofs;
use crate::schema::next_id;
use crate::shipment::{Shipment, ShippedRecord, TakenIn};
use crate::store::{Store, records_of};
use crate::summary::{RecordRow, behind};
use roaring::RoaringBitmap;
use rusqlite::{Connection, params};
use std::collections::HashSet;
use tamis_core::TestKey;
use tamis_core::record::{Origin, RecordId, RecordSummary};

impl Store {
    /// Takes a shipment in, in one transaction. `origin` says where it came from.
    pub fn take_in(&self, shipment: &Shipment, origin: &Origin) -> Result<TakenIn, StoreError> {
        self.must_be_writable()?;
        let keep = self.keep_per_test();
        let marks = self.forgotten()?;
        let forgotten: HashSet<&TestKey> = marks.iter().map(|mark| &mark.key).collect();
        let believed = self.believed();
        let taken = self.write(|conn| {
            let interned = Interned::of(conn, std::iter::once(shipment.observations.iter()))?;
            let ids: Vec<u32> = interned.observations(0).into_iter().map(|(id, _)| id).collect();
            let mut proofs = NewProofs::new(conn)?;
            let mut taken = TakenIn::default();
            for record in &shipment.records {
                if forgotten.contains(&record.run.test) {
                    taken.forgotten += 1;
                    continue;
                }
                let arriving =
                    Arriving { conn, shipment, ids: &ids, origin, believed: &believed, keep };
                match arriving.take(record, &mut proofs)? {
                    Some(true) => taken.records += 1,
                    Some(false) => taken.known += 1,
                    None => {}
                }
            }
            proofs.finish()?;
            shrink_if_small(conn)?;
            Ok(taken)
        })?;
        for kept in &shipment.kept {
            self.keep_from(origin, &kept.kind, &kept.name, &kept.bytes)?;
        }
        // The records are in the store; an index that could not be brought up to date costs time only.
        let _ = self.index_if_due();
        Ok(taken)
    }
}

struct Arriving<'a> {
    conn: &'a Connection,
    shipment: &'a Shipment,
    /// The numbers of the shipment's observations in this store, by place.
    ids: &'a [u32],
    origin: &'a Origin,
    believed: &'a Believed,
    keep: usize,
}

impl Arriving<'_> {
    /// Whether the record is new; `None` where it cannot be taken.
    fn take(
        &self,
        record: &ShippedRecord,
        proofs: &mut NewProofs<'_>,
    ) -> Result<Option<bool>, Failure> {
        let Some(before) = self.numbered(&record.before) else { return Ok(None) };
        let after = match &record.after {
            Some(after) => match self.numbered(after) {
                Some(after) => Some(after),
                None => return Ok(None),
            },
            None => None,
        };
        let (conn, run) = (self.conn, &record.run);
        let key = StoredKey::of(&run.test);
        let is_same = |known: &RecordRow| {
            let known = &known.summary;
            (known.started_ms, known.wall_us, known.outcome)
                == (run.started_ms, run.wall_us, run.outcome)
        };
        if let Some(mut known) = records_of(conn, &key)?.into_iter().find(is_same) {
            if !self.believed.believes(&known.summary.origin) {
                known.summary.origin = self.origin.clone();
                let mut statement =
                    conn.prepare_cached("UPDATE record SET summary = ?2 WHERE id = ?1")?;
                statement.execute(params![known.summary.id.0, known.pack(&key)])?;
            }
            return Ok(Some(false));
        }
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
                origin: self.origin.clone(),
            },
            test: intern_test(conn, &key)?,
            state: state(&before_bytes, &after_bytes),
            before: proofs.add(&before_bytes)?,
            after: match &after {
                Some(_) => Some(proofs.add(&after_bytes)?),
                None => None,
            },
            behind: behind(run.started_ms),
        };
        self.insert(&row, &key, record)?;
        trim(conn, &key, self.keep)?;
        Ok(Some(true))
    }

    fn insert(
        &self,
        row: &RecordRow,
        key: &StoredKey,
        record: &ShippedRecord,
    ) -> Result<(), Failure> {
        let id = row.summary.id.0;
        let sql = "INSERT INTO record (id, test, summary, behind) VALUES (?1, ?2, ?3, ?4)";
        let mut statement = self.conn.prepare_cached(sql)?;
        statement.execute(params![id, row.test, row.pack(key), row.behind])?;
        let place = |place: u32| self.ids.get(place as usize).copied();
        let changes = record.changes.iter().filter_map(|&(a, b)| Some((place(a)?, place(b)?)));
        let detail = RecordDetail::of_changes(changes.collect());
        let looks = (!detail.is_empty()).then(|| seal(id.into(), &squeeze(&pack(&detail))));
        let left = &record.run.left_behind;
        let left = (!left.is_empty()).then(|| seal(id.into(), &squeeze(&pack(left))));
        if looks.is_some() || left.is_some() {
            let sql = "INSERT INTO record_detail (record, looks, left_behind) VALUES (?1, ?2, ?3)";
            self.conn.prepare_cached(sql)?.execute(params![id, looks, left])?;
        }
        Ok(())
    }

    /// A proof by the numbers of this store. One without observations proves nothing, and one of which an
    /// observation is missing here would prove too much.
    fn numbered(&self, bitmap: &[u8]) -> Option<RoaringBitmap> {
        let places = self.shipment.places(bitmap).filter(|places| !places.is_empty())?;
        let numbers: Option<Vec<u32>> =
            places.iter().map(|place| self.ids.get(place as usize).copied()).collect();
        let mut set: RoaringBitmap = numbers?.into_iter().collect();
        set.optimize();
        Some(set)
    }
}
