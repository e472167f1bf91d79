//! The event model that all engines share.
//!
//! An event is one system call by which a process of the tree asks about, reads or changes
//! something that has a path (or an address). Engines deliver events in an order that agrees with
//! what happened in each process. They decode and resolve the *base* of a path (working directory,
//! directory descriptor); links inside the path are left to the receiver.
//!
//! Kinds of engine: those that stop the process until the receiver is done ([`Timing::Before`]: the
//! world is still as the process will find it), those that hand on a log of what only looks before
//! the tree changes anything ([`Timing::Logged`]), and those that report afterwards
//! ([`Timing::After`], with the call's result and the time at which it returned).

use std::borrow::Cow;

/// When the receiver sees the event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timing {
    /// The process waits in the call until the receiver returns. The result is not known.
    Before,
    /// The call only looks, and was made after this time (as below). The tree has changed nothing
    /// since; somebody else may have. The result is not known.
    Logged { since_ns: u64 },
    /// The call returned at this time (nanoseconds since the Unix epoch, CLOCK_REALTIME).
    After { time_ns: u64, result: i64 },
}

impl Timing {
    /// Whether the tree has made no change between the call and now.
    pub fn is_before_changes(self) -> bool {
        !matches!(self, Self::After { .. })
    }
}

/// One observed call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event<'a> {
    /// The thread that made the call.
    pub thread: u32,
    pub timing: Timing,
    pub action: Action<'a>,
}

/// An absolute path as the process named it: not normalised, links not followed.
pub type PathArg<'a> = Cow<'a, [u8]>;

/// What the flags of an open call mean to us.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct OpenHow {
    /// Access mode allows reading.
    pub read: bool,
    /// Access mode allows writing.
    pub write: bool,
    pub create: bool,
    pub exclusive: bool,
    pub truncate: bool,
    /// O_NOFOLLOW: a link at the end is not followed (the call fails, or opens the link by O_PATH).
    pub no_follow: bool,
    /// O_PATH: a handle to the place, not to the content.
    pub path_only: bool,
    /// O_TMPFILE: an unnamed file in this directory.
    pub unnamed: bool,
    /// O_RDONLY and nothing else. HotSpot opens `.` so, to come back to it; whoever wants to list a
    /// directory in Java comes with O_DIRECTORY.
    pub bare: bool,
    /// How long the file was when it was opened to be written, where the engine knows it.
    pub length: Option<u64>,
}

/// Set by the kernel itself for 64-bit programs.
const O_LARGEFILE: u64 = 0o100_000;

impl OpenHow {
    pub fn from_flags(flags: u64) -> Self {
        let has = |bit: i32| flags & bit as u64 == bit as u64;
        let mode = (flags & libc::O_ACCMODE as u64) as i32;
        let path_only = has(libc::O_PATH);
        Self {
            read: !path_only && (mode == libc::O_RDONLY || mode == libc::O_RDWR),
            write: !path_only && (mode == libc::O_WRONLY || mode == libc::O_RDWR),
            create: !path_only && has(libc::O_CREAT),
            exclusive: !path_only && has(libc::O_EXCL),
            truncate: !path_only && has(libc::O_TRUNC),
            no_follow: has(libc::O_NOFOLLOW),
            path_only,
            unnamed: !path_only && has(libc::O_TMPFILE),
            bare: flags & !O_LARGEFILE == 0,
            length: None,
        }
    }
}

/// What the process asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action<'a> {
    /// open, openat, openat2, creat. Opening a directory for reading counts as listing it.
    Open {
        path: PathArg<'a>,
        how: OpenHow,
    },
    /// stat and its family, access, extended attributes, inotify watches, chdir.
    Stat {
        path: PathArg<'a>,
        follow: bool,
    },
    /// More than [`Action::Stat`] says, by the same call.
    Inspect {
        path: PathArg<'a>,
        follow: bool,
        facet: Facet,
    },
    ReadLink {
        path: PathArg<'a>,
    },
    /// execve, execveat. Interpreters are left to the receiver.
    Execute {
        path: PathArg<'a>,
    },
    /// unlink, rmdir.
    Remove {
        path: PathArg<'a>,
    },
    MakeDirectory {
        path: PathArg<'a>,
    },
    /// mknod, bind of a Unix socket, symlink: a new name that must not be there yet.
    MakeNode {
        path: PathArg<'a>,
    },
    /// Where a link leads that was just made: of engines that report afterwards, to whose receiver it
    /// may be another one by now. Comes after the [`Action::MakeNode`].
    LinkTo {
        path: PathArg<'a>,
        target: Cow<'a, [u8]>,
    },
    Rename {
        from: PathArg<'a>,
        to: PathArg<'a>,
        exchange: bool,
        /// RENAME_NOREPLACE: the call fails where something has the new name.
        keep: bool,
    },
    Link {
        from: PathArg<'a>,
        to: PathArg<'a>,
        follow: bool,
    },
    /// truncate: changes the content, keeps a part of it.
    Truncate {
        path: PathArg<'a>,
    },
    /// chmod and the like: changes what stat or execve see.
    ChangeMode {
        path: PathArg<'a>,
        follow: bool,
    },
    /// A connection or datagram to an address.
    Connect {
        peer: Peer,
        socket: Socket,
    },
    /// bind: a socket of the tree wants this address. For a Unix path, besides [`Action::MakeNode`].
    Bind {
        peer: Peer,
        socket: Socket,
    },
    /// listen: from now on connections reach a socket of the tree.
    Listen {
        socket: Socket,
    },
    /// What a standard stream is that the run inherited: asked of a descriptor (isatty), or by a name
    /// such as /dev/stdin.
    Stream {
        number: u32,
        facet: StreamFacet,
    },
    /// Something that cannot be followed.
    Blind(Blind),
}

/// What else a call asks about a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Facet {
    /// Extended attributes.
    Attributes,
    /// Whether this user may write or execute.
    Rights,
}

/// What is asked about a standard stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum StreamFacet {
    /// Whether it is a terminal.
    Terminal,
    /// Whether it is a file, a pipe, a terminal or something else.
    Kind,
}

/// The other end of a connection.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Peer {
    Inet(std::net::SocketAddr),
    /// A Unix socket by absolute path.
    Unix(Vec<u8>),
    /// A Unix socket in the abstract name space.
    Abstract(Vec<u8>),
}

/// The socket of a call, as far as the engine can tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Socket {
    /// Its number in the tables of the system; 0 where it is not known.
    pub inode: u64,
    pub kind: SocketKind,
    /// The address that it has on this machine, if it is of the internet and has one.
    pub local: Option<std::net::SocketAddr>,
    pub reached: Reached,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum SocketKind {
    /// Connections: TCP, and the two of that kind among Unix sockets.
    Stream,
    Datagram,
    #[default]
    Unknown,
}

impl SocketKind {
    /// By the number that `socket` takes.
    pub fn from_number(number: i32) -> Self {
        match number {
            libc::SOCK_STREAM | libc::SOCK_SEQPACKET => Self::Stream,
            libc::SOCK_DGRAM => Self::Datagram,
            _ => Self::Unknown,
        }
    }
}

/// Whether the other end was there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Reached {
    Yes,
    /// Nothing took the connection.
    No,
    /// The call is not over, or its result does not say.
    #[default]
    Unknown,
}

/// What makes a run impossible to observe completely.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Blind {
    IoUring,
    ForeignArchitecture,
    FileHandle,
    /// chroot, pivot_root, mount, unshare or setns of a mount name space; the text names the call.
    Namespace(&'static str),
    /// The process reads the standard input that tamis was given.
    StandardInput,
    /// The process traces others or installs its own listener.
    SecondTracer,
    /// The path or its base could not be read; the text says what and why.
    Unresolved(String),
    /// Events were lost.
    Lost(u64),
}

/// Receives the events of one run. One thread calls it, not always the one that started the run: a
/// tracer waits on a thread of its own.
pub trait Sink: Send {
    fn event(&mut self, event: Event<'_>);
}

impl<F: FnMut(Event<'_>) + Send> Sink for F {
    fn event(&mut self, event: Event<'_>) {
        self(event);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn o_path_neither_reads_nor_writes() {
        let how = OpenHow::from_flags((libc::O_PATH | libc::O_DIRECTORY) as u64);
        assert!(how.path_only && !how.read && !how.write);
    }

    #[test]
    fn o_directory_is_not_o_tmpfile() {
        assert!(!OpenHow::from_flags(libc::O_DIRECTORY as u64).unnamed);
        assert!(OpenHow::from_flags((libc::O_TMPFILE | libc::O_RDWR) as u64).unnamed);
    }
}
