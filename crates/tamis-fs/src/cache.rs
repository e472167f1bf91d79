//! The stat cache: what was learnt in this process, in front of the [`Table`] on disk.

use crate::identity::{IDENTITY_BYTES, Identity};
use crate::map::Map;
use crate::table::{Entry, Table};
use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use tamis_core::{Hash, Scheme, Value};
use xxhash_rust::xxh3::xxh3_128;

/// A use is noted on disk only if the last noted one is so many days ago: a run that changes
/// nothing writes nothing.
const NOTE_USE_AFTER_DAYS: u16 = 7;

/// A map of the table pays from so many look-ups on.
const MAP_FROM: usize = 4096;

const SHARDS: usize = 64;
const NS_PER_DAY: i128 = 86_400 * 1_000_000_000;

/// Path, scheme and filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Key(u128);

impl Key {
    pub(crate) fn new(path: &[u8], scheme: Scheme, filter: Hash) -> Self {
        let (code, parameter) = scheme.to_raw();
        let mut bytes = [0; 49];
        bytes[..16].copy_from_slice(&xxh3_128(path).to_le_bytes());
        bytes[16..32].copy_from_slice(&parameter.to_le_bytes());
        bytes[32..48].copy_from_slice(&filter.0.to_le_bytes());
        bytes[48] = code;
        Self(xxh3_128(&bytes))
    }

    fn tag(self) -> u64 {
        self.0 as u64
    }

    fn proof(self, identity: &Identity) -> u128 {
        let mut bytes = [0; 16 + IDENTITY_BYTES];
        bytes[..16].copy_from_slice(&self.0.to_le_bytes());
        bytes[16..].copy_from_slice(&identity.to_bytes());
        xxh3_128(&bytes)
    }
}

/// A value that was taken while the identity was the same, and the size of what it is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Known {
    pub(crate) value: Value,
    pub(crate) size: u64,
}

/// The table on disk, for one batch of look-ups.
#[derive(Debug)]
pub(crate) struct View {
    table: Option<Arc<Table>>,
    map: Option<Map>,
}

#[derive(Debug)]
pub(crate) struct Cache {
    path: Option<PathBuf>,
    table: RwLock<Option<Arc<Table>>>,
    /// Entries that are not on disk, by tag.
    fresh: Vec<Mutex<HashMap<u64, Entry>>>,
    any_fresh: AtomicBool,
}

impl Cache {
    pub(crate) fn open(path: Option<PathBuf>) -> Self {
        let table = path.as_deref().and_then(Table::open).map(Arc::new);
        Self {
            path,
            table: RwLock::new(table),
            fresh: (0..SHARDS).map(|_| Mutex::default()).collect(),
            any_fresh: AtomicBool::new(false),
        }
    }

    /// The table on disk as it is now, for about so many look-ups.
    pub(crate) fn view(&self, lookups: usize) -> View {
        let table = self.table.read().unwrap_or_else(PoisonError::into_inner).clone();
        let map = table.as_ref().filter(|_| lookups >= MAP_FROM).and_then(|t| t.map());
        View { table, map }
    }

    /// What is known about the state `identity` of the key.
    pub(crate) fn get(
        &self,
        view: &View,
        key: Key,
        identity: &Identity,
        now_ns: i128,
    ) -> Option<Known> {
        // After the clock was set back, a change could get the times of an earlier one.
        if identity.ctime_ns > now_ns {
            return None;
        }
        let proof = key.proof(identity);
        let entry = self.find(view, key.tag(), proof)?;
        let value = Value::from_raw(entry.value_tag, entry.value_hash)?;
        let today = day(now_ns);
        if today.saturating_sub(entry.day) >= NOTE_USE_AFTER_DAYS {
            self.insert(Entry { day: today, ..entry });
        }
        Some(Known { value, size: entry.size })
    }

    fn find(&self, view: &View, tag: u64, proof: u128) -> Option<Entry> {
        if self.any_fresh.load(Ordering::Acquire)
            && let Some(entry) = self.shard(tag).get(&tag)
        {
            return Some(*entry).filter(|e| e.proof == proof);
        }
        view.table.as_ref()?.find(tag, view.map.as_ref()).filter(|e| e.proof == proof)
    }

    /// Remembers a value that was taken from `began_ns` on, if `identity` can stand for it.
    pub(crate) fn put(&self, key: Key, identity: &Identity, known: Known, began_ns: i128) {
        if !identity.settled_at(began_ns) {
            return;
        }
        let (value_tag, value_hash) = known.value.to_raw();
        self.insert(Entry {
            tag: key.tag(),
            proof: key.proof(identity),
            value_hash,
            value_tag,
            size: known.size,
            day: day(began_ns),
        });
    }

    fn insert(&self, entry: Entry) {
        self.shard(entry.tag).insert(entry.tag, entry);
        self.any_fresh.store(true, Ordering::Release);
    }

    fn shard(&self, tag: u64) -> MutexGuard<'_, HashMap<u64, Entry>> {
        let shard = &self.fresh[tag as usize % SHARDS];
        shard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Brings what was learnt to the disk. On an error it stays in memory.
    pub(crate) fn flush(&self, now_ns: i128) -> io::Result<()> {
        let Some(path) = self.path.as_deref() else { return Ok(()) };
        if !self.any_fresh.swap(false, Ordering::AcqRel) {
            return Ok(());
        }
        let entries: Vec<Entry> = (0..SHARDS)
            .flat_map(|i| self.shard(i as u64).values().copied().collect::<Vec<_>>())
            .collect();
        self.write(path, &entries, now_ns).inspect_err(|_| {
            self.any_fresh.store(true, Ordering::Release);
        })
    }

    fn write(&self, path: &Path, entries: &[Entry], now_ns: i128) -> io::Result<()> {
        let table = Table::store(path, entries, day(now_ns))?;
        *self.table.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(table));
        for written in entries {
            let mut shard = self.shard(written.tag);
            // Unless another thread has learnt something newer meanwhile.
            if shard.get(&written.tag) == Some(written) {
                shard.remove(&written.tag);
            }
        }
        let left = (0..SHARDS).any(|i| !self.shard(i as u64).is_empty());
        self.any_fresh.fetch_or(left, Ordering::AcqRel);
        Ok(())
    }
}

fn day(now_ns: i128) -> u16 {
    u16::try_from(now_ns / NS_PER_DAY).unwrap_or(0)
}
