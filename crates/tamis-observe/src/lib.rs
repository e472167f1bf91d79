//! From events to observations.
//!
//! The tracer says which calls a process tree made. This crate keeps, for every path that the tree
//! touched, the state that was there *before the tree changed it*, and which questions the tree put
//! to it. The rules:
//!
//! - What the tree reads, runs, looks at or lists, and did not make itself, is an input. Looking at
//!   a file (`stat`) counts as reading it: size and times change with the content, and tools such
//!   as make or Python decide by them.
//! - What the tree made itself is no input: a file that was absent before and was created; a file
//!   that was replaced or truncated before it was read; everything in a folder that the tree made.
//!   Whether a write *succeeded* is checked by identity, because an engine that reports calls at
//!   their entry does not know.
//! - A file that is changed but not replaced (append, in-place edit) keeps what was in it before;
//!   if the tree reads it at any time, the content from before the first change is an input.
//! - Where the tree writes, it asks whether it can: a directory in the place of the file, or no folder
//!   to make it in, is another state than a file or an empty place
//!   ([`Scheme::Place`](tamis_core::Scheme::Place)). Where it removes a directory, it asks for its
//!   names: only an empty one can be removed.
//! - Who writes to a file without emptying it finds its end: its size from before is an input
//!   ([`Scheme::Size`](tamis_core::Scheme::Size)). A pipe that others made cannot be compared at all.
//! - Attributes and rights are inputs where the tree asks for them; of the rights, what they mean to
//!   this user.
//! - Whether something listens where the tree connects, or has the address that it wants, is an input
//!   where nothing does; what was listening already taints. The tree's own servers are its own.
//! - The names in a folder are the names from before, less nothing: entries that the tree created
//!   are taken out, entries that it removed are put back.
//! - Links on the way are inputs of their own; questions are about the resolved path.
//!
//! Where the tree changed something that it had asked about, the state at the end is kept as well
//! ([`tamis_core::record::Observed::after`]): what a test leaves behind must not make it run again.
//!
//! What cannot be distinguished is a [`Taint`](tamis_core::Taint): an input that changed during the
//! run by somebody else's hand, a folder with foreign content that was renamed, and so on.
//!
//! Not seen: access through descriptors that were open before the run (standard input is handled by
//! the engines), memory shared with processes outside the tree, and writes through memory mappings
//! while the time stamps of the file do not move.

mod entry;
mod facts;
mod interpreter;
mod moment;
mod network;
mod observer;
mod ourselves;
mod path_memory;
mod programs;
mod registered;
mod relinked;
mod resolve;
mod sockets;
mod split;

pub use facts::answer_fact;
pub use network::Services;
pub use observer::{Context, Observations, Observer};
pub use split::{ChildSeen, Cover, CoveredPaths, Marks, Openings, SplitObserver, WindowEnded};

use std::path::Path;
use tamis_core::Scheme;

/// What the settings say about a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Judgement {
    /// Counts, under the usual scheme.
    Default,
    /// Counts, under this scheme.
    As(Scheme),
    /// Is no input.
    Ignore,
    /// Is no input because it is in a temp folder; foreign files read there are worth a note.
    IgnoreTemp,
}

impl Judgement {
    /// Whether what is there can decide.
    pub(crate) fn counts(self) -> bool {
        !matches!(self, Self::Ignore | Self::IgnoreTemp | Self::As(Scheme::Bytecode))
    }
}

/// The filter and the fingerprint rules of the settings.
pub trait Rules: Sync {
    /// Judges an absolute path as used by this program (its full path).
    fn judge(&self, path: &Path, program: &str) -> Judgement;

    /// Whether this program looks at this path, without following a link, only to know what kind of
    /// thing is there and what this user may do with it: it walks through a folder.
    fn only_lists(&self, _path: &Path, _program: &str) -> bool {
        false
    }
}
