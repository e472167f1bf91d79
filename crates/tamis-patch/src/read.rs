//! Which calls only look, and at what.

use crate::kernel::{self, Call};

const AT_FDCWD: i32 = -100;
pub(crate) const AT_EMPTY_PATH: u64 = 0x1000;
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
pub(crate) fn reads(call: &Call) -> Option<Read> {
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
