//! Engines that keep a log of what only looks: what the tree has not changed is as it was, what
//! somebody else has changed since is not known.

use crate::stage::{bytes, observed, open};
use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tamis_core::{Scheme, Value};
use tamis_observe::{Observations, Observer};
use tamis_trace::{Action, Event, OpenHow, Sink, Timing};

fn now_ns() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64
}

fn logged_read(observer: &mut Observer<'_>, path: &Path, since_ns: u64) {
    let timing = Timing::Logged { since_ns };
    observer.event(Event { thread: std::process::id(), timing, action: open(path) });
}

/// What is observed of `play` in a folder with the file `a`, which is older than the run.
fn seen(play: impl FnOnce(&mut Observer<'_>, &Path)) -> Observations {
    let wait = || std::thread::sleep(Duration::from_millis(30));
    let prepare = |root: &Path| {
        fs::write(root.join("a"), "a").unwrap();
        wait();
    };
    observed(prepare, |observer, root| {
        wait();
        play(observer, root);
    })
}

fn value_of(seen: &Observations, name: &str) -> Option<Value> {
    let found = seen.observed.iter().find(|o| {
        matches!(&o.question, tamis_core::Question::Path(path, Scheme::Raw)
            if path.to_string().ends_with(name))
    });
    found.map(|o| o.before)
}

#[test]
fn what_was_not_changed_is_an_input() {
    let seen = seen(|observer, root| logged_read(observer, &root.join("a"), now_ns()));
    assert!(seen.taints.is_empty(), "{:?}", seen.taints);
    assert!(matches!(value_of(&seen, "a"), Some(Value::Content { .. })), "{:?}", seen.observed);
}

#[test]
fn what_somebody_else_changed_before_we_looked_taints() {
    let seen = seen(|observer, root| {
        let since = now_ns();
        fs::write(root.join("a"), "other").unwrap();
        logged_read(observer, &root.join("a"), since);
    });
    assert!(!seen.taints.is_empty());
}

#[test]
fn what_was_absent_is_an_input() {
    let seen = seen(|observer, root| logged_read(observer, &root.join("b"), now_ns()));
    assert!(seen.taints.is_empty(), "{:?}", seen.taints);
    assert_eq!(value_of(&seen, "b"), Some(Value::Absent));
}

#[test]
fn what_the_tree_made_is_its_own() {
    let seen = seen(|observer, root| {
        let since = now_ns();
        let path = root.join("b");
        let how = OpenHow { write: true, create: true, truncate: true, ..OpenHow::default() };
        let action = Action::Open { path: bytes(&path).into(), how };
        let thread = std::process::id();
        observer.event(Event { thread, timing: Timing::Before, action });
        fs::write(&path, "made").unwrap();
        logged_read(observer, &path, since);
    });
    assert!(seen.taints.is_empty(), "{:?}", seen.taints);
    assert_eq!(value_of(&seen, "b"), None);
}
