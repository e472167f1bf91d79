//! TestNG: classes open at their first method and end together, which is safe.

use crate::harness::{Program, tried_jdks};
use tamis_jvm_wire::Verdict::{Failed, Passed};
use tamis_testkit::{Sources, classpath_of, jars, jdk};

const OLD: [&str; 3] =
    ["org.testng:testng:6.9.10", "com.beust:jcommander:1.48", "org.beanshell:bsh:2.0b4"];
const NEW: [&str; 4] = [
    "org.testng:testng:7.5.1",
    "com.beust:jcommander:1.82",
    "org.slf4j:slf4j-api:1.7.36",
    "org.webjars:jquery:3.6.1",
];

fn try_testng(coordinates: &[&str]) {
    let Some(jars) = jars(coordinates) else { return };
    let sources = Sources::new()
        .release(8)
        .file(
            "a/Thing.java",
            "package a; public class Thing {
            public int one() { return 1; } public int two() { return 2; } }",
        )
        .file(
            "a/ATest.java",
            "package a; import org.testng.annotations.*; public class ATest {
            @BeforeClass public void before() { new Thing().two(); }
            @DataProvider public static Object[][] data() { return new Object[][]{{1}, {2}}; }
            @Test(dataProvider = \"data\") public void one(int n) { new Thing().one(); } }",
        )
        .file(
            "a/BTest.java",
            "package a; import org.testng.annotations.*; public class BTest {
            @Test public void two() { new Thing().two(); } }",
        )
        .file(
            "a/RedTest.java",
            "package a; import org.testng.annotations.*; public class RedTest {
            @Test public void red() { throw new RuntimeException(); } }",
        );
    let classes = sources.classpaths(&jars).compile(&jdk());
    for jdk in &tried_jdks() {
        let run = |tests: &str| {
            let folder = tempfile::tempdir().expect("a folder for reports");
            let reports = folder.path().to_str().expect("text");
            let arguments = ["org.testng.TestNG", "-d", reports, "-testclass", tests];
            let program = Program::new(jdk, classpath_of(&classes, &jars), &arguments);
            let (_, report) = program.run();
            report.assert_sound();
            report
        };
        let report = run("a.ATest,a.BTest");
        let ran = report.ran("a.ATest");
        for method in ["ATest.before", "ATest.one", "Thing.one", "Thing.two"] {
            assert!(ran.contains(&format!("a.{method}").as_str()), "{method}: {ran:?}");
        }
        assert!(report.ran("a.BTest").contains(&"a.Thing.two"));
        assert_eq!(report.verdicts("a.ATest"), [Passed]);
        assert_eq!(report.verdicts("a.BTest"), [Passed]);
        let report = run("a.ATest,a.RedTest,a.BTest");
        assert_eq!(report.verdicts("a.RedTest"), [Failed]);
        assert_eq!(
            (report.verdicts("a.ATest"), report.verdicts("a.BTest")),
            (&[Passed][..], &[Passed][..])
        );
    }
}

#[test]
fn testng_6() {
    try_testng(&OLD);
}

#[test]
fn testng_7() {
    try_testng(&NEW);
}
