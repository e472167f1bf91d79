//! The reading end of a BPF ring buffer.
//!
//! The kernel maps two counters and the data; the data twice in a row, so that a record never wraps.
//! We read it ourselves because a run's end needs a promise that ordinary readers do not give:
//! everything that was submitted before the call has been handed out.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

const BUSY: u32 = 1 << 31;
const DISCARDED: u32 = 1 << 30;
/// Length word and an internal word stand before each record.
const HEADER: u64 = 8;
/// How much is read before the kernel gets its room back.
const GIVE_BACK: u64 = 256 * 1024;

#[derive(Debug)]
pub(super) struct Ring {
    consumer: Mapping,
    /// The producer's page, and the data behind it.
    producer: Mapping,
    page: usize,
    size: u64,
}

impl Ring {
    /// `size` is that of the map, a power of two.
    pub(super) fn open(map: BorrowedFd<'_>, size: u32) -> io::Result<Self> {
        // SAFETY: sysconf has no precondition.
        let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize;
        let size = u64::from(size);
        let consumer = Mapping::new(map, 0, page, libc::PROT_READ | libc::PROT_WRITE)?;
        let producer = Mapping::new(map, page, page + 2 * size as usize, libc::PROT_READ)?;
        Ok(Self { consumer, producer, page, size })
    }

    /// Hands out every record that was submitted before this call, in the order of submission.
    pub(super) fn read(&mut self, mut each: impl FnMut(&[u8])) {
        // SAFETY: both pages start with an aligned 64-bit counter that lives as long as the mapping.
        let (consumed, produced) = unsafe {
            (
                AtomicU64::from_ptr(self.consumer.start.as_ptr().cast()),
                AtomicU64::from_ptr(self.producer.start.as_ptr().cast()),
            )
        };
        let end = produced.load(Ordering::Acquire);
        let mut at = consumed.load(Ordering::Relaxed);
        let mut given_back = at;
        while at < end {
            let offset = self.page + (at & (self.size - 1)) as usize;
            // SAFETY: `offset` is inside the first copy of the data and 8-byte aligned.
            let header = unsafe { self.producer.start.add(offset) };
            let length = self.wait_until_written(header);
            let size = length & !(BUSY | DISCARDED);
            if length & DISCARDED == 0 {
                // SAFETY: the kernel finished this record, which lies inside the two copies, and
                // does not touch it again before `consumed` passes it.
                each(unsafe {
                    std::slice::from_raw_parts(
                        header.as_ptr().add(HEADER as usize),
                        (size as usize).min(self.size as usize),
                    )
                });
            }
            at += (u64::from(size) + HEADER).next_multiple_of(8);
            if at - given_back >= GIVE_BACK {
                consumed.store(at, Ordering::Release);
                given_back = at;
            }
        }
        consumed.store(at, Ordering::Release);
    }

    /// The length word of a record that another processor may still be writing. That takes
    /// nanoseconds: a record is reserved, copied and committed without a pause.
    fn wait_until_written(&self, header: NonNull<u8>) -> u32 {
        // SAFETY: the header starts with an aligned 32-bit word inside the mapping.
        let word = unsafe { AtomicU32::from_ptr(header.as_ptr().cast()) };
        loop {
            let length = word.load(Ordering::Acquire);
            if length & BUSY == 0 {
                return length;
            }
            std::thread::yield_now();
        }
    }
}

/// Memory shared with the kernel.
#[derive(Debug)]
struct Mapping {
    start: NonNull<u8>,
    length: usize,
}

// SAFETY: the memory belongs to the mapping, whoever holds it.
unsafe impl Send for Mapping {}

impl Mapping {
    fn new(
        map: BorrowedFd<'_>,
        offset: usize,
        length: usize,
        protection: libc::c_int,
    ) -> io::Result<Self> {
        // SAFETY: a new mapping at a place of the kernel's choice.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                length,
                protection,
                libc::MAP_SHARED,
                map.as_raw_fd(),
                offset as libc::off_t,
            )
        };
        let start = match NonNull::new(start.cast::<u8>()) {
            Some(start) if start.as_ptr().cast() != libc::MAP_FAILED => start,
            _ => return Err(io::Error::last_os_error()),
        };
        // The processes that tamis forks read no records, and to copy the thousands of entries for these pages into each of
        // them took a fifth of a run of many short tests. Where the kernel refuses, it only takes longer.
        // SAFETY: the mapping stays what it is in this process.
        unsafe { libc::madvise(start.as_ptr().cast(), length, libc::MADV_DONTFORK) };
        Ok(Self { start, length })
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: unmaps what `new` mapped.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.length) };
    }
}
