//! Hands the library on to the next program.

use crate::kernel::{self, Call};
use crate::layout::{
    ASK_PRELOAD, GADGET_EXEMPT, GADGET_NOTIFIED, GADGET_QUESTION, MOST_PRELOAD, MOST_VARIABLES,
    OWN_PRELOAD, QUESTION_NUMBER, read_exec_answer,
};
use crate::pages::Pages;

const VARIABLE: usize = "LD_PRELOAD=".len();
const READABLE: u64 = 4;
const EXECUTABLE: u64 = 1;

/// Makes the call, with the library in a copy of the environment where tamis finds that right. The
/// call itself is notified as always.
///
/// # Safety
/// The pages must be there; the call is the program's own.
pub(crate) unsafe fn exec(pages: Pages, call: &Call) -> i64 {
    // SAFETY: as the caller promises.
    unsafe {
        match asked(pages, call) {
            Some((variables, preload)) => with_preload(pages, call, variables, preload),
            None => kernel::call_at(pages.base + GADGET_NOTIFIED, call),
        }
    }
}

unsafe fn asked(pages: Pages, call: &Call) -> Option<(usize, Option<usize>)> {
    let [path, _, environment, ..] = call.arguments;
    let call = |gadget, arguments| {
        let call = Call { number: kernel::ACCESS, arguments };
        // SAFETY: a question; the kernel checks the pointers.
        unsafe { kernel::call_at(pages.base + gadget, &call) }
    };
    // A search in PATH fails at most places.
    if call(GADGET_EXEMPT, [path, EXECUTABLE, 0, 0, 0, 0]) != 0 {
        return None;
    }
    // In another root directory or as another user, the library may be out of reach.
    // SAFETY: a string that ends within the state page.
    let library = unsafe { &raw const (*pages.state()).preload } as u64 + VARIABLE as u64;
    if call(GADGET_EXEMPT, [library, READABLE | EXECUTABLE, 0, 0, 0, 0]) != 0 {
        return None;
    }
    const { assert!(QUESTION_NUMBER == kernel::ACCESS) };
    let answer = call(GADGET_QUESTION, [ASK_PRELOAD, path, environment, 0, 0, 0]);
    read_exec_answer(answer).filter(|(variables, _)| *variables <= MOST_VARIABLES)
}

#[inline(never)]
unsafe fn with_preload(pages: Pages, call: &Call, variables: usize, preload: Option<usize>) -> i64 {
    // SAFETY: tamis has read the environment before it answered.
    unsafe {
        let ours = (&raw const (*pages.state()).preload).cast::<u8>();
        let theirs = call.arguments[2] as *const *const u8;
        let mut environment = [core::ptr::null::<u8>(); MOST_VARIABLES + 2];
        for (n, variable) in environment.iter_mut().enumerate().take(variables) {
            *variable = *theirs.add(n);
        }
        let mut joined = [0_u8; MOST_PRELOAD + OWN_PRELOAD];
        match preload {
            None => environment[variables] = ours,
            Some(at) if at < variables => {
                let length = length(environment[at], MOST_PRELOAD);
                if length == MOST_PRELOAD {
                    return kernel::call_at(pages.base + GADGET_NOTIFIED, call);
                }
                core::ptr::copy_nonoverlapping(environment[at], joined.as_mut_ptr(), length);
                joined[length] = b':';
                // Its end is copied, too, or is there already.
                let own = OWN_PRELOAD - VARIABLE;
                let end = joined.as_mut_ptr().add(length + 1);
                core::ptr::copy_nonoverlapping(ours.add(VARIABLE), end, own);
                environment[at] = joined.as_ptr();
            }
            Some(_) => return kernel::call_at(pages.base + GADGET_NOTIFIED, call),
        }
        let mut call = *call;
        call.arguments[2] = environment.as_ptr() as u64;
        kernel::call_at(pages.base + GADGET_NOTIFIED, &call)
    }
}

unsafe fn length(string: *const u8, most: usize) -> usize {
    let mut length = 0;
    // SAFETY: the string ends, or is longer than `most`.
    while length < most && unsafe { *string.add(length) } != 0 {
        length += 1;
    }
    length
}
