//! A file in memory for the time of one large batch of look-ups.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

/// A shared mapping of the first bytes of a file, which other processes may be writing to.
///
/// Reading it after the file was truncated would end the process. So a map is for local files, of
/// which no program of ours cuts anything off, and lives as short as possible.
#[derive(Debug)]
pub(crate) struct Map {
    words: NonNull<AtomicU64>,
    length: usize,
}

// SAFETY: the memory is only read, by atomic loads, and stays mapped until the drop.
unsafe impl Send for Map {}
// SAFETY: as above.
unsafe impl Sync for Map {}

impl Map {
    /// `None` if that many bytes cannot be mapped.
    pub(crate) fn new(file: &File, length: usize) -> Option<Self> {
        let (protection, flags, fd) = (libc::PROT_READ, libc::MAP_SHARED, file.as_raw_fd());
        // SAFETY: a new mapping at a place of the system's choice touches nothing of ours.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), length, protection, flags, fd, 0) };
        if start == libc::MAP_FAILED {
            return None;
        }
        let map = Self { words: NonNull::new(start)?.cast(), length };
        // After it was mapped, so that a shorter file is noticed.
        let still_there = file.metadata().is_ok_and(|m| m.len() >= length as u64);
        still_there.then_some(map)
    }

    /// Copies whole words from `offset`, a multiple of eight, on; false where there are none.
    pub(crate) fn copy(&self, offset: usize, target: &mut [u8]) -> bool {
        let inside = offset.checked_add(target.len()).is_some_and(|end| end <= self.length);
        if !inside || !offset.is_multiple_of(8) {
            return false;
        }
        for (i, bytes) in target.chunks_exact_mut(8).enumerate() {
            // SAFETY: the word is inside of the mapping, which is aligned to pages; other
            // processes may change it, which an atomic load allows.
            let word = unsafe { self.words.add(offset / 8 + i).as_ref() };
            bytes.copy_from_slice(&word.load(Ordering::Relaxed).to_ne_bytes());
        }
        true
    }
}

impl Drop for Map {
    fn drop(&mut self) {
        // SAFETY: exactly what was mapped; nothing holds a reference into it any more.
        unsafe { libc::munmap(self.words.as_ptr().cast(), self.length) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::FileExt;

    #[test]
    fn a_map_shows_what_is_written_later() {
        let file = tempfile::tempfile().unwrap();
        file.write_all_at(&[1; 128], 0).unwrap();
        let map = Map::new(&file, 128).unwrap();
        file.write_all_at(&[2; 8], 72).unwrap();
        let mut found = [0; 16];
        assert!(map.copy(64, &mut found));
        assert_eq!(found, [[1; 8], [2; 8]].concat()[..]);
    }

    #[test]
    fn nothing_outside_is_read() {
        let file = tempfile::tempfile().unwrap();
        file.write_all_at(&[1; 128], 0).unwrap();
        assert!(Map::new(&file, 129).is_none());
        let map = Map::new(&file, 128).unwrap();
        let mut found = [0; 16];
        assert!(!map.copy(120, &mut found));
        assert!(!map.copy(usize::MAX - 7, &mut found));
        assert!(!map.copy(4, &mut found));
    }
}
