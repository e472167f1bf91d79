//! JUnit 4's own main class, and JUnit 3's.

use tamis_testkit::runner::{JUNIT4, junit4_test};
use tamis_testkit::{Call, Project};

fn project() -> Option<Project> {
    let project = Project::java(&JUNIT4)?;
    project
        .add(
            "src/a/Thing.java",
            "package a; public class Thing {
            public int one() { return 1; } public int two() { return 2; }
            public int three() { return 3; } }",
        )
        .add("src/a/OneTest.java", junit4_test("OneTest", "one", 1))
        .add("src/a/TwoTest.java", junit4_test("TwoTest", "two", 2))
        .add(
            "src/a/BothTest.java",
            "package a; import org.junit.runner.RunWith; import org.junit.runners.Suite;
            @RunWith(Suite.class) @Suite.SuiteClasses({OneTest.class, TwoTest.class})
            public class BothTest { }",
        )
        .add(
            "src/a/ManyTest.java",
            "package a; import org.junit.Test; import org.junit.runner.RunWith;
            import org.junit.runners.Parameterized;
            @RunWith(Parameterized.class) public class ManyTest {
              @Parameterized.Parameters(name = \"{0}\") public static Object[] data() {
                return new Object[] {1, 2, 3}; }
              @Parameterized.Parameter public int n;
              @Test public void it() { Log.ran(\"ManyTest\");
                if (n == 3) org.junit.Assert.assertEquals(3, new Thing().three()); } }",
        )
        .add(
            "src/a/ThreeTest.java",
            "package a; public class ThreeTest extends junit.framework.TestCase {
            public void testIt() { Log.ran(\"ThreeTest\"); assertEquals(3, new Thing().three()); }
            public void testMore() { } }",
        )
        .compile();
    Some(project)
}

fn run(project: &Project, main: &str, classes: &[&str]) -> Call {
    let class_path = format!("classes:{}", project.jars());
    let mut words = vec!["java", "-cp", &class_path, main];
    words.extend(classes);
    project.inside(&words)
}

fn core(project: &Project, classes: &[&str]) -> Call {
    run(project, "org.junit.runner.JUnitCore", classes)
}

#[test]
fn test_classes_are_ignored_where_they_need_not_run() {
    let Some(project) = project() else { return };
    let all = ["a.OneTest", "a.TwoTest", "a.ManyTest", "a.ThreeTest"];
    let names = ["ManyTest", "OneTest", "ThreeTest", "TwoTest"];
    core(&project, &all).assert_code(0).assert_ran("the first run", &names);
    let again = core(&project, &all);
    again.assert_code(0).assert_ran("nothing changed", &[]);
    assert!(again.stderr.contains("\nIII") && again.stderr.contains("OK (0 tests)"), "{again:?}");
    project.replace("src/a/Thing.java", "return 3", "return Integer.parseInt(\"3\")").compile();
    let some = ["ManyTest", "ThreeTest"];
    core(&project, &all).assert_code(0).assert_ran("Thing.three", &some);

    project.replace("src/a/Thing.java", "parseInt(\"3\")", "parseInt(\"4\")").compile();
    for round in ["red", "still red"] {
        core(&project, &all).assert_code(1).assert_ran(round, &some);
    }
}

#[test]
fn a_suite_runs_as_a_whole_and_a_class_that_stands_twice_runs_twice() {
    let Some(project) = project() else { return };
    let all = ["a.OneTest", "a.BothTest", "a.OneTest"];
    let first = core(&project, &all);
    first.assert_code(0);
    assert_eq!(first.said, ["OneTest", "OneTest", "OneTest", "TwoTest"], "{first:?}");
    let again = core(&project, &all);
    assert!(again.said.is_empty() && again.ran.is_empty(), "{again:?}");

    // The suite runs because of one member: the other runs with it, though it is skipped by itself.
    project.replace("src/a/Thing.java", "return 2", "return Integer.parseInt(\"2\")").compile();
    let call = core(&project, &all);
    assert_eq!(call.said, ["OneTest", "TwoTest"], "{call:?}");
    // So the suite's record knows both of them.
    project.replace("src/a/Thing.java", "return 1", "return Integer.parseInt(\"1\")").compile();
    let call = core(&project, &all);
    assert_eq!(call.said, ["OneTest", "OneTest", "OneTest", "TwoTest"], "{call:?}");
    project.replace("src/a/Thing.java", "parseInt(\"1\")", "parseInt(\"7\")").compile();
    for _ in 0..2 {
        let call = core(&project, &all);
        call.assert_code(1);
        assert_eq!(call.said, ["OneTest", "OneTest", "OneTest", "TwoTest"], "{call:?}");
    }
}

#[test]
fn the_runner_of_junit_3_runs_what_it_has_to() {
    let Some(project) = project() else { return };
    let main = "junit.textui.TestRunner";
    run(&project, main, &["a.ThreeTest"]).assert_code(0).assert_ran("first", &["ThreeTest"]);
    run(&project, main, &["a.ThreeTest"]).assert_code(0).assert_ran("again", &[]);
    project.replace("src/a/Thing.java", "return 3", "return 4").compile();
    for round in ["red", "still red"] {
        run(&project, main, &["a.ThreeTest"]).assert_code(1).assert_ran(round, &["ThreeTest"]);
    }
}

#[test]
fn a_jvm_that_a_test_starts_is_known_by_its_methods() {
    let Some(project) = Project::java(&JUNIT4) else { return };
    project
        .add(
            "src/a/Thing.java",
            "package a; public class Thing {
            public static int one() { return 1; } public static int two() { return 2; }
            public static void main(String[] a) { System.exit(one()); } }",
        )
        .add(
            "src/a/StartsTest.java",
            "package a; public class StartsTest { @org.junit.Test public void it() throws Exception {
              Log.ran(\"StartsTest\"); ProcessBuilder java = new ProcessBuilder(\"java\", \"-cp\",
                System.getProperty(\"java.class.path\"), \"a.Thing\");
              org.junit.Assert.assertEquals(1, java.start().waitFor()); } }",
        )
        .compile();
    let all = ["a.StartsTest"];
    core(&project, &all).assert_code(0).assert_ran("the first run", &["StartsTest"]);
    project.replace("src/a/Thing.java", "return 2", "return 3").compile();
    core(&project, &all).assert_code(0).assert_ran("a method that did not run", &[]);
    project.replace("src/a/Thing.java", "return 1", "return 0").compile();
    core(&project, &all).assert_code(1).assert_ran("one that ran", &all.map(|_| "StartsTest"));
}
