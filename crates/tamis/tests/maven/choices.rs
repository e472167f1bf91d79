//! What a user can ask for: only some test classes, only those that failed, some always, and runs that
//! record nothing.

use crate::modules::all;
use tamis_report::exit::MISTAKE;
use tamis_testkit::Call;
use tamis_testkit::maven::{Maven, is_resolved};

const C: &str = "core/src/main/java/m/C.java";
const D: &str = "core/src/main/java/m/D.java";

fn project() -> Option<Maven> {
    let maven = Maven::copy_of("maven-modules", &tamis_testkit::jdk(), "choices")?;
    let first = maven.test();
    if !is_resolved(&first) {
        return None;
    }
    first.assert_passed("the first build");
    Some(maven)
}

fn red(maven: &Maven, round: &str, options: &[&str], expected: &[&str]) -> Call {
    let build = maven.build(options, &["test", "-fae"]);
    assert_ne!(build.code, 0, "{round}: {}\n{}", build.stderr, build.log);
    build.assert_ran(round, expected);
    build
}

fn green(maven: &Maven, round: &str, options: &[&str], expected: &[&str]) -> Call {
    let build = maven.build(options, &["test"]);
    build.assert_passed(round).assert_ran(round, expected);
    build
}

#[test]
fn only_some_and_only_those_that_failed() {
    let Some(maven) = project() else { return };
    let none = maven.build(&["--failed"], &["test"]);
    none.assert_passed("nothing failed");
    assert!(
        none.log.is_empty() && none.stderr.contains("nothing is known to fail now"),
        "{none:?}"
    );

    // TestM and AppAloneTest would run; one of them is asked for.
    maven.replace(C, "return 1;", "return 2;");
    red(&maven, "by its name", &["--only", "TestM"], &["TestM"]);
    red(&maven, "the rest is still affected", &[], &["TestM"]);
    red(&maven, "failed", &["--failed"], &["TestM"]);

    // What was left out is not proven: neither the classes nor the command.
    maven.replace(D, "return 4", "return Integer.parseInt(\"4\")");
    red(&maven, "failed, with another change", &["--failed"], &["TestM"]);
    maven.replace(C, "return 2;", "return Integer.parseInt(\"1\");");
    green(&maven, "mended", &["--failed"], &["TestM"]);
    green(&maven, "what was left out", &[], &["TestP"]);
    assert!(!maven.test().started);

    let missing = maven.build(&["--only", "NoSuchTest"], &["test"]);
    missing.assert_passed("the command as a whole is proven");
    assert!(!missing.started);
    maven.replace(D, "\"4\"", "\"04\"");
    let missing = maven.build(&["--only", "NoSuchTest"], &["test"]);
    assert_eq!(missing.code, MISTAKE, "{missing:?}");
    assert!(missing.stderr.contains("is called so: --only NoSuchTest"), "{missing:?}");
}

#[test]
fn always_run_by_name_and_by_tag() {
    let Some(maven) = project() else { return };
    assert!(!maven.test().started);
    maven.write(
        "tamis.toml",
        "[jvm]\nalways-run = [\"ZLast*\", \"m.ThreeTest\"]\nalways-run-tags = [\"Theories\"]\n",
    );
    for round in ["once", "again"] {
        let expected = ["TheoriesTest", "ThreeTest", "ZLastTest"];
        let build = green(&maven, round, &[], &expected);
        assert!(build.ran["m.ZLastTest"].contains("ZLast*"), "{build:?}");
        assert!(build.ran["m.TheoriesTest"].contains("tag Theories"), "{build:?}");
    }
    let why = maven.tamis(&["why", "m.ZLastTest"]);
    assert!(why.text().contains("always-run"), "{why:?}");
}

#[test]
fn a_run_that_records_nothing_proves_nothing() {
    let Some(maven) = project() else { return };
    maven.replace(D, "return 4", "return Integer.parseInt(\"4\")");
    for round in ["not recorded", "not recorded either"] {
        let build = green(&maven, round, &["--no-collect"], &["TestP"]);
        assert!(build.stderr.contains("nothing was recorded"), "{}", build.stderr);
    }
    green(&maven, "recorded", &[], &["TestP"]);

    // One that fails without being recorded is not forgotten.
    maven.write("core/fail-here", "");
    let build = maven.build(&["--all", "--no-collect"], &["test", "-fae"]);
    assert_ne!(build.code, 0, "{}\n{}", build.stderr, build.log);
    maven.remove("core/fail-here");
    let build = green(&maven, "it failed the last time", &[], &["ZLastTest"]);
    assert!(build.ran["m.ZLastTest"].contains("fail"), "{build:?}");

    // Every second run is recorded; the changes since the last recorded one still count.
    green(&maven, "the first of two", &["--collect-every", "2", "--all"], &all());
    maven.replace(C, "return 0;", "return Integer.parseInt(\"0\");");
    green(&maven, "the second", &["--collect-every", "2"], &["TestP", "AppTest"]);
    maven.replace(D, "\"4\"", "\"04\"");
    green(&maven, "the third", &["--collect-every", "2"], &["TestP", "AppTest"]);
    assert!(!maven.test().started);
}
