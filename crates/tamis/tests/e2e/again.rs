//! `--rerun-failed`: flaky tests are distinguished from broken ones; and known failures stay visible.

use serde_json::Value;
use tamis_report::exit::MISTAKE;
use tamis_testkit::Project;

/// Fails when it runs for the first time, passes, fails again, ...: the file is no input, being in a
/// temp folder of the test's own.
const FLAKY: &str = "\
if [ -e \"$MARK\" ]; then rm \"$MARK\"; exit 0; fi
: > \"$MARK\"; echo 'no luck this time'; exit 7
";
const SUITE: &str = "\
[tamis]
ignore = [\"../mark\"]
[[suite]]
name = \"sh\"
each = [\"good.sh\", \"bad.sh\", \"flaky.sh\"]
run = \"sh {}\"
";

fn project() -> Project {
    let mut project = Project::with(&[
        ("tamis.toml", SUITE),
        ("good.sh", "exit 0\n"),
        ("bad.sh", "echo 'expected 1'; exit 3\n"),
        ("flaky.sh", FLAKY),
    ]);
    let mark = project.beside("mark");
    project.set("MARK", mark.to_str().expect("a text"));
    project
}

fn finished(got: &tamis_testkit::Ended, name: &str) -> Value {
    let all = got.events("finished");
    all.into_iter().find(|e| e["name"] == name).unwrap_or_else(|| panic!("{name}: {got:?}"))
}

#[test]
fn a_flaky_test_is_distinguished_from_a_broken_one() {
    let project = project();
    let got = project.tamis(&["--json", "--rerun-failed", "2", "run"]);
    assert_eq!(got.code, 1, "{got:?}");
    let flaky = finished(&got, "flaky.sh");
    assert_eq!((&flaky["outcome"], &flaky["exit_code"]), (&"failed".into(), &7.into()), "{flaky}");
    assert_eq!((&flaky["runs"], &flaky["failed_runs"]), (&2.into(), &1.into()), "{flaky}");
    assert_eq!(flaky["flaky"], true);
    assert!(flaky["output"].as_str().unwrap().contains("no luck"), "{flaky}");
    let bad = finished(&got, "bad.sh");
    assert_eq!((&bad["runs"], &bad["flaky"]), (&3.into(), &false.into()), "{bad}");
    assert!(finished(&got, "good.sh")["runs"].is_null());
    let summary = &got.events("summary")[0];
    assert_eq!((&summary["failed"], &summary["flaky"]), (&2.into(), &1.into()), "{summary}");
    assert!(got.stderr.contains("1 passed, 1 failed, 1 flaky"), "{}", got.stderr);

    // It stays selected, and its history says why.
    assert_eq!(project.selected(), ["bad.sh", "flaky.sh"]);
    let why = project.answer(&["why", "flaky.sh"]);
    assert!(why.contains("it was flaky last time") && why.contains("1 of 2 runs"), "{why}");
    let status = project.answer(&["status"]);
    assert!(status.contains("sh::flaky.sh  (flaky in 1 of 2 records)"), "{status}");
    let history = project.answer(&["history", "flaky.sh"]);
    assert!(history.contains("flaky: 1 of 2 runs without a change did not pass"), "{history}");
}

#[test]
fn flaky_tests_end_green_only_if_the_user_says_so() {
    let project = project();
    let only = ["--only", "flaky.sh", "--rerun-failed", "1"];
    let words = |more: &[&'static str]| [&only[..], more, &["run"]].concat();
    assert_eq!(project.tamis(&words(&[])).code, 1);
    let accepted = project.tamis(&words(&["--flaky-ok", "--junit", "report.xml"]));
    assert_eq!(accepted.code, 0, "{accepted:?}");
    assert!(accepted.stderr.contains("flaky, not counted as failed"), "{}", accepted.stderr);
    let xml = project.read("report.xml");
    assert!(xml.contains("<flakyFailure") && xml.contains("failures=\"0\""), "{xml}");
    assert!(project.selected().contains(&"flaky.sh".to_owned()));
    // By the settings as well.
    project.write(
        "tamis.toml",
        SUITE.replacen("[tamis]", "[tamis]\nrerun-failed = 1\nflaky-ok = true", 1),
    );
    assert_eq!(project.tamis(&["--only", "flaky.sh", "run"]).code, 0);
    // One that is broken stays broken.
    assert_eq!(project.tamis(&["--only", "bad.sh", "run"]).code, 1);
    let mistake = project.tamis(&["--rerun-failed", "7", "run"]);
    assert_eq!(mistake.code, MISTAKE, "{mistake:?}");
}

#[test]
fn a_command_has_the_exit_code_of_its_failure() {
    let project = project();
    assert_eq!(project.tamis(&["--rerun-failed", "1", "sh", "flaky.sh"]).code, 7);
    assert_eq!(project.tamis(&["--rerun-failed", "1", "--flaky-ok", "sh", "flaky.sh"]).code, 0);
    // Selected until it passes at the first attempt.
    project.assert_ran(&["sh", "flaky.sh"]);
}

#[test]
fn known_failures_stay_visible_when_they_are_not_run() {
    let project = project();
    project.tamis(&["run"]);
    let got = project.tamis(&["--json", "--junit", "report.xml", "--only", "good.sh", "run"]);
    assert_eq!(got.code, 0, "{got:?}");
    let failing: Vec<Value> = got.events("still-failing");
    let names: Vec<&str> = failing.iter().filter_map(|e| e["name"].as_str()).collect();
    assert_eq!(names, ["bad.sh", "flaky.sh"]);
    assert!(failing[0]["message"].as_str().unwrap().contains("expected 1"), "{failing:?}");
    assert!(got.stderr.contains("still failing, not run now"), "{}", got.stderr);
    let xml = project.read("report.xml");
    assert!(xml.contains("tests=\"3\" failures=\"2\"") && xml.contains("expected 1"), "{xml}");
    // Mended, it is no longer known as failing; nor is one that is gone.
    project.write("bad.sh", "exit 0\n");
    project.tamis(&["--only", "bad.sh", "run"]);
    project.write("tamis.toml", SUITE.replacen(", \"flaky.sh\"", "", 1));
    let got = project.tamis(&["--json", "--only", "good.sh", "run"]);
    assert_eq!(got.events("still-failing"), Vec::<Value>::new(), "{got:?}");
}
