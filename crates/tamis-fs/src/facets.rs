//! What can be asked of a path besides its content: size, attributes, rights, other names. All of it
//! is quick to ask again, so nothing is cached.

use crate::identity::{FileKind, Identity};
use crate::rights;
use std::ffi::{CStr, CString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use tamis_core::{Hash, Scheme, Value};

/// Labels of security modules: they name a policy, and every file has one.
const LABELS: [&[u8]; 3] = [b"security.selinux", b"security.apparmor", b"security.SMACK64"];

/// The answer under a scheme of this module; `None` under another one, or where it is not known.
pub(crate) fn facet(path: &Path, scheme: Scheme, found: &Identity) -> Option<Value> {
    match (scheme, found.kind()) {
        (Scheme::Size | Scheme::Names, FileKind::Directory) => Some(Value::Directory),
        (Scheme::Size | Scheme::Names, FileKind::Pipe | FileKind::Socket | FileKind::Device) => {
            Some(special(path, found.kind()))
        }
        (Scheme::Size, _) => Some(size(found.size)),
        (Scheme::Names, _) => Some(names(found.names)),
        (Scheme::Attributes, _) => attributes(path),
        (Scheme::Rights, _) => Some(of_user(path)),
        _ => None,
    }
}

pub(crate) fn is_facet(scheme: Scheme) -> bool {
    matches!(scheme, Scheme::Size | Scheme::Names | Scheme::Attributes | Scheme::Rights)
}

/// The value of a file of this size; of an absent one it is that of 0.
pub fn size(bytes: u64) -> Value {
    Value::Text(Hash::of_parts([b"size".as_slice(), &bytes.to_le_bytes()]))
}

/// What is no file, directory or link: nothing is in it that could be compared, but what it is.
pub(crate) fn special(path: &Path, kind: FileKind) -> Value {
    match kind {
        FileKind::Pipe => Value::Pipe,
        FileKind::Socket => Value::Socket,
        _ => {
            use std::os::unix::fs::MetadataExt;
            let (mode, numbers) = std::fs::symlink_metadata(path)
                .map_or((0, 0), |found| (found.mode() & libc::S_IFMT, found.rdev()));
            Value::Device(Hash::of_parts([mode.to_le_bytes().as_slice(), &numbers.to_le_bytes()]))
        }
    }
}

/// How many names there are changes with what others keep in common (a package store); that there is
/// more than one does not.
pub fn names(count: u64) -> Value {
    Value::text(if count > 1 { b"several names" } else { b"one name" })
}

fn of_user(path: &Path) -> Value {
    let may = |mode| u8::from(rights::may(path, mode));
    Value::text(&[b'=', may(libc::R_OK), may(libc::W_OK), may(libc::X_OK)])
}

fn attributes(path: &Path) -> Option<Value> {
    let path = CString::new(path.as_os_str().as_bytes()).ok()?;
    let list = grown(|buffer, size| {
        // SAFETY: writes at most `size` bytes into the buffer.
        unsafe { libc::llistxattr(path.as_ptr(), buffer.cast(), size) }
    });
    let mut names: Vec<&[u8]> = list.split(|&b| b == 0).filter(|n| !n.is_empty()).collect();
    names.retain(|name| !LABELS.contains(name));
    names.sort_unstable();
    let mut parts = Vec::with_capacity(2 * names.len());
    for name in names {
        let ended = CString::new(name).ok()?;
        parts.push(name.to_vec());
        parts.push(value_of(&path, &ended));
    }
    Some(Value::Text(Hash::of_parts(parts.iter().map(Vec::as_slice))))
}

fn value_of(path: &CStr, name: &CStr) -> Vec<u8> {
    grown(|buffer, size| {
        // SAFETY: writes at most `size` bytes into the buffer.
        unsafe { libc::lgetxattr(path.as_ptr(), name.as_ptr(), buffer.cast(), size) }
    })
}

/// Asks for the size first. A file system without attributes has none.
fn grown(ask: impl Fn(*mut u8, usize) -> isize) -> Vec<u8> {
    for _ in 0..5 {
        let Ok(size) = usize::try_from(ask(std::ptr::null_mut(), 0)) else { break };
        let mut buffer = vec![0; size];
        if let Ok(got) = usize::try_from(ask(buffer.as_mut_ptr(), size)) {
            buffer.truncate(got);
            return buffer;
        }
    }
    Vec::new()
}

#[cfg(test)]
mod tests {
    use crate::{Fingerprinter, Options};
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;
    use tamis_core::{Scheme, Value};

    fn answer(path: &Path, scheme: Scheme) -> Value {
        Fingerprinter::new(Options::default()).answer(path, scheme).value
    }

    #[test]
    fn an_absent_file_is_as_long_as_an_empty_one() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("log");
        let absent = answer(&file, Scheme::Size);
        std::fs::write(&file, "").unwrap();
        assert_eq!(answer(&file, Scheme::Size), absent);
        std::fs::write(&file, "x").unwrap();
        let one = answer(&file, Scheme::Size);
        assert_ne!(one, absent);
        std::fs::write(&file, "y").unwrap();
        assert_eq!(answer(&file, Scheme::Size), one, "what is in it does not count");
        assert_eq!(answer(dir.path(), Scheme::Size), Value::Directory);
    }

    #[test]
    fn another_name_counts_and_a_third_does_not() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        std::fs::write(at("a"), "").unwrap();
        let one = answer(&at("a"), Scheme::Names);
        std::fs::hard_link(at("a"), at("b")).unwrap();
        let two = answer(&at("a"), Scheme::Names);
        std::fs::hard_link(at("a"), at("c")).unwrap();
        assert_ne!(one, two);
        assert_eq!(answer(&at("a"), Scheme::Names), two);
    }

    #[test]
    fn attributes_count_by_name_and_value() {
        let dir = tempfile::tempdir_in(".").unwrap();
        let file = dir.path().canonicalize().unwrap().join("a");
        std::fs::write(&file, "").unwrap();
        let name = std::ffi::CString::new(file.to_str().unwrap()).unwrap();
        let set = |value: &[u8]| {
            // SAFETY: names end with a zero byte, the value is as long as given.
            unsafe {
                libc::setxattr(
                    name.as_ptr(),
                    c"user.k".as_ptr(),
                    value.as_ptr().cast(),
                    value.len(),
                    0,
                )
            }
        };
        let none = answer(&file, Scheme::Attributes);
        if set(b"1") != 0 {
            return;
        }
        let one = answer(&file, Scheme::Attributes);
        set(b"2");
        let two = answer(&file, Scheme::Attributes);
        assert!(none != one && one != two && none != two);
        set(b"1");
        assert_eq!(answer(&file, Scheme::Attributes), one);
    }

    #[test]
    fn rights_are_those_of_this_user() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("a");
        std::fs::write(&file, "").unwrap();
        let before = answer(&file, Scheme::Rights);
        std::fs::set_permissions(&file, PermissionsExt::from_mode(0o755)).unwrap();
        assert_ne!(answer(&file, Scheme::Rights), before);
        std::fs::set_permissions(&file, PermissionsExt::from_mode(0o644)).unwrap();
        assert_eq!(answer(&file, Scheme::Rights), before);
        assert_eq!(answer(&dir.path().join("none"), Scheme::Rights), Value::Absent);
    }
}
