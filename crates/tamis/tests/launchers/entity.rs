//! A framework that tamis does not know, which tells where its tests begin and end.

use tamis_testkit::{Call, Project};

const API: &str = include_str!("../../../../docs/java/Tamis.java");

fn project() -> Project {
    let project = Project::java(&[]).expect("no jars are needed");
    project
        .add("src/a/Tamis.java", format!("package a;\n{API}"))
        .add(
            "src/a/Thing.java",
            "package a; public class Thing {
            static int one() { return 1; } static int two() { return 2; } }",
        )
        .add(
            "src/a/Main.java",
            "package a; import java.nio.file.*; public class Main {
            interface Test { boolean run() throws Exception; }
            static boolean test(String name, Test test) throws Exception {
              if (!Tamis.started(name)) {
                return true;
              }
              Log.ran(name);
              boolean passed = test.run();
              Tamis.ended(name, passed);
              return passed; }
            public static void main(String[] args) throws Exception {
              boolean one = test(\"one\", () -> Thing.one() == 1);
              boolean two = test(\"two\", () -> Thing.two() == 2);
              boolean file = test(\"file\", () -> Files.readAllLines(Paths.get(\"data\")).contains(\"x\"));
              boolean outer = test(\"outer\", () -> test(\"inner\", () -> true));
              System.exit(one && two && file && outer ? 0 : 1); } }",
        )
        .add("data", "x\n")
        .compile();
    project
}

fn run(project: &Project) -> Call {
    project.inside(&["java", "-cp", "classes", "a.Main"])
}

#[test]
fn entities_are_tests() {
    let project = project();
    let first = run(&project);
    first.assert_code(0);
    assert_eq!(first.said, ["file", "inner", "one", "outer", "two"], "{first:?}");
    // What begins inside another one is a part of it.
    assert_eq!(first.ran.keys().collect::<Vec<_>>(), ["file", "one", "outer", "two"]);
    run(&project).assert_code(0).assert_ran("nothing changed", &[]);
    project.replace("src/a/Thing.java", "return 2", "return Integer.parseInt(\"2\")").compile();
    // The call of an interface leads to every object of it that ran before in this JVM, since it may have been kept:
    // those that come later run as well.
    let later = |call: &Call, expected: &[&str]| {
        call.assert_code(0);
        assert_eq!(call.ran.keys().collect::<Vec<_>>(), expected, "{call:?}");
    };
    later(&run(&project), &["file", "outer", "two"]);
    project.write("data", "x\ny\n");
    later(&run(&project), &["file", "outer"]);
    project.replace("src/a/Thing.java", "return 1", "return 7").compile();
    for round in ["red", "still red"] {
        run(&project).assert_code(1).assert_ran(round, &["one"]);
    }
    // Without tamis everything runs.
    let output = project.command("java").args(["-cp", "classes", "a.Main"]).output();
    let text = String::from_utf8_lossy(&output.expect("java starts").stderr).into_owned();
    assert_eq!(text.matches("ran: ").count(), 5, "{text}");
}
