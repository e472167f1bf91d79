//! Small pages for the allocator's memory.
//!
//! mimalloc asks the kernel for huge pages, and the kernel clears two megabytes at the first touch of each, again
//! whenever the allocator had given it back: in a run of pytest with 2,000 tests that took more time than all that tamis
//! computed. The process' own setting against it would be handed on to the commands of the user.

use rustix::mm::{Advice, madvise};

/// Takes the wish for huge pages back, for the memory in which the first objects are.
pub(crate) fn prefer_small_pages() {
    let object = Box::new(0_u8);
    let address = std::ptr::from_ref(&*object) as usize;
    let Ok(mappings) = std::fs::read_to_string("/proc/self/maps") else { return };
    if let Some((from, to)) = mappings.lines().find_map(|line| around(line, address)) {
        // SAFETY: the mapping is the allocator's and stays what it is; only the size of its pages is spoken of.
        let _ = unsafe { madvise(from as *mut _, to - from, Advice::LinuxNoHugepage) };
    }
}

/// The mapping that a line of `/proc/self/maps` speaks of, if the address is in it.
fn around(line: &str, address: usize) -> Option<(usize, usize)> {
    let (from, to) = line.split(' ').next()?.split_once('-')?;
    let [from, to] = [from, to].map(|text| usize::from_str_radix(text, 16).ok());
    let found = (from?, to?);
    (found.0..found.1).contains(&address).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mapping_around_an_address() {
        let line = "7f00-8000 rw-p 00000000 00:00 0";
        assert_eq!(around(line, 0x7f00), Some((0x7f00, 0x8000)));
        assert_eq!(around(line, 0x8000), None);
        assert_eq!(around("", 0), None);
    }
}
