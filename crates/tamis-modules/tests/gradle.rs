//! The projects of a build as the Gradle that is installed here reports them.

use std::path::Path;
use tamis_modules::{EdgeKind, Tree, gradle};

#[test]
fn a_build_that_gradle_reports() {
    if !tamis_testkit::need("gradle") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let top = folder.path().canonicalize().unwrap();
    for (path, text) in [
        ("settings.gradle", "include 'a', 'b', 'a:inner'"),
        ("build.gradle", "subprojects { apply plugin: 'java-base' }\nproject(':b') { apply plugin: 'java' }"),
        ("a/build.gradle", "configurations { tests }"),
        ("a/inner/build.gradle", ""),
        (
            "b/build.gradle",
            "configurations { own; testOwn }
             dependencies { own project(':a:inner'); testOwn project(path: ':a', configuration: 'tests') }",
        ),
    ] {
        let file = top.join(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }
    let cache = top.join(".cache");
    let read = |program: &str| {
        let program = Some(Path::new(program));
        gradle::read(&Tree::new(&top), &top, "settings.gradle", program, Some(&cache))
    };
    let graph = match read("gradle") {
        Ok(graph) => graph,
        Err(why) => {
            tamis_testkit::not_here(&format!("this gradle does not work with this JDK: {why}"));
            return;
        }
    };
    let name = |n: usize| graph.modules[n].name.as_str();
    let names: Vec<&str> = (0..graph.modules.len()).map(name).collect();
    assert_eq!(names, [":", ":a", ":b", ":a:inner"]);
    let edges: Vec<(&str, EdgeKind, &str)> =
        graph.edges.iter().map(|e| (name(e.from), e.kind, name(e.to))).collect();
    let expected = [
        (":a", EdgeKind::Parent, ":"),
        (":b", EdgeKind::Parent, ":"),
        (":b", EdgeKind::Uses, ":a:inner"),
        (":b", EdgeKind::UsesTestsInTests, ":a"),
        (":a:inner", EdgeKind::Parent, ":a"),
    ];
    let mut edges = edges;
    let mut expected = expected.to_vec();
    edges.sort_unstable();
    expected.sort_unstable();
    assert_eq!(edges, expected);
    let b = graph.modules.iter().find(|m| m.name == ":b").unwrap();
    assert!(b.tasks.iter().any(|task| task == "test"), "{b:?}");
    assert_eq!(b.test_folders.len(), 2, "java and resources: {b:?}");
    // The answer was kept: no Gradle is needed now, and another one would be asked.
    assert_eq!(read("gradle").unwrap(), graph);
    assert!(read("/nowhere/gradle").is_err());
}
