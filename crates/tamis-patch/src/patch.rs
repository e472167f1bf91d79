//! Patches the C library and the dynamic loader of this process, at the places that tamis found.

use crate::enter;
use crate::kernel::{self, call};
use crate::layout::{BUILD_ID, Header, Module, PAGE, SITES};
use crate::memory::{ANONYMOUS, EXECUTE, NO_FILE, PRIVATE, READ, WRITE, map, unmap};
use crate::pages::Pages;

/// The loader's list of what is mapped (`link.h`).
#[repr(C)]
struct Loaded {
    address: u64,
    name: *const u8,
    dynamic: u64,
    next: *const Loaded,
}

#[cfg(tamis_library)]
#[repr(C)]
struct Debug {
    version: i32,
    first: *const Loaded,
}

#[cfg(tamis_library)]
unsafe extern "C" {
    // Of the dynamic loader, for debuggers.
    static _r_debug: Debug;
}

#[cfg(tamis_library)]
unsafe fn loaded() -> *const Loaded {
    // SAFETY: set before any constructor runs.
    unsafe { _r_debug.first }
}

/// In the workspace's own programs there is nothing to patch.
#[cfg(not(tamis_library))]
unsafe fn loaded() -> *const Loaded {
    core::ptr::null()
}

/// The code of one patched place: number to `eax`, return address to `rcx`, jump.
const STEP: usize = 24;

/// # Safety
/// The pages must be there and the process must have a ring. No other thread may patch.
pub(crate) unsafe fn patch(pages: Pages) {
    // SAFETY: walks the loader's list; only known places that look as expected are written.
    unsafe {
        let header = pages.header();
        let size = (2 * SITES * STEP).next_multiple_of(PAGE);
        let Some(steps) = map(0, size, READ | WRITE, PRIVATE | ANONYMOUS, NO_FILE, 0) else {
            return;
        };
        let mut used = 0;
        let mut at = loaded();
        while !at.is_null() {
            if is_candidate((*at).name)
                && let Some(image) = Image::of((*at).address)
                && let Some(module) = image.known(header)
            {
                // The C library is the largest of them.
                let [from, to] = (*pages.state()).readable;
                if image.size > to - from {
                    (*pages.state()).readable = [image.address, image.address + image.size];
                }
                used = patch_module(&image, module, steps, used, size);
            }
            at = (*at).next;
        }
        call(kernel::MPROTECT, [steps, size as u64, READ | EXECUTE, 0, 0, 0]);
        if used == 0 {
            unmap(steps, size);
        }
    }
}

unsafe fn is_candidate(name: *const u8) -> bool {
    if name.is_null() {
        return false;
    }
    // SAFETY: a string of the loader.
    unsafe {
        let mut length = 0;
        let mut last = 0;
        while *name.add(length) != 0 {
            if *name.add(length) == b'/' {
                last = length + 1;
            }
            length += 1;
        }
        let name = core::slice::from_raw_parts(name.add(last), length - last);
        matches!(name, b"libc.so.6" | b"ld-linux-x86-64.so.2" | b"libpthread.so.0")
    }
}

/// A library in memory.
struct Image {
    address: u64,
    size: u64,
    build_id: [u8; BUILD_ID],
}

impl Image {
    unsafe fn of(address: u64) -> Option<Self> {
        // SAFETY: the first page of a library holds its headers, and its notes are mapped.
        unsafe {
            let byte = |at: u64| address.wrapping_add(at);
            let half = |at: u64| (byte(at) as *const u16).read_unaligned();
            let word = |at: u64| (byte(at) as *const u32).read_unaligned();
            let long = |at: u64| (byte(at) as *const u64).read_unaligned();
            if word(0) != 0x464c_457f {
                return None;
            }
            let (table, entry, count) = (long(32), u64::from(half(54)), u64::from(half(56)));
            if table + entry * count > PAGE as u64 {
                return None;
            }
            let mut image = Self { address, size: 0, build_id: [0; BUILD_ID] };
            let mut found = false;
            for n in 0..count {
                let header = table + n * entry;
                match word(header) {
                    // PT_LOAD
                    1 => image.size = long(header + 16) + long(header + 40),
                    // PT_NOTE
                    4 => {
                        let (mut at, end) = (long(header + 16), long(header + 40));
                        let end = at + end;
                        while at + 16 <= end {
                            let (name, content) = (u64::from(word(at)), u64::from(word(at + 4)));
                            let start = at + 12 + name.next_multiple_of(4);
                            // NT_GNU_BUILD_ID
                            if word(at + 8) == 3 && content as usize == BUILD_ID {
                                image.build_id =
                                    (byte(start) as *const [u8; BUILD_ID]).read_unaligned();
                                found = true;
                            }
                            at = start + content.next_multiple_of(4);
                        }
                    }
                    _ => {}
                }
            }
            found.then_some(image)
        }
    }

    unsafe fn known(&self, header: *const Header) -> Option<*const Module> {
        // SAFETY: the header is mapped, and has room for as many.
        unsafe {
            let count = (*header).modules.min(crate::layout::MODULES as u32) as usize;
            for n in 0..count {
                let module = (&raw const (*header).module).cast::<Module>().add(n);
                if (*module).build_id == self.build_id {
                    return Some(module);
                }
            }
            None
        }
    }
}

/// Returns how much of the steps is used then.
unsafe fn patch_module(
    image: &Image,
    module: *const Module,
    steps: u64,
    used: usize,
    size: usize,
) -> usize {
    // SAFETY: every place is checked before it is written; the pages are writable meanwhile.
    unsafe {
        let count = ((*module).sites as usize).min(SITES);
        let sites = core::slice::from_raw_parts((&raw const (*module).site).cast(), count);
        let sites: &[crate::layout::Site] = sites;
        let (mut from, mut to) = (u64::MAX, 0);
        for site in sites {
            let place = image.address + u64::from(site.offset);
            if u64::from(site.offset) + 7 > image.size || !looks_right(place, site.number) {
                return used;
            }
            from = from.min(place & !(PAGE as u64 - 1));
            to = to.max((place + 7).next_multiple_of(PAGE as u64));
        }
        if from > to {
            return used;
        }
        // Executable all the while: another thread may be there.
        let all = READ | WRITE | EXECUTE;
        if call(kernel::MPROTECT, [from, to - from, all, 0, 0, 0]) != 0 {
            return used;
        }
        let mut used = used;
        for site in sites {
            let place = image.address + u64::from(site.offset);
            let step = steps + used as u64;
            let distance = step.wrapping_sub(place + 5) as i64;
            let Ok(distance) = i32::try_from(distance) else { continue };
            if used + STEP > size || !write_step(step, site.number, place + 7) {
                break;
            }
            let mut jump = [0xe9, 0, 0, 0, 0];
            jump[1..].copy_from_slice(&distance.to_le_bytes());
            (place as *mut [u8; 5]).write_unaligned(jump);
            used += STEP;
        }
        call(kernel::MPROTECT, [from, to - from, READ | EXECUTE, 0, 0, 0]);
        used
    }
}

/// `mov $number,%eax; syscall`.
unsafe fn looks_right(place: u64, number: u32) -> bool {
    let [a, b, c, d] = number.to_le_bytes();
    // SAFETY: within the image.
    unsafe { (place as *const [u8; 7]).read_unaligned() == [0xb8, a, b, c, d, 0x0f, 0x05] }
}

/// `mov $number,%eax; lea after(%rip),%rcx; jmp entry`. False where one of them is too far away.
unsafe fn write_step(step: u64, number: u32, after: u64) -> bool {
    let mut code = [0_u8; STEP];
    code[0] = 0xb8;
    code[1..5].copy_from_slice(&number.to_le_bytes());
    // lea rcx, [rip + distance]
    code[5..8].copy_from_slice(&[0x48, 0x8d, 0x0d]);
    let Ok(distance) = i32::try_from(after.wrapping_sub(step + 12) as i64) else { return false };
    code[8..12].copy_from_slice(&distance.to_le_bytes());
    // jmp to the entry, which is a library away
    let Ok(entry) = i32::try_from(enter::address().wrapping_sub(step + 17) as i64) else {
        return false;
    };
    code[12] = 0xe9;
    code[13..17].copy_from_slice(&entry.to_le_bytes());
    // SAFETY: within the steps, which are writable.
    unsafe { (step as *mut [u8; STEP]).write_unaligned(code) };
    true
}
