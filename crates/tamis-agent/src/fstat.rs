//! Keeps `fstat` of the JVM's own libraries away from the tracer.
//!
//! The GNU C library asks the kernel for it with `newfstatat` and an empty path. Whether a path is empty
//! cannot be seen from outside, so a tracer that stops calls with paths stops these as well: of Maven's
//! calls that would be every second one. The JVM's libraries get a function instead that makes the call
//! which only takes a descriptor. It gives the same answer, and the tracer has no use for it: what was
//! opened has been reported.
//!
//! What goes wrong here costs time and hides nothing. The JVM loads some of its libraries late, so they
//! are looked for again from time to time.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

const LIBRARIES: [&str; 4] = ["libjvm.so", "libjava.so", "libnio.so", "libzip.so"];

#[cfg(target_arch = "x86_64")]
const JUMP_SLOTS: [u32; 2] = [6, 7];
#[cfg(target_arch = "aarch64")]
const JUMP_SLOTS: [u32; 2] = [1025, 1026];

const DT_NULL: i64 = 0;
const DT_PLTRELSZ: i64 = 2;
const DT_STRTAB: i64 = 5;
const DT_SYMTAB: i64 = 6;
const DT_RELA: i64 = 7;
const DT_RELASZ: i64 = 8;
const DT_JMPREL: i64 = 23;

#[repr(C)]
struct Dynamic {
    tag: i64,
    value: u64,
}

/// What a library asks the loader to fill in.
#[repr(C)]
struct Relocation {
    offset: u64,
    info: u64,
    addend: i64,
}

/// To be called for each class that is loaded: each time there are twice as many, it looks again.
pub(crate) fn on_class() {
    static CLASSES: AtomicU32 = AtomicU32::new(0);
    if CLASSES.fetch_add(1, Ordering::Relaxed).wrapping_add(1).is_power_of_two() {
        by_descriptor();
    }
}

fn by_descriptor() {
    // SAFETY: the function has the type that is wanted, and the list is the loader's.
    unsafe { libc::dl_iterate_phdr(Some(visit), std::ptr::null_mut()) };
}

unsafe extern "C" fn visit(info: *mut libc::dl_phdr_info, _: usize, _: *mut c_void) -> c_int {
    // SAFETY: the loader's description of a library that is loaded.
    let info = unsafe { &*info };
    if !info.dlpi_name.is_null() {
        // SAFETY: a text that ends with NUL.
        let name = unsafe { CStr::from_ptr(info.dlpi_name) }.to_bytes();
        let file = name.rsplit(|&b| b == b'/').next().unwrap_or_default();
        if LIBRARIES.iter().any(|library| library.as_bytes() == file) {
            // SAFETY: as above.
            let _ = unsafe { redirect(info) };
        }
    }
    0
}

/// # Safety
/// A library that stays loaded.
unsafe fn redirect(info: &libc::dl_phdr_info) -> Option<()> {
    // SAFETY: the program headers of the library.
    let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) };
    let dynamic = headers.iter().find(|h| h.p_type == libc::PT_DYNAMIC)?;
    let base = info.dlpi_addr;
    let mut entry = (base + dynamic.p_vaddr) as *const Dynamic;
    let mut found = [0_u64; 24];
    loop {
        // SAFETY: the list ends with the entry that is asked for.
        let Dynamic { tag, value } = unsafe { entry.read() };
        if tag == DT_NULL {
            break;
        }
        if let Some(place) = usize::try_from(tag).ok().and_then(|tag| found.get_mut(tag)) {
            *place = value;
        }
        // SAFETY: not the last.
        entry = unsafe { entry.add(1) };
    }
    // The loader has put addresses there; another one may leave them as they stand in the file.
    let address = |tag: i64| {
        let value = found[tag as usize];
        if value != 0 && value < base { value + base } else { value }
    };
    let (symbols, texts) = (address(DT_SYMTAB), address(DT_STRTAB));
    if symbols == 0 || texts == 0 {
        return None;
    }
    for (list, size) in [(DT_JMPREL, DT_PLTRELSZ), (DT_RELA, DT_RELASZ)] {
        let (list, size) = (address(list), found[size as usize]);
        if list == 0 {
            continue;
        }
        let count = size as usize / size_of::<Relocation>();
        // SAFETY: the library's own list, of that length.
        for one in unsafe { std::slice::from_raw_parts(list as *const Relocation, count) } {
            if !JUMP_SLOTS.contains(&(one.info as u32)) {
                continue;
            }
            // SAFETY: an index into the library's own symbols, and its name among its texts.
            let name = unsafe {
                let symbol = (symbols as *const libc::Elf64_Sym).add((one.info >> 32) as usize);
                CStr::from_ptr((texts + u64::from((*symbol).st_name)) as *const c_char)
            };
            if matches!(name.to_bytes(), b"fstat" | b"fstat64") {
                let within =
                    |h: &libc::Elf64_Phdr| (h.p_vaddr..h.p_vaddr + h.p_memsz).contains(&one.offset);
                let sealed = headers.iter().any(|h| h.p_type == libc::PT_GNU_RELRO && within(h));
                // SAFETY: the slot of this symbol.
                unsafe { fill((base + one.offset) as *mut c_void, sealed) };
            }
        }
    }
    Some(())
}

/// Puts our function into a slot, which the loader may have sealed.
///
/// # Safety
/// The slot holds the address of a function of the same type.
unsafe fn fill(slot: *mut c_void, sealed: bool) {
    // SAFETY: asks for a number.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize;
    let start = (slot as usize / page * page) as *mut c_void;
    // SAFETY: the page is the library's; it gets back what it had.
    unsafe {
        if sealed && libc::mprotect(start, page, libc::PROT_READ | libc::PROT_WRITE) != 0 {
            return;
        }
        let function: extern "C" fn(c_int, *mut c_void) -> c_int = fstat;
        AtomicPtr::from_ptr(slot.cast()).store(function as *mut c_void, Ordering::Release);
        if sealed {
            libc::mprotect(start, page, libc::PROT_READ);
        }
    }
}

extern "C" fn fstat(descriptor: c_int, answer: *mut c_void) -> c_int {
    // SAFETY: what the caller gave; on these machines the kernel's structure is the library's.
    unsafe { libc::syscall(libc::SYS_fstat, descriptor, answer) as c_int }
}
