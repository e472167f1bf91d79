//! Finds the places in the GNU C library of this machine that can be patched.
//!
//! A place is `mov $number,%eax; syscall`. Only the first instruction is replaced, by a jump of the
//! same length: code that jumps to the `syscall` finds it, and no code jumps into the middle of an
//! instruction. Left out are the calls that a thread can be cancelled in (glibc brackets them with
//! calls of its own): a cancelled thread would unwind through code that it does not know.

use std::ffi::{CStr, c_int, c_void};
use std::fs;
use std::path::{Path, PathBuf};
use tamis_patch::layout::{BUILD_ID, MODULES, Module, SITES, Site};

/// The calls that may be patched: they look at files and change nothing; and execve.
const NUMBERS: [i64; 12] = [
    libc::SYS_open,
    libc::SYS_openat,
    libc::SYS_stat,
    libc::SYS_lstat,
    libc::SYS_newfstatat,
    libc::SYS_statx,
    libc::SYS_access,
    libc::SYS_faccessat,
    libc::SYS_faccessat2,
    libc::SYS_readlink,
    libc::SYS_readlinkat,
    libc::SYS_execve,
];

/// The same without execve: what the filter lets pass from the gadget.
pub(crate) fn exempt() -> impl Iterator<Item = i64> {
    NUMBERS.into_iter().filter(|&n| n != libc::SYS_execve)
}

/// What is known of the C library, the loader and (of old versions) the thread library.
pub(crate) fn modules() -> Vec<Module> {
    let mut libraries = loaded_libraries();
    if libraries.is_empty() {
        libraries = installed_libraries();
    }
    let mut modules: Vec<Module> = libraries
        .iter()
        .filter_map(|path| module(&fs::read(path).ok()?))
        .filter(|module| module.sites > 0)
        .collect();
    modules.truncate(MODULES);
    modules
}

/// The libraries that are of interest.
const LIBRARIES: [&str; 3] = ["libc.so.6", LOADER, "libpthread.so.0"];
const LOADER: &str = "ld-linux-x86-64.so.2";

/// Those beside the loader, which has the same place everywhere: what a tamis without libraries of its own (linked
/// statically) goes by. A process that has others is not patched, since theirs have another build id.
fn installed_libraries() -> Vec<PathBuf> {
    let Ok(loader) = Path::new("/lib64").join(LOADER).canonicalize() else { return Vec::new() };
    let beside = LIBRARIES.iter().map(|name| loader.with_file_name(name));
    beside.filter_map(|path| path.canonicalize().ok()).collect()
}

/// Those of this very process.
fn loaded_libraries() -> Vec<PathBuf> {
    unsafe extern "C" fn each(
        info: *mut libc::dl_phdr_info,
        _: usize,
        found: *mut c_void,
    ) -> c_int {
        // SAFETY: the loader gives both; the name is a C string or null.
        unsafe {
            let name = (*info).dlpi_name;
            if !name.is_null() {
                let name = CStr::from_ptr(name).to_string_lossy().into_owned();
                (*found.cast::<Vec<PathBuf>>()).push(name.into());
            }
        }
        0
    }
    let mut found: Vec<PathBuf> = Vec::new();
    // SAFETY: the callback gets the vector that it expects.
    unsafe { libc::dl_iterate_phdr(Some(each), (&raw mut found).cast()) };
    found.retain(|path: &PathBuf| {
        path.file_name().and_then(|n| n.to_str()).is_some_and(|name| LIBRARIES.contains(&name))
    });
    found.iter().map(|path| path.canonicalize().unwrap_or_else(|_| path.clone())).collect()
}

/// Reads an ELF file as far as it is needed; nothing where it is none.
pub(super) struct Elf<'a> {
    file: &'a [u8],
}

pub(super) struct Segment {
    pub(super) kind: u32,
    pub(super) flags: u32,
    pub(super) offset: usize,
    pub(super) address: u64,
    pub(super) size: usize,
}

pub(super) const LOAD: u32 = 1;
pub(super) const DYNAMIC: u32 = 2;
pub(super) const INTERPRETER: u32 = 3;
pub(super) const NOTE: u32 = 4;
const EXECUTABLE: u32 = 1;

impl<'a> Elf<'a> {
    /// A 64-bit file for this machine.
    pub(super) fn new(file: &'a [u8]) -> Option<Self> {
        const X86_64: [u8; 2] = [62, 0];
        let native = file.starts_with(b"\x7fELF\x02\x01") && file.get(18..20)? == X86_64;
        native.then_some(Self { file })
    }

    fn half(&self, at: usize) -> Option<usize> {
        let bytes = self.file.get(at..at.checked_add(2)?)?;
        Some(usize::from(u16::from_le_bytes(bytes.try_into().ok()?)))
    }

    pub(super) fn word(&self, at: usize) -> Option<u32> {
        let bytes = self.file.get(at..at.checked_add(4)?)?;
        Some(u32::from_le_bytes(bytes.try_into().ok()?))
    }

    pub(super) fn long(&self, at: usize) -> Option<u64> {
        let bytes = self.file.get(at..at.checked_add(8)?)?;
        Some(u64::from_le_bytes(bytes.try_into().ok()?))
    }

    pub(super) fn segments(&self) -> Option<Vec<Segment>> {
        let (table, size, count) = (self.long(32)? as usize, self.half(54)?, self.half(56)?);
        let segment = |n: usize| {
            let at = table.checked_add(n.checked_mul(size)?)?;
            Some(Segment {
                kind: self.word(at)?,
                flags: self.word(at + 4)?,
                offset: self.long(at + 8)? as usize,
                address: self.long(at + 16)?,
                size: self.long(at + 32)? as usize,
            })
        };
        (0..count).map(segment).collect()
    }

    pub(super) fn content(&self, segment: &Segment) -> Option<&'a [u8]> {
        self.file.get(segment.offset..segment.offset.checked_add(segment.size)?)
    }
}

/// The notes of a segment: owner, kind, content.
pub(super) fn notes(content: &[u8]) -> Vec<(&[u8], u32, &[u8])> {
    let mut notes = Vec::new();
    let mut rest = content;
    let next = |rest: &mut &[u8]| -> Option<(usize, usize, u32)> {
        let word = |at: usize| Some(u32::from_le_bytes(rest.get(at..at + 4)?.try_into().ok()?));
        let found = (word(0)? as usize, word(4)? as usize, word(8)?);
        *rest = &rest[12..];
        Some(found)
    };
    while let Some((name, length, kind)) = next(&mut rest) {
        let (name_end, start) = (name, name.saturating_add(3) & !3);
        let end = start.saturating_add(length);
        let (Some(owner), Some(note)) = (rest.get(..name_end), rest.get(start..end)) else { break };
        notes.push((owner, kind, note));
        rest = rest.get((end + 3) & !3..).unwrap_or_default();
    }
    notes
}

fn module(file: &[u8]) -> Option<Module> {
    const GNU_BUILD_ID: u32 = 3;
    let elf = Elf::new(file)?;
    let segments = elf.segments()?;
    let build_id = segments.iter().filter(|s| s.kind == NOTE).find_map(|segment| {
        let notes = notes(elf.content(segment)?);
        let found = notes
            .into_iter()
            .find(|(owner, kind, _)| *owner == b"GNU\0" && *kind == GNU_BUILD_ID)?;
        <[u8; BUILD_ID]>::try_from(found.2).ok()
    })?;
    let mut module = Module { build_id, sites: 0, site: [Site { offset: 0, number: 0 }; SITES] };
    for segment in segments.iter().filter(|s| s.kind == LOAD && s.flags & EXECUTABLE != 0) {
        for (at, number) in sites(elf.content(segment)?) {
            if (module.sites as usize) < SITES {
                let offset = u32::try_from(segment.address + at as u64).ok()?;
                module.site[module.sites as usize] = Site { offset, number };
                module.sites += 1;
            }
        }
    }
    Some(module)
}

const SYSCALL: [u8; 2] = [0x0f, 0x05];
/// `mov $number,%eax`
const MOVE: u8 = 0xb8;
const LENGTH_OF_MOVE: usize = 5;
/// A prefix of this kind would make another instruction of the move.
const PREFIXES: std::ops::RangeInclusive<u8> = 0x40..=0x4f;

/// The places in a piece of code, with the numbers of their calls.
fn sites(code: &[u8]) -> Vec<(usize, u32)> {
    let mut found = Vec::new();
    let mut from = LENGTH_OF_MOVE + 1;
    while let Some(at) = code.get(from..).and_then(|c| c.windows(2).position(|w| w == SYSCALL)) {
        let syscall = from + at;
        from = syscall + 2;
        let start = syscall - LENGTH_OF_MOVE;
        let &[first, a, b, c, d] = &code[start..syscall] else { continue };
        let number = u32::from_le_bytes([a, b, c, d]);
        if first == MOVE
            && NUMBERS.contains(&i64::from(number))
            && !PREFIXES.contains(&code[start - 1])
            && !is_cancellable(code, syscall + 2)
        {
            found.push((start, number));
        }
    }
    found
}

/// Whether a function is called soon after the call: the one that ends what a thread can be
/// cancelled in. Bytes that only look like it leave one place out.
fn is_cancellable(code: &[u8], after: usize) -> bool {
    const CALL: u8 = 0xe8;
    const SOON: usize = 32;
    (after..after + SOON).any(|at| {
        let Some([CALL, distance @ ..]) = code.get(at..at + 5) else { return false };
        let Ok(distance) = <[u8; 4]>::try_from(distance) else { return false };
        let target = at as i64 + 5 + i64::from(i32::from_le_bytes(distance));
        (0..code.len() as i64).contains(&target)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAT: [u8; 7] = [0xb8, 6, 1, 0, 0, 0x0f, 5];

    fn code(parts: &[&[u8]]) -> Vec<u8> {
        [&[0x90; 16], parts.concat().as_slice(), &[0x90; 64]].concat()
    }

    #[test]
    fn a_place_is_a_move_and_a_call() {
        assert_eq!(sites(&code(&[&STAT])), [(16, 262)]);
        // Another register, another number, something in between.
        assert_eq!(sites(&code(&[&[0xb9, 6, 1, 0, 0, 0x0f, 5]])), []);
        assert_eq!(sites(&code(&[&[0xb8, 1, 0, 0, 0, 0x0f, 5]])), []);
        assert_eq!(sites(&code(&[&[0xb8, 6, 1, 0, 0, 0x90, 0x0f, 5]])), []);
        // movabs
        assert_eq!(sites(&code(&[&[0x48], &STAT])), []);
        assert_eq!(sites(&STAT), []);
    }

    #[test]
    fn what_can_be_cancelled_is_left_out() {
        let call = [0xe8, 0, 0, 0, 0];
        assert_eq!(sites(&code(&[&STAT, &[0x90; 9], &call])), []);
        assert_eq!(sites(&code(&[&STAT, &[0x90; 40], &call])).len(), 1);
    }

    #[test]
    fn foreign_bytes_are_no_library() {
        assert!(module(b"").is_none());
        assert!(module(b"\x7fELF\x02\x01").is_none());
        let own = fs::read(std::env::current_exe().unwrap()).unwrap();
        for length in [0, 10, 64, 100, 1000, 5000] {
            module(&own[..length.min(own.len())]);
        }
        let mut broken = own;
        for at in 16..400.min(broken.len()) {
            broken[at] ^= 0xff;
            module(&broken);
        }
    }

    #[test]
    fn a_tamis_without_libraries_finds_those_of_the_machine() {
        let own = loaded_libraries();
        if own.is_empty() {
            tamis_testkit::not_here("there is no shared GNU C library");
            return;
        }
        let installed = installed_libraries();
        assert!(own.iter().all(|path| installed.contains(path)), "{own:?} {installed:?}");
    }

    #[test]
    fn the_c_library_of_this_machine_has_places() {
        let modules = modules();
        if modules.is_empty() {
            tamis_testkit::not_here("there is no shared GNU C library");
            return;
        }
        let numbers: Vec<u32> = modules
            .iter()
            .flat_map(|m| m.site[..m.sites as usize].iter().map(|s| s.number))
            .collect();
        for number in [libc::SYS_newfstatat, libc::SYS_readlink, libc::SYS_execve] {
            assert!(numbers.contains(&(number as u32)), "{number} in {numbers:?}");
        }
    }
}
