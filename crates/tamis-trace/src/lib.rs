//! Sees every file access of a process tree on Linux.
//!
//! Engines implement [`Engine`] and deliver [`event::Event`]s; they know nothing of tests, records
//! or fingerprints.

mod adopt;
pub mod choose;
pub mod command;
mod decode;
pub mod ebpf;
pub mod event;
mod filter;
mod io_uring;
mod lifetime;
mod listener;
pub mod notify;
mod nudge;
#[cfg(target_arch = "x86_64")]
pub mod patch;
mod probe;
pub mod proc;
mod process;
pub mod ptrace;
mod request;
mod serve;
mod shepherd;
mod socket;
mod stdin;
mod streams;
mod syscalls;
mod tracees;
mod tracer;
mod tree;
mod untraced;

pub use choose::{Candidate, choose, engines};
pub use command::{Command, Ending, Finish};
pub use event::{
    Action, Blind, Event, Facet, OpenHow, PathArg, Peer, Reached, Sink, Socket, SocketKind,
    StreamFacet, Timing,
};
pub use lifetime::hurry;
pub use untraced::Untraced;

use std::io;
use std::sync::atomic::AtomicBool;

/// A way to observe a process tree.
pub trait Engine: Send + Sync + std::fmt::Debug {
    /// The name by which the user chooses it.
    fn name(&self) -> &'static str;

    /// Whether it hands on any event; without them nothing is proven.
    fn observes(&self) -> bool {
        true
    }

    /// Runs the command to its end, handing every event to `sink` from one thread. When
    /// `stop` becomes true the tree is ended and the run is [`Ending::Interrupted`].
    ///
    /// An error means that the engine could not start observing; the command did not run.
    fn run(&self, command: Command, sink: &mut dyn Sink, stop: &AtomicBool) -> io::Result<Finish>;
}
