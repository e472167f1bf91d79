//! `--shadow` and `--audit`: what could be skipped runs all the same, and a wrong skip is a miss.

use serde_json::Value;
use tamis_testkit::{Ended, Project, copy_tree, need};

/// What `hidden` says is left out of the records on purpose: the skip that it leads to is wrong.
const SUITE: &str = "\
[tamis]
ignore = [\"hidden\"]
[[suite]]
name = \"sh\"
each = \"*.sh\"
run = \"sh {}\"
";

fn project() -> Project {
    Project::with(&[
        ("tamis.toml", SUITE),
        ("good.sh", "cat data\n"),
        ("other.sh", "exit 0\n"),
        ("blind.sh", "if grep -q bad hidden; then cat new; echo 'expected good'; exit 3; fi\n"),
        ("data", "1\n"),
        ("new", "2\n"),
        ("hidden", "good\n"),
    ])
}

fn summary(got: &Ended) -> Value {
    got.events("summary").pop().unwrap_or_else(|| panic!("no summary: {got:?}"))
}

#[test]
fn everything_runs_and_the_decision_is_taken_beside_it() {
    let mut project = project();
    assert_eq!(project.ran().len(), 3);
    project.write("data", "2\n");
    let got = project.tamis(&["--shadow", "--json", "run"]);
    assert_eq!(got.code, 0, "{got:?}");
    let causes: Vec<String> = got.decisions().into_values().map(|d| d.cause).collect();
    assert_eq!(causes, ["shadow", "changed", "shadow"]);
    assert_eq!(got.events("finished").len(), 3);
    let checked = &summary(&got)["checked"];
    assert_eq!((&checked["check"], &checked["skippable"]), (&"shadow".into(), &2.into()));
    assert_eq!((&checked["checked"], &checked["missed"]), (&2.into(), &Value::Array(Vec::new())));
    assert!(got.stderr.contains("shadow: would have skipped 2 of 3 (saving"), "{}", got.stderr);
    assert!(got.stderr.contains("); of these 0 failed"), "{}", got.stderr);
    // It recorded: nothing is left to run.
    assert_eq!(project.ran(), Vec::<String>::new());

    // A bare command, by the variable, and by the settings.
    assert_eq!(project.tamis(&["sh", "good.sh"]).code, 0);
    project.set("TAMIS_SHADOW", "1");
    let got = project.tamis(&["sh", "good.sh"]);
    assert_eq!(got.text(), "2\n", "{}", got.stderr);
    assert!(got.stderr.contains("shadow: would have skipped 1 of 1"), "{}", got.stderr);
    project.set("TAMIS_SHADOW", "0");
    project.assert_skipped(&["sh", "good.sh"]);
    project.unset("TAMIS_SHADOW");
    project.replace("tamis.toml", "[tamis]\n", "[tamis]\nshadow = true\n");
    assert_eq!(project.ran().len(), 3);
    // What would be skipped is what `select` says, whatever a run does.
    assert_eq!(project.selected(), Vec::<String>::new());
    for word in ["--all", "--failed"] {
        let got = project.tamis(&[word, "--shadow", "run"]);
        assert!(got.code == 125 && got.stderr.contains("no skip that --shadow"), "{got:?}");
    }
}

#[test]
fn a_miss_is_named_with_its_evidence_and_kept_until_it_is_acknowledged() {
    let project = project();
    project.ran();
    project.write("hidden", "bad\n");
    assert_eq!(project.selected(), Vec::<String>::new(), "the skip that is wrong");
    let got = project.tamis(&["--shadow", "--json", "run"]);
    assert_eq!(got.code, 1, "{got:?}");
    let missed = &summary(&got)["checked"]["missed"];
    assert_eq!(missed.as_array().map(Vec::len), Some(1), "{missed}");
    let miss = &missed[0];
    assert_eq!(
        (&miss["test"], &miss["outcome"]),
        (&"sh::blind.sh".into(), &"failed with exit code 3".into())
    );
    assert!(
        miss["believed"].as_str().unwrap().contains("nothing it looked at has changed (record #"),
        "{miss}"
    );
    assert!(miss["besides"].to_string().contains("new (not looked at then)"), "{miss}");
    assert!(miss["message"].as_str().unwrap().contains("expected good"), "{miss}");
    for part in [
        "MISS sh::blind.sh failed with exit code 3",
        "believed: ",
        "looked at besides: ",
        "said: expected good",
    ] {
        assert!(got.stderr.contains(part), "{part} in {}", got.stderr);
    }
    // After reruns.
    let finished = got.events("finished").into_iter().find(|f| f["name"] == "blind.sh").unwrap();
    assert_eq!((&finished["runs"], &finished["failed_runs"]), (&3.into(), &3.into()), "{finished}");
    // Kept, also where it is mended since; skipping goes on.
    project.write("hidden", "good\n");
    project.ran();
    assert_eq!(project.ran(), Vec::<String>::new());
    for _ in 0..2 {
        let status = project.answer(&["status"]);
        assert!(status.contains("MISS sh::blind.sh"), "{status}");
    }
    let audit = project.tamis(&["audit", "--json"]).events("audit").pop().unwrap();
    assert_eq!(
        (&audit["checked"], &audit["missed"], &audit["tripped"]),
        (&3.into(), &1.into(), &false.into())
    );
    assert_eq!(audit["open"].as_array().map(Vec::len), Some(1), "{audit}");
    let resolved = project.tamis(&["audit", "--resolve"]);
    assert!(resolved.stderr.contains("acknowledged 1 miss"), "{}", resolved.stderr);
    assert!(!project.answer(&["status"]).contains("MISS"));
    assert!(project.answer(&["audit"]).contains("missed    1\n"));
}

#[test]
fn a_flaky_failure_is_no_miss() {
    let mut project = project();
    let mark = project.beside("mark");
    project.set("MARK", mark.to_str().expect("a text"));
    project.write("tamis.toml", SUITE.replace("\"hidden\"", "\"hidden\", \"../mark\""));
    project.write("blind.sh", "if [ -e \"$MARK\" ]; then rm \"$MARK\"; exit 3; fi; exit 0\n");
    project.ran();
    std::fs::write(&mark, "").unwrap();
    let got = project.tamis(&["--shadow", "--json", "run"]);
    let checked = &summary(&got)["checked"];
    assert_eq!((&checked["flaky"], &checked["checked"]), (&1.into(), &2.into()), "{got:?}");
    assert_eq!(checked["missed"], Value::Array(Vec::new()));
    assert!(!project.answer(&["status"]).contains("MISS"));
}

#[test]
fn an_audit_that_finds_a_miss_turns_skipping_off() {
    let project = project();
    project.ran();
    let audit = |seed: &str| {
        let got = project.tamis(&["--audit", "34%", "--audit-seed", seed, "--json", "run"]);
        got.decisions()
            .into_iter()
            .filter(|(_, d)| d.cause == "audit")
            .map(|(name, _)| name)
            .collect::<Vec<_>>()
    };
    // A third of three, with the same records the same one.
    let fresh = project.beside("fresh");
    copy_tree(&project.beside("home"), &fresh);
    let chosen = audit("7");
    assert!((1..=2).contains(&chosen.len()), "{chosen:?}");
    std::fs::remove_dir_all(project.beside("home")).unwrap();
    copy_tree(&fresh, &project.beside("home"));
    assert_eq!(audit("7"), chosen);

    project.write("hidden", "bad\n");
    let got = project.tamis(&["--audit", "100%", "run"]);
    assert!(
        got.stderr.contains("audit: 3 of 3 that may be skipped ran all the same (seed "),
        "{}",
        got.stderr
    );
    assert!(got.stderr.contains("skipping is off from now on"), "{}", got.stderr);
    project.write("hidden", "good\n");
    let got = project.tamis(&["--json", "run"]);
    assert!(got.stderr.contains("skipping is off, everything runs"), "{}", got.stderr);
    let causes: Vec<String> = got.decisions().into_values().map(|d| d.cause).collect();
    assert_eq!(causes, ["did-not-pass", "tripped", "tripped"]);
    // Every run, and every answer.
    let got = project.tamis(&["--quiet", "run"]);
    assert!(got.stderr.contains("skipping is off, everything runs"), "{}", got.stderr);
    assert_eq!(project.selected().len(), 3);
    assert!(project.answer(&["why", "good.sh"]).contains("a check found a wrong skip"));
    assert!(project.answer(&["audit"]).contains("skipping  off"));
    // Cleaning away records does not make it right.
    project.answer(&["clean"]);
    project.ran();
    assert_eq!(project.ran().len(), 3);
    let resolved = project.tamis(&["audit", "--resolve"]);
    assert!(resolved.stderr.contains("skipping is on again"), "{}", resolved.stderr);
    assert_eq!(project.ran(), Vec::<String>::new());
}

/// Two jobs that began with the same store: what both checked adds up where their stores are merged, and so does a miss.
#[test]
fn what_jobs_checked_adds_up() {
    let project = project();
    project.ran();
    let folder = |name: &str| project.beside(name).display().to_string();
    let projects = project.beside("home/.cache/tamis/projects");
    let store = std::fs::read_dir(projects).unwrap().flatten().next().unwrap().path();
    for name in ["one", "two"] {
        copy_tree(&store, &project.beside(name));
    }
    let shadow = |name: &str| project.tamis(&["--store", &folder(name), "--shadow", "run"]);
    assert_eq!(shadow("one").code, 0);
    project.write("hidden", "bad\n");
    let got = project.tamis(&["--store", &folder("two"), "--audit", "100%", "run"]);
    assert!(got.stderr.contains("skipping is off from now on"), "{}", got.stderr);
    project.write("hidden", "good\n");
    let merged = project.tamis(&["store", "merge", &folder("one"), &folder("two")]);
    assert_eq!(merged.code, 0, "{merged:?}");
    let audit = project.tamis(&["audit", "--json"]).events("audit").pop().unwrap();
    assert_eq!(
        (&audit["checked"], &audit["missed"], &audit["tripped"]),
        (&6.into(), &1.into(), &true.into()),
        "{audit}"
    );
    assert!(project.answer(&["status"]).contains("MISS sh::blind.sh"));
}

#[test]
fn shares_that_are_none_are_refused() {
    let project = project();
    for share in ["5", "0%", "101%", "x%", "-1%"] {
        let got = project.tamis(&[&format!("--audit={share}"), "run"]);
        assert!(
            got.code == 125 && got.stderr.contains("give a share such as 5%"),
            "{share}: {got:?}"
        );
    }
    let got = project.tamis(&["--audit", "5%", "--select", "hybrid", "mvn", "test"]);
    assert!(got.stderr.contains("leave out --select modules and hybrid"), "{got:?}");
}

#[test]
fn the_times_of_a_run_add_up() {
    let project = project();
    let got = project.tamis(&["--json", "--junit", "report.xml", "run"]);
    let line = summary(&got);
    let phases = line["phases"].as_object().unwrap();
    let sum: f64 = phases.values().map(|seconds| seconds.as_f64().unwrap()).sum();
    assert!((sum - line["wall_seconds"].as_f64().unwrap()).abs() < 0.01, "{line}");
    assert!(phases["run_seconds"].as_f64().unwrap() > 0.0, "{line}");
    assert!(got.stderr.contains("\n  took ") && got.stderr.contains(", run "), "{}", got.stderr);
    let xml = project.read("report.xml");
    for name in ["analyse", "build", "run", "collect", "overhead", "wall", "saved"] {
        assert!(
            xml.contains(&format!("<property name=\"tamis.{name}-seconds\" value=\"")),
            "{xml}"
        );
    }
    project.ran();
    let status = project.tamis(&["status", "--json"]);
    let times = status.events("times").pop().unwrap();
    assert_eq!(times["calls"], 2);
    assert!(times["phases"]["run_seconds"].as_f64().unwrap() > 0.0, "{times}");
    assert!(project.answer(&["status"]).contains("took      "));
}

#[test]
fn packages_of_go_are_checked_one_by_one() {
    if !need("go") {
        return;
    }
    let test = |name: &str, body: &str| {
        format!(
            "package {name}\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nfunc TestIt(t *testing.T) {{\n{body}\n}}\n"
        )
    };
    let blind = "\tif b, _ := os.ReadFile(\"../hidden\"); string(b) != \"good\\n\" {\n\t\tt.Fatal(\"expected good\")\n\t}";
    let mut project = Project::with(&[
        ("tamis.toml", "[tamis]\nignore = [\"hidden\"]\n"),
        ("go.mod", "module example.org/m\n\ngo 1.19\n"),
        ("hidden", "good\n"),
        ("a/a_test.go", &test("a", blind)),
        ("b/b_test.go", &test("b", "\t_ = os.Args")),
    ]);
    // The standard library is compiled once for all tests.
    let beside = project.beside("go-cache");
    let all = beside.parent().and_then(|own| own.parent()).expect("a folder of all tests");
    project.set("GOCACHE", all.join("go-cache"));
    for (name, value) in [("GOFLAGS", "-mod=mod"), ("GOPROXY", "off"), ("GOTOOLCHAIN", "local")] {
        project.set(name, value);
    }
    let words = ["go", "test", "./..."];
    assert_eq!(project.tamis(&words).code, 0);
    let shadow = |project: &Project| {
        project.tamis(&[&["--shadow", "--json", "run", "--"], &words[..]].concat())
    };
    let got = shadow(&project);
    let checked = &summary(&got)["checked"];
    assert_eq!((got.code, &checked["checked"]), (0, &2.into()), "{got:?}");
    project.write("hidden", "bad\n");
    let got = shadow(&project);
    assert_ne!(got.code, 0, "{got:?}");
    let missed = &summary(&got)["checked"]["missed"];
    assert_eq!(missed.as_array().map(Vec::len), Some(1), "{missed}");
    assert!(missed[0]["test"].as_str().unwrap().contains("example.org/m/a"), "{missed}");
}
