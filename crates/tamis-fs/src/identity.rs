//! What `lstat` says about a path: the identity by which a state is recognised without reading.

use crate::rights::{self, Permissions};
use rustix::fs::{AtFlags, Mode, OFlags, Stat};
use std::ffi::OsStr;
use std::fs::Metadata;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use tamis_core::Hash;

/// How long the last change must be over before an identity stands for a content. The coarsest
/// clock of a common file system is the two seconds of FAT; ext4 and its kin tick in milliseconds.
const SETTLE_NS: i128 = 2_000_000_000;

const NS_PER_SECOND: i128 = 1_000_000_000;

pub(crate) const IDENTITY_BYTES: usize = 64;

/// `lstat` of a path. Two equal identities of one path, the first of them [settled], stand for the
/// same content.
///
/// [settled]: crate#model
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Identity {
    pub device: u64,
    pub inode: u64,
    pub size: u64,
    /// Last change of the content, nanoseconds since the Unix epoch; programs can set it.
    pub mtime_ns: i128,
    /// Last change of content, mode, owner or links, by the system's clock; cannot be set.
    pub ctime_ns: i128,
    /// Kind and permissions.
    pub mode: u32,
    /// The user and the group that it belongs to.
    pub owner: u32,
    pub group: u32,
    /// How many names it has.
    pub names: u64,
}

/// What kind of thing is at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FileKind {
    File,
    Directory,
    Link,
    Pipe,
    Socket,
    Device,
}

impl Identity {
    pub fn kind(&self) -> FileKind {
        match self.mode & libc::S_IFMT {
            libc::S_IFREG => FileKind::File,
            libc::S_IFDIR => FileKind::Directory,
            libc::S_IFLNK => FileKind::Link,
            libc::S_IFIFO => FileKind::Pipe,
            libc::S_IFSOCK => FileKind::Socket,
            _ => FileKind::Device,
        }
    }

    /// Whether this user may execute it, by its permission bits.
    pub fn executable(&self) -> bool {
        let Self { mode, owner, group, .. } = *self;
        rights::of_this_user().may_execute(Permissions { mode, owner, group })
    }

    /// Whether only rights, owner and number of names may have changed between two looks at one path: not what is
    /// in it, unless somebody set the time back, nor whether this user may execute it.
    pub fn is_same_content(&self, other: &Self) -> bool {
        (self.device, self.inode, self.size, self.mtime_ns)
            == (other.device, other.inode, other.size, other.mtime_ns)
            && self.kind() == other.kind()
            && self.executable() == other.executable()
    }

    /// Whether the last change was long enough before `now_ns` that a further change cannot have
    /// the same times.
    pub(crate) fn settled_at(&self, now_ns: i128) -> bool {
        self.mtime_ns.max(self.ctime_ns) + SETTLE_NS < now_ns
    }

    pub(crate) fn to_bytes(self) -> [u8; IDENTITY_BYTES] {
        let mut bytes = [0; IDENTITY_BYTES];
        bytes[..8].copy_from_slice(&self.device.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.inode.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.size.to_le_bytes());
        bytes[24..40].copy_from_slice(&self.mtime_ns.to_le_bytes());
        bytes[40..56].copy_from_slice(&self.ctime_ns.to_le_bytes());
        bytes[56..60].copy_from_slice(&self.mode.to_le_bytes());
        // One cache may serve a user and root.
        bytes[60] = u8::from(self.executable());
        bytes
    }

    /// What is known of a file that may not be read.
    pub(crate) fn opaque_hash(&self) -> Hash {
        Hash::of_parts([
            self.size.to_le_bytes().as_slice(),
            &self.mode.to_le_bytes(),
            &self.mtime_ns.to_le_bytes(),
        ])
    }

    // The number of names has 32 bits on some machines.
    #[allow(clippy::unnecessary_cast)]
    fn of_stat(stat: &Stat) -> Self {
        Self {
            device: stat.st_dev,
            inode: stat.st_ino,
            size: stat.st_size.cast_unsigned(),
            mtime_ns: ns(stat.st_mtime, stat.st_mtime_nsec.cast_signed()),
            ctime_ns: ns(stat.st_ctime, stat.st_ctime_nsec.cast_signed()),
            mode: stat.st_mode,
            owner: stat.st_uid,
            group: stat.st_gid,
            names: stat.st_nlink as u64,
        }
    }

    pub(crate) fn of(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.size(),
            mtime_ns: ns(metadata.mtime(), metadata.mtime_nsec()),
            ctime_ns: ns(metadata.ctime(), metadata.ctime_nsec()),
            mode: metadata.mode(),
            owner: metadata.uid(),
            group: metadata.gid(),
            names: metadata.nlink(),
        }
    }
}

fn ns(seconds: i64, rest: i64) -> i128 {
    i128::from(seconds) * NS_PER_SECOND + i128::from(rest)
}

/// The identity of what is at `path`, a link at its end not followed; `None` where nothing is, or
/// nothing that this user could reach: the way there is closed, too long or a loop of links. A test
/// of the same user gets the same refusal; whoever can reach it sees something else.
pub fn identity(path: &Path) -> io::Result<Option<Identity>> {
    Ok(match look(path)? {
        Found::There(identity) => Some(identity),
        Found::Absent | Found::Barred => None,
    })
}

/// What `lstat` finds.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Found {
    There(Identity),
    Absent,
    /// See [`Value::Barred`](tamis_core::Value::Barred).
    Barred,
}

pub(crate) fn look(path: &Path) -> io::Result<Found> {
    found(|| std::fs::symlink_metadata(path).map(|metadata| Identity::of(&metadata)))
}

fn found(lstat: impl Fn() -> io::Result<Identity>) -> io::Result<Found> {
    loop {
        return match lstat() {
            Ok(identity) => Ok(Found::There(identity)),
            Err(error) if error.raw_os_error() == Some(libc::ENOENT) => Ok(Found::Absent),
            Err(error) if is_absent(&error) => Ok(Found::Barred),
            // File systems of user programs may give up when a signal comes.
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => Err(error),
        };
    }
}

/// A folder that is held open while several of its entries are looked at: the system then need not
/// walk the whole way for each of them.
#[derive(Debug)]
pub(crate) struct OpenFolder {
    path: PathBuf,
    file: OwnedFd,
}

/// The folder and the name of a path, where the last component is a plain name.
pub(crate) fn folder_and_name(path: &Path) -> Option<(&Path, &OsStr)> {
    let bytes = path.as_os_str().as_bytes();
    let at = bytes.iter().rposition(|&b| b == b'/').filter(|&at| at > 0)?;
    let name = &bytes[at + 1..];
    let plain = !matches!(name, b"" | b"." | b"..");
    plain.then(|| (Path::new(OsStr::from_bytes(&bytes[..at])), OsStr::from_bytes(name)))
}

impl OpenFolder {
    /// `None` where it cannot be held; its entries are then looked at by their paths.
    pub(crate) fn open(path: &Path) -> Option<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let file = rustix::fs::open(path, flags, Mode::empty()).ok()?;
        Some(Self { path: path.to_path_buf(), file })
    }

    pub(crate) fn is(&self, path: &Path) -> bool {
        self.path.as_os_str() == path.as_os_str()
    }

    /// What [`look`] says of the entry of this name.
    pub(crate) fn look(&self, name: &OsStr) -> io::Result<Found> {
        found(|| {
            let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT;
            let stat = rustix::fs::statat(&self.file, name, flags)?;
            Ok(Identity::of_stat(&stat))
        })
    }
}

/// Whether the error means that there is nothing that we could reach at the path.
pub(crate) fn is_absent(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(libc::ENOENT | libc::ENOTDIR | libc::EACCES | libc::ELOOP | libc::ENAMETOOLONG)
    )
}

/// Whether the error means that something is there that we may not read.
pub(crate) fn is_forbidden(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EACCES | libc::EPERM))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    #[test]
    fn absent_and_too_long_are_no_errors() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(identity(&dir.path().join("none")).unwrap(), None);
        std::fs::write(dir.path().join("file"), "x").unwrap();
        assert_eq!(identity(&dir.path().join("file/below")).unwrap(), None);
        let long = dir.path().join("n".repeat(300));
        assert_eq!(identity(&long).unwrap(), None);
        let deep = dir.path().join("d/".repeat(3000));
        assert_eq!(identity(&deep).unwrap(), None);
        assert!(identity(Path::new("a\0b")).is_err());
    }

    #[test]
    fn an_entry_of_an_open_folder_looks_as_by_its_path() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        std::fs::write(at("file"), "12345").unwrap();
        std::fs::create_dir(at("folder")).unwrap();
        std::os::unix::fs::symlink("file", at("link")).unwrap();
        std::os::unix::fs::symlink("nowhere", at("dangling")).unwrap();
        let folder = OpenFolder::open(dir.path()).unwrap();
        for name in ["file", "folder", "link", "dangling", "none", &"n".repeat(300)] {
            let path = at(name);
            let (parent, last) = folder_and_name(&path).unwrap();
            assert!(folder.is(parent) && last == name);
            let by_path = format!("{:?}", look(&path).unwrap());
            assert_eq!(format!("{:?}", folder.look(last).unwrap()), by_path, "{name}");
        }
        assert!(folder.look(OsStr::new("a\0b")).is_err());
        assert!(OpenFolder::open(&at("file")).is_none());
        assert!(OpenFolder::open(&at("none")).is_none());
    }

    #[test]
    fn only_a_plain_name_is_looked_at_through_its_folder() {
        let split = |path: &'static str| folder_and_name(Path::new(path));
        assert_eq!(split("/a/b c"), Some((Path::new("/a"), OsStr::new("b c"))));
        for odd in ["/", "/a", "a", "", "/a/b/", "/a/.", "/a/.."] {
            assert_eq!(split(odd), None, "{odd}");
        }
    }

    #[test]
    fn a_loop_of_links_on_the_way_cannot_be_reached_and_at_the_end_is_a_link() {
        let dir = tempfile::tempdir().unwrap();
        let link = dir.path().join("loop");
        std::os::unix::fs::symlink("loop", &link).unwrap();
        assert_eq!(identity(&link).unwrap().unwrap().kind(), FileKind::Link);
        assert_eq!(identity(&link.join("x")).unwrap(), None);
    }

    #[test]
    fn names_need_not_be_utf8() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(OsStr::from_bytes(b"\xff\xfe \n"));
        std::fs::write(&path, "12345").unwrap();
        let found = identity(&path).unwrap().unwrap();
        assert_eq!((found.kind(), found.size), (FileKind::File, 5));
    }

    #[test]
    fn a_path_of_almost_path_max_works() {
        let dir = tempfile::tempdir().unwrap();
        let mut path = dir.path().to_path_buf();
        while path.as_os_str().len() < 3800 {
            path.push("d".repeat(200));
        }
        std::fs::create_dir_all(&path).unwrap();
        assert_eq!(identity(&path).unwrap().unwrap().kind(), FileKind::Directory);
    }

    #[test]
    fn settled_needs_both_times_in_the_past() {
        let dir = tempfile::tempdir().unwrap();
        let mut found = identity(dir.path()).unwrap().unwrap();
        let now = found.ctime_ns;
        assert!(!found.settled_at(now));
        assert!(!found.settled_at(now + SETTLE_NS));
        assert!(found.settled_at(now + SETTLE_NS + 1));
        found.mtime_ns = now + 1;
        assert!(!found.settled_at(now + SETTLE_NS + 1));
        found.mtime_ns = 0;
        assert!(!found.settled_at(now - SETTLE_NS));
    }
}
