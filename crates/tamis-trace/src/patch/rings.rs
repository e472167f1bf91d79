//! Who has which ring, and what is in them.

use super::memory::Memory;
use crate::event::{Action, Blind, Event, Facet, OpenHow, Sink, Timing};
use crate::proc::{family, is_alive};
use std::sync::atomic::Ordering;
use std::time::{SystemTime, UNIX_EPOCH};
use tamis_patch::layout::{ASK_RING_AFTER_FORK, RECORD, RING_DATA, RINGS, Record, SKIP};

#[derive(Debug)]
pub(crate) struct Rings {
    /// The process of each ring, and how far we have read it.
    slots: Vec<Option<Slot>>,
    /// Look for processes that have ended when as many rings are in use.
    sweep_at: usize,
    /// When everything had been read last: what is found now was written later.
    since_ns: u64,
    path: Vec<u8>,
}

#[derive(Debug, Clone, Copy)]
struct Slot {
    process: u32,
    tail: u64,
}

const FIRST_SWEEP: usize = 16;

impl Rings {
    pub(crate) fn new() -> Self {
        Self { slots: Vec::new(), sweep_at: FIRST_SWEEP, since_ns: now_ns(), path: Vec::new() }
    }

    /// The answer to a process that asks for a ring. Everything must have been read.
    ///
    /// `named` is the number by which the thread knows itself: in a name space of its own it is
    /// another, and its records would speak of somebody else.
    pub(crate) fn claim(
        &mut self,
        memory: &mut Memory,
        question: u64,
        thread: u32,
        named: u64,
    ) -> i64 {
        let no = -i64::from(libc::EPERM);
        if named != u64::from(thread) {
            return no;
        }
        let mut process = thread;
        if question == ASK_RING_AFTER_FORK {
            match family(thread) {
                // Who shares its parent's memory would share the ring as well, and leave it.
                Some((own, parent)) if !share_memory(own, parent) => process = own,
                _ => return no,
            }
        }
        if self.slots.iter().flatten().count() >= self.sweep_at {
            self.sweep();
        }
        // A program that is started in a process replaces the one before.
        let same = self.slots.iter().position(|s| s.is_some_and(|s| s.process == process));
        let free = same.or_else(|| self.slots.iter().position(Option::is_none));
        let index = free.unwrap_or(self.slots.len());
        if index >= RINGS || memory.allocate_ring(index).is_err() {
            return no;
        }
        let (ring, _) = memory.ring(index);
        ring.head.store(0, Ordering::Relaxed);
        ring.tail.store(0, Ordering::Release);
        let slot = Some(Slot { process, tail: 0 });
        match self.slots.get_mut(index) {
            Some(place) => *place = slot,
            None => self.slots.push(slot),
        }
        index as i64 + 1
    }

    /// Frees the rings of processes that have ended. Everything must have been read.
    fn sweep(&mut self) {
        for slot in &mut self.slots {
            if slot.is_some_and(|s| !is_alive(s.process)) {
                *slot = None;
            }
        }
        let used = self.slots.iter().flatten().count();
        self.sweep_at = FIRST_SWEEP.max(2 * used).min(RINGS);
    }

    /// Reports everything that is in the rings.
    pub(crate) fn drain(&mut self, memory: &Memory, sink: &mut dyn Sink) {
        let began_ns = now_ns();
        for index in 0..self.slots.len() {
            let Some(slot) = self.slots[index] else { continue };
            let (ring, data) = memory.ring(index);
            let head = ring.head.load(Ordering::Acquire);
            if head == slot.tail {
                continue;
            }
            let tail = match self.read(slot.tail, head, data, sink) {
                Some(()) => head,
                // The process has written over it; what it did is not known.
                None => {
                    let action = Action::Blind(Blind::Lost(1));
                    sink.event(Event { thread: slot.process, timing: Timing::Before, action });
                    ring.head.load(Ordering::Acquire)
                }
            };
            ring.tail.store(tail, Ordering::Release);
            self.slots[index] = Some(Slot { tail, ..slot });
        }
        self.since_ns = began_ns;
    }

    /// Reports the records between two places. None where they make no sense.
    fn read(
        &mut self,
        mut tail: u64,
        head: u64,
        data: *const u8,
        sink: &mut dyn Sink,
    ) -> Option<()> {
        let timing = Timing::Logged { since_ns: self.since_ns };
        if head.wrapping_sub(tail) > RING_DATA as u64 {
            return None;
        }
        while tail != head {
            let at = tail as usize % RING_DATA;
            let to_end = RING_DATA - at;
            if to_end < RECORD {
                tail += to_end as u64;
                continue;
            }
            // SAFETY: within the ring; any bytes are a record.
            let record = unsafe { data.add(at).cast::<Record>().read_unaligned() };
            let (length, path) = (record.length as usize, record.path as usize);
            let fits = length >= RECORD
                && length.is_multiple_of(8)
                && length <= to_end
                && length as u64 <= head - tail
                && path <= length - RECORD;
            if !fits {
                return None;
            }
            tail += length as u64;
            if record.number == SKIP {
                continue;
            }
            self.path.clear();
            // SAFETY: within the ring, as was just checked.
            let bytes = unsafe { std::slice::from_raw_parts(data.add(at + RECORD), path) };
            self.path.extend_from_slice(bytes);
            let action = action(&record, &self.path)?;
            let rights = rights(&record, &action);
            sink.event(Event { thread: record.thread, timing, action });
            if let Some(action) = rights {
                sink.event(Event { thread: record.thread, timing, action });
            }
        }
        Some(())
    }
}

/// What a record of `access` asks besides. Its mode is not in the log: it may be about writing.
fn rights<'p>(record: &Record, action: &Action<'p>) -> Option<Action<'p>> {
    let accesses = [libc::SYS_access, libc::SYS_faccessat, libc::SYS_faccessat2];
    match action {
        Action::Stat { path, follow } if accesses.contains(&i64::from(record.number)) => {
            Some(Action::Inspect { path: path.clone(), follow: *follow, facet: Facet::Rights })
        }
        _ => None,
    }
}

/// What a record says.
fn action<'p>(record: &Record, path: &'p [u8]) -> Option<Action<'p>> {
    if path.first() != Some(&b'/') {
        return None;
    }
    let path = path.into();
    let no_follow = record.flags & libc::AT_SYMLINK_NOFOLLOW as u64 != 0;
    Some(match i64::from(record.number) {
        libc::SYS_open | libc::SYS_openat => {
            Action::Open { path, how: OpenHow::from_flags(record.flags) }
        }
        libc::SYS_newfstatat | libc::SYS_statx | libc::SYS_faccessat2 => {
            Action::Stat { path, follow: !no_follow }
        }
        libc::SYS_stat | libc::SYS_access | libc::SYS_faccessat => {
            Action::Stat { path, follow: true }
        }
        libc::SYS_lstat => Action::Stat { path, follow: false },
        libc::SYS_readlink | libc::SYS_readlinkat => Action::ReadLink { path },
        _ => return None,
    })
}

/// Whether two processes share their memory; yes where that is not known.
fn share_memory(one: u32, other: u32) -> bool {
    const KCMP_VM: libc::c_long = 1;
    // SAFETY: compares two processes.
    let order = unsafe {
        libc::syscall(
            libc::SYS_kcmp,
            libc::c_long::from(one),
            libc::c_long::from(other),
            KCMP_VM,
            0,
            0,
        )
    };
    order <= 0
}

fn now_ns() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use tamis_patch::layout::MOST_RECORD;

    /// A ring's data with these records from its start on, and where they end.
    fn ring(records: &[(Record, &[u8])]) -> (Vec<u8>, u64) {
        let mut data = Vec::new();
        for (record, path) in records {
            // SAFETY: plain data.
            let bytes = unsafe {
                std::slice::from_raw_parts(std::ptr::from_ref(record).cast::<u8>(), RECORD)
            };
            data.extend_from_slice(bytes);
            data.extend_from_slice(path);
            data.resize(data.len().next_multiple_of(8), 0);
        }
        let end = data.len() as u64;
        data.resize(RING_DATA, 0);
        (data, end)
    }

    fn record(number: i64, path: &[u8], flags: u64) -> Record {
        let length = (RECORD + path.len()).next_multiple_of(8) as u32;
        Record { length, thread: 7, number: number as u32, path: path.len() as u32, flags }
    }

    fn read(data: &[u8], tail: u64, head: u64) -> (Option<()>, Vec<String>) {
        let mut seen = Vec::new();
        let mut sink = |event: Event<'_>| seen.push(format!("{:?}", event.action));
        let done = Rings::new().read(tail, head, data.as_ptr(), &mut sink);
        (done, seen)
    }

    #[test]
    fn records_are_read_in_order() {
        let (data, end) = ring(&[
            (record(libc::SYS_openat, b"/a", libc::O_CLOEXEC as u64), b"/a"),
            (record(libc::SYS_lstat, b"/b", 0), b"/b"),
        ]);
        let (done, seen) = read(&data, 0, end);
        assert!(done.is_some() && seen.len() == 2);
        assert!(seen[0].starts_with("Open") && seen[1].contains("follow: false"), "{seen:?}");
    }

    #[test]
    fn the_end_of_the_ring_is_skipped() {
        let (mut data, end) = ring(&[(record(libc::SYS_stat, b"/a", 0), b"/a")]);
        let start = (RING_DATA - 16) as u64;
        assert_eq!(read(&data, start, RING_DATA as u64 + end).1.len(), 1);
        let skip = Record { length: 400, thread: 7, number: SKIP, path: 0, flags: 0 };
        let (skipped, _) = ring(&[(skip, b"")]);
        data[RING_DATA - 400..RING_DATA - 400 + RECORD].copy_from_slice(&skipped[..RECORD]);
        let start = (RING_DATA - 400) as u64;
        assert_eq!(read(&data, start, RING_DATA as u64 + end).1.len(), 1);
    }

    #[test]
    fn nonsense_ends_the_reading() {
        let good = record(libc::SYS_stat, b"/a", 0);
        for bad in [
            Record { length: 0, ..good },
            Record { length: 33, ..good },
            Record { length: 1 << 20, ..good },
            Record { path: 4000, ..good },
            Record { number: 1, ..good },
            Record { path: 0, ..good },
        ] {
            let (data, end) = ring(&[(bad, b"/a")]);
            assert_eq!(read(&data, 0, end.max(32)).0, None, "{bad:?}");
        }
        let (data, end) = ring(&[(good, b"/a")]);
        assert_eq!(read(&data, end, 0).0, None);
        assert_eq!(read(&data, 0, RING_DATA as u64 + 8).0, None);
    }

    #[test]
    fn a_record_fits_several_times() {
        const { assert!(4 * MOST_RECORD < RING_DATA) };
    }

    #[test]
    fn threads_of_this_process_share_its_memory() {
        let own = std::process::id();
        let (process, parent) = family(own).unwrap();
        assert_eq!(process, own);
        assert!(share_memory(own, own));
        assert!(parent == 0 || !share_memory(own, parent) || cfg!(not(target_os = "linux")));
    }
}
