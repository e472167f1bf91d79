//! TestNG's main class: test classes end with their last method, unless something of them comes after all; methods
//! that share one object.

use tamis_testkit::{Call, Project};

const NEW: [&str; 4] = [
    "org.testng:testng:7.5.1",
    "com.beust:jcommander:1.78",
    "org.slf4j:slf4j-api:1.7.36",
    "org.webjars:jquery:3.5.1",
];
const OLD: [&str; 3] = [
    "org.testng:testng:6.14.3",
    "com.beust:jcommander:1.72",
    "org.apache-extras.beanshell:bsh:2.0b6",
];

const THING: &str = "package a; public class Thing {
    public int one() { return 1; } public int two() { return 2; } }";

fn project(jars: &[&str]) -> Option<Project> {
    let project = Project::java(jars)?;
    project
        .add("src/a/Thing.java", THING)
        .add("src/a/OneTest.java", test("OneTest", "one", 1, ""))
        .add("src/a/TwoTest.java", test("TwoTest", "two", 2, ""))
        .compile();
    Some(project)
}

fn test(class: &str, method: &str, expected: u32, more: &str) -> String {
    format!(
        "package a; import org.testng.annotations.*; public class {class} {{
        @BeforeClass public void prepare() {{ }}
        @Test{more} public void it{class}() {{ Log.ran(\"{class}\");
          org.testng.Assert.assertEquals(new Thing().{method}(), {expected}); }} }}"
    )
}

fn run(project: &Project) -> Call {
    let class_path = format!("classes:{}", project.jars());
    let classes = "a.OneTest,a.TwoTest";
    project.inside(&["java", "-cp", &class_path, "org.testng.TestNG", "-testclass", classes])
}

#[test]
fn test_classes_that_need_not_run_are_left_out() {
    for jars in [&NEW[..], &OLD[..]] {
        let Some(project) = project(jars) else { return };
        run(&project).assert_code(0).assert_ran("the first run", &["OneTest", "TwoTest"]);
        // No test at all would be an error of the call; that none had to run is none.
        run(&project).assert_code(0).assert_ran("nothing changed", &[]);
        project.replace("src/a/Thing.java", "return 1", "return Integer.parseInt(\"1\")").compile();
        run(&project).assert_code(0).assert_ran("Thing.one", &["OneTest"]);
        project.replace("src/a/Thing.java", "return 2", "return 3").compile();
        for _ in 0..2 {
            let red = run(&project);
            assert!(red.code != 0, "{red:?}");
            red.assert_ran("Thing.two", &["TwoTest"]);
        }
    }
}

/// What a class does behind its own end of tests counts for it.
#[test]
fn a_class_with_something_after_all_lasts_to_the_end() {
    for jars in [&NEW[..], &OLD[..]] {
        let Some(project) = project(jars) else { return };
        let one = test("OneTest", "one", 1, "");
        let later =
            "@AfterSuite public void later() { if (new Thing().two() != 2) throw new Error(); } }";
        let one = one.trim_end().strip_suffix('}').unwrap().to_owned() + later;
        project.add("src/a/OneTest.java", one).compile();
        run(&project).assert_code(0).assert_ran("the first run", &["OneTest", "TwoTest"]);
        run(&project).assert_code(0).assert_ran("nothing changed", &[]);
        project.replace("src/a/Thing.java", "return 2", "return 3").compile();
        for _ in 0..2 {
            let red = run(&project);
            assert!(red.code != 0, "{red:?}");
            red.assert_ran("Thing.two", &["OneTest", "TwoTest"]);
        }
    }
}

fn by_method(project: &Project) -> Call {
    let class_path = format!("classes:{}", project.jars());
    let words = ["java", "-cp", &class_path, "org.testng.TestNG", "-testclass"];
    let options = ["--no-command-skip", "--granularity", "method"];
    project.call_with(&options, &[&words[..], &["a.OneTest,a.TwoTest"]].concat())
}

/// Two methods of a class, with these members beside them and this in their bodies.
fn two_methods(members: &str, annotation: &str, one: &str, two: &str) -> String {
    format!(
        "package a; import org.testng.annotations.*; public class OneTest {{ {members}
        @DataProvider public static Object[][] data() {{ return new Object[][]{{{{1}}, {{2}}}}; }}
        @BeforeMethod public void each() {{ new Thing(); }}
        @Test(dataProvider = \"data\"{annotation}) public void one(int n) {{
          Log.ran(\"OneTest#one\"); {one} }}
        @Test public void two() {{ Log.ran(\"OneTest#two\"); {two} }} }}"
    )
}

#[test]
fn methods_are_tests() {
    for jars in [&NEW[..], &OLD[..]] {
        let Some(project) = project(jars) else { return };
        let check = "org.testng.Assert.assertEquals(thing.two(), 2);";
        let members = "private Thing thing = new Thing(); private int never;";
        let methods = two_methods(members, "", "thing.one();", check);
        let two = "package a; import org.testng.annotations.*; public class TwoTest {
            @Test public void it() { Log.ran(\"TwoTest#it\");
              org.testng.Assert.assertEquals(new Thing().two(), 2); } }";
        project.add("src/a/OneTest.java", methods).add("src/a/TwoTest.java", two).compile();
        let all = ["OneTest#one", "OneTest#two", "TwoTest#it"];
        let first = by_method(&project);
        first.assert_code(0).assert_ran("the first run", &all);
        assert!(!first.stderr.contains("as a whole"), "{}", first.stderr);
        by_method(&project).assert_code(0).assert_ran("nothing changed", &[]);
        project.replace("src/a/Thing.java", "return 1", "return 10").compile();
        let some = by_method(&project);
        some.assert_code(0).assert_ran("Thing.one", &["OneTest#one"]);
        assert_eq!(some.said, ["OneTest#one", "OneTest#one"], "{some:?}");
        project.replace("src/a/Thing.java", "return 2", "return 3").compile();
        for _ in 0..2 {
            let red = by_method(&project);
            assert!(red.code != 0, "{red:?}");
            red.assert_ran("Thing.two", &["OneTest#two", "TwoTest#it"]);
        }
        project.replace("src/a/Thing.java", "return 3", "return 2").compile();
        by_method(&project).assert_code(0);
        by_method(&project).assert_code(0).assert_ran("mended", &[]);
    }
}

/// What one method leaves in the object of all of them, or in what that holds, counts for the next one.
#[test]
fn methods_with_something_of_each_other_in_their_object_stay_together() {
    let reads = "if (KEPT != 1) throw new Error();";
    let traps = [
        ("a field", "private int kept;", "kept = new Thing().one();", "kept"),
        (
            "an array that a field holds",
            "private final int[] kept = new int[1];",
            "kept[0] = new Thing().one();",
            "kept[0]",
        ),
        (
            "an object that a field holds, two further",
            "private final java.util.Map<String, int[]> kept = new java.util.HashMap<>();",
            "kept.put(\"x\", new int[] {new Thing().one()});",
            "kept.get(\"x\")[0]",
        ),
        (
            "a thread's own variable",
            "private final ThreadLocal<Integer> kept = new ThreadLocal<>();",
            "kept.set(new Thing().one());",
            "kept.get()",
        ),
    ];
    let Some(project) = project(&NEW) else { return };
    // What the last one leaves for what comes behind the class.
    let members =
        "private int kept; @AfterClass public void last() { if (kept != 2) throw new Error(); }";
    let methods = two_methods(members, "", "new Thing().one();", "kept = new Thing().two();");
    project.add("src/a/OneTest.java", methods).compile();
    let first = by_method(&project);
    assert!(first.stderr.contains("a.OneTest (its methods share one object"), "{first:?}");
    project.replace("src/a/Thing.java", "return 1", "return 10").compile();
    by_method(&project).assert_code(0);
    for (what, members, one, kept) in traps {
        project.add("src/a/Thing.java", THING);
        let two = reads.replace("KEPT", kept);
        project.add("src/a/OneTest.java", two_methods(members, "", one, &two)).compile();
        let first = by_method(&project);
        first.assert_code(0);
        assert!(
            first.stderr.contains("a.OneTest (its methods share one object"),
            "{what}: {first:?}"
        );
        project.replace("src/a/Thing.java", "return 1", "return 10").compile();
        let red = by_method(&project);
        assert!(red.code != 0, "{what}: {red:?}");
        assert!(red.said.contains(&"OneTest#two".to_owned()), "{what}: {red:?}");
    }
    for (what, members, annotation) in [
        ("have priorities", "", ", priority = 1"),
        ("depend on each other", "", ", dependsOnMethods = \"two\""),
        ("before or after groups", "@BeforeGroups(\"g\") public void g() { }", ", groups = \"g\""),
    ] {
        project.add("src/a/OneTest.java", two_methods(members, annotation, "", "")).compile();
        let call = by_method(&project);
        call.assert_code(0);
        let reason = call.stderr.lines().find(|line| line.contains("as a whole"));
        assert!(reason.is_some_and(|line| line.contains(what)), "{what}: {call:?}");
    }
}

#[test]
fn tests_that_depend_on_each_other_all_run() {
    let Some(project) = project(&NEW) else { return };
    let depends = "(dependsOnGroups = \"first\")";
    project
        .add("src/a/OneTest.java", test("OneTest", "one", 1, "(groups = \"first\")"))
        .add("src/a/TwoTest.java", test("TwoTest", "two", 2, depends))
        .compile();
    for round in ["the first run", "the second run"] {
        let call = run(&project);
        call.assert_code(0).assert_ran(round, &["OneTest", "TwoTest"]);
    }
    assert!(run(&project).ran["a.OneTest"].contains("depend on each other"));
}
