//! `--granularity method` where the runner itself asks: the console launcher with Jupiter and the vintage
//! engine, JUnit 4's own, and what cannot be distinguished.

use tamis_testkit::{Call, Project};

const CONSOLE: &str = "org.junit.platform:junit-platform-console-standalone:1.10.2";
const JARS: [&str; 3] = [CONSOLE, "junit:junit:4.13.2", "org.hamcrest:hamcrest-core:1.3"];

const THING: &str = "package a; public class Thing {
    public int one() { return 1; } public int two() { return 2; } }";

fn project(tests: &[(&str, &str)]) -> Option<Project> {
    let project = Project::java(&JARS)?;
    project.write("src/a/Thing.java", THING);
    for (name, text) in tests {
        project.write(format!("src/a/{name}.java"), text);
    }
    project.compile();
    Some(project)
}

fn call(project: &Project, options: &[&str], words: &[&str]) -> Call {
    let all = [&["--no-command-skip", "--granularity", "method"], options].concat();
    project.call_with(&all, words)
}

fn console(project: &Project, options: &[&str]) -> Call {
    let class_path = format!("classes:{}:{}", project.jar(1), project.jar(2));
    let words = ["java", "-jar", &project.jar(0), "execute", "--disable-banner", "--details=tree"];
    let mut words = words.to_vec();
    words.extend(["--disable-ansi-colors", "-cp", &class_path, "--scan-classpath=classes"]);
    call(project, options, &words)
}

const ONE: &str = "package a; import org.junit.jupiter.api.*; class OneTest {
    @Test void one() { Log.ran(\"OneTest#one\"); new Thing().one(); }
    @Test void two() { Log.ran(\"OneTest#two\"); Assertions.assertTrue(new Thing().two() < 9); }
    @Nested class In { @RepeatedTest(2) void one() { Log.ran(\"OneTest$In#one\"); new Thing().one(); } } }";

const OLD: &str = "package a; import org.junit.*; public class OldTest {
    @Test public void one() { Log.ran(\"OldTest#one\"); new Thing().one(); }
    @Test public void two() { Log.ran(\"OldTest#two\"); new Thing().two(); } }";

#[test]
fn methods_are_left_out_with_the_proof() {
    let Some(project) = project(&[("OneTest", ONE), ("OldTest", OLD)]) else { return };
    let all = ["OldTest#one", "OldTest#two", "OneTest#one", "OneTest#two", "OneTest$In#one"];
    let first = console(&project, &[]);
    first.assert_code(0).assert_ran("the first run", &all);
    assert!(!first.stderr.contains("as a whole"), "{}", first.stderr);
    console(&project, &[]).assert_code(0).assert_ran("nothing changed", &[]);

    project.replace("src/a/Thing.java", "return 2", "return 8").compile();
    let some = console(&project, &[]);
    some.assert_code(0).assert_ran("Thing.two", &["OldTest#two", "OneTest#two"]);
    let line = "one() [S] tamis: nothing it looked at has changed (record #";
    assert!(some.stderr.contains(line), "{}", some.stderr);
    assert_eq!(some.skipped.len(), 3, "{some:?}");

    project.replace("src/a/Thing.java", "return 8", "return 9").compile();
    let red = console(&project, &[]);
    red.assert_code(1).assert_ran("red", &["OldTest#two", "OneTest#two"]);
    console(&project, &[]).assert_code(1).assert_ran("red again", &["OneTest#two"]);
    let unrecorded = console(&project, &["--no-collect"]);
    unrecorded.assert_code(1);
    assert_eq!(unrecorded.said, ["OneTest#two"], "{}", unrecorded.stderr);
    project.replace("src/a/Thing.java", "return 9", "return 2").compile();
    // The failure was seen without its method: all of the class is tried.
    let mended = console(&project, &[]);
    mended.assert_code(0);
    console(&project, &[]).assert_code(0).assert_ran("mended", &[]);
}

#[test]
fn methods_at_the_same_time_stay_together() {
    let Some(project) = project(&[("OneTest", ONE)]) else { return };
    project.write(
        "classes/junit-platform.properties",
        "junit.jupiter.execution.parallel.enabled=true\n\
         junit.jupiter.execution.parallel.mode.default=concurrent\n\
         junit.jupiter.execution.parallel.config.strategy=fixed\n\
         junit.jupiter.execution.parallel.config.fixed.parallelism=4\n",
    );
    for _ in 0..2 {
        let got = console(&project, &[]);
        got.assert_code(0);
        // Whether two of them really overlap is a matter of luck; what uses the change runs in any case.
        for used in ["OneTest#one", "OneTest$In#one"] {
            assert!(got.said.iter().any(|said| said == used), "{got:?}");
        }
        project.replace("src/a/Thing.java", "one() { return", "one() { return 10 *").compile();
    }
}

const THREE: &str = "package a; public class ThreeTest extends junit.framework.TestCase {
    private final Thing thing = new Thing(); private int kept;
    @Override protected void setUp() { new Thing().one(); kept = 1; }
    public void testOne() { Log.ran(\"ThreeTest#testOne\"); assertEquals(1, kept); kept = 7; }
    public void testTwo() { Log.ran(\"ThreeTest#testTwo\"); assertEquals(1, kept); thing.two(); } }";

const STATIC: &str = "package a; public class StaticTest extends junit.framework.TestCase {
    private static int kept;
    public void testOne() { Log.ran(\"StaticTest\"); kept = new Thing().two(); }
    public void testTwo() { Log.ran(\"StaticTest\"); assertEquals(2, kept); } }";

/// By JUnit 4's runner for them, and by their own.
#[test]
fn methods_of_junit_3() {
    let Some(project) = project(&[("ThreeTest", THREE), ("StaticTest", STATIC)]) else { return };
    let class_path = format!("classes:{}:{}", project.jar(1), project.jar(2));
    let words = |main, class| ["java", "-cp", &class_path, main, class].map(str::to_owned);
    for main in ["org.junit.runner.JUnitCore", "junit.textui.TestRunner"] {
        project.add("src/a/Thing.java", THING).compile();
        let run = |class| {
            let words = words(main, class);
            call(&project, &[], &words.each_ref().map(String::as_str))
        };
        let first = run("a.ThreeTest");
        first.assert_code(0).assert_ran("first", &["ThreeTest#testOne", "ThreeTest#testTwo"]);
        assert!(!first.stderr.contains("as a whole"), "{main}: {}", first.stderr);
        run("a.ThreeTest").assert_code(0).assert_ran("nothing changed", &[]);
        project.replace("src/a/Thing.java", "return 2", "return 8").compile();
        run("a.ThreeTest").assert_code(0).assert_ran("Thing.two", &["ThreeTest#testTwo"]);
        project.replace("src/a/Thing.java", "return 1", "return 9").compile();
        let both = run("a.ThreeTest");
        both.assert_code(0).assert_ran("set-up", &["ThreeTest#testOne", "ThreeTest#testTwo"]);

        project.add("src/a/Thing.java", THING).compile();
        run("a.StaticTest").assert_code(0);
        project.replace("src/a/Thing.java", "return 2", "return 8").compile();
        let red = run("a.StaticTest");
        assert!(red.code != 0, "{main}: {red:?}");
    }
}

const OWN_RUNNER: &str = "package a; import org.junit.runners.BlockJUnit4ClassRunner;
    public class OwnRunner extends BlockJUnit4ClassRunner {
      private final Thing kept = new Thing();
      public OwnRunner(Class<?> type) throws Exception { super(type); } }";

const CUSTOM: &str = "package a; import org.junit.*;
    @org.junit.runner.RunWith(OwnRunner.class) public class CustomTest {
    @Test public void one() { Log.ran(\"CustomTest\"); new Thing().one(); }
    @Test public void two() { Log.ran(\"CustomTest\"); new Thing().two(); } }";

const SUITE: &str = "package a; import org.junit.runner.RunWith; import org.junit.runners.Suite;
    @RunWith(Suite.class) @Suite.SuiteClasses(OldTest.class) public class AllTests { }";

#[test]
fn runners_that_are_not_known_have_classes() {
    let tests = [("OwnRunner", OWN_RUNNER), ("CustomTest", CUSTOM), ("OldTest", OLD)];
    let Some(project) = project(&tests) else { return };
    project.add("src/a/AllTests.java", SUITE).compile();
    let class_path = format!("classes:{}:{}", project.jar(1), project.jar(2));
    let core = "org.junit.runner.JUnitCore";
    let words = ["java", "-cp", &class_path, core, "a.CustomTest", "a.OldTest"];
    let first = call(&project, &[], &words);
    first.assert_code(0).assert_ran("first", &["CustomTest", "OldTest#one", "OldTest#two"]);
    assert!(first.stderr.contains("a.CustomTest (its runner a.OwnRunner"), "{}", first.stderr);
    project.replace("src/a/Thing.java", "return 2", "return 8").compile();
    let some = call(&project, &[], &words);
    some.assert_code(0).assert_ran("Thing.two", &["CustomTest", "OldTest#two"]);
    assert_eq!(some.said.iter().filter(|name| *name == "CustomTest").count(), 2, "{some:?}");

    // A suite is one test, with all that is in it.
    let suite = ["java", "-cp", &class_path, core, "a.AllTests"];
    for _ in 0..2 {
        let got = call(&project, &[], &suite);
        got.assert_code(0);
        assert_eq!(got.said, ["OldTest#one", "OldTest#two"], "{got:?}");
        assert_eq!(got.ran.keys().collect::<Vec<_>>(), ["a.AllTests"], "{got:?}");
        project.replace("src/a/Thing.java", "one() { return", "one() { return 10 *").compile();
    }
}
