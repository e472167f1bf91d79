//! Real Maven with several Surefires: what the goal tells, what its fork gets, what is left out.
//!
//! Classes are compiled beforehand and the goal is called by name, so a run needs Surefire and
//! JUnit only. Where Maven cannot get them, that version is not tried.

use crate::harness::{JvmReport, Server};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;
use tamis_jvm_wire::{FromJvm, Goal, Role, Scanned, ToJvm, Verdict};
use tamis_testkit::maven::is_unresolved;
use tamis_testkit::place::folder;
use tamis_testkit::{Sources, class_files, jars, jdk, not_tried};
use tempfile::TempDir;

struct Project {
    folder: TempDir,
    goal: String,
}

fn compiled() -> Option<PathBuf> {
    let sources = Sources::new()
        .classpaths(&jars(&["junit:junit:4.13.2"])?)
        .release(8)
        .file("a/Thing.java", "package a; public class Thing { public void use() {} }")
        .file(
            "a/OneTest.java",
            "package a; public class OneTest {
            @org.junit.Test public void one() { new Thing().use(); } }",
        )
        .file(
            "a/TwoTest.java",
            "package a; public class TwoTest {
            @org.junit.Test public void two() { System.out.println(\"two runs\"); } }",
        )
        .file(
            "a/LastIT.java",
            "package a; public class LastIT {
            @org.junit.Test public void last() { new Thing().use(); } }",
        );
    Some(sources.compile(&jdk()))
}

/// A module with compiled classes.
fn module(
    folder: &Path,
    name: &str,
    plugin: &str,
    version: &str,
    configuration: &str,
) -> Option<()> {
    copy(&compiled()?, &folder.join("target/test-classes"));
    fs::create_dir_all(folder.join("target/classes")).expect("a folder");
    let pom = format!(
        "<project><modelVersion>4.0.0</modelVersion><groupId>g</groupId>
        <artifactId>{name}</artifactId><version>1</version><dependencies><dependency>
        <groupId>junit</groupId><artifactId>junit</artifactId><version>4.13.2</version>
        <scope>test</scope></dependency></dependencies><build><plugins><plugin>
        <artifactId>{plugin}</artifactId><version>{version}</version>
        <configuration>{configuration}</configuration></plugin></plugins></build></project>"
    );
    fs::write(folder.join("pom.xml"), pom).expect("a pom");
    Some(())
}

impl Project {
    /// `None` where JUnit cannot be had.
    fn new(surefire: &str, configuration: &str) -> Option<Self> {
        let plugin = "maven-surefire-plugin";
        let folder = folder();
        module(folder.path(), "p", plugin, surefire, configuration)?;
        Some(Self { folder, goal: format!("org.apache.maven.plugins:{plugin}:{surefire}:test") })
    }

    fn failsafe(version: &str) -> Option<Self> {
        let plugin = "maven-failsafe-plugin";
        let folder = folder();
        module(folder.path(), "p", plugin, version, "")?;
        let goal = format!("org.apache.maven.plugins:{plugin}:{version}:integration-test");
        Some(Self { folder, goal })
    }

    /// Two modules.
    fn reactor(surefire: &str) -> Option<Self> {
        let plugin = "maven-surefire-plugin";
        let folder = folder();
        for name in ["x", "y"] {
            fs::create_dir(folder.path().join(name)).expect("a folder");
            module(&folder.path().join(name), name, plugin, surefire, "")?;
        }
        let pom = "<project><modelVersion>4.0.0</modelVersion><groupId>g</groupId>
            <artifactId>all</artifactId><version>1</version><packaging>pom</packaging>
            <modules><module>x</module><module>y</module></modules></project>";
        fs::write(folder.path().join("pom.xml"), pom).expect("a pom");
        Some(Self { folder, goal: format!("org.apache.maven.plugins:{plugin}:{surefire}:test") })
    }

    fn mvn(&self, options: &str, arguments: &[&str]) -> std::io::Result<Output> {
        let mut command = Command::new("mvn");
        command
            .arg("-B")
            .arg(&self.goal)
            .args(arguments)
            .current_dir(self.folder.path())
            .env_remove("JAVA_TOOL_OPTIONS")
            .env("JAVA_HOME", jdk().home)
            .env("MAVEN_OPTS", format!("-XX:TieredStopAtLevel=1 {options}"));
        command.output()
    }

    /// A run under a tamis that skips these classes; `None` where Maven cannot get the plugin.
    fn run(&self, skip: &'static [&'static str], arguments: &[&str]) -> Option<Run> {
        let tests: Arc<std::sync::Mutex<String>> = Arc::default();
        let server = Server::answering({
            let tests = tests.clone();
            move |question| match question {
                FromJvm::Goal(_) => {
                    Some(ToJvm::Goal { arguments: Some(tests.lock().expect("no panic").clone()) })
                }
                FromJvm::Scanned(scanned) => {
                    let listed = scanned.classes.iter().zip(0..);
                    let classes = listed.filter(|(class, _)| skip.contains(&class.as_str()));
                    Some(ToJvm::Skip { classes: classes.map(|(_, index)| index).collect() })
                }
                _ => None,
            }
        });
        *tests.lock().expect("no panic") = server.argument(Role::Tests);
        let Ok(output) = self.mvn(&server.argument(Role::Build), arguments) else {
            not_tried("mvn");
            return None;
        };
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        if !output.status.success() && is_unresolved(&text) {
            not_tried(&format!("{}, which Maven cannot get", self.goal));
            return None;
        }
        let mut jvms = server.finish();
        let build = jvms.remove(0);
        let classes = [self.folder.path().join("target/test-classes")];
        let forks = jvms.into_iter().map(|messages| JvmReport::new(messages, &classes)).collect();
        Some(Run { text, output, build, forks })
    }
}

struct Run {
    output: Output,
    text: String,
    build: Vec<FromJvm>,
    forks: Vec<JvmReport>,
}

impl Run {
    fn goal(&self) -> &Goal {
        let goal = self.build.iter().find_map(|message| match message {
            FromJvm::Goal(goal) => Some(goal),
            _ => None,
        });
        goal.unwrap_or_else(|| panic!("a goal: {:?} {}", self.build, self.text))
    }

    fn scanned(&self) -> Vec<&Scanned> {
        let scanned = self.build.iter().filter_map(|message| match message {
            FromJvm::Scanned(scanned) => Some(scanned),
            _ => None,
        });
        scanned.collect()
    }

    fn assert_sound(&self) {
        assert!(self.output.status.success(), "{}", self.text);
        let trouble = self.build.iter().find(|m| matches!(m, FromJvm::Trouble(_)));
        assert_eq!(trouble, None);
        assert!(
            matches!(self.build.first(), Some(FromJvm::Hello(hello)) if hello.role == Role::Build)
        );
        let ended = |m: &&FromJvm| matches!(m, FromJvm::GoalEnded { error: None, .. });
        let ended = self.build.iter().filter(ended).count();
        let begun = self.build.iter().filter(|m| matches!(m, FromJvm::Goal(_))).count();
        assert!(ended > 0 && ended == begun, "{:?}", self.build);
        assert_eq!(self.build.last(), Some(&FromJvm::Bye));
        let classes = self.build.iter().any(|m| matches!(m, FromJvm::Class(_)));
        assert!(!classes, "the classes of a build tool do not count");
    }
}

fn copy(from: &Path, to: &Path) {
    for (name, bytes) in class_files(from) {
        let file: PathBuf = to.join(name);
        fs::create_dir_all(file.parent().expect("a parent")).expect("a folder");
        fs::write(file, bytes).expect("a class file");
    }
}

fn try_surefire(version: &'static str) {
    let Some(project) = Project::new(version, "<argLine>-Dx=y</argLine>") else { return };
    let folder = project.folder.path().canonicalize().expect("it is there");
    let folder = folder.to_str().expect("text");

    let Some(run) = project.run(&["a.TwoTest"], &[]) else { return };
    run.assert_sound();
    let goal = run.goal();
    assert_eq!((goal.name.as_str(), goal.artifact.as_str()), ("surefire:test", "g:p:1"));
    assert_eq!((goal.execution.as_str(), goal.folder.as_str()), ("default-cli", folder));
    assert_eq!(goal.test_classes, format!("{folder}/target/test-classes"));
    assert_eq!(goal.classes, format!("{folder}/target/classes"));
    assert_eq!(goal.class_path[..2], [goal.test_classes.clone(), goal.classes.clone()]);
    assert!(goal.class_path.iter().any(|entry| entry.ends_with("junit-4.13.2.jar")));
    assert!(goal.configuration.contains(&("argLine".into(), "-Dx=y".into())), "{goal:?}");
    assert!(goal.configuration.iter().any(|(name, value)| name == "plugin"
        && *value == format!("org.apache.maven.plugins:maven-surefire-plugin:{version}")));
    assert!(goal.own_folders.contains(&format!("{folder}/target/surefire-reports")), "{goal:?}");
    assert_eq!(goal.forks, "1");
    let java = goal.java.as_ref().expect("a java");
    assert!(Path::new(java).is_file(), "{java}");
    let mut found = run.scanned().remove(0).classes.clone();
    found.sort();
    assert_eq!(found, ["a.OneTest", "a.TwoTest"]);
    assert!(run.text.contains("Tests run: 1,"), "{}", run.text);
    let [fork] = &run.forks[..] else { panic!("one fork: {}", run.text) };
    fork.assert_sound();
    let hello = fork.hello.as_ref().expect("checked");
    assert!(hello.vm_arguments.iter().any(|argument| argument == "-Dx=y"), "{hello:?}");
    assert_eq!(
        fork.ran("a.OneTest"),
        ["a.OneTest.<init>", "a.OneTest.one", "a.Thing.<init>", "a.Thing.use"]
    );
    assert_eq!(fork.verdicts("a.OneTest"), [Verdict::Passed]);
    assert!(!fork.tests.contains_key("a.TwoTest"));

    let run = project.run(&["a.OneTest", "a.TwoTest"], &[]).expect("it ran before");
    run.assert_sound();
    assert!(run.forks.is_empty(), "{}", run.text);

    let run = project
        .run(&["a.OneTest", "a.TwoTest"], &["-Dtest=OneTest,TwoTest"])
        .expect("it ran before");
    run.assert_sound();
    assert!(run.forks.is_empty(), "{}", run.text);

    let run = project.run(&["a.TwoTest"], &["-Dtest=OneTest,TwoTest"]).expect("it ran before");
    run.assert_sound();
    assert!(run.text.contains("Tests run: 1,"), "{}", run.text);
    assert!(!run.text.contains("two runs"), "{}", run.text);
}

#[test]
fn surefire_2_12_4() {
    try_surefire("2.12.4");
}

#[test]
fn surefire_2_22_2() {
    try_surefire("2.22.2");
}

#[test]
fn surefire_3_2_5() {
    try_surefire("3.2.5");
}

#[test]
fn surefire_3_5_4() {
    try_surefire("3.5.4");
}

#[test]
fn failsafe() {
    let Some(project) = Project::failsafe("3.2.5") else { return };
    let Some(run) = project.run(&[], &[]) else { return };
    run.assert_sound();
    assert_eq!(run.goal().name, "failsafe:integration-test");
    assert_eq!(run.scanned()[0].classes, ["a.LastIT"]);
    assert_eq!(run.forks[0].verdicts("a.LastIT"), [Verdict::Passed]);
    let run = project.run(&["a.LastIT"], &[]).expect("it ran before");
    run.assert_sound();
    assert!(run.forks.is_empty(), "{}", run.text);
}

#[test]
fn modules_at_the_same_time() {
    let Some(project) = Project::reactor("3.2.5") else { return };
    let Some(run) = project.run(&["a.TwoTest"], &["-T2"]) else { return };
    run.assert_sound();
    let mut goals: Vec<(u32, &str)> = Vec::new();
    for message in &run.build {
        if let FromJvm::Goal(goal) = message {
            goals.push((goal.id, goal.artifact.as_str()));
        }
    }
    goals.sort_by_key(|(_, artifact)| *artifact);
    // The goal was called by name, so it also runs in the parent, where it finds nothing.
    let artifacts: Vec<&str> = goals.iter().map(|(_, artifact)| *artifact).collect();
    assert_eq!(artifacts, ["g:all:1", "g:x:1", "g:y:1"]);
    for scanned in run.scanned() {
        assert!(goals.iter().any(|(id, _)| *id == scanned.goal));
    }
    assert_eq!(run.scanned().len(), 2);
    assert_eq!(run.forks.len(), 2);
    for fork in &run.forks {
        fork.assert_sound();
        assert_eq!(fork.tests.keys().filter(|name| !name.is_empty()).count(), 1);
    }
}

#[test]
fn several_forks_and_none() {
    for (configuration, forks) in [
        ("<forkCount>2</forkCount><reuseForks>false</reuseForks>", 2),
        ("<forkCount>0</forkCount>", 0),
    ] {
        let Some(project) = Project::new("3.2.5", configuration) else { return };
        let Some(run) = project.run(&[], &[]) else { return };
        run.assert_sound();
        assert_eq!(run.goal().forks, forks.to_string());
        assert_eq!(run.forks.len(), forks);
        run.forks.iter().for_each(JvmReport::assert_sound);
        let mut classes = run.scanned().remove(0).classes.clone();
        classes.sort();
        assert_eq!(
            (run.scanned().len(), classes),
            (1, vec!["a.OneTest".into(), "a.TwoTest".into()])
        );
    }
}

/// Surefire's other providers: the JUnit platform and TestNG.
#[test]
fn other_providers() {
    let console = "org.junit.platform:junit-platform-console-standalone:1.10.2";
    let cases = [
        ("org.junit.jupiter:junit-jupiter:5.10.2", console, "org.junit.jupiter.api.Test"),
        ("org.testng:testng:7.5.1", "org.testng:testng:7.5.1", "org.testng.annotations.Test"),
    ];
    for (dependency, jar, annotation) in cases {
        let Some(jars) = jars(&[jar]) else { return };
        let classes = Sources::new()
            .classpaths(&jars)
            .release(8)
            .file("a/Thing.java", "package a; public class Thing { public void use() {} }")
            .file(
                "a/OneTest.java",
                &format!(
                    "package a; public class OneTest {{
                @{annotation} public void one() {{ new Thing().use(); }} }}"
                ),
            )
            .compile(&jdk());
        let Some(project) = Project::new("3.2.5", "") else { return };
        let folder = project.folder.path();
        fs::remove_dir_all(folder.join("target/test-classes")).expect("it is there");
        copy(&classes, &folder.join("target/test-classes"));
        let pom = fs::read_to_string(folder.join("pom.xml")).expect("a pom");
        let (start, rest) = pom.split_once("<groupId>junit</groupId>").expect("the dependency");
        let (_, end) = rest.split_once("</version>").expect("its version");
        let [group, name, version] = dependency.split(':').collect::<Vec<_>>()[..] else {
            unreachable!("three parts")
        };
        let pom = format!(
            "{start}<groupId>{group}</groupId><artifactId>{name}</artifactId>
            <version>{version}</version>{end}"
        );
        fs::write(folder.join("pom.xml"), pom).expect("a pom");
        let Some(run) = project.run(&[], &[]) else { return };
        run.assert_sound();
        run.forks[0].assert_sound();
        let ran = run.forks[0].ran("a.OneTest");
        assert!(ran.contains(&"a.OneTest.one") && ran.contains(&"a.Thing.use"), "{ran:?}");
        assert_eq!(run.forks[0].verdicts("a.OneTest"), [Verdict::Passed]);
        let run = project.run(&["a.OneTest"], &[]).expect("it ran before");
        run.assert_sound();
        assert!(run.forks.is_empty(), "{}", run.text);
    }
}
