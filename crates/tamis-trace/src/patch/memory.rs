//! The anonymous file of a run: the library, and the memory that it shares with us.
//!
//! It has no name in any folder: processes of the tree reach it through /proc while we live, and
//! nothing is left when we are killed. Every page that a process may write is allocated before, so
//! that a machine without memory gives us an error here and not the process a signal there.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::fs::FileExt;
use std::sync::atomic::Ordering;
use tamis_patch::layout::{
    GADGET, GADGET_EXEMPT, GADGET_NOTIFIED, GADGET_QUESTION, GADGETS_OFFSET, HEADER_OFFSET, Header,
    MAGIC, MODULES, Module, PAGE, RING_STRIDE, RINGS, RINGS_OFFSET, Ring, SHARED_SIZE,
};

#[derive(Debug)]
pub(crate) struct Memory {
    file: File,
    shared: *mut u8,
    base: u64,
    /// Rings that have memory.
    allocated: usize,
}

// SAFETY: the pointer is to a mapping of our own, used through atomics and by one thread.
unsafe impl Send for Memory {}

/// Where nothing else is on Linux: below programs, above what sanitizers and collectors reserve.
const FIRST_BASE: u64 = 0x5100_0000_0000;
const BASES: u64 = 0x0300_0000_0000 / PAGE as u64;

impl Memory {
    pub(crate) fn new(library: &[u8], modules: &[Module]) -> io::Result<Self> {
        if library.len() > HEADER_OFFSET {
            return Err(io::Error::other("the library to load is too large"));
        }
        let file = anonymous_file()?;
        file.set_len((RINGS_OFFSET + RINGS * RING_STRIDE) as u64)?;
        file.write_all_at(library, 0)?;
        allocate(&file, HEADER_OFFSET, PAGE)?;
        for gadget in [GADGET_EXEMPT, GADGET_QUESTION, GADGET_NOTIFIED] {
            file.write_all_at(&GADGET, (GADGETS_OFFSET + gadget) as u64)?;
        }
        // SAFETY: maps a file that is large enough, wherever there is room.
        let shared = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                SHARED_SIZE,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                file.as_raw_fd(),
                HEADER_OFFSET as libc::off_t,
            )
        };
        if shared == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let base = FIRST_BASE + random()? % BASES * PAGE as u64;
        let memory = Self { file, shared: shared.cast(), base, allocated: 0 };
        // SAFETY: the header's page is mapped, writable and not used by anybody yet.
        unsafe {
            let header = shared.cast::<Header>();
            (*header).magic = MAGIC;
            (*header).base = base;
            (*header).generation.store(1, Ordering::Relaxed);
            (*header).modules = modules.len().min(MODULES) as u32;
            for (n, module) in modules.iter().take(MODULES).enumerate() {
                (*header).module[n] = *module;
            }
        }
        Ok(memory)
    }

    /// The path by which a process of the tree finds the library.
    pub(crate) fn path(&self) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.file.as_raw_fd())
    }

    /// The run's fixed address.
    pub(crate) fn base(&self) -> u64 {
        self.base
    }

    pub(crate) fn header(&self) -> &Header {
        // SAFETY: mapped as long as this lives; what others write in it is atomic.
        unsafe { &*self.shared.cast::<Header>() }
    }

    /// The start of a ring, and its data.
    pub(crate) fn ring(&self, index: usize) -> (&Ring, *const u8) {
        assert!(index < RINGS);
        let offset = RINGS_OFFSET - HEADER_OFFSET + index * RING_STRIDE;
        // SAFETY: within the mapping; what others write in the ring's start is atomic.
        unsafe {
            let ring = self.shared.add(offset);
            (&*ring.cast::<Ring>(), ring.add(PAGE).cast_const())
        }
    }

    /// Makes sure that a ring has memory.
    pub(crate) fn allocate_ring(&mut self, index: usize) -> io::Result<()> {
        while self.allocated <= index {
            let offset = RINGS_OFFSET + self.allocated * RING_STRIDE;
            allocate(&self.file, offset, RING_STRIDE)?;
            self.allocated += 1;
        }
        Ok(())
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: our own mapping; nothing borrowed from it outlives this.
        unsafe { libc::munmap(self.shared.cast(), SHARED_SIZE) };
    }
}

fn anonymous_file() -> io::Result<File> {
    // Newer kernels want a flag that code may run from it; older ones do not know the word.
    const EXECUTABLE: libc::c_uint = 0x10;
    let mut flags = libc::MFD_CLOEXEC | EXECUTABLE;
    loop {
        // SAFETY: makes a descriptor, which we then own.
        unsafe {
            let file = libc::memfd_create(c"tamis".as_ptr(), flags);
            if file >= 0 {
                return Ok(File::from_raw_fd(file));
            }
        }
        let error = io::Error::last_os_error();
        if error.raw_os_error() != Some(libc::EINVAL) || flags & EXECUTABLE == 0 {
            return Err(error);
        }
        flags &= !EXECUTABLE;
    }
}

fn allocate(file: &File, offset: usize, size: usize) -> io::Result<()> {
    // SAFETY: gives memory to a part of our own file.
    let done =
        unsafe { libc::fallocate(file.as_raw_fd(), 0, offset as libc::off_t, size as libc::off_t) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn random() -> io::Result<u64> {
    let mut bytes = [0; 8];
    // SAFETY: fills eight bytes.
    let got = unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), bytes.len(), 0) };
    if got == 8 { Ok(u64::from_ne_bytes(bytes)) } else { Err(io::Error::last_os_error()) }
}
