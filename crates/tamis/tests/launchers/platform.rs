//! The console launcher of the JUnit platform, with Jupiter, suites, and JUnit 4 by the vintage engine.

use std::process::{Child, Stdio};
use tamis_testkit::wait_for;
use tamis_testkit::{Call, Project};

const CONSOLE: &str = "org.junit.platform:junit-platform-console-standalone:1.10.2";
const JARS: [&str; 3] = [CONSOLE, "junit:junit:4.13.2", "org.hamcrest:hamcrest-core:1.3"];
const ALL: [&str; 4] = ["DeepTest", "OldTest", "OneTest", "TwoTest"];

fn project() -> Option<Project> {
    let project = Project::java(&JARS)?;
    // Deep is reached only through Thing.
    project
        .add("src/a/Deep.java", "package a; public class Deep { public int deep() { return 7; } }")
        .add(
            "src/a/Thing.java",
            "package a; public class Thing {
            public int one() { return 1; } public int two() { return 2; }
            public int deep() { return new Deep().deep(); } }",
        )
        .add("src/a/OneTest.java", jupiter("OneTest", "new Thing().one()", "1"))
        .add("src/a/TwoTest.java", jupiter("TwoTest", "new Thing().two()", "2"))
        .add("src/a/DeepTest.java", jupiter("DeepTest", "new Thing().deep()", "7"))
        .add(
            "src/a/OldTest.java",
            "package a; public class OldTest { @org.junit.Test public void two() {
            Log.ran(\"OldTest\"); org.junit.Assert.assertEquals(2, new Thing().two()); } }",
        )
        .compile();
    Some(project)
}

fn jupiter(class: &str, what: &str, expected: &str) -> String {
    format!(
        "package a; import org.junit.jupiter.api.*; class {class} {{
        @Test @Tag(\"quick\") void it() {{
          Log.ran(\"{class}\"); Assertions.assertEquals({expected}, {what}); }}
        @Test void other() {{ }}
        @Nested class Inner {{ @RepeatedTest(2) void again() {{ }} }} }}"
    )
}

fn words(project: &Project, more: &[&str]) -> Vec<String> {
    let class_path = format!("classes:{}:{}", project.jar(1), project.jar(2));
    let mut words = vec!["java".to_owned(), "-jar".into(), project.jar(0), "execute".into()];
    words.extend(["--disable-banner".into(), "--disable-ansi-colors".into()]);
    words.extend(["--details=tree".into(), "-cp".into(), class_path]);
    words.extend(more.iter().map(|w| (*w).to_owned()));
    words
}

fn inside(project: &Project, more: &[&str]) -> Call {
    let words = words(project, more);
    project.inside(&words.iter().map(String::as_str).collect::<Vec<_>>())
}

const SCAN: &[&str] = &["--scan-classpath=classes"];

fn scan(project: &Project) -> Call {
    inside(project, SCAN)
}

#[test]
fn what_need_not_run_is_skipped_with_the_proof() {
    let Some(project) = project() else { return };
    scan(&project).assert_code(0).assert_ran("the first run", &ALL);

    let again = scan(&project);
    again.assert_code(0).assert_ran("nothing changed", &[]);
    assert_eq!(again.skipped.len(), 4, "{again:?}");
    let line = "TwoTest [S] tamis: nothing it looked at has changed (record #";
    assert!(again.stderr.contains(line), "{}", again.stderr);
    assert!(again.stderr.contains("7 tests skipped"), "{}", again.stderr);

    // A class body that is reached only through another class.
    project.replace("src/a/Deep.java", "return 7", "return Integer.parseInt(\"7\")").compile();
    let call = scan(&project);
    call.assert_code(0).assert_ran("Deep.deep", &["DeepTest"]);
    assert!(call.ran["a.DeepTest"].contains("a.Deep#deep()"), "{call:?}");

    // One body of a class whose other bodies are used by others.
    project.replace("src/a/Thing.java", "return 2", "return Integer.parseInt(\"2\")").compile();
    scan(&project).assert_code(0).assert_ran("Thing.two", &["OldTest", "TwoTest"]);

    // A new test class is none of the others' business.
    project.add("src/a/NewTest.java", jupiter("NewTest", "1", "1")).compile();
    scan(&project).assert_code(0).assert_ran("a new test", &["NewTest"]);

    // The setting of the platform is a file on the classpath that was not there.
    let setting = "junit.jupiter.testinstance.lifecycle.default=per_class\n";
    project.write("classes/junit-platform.properties", setting);
    let call = scan(&project);
    assert!(call.ran.len() >= 4 && call.said.contains(&"OneTest".to_owned()), "{call:?}");
    explains(&project);
}

/// `why`, `deps` and `select` know test classes of JVMs.
fn explains(project: &Project) {
    let deps = project.tamis(&["deps", "a.DeepTest"]);
    assert!(deps.text().contains("a.Deep#deep()"), "{}", deps.text());
    project.replace("src/a/Deep.java", "parseInt(\"7\")", "parseInt(\"07\")").compile();
    let why = project.tamis(&["why", "a.DeepTest"]).text();
    assert!(why.contains("a.Deep#deep()"), "{why}");
    let words = words(project, SCAN);
    let mut select = vec!["--json", "select", "--"];
    select.extend(words.iter().map(String::as_str));
    let decided = project.tamis(&select).decisions();
    assert!(decided["a.DeepTest"].runs && !decided["a.TwoTest"].runs, "{decided:?}");
}

#[test]
fn the_whole_command_is_a_memo() {
    let Some(project) = project() else { return };
    let words = words(&project, SCAN);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    project.call(&words).assert_code(0).assert_ran("the first run", &ALL);
    let again = project.call(&words);
    assert!(!again.started && again.said.is_empty(), "{again:?}");
    // What skipped tests had looked at counts for the command that skipped them.
    project.replace("src/a/Deep.java", "return 7", "return Integer.parseInt(\"7\")").compile();
    project.call(&words).assert_ran("Deep.deep", &["DeepTest"]);
    assert!(!project.call(&words).started);
    project.replace("src/a/Thing.java", "return 1", "return Integer.parseInt(\"1\")").compile();
    project.call(&words).assert_code(0).assert_ran("Thing.one", &["OneTest"]);
}

#[test]
fn a_red_test_stays_red() {
    let Some(project) = project() else { return };
    project.replace("src/a/Thing.java", "return 2", "return 3").compile();
    scan(&project).assert_code(1).assert_ran("the first run", &ALL);
    for round in ["the second run", "the third run"] {
        scan(&project).assert_code(1).assert_ran(round, &["OldTest", "TwoTest"]);
    }
    let words = words(&project, SCAN);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    project.call(&words).assert_code(1).assert_ran("as a command", &["OldTest", "TwoTest"]);
    project.replace("src/a/Thing.java", "return 3", "return 2").compile();
    project.call(&words).assert_code(0).assert_ran("mended", &["OldTest", "TwoTest"]);
}

#[test]
fn a_part_of_a_class_proves_nothing_about_the_whole() {
    let Some(project) = project() else { return };
    let part = ["--select-method=a.OneTest#other"];
    inside(&project, &part).assert_code(0);
    inside(&project, &["--select-class=a.OneTest"]).assert_code(0).assert_ran("all", &["OneTest"]);
    let tagged = [SCAN[0], "--include-tag=quick", "--exclude-engine=junit-vintage"];
    let quick = ["DeepTest", "OneTest", "TwoTest"];
    inside(&project, &tagged).assert_code(0).assert_ran("tagged", &quick);
    scan(&project).assert_code(0).assert_ran("everything", &ALL);
    scan(&project).assert_ran("everything again", &[]);
    // How the JVM is started counts as well.
    let mut words = words(&project, SCAN);
    words.insert(1, "-Dwhat=ever".into());
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    project.inside(&words).assert_code(0).assert_ran("a property", &ALL);
    project.inside(&words).assert_code(0).assert_ran("a property again", &[]);
}

#[test]
fn in_parallel_nothing_is_skipped_wrongly() {
    let Some(project) = project() else { return };
    let parallel = [
        SCAN[0],
        "--config=junit.jupiter.execution.parallel.enabled=true",
        "--config=junit.jupiter.execution.parallel.mode.default=concurrent",
    ];
    inside(&project, &parallel).assert_code(0).assert_ran("the first run", &ALL);
    inside(&project, &parallel).assert_code(0).assert_ran("nothing changed", &[]);
    // Tests that overlap share what cannot be distinguished, so there may be more of them.
    project.replace("src/a/Deep.java", "return 7", "return 8").compile();
    let red = inside(&project, &parallel);
    red.assert_code(1);
    assert!(red.said.contains(&"DeepTest".to_owned()), "{red:?}");
    let red = inside(&project, &parallel);
    red.assert_code(1);
    assert!(red.said.contains(&"DeepTest".to_owned()), "{red:?}");
}

#[test]
fn a_suite_is_never_left_with_a_part_of_its_members() {
    let Some(project) = project() else { return };
    project
        .add(
            "src/a/AllTest.java",
            "package a; import org.junit.platform.suite.api.*;
            @Suite @SelectClasses({DeepTest.class, OneTest.class}) class AllTest { }",
        )
        .compile();
    let chosen = ["--select-class=a.AllTest", "--select-class=a.OneTest"];
    inside(&project, &chosen).assert_code(0);
    let again = inside(&project, &chosen);
    assert!(again.said.is_empty() && again.skipped.len() == 2, "{again:?}");
    project.replace("src/a/Deep.java", "return 7", "return Integer.parseInt(\"7\")").compile();
    let call = inside(&project, &chosen);
    assert_eq!(call.ran.keys().collect::<Vec<_>>(), ["a.AllTest"], "{call:?}");
    // OneTest by itself is skipped; as a member of the suite it runs, once.
    assert_eq!(call.said, ["DeepTest", "OneTest"], "{call:?}");
    project.replace("src/a/Thing.java", "return 1", "return Integer.parseInt(\"1\")").compile();
    let call = inside(&project, &chosen);
    assert_eq!(call.said, ["DeepTest", "OneTest", "OneTest"], "{call:?}");
}

#[test]
fn a_run_that_is_killed_loses_only_what_was_running() {
    let Some(project) = project() else { return };
    // One by one in the order of their names; the last one waits to be killed.
    let waiting = "if (new java.io.File(\"wait\").exists()) {
        new java.io.File(\"waits\").createNewFile(); Thread.sleep(600000); }";
    project
        .replace(
            "src/a/TwoTest.java",
            "void it() {",
            &format!("void it() throws Exception {{ {waiting}"),
        )
        .compile();
    let order = "--config=junit.jupiter.testclass.order.default=\
                 org.junit.jupiter.api.ClassOrderer$ClassName";
    let arguments = [SCAN[0], "--exclude-engine=junit-vintage", order];
    project.write("wait", "");
    let words = words(&project, &arguments);
    let mut child: Child = project
        .binary()
        .arg("--no-command-skip")
        .args(&words)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("tamis starts");
    wait_for("the last test waits", || project.path("waits").exists());
    child.kill().expect("kill -9");
    child.wait().expect("its end");
    std::fs::remove_file(project.path("wait")).expect("the file is there");
    let call = inside(&project, &arguments);
    assert!(call.said.contains(&"TwoTest".to_owned()), "{call:?}");
    inside(&project, &arguments).assert_code(0).assert_ran("nothing changed", &[]);
}

#[test]
fn an_engine_that_is_not_known_is_reported() {
    let Some(project) = project() else { return };
    project
        .add(
            "src/a/OwnEngine.java",
            "package a; import org.junit.platform.engine.*; import org.junit.platform.engine.support.descriptor.*;
            public class OwnEngine implements TestEngine {
              static class Own extends AbstractTestDescriptor {
                Own(UniqueId id) { super(id.append(\"own\", \"1\"), \"own\"); }
                public Type getType() { return Type.TEST; } }
              public String getId() { return \"own\"; }
              public TestDescriptor discover(EngineDiscoveryRequest request, UniqueId id) {
                TestDescriptor root = new EngineDescriptor(id, \"own\"); root.addChild(new Own(id));
                return root; }
              public void execute(ExecutionRequest request) {
                TestDescriptor root = request.getRootTestDescriptor();
                EngineExecutionListener to = request.getEngineExecutionListener();
                to.executionStarted(root);
                for (TestDescriptor test : root.getChildren()) {
                  to.executionStarted(test); Log.ran(\"own\");
                  to.executionFinished(test, TestExecutionResult.successful()); }
                to.executionFinished(root, TestExecutionResult.successful()); } }",
        )
        .add("classes/META-INF/services/org.junit.platform.engine.TestEngine", "a.OwnEngine\n")
        .compile();
    for _ in 0..2 {
        let call = inside(&project, &["--select-class=a.OneTest", "--include-engine=own"]);
        call.assert_code(0);
        assert_eq!(call.said, ["own"], "{call:?}");
        assert!(
            call.stderr.contains("[engine:own] of the JUnit platform is not known"),
            "{call:?}"
        );
    }
}
