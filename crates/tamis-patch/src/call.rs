//! What becomes of a patched call.

use crate::exec;
use crate::kernel::{self, Call};
use crate::layout::{
    GADGET_EXEMPT, GADGET_NOTIFIED, HEADER_OFFSET, Header, NO_CHANGE, PROCESS_PAGES, Process,
    RING_STRIDE, RINGS_OFFSET, Ring, STATE_PAGE, State,
};
use crate::ring::{self, Appended};
use core::sync::atomic::{AtomicUsize, Ordering, fence};

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

const AT_FDCWD: i32 = -100;
const AT_EMPTY_PATH: u64 = 0x1000;
/// Access mode, O_CREAT, O_TRUNC, and the bit that makes O_TMPFILE of O_DIRECTORY.
const CHANGING_FLAGS: u64 = 0o3 | 0o100 | 0o1000 | 0o20_000_000;

/// A call that only looks.
pub(crate) struct Read {
    pub(crate) number: u64,
    /// Whether a relative path starts from the working directory.
    pub(crate) from_working: bool,
    pub(crate) path: u64,
    pub(crate) flags: u64,
}

/// The call, if it only looks.
fn reads(call: &Call) -> Option<Read> {
    let [a, b, c, d, ..] = call.arguments;
    let read = |directory: u64, path, flags| {
        let from_working = directory as i32 == AT_FDCWD;
        Some(Read { number: call.number, from_working, path, flags })
    };
    let working = AT_FDCWD as u64;
    match call.number {
        kernel::OPEN if b & CHANGING_FLAGS == 0 => read(working, a, b),
        kernel::OPENAT if c & CHANGING_FLAGS == 0 => read(a, b, c),
        kernel::STAT | kernel::LSTAT | kernel::ACCESS | kernel::READLINK => read(working, a, 0),
        kernel::NEWFSTATAT | kernel::FACCESSAT2 => read(a, b, d),
        kernel::STATX => read(a, b, c),
        kernel::FACCESSAT | kernel::READLINKAT => read(a, b, 0),
        _ => None,
    }
}

/// Makes the call and returns what the kernel says.
///
/// # Safety
/// Called by [`crate::enter`] with the registers of a patched place.
pub(crate) unsafe extern "C" fn called(call: *const Call) -> i64 {
    let pages = Pages { base: BASE.load(Ordering::Relaxed) };
    // SAFETY: the pages are there before anything is patched; the call is the program's own.
    unsafe {
        let call = &*call;
        if (*pages.state()).quiet.load(Ordering::Relaxed) == 0 {
            if call.number == kernel::EXECVE {
                return exec::exec(pages, call);
            }
            if let Some(read) = reads(call)
                && is_told(pages, &read)
            {
                return kernel::call_at(pages.base + GADGET_EXEMPT, call);
            }
        }
        kernel::call_at(pages.base + GADGET_NOTIFIED, call)
    }
}

/// Tells tamis about the call through the ring; false where it has to be notified of it.
unsafe fn is_told(pages: Pages, read: &Read) -> bool {
    // SAFETY: the pages are there; a path in the C library itself can be read.
    unsafe {
        // `fstat` is asked in this way, with an empty string of the C library.
        let [from, to] = (*pages.state()).readable;
        if read.flags & AT_EMPTY_PATH != 0
            && (from..to).contains(&read.path)
            && *(read.path as *const u8) == 0
        {
            return true;
        }
        let process = pages.process();
        if (*process).refused != 0 {
            return false;
        }
        let remembers = (*process).remembers != 0;
        let thread = if remembers { kernel::remembered_thread() } else { kernel::thread() };
        if !lock(process) {
            return false;
        }
        let told = if ring::is_there(pages, thread) {
            ring::append(pages, thread, read)
        } else {
            Appended::No
        };
        (*process).lock.store(0, Ordering::Release);
        match told {
            Appended::No => false,
            Appended::Nothing => true,
            Appended::Yes(seen) => {
                let passes = may_pass(pages, thread);
                if passes {
                    seen.remember(pages);
                }
                passes
            }
        }
    }
}

/// How often to look for a lock: about as long as somebody needs it.
const PATIENCE: u32 = 300;

/// Takes the lock of this process. Who has it may have been interrupted by the very signal in whose
/// handler we are, so nobody waits for long.
unsafe fn lock(process: *mut Process) -> bool {
    for _ in 0..PATIENCE {
        // SAFETY: the pages are there.
        let taken = unsafe { &(*process).lock }.compare_exchange(
            0,
            1,
            Ordering::Acquire,
            Ordering::Relaxed,
        );
        if taken.is_ok() {
            return true;
        }
        core::hint::spin_loop();
    }
    false
}

/// Whether no other thread of the tree is just about to change something. tamis says so first and
/// reads all rings then; we have written to ours first and look then. So either it has read what we
/// wrote before the change, or we see that there will be one.
unsafe fn may_pass(pages: Pages, thread: u32) -> bool {
    fence(Ordering::SeqCst);
    // SAFETY: the shared memory is mapped.
    let changing = unsafe { &(*pages.header()).changing };
    match changing.load(Ordering::SeqCst) {
        NO_CHANGE => true,
        // It was this thread's own change, which is over.
        own if own == thread => {
            let _ = changing.compare_exchange(own, NO_CHANGE, Ordering::SeqCst, Ordering::Relaxed);
            true
        }
        _ => false,
    }
}
