//! What summaries and verbs say is so: what is forgotten runs, a failure that is over is not named, a suite
//! without tests is no success, and what is saved adds up.

use serde_json::Value;
use tamis_report::exit::{EMPTY_SUITE, MISTAKE, NOT_FOUND};
use tamis_testkit::Project;

fn suite(each: &str, more: &str) -> Project {
    let settings = format!("[[suite]]\nname = \"s\"\neach = {each}\nrun = \"sh {{}}\"\n{more}");
    Project::with(&[
        ("tamis.toml", &settings),
        ("tests/a.sh", "set -x\ntest \"$(cat data)\" = good\n"),
        ("tests/b.sh", "cat other\n"),
        ("data", "good"),
        ("other", "1"),
    ])
}

fn summary(got: &tamis_testkit::Ended) -> Value {
    got.events("summary").pop().expect("a summary")
}

#[test]
fn a_suite_without_tests_is_no_success() {
    let nothing = |each: &str| suite(each, "");
    for each in ["\"test/*.sh\"", "{ command = \"true\" }"] {
        let project = nothing(each);
        for words in [&[][..], &["--json"], &["select"], &["--all"], &["--only", "x"]] {
            let got = project.tamis(words);
            assert_eq!(got.code, EMPTY_SUITE, "{each} {words:?}: {}", got.stderr);
            assert!(got.stderr.contains("suite s has no tests"), "{}", got.stderr);
        }
        let status = project.tamis(&["status"]);
        assert_eq!(status.code, 0);
        assert!(status.stderr.contains("suite s has no tests"), "{}", status.stderr);
        project.add("tamis.toml", project.read("tamis.toml") + "allow-empty = true\n");
        let got = project.tamis::<&str>(&[]);
        assert_eq!(got.code, 0, "{}", got.stderr);
        assert!(got.stderr.contains("no tests"), "{}", got.stderr);
    }
    let failing = nothing("{ command = \"false\" }").tamis::<&str>(&[]);
    assert_eq!(failing.code, MISTAKE, "{}", failing.stderr);
    // One that had tests, and whose list became empty.
    let project = nothing("{ command = \"cat list\" }");
    project.write("list", "tests/b.sh\n");
    assert_eq!(project.tamis::<&str>(&[]).code, 0);
    project.write("list", "");
    assert_eq!(project.tamis::<&str>(&[]).code, EMPTY_SUITE);
}

#[test]
fn what_is_forgotten_runs() {
    let project = suite("\"tests/*.sh\"", "");
    project.write("check.sh", "#!/bin/sh\ncat other\n");
    project.mode("check.sh", 0o755);
    let ran = || {
        let mut names: Vec<String> = project
            .tamis(&["--json"])
            .events("finished")
            .iter()
            .map(|event| event["name"].as_str().unwrap_or_default().to_owned())
            .collect();
        names.sort();
        names
    };
    assert_eq!(ran().len(), 2);
    assert!(ran().is_empty());
    let answer = project.answer(&["forget", "a.sh"]);
    assert!(answer.contains("forgot s::tests/a.sh (1 record); it runs next time"), "{answer}");
    let why = project.answer(&["why", "a.sh"]);
    assert!(why.contains("it was forgotten"), "{why}");
    assert_eq!(ran(), ["tests/a.sh"]);
    assert!(ran().is_empty());
    assert_eq!(project.tamis(&["forget", "tests/*"]).code, 0);
    assert_eq!(ran().len(), 2);
    for none in ["nothing", "*.py"] {
        assert_eq!(project.tamis(&["forget", none]).code, MISTAKE, "{none}");
    }
    assert!(ran().is_empty());
    project.tamis(&["./check.sh"]);
    project.assert_skipped(&["./check.sh"]);
    assert_eq!(project.tamis(&["forget", "./check.sh"]).code, 0);
    let status = project.answer(&["status"]);
    assert!(status.contains("run   ./check.sh  (it was forgotten"), "{status}");
    let again = project.tamis(&["./check.sh"]);
    assert!(again.stderr.contains("because it was forgotten"), "{}", again.stderr);
}

#[test]
fn a_failure_that_is_over_is_not_named() {
    let project = suite("\"tests/*.sh\"", "");
    assert_eq!(project.tamis::<&str>(&[]).code, 0);
    project.write("data", "bad");
    let red = project.tamis(&["--json"]);
    assert_eq!(red.code, 1);
    let failed = red.events("finished");
    assert_eq!(failed[0]["failure"], "+ test bad = good", "{failed:?}");
    // Left alone, it is known.
    let other = project.tamis(&["--json", "--only", "*b.sh"]);
    let known = other.events("still-failing");
    assert_eq!(known.len(), 1, "{}", other.stderr);
    assert!(known[0]["message"].as_str().unwrap_or_default().contains("+ test bad = good"));
    // Taken back: a record proves that it would pass now.
    project.write("data", "good");
    let other = project.tamis(&["--json", "--only", "*b.sh"]);
    assert!(other.events("still-failing").is_empty());
    let failed = project.tamis(&["--failed"]);
    assert_eq!(failed.code, 0);
    assert!(failed.stderr.contains("nothing is known to fail now"), "{}", failed.stderr);
    assert!(!project.answer(&["status", "--failed"]).contains("tests/a.sh"));
    // The last run passed in another state: it is not the last time that it failed.
    project.write("data", "worse");
    project.tamis::<&str>(&[]);
    project.write("data", "good");
    project.tamis(&["--all"]);
    project.write("data", "worse");
    let why = project.answer(&["why", "a.sh"]);
    assert!(why.contains("when it last ran in this state"), "{why}");
}

#[test]
fn what_is_saved_adds_up() {
    let project = suite("\"tests/*.sh\"", "");
    project.write("tests/a.sh", "sleep 0.3; cat data\n");
    let mut sum = 0.0;
    for round in 0..4 {
        project.write("other", format!("{}", round / 2));
        let got = summary(&project.tamis(&["--json"]));
        sum += got["saved_seconds"].as_f64().expect("a number");
        assert!(round != 0 || sum == 0.0, "{got}");
    }
    assert_eq!(summary(&project.tamis(&["--json", "--all"]))["saved_seconds"], 0.0);
    let status = project.tamis(&["--json", "status"]);
    let savings = status.events("savings").pop().expect("savings");
    let saved = savings["saved_seconds"].as_f64().expect("a number");
    assert!((saved - sum).abs() < 1e-5, "{saved} {sum}");
    let weeks: f64 = savings["weeks"]
        .as_array()
        .map(|weeks| weeks.iter().filter_map(|week| week["saved_seconds"].as_f64()).sum())
        .expect("weeks");
    assert!((weeks - sum).abs() < 1e-5, "{savings}");
    assert!(project.answer(&["status"]).contains("since the first run"));
    project.tamis(&["clean"]);
    assert!(project.tamis(&["--json", "status"]).events("savings").is_empty());
}

#[test]
fn what_cannot_be_started_is_in_every_report() {
    let project = Project::with(&[("x", "")]);
    let report = project.path("junit.xml");
    let report = report.to_str().expect("text");
    let got = project.tamis(&["--json", "--junit", report, "./nope"]);
    assert_eq!(got.code, NOT_FOUND, "{}", got.stderr);
    let counts = summary(&got);
    assert_eq!((&counts["unfinished"], &counts["ran"]), (&1.into(), &0.into()), "{counts}");
    let xml = project.read("junit.xml");
    assert!(xml.contains("errors=\"1\"") && xml.contains("no such command"), "{xml}");
}

#[test]
fn a_bare_command_is_explained_by_records_only() {
    let project = suite("\"tests/*.sh\"", "");
    project.tamis::<&str>(&[]);
    let got = project.tamis(&["--select", "static", "why", "a.sh"]);
    assert_eq!(got.code, MISTAKE);
    assert!(got.stderr.contains("is decided about by records"), "{}", got.stderr);
    let status = project.tamis(&["--select", "static", "status"]);
    assert!(status.stderr.contains("are shown by records"), "{}", status.stderr);
}
