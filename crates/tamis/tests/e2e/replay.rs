//! `tamis replay`: revisions of a history, in a work tree of its own.

use serde_json::Value;
use std::path::PathBuf;
use tamis_report::exit::{FOUND, MISTAKE};
use tamis_testkit::{Ended, Project, ended, wait_for};

const SUITE: &str = "\
[tamis]
ignore = [\"hidden\"]
[[suite]]
name = \"sh\"
each = \"*.sh\"
run = \"sh {}\"
";

/// Five revisions: one input, a file that is not read, a failure, and its repair.
fn history() -> Project {
    let project = Project::with(&[
        ("tamis.toml", SUITE),
        ("a.sh", "grep -q ok data\n"),
        ("b.sh", "[ ! -e wait ] || while [ -e \"$GATE\" ]; do sleep 0.05; done\n"),
        ("data", "ok\n"),
        ("hidden", "good\n"),
    ]);
    project.commit();
    for (file, text) in [("data", "ok 2\n"), ("README", "x\n"), ("data", "bad\n"), ("data", "ok\n")]
    {
        project.write(file, text);
        project.commit();
    }
    project
}

fn selected(got: &Ended) -> Vec<(u64, u64)> {
    let number = |v: &Value| v.as_u64().unwrap_or_else(|| panic!("{v}"));
    let of = |line: &Value| line["selections"][0].clone();
    let lines = got.events("revision");
    lines.iter().map(of).map(|one| (number(&one["selected"]), number(&one["tests"]))).collect()
}

/// The folder beside the store of a project.
fn place(project: &Project) -> PathBuf {
    let entries = std::fs::read_dir(project.beside("home/.cache/tamis-replay"));
    let mut found = entries.into_iter().flatten().flatten().map(|entry| entry.path());
    found.next().expect("a folder of replays")
}

#[test]
fn what_would_have_been_saved_and_missed() {
    let project = history();
    // The user's own work tree may be in any state.
    project.write("data", "dirty\n");
    project.write("untracked.sh", "exit 9\n");
    let got = project.tamis(&["replay", "--last", "5", "--json"]);
    assert_eq!(got.code, 0, "{got:?}");
    // The last is as the first was: its records still prove it.
    assert_eq!(selected(&got), [(2, 2), (1, 2), (0, 2), (1, 2), (0, 2)]);
    let lines = got.events("revision");
    assert_eq!(lines[3]["failed"], serde_json::json!(["sh::a.sh"]));
    let summary = got.events("replay-summary").pop().unwrap();
    assert_eq!((&summary["missed"], &summary["revisions"]), (&0.into(), &5.into()), "{summary}");
    assert_eq!((&summary["selected"], &summary["tests"]), (&2.into(), &8.into()), "{summary}");
    assert_eq!(project.read("data"), "dirty\n");
    assert!(project.path("untracked.sh").exists());
    let trees = ended(project.command("git").args(["worktree", "list"])).text();
    assert_eq!(trees.lines().count(), 1, "{trees}");
    // Progress, with what is left.
    assert!(got.stderr.contains("[2/5] ") && got.stderr.contains(" left)"), "{}", got.stderr);

    // The result is kept.
    let text = project.answer(&["replay", "--csv"]);
    assert_eq!(text.lines().count(), 6, "{text}");
    let report = project.answer(&["replay", "--report", "r.md"]);
    assert!(report.contains("0 missed"), "{report}");
    assert!(project.read("r.md").contains("| records | 5 | 25% |"), "{}", project.read("r.md"));
    project.answer(&["replay", "--report", "r.json"]);
    assert_eq!(project.read("r.json").lines().count(), 7);
    let got = project.tamis(&["replay", "--report", "r.txt"]);
    assert!(got.code == MISTAKE && got.stderr.contains("end the name with .html"), "{got:?}");
    let got = project.tamis(&["replay", "--resume"]);
    assert!(got.code == MISTAKE && got.stderr.contains("is complete"), "{got:?}");
}

#[test]
fn a_miss_is_an_exit_code_of_its_own() {
    let project = history();
    project.write("b.sh", "grep -q good hidden || { echo 'expected good'; exit 3; }\n");
    project.commit();
    project.write("hidden", "bad\n");
    project.commit();
    let got = project.tamis(&["replay", "HEAD~1..HEAD"]);
    assert_eq!(got.code, FOUND, "{got:?}");
    for part in [
        "MISS sh::b.sh failed with exit code 3",
        "changed: hidden",
        "believed: nothing it looked at",
        "1 MISSED",
    ] {
        assert!(got.text().contains(part), "{part} in {}", got.text());
    }
}

#[test]
fn a_kill_loses_one_revision_at_most() {
    let mut project = history();
    let gate = project.beside("gate");
    project.set("GATE", gate.to_str().expect("a text"));
    project.write("wait", "");
    project.write("data", "ok 3\n");
    project.commit();
    project.write("data", "ok 4\n");
    project.commit();
    let whole = selected(&project.tamis(&["replay", "--last", "5", "--json"]));
    std::fs::write(&gate, "").unwrap();
    let child =
        project.binary().args(["replay", "--last", "5", "--json"]).spawn().expect("it starts");
    // The fourth waits in one of its tests, while the other one is recorded.
    wait_for("three revisions", || {
        let results =
            std::fs::read_dir(place(&project).join("results")).into_iter().flatten().flatten();
        let newest =
            results.map(|e| e.path()).filter(|p| p.extension().is_some_and(|e| e == "jsonl")).max();
        let text = newest.and_then(|file| std::fs::read_to_string(file).ok()).unwrap_or_default();
        text.lines().filter(|line| line.contains("\"revision\"")).count() == 3
    });
    wait_for("the fourth", || place(&project).join("tree/wait").exists());
    std::thread::sleep(std::time::Duration::from_millis(500));
    project.tool(&["kill", "-9", &child.id().to_string()]);
    let mut child = child;
    let _ = child.wait();
    std::fs::remove_file(&gate).unwrap();
    let got = project.tamis(&["replay", "--resume", "--json"]);
    assert_eq!(got.code, 0, "{got:?}");
    assert_eq!(selected(&got), whole[3..], "{}", got.stderr);
    project.answer(&["replay", "--report", "r.json"]);
    let lines = project.read("r.json");
    let count = |event: &str| {
        lines.lines().filter(|l| l.contains(&format!("\"event\":\"{event}\""))).count()
    };
    assert_eq!((count("revision"), count("replay"), count("replay-summary")), (5, 1, 1), "{lines}");
}

#[test]
fn which_revisions() {
    let project = history();
    project.git(&["checkout", "-q", "-b", "side", "HEAD~1"]);
    project.write("side", "1\n");
    project.commit();
    project.git(&["checkout", "-q", "main"]);
    project.git(&["merge", "-q", "--no-ff", "-m", "merge", "side"]);
    let count = |words: &[&str]| {
        let got =
            project.tamis(&[&["replay", "--json", "--estimate"], words, &["--", "true"]].concat());
        assert_eq!(got.code, 0, "{words:?}: {got:?}");
        got.events("revision").len()
    };
    assert_eq!(count(&["--last", "3"]), 3);
    // First parents, and what the range begins with.
    assert_eq!(count(&["HEAD~2..HEAD"]), 3);
    assert_eq!(count(&["HEAD~2..HEAD", "--all-parents"]), 4);
    assert_eq!(count(&["HEAD~5..HEAD", "--every", "2"]), 4);
    assert_eq!(count(&["--last", "9", "--only-changed", "data"]), 4);
    assert_eq!(count(&["--last", "9", "--only-changed", "*.md", "--only-changed", "README"]), 1);
}

#[test]
fn an_estimate_runs_what_is_selected_and_claims_no_more() {
    let mut project = history();
    let log = project.beside("log");
    project.set("LOG", log.to_str().expect("a text"));
    project.write("tamis.toml", "[tamis]\nignore = [\"../log\"]\n");
    project.write("run.sh", "echo x >> \"$LOG\"; cat data\n");
    project.commit();
    project.write("README", "y\n");
    project.commit();
    let got = project.tamis(&["replay", "--last", "2", "--estimate", "--", "sh", "run.sh"]);
    assert_eq!(got.code, 0, "{got:?}");
    assert_eq!(std::fs::read_to_string(&log).unwrap().lines().count(), 1);
    assert!(got.text().contains("misses could not be seen"), "{}", got.text());
}

#[test]
fn setup_runs_where_dependencies_change() {
    let mut project = history();
    let log = project.beside("log");
    project.set("LOG", log.to_str().expect("a text"));
    for (file, text) in [("requirements.txt", "a\n"), ("README", "z\n")] {
        project.write(file, text);
        project.commit();
    }
    let setup = "echo s >> \"$LOG\"";
    let got = project.tamis(&["replay", "--last", "4", "--estimate", "--setup", setup, "--json"]);
    assert_eq!(got.code, 0, "{got:?}");
    let set_up: Vec<bool> =
        got.events("revision").iter().map(|l| !l["setup_seconds"].is_null()).collect();
    assert_eq!(set_up, [true, false, true, false]);
    let got = project.tamis(&["replay", "--last", "2", "--setup", "exit 4"]);
    assert!(got.code == MISTAKE && got.stderr.contains("exit 4 ended with exit code 4"), "{got:?}");
}

#[test]
fn revisions_that_cannot_be_run_are_left_out() {
    let project = history();
    project.write("late.sh", "#!/bin/sh\ncat data\n");
    project.commit();
    project.write("data", "ok 9\n");
    project.commit();
    let got = project.tamis(&["replay", "--last", "4", "--json", "--", "./late.sh"]);
    assert_eq!(got.code, 0, "{got:?}");
    let lines = got.events("revision");
    let states: Vec<&str> = lines.iter().map(|l| l["state"].as_str().unwrap()).collect();
    assert_eq!(states, ["not-built", "not-built", "ran", "ran"]);
    assert!(
        lines[0]["problem"].as_str().unwrap().contains("the command ./late.sh is not there"),
        "{}",
        lines[0]
    );
    let summary = got.events("replay-summary").pop().unwrap();
    assert_eq!((&summary["revisions"], &summary["left_out"]), (&2.into(), &2.into()), "{summary}");
    assert!(!summary["first_run_overhead_percent"].is_null(), "{summary}");
    let got = project.tamis(&["replay", "HEAD~4..HEAD~3", "--", "./late.sh"]);
    assert!(
        got.code == MISTAKE && got.stderr.contains("none of 2 revisions could be run"),
        "{got:?}"
    );
}

/// What git does not keep itself is reported where it begins, not only in the first revision.
#[test]
fn files_that_are_kept_elsewhere_are_reported() {
    let project = history();
    project.git(&["init", "-q", "../other"]);
    std::fs::write(project.beside("other/s.txt"), "s\n").unwrap();
    project.git(&["-C", "../other", "add", "-A"]);
    project.git(&["-C", "../other", "commit", "-qm", "s"]);
    project.git(&["config", "--global", "protocol.file.allow", "always"]);
    project.git(&["submodule", "--quiet", "add", "../other", "lib"]);
    project.write("c.sh", "grep -q s lib/s.txt\n");
    project.commit();
    project.write("lib2/.gitattributes", "*.bin filter=lfs\n");
    project.write("lib2/a.bin", "version https://git-lfs.github.com/spec/v1\n");
    project.commit();
    let replayed = || project.tamis(&["replay", "--last", "3", "--json"]);
    let states = |got: &Ended| -> Vec<Value> {
        got.events("revision").iter().map(|line| line["state"].clone()).collect()
    };
    let got = replayed();
    assert_eq!(states(&got), ["ran", "ran", "ran"], "{got:?}");
    assert_eq!(selected(&got)[1], (1, 3), "the submodule's file is there: {got:?}");
    assert!(got.stderr.contains(" on, submodules are checked out with each revision"), "{got:?}");
    if tamis_testkit::found("git-lfs").is_some() {
        return;
    }
    assert!(got.stderr.contains(" on, files in Git LFS are checked out as pointers"), "{got:?}");
    // As `git lfs install` leaves it, of which only the program is gone.
    project.git(&["config", "filter.lfs.required", "true"]);
    project.git(&["config", "filter.lfs.smudge", "git-lfs smudge -- %f"]);
    let got = replayed();
    assert_eq!(states(&got), ["ran", "ran", "not-checked-out"], "{got:?}");
    let problem = got.events("revision")[2]["problem"].to_string();
    assert!(problem.contains("Git LFS, and git-lfs is not installed"), "{problem}");
}

#[test]
fn bad_input_gets_a_clear_sentence() {
    let project = history();
    let says = |project: &Project, words: &[&str], part: &str| {
        let got = project.tamis(words);
        assert!(got.code == MISTAKE && got.stderr.contains(part), "{words:?}: {part} in {got:?}");
    };
    says(&project, &["replay", "--", "true"], "say which revisions: --last 20");
    says(&project, &["replay", "nope..HEAD", "--", "true"], "nope");
    says(&project, &["replay", "HEAD..HEAD", "--", "true"], "there is no commit in HEAD..HEAD");
    says(
        &project,
        &["replay", "--last", "3", "--only-changed", "nothing", "--", "true"],
        "that changes such a file",
    );
    says(
        &project,
        &["replay", "--last", "3", "--select", "magic", "--", "true"],
        "choose among records",
    );
    says(
        &project,
        &["replay", "--last", "3", "--select", "static", "--", "true"],
        "need a command whose tests",
    );
    says(&project, &["replay", "--resume"], "no replay yet");
    says(&project, &["replay", "--csv"], "no replay yet");
    says(&Project::new(), &["replay", "--last", "3", "--", "true"], "is in no git repository");

    // A work tree that cannot be made.
    let got = project.tamis(&["replay", "--last", "1", "--estimate", "--", "true"]);
    assert_eq!(got.code, 0, "{got:?}");
    let folder = place(&project);
    std::fs::remove_dir_all(&folder).unwrap();
    std::fs::write(&folder, "a file").unwrap();
    says(&project, &["replay", "--last", "1", "--", "true"], "cannot be made");

    // A shallow clone says how to get the rest.
    let shallow = Project::new();
    let from = format!("file://{}", project.path(".").display());
    shallow.git(&["clone", "-q", "--depth", "2", &from, "clone"]);
    let mut call = shallow.seen_from(&shallow.path("clone"));
    let got = ended(call.args(["replay", "--last", "4", "--", "true"]));
    assert!(got.code == MISTAKE && got.stderr.contains("git fetch --unshallow"), "{got:?}");
}

#[test]
fn a_bare_repository_is_fine() {
    let project = history();
    project.git(&["clone", "-q", "--bare", ".", "../bare.git"]);
    let mut call = project.seen_from(&project.beside("bare.git"));
    let got = ended(call.args(["replay", "--last", "2", "--json", "--", "sh", "a.sh"]));
    assert_eq!(got.code, 0, "{got:?}");
    let failed: Vec<Value> =
        got.events("revision").into_iter().map(|l| l["failed"].clone()).collect();
    assert_eq!(failed, [serde_json::json!(["sh a.sh"]), serde_json::json!([])]);
}

/// What tamis keeps in its cache is no input, but a project that stands there has inputs like any other.
#[test]
fn a_project_inside_the_cache_is_observed() {
    let project = Project::new();
    let inside = project.beside("home/.cache/tamis/here");
    std::fs::create_dir_all(&inside).unwrap();
    let call = || {
        let mut call = project.seen_from(&inside);
        ended(call.args([
            "--engine",
            "notify",
            "--store",
            "../../../store",
            "grep",
            "-q",
            "ok",
            "data",
        ]))
    };
    std::fs::write(inside.join("data"), "ok\n").unwrap();
    assert_eq!(call().code, 0);
    std::fs::write(inside.join("data"), "bad\n").unwrap();
    assert_eq!(call().code, 1, "it looked at the file that changed");
}

/// Two tests of one module, of which one is reached by a value that the other one leaves in a cache.
fn python_history(settings: &str) -> Option<Project> {
    let project = crate::pytest::project_with(&[
        (
            "calc.py".into(),
            "KNOWN = {}\ndef square(n):\n    if n not in KNOWN:\n        KNOWN[n] = n * n\n    return KNOWN[n]\n\
             def add(a, b):\n    return a + b\n"
                .into(),
        ),
        (
            "tests/test_calc.py".into(),
            "import calc\ndef test_a(): assert calc.square(3) == 9\n\
             def test_b(): assert calc.square(3) == 9\ndef test_c(): assert calc.add(1, 2) == 3\n"
                .into(),
        ),
        (".gitignore".into(), "__pycache__/\n.pytest_cache/\n".into()),
        ("tamis.toml".into(), settings.into()),
    ])?;
    project.commit();
    project.write("README", "x\n");
    project.commit();
    Some(project)
}

fn with_faults(project: &Project, many: &str) -> Option<Ended> {
    let [python, rest @ ..] = crate::pytest::words()?;
    let words = ["replay", "--last", "2", "--mutants", many, "--json", "--", python];
    Some(project.tamis(&[&words, &rest[..]].concat()))
}

#[test]
fn every_test_that_a_fault_makes_fail_was_selected() {
    let Some(project) = python_history("") else { return };
    let Some(got) = with_faults(&project, "9") else { return };
    assert_eq!(got.code, 0, "{got:?}");
    for line in got.events("revision") {
        let mutants = line["mutants"].as_array().expect("a list");
        let of = |place: &str, field: &str| -> Vec<u64> {
            let there = mutants.iter().filter(|m| m["place"] == place);
            there.map(|m| m[field].as_u64().unwrap()).collect()
        };
        // One condition and one return, each noticed by both tests; one return that one test notices.
        assert_eq!((of("square", "failed"), of("add", "failed")), (vec![2, 2], vec![1]), "{line}");
        assert_eq!(
            (of("square", "selected"), of("add", "selected")),
            (vec![2, 2], vec![1]),
            "{line}"
        );
    }
    let summary = got.events("replay-summary").pop().unwrap();
    let number = |name: &str| summary[name].as_u64().unwrap_or_else(|| panic!("{name}: {summary}"));
    assert_eq!((number("mutants"), number("mutants_killed"), number("mutants_missed")), (6, 6, 0));
    assert_eq!((number("mutants_failed_runs"), number("selected")), (10, 0));
    // The faults are gone, and left no record.
    let tree = ended(project.command("git").args(["status", "--short"])).text();
    assert_eq!(tree, "", "the user's own work tree");
}

#[test]
fn a_fault_that_is_missed_is_named() {
    // Blind on purpose: a change of the program is no reason to run anything.
    let blind = "[tamis]\nignore = [\"calc.py\"]\n[python]\nfunctions = false\n";
    let Some(project) = python_history(blind) else { return };
    let Some(got) = with_faults(&project, "1") else { return };
    assert_eq!(got.code, FOUND, "{got:?}");
    let summary = got.events("replay-summary").pop().unwrap();
    assert_eq!(summary["missed"], 0, "{summary}");
    assert!(summary["mutants_missed"].as_u64() >= Some(1), "{summary}");
    let text = project.tamis(&["replay", "--report", "r.md"]);
    assert!(text.code == FOUND && text.text().contains(" MISSED\n"), "{text:?}");
    let report = project.read("r.md");
    assert!(report.contains("(calc.py:") && report.contains("MISS "), "{report}");
}

#[test]
fn faults_are_offered_where_they_can_be_made() {
    let project = history();
    let got = project.tamis(&["replay", "--last", "2", "--mutants", "3", "--", "sh", "a.sh"]);
    assert!(
        got.code == MISTAKE && got.stderr.contains("class files (mvn, ant, gradle, java)"),
        "{got:?}"
    );
    let got =
        project.tamis(&["replay", "--last", "2", "--mutants", "3", "--estimate", "--", "pytest"]);
    assert!(got.code != 0 && got.stderr.contains("cannot be used with"), "{got:?}");
}

/// Two replays would check out different revisions into one work tree.
#[test]
fn one_replay_of_a_project_at_a_time() {
    let mut project = history();
    let gate = project.beside("gate");
    project.set("GATE", gate.to_str().expect("a text"));
    std::fs::write(&gate, "").unwrap();
    project.write("wait", "");
    project.commit();
    let mut first = project.binary().args(["replay", "--last", "2"]).spawn().expect("it starts");
    wait_for("a work tree", || {
        let entries = std::fs::read_dir(project.beside("home/.cache/tamis-replay"));
        entries.into_iter().flatten().flatten().any(|e| e.path().join("tree/data").exists())
    });
    let got = project.tamis(&["replay", "--last", "2"]);
    assert!(
        got.code == MISTAKE && got.stderr.contains("another replay of this project"),
        "{got:?}"
    );
    // The result of the one before can be asked for meanwhile.
    std::fs::remove_file(&gate).unwrap();
    assert!(first.wait().expect("it ends").success());
}
