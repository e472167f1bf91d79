//! Maps and unmaps memory.

use crate::kernel::{self, call};

pub(crate) const READ: u64 = 1;
pub(crate) const WRITE: u64 = 2;
pub(crate) const EXECUTE: u64 = 4;

pub(crate) const SHARED: u64 = 1;
pub(crate) const PRIVATE: u64 = 2;
/// In the place of what is there.
pub(crate) const FIXED: u64 = 0x10;
pub(crate) const ANONYMOUS: u64 = 0x20;
pub(crate) const FIXED_NOREPLACE: u64 = 0x10_0000;

pub(crate) const NO_FILE: u64 = u64::MAX;

/// Maps memory.
///
/// # Safety
/// Where an address is given with [`FIXED`], what is there must be ours.
pub(crate) unsafe fn map(
    at: u64,
    size: usize,
    protection: u64,
    flags: u64,
    file: u64,
    offset: usize,
) -> Option<u64> {
    // SAFETY: as the caller promises.
    let got =
        unsafe { call(kernel::MMAP, [at, size as u64, protection, flags, file, offset as u64]) };
    (!(-4095..0).contains(&got)).then_some(got as u64)
}

/// # Safety
/// It must not be used any more.
pub(crate) unsafe fn unmap(at: u64, size: usize) {
    // SAFETY: as the caller promises.
    unsafe { call(kernel::MUNMAP, [at, size as u64, 0, 0, 0, 0]) };
}
