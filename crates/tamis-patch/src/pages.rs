//! Where the pages of this process are, and what is where in them.

use crate::layout::{
    HEADER_OFFSET, Header, PROCESS_PAGES, Process, RING_STRIDE, RINGS_OFFSET, Ring, STATE_PAGE,
    State,
};
use core::sync::atomic::AtomicUsize;

/// The run's fixed address. 0 until everything is in place; nothing is patched before.
pub(crate) static BASE: AtomicUsize = AtomicUsize::new(0);

/// The pages of this process.
#[derive(Clone, Copy)]
pub(crate) struct Pages {
    pub(crate) base: usize,
}

impl Pages {
    pub(crate) fn state(self) -> *mut State {
        (self.base + STATE_PAGE) as *mut State
    }

    pub(crate) fn process(self) -> *mut Process {
        (self.base + PROCESS_PAGES) as *mut Process
    }

    /// # Safety
    /// The pages must be there, and the shared memory mapped.
    pub(crate) unsafe fn header(self) -> *const Header {
        // SAFETY: as the caller promises.
        unsafe { (*self.state()).shared as *const Header }
    }

    /// # Safety
    /// As above.
    pub(crate) unsafe fn ring(self, index: u32) -> *mut Ring {
        let rings = RINGS_OFFSET - HEADER_OFFSET;
        // SAFETY: as the caller promises.
        let shared = unsafe { (*self.state()).shared } as usize;
        (shared + rings + index as usize * RING_STRIDE) as *mut Ring
    }
}
