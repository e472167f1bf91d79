//! What users see of a wrong file, and what a right one means.

use super::*;
use proptest::prelude::*;
use std::time::Duration;

fn good(text: &str) -> Settings {
    match parse(text.as_bytes(), Path::new("tamis.toml")) {
        Ok(settings) => settings,
        Err(problems) => panic!("{problems}"),
    }
}

/// All problems as a user sees them.
fn bad(text: &str) -> String {
    parse(text.as_bytes(), Path::new("tamis.toml")).unwrap_err().to_string()
}

/// The messages alone.
fn messages(text: &str) -> Vec<String> {
    let problems = parse(text.as_bytes(), Path::new("tamis.toml")).unwrap_err();
    problems.list.into_iter().map(|problem| problem.message).collect()
}

/// The one message of a `[[suite]]` that is right but for this line.
fn suite_message(line: &str) -> String {
    let text = format!("[[suite]]\nname = \"s\"\neach = \"*.sh\"\nrun = \"bash {{}}\"\n{line}\n");
    let mut messages = messages(&text);
    assert_eq!(messages.len(), 1, "{messages:?}");
    messages.remove(0)
}

fn tamis_message(line: &str) -> String {
    let mut messages = messages(&format!("[tamis]\n{line}\n"));
    assert_eq!(messages.len(), 1, "{messages:?}");
    messages.remove(0)
}

#[test]
fn mistakes_about_java() {
    assert_eq!(messages("jvm = 3"), ["`jvm` must be a table [jvm], not a whole number"]);
    let unknown = messages("[jvm]\nalways-rum = []");
    assert!(unknown[0].contains("did you mean `always-run`?"), "{unknown:?}");
    let texts = messages("[jvm]\nalways-run-tags = \"smoke\"");
    assert!(texts[0].contains("must be a list of strings"), "{texts:?}");
    assert_eq!(messages("[jvm]\nalways-run = ['']"), ["empty glob in `always-run`"]);
    let word = messages("[jvm]\ndebug-info = 'count'");
    assert!(word[0].contains("`debug-info` cannot be \"count\""), "{word:?}");
    assert_eq!(messages("[jvm]\ndebug-info = ['']"), ["empty glob in `debug-info`"]);
    assert!(messages("[jvm]\ndebug-info = true")[0].contains("a string or a list of strings"));
}

#[test]
fn lines_count_for_all_classes_or_for_some() {
    assert!(!good("").jvm.counts_lines("a.B"));
    assert!(good("[jvm]\ndebug-info = 'counts'").jvm.counts_lines("a.B$C"));
    let some = good("[jvm]\ndebug-info = ['a.log.*', 'Tracer']").jvm;
    assert!(some.counts_lines("a.log.Line") && some.counts_lines("x.y.Tracer"));
    assert!(!some.counts_lines("a.Other") && !some.counts_lines("x.TracerTest"));
}

#[test]
fn the_example_of_the_documentation_is_right() {
    let page = include_str!("../../../../docs/settings.md");
    let example = page.split("```toml\n").nth(1).unwrap().split("```").next().unwrap();
    let settings = good(example);
    for key in TAMIS_KEYS.iter().chain(&SUITE_KEYS) {
        assert!(example.contains(&format!("{key} = ")), "{key} is not in the example");
    }
    assert_eq!(settings.store.as_deref(), Some(".tamis"));
    assert_eq!(settings.rules.len(), 6);
    assert!(settings.rules.iter().any(|rule| rule.condition.is_some()));
    assert!(settings.rules.iter().any(|rule| matches!(rule.treatment, Treatment::IgnoreIf(_))));
    assert_eq!(settings.everywhere.run_all_on, ["schema.sql"]);
    assert!(settings.everywhere.always_run.matches(b"SmokeTest"));
    let suite = settings.suite("shell").unwrap();
    assert_eq!(suite.each, Each::Items(vec![Item::Glob("tests/*.sh".into())]));
    assert_eq!(suite.run, ["bash", "{}"]);
    assert_eq!(suite.timeout, Some(Duration::from_secs(300)));
    assert_eq!(suite.env["LANG"], "C");
    assert!(suite.always_run.matches(b"tests/net_a.sh"));
    assert_eq!(suite.run_all_on, ["Makefile", "conf/**"]);
    assert!(settings.jvm.always_run.matches(b"LoginSmokeTest"));
    assert_eq!(settings.jvm.always_run_tags, ["smoke", "Flaky"]);
    assert!(settings.jvm.counts_lines("com.acme.log.Caller"));
    let go = settings.suite("go").unwrap();
    assert_eq!(go.each, Each::Command(vec!["go".into(), "list".into(), "./...".into()]));
}

#[test]
fn every_default_variable_is_in_the_documentation() {
    let page = include_str!("../../../../docs/settings.md");
    for group in crate::environment::DEFAULT_IGNORED {
        for pattern in group.patterns {
            assert!(page.contains(&format!("`{pattern}`")), "{pattern} is missing");
        }
    }
}

#[test]
fn every_state_of_a_tool_is_in_the_documentation() {
    let page = include_str!("../../../../docs/settings.md");
    for entry in crate::tools::TOOL_STATE {
        let paths: Vec<String> = entry.paths.iter().map(|path| format!("`{path}`")).collect();
        let row = format!("| `{}` | {} | {} |", entry.name, entry.why, paths.join(", "));
        assert!(page.contains(&row), "{row} is missing");
    }
    for look in crate::tools::TOOL_LOOKS {
        let endings: Vec<String> = look.except.iter().map(|e| format!("`.{e}`")).collect();
        let row = format!(
            "| `{}` | `{}` | {} | {} |",
            look.name,
            look.program,
            look.why,
            endings.join(", ")
        );
        assert!(page.contains(&row), "{row} is missing");
    }
}

#[test]
fn nothing_means_the_defaults() {
    assert_eq!(good(""), Settings::default());
    assert_eq!(good("[tamis]\n[tamis.environment]\n"), Settings::default());
    assert_eq!(good("\u{feff}[tamis]\n"), Settings::default());
}

#[test]
fn values_are_read() {
    let settings = good(
        "[tamis]\nengine='ebpf'\njobs=3\nkeep-records=2\nmax-age='1w'\nmax-size='5MB'\n\
         network='ignore'\nservices='warn'\nallow-services=['[::1]:80', '@abstract', 'db:1']\n\
         [[suite]]\nname='a'\neach=['x', 'y/*.z']\nrun=['p', 'with blank {}']\nfolder='./b//c/'\n\
         [[suite]]\nname='b'\nrun='make \"check all\"'\n",
    );
    assert_eq!(settings.engine, Engine::Ebpf);
    assert_eq!(settings.jobs.map(usize::from), Some(3));
    assert_eq!(settings.keep.records.get(), 2);
    assert_eq!(settings.keep.max_age, Duration::from_secs(7 * 86_400));
    assert_eq!(settings.keep.max_size, 5_000_000);
    assert_eq!((settings.network, settings.services), (Contact::Ignore, Contact::Warn));
    assert_eq!(settings.allow_services, ["[::1]:80", "@abstract", "db:1"]);
    let [a, b] = settings.suites.as_slice() else { panic!("{:?}", settings.suites) };
    assert_eq!(a.each, Each::Items(vec![Item::Name("x".into()), Item::Glob("y/*.z".into())]));
    assert_eq!(a.folder, "b/c");
    assert_eq!((&b.each, b.folder.as_str()), (&Each::Once, "."));
    assert_eq!(b.run, ["make", "check all"]);
}

#[test]
fn all_problems_are_reported_with_their_place() {
    let text = "\
[tamis]
engine = \"notfy\"
jobs = \"4\"

[[suite]]
name = \"shell\"
jbos = 2
each = []

[[suite]]
name = \"shell\"
run = \"make test\"
timeout = \"5 minutes\"
";
    let expected = "\
tamis.toml:2:10: `engine` cannot be \"notfy\" (one of: auto, notify, patch, ebpf, ptrace); did you mean `notify`?
   2 | engine = \"notfy\"
     |          ^^^^^^^
tamis.toml:3:8: `jobs` must be a whole number, not a string; for example: jobs = 4
   3 | jobs = \"4\"
     |        ^^^
tamis.toml:5:1: a suite needs `run`, its command; for example: run = \"bash {}\"
   5 | [[suite]]
     | ^^^^^^^^^
tamis.toml:7:1: unknown key `jbos` in [[suite]]; did you mean `jobs`?
   7 | jbos = 2
     | ^^^^
tamis.toml:8:8: `each` is empty, the suite would have no test; for example: each = \"tests/*.sh\"
   8 | each = []
     |        ^^
tamis.toml:11:8: there is already a suite named \"shell\"
  11 | name = \"shell\"
     |        ^^^^^^^
tamis.toml:13:11: duration \"5 minutes\" has no unit after 5 (ms, s, m, h, d, w); for example: timeout = \"5m\"
  13 | timeout = \"5 minutes\"
     |           ^^^^^^^^^^^";
    assert_eq!(bad(text), expected);
}

#[test]
fn broken_toml_names_its_place() {
    let text = bad("[tamis]\njobs = \n[[suite\nname = 'a'\n");
    assert!(text.starts_with("tamis.toml:2:8: "), "{text}");
    assert!(text.contains("\ntamis.toml:3:8: "), "{text}");
    let text = bad("[tamis]\njobs = 1\njobs = 2\n");
    assert!(text.starts_with("tamis.toml:3:1: duplicate key"), "{text}");
}

#[test]
fn not_utf8() {
    let problems = parse(b"[tamis]\nstore = '\xff'\n", Path::new("f")).unwrap_err();
    assert_eq!(
        problems.to_string(),
        "f:2:10: this is no UTF-8; save the file as UTF-8\n  2 | store = '\u{fffd}'\n    |          ^"
    );
}

#[test]
fn keys_in_the_wrong_place() {
    assert_eq!(
        messages("jobs = 4\nsuites = 1\n[environment]\n"),
        [
            "unknown key `jobs` in the file; it belongs in [tamis]; put it below that line",
            "unknown key `suites` in the file; did you mean `suite`?",
            "unknown key `environment` in the file; it belongs in [tamis], as [tamis.environment]",
        ]
    );
    assert_eq!(
        suite_message("ignore = []"),
        "unknown key `ignore` in [[suite]]; it belongs in [tamis]"
    );
    assert_eq!(tamis_message("run = 'x'"), "unknown key `run` in [tamis]; it belongs in [[suite]]");
    assert_eq!(
        suite_message("colour = 1"),
        "unknown key `colour` in [[suite]]; known here: name, each, run, folder, jobs, timeout, env, always-run, run-all-on, allow-empty"
    );
    assert_eq!(
        messages("[suite]\nname='a'\n"),
        ["write [[suite]], with two brackets: there may be several"]
    );
    assert_eq!(messages("tamis = 1\n"), ["`tamis` must be a table [tamis], not a whole number"]);
    assert_eq!(
        messages("suite = [1]\n"),
        ["`suite` must hold tables [[suite]], not a whole number"]
    );
}

#[test]
fn wrong_values_of_tamis() {
    for (line, expected) in [
        ("store = '.'", "`store` must be a folder of its own; for example: store = \".tamis\""),
        ("jobs = 0", "`jobs` must be 1 or more; remove it otherwise"),
        ("jobs = -1", "`jobs` must be 1 or more; remove it otherwise"),
        (
            "max-size = '1 lot'",
            "size \"1 lot\" has the unknown unit `lot` (known: B, KB, MB, GB, TB, KiB, MiB, GiB, TiB); for example: max-size = \"1GiB\"",
        ),
        (
            "max-age = 90",
            "`max-age` must be a string, not a whole number; for example: max-age = \"90d\"",
        ),
        (
            "network = 'always_run'",
            "`network` cannot be \"always_run\" (one of: warn, always-run, ignore); did you mean `always-run`?",
        ),
        (
            "allow-services = ['5432']",
            "`5432` is neither host:port nor the path of a socket; for example: allow-services = [\"localhost:5432\", \"/run/foo.sock\"]",
        ),
        (
            "ignore = '*.log'",
            "`ignore` must be a list of strings, not a string; for example: ignore = [\"**/*.log\", \"docs/**\"]",
        ),
        (
            "ignore = [1]",
            "`ignore` must hold strings only, not a whole number; for example: ignore = [\"**/*.log\", \"docs/**\"]",
        ),
        ("ignore = ['']", "empty glob in `ignore`"),
        (
            "ignore = ['!a']",
            "`!a` in `ignore`: exceptions are written as a [[rule]] with as = \"raw\"",
        ),
        ("ignore = ['./']", "`./` in `ignore`: that is everything; name what is meant"),
        ("ignore = ['**/*']", "`**/*` in `ignore`: that is everything; name what is meant"),
        (
            "default-ignore = 'yes'",
            "`default-ignore` must be true or false, not a string; for example: default-ignore = true",
        ),
        (
            "environment = ['A']",
            "`environment` must be a table, not a list; for example: [tamis.environment] with ignore = [\"BUILD_*\"]",
        ),
        (
            "environment.ignored = ['A']",
            "unknown key `ignored` in [tamis.environment]; did you mean `ignore`?",
        ),
    ] {
        assert_eq!(tamis_message(line), expected, "{line}");
    }
    let message = tamis_message("ignore = ['a[']");
    assert!(message.starts_with("`a[` in `ignore` is no valid glob: "), "{message}");
}

#[test]
fn wrong_values_of_a_suite() {
    for (line, expected) in [
        (
            "folder = '../x'",
            "`folder` must be below the root and relative to it; for example: folder = \"sub\"",
        ),
        ("timeout = '0s'", "`timeout` must be longer than nothing"),
        (
            "env = { A = 1 }",
            "variable `A` must be a string, not a whole number; for example: env = { LANG = \"C\" }",
        ),
        ("env = { 'A=B' = '' }", "`A=B` cannot be the name of a variable"),
        (
            "env = 'A=1'",
            "`env` must be a table of strings, not a string; for example: env = { LANG = \"C\" }",
        ),
        (
            "always-run = true",
            "`always-run` must be a list of strings, not true or false; for example: always-run = [\"net_*\"]",
        ),
    ] {
        assert_eq!(suite_message(line), expected, "{line}");
    }
}

#[test]
fn wrong_commands_and_items() {
    for (lines, expected) in [
        (
            "each='*.sh'\nrun='bash'",
            "`run` has no {} for the item, so every test would be the same; for example: run = \"bash {}\"",
        ),
        (
            "run='bash {}'",
            "`run` has a {} for the item, but there is no `each`; for example: each = \"tests/*.sh\"",
        ),
        (
            "run='make && ./x'",
            "`run` uses `&`, but no shell is started; write [\"sh\", \"-c\", \"...\"] where you want one",
        ),
        ("run=''", "`run` names no program; for example: run = \"make test\""),
        ("run=[]", "`run` names no program; for example: run = \"make test\""),
        (
            "run=1",
            "`run` must be a string or a list of strings, not a whole number; for example: run = \"make test\"",
        ),
        ("each=' '\nrun='a {}'", "empty item in `each`; for example: each = \"tests/*.sh\""),
        (
            "each=3\nrun='a {}'",
            "`each` must be a glob, a list of globs or names, or { command = \"...\" }, not a whole number; for example: each = \"tests/*.sh\"",
        ),
        (
            "each='/abs/*'\nrun='a {}'",
            "globs of `each` stay inside the suite's `folder`; set `folder` or list names instead",
        ),
        (
            "each={ comand = 'ls' }\nrun='a {}'",
            "`each` needs a `command`; for example: each = { command = \"ls tests\" }",
        ),
        (
            "each={ command = 'ls | sort' }\nrun='a {}'",
            "`command` uses `|`, but no shell is started; write [\"sh\", \"-c\", \"...\"] where you want one",
        ),
    ] {
        let found = messages(&format!("[[suite]]\nname='s'\n{lines}\n"));
        assert_eq!(found[0], expected, "{lines}");
    }
}

#[test]
fn wrong_rules() {
    for (lines, expected) in [
        ("as='raw'", "a rule needs a `path`; for example: path = \"**/*.xml\""),
        ("path='a'", "a rule needs `as`; for example: as = \"xml\""),
        (
            "path='a'\nas='xlm'",
            "`as` cannot be \"xlm\" (one of: raw, ignore, listing, xml, json, toml, text, class, or { command = [...] }); did you mean `xml`?",
        ),
        (
            "path='a'\nas=1",
            "`as` must be one of raw, ignore, listing, xml, json, toml, text, class or a command, not a whole number; for example: as = { command = [\"./fingerprint.sh\", \"{}\"] }",
        ),
        (
            "path='a'\nas={}",
            "`as` needs a `command` or `ignore-if`; for example: as = { command = [\"./fingerprint.sh\", \"{}\"] }",
        ),
        (
            "path='a'\nas={command=['a'], ignore-if=['b']}",
            "`as` has either a `command` or `ignore-if`; write two rules",
        ),
        (
            "path='a'\nas='raw'\nif='size = 3'",
            "`if`: `size` is nothing to ask about (one of: path, folder, name, extension, program); for example: if = \"name ends-with '.log' and not program = 'logrotate'\"",
        ),
        (
            "path='a'\nas='raw'\nprograms='x'",
            "unknown key `programs` in [[rule]]; did you mean `program`?",
        ),
    ] {
        assert_eq!(messages(&format!("[[rule]]\n{lines}\n")), [expected], "{lines}");
    }
}

proptest! {
    #[test]
    fn no_text_panics(text in "(\\[\\[?(suite|rule|tamis)\\]?\\]\n|[a-z-]{1,5} ?= ?['\"\\[{0-9a-z,]{0,6}['\"\\]}]?\n|\\PC{0,5}){0,8}") {
        if let Err(problems) = parse(text.as_bytes(), Path::new("f")) {
            prop_assert!(!problems.list.is_empty());
            prop_assert!(!problems.to_string().is_empty());
        }
    }

    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
        let _ = parse(&bytes, Path::new("f")).map_err(|problems| problems.to_string());
    }
}
