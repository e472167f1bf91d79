//! Gradle's test workers, with the `gradle` that is installed.

use std::path::Path;
use tamis_testkit::runner::{JUNIT4, junit4_test};
use tamis_testkit::{Call, Project, not_here, not_tried};

/// `None` where there is no Gradle.
fn project() -> Option<Project> {
    if !["/usr/bin/gradle", "/usr/local/bin/gradle"].iter().any(|g| Path::new(g).is_file()) {
        not_tried("gradle");
        return None;
    }
    let project = Project::java(&JUNIT4)?;
    std::fs::rename(project.path("src/a"), project.path("a")).expect("a folder moves");
    std::fs::create_dir_all(project.path("src/test/java")).expect("a folder");
    std::fs::rename(project.path("a"), project.path("src/test/java/a")).expect("moves");
    let jars = project.jars().replace(':', "', '");
    project
        .add("settings.gradle", "rootProject.name = 'x'\n")
        .add(
            "build.gradle",
            format!(
                "apply plugin: 'java'
                dependencies {{ testCompile files('{jars}') }}
                test {{ testLogging.showStandardStreams = true }}"
            ),
        )
        .add(
            "src/main/java/a/Thing.java",
            "package a; public class Thing {
            public int one() { return 1; } public int two() { return 2; } }",
        )
        .add("src/test/java/a/OneTest.java", junit4_test("OneTest", "one", 1))
        .add("src/test/java/a/TwoTest.java", junit4_test("TwoTest", "two", 2));
    Some(project)
}

fn gradle(project: &Project) -> Call {
    project.inside(&["gradle", "--offline", "cleanTest", "test"])
}

#[test]
fn test_workers_are_asked_class_by_class() {
    let Some(project) = project() else { return };
    let first = gradle(&project);
    if first.code != 0 && first.ran.is_empty() {
        not_here(&format!("this gradle does not work with this JDK: {}", first.stderr));
        return;
    }
    first.assert_code(0).assert_ran("the first run", &["OneTest", "TwoTest"]);
    gradle(&project).assert_code(0).assert_ran("nothing changed", &[]);
    let report = project.path("build/test-results/test/TEST-a.OneTest.xml");
    let report = std::fs::read_to_string(report).expect("a report");
    assert!(report.contains("tests=\"1\" skipped=\"1\""), "{report}");
    project.replace("src/main/java/a/Thing.java", "return 2", "return 3");
    for round in ["red", "still red"] {
        gradle(&project).assert_code(1).assert_ran(round, &["TwoTest"]);
    }
}
