//! Ant: the tasks `junit` and `junitlauncher`, in Ant's own JVM and in others.

use tamis_testkit::runner::junit4_test;
use tamis_testkit::{Call, Project, jars};

const JARS: [&str; 3] = [
    "org.junit.platform:junit-platform-console-standalone:1.10.2",
    "junit:junit:4.13.2",
    "org.hamcrest:hamcrest-core:1.3",
];
const ANT: [&str; 5] = ["ant", "ant-launcher", "ant-junit", "ant-junit4", "ant-junitlauncher"];

/// A project with an `ant` as it is installed elsewhere.
fn project() -> Option<Project> {
    let project = Project::java(&JARS)?;
    for name in ANT {
        let jar = jars(&[&format!("org.apache.ant:{name}:1.10.14")])?.remove(0);
        project.write("ant/lib/.here", "");
        // Ant finds its folder by the real place of its jars.
        std::fs::copy(jar, project.path(format!("ant/lib/{name}.jar"))).expect("a copy");
    }
    project.write(
        "ant/bin/ant",
        "#!/bin/sh\nhome=$(cd \"$(dirname \"$0\")/..\" && pwd)\n\
         exec java $ANT_OPTS -classpath \"$home/lib/ant-launcher.jar\" \"-Dant.home=$home\" \
         org.apache.tools.ant.launch.Launcher \"$@\"\n",
    );
    project
        .add(
            "src/a/Thing.java",
            "package a; public class Thing {
            public int one() { return 1; } public int two() { return 2; } }",
        )
        .add("src/a/OneTest.java", junit4_test("OneTest", "one", 1))
        .add("src/a/TwoTest.java", junit4_test("TwoTest", "two", 2))
        .add(
            "src/a/ThreeTest.java",
            "package a; public class ThreeTest extends junit.framework.TestCase {
            public void testIt() { Log.ran(\"ThreeTest\"); assertEquals(2, new Thing().two()); } }",
        )
        .add("build.xml", build_file(&project));
    Some(project)
}

fn build_file(project: &Project) -> String {
    let junit = |name: &str, attributes: &str, tests: &str| {
        format!(
            "<target name='{name}' depends='compile'>
            <junit {attributes} showoutput='true' failureproperty='red'><classpath refid='cp'/>
              <formatter type='xml'/>
              <batchtest todir='reports'><fileset dir='src' includes='{tests}'/></batchtest></junit>
            <fail if='red'/></target>"
        )
    };
    let launcher = |name: &str, fork: &str| {
        format!(
            "<target name='{name}' depends='compile'>
            <junitlauncher failureproperty='red' printsummary='true'><classpath refid='cp'/>
              <testclasses outputdir='reports'><fileset dir='classes' includes='a/*Test.class'/>
                {fork}<listener type='legacy-xml'/></testclasses></junitlauncher>
            <fail if='red'/></target>"
        )
    };
    let tests = "**/*Test.java";
    format!(
        "<project name='x' default='forked'>
        <path id='cp'><pathelement location='classes'/><pathelement path='{}'/></path>
        <target name='compile'><mkdir dir='classes'/><mkdir dir='reports'/>
          <javac srcdir='src' destdir='classes' classpathref='cp' includeantruntime='false'/></target>
        <target name='more'>
          <javac srcdir='more' destdir='classes' classpathref='cp' includeantruntime='false'/></target>
        {}{}{}{}{}{}{}<target name='both' depends='first,more,second'/></project>",
        project.jars(),
        junit("forked", "fork='true'", tests),
        junit("once", "fork='true' forkmode='once'", tests),
        junit("inside", "", tests),
        launcher("launcher", ""),
        launcher("launcher-forked", "<fork/>"),
        junit("first", "", "**/OneTest.java"),
        junit("second", "", "**/TwoTest.java"),
    )
}

fn ant(project: &Project, target: &str) -> Call {
    project.inside(&["ant/bin/ant", "-q", target])
}

/// An edit that Ant compiles: to it, a source is newer only if it is by more than a second.
fn edit(project: &Project, file: &str, from: &str, to: &str) {
    std::thread::sleep(std::time::Duration::from_millis(1_100));
    project.replace(file, from, to);
}

const ALL: [&str; 3] = ["OneTest", "ThreeTest", "TwoTest"];

fn rounds(target: &str) {
    let Some(project) = project() else { return };
    ant(&project, target).assert_code(0).assert_ran("the first run", &ALL);
    let again = ant(&project, target);
    again.assert_code(0).assert_ran("nothing changed", &[]);
    assert_eq!(again.skipped.len(), 3, "{again:?}");
    let report = if target.starts_with("launcher") { "" } else { "TEST-a.OneTest.xml" };
    if !report.is_empty() {
        let text = std::fs::read_to_string(project.path("reports").join(report));
        assert!(text.expect("a report").contains("skipped=\"1\""), "{target}");
    }
    edit(&project, "src/a/Thing.java", "return 2", "return Integer.parseInt(\"2\")");
    let call = ant(&project, target);
    call.assert_code(0).assert_ran("Thing.two", &["ThreeTest", "TwoTest"]);
    assert!(call.ran["a.TwoTest"].contains("a.Thing#two()"), "{call:?}");
    edit(&project, "src/a/Thing.java", "return 1", "return 7");
    for round in ["red", "still red"] {
        ant(&project, target).assert_code(1).assert_ran(round, &["OneTest"]);
    }
}

#[test]
fn junit_in_a_jvm_for_each_class() {
    rounds("forked");
}

#[test]
fn junit_in_one_jvm() {
    rounds("once");
}

#[test]
fn junit_inside_ant() {
    rounds("inside");
}

#[test]
fn the_launcher_inside_ant() {
    rounds("launcher");
}

#[test]
fn the_launcher_in_a_jvm_of_its_own() {
    rounds("launcher-forked");
}

/// What passed in a JVM of its own fails behind a test that leaves something.
#[test]
fn a_jvm_for_each_class_proves_nothing_for_a_shared_one() {
    let Some(project) = project() else { return };
    project
        .add(
            "src/a/OneTest.java",
            "package a; public class OneTest {
            @org.junit.Test public void it() { Log.ran(\"OneTest\"); Kept.kept = 1; } }",
        )
        .add("src/a/Kept.java", "package a; public class Kept { public static int kept; }")
        .add(
            "src/a/TwoTest.java",
            "package a; public class TwoTest {
            @org.junit.Test public void it() { Log.ran(\"TwoTest\");
              org.junit.Assert.assertEquals(0, Kept.kept); } }",
        );
    std::fs::remove_file(project.path("src/a/ThreeTest.java")).expect("it is there");
    ant(&project, "forked").assert_code(0).assert_ran("one JVM each", &["OneTest", "TwoTest"]);
    ant(&project, "once").assert_code(1).assert_ran("a shared JVM", &["OneTest", "TwoTest"]);
    // The other way round it stands behind no other one.
    ant(&project, "forked").assert_code(0);
    ant(&project, "forked").assert_code(0).assert_ran("one JVM each again", &[]);
}

/// Ant's runner notes each test in a file for Ant: that does not tie methods together.
#[test]
fn methods_in_a_jvm_that_ant_starts() {
    let Some(project) = project() else { return };
    project.write(
        "src/a/OneTest.java",
        "package a; public class OneTest {
        @org.junit.Test public void one() { Log.ran(\"OneTest#one\"); new Thing().one(); }
        @org.junit.Test public void two() { Log.ran(\"OneTest#two\"); new Thing().two(); } }",
    );
    for other in ["TwoTest", "ThreeTest"] {
        std::fs::remove_file(project.path(format!("src/a/{other}.java"))).expect("it is there");
    }
    let by_method = |target: &str| {
        let options = ["--no-command-skip", "--granularity", "method"];
        project.call_with(&options, &["ant/bin/ant", "-q", target])
    };
    by_method("once").assert_code(0).assert_ran("the first run", &["OneTest#one", "OneTest#two"]);
    edit(&project, "src/a/Thing.java", "return 2", "return Integer.parseInt(\"2\")");
    by_method("once").assert_code(0).assert_ran("Thing.two", &["OneTest#two"]);
}

#[test]
fn classes_that_are_compiled_between_two_tasks_are_looked_at_again() {
    let Some(project) = project() else { return };
    project.write("more/a/Other.java", "package a; class Other { static int two() { return 2; } }");
    project.write(
        "src/a/Thing.java",
        "package a; public class Thing { public int one() { return 1; }
        public int two() throws Exception {
          return (Integer) Class.forName(\"a.Other\").getDeclaredMethod(\"two\").invoke(null); } }",
    );
    std::fs::remove_file(project.path("src/a/ThreeTest.java")).expect("it is there");
    project.replace("src/a/TwoTest.java", "it() {", "it() throws Exception {");
    ant(&project, "both").assert_code(0);
    ant(&project, "both").assert_code(0);
    // When the first task asks, the class is still the old one.
    edit(&project, "more/a/Other.java", "return 2", "return 3");
    let call = ant(&project, "both");
    call.assert_code(1);
    assert!(call.said.contains(&"TwoTest".to_owned()), "{call:?}");
}

#[test]
fn the_whole_build_is_a_memo() {
    let Some(project) = project() else { return };
    let words = ["ant/bin/ant", "-q", "once"];
    project.call(&words).assert_code(0).assert_ran("the first run", &ALL);
    // The first run made folders that the second one finds.
    project.call(&words);
    let again = project.call(&words);
    assert!(!again.started && again.said.is_empty(), "{again:?}");
    std::fs::remove_dir_all(project.path("reports")).expect("reports were written");
    assert!(project.call(&words).started, "what the build wrote is gone");
}
