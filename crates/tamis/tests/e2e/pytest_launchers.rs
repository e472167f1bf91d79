//! Programs around pytest: where tamis gets in each test is decided about by itself, where it does not
//! everything runs as one command, which is reported; a run is never broken.

use crate::pytest_kinds::{project, set, tests, ways};
use std::collections::BTreeSet;
use tamis_testkit::{Ended, Project, needs};

const KEPT_OUT: &str = "tamis did not get into pytest, so everything ran as one command";

/// A project with two tests, and a Python that has pytest.
fn two_tests() -> Option<(Project, String)> {
    let python = ways(&[]).into_iter().next()?.python().to_owned();
    let project = project(&[
        ("shop.py", "def one():\n    return 1\n\n\ndef two():\n    return 2\n"),
        (
            "tests/test_shop.py",
            "import shop\n\n\ndef test_one():\n    assert shop.one()\n\n\ndef test_two():\n    assert shop.two()\n",
        ),
    ]);
    Some((project, python))
}

fn run(project: &Project, words: &[&str]) -> (Ended, BTreeSet<String>) {
    let got = project.tamis(&[&["--json", "run", "--"], words].concat());
    let found = tests(got.decisions());
    (got, found)
}

/// First all tests run, then none, then the one that an edit concerns.
fn is_distinguished(project: &Project, words: &[&str]) {
    let both = set(&["tests/test_shop.py::test_one", "tests/test_shop.py::test_two"]);
    let (got, found) = run(project, words);
    assert_eq!((got.code, found), (0, both), "{words:?}: {}", got.stderr);
    let (got, found) = run(project, words);
    assert_eq!((got.code, found), (0, set(&[])), "{words:?}: {}", got.stderr);
    project.replace("shop.py", "return 1", "return 3");
    let (got, found) = run(project, words);
    let one = set(&["tests/test_shop.py::test_one"]);
    assert_eq!((got.code, found), (0, one), "{words:?}: {}", got.stderr);
    assert!(got.stderr.contains("1 passed, 1 deselected"), "{words:?}: {}", got.stderr);
    project.replace("shop.py", "return 3", "return 1");
}

#[test]
fn programs_that_start_pytest_are_entered() {
    let Some((project, python)) = two_tests() else { return };
    if !needs::need("make") {
        return;
    }
    project.write("Makefile", format!("test:\n\t@{python} -m pytest -q tests\nlint:\n\t@true\n"));
    project.write("run_tests.sh", format!("#!/bin/sh\nexec {python} -m pytest -q tests\n"));
    is_distinguished(&project, &["make", "test"]);
    let Some((mut fresh, _)) = two_tests() else { return };
    for file in ["Makefile", "run_tests.sh"] {
        fresh.write(file, project.read(file));
    }
    is_distinguished(&fresh, &["./run_tests.sh"]);
    let (got, found) = run(&fresh, &["make", "lint"]);
    assert_eq!((got.code, found), (0, set(&[])), "{}", got.stderr);
    assert!(!got.stderr.contains("pytest"), "make lint starts none: {}", got.stderr);
    fresh.set("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1");
    let (got, found) = run(&fresh, &[&python, "-m", "pytest", "-q", "tests"]);
    assert_eq!((got.code, found.len()), (0, 2), "{}", got.stderr);
}

/// A script that works with the project before it starts pytest, and one that starts it twice.
#[test]
fn what_a_script_did_before_pytest_counts_for_all_tests() {
    let Some((project, python)) = two_tests() else { return };
    let script = "import sys\n\nimport before\nimport pytest\n\nbefore.prepare()\nsys.exit(pytest.main(['-q', 'tests']))\n";
    project.write("run_tests.py", script);
    project.write("before.py", "import deep\n\n\ndef prepare():\n    deep.work()\n");
    project.write("deep.py", "def work():\n    return 1\n");
    let words = [python.as_str(), "run_tests.py"];
    let (got, all) = run(&project, &words);
    assert_eq!((got.code, all.len()), (0, 2), "{}", got.stderr);
    assert!(run(&project, &words).1.is_empty());
    for (file, from, to) in [
        ("deep.py", "return 1", "return 2"),
        ("before.py", "deep.work()", "pass"),
        ("run_tests.py", "'-q'", "'-qq'"),
    ] {
        let text = project.read(file);
        project.write(file, text.replacen(from, to, 1));
        assert_eq!(tests(project.select(&words)), all, "{file}");
        project.write(file, text);
    }
    let twice = "import pytest\n\nassert pytest.main(['-q', 'tests']) == 0\nassert pytest.main(['-q', 'tests']) == 0\n";
    project.write("twice_tests.py", twice);
    project.replace("shop.py", "return 1", "return 4");
    let (got, _) = run(&project, &[&python, "twice_tests.py"]);
    assert_eq!(got.code, 0, "{}", got.stderr);
    assert!(got.stderr.contains("2 passed"), "the second run is not ours: {}", got.stderr);
}

#[test]
fn where_tamis_is_kept_out_everything_runs_and_that_is_reported() {
    let Some((project, python)) = two_tests() else { return };
    let python = python.as_str();
    for words in [
        vec![python, "-E", "-m", "pytest", "-q", "tests"],
        vec![python, "-I", "-m", "pytest", "-q", "tests"],
        vec!["env", "-i", python, "-m", "pytest", "-q", "tests"],
    ] {
        for edit in ["return 5", "return 6"] {
            let text = project.read("shop.py");
            let old = if text.contains("return 1") { "return 1" } else { "return 5" };
            project.replace("shop.py", old, edit);
            let (got, found) = run(&project, &words);
            assert_eq!((got.code, found), (0, set(&[])), "{words:?}: {}", got.stderr);
            assert!(got.stderr.contains("2 passed"), "{words:?}: {}", got.stderr);
            assert!(got.stderr.contains(KEPT_OUT), "{words:?}: {}", got.stderr);
        }
        project.replace("shop.py", "return 6", "return 1");
        // That it ran as a whole is a proof of the whole.
        run(&project, &words);
        assert!(!run(&project, &words).0.stderr.contains("passed"), "{words:?}");
    }
    let words = [python, "-m", "pytest", "-q", "-p", "no:_tamis_pytest", "tests"];
    let (got, found) = run(&project, &words);
    assert_eq!((got.code, found), (0, set(&[])), "{}", got.stderr);
    assert!(got.stderr.contains("2 passed") && got.stderr.contains("WARNING"), "{}", got.stderr);
}

/// An interpreter whose functions cannot be distinguished (here one that says it is another one than CPython; one that is too
/// old is refused at the same place): everything runs as one command, by what it looked at.
#[test]
fn an_interpreter_that_is_not_known_runs_everything_and_that_is_reported() {
    let Some((project, python)) = two_tests() else { return };
    let script = "import sys\n\nsys.implementation.name = 'other'\nimport pytest\n\nsys.exit(pytest.main(['-q', 'tests']))\n";
    project.write("run_tests.py", script);
    let seen = "import os\n\n\ndef test_environment():\n    assert not {'TAMIS_PYTEST', 'PYTHONPATH'} & set(os.environ)\n";
    project.write("tests/test_seen.py", seen);
    let words = [python.as_str(), "run_tests.py"];
    for edit in ["return 7", "return 8"] {
        let (got, found) = run(&project, &words);
        assert_eq!((got.code, found), (0, set(&[])), "{}", got.stderr);
        assert!(got.stderr.contains("3 passed"), "{}", got.stderr);
        let warning = "no test is distinguished, so all its tests run: other is not CPython";
        assert!(got.stderr.contains(warning), "{}", got.stderr);
        assert!(!run(&project, &words).0.stderr.contains("passed"), "a proof of the whole");
        let old = if edit.ends_with('7') { "return 1" } else { "return 7" };
        project.replace("shop.py", old, edit);
    }
}
