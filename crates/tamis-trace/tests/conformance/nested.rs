//! tamis inside tamis: the inner one falls back to ptrace, both see what the command does. And tamis
//! inside surroundings of other kinds.

use crate::common::{available, command, opened, run};
use std::sync::atomic::AtomicBool;
use tamis_testkit::not_here;
use tamis_trace::{Action, Ending, Event};

/// Makes the inner test below do its work.
const INNER: &str = "TAMIS_TEST_INNER";

/// Runs tests of this program under the notification engine. None where it takes engines that do
/// not work here.
fn below_a_listener(tests: &[&str]) -> Option<(Ending, Vec<Action<'static>>)> {
    let (Ok(outer), Ok(_)) = (tamis_trace::choose("notify"), tamis_trace::choose("ptrace")) else {
        not_here("it takes the notify and the ptrace engine");
        return None;
    };
    let test = std::env::current_exe().unwrap();
    let mut c = command(&[&[test.to_str().unwrap(), "--exact", "-q"], tests].concat());
    c.environment.push((INNER.into(), "1".into()));
    let (finish, actions) = run(outer.as_ref(), c);
    Some((finish.ending, actions))
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
fn below_a_listener_ptrace_works() {
    let Some((ending, actions)) = below_a_listener(&["nested::inner"]) else { return };
    assert_eq!(ending, Ending::Exited(0));
    assert!(opened(&actions).contains("/etc/hostname"));
}

#[test]
fn below_a_listener_ptrace_sees_the_same() {
    let tests = ["names", "relative", "odd", "processes", "unnamed", "signals"];
    let tests: Vec<String> = tests.iter().map(|test| format!("programs::c_{test}")).collect();
    let mut tests: Vec<&str> = tests.iter().map(String::as_str).collect();
    tests.extend([
        "programs::shell",
        "programs::python",
        "hazards::io_uring_works_as_without_us_and_is_marked",
    ]);
    let Some((ending, _)) = below_a_listener(&tests) else { return };
    assert_eq!(ending, Ending::Exited(0));
}
