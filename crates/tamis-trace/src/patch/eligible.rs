//! Which programs get the library.
//!
//! It must not be loaded where it would show or harm: programs of another machine or C library,
//! static ones (nothing would load it, and their children would see the variable), programs with a
//! sanitizer (which wants to come first), set-user-id programs, programs of Go (which find the
//! kernel's table behind their environment by counting, and make their calls by themselves), and
//! where the loader is asked to tell what it does.

use super::sites::{DYNAMIC, Elf, INTERPRETER, LOAD, NOTE, Segment, notes};
use crate::proc::capabilities;
use crate::process::{Last, Process};
use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt};
use std::path::Path;
use std::sync::OnceLock;
use tamis_patch::layout::{MOST_VARIABLES, exec_answer};

/// Remembers what it has judged, by the identity of the file.
#[derive(Debug, Default)]
pub(crate) struct Eligible {
    known: HashMap<(u64, u64, i64, i64, u64), bool>,
}

const VARIABLE: &str = "LD_PRELOAD";
/// Variables of the loader that change nothing about the library.
const HARMLESS: [&str; 3] = [VARIABLE, "LD_LIBRARY_PATH", "LD_RUN_PATH"];

/// What a sanitizer's library, or a program that has one inside, is known by.
const SANITIZERS: [&[u8]; 9] = [
    b"libasan.",
    b"libtsan.",
    b"liblsan.",
    b"libubsan.",
    b"libhwasan.",
    b"libclang_rt.",
    b"__asan_init",
    b"__tsan_init",
    b"__msan_init",
];

impl Eligible {
    /// Whether the program in this file gets the library.
    pub(crate) fn judge(&mut self, path: &Path) -> bool {
        self.judge_within(path, 4)
    }

    fn judge_within(&mut self, path: &Path, scripts: u32) -> bool {
        let Ok(mut file) = File::open(path) else { return false };
        let Ok(metadata) = file.metadata() else { return false };
        if !metadata.is_file() || metadata.permissions().mode() & 0o6000 != 0 {
            return false;
        }
        let mut start = [0; 256];
        let Ok(length) = file.read(&mut start) else { return false };
        if let Some(line) = start[..length].strip_prefix(b"#!") {
            let line = line.split(|&b| b == b'\n').next().unwrap_or_default();
            let mut words = line.split(|b| b" \t".contains(b)).filter(|word| !word.is_empty());
            let Some(interpreter) = words.next() else { return false };
            let interpreter = Path::new(OsStr::from_bytes(interpreter));
            return scripts > 0
                && interpreter.is_absolute()
                && self.judge_within(interpreter, scripts - 1);
        }
        let key = (
            metadata.dev(),
            metadata.ino(),
            metadata.mtime(),
            metadata.ctime_nsec() ^ metadata.ctime() << 30,
            metadata.size(),
        );
        *self.known.entry(key).or_insert_with(|| suits(&file).unwrap_or(false))
    }

    /// The answer to a process that asks before it starts another program.
    pub(crate) fn answer(&mut self, process: Process, path: u64, environment: u64) -> i64 {
        let no = -i64::from(libc::EPERM);
        if !keeps_sight_of_us(process) {
            return no;
        }
        let Ok(path) = process.read_path(path) else { return no };
        let Ok(path) = process.absolute(libc::AT_FDCWD, path, Last::Follow) else { return no };
        let Some((variables, preload)) = read_environment(process, environment) else { return no };
        match self.judge(Path::new(OsStr::from_bytes(&path))) {
            true => exec_answer(variables, preload),
            false => no,
        }
    }

    /// The environment of the first program: with the library, where that is right.
    pub(crate) fn environment(
        &mut self,
        words: &[OsString],
        folder: &Path,
        environment: Vec<(OsString, OsString)>,
        library: &str,
    ) -> Vec<(OsString, OsString)> {
        let names = environment.iter().map(|(name, _)| name.as_bytes());
        if !harmless(names) || environment.len() >= MOST_VARIABLES {
            return environment;
        }
        let Some(program) = words.first() else { return environment };
        let path = environment.iter().find(|(n, _)| n == "PATH").map(|(_, v)| v.clone());
        let Some(program) = find(program, path, folder) else { return environment };
        // What is neither a program nor a script is run by the shell.
        if !self.judge(&program) && (is_known_kind(&program) || !self.judge("/bin/sh".as_ref())) {
            return environment;
        }
        let mut environment = environment;
        match environment.iter_mut().find(|(name, _)| name == VARIABLE) {
            Some((_, list)) => list.push(format!(":{library}")),
            None => environment.push((VARIABLE.into(), library.into())),
        }
        environment
    }
}

/// Whether the process will find the library after the exec as well: the kernel shows our files to
/// those only who have our capabilities, and what root gets at an exec has bounds.
fn keeps_sight_of_us(process: Process) -> bool {
    static OWN: OnceLock<u64> = OnceLock::new();
    let own = *OWN.get_or_init(|| capabilities("self", "CapPrm").unwrap_or(u64::MAX));
    let has =
        |what| capabilities(&process.thread.to_string(), what).is_some_and(|c| c & own == own);
    own == 0 || has("CapEff") && has("CapBnd")
}

fn find(program: &OsStr, path: Option<OsString>, folder: &Path) -> Option<std::path::PathBuf> {
    if program.as_bytes().contains(&b'/') {
        return Some(folder.join(program));
    }
    let path = path.unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into());
    let places = std::env::split_paths(&path).map(|place| folder.join(place).join(program));
    places.into_iter().find(|place| {
        place.metadata().is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
    })
}

fn is_known_kind(program: &Path) -> bool {
    let mut start = [0; 4];
    let read = File::open(program).and_then(|mut file| file.read(&mut start));
    read.is_err() || start.starts_with(b"#!") || start == *b"\x7fELF"
}

fn harmless<'n>(names: impl Iterator<Item = &'n [u8]>) -> bool {
    let mut preloads = 0;
    for name in names {
        if name == VARIABLE.as_bytes() {
            preloads += 1;
        }
        if name.starts_with(b"LD_") && !HARMLESS.iter().any(|h| h.as_bytes() == name) {
            return false;
        }
    }
    preloads <= 1
}

/// The number of variables of a process, and which one is LD_PRELOAD. None where they cannot be
/// read or one of them speaks against the library.
fn read_environment(process: Process, address: u64) -> Option<(usize, Option<usize>)> {
    const LONGEST_NAME: usize = 32;
    if address == 0 {
        return None;
    }
    let mut pointers = Vec::new();
    let mut page = [0_u8; 1024];
    'reading: loop {
        let at = address + pointers.len() as u64 * 8;
        let want = page.len().min(4096 - (at % 4096) as usize) / 8 * 8;
        let got = process.read(at, &mut page[..want.max(8)]).ok()?;
        if got < 8 {
            return None;
        }
        for pointer in page[..got].chunks_exact(8) {
            match u64::from_ne_bytes(pointer.try_into().ok()?) {
                0 => break 'reading,
                pointer => pointers.push(pointer),
            }
        }
        if pointers.len() > MOST_VARIABLES {
            return None;
        }
    }
    let starts = process.read_starts::<LONGEST_NAME>(&pointers)?;
    let names = || starts.iter().map(|s| s.split(|&b| b == b'=' || b == 0).next().unwrap_or(s));
    let preload = names().position(|name| name == VARIABLE.as_bytes());
    harmless(names()).then_some((pointers.len(), preload))
}

/// Whether the program is one of those that the library is made for.
fn suits(file: &File) -> Option<bool> {
    let mut head = vec![0; 4096];
    let length = file.read_at(&mut head, 0).ok()?;
    let elf = Elf::new(&head[..length])?;
    let segments = elf.segments()?;
    let content = |segment: &Segment| -> Option<Vec<u8>> {
        const MOST: usize = 1 << 20;
        let mut bytes = vec![0; segment.size.min(MOST)];
        file.read_exact_at(&mut bytes, segment.offset as u64).ok()?;
        Some(bytes)
    };
    let loader = content(segments.iter().find(|s| s.kind == INTERPRETER)?)?;
    if !loader.ends_with(b"/ld-linux-x86-64.so.2\0") {
        return Some(false);
    }
    for segment in segments.iter().filter(|s| s.kind == NOTE) {
        if notes(&content(segment)?).iter().any(|(owner, ..)| *owner == b"Go\0\0") {
            return Some(false);
        }
    }
    let dynamic = content(segments.iter().find(|s| s.kind == DYNAMIC)?)?;
    let entry = |tag: u64| {
        let mut entries = dynamic.chunks_exact(16).map(|e| {
            let long = |at: usize| u64::from_le_bytes(e[at..at + 8].try_into().unwrap_or_default());
            (long(0), long(8))
        });
        entries.find(|(t, _)| *t == tag).map(|(_, value)| value)
    };
    const STRINGS: u64 = 5;
    const STRINGS_SIZE: u64 = 10;
    let (address, size) = (entry(STRINGS)?, entry(STRINGS_SIZE)? as usize);
    let within = |s: &&Segment| {
        s.kind == LOAD && (s.address..s.address.saturating_add(s.size as u64)).contains(&address)
    };
    let segment = segments.iter().find(within)?;
    const MOST_STRINGS: usize = 16 << 20;
    if size > MOST_STRINGS {
        return Some(false);
    }
    let mut strings = vec![0; size];
    let offset = segment.offset as u64 + (address - segment.address);
    file.read_exact_at(&mut strings, offset).ok()?;
    let sanitized = strings
        .split(|&b| b == 0)
        .any(|name| SANITIZERS.iter().any(|sanitizer| name.starts_with(sanitizer)));
    Some(!sanitized)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_are_judged_by_their_interpreter() {
        let dir = tempfile::tempdir().unwrap();
        let script = |name: &str, line: &str| {
            let path = dir.path().join(name);
            std::fs::write(&path, line).unwrap();
            path
        };
        let mut eligible = Eligible::default();
        let shell = eligible.judge("/bin/sh".as_ref());
        assert_eq!(eligible.judge(&script("a", "#! /bin/sh -e\n")), shell);
        assert_eq!(eligible.judge(&script("b", "#!/usr/bin/env sh\n")), shell);
        for (name, line) in [("c", "#!sh\n"), ("d", "#!\n"), ("e", "text"), ("f", "\x7fELF")] {
            assert!(!eligible.judge(&script(name, line)));
        }
        let circle = dir.path().join("circle");
        std::fs::write(&circle, format!("#!{}\n", circle.display())).unwrap();
        assert!(!eligible.judge(&circle));
    }

    #[test]
    fn the_loader_must_not_be_asked_to_tell() {
        let names = |names: &[&'static str]| harmless(names.iter().map(|n| n.as_bytes()));
        assert!(names(&["PATH", "LD_PRELOAD", "LD_LIBRARY_PATH", "OLD_X"]));
        assert!(!names(&["LD_TRACE_LOADED_OBJECTS"]));
        assert!(!names(&["LD_DEBUG"]));
        assert!(!names(&["LD_PRELOAD", "LD_PRELOAD"]));
    }

    #[test]
    fn the_library_comes_last() {
        let mut eligible = Eligible::default();
        if !eligible.judge("/bin/sh".as_ref()) {
            tamis_testkit::not_here("the shell is no usual program");
            return;
        }
        let pair = |n: &str, v: &str| (OsString::from(n), OsString::from(v));
        let mut given = |variables: &[(&str, &str)]| {
            let variables = variables.iter().map(|(n, v)| pair(n, v)).collect();
            eligible.environment(&["/bin/sh".into()], "/".as_ref(), variables, "/proc/1/fd/3")
        };
        assert_eq!(given(&[("A", "1")]), [pair("A", "1"), pair("LD_PRELOAD", "/proc/1/fd/3")]);
        assert_eq!(given(&[("LD_PRELOAD", "x.so")]), [pair("LD_PRELOAD", "x.so:/proc/1/fd/3")]);
        assert_eq!(given(&[("LD_DEBUG", "all")]), [pair("LD_DEBUG", "all")]);
    }
}
