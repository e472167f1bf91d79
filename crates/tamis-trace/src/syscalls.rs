//! The calls that are watched, in tables for all engines that stop at a call's entry.

use crate::streams::OF_TERMINALS;
use Watch::{Always, FlagSet, MessageSent, OneOf, PointerGiven, StandardInput};
use libc as l;

#[cfg(target_arch = "x86_64")]
pub(crate) const NATIVE_ARCHITECTURE: u32 = 0xC000_003E;
#[cfg(target_arch = "aarch64")]
pub(crate) const NATIVE_ARCHITECTURE: u32 = 0xC000_00B7;

/// Numbers from here on are of the x32 ABI.
pub(crate) const X32: u32 = 0x4000_0000;

/// Under which condition a call is of interest; what the filter can see without reading memory.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Watch {
    Always,
    /// A bit of this mask is set in the argument.
    FlagSet {
        argument: u32,
        mask: u32,
    },
    /// The argument is this.
    Equals {
        argument: u32,
        value: u32,
    },
    /// The argument is one of these.
    OneOf {
        argument: u32,
        values: &'static [u32],
    },
    /// The pointer argument is not null.
    PointerGiven {
        argument: u32,
    },
    /// A message on any descriptor but the one over which the listener is handed out.
    MessageSent,
    /// The descriptor in the argument is 0, and reads of standard input are to be reported.
    StandardInput {
        argument: u32,
    },
}

/// All of them, the frequent ones first: the filter is a chain.
///
/// ptrace is not watched: a tracer inside the tree hides nothing from a filter. clone3 is not,
/// either: the filter cannot see its flags, and a new mount name space is a copy of the old one
/// until one of the calls below changes it.
pub(crate) fn watched() -> impl Iterator<Item = &'static (i64, Watch)> {
    [LOOKS, CHANGES, ATTRIBUTES, ELSEWHERE, CONNECTIONS, SURROUNDINGS, STANDARD_INPUT]
        .into_iter()
        .flatten()
}

const NEW_MOUNTS: u32 = l::CLONE_NEWNS as u32;
const NEW_LISTENER: u32 = 1 << 3;

/// What opens files, looks at them, runs them or goes there.
const LOOKS: &[(i64, Watch)] = &[
    (l::SYS_openat, Always),
    (l::SYS_newfstatat, Always),
    #[cfg(target_arch = "x86_64")]
    (l::SYS_open, Always),
    #[cfg(target_arch = "x86_64")]
    (l::SYS_stat, Always),
    #[cfg(target_arch = "x86_64")]
    (l::SYS_lstat, Always),
    #[cfg(target_arch = "x86_64")]
    (l::SYS_access, Always),
    #[cfg(target_arch = "x86_64")]
    (l::SYS_readlink, Always),
    (l::SYS_statx, Always),
    (l::SYS_readlinkat, Always),
    (l::SYS_faccessat, Always),
    (l::SYS_faccessat2, Always),
    (l::SYS_execve, Always),
    (l::SYS_execveat, Always),
    (l::SYS_openat2, Always),
    (l::SYS_chdir, Always),
];

/// What changes files and their names.
const CHANGES: &[(i64, Watch)] = &[
    #[cfg(target_arch = "x86_64")]
    (l::SYS_creat, Always),
    #[cfg(target_arch = "x86_64")]
    (l::SYS_unlink, Always),
    #[cfg(target_arch = "x86_64")]
    (l::SYS_rmdir, Always),
    (l::SYS_unlinkat, Always),
    #[cfg(target_arch = "x86_64")]
    (l::SYS_mkdir, Always),
    (l::SYS_mkdirat, Always),
    #[cfg(target_arch = "x86_64")]
    (l::SYS_rename, Always),
    #[cfg(target_arch = "x86_64")]
    (l::SYS_renameat, Always),
    (l::SYS_renameat2, Always),
    #[cfg(target_arch = "x86_64")]
    (l::SYS_link, Always),
    (l::SYS_linkat, Always),
    #[cfg(target_arch = "x86_64")]
    (l::SYS_symlink, Always),
    (l::SYS_symlinkat, Always),
    #[cfg(target_arch = "x86_64")]
    (l::SYS_mknod, Always),
    (l::SYS_mknodat, Always),
    (l::SYS_truncate, Always),
];

/// What reads or changes attributes.
const ATTRIBUTES: &[(i64, Watch)] = &[
    #[cfg(target_arch = "x86_64")]
    (l::SYS_chmod, Always),
    (l::SYS_fchmod, Always),
    (l::SYS_fchmodat, Always),
    (SYS_FCHMODAT2, Always),
    #[cfg(target_arch = "x86_64")]
    (l::SYS_chown, Always),
    #[cfg(target_arch = "x86_64")]
    (l::SYS_lchown, Always),
    (l::SYS_fchown, Always),
    (l::SYS_fchownat, Always),
    #[cfg(target_arch = "x86_64")]
    (l::SYS_utime, Always),
    #[cfg(target_arch = "x86_64")]
    (l::SYS_utimes, Always),
    #[cfg(target_arch = "x86_64")]
    (l::SYS_futimesat, Always),
    (l::SYS_utimensat, Always),
    (l::SYS_getxattr, Always),
    (l::SYS_lgetxattr, Always),
    (l::SYS_listxattr, Always),
    (l::SYS_llistxattr, Always),
    (l::SYS_fgetxattr, Always),
    (l::SYS_flistxattr, Always),
    (l::SYS_setxattr, Always),
    (l::SYS_lsetxattr, Always),
    (l::SYS_fsetxattr, Always),
    (l::SYS_removexattr, Always),
    (l::SYS_lremovexattr, Always),
    (l::SYS_fremovexattr, Always),
    (SYS_SETXATTRAT, Always),
    (SYS_GETXATTRAT, Always),
    (SYS_LISTXATTRAT, Always),
    (SYS_REMOVEXATTRAT, Always),
    (SYS_FILE_GETATTR, Always),
    (SYS_FILE_SETATTR, Always),
];

/// What asks about whole file systems, watches files, or comes to them without a path (by handles,
/// rings and the descriptors of others).
const ELSEWHERE: &[(i64, Watch)] = &[
    (l::SYS_statfs, Always),
    (l::SYS_inotify_add_watch, Always),
    (l::SYS_fanotify_mark, Always),
    (l::SYS_name_to_handle_at, Always),
    (l::SYS_open_by_handle_at, Always),
    (l::SYS_pidfd_getfd, Always),
    (l::SYS_io_uring_setup, Always),
];

/// What reaches others, or a terminal.
const CONNECTIONS: &[(i64, Watch)] = &[
    (l::SYS_connect, Always),
    (l::SYS_bind, Always),
    (l::SYS_listen, Always),
    (l::SYS_sendto, PointerGiven { argument: 4 }),
    (l::SYS_sendmsg, MessageSent),
    (l::SYS_sendmmsg, Always),
    (l::SYS_ioctl, OneOf { argument: 1, values: &OF_TERMINALS }),
];

/// What changes the mounts, the root directory or the filters.
const SURROUNDINGS: &[(i64, Watch)] = &[
    (l::SYS_chroot, Always),
    (l::SYS_pivot_root, Always),
    (l::SYS_mount, Always),
    (l::SYS_umount2, Always),
    (l::SYS_move_mount, Always),
    (l::SYS_open_tree, Always),
    (SYS_OPEN_TREE_ATTR, Always),
    (l::SYS_mount_setattr, Always),
    (l::SYS_fsopen, Always),
    (l::SYS_fspick, Always),
    (l::SYS_setns, Always),
    (l::SYS_unshare, FlagSet { argument: 0, mask: NEW_MOUNTS }),
    (l::SYS_clone, FlagSet { argument: 0, mask: NEW_MOUNTS }),
    (l::SYS_seccomp, FlagSet { argument: 1, mask: NEW_LISTENER }),
];

/// What reads from a descriptor that may be standard input.
const STANDARD_INPUT: &[(i64, Watch)] = &[
    (l::SYS_read, StandardInput { argument: 0 }),
    (l::SYS_readv, StandardInput { argument: 0 }),
    (l::SYS_pread64, StandardInput { argument: 0 }),
    (l::SYS_preadv, StandardInput { argument: 0 }),
    (l::SYS_preadv2, StandardInput { argument: 0 }),
    (l::SYS_recvfrom, StandardInput { argument: 0 }),
    (l::SYS_recvmsg, StandardInput { argument: 0 }),
    (l::SYS_splice, StandardInput { argument: 0 }),
    (l::SYS_tee, StandardInput { argument: 0 }),
    (l::SYS_copy_file_range, StandardInput { argument: 0 }),
    (l::SYS_sendfile, StandardInput { argument: 1 }),
];

/// What the ptrace engine watches before all others: what a second tracer does, and what would
/// escape the first.
pub(crate) fn watched_when_traced() -> &'static [(i64, Watch)] {
    const MASK: u32 = (l::CLONE_NEWNS | l::CLONE_UNTRACED) as u32;
    &[
        (l::SYS_ptrace, Watch::Always),
        (l::SYS_clone, Watch::FlagSet { argument: 0, mask: MASK }),
        (l::SYS_clone3, Watch::Always),
    ]
}

/// What is watched before all others where calls are patched: a filter of the test's own may end a
/// process for a call that it does not know.
pub(crate) fn watched_when_patched() -> &'static [(i64, Watch)] {
    const SET_FILTER: u32 = 1;
    &[
        (l::SYS_seccomp, Watch::FlagSet { argument: 0, mask: SET_FILTER }),
        (l::SYS_prctl, Watch::Equals { argument: 0, value: l::PR_SET_SECCOMP as u32 }),
    ]
}

/// Whether the ptrace engine watches this call of the native architecture: what its filter decides
/// in the kernel.
pub(crate) fn watches_traced(number: i64, arguments: &[u64; 6], watch_stdin: bool) -> bool {
    let low = |n: u32| arguments[n as usize] as u32;
    if number as u32 >= X32 {
        return number as u32 != u32::MAX;
    }
    let Some((_, watch)) =
        watched_when_traced().iter().chain(watched()).find(|(watched, _)| *watched == number)
    else {
        return false;
    };
    match *watch {
        Watch::Always | Watch::MessageSent => true,
        Watch::FlagSet { argument, mask } => low(argument) & mask != 0,
        Watch::Equals { argument, value } => low(argument) == value,
        Watch::OneOf { argument, values } => values.contains(&low(argument)),
        Watch::PointerGiven { argument } => arguments[argument as usize] != 0,
        Watch::StandardInput { argument } => watch_stdin && low(argument) == 0,
    }
}

/// Not in the libc crate for every target yet.
pub(crate) const SYS_FCHMODAT2: i64 = 452;
pub(crate) const SYS_SETXATTRAT: i64 = 463;
pub(crate) const SYS_GETXATTRAT: i64 = 464;
pub(crate) const SYS_LISTXATTRAT: i64 = 465;
pub(crate) const SYS_REMOVEXATTRAT: i64 = 466;
pub(crate) const SYS_OPEN_TREE_ATTR: i64 = 467;
pub(crate) const SYS_FILE_GETATTR: i64 = 468;
pub(crate) const SYS_FILE_SETATTR: i64 = 469;
