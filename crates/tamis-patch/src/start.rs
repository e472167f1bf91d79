//! Runs before the program: finds the run's shared memory, and patches the C library.

use crate::environment::{Kept, take_out};
use crate::kernel::{self, call};
use crate::layout::{
    ASK_RING_AT_START, FIXED_SIZE, GADGETS_OFFSET, GADGETS_PAGE, HEADER_OFFSET, Header, MAGIC,
    OWN_PRELOAD, PAGE, PROCESS_PAGES, PROCESS_SIZE, SHARED_SIZE, STATE_PAGE,
};
use crate::memory::{
    ANONYMOUS, EXECUTE, FIXED, FIXED_NOREPLACE, NO_FILE, PRIVATE, READ, SHARED, WRITE, map, unmap,
};
use crate::pages::{BASE, Pages};
use crate::{patch, ring};
use core::sync::atomic::Ordering;

const WIPE_ON_FORK: u64 = 18;
const OPEN_READ_WRITE: u64 = 2 | 0o2_000_000;

/// # Safety
/// For the dynamic loader only: the arguments are those of `main`.
pub unsafe extern "C" fn start(_: i32, _: *const *const u8, environment: *mut *mut u8) {
    let mut kept: Kept = [0; OWN_PRELOAD];
    // SAFETY: as the caller promises; what fails leaves the program as it was.
    unsafe {
        if environment.is_null() || !take_out(environment, &mut kept) {
            return;
        }
        let path = kept.as_ptr() as u64 + "LD_PRELOAD=".len() as u64;
        let file = call(kernel::OPEN, [path, OPEN_READ_WRITE, 0, 0, 0, 0]);
        if file < 0 {
            return;
        }
        let ready = prepare(file as u64, &kept);
        call(kernel::CLOSE, [file as u64, 0, 0, 0, 0, 0]);
        let Some(pages) = ready else { return };
        BASE.store(pages.base, Ordering::Relaxed);
        if ring::ask(pages, ASK_RING_AT_START, kernel::thread()) {
            patch::patch(pages);
        }
    }
}

unsafe fn prepare(file: u64, kept: &Kept) -> Option<Pages> {
    // SAFETY: maps memory where nothing is, and writes there only.
    unsafe {
        let shared = map(0, SHARED_SIZE, READ | WRITE, SHARED, file, HEADER_OFFSET)?;
        let header = shared as *const Header;
        let base = (*header).base;
        let size = FIXED_SIZE as u64;
        if (*header).magic != MAGIC || base == 0 {
            unmap(shared, SHARED_SIZE);
            return None;
        }
        let fixed = PRIVATE | ANONYMOUS | FIXED_NOREPLACE;
        let Some(pages) = map(base, FIXED_SIZE, READ | WRITE, fixed, NO_FILE, 0) else {
            unmap(shared, SHARED_SIZE);
            return None;
        };
        let gadgets = map(
            base + GADGETS_PAGE as u64,
            PAGE,
            READ | EXECUTE,
            PRIVATE | FIXED,
            file,
            GADGETS_OFFSET,
        );
        let process = base + PROCESS_PAGES as u64;
        // Without it a forked child would write to its parent's ring.
        let wiped = call(kernel::MADVISE, [process, PROCESS_SIZE as u64, WIPE_ON_FORK, 0, 0, 0]);
        if pages != base || gadgets.is_none() || wiped != 0 {
            unmap(pages, size as usize);
            unmap(shared, SHARED_SIZE);
            return None;
        }
        let pages = Pages { base: base as usize };
        const { assert!(STATE_PAGE == PAGE) };
        (*pages.state()).preload = *kept;
        (*pages.state()).shared = shared;
        Some(pages)
    }
}
