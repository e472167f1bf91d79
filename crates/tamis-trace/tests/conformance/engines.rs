//! Every engine on small real commands.

use crate::common::{available, command, opened, run};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tamis_trace::{Action, Blind, Ending, Engine, Event, Finish};

#[test]
fn sees_reads_of_children() {
    for engine in available() {
        let engine = engine.as_ref();
        let (finish, actions) =
            run(engine, command(&["sh", "-c", "cat /etc/hostname | wc -c >/dev/null"]));
        assert_eq!(finish.ending, Ending::Exited(0));
        assert!(opened(&actions).contains("/etc/hostname"));
        assert!(
            actions
                .iter()
                .any(|a| matches!(a, Action::Execute { path } if path.ends_with(b"/cat")))
        );
    }
}

#[test]
fn exit_codes_and_signals_come_through() {
    for engine in available() {
        let engine = engine.as_ref();
        assert_eq!(run(engine, command(&["sh", "-c", "exit 7"])).0.ending, Ending::Exited(7));
        assert_eq!(
            run(engine, command(&["sh", "-c", "kill -9 $$"])).0.ending,
            Ending::Signalled(9)
        );
        assert_eq!(
            run(engine, command(&["/nonexistent"])).0.ending,
            Ending::NotStarted(libc::ENOENT)
        );
        assert_eq!(
            run(engine, command(&["/etc/passwd"])).0.ending,
            Ending::NotStarted(libc::EACCES)
        );
    }
}

#[test]
fn a_missing_folder_is_told() {
    for engine in available() {
        let engine = engine.as_ref();
        let mut c = command(&["true"]);
        c.folder = "/nonexistent".into();
        assert_eq!(run(engine, c).0.ending, Ending::NotStarted(libc::ENOENT));
    }
}

#[test]
fn a_time_out_ends_the_whole_tree() {
    for engine in available() {
        let engine = engine.as_ref();
        let mut c = command(&["sh", "-c", "sleep 50 & sleep 60; true"]);
        c.timeout = Some(Duration::from_millis(200));
        let started = Instant::now();
        let (finish, _) = run(engine, c);
        assert_eq!(finish.ending, Ending::TimedOut);
        assert!(finish.left_running.is_empty());
        assert!(started.elapsed() < Duration::from_secs(20));
    }
}

#[test]
fn the_user_can_stop_it() {
    for engine in available() {
        let engine = engine.as_ref();
        let stop = AtomicBool::new(false);
        let mut sink = |_: Event<'_>| stop.store(true, Ordering::Relaxed);
        let finish = engine.run(command(&["sleep", "60"]), &mut sink, &stop).unwrap();
        assert_eq!(finish.ending, Ending::Interrupted);
    }
}

/// Runs a command that leaves a process behind, which reads a file after three seconds and tells
/// where.
fn run_leaving_one(engine: &dyn Engine, file: &Path) -> Finish {
    let script = format!("(sleep 3; cat /etc/hostname > {}) >/dev/null 2>&1 &", file.display());
    let (finish, _) = run(engine, command(&["sh", "-c", &script]));
    assert_eq!(finish.ending, Ending::Exited(0));
    assert!(!finish.left_running.is_empty());
    finish
}

#[test]
fn a_process_that_stays_is_named_and_lives_on() {
    for engine in available() {
        if engine.name() == "ptrace" {
            continue;
        }
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("later");
        run_leaving_one(engine.as_ref(), &file);
        let deadline = Instant::now() + Duration::from_secs(20);
        while std::fs::read(&file).map_or(true, |b| b.is_empty()) {
            assert!(Instant::now() < deadline, "the survivor could not go on");
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

#[test]
fn under_ptrace_a_process_that_stays_is_named_and_ended() {
    let Ok(engine) = tamis_trace::choose("ptrace") else { return };
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("later");
    let finish = run_leaving_one(engine.as_ref(), &file);
    assert!(finish.left_running.contains(&"sleep".to_owned()), "{:?}", finish.left_running);
    // The run waited until the last process was gone: nobody can write any more.
    assert!(!file.exists());
}

#[test]
fn reads_of_standard_input_are_reported_when_asked() {
    for engine in available() {
        let engine = engine.as_ref();
        let input = || {
            let (reader, writer) = std::io::pipe().unwrap();
            std::io::Write::write_all(&mut &writer, b"x\n").unwrap();
            reader
        };
        let mut c = command(&["sh", "-c", "read x; test $x = x"]);
        c.stdin = Some(input().into());
        c.watch_stdin = true;
        let (finish, actions) = run(engine, c);
        assert_eq!(finish.ending, Ending::Exited(0));
        assert!(actions.contains(&Action::Blind(Blind::StandardInput)));

        let mut c = command(&["sh", "-c", "echo y | cat >/dev/null"]);
        c.stdin = Some(input().into());
        c.watch_stdin = true;
        assert!(!run(engine, c).1.contains(&Action::Blind(Blind::StandardInput)));
    }
}

#[test]
fn two_runs_at_once_keep_apart() {
    for engine in available() {
        let engine = engine.as_ref();
        std::thread::scope(|scope| {
            let one = scope.spawn(|| run(engine, command(&["cksum", "/etc/hostname"])));
            let two = scope.spawn(|| run(engine, command(&["cksum", "/etc/passwd"])));
            let (one, two) = (opened(&one.join().unwrap().1), opened(&two.join().unwrap().1));
            assert!(one.contains("/etc/hostname") && !one.contains("/etc/passwd"));
            assert!(two.contains("/etc/passwd") && !two.contains("/etc/hostname"));
        });
    }
}
