//! JUnit 4: which methods belong to which test class.

use crate::harness::{Program, tried_jdks};
use tamis_jvm_wire::Verdict::{Failed, Passed};
use tamis_testkit::runner::JUNIT4;
use tamis_testkit::{Sources, classpath_of, jars, jdk};

fn sources() -> Sources {
    Sources::new()
        .release(8)
        .file("a/Thing.java", "package a; public class Thing {
            static int made; public Thing() { made++; }
            public int one() { return 1; } public int two() { return 2; }
            public static java.util.function.IntSupplier later() { return () -> 3; } }")
        .file("a/OneTest.java", "package a; import org.junit.*; public class OneTest {
            @BeforeClass public static void before() {}
            @Test public void one() { Assert.assertEquals(1, new Thing().one()); } }")
        .file("a/TwoTest.java", "package a; import org.junit.*; public class TwoTest {
            @Test public void two() { Assert.assertEquals(2, new Thing().two()); }
            @Test public void lambda() { Assert.assertEquals(3, Thing.later().getAsInt()); } }")
        .file("a/RedTest.java", "package a; import org.junit.*; public class RedTest {
            @Test public void red() { Assert.fail(); } @Test public void green() {} }")
        .file("a/Both.java", "package a; import org.junit.runner.*; import org.junit.runners.*;
            @RunWith(Suite.class) @Suite.SuiteClasses({OneTest.class, TwoTest.class})
            public class Both {}")
        .file("a/EachTest.java", "package a; import org.junit.*; import org.junit.runner.*;
            import org.junit.runners.*; @RunWith(Parameterized.class) public class EachTest {
            @Parameterized.Parameters public static Iterable<Object[]> data() {
              return java.util.Arrays.asList(new Object[]{1}, new Object[]{2}); }
            public EachTest(int n) {} @Test public void each() { new Thing(); } }")
        .file("a/Nests.java", "package a; import org.junit.*; import org.junit.runner.*;
            import org.junit.experimental.runners.*; @RunWith(Enclosed.class) public class Nests {
            public static class Inner { @Test public void in() { new Thing().two(); } } }")
        .file("a/OddTest.java", "package a; import org.junit.runner.*;
            import org.junit.runner.notification.*;
            @RunWith(OddTest.Odd.class) public class OddTest {
            public static class Odd extends Runner {
              final Class<?> type; public Odd(Class<?> type) { this.type = type; }
              public Description getDescription() { return Description.createSuiteDescription(type); }
              public void run(RunNotifier notifier) { new Thing().one(); } } }")
        .file("a/BrokenTest.java", "package a; public class BrokenTest { }")
        .file("a/OldTest.java", "package a; public class OldTest extends junit.framework.TestCase {
            public void testOne() { assertEquals(1, new Thing().one()); } }")
}

#[test]
fn every_test_class_has_its_own_methods() {
    let Some(jars) = jars(&JUNIT4) else { return };
    let classes = sources().classpaths(&jars).compile(&jdk());
    for jdk in &tried_jdks() {
        let tests = [
            "OneTest",
            "TwoTest",
            "RedTest",
            "EachTest",
            "Nests",
            "OddTest",
            "BrokenTest",
            "OldTest",
        ];
        let program = Program {
            jvm: vec!["-Xcheck:jni".into(), "-Xverify:all".into()],
            ..Program::junit4(
                jdk,
                classpath_of(&classes, &jars),
                &tests.map(|test| format!("a.{test}")),
            )
        };
        let (output, report) = program.run();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(text.contains("Tests run: 10,  Failures: 2"), "{text}");
        let warnings = String::from_utf8_lossy(&output.stderr).to_lowercase();
        assert!(!warnings.contains("tamis"), "{warnings}");
        report.assert_sound();
        let common = ["a.OneTest.<init>", "a.OneTest.before", "a.OneTest.one"];
        let thing = ["a.Thing.<init>", "a.Thing.one"];
        assert_eq!(report.ran("a.OneTest"), [&common[..], &thing].concat());
        assert_eq!(
            report.ran("a.TwoTest"),
            [
                "a.Thing.<init>",
                "a.Thing.lambda$later$0",
                "a.Thing.later",
                "a.Thing.two",
                "a.TwoTest.<init>",
                "a.TwoTest.lambda",
                "a.TwoTest.two"
            ]
        );
        assert_eq!(
            report.ran("a.EachTest"),
            ["a.EachTest.<init>", "a.EachTest.each", "a.Thing.<init>"]
        );
        // What runners do before they run: parameters, their own construction, JUnit 3's objects.
        assert_eq!(
            report.ran(""),
            [
                "a.EachTest.data",
                "a.OddTest$Odd.<init>",
                "a.OddTest$Odd.getDescription",
                "a.OldTest.<init>"
            ]
        );
        assert!(report.ran("a.Nests$Inner").contains(&"a.Thing.two"));
        assert!(report.ran("a.Nests").contains(&"a.Thing.two"));
        assert!(report.ran("a.OddTest").contains(&"a.Thing.one"));
        assert!(report.ran("a.OldTest").contains(&"a.Thing.one"));
        for test in ["OneTest", "TwoTest", "EachTest", "Nests", "Nests$Inner", "OddTest", "OldTest"]
        {
            assert_eq!(report.verdicts(&format!("a.{test}")), [Passed], "{test}");
        }
        for test in ["RedTest", "BrokenTest"] {
            assert_eq!(report.verdicts(&format!("a.{test}")), [Failed], "{test}");
        }
        let hello = report.hello.expect("checked");
        assert!(hello.command.starts_with("org.junit.runner.JUnitCore a.OneTest"), "{hello:?}");
        assert!(hello.vm_arguments.iter().any(|a| a == "-Xcheck:jni"), "{hello:?}");
        assert!(hello.java_version.contains(&jdk.release.to_string()), "{hello:?}");
        assert!(hello.class_path.contains("junit-4.13.2.jar"), "{hello:?}");
    }
}

#[test]
fn a_suite_and_its_members_are_open_together() {
    let Some(jars) = jars(&JUNIT4) else { return };
    let classes = sources().classpaths(&jars).compile(&jdk());
    for jdk in &tried_jdks() {
        let program = Program::junit4(jdk, classpath_of(&classes, &jars), &["a.Both"]);
        let (_, report) = program.run();
        report.assert_sound();
        assert!(report.ran("a.OneTest").contains(&"a.Thing.one"));
        assert!(!report.ran("a.OneTest").contains(&"a.Thing.two"));
        assert!(report.ran("a.Both").contains(&"a.Thing.one"));
        assert!(report.ran("a.Both").contains(&"a.Thing.two"));
        assert_eq!(report.verdicts("a.Both"), [Passed]);
    }
}
