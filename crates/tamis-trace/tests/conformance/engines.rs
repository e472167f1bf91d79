//! Every engine on small real commands.

use crate::common::{available, command, opened, run};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tamis_trace::{Action, Blind, Ending, Event};

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
fn a_missing_folder_is_reported() {
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
