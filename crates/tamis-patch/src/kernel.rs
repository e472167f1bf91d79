//! System calls, by number and without a C library.

use core::arch::asm;

pub(crate) const OPEN: u64 = 2;
pub(crate) const CLOSE: u64 = 3;
pub(crate) const STAT: u64 = 4;
pub(crate) const LSTAT: u64 = 6;
pub(crate) const MMAP: u64 = 9;
pub(crate) const MPROTECT: u64 = 10;
pub(crate) const MUNMAP: u64 = 11;
const RT_SIGPROCMASK: u64 = 14;
pub(crate) const ACCESS: u64 = 21;
pub(crate) const MADVISE: u64 = 28;
pub(crate) const EXECVE: u64 = 59;
pub(crate) const GETCWD: u64 = 79;
pub(crate) const READLINK: u64 = 89;
const GETTID: u64 = 186;
pub(crate) const OPENAT: u64 = 257;
pub(crate) const NEWFSTATAT: u64 = 262;
pub(crate) const READLINKAT: u64 = 267;
pub(crate) const FACCESSAT: u64 = 269;
pub(crate) const STATX: u64 = 332;
pub(crate) const FACCESSAT2: u64 = 439;

/// A call as it is at the entry to the kernel.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Call {
    pub(crate) number: u64,
    pub(crate) arguments: [u64; 6],
}

/// Makes a call by the instruction right here.
///
/// # Safety
/// The call must be harmless to memory that Rust knows of.
pub(crate) unsafe fn call(number: u64, arguments: [u64; 6]) -> i64 {
    let [a, b, c, d, e, f] = arguments;
    let result: i64;
    // SAFETY: as the caller promises.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") number as i64 => result,
            in("rdi") a, in("rsi") b, in("rdx") c, in("r10") d, in("r8") e, in("r9") f,
            lateout("rcx") _, lateout("r11") _,
        );
    }
    result
}

/// Makes a call by the `syscall; ret` at this address.
///
/// # Safety
/// As above, and the gadget must be there.
pub(crate) unsafe fn call_at(gadget: usize, call: &Call) -> i64 {
    let [a, b, c, d, e, f] = call.arguments;
    let result: i64;
    // SAFETY: as the caller promises.
    unsafe {
        asm!(
            "call {gadget}",
            gadget = in(reg) gadget,
            inlateout("rax") call.number as i64 => result,
            in("rdi") a, in("rsi") b, in("rdx") c, in("r10") d, in("r8") e, in("r9") f,
            lateout("rcx") _, lateout("r11") _,
        );
    }
    result
}

/// Whether the page of this address can be read. The kernel reads a signal mask there, and then
/// finds that it does not know what to do with it.
pub(crate) fn is_readable(address: u64) -> bool {
    const NOTHING: u64 = u64::MAX;
    const MASK: u64 = 8;
    const INVALID: i64 = -22;
    // Aligned, so that it lies within the page.
    let arguments = [NOTHING, address & !(MASK - 1), 0, MASK, 0, 0];
    // SAFETY: changes nothing.
    unsafe { call(RT_SIGPROCMASK, arguments) == INVALID }
}

/// Where glibc keeps the number of a thread, seen from the thread's own pointer.
const NUMBER_IN_THREAD: usize = 0x2d0;

/// The number of this thread, as glibc remembers it. Not that of a child that shares its parent's
/// memory until it starts another program: that is its parent's.
///
/// # Safety
/// For threads of glibc only.
pub(crate) unsafe fn remembered_thread() -> u32 {
    let number: u32;
    // SAFETY: as the caller promises.
    unsafe {
        asm!(
            "mov {number:e}, fs:[{at}]",
            number = out(reg) number,
            at = const NUMBER_IN_THREAD,
            options(nostack, readonly, preserves_flags),
        );
    }
    number
}

/// The number of this thread, as the kernel knows it.
pub(crate) fn thread() -> u32 {
    // SAFETY: asks for a number.
    unsafe { call(GETTID, [0; 6]) as u32 }
}
