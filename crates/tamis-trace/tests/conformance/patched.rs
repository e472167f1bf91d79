//! What the engine that patches the C library could do wrong: each is tried with real programs.

use crate::common::{command, compile, corpus, found, owned};
use std::collections::BTreeSet;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use tamis_testkit::not_here;
use tamis_trace::{Action, Blind, Command, Ending, Engine, Event, Finish, Timing};

/// A program of the corpus in a folder of its own, to be run under the engine.
struct Patched {
    engine: Box<dyn Engine>,
    place: tempfile::TempDir,
    program: PathBuf,
}

struct Seen {
    finish: Finish,
    /// What was done, and whether it was logged.
    actions: Vec<(Action<'static>, bool)>,
    out: String,
    errors: String,
}

impl Patched {
    /// None where the engine or a compiler is missing.
    fn new() -> Option<Self> {
        let engine = match tamis_trace::choose("patch") {
            Ok(engine) => engine,
            Err(why) => {
                not_here(&why.to_string());
                return None;
            }
        };
        let place = tempfile::tempdir().unwrap();
        let program = compile("patched.c", &[], place.path())?;
        Some(Self { engine, place, program })
    }

    fn folder(&self) -> PathBuf {
        self.place.path().canonicalize().unwrap()
    }

    fn run(&self, what: &str) -> Seen {
        let seen = self.run_words(&[self.program.to_str().unwrap(), what]);
        assert_eq!(seen.finish.ending, Ending::Exited(0), "{what}: {}", seen.errors);
        seen
    }

    fn run_words(&self, words: &[&str]) -> Seen {
        self.run_command(command(words))
    }

    fn run_command(&self, mut command: Command) -> Seen {
        let mut streams = Vec::new();
        let mut pipe = || {
            let (mut reader, writer) = std::io::pipe().unwrap();
            streams.push(std::thread::spawn(move || {
                let mut text = String::new();
                reader.read_to_string(&mut text).unwrap();
                text
            }));
            Some(writer.into())
        };
        command.stdout = pipe();
        command.stderr = pipe();
        command.folder = self.folder();
        command.timeout = Some(Duration::from_secs(120));
        let mut actions = Vec::new();
        let mut sink = |event: Event<'_>| {
            let logged = matches!(event.timing, Timing::Logged { .. });
            actions.push((owned(event.action), logged));
        };
        let finish = self.engine.run(command, &mut sink, &AtomicBool::new(false)).unwrap();
        let mut texts = streams.into_iter().map(|s| s.join().unwrap());
        let (out, errors) = (texts.next().unwrap(), texts.next().unwrap());
        Seen { finish, actions, out, errors }
    }
}

impl Seen {
    fn paths(&self) -> BTreeSet<String> {
        self.actions.iter().filter_map(|(action, _)| looked_at(action)).collect()
    }

    fn logged(&self) -> usize {
        self.actions.iter().filter(|(_, logged)| *logged).count()
    }

    fn has_all(&self, folder: &Path, names: impl IntoIterator<Item = String>) {
        let paths = self.paths();
        for name in names {
            let path = folder.join(&name).display().to_string();
            assert!(paths.contains(&path), "{path} was not seen");
        }
        let blind = self.actions.iter().find(|(a, _)| matches!(a, Action::Blind(_)));
        assert_eq!(blind, None);
    }
}

/// The path of a call that only looks.
fn looked_at(action: &Action<'_>) -> Option<String> {
    match action {
        Action::Stat { path, .. } | Action::Open { path, .. } | Action::ReadLink { path } => {
            Some(String::from_utf8_lossy(path).into_owned())
        }
        _ => None,
    }
}

#[test]
fn more_than_the_log_holds() {
    let Some(patched) = Patched::new() else { return };
    let seen = patched.run("many");
    seen.has_all(&patched.folder(), (0..6000).map(|i| format!("many-{i}")));
    // A few went by notification because the log was full.
    assert!(seen.logged() > 5000, "{}", seen.logged());
}

#[test]
fn threads_at_the_same_time() {
    let Some(patched) = Patched::new() else { return };
    let names = (0..4).flat_map(|t| (0..1500).map(move |i| format!("thread-{t}-{i}")));
    patched.run("threads").has_all(&patched.folder(), names);
}

#[test]
fn calls_in_signal_handlers() {
    let Some(patched) = Patched::new() else { return };
    let seen = patched.run("signals");
    let names = (0..2000).map(|i| format!("outside-{i}"));
    let more = ["in-handler", "/in-handler"].map(str::to_owned);
    seen.has_all(&patched.folder(), names.chain(more));
}

#[test]
fn many_children_without_another_program() {
    let Some(patched) = Patched::new() else { return };
    let seen = patched.run("forks");
    let early = (0..180).flat_map(|c| (0..6).map(move |n| format!("child-{c}-{n}")));
    let last = (0..180).map(|c| format!("child-{c}-last"));
    let later = (0..300).flat_map(|c| (0..4).map(move |n| format!("later-{c}-{n}")));
    seen.has_all(&patched.folder(), early.chain(last).chain(later));
}

#[test]
fn children_that_share_the_memory() {
    let Some(patched) = Patched::new() else { return };
    let seen = patched.run("vforks");
    let own = (0..20).map(|i| format!("of-parent-{i}"));
    let theirs = ["below/of-vforked", "below/one"].map(str::to_owned);
    seen.has_all(&patched.folder(), own.chain(theirs));
}

#[test]
fn children_that_are_killed_at_any_moment() {
    let Some(patched) = Patched::new() else { return };
    let seen = patched.run("kills");
    seen.has_all(&patched.folder(), (0..60).map(|i| format!("survivor-{i}")));
}

#[test]
fn a_filter_that_ends_the_process_at_unknown_calls() {
    let Some(patched) = Patched::new() else { return };
    for how in ["sandbox", "sandbox-by-prctl"] {
        let seen = patched.run(how);
        let own = (0..20).map(|i| format!("in-sandbox-{i}"));
        let children = (0..20).map(|i| format!("child-in-sandbox-{i}"));
        let before = ["before-the-sandbox".to_owned()];
        seen.has_all(&patched.folder(), own.chain(children).chain(before));
    }
}

#[test]
fn reads_come_before_the_changes_that_followed_them() {
    let Some(patched) = Patched::new() else { return };
    let seen = patched.run("order");
    let folder = patched.folder();
    let place = |wanted: &dyn Fn(&Action<'_>) -> bool| {
        seen.actions.iter().position(|(action, _)| wanted(action))
    };
    for (kind, count) in [("own", 100), ("theirs", 200)] {
        for i in 0..count {
            let path = folder.join(format!("{kind}-{i}")).display().to_string();
            let read = place(&|a| looked_at(a).as_deref() == Some(&path)).unwrap();
            let rename = |a: &Action<'_>| matches!(a, Action::Rename { from, .. } if **from == *path.as_bytes());
            let change = place(&rename).unwrap();
            assert!(read < change, "{path}: {read} {change}");
            if kind == "theirs" {
                let mut later = seen.actions[change..].iter();
                assert!(later.any(|(a, _)| looked_at(a).as_deref() == Some(&path)), "{path}");
            }
        }
    }
}

#[test]
fn a_thread_that_is_cancelled_in_a_call() {
    let Some(patched) = Patched::new() else { return };
    let names = ["fifo", "after-the-cancel"].map(str::to_owned);
    patched.run("cancels").has_all(&patched.folder(), names);
}

#[test]
fn registers_errors_and_closed_descriptors() {
    let Some(patched) = Patched::new() else { return };
    let seen = patched.run("registers");
    seen.has_all(&patched.folder(), ["no-link", "no-file", "all-closed"].map(str::to_owned));
}

#[test]
fn libraries_that_are_loaded_later() {
    let Some(patched) = Patched::new() else { return };
    patched.run("dlopen").has_all(&patched.folder(), ["./absent.so".to_owned()]);
}

#[test]
fn the_environment_is_that_of_the_parent() {
    let Some(patched) = Patched::new() else { return };
    let program = patched.program.to_str().unwrap().to_owned();
    let lines = |seen: &Seen| seen.out.lines().map(str::to_owned).collect::<Vec<_>>();
    let mut direct = command(&[&program, "environment"]);
    direct.environment = vec![("A".into(), "1".into()), ("B".into(), "2".into())];
    let seen = patched.run_command(direct);
    assert_eq!(lines(&seen), ["A=1", "B=2"]);
    // Handed on by a program that has it in its own hands, to one that asks the kernel.
    let script = format!("{program} environment; tr '\\0' '\\n' </proc/self/environ");
    let mut through = command(&["/usr/bin/env", "-i", "X=y", "/bin/sh", "-c", &script]);
    through.environment = vec![("PATH".into(), "/usr/bin:/bin".into())];
    let seen = patched.run_command(through);
    assert!(!seen.out.contains("LD_PRELOAD"), "{}", seen.out);
    assert!(seen.out.contains("X=y"));
    // It was loaded all the same.
    assert!(seen.logged() > 0 && seen.errors.is_empty(), "{}", seen.errors);
}

#[test]
fn a_library_that_the_user_preloads() {
    let Some(patched) = Patched::new() else { return };
    let library = patched.folder().join("user.so");
    let built = std::process::Command::new("gcc")
        .args(["-shared", "-fPIC", "-o"])
        .args([&library, &corpus("preloaded.c")])
        .status()
        .unwrap();
    assert!(built.success());
    let program = patched.program.to_str().unwrap();
    for through_shell in [false, true] {
        let script = format!("{program} environment");
        let mut words = command(&[program, "environment"]);
        if through_shell {
            words = command(&["/bin/sh", "-c", &script]);
        }
        words.environment = vec![("LD_PRELOAD".into(), library.clone().into())];
        let seen = patched.run_command(words);
        let own = format!("LD_PRELOAD={}", library.display());
        assert!(seen.out.lines().any(|line| line == own), "{}", seen.out);
        assert!(seen.paths().contains("/of-the-user-s-library"));
        assert!(seen.logged() > 0 && seen.errors.is_empty(), "{}", seen.errors);
    }
}

#[test]
fn the_loader_s_own_words_do_not_name_the_library() {
    let Some(patched) = Patched::new() else { return };
    if found("ldd").is_none() {
        return;
    }
    let seen = patched.run_words(&["ldd", "/bin/cat"]);
    assert_eq!(seen.finish.ending, Ending::Exited(0));
    assert!(seen.out.contains("libc.so.6") && !seen.out.contains("/proc/"), "{}", seen.out);
}

#[test]
fn the_library_itself_is_never_seen() {
    let Some(patched) = Patched::new() else { return };
    let seen = patched.run_words(&["/bin/sh", "-c", "cat /etc/hostname; ls . | sort"]);
    assert!(seen.logged() > 0);
    for path in seen.paths() {
        assert!(!path.contains("/fd/") && !path.contains("memfd"), "{path}");
    }
}

#[test]
fn sanitized_children_are_left_alone() {
    let Some(patched) = Patched::new() else { return };
    let options = ["-fsanitize=address"];
    let Some(program) = compile("sanitized.c", &options, patched.place.path()) else { return };
    let program = program.display();
    for script in [
        format!("{program}; {program} | cat"),
        format!("exec {program}"),
        // Through a program that does not get the library.
        format!("LD_DEBUG=none sh -c {program}"),
    ] {
        let seen = patched.run_words(&["/bin/sh", "-c", &script]);
        assert_eq!(seen.finish.ending, Ending::Exited(0), "{}", seen.errors);
        assert!(!seen.errors.contains("ASan") && seen.paths().contains("/etc/hostname"));
    }
}

#[test]
fn little_memory() {
    let Some(patched) = Patched::new() else { return };
    // Too little for the shared memory, enough for the program.
    let script = format!("ulimit -v 9000; exec {} one", patched.program.display());
    let seen = patched.run_words(&["/bin/sh", "-c", &script]);
    assert_eq!(seen.finish.ending, Ending::Exited(0), "{}", seen.errors);
    seen.has_all(&patched.folder(), ["one".to_owned()]);
    assert!(seen.errors.is_empty(), "{}", seen.errors);
}

#[test]
fn another_user_and_another_view_of_the_machine() {
    // SAFETY: geteuid has no precondition.
    if unsafe { libc::geteuid() } != 0 {
        not_here("it takes root");
        return;
    }
    let Some(patched) = Patched::new() else { return };
    let other = ["setpriv", "--reuid", "65534", "--clear-groups", "cat", "/etc/hostname"];
    let fewer = ["setpriv", "--bounding-set", "-all", "--inh-caps", "-all", "cat", "/etc/hostname"];
    let numbers = ["unshare", "-p", "-f", "sh", "-c", "cat /etc/hostname; test -e /x/y; true"];
    for words in [&other[..], &fewer, &numbers] {
        if found(words[0]).is_none() {
            continue;
        }
        let seen = patched.run_words(words);
        if seen.finish.ending != Ending::Exited(0) {
            not_here(&format!("{words:?}: {}", seen.errors));
            continue;
        }
        assert!(seen.errors.is_empty(), "{words:?}: {}", seen.errors);
        assert!(seen.paths().contains("/etc/hostname"), "{words:?}");
        let lost = seen.actions.iter().any(|(a, _)| matches!(a, Action::Blind(Blind::Lost(_))));
        assert!(!lost);
    }
}
