//! JUnit 3 with its own runner.

use crate::harness::{Program, tried_jdks};
use tamis_jvm_wire::Verdict::{Failed, Passed};
use tamis_testkit::{Sources, classpath_of, jars, jdk};

#[test]
fn suites_and_cases_of_junit_3() {
    let Some(jars) = jars(&["junit:junit:3.8.2"]) else { return };
    let sources = Sources::new()
        .release(8)
        .classpath(&jars[0])
        .file(
            "a/Thing.java",
            "package a; public class Thing {
            public int one() { return 1; } public int two() { return 2; } }",
        )
        .file(
            "a/OneTest.java",
            "package a; public class OneTest extends junit.framework.TestCase {
            public void testOne() { new Thing().one(); } public void testAgain() {} }",
        )
        .file(
            "a/RedTest.java",
            "package a; public class RedTest extends junit.framework.TestCase {
            public void testRed() { new Thing().two(); fail(); } }",
        )
        .file(
            "a/AllTests.java",
            "package a; public class AllTests { public static junit.framework.Test suite() {
            junit.framework.TestSuite all = new junit.framework.TestSuite(\"all of them\");
            all.addTestSuite(OneTest.class); all.addTestSuite(RedTest.class); return all; } }",
        );
    let classes = sources.compile(&jdk());
    for jdk in &tried_jdks() {
        let program = Program::new(
            jdk,
            classpath_of(&classes, &jars),
            &["junit.textui.TestRunner", "a.AllTests"],
        );
        let (output, report) = program.run();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(text.contains("Tests run: 3,  Failures: 1"), "{text}");
        report.assert_sound();
        assert_eq!(
            report.ran("a.OneTest"),
            ["a.OneTest.testAgain", "a.OneTest.testOne", "a.Thing.<init>", "a.Thing.one"]
        );
        assert!(report.ran("a.RedTest").contains(&"a.Thing.two"));
        assert_eq!(report.verdicts("a.OneTest"), [Passed]);
        assert_eq!(report.verdicts("a.RedTest"), [Failed]);
        // JUnit 3 makes all objects before it runs the first test.
        assert!(report.ran("").contains(&"a.RedTest.<init>"));
    }
}
