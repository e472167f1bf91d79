//! System calls, by number and without a C library.

use core::arch::asm;

pub(crate) const OPEN: u64 = 2;
pub(crate) const CLOSE: u64 = 3;
pub(crate) const STAT: u64 = 4;
pub(crate) const LSTAT: u64 = 6;
pub(crate) const MMAP: u64 = 9;
pub(crate) const MPROTECT: u64 = 10;
pub(crate) const MUNMAP: u64 = 11;
pub(crate) const ACCESS: u64 = 21;
pub(crate) const MADVISE: u64 = 28;
pub(crate) const EXECVE: u64 = 59;
pub(crate) const GETCWD: u64 = 79;
pub(crate) const READLINK: u64 = 89;
pub(crate) const GETTID: u64 = 186;
pub(crate) const OPENAT: u64 = 257;
pub(crate) const NEWFSTATAT: u64 = 262;
pub(crate) const READLINKAT: u64 = 267;
pub(crate) const FACCESSAT: u64 = 269;
pub(crate) const PROCESS_VM_READV: u64 = 310;
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

/// Copies memory of this process; the number of bytes, or an error where nothing is mapped.
///
/// # Safety
/// `to` must have room.
pub(crate) unsafe fn copy_checked(process: u64, from: u64, to: *mut u8, length: usize) -> i64 {
    let local = [to as u64, length as u64];
    let remote = [from, length as u64];
    let arguments = [process, (&raw const local) as u64, 1, (&raw const remote) as u64, 1, 0];
    // SAFETY: the kernel writes `length` bytes at most.
    unsafe { call(PROCESS_VM_READV, arguments) }
}
