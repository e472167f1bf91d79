//! What the library and tamis share: one anonymous file per run.
//!
//! ```text
//! 0                 the library itself, as an ELF file
//! HEADER_OFFSET     the header: where the gadgets go, state of the run, places to patch
//! GADGETS_OFFSET    one page of code
//! RINGS_OFFSET      RINGS rings of RING_STRIDE bytes: one process writes, tamis reads
//! ```
//!
//! A record is in a ring as a whole or not at all: the writer moves `head` when it has written
//! everything, and only then makes the call. A writer that dies before that has not made the call.

use core::sync::atomic::{AtomicU32, AtomicU64};

pub const MAGIC: u64 = 0x7461_6d69_732d_3031;

pub const HEADER_OFFSET: usize = 0x10_0000;
pub const GADGETS_OFFSET: usize = 0x10_1000;
pub const RINGS_OFFSET: usize = 0x11_0000;
/// Header and rings are one mapping in the process.
pub const SHARED_SIZE: usize = RINGS_OFFSET - HEADER_OFFSET + RINGS * RING_STRIDE;

/// Processes that can log at the same time; others are notified.
pub const RINGS: usize = 128;
pub const RING_DATA: usize = 0x1_0000;
pub const RING_STRIDE: usize = RING_DATA + PAGE;
pub const PAGE: usize = 4096;

/// The pages at the run's fixed address.
pub const GADGETS_PAGE: usize = 0;
/// Private, inherited by fork.
pub const STATE_PAGE: usize = PAGE;
/// Private, empty again in a child that was forked.
pub const PROCESS_PAGES: usize = 2 * PAGE;
pub const PROCESS_SIZE: usize = PAGE + SEEN * 8;
pub const FIXED_SIZE: usize = PROCESS_PAGES + PROCESS_SIZE;

/// Reads that were logged already, by hash.
pub const SEEN: usize = 2048;

/// `syscall; ret` three times. The filter lets read-only file calls from the first one pass; from
/// the second come questions to tamis; the third stands for the place that was patched.
pub const GADGET_EXEMPT: usize = 0;
pub const GADGET_QUESTION: usize = 16;
pub const GADGET_NOTIFIED: usize = 32;
pub const GADGET: [u8; 3] = [0x0f, 0x05, 0xc3];
/// What the kernel shows as instruction pointer: the place behind the instruction.
pub const AFTER_SYSCALL: usize = 2;

/// Questions: calls of `access` with one of these instead of a path. Where there is no answer, the
/// kernel does, and an error means no.
pub const QUESTION_NUMBER: u64 = 21;
/// A ring, please, for a program that has just started. Second argument: the caller's number.
pub const ASK_RING_AT_START: u64 = 1;
/// The same in a child that was forked.
pub const ASK_RING_AFTER_FORK: u64 = 2;
/// May the library be loaded into this program? Arguments: path, environment. The answer is made by
/// [`exec_answer`].
pub const ASK_PRELOAD: u64 = 3;

/// Longest environment that is copied.
pub const MOST_VARIABLES: usize = 256;
/// Room for `LD_PRELOAD=` and the library's path.
pub const OWN_PRELOAD: usize = 120;
/// Longest `LD_PRELOAD=...` of the user's that is copied.
pub const MOST_PRELOAD: usize = 512;

/// The number of variables, and the place of LD_PRELOAD among them.
pub fn exec_answer(variables: usize, preload: Option<usize>) -> i64 {
    1 << 32 | (variables as i64) << 16 | preload.map_or(0xffff, |at| at as i64)
}

pub fn read_exec_answer(answer: i64) -> Option<(usize, Option<usize>)> {
    if answer >> 32 != 1 {
        return None;
    }
    let at = (answer & 0xffff) as usize;
    Some((((answer >> 16) & 0xffff) as usize, (at != 0xffff).then_some(at)))
}

/// No change is about to be made.
pub const NO_CHANGE: u32 = 0;
/// More than one thread is.
pub const SEVERAL: u32 = u32::MAX;

pub const MODULES: usize = 4;
pub const SITES: usize = 40;
pub const BUILD_ID: usize = 20;

#[repr(C)]
pub struct Header {
    pub magic: u64,
    /// The run's fixed address.
    pub base: u64,
    /// The thread that is about to change something, as far as tamis knows.
    pub changing: AtomicU32,
    pub modules: u32,
    /// Counts changes: what was logged before the last one may have to be logged again.
    pub generation: AtomicU64,
    pub module: [Module; MODULES],
}

/// The places to patch in a shared library.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Module {
    pub build_id: [u8; BUILD_ID],
    pub sites: u32,
    pub site: [Site; SITES],
}

/// A `mov $number,%eax; syscall`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Site {
    pub offset: u32,
    pub number: u32,
}

/// The start of a ring; its data follows a page later.
#[repr(C)]
pub struct Ring {
    pub head: AtomicU64,
    pub space: [u64; 15],
    pub tail: AtomicU64,
}

/// The start of a record; the path follows.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// Of the whole record, a multiple of 8.
    pub length: u32,
    pub thread: u32,
    /// Of the call; [`SKIP`] for none, to the end of the ring.
    pub number: u32,
    pub path: u32,
    pub flags: u64,
}

pub const SKIP: u32 = u32::MAX;
pub const RECORD: usize = size_of::<Record>();
/// Longest path that the kernel takes, with its end.
pub const PATH_MAX: usize = 4096;
/// Longest record: a relative path and the folder that it starts from.
pub const MOST_RECORD: usize = RECORD + 2 * PATH_MAX + 8;

/// The state page.
#[repr(C)]
pub struct State {
    /// Set by tamis: the process may be killed for a call that it does not expect.
    pub quiet: AtomicU32,
    /// `LD_PRELOAD=` and the library's path, ended by 0.
    pub preload: [u8; OWN_PRELOAD],
    /// Where header and rings are.
    pub shared: u64,
    /// Memory of the C library, which can be read without asking.
    pub readable: [u64; 2],
}

/// The start of the process pages; the table of hashes follows a page later.
#[repr(C)]
pub struct Process {
    pub lock: AtomicU32,
    /// Number of the ring plus one.
    pub ring: u32,
    pub refused: u32,
    /// Calls before a ring was asked for.
    pub calls: u32,
    /// The C library remembers the numbers of its threads where we think.
    pub remembers: u32,
}

const _: () = assert!(size_of::<Header>() <= PAGE && size_of::<State>() <= PAGE);
