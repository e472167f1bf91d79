//! The calls that are reported, in one table: what the kernel side has to collect of each, and what
//! its flags mean.
//!
//! Not in it: calls on a descriptor that tell nothing new about a path (fstat, getdents, mmap: the
//! open was seen), and ptrace or a filter with a listener, which hide nothing from tracepoints.

use crate::event::Facet;
use libc as l;

/// What a record is about. The order is that of `enum kind` in shared.h.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum RecordKind {
    Nothing,
    Open,
    Openat2,
    Stat,
    Chdir,
    ReadLink,
    Execute,
    ExecuteAt,
    Remove,
    MakeDirectory,
    MakeNode,
    Rename,
    Link,
    Truncate,
    ChangeMode,
    Connect,
    Bind,
    Listen,
    SendTo,
    SendMessage,
    SendMessages,
    IoUring,
    FileHandle,
    Namespace,
    Clone,
    Clone3,
    ReadDescriptor,
    AskTerminal,
    Adopted,
    Base,
    Executed,
    Foreign,
    TreeGone,
}

impl RecordKind {
    const ALL: [Self; 33] = [
        Self::Nothing,
        Self::Open,
        Self::Openat2,
        Self::Stat,
        Self::Chdir,
        Self::ReadLink,
        Self::Execute,
        Self::ExecuteAt,
        Self::Remove,
        Self::MakeDirectory,
        Self::MakeNode,
        Self::Rename,
        Self::Link,
        Self::Truncate,
        Self::ChangeMode,
        Self::Connect,
        Self::Bind,
        Self::Listen,
        Self::SendTo,
        Self::SendMessage,
        Self::SendMessages,
        Self::IoUring,
        Self::FileHandle,
        Self::Namespace,
        Self::Clone,
        Self::Clone3,
        Self::ReadDescriptor,
        Self::AskTerminal,
        Self::Adopted,
        Self::Base,
        Self::Executed,
        Self::Foreign,
        Self::TreeGone,
    ];

    pub(super) fn from_number(number: u16) -> Option<Self> {
        Self::ALL.get(usize::from(number)).copied()
    }
}

/// Whether a link at the end of the path is followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Follow {
    Yes,
    No,
    /// Not with this flag.
    Unless(i32),
    /// Only with this flag.
    If(i32),
}

/// One row: a call by its number.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row {
    number: i64,
    pub(super) name: &'static str,
    kind: RecordKind,
    directory: [u8; 2],
    path: [u8; 2],
    argument: u8,
    output: u8,
    output_size: u8,
    follow: Follow,
    facet: Option<Facet>,
}

/// As in shared.h.
const BASE_SENT: u8 = 0xff;
const OR_DESCRIPTOR: u8 = 0x80;
const CALL_LIMIT: usize = 512;
/// The size of `struct call` in shared.h.
const CALL_SIZE: usize = 8;

/// Positions in this table count from 0, as in a manual page; the kernel side counts from 1.
impl Row {
    const fn new(number: i64, name: &'static str, kind: RecordKind) -> Self {
        let (directory, path) = ([0; 2], [0; 2]);
        let (argument, output, output_size) = (0, 0, 0);
        let (follow, facet) = (Follow::Yes, None);
        Self { number, name, kind, directory, path, argument, output, output_size, follow, facet }
    }

    /// A path relative to the working directory.
    const fn path(mut self, path: u8) -> Self {
        self.path[0] = path + 1;
        self
    }

    /// A path relative to a directory descriptor.
    const fn at(mut self, directory: u8, path: u8) -> Self {
        self.directory[0] = directory + 1;
        self.path(path)
    }

    const fn to_path(mut self, path: u8) -> Self {
        self.path[1] = path + 1;
        self
    }

    const fn to_at(mut self, directory: u8, path: u8) -> Self {
        self.directory[1] = directory + 1;
        self.to_path(path)
    }

    /// An empty or missing (first) path means the descriptor.
    const fn or_descriptor(mut self) -> Self {
        self.path[0] |= OR_DESCRIPTOR;
        self
    }

    /// No path: the place behind a descriptor.
    const fn descriptor(mut self, descriptor: u8) -> Self {
        self.directory[0] = descriptor + 1;
        self
    }

    const fn base_sent_at_entry(mut self) -> Self {
        self.directory[0] = BASE_SENT;
        self
    }

    const fn argument(mut self, argument: u8) -> Self {
        self.argument = argument + 1;
        self
    }

    /// The call fills this buffer: as many bytes, or as the result says (0).
    const fn fills(mut self, output: u8, size: usize) -> Self {
        self.output = output + 1;
        self.output_size = size.div_ceil(8) as u8;
        self
    }

    const fn follow(mut self, follow: Follow) -> Self {
        self.follow = follow;
        self
    }

    const fn facet(mut self, facet: Facet) -> Self {
        self.facet = Some(facet);
        self
    }

    /// What a call with this argument asks besides. Of `access` the argument is the mode; of the one
    /// with flags the mode is not sent along, and it may be about writing.
    pub(super) fn facet_of(&self, argument: u64) -> Option<Facet> {
        let writes = argument & (l::W_OK | l::X_OK) as u64 != 0;
        let unknown = self.number == SYS_FACCESSAT2;
        self.facet.filter(|facet| *facet != Facet::Rights || writes || unknown)
    }

    /// Whether a link at the end of the path is followed by a call with this argument.
    pub(super) fn follows(&self, argument: u64) -> bool {
        let has = |flag: i32| argument & flag as u64 != 0;
        match self.follow {
            Follow::Yes => true,
            Follow::No => false,
            Follow::Unless(flag) => !has(flag),
            Follow::If(flag) => has(flag),
        }
    }

    fn to_bytes(self) -> [u8; CALL_SIZE] {
        [
            self.kind as u8,
            self.directory[0],
            self.directory[1],
            self.path[0],
            self.path[1],
            self.argument,
            self.output,
            self.output_size,
        ]
    }
}

const NO_FOLLOW: Follow = Follow::Unless(l::AT_SYMLINK_NOFOLLOW);
const STAT: usize = size_of::<l::stat>();

// Newer than the libc crate knows on every target; these numbers are the same on all machines.
const SYS_OPEN_TREE: i64 = 428;
const SYS_MOVE_MOUNT: i64 = 429;
const SYS_FSOPEN: i64 = 430;
const SYS_FSPICK: i64 = 433;
const SYS_CLONE3: i64 = 435;
const SYS_OPENAT2: i64 = 437;
const SYS_FACCESSAT2: i64 = 439;
const SYS_MOUNT_SETATTR: i64 = 442;
const SYS_FCHMODAT2: i64 = 452;
const SYS_SETXATTRAT: i64 = 463;
const SYS_GETXATTRAT: i64 = 464;
const SYS_LISTXATTRAT: i64 = 465;
const SYS_REMOVEXATTRAT: i64 = 466;
const SYS_OPEN_TREE_ATTR: i64 = 467;
const SYS_FILE_GETATTR: i64 = 468;
const SYS_FILE_SETATTR: i64 = 469;

macro_rules! row {
    ($number:expr, $name:literal, $kind:ident) => {
        Row::new($number, $name, RecordKind::$kind)
    };
}

#[rustfmt::skip]
const ROWS: &[Row] = &[
    row!(l::SYS_openat, "openat", Open).at(0, 1).argument(2),
    row!(SYS_OPENAT2, "openat2", Openat2).at(0, 1),
    row!(l::SYS_newfstatat, "newfstatat", Stat).at(0, 1).argument(3).fills(2, STAT).follow(NO_FOLLOW),
    row!(l::SYS_statx, "statx", Stat).at(0, 1).argument(2).fills(4, size_of::<l::statx>()).follow(NO_FOLLOW),
    row!(l::SYS_faccessat, "faccessat", Stat).at(0, 1).argument(2).facet(Facet::Rights),
    row!(SYS_FACCESSAT2, "faccessat2", Stat).at(0, 1).argument(3).follow(NO_FOLLOW).facet(Facet::Rights),
    row!(l::SYS_statfs, "statfs", Stat).path(0).fills(1, size_of::<l::statfs>()),
    row!(l::SYS_name_to_handle_at, "name_to_handle_at", Stat).at(0, 1).argument(4).fills(2, 136)
        .follow(Follow::If(l::AT_SYMLINK_FOLLOW)),
    row!(l::SYS_inotify_add_watch, "inotify_add_watch", Stat).path(1),
    row!(l::SYS_fanotify_mark, "fanotify_mark", Stat).at(3, 4),
    row!(l::SYS_getxattr, "getxattr", Stat).path(0).fills(2, 0).facet(Facet::Attributes),
    row!(l::SYS_lgetxattr, "lgetxattr", Stat).path(0).fills(2, 0).follow(Follow::No).facet(Facet::Attributes),
    row!(l::SYS_listxattr, "listxattr", Stat).path(0).fills(1, 0).facet(Facet::Attributes),
    row!(l::SYS_llistxattr, "llistxattr", Stat).path(0).fills(1, 0).follow(Follow::No).facet(Facet::Attributes),
    row!(SYS_GETXATTRAT, "getxattrat", Stat).at(0, 1).argument(2).follow(NO_FOLLOW).facet(Facet::Attributes),
    row!(SYS_LISTXATTRAT, "listxattrat", Stat).at(0, 1).argument(2).fills(3, 0).follow(NO_FOLLOW).facet(Facet::Attributes),
    row!(l::SYS_fgetxattr, "fgetxattr", Stat).descriptor(0).facet(Facet::Attributes),
    row!(l::SYS_flistxattr, "flistxattr", Stat).descriptor(0).facet(Facet::Attributes),
    row!(SYS_FILE_GETATTR, "file_getattr", Stat).at(0, 1).argument(4).fills(2, 64).follow(NO_FOLLOW),
    row!(l::SYS_chdir, "chdir", Chdir).path(0).base_sent_at_entry(),
    row!(l::SYS_readlinkat, "readlinkat", ReadLink).at(0, 1).or_descriptor().fills(2, 0),
    row!(l::SYS_execve, "execve", Execute).path(0),
    row!(l::SYS_execveat, "execveat", ExecuteAt).at(0, 1).or_descriptor(),
    row!(l::SYS_unlinkat, "unlinkat", Remove).at(0, 1),
    row!(l::SYS_mkdirat, "mkdirat", MakeDirectory).at(0, 1),
    row!(l::SYS_mknodat, "mknodat", MakeNode).at(0, 1),
    row!(l::SYS_symlinkat, "symlinkat", MakeNode).at(1, 2).to_path(0),
    row!(l::SYS_renameat, "renameat", Rename).at(0, 1).to_at(2, 3),
    row!(l::SYS_renameat2, "renameat2", Rename).at(0, 1).to_at(2, 3).argument(4),
    row!(l::SYS_linkat, "linkat", Link).at(0, 1).or_descriptor().to_at(2, 3).argument(4)
        .follow(Follow::If(l::AT_SYMLINK_FOLLOW)),
    row!(l::SYS_truncate, "truncate", Truncate).path(0),
    row!(l::SYS_fchmod, "fchmod", ChangeMode).descriptor(0),
    row!(l::SYS_fchmodat, "fchmodat", ChangeMode).at(0, 1),
    row!(SYS_FCHMODAT2, "fchmodat2", ChangeMode).at(0, 1).or_descriptor().argument(3).follow(NO_FOLLOW),
    row!(l::SYS_fchown, "fchown", ChangeMode).descriptor(0),
    row!(l::SYS_fchownat, "fchownat", ChangeMode).at(0, 1).or_descriptor().argument(4).follow(NO_FOLLOW),
    row!(l::SYS_utimensat, "utimensat", ChangeMode).at(0, 1).or_descriptor().argument(3).follow(NO_FOLLOW),
    row!(l::SYS_setxattr, "setxattr", ChangeMode).path(0),
    row!(l::SYS_lsetxattr, "lsetxattr", ChangeMode).path(0).follow(Follow::No),
    row!(l::SYS_fsetxattr, "fsetxattr", ChangeMode).descriptor(0),
    row!(l::SYS_removexattr, "removexattr", ChangeMode).path(0),
    row!(l::SYS_lremovexattr, "lremovexattr", ChangeMode).path(0).follow(Follow::No),
    row!(l::SYS_fremovexattr, "fremovexattr", ChangeMode).descriptor(0),
    row!(SYS_SETXATTRAT, "setxattrat", ChangeMode).at(0, 1).or_descriptor().argument(2).follow(NO_FOLLOW),
    row!(SYS_REMOVEXATTRAT, "removexattrat", ChangeMode).at(0, 1).or_descriptor().argument(2).follow(NO_FOLLOW),
    row!(SYS_FILE_SETATTR, "file_setattr", ChangeMode).at(0, 1).or_descriptor().argument(4).follow(NO_FOLLOW),
    row!(l::SYS_connect, "connect", Connect),
    row!(l::SYS_bind, "bind", Bind),
    row!(l::SYS_listen, "listen", Listen),
    row!(l::SYS_sendto, "sendto", SendTo),
    row!(l::SYS_sendmsg, "sendmsg", SendMessage),
    row!(l::SYS_sendmmsg, "sendmmsg", SendMessages),
    row!(l::SYS_ioctl, "ioctl", AskTerminal),
    row!(l::SYS_io_uring_setup, "io_uring_setup", IoUring),
    row!(l::SYS_open_by_handle_at, "open_by_handle_at", FileHandle),
    row!(l::SYS_pidfd_getfd, "pidfd_getfd", FileHandle),
    row!(l::SYS_chroot, "chroot", Namespace),
    row!(l::SYS_pivot_root, "pivot_root", Namespace),
    row!(l::SYS_mount, "mount", Namespace),
    row!(l::SYS_umount2, "umount", Namespace),
    row!(SYS_MOVE_MOUNT, "move_mount", Namespace),
    row!(SYS_OPEN_TREE, "open_tree", Namespace),
    row!(SYS_OPEN_TREE_ATTR, "open_tree_attr", Namespace),
    row!(SYS_FSOPEN, "fsopen", Namespace),
    row!(SYS_FSPICK, "fspick", Namespace),
    row!(SYS_MOUNT_SETATTR, "mount_setattr", Namespace),
    row!(l::SYS_setns, "setns", Namespace).argument(1),
    row!(l::SYS_unshare, "unshare", Clone).argument(0),
    row!(l::SYS_clone, "clone", Clone).argument(0),
    row!(SYS_CLONE3, "clone3", Clone3),
    row!(l::SYS_read, "read", ReadDescriptor).argument(0),
    row!(l::SYS_readv, "readv", ReadDescriptor).argument(0),
    row!(l::SYS_pread64, "pread64", ReadDescriptor).argument(0),
    row!(l::SYS_preadv, "preadv", ReadDescriptor).argument(0),
    row!(l::SYS_preadv2, "preadv2", ReadDescriptor).argument(0),
    // The root of a run waits in this call for its go, and is adopted when it returns from it.
    row!(l::SYS_recvmsg, "recvmsg", ReadDescriptor).argument(0),
    row!(l::SYS_recvfrom, "recvfrom", ReadDescriptor).argument(0),
    row!(l::SYS_recvmmsg, "recvmmsg", ReadDescriptor).argument(0),
    row!(l::SYS_splice, "splice", ReadDescriptor).argument(0),
    row!(l::SYS_tee, "tee", ReadDescriptor).argument(0),
    row!(l::SYS_copy_file_range, "copy_file_range", ReadDescriptor).argument(0),
    row!(l::SYS_sendfile, "sendfile", ReadDescriptor).argument(1),
];

/// Calls that only x86 still has.
#[cfg(target_arch = "x86_64")]
#[rustfmt::skip]
const LEGACY: &[Row] = &[
    row!(l::SYS_open, "open", Open).path(0).argument(1),
    row!(l::SYS_creat, "creat", Open).path(0),
    row!(l::SYS_stat, "stat", Stat).path(0).fills(1, STAT),
    row!(l::SYS_lstat, "lstat", Stat).path(0).fills(1, STAT).follow(Follow::No),
    row!(l::SYS_access, "access", Stat).path(0).argument(1).facet(Facet::Rights),
    row!(l::SYS_readlink, "readlink", ReadLink).path(0).fills(1, 0),
    row!(l::SYS_unlink, "unlink", Remove).path(0),
    row!(l::SYS_rmdir, "rmdir", Remove).path(0),
    row!(l::SYS_mkdir, "mkdir", MakeDirectory).path(0),
    row!(l::SYS_mknod, "mknod", MakeNode).path(0),
    row!(l::SYS_symlink, "symlink", MakeNode).path(1).to_path(0),
    row!(l::SYS_rename, "rename", Rename).path(0).to_path(1),
    row!(l::SYS_link, "link", Link).path(0).to_path(1).follow(Follow::No),
    row!(l::SYS_chmod, "chmod", ChangeMode).path(0),
    row!(l::SYS_chown, "chown", ChangeMode).path(0),
    row!(l::SYS_lchown, "lchown", ChangeMode).path(0).follow(Follow::No),
    row!(l::SYS_utime, "utime", ChangeMode).path(0),
    row!(l::SYS_utimes, "utimes", ChangeMode).path(0),
    row!(l::SYS_futimesat, "futimesat", ChangeMode).at(0, 1).or_descriptor(),
];
#[cfg(not(target_arch = "x86_64"))]
const LEGACY: &[Row] = &[];

/// The whole table, indexed by call number.
#[derive(Debug)]
pub(super) struct Table {
    rows: Vec<Option<&'static Row>>,
}

impl Table {
    pub(super) fn new() -> Self {
        let mut rows = vec![None; CALL_LIMIT];
        for row in ROWS.iter().chain(LEGACY) {
            rows[row.number as usize] = Some(row);
        }
        Self { rows }
    }

    pub(super) fn row(&self, number: u32) -> Option<&'static Row> {
        self.rows.get(number as usize).copied().flatten()
    }

    /// The table as the kernel side holds it.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let empty = [0; CALL_SIZE];
        self.rows.iter().flat_map(|row| row.map_or(empty, |row| row.to_bytes())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    /// The names of `enum kind` in shared.h, in order.
    fn kinds_of_the_kernel_side() -> Vec<String> {
        let text = include_str!("shared.h");
        let (_, rest) = text.split_once("enum kind {").unwrap();
        let (body, _) = rest.split_once("};").unwrap();
        body.lines()
            .map(str::trim)
            .filter(|line| !line.is_empty() && !line.starts_with("//"))
            .map(|line| line.trim_end_matches(',').trim_end_matches(" = 0").to_owned())
            .collect()
    }

    #[test]
    fn both_sides_number_the_kinds_alike() {
        let plain = |s: &str| s.replace('_', "").to_lowercase();
        let theirs: Vec<String> = kinds_of_the_kernel_side().iter().map(|k| plain(k)).collect();
        let ours: Vec<String> = RecordKind::ALL.iter().map(|k| plain(&format!("{k:?}"))).collect();
        assert_eq!(theirs, ours);
        for (number, kind) in RecordKind::ALL.iter().enumerate() {
            assert_eq!(*kind as usize, number);
            assert_eq!(RecordKind::from_number(number as u16), Some(*kind));
        }
        assert_eq!(RecordKind::from_number(RecordKind::ALL.len() as u16), None);
    }

    #[test]
    fn no_call_stands_in_the_table_twice() {
        let mut seen = HashSet::new();
        for row in ROWS.iter().chain(LEGACY) {
            assert!(seen.insert(row.number), "{} is there twice", row.name);
            assert!((row.number as usize) < CALL_LIMIT);
        }
    }

    #[test]
    fn the_kernel_sides_table_has_a_row_for_every_number() {
        let table = Table::new();
        let bytes = table.to_bytes();
        assert_eq!(bytes.len(), CALL_LIMIT * CALL_SIZE);
        let at = l::SYS_linkat as usize * CALL_SIZE;
        assert_eq!(
            bytes[at..at + CALL_SIZE],
            [RecordKind::Link as u8, 1, 3, 2 | OR_DESCRIPTOR, 4, 5, 0, 0]
        );
        assert!(table.row(u32::MAX).is_none());
    }

    #[test]
    fn flags_decide_about_links() {
        let table = Table::new();
        let stat = table.row(l::SYS_newfstatat as u32).unwrap();
        assert!(stat.follows(0) && !stat.follows(l::AT_SYMLINK_NOFOLLOW as u64));
        let link = table.row(l::SYS_linkat as u32).unwrap();
        assert!(!link.follows(0) && link.follows(l::AT_SYMLINK_FOLLOW as u64));
    }
}
