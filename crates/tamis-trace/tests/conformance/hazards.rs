//! What is known to defeat tracers: each is either seen completely, or the run is marked.

use crate::common::{available, command, compile, found, opened, run};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::time::Duration;
use tamis_testkit::not_here;
use tamis_trace::{Action, Blind, Command, Ending, Engine, Finish};

fn blinds<'a>(actions: &'a [Action<'static>]) -> Vec<&'a Blind> {
    let blind = |a: &'a Action<'static>| match a {
        Action::Blind(blind) => Some(blind),
        _ => None,
    };
    actions.iter().filter_map(blind).collect()
}

/// Builds a program of the corpus and runs it under every engine.
fn each(name: &str, options: &[&str], check: impl Fn(&dyn Engine, Finish, &[Action<'static>])) {
    let place = tempfile::tempdir().unwrap();
    let Some(program) = compile(name, options, place.path()) else { return };
    for engine in available() {
        let (finish, actions) = run(engine.as_ref(), command(&[program.to_str().unwrap()]));
        check(engine.as_ref(), finish, &actions);
    }
}

/// Runs the command and returns what it printed, too.
fn printed(engine: &dyn Engine, mut command: Command) -> (Finish, Vec<Action<'static>>, String) {
    let (mut reader, writer) = std::io::pipe().unwrap();
    command.stdout = Some(writer.into());
    let (finish, actions) = run(engine, command);
    let mut text = String::new();
    reader.read_to_string(&mut text).unwrap();
    (finish, actions, text)
}

#[test]
fn io_uring_works_as_without_us_and_is_marked() {
    each("uring.c", &[], |engine, finish, actions| {
        let marked = blinds(actions).contains(&&Blind::IoUring);
        let works = finish.ending == Ending::Exited(0);
        assert_eq!(marked, works, "{}: {finish:?}", engine.name());
    });
}

#[test]
fn calls_of_a_foreign_architecture_are_marked() {
    for (name, options) in
        [("foreign.c", [].as_slice()), ("foreign32.S", &["-m32", "-nostdlib", "-static"])]
    {
        if !cfg!(target_arch = "x86_64") {
            not_here(&format!("{name} is for x86_64"));
            continue;
        }
        each(name, options, |engine, finish, actions| {
            let name = engine.name();
            if finish.ending != Ending::Exited(0) {
                not_here(&format!("this kernel runs no 32-bit calls ({finish:?})"));
                return;
            }
            assert!(blinds(actions).contains(&&Blind::ForeignArchitecture), "{name}");
        });
    }
}

#[test]
fn recent_calls_are_seen() {
    each("recent.c", &[], |engine, _, actions| {
        let path = |a: &Action<'static>| match a {
            Action::Stat { path, .. } | Action::ChangeMode { path, .. } => Some(path.to_vec()),
            _ => None,
        };
        let seen: BTreeSet<Vec<u8>> = actions.iter().filter_map(path).collect();
        for call in ["fchmodat2", "setxattrat", "getxattrat", "listxattrat", "removexattrat"]
            .into_iter()
            .chain(["file_getattr", "file_setattr"])
        {
            let path = format!("/recent/{call}").into_bytes();
            assert!(seen.contains(&path), "{call} under {}", engine.name());
        }
    });
}

#[test]
fn a_root_directory_for_one_call_is_marked() {
    each("rooted.c", &[], |engine, _, actions| {
        assert!(!opened(actions).contains("/etc/hostname"), "{}", engine.name());
        assert!(
            blinds(actions).iter().any(|b| matches!(b, Blind::Unresolved(_))),
            "{}",
            engine.name()
        );
    });
}

#[test]
fn own_links_named_from_inside_proc_are_seen_or_marked() {
    each("inproc.c", &[], |engine, _, actions| {
        let names = opened(actions);
        let followed = !names.iter().any(|n| n.contains("/cwd/") || n.contains("/fd/"));
        let marked = blinds(actions).iter().any(|b| matches!(b, Blind::Unresolved(_)));
        assert!(followed, "{}: {names:?}", engine.name());
        assert!(marked || names.iter().any(|n| n.ends_with("/of-proc")), "{}", engine.name());
    });
}

#[test]
fn a_second_listener_is_refused_or_marked() {
    each("listener.c", &[], |engine, finish, actions| {
        let name = engine.name();
        if name == "ebpf" {
            // Nothing is hidden from it.
            assert_eq!(blinds(actions), Vec::<&Blind>::new());
            return;
        }
        assert!(blinds(actions).contains(&&Blind::SecondTracer), "{name}: {finish:?}");
        if name == "notify" {
            assert_eq!(finish.ending, Ending::Exited(libc::EBUSY));
        }
    });
}

#[test]
fn sanitized_programs_run_unchanged() {
    each("sanitized.c", &["-fsanitize=address"], |engine, finish, actions| {
        // Its leak check at the end traces the program, which a tracer of ours prevents.
        if engine.name() == "ptrace" {
            assert!(blinds(actions).contains(&&Blind::SecondTracer));
            return;
        }
        assert_eq!(finish.ending, Ending::Exited(0), "{}", engine.name());
        assert!(opened(actions).contains("/etc/hostname"));
        assert_eq!(blinds(actions), Vec::<&Blind>::new());
    });
}

/// A debugger in the tree works where we are no tracer ourselves; where we are, the run is marked.
fn debugger(words: &[&str]) {
    if found(words[0]).is_none() {
        return;
    }
    for engine in available() {
        let mut c = command(words);
        c.stdout = Some(File::create("/dev/null").unwrap().into());
        c.stderr = Some(File::create("/dev/null").unwrap().into());
        c.timeout = Some(Duration::from_secs(60));
        let (finish, actions) = run(engine.as_ref(), c);
        if engine.name() == "ptrace" {
            assert!(blinds(&actions).contains(&&Blind::SecondTracer));
            continue;
        }
        assert_eq!(finish.ending, Ending::Exited(0), "{}", engine.name());
        assert!(opened(&actions).contains("/etc/hostname"), "{}", engine.name());
        assert_eq!(blinds(&actions), Vec::<&Blind>::new());
    }
}

#[test]
fn strace_inside() {
    debugger(&["strace", "-f", "-o", "/dev/null", "cat", "/etc/hostname"]);
}

#[test]
fn gdb_inside() {
    debugger(&["gdb", "-q", "-batch", "-ex", "run", "--args", "/bin/cat", "/etc/hostname"]);
}

#[test]
fn lost_privileges_of_set_user_id_programs_are_noted() {
    // SAFETY: geteuid has no precondition.
    if unsafe { libc::geteuid() } != 0 {
        not_here("it takes root to make such a program");
        return;
    }
    let (Some(_), place) = (found("setpriv"), tempfile::tempdir().unwrap()) else { return };
    let Some(program) = compile("privileged.c", &[], place.path()) else { return };
    let program = program.to_str().unwrap();
    let sh = |script: String| {
        let made = std::process::Command::new("sh").args(["-c", &script]).status().unwrap();
        assert!(made.success());
    };
    sh(format!("chmod 755 {}; chmod 4755 {program}", place.path().display()));
    let unprivileged = ["setpriv", "--reuid", "65534", "--clear-groups", program];
    let plain = std::process::Command::new("setpriv").args(&unprivileged[1..]).output().unwrap();
    if plain.stdout != b"0\n" {
        not_here("set-user-id programs have no effect");
        return;
    }
    for engine in available() {
        let (finish, _, text) = printed(engine.as_ref(), command(&unprivileged));
        assert_eq!(finish.ending, Ending::Exited(0));
        assert!(text == "0\n" || finish.no_new_privileges, "{}: {text}", engine.name());
    }
}

#[test]
fn mounts_are_marked() {
    // SAFETY: geteuid has no precondition.
    let root = unsafe { libc::geteuid() } == 0;
    if !root {
        not_here("it takes root to mount");
    }
    if !root || found("unshare").is_none() {
        return;
    }
    for engine in available() {
        let place = tempfile::tempdir().unwrap();
        let place = place.path().to_str().unwrap();
        let script = format!("mount -t tmpfs none {place} && echo x > {place}/x");
        let (finish, actions) =
            run(engine.as_ref(), command(&["unshare", "-m", "sh", "-c", &script]));
        if finish.ending != Ending::Exited(0) {
            not_here("nothing can be mounted");
        }
        let name = engine.name();
        assert!(!Path::new(place).join("x").exists(), "{name}: mounted outside");
        assert!(
            blinds(&actions).iter().any(|b| matches!(b, Blind::Namespace(_))),
            "{name}: {finish:?}"
        );
    }
}

#[test]
fn a_busy_tree_cannot_outrun_its_time_out() {
    let script = "for i in 1 2 3 4; do (while :; do test -e /nonexistent; done) & done; wait";
    for engine in available() {
        let mut c = command(&["sh", "-c", script]);
        c.timeout = Some(Duration::from_millis(300));
        let (finish, _) = run(engine.as_ref(), c);
        assert_eq!(finish.ending, Ending::TimedOut, "{}", engine.name());
    }
}
