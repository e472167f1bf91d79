//! Appends records to the ring of this process. The lock is held throughout.

use crate::kernel::{self, Call};
use crate::layout::{
    ASK_RING_AFTER_FORK, GADGET_QUESTION, MOST_RECORD, PAGE, PATH_MAX, PROCESS_PAGES,
    QUESTION_NUMBER, RECORD, RING_DATA, Record, SEEN, SKIP,
};
use crate::pages::Pages;
use crate::read::Read;
use core::sync::atomic::{AtomicU64, Ordering};

pub(crate) enum Appended {
    /// It is in the ring, or was there already.
    Yes(Seen),
    /// There is nothing to tell.
    Nothing,
    /// tamis must be notified.
    No,
}

/// A read, under the last change before it.
pub(crate) struct Seen {
    hash: u64,
}

impl Seen {
    /// The two places where it can be, the later one first.
    unsafe fn slots<'p>(&self, pages: Pages) -> [&'p AtomicU64; 2] {
        let table = (pages.base + PROCESS_PAGES + PAGE) as *const AtomicU64;
        // The lowest bit is always set.
        let at = (self.hash >> 1) as usize % (SEEN / 2) * 2;
        // SAFETY: within the table, which stays.
        unsafe { [&*table.add(at), &*table.add(at + 1)] }
    }

    /// # Safety
    /// The pages must be there.
    pub(crate) unsafe fn remember(&self, pages: Pages) {
        // SAFETY: as the caller promises.
        let [later, earlier] = unsafe { self.slots(pages) };
        let before = later.load(Ordering::Relaxed);
        if before != self.hash && earlier.load(Ordering::Relaxed) != self.hash {
            earlier.store(before, Ordering::Relaxed);
            later.store(self.hash, Ordering::Relaxed);
        }
    }

    unsafe fn is_remembered(&self, pages: Pages) -> bool {
        // SAFETY: the pages are there.
        let slots = unsafe { self.slots(pages) };
        slots.iter().any(|slot| slot.load(Ordering::Relaxed) == self.hash)
    }
}

/// The first calls of a forked child are not worth a ring: most go on to another program.
const CALLS_BEFORE: u32 = 2;

/// Whether this process has a ring; asks for one if not.
///
/// # Safety
/// The pages must be there and the lock taken.
pub(crate) unsafe fn is_there(pages: Pages, thread: u32) -> bool {
    // SAFETY: as the caller promises.
    unsafe {
        let process = pages.process();
        if (*process).ring != 0 {
            return true;
        }
        if (*process).calls < CALLS_BEFORE {
            (*process).calls += 1;
            return false;
        }
        ask(pages, ASK_RING_AFTER_FORK, thread)
    }
}

/// Asks for a ring.
///
/// # Safety
/// As above.
pub(crate) unsafe fn ask(pages: Pages, question: u64, thread: u32) -> bool {
    let arguments = [question, u64::from(thread), 0, 0, 0, 0];
    let question = Call { number: QUESTION_NUMBER, arguments };
    // SAFETY: as the caller promises.
    unsafe {
        let answer = kernel::call_at(pages.base + GADGET_QUESTION, &question);
        let process = pages.process();
        if answer <= 0 {
            (*process).refused = 1;
            return false;
        }
        (*process).ring = answer as u32;
        (*process).remembers = u32::from(kernel::remembered_thread() == thread);
    }
    true
}

/// # Safety
/// The pages must be there, the lock taken, and the process must have a ring.
pub(crate) unsafe fn append(pages: Pages, thread: u32, read: &Read) -> Appended {
    // SAFETY: as the caller promises; everything is written within MOST_RECORD bytes of free ring.
    unsafe {
        let generation = (*pages.header()).generation.load(Ordering::SeqCst);
        let ring = pages.ring((*pages.process()).ring - 1);
        let data = (ring as usize + PAGE) as *mut u8;
        let head = (*ring).head.load(Ordering::Relaxed);
        let used = head.wrapping_sub((*ring).tail.load(Ordering::Acquire)) as usize;
        let at = head as usize % RING_DATA;
        let to_end = RING_DATA - at;
        let skipped = if to_end < MOST_RECORD { to_end } else { 0 };
        if used > RING_DATA || RING_DATA - used < skipped + MOST_RECORD {
            return Appended::No;
        }
        let record = if skipped > 0 { data } else { data.add(at) };
        let path = record.add(RECORD);
        let Some(length) = write_path(read, path) else { return Appended::No };
        if length == 0 {
            return Appended::Nothing;
        }
        if names_a_process(path, length) {
            return Appended::No;
        }
        let seen = Seen { hash: hash(path, length, read, generation) };
        if seen.is_remembered(pages) {
            return Appended::Yes(seen);
        }
        let whole = (RECORD + length).next_multiple_of(8);
        if skipped >= RECORD {
            let skip = Record { length: skipped as u32, thread, number: SKIP, path: 0, flags: 0 };
            data.add(at).cast::<Record>().write(skip);
        }
        record.cast::<Record>().write(Record {
            length: whole as u32,
            thread,
            number: read.number as u32,
            path: length as u32,
            flags: read.flags,
        });
        (*ring).head.store(head + (skipped + whole) as u64, Ordering::Release);
        Appended::Yes(seen)
    }
}

/// Writes the path, made absolute, and returns its length.
unsafe fn write_path(read: &Read, to: *mut u8) -> Option<usize> {
    // SAFETY: there is room for two paths.
    unsafe {
        let named = to.add(PATH_MAX + 8);
        let length = copy_string(read.path, named)?;
        if length == 0 {
            return Some(0);
        }
        if *named == b'/' {
            core::ptr::copy(named, to, length);
            return Some(length);
        }
        if !read.from_working {
            return None;
        }
        let got = kernel::call(kernel::GETCWD, [to as u64, PATH_MAX as u64, 0, 0, 0, 0]);
        // A directory that cannot be reached has no absolute path.
        if got < 2 || *to != b'/' {
            return None;
        }
        let mut start = got as usize - 1;
        if *to.add(start - 1) != b'/' {
            *to.add(start) = b'/';
            start += 1;
        }
        core::ptr::copy(named, to.add(start), length);
        Some(start + length)
    }
}

/// Copies a string whose address may be wrong. None where it cannot be read or is too long.
unsafe fn copy_string(from: u64, to: *mut u8) -> Option<usize> {
    let mut length = 0;
    while length < PATH_MAX {
        let address = from.wrapping_add(length as u64);
        if !kernel::is_readable(address) {
            return None;
        }
        // Not beyond the page: the next one may not be mapped. Nor beyond the room.
        let end = PATH_MAX.min(length + PAGE - address as usize % PAGE);
        while length < end {
            // SAFETY: the page can be read, and there is room for a path.
            unsafe {
                let byte = (from.wrapping_add(length as u64) as *const u8).read_volatile();
                *to.add(length) = byte;
                if byte == 0 {
                    return Some(length);
                }
            }
            length += 1;
        }
    }
    None
}

/// Whether a name in the path is `proc` or `dev`: what is there may mean another thing to another
/// process.
unsafe fn names_a_process(path: *const u8, length: usize) -> bool {
    // SAFETY: `length` bytes were written.
    let path = unsafe { core::slice::from_raw_parts(path, length) };
    let mut start = 0;
    for (at, &byte) in path.iter().enumerate() {
        if byte == b'/' {
            start = at + 1;
        }
        let last = at + 1 == length || path.get(at + 1) == Some(&b'/');
        if last && matches!(path.get(start..=at), Some(b"proc" | b"dev")) {
            return true;
        }
    }
    false
}

unsafe fn hash(path: *const u8, length: usize, read: &Read, generation: u64) -> u64 {
    let mix = |state: u64, word: u64| {
        let product = u128::from(state ^ word) * 0x9e37_79b9_7f4a_7c15_u128;
        (product as u64) ^ (product >> 64) as u64
    };
    let mut state = mix(generation.wrapping_add(1), read.number << 40 ^ read.flags);
    state = mix(state.wrapping_add(0x517c_c1b7_2722_0a95), length as u64);
    let mut at = 0;
    while at < length {
        let mut word = [0; 8];
        let part = 8.min(length - at);
        for (n, byte) in word.iter_mut().enumerate().take(part) {
            // SAFETY: within the path.
            *byte = unsafe { *path.add(at + n) };
        }
        state = mix(state.wrapping_add(0xd6e8_feb8_6659_fd93), u64::from_le_bytes(word));
        at += part;
    }
    // An empty slot of the table is 0.
    state | 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(path: &str) -> bool {
        // SAFETY: a string of its own length.
        unsafe { names_a_process(path.as_ptr(), path.len()) }
    }

    #[test]
    fn names_that_mean_another_thing_elsewhere() {
        for path in ["/proc", "/proc/self/exe", "/dev/stdin", "/a/../proc/1", "/dev", "//proc/x"] {
            assert!(named(path), "{path}");
        }
        for path in ["/home/process/x", "/a/proc.c", "/a/xproc", "/devel/x", "/", "/a/dev.x"] {
            assert!(!named(path), "{path}");
        }
    }

    fn hashed(path: &str, number: u64, flags: u64, generation: u64) -> u64 {
        let read = Read { number, from_working: true, path: 0, flags };
        // SAFETY: a string of its own length.
        unsafe { hash(path.as_ptr(), path.len(), &read, generation) }
    }

    #[test]
    fn everything_counts_in_the_hash() {
        let one = hashed("/a/b", 262, 0, 1);
        assert_eq!(one, hashed("/a/b", 262, 0, 1));
        for other in [
            hashed("/a/c", 262, 0, 1),
            hashed("/a/b\0", 262, 0, 1),
            hashed("/a/b", 257, 0, 1),
            hashed("/a/b", 262, 0x100, 1),
            hashed("/a/b", 262, 0, 2),
        ] {
            assert_ne!(one, other);
        }
    }
}
