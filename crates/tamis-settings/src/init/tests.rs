use super::*;
use crate::settings::{Each, Item, Settings};

/// The settings that `init` writes for a folder with these files, and their text.
fn init_for(files: &[(&str, &str)]) -> (Settings, String) {
    let folder = tempfile::tempdir().unwrap();
    for (name, content) in files {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }
    let text = init(folder.path());
    match crate::parse(text.as_bytes(), Path::new("tamis.toml")) {
        Ok(settings) => (settings, text),
        Err(problems) => panic!("{problems}\n{text}"),
    }
}

fn suites(files: &[(&str, &str)]) -> Vec<(String, String)> {
    let (settings, _) = init_for(files);
    settings.suites.iter().map(|suite| (suite.name.clone(), suite.run.join(" "))).collect()
}

fn one(files: &[(&str, &str)]) -> (String, String) {
    let mut found = suites(files);
    assert_eq!(found.len(), 1, "{found:?}");
    found.remove(0)
}

fn pair(name: &str, run: &str) -> (String, String) {
    (name.to_owned(), run.to_owned())
}

#[test]
fn nothing_found_gives_an_example_that_is_right_when_uncommented() {
    let (settings, text) = init_for(&[("README", "")]);
    assert_eq!(settings, Settings::default());
    assert!(text.contains("No tests of a known kind were found here."));
    let uncommented: String = text
        .lines()
        .map(|line| match line.strip_prefix("# ") {
            Some(rest) if rest.starts_with("[[") || rest.contains(" = ") => format!("{rest}\n"),
            _ => format!("{line}\n"),
        })
        .collect();
    let settings = crate::parse(uncommented.as_bytes(), Path::new("tamis.toml"));
    let settings = settings.unwrap_or_else(|problems| panic!("{problems}"));
    assert_eq!(settings.suites.len(), 2);
    assert_eq!(settings.store.as_deref(), Some(".tamis"));
}

#[test]
fn a_shell_project_as_the_user_sees_it() {
    let (settings, text) = init_for(&[
        ("tests/a.sh", "#!/bin/bash\n"),
        ("tests/b.sh", "#!/bin/sh\n"),
        ("Makefile", "all:\n\ttrue\ntest: all\n\tfor t in tests/*.sh; do bash $$t; done\n"),
    ]);
    let expected = r#"
# Shell scripts: 2 files, each is one test.
[[suite]]
name = "shell"
each = "tests/*.sh"
run = "bash {}"

# Makefile has the target test: all its tests are one test.
# Not in use, because it would run tests of the suites above a second time:
# [[suite]]
# name = "make"
# run = "make test"
"#;
    assert_eq!(text.strip_prefix(HEAD).unwrap().strip_prefix(NO_IGNORE).unwrap(), expected);
    assert_eq!(settings.suites[0].each, Each::Items(vec![Item::Glob("tests/*.sh".into())]));
}

#[test]
fn one_test_per_file() {
    assert_eq!(one(&[("test/a.sh", "#! /bin/sh\n")]), pair("shell", "sh {}"));
    assert_eq!(one(&[("t/basic.t", "")]), pair("tap", "prove {}"));
    assert_eq!(one(&[("test/unit/a.bats", "")]), pair("bats", "bats {}"));
}

#[test]
fn what_a_front_end_does_by_itself() {
    let whole = |words: &str| pair("pytest", &format!("python3 -m pytest -q{words}"));
    assert_eq!(one(&[("tests/test_a.py", "")]), whole(" tests"));
    assert_eq!(one(&[("tests/test_a.py", ""), ("test/b_test.py", "")]), whole(" tests test"));
    let set_up = ("pyproject.toml", "[tool.pytest.ini_options]");
    assert_eq!(one(&[set_up, ("tests/test_a.py", ""), ("test_b.py", "")]), whole(""));
    let (settings, text) = init_for(&[("tests/test_a.py", ""), ("tests/x/b_test.py", "")]);
    assert_eq!(settings.suites[0].each, Each::Once);
    assert!(text.contains("# Python tests in 2 files.\n"), "{text}");
    assert!(
        text.contains("# `tamis python3 -m pytest` needs no suite: each test function"),
        "{text}"
    );
    let (settings, text) = init_for(&[("go.mod", "module x\n")]);
    assert_eq!(settings.suites[0].run, ["go", "test", "./..."]);
    assert!(text.contains("# `tamis go test ./...` needs no suite: each package"), "{text}");
    let (_, text) = init_for(&[("pom.xml", ""), ("mvnw", "")]);
    assert!(text.contains("# `tamis ./mvnw test` needs no suite: each test class"), "{text}");
}

#[test]
fn ctest_by_the_names_that_it_lists() {
    let cmake = ("CMakeLists.txt", "project(x)\nEnable_Testing()\n");
    let (settings, text) = init_for(&[cmake]);
    let suite = &settings.suites[0];
    let Each::Json(words, keys) = &suite.each else { panic!("{text}") };
    assert!(words[2].starts_with("{ cmake -B build && cmake --build build; }"), "{words:?}");
    assert_eq!(keys, "tests.name");
    let expected =
        ["ctest", "--test-dir", "build", "--output-on-failure", "--no-tests=error", "-R"];
    let command = suite.command_for("a");
    assert_eq!(&command[..6], expected);
    assert_eq!(command[6], "^a$");
    assert_eq!(settings.ignore, ["build/Testing/**"]);
    let (settings, _) = init_for(&[cmake, ("_build/CMakeCache.txt", "")]);
    let Each::Json(words, _) = &settings.suites[0].each else { panic!("no names") };
    assert!(words[2].starts_with("{ cmake --build _build; }"), "{words:?}");
}

fn items(settings: &Settings, at: usize) -> Vec<String> {
    let Each::Items(items) = &settings.suites[at].each else { panic!("no items") };
    let name = |item: &Item| match item {
        Item::Name(name) | Item::Glob(name) => name.clone(),
    };
    items.iter().map(name).collect()
}

#[test]
fn cargo_by_test_binary() {
    let (settings, _) = init_for(&[
        (
            "Cargo.toml",
            "[package]\nname = 'x'\n[[test]]\nname = 'slow'\nrequired-features = ['s']\n",
        ),
        ("src/lib.rs", ""),
        ("tests/a.rs", ""),
        ("tests/b/main.rs", ""),
        ("tests/slow.rs", ""),
        ("tests/common/mod.rs", ""),
    ]);
    assert_eq!(items(&settings, 0), ["--lib", "--test=a", "--test=b", "--doc"]);
    assert_eq!(settings.suites[0].command_for("--test=a"), ["cargo", "test", "--test=a"]);
    assert_eq!(settings.suites[0].jobs.map(usize::from), Some(1));
    let (settings, _) = init_for(&[
        ("Cargo.toml", "[workspace]\nmembers = ['crates/*', 'tool']\n"),
        ("crates/a/Cargo.toml", "[package]\nname = 'a-name'\n"),
        ("crates/b/Cargo.toml", "[package]\nname = 'b'\n"),
        ("tool/Cargo.toml", "[package]\nname = 'tool'\n"),
    ]);
    assert_eq!(items(&settings, 0), ["--package=a-name", "--package=b", "--package=tool"]);
    assert_eq!(settings.suites.len(), 1, "members belong to the workspace");
}

#[test]
fn test_files_of_javascript_runners() {
    for (script, file, run) in [
        ("vitest", "src/a.test.ts", "node_modules/.bin/vitest run {}"),
        ("vitest run --coverage", "a.spec.js", "node_modules/.bin/vitest run {}"),
        (
            "jest --ci",
            "lib/__tests__/a.js",
            "node_modules/.bin/jest --no-cache --runTestsByPath {}",
        ),
        (
            "mocha --require test/support/env --check-leaks test/",
            "test/a.js",
            "node_modules/.bin/mocha --require test/support/env --check-leaks {}",
        ),
        ("npm run lint && nyc mocha", "test/a.js", "node_modules/.bin/mocha {}"),
        ("node --test", "test/a.js", "node --test {}"),
        ("node --import tsx --test 'test/**/*.ts'", "test/x/a.ts", "node --import tsx --test {}"),
    ] {
        let package = format!("{{\"scripts\":{{\"test\":\"{script}\"}}}}");
        let found =
            one(&[("package.json", &package), (file, ""), ("node_modules/x/a.test.js", "")]);
        assert_eq!(found, pair("node", run), "{script}");
    }
    let (settings, _) = init_for(&[
        ("package.json", r#"{"scripts":{"test":"cross-env NODE_ENV=test mocha"}}"#),
        ("test/a.js", ""),
    ]);
    assert_eq!(settings.suites[0].env.get("NODE_ENV").map(String::as_str), Some("test"));
    for script in ["mocha | tee log", "mocha && jest", "tap", "mocha $X"] {
        let package = format!("{{\"scripts\":{{\"test\":\"{script}\"}}}}");
        let found = one(&[("package.json", &package), ("test/a.js", "")]);
        assert_eq!(found, pair("node", "npm test"), "{script}");
    }
}

#[test]
fn the_folders_of_a_monorepo() {
    let (settings, _) = init_for(&[
        ("README.md", ""),
        ("api/go.mod", "module x\n"),
        ("libs/parser/Cargo.toml", "[package]\nname = 'p'\n"),
        ("libs/parser/src/lib.rs", ""),
        ("services/web/package.json", r#"{"scripts":{"test":"vitest"}}"#),
        ("services/web/src/a.test.ts", ""),
        ("services/web/node_modules/y/package.json", r#"{"scripts":{"test":"x"}}"#),
        ("services/jobs/pyproject.toml", "[tool.pytest.ini_options]\n"),
        ("services/jobs/tests/test_a.py", ""),
        (".venv/bin/python", ""),
        ("java/pom.xml", "<modules><module>a</module></modules>"),
        ("java/a/pom.xml", ""),
    ]);
    let found: Vec<(&str, &str, &str)> = settings
        .suites
        .iter()
        .map(|suite| (suite.name.as_str(), suite.folder.as_str(), suite.run[0].as_str()))
        .collect();
    let expected = [
        ("go-api", "api", "go"),
        ("maven-java", "java", "mvn"),
        ("cargo-libs-parser", "libs/parser", "cargo"),
        ("pytest-services-jobs", "services/jobs", "../../.venv/bin/python"),
        ("node-services-web", "services/web", "node_modules/.bin/vitest"),
    ];
    assert_eq!(found, expected);
}

#[test]
fn what_others_run_already_is_not_in_use() {
    let names = |files: &[(&str, &str)]| -> Vec<String> {
        suites(files).into_iter().map(|(name, _)| name).collect()
    };
    assert_eq!(names(&[("go.mod", ""), ("Makefile", "test:\n")]), ["go"]);
    let bats = r#"{"scripts":{"test":"bats test"},"devDependencies":{"bats":"1"}}"#;
    let files = [("package.json", bats), ("test/a.bats", "")];
    assert_eq!(suites(&files), [pair("bats", "node_modules/.bin/bats {}")]);
    assert_eq!(names(&[("pom.xml", ""), ("build.gradle", "")]), ["maven"]);
    assert!(names(&[("support/build.gradle", "")]).is_empty(), "no tests there");
    assert_eq!(names(&[("app/build.gradle", ""), ("app/src/test/A.java", "")]), ["gradle-app"]);
}

#[test]
fn bats_files_that_bats_would_run() {
    let each = |files: &[(&str, &str)]| init_for(files).0.suites[0].each.clone();
    let of = |glob: &str| Each::Items(vec![Item::Glob(glob.into())]);
    let files = [("test/a.bats", ""), ("test/fixtures/fails.bats", "")];
    assert_eq!(each(&files), of("test/*.bats"));
    assert_eq!(each(&[("Makefile", "test:\n\tbats -r test\n"), files[0]]), of("test/**/*.bats"));
    assert_eq!(each(&[("test/unit/a.bats", "")]), of("test/**/*.bats"));
    // A package of that name is not one that is installed.
    let own = ("package.json", r#"{"name":"bats","scripts":{"test":"bin/bats test"}}"#);
    assert_eq!(one(&[own, ("bin/bats", ""), files[0]]), pair("bats", "bin/bats {}"));
    assert_eq!(one(&[own, files[0]]), pair("bats", "bats {}"));
}

#[test]
fn python_of_its_own_environment_and_runner() {
    let files = [("tests/test_a.py", "import unittest\n"), (".venv/bin/python", "")];
    assert_eq!(one(&files), pair("unittest", ".venv/bin/python -m unittest {}"));
    let files = [("tests/test_a.py", "import pytest, unittest\n")];
    assert_eq!(one(&files).1, "python3 -m pytest -q tests");
}

#[test]
fn one_command_for_everything() {
    for (files, name, run) in [
        (vec![("Cargo.toml", "")], "cargo", "cargo test"),
        (vec![("pom.xml", "")], "maven", "mvn -q test"),
        (vec![("pom.xml", ""), ("mvnw", "")], "maven", "./mvnw -q test"),
        (vec![("build.gradle.kts", "")], "gradle", "gradle --no-daemon test"),
        (vec![("build.gradle", ""), ("gradlew", "")], "gradle", "./gradlew --no-daemon test"),
        (vec![("meson.build", "test('a', exe)\n")], "meson", "meson test -C build"),
        (vec![("package.json", r#"{"scripts":{"test":"jest"}}"#)], "node", "npm test"),
        (
            vec![("package.json", r#"{"scripts":{"test":"jest"}}"#), ("yarn.lock", "")],
            "node",
            "yarn test",
        ),
        (vec![("Makefile", "check test:\n")], "make", "make test"),
        (vec![("Makefile", "check: all\n")], "make", "make check"),
        (vec![("pytest.ini", "")], "pytest", "python3 -m pytest -q"),
    ] {
        assert_eq!(one(&files), pair(name, run), "{files:?}");
    }
}

#[test]
fn no_tests_where_there_are_none() {
    for files in [
        vec![("Makefile", "test := 1\n.PHONY: test\n#test: x\n\ttest: y\n")],
        vec![(
            "package.json",
            r#"{"scripts":{"test":"echo \"Error: no test specified\" && exit 1"}}"#,
        )],
        vec![("package.json", "{ broken")],
        vec![("CMakeLists.txt", "project(x)")],
        vec![("tests/helper.py", "")],
    ] {
        assert_eq!(suites(&files), [], "{files:?}");
    }
}

#[test]
fn several_kinds_side_by_side() {
    let found = suites(&[
        ("Cargo.toml", ""),
        ("tests/a.sh", ""),
        ("go.mod", ""),
        ("package.json", r#"{"scripts":{"test":"x"}}"#),
        ("Makefile", "test:\n"),
    ]);
    let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["shell", "go", "cargo", "node"], "{found:?}");
}
