//! Puts small packs together, so that whoever comes new needs few requests.
//!
//! Packs are put together when there are many of a size: each record is rewritten a few times in its life. Only packs that
//! this machine believes are touched, and only where its own key is trusted for the scope or signed them all: the new
//! pack stands under this machine's name. Of each test as many records are kept as a store keeps. The old packs
//! stay for a day, for readers that hold an older head.

use crate::error::RemoteError;
use crate::head::{Head, PackEntry, Retired};
use crate::keys::SecretKey;
use crate::place::Deadline;
use crate::remote::{Remote, now_ms};
use crate::scope;
use std::collections::{BTreeSet, HashMap};
use std::time::Duration;
use tamis_core::{Question, TestKey, Value};
use tamis_store::{Kept, Shipment, Store};

/// So many packs of similar size become one.
const MANY: usize = 16;

/// A pack of more bytes stays as it is.
const LARGE: u64 = 32 << 20;

/// How long a pack that no head names any more stays.
pub const GRACE: Duration = Duration::from_secs(24 * 60 * 60);

/// Records of one test that stay, as in a store.
const KEEP: usize = 16;

impl Remote {
    /// Puts packs together where there are many; gives how many. Packs whose day is over are removed.
    pub fn compact(
        &self,
        store: &Store,
        scope: &str,
        key: &SecretKey,
        until: Deadline,
    ) -> Result<usize, RemoteError> {
        let memory = self.memory(store, scope);
        let Some(found) = self.head(scope, &memory, None, until)? else { return Ok(0) };
        if !self.trust.is_trusted(&key.public(), scope) && found.signer != Some(key.public()) {
            return Ok(0);
        }
        self.remove_retired(store, scope, &found.head, key, until)?;
        let Some(group) = group(&found.head.packs) else { return Ok(0) };
        let mut merging = Merging::default();
        let mut gone = BTreeSet::new();
        for pack in &group {
            match self.read_pack(scope, &pack.address, until) {
                Ok((_, shipment)) => {
                    merging.add(&shipment);
                    gone.insert(pack.address.clone());
                }
                // What is not believed is not touched; what is not there cannot be read by anybody.
                Err(RemoteError::Refused(why)) => tracing::warn!(pack = pack.address, why, "left"),
                Err(error) => return Err(error),
            }
        }
        if gone.len() < 2 {
            return Ok(0);
        }
        let oldest = now_ms().saturating_sub(self.settings.max_age.as_millis() as u64);
        let entry = self.upload(scope, &merging.finish(oldest), key, until)?;
        let change = |head: &mut Head| {
            let here = |address: &String| head.packs.iter().any(|pack| pack.address == *address);
            if !gone.iter().all(here) {
                // Somebody else has put some of them together: ours would bring back what is there already.
                return false;
            }
            head.packs.retain(|pack| !gone.contains(&pack.address));
            let since_ms = now_ms();
            let retired = gone.iter().filter(|address| **address != entry.address);
            head.retired.extend(retired.map(|a| Retired { address: a.clone(), since_ms }));
            head.add(std::slice::from_ref(&entry));
            true
        };
        self.change_head(store, scope, key, until, &change)?;
        let mut memory = self.memory(store, scope);
        if gone.iter().all(|address| memory.packs.contains(address)) {
            // All that is in it is here.
            memory.packs.insert(entry.address.clone());
            self.remember(store, scope, &memory);
        }
        Ok(gone.len())
    }

    /// Removes packs that were put into others more than a day ago.
    fn remove_retired(
        &self,
        store: &Store,
        scope: &str,
        head: &Head,
        key: &SecretKey,
        until: Deadline,
    ) -> Result<(), RemoteError> {
        let limit = now_ms().saturating_sub(GRACE.as_millis() as u64);
        let due: BTreeSet<String> = head
            .retired
            .iter()
            .filter(|old| old.since_ms < limit)
            .map(|old| old.address.clone())
            .collect();
        if due.is_empty() {
            return Ok(());
        }
        for address in &due {
            self.place().remove(&scope::pack_name(&self.project, address), until)?;
        }
        let change = |head: &mut Head| {
            let before = head.retired.len();
            head.retired.retain(|old| !due.contains(&old.address));
            head.retired.len() < before
        };
        self.change_head(store, scope, key, until, &change).map(drop)
    }
}

/// Packs that are to be put together: many of a size, the smallest first.
fn group(packs: &[PackEntry]) -> Option<Vec<PackEntry>> {
    let mut small: Vec<PackEntry> = packs.iter().filter(|p| p.bytes < LARGE).cloned().collect();
    small.sort_by_key(|pack| pack.bytes);
    for start in 0..small.len() {
        let size = small[start].bytes.max(4 << 10);
        let alike = small[start..].iter().take_while(|pack| pack.bytes <= size * 8);
        let alike: Vec<PackEntry> = alike.cloned().collect();
        if alike.len() >= MANY {
            return Some(alike);
        }
    }
    None
}

/// Shipments on their way into one.
#[derive(Debug, Default)]
pub struct Merging {
    whole: Shipment,
    places: HashMap<(Question, Value), u32>,
    seen: BTreeSet<(TestKey, u64, u64)>,
    kept: HashMap<(String, String), Kept>,
}

impl Merging {
    /// Adds what is not there yet.
    pub fn add(&mut self, shipment: &Shipment) {
        let mut place = Vec::with_capacity(shipment.observations.len());
        for observed in &shipment.observations {
            let next = self.whole.observations.len() as u32;
            let key = (observed.question.clone(), observed.before);
            let at = *self.places.entry(key).or_insert(next);
            if at == next {
                self.whole.observations.push(observed.clone());
            }
            place.push(at);
        }
        let moved = |bitmap: &[u8]| {
            let places = shipment.places(bitmap)?;
            let mut set: roaring::RoaringBitmap =
                places.iter().filter_map(|at| place.get(at as usize)).collect();
            set.optimize();
            let mut bytes = Vec::with_capacity(set.serialized_size());
            set.serialize_into(&mut bytes).ok()?;
            Some(bytes)
        };
        for record in &shipment.records {
            let run = &record.run;
            if !self.seen.insert((run.test.clone(), run.started_ms, run.wall_us)) {
                continue;
            }
            let Some(before) = moved(&record.before) else { continue };
            let after = match &record.after {
                Some(after) => match moved(after) {
                    Some(after) => Some(after),
                    None => continue,
                },
                None => None,
            };
            let at = |n: u32| place.get(n as usize).copied();
            let changes =
                record.changes.iter().filter_map(|&(a, b)| Some((at(a)?, at(b)?))).collect();
            let run = run.clone();
            self.whole.records.push(tamis_store::ShippedRecord { run, before, after, changes });
        }
        for kept in &shipment.kept {
            self.kept.insert((kept.kind.clone(), kept.name.clone()), kept.clone());
        }
    }

    /// All of it, less what began before `oldest_ms` and what is too much of one test. What no record needs any
    /// more goes with it.
    pub fn finish(mut self, oldest_ms: u64) -> Shipment {
        let mut records = std::mem::take(&mut self.whole.records);
        records.sort_by(|a, b| {
            b.run.started_ms.cmp(&a.run.started_ms).then_with(|| a.run.test.cmp(&b.run.test))
        });
        let mut counts: HashMap<TestKey, usize> = HashMap::new();
        records.retain(|record| {
            let count = counts.entry(record.run.test.clone()).or_default();
            *count += 1;
            *count <= KEEP && record.run.started_ms >= oldest_ms
        });
        self.whole.records = records;
        let mut kept: Vec<Kept> = self.kept.into_values().collect();
        kept.sort();
        self.whole.kept = kept;
        without_unused(&self.whole)
    }
}

/// The same with only the observations that a record has, in the order of their questions.
fn without_unused(whole: &Shipment) -> Shipment {
    let mut used = roaring::RoaringBitmap::new();
    for record in &whole.records {
        for bitmap in std::iter::once(&record.before).chain(&record.after) {
            used |= whole.places(bitmap).unwrap_or_default();
        }
    }
    let mut order: Vec<u32> = used.iter().collect();
    order.sort_by(|&a, &b| {
        let question = |at: u32| &whole.observations[at as usize].question;
        question(a).cmp(question(b))
    });
    filtered(whole, &order)
}

/// The records of a shipment, with the observations in this order alone.
fn filtered(whole: &Shipment, order: &[u32]) -> Shipment {
    let new: HashMap<u32, u32> =
        order.iter().enumerate().map(|(at, &old)| (old, at as u32)).collect();
    let moved = |bitmap: &[u8]| {
        let places = whole.places(bitmap).unwrap_or_default();
        let set: roaring::RoaringBitmap = places.iter().filter_map(|at| new.get(&at)).collect();
        let mut bytes = Vec::with_capacity(set.serialized_size());
        // Writing to a vector does not fail; a cut bitmap is not taken in.
        let _ = set.serialize_into(&mut bytes);
        bytes
    };
    let mut records = whole.records.clone();
    for record in &mut records {
        record.before = moved(&record.before);
        record.after = record.after.as_deref().map(moved);
        let at = |n: u32| new.get(&n).copied();
        record.changes =
            record.changes.iter().filter_map(|&(a, b)| Some((at(a)?, at(b)?))).collect();
    }
    let observations = order.iter().map(|&at| whole.observations[at as usize].clone()).collect();
    Shipment { observations, records, kept: whole.kept.clone() }
}
