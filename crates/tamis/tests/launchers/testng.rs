//! TestNG's main class. Its test classes end together, so they share what they use from their start on.

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

fn project(jars: &[&str]) -> Option<Project> {
    let project = Project::java(jars)?;
    project
        .add(
            "src/a/Thing.java",
            "package a; public class Thing {
            public int one() { return 1; } public int two() { return 2; } }",
        )
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
        // OneTest ends after TwoTest, TwoTest begins after OneTest has used what it uses.
        project.replace("src/a/Thing.java", "return 1", "return Integer.parseInt(\"1\")").compile();
        run(&project).assert_code(0).assert_ran("Thing.one", &["OneTest"]);
        project.replace("src/a/Thing.java", "return 2", "return 3").compile();
        for _ in 0..2 {
            let red = run(&project);
            assert!(red.code != 0 && red.said.contains(&"TwoTest".to_owned()), "{red:?}");
        }
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
