//! `tamis static` on compiled classes, without a build tool.

use crate::support::{Project, has, tool};

const PLACES: [&str; 4] = ["--classes", "classes", "--test-classes", "tests"];

fn compile(project: &Project) {
    let root = project.path(".");
    tool(project, &root, &["javac", "-d", "classes", "src/A.java", "src/B.java"]);
    tool(
        project,
        &root,
        &["javac", "-cp", "classes", "-d", "tests", "src/ATest.java", "src/BTest.java"],
    );
}

fn answer(project: &Project, words: &[&str]) -> String {
    project.answer(&[&["static"], words, &PLACES].concat())
}

#[test]
fn a_changed_class_selects_the_tests_that_reach_it() {
    if !has("javac") {
        println!("not tried: javac is not installed");
        return;
    }
    // A suite class stands for JUnit, so that no library is needed.
    let project = Project::with(&[
        ("src/A.java", "public class A { int one() { return 1; } }"),
        ("src/B.java", "public class B { int two() { return 2; } }"),
        (
            "src/ATest.java",
            "public class ATest extends junit.framework.TestCase { public void testA() { new A(); } }",
        ),
        (
            "src/BTest.java",
            "public class BTest extends junit.framework.TestCase { public void testB() { new B(); } }",
        ),
        ("src/TestCase.java", "package junit.framework; public class TestCase {}"),
    ]);
    let root = project.path(".");
    tool(&project, &root, &["javac", "-d", "classes", "src/TestCase.java"]);
    compile(&project);
    assert_eq!(answer(&project, &["select", "--plain"]), "ATest\nBTest\n", "nothing is known yet");
    answer(&project, &["select", "--update"]);
    assert_eq!(answer(&project, &["select", "--plain"]), "ATest\nBTest\n", "nobody ran them yet");
    project.write("passed", "ATest\nBTest\n");
    answer(&project, &["record", "--passed", "passed"]);
    assert_eq!(answer(&project, &["select", "--plain"]), "");

    project.write("src/A.java", "public class A { int one() { return 7; } }");
    compile(&project);
    assert_eq!(answer(&project, &["select", "--plain"]), "ATest\n");
    let explained = answer(&project, &["select", "--explain"]);
    assert!(explained.contains("ATest") && explained.contains("-> A"), "{explained}");
    let changed = answer(&project, &["diff"]);
    assert!(changed.contains('A') && changed.contains("one"), "{changed}");

    project.write("src/A.java", "public class A {\n\n int one() { return 1; } }");
    compile(&project);
    assert_eq!(answer(&project, &["select", "--plain"]), "", "only lines moved");
}

/// A suite of two tests, each over one class.
fn two_tests() -> Project {
    let project = Project::with(&[
        ("src/A.java", "public class A { int one() { return 1; } }"),
        ("src/B.java", "public class B { int two() { return 2; } }"),
        ("src/ATest.java", "public class ATest extends junit.framework.TestCase { A a; }"),
        ("src/BTest.java", "public class BTest extends junit.framework.TestCase { B b; }"),
        ("src/TestCase.java", "package junit.framework; public class TestCase {}"),
        ("passed", "BTest\n"),
    ]);
    tool(&project, &project.path("."), &["javac", "-d", "classes", "src/TestCase.java"]);
    compile(&project);
    project
}

#[test]
fn only_tests_that_passed_are_done_and_only_for_the_classes_they_saw() {
    if !has("javac") {
        println!("not tried: javac is not installed");
        return;
    }
    let project = two_tests();
    let record = &["static", "record", "--passed", "passed"];
    let ended = project.tamis(&[&record[..], &PLACES].concat());
    assert_ne!(ended.code, 0, "nothing was announced");
    assert!(ended.stderr.contains("select --update"), "{}", ended.stderr);

    answer(&project, &["select", "--update"]);
    answer(&project, &["record", "--passed", "passed"]);
    assert_eq!(answer(&project, &["select", "--plain"]), "ATest\n");

    answer(&project, &["select", "--update"]);
    project.write("src/B.java", "public class B { int two() { return 5; } }");
    compile(&project);
    let ended = project.tamis(&[&record[..], &PLACES].concat());
    assert_ne!(ended.code, 0, "other classes than those that were announced");
    assert_eq!(answer(&project, &["select", "--plain"]), "ATest\nBTest\n");
}
