//! From a call at its entry to actions of the event model.

use crate::event::{Action, Blind, Facet, OpenHow, PathArg, Peer, Socket};
use crate::process::{Last, Process, Unread};
use crate::socket::internet_address;
use crate::streams;
use crate::syscalls::{
    SYS_FCHMODAT2, SYS_FILE_GETATTR, SYS_FILE_SETATTR, SYS_GETXATTRAT, SYS_LISTXATTRAT,
    SYS_OPEN_TREE_ATTR, SYS_REMOVEXATTRAT, SYS_SETXATTRAT,
};
use std::cell::Cell;

/// A call as the kernel shows it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Call {
    pub(crate) number: i64,
    pub(crate) arguments: [u64; 6],
}

type Actions = Result<Vec<Action<'static>>, Unread>;

/// What the call is about; nothing where it will fail by itself or concerns no path. Besides, the
/// standard stream that it asks about.
pub(crate) fn decode(call: &Call, process: Process) -> (Vec<Action<'static>>, Option<Asked>) {
    if call.number == libc::SYS_ioctl {
        return (Vec::new(), Some(Asked::Descriptor(call.arguments[0] as i32)));
    }
    let named = Cell::new(None);
    let actions = decode_path(Arguments { call, process, named: &named });
    (actions, named.get().map(Asked::Name))
}

fn decode_path(a: Arguments<'_>) -> Vec<Action<'static>> {
    let call = a.call;
    match try_decode(a) {
        Ok(actions) => actions,
        Err(Unread::Nothing | Unread::Gone) => Vec::new(),
        // Opened anew it can be read under another number.
        Err(Unread::StandardInput) if is_open(call) => {
            vec![Action::Blind(Blind::StandardInput)]
        }
        Err(Unread::StandardInput) => Vec::new(),
        Err(Unread::Unknown(why)) => vec![Action::Blind(Blind::Unresolved(why))],
    }
}

/// A standard stream that a call asks about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asked {
    /// By a descriptor, whether it is a terminal.
    Descriptor(i32),
    /// By a name (/dev/stdin), what it is.
    Name(u32),
}

fn is_open(call: &Call) -> bool {
    #[cfg(target_arch = "x86_64")]
    if call.number == libc::SYS_open {
        return true;
    }
    matches!(call.number, libc::SYS_openat | libc::SYS_openat2)
}

/// Reads path arguments of one call.
#[derive(Clone, Copy)]
struct Arguments<'a> {
    call: &'a Call,
    process: Process,
    /// The standard stream that a path names.
    named: &'a Cell<Option<u32>>,
}

impl Arguments<'_> {
    fn number(self, n: usize) -> u64 {
        self.call.arguments[n]
    }

    fn path(self, n: usize) -> Result<PathArg<'static>, Unread> {
        self.path_at(None, n)
    }

    /// A path relative to the directory descriptor in argument `directory`. An empty path that
    /// means the descriptor itself is nothing new: it was opened before.
    fn path_at(self, directory: Option<usize>, n: usize) -> Result<PathArg<'static>, Unread> {
        self.path_to(Last::Follow, directory, n)
    }

    /// The same, for a call that may be about a link itself.
    fn path_to(
        self,
        last: Last,
        directory: Option<usize>,
        n: usize,
    ) -> Result<PathArg<'static>, Unread> {
        let path = self.process.read_path(self.number(n))?;
        if path.is_empty() {
            return Err(Unread::Nothing);
        }
        self.named.set(self.named.get().or_else(|| streams::named(&path)));
        let directory = directory.map_or(libc::AT_FDCWD, |d| self.number(d) as i32);
        Ok(self.process.absolute(directory, path, last)?.into())
    }

    /// The same where an empty or missing path means the descriptor itself.
    fn path_or_descriptor(self, directory: usize, n: usize) -> Result<PathArg<'static>, Unread> {
        let descriptor = self.number(directory) as i32;
        if self.number(n) != 0 {
            let path = self.process.read_path(self.number(n))?;
            if !path.is_empty() {
                return Ok(self.process.absolute(descriptor, path, Last::Follow)?.into());
            }
        }
        Ok(self.process.descriptor(descriptor)?.into())
    }

    fn descriptor(self, n: usize) -> Result<PathArg<'static>, Unread> {
        Ok(self.process.descriptor(self.number(n) as i32)?.into())
    }

    /// The socket in the first argument.
    fn socket(self) -> Socket {
        self.process.socket(self.number(0) as i32)
    }

    fn flag(self, n: usize, flag: i32) -> bool {
        self.number(n) & flag as u64 != 0
    }
}

fn one(action: Action<'static>) -> Actions {
    Ok(vec![action])
}

fn try_decode(a: Arguments<'_>) -> Actions {
    let Arguments { call, process, .. } = a;
    if let Some(actions) = decode_legacy(a) {
        return actions;
    }
    let no_follow = libc::AT_SYMLINK_NOFOLLOW;
    match call.number {
        libc::SYS_openat => open(a.path_at(Some(0), 1)?, a.number(2)),
        libc::SYS_openat2 => {
            let flags = u64::from_ne_bytes(process.read_exact(a.number(2))?);
            let resolve = u64::from_ne_bytes(process.read_exact(a.number(2) + 16)?);
            if resolve & libc::RESOLVE_IN_ROOT != 0 {
                let why = "openat2 below a root directory of its own".to_owned();
                return one(Action::Blind(Blind::Unresolved(why)));
            }
            open(a.path_at(Some(0), 1)?, flags)
        }
        libc::SYS_newfstatat => stat(a, Some(0), 1, !a.flag(3, no_follow)),
        libc::SYS_statx => stat(a, Some(0), 1, !a.flag(2, no_follow)),
        libc::SYS_faccessat => access(a, stat(a, Some(0), 1, true), 2),
        libc::SYS_faccessat2 => access(a, stat(a, Some(0), 1, !a.flag(3, no_follow)), 2),
        libc::SYS_name_to_handle_at => stat(a, Some(0), 1, a.flag(4, libc::AT_SYMLINK_FOLLOW)),
        libc::SYS_chdir | libc::SYS_statfs => stat(a, None, 0, true),
        libc::SYS_getxattr | libc::SYS_listxattr => attributes(stat(a, None, 0, true)),
        libc::SYS_lgetxattr | libc::SYS_llistxattr => attributes(stat(a, None, 0, false)),
        libc::SYS_fgetxattr | libc::SYS_flistxattr => {
            one(Action::Inspect { path: a.descriptor(0)?, follow: true, facet: Facet::Attributes })
        }
        SYS_GETXATTRAT | SYS_LISTXATTRAT => attributes(stat(a, Some(0), 1, !a.flag(2, no_follow))),
        SYS_FILE_GETATTR => stat(a, Some(0), 1, !a.flag(4, no_follow)),
        libc::SYS_inotify_add_watch => stat(a, None, 1, true),
        libc::SYS_fanotify_mark => stat(a, Some(3), 4, true),
        libc::SYS_readlinkat => one(Action::ReadLink { path: a.path_to(Last::Keep, Some(0), 1)? }),
        libc::SYS_execve => one(Action::Execute { path: a.path(0)? }),
        libc::SYS_execveat => one(Action::Execute { path: a.path_or_descriptor(0, 1)? }),
        libc::SYS_unlinkat => one(Action::Remove { path: a.path_at(Some(0), 1)? }),
        libc::SYS_mkdirat => one(Action::MakeDirectory { path: a.path_at(Some(0), 1)? }),
        libc::SYS_mknodat => one(Action::MakeNode { path: a.path_at(Some(0), 1)? }),
        libc::SYS_symlinkat => one(Action::MakeNode { path: a.path_at(Some(1), 2)? }),
        libc::SYS_renameat2 => rename(a, a.number(4)),
        libc::SYS_linkat => {
            let to = a.path_at(Some(2), 3)?;
            let follow = a.flag(4, libc::AT_SYMLINK_FOLLOW);
            // The call fails by itself where this pointer is bad; what else has no path is a file
            // that gets its first name (O_TMPFILE).
            process.read_path(a.number(1))?;
            one(match a.path_or_descriptor(0, 1) {
                Ok(from) => Action::Link { from, to, follow },
                Err(Unread::Nothing | Unread::Gone) => Action::MakeNode { path: to },
                Err(unread) => return Err(unread),
            })
        }
        libc::SYS_truncate => one(Action::Truncate { path: a.path(0)? }),
        libc::SYS_fchmod | libc::SYS_fchown | libc::SYS_fsetxattr | libc::SYS_fremovexattr => {
            change(a.descriptor(0)?, true)
        }
        libc::SYS_fchmodat => change(a.path_at(Some(0), 1)?, true),
        SYS_FCHMODAT2 => change(a.path_or_descriptor(0, 1)?, !a.flag(3, no_follow)),
        libc::SYS_fchownat => change(a.path_or_descriptor(0, 1)?, !a.flag(4, no_follow)),
        libc::SYS_utimensat => change(a.path_or_descriptor(0, 1)?, !a.flag(3, no_follow)),
        libc::SYS_setxattr | libc::SYS_removexattr => change(a.path(0)?, true),
        libc::SYS_lsetxattr | libc::SYS_lremovexattr => change(a.path(0)?, false),
        SYS_SETXATTRAT | SYS_REMOVEXATTRAT => {
            change(a.path_or_descriptor(0, 1)?, !a.flag(2, no_follow))
        }
        SYS_FILE_SETATTR => change(a.path_or_descriptor(0, 1)?, !a.flag(4, no_follow)),
        libc::SYS_connect => Ok(connect(a, peer(process, a.number(1), a.number(2))?)),
        libc::SYS_sendto => Ok(connect(a, peer(process, a.number(4), a.number(5))?)),
        libc::SYS_sendmsg => message(a, a.number(1)),
        libc::SYS_sendmmsg => messages(a, a.number(1), a.number(2)),
        libc::SYS_bind => Ok(bind(a, peer(process, a.number(1), a.number(2))?)),
        libc::SYS_listen => one(Action::Listen { socket: a.socket() }),
        libc::SYS_open_by_handle_at => one(Action::Blind(Blind::FileHandle)),
        libc::SYS_pidfd_getfd => one(Action::Blind(Blind::Unresolved(OTHERS_DESCRIPTOR.into()))),
        libc::SYS_chroot => blind_namespace("chroot"),
        libc::SYS_pivot_root => blind_namespace("pivot_root"),
        libc::SYS_mount | libc::SYS_move_mount => blind_namespace("mount"),
        libc::SYS_umount2 => blind_namespace("umount"),
        libc::SYS_mount_setattr => blind_namespace("mount_setattr"),
        libc::SYS_open_tree | SYS_OPEN_TREE_ATTR => blind_namespace("open_tree"),
        libc::SYS_fsopen | libc::SYS_fspick => blind_namespace("fsopen"),
        libc::SYS_setns => blind_namespace("setns"),
        libc::SYS_clone if !a.flag(0, libc::CLONE_NEWNS) => untraced(a.number(0)),
        libc::SYS_clone3 => untraced(u64::from_ne_bytes(process.read_exact(a.number(0))?)),
        libc::SYS_unshare | libc::SYS_clone => blind_namespace("a new mount name space"),
        libc::SYS_seccomp | libc::SYS_ptrace => one(Action::Blind(Blind::SecondTracer)),
        // The rest of the table: reads of standard input.
        _ => one(Action::Blind(Blind::StandardInput)),
    }
}

/// What comes with a descriptor that the tree did not open is not known.
pub(crate) const OTHERS_DESCRIPTOR: &str = "a descriptor was taken out of another process";

/// Calls that only x86 still has.
#[cfg(target_arch = "x86_64")]
fn decode_legacy(a: Arguments<'_>) -> Option<Actions> {
    if a.call.number == libc::SYS_access {
        return Some(access(a, stat(a, None, 0, true), 1));
    }
    let decoded = || -> Result<Option<Action<'static>>, Unread> {
        Ok(Some(match a.call.number {
            libc::SYS_open => {
                Action::Open { path: a.path(0)?, how: OpenHow::from_flags(a.number(1)) }
            }
            libc::SYS_creat => {
                let flags = libc::O_CREAT | libc::O_WRONLY | libc::O_TRUNC;
                Action::Open { path: a.path(0)?, how: OpenHow::from_flags(flags as u64) }
            }
            libc::SYS_stat => Action::Stat { path: a.path(0)?, follow: true },
            libc::SYS_lstat => {
                Action::Stat { path: a.path_to(Last::Keep, None, 0)?, follow: false }
            }
            libc::SYS_readlink => Action::ReadLink { path: a.path_to(Last::Keep, None, 0)? },
            libc::SYS_unlink | libc::SYS_rmdir => Action::Remove { path: a.path(0)? },
            libc::SYS_mkdir => Action::MakeDirectory { path: a.path(0)? },
            libc::SYS_mknod => Action::MakeNode { path: a.path(0)? },
            libc::SYS_symlink => Action::MakeNode { path: a.path(1)? },
            libc::SYS_rename => {
                Action::Rename { from: a.path(0)?, to: a.path(1)?, exchange: false, keep: false }
            }
            libc::SYS_renameat => return Ok(Some(rename(a, 0)?.remove(0))),
            libc::SYS_link => Action::Link { from: a.path(0)?, to: a.path(1)?, follow: false },
            libc::SYS_chmod | libc::SYS_chown | libc::SYS_utime | libc::SYS_utimes => {
                Action::ChangeMode { path: a.path(0)?, follow: true }
            }
            libc::SYS_lchown => Action::ChangeMode { path: a.path(0)?, follow: false },
            libc::SYS_futimesat => {
                Action::ChangeMode { path: a.path_or_descriptor(0, 1)?, follow: true }
            }
            _ => return Ok(None),
        }))
    };
    match decoded() {
        Ok(None) => None,
        Ok(Some(action)) => Some(one(action)),
        Err(unread) => Some(Err(unread)),
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn decode_legacy(_: Arguments<'_>) -> Option<Actions> {
    None
}

fn open(path: PathArg<'static>, flags: u64) -> Actions {
    one(Action::Open { path, how: OpenHow::from_flags(flags) })
}

fn stat(a: Arguments<'_>, directory: Option<usize>, n: usize, follow: bool) -> Actions {
    let last = if follow { Last::Follow } else { Last::Keep };
    one(Action::Stat { path: a.path_to(last, directory, n)?, follow })
}

/// What a call looks at, and this facet of it.
fn inspect(actions: Actions, facet: Facet) -> Actions {
    let mut actions = actions?;
    if let Some(Action::Stat { path, follow }) = actions.first() {
        actions.push(Action::Inspect { path: path.clone(), follow: *follow, facet });
    }
    Ok(actions)
}

fn attributes(actions: Actions) -> Actions {
    inspect(actions, Facet::Attributes)
}

/// Whether something is there, or can be read, shows in what is there.
fn access(a: Arguments<'_>, actions: Actions, mode: usize) -> Actions {
    match a.flag(mode, libc::W_OK | libc::X_OK) {
        true => inspect(actions, Facet::Rights),
        false => actions,
    }
}

fn change(path: PathArg<'static>, follow: bool) -> Actions {
    one(Action::ChangeMode { path, follow })
}

fn blind_namespace(call: &'static str) -> Actions {
    one(Action::Blind(Blind::Namespace(call)))
}

/// A child that no tracer gets to see.
fn untraced(clone_flags: u64) -> Actions {
    if clone_flags & libc::CLONE_UNTRACED as u64 == 0 {
        return Ok(Vec::new());
    }
    one(Action::Blind(Blind::SecondTracer))
}

fn rename(a: Arguments<'_>, flags: u64) -> Actions {
    let exchange = flags & u64::from(libc::RENAME_EXCHANGE) != 0;
    let keep = flags & u64::from(libc::RENAME_NOREPLACE) != 0;
    one(Action::Rename { from: a.path_at(Some(0), 1)?, to: a.path_at(Some(2), 3)?, exchange, keep })
}

fn connect(a: Arguments<'_>, peer: Option<Peer>) -> Vec<Action<'static>> {
    peer.map(|peer| Action::Connect { peer, socket: a.socket() }).into_iter().collect()
}

fn bind(a: Arguments<'_>, peer: Option<Peer>) -> Vec<Action<'static>> {
    let Some(peer) = peer else { return Vec::new() };
    let node = match &peer {
        Peer::Unix(path) => Some(Action::MakeNode { path: path.clone().into() }),
        _ => None,
    };
    node.into_iter().chain([Action::Bind { peer, socket: a.socket() }]).collect()
}

/// The address in a `msghdr`.
fn message(a: Arguments<'_>, address: u64) -> Actions {
    let header: [u8; 16] = a.process.read_exact(address)?;
    let name = u64::from_ne_bytes(header[..8].try_into().unwrap_or_default());
    let length = u32::from_ne_bytes(header[8..12].try_into().unwrap_or_default());
    Ok(connect(a, peer(a.process, name, u64::from(length))?))
}

/// The addresses in an array of `mmsghdr`.
fn messages(a: Arguments<'_>, address: u64, count: u64) -> Actions {
    let mut actions = Vec::new();
    for n in 0..count.min(1024) {
        actions.extend(message(a, address + n * size_of::<libc::mmsghdr>() as u64)?);
    }
    Ok(actions)
}

/// The address at this place, if it is of a kind that leads out of the process.
fn peer(process: Process, address: u64, length: u64) -> Result<Option<Peer>, Unread> {
    if address == 0 || length < 2 {
        return Ok(None);
    }
    let mut buffer = [0; 128];
    let length = (length as usize).min(buffer.len());
    let got = process.read(address, &mut buffer[..length])?;
    let bytes = &buffer[..got];
    let Some(family) = bytes.first_chunk::<2>() else { return Ok(None) };
    Ok(match i32::from(u16::from_ne_bytes(*family)) {
        libc::AF_INET | libc::AF_INET6 => internet_address(bytes).map(Peer::Inet),
        libc::AF_UNIX => match &bytes[2..] {
            [] => None,
            [0, name @ ..] => Some(Peer::Abstract(name.to_vec())),
            name => {
                let end = name.iter().position(|&b| b == 0).unwrap_or(name.len());
                let path = process.absolute(libc::AT_FDCWD, name[..end].to_vec(), Last::Follow)?;
                Some(Peer::Unix(path))
            }
        },
        _ => None,
    })
}
