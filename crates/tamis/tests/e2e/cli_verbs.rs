//! What a user types: the verbs, names of tests, answers for people and for programs.

use std::fs;
use tamis_report::exit::MISTAKE;
use tamis_testkit::{Project, ended};

fn two_tests() -> Project {
    Project::with(&[
        ("tamis.toml", "[[suite]]\nname = \"shell\"\neach = \"tests/*.sh\"\nrun = \"sh {}\"\n"),
        ("tests/one.sh", "cat data/one\n"),
        ("tests/two.sh", "cat data/two\n"),
        ("data/one", "1\n"),
        ("data/two", "2\n"),
        ("check.sh", "#!/bin/sh\ncat data/one\n"),
    ])
}

#[test]
fn options_stand_before_the_command_and_the_rest_is_its_own() {
    let project = Project::with(&[("args.sh", "#!/bin/sh\nprintf '%s|' \"$@\"\n")]);
    let store = project.beside("records");
    let store = store.to_str().expect("text");
    // --json, -j and --store after the command's name belong to the command.
    let words =
        ["--store", store, "-j", "2", "./args.sh", "--json", "-j", "--store", "x", "--help"];
    let got = project.tamis(&words);
    assert_eq!(got.text(), "--json|-j|--store|x|--help|", "{}", got.stderr);
    assert!(fs::read_dir(store).expect("the store").next().is_some());
    assert!(!project.beside("home/.cache/tamis/projects").exists(), "no other store was made");
    let again = project.tamis(&words);
    assert!(again.stdout.is_empty() && again.stderr.contains("skipped"), "{}", again.stderr);
    // Other words are another test.
    let other = project.tamis(&["--store", store, "./args.sh", "--json", "-j"]);
    assert_eq!(other.text(), "--json|-j|");
}

#[test]
fn run_takes_a_command_that_is_named_like_a_verb() {
    let mut project = Project::with(&[("bin/status", "#!/bin/sh\necho \"mine $1\"\n")]);
    let path = format!("{}:/usr/bin:/bin", project.path("bin").display());
    project.set("PATH", &path);
    let got = project.tamis(&["run", "--", "status", "--quiet"]);
    assert_eq!(got.text(), "mine --quiet\n", "{}", got.stderr);
    assert!(project.answer(&["status"]).contains("project "), "the verb is still the verb");
    assert_eq!(project.tamis(&["run", "--", "status", "--quiet"]).text(), "");
    assert_eq!(project.tamis(&["record", "--", "status", "--quiet"]).text(), "mine --quiet\n");
    assert!(project.answer(&["why-not", "status --quiet"]).contains("may be skipped"));
}

#[test]
fn the_suites_run_without_a_word() {
    let project = two_tests();
    let got = project.tamis::<&str>(&[]);
    assert_eq!(got.code, 0, "{}", got.stderr);
    assert!(got.text().contains("1\n") && got.text().contains("2\n"));
    assert!(got.stderr.contains("2 ran (2 passed)"), "{}", got.stderr);
    let again = project.tamis::<&str>(&[]);
    assert_eq!((again.code, again.text().as_str()), (0, ""));
    assert!(again.stderr.contains("nothing to run, 2 skipped"), "{}", again.stderr);
    let only = project.tamis(&["--all", "--only", "*one*"]);
    assert_eq!(only.text(), "1\n", "{}", only.stderr);
    assert_eq!(project.tamis(&["--only", "nothing*"]).code, MISTAKE);
}

#[test]
fn select_tells_and_runs_nothing() {
    let project = two_tests();
    project.write("tests/two.sh", "touch ran\ncat data/two\n");
    for words in [&["select"][..], &["select", "--plain"], &["--json", "select"], &["select", "-q"]]
    {
        project.tamis(words);
        assert!(!project.path("ran").exists(), "{words:?} ran something");
    }
    assert_eq!(project.answer(&["select", "--plain"]), "tests/one.sh\ntests/two.sh\n");
    assert_eq!(project.tamis(&["select", "--quiet"]).code, 1);
    project.tamis::<&str>(&[]);
    assert_eq!(project.answer(&["select", "--plain"]), "");
    assert_eq!(project.tamis(&["select", "--quiet"]).code, 0);
    assert_eq!(project.tamis(&["-q", "select"]).code, 0);
    project.write("data/one", "another\n");
    assert_eq!(project.answer(&["select", "--plain"]), "tests/one.sh\n");
    let got = project.tamis(&["select", "--quiet"]);
    assert_eq!((got.code, got.stdout.len(), got.stderr.len()), (1, 0, 0));
    let shown = project.tamis(&["select"]);
    assert!(
        shown.text().contains("run   shell::tests/one.sh  (data/one changed)"),
        "{}",
        shown.text()
    );
    assert!(shown.text().contains("skip  shell::tests/two.sh"), "{}", shown.text());
    let lines = project.tamis(&["--json", "select"]).lines();
    assert_eq!(lines[0]["event"], "start");
    assert_eq!(lines[0]["mode"], "select");
    assert_eq!(lines.last().expect("a summary")["would_run"], 1);
    // One command.
    assert_eq!(project.tamis(&["select", "--quiet", "./check.sh"]).code, 1);
    project.tamis(&["./check.sh"]);
    assert_eq!(project.tamis(&["select", "--quiet", "./check.sh"]).code, 0);
    assert_eq!(project.answer(&["select", "--plain", "./check.sh"]), "");
}

#[test]
fn record_runs_in_any_case() {
    let project = two_tests();
    for _ in 0..2 {
        assert_eq!(project.tamis(&["record", "./check.sh"]).text(), "1\n");
    }
    project.assert_skipped(&["./check.sh"]);
    assert_eq!(project.tamis(&["--all", "./check.sh"]).text(), "1\n");
    project.tamis(&["record"]);
    assert!(project.selected().is_empty());
    assert_eq!(project.tamis(&["--json", "record"]).events("finished").len(), 2);
}

#[test]
fn only_what_failed_the_last_time() {
    let project = two_tests();
    project.write("tests/two.sh", "cat data/two; test ! -e broken\n");
    project.write("broken", "");
    let nothing = project.tamis(&["--failed"]);
    assert_eq!((nothing.code, nothing.text().as_str()), (0, ""));
    assert!(nothing.stderr.contains("nothing is known to fail now"), "{}", nothing.stderr);
    assert_eq!(project.tamis::<&str>(&[]).code, 1);
    project.write("data/one", "one\n");
    let failed = project.tamis(&["--failed"]);
    assert_eq!((failed.code, failed.text().as_str()), (1, "2\n"), "{}", failed.stderr);
    assert_eq!(project.answer(&["select", "--failed", "--plain"]), "tests/two.sh\n");
    let shown = project.answer(&["status", "--failed"]);
    assert!(shown.contains("tests     1: 1 would run") && !shown.contains("one.sh"), "{shown}");
    let shown = project.answer(&["status", "--only", "*one*"]);
    assert!(shown.contains("one.sh") && !shown.contains("two.sh"), "{shown}");
    let shown = project.answer(&["status", "--failed", "--only", "*one*"]);
    assert!(shown.contains("none of those that are asked for"), "{shown}");
    std::fs::remove_file(project.path("broken")).expect("a file");
    let mended = project.tamis(&["--failed"]);
    assert_eq!((mended.code, mended.text().as_str()), (0, "2\n"), "{}", mended.stderr);
    assert_eq!(project.tamis::<&str>(&[]).text(), "one\n", "what was not asked for is affected");
}

#[test]
fn a_run_that_records_nothing_proves_nothing() {
    let project = two_tests();
    for _ in 0..2 {
        let got = project.tamis(&["--no-collect", "./check.sh"]);
        assert_eq!((got.code, got.text().as_str()), (0, "1\n"), "{}", got.stderr);
        assert!(got.stderr.contains("nothing was recorded"), "{}", got.stderr);
    }
    assert_eq!(project.tamis(&["./check.sh"]).text(), "1\n");
    assert_eq!(project.tamis(&["--no-collect", "./check.sh"]).text(), "", "recorded before");

    // In the same state it failed without being recorded: the older record must not hide that.
    let flag = project.path("flag");
    project.write("tamis.toml", "[tamis]\nignore = [\"flag\"]\n");
    project.write("check.sh", "#!/bin/sh\ntest ! -e flag\n");
    assert_eq!(project.tamis(&["./check.sh"]).code, 0);
    fs::write(&flag, "").expect("a file");
    assert!(project.tamis(&["./check.sh"]).stderr.contains("skipped"));
    let failing = project.tamis(&["--all", "--no-collect", "./check.sh"]);
    assert_eq!(failing.code, 1, "{}", failing.stderr);
    fs::remove_file(&flag).expect("a file");
    let again = project.tamis(&["./check.sh"]);
    assert!(again.stderr.contains("ran ./check.sh because"), "{}", again.stderr);

    assert_eq!(
        project.tamis(&["--no-collect", "--collect-every", "2", "./check.sh"]).code,
        MISTAKE
    );
}

#[test]
fn every_second_run_is_recorded() {
    let project = two_tests();
    let ran = |content: &str| {
        project.write("data/one", content);
        let got = project.tamis(&["--collect-every", "2", "./check.sh"]);
        (got.text(), got.stderr.contains("nothing was recorded"))
    };
    assert_eq!(ran("a\n"), ("a\n".into(), false));
    assert_eq!(ran("b\n"), ("b\n".into(), true));
    assert_eq!(ran("b\n"), ("b\n".into(), false), "the change since the recorded run counts");
    assert_eq!(ran("b\n").0, "");
    assert_eq!(ran("a\n").0, "", "recorded at first");
}

#[test]
fn why_names_the_input_its_values_and_who_looked() {
    let project = two_tests();
    project.tamis(&["./check.sh"]);
    let shown = project.answer(&["why", "./check.sh"]);
    assert!(shown.contains("would not run now"), "{shown}");
    project.write("data/one", "longer than before\n");
    let shown = project.answer(&["why", "./check.sh"]);
    for part in ["data/one changed", "(2 bytes)", "(19 bytes)", "read", "cat"] {
        assert!(shown.contains(part), "{part:?} is not in {shown}");
    }
    let shown = project.answer(&["why-not", "./check.sh"]);
    assert!(shown.contains("may not be skipped: data/one changed"), "{shown}");
    let json = &project.tamis(&["--json", "why", "./check.sh"]).lines()[0];
    assert_eq!(json["differences"][0]["input"], "data/one");
    project.write("data/one", "1\n");
    let shown = project.answer(&["why-not", "./check.sh"]);
    assert!(shown.contains("may be skipped: record #1 proves it"), "{shown}");
    assert!(shown.contains("data/one") && shown.contains("check.sh"), "{shown}");
    // Never run.
    let shown = project.answer(&["why", "tests/two.sh"]);
    assert!(shown.contains("never run before"), "{shown}");
}

#[test]
fn deps_by_kind() {
    let project = Project::with(&[
        ("here", "x"),
        ("folder/a", ""),
        ("check.sh", "#!/bin/sh\ncat here; [ -e absent ]; ls folder >/dev/null; readlink link\n"),
    ]);
    std::os::unix::fs::symlink("here", project.path("link")).expect("a link");
    project.tamis(&["./check.sh"]);
    let folded = project.answer(&["deps", "./check.sh"]);
    assert!(folded.contains("\n  here\n") && !folded.contains("\n  PATH\n"), "{folded}");
    assert!(folded.contains("outside of the project ("), "{folded}");
    let filtered = project.answer(&["deps", "./check.sh", "--filter", "LIBC"]);
    assert!(filtered.contains("libc") && !filtered.contains("\n  here\n"), "{filtered}");
    let shown = project.answer(&["deps", "./check.sh", "--all"]);
    let section = |name: &str| {
        let begin = shown.find(&format!("\n{name} (")).unwrap_or_else(|| panic!("{name}: {shown}"));
        let rest = &shown[begin + 1..];
        let lines = rest.lines().skip(1).take_while(|l| l.starts_with("  "));
        lines.map(str::trim).map(str::to_owned).collect::<Vec<_>>()
    };
    assert!(section("files").contains(&"here".to_owned()), "{shown}");
    assert!(section("directories").contains(&"folder (its names)".to_owned()), "{shown}");
    assert!(section("absent").contains(&"absent".to_owned()), "{shown}");
    assert!(section("programs").contains(&"check.sh".to_owned()), "{shown}");
    assert!(section("libraries").iter().any(|l| l.contains("libc")), "{shown}");
    assert!(section("links").contains(&"link".to_owned()), "{shown}");
    assert!(section("environment").contains(&"PATH".to_owned()), "{shown}");
    let plain = project.answer(&["deps", "--plain", "check"]);
    assert!(plain.lines().any(|l| l == "here") && plain.lines().any(|l| l == "absent"));
    let lines = project.tamis(&["--json", "deps", "check"]).lines();
    assert!(lines.iter().any(|l| l["input"] == "absent" && l["kind"] == "absent"));
}

#[test]
fn names_may_be_shortened_where_they_are_unique() {
    let project = two_tests();
    project.tamis::<&str>(&[]);
    project.tamis(&["./check.sh"]);
    for name in ["one", "shell::tests/one.sh", "tests/one.sh", "one.sh"] {
        assert!(
            project.answer(&["why-not", name]).starts_with("shell::tests/one.sh may"),
            "{name}"
        );
    }
    assert!(project.answer(&["why-not", "check"]).starts_with("./check.sh may"));
    let got = project.tamis(&["why", "tests/"]);
    assert_eq!(got.code, MISTAKE);
    for part in ["shell::tests/one.sh", "shell::tests/two.sh", "give more"] {
        assert!(got.stderr.contains(part), "{}", got.stderr);
    }
    let got = project.tamis(&["deps", "three"]);
    assert_eq!(got.code, MISTAKE);
    assert!(got.stderr.contains("no test is called \"three\""), "{}", got.stderr);
}

#[test]
fn a_command_is_named_by_its_words_and_its_folder() {
    let project = two_tests();
    project.tamis(&["sh", "-c", "echo 'a b'"]);
    assert!(project.answer(&["why-not", "sh", "-c", "echo 'a b'"]).contains("may be skipped"));
    // The same words in another folder are another test.
    project.write("tests/check.sh", "#!/bin/sh\necho other\n");
    project.tamis(&["./check.sh"]);
    let below = |words: &[&str]| ended(project.seen_from(&project.path("tests")).args(words));
    assert_eq!(below(&["./check.sh"]).text(), "other\n");
    assert!(below(&["why-not", "./check.sh"]).text().contains("./check.sh (in tests) may"));
    assert!(project.answer(&["why-not", "./check.sh"]).starts_with("./check.sh may"));
    // tamis.toml is found from a folder below; its suites are the same.
    assert_eq!(below(&["select", "--plain"]).text().lines().count(), 3);
    let got = below(&["select"]);
    assert!(got.text().contains("shell::tests/one.sh"), "{}{}", got.text(), got.stderr);
}

#[test]
fn status_history_forget_clean() {
    let project = two_tests();
    assert!(project.answer(&["status"]).contains("2 would run"));
    assert!(project.answer(&["history"]).contains("nothing is recorded"));
    assert_eq!(project.tamis(&["forget", "one"]).code, MISTAKE);
    project.tamis::<&str>(&[]);
    project.tamis(&["./check.sh"]);
    project.write("data/one", "again\n");
    project.tamis::<&str>(&[]);
    let shown = project.answer(&["status"]);
    assert!(shown.contains("3: 1 would run, 2 would be skipped"), "{shown}");
    let count = |words: &[&str]| project.tamis(words).lines().len();
    assert_eq!(count(&["--json", "history", "one"]), 2);
    assert_eq!(count(&["--json", "history"]), 4);
    assert!(project.answer(&["history", "one"]).contains("passed"));
    let shown = project.answer(&["forget", "tests/one"]);
    assert!(shown.contains("forgot shell::tests/one.sh (2 records)"), "{shown}");
    assert_eq!(project.selected(), ["tests/one.sh"]);
    assert_eq!(project.run(&[])["tests/one.sh"].cause, "forgotten");
    assert!(project.answer(&["clean", "--old"]).contains("dropped 0 records"));
    assert!(project.selected().is_empty());
    let shown = project.answer(&["clean"]);
    assert!(shown.contains("dropped 3 records of 3 tests"), "{shown}");
    assert_eq!(project.selected().len(), 2);
}

#[test]
fn doctor_is_content_with_a_healthy_project() {
    let project = two_tests();
    let shown = project.answer(&["doctor"]);
    assert!(shown.contains("no problems found") && shown.contains("used by default"), "{shown}");
    project.tamis::<&str>(&[]);
    let shown = project.answer(&["doctor"]);
    assert!(
        shown.contains("can be read and written") && shown.contains("no problems found"),
        "{shown}"
    );
    project.write("tamis.toml", "[tamis]\njob = 2\n");
    let got = project.tamis(&["doctor"]);
    assert_eq!(got.code, 1);
    assert!(
        got.text().contains("PROBLEM") && got.text().contains("tamis.toml:2:1"),
        "{}",
        got.text()
    );
}

#[test]
fn init_writes_settings_that_work() {
    let project = Project::with(&[("tests/a.sh", "#!/bin/sh\ntrue\n"), ("tests/b.sh", "true\n")]);
    let printed = project.answer(&["init", "--print"]);
    assert!(!project.path("tamis.toml").exists());
    assert!(project.answer(&["init"]).contains("tamis.toml; `tamis select` shows"));
    assert_eq!(project.read("tamis.toml"), printed);
    assert_eq!(project.selected(), ["tests/a.sh", "tests/b.sh"]);
    assert_eq!(project.ran().len(), 2);
    assert!(project.ran().is_empty());
    let got = project.tamis(&["init"]);
    assert_eq!(got.code, MISTAKE);
    assert!(got.stderr.contains("is there already"), "{}", got.stderr);
    let empty = Project::new();
    assert!(empty.answer(&["init"]).contains("no tests of a known kind were found"));
    assert!(empty.answer(&["doctor"]).contains("no mistakes"));
}

#[test]
fn mistakes_in_the_call() {
    let project = Project::new();
    let got = project.tamis::<&str>(&[]);
    assert_eq!(got.code, MISTAKE);
    assert!(got.stderr.contains("give a command") && got.stderr.contains("tamis init"));
    assert_eq!(project.tamis(&["--no-such-option", "x"]).code, MISTAKE);
    assert_eq!(project.tamis(&["--engine", "strace", "true"]).code, MISTAKE);
    assert_eq!(project.tamis(&["--jobs", "0", "true"]).code, MISTAKE);
    let got = project.tamis(&["--timeout", "soon", "true"]);
    assert_eq!(got.code, MISTAKE);
    assert!(got.stderr.contains("--timeout"), "{}", got.stderr);
    assert_eq!(project.tamis(&["--version"]).code, 0);
    assert!(project.answer(&["run", "--help"]).contains("Exit code"));
    assert_eq!(MISTAKE, 125, "scripts may rely on it");
}

#[test]
fn the_command_line_explains_itself() {
    let mut project = Project::new();
    assert_eq!(project.answer(&["help"]), project.answer(&["--help"]));
    assert_eq!(project.answer(&["help", "why"]), project.answer(&["why", "--help"]));
    assert!(project.answer(&["help", "exit-codes"]).contains("\n  125    a mistake in the call"));
    let got = project.tamis(&["help", "nothing"]);
    assert_eq!(got.code, MISTAKE);
    assert!(got.stderr.contains("no verb and no topic is called \"nothing\""), "{}", got.stderr);
    let man = project.answer(&["man"]);
    for part in [".TH tamis 1", ".SH \"TAMIS WHY\"", ".SH \"EXIT STATUS\""] {
        assert!(man.contains(part), "{part} is not in {man}");
    }
    for (shell, part) in
        [("bash", "_tamis()"), ("zsh", "#compdef tamis"), ("fish", "complete -c tamis")]
    {
        let script = project.answer(&["completions", shell]);
        assert!(script.contains(part) && script.contains("why-not"), "{shell}: {script}");
    }
    // bash takes the script, and completes a verb with it.
    project.write("_tamis", project.answer(&["completions", "bash"]));
    project.write("ask.sh", "#!/bin/bash\n. ./_tamis\nCOMP_WORDS=(tamis why-); COMP_CWORD=1\n_tamis tamis why- tamis\necho \"${COMPREPLY[@]}\"\n");
    project.set("PATH", "/usr/bin:/bin");
    assert_eq!(project.tamis(&["./ask.sh"]).text(), "why-not\n");
}
