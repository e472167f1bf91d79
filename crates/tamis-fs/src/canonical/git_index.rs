//! The index of git by its entries: mode, object, flags and name of each file.
//!
//! Left out is what only makes git quicker and can be found out again: times, sizes and inode numbers
//! (a `git status` writes them anew), the trees of unchanged folders (`TREE`), tables of offsets
//! (`EOIE`, `IEOT`) and the checksum. Where git would rely on more than that, a part in another file
//! (`link`), names of untracked files (`UNTR`), a monitor of the file system (`FSMN`), and where
//! anything is not understood, the bytes count.
//!
//! What this does not see: a program that compares the times in the index without refreshing them
//! (`git diff-files`). Time stamps are no input anywhere.

use tamis_core::{Hash, Hasher};

/// What stands before the object of an entry: times, device, inode; then mode, owner, size.
const STAT: usize = 40;
const MODE: std::ops::Range<usize> = 24..28;
const EXTENDED: u16 = 0x4000;
/// The length of a name is not a part of what it says.
const MEANING: u16 = 0xf000;

/// `None` for what is no index, or one that cannot be compared by its entries.
pub(super) fn hash(bytes: &[u8]) -> Option<Hash> {
    // SHA-1 or SHA-256: only one of them fits to the last byte.
    [20, 32].into_iter().find_map(|object| parse(bytes, object))
}

fn parse(bytes: &[u8], object: usize) -> Option<Hash> {
    let body = bytes.get(..bytes.len().checked_sub(object)?)?;
    let mut at = Cursor { bytes: body, at: 0 };
    if at.take(4)? != b"DIRC" {
        return None;
    }
    let version = at.number()?;
    let entries = at.number()?;
    if !(2..=4).contains(&version) {
        return None;
    }
    let mut hasher = Hasher::new();
    let mut name = Vec::new();
    for _ in 0..entries {
        entry(&mut at, version, object, &mut name, &mut hasher)?;
    }
    extensions(&mut at, &mut hasher)?;
    Some(hasher.finish())
}

fn entry(
    at: &mut Cursor<'_>,
    version: u32,
    object: usize,
    name: &mut Vec<u8>,
    hasher: &mut Hasher,
) -> Option<()> {
    let start = at.at;
    let stat = at.take(STAT)?;
    hasher.update(&stat[MODE]);
    hasher.update(at.take(object)?);
    let flags = at.short()?;
    hasher.update(&(flags & MEANING).to_be_bytes());
    if flags & EXTENDED != 0 {
        hasher.update(at.take(2)?);
    }
    if version == 4 {
        let dropped = at.variable_number()?;
        name.truncate(name.len().checked_sub(dropped)?);
    } else {
        name.clear();
    }
    name.extend(at.text()?);
    if version != 4 {
        // Up to a multiple of eight; the end of the name was the first of them.
        let length = at.at - start;
        let padding = length.next_multiple_of(8) - length;
        if at.take(padding)?.iter().any(|&byte| byte != 0) {
            return None;
        }
    }
    hasher.update(&(name.len() as u64).to_le_bytes());
    hasher.update(name);
    Some(())
}

fn extensions(at: &mut Cursor<'_>, hasher: &mut Hasher) -> Option<()> {
    while at.at < at.bytes.len() {
        let kind = at.take(4)?;
        let size = at.number()? as usize;
        let data = at.take(size)?;
        match kind {
            b"TREE" | b"EOIE" | b"IEOT" => {}
            b"REUC" | b"sdir" => {
                hasher.update(kind);
                hasher.update(&(size as u64).to_le_bytes());
                hasher.update(data);
            }
            _ => return None,
        }
    }
    Some(())
}

struct Cursor<'b> {
    bytes: &'b [u8],
    at: usize,
}

impl<'b> Cursor<'b> {
    fn take(&mut self, count: usize) -> Option<&'b [u8]> {
        let end = self.at.checked_add(count)?;
        let taken = self.bytes.get(self.at..end)?;
        self.at = end;
        Some(taken)
    }

    fn number(&mut self) -> Option<u32> {
        self.take(4)?.try_into().ok().map(u32::from_be_bytes)
    }

    fn short(&mut self) -> Option<u16> {
        self.take(2)?.try_into().ok().map(u16::from_be_bytes)
    }

    /// Seven bits in each byte; git adds one for each byte that follows.
    fn variable_number(&mut self) -> Option<usize> {
        let mut byte = self.take(1)?[0];
        let mut number = usize::from(byte & 0x7f);
        while byte & 0x80 != 0 {
            byte = self.take(1)?[0];
            number = number.checked_add(1)?.checked_mul(128)?;
            number = number.checked_add(usize::from(byte & 0x7f))?;
        }
        Some(number)
    }

    /// Up to a zero, which is passed.
    fn text(&mut self) -> Option<&'b [u8]> {
        let length = self.bytes.get(self.at..)?.iter().position(|&byte| byte == 0)?;
        let text = self.take(length)?;
        self.at += 1;
        Some(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An entry of version 2 with this time, mode, object and flags.
    fn entry(time: u32, mode: u32, object: u8, flags: u16, name: &str) -> Vec<u8> {
        let mut bytes = time.to_be_bytes().repeat(6);
        bytes.extend(mode.to_be_bytes());
        bytes.extend(time.to_be_bytes().repeat(3));
        bytes.extend([object; 20]);
        bytes.extend((flags | name.len() as u16).to_be_bytes());
        bytes.extend(name.as_bytes());
        bytes.push(0);
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        bytes
    }

    fn index(entries: &[Vec<u8>], extensions: &[(&[u8; 4], &[u8])], sum: u8) -> Vec<u8> {
        let mut bytes = b"DIRC\0\0\0\x02".to_vec();
        bytes.extend((entries.len() as u32).to_be_bytes());
        bytes.extend(entries.concat());
        for (kind, data) in extensions {
            bytes.extend(*kind);
            bytes.extend((data.len() as u32).to_be_bytes());
            bytes.extend(*data);
        }
        bytes.extend([sum; 20]);
        bytes
    }

    #[test]
    fn what_git_refreshes_does_not_count() {
        let one = |time, sum| {
            let entries = [entry(time, 0o100_644, 1, 0, "a"), entry(time, 0o100_644, 2, 0, "b/c")];
            hash(&index(&entries, &[(b"TREE", &[time as u8])], sum)).unwrap()
        };
        assert_eq!(one(1, 1), one(2, 9));
        let entries = [entry(3, 0o100_644, 1, 0, "a"), entry(3, 0o100_644, 2, 0, "b/c")];
        assert_eq!(one(1, 1), hash(&index(&entries, &[], 0)).unwrap(), "without trees");
    }

    #[test]
    fn what_an_index_says_counts() {
        let base = [entry(1, 0o100_644, 1, 0, "a")];
        let of = |entries: &[Vec<u8>]| hash(&index(entries, &[], 0)).unwrap();
        for other in [
            vec![entry(1, 0o100_755, 1, 0, "a")],
            vec![entry(1, 0o100_644, 2, 0, "a")],
            vec![entry(1, 0o100_644, 1, 0x8000, "a")],
            vec![entry(1, 0o100_644, 1, 0x1000, "a")],
            vec![entry(1, 0o100_644, 1, 0, "b")],
            vec![entry(1, 0o100_644, 1, 0, "a"), entry(1, 0o100_644, 1, 0, "b")],
            vec![],
        ] {
            assert_ne!(of(&base), of(&other), "{other:?}");
        }
        let undo = hash(&index(&base, &[(b"REUC", b"x")], 0)).unwrap();
        assert_ne!(undo, of(&base));
    }

    #[test]
    fn what_cannot_be_compared_by_entries_counts_by_its_bytes() {
        let base = [entry(1, 0o100_644, 1, 0, "a")];
        for kind in [b"link", b"UNTR", b"FSMN", b"QQQQ"] {
            assert_eq!(hash(&index(&base, &[(kind, b"x")], 0)), None, "{kind:?}");
        }
        let good = index(&base, &[], 0);
        for end in 0..good.len() {
            assert_eq!(hash(&good[..end]), None, "the first {end} bytes");
        }
        assert_eq!(hash(&[good.as_slice(), b"x"].concat()), None);
        assert_eq!(hash(b"gitdir: ../x\n"), None);
    }

    #[test]
    fn the_real_one() {
        let folder = tempfile::tempdir().unwrap();
        let git = |words: &[&str]| {
            let mut command = std::process::Command::new("git");
            command.current_dir(folder.path()).env("GIT_CONFIG_GLOBAL", "/dev/null").args(words);
            command.output().is_ok_and(|output| output.status.success())
        };
        assert!(git(&["init", "-q"]), "git is needed");
        let read = || hash(&std::fs::read(folder.path().join(".git/index")).unwrap());
        for n in 0..20 {
            std::fs::write(folder.path().join(format!("some-file-{n}")), "x").unwrap();
        }
        let mut content = "x";
        for version in ["2", "4"] {
            assert!(git(&["add", "."]) && git(&["update-index", "--index-version", version]));
            let before = read();
            assert!(before.is_some(), "version {version}");
            std::fs::write(folder.path().join("some-file-3"), content).unwrap();
            assert!(git(&["update-index", "--refresh"]));
            assert_eq!(read(), before, "version {version}");
            content = version;
            std::fs::write(folder.path().join("some-file-3"), content).unwrap();
            assert!(git(&["add", "."]));
            assert_ne!(read(), before, "version {version}");
        }
    }
}
