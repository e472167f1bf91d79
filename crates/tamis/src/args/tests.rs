//! Each rule of [`super::resolved`], by the words of a call.

use super::resolved::Options;
use super::{Arguments, CommandTraits};
use anyhow::Result;
use clap::Parser;
use tamis_core::Strategy;
use tamis_runner::EngineName;

/// `mvn` and `java` have test classes, `mvn` is Maven, `pytest` has files of tests, everything else is one test.
fn resolve(line: &str) -> Result<Options> {
    let words = ["tamis"].into_iter().chain(line.split_whitespace());
    let arguments = Arguments::try_parse_from(words).expect("clap takes it");
    arguments.resolve(&|words| CommandTraits {
        units: ["mvn", "java"].iter().any(|name| words[0] == *name),
        parts: ["mvn", "java"].iter().any(|name| words[0] == *name),
        files: words[0] == "pytest",
        graph: words[0] == "mvn",
        misplaced: super::misplaced(words, &|option| words[0] == "mvn" && option != "--color"),
    })
}

fn strategy(line: &str) -> Strategy {
    resolve(line).expect("a call with a meaning").run_options().unwrap().strategy
}

#[track_caller]
fn refused(line: &str, why: &str) {
    let error = resolve(line).expect_err(line).to_string();
    assert!(error.contains(why), "{line}: {error}");
}

fn advice(line: &str) -> Option<String> {
    resolve(line).expect("a call with a meaning").advice
}

#[test]
fn tests_are_chosen_by_records_unless_something_else_is_asked_for() {
    assert_eq!(strategy("mvn test"), Strategy::Records);
    assert_eq!(strategy(""), Strategy::Records);
    assert_eq!(strategy("--select records mvn test"), Strategy::Records);
    assert_eq!(strategy("--select static mvn test"), Strategy::Static { calls: false });
    assert_eq!(strategy("--select modules --since main go test"), Strategy::Modules);
    assert_eq!(strategy("run --select hybrid -- cargo test"), Strategy::Hybrid);
}

#[test]
fn one_granularity_for_records_and_graphs() {
    let line = "--select static --granularity method mvn test";
    assert_eq!(strategy(line), Strategy::Static { calls: true });
    assert_eq!(
        strategy("--select static --granularity class mvn test"),
        Strategy::Static { calls: false }
    );
    assert!(!resolve(line).expect("a meaning").selecting.by_methods(), "a graph has no records");
    assert!(resolve("--granularity method mvn test").expect("a meaning").selecting.by_methods());
    assert!(!resolve("--granularity class mvn test").expect("a meaning").selecting.by_methods());
}

#[test]
fn old_words_mean_the_same_and_are_named_in_one_line() {
    assert_eq!(strategy("--engine static mvn test"), Strategy::Static { calls: false });
    assert_eq!(
        strategy("--engine static --level method mvn test"),
        Strategy::Static { calls: true }
    );
    assert_eq!(strategy("--engine modules mvn test"), Strategy::Modules);
    assert_eq!(strategy("record --engine hybrid mvn test"), Strategy::Hybrid);
    assert_eq!(resolve("--engine hybrid mvn test").expect("a meaning").running.engine, None);
    assert_eq!(
        advice("--engine modules mvn test").as_deref(),
        Some("--engine modules is an old word: write --select modules")
    );
    assert_eq!(
        advice("--engine static --level class mvn test").as_deref(),
        Some("--engine static and --level are old words: write --select static and --granularity")
    );
    assert_eq!(
        advice("static select --level method").as_deref(),
        Some("--level is an old word: write --granularity")
    );
    for line in ["--select static mvn test", "--engine ebpf x", "static select", "status", ""] {
        assert_eq!(advice(line), None, "{line}");
    }
}

#[test]
fn old_and_new_words_do_not_stand_together() {
    refused("--engine static --select static mvn test", "leave it out beside --select");
    refused("--engine modules --select hybrid mvn test", "old word for --select modules");
    refused(
        "--select static --granularity method --level class mvn test",
        "leave it out beside that",
    );
    refused("--level method mvn test", "--granularity with --select static");
    refused("--select hybrid --level method mvn test", "--granularity with --select static");
    assert!(
        Arguments::try_parse_from(
            "tamis static select --level class --granularity class".split(' ')
        )
        .is_err()
    );
}

#[test]
fn behind_the_verb_comes_first() {
    let options = resolve("--engine ebpf --jobs 2 run --engine ptrace x").expect("a meaning");
    assert_eq!(options.running.engine, Some(EngineName::Ptrace));
    assert_eq!(options.running.jobs.map(usize::from), Some(2));
    let options = resolve("--only a --all select --only b").expect("a meaning");
    assert_eq!(options.selecting.only, ["a", "b"]);
    assert!(options.selecting.all && !options.selecting.failed);
    assert_eq!(
        strategy("--select modules run --select static mvn test"),
        Strategy::Static { calls: false }
    );
}

#[test]
fn options_without_a_use_for_the_verb() {
    refused("--jobs 2 select", "--jobs has no meaning for `tamis select`; leave it out");
    refused("--jobs 2 --timeout 5s select", "--jobs, --timeout have no meaning for `tamis select`");
    refused("--engine static select mvn test", "--engine has no meaning for `tamis select`");
    refused("--all why x", "--all has no meaning for `tamis why`");
    refused("--only a why-not x", "--only has no meaning for `tamis why-not`");
    refused("--failed deps x", "--failed has no meaning for `tamis deps`");
    refused("--junit f status", "--junit has no meaning for `tamis status`");
    refused("--no-command-skip status", "--no-command-skip has no meaning for `tamis status`");
    refused("--no-collect history", "--no-collect has no meaning for `tamis history`");
    refused("--collect-every 2 forget x", "--collect-every has no meaning for `tamis forget`");
    refused("--rerun-failed 1 clean", "--rerun-failed has no meaning for `tamis clean`");
    refused("--flaky-ok doctor", "--flaky-ok has no meaning for `tamis doctor`");
    refused("--since main init", "--since has no meaning for `tamis init`");
    refused("--granularity method static diff", "--granularity has no meaning for `tamis static`");
    refused("--select hybrid modules", "--select has no meaning for `tamis modules`");
    for verb in ["init", "help", "completions bash", "man"] {
        refused(&format!("--json {verb}"), "--json has no meaning for");
    }
    for verb in ["select", "why x", "deps x", "status", "history", "clean", "doctor", "modules"] {
        resolve(&format!("--json {verb}")).expect(verb);
    }
    refused("--level class modules", "--level has no meaning for `tamis modules`");
    for line in
        ["--since main modules", "--only a status --failed", "--failed --all select", "-q init"]
    {
        resolve(line).expect(line);
    }
}

#[test]
fn options_that_need_another_one() {
    refused("--since main ./check.sh", "--since needs --select modules or --select hybrid");
    refused("--since main", "--since needs --select modules or --select hybrid");
    refused("--since main --select static mvn test", "--since needs --select modules");
    refused("select --since main", "--since needs --select modules");
    refused("--rerun-failed 1 --granularity method mvn test", "leave out --granularity method");
    refused("--select static --failed mvn test", "--failed needs records of outcomes");
    refused("--select static --engine ptrace mvn test", "watches no process");
    resolve("--select static --engine auto mvn test").expect("auto asks for nothing");
    resolve("--select hybrid --engine ptrace mvn test").expect("hybrid watches");
}

#[test]
fn verbs_that_only_decide_take_the_strategies_of_a_run() {
    for verb in ["select mvn test", "why X", "why-not X", "status"] {
        for (word, meant) in [
            ("records", Strategy::Records),
            ("static", Strategy::Static { calls: false }),
            ("modules", Strategy::Modules),
            ("hybrid", Strategy::Hybrid),
        ] {
            assert_eq!(strategy(&format!("--select {word} {verb}")), meant, "{verb}");
            let (verb, rest) = verb.split_once(' ').unwrap_or((verb, ""));
            assert_eq!(strategy(format!("{verb} --select {word} {rest}").trim()), meant, "{verb}");
        }
    }
    resolve("why --granularity class X").expect("a unit");
    resolve("select --granularity method mvn test").expect("select knows methods");
}

#[test]
fn options_of_tamis_behind_a_command_that_has_none_of_that_name() {
    refused("mvn test --only X", "stands before the command: tamis --only X mvn test");
    refused("select mvn test --json", "tamis --json mvn test");
    resolve("mvn test --color always").expect("Maven has one, too");
    resolve("./check.sh --only X --json --all").expect("the command may have any option");
    resolve("run -- go test ./... --timeout 5s").expect("so may go");
}

#[test]
fn suites_are_chosen_by_records() {
    refused("--select static", "needs a Maven command");
    refused("record --select static", "needs a Maven command");
    refused("--select modules", "need a command");
    refused("--select hybrid run", "need a command");
    resolve("--granularity method --only x --no-command-skip").expect("a suite may hold builds");
}

#[test]
fn options_that_need_commands_with_known_test_classes() {
    refused("--select static java -jar x", "--select static is for Maven");
    refused("--select static ./check.sh", "--select static is for Maven");
    refused("--only x ./check.sh", "this command is one test");
    refused("select --only x ./check.sh", "this command is one test");
    refused("--granularity class ./check.sh", "whose test classes are known");
    refused("--granularity file ./check.sh", "are for pytest");
    refused("--granularity function java -jar x", "are for pytest");
    refused("--granularity method pytest", "whose test classes are known");
    refused("--only x pytest", "this command is one test");
    assert!(resolve("--granularity file --only x pytest").expect("files").selecting.by_files());
    assert!(!resolve("--granularity function pytest").expect("functions").selecting.by_files());
    refused("--select static --granularity file mvn test", "about classes and methods");
    refused("--no-command-skip ./check.sh", "--all runs any command");
    refused("--select hybrid --only x cargo test", "this command is one test");
    resolve("--only x --granularity method --no-command-skip java -jar x").expect("classes");
}

#[test]
fn isolation_is_checked_in_a_command_with_several_tests() {
    let asked = |line: &str| {
        let options = resolve(line).expect(line).run_options().unwrap();
        options.isolation.map(|isolation| (isolation.sample, isolation.seed))
    };
    assert_eq!(asked("--check-isolation mvn test"), Some((10, None)));
    assert_eq!(asked("--check-isolation=3 --isolation-seed 7 --all mvn test"), Some((3, Some(7))));
    assert_eq!(asked("mvn test"), None);
    refused("--check-isolation", "needs a command");
    refused("--check-isolation x", "this command is one test");
    refused("--check-isolation --granularity method mvn test", "leave out --granularity method");
    refused("--check-isolation --select hybrid mvn test", "leave out --select");
    refused("--check-isolation --no-collect mvn test", "leave out --no-collect");
    refused("--check-isolation status", "has no meaning for `tamis status`");
}
