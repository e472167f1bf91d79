//! Values that outlive the test which made them, one trap for each place where they can be
//! (`fixtures/kept-state`): a later test gets the value without running what made it, and has to run when
//! that changes. All traps share one JVM, as test classes do.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use tamis_testkit::runner::JUNIT4;
use tamis_testkit::{Call, Project};

const CONSOLE: &str = "org.junit.platform:junit-platform-console-standalone:1.10.2";
const TESTNG: [&str; 4] = [
    "org.testng:testng:7.5.1",
    "com.beust:jcommander:1.78",
    "org.slf4j:slf4j-api:1.7.36",
    "org.webjars:jquery:3.5.1",
];
const IMPORTS: &str = "import java.lang.invoke.*; import java.util.*; import java.util.concurrent.*; \
    import java.util.concurrent.atomic.*; import java.util.function.*; import java.util.stream.*;";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Runner {
    Platform,
    PlatformInParallel,
    Junit4,
    TestNg,
}

impl Runner {
    fn jars(self) -> Vec<&'static str> {
        match self {
            Self::Platform | Self::PlatformInParallel => vec![CONSOLE],
            Self::Junit4 => JUNIT4.to_vec(),
            Self::TestNg => TESTNG.to_vec(),
        }
    }

    /// The annotation of a test, and what it asserts.
    fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Platform | Self::PlatformInParallel => (
                "org.junit.jupiter.api.Test",
                "org.junit.jupiter.api.Assertions.assertEquals(\"one\", Keep.get())",
            ),
            Self::Junit4 => {
                ("org.junit.Test", "org.junit.Assert.assertEquals(\"one\", Keep.get())")
            }
            Self::TestNg => (
                "org.testng.annotations.Test",
                "org.testng.Assert.assertEquals(Keep.get(), \"one\")",
            ),
        }
    }

    fn command(self, project: &Project, tests: &[String]) -> Vec<String> {
        let path = format!("classes:{}", project.jars());
        let mut words: Vec<String> = vec!["java".into(), "-ea".into()];
        let mut add = |more: &[&str]| words.extend(more.iter().map(|word| (*word).to_owned()));
        match self {
            Self::Platform | Self::PlatformInParallel => {
                add(&["-jar", &project.jar(0), "execute", "--details=none", "-cp", &path]);
                tests.iter().for_each(|test| add(&["-c", test]));
                let parallel = "junit.jupiter.execution.parallel";
                if self == Self::PlatformInParallel {
                    add(&["--config", &format!("{parallel}.enabled=true")]);
                    add(&["--config", &format!("{parallel}.mode.classes.default=concurrent")]);
                    add(&["--config", &format!("{parallel}.config.strategy=fixed")]);
                    add(&["--config", &format!("{parallel}.config.fixed.parallelism=3")]);
                }
            }
            Self::Junit4 => {
                add(&["-cp", &path, "org.junit.runner.JUnitCore"]);
                tests.iter().for_each(|test| add(&[test]));
            }
            Self::TestNg => {
                add(&["-cp", &path, "org.testng.TestNG", "-testclass", &tests.join(",")]);
            }
        }
        words
    }
}

#[derive(Debug)]
struct Trap {
    name: String,
    package: String,
    source: String,
}

fn fixture() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/kept-state")
}

fn traps() -> Vec<Trap> {
    let text = fs::read_to_string(fixture().join("traps.txt")).unwrap();
    let mut traps: Vec<Trap> = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with('#') && !line.starts_with("== ")) {
        if let Some(name) = line.strip_prefix("-- ") {
            let package = format!("t{:03}", traps.len());
            traps.push(Trap { name: name.to_owned(), package, source: String::new() });
        } else if let Some(trap) = traps.last_mut() {
            writeln!(trap.source, "{}", line.replace("$P", &trap.package)).unwrap();
        }
    }
    traps
}

impl Trap {
    /// The first test calls something else than the second.
    fn has_own_start(&self) -> bool {
        self.source.contains("static void warm(")
    }

    fn write(&self, project: &Project, runner: Runner, by_method: bool) -> Vec<String> {
        let (test, asserts) = runner.words();
        let Self { package, source, .. } = self;
        let file = |name: &str, text: String| {
            project.add(format!("src/{package}/{name}.java"), format!("package {package}; {text}"));
        };
        let method = |name: &str, what: &str| {
            format!("@{test} public void {name}() throws Throwable {{ {what}; }}")
        };
        let class = |name: &str, methods: &[String]| {
            file(name, format!("public class {name} {{ {} }}", methods.join(" ")));
            format!("{package}.{name}")
        };
        file("Keep", format!("{IMPORTS}\n{source}"));
        let parser = "class Parser { static String parse() { return \"one\"; } \
             String own() { return parse(); } }";
        file("Parser", parser.to_owned());
        if by_method {
            return vec![class("MTest", &[method("a", asserts), method("b", asserts)])];
        }
        let start = if self.has_own_start() { "Keep.warm()" } else { "Keep.get()" };
        let (first, second) = (method("a", start), method("b", asserts));
        vec![class("ATest", &[first]), class("BTest", &[second])]
    }
}

fn project(runner: Runner) -> Option<Project> {
    let mut project = Project::java(&runner.jars())?;
    for file in fs::read_dir(fixture().join("lib")).unwrap().flatten() {
        let name = format!("library/lib/{}", file.file_name().display());
        project.add(name, fs::read_to_string(file.path()).unwrap());
    }
    project.add_library("library");
    Some(project)
}

fn run(project: &Project, runner: Runner, options: &[&str], tests: &[String]) -> Call {
    let words = runner.command(project, tests);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    project.call_with(&[options, &["--no-command-skip"]].concat(), &words)
}

/// Every parser changes: each second test has to run. One that uses none of this does not.
fn nothing_is_missed(runner: Runner, by_method: bool) {
    let Some(project) = project(runner) else { return };
    let options: &[&str] = if by_method { &["--granularity", "method"] } else { &[] };
    let traps: Vec<Trap> =
        traps().into_iter().filter(|trap| !by_method || !trap.has_own_start()).collect();
    assert!(traps.len() > 60, "{}", traps.len());
    let (test, _) = runner.words();
    let plain =
        format!("package t; public class PlainTest {{ @{test} public void plain() {{ }} }}");
    project.add("src/t/PlainTest.java", plain);
    let mut tests = vec!["t.PlainTest".to_owned()];
    tests.extend(traps.iter().flat_map(|trap| trap.write(&project, runner, by_method)));
    project.compile();
    let first = run(&project, runner, options, &tests);
    let is_plain = |name: &String| name.starts_with("t.PlainTest");
    assert!(first.ran.keys().any(is_plain), "{first:?}");
    for Trap { package, .. } in &traps {
        project.replace(format!("src/{package}/Parser.java"), "\"one\"", "\"two\"");
    }
    project.compile();
    let second = run(&project, runner, options, &tests);
    let runs = |name: &str| second.ran.contains_key(name);
    let missed: Vec<&str> = traps
        .iter()
        .filter(|Trap { package, .. }| match by_method {
            false => !runs(&format!("{package}.BTest")),
            true => ["a", "b"].iter().any(|method| {
                let class = format!("{package}.MTest");
                !runs(&class) && !runs(&format!("{class}#{method}"))
            }),
        })
        .map(|trap| trap.name.as_str())
        .collect();
    assert!(missed.is_empty(), "{runner:?} by method: {by_method}: {missed:#?}");
    // There test classes end together, and each has what ran until then.
    if !matches!(runner, Runner::PlatformInParallel | Runner::TestNg) {
        assert!(!second.ran.keys().any(is_plain), "{second:?}");
    }
}

#[test]
fn kept_for_classes_of_the_junit_platform() {
    nothing_is_missed(Runner::Platform, false);
}

#[test]
fn kept_for_classes_that_run_at_the_same_time() {
    nothing_is_missed(Runner::PlatformInParallel, false);
}

#[test]
fn kept_for_methods_of_the_junit_platform() {
    nothing_is_missed(Runner::Platform, true);
}

#[test]
fn kept_for_classes_of_junit_4() {
    nothing_is_missed(Runner::Junit4, false);
}

#[test]
fn kept_for_classes_of_testng() {
    nothing_is_missed(Runner::TestNg, false);
}
