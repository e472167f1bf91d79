//! What is there after a build that skipped test classes: the coverage that JaCoCo reports, and the reports of
//! Surefire, are those of a build that ran all.

use tamis_testkit::maven::{Maven, is_resolved};
use tamis_testkit::{Call, ended};

const ALL: &[&str] = &[
    "AddTest",
    "NamesFirstTest",
    "NamesHasTest",
    "ParseFirstTest",
    "ParseSecondTest",
    "UntouchedTest",
];

/// What JaCoCo reports, line by line, without when that was.
fn covered(maven: &Maven) -> String {
    let xml = maven.read("target/site/jacoco/jacoco.xml");
    let mut rest = xml.as_str();
    let mut text = String::new();
    while let Some(at) = rest.find("<sessioninfo ") {
        text.push_str(&rest[..at]);
        rest = &rest[at..][rest[at..].find("/>").expect("the element ends") + 2..];
    }
    text + rest
}

/// What plain Maven reports after running all.
fn covered_by_all(maven: &Maven) -> String {
    let words = maven.words(&["clean", "test"]);
    let mut command = maven.command("mvn");
    let got = ended(command.args(&words[1..]));
    assert_eq!(got.code, 0, "{got:?}");
    covered(maven)
}

/// Whether the report of a test class says from which record it is.
fn is_marked(maven: &Maven, class: &str) -> bool {
    let xml = maven.read(format!("target/surefire-reports/TEST-p.{class}.xml"));
    assert!(xml.contains("<testcase name=\"holds\""), "{xml}");
    xml.contains("<property name=\"tamis.record\" value=\"")
}

fn clean_test(maven: &Maven) -> Call {
    let build = maven.build(&["--no-command-skip"], &["clean", "test"]);
    build.assert_passed("clean test");
    build
}

#[test]
fn skipped_test_classes_are_in_coverage_and_reports() {
    let Some(maven) = Maven::copy_of("maven-coverage", &tamis_testkit::jdk(), "coverage") else {
        return;
    };
    let first = maven.test();
    if !is_resolved(&first) {
        return;
    }
    first.assert_passed("the first build").assert_ran("the first build", ALL);
    let before = covered(&maven);
    assert!(!is_marked(&maven, "AddTest"));

    // No JVM is started, and nothing is there but what is put back.
    clean_test(&maven).assert_ran("nothing changed", &[]);
    assert_eq!(covered(&maven), before);
    assert!(ALL.iter().all(|class| is_marked(&maven, class)));

    // The one that filled a cache no longer does; so the other one covers what it had not covered. A class
    // that is another one has other probes. What the first test of a class ran for both is still covered.
    maven.replace("src/test/java/p/ParseFirstTest.java", "Parser.parse(\"7\")", "7");
    maven.replace("src/main/java/p/Calc.java", "a > b ? a : b", "a >= b ? a : b");
    maven.replace("src/test/java/p/NamesFirstTest.java", "Names.first()", "\"one\"");
    let build = clean_test(&maven);
    let ran = ["AddTest", "NamesFirstTest", "ParseFirstTest", "ParseSecondTest"];
    build.assert_ran("three edits", &ran);
    assert!(build.ran["p.AddTest"].contains("p.Calc, which it covers"), "{build:?}");
    assert!(build.ran["p.ParseSecondTest"].contains("p.ParseFirstTest"), "{build:?}");
    assert!(is_marked(&maven, "NamesHasTest") && !is_marked(&maven, "AddTest"));
    let partly = covered(&maven);
    assert_ne!(partly, before);
    assert_eq!(partly, covered_by_all(&maven));
}
