//! `--shard`: each machine its part, and together just what has to run.

use std::fs;
use std::path::Path;
use tamis_testkit::{Ended, Project};

const SUITE: &str = "[[suite]]\nname = 's'\neach = 'tests/*.sh'\nrun = 'sh {}'\n";

fn printed(got: &Ended) -> String {
    format!("{}{}", got.stderr, got.text())
}

/// Twelve tests of a suite.
fn suite() -> Project {
    let project = Project::new();
    project.write("tamis.toml", SUITE);
    project.write("lib.txt", "1");
    for n in 0..12 {
        project.write(format!("tests/{n}.sh"), format!("cat lib.txt\necho {n}\n"));
    }
    project
}

fn all() -> Vec<String> {
    let mut all: Vec<String> = (0..12).map(|n| format!("tests/{n}.sh")).collect();
    all.sort();
    all
}

/// Which tests a call runs.
fn ran(project: &Project, words: &[&str]) -> Vec<String> {
    let got = project.tamis(&[&["--json"], words, &["run"]].concat());
    assert_eq!(got.code, 0, "{}", printed(&got));
    let decided = got.decisions();
    decided.into_iter().filter(|(_, decided)| decided.runs).map(|(name, _)| name).collect()
}

/// Each test once.
fn together(parts: Vec<Vec<String>>) -> Vec<String> {
    let mut all = parts.concat();
    all.sort();
    all
}

/// What a machine gets from a cache.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten().filter(|entry| entry.path().is_file()) {
        fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

#[test]
fn shards_with_the_same_records_run_everything_once() {
    let project = suite();
    let store = |name: &str| project.beside(name).display().to_string();
    let before = store("before");
    assert_eq!(ran(&project, &["--store", &before]), all());
    project.write("lib.txt", "2");
    let parts = (1..=3).map(|n| {
        let mine = store(&format!("store{n}"));
        copy(Path::new(&before), Path::new(&mine));
        let shard = format!("{n}/3");
        let part = ran(&project, &["--store", &mine, "--shard", &shard]);
        assert!(!part.is_empty() && part.len() < 12, "{part:?}");
        // What is proven belongs to no shard; what is left belongs to others.
        let got =
            project.tamis(&["--store", &mine, "--shard", &shard, "select", "--only", &part[0]]);
        assert!(!printed(&got).contains("would run"), "{}", printed(&got));
        part
    });
    assert_eq!(together(parts.collect()), all());
    // The stores together prove everything.
    let others: Vec<String> = (1..=3).map(|n| store(&format!("store{n}"))).collect();
    let mut words = vec!["--store", &before, "store", "merge"];
    words.extend(others.iter().map(String::as_str));
    let got = project.tamis(&words);
    assert_eq!(got.code, 0, "{}", printed(&got));
    assert_eq!(ran(&project, &["--store", &before]), Vec::<String>::new());
}

/// Each machine starts when the one before it has finished and pushed; a job is run again. The split of the first one holds.
#[test]
fn the_split_is_fixed_through_the_shared_store() {
    let shared = tempfile::tempdir().unwrap();
    let settings = format!(
        "[remote]\nurl = 'file://{}'\nproject = 'p'\nread = ['main']\nwrite = 'main'\npush = 'wait'\ntrusted-keys = ['anyone']\n{SUITE}",
        shared.path().display()
    );
    let machine = |settings: &str| {
        let mut project = suite();
        project.write("tamis.toml", settings);
        project.set("TAMIS_RUN", "7");
        project
    };
    let parts: Vec<Vec<String>> =
        (1..=3).map(|n| ran(&machine(&settings), &["--shard", &format!("{n}/3")])).collect();
    assert_eq!(together(parts.clone()), all());
    // Another state, the same run of CI: each has what it had, in whichever order they come.
    for n in [3, 1, 2_usize] {
        let again = machine(&settings);
        again.write("lib.txt", "2");
        assert_eq!(ran(&again, &["--shard", &format!("{n}/3")]), parts[n - 1]);
    }
    // A split that somebody else signed, and a store that does not answer: all of it runs.
    let stranger = settings.replace("anyone", &format!("ed25519:{}", "ab".repeat(32)));
    let gone = settings.replace("file://", "file:///proc/nowhere");
    for settings in [stranger, gone] {
        let alone = machine(&settings);
        let got = alone.tamis(&["--shard", "1/3", "select"]);
        assert!(got.stderr.contains("all of it runs here"), "{}", printed(&got));
        assert_eq!(ran(&alone, &["--shard", "1/3"]), all());
    }
}

/// A folder on a server that is gone: whoever opens a file in it waits for ever. Here a pipe that is never written to.
#[test]
fn a_folder_that_does_not_answer_is_not_waited_for() {
    let shared = tempfile::tempdir().unwrap();
    let settings = format!(
        "[remote]\nurl = 'file://{}'\nproject = 'p'\nread = ['main']\nwrite = 'main'\npush = 'wait'\npull-timeout = '1s'\n\
         trusted-keys = ['anyone']\n{SUITE}",
        shared.path().display()
    );
    let machine = |settings: &str| {
        let mut project = suite();
        project.write("tamis.toml", settings);
        project.set("TAMIS_RUN", "7");
        project
    };
    let first = machine(&settings);
    assert!(ran(&first, &["--shard", "1/3"]).len() < 12);
    let inside = |folder: &Path| -> Vec<_> {
        fs::read_dir(folder).unwrap().flatten().map(|entry| entry.path()).collect()
    };
    for kind in ["heads", "plans"] {
        for object in inside(&shared.path().join("v1/p").join(kind)) {
            for version in inside(&object) {
                fs::remove_file(&version).unwrap();
                first.tool(&["mkfifo", version.to_str().unwrap()]);
            }
        }
    }
    let second = machine(&settings.replace("'wait'", "'no'"));
    let got = second.tamis(&["--json", "--shard", "1/3", "run"]);
    assert_eq!((got.code, got.events("finished").len()), (0, 12), "{}", printed(&got));
    assert!(got.stderr.contains("the shared store gave no answer within 1 s"), "{}", got.stderr);
    assert!(got.stderr.contains("all of it runs here"), "{}", got.stderr);
}

#[test]
fn a_plan_in_a_file() {
    let project = suite();
    let file = project.beside("plan.json").display().to_string();
    let words = ["shards", "--plan", "4", "--write", &file, "--json"];
    let line = project.tamis(&words).lines().remove(0);
    assert_eq!(line["shards"], serde_json::json!(["1/4", "2/4", "3/4", "4/4"]));
    assert_eq!(line["selected"], 12);
    // Each finds what the ones before it have proven, in one store.
    let part = |n: u32| ran(&project, &["--shard", &format!("{n}/4"), "--plan", &file]);
    assert_eq!(together((1..=4).map(part).collect()), all());
    let line = project.tamis(&["shards", "--plan", "4", "--json"]).lines().remove(0);
    assert_eq!((&line["shards"], &line["selected"]), (&serde_json::json!([]), &0.into()));
    assert_eq!(project.answer(&["shards", "--plan", "4"]), "nothing has to run\n");
    // A test that the file does not name is somebody's.
    project.write("tests/new.sh", "echo new\n");
    assert_eq!(together((1..=4).map(part).collect()), ["tests/new.sh"]);
    // Quick tests are not worth a second machine.
    project.write("lib.txt", "3");
    let shown = project.answer(&["shards", "--plan", "4"]);
    assert!(shown.starts_with("1/1  12 tests"), "{shown}");
    for (words, why) in [
        (vec!["--shard", "1/3", "--plan", &file, "run"], "for 4 machines"),
        (vec!["--shard", "5/4", "run"], "is no shard"),
        (vec!["--shard", "1/4", "status"], "has no meaning"),
    ] {
        let got = project.tamis(&words);
        assert!(got.code == 125 && got.stderr.contains(why), "{words:?}: {}", printed(&got));
    }
}

/// A command that is one test is one machine's.
#[test]
fn a_bare_command_is_one_machines() {
    let project = suite();
    let runs = (1..=3).filter(|n| {
        let store = project.beside(&format!("s{n}")).display().to_string();
        let words = ["--shard", &format!("{n}/3"), "--store", &store, "sh", "tests/0.sh"];
        let got = project.tamis(&words);
        assert_eq!(got.code, 0, "{}", printed(&got));
        !got.text().is_empty()
    });
    assert_eq!(runs.count(), 1);
}

/// Of pytest each machine gets some of the functions that have to run, and the plan comes to an end when nothing has.
#[test]
fn functions_of_pytest_are_split() {
    let Some(words) = crate::pytest::words() else { return };
    let file = |n: usize| {
        format!("import lib\ndef test_a{n}(): assert lib.one()\ndef test_b{n}(): pass\n")
    };
    let mut files: Vec<(String, String)> =
        (0..4).map(|n| (format!("test_{n}.py"), file(n))).collect();
    files.push(("lib.py".into(), "def one(): return 1\n".into()));
    let Some(project) = crate::pytest::project_with(&files) else { return };
    let store = |name: &str| project.beside(name).display().to_string();
    let call = |store: &str, options: &[&str]| -> Vec<String> {
        let all = [&["--json", "--store", store], options, &["run", "--"], &words[..]].concat();
        let got = project.tamis(&all);
        assert_eq!(got.code, 0, "{}", printed(&got));
        let runs = got.decisions().into_iter().filter(|(_, decided)| decided.runs);
        runs.map(|(name, _)| name).filter(|name| name.contains(".py::")).collect()
    };
    let before = store("before");
    assert_eq!(call(&before, &[]).len(), 8);
    project.write("lib.py", "def one(): return 2\n");
    let parts = (1..=3).map(|n| {
        let mine = store(&format!("store{n}"));
        copy(Path::new(&before), Path::new(&mine));
        call(&mine, &["--shard", &format!("{n}/3")])
    });
    let expected = (0..4).map(|n| format!("test_{n}.py::test_a{n}"));
    assert_eq!(together(parts.collect()), expected.collect::<Vec<_>>());
    let others: Vec<String> = (1..=3).map(|n| store(&format!("store{n}"))).collect();
    let mut merge = vec!["--store", &before, "store", "merge"];
    merge.extend(others.iter().map(String::as_str));
    assert_eq!(project.tamis(&merge).code, 0);
    // All tests are proven; the command around them starts once more, as one shard.
    let plan = || {
        let all = [&["--store", &before, "shards", "--plan", "8", "--json"], &words[..]].concat();
        project.tamis(&all).lines().remove(0)["shards"].clone()
    };
    assert_eq!(plan(), serde_json::json!(["1/1"]));
    assert_eq!(call(&before, &["--shard", "1/1"]), Vec::<String>::new());
    assert_eq!(plan(), serde_json::json!([]));
}
