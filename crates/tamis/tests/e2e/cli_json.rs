//! All JSON of the verbs, against the published schema (`Ended::lines` checks each line).

use serde_json::{Value, json};
use std::collections::BTreeSet;
use tamis_testkit::{Ended, Project, schema};

/// The events of a call, whose lines are valid.
fn events(got: &Ended) -> Vec<String> {
    let name = |line: &Value| line["event"].as_str().expect("an event").to_owned();
    got.lines().iter().map(name).collect()
}

/// The names of all events of the schema.
fn all_events() -> BTreeSet<String> {
    let of_event = schema::SCHEMA["oneOf"].as_array().expect("one per event").iter();
    of_event.map(|s| s["properties"]["event"]["const"].as_str().expect("a name").into()).collect()
}

fn git(project: &Project, words: &[&str]) {
    let mut command = std::process::Command::new("git");
    let identity = ["-c", "user.name=a", "-c", "user.email=a@b"];
    let done = command.args(identity).args(words).current_dir(project.path(".")).output();
    assert!(done.expect("git").status.success(), "{words:?}");
}

#[test]
fn every_verb_answers_by_the_schema() {
    let mut project = Project::with(&[
        (
            "tamis.toml",
            "[[suite]]\nname = \"sh\"\neach = [\"a.sh\", \"b.sh\", \"c.sh\"]\nrun = \"sh {}\"\n",
        ),
        ("a.sh", "cat data; echo x > left\n"),
        ("b.sh", "exit 3\n"),
        ("c.sh", "kill -9 $$\n"),
        ("data", "1\n"),
        ("Cargo.toml", "[workspace]\nmembers = [\"m\"]\nresolver = \"3\"\n"),
        ("m/Cargo.toml", "[package]\nname = \"m\"\nversion = \"1.0.0\"\n"),
        ("m/src/lib.rs", ""),
    ]);
    project.set("PATH", "/usr/bin:/bin");
    git(&project, &["init", "-q"]);
    git(&project, &["add", "."]);
    git(&project, &["commit", "-q", "-m", "x"]);
    let mut seen = BTreeSet::new();
    let mut ask = |words: &[&str]| {
        let got = project.tamis(&[&["--json"], words].concat());
        seen.extend(events(&got));
        got
    };
    assert_eq!(ask(&["status"]).lines().len(), 3);
    ask(&["--rerun-failed", "1", "run"]);
    assert_eq!(ask(&["select"]).lines()[0]["version"], 1);
    ask(&["--only", "a.sh", "run"]);
    assert_eq!(ask(&["why-not", "a.sh"]).lines()[0]["run"], json!(false));
    ask(&["why", "a.sh"]);
    project.write("data", "2\n");
    assert_eq!(ask(&["why", "a.sh"]).lines()[0]["differences"][0]["input"], "data");
    ask(&["why-not", "a.sh"]);
    ask(&["why", "b.sh"]);
    ask(&["deps", "a.sh"]);
    ask(&["status"]);
    ask(&["history"]);
    ask(&["audit"]);
    assert_eq!(ask(&["report"]).lines()[0]["tests"], 3);
    let checks = ask(&["doctor"]).lines();
    assert!(
        checks.iter().any(|c| c["subject"] == "habit" && c["problem"] == json!(false)),
        "{checks:?}"
    );
    project.write("m/src/lib.rs", "// x\n");
    assert_eq!(ask(&["modules", "--since", "HEAD"]).lines()[0]["affected"], 1);
    assert_eq!(
        ask(&["forget", "a.sh"]).lines(),
        [json!({"event": "forgotten", "version": 1, "test": "sh::a.sh", "records": 1})]
    );
    assert!(ask(&["clean", "--old"]).lines()[0]["bytes_after"].is_u64());
    assert_eq!(ask(&["clean"]).lines()[0]["tests"], 2);
    assert!(ask(&["history"]).lines().is_empty());
    ask(&["shards", "--plan", "2"]);
    assert_eq!(ask(&["store", "keys", "--new"]).lines()[0]["action"], "new-key");
    // Those of Java stand in static_select.rs, of replays in replay.rs, and `read` in modules.rs.
    let others: Vec<String> = all_events().into_iter().filter(|e| !seen.contains(e)).collect();
    let others: Vec<&str> =
        others.iter().map(String::as_str).filter(|e| !e.starts_with("static")).collect();
    assert_eq!(others, ["excluded", "read", "replay", "replay-summary", "revision"]);
}

#[test]
#[should_panic(expected = "the field extra is not in the schema")]
fn a_field_that_the_schema_does_not_name_is_found() {
    schema::assert_valid(
        &json!({"event": "forgotten", "version": 1, "test": "x", "records": 1, "extra": 1}),
    );
}

#[test]
#[should_panic(expected = "not required \"records\"")]
fn a_field_that_is_missing_is_found() {
    schema::assert_valid(&json!({"event": "forgotten", "version": 1, "test": "x"}));
}

#[test]
#[should_panic(expected = "not const 1")]
fn another_version_is_found() {
    schema::assert_valid(&json!({"event": "forgotten", "version": 2, "test": "x", "records": 1}));
}
