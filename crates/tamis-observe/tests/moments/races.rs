//! Two threads, and a change that was announced but not made yet when the other one reads.
//!
//! Engines that stop a process report a call before it is made. What another thread does between
//! the report and the call belongs to the world from before; what is remembered of it must not
//! outlive the change.

use crate::stage::{bytes, observed, open};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use tamis_core::Question;
use tamis_observe::Observer;
use tamis_trace::{Action, Event, Sink, Timing};

/// A thread that lives until it is dropped.
struct Thread {
    id: u32,
    end: Option<(std::sync::mpsc::Sender<()>, std::thread::JoinHandle<()>)>,
}

impl Thread {
    fn start() -> Self {
        let (tell, ids) = std::sync::mpsc::channel();
        let (end, wait) = std::sync::mpsc::channel::<()>();
        let handle = std::thread::spawn(move || {
            // SAFETY: no arguments, always succeeds.
            tell.send(unsafe { libc::gettid() }.unsigned_abs()).unwrap();
            let _ = wait.recv();
        });
        Self { id: ids.recv().unwrap(), end: Some((end, handle)) }
    }

    fn read(&self, observer: &mut Observer<'_>, path: &Path) {
        self.act(observer, open(path));
    }

    fn act(&self, observer: &mut Observer<'_>, action: Action<'_>) {
        observer.event(Event { thread: self.id, timing: Timing::Before, action });
    }
}

impl Drop for Thread {
    fn drop(&mut self) {
        if let Some((end, handle)) = self.end.take() {
            drop(end);
            handle.join().unwrap();
        }
    }
}

/// A folder with files `old` and `new` and a link to `old`; `play` says what happens in it. Gives
/// the names of the files that were seen.
fn seen(play: impl FnOnce(&mut Observer<'_>, &Path)) -> Vec<String> {
    let prepare = |root: &Path| {
        fs::write(root.join("old"), "old").unwrap();
        fs::write(root.join("new"), "new").unwrap();
        symlink("old", root.join("link")).unwrap();
        symlink("new", root.join("next")).unwrap();
    };
    let mut names: Vec<String> = observed(prepare, play)
        .observed
        .into_iter()
        .filter_map(|o| match o.question {
            Question::Path(path, _) => Some(path.to_string()),
            _ => None,
        })
        .collect();
    names.sort();
    names.dedup();
    names
}

fn rename<'a>(root: &Path) -> Action<'a> {
    let (from, to) = (bytes(&root.join("next")).into(), bytes(&root.join("link")).into());
    Action::Rename { from, to, exchange: false, keep: false }
}

#[test]
fn a_read_between_the_report_of_a_rename_and_the_rename_is_not_remembered() {
    let (mover, reader) = (Thread::start(), Thread::start());
    let seen = seen(|observer, root| {
        mover.act(observer, rename(root));
        reader.read(observer, &root.join("link"));
        fs::rename(root.join("next"), root.join("link")).unwrap();
        reader.read(observer, &root.join("link"));
    });
    assert!(seen.contains(&"old".into()), "{seen:?}");
    assert!(seen.contains(&"new".into()), "{seen:?}");
}

#[test]
fn the_mover_itself_finds_the_new_place() {
    let (mover, reader) = (Thread::start(), Thread::start());
    let seen = seen(|observer, root| {
        mover.act(observer, rename(root));
        reader.read(observer, &root.join("link"));
        fs::rename(root.join("next"), root.join("link")).unwrap();
        mover.read(observer, &root.join("link"));
    });
    assert!(seen.contains(&"new".into()), "{seen:?}");
}

#[test]
fn two_movers_at_once_are_both_waited_for() {
    let (first, second, reader) = (Thread::start(), Thread::start(), Thread::start());
    let seen = seen(|observer, root| {
        second.act(observer, rename(root));
        let elsewhere = bytes(&root.join("elsewhere"));
        first.act(observer, Action::MakeNode { path: elsewhere.into() });
        first.read(observer, &root.join("old"));
        reader.read(observer, &root.join("link"));
        fs::rename(root.join("next"), root.join("link")).unwrap();
        reader.read(observer, &root.join("link"));
    });
    assert!(seen.contains(&"new".into()), "{seen:?}");
}

#[test]
fn a_mover_that_ended_has_made_its_change() {
    let (mover, reader) = (Thread::start(), Thread::start());
    let seen = seen(|observer, root| {
        mover.act(observer, rename(root));
        reader.read(observer, &root.join("link"));
        fs::rename(root.join("next"), root.join("link")).unwrap();
        drop(mover);
        reader.read(observer, &root.join("link"));
        reader.read(observer, &root.join("link"));
    });
    assert!(seen.contains(&"new".into()), "{seen:?}");
}
