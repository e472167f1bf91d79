//! Which program a thread runs: for explanations ("who looked at it") and for rules by program. And what
//! the kernel itself opens to run it.

use crate::interpreter::interpreter;
use crate::registered::Registered;
use std::collections::{HashMap, HashSet};

#[derive(Debug)]
pub(crate) struct Programs {
    /// The first is this program itself: a new process is a copy of it until its first exec.
    names: Vec<String>,
    by_thread: HashMap<u32, usize>,
    /// Threads whose exec was announced and not seen to succeed yet.
    pending: HashSet<u32>,
    /// Found when the first program is run.
    registered: std::sync::OnceLock<Registered>,
}

/// What is reported where the process is gone before it could be asked.
const ENDED: &str = "a process that has ended";

impl Programs {
    pub(crate) fn new() -> Self {
        Self {
            names: vec![crate::ourselves::program().to_owned()],
            by_thread: HashMap::new(),
            pending: HashSet::new(),
            registered: std::sync::OnceLock::new(),
        }
    }

    /// Whether it is this program, about to become another one. It is no input of a test.
    pub(crate) fn is_ourselves(&self, index: usize) -> bool {
        index == 0
    }

    /// The index of the program that the thread runs, and whether the thread is new to us.
    pub(crate) fn of(&mut self, thread: u32) -> (usize, bool) {
        let pending = !self.pending.is_empty() && self.pending.remove(&thread);
        if let Some(&known) = self.by_thread.get(&thread)
            && !pending
        {
            return (known, false);
        }
        let name = tamis_trace::proc::program(thread)
            .map_or_else(|| ENDED.to_owned(), |p| p.to_string_lossy().into_owned());
        let index = self.intern(name);
        let new = self.by_thread.insert(thread, index).is_none();
        (index, new)
    }

    /// The thread is about to run another program, if the exec succeeds.
    pub(crate) fn announce(&mut self, thread: u32) {
        self.pending.insert(thread);
    }

    /// The thread runs this program now.
    pub(crate) fn set(&mut self, thread: u32, name: String) {
        let index = self.intern(name);
        self.by_thread.insert(thread, index);
    }

    /// The path that the kernel opens next for this executable, if any.
    pub(crate) fn interpreter(&self, path: &[u8]) -> Option<Vec<u8>> {
        let registered = self.registered.get_or_init(Registered::read);
        registered.interpreter(path).or_else(|| interpreter(path))
    }

    /// The full path of a program.
    pub(crate) fn name(&self, index: usize) -> &str {
        &self.names[index]
    }

    /// All threads that were seen.
    pub(crate) fn threads(&self) -> impl Iterator<Item = u32> {
        self.by_thread.keys().copied()
    }

    fn intern(&mut self, name: String) -> usize {
        // A run has few programs; a scan is as quick as a table.
        self.names.iter().position(|n| *n == name).unwrap_or_else(|| {
            self.names.push(name);
            self.names.len() - 1
        })
    }
}
