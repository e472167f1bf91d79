//! `tamis static --offline`: the answer first, the rest in the background.
//!
//! Before a call ends, everything that proves something is on disk: tests that finished, and the state
//! in which tests were announced. What is left is work that changes no selection: keeping what was read
//! of class files, carrying proofs to the newest state, analysing libraries. A worker, started when
//! the answer is out, does that; it is a tamis of its own in a session of its own, so neither the end of
//! the terminal nor that of the caller ends it.
//!
//! The file `behind` says that such work is left. It is removed when the work is done: where the worker
//! was killed, the next call finds the file and does the work itself. While a worker is at it, it holds
//! the lock of the state and the next call waits for it.

use super::static_select::{Places, StaticVerb};
use anyhow::{Context as _, Result};
use std::path::Path;
use std::process::{Command, Stdio};
use tamis_select_static::Session;
use tamis_select_static::lock::Lock;

/// The lock of the state, for verbs that read proofs or write them.
pub(super) fn lock(state: &Path, verb: &StaticVerb) -> Result<Option<Lock>> {
    let writes = match verb {
        StaticVerb::Graph(_)
        | StaticVerb::Callgraph(_)
        | StaticVerb::Export(_)
        | StaticVerb::Compare(_) => return Ok(None),
        StaticVerb::Diff | StaticVerb::Impacted(_) => false,
        StaticVerb::Select(select) => select.writes(),
        StaticVerb::Record(_) | StaticVerb::Clean => true,
        StaticVerb::CatchUp => {
            // Away from the terminal that the caller had, where there was one.
            rustix::process::setsid().ok();
            true
        }
    };
    let waiting = || eprintln!("tamis: waiting for another tamis that works on the same state");
    match Lock::take(state, waiting) {
        Ok(lock) => Ok(Some(lock)),
        // A folder that cannot be written to can still be read.
        Err(_) if !writes => Ok(None),
        Err(e) => Err(e).with_context(|| format!("{} cannot be locked", state.display())),
    }
}

pub(super) fn leave_behind(state: &Path) -> Result<()> {
    std::fs::write(state.join("behind"), b"")
        .with_context(|| format!("{} cannot be written to", state.display()))
}

pub(super) fn is_behind(state: &Path) -> bool {
    state.join("behind").exists()
}

/// Does what was left; called with the lock.
pub(super) fn catch_up(sessions: &mut [Session], state: &Path) -> Result<()> {
    for session in sessions {
        session.catch_up().context("the state could not be written")?;
    }
    nothing_left(state);
    Ok(())
}

pub(super) fn nothing_left(state: &Path) {
    std::fs::remove_file(state.join("behind")).ok();
}

/// Starts the worker. Where that is not possible the next call does its work.
pub(super) fn start_worker(store: &Path, places: &Places) {
    let Ok(tamis) = std::env::current_exe() else { return };
    let started = Command::new(tamis)
        .arg("--store")
        .arg(store)
        .arg("static")
        .args(places.words())
        .arg("catch-up")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    // The worker outlives this process; whoever adopts it reaps it.
    drop(started);
}
