//! Signals the processes of a tree.

use crate::proc::descendants;

/// Signals every process below this one, again and again until no new one appears.
pub(crate) fn signal_all(signal: libc::c_int) {
    // SAFETY: getpid has no precondition.
    let me = unsafe { libc::getpid() } as u32;
    let mut seen = std::collections::HashSet::new();
    loop {
        let new: Vec<u32> = descendants(me).into_iter().filter(|&pid| seen.insert(pid)).collect();
        if new.is_empty() {
            return;
        }
        for pid in new {
            // SAFETY: signals a process of our own tree.
            unsafe { libc::kill(pid as libc::pid_t, signal) };
        }
    }
}
