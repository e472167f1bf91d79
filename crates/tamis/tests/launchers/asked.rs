//! Variables count for those who can have asked for them.

use tamis_testkit::runner::JUNIT4;
use tamis_testkit::{Call, Project};

/// Test classes in their order, and what they do.
type Tests = &'static [(&'static str, &'static str)];

fn project(tests: Tests) -> Option<Project> {
    let project = Project::java(&JUNIT4)?;
    for (test, body) in tests {
        project.add(
            format!("src/a/{test}.java"),
            format!(
                "package a; public class {test} {{ @org.junit.Test public void t() throws Throwable {{
                Log.ran(\"{test}\"); {body} }} }}"
            ),
        );
    }
    project.compile();
    Some(project)
}

fn run(project: &Project, tests: Tests) -> Call {
    let class_path = format!("classes:{}", project.jars());
    let names: Vec<String> = tests.iter().map(|(test, _)| format!("a.{test}")).collect();
    let mut words = vec!["java", "-cp", &class_path, "org.junit.runner.JUnitCore"];
    words.extend(names.iter().map(String::as_str));
    let call = project.inside(&words);
    call.assert_code(0);
    call
}

/// What one asked for it may have left to those that come after it, wherever.
#[test]
fn a_variable_counts_from_the_first_that_asks_for_it() {
    const TESTS: Tests = &[
        ("ATest", ""),
        ("BTest", "System.getenv(\"ONE\");"),
        ("CTest", ""),
        ("DTest", "System.getenv();"),
        ("ETest", ""),
    ];
    let Some(mut project) = project(TESTS) else { return };
    project.set("TWO", "2");
    run(&project, TESTS).assert_ran("first", &["ATest", "BTest", "CTest", "DTest", "ETest"]);
    run(&project, TESTS).assert_ran("nothing changed", &[]);
    // It was asked for and was not there.
    project.set("ONE", "1");
    run(&project, TESTS).assert_ran("it is new", &["BTest", "CTest", "DTest", "ETest"]);
    project.set("ONE", "other");
    run(&project, TESTS).assert_ran("it is another one", &["BTest", "CTest", "DTest", "ETest"]);
    project.set("TWO", "other");
    run(&project, TESTS).assert_ran("one that is only listed", &["DTest", "ETest"]);
    project.set("THREE", "3");
    run(&project, TESTS).assert_ran("one that is new in the list", &["DTest", "ETest"]);
    // The C library reads it, wherever a time is shown.
    project.set("TZ", "Asia/Tokyo");
    run(&project, TESTS)
        .assert_ran("the JVM's own", &["ATest", "BTest", "CTest", "DTest", "ETest"]);
}

/// Whoever cannot be watched may have read them all.
#[test]
fn all_variables_count_for_processes_and_native_code() {
    for body in [
        "new ProcessBuilder(\"true\").start().waitFor();",
        "Runtime.getRuntime().exec(\"true\").waitFor();",
        "try { System.loadLibrary(\"none\"); } catch (UnsatisfiedLinkError expected) { }",
        "try { System.load(\"/none.so\"); } catch (UnsatisfiedLinkError expected) { }",
    ] {
        let tests: Tests = Box::leak(Box::new([("ATest", ""), ("BTest", body), ("CTest", "")]));
        let Some(mut project) = project(tests) else { return };
        run(&project, tests).assert_ran("first", &["ATest", "BTest", "CTest"]);
        run(&project, tests).assert_ran("nothing changed", &[]);
        project.set("ANY", "1");
        run(&project, tests).assert_ran(body, &["BTest", "CTest"]);
    }
}
