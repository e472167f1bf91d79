//! tamis inside tamis: the inner one falls back to ptrace, both see what the command does. And tamis
//! inside surroundings of other kinds.

use crate::common::{available, command, opened, run};
use std::sync::atomic::AtomicBool;
use tamis_trace::{Ending, Event};

/// Makes the inner test below do its work.
const INNER: &str = "TAMIS_TEST_INNER";

fn run_inner(engine: &str) -> (Ending, Vec<tamis_trace::Action<'static>>) {
    let engine = tamis_trace::choose(engine).unwrap();
    let test = std::env::current_exe().unwrap();
    let test = test.to_str().unwrap();
    let mut c = command(&[test, "--exact", "nested::inner", "--test-threads=1", "-q"]);
    c.environment.push((INNER.into(), "1".into()));
    let (finish, actions) = run(engine.as_ref(), c);
    (finish.ending, actions)
}

#[test]
fn inner() {
    if std::env::var_os(INNER).is_none() {
        return;
    }
    let why = tamis_trace::choose("notify").unwrap_err();
    assert!(why.contains("ptrace"), "{why}");
    let engine = tamis_trace::choose("auto").unwrap();
    assert_eq!(engine.name(), "ptrace");
    // The calls that the outer listener decides about, threads, children, a refused call.
    let script = "cat /etc/hostname | wc -c > /dev/null; test -e /nonexistent; exit 3";
    let (finish, actions) = run(engine.as_ref(), command(&["/bin/sh", "-c", script]));
    assert_eq!(finish.ending, Ending::Exited(3));
    assert!(opened(&actions).contains("/etc/hostname"));
    let stop = AtomicBool::new(true);
    let mut sink = |_: Event<'_>| {};
    let finish = engine.run(command(&["sleep", "60"]), &mut sink, &stop).unwrap();
    assert_eq!(finish.ending, Ending::Interrupted);
}

/// Under a shell that ignores SIGHUP, as nohup does, the command can ignore it, too.
#[test]
fn ignored_signals_stay_ignored() {
    let test = std::env::current_exe().unwrap();
    let script = format!("trap '' HUP; exec {} --exact nested::inner_signals -q", test.display());
    let ran = std::process::Command::new("/bin/sh").args(["-c", &script]).env(INNER, "1").status();
    assert!(ran.unwrap().success());
}

#[test]
fn inner_signals() {
    if std::env::var_os(INNER).is_none() {
        return;
    }
    let script = "kill -HUP $$; sleep 0.01; exit 0";
    for engine in available() {
        let (finish, _) = run(engine.as_ref(), command(&["/bin/sh", "-c", script]));
        assert_eq!(finish.ending, Ending::Exited(0), "{}", engine.name());
    }
}

#[test]
fn below_a_listener_ptrace_sees_every_call() {
    if tamis_trace::choose("notify").is_err() || tamis_trace::choose("ptrace").is_err() {
        println!("not tried: it takes both engines");
        return;
    }
    let (ending, actions) = run_inner("notify");
    assert_eq!(ending, Ending::Exited(0));
    assert!(opened(&actions).contains("/etc/hostname"));
}
