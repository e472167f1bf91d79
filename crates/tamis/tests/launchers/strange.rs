//! Where tamis does not know the runner, or its agent does not get into the JVM.

use tamis_testkit::Project;

fn project() -> Project {
    let project = Project::java(&[]).expect("no jars are needed");
    project
        .add(
            "src/a/Main.java",
            "package a; public class Main { public static void main(String[] args) {
            Log.ran(\"Main\"); System.exit(args.length); } }",
        )
        .compile();
    project
}

#[test]
fn an_unknown_runner_is_one_command() {
    let project = project();
    let words = ["java", "-cp", "classes", "a.Main"];
    let first = project.call(&words);
    first.assert_code(0);
    assert!(first.started && first.ran.is_empty() && first.said == ["Main"], "{first:?}");
    assert!(first.stderr.contains("no test runner that tamis knows"), "{}", first.stderr);
    let again = project.call(&words);
    assert!(!again.started && again.said.is_empty(), "{again:?}");
    project.replace("src/a/Main.java", "\"Main\"", "\"Main 2\"").compile();
    assert_eq!(project.call(&words).said, ["Main 2"]);
    // The program's exit code is ours.
    assert_eq!(project.call(&["java", "-cp", "classes", "a.Main", "x", "y"]).code, 2);
}

#[test]
fn an_agent_that_did_not_start_is_reported_loudly() {
    let mut project = project();
    // A wrapper that lets nothing through.
    let real = project.jdk().tool("java").display().to_string();
    project.write("bin/java", format!("#!/bin/sh\nexec {real} -cp classes a.Main\n"));
    let wrapper = project.path("bin/java").display().to_string();
    let call = project.call(&[&wrapper, "-cp", "classes", "a.Main"]);
    call.assert_code(0);
    assert_eq!(call.said, ["Main"]);
    let warning = "WARNING: the agent did not start in any JVM";
    assert!(call.stderr.contains(warning), "{}", call.stderr);
    // What a wrapper, or the user, gives to all JVMs stays there.
    project.set("JAVA_TOOL_OPTIONS", "-Duser=option");
    let call = project.call(&["java", "-cp", "classes", "a.Main"]);
    assert!(call.stderr.contains("Picked up JAVA_TOOL_OPTIONS: -Duser=option"), "{}", call.stderr);
}

#[test]
fn the_doctor_tries_the_agent_with_each_jdk() {
    let mut project = project();
    let shown = project.tamis(&["doctor"]).text();
    assert!(shown.contains("PATH, JAVA_HOME") && shown.contains("the agent works"), "{shown}");
    // One that is none.
    project.write("jdk/bin/java", "#!/bin/sh\nexit 3\n");
    project.set("JAVA_HOME", project.path("jdk"));
    let sick = project.tamis(&["doctor"]);
    assert_eq!(sick.code, 1);
    assert!(sick.text().contains("the agent does not work: it ended with"), "{}", sick.text());
    // No Java at all is no problem.
    project.set("JAVA_HOME", "");
    project.set("PATH", "/nowhere");
    let none = project.tamis(&["doctor"]).text();
    assert!(none.contains("none on the PATH or in JAVA_HOME"), "{none}");
}
