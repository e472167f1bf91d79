//! tamis inside tamis: the inner one falls back to ptrace, both see what the command does.

use crate::common::{command, opened, run};
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
    let works = |name: &str| name != "ebpf" && tamis_trace::choose(name).is_ok();
    let unprivileged = tamis_trace::engines().into_iter().find(|c| works(c.name)).unwrap();
    assert_eq!(unprivileged.name, "ptrace");
    let engine = tamis_trace::choose("ptrace").unwrap();
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
