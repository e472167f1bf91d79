//! Interpreters that are registered with the kernel (binfmt_misc): it chooses them by the first bytes of
//! a program, or by the ending of its name, before it looks for a first line or at an ELF header.
//!
//! Not seen: what is registered later, as long as nothing else changes.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

const WHERE: &str = "/proc/sys/fs/binfmt_misc";

/// As many bytes as the kernel looks at.
const HEAD: usize = 256;

/// What was registered when the run began.
#[derive(Debug, Default)]
pub(crate) struct Registered(Vec<Entry>);

#[derive(Debug, PartialEq, Eq)]
struct Entry {
    interpreter: Vec<u8>,
    by: By,
}

#[derive(Debug, PartialEq, Eq)]
enum By {
    /// Without the dot.
    Ending(Vec<u8>),
    Bytes {
        offset: usize,
        magic: Vec<u8>,
        mask: Vec<u8>,
    },
}

impl Registered {
    pub(crate) fn read() -> Self {
        let entries = std::fs::read_dir(WHERE).into_iter().flatten().flatten();
        let texts = entries.filter_map(|entry| std::fs::read(entry.path()).ok());
        Self(texts.filter_map(|text| Entry::parse(&text)).collect())
    }

    /// The interpreter of this program, if one is registered for it.
    pub(crate) fn interpreter(&self, path: &[u8]) -> Option<Vec<u8>> {
        if self.0.is_empty() {
            return None;
        }
        let mut head = Vec::with_capacity(HEAD);
        let file = File::options()
            .read(true)
            .custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY)
            .open(Path::new(OsStr::from_bytes(path)))
            .ok()?;
        if !file.metadata().ok()?.is_file() {
            return None;
        }
        file.take(HEAD as u64).read_to_end(&mut head).ok()?;
        let found = self.0.iter().find(|entry| entry.by.takes(path, &head))?;
        Some(found.interpreter.clone())
    }
}

impl Entry {
    /// One file of that folder; nothing where it is switched off, or is none of an interpreter.
    fn parse(text: &[u8]) -> Option<Self> {
        let mut lines = text.split(|&b| b == b'\n');
        if lines.next() != Some(b"enabled") {
            return None;
        }
        let field = |name: &str| {
            let mut lines = lines.clone();
            lines.find_map(|line| line.strip_prefix(name.as_bytes())).map(<[u8]>::to_vec)
        };
        let interpreter = field("interpreter ")?;
        let by = match field("extension .") {
            Some(ending) => By::Ending(ending),
            None => {
                let magic = from_hex(&field("magic ")?)?;
                let mask = field("mask ").and_then(|mask| from_hex(&mask));
                let mask = mask.unwrap_or_else(|| vec![0xff; magic.len()]);
                let offset = String::from_utf8(field("offset ")?).ok()?.trim().parse().ok()?;
                By::Bytes { offset, magic, mask }
            }
        };
        Some(Self { interpreter, by })
    }
}

impl By {
    fn takes(&self, path: &[u8], head: &[u8]) -> bool {
        match self {
            Self::Ending(ending) => {
                let dot = path.iter().rposition(|&b| b == b'.');
                dot.is_some_and(|dot| path[dot + 1..] == **ending)
            }
            Self::Bytes { offset, magic, mask } => {
                let Some(there) = head.get(*offset..offset + magic.len()) else { return false };
                there
                    .iter()
                    .zip(magic)
                    .zip(mask)
                    .all(|((is, magic), mask)| (is ^ magic) & mask == 0)
            }
        }
    }
}

fn from_hex(text: &[u8]) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(text).ok()?.trim();
    let pairs = (0..text.len()).step_by(2);
    pairs.map(|at| u8::from_str_radix(text.get(at..at + 2)?, 16).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn registered(texts: &[&str]) -> Registered {
        Registered(texts.iter().filter_map(|text| Entry::parse(text.as_bytes())).collect())
    }

    fn of(registered: &Registered, name: &str, content: &[u8]) -> Option<String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        let found = registered.interpreter(path.as_os_str().as_bytes());
        found.map(|found| String::from_utf8_lossy(&found).into_owned())
    }

    #[test]
    fn by_the_ending_of_the_name() {
        let all = registered(&["enabled\ninterpreter /usr/bin/jexec\nflags: \nextension .jar\n"]);
        assert_eq!(of(&all, "a.jar", b"x").as_deref(), Some("/usr/bin/jexec"));
        assert_eq!(of(&all, "a.jar.old", b"x"), None);
        assert_eq!(of(&all, "jar", b"x"), None);
    }

    #[test]
    fn by_the_first_bytes() {
        let all = registered(&[
            "enabled\ninterpreter /usr/bin/q\nflags: OCF\noffset 1\nmagic 454c46\nmask ff00ff\n",
            "enabled\ninterpreter /usr/bin/wine\nflags: \noffset 0\nmagic 4d5a\n",
        ]);
        assert_eq!(of(&all, "a", b"\x7fELF").as_deref(), Some("/usr/bin/q"));
        assert_eq!(of(&all, "a", b"\x7fE.F").as_deref(), Some("/usr/bin/q"));
        assert_eq!(of(&all, "a", b"MZ").as_deref(), Some("/usr/bin/wine"));
        assert_eq!(of(&all, "a", b"M"), None);
        assert_eq!(of(&all, "a", b"#!/bin/sh\n"), None);
    }

    #[test]
    fn what_is_switched_off_or_no_interpreter_is_none() {
        let none = registered(&["disabled\ninterpreter /i\nextension .x\n", "enabled\n", "", "x"]);
        assert!(none.0.is_empty());
    }
}
