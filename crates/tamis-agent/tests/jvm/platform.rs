//! The JUnit platform: Jupiter, JUnit 4 through its vintage engine, parallel execution.

use crate::harness::{JvmReport, Program, tried_jdks};
use tamis_jvm_wire::Verdict::{Failed, Passed};
use tamis_testkit::runner::JUNIT4;
use tamis_testkit::{Sources, classpath_of, jars, jdk};

const CONSOLE: &str = "org.junit.platform:junit-platform-console-standalone:1.10.2";
fn sources() -> Sources {
    Sources::new()
        .release(8)
        .file(
            "a/Thing.java",
            "package a; public class Thing {
            public int one() { return 1; } public int two() { return 2; }
            public int three() { return 3; } }",
        )
        .file(
            "a/FirstTest.java",
            "package a; import org.junit.jupiter.api.*; class FirstTest {
            @BeforeAll static void all() { new Thing().three(); }
            @Test void one() { new Thing().one(); }
            @RepeatedTest(3) void again() {}
            @TestFactory java.util.List<DynamicTest> made() {
              return java.util.Collections.singletonList(
                DynamicTest.dynamicTest(\"d\", () -> new Thing().one())); }
            @Nested class Deep { @Test void two() { new Thing().two(); } } }",
        )
        .file(
            "a/SecondTest.java",
            "package a; import org.junit.jupiter.api.*; class SecondTest {
            @Test void two() { new Thing().two(); }
            @Disabled @Test void off() { new Thing().one(); } }",
        )
        .file(
            "a/RedTest.java",
            "package a; import org.junit.jupiter.api.*; class RedTest {
            @Test void red() { Assertions.fail(); } }",
        )
        .file(
            "a/RedBefore.java",
            "package a; import org.junit.jupiter.api.*; class RedBefore {
            @BeforeAll static void all() { throw new RuntimeException(); } @Test void never() {} }",
        )
        .file(
            "a/UnsureTest.java",
            "package a; import org.junit.jupiter.api.*; class UnsureTest {
            @Test void assumed() { Assumptions.assumeTrue(false); } }",
        )
        .file(
            "a/OldTest.java",
            "package a; public class OldTest {
            @org.junit.Test public void three() { new Thing().three(); } }",
        )
}

fn run(parallel: bool, check: impl Fn(&str, &JvmReport)) {
    let Some(console) = jars(&[CONSOLE]) else { return };
    let Some(junit4) = jars(&JUNIT4) else { return };
    let jars = [console, junit4].concat();
    let classes = sources().classpaths(&jars).compile(&jdk());
    for jdk in &tried_jdks() {
        let mut arguments: Vec<String> =
            ["org.junit.platform.console.ConsoleLauncher", "execute"].map(str::to_owned).to_vec();
        for test in ["FirstTest", "SecondTest", "RedTest", "RedBefore", "UnsureTest", "OldTest"] {
            arguments.push(format!("--select-class=a.{test}"));
        }
        if parallel {
            for setting in ["enabled=true", "mode.default=concurrent"] {
                arguments.push(format!("--config=junit.jupiter.execution.parallel.{setting}"));
            }
        }
        let class_path = classpath_of(&classes, &jars);
        let program = Program { jdk, class_path, jvm: vec!["-Xcheck:jni".into()], arguments };
        let (output, report) = program.run();
        let text = String::from_utf8_lossy(&output.stdout);
        let warnings = String::from_utf8_lossy(&output.stderr).to_lowercase();
        assert!(!warnings.contains("tamis"), "{warnings}");
        report.assert_sound();
        check(&text, &report);
    }
}

#[test]
fn every_class_of_the_platform_is_a_test() {
    run(false, |text, report| {
        assert!(text.contains("2 tests failed") || text.contains("1 tests failed"), "{text}");
        let first = report.ran("a.FirstTest");
        for method in ["Thing.one", "Thing.two", "Thing.three", "FirstTest.all", "FirstTest.again"]
        {
            assert!(first.contains(&format!("a.{method}").as_str()), "{method}: {first:?}");
        }
        let deep = report.ran("a.FirstTest$Deep");
        assert!(deep.contains(&"a.Thing.two") && !deep.contains(&"a.FirstTest.again"), "{deep:?}");
        assert_eq!(
            report.ran("a.SecondTest"),
            ["a.SecondTest.<init>", "a.SecondTest.two", "a.Thing.<init>", "a.Thing.two"]
        );
        assert_eq!(
            report.ran("a.OldTest"),
            ["a.OldTest.<init>", "a.OldTest.three", "a.Thing.<init>", "a.Thing.three"]
        );
        assert!(!report.tests.get("").is_some_and(|t| t.methods.contains("a.Thing.one")));
        for test in ["FirstTest", "FirstTest$Deep", "SecondTest", "UnsureTest", "OldTest"] {
            assert_eq!(report.verdicts(&format!("a.{test}")), [Passed], "{test}");
        }
        for test in ["RedTest", "RedBefore"] {
            assert_eq!(report.verdicts(&format!("a.{test}")), [Failed], "{test}");
        }
    });
}

#[test]
fn tests_in_parallel_lose_nothing() {
    run(true, |_, report| {
        assert!(report.ran("a.FirstTest").contains(&"a.Thing.one"));
        assert!(report.ran("a.FirstTest$Deep").contains(&"a.Thing.two"));
        assert!(report.ran("a.SecondTest").contains(&"a.SecondTest.two"));
        assert!(report.ran("a.SecondTest").contains(&"a.Thing.two"));
        assert_eq!(report.verdicts("a.RedTest"), [Failed]);
        assert_eq!(report.verdicts("a.RedBefore"), [Failed]);
    });
}
