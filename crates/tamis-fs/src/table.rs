//! The stat cache on disk: one flat file, read by position.
//!
//! ```text
//! 0     magic, version, number of buckets, checksum      never changed in place
//! 64    slots in use, day of the last sweep, checksum    changed in place under the lock
//! 4096  buckets of 8 slots of 64 bytes
//! ```
//! An entry belongs in the bucket that its tag says, or, when that is full, in one of the next.
//! Looking up reads one bucket, whatever the size of the file: opening a cache of a million entries
//! costs nothing.
//!
//! A large batch of look-ups maps the file for its duration, a few of them use `pread`.
//!
//! Nothing here needs to be durable, only harmless. Each slot has its own checksum: a slot that is
//! damaged, half written or overwritten while we read it is not there. When all buckets that an
//! entry may be in are full, the least used entry there is lost.
//!
//! Writers hold a lock file. Few new entries are written in place; when the table gets full, or
//! once a week to drop what was not used for long, a new file is written and renamed over it.

use crate::filesystem;
use crate::map::Map;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use xxhash_rust::xxh3::xxh3_64;

/// Raised with every change of the format *and* of what a scheme's hash means.
/// 2: fingerprints are BLAKE3.
const VERSION: u32 = 2;
const MAGIC: &[u8; 16] = b"tamis stat cache";

const HEADER: u64 = 4096;
const FIXED: usize = 64;
const STATUS: usize = 32;
const SLOT: usize = 64;
const SLOTS_PER_BUCKET: usize = 8;
const BUCKET: usize = SLOT * SLOTS_PER_BUCKET;
/// Buckets that an entry may be in, from its own on.
const WINDOW: u64 = 32;
const MIN_BUCKETS: u64 = 64;

/// An entry that was not used for so many days is dropped.
const KEEP_DAYS: u16 = 60;
const SWEEP_DAYS: u16 = 7;

/// How long to wait for another process that is writing.
const LOCK_PATIENCE: Duration = Duration::from_secs(1);

/// What is known of one path under one scheme.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Finds the entry: part of the hash of path, scheme and filter.
    pub(crate) tag: u64,
    /// Proves it: hash of path, scheme, filter and identity.
    pub(crate) proof: u128,
    pub(crate) value_hash: u128,
    pub(crate) value_tag: u8,
    /// Size of the file, or number of names.
    pub(crate) size: u64,
    /// Day of the last use, since the Unix epoch.
    pub(crate) day: u16,
}

impl Entry {
    fn to_slot(self) -> [u8; SLOT] {
        let mut slot = [0; SLOT];
        slot[..8].copy_from_slice(&self.tag.to_le_bytes());
        slot[8..24].copy_from_slice(&self.proof.to_le_bytes());
        slot[24..40].copy_from_slice(&self.value_hash.to_le_bytes());
        slot[40..48].copy_from_slice(&self.size.to_le_bytes());
        slot[48..50].copy_from_slice(&self.day.to_le_bytes());
        slot[50] = self.value_tag;
        seal(&mut slot);
        slot
    }

    /// `None` if the slot is empty or damaged.
    fn from_slot(slot: &[u8]) -> Option<Self> {
        is_sealed(slot).then(|| Self {
            tag: u64::from_le_bytes(part(slot, 0)),
            proof: u128::from_le_bytes(part(slot, 8)),
            value_hash: u128::from_le_bytes(part(slot, 24)),
            size: u64::from_le_bytes(part(slot, 40)),
            day: u16::from_le_bytes(part(slot, 48)),
            value_tag: slot[50],
        })
    }

    fn expired(&self, today: u16) -> bool {
        today.saturating_sub(self.day) > KEEP_DAYS
    }
}

fn part<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut found = [0; N];
    found.copy_from_slice(&bytes[at..at + N]);
    found
}

/// Puts the checksum of all that stands before it into the last eight bytes.
fn seal(block: &mut [u8]) {
    let end = block.len() - 8;
    let sum = xxh3_64(&block[..end]);
    block[end..].copy_from_slice(&sum.to_le_bytes());
}

fn is_sealed(block: &[u8]) -> bool {
    let end = block.len() - 8;
    xxh3_64(&block[..end]).to_le_bytes() == block[end..]
}

fn is_empty(slot: &[u8]) -> bool {
    slot.iter().all(|&b| b == 0)
}

/// What changes in the header.
#[derive(Debug, Clone, Copy)]
struct Status {
    /// Slots that are not empty.
    used: u64,
    swept: u16,
}

impl Status {
    fn to_bytes(self) -> [u8; STATUS] {
        let mut bytes = [0; STATUS];
        bytes[..8].copy_from_slice(&self.used.to_le_bytes());
        bytes[8..10].copy_from_slice(&self.swept.to_le_bytes());
        seal(&mut bytes);
        bytes
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        is_sealed(bytes).then(|| Self {
            used: u64::from_le_bytes(part(bytes, 0)),
            swept: u16::from_le_bytes(part(bytes, 8)),
        })
    }
}

/// An open cache file.
#[derive(Debug)]
pub(crate) struct Table {
    file: File,
    buckets: u64,
}

impl Table {
    /// `None` where there is no cache file that we understand.
    pub(crate) fn open(path: &Path) -> Option<Self> {
        Self::open_with(path, OpenOptions::new().read(true))
    }

    fn open_with(path: &Path, options: &mut OpenOptions) -> Option<Self> {
        let file = options.custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC).open(path).ok()?;
        let metadata = file.metadata().ok()?;
        let mut fixed = [0; FIXED];
        file.read_exact_at(&mut fixed, 0).ok()?;
        let buckets = u64::from_le_bytes(part(&fixed, 24));
        let understood = metadata.is_file()
            && is_sealed(&fixed)
            && fixed[..16] == MAGIC[..]
            && u32::from_le_bytes(part(&fixed, 16)) == VERSION
            && buckets.checked_mul(BUCKET as u64).and_then(|n| n.checked_add(HEADER))
                == Some(metadata.len())
            && buckets > 0;
        understood.then_some(Self { file, buckets })
    }

    /// The whole file in memory, where that is safe.
    pub(crate) fn map(&self) -> Option<Map> {
        let length = usize::try_from(HEADER + self.buckets * BUCKET as u64).ok()?;
        filesystem::is_local(&self.file).then(|| Map::new(&self.file, length))?
    }

    /// Looks an entry up, in the map if there is one.
    pub(crate) fn find(&self, tag: u64, map: Option<&Map>) -> Option<Entry> {
        let mut bucket = [0; BUCKET];
        for step in 0..WINDOW {
            match map {
                Some(map) if map.copy(self.offset(tag, step) as usize, &mut bucket) => {}
                _ => self.read_bucket(tag, step, &mut bucket).ok()?,
            }
            for slot in bucket.chunks_exact(SLOT) {
                if part::<8>(slot, 0) == tag.to_le_bytes()
                    && let Some(entry) = Entry::from_slot(slot)
                {
                    return Some(entry);
                }
            }
            if bucket.chunks_exact(SLOT).any(is_empty) {
                break;
            }
        }
        None
    }

    fn offset(&self, tag: u64, step: u64) -> u64 {
        HEADER + (home(tag, self.buckets) + step) % self.buckets * BUCKET as u64
    }

    fn read_bucket(&self, tag: u64, step: u64, bucket: &mut [u8; BUCKET]) -> io::Result<()> {
        self.file.read_exact_at(bucket, self.offset(tag, step))
    }

    fn status(&self) -> Option<Status> {
        let mut bytes = [0; STATUS];
        self.file.read_exact_at(&mut bytes, FIXED as u64).ok()?;
        Status::from_bytes(&bytes)
    }

    /// Adds entries to the cache at `path`, with what other processes put there meanwhile, and
    /// opens it.
    pub(crate) fn store(path: &Path, entries: &[Entry], today: u16) -> io::Result<Self> {
        if let Some(folder) = path.parent() {
            tamis_private::make_folder(folder)?;
        }
        let _lock = lock(&with_suffix(path, ".lock"))?;
        tamis_private::tighten(path);
        let current = Self::open_with(path, OpenOptions::new().read(true).write(true));
        let Some(table) = current else {
            return Self::rebuild(path, None, entries, today);
        };
        match table.status() {
            Some(status) if table.has_room(status, entries.len(), today) => {
                table.insert_in_place(status, entries, today)?;
                Ok(table)
            }
            _ => Self::rebuild(path, Some(&table), entries, today),
        }
    }

    fn has_room(&self, status: Status, more: usize, today: u16) -> bool {
        let slots = self.buckets * SLOTS_PER_BUCKET as u64;
        // A clock that was in the future must not stop the sweeps for ever.
        let swept_lately = status.swept <= today && today - status.swept < SWEEP_DAYS;
        swept_lately && status.used.saturating_add(more as u64) <= slots / 4 * 3
    }

    fn insert_in_place(&self, mut status: Status, entries: &[Entry], today: u16) -> io::Result<()> {
        // In the order of the file.
        let mut entries: Vec<&Entry> = entries.iter().collect();
        entries.sort_unstable_by_key(|e| e.tag);
        for entry in entries {
            let (offset, was_empty) = self.place_for(entry, today)?;
            self.file.write_all_at(&entry.to_slot(), offset)?;
            status.used += u64::from(was_empty);
        }
        self.file.write_all_at(&status.to_bytes(), FIXED as u64)
    }

    /// Where an entry goes, and whether that slot was empty.
    fn place_for(&self, entry: &Entry, today: u16) -> io::Result<(u64, bool)> {
        let mut window = Window::default();
        let mut bucket = [0; BUCKET];
        for step in 0..WINDOW.min(self.buckets) {
            self.read_bucket(entry.tag, step, &mut bucket)?;
            for (i, slot) in bucket.chunks_exact(SLOT).enumerate() {
                let offset = self.offset(entry.tag, step) + (i * SLOT) as u64;
                if window.offer(entry.tag, slot, offset, today) {
                    return Ok(window.chosen());
                }
            }
        }
        Ok(window.chosen())
    }

    /// Writes a new table with the live entries of the old one and the new ones.
    fn rebuild(path: &Path, old: Option<&Self>, new: &[Entry], today: u16) -> io::Result<Self> {
        let mut entries = match old {
            Some(old) => old.live_entries(today)?,
            None => Vec::new(),
        };
        entries.extend_from_slice(new);
        // Of two with one tag the later counts; the sort is stable.
        entries.sort_by_key(|e| e.tag);
        entries.reverse();
        entries.dedup_by_key(|e| e.tag);
        let image = image(&entries, today);
        let temporary = with_suffix(path, ".new");
        let written = tamis_private::write(&temporary, &image)
            .and_then(|()| std::fs::rename(&temporary, path));
        if let Err(error) = written {
            // Half a file is of no use, least of all on a full disk.
            let _gone = std::fs::remove_file(&temporary);
            return Err(error);
        }
        Self::open(path).ok_or_else(|| {
            io::Error::other(format!("{}: the cache file was replaced by others", path.display()))
        })
    }

    fn live_entries(&self, today: u16) -> io::Result<Vec<Entry>> {
        let mut entries = Vec::new();
        let mut chunk = vec![0; BUCKET * 2048];
        let end = HEADER + self.buckets * BUCKET as u64;
        let mut at = HEADER;
        while at < end {
            let size = chunk.len().min((end - at) as usize);
            self.file.read_exact_at(&mut chunk[..size], at)?;
            let found = chunk[..size].chunks_exact(SLOT).filter_map(Entry::from_slot);
            entries.extend(found.filter(|e| !e.expired(today)));
            at += size as u64;
        }
        Ok(entries)
    }
}

fn home(tag: u64, buckets: u64) -> u64 {
    ((u128::from(tag) * u128::from(buckets)) >> 64) as u64
}

/// The bytes of a whole table, filled to three fifths.
fn image(entries: &[Entry], today: u16) -> Vec<u8> {
    let slots = entries.len() as u64 * 5 / 3;
    let buckets = slots.div_ceil(SLOTS_PER_BUCKET as u64).max(MIN_BUCKETS);
    let mut image = vec![0; HEADER as usize + buckets as usize * BUCKET];
    let mut used = 0;
    for entry in entries {
        let mut window = Window::default();
        'window: for step in 0..WINDOW {
            let start =
                HEADER as usize + ((home(entry.tag, buckets) + step) % buckets) as usize * BUCKET;
            for (i, slot) in image[start..start + BUCKET].chunks_exact(SLOT).enumerate() {
                if window.offer(entry.tag, slot, (start + i * SLOT) as u64, today) {
                    break 'window;
                }
            }
        }
        let (offset, was_empty) = window.chosen();
        image[offset as usize..][..SLOT].copy_from_slice(&entry.to_slot());
        used += u64::from(was_empty);
    }
    let mut fixed = [0; FIXED];
    fixed[..16].copy_from_slice(MAGIC);
    fixed[16..20].copy_from_slice(&VERSION.to_le_bytes());
    fixed[24..32].copy_from_slice(&buckets.to_le_bytes());
    seal(&mut fixed);
    image[..FIXED].copy_from_slice(&fixed);
    image[FIXED..FIXED + STATUS].copy_from_slice(&Status { used, swept: today }.to_bytes());
    image
}

/// Chooses the slot for an entry while its window is looked through.
#[derive(Default)]
struct Window {
    /// Offset, whether it was empty, and how gladly it is given away.
    best: Option<(u64, bool, u32)>,
}

impl Window {
    /// Takes a slot into account; true when there is no need to look further.
    fn offer(&mut self, tag: u64, slot: &[u8], offset: u64, today: u16) -> bool {
        let empty = is_empty(slot);
        let (last, worth) = match Entry::from_slot(slot) {
            // A second entry with this tag must not stay behind the first.
            Some(entry) if entry.tag == tag => {
                self.best = Some((offset, false, 0));
                return true;
            }
            Some(entry) if entry.expired(today) => (false, 1),
            Some(entry) => (false, 2 + u32::from(entry.day)),
            // Entries are never removed, so what is looked for is not behind an empty slot.
            None => (empty, 1),
        };
        if self.best.is_none_or(|(_, _, least)| worth < least) {
            self.best = Some((offset, empty, worth));
        }
        last
    }

    fn chosen(&self) -> (u64, bool) {
        // Every window has slots, so that something was offered.
        self.best.map_or((HEADER, false), |(offset, empty, _)| (offset, empty))
    }
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// Takes the lock that all writers hold; it ends with the returned file.
fn lock(path: &Path) -> io::Result<File> {
    let file = tamis_private::create_file(path)?;
    let deadline = Instant::now() + LOCK_PATIENCE;
    loop {
        // SAFETY: the descriptor is open for as long as `file` lives.
        if unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } == 0 {
            return Ok(file);
        }
        let error = io::Error::last_os_error();
        let busy = matches!(error.raw_os_error(), Some(libc::EWOULDBLOCK | libc::EINTR));
        if !busy || Instant::now() >= deadline {
            return Err(error);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TODAY: u16 = 20_000;

    fn entry(tag: u64, day: u16) -> Entry {
        let proof = u128::from(tag) << 7 | 1;
        Entry { tag, proof, value_hash: !proof, value_tag: 5, size: tag / 3, day }
    }

    /// Spread over the whole range, as hashes are.
    fn entries(count: u64, day: u16) -> Vec<Entry> {
        (1..=count).map(|i| entry(i.wrapping_mul(0x9e37_79b9_7f4a_7c15), day)).collect()
    }

    fn found(table: &Table, entries: &[Entry]) -> usize {
        let map = table.map();
        let by_map = entries.iter().filter(|e| table.find(e.tag, map.as_ref()) == Some(**e));
        let by_position = entries.iter().filter(|e| table.find(e.tag, None) == Some(**e)).count();
        assert_eq!(by_map.count(), by_position);
        by_position
    }

    #[test]
    fn everything_is_found_while_the_table_grows() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("stat");
        let all = entries(3000, TODAY);
        for (i, part) in all.chunks(70).enumerate() {
            let table = Table::store(&path, part, TODAY).unwrap();
            let until = (i * 70 + part.len()).min(all.len());
            assert_eq!(found(&table, &all[..until]), until);
        }
        let size = std::fs::metadata(&path).unwrap().len();
        assert!(size < HEADER + 3000 * 120, "{size}");
    }

    #[test]
    fn a_newer_entry_takes_the_place_of_an_older() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("stat");
        Table::store(&path, &entries(100, TODAY), TODAY).unwrap();
        let changed = Entry { value_hash: 7, ..entry(0x9e37_79b9_7f4a_7c15, TODAY) };
        for today in [TODAY, TODAY + SWEEP_DAYS] {
            let table = Table::store(&path, &[changed], today).unwrap();
            assert_eq!(table.find(changed.tag, None), Some(changed));
            assert_eq!(table.status().unwrap().used, 100);
        }
    }

    #[test]
    fn what_was_not_used_for_long_is_dropped() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("stat");
        let (old, young) = (entries(2000, TODAY), entries(2100, TODAY + KEEP_DAYS));
        Table::store(&path, &old, TODAY).unwrap();
        let before = std::fs::metadata(&path).unwrap().len();
        let table = Table::store(&path, &young[2000..], TODAY + KEEP_DAYS).unwrap();
        assert_eq!((found(&table, &old), found(&table, &young[2000..])), (2000, 100));
        let later = TODAY + KEEP_DAYS + SWEEP_DAYS;
        let table = Table::store(&path, &[], later).unwrap();
        assert_eq!((found(&table, &old), found(&table, &young[2000..])), (0, 100));
        assert!(std::fs::metadata(&path).unwrap().len() < before);
    }

    #[test]
    fn full_buckets_lose_the_least_used() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("stat");
        let window = WINDOW * SLOTS_PER_BUCKET as u64;
        // All in the first bucket, which only a forger could reach with hashes.
        let mut crowd: Vec<Entry> = (1..=window).map(|tag| entry(tag, TODAY)).collect();
        crowd[17].day -= 5;
        let table = Table::store(&path, &crowd, TODAY).unwrap();
        assert_eq!(found(&table, &crowd), crowd.len());
        let late = entry(window + 1, TODAY);
        let table = Table::store(&path, &[late], TODAY).unwrap();
        assert_eq!(table.find(late.tag, None), Some(late));
        assert_eq!(table.find(crowd[17].tag, None), None);
        assert_eq!(found(&table, &crowd), crowd.len() - 1);
    }

    #[test]
    fn a_lock_that_stays_held_is_an_error_and_not_a_hang() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("stat");
        let _held = lock(&with_suffix(&path, ".lock")).unwrap();
        assert!(Table::store(&path, &entries(1, TODAY), TODAY).is_err());
        assert!(Table::open(&path).is_none());
    }

    proptest! {
        #[test]
        fn a_slot_survives_or_is_seen_to_be_damaged(
            tag: u64, proof: u128, value_hash: u128, value_tag: u8, size: u64, day: u16,
            at in 0..SLOT, by in 1..=255u8,
        ) {
            let entry = Entry { tag, proof, value_hash, value_tag, size, day };
            let mut slot = entry.to_slot();
            prop_assert_eq!(Entry::from_slot(&slot), Some(entry));
            slot[at] ^= by;
            prop_assert_eq!(Entry::from_slot(&slot), None);
        }

        #[test]
        fn foreign_bytes_are_no_table(bytes in prop::collection::vec(any::<u8>(), 0..9000)) {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("stat");
            std::fs::write(&path, &bytes).unwrap();
            prop_assert!(Table::open(&path).is_none());
            let one = entries(1, TODAY);
            let table = Table::store(&path, &one, TODAY).unwrap();
            prop_assert_eq!(found(&table, &one), 1);
        }
    }
}
