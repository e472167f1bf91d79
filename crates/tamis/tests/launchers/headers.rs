//! Members that are added to classes which tests met: who cannot find them is left out, who can runs.

use tamis_testkit::runner::JUNIT4;
use tamis_testkit::{Call, Project};

/// Name of the test, the class that it meets, and what it does.
const TESTS: [(&str, &str, &str); 6] = [
    ("CallsTest", "class Called { int used() { return 1; } /**/ }", "assertEquals(1, new Called().used());"),
    (
        "InheritsTest",
        "class Base { String who() { return \"base\"; } } class Sub extends Base { /**/ }",
        "Base base = new Sub(); assertEquals(\"base\", base.who());",
    ),
    (
        "BagTest",
        "class Bag extends java.util.ArrayList<String> { /**/ }",
        "assertEquals(0, new java.util.ArrayList<>(new Bag()).size());",
    ),
    (
        "ListsTest",
        "class Listed { void one() { } /**/ }",
        "new Listed().one(); assertEquals(1, Listed.class.getDeclaredMethods().length);",
    ),
    (
        "HandleTest",
        "class Looked { /**/ }",
        "new Looked(); try { java.lang.invoke.MethodHandles.lookup().findVirtual(Looked.class, \"more\",
            java.lang.invoke.MethodType.methodType(void.class)); fail(); } catch (NoSuchMethodException expected) { }",
    ),
    (
        "SerialTest",
        "class Written implements java.io.Serializable { int n; /**/ }",
        "new Written(); java.io.ObjectStreamClass known = java.io.ObjectStreamClass.lookup(Written.class);
            assertEquals(1, known.getFields().length);",
    ),
];

fn project() -> Option<Project> {
    let project = Project::java(&JUNIT4)?;
    for (test, met, body) in TESTS {
        project.add(&format!("src/a/{test}Met.java"), format!("package a; {met}"));
        project.add(
            &format!("src/a/{test}.java"),
            format!(
                "package a; import static org.junit.Assert.*;
                public class {test} {{ @org.junit.Test public void t() throws Throwable {{
                Log.ran(\"{test}\"); {body} }} }}"
            ),
        );
    }
    project.compile();
    Some(project)
}

fn run(project: &Project) -> Call {
    let class_path = format!("classes:{}", project.jars());
    let names = TESTS.map(|(test, ..)| format!("a.{test}"));
    let mut words = vec!["java", "-cp", &class_path, "org.junit.runner.JUnitCore"];
    words.extend(names.iter().map(String::as_str));
    project.inside(&words)
}

fn edit(project: &Project, test: &str, member: &str) {
    project.replace(&format!("src/a/{test}Met.java"), "/**/", &format!("{member} /**/"));
}

#[test]
fn a_member_more_selects_those_who_can_find_it() {
    let Some(project) = project() else { return };
    let mut all = TESTS.map(|(test, ..)| test);
    all.sort_unstable();
    run(&project).assert_code(0).assert_ran("the first run", &all);
    for test in ["CallsTest", "InheritsTest", "BagTest"] {
        edit(&project, test, "void more() { } int field; static class Nested { }");
    }
    edit(&project, "CallsTest", "int used(int more) { return 2; }");
    project.compile();
    run(&project).assert_code(0).assert_ran("members that nobody can find", &[]);

    edit(&project, "InheritsTest", "String who() { return \"sub\"; }");
    edit(&project, "BagTest", "public Object[] toArray() { return new Object[] {\"more\"}; }");
    for test in ["ListsTest", "HandleTest"] {
        edit(&project, test, "void more() { }");
    }
    edit(&project, "SerialTest", "int more;");
    project.compile();
    let found = ["BagTest", "HandleTest", "InheritsTest", "ListsTest", "SerialTest"];
    let call = run(&project);
    call.assert_code(1).assert_ran("members that are found", &found);
    assert!(call.stderr.contains("Failures: 5"), "each of them fails: {call:?}");
}
