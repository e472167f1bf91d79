//! What becomes of a patched call.

use crate::exec;
use crate::kernel::{self, Call};
use crate::layout::{GADGET_EXEMPT, GADGET_NOTIFIED, NO_CHANGE, Process};
use crate::pages::{BASE, Pages};
use crate::read::{AT_EMPTY_PATH, Read, reads};
use crate::ring::{self, Appended};
use core::sync::atomic::{Ordering, fence};

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
                && is_reported(pages, &read)
            {
                return kernel::call_at(pages.base + GADGET_EXEMPT, call);
            }
        }
        kernel::call_at(pages.base + GADGET_NOTIFIED, call)
    }
}

/// Tells tamis about the call through the ring; false where it has to be notified of it.
unsafe fn is_reported(pages: Pages, read: &Read) -> bool {
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
        let outcome = if ring::is_there(pages, thread) {
            ring::append(pages, thread, read)
        } else {
            Appended::No
        };
        (*process).lock.store(0, Ordering::Release);
        match outcome {
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
/// handler we are, so no thread waits for long.
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
