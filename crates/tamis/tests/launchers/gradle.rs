//! Gradle's test workers, with the `gradle` that is installed.

use crate::harness::{Call, Project};
use std::path::Path;

const JARS: [&str; 2] = ["junit:junit:4.13.2", "org.hamcrest:hamcrest-core:1.3"];

/// `None` where there is no Gradle.
fn project() -> Option<Project> {
    if !["/usr/bin/gradle", "/usr/local/bin/gradle"].iter().any(|g| Path::new(g).is_file()) {
        eprintln!("not tried: gradle is missing");
        return None;
    }
    let project = Project::new(&JARS)?;
    std::fs::rename(project.root.join("src/a"), project.root.join("a")).expect("a folder moves");
    std::fs::create_dir_all(project.root.join("src/test/java")).expect("a folder");
    std::fs::rename(project.root.join("a"), project.root.join("src/test/java/a")).expect("moves");
    let jars = project.jars().replace(':', "', '");
    project
        .write("settings.gradle", "rootProject.name = 'x'\n")
        .write(
            "build.gradle",
            &format!(
                "apply plugin: 'java'
                dependencies {{ testCompile files('{jars}') }}
                test {{ testLogging.showStandardStreams = true }}"
            ),
        )
        .write(
            "src/main/java/a/Thing.java",
            "package a; public class Thing {
            public int one() { return 1; } public int two() { return 2; } }",
        )
        .write("src/test/java/a/OneTest.java", &test("OneTest", "one", 1))
        .write("src/test/java/a/TwoTest.java", &test("TwoTest", "two", 2));
    Some(project)
}

fn test(class: &str, method: &str, expected: u32) -> String {
    format!(
        "package a; public class {class} {{ @org.junit.Test public void it() {{
        Log.ran(\"{class}\"); org.junit.Assert.assertEquals({expected}, new Thing().{method}()); }} }}"
    )
}

fn gradle(project: &Project) -> Call {
    project.inside(&["gradle", "--offline", "cleanTest", "test"])
}

#[test]
fn test_workers_are_asked_class_by_class() {
    let Some(project) = project() else { return };
    let first = gradle(&project);
    if first.code != 0 && first.ran.is_empty() {
        eprintln!("not tried: this gradle does not work with this JDK: {}", first.output);
        return;
    }
    first.assert_code(0).assert_ran("the first run", &["OneTest", "TwoTest"]);
    gradle(&project).assert_code(0).assert_ran("nothing changed", &[]);
    let report = project.root.join("build/test-results/test/TEST-a.OneTest.xml");
    let report = std::fs::read_to_string(report).expect("a report");
    assert!(report.contains("tests=\"1\" skipped=\"1\""), "{report}");
    project.replace("src/main/java/a/Thing.java", "return 2", "return 3");
    for round in ["red", "still red"] {
        gradle(&project).assert_code(1).assert_ran(round, &["TwoTest"]);
    }
}
