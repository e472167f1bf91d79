//! Figures 1, 5 and 7 of the study of static selection (Legunsen and others, FSE 2016), each with one
//! project, one change, and three engines: what really runs, the graph of types, and the call graphs.

use crate::harness::Project;

const JARS: [&str; 2] = ["junit:junit:4.13.2", "org.hamcrest:hamcrest-core:1.3"];

/// A library and a project that was run once under tamis, and whose tests are recorded for `tamis static`.
fn recorded(library: &[(&str, &str)], project: &[(&str, &str)], tests: &[&str]) -> Option<Project> {
    let mut made = Project::new(&JARS)?;
    for (name, text) in library {
        made.write(&format!("libsrc/{name}"), text);
    }
    made.add_library("libsrc");
    for (name, text) in project {
        made.write(&format!("src/a/{name}"), text);
    }
    made.compile();
    assert_eq!(run(&made, tests).len(), tests.len(), "all run the first time");
    made.write("passed", &tests.iter().map(|t| format!("a.{t}\n")).collect::<String>());
    select(&made, &["--level", "method", "--update"]);
    let record = ["static", "record", "--level", "method", "--passed", "passed"];
    let class_path = made.jars();
    let places = ["--test-classes", "classes", "--classpath", &class_path];
    let got = made.tamis(&[&record[..], &places].concat());
    assert_eq!(got.code, 0, "{}", got.stderr);
    assert!(run(&made, tests).is_empty(), "nothing changed");
    assert!(select(&made, &["--level", "method"]).is_empty(), "nothing changed");
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
    assert_eq!(said, ran, "what the tests say themselves: {}", call.output);
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
    select(project, &["--level", "method", "--callgraph", graph, "--libraries", libraries])
}

const GRAPHS: [&str; 4] = ["cha", "rta", "0-cfa", "0-1-cfa"];

#[test]
fn figure_1_at_three_levels() {
    let test = |name: &str, body: &str| {
        format!(
            "package a; public class {name} {{ @org.junit.Test public void t() {{
               Log.ran(\"{name}\"); {body} }} }}"
        )
    };
    let tests = ["T1", "T2", "T3"];
    let made = recorded(
        &[("lib/L.java", "package lib; public class L { public void m1() { } }")],
        &[
            (
                "C1.java",
                "package a; public class C1 extends lib.L {
                   public void m1() { C2.m3(); } public void m2() { } }",
            ),
            ("C2.java", "package a; class C2 { static int m3() { return 1; } }"),
            ("T1.java", &test("T1", "lib.L l = new lib.L(); l.m1();")),
            ("T2.java", &test("T2", "lib.L l = new C1(); l.m1();")),
            ("T3.java", &test("T3", "C1 c = new C1(); c.m2();")),
        ],
        &tests,
    );
    let Some(project) = made else { return };
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
    assert_eq!(run(&project, &tests), ["T2"], "what really runs");
}

#[test]
fn figure_5_is_missed_without_the_library_only() {
    let made = recorded(
        &[
            ("truth/Subject.java", "package truth; public class Subject { }"),
            (
                "truth/SubjectFactory.java",
                "package truth; public interface SubjectFactory<S extends Subject, T> {
                   S getSubject(T that); }",
            ),
            (
                "truth/Truth.java",
                "package truth; public class Truth {
                   public static final Truth ASSERT = new Truth();
                   public <S extends Subject, T> Verb<S, T> about(SubjectFactory<S, T> f) {
                     return new Verb<S, T>(f); } }",
            ),
            (
                "truth/Verb.java",
                "package truth; public class Verb<S extends Subject, T> {
                   private final SubjectFactory<S, T> factory;
                   Verb(SubjectFactory<S, T> factory) { this.factory = factory; }
                   public S that(T that) { return factory.getSubject(that); } }",
            ),
        ],
        &[
            (
                "SourceSubject.java",
                "package a; class SourceSubject extends truth.Subject {
                   CompileTester processedWith() { return new CompilationClause(); } }",
            ),
            (
                "CompileTester.java",
                "package a; interface CompileTester { void compilesWithoutError(); }",
            ),
            (
                "CompilationClause.java",
                "package a; class CompilationClause implements CompileTester {
                   public void compilesWithoutError() { Compilation.compile(); } }",
            ),
            (
                "Compilation.java",
                "package a; class Compilation { static int compile() { return 1; } }",
            ),
            (
                "SourceFactory.java",
                "package a; class SourceFactory
                     implements truth.SubjectFactory<SourceSubject, String> {
                   public SourceSubject getSubject(String that) { return new SourceSubject(); } }",
            ),
            (
                "SourcesTest.java",
                "package a; public class SourcesTest { @org.junit.Test public void invokes() {
                   Log.ran(\"SourcesTest\");
                   truth.Truth.ASSERT.about(new SourceFactory()).that(\"Hello.java\")
                     .processedWith().compilesWithoutError(); } }",
            ),
        ],
        &["SourcesTest"],
    );
    let Some(project) = made else { return };
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
    let made = recorded(
        &[("lib/Unused.java", "package lib; public class Unused { }")],
        &[
            (
                "Streams.java",
                "package a; final class Streams {
                   static String checkFileName(String n) { return n + 1; } }",
            ),
            (
                "DiskFileItem.java",
                "package a; public class DiskFileItem { String name = \"a\";
                   @Override public String toString() { return Streams.checkFileName(name); } }",
            ),
            (
                "FileItemHeadersTest.java",
                "package a; public class FileItemHeadersTest { @org.junit.Test public void headers() {
                   Log.ran(\"FileItemHeadersTest\"); org.junit.Assert.assertEquals(\"a\", \"a\"); } }",
            ),
            (
                "DiskFileItemTest.java",
                "package a; public class DiskFileItemTest { @org.junit.Test public void item() {
                   Log.ran(\"DiskFileItemTest\");
                   Object item = new DiskFileItem();
                   org.junit.Assert.assertEquals(item, item); item.toString(); } }",
            ),
        ],
        &tests,
    );
    let Some(project) = made else { return };
    project.replace("src/a/Streams.java", "n + 1", "n + 2").compile();
    for graph in GRAPHS {
        assert_eq!(by_methods(&project, graph, "include"), tests, "{graph}");
    }
    for graph in GRAPHS {
        let selected = by_methods(&project, graph, "exclude");
        assert_eq!(selected, ["DiskFileItemTest"], "{graph}: nobody sees toString in JUnit");
    }
    assert_eq!(select(&project, &[]), ["DiskFileItemTest"], "class level");
    assert_eq!(run(&project, &tests), ["DiskFileItemTest"], "what really runs");
}
