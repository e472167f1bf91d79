//! The probes: one byte of a Java array per method, set by the method itself.
//!
//! Reading and clearing is one atomic exchange per word that is not zero, while the program goes
//! on: a byte that is set at the same moment is seen either now or the next time, never lost.
//!
//! What is not seen: the JVM's compiler may move the store of a method that it put inside a loop of
//! its caller to a place before the loop. A thread that is inside such a loop, without any call,
//! while one test ends and the next begins then marks the method for the first of them only.

use crate::jvm::{Jni, Object};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};
use tamis_wire::Hits;

/// The length of the array in `TamisProbe.java`.
pub(crate) const CAPACITY: u32 = 1 << 20;

#[derive(Debug, Default)]
pub(crate) struct Probes {
    array: OnceLock<Object>,
    next: AtomicU32,
}

impl Probes {
    /// The array, as a global reference; from now on methods can be marked.
    pub(crate) fn use_array(&self, array: Object) {
        let _ = self.array.set(array);
    }

    pub(crate) fn ready(&self) -> bool {
        self.array.get().is_some()
    }

    /// How many ids were taken.
    pub(crate) fn used(&self) -> u32 {
        self.next.load(Ordering::Relaxed)
    }

    /// That many consecutive ids; `None` if they are used up.
    pub(crate) fn take(&self, count: u32) -> Option<u32> {
        let enough = |next: u32| next.checked_add(count).filter(|&end| end <= CAPACITY);
        self.next.fetch_update(Ordering::Relaxed, Ordering::Relaxed, enough).ok()
    }

    /// The probes that were passed since the last time; `None` if the JVM does not let them be read.
    pub(crate) fn drain(&self, jni: Jni) -> Option<Hits> {
        let Some(&array) = self.array.get() else { return Some(Hits::default()) };
        // Ids are taken before their class exists, so all that can be set are below.
        let used = self.next.load(Ordering::Relaxed) as usize;
        let mut ids = Vec::with_capacity(4096);
        jni.with_critical_bytes(array, |start| {
            // SAFETY: the array is longer than `used`, and stays where it is meanwhile.
            unsafe { collect(start, used, |id| ids.push(id)) }
        })?;
        Some(Hits::from_sorted(ids))
    }
}

/// Clears `length` bytes and tells the places of those that were set, in ascending order.
///
/// # Safety
/// As many bytes can be written; everybody else accesses them atomically or as Java does.
unsafe fn collect(start: *mut u8, length: usize, mut set: impl FnMut(u32)) {
    // Where an array starts differs between the JVM's layouts of objects.
    let head = start.align_offset(8).min(length);
    let words = (length - head) / 8;
    let single = |at: usize| {
        // SAFETY: inside the array.
        let byte = unsafe { AtomicU8::from_ptr(start.add(at)) };
        byte.load(Ordering::Relaxed) != 0 && byte.swap(0, Ordering::AcqRel) != 0
    };
    for at in (0..head).filter(|&at| single(at)) {
        set(at as u32);
    }
    for word in 0..words {
        let at = head + word * 8;
        // SAFETY: aligned, and inside the array.
        let eight = unsafe { AtomicU64::from_ptr(start.add(at).cast()) };
        if eight.load(Ordering::Relaxed) != 0 {
            let bytes = eight.swap(0, Ordering::AcqRel).to_ne_bytes();
            for (offset, _) in bytes.iter().enumerate().filter(|&(_, &byte)| byte != 0) {
                set((at + offset) as u32);
            }
        }
    }
    for at in (head + words * 8..length).filter(|&at| single(at)) {
        set(at as u32);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_consecutive_and_end() {
        let probes = Probes::default();
        assert_eq!(probes.take(3), Some(0));
        assert_eq!(probes.take(0), Some(3));
        assert_eq!(probes.take(CAPACITY - 3), Some(3));
        assert_eq!(probes.take(1), None);
        assert_eq!(probes.take(0), Some(CAPACITY));
    }

    #[test]
    fn every_byte_is_told_once_wherever_the_array_starts() {
        for skip in 0..8 {
            for length in [0, 1, 7, 8, 9, 23, 64] {
                let mut room = vec![0_u64; 16];
                // SAFETY: 128 bytes are there, of which at most 71 are used.
                let start = unsafe { room.as_mut_ptr().cast::<u8>().add(skip) };
                let wanted: Vec<u32> = (0..length as u32).filter(|id| id % 3 != 1).collect();
                for &id in &wanted {
                    // SAFETY: as above.
                    unsafe { *start.add(id as usize) = 1 };
                }
                for expected in [wanted, Vec::new()] {
                    let mut ids = Vec::new();
                    // SAFETY: as above.
                    unsafe { collect(start, length, |id| ids.push(id)) };
                    assert_eq!(ids, expected, "{skip} {length}");
                }
            }
        }
    }

    #[test]
    fn nothing_is_lost_while_others_write() {
        let room: Vec<AtomicU64> = (0..64).map(|_| AtomicU64::new(0)).collect();
        let start = room.as_ptr() as usize;
        let mut seen = [0_u32; 512];
        std::thread::scope(|scope| {
            let writer = scope.spawn(move || {
                for id in 0..512 {
                    // SAFETY: inside the room.
                    let byte = unsafe { AtomicU8::from_ptr((start as *mut u8).add(id)) };
                    byte.store(1, Ordering::Relaxed);
                }
            });
            let mut more = true;
            while more {
                more = !writer.is_finished();
                // SAFETY: the room has 512 bytes.
                unsafe { collect(start as *mut u8, 512, |id| seen[id as usize] += 1) };
            }
        });
        assert_eq!(seen, [1; 512]);
    }
}
