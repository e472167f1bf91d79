//! The order of tests: the longest first, and no more of a suite at once than it allows.

use crate::cases::Case;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex};
use std::time::Duration;
use tamis_core::{Planned, Scope};

/// The tests that have to run, in the order in which they start.
pub(crate) fn order(planned: &[Planned], jobs: usize) -> Vec<usize> {
    let mut order: Vec<usize> =
        (0..planned.len()).filter(|&n| planned[n].decision.is_run()).collect();
    if jobs > 1 {
        // So that none of the long ones runs alone at the end.
        order.sort_by_key(|&n| Reverse(planned[n].expected()));
    }
    order
}

/// The tests that wait, handed out within the limits of their suites.
pub(crate) struct Queue<'a> {
    cases: &'a [Case],
    state: Mutex<QueueState>,
    changed: Condvar,
}

struct QueueState {
    waiting: Vec<usize>,
    running: HashMap<Scope, usize>,
}

impl<'a> Queue<'a> {
    pub(crate) fn new(mut order: Vec<usize>, cases: &'a [Case]) -> Self {
        order.reverse();
        let state = QueueState { waiting: order, running: HashMap::new() };
        Self { cases, state: Mutex::new(state), changed: Condvar::new() }
    }

    pub(crate) fn next(&self, stop: &AtomicBool) -> Option<usize> {
        let mut state = self.state.lock().expect("no worker panics while it holds the queue");
        loop {
            if stop.load(Ordering::Relaxed) || state.waiting.is_empty() {
                return None;
            }
            let free = state.waiting.iter().rposition(|&n| {
                let case = &self.cases[n];
                let running = state.running.get(&case.key.scope).copied().unwrap_or(0);
                case.suite_jobs.is_none_or(|most| running < most)
            });
            if let Some(at) = free {
                let n = state.waiting.remove(at);
                *state.running.entry(self.cases[n].key.scope.clone()).or_default() += 1;
                return Some(n);
            }
            state = self
                .changed
                .wait_timeout(state, Duration::from_millis(100))
                .expect("no worker panics while it holds the queue")
                .0;
        }
    }

    pub(crate) fn done(&self, n: usize) {
        let mut state = self.state.lock().expect("no worker panics while it holds the queue");
        if let Some(running) = state.running.get_mut(&self.cases[n].key.scope) {
            *running -= 1;
        }
        self.changed.notify_all();
    }
}
