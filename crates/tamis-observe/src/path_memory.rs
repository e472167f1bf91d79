//! What is remembered of how paths resolve and of what was asked through them, and until when it
//! holds.

use crate::relinked::Relinked;
use crate::resolve::{Resolved, Resolver, Walker};
use std::collections::HashSet;
use tamis_trace::Timing;
use tamis_trace::proc::is_alive;

#[derive(Debug, Default)]
pub(crate) struct PathMemory {
    resolver: Resolver,
    /// Reads that were handled already; the same again changes nothing.
    handled: HashSet<u128>,
    /// Threads that were about to change how paths resolve when last heard of. While there is one,
    /// the change may happen at any moment, and nothing that is remembered of paths can be trusted.
    unsettled: Vec<u32>,
    /// The event in hand changes how paths resolve.
    names_move: bool,
    /// Files of which the tree gave or took a name, and wrote to none of them.
    pub(crate) relinked: Relinked,
}

impl PathMemory {
    /// See [`Resolver::resolve`].
    pub(crate) fn resolve(&mut self, path: &[u8], follow: bool, walker: Walker) -> Resolved {
        self.resolver.resolve(path, follow, walker)
    }

    /// Whether this read was handled before; remembers it.
    pub(crate) fn repeated(&mut self, path: &[u8], code: u64, program: usize) -> bool {
        let seed = code << 32 | program as u64;
        !self.handled.insert(xxhash_rust::xxh3::xxh3_128_with_seed(path, seed))
    }

    /// The tree is about to remove a file. No other path leads through it: what was handled stays
    /// so. Compilers remove a temporary file for each source.
    pub(crate) fn file_goes(&mut self, path: &[u8]) {
        self.resolver.forget(path);
    }

    /// The tree is about to change how paths through this one resolve.
    pub(crate) fn names_change(&mut self, path: &[u8]) {
        self.resolver.forget(path);
        self.handled.clear();
        self.names_move = true;
    }

    /// The tree has made a folder, which may be something else by now.
    pub(crate) fn folder_made(&mut self, path: &[u8]) {
        self.resolver.folder_made(path);
    }

    /// The tree has made a link, which may be another one by now.
    pub(crate) fn link_made(&mut self, path: &[u8], target: &[u8]) {
        self.resolver.link_made(path, target);
        self.handled.clear();
    }

    /// The tree has given this name, and all below it, to something else.
    pub(crate) fn links_move(&mut self, from: &[u8], to: &[u8], exchange: bool) {
        self.resolver.links_move(from, to, exchange);
    }

    /// The tree is about to change how any path resolves.
    pub(crate) fn all_names_change(&mut self) {
        self.forget_all();
        self.names_move = true;
    }

    /// Forgets what was remembered while a change was on its way. It has happened once the thread
    /// that makes it is heard of again, or is no more.
    pub(crate) fn settle(&mut self, heard: u32) {
        if !self.unsettled.is_empty() {
            self.unsettled.retain(|&thread| thread != heard && is_alive(thread));
            self.forget_all();
        }
    }

    /// An event was handled. What it changes in how paths resolve is still to come where the thread
    /// waits for us.
    pub(crate) fn event_over(&mut self, thread: u32, timing: Timing) {
        if std::mem::take(&mut self.names_move) && timing == Timing::Before {
            self.unsettled.push(thread);
        }
    }

    fn forget_all(&mut self) {
        self.resolver.forget_all();
        self.handled.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn handled(memory: &mut PathMemory) -> bool {
        memory.repeated(b"/a", 1, 0)
    }

    #[test]
    fn a_read_is_handled_once_for_each_program_and_question() {
        let mut memory = PathMemory::default();
        assert!(!memory.repeated(b"/a", 1, 0) && memory.repeated(b"/a", 1, 0));
        assert!(!memory.repeated(b"/a", 2, 0) && !memory.repeated(b"/a", 1, 1));
        assert!(!memory.repeated(b"/b", 1, 0));
    }

    #[test]
    fn what_was_handled_outlives_a_removed_file_and_no_other_change() {
        let mut memory = PathMemory::default();
        assert!(!handled(&mut memory));
        memory.file_goes(b"/b");
        assert!(handled(&mut memory));
        memory.names_change(b"/b");
        assert!(!handled(&mut memory));
        memory.all_names_change();
        assert!(!handled(&mut memory));
    }

    #[test]
    fn nothing_is_remembered_while_a_change_is_on_its_way() {
        let mut memory = PathMemory::default();
        let changer = std::process::id();
        memory.names_change(b"/b");
        memory.event_over(changer, Timing::Before);
        for _ in 0..2 {
            memory.settle(changer + 1);
            assert!(!handled(&mut memory));
        }
        memory.settle(changer);
        assert!(!handled(&mut memory));
        memory.settle(changer + 1);
        assert!(handled(&mut memory), "the change is over");
    }

    #[test]
    fn a_change_that_is_reported_afterwards_is_over() {
        let mut memory = PathMemory::default();
        memory.names_change(b"/b");
        memory.event_over(std::process::id(), Timing::After { time_ns: 0, result: 0 });
        assert!(!handled(&mut memory));
        memory.settle(1);
        assert!(handled(&mut memory));
    }
}
