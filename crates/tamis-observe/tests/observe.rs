//! Shell scripts in a small project, and what tamis says that they looked at.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use tamis_core::record::Observed;
use tamis_core::{Hash, PathMap, Question, Scheme, Taint, Value};
use tamis_fs::{Fingerprinter, Options};
use tamis_observe::{Context, Judgement, Observations, Observer, Rules, Services};
use tamis_trace::{Command, Ending};

/// Only the project counts, so that the expectations stay small.
struct ProjectOnly(PathBuf);

impl Rules for ProjectOnly {
    fn judge(&self, path: &Path, _: &str) -> Judgement {
        if path.starts_with(&self.0) { Judgement::Default } else { Judgement::Ignore }
    }
}

struct Project {
    engine: &'static str,
    _dir: tempfile::TempDir,
    root: PathBuf,
}

impl Project {
    fn new(engine: &'static str, files: &[(&str, &str)]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        for (name, content) in files {
            let path = root.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        if engine == "ebpf" {
            // It tells what was there before from what changed by the time stamps.
            std::thread::sleep(std::time::Duration::from_millis(60));
        }
        Self { engine, _dir: dir, root }
    }

    /// What the script looked at; `None` where an engine that hears of changes afterwards says that
    /// it does not know everything. It may never say something else than the others.
    fn run_changing(&self, script: &str) -> Option<Observations> {
        let seen = self.run(script);
        Some(seen).filter(|s| self.engine != "ebpf" || s.taints.is_empty())
    }

    fn run(&self, script: &str) -> Observations {
        self.run_words(&["sh", "-c", script])
    }

    fn run_words(&self, words: &[&str]) -> Observations {
        if self.engine == "patch" {
            // As with eBPF, a file that is as young as the run taints it.
            std::thread::sleep(std::time::Duration::from_millis(60));
        }
        let paths = PathMap::new(self.root.clone(), None);
        let fingerprinter = Fingerprinter::new(Options::default());
        let rules = ProjectOnly(self.root.clone());
        let services = Services::default();
        let mut observer = Observer::new(Context {
            paths: &paths,
            rules: &rules,
            fingerprinter: &fingerprinter,
            services: &services,
        });
        let null =
            || Some(File::options().read(true).write(true).open("/dev/null").unwrap().into());
        let command = Command {
            words: words.iter().map(OsString::from).collect(),
            folder: self.root.clone(),
            environment: std::env::vars_os().collect(),
            stdin: null(),
            stdout: null(),
            stderr: null(),
            timeout: None,
            stand_for_ours: [false; 3],
            watch_stdin: false,
        };
        let engine = tamis_trace::choose::choose(self.engine).unwrap();
        let finish = engine.run(command, &mut observer, &AtomicBool::new(false)).unwrap();
        assert!(matches!(finish.ending, Ending::Exited(_)), "{:?}", finish.ending);
        observer.finish(finish.no_new_privileges)
    }
}

/// Every expectation is tried with every engine that works here.
macro_rules! with_every_engine {
    ($($engine:ident)*: $tests:tt) => {
        $(mod $engine { with_every_engine!(@ $engine $tests); })*
    };
    (@ $engine:ident { $($test:ident)* }) => {
        $(#[test]
        fn $test() {
            match tamis_trace::choose::choose(stringify!($engine)) {
                Ok(_) => super::$test(stringify!($engine)),
                Err(why) => tamis_testkit::not_here(&why.to_string()),
            }
        })*
    };
}

with_every_engine!(notify patch ptrace ebpf: {
    what_is_read_is_an_input
    what_is_looked_at_is_an_input_by_content
    what_is_absent_is_an_input
    a_file_that_the_test_makes_is_no_input
    a_file_that_was_looked_for_and_then_made_was_absent_before
    a_file_that_is_read_and_then_overwritten_keeps_what_was_read
    a_file_that_is_replaced_before_it_is_read_is_no_input
    what_was_in_a_file_before_an_append_counts_if_it_is_read
    a_write_that_failed_makes_nothing_its_own
    names_are_those_from_before
    everything_in_a_folder_that_the_test_made_is_its_own
    a_renamed_file_is_read_and_a_renamed_foreign_folder_taints
    links_count_as_links_and_as_targets
    a_link_that_the_test_turns_is_followed_anew
    the_interpreter_of_a_script_counts
    the_executable_bit_counts
    somebody_elses_change_during_the_run_taints
    a_change_of_mode_is_the_tests_own
    exclusive_creation_asks_whether_the_name_is_free
});

type Asked = BTreeMap<(String, Scheme), Observed>;

fn asked(observations: &Observations) -> Asked {
    observations
        .observed
        .iter()
        .filter_map(|o| match &o.question {
            Question::Path(path, scheme) => Some(((path.to_string(), *scheme), o.clone())),
            _ => None,
        })
        .collect()
}

fn content(text: &str) -> Value {
    Value::Content { hash: Hash::of(text.as_bytes()), executable: false }
}

/// `path` -> before, after; in the order of paths.
fn states(observations: &Observations, scheme: Scheme) -> Vec<(String, Value, Option<Value>)> {
    asked(observations)
        .into_iter()
        .filter(|((_, s), _)| *s == scheme)
        .map(|((path, _), o)| (path, o.before, o.after))
        .collect()
}

fn raw(observations: &Observations) -> Vec<(String, Value, Option<Value>)> {
    states(observations, Scheme::Raw)
}

fn what_is_read_is_an_input(engine: &'static str) {
    let p = Project::new(engine, &[("a", "one"), ("b", "two")]);
    let seen = p.run("cat a");
    assert_eq!(raw(&seen), [("a".into(), content("one"), None)]);
    assert!(seen.taints.is_empty(), "{:?}", seen.taints);
}

fn what_is_looked_at_is_an_input_by_content(engine: &'static str) {
    let p = Project::new(engine, &[("a", "one")]);
    assert_eq!(raw(&p.run("test -e a")), [("a".into(), content("one"), None)]);
}

fn what_is_absent_is_an_input(engine: &'static str) {
    let p = Project::new(engine, &[]);
    let seen = p.run("test -e none; cat deep/none");
    assert_eq!(
        raw(&seen),
        [("deep/none".into(), Value::Absent, None), ("none".into(), Value::Absent, None)]
    );
}

fn a_file_that_the_test_makes_is_no_input(engine: &'static str) {
    let p = Project::new(engine, &[]);
    let seen = p.run("echo x > made; cat made; test -e made; rm made");
    assert_eq!(raw(&seen), []);
    assert!(seen.taints.is_empty(), "{:?}", seen.taints);
    assert!(seen.left_behind.is_empty());
}

fn a_file_that_was_looked_for_and_then_made_was_absent_before(engine: &'static str) {
    let p = Project::new(engine, &[]);
    let seen = p.run("test -e made || echo x > made; cat made");
    assert_eq!(raw(&seen), [("made".into(), Value::Absent, Some(content("x\n")))]);
    assert_eq!(seen.left_behind.iter().map(ToString::to_string).collect::<Vec<_>>(), ["made"]);
}

fn a_file_that_is_read_and_then_overwritten_keeps_what_was_read(engine: &'static str) {
    let p = Project::new(engine, &[("a", "one")]);
    let Some(seen) = p.run_changing("cat a; echo two > a; cat a") else { return };
    assert_eq!(raw(&seen), [("a".into(), content("one"), Some(content("two\n")))]);
    assert!(seen.taints.is_empty(), "{:?}", seen.taints);
    assert!(seen.left_behind.is_empty(), "it was there before");
}

fn a_file_that_is_replaced_before_it_is_read_is_no_input(engine: &'static str) {
    let p = Project::new(engine, &[("a", "one")]);
    assert_eq!(raw(&p.run("echo two > a; cat a")), []);
    let p = Project::new(engine, &[("a", "one")]);
    assert_eq!(raw(&p.run("echo two > b; perl -e 'rename(\"b\", \"a\")'; cat a")), []);
}

fn what_was_in_a_file_before_an_append_counts_if_it_is_read(engine: &'static str) {
    let p = Project::new(engine, &[("log", "one\n")]);
    let Some(seen) = p.run_changing("echo two >> log; grep -c . log") else { return };
    assert_eq!(raw(&seen), [("log".into(), content("one\n"), Some(content("one\ntwo\n")))]);
    let p = Project::new(engine, &[("log", "one\n")]);
    assert_eq!(raw(&p.run("echo two >> log")), []);
}

fn a_write_that_failed_makes_nothing_its_own(engine: &'static str) {
    let p = Project::new(engine, &[]);
    let seen = p.run("(echo x > none/f); test -e none/f; exit 0");
    assert_eq!(raw(&seen), [("none/f".into(), Value::Absent, None)]);
}

fn names_are_those_from_before(engine: &'static str) {
    let p = Project::new(engine, &[("d/a", ""), ("d/b", "")]);
    let plain = states(&p.run("ls d"), Scheme::Listing);
    let p = Project::new(engine, &[("d/a", ""), ("d/b", "")]);
    let Some(seen) = p.run_changing("echo > d/own; rm d/b; ls d") else { return };
    let own = states(&seen, Scheme::Listing);
    assert_eq!(own[0].1, plain[0].1, "as if the test had not touched it");
    assert!(own[0].2.is_some(), "and what it left");
    assert!(seen.taints.is_empty(), "{:?}", seen.taints);
    let p = Project::new(engine, &[("d/a", ""), ("d/b", "")]);
    let before = states(&p.run("ls d; touch d/later; ls d; rm d/later"), Scheme::Listing);
    assert_eq!((before[0].1, before[0].2), (plain[0].1, None));
}

fn everything_in_a_folder_that_the_test_made_is_its_own(engine: &'static str) {
    let p = Project::new(engine, &[]);
    let seen = p.run("mkdir d; echo x > d/x; ls d; cat d/x; mv d e; cat e/x; test -e e/none; ls e");
    let names = states(&seen, Scheme::Listing);
    assert!(names.iter().all(|s| s.1 == Value::Absent), "at most what it left: {names:?}");
    let paths: Vec<String> = raw(&seen).into_iter().map(|r| r.0).collect();
    assert!(paths.iter().all(|p| p == "e/none"), "at most the look-up that found nothing");
    let left: Vec<String> = seen.left_behind.iter().map(ToString::to_string).collect();
    assert!(left == ["e"] || engine == "ebpf" && left == ["e/x"], "{left:?}");
}

fn a_renamed_file_is_read_and_a_renamed_foreign_folder_taints(engine: &'static str) {
    let p = Project::new(engine, &[("a", "one")]);
    if let Some(seen) = p.run_changing("mv a b; cat b; mv b a") {
        assert_eq!(raw(&seen).iter().find(|r| r.0 == "a").unwrap().1, content("one"));
    }
    let p = Project::new(engine, &[("d/a", "one")]);
    let seen = p.run("mv d e; cat e/a; mv e d");
    let is_reported = |t: &Taint| matches!(t, Taint::Unresolved(_) | Taint::ChangedBeforeSeen(_));
    assert!(seen.taints.iter().any(is_reported), "{:?}", seen.taints);
}

fn links_count_as_links_and_as_targets(engine: &'static str) {
    let p = Project::new(engine, &[("real/a", "one")]);
    std::os::unix::fs::symlink("real", p.root.join("link")).unwrap();
    let seen = p.run("cat link/a");
    assert_eq!(raw(&seen), [("real/a".into(), content("one"), None)]);
    let link = ("link".to_owned(), Value::Link(Hash::of(b"real")), None);
    assert!(states(&seen, Scheme::Kind).contains(&link));
}

fn a_link_that_the_test_turns_is_followed_anew(engine: &'static str) {
    let p = Project::new(engine, &[("one/a", "1"), ("two/a", "2")]);
    std::os::unix::fs::symlink("one", p.root.join("link")).unwrap();
    let Some(seen) = p.run_changing("cat link/a; ln -sfn two link; cat link/a") else { return };
    let paths: Vec<String> = raw(&seen).into_iter().map(|r| r.0).collect();
    assert!(paths.contains(&"one/a".into()) && paths.contains(&"two/a".into()), "{paths:?}");
}

fn the_interpreter_of_a_script_counts(engine: &'static str) {
    let p = Project::new(
        engine,
        &[("my-shell", "#!/bin/sh\nexec sh \"$@\"\n"), ("script", "echo hello\n")],
    );
    let line = format!("#!{}\necho hello\n", p.root.join("my-shell").display());
    fs::write(p.root.join("script"), line).unwrap();
    for name in ["my-shell", "script"] {
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(p.root.join(name), mode).unwrap();
    }
    let paths: Vec<String> = raw(&p.run_words(&["./script"])).into_iter().map(|r| r.0).collect();
    assert!(paths.contains(&"my-shell".into()) && paths.contains(&"script".into()), "{paths:?}");
}

fn the_executable_bit_counts(engine: &'static str) {
    let p = Project::new(engine, &[("s", "#!/bin/sh\n")]);
    let before = raw(&p.run("./s; exit 0"));
    fs::set_permissions(p.root.join("s"), std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .unwrap();
    let after = raw(&p.run("./s; exit 0"));
    assert_ne!(before[0].1, after[0].1);
}

fn somebody_elses_change_during_the_run_taints(engine: &'static str) {
    let p = Project::new(engine, &[("a", "one")]);
    let root = p.root.clone();
    let meddler = std::thread::spawn(move || {
        while !root.join("ready").exists() {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        fs::write(root.join("a"), "two").unwrap();
        fs::write(root.join("foreign"), "").unwrap();
        fs::write(root.join("go"), "").unwrap();
    });
    let seen = p.run("cat a; ls . ; test -e foreign; touch ready; while ! test -e go; do :; done");
    meddler.join().unwrap();
    let taints: Vec<String> = seen.taints.iter().map(ToString::to_string).collect();
    for path in ["a", "foreign", "."] {
        let expected = [
            format!("{path} changed while the test ran, and not by the test"),
            // In a folder where the test itself made something, both may have done it.
            format!("the test changed {path} before it could be fingerprinted"),
        ];
        assert!(taints.iter().any(|t| expected.contains(t)), "{path}: {taints:?}");
    }
}

fn a_change_of_mode_is_the_tests_own(engine: &'static str) {
    let p = Project::new(engine, &[("s", "#!/bin/sh\n")]);
    let Some(seen) = p.run_changing("chmod +x s; ./s") else { return };
    assert!(seen.taints.is_empty(), "{:?}", seen.taints);
    assert_eq!(raw(&seen)[0].1, content("#!/bin/sh\n"), "not executable before");
}

fn exclusive_creation_asks_whether_the_name_is_free(engine: &'static str) {
    let p = Project::new(engine, &[]);
    let seen = p.run("set -C; echo x > lock; rm lock");
    assert!(states(&seen, Scheme::Kind).contains(&("lock".into(), Value::Absent, None)));
}
