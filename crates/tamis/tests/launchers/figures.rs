//! Figures 1, 5 and 7 of the study of static selection (Legunsen and others, FSE 2016), each with one
//! project, one change, and three engines: what really runs, the graph of types, and the call graphs.

use tamis_testkit::Project;
use tamis_testkit::runner::JUNIT4;

/// The project of a figure and its library (JUnit itself for figure 7), run once under tamis, with its tests
/// recorded for `tamis static`.
fn recorded(figure: u32, tests: &[&str]) -> Option<Project> {
    let mut made = Project::java(&JUNIT4)?;
    let library = tamis_testkit::figure(figure, "library");
    let library: Vec<_> =
        library.iter().filter(|(name, _)| !name.starts_with("org/junit")).collect();
    for (name, text) in &library {
        made.write(format!("libsrc/{name}"), text);
    }
    if !library.is_empty() {
        made.add_library("libsrc");
    }
    for (name, text) in tamis_testkit::figure(figure, "project") {
        let test = name.trim_start_matches("a/").trim_end_matches(".java");
        let text = text
            .replace("/* @Test */", "@org.junit.Test")
            .replace("/* ran */", &format!("Log.ran(\"{test}\");"));
        made.write(format!("src/{name}"), &text);
    }
    made.compile();
    assert_eq!(run(&made, tests).len(), tests.len(), "all run the first time");
    made.write("passed", tests.iter().map(|t| format!("a.{t}\n")).collect::<String>());
    select(&made, &["--granularity", "method", "--update"]);
    let record = ["static", "record", "--granularity", "method", "--passed", "passed"];
    let class_path = made.jars();
    let places = ["--test-classes", "classes", "--classpath", &class_path];
    let got = made.tamis(&[&record[..], &places].concat());
    assert_eq!(got.code, 0, "{}", got.stderr);
    assert!(run(&made, tests).is_empty(), "nothing changed");
    assert!(select(&made, &["--granularity", "method"]).is_empty(), "nothing changed");
    Some(made)
}

/// The test classes that a real run needs.
fn run(project: &Project, tests: &[&str]) -> Vec<String> {
    let class_path = format!("classes:{}", project.jars());
    let names: Vec<String> = tests.iter().map(|test| format!("a.{test}")).collect();
    let mut words = vec!["java", "-cp", &class_path, "org.junit.runner.JUnitCore"];
    words.extend(names.iter().map(String::as_str));
    let call = project.inside(&words);
    call.assert_code(0);
    let ran: Vec<String> =
        call.ran.into_keys().map(|n| n.trim_start_matches("a.").into()).collect();
    let mut said = call.said.clone();
    said.dedup();
    assert_eq!(said, ran, "what the tests say themselves: {}", call.stderr);
    ran
}

fn select(project: &Project, words: &[&str]) -> Vec<String> {
    let class_path = project.jars();
    let places = ["--plain", "--test-classes", "classes", "--classpath", &class_path];
    let got = project.tamis(&[&["static", "select"], words, &places].concat());
    assert_eq!(got.code, 0, "{}", got.stderr);
    got.text().lines().map(|name| name.trim_start_matches("a.").to_owned()).collect()
}

fn by_methods(project: &Project, graph: &str, libraries: &str) -> Vec<String> {
    select(project, &["--granularity", "method", "--callgraph", graph, "--libraries", libraries])
}

const GRAPHS: [&str; 4] = ["cha", "rta", "0-cfa", "0-1-cfa"];

#[test]
fn figure_1_at_three_levels() {
    let tests = ["T1", "T2", "T3"];
    let Some(project) = recorded(1, &tests) else { return };
    project.replace("src/a/C2.java", "return 1", "return 2").compile();
    for graph in ["cha", "rta"] {
        assert_eq!(by_methods(&project, graph, "include"), ["T1", "T2"], "{graph}");
    }
    for graph in ["0-cfa", "0-1-cfa"] {
        assert_eq!(by_methods(&project, graph, "include"), ["T2"], "{graph}: objects are followed");
    }
    for graph in GRAPHS {
        assert!(by_methods(&project, graph, "exclude").is_empty(), "{graph}: T2 is missed");
    }
    assert_eq!(select(&project, &[]), ["T2", "T3"], "class level");
    // T3 does not run C1.m1. But T2 did, in the same JVM and as a method of the library's type: a library could have
    // called it, and could keep what it got for whoever uses the library later.
    assert_eq!(run(&project, &tests), ["T2", "T3"], "what really runs");
}

#[test]
fn figure_5_is_missed_without_the_library_only() {
    let Some(project) = recorded(5, &["SourcesTest"]) else { return };
    project.replace("src/a/Compilation.java", "return 1", "return 2").compile();
    for graph in GRAPHS {
        assert_eq!(by_methods(&project, graph, "include"), ["SourcesTest"], "{graph}");
    }
    for graph in ["rta", "0-cfa", "0-1-cfa"] {
        assert!(by_methods(&project, graph, "exclude").is_empty(), "{graph}: it is missed");
    }
    assert_eq!(select(&project, &[]), ["SourcesTest"], "class level");
    assert_eq!(run(&project, &["SourcesTest"]), ["SourcesTest"], "what really runs");
}

#[test]
fn figure_7_selects_a_test_too_many_at_method_level_only() {
    let tests = ["DiskFileItemTest", "FileItemHeadersTest"];
    let Some(project) = recorded(7, &tests) else { return };
    project.replace("src/a/Streams.java", "name + 1", "name + 2").compile();
    for graph in GRAPHS {
        assert_eq!(by_methods(&project, graph, "include"), tests, "{graph}");
    }
    for graph in GRAPHS {
        let selected = by_methods(&project, graph, "exclude");
        assert_eq!(selected, ["DiskFileItemTest"], "{graph}: toString is not seen in JUnit");
    }
    assert_eq!(select(&project, &[]), ["DiskFileItemTest"], "class level");
    assert_eq!(run(&project, &tests), ["DiskFileItemTest"], "what really runs");
}
