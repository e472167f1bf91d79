//! Two modules with JUnit 4's kinds of tests, in a folder with a blank in its name: what selects in
//! which module, partial runs, forks, and builds that are killed.

use std::process::{Child, Command, Stdio};
use tamis_testkit::Call;
use tamis_testkit::maven::{Maven, is_resolved};
use tamis_testkit::wait_for;

const CORE: &[&str] = &[
    "CustomTest",
    "EnclosedTest",
    "HelperTest",
    "ParameterTest",
    "RuleTest",
    "SuiteTest",
    "TestM",
    "TestP",
    "TheoriesTest",
    "ThreeSuiteTest",
    "ThreeTest",
    "TwiceTest",
    "ZLastTest",
];
const APP: &[&str] = &["AppAloneTest", "AppTest"];
const WORK: &str = "core/src/main/java/m/Work.java";
const C: &str = "core/src/main/java/m/C.java";
const D: &str = "core/src/main/java/m/D.java";

/// All test classes of the project.
pub(crate) fn all() -> Vec<&'static str> {
    CORE.iter().chain(APP).copied().collect()
}

/// The project, built once; `None` where it cannot be.
fn project() -> Option<Maven> {
    let maven = Maven::copy_of("maven-modules", &tamis_testkit::jdk(), "two modules")?;
    let first = maven.test();
    if !is_resolved(&first) {
        return None;
    }
    first.assert_passed("the first build").assert_ran("the first build", &all());
    let twice = "Tests run: 2, Failures: 0, Errors: 0, Skipped: 0";
    let line = first.log.lines().find(|l| l.contains("in m.TwiceTest")).unwrap_or_default();
    assert!(line.contains(twice), "a class that stands twice in a suite runs twice: {}", first.log);
    Some(maven)
}

fn built(maven: &Maven, round: &str, expected: &[&str]) -> Call {
    let build = maven.test();
    build.assert_passed(round).assert_ran(round, expected);
    build
}

#[test]
fn changes_select_across_modules_and_inside_suites() {
    let Some(maven) = project() else { return };

    // The example of the paper: t4 alone runs D.p, and nothing of the other module does.
    maven.replace(D, "return 4", "return Integer.parseInt(\"4\")");
    let build = built(&maven, "D.p", &["TestP"]);
    assert!(build.ran["m.TestP"].contains("m.D#p()"), "{build:?}");
    assert!(!build.log.contains("m.App"), "no JVM for the other module: {}", build.log);
    assert!(!maven.test().started, "nothing changed after a build with few tests");

    maven.replace(C, "return 0;", "return Integer.parseInt(\"0\");");
    maven.replace(WORK, "\"member two\"", "\"2\"");
    maven.replace(WORK, "\"twice\"", "\"t\"");
    maven.replace(WORK, "\"enclosed two\"", "\"2\"");
    maven.replace(WORK, "\"custom\"", "\"c\"");
    maven.replace(WORK, "\"a suite of three\"", "\"s\"");
    let expected = [
        "TestP",
        "AppTest",
        "SuiteTest",
        "TwiceTest",
        "EnclosedTest",
        "CustomTest",
        "ThreeSuiteTest",
    ];
    let build = built(&maven, "C.p and more", &expected);
    for (test, reason) in [
        ("m.TestP", "m.C#p()"),
        ("m.AppTest", "m.C#p()"),
        ("m.SuiteTest", "m.Work$MemberTwo#run()"),
        ("m.TwiceTest", "m.Work$Twice#run()"),
        ("m.EnclosedTest", "m.Work$EnclosedTwo#run()"),
        ("m.CustomTest", "m.Work$Custom#run()"),
        ("m.ThreeSuiteTest", "m.Work$ThreeSuite#run()"),
    ] {
        assert!(build.ran[test].contains(reason), "{test}: {reason:?} in {build:?}");
    }

    // A method more concerns those that could meet it: `q` is named nowhere, and `m` of a `D` is another one now.
    maven.replace(
        C,
        "public int m()",
        "public int q() {\n        return 9;\n    }\n\n    public int m()",
    );
    maven.replace(
        D,
        "    @Override\n    public int p()",
        "    @Override\n    public int m() {\n        return 1;\n    }\n\n    @Override\n    public int p()",
    );
    maven.replace(WORK, "\"set up\"", "\"s\"");
    maven.replace(WORK, "return \"more\"", "return \"m\"");
    maven.replace(WORK, "\"more theory\"", "\"m\"");
    maven.replace(WORK, "\"rule\"", "\"r\"");
    let expected = ["TestM", "ThreeTest", "ParameterTest", "TheoriesTest", "RuleTest"];
    built(&maven, "a method more", &expected);
    explains(&maven);
}

/// `why`, `why-not`, `deps` and `select` know test classes.
fn explains(maven: &Maven) {
    let answer = |words: &[&str]| {
        let got = maven.tamis(words);
        assert_eq!(got.code, 0, "{words:?}: {}", got.stderr);
        got.text()
    };
    let deps = answer(&["deps", "m.TestP"]);
    assert!(deps.contains("m.D#p()") && !deps.contains("m.C#m()"), "{deps}");
    let why_not = answer(&["why-not", "m.TestP"]);
    assert!(why_not.contains("may be skipped"), "{why_not}");
    let mut words = vec!["--json".to_owned(), "select".into(), "--".into()];
    words.extend(maven.words(&["test"]));
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let got = maven.tamis(&words);
    let selected = maven.read_call(&got);
    assert!(selected.ran.is_empty() && selected.skipped.contains("m.TestP"), "{got:?}");
}

#[test]
fn partial_runs_and_forks() {
    let Some(maven) = project() else { return };

    // A part of a test class is not the test class.
    maven.replace(C, "return 1;", "return Integer.parseInt(\"1\");");
    let build = maven.build(&[], &["test", "-Dtest=TestM#t1", "-DfailIfNoTests=false"]);
    build.assert_passed("TestM#t1");
    assert!(build.stderr.contains("runs parts of test classes"), "{}", build.stderr);
    maven.replace(D, "return 4", "return Integer.parseInt(\"4\")");
    let build = maven.build(&[], &["test", "-Dtest=TestP", "-DfailIfNoTests=false"]);
    build.assert_passed("TestP").assert_ran("TestP", &["TestP"]);
    built(&maven, "the rest", &["TestM"]);

    // Several JVMs, one after the other or at once.
    let forks = ["test", "-DforkCount=2", "-DreuseForks=false"];
    let build = maven.build(&["--all"], &forks);
    build.assert_passed("all").assert_ran("all", &all());
    maven.replace(WORK, "\"three\"", "\"3\"");
    maven.replace(C, "return 0;", "return Integer.parseInt(\"0\");");
    let build = maven.build(&[], &forks);
    // Surefire does not start a JVM for a class without tests then, so none of ours looked at it.
    let expected = ["ThreeTest", "TestP", "AppTest", "HelperTest"];
    build.assert_passed("forks").assert_ran("forks", &expected);
    assert!(!maven.build(&[], &forks).started);

    // Inside Maven itself nothing can be distinguished.
    maven.replace(WORK, "\"rule\"", "\"r\"");
    let build = maven.build(&[], &["test", "-DforkCount=0"]);
    build.assert_passed("no fork");
    assert!(build.stderr.contains("forkCount=0"), "{}", build.stderr);
    assert!(build.skipped.is_empty() && build.log.contains("in m.CustomTest"), "{build:?}");
    // Test classes share a JVM again: what passed in one of its own proves nothing.
    built(&maven, "as at first", &["RuleTest", "ThreeTest", "TestP", "AppTest"]);
}

/// The Surefire that Maven 3 takes where a pom names none.
#[test]
fn an_old_surefire() {
    let jdk = tamis_testkit::jdk();
    let Some(maven) = Maven::copy_of("maven-modules", &jdk, "an old one") else { return };
    maven.replace("pom.xml", "2.22.2", "2.12.4");
    let first = maven.test();
    if !is_resolved(&first) {
        return;
    }
    first.assert_passed("the first build").assert_ran("the first build", &all());
    maven.replace(D, "return 4", "return Integer.parseInt(\"4\")");
    built(&maven, "D.p", &["TestP"]);
}

#[test]
fn test_classes_at_the_same_time_share_what_cannot_be_distinguished() {
    let Some(maven) = project() else { return };
    let parallel = ["test", "-Dparallel=classes", "-DthreadCount=2", "-DperCoreThreadCount=false"];
    let build = maven.build(&[], &parallel);
    if !is_resolved(&build) {
        return;
    }
    build.assert_passed("in parallel").assert_ran("in parallel", &all());
    maven.replace(D, "return 4", "return Integer.parseInt(\"4\")");
    let build = maven.build(&[], &parallel);
    build.assert_passed("D.p");
    assert!(build.ran.contains_key("m.TestP"), "{build:?}");
    assert!(build.skipped.contains("m.AppAloneTest"), "{build:?}");
}

#[test]
fn a_jvm_without_the_agent_proves_nothing() {
    let Some(maven) = project() else { return };
    let java = maven.jdk().tool("java").display().to_string();
    maven.write(
        "bin/java",
        format!(
            "#!/bin/bash\nfor a; do shift; case $a in -agentpath*) ;; *) set -- \"$@\" \"$a\";; esac; \
             done\nexec '{java}' \"$@\"\n"
        ),
    );
    let script = maven.path("bin/java");
    std::fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .expect("a program");
    let jvm = format!("-Djvm={}", script.display());
    for round in ["without the agent", "and again"] {
        let build = maven.build(&["--no-command-skip"], &["test", &jvm]);
        build.assert_passed(round).assert_ran(round, &all());
        assert!(build.stderr.contains("the agent did not start"), "{}", build.stderr);
    }
}

/// Starts a build that stops in its last test, after TestM.
fn stuck_build(maven: &Maven) -> Child {
    let record = || {
        let status = maven.tamis(&["--json", "status"]);
        let lines = status.lines().into_iter();
        let mut records = lines.filter(|l| l["test"] == "mvn:core::m.TestM");
        records.find_map(|l| l["last"]["record"].as_u64())
    };
    let before = record();
    maven.write("core/wait-here", "");
    let tamis = maven
        .binary()
        .args(maven.words(&["test"]))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("tamis starts");
    wait_for("the last test", || maven.path("core/waiting").exists());
    wait_for("the record of a test that ended", || record() != before);
    tamis
}

#[test]
fn a_build_that_is_killed_keeps_what_had_ended() {
    let Some(maven) = project() else { return };
    maven.replace(C, "return 1;", "return Integer.parseInt(\"1\");");
    let mut tamis = stuck_build(&maven);
    tamis.kill().expect("it runs");
    tamis.wait().expect("it ended");
    maven.remove("core/wait-here");
    maven.remove("core/waiting");
    // The last one had not ended, but it had passed in the same state before.
    built(&maven, "after the kill", &[]);

    maven.replace(C, "Integer.parseInt(\"1\")", "Integer.valueOf(\"1\")");
    let mut tamis = stuck_build(&maven);
    let threads = std::fs::read_dir(format!("/proc/{}/task", tamis.id())).expect("its threads");
    let children = threads.flatten().map(|thread| thread.path().join("children"));
    let children: String = children.filter_map(|c| std::fs::read_to_string(c).ok()).collect();
    let build = children.split_whitespace().next().expect("Maven").to_owned();
    assert!(Command::new("kill").args(["-9", &build]).status().expect("kill").success());
    maven.remove("core/wait-here");
    assert!(!tamis.wait().expect("it ended").success(), "the build did not pass");
    maven.remove("core/waiting");
    built(&maven, "after Maven was killed", &[]);
}
