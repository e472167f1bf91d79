//! `tamis static --offline`: the answer first, the rest in the background.
//!
//! A worker, started when the answer is out, does what is left ([`tamis_select_static::sessions`]). It is a tamis of
//! its own in a session of its own, so neither the end of the terminal nor that of the caller ends it. While it is at
//! work, it holds the lock of the state and the next call waits for it.

use crate::words::PlaceArguments;
use std::path::Path;
use std::process::{Command, Stdio};

/// Away from the terminal that the caller had, where there was one.
pub(crate) fn leave_the_terminal() {
    rustix::process::setsid().ok();
}

/// Starts the worker. Where that is not possible the next call does its work.
pub(crate) fn start(store: &Path, places: &PlaceArguments) {
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
