//! The threads that a tracer has, and how it lets go of all of them without one running on untraced.
//!
//! Every process gets a SIGSTOP. When each thread stands in that stop, all are detached: the stop
//! outlasts it, so their next tracer (there is one where a filter stops calls) finds them
//! standing, and then lets them go on by SIGCONT. A process that was stopped before stays so.
//!
//! What does not work: a thread that cannot stop, such as one whose child of a `vfork` waits.

use crate::proc::{family, is_alive};
use crate::request::request;
use std::collections::{HashMap, HashSet};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Running,
    /// In a stop of its whole process, and waiting for SIGCONT.
    Listening,
    /// In a stop of its whole process, and held by us.
    Held,
}

/// See the module's head.
#[derive(Debug, Default)]
pub(crate) struct Tracees {
    threads: HashMap<libc::pid_t, State>,
    /// Processes that got our SIGSTOP.
    stopped: HashSet<u32>,
    leaving: bool,
}

impl Tracees {
    pub(crate) fn add(&mut self, thread: libc::pid_t) {
        self.threads.entry(thread).or_insert(State::Running);
    }

    pub(crate) fn ended(&mut self, thread: libc::pid_t) {
        self.threads.remove(&thread);
    }

    pub(crate) fn runs(&mut self, thread: libc::pid_t) {
        self.threads.insert(thread, State::Running);
    }

    /// The thread is in a stop of its process: it stays there, and we hear when that is over.
    pub(crate) fn stands(&mut self, thread: libc::pid_t) {
        let state = if self.leaving { State::Held } else { State::Listening };
        self.threads.insert(thread, state);
        if !self.leaving {
            let _ = request(libc::PTRACE_LISTEN, thread, 0, 0);
        }
    }

    /// Goes on with stopping everything; the processes that we stopped, once all is detached.
    pub(crate) fn leave(&mut self) -> Option<HashSet<u32>> {
        self.threads.retain(|&thread, _| is_alive(thread as u32));
        if !self.leaving {
            self.leaving = true;
            self.hold_the_stopped();
        }
        if self.threads.values().all(|&state| state == State::Held) {
            for &thread in self.threads.keys() {
                let _ = request(libc::PTRACE_DETACH, thread, 0, 0);
            }
            return Some(std::mem::take(&mut self.stopped));
        }
        self.stop_the_running();
        None
    }

    /// Threads that wait for SIGCONT report their stop once more, and are held then. Their processes
    /// stay stopped afterwards.
    fn hold_the_stopped(&self) {
        for (&thread, _) in self.threads.iter().filter(|(_, state)| **state == State::Listening) {
            let _ = request(libc::PTRACE_INTERRUPT, thread, 0, 0);
        }
    }

    fn stop_the_running(&mut self) {
        let running = self.threads.iter().filter(|(_, state)| **state == State::Running);
        for (process, _) in running.filter_map(|(&thread, _)| family(thread as u32)) {
            if self.stopped.insert(process) {
                // SAFETY: signals a process that we trace.
                unsafe { libc::kill(process as libc::pid_t, libc::SIGSTOP) };
            }
        }
    }
}
