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
    assert_eq!(text.strip_prefix(HEAD).unwrap(), expected);
    assert_eq!(settings.suites[0].each, Each::Items(vec![Item::Glob("tests/*.sh".into())]));
}

#[test]
fn one_test_per_file() {
    assert_eq!(one(&[("test/a.sh", "#! /bin/sh\n")]), pair("shell", "sh {}"));
    assert_eq!(one(&[("t/basic.t", "")]), pair("tap", "prove {}"));
    assert_eq!(one(&[("test/unit/a.bats", "")]), pair("bats", "bats {}"));
    let pytest = pair("pytest", "python3 -m pytest -q -p no:cacheprovider {}");
    assert_eq!(one(&[("tests/test_a.py", "")]), pytest);
    assert_eq!(one(&[("pyproject.toml", "[tool.pytest.ini_options]"), ("test_a.py", "")]), pytest);
    let (settings, text) = init_for(&[("tests/test_a.py", ""), ("tests/x/b_test.py", "")]);
    let globs = ["tests/**/test_*.py", "tests/**/*_test.py"];
    let globs = globs.map(|glob| Item::Glob(glob.into())).to_vec();
    assert_eq!(settings.suites[0].each, Each::Items(globs));
    assert!(text.contains("# To run the whole suite as one test instead"), "{text}");
}

#[test]
fn a_go_module() {
    let (settings, _) = init_for(&[("go.mod", "module x\n")]);
    let suite = &settings.suites[0];
    assert_eq!(suite.each, Each::Command(["go", "list", "./..."].map(String::from).to_vec()));
    assert_eq!(suite.command_for("x/y"), ["go", "test", "x/y"]);
}

#[test]
fn one_command_for_everything() {
    for (files, name, run) in [
        (vec![("Cargo.toml", "")], "cargo", "cargo test"),
        (vec![("pom.xml", "")], "maven", "mvn -q test"),
        (vec![("pom.xml", ""), ("mvnw", "")], "maven", "./mvnw -q test"),
        (vec![("build.gradle.kts", "")], "gradle", "gradle --no-daemon test"),
        (vec![("build.gradle", ""), ("gradlew", "")], "gradle", "./gradlew --no-daemon test"),
        (
            vec![("CMakeLists.txt", "project(x)\nEnable_Testing()\n")],
            "ctest",
            "ctest --test-dir build --output-on-failure",
        ),
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
    assert_eq!(names, ["shell", "go", "cargo", "node"]);
}
