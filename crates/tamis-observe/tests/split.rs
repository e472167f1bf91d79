//! A shell plays the host: it opens the agent's file and looks at marks, as the agent does.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc;
use tamis_core::{PathMap, Question, Scheme, Value};
use tamis_fs::{Fingerprinter, Options};
use tamis_observe::{
    Context, Cover, CoveredPaths, Judgement, Marks, Rules, Services, SplitObserver, WindowEnded,
};
use tamis_trace::Command;

struct ProjectOnly<'a>(&'a Path);

impl Rules for ProjectOnly<'_> {
    fn judge(&self, path: &Path, _: &str) -> Judgement {
        if path.starts_with(self.0) { Judgement::Default } else { Judgement::Ignore }
    }
}

struct ClassFilesOnly;

impl CoveredPaths for ClassFilesOnly {
    fn cover(&self, path: &[u8]) -> Cover {
        match path {
            _ if path.ends_with(b".class") => Cover::Counted,
            _ if path.ends_with(b".jar") => Cover::Undecided,
            _ => Cover::None,
        }
    }
}

/// Files by test; `outside` before and between them, `whole` for the run.
type Seen = BTreeMap<String, Vec<String>>;

fn play(engine: &str, script: &str) -> Option<Seen> {
    let engine = match tamis_trace::choose::choose(engine) {
        Ok(engine) => engine,
        Err(why) => {
            tamis_testkit::not_here(&why.to_string());
            return None;
        }
    };
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap();
    for name in [
        "c.jar", "d.jar", "agent", "start", "one", "two", "both", "between", "child", "A.class",
        "B.class",
    ] {
        fs::write(root.join(name), name).unwrap();
    }
    // What was there before is distinguished from what changed by the time stamps.
    std::thread::sleep(std::time::Duration::from_millis(60));
    let script = format!(
        "begin() {{ [ -e /.tamis-mark/tok/$$/b/$1 ]; }}\nend() {{ [ -e /.tamis-mark/tok/$$/e/$1 ]; }}\n\
         turn() {{ [ -e /.tamis-mark/tok/$$/n/$1 ]; }}\nlook() {{ while read -r x; do :; done < $1; }}\nlook agent\n{script}\n:\n"
    );
    let paths = PathMap::new(root.clone(), None);
    let fingerprinter = Fingerprinter::new(Options::default());
    let (rules, services) = (ProjectOnly(&root), Services::default());
    let library = root.join("agent").into_os_string().into_encoded_bytes();
    let covered = &ClassFilesOnly;
    let marks = Marks { token: "tok", library: &library, folder: b"/nowhere", covered };
    let (tell, ends) = mpsc::channel();
    let context = Context {
        paths: &paths,
        rules: &rules,
        fingerprinter: &fingerprinter,
        services: &services,
    };
    let mut split = SplitObserver::new(context, marks, tell);
    let null =
        || Some(fs::File::options().read(true).write(true).open("/dev/null").unwrap().into());
    let command = Command {
        words: ["sh", "-c", &script].map(Into::into).to_vec(),
        folder: root.clone(),
        environment: std::env::vars_os().collect(),
        stdin: null(),
        stdout: null(),
        stderr: null(),
        timeout: None,
        stand_for_ours: [false; 3],
        watch_stdin: false,
    };
    engine.run(command, &mut split, &AtomicBool::new(false)).unwrap();
    let mut seen = Seen::new();
    let mut add = |who: String, observations: tamis_observe::Observations| {
        assert_eq!(observations.taints, [], "{who}");
        let files = seen.entry(who).or_default();
        for observed in observations.observed {
            if let Question::Path(path, Scheme::Raw) = observed.question
                && observed.before != Value::Directory
            {
                files.push(path.to_string());
            }
        }
        files.sort();
        files.dedup();
    };
    add("whole".into(), split.into_whole().finish(false));
    for ended in ends {
        match ended {
            WindowEnded::Outside { host: _, observations, undecided } => {
                add("outside".into(), observations);
                add("outside, undecided".into(), undecided);
            }
            WindowEnded::Unit { test, observations, openings, children, .. } => {
                for child in children {
                    let lives = if child.outlives { "live" } else { "dead" };
                    let times: u32 = child.openings.values().sum();
                    add(format!("{test} {lives} child, {times} opened"), child.undecided);
                }
                let counted = openings.iter().map(|(path, times)| {
                    let name = Path::new(std::str::from_utf8(path).unwrap()).file_name().unwrap();
                    format!("{} x{times}", name.to_string_lossy())
                });
                let counted: Vec<String> = counted.collect();
                add(format!("{test}"), observations);
                add(format!("{test} classes {}", counted.join(" ")), Default::default());
            }
        }
    }
    Some(seen)
}

fn expect(seen: &Seen, who: &str, files: &[&str]) {
    assert_eq!(seen.get(who).map(Vec::as_slice).unwrap_or_default(), files, "{who} in {seen:?}");
}

fn tests_keep_apart(engine: &str) {
    let script = "look start\nbegin 1\nlook one\n(cat child)\nlook A.class\nlook A.class\nend 1\n\
                  look between\nbegin 2\nlook two\ncat B.class\nend 2\n";
    let Some(seen) = play(engine, script) else { return };
    expect(&seen, "1", &["child", "one"]);
    // A program that the host started has no agent: what it reads counts as any file.
    expect(&seen, "2", &["B.class", "two"]);
    expect(&seen, "outside", &["agent", "between", "start"]);
    assert!(seen.contains_key("1 classes A.class x2"), "{seen:?}");
    let all = ["A.class", "B.class", "agent", "between", "child", "one", "start", "two"];
    expect(&seen, "whole", &all);
}

/// One mark for the end of a unit and the beginning of the next: nothing is outside of both.
fn a_turn_is_an_end_and_a_beginning(engine: &str) {
    let script = "look start\nbegin 1\nlook one\nlook both\nturn 2\n(cat child)\nlook both\nturn 3\n\
                  turn 4\nlook two\nend 4\nlook between\n";
    let Some(seen) = play(engine, script) else { return };
    expect(&seen, "1", &["both", "one"]);
    expect(&seen, "2", &["both", "child"]);
    expect(&seen, "3", &[]);
    expect(&seen, "4", &["two"]);
    expect(&seen, "outside", &["agent", "start"]);
    assert!(seen.contains_key("3"), "{seen:?}");
}

/// A process with the agent that a test starts: its class files stand apart in that test, those that it
/// reads later count as files, and what it writes is no input.
fn children_stand_apart(engine: &str) {
    let child = "sh -c 'look() { while read -r x; do :; done < $1; }; look agent; look child; look A.class; \
                 look A.class; echo x > C.class; look C.class; BODY'";
    let ends = child.replace("BODY", ":");
    let Some(seen) = play(engine, &format!("begin 1\n{ends}\nlook one\nend 1\n")) else { return };
    expect(&seen, "1", &["agent", "child", "one"]);
    expect(&seen, "1 dead child, 3 opened", &["A.class"]);
    // It stays until it may read its last.
    let stays = child.replace("BODY", "while [ ! -e go ]; do sleep 0.01; done; look B.class");
    let script = format!(
        "begin 1\n{stays} &\nwhile [ ! -e C.class ]; do sleep 0.01; done; sleep 0.3\nend 1\n\
         begin 2\nlook two\n: > go\nwait\nend 2\n"
    );
    let Some(seen) = play(engine, &script) else { return };
    expect(&seen, "1 live child, 3 opened", &["A.class"]);
    let second = &seen["2"];
    assert!(second.iter().any(|file| file == "B.class"), "{seen:?}");
    assert!(!seen.keys().any(|who| who.starts_with("2 ") && who.contains("child")), "{seen:?}");
}

/// Jars that the host reads before it is known whether they will be reported stand apart; those that
/// its children read do not. And a host may say that what it did before is nothing to its tests.
fn what_was_before_stands_apart(engine: &str) {
    let script =
        "look start\nend 0\nlook between\nlook c.jar\n(cat d.jar)\nbegin 1\nlook one\nend 1\n";
    let Some(seen) = play(engine, script) else { return };
    expect(&seen, "outside", &["between", "d.jar"]);
    expect(&seen, "outside, undecided", &["c.jar"]);
    expect(&seen, "1", &["one"]);
}

/// A process with the agent below an open test is a part of that test, whatever it says itself.
fn a_host_below_a_test_is_none(engine: &str) {
    let below = "sh -c 'look() { while read -r x; do :; done < $1; }; look agent; \
                 [ -e /.tamis-mark/tok/$$/b/7 ]; look two; [ -e /.tamis-mark/tok/$$/e/7 ]; sleep 0.3'";
    let script = format!("begin 1\nlook one\n{below}\nend 1\nlook between\n{below}\n");
    let Some(seen) = play(engine, &script) else { return };
    expect(&seen, "1", &["agent", "one", "two"]);
    // Behind the test it is a host of its own.
    expect(&seen, "7", &["two"]);
}

fn tests_that_overlap_share(engine: &str) {
    let script = "begin 1\nlook one\nbegin 2\nlook both\nend 1\nlook two\nend 2\n";
    let Some(seen) = play(engine, script) else { return };
    expect(&seen, "1", &["both", "one"]);
    expect(&seen, "2", &["both", "two"]);
}

/// A process whose parent is gone may belong to anybody.
fn what_has_lost_its_parent_counts_for_all(engine: &str) {
    let script = "begin 1\n( ( sleep 0.3; cat child ) & )\nsleep 0.8\nend 1\nlook between\n";
    let Some(seen) = play(engine, script) else { return };
    expect(&seen, "1", &["child"]);
}

/// What one test wrote is an input of the next.
fn a_file_of_another_test_is_an_input(engine: &str) {
    let script = "begin 1\necho made > made\nlook made\nend 1\nbegin 2\nlook made\nend 2\n";
    let Some(seen) = play(engine, script) else { return };
    expect(&seen, "1", &[]);
    expect(&seen, "2", &["made"]);
    expect(&seen, "whole", &["agent"]);
}

macro_rules! with_every_engine {
    ($($engine:ident)*) => {$(
        mod $engine {
            #[test]
            fn tests_keep_apart() { super::tests_keep_apart(stringify!($engine)); }
            #[test]
            fn tests_that_overlap_share() { super::tests_that_overlap_share(stringify!($engine)); }
            #[test]
            fn what_has_lost_its_parent_counts_for_all() {
                super::what_has_lost_its_parent_counts_for_all(stringify!($engine));
            }
            #[test]
            fn what_was_before_stands_apart() {
                super::what_was_before_stands_apart(stringify!($engine));
            }
            #[test]
            fn a_host_below_a_test_is_none() {
                super::a_host_below_a_test_is_none(stringify!($engine));
            }
            #[test]
            fn a_turn_is_an_end_and_a_beginning() {
                super::a_turn_is_an_end_and_a_beginning(stringify!($engine));
            }
            #[test]
            fn children_stand_apart() { super::children_stand_apart(stringify!($engine)); }
            #[test]
            fn a_file_of_another_test_is_an_input() {
                super::a_file_of_another_test_is_an_input(stringify!($engine));
            }
        }
    )*};
}

// What hears of calls afterwards is not used for tests inside a process.
with_every_engine!(notify ptrace);
