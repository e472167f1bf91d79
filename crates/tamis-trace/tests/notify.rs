//! The notification engine on small real commands.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::File;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tamis_trace::notify::Notify;
use tamis_trace::{Action, Blind, Command, Ending, Engine, Event, Finish};

fn command(words: &[&str]) -> Command {
    Command {
        words: words.iter().map(OsString::from).collect(),
        folder: std::env::temp_dir(),
        environment: std::env::vars_os().collect(),
        stdin: Some(File::open("/dev/null").unwrap().into()),
        stdout: None,
        stderr: None,
        timeout: None,
        watch_stdin: false,
    }
}

fn run(command: Command) -> (Finish, Vec<Action<'static>>) {
    let mut actions = Vec::new();
    let mut sink = |event: Event<'_>| actions.push(owned(event.action));
    let finish = Notify.run(command, &mut sink, &AtomicBool::new(false)).unwrap();
    (finish, actions)
}

fn owned(action: Action<'_>) -> Action<'static> {
    let own = |p: std::borrow::Cow<'_, [u8]>| std::borrow::Cow::Owned(p.into_owned());
    match action {
        Action::Open { path, how } => Action::Open { path: own(path), how },
        Action::Stat { path, follow } => Action::Stat { path: own(path), follow },
        Action::ReadLink { path } => Action::ReadLink { path: own(path) },
        Action::Execute { path } => Action::Execute { path: own(path) },
        Action::Remove { path } => Action::Remove { path: own(path) },
        Action::MakeDirectory { path } => Action::MakeDirectory { path: own(path) },
        Action::MakeNode { path } => Action::MakeNode { path: own(path) },
        Action::Rename { from, to, exchange } => {
            Action::Rename { from: own(from), to: own(to), exchange }
        }
        Action::Link { from, to, follow } => Action::Link { from: own(from), to: own(to), follow },
        Action::Truncate { path } => Action::Truncate { path: own(path) },
        Action::ChangeMode { path, follow } => Action::ChangeMode { path: own(path), follow },
        Action::Connect { peer } => Action::Connect { peer },
        Action::Blind(blind) => Action::Blind(blind),
    }
}

fn opened(actions: &[Action<'_>]) -> BTreeSet<String> {
    actions
        .iter()
        .filter_map(|a| match a {
            Action::Open { path, .. } => Some(String::from_utf8_lossy(path).into_owned()),
            _ => None,
        })
        .collect()
}

#[test]
fn sees_reads_of_children() {
    let (finish, actions) = run(command(&["sh", "-c", "cat /etc/hostname | wc -c >/dev/null"]));
    assert_eq!(finish.ending, Ending::Exited(0));
    assert!(opened(&actions).contains("/etc/hostname"));
    assert!(
        actions.iter().any(|a| matches!(a, Action::Execute { path } if path.ends_with(b"/cat")))
    );
}

#[test]
fn exit_codes_and_signals_come_through() {
    assert_eq!(run(command(&["sh", "-c", "exit 7"])).0.ending, Ending::Exited(7));
    assert_eq!(run(command(&["sh", "-c", "kill -9 $$"])).0.ending, Ending::Signalled(9));
    assert_eq!(run(command(&["/nonexistent"])).0.ending, Ending::NotStarted(libc::ENOENT));
    assert_eq!(run(command(&["/etc/passwd"])).0.ending, Ending::NotStarted(libc::EACCES));
}

#[test]
fn a_missing_folder_is_told() {
    let mut c = command(&["true"]);
    c.folder = "/nonexistent".into();
    assert_eq!(run(c).0.ending, Ending::NotStarted(libc::ENOENT));
}

#[test]
fn a_time_out_ends_the_whole_tree() {
    let mut c = command(&["sh", "-c", "sleep 50 & sleep 60; true"]);
    c.timeout = Some(Duration::from_millis(200));
    let started = Instant::now();
    let (finish, _) = run(c);
    assert_eq!(finish.ending, Ending::TimedOut);
    assert!(finish.left_running.is_empty());
    assert!(started.elapsed() < Duration::from_secs(20));
}

#[test]
fn the_user_can_stop_it() {
    let stop = AtomicBool::new(false);
    let mut sink = |_: Event<'_>| stop.store(true, Ordering::Relaxed);
    let finish = Notify.run(command(&["sleep", "60"]), &mut sink, &stop).unwrap();
    assert_eq!(finish.ending, Ending::Interrupted);
}

#[test]
fn a_process_that_stays_is_named_and_lives_on() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("later");
    let script = format!("(sleep 3; cat /etc/hostname > {}) >/dev/null 2>&1 &", file.display());
    let (finish, _) = run(command(&["sh", "-c", &script]));
    assert_eq!(finish.ending, Ending::Exited(0));
    assert!(!finish.left_running.is_empty());
    let deadline = Instant::now() + Duration::from_secs(20);
    while std::fs::read(&file).map_or(true, |b| b.is_empty()) {
        assert!(Instant::now() < deadline, "the survivor could not go on");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn reads_of_standard_input_are_reported_when_asked() {
    let input = || {
        let (reader, writer) = std::io::pipe().unwrap();
        std::io::Write::write_all(&mut &writer, b"x\n").unwrap();
        reader
    };
    let mut c = command(&["sh", "-c", "read x; test $x = x"]);
    c.stdin = Some(input().into());
    c.watch_stdin = true;
    let (finish, actions) = run(c);
    assert_eq!(finish.ending, Ending::Exited(0));
    assert!(actions.contains(&Action::Blind(Blind::StandardInput)));

    let mut c = command(&["sh", "-c", "echo y | cat >/dev/null"]);
    c.stdin = Some(input().into());
    c.watch_stdin = true;
    assert!(!run(c).1.contains(&Action::Blind(Blind::StandardInput)));
}

#[test]
fn two_runs_at_once_keep_apart() {
    let one = std::thread::spawn(|| run(command(&["cksum", "/etc/hostname"])));
    let two = std::thread::spawn(|| run(command(&["cksum", "/etc/passwd"])));
    let (one, two) = (opened(&one.join().unwrap().1), opened(&two.join().unwrap().1));
    assert!(one.contains("/etc/hostname") && !one.contains("/etc/passwd"));
    assert!(two.contains("/etc/passwd") && !two.contains("/etc/hostname"));
}
