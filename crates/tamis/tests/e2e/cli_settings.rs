//! `tamis.toml`: suites, limits, filters, rules, and its mistakes.

use tamis_report::exit::MISTAKE;
use tamis_testkit::{Project, ended};

fn with_settings(settings: &str, files: &[(&str, &str)]) -> Project {
    let project = Project::with(files);
    project.write("tamis.toml", settings);
    project
}

#[test]
fn a_suite_of_a_glob_of_a_list_of_a_command_and_of_one() {
    let project = with_settings(
        "[[suite]]\nname = \"glob\"\neach = \"t/**/*.sh\"\nrun = \"sh {}\"\n\
         [[suite]]\nname = \"list\"\neach = [\"x\", \"y z\"]\nrun = [\"echo\", \"item {}\"]\n\
         [[suite]]\nname = \"lines\"\neach = { command = [\"cat\", \"cases.txt\"] }\nrun = \"sh -c 'echo {}; cat data'\"\n\
         [[suite]]\nname = \"once\"\nrun = \"sh t/a.sh\"\nfolder = \".\"\n\
         [[suite]]\nname = \"below\"\neach = \"*.sh\"\nrun = \"sh {}\"\nfolder = \"t/deep\"\n",
        &[
            ("t/a.sh", "cat data\n"),
            ("t/deep/b.sh", "true\n"),
            ("cases.txt", "first\n\nsecond\nfirst\n"),
            ("data", "d\n"),
        ],
    );
    let names = |got: &tamis_testkit::Ended| -> Vec<String> {
        let decisions = got.events("decision");
        decisions.iter().map(|l| l["test"].as_str().expect("a name").to_owned()).collect()
    };
    let got = project.tamis(&["--json"]);
    assert_eq!(got.code, 0, "{}", got.stderr);
    assert_eq!(
        names(&got),
        [
            "glob::t/a.sh",
            "glob::t/deep/b.sh",
            "list::x",
            "list::y z",
            "lines::first",
            "lines::second",
            "once::sh t/a.sh",
            "below::b.sh"
        ]
    );
    assert!(got.stderr.contains("item y z\n"), "words are kept: {}", got.stderr);
    assert!(project.tamis(&["--json"]).events("finished").is_empty());
    project.write("t/new.sh", "true\n");
    project.write("cases.txt", "second\nthird\n");
    let ran = project.tamis(&["--json"]).events("finished");
    let mut ran: Vec<_> = ran.iter().map(|l| l["test"].as_str().expect("a name")).collect();
    ran.sort_unstable();
    assert_eq!(ran, ["glob::t/new.sh", "lines::third"]);
}

#[test]
fn how_a_test_is_started_counts() {
    let suite = |run: &str, env: &str| {
        format!("[[suite]]\nname = \"s\"\neach = [\"x\"]\nrun = {run}\nenv = {{ {env} }}\n")
    };
    let project = with_settings(&suite("[\"sh\", \"-c\", \"true {}\"]", ""), &[]);
    let starts = [
        suite("[\"sh\", \"-c\", \"true {}\", \"A\"]", ""),
        suite("[\"sh\", \"-c\", \"true {}\", \"A\", \"b\"]", ""),
        suite("[\"sh\", \"-c\", \"true {}\"]", "A = \"b\""),
        suite("[\"sh\", \"-c\", \"true {}\"]", "A = \"c\""),
        suite("[\"sh\", \"-c\", \"true {}\"]", "B = \"b\""),
    ];
    assert_eq!(project.ran(), ["x"]);
    for start in &starts {
        project.write("tamis.toml", start);
        assert_eq!(project.ran(), ["x"], "{start}");
        assert!(project.ran().is_empty());
    }
    for start in &starts {
        project.write("tamis.toml", start);
        assert!(project.ran().is_empty(), "was run before: {start}");
    }
}

#[test]
fn a_time_limit_ends_a_test_and_says_so() {
    let project = with_settings(
        "[[suite]]\nname = \"s\"\neach = [\"60\", \"0\"]\nrun = \"sleep {}\"\ntimeout = \"300ms\"\n",
        &[],
    );
    let got = project.tamis(&["--json"]);
    assert_eq!(got.code, 1, "{}", got.stderr);
    let finished = got.events("finished");
    let outcome = |name: &str| {
        finished.iter().find(|l| l["name"] == name).expect("it ended")["outcome"].clone()
    };
    assert_eq!(outcome("60"), "timed-out");
    assert_eq!(outcome("0"), "passed");
    assert_eq!(project.selected(), ["60"], "it runs again");
    let got = project.tamis(&["--timeout", "200ms", "sleep", "60"]);
    assert_eq!(got.code, 124, "{}", got.stderr);
}

#[test]
fn environment_of_a_suite_reaches_the_test_and_hides_the_outer_one() {
    let mut project = with_settings(
        "[[suite]]\nname = \"s\"\neach = [\"x\"]\nrun = [\"sh\", \"-c\", \"echo $MODE\", \"{}\"]\n\
         env = { MODE = \"inner\" }\n",
        &[],
    );
    assert_eq!(project.tamis::<&str>(&[]).text(), "inner\n");
    assert!(project.ran().is_empty());
    project.set("MODE", "outer");
    assert_eq!(project.tamis(&["--all"]).text(), "inner\n");
    assert!(project.ran().is_empty());
    project.set("MODE", "outer 2");
    assert!(project.ran().is_empty(), "the suite sets it");
}

#[test]
fn always_run_and_run_all_on() {
    let project = with_settings(
        "[[suite]]\nname = \"s\"\neach = [\"a\", \"net-1\", \"b\"]\nrun = \"echo {}\"\n\
         always-run = [\"net-*\"]\nrun-all-on = [\"deploy/**\", \"*.lock\"]\n",
        &[("deploy/x", "1"), ("app.lock", "1"), ("other", "")],
    );
    assert_eq!(project.ran().len(), 3);
    assert_eq!(project.ran(), ["net-1"]);
    assert!(project.select(&[])["net-1"].reason.contains("net-*"));
    project.write("other", "changed");
    assert_eq!(project.selected(), ["net-1"]);
    for edit in ["deploy/x", "deploy/new/y", "app.lock", "new.lock"] {
        project.write(edit, "changed\n");
        assert_eq!(project.ran().len(), 3, "{edit}");
        assert_eq!(project.ran(), ["net-1"]);
    }
    project.remove("deploy/x");
    let decided = project.run(&[]);
    assert!(decided["a"].runs && decided["a"].reason.contains("deploy/**"), "{decided:?}");
}

#[test]
fn ignored_paths_do_not_count_and_the_choice_itself_does() {
    let project = with_settings(
        "[tamis]\nignore = [\"*.log\", \"scratch\"]\n",
        &[
            ("a.log", "1"),
            ("scratch/x", "1"),
            ("kept", "1"),
            ("check.sh", "#!/bin/sh\ncat a.log scratch/x kept; ls . scratch\n"),
        ],
    );
    let check = ["./check.sh"];
    project.assert_ran(&check);
    for (file, content) in [("a.log", "2"), ("scratch/x", "2"), ("new.log", ""), ("scratch/y", "")]
    {
        project.write(file, content);
        project.assert_skipped(&check);
    }
    project.write("kept", "2");
    project.assert_ran(&check);
    project.write("tamis.toml", "[tamis]\nignore = [\"*.log\"]\n");
    project.assert_ran(&check);
    project.write("scratch/x", "3");
    project.assert_ran(&check);
}

/// A rule, a change that it does not see, and one that it sees.
fn rule(kind: &str, before: &str, same: &str, different: &str) {
    let settings = format!("[[rule]]\npath = \"data/*\"\nas = {kind}\n");
    let project =
        with_settings(&settings, &[("data/f", before), ("check.sh", "#!/bin/sh\ncat data/f\n")]);
    project.write("first-words", "#!/bin/sh\ncut -d' ' -f1 \"$1\"\n");
    project.mode("first-words", 0o755);
    let check = ["./check.sh"];
    project.assert_ran(&check);
    project.write("data/f", same);
    project.assert_skipped(&check);
    project.write("data/f", different);
    project.assert_ran(&check);
    project.remove("data/f");
    assert!(project.assert_ran(&check).contains("data/f is gone"), "{kind}");
}

#[test]
fn rules_by_meaning() {
    rule(
        "\"json\"",
        "{\"a\": 1, \"b\": [1, 2]}",
        "{ \"b\":[1,2],\n\"a\":1 }",
        "{\"a\": 1, \"b\": [2, 1]}",
    );
    rule("\"toml\"", "a = 1\nb = 'x'\n", "b = \"x\" # why\na = 1\n", "a = 2\nb = 'x'\n");
    rule("\"text\"", "one\ntwo\n", "one  \ntwo\t\n\n\n", "one\n two\n");
    rule("\"xml\"", "<a><b/></a>", "<a><!-- c --><b></b></a>", "<a><b x=\"1\"/></a>");
}

#[test]
fn a_rule_that_is_a_command() {
    let command = "{ command = [\"./first-words\", \"{}\"] }";
    rule(command, "one 1\ntwo 2\n", "one 3\ntwo 4\n", "one 1\nthree 2\n");
}

#[test]
fn a_rule_s_command_that_fails_is_no_proof() {
    let project = with_settings(
        "[[rule]]\npath = \"f\"\nas = { command = [\"false\"] }\n",
        &[("f", "1"), ("check.sh", "#!/bin/sh\ncat f\n")],
    );
    project.assert_ran(&["./check.sh"]);
    project.assert_ran(&["./check.sh"]);
    let missing = with_settings(
        "[[rule]]\npath = \"f\"\nas = { command = [\"./no-such-command\"] }\n",
        &[("f", "1"), ("check.sh", "#!/bin/sh\ncat f\n")],
    );
    missing.assert_ran(&["./check.sh"]);
    missing.assert_ran(&["./check.sh"]);
}

#[test]
fn rules_raw_ignore_and_listing() {
    let project = with_settings(
        "[tamis]\nignore = [\"gen\"]\n\
         [[rule]]\npath = \"gen/kept\"\nas = \"raw\"\n\
         [[rule]]\npath = \"noise/*\"\nas = \"ignore\"\n\
         [[rule]]\npath = \"names\"\nas = \"listing\"\n",
        &[
            ("gen/kept", "1"),
            ("gen/dropped", "1"),
            ("noise/x", "1"),
            ("names/a", "1"),
            ("check.sh", "#!/bin/sh\ncat gen/kept gen/dropped noise/x; [ -d names ]\n"),
        ],
    );
    let check = ["./check.sh"];
    project.assert_ran(&check);
    for file in ["gen/dropped", "noise/x", "names/a"] {
        project.write(file, "2");
        project.assert_skipped(&check);
    }
    project.write("names/b", "");
    assert!(project.assert_ran(&check).contains("the names in names changed"));
    project.write("gen/kept", "2");
    assert!(project.assert_ran(&check).contains("gen/kept changed"));
}

#[test]
fn a_rule_for_one_program_only() {
    let project = with_settings(
        "[[rule]]\npath = \"f\"\nprogram = \"wc\"\nas = \"ignore\"\n",
        &[("f", "1\n")],
    );
    let (counted, shown) = (["wc", "-c", "f"], ["cat", "f"]);
    project.assert_ran(&counted);
    project.assert_ran(&shown);
    project.write("f", "2\n");
    project.assert_skipped(&counted);
    project.assert_ran(&shown);
}

#[test]
fn variables_that_count_and_those_that_do_not() {
    let mut project = with_settings(
        "[tamis.environment]\nignore = [\"BUILD_*\"]\ncount = [\"TERM\"]\n",
        &[("check.sh", "#!/bin/sh\necho \"$MODE\"\n")],
    );
    let check = ["./check.sh"];
    project.assert_ran(&check);
    for (name, value) in
        [("BUILD_NUMBER", "1"), ("BUILD_X", "2"), ("SHLVL", "7"), ("GITHUB_SHA", "f")]
    {
        project.set(name, value);
        project.assert_skipped(&check);
    }
    project.set("MODE", "a");
    assert!(project.assert_ran(&check).contains("variable MODE is new"));
    project.set("MODE", "b");
    assert!(project.assert_ran(&check).contains("variable MODE changed"));
    project.assert_skipped(&check);
    project.set("MODE", "");
    project.assert_ran(&check);
    project.unset("MODE");
    project.assert_skipped(&check);
    project.set("TERM", "dumb");
    project.assert_ran(&check);
}

#[test]
fn every_mistake_has_its_place() {
    let project = with_settings(
        "[tamis]\njob = 4\nmax-age = \"soon\"\n\n[[suite]]\nname = \"s\"\nrun = \"x\"\ntimeout = 5\neech = \"*\"\n",
        &[],
    );
    for words in [&["select"][..], &[], &["./check.sh"], &["status"], &["why", "x"]] {
        let got = project.tamis(words);
        assert_eq!(got.code, MISTAKE, "{words:?}");
        for part in [
            "tamis.toml:2:1",
            "tamis.toml:3:11",
            "tamis.toml:8:11",
            "tamis.toml:9:1",
            "jobs",
            "each",
        ] {
            assert!(got.stderr.contains(part), "{part} is not in {}", got.stderr);
        }
    }
    project.write("tamis.toml", "[tamis\n");
    assert!(project.tamis(&["select"]).stderr.contains("tamis.toml:1:"));
    project.write("tamis.toml", b"[tamis]\nstore = \"\xff\"\n");
    assert!(project.tamis(&["select"]).stderr.contains("UTF-8"));
    project.write("tamis.toml", "");
    let got = project.tamis(&["select"]);
    assert!(got.stderr.contains("has no [[suite]]"), "{}", got.stderr);
}

#[test]
fn found_from_a_folder_below() {
    let project = with_settings(
        "[tamis]\nstore = \".records\"\n[[suite]]\nname = \"s\"\neach = \"t/*.sh\"\nrun = \"sh {}\"\n",
        &[("t/a.sh", "cat data\n"), ("data", "x\n"), ("deep/er/x", "")],
    );
    let below = |words: &[&str]| ended(project.seen_from(&project.path("deep/er")).args(words));
    let got = below(&["--json"]);
    assert_eq!(got.code, 0, "{}", got.stderr);
    assert_eq!(got.events("finished").len(), 1);
    assert!(project.path(".records").is_dir());
    assert!(project.ran().is_empty());
    assert!(below(&["select", "--plain"]).text().is_empty());
    project.write("data", "y\n");
    assert_eq!(below(&["select", "--plain"]).text(), "t/a.sh\n");
}

#[test]
fn limits_of_jobs_hold() {
    // Each test counts how many run beside it; a suite of one at a time never sees another.
    let script = "mkdir lock || exit 1\nsleep 0.05\nrmdir lock\n";
    let project = with_settings(
        "[tamis]\njobs = 4\n[[suite]]\nname = \"s\"\neach = \"t/*\"\nrun = \"sh {}\"\njobs = 1\n",
        &[("t/1", script), ("t/2", script), ("t/3", script), ("t/4", script)],
    );
    let got = project.tamis::<&str>(&[]);
    assert_eq!(got.code, 0, "{}{}", got.text(), got.stderr);
    let project = with_settings(
        "[[suite]]\nname = \"s\"\neach = \"t/*\"\nrun = \"sh {}\"\n",
        &[("t/1", script), ("t/2", script), ("t/3", script)],
    );
    assert_eq!(project.tamis(&["-j1"]).code, 0);
}
