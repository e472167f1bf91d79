//! What the kernel itself opens when a program is executed: the interpreter of a script's first
//! line, and the dynamic loader that an ELF file names. No system call shows them.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

/// The path that the kernel opens next for this executable, if any.
pub(crate) fn interpreter(path: &[u8]) -> Option<Vec<u8>> {
    let mut file = File::options()
        .read(true)
        .custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY)
        .open(Path::new(OsStr::from_bytes(path)))
        .ok()?;
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut head = Vec::with_capacity(4096);
    file.by_ref().take(4096).read_to_end(&mut head).ok()?;
    if let Some(line) = head.strip_prefix(b"#!") {
        let line = line.split(|&b| b == b'\n').next()?;
        let word =
            line.split(|&b| b == b' ' || b == b'\t' || b == b'\r').find(|w| !w.is_empty())?;
        return Some(word.to_vec());
    }
    elf_interpreter(&file, &head)
}

/// The PT_INTERP segment of a 64-bit little-endian ELF file.
fn elf_interpreter(file: &File, head: &[u8]) -> Option<Vec<u8>> {
    if !head.starts_with(b"\x7fELF\x02\x01") {
        return None;
    }
    let u16_at = |at: usize| Some(u16::from_le_bytes(head.get(at..at + 2)?.try_into().ok()?));
    let table = u64::from_le_bytes(head.get(32..40)?.try_into().ok()?);
    let (size, count) = (u64::from(u16_at(54)?), u64::from(u16_at(56)?));
    for n in 0..count.min(64) {
        let mut header = [0; 56];
        file.read_exact_at(&mut header, table.checked_add(n * size)?).ok()?;
        let u64_at = |at: usize| header[at..at + 8].try_into().map(u64::from_le_bytes).ok();
        if header[..4] != 3_u32.to_le_bytes() {
            continue;
        }
        let (offset, length) = (u64_at(8)?, u64_at(32)?);
        let mut name = vec![0; length.min(4096) as usize];
        file.read_exact_at(&mut name, offset).ok()?;
        let end = name.iter().position(|&b| b == 0).unwrap_or(name.len());
        name.truncate(end);
        return Some(name);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(content: &[u8]) -> Option<String> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), content).unwrap();
        interpreter(file.path().as_os_str().as_bytes())
            .map(|i| String::from_utf8_lossy(&i).into_owned())
    }

    #[test]
    fn scripts() {
        assert_eq!(of(b"#!/bin/sh\necho"), Some("/bin/sh".into()));
        assert_eq!(of(b"#! \t/usr/bin/env  python3\n"), Some("/usr/bin/env".into()));
        assert_eq!(of(b"#!\n"), None);
        assert_eq!(of(b"echo"), None);
    }

    #[test]
    fn a_dynamic_program_names_its_loader() {
        let loader = interpreter(b"/bin/sh").map(|i| String::from_utf8_lossy(&i).into_owned());
        assert!(loader.unwrap().contains("ld-"), "the loader of /bin/sh");
    }

    #[test]
    fn damaged_headers_are_no_interpreter() {
        assert_eq!(of(b"\x7fELF\x02\x01"), None);
        let mut head = vec![0xff; 200];
        head[..6].copy_from_slice(b"\x7fELF\x02\x01");
        assert_eq!(of(&head), None);
    }
}
