//! `tamis mvn verify`: TestNG in one module; in another one test classes of JUnit 5 at the same time, and
//! Failsafe, whose tests get the classes from the jar that was just made; a third is a module to Java, too.

use tamis_testkit::Call;
use tamis_testkit::maven::{Maven, is_resolved};

const ALL: &[&str] = &[
    "ItOneIT",
    "ItTwoIT",
    "ModOneTest",
    "ModTwoTest",
    "NgOneTest",
    "NgTwoTest",
    "UnitOneTest",
    "UnitTwoTest",
];

fn verify(maven: &Maven, round: &str) -> Call {
    let build = maven.build(&[], &["verify", "-DforkCount=1C"]);
    build.assert_passed(round);
    build
}

#[test]
fn testng_failsafe_and_classes_at_the_same_time() {
    let Some(maven) = Maven::copy_of("maven-kinds", &tamis_testkit::jdk(), "kinds") else {
        return;
    };
    let first = maven.build(&[], &["verify", "-DforkCount=1C"]);
    if !is_resolved(&first) {
        return;
    }
    first.assert_passed("the first build").assert_ran("the first build", ALL);
    assert!(!verify(&maven, "nothing changed").started);

    maven.replace("ng/src/main/java/k/NgOne.java", "one of ng", "1");
    maven.replace("it/src/main/java/k/ItTwo.java", "two of it", "2");
    maven.replace("mod/src/main/java/k/mod/ModOne.java", "One in", "1 in");
    for reports in
        ["it/target/failsafe-reports", "it/target/surefire-reports", "ng/target/surefire-reports"]
    {
        std::fs::remove_dir_all(maven.path(reports)).unwrap();
    }
    let build = verify(&maven, "one of each");
    build.assert_ran("one of each", &["NgOneTest", "ItTwoIT", "ModOneTest"]);
    assert!(build.ran["k.NgOneTest"].contains("k.NgOne#run()"), "{build:?}");
    assert!(build.ran["k.ItTwoIT"].contains("k.ItTwo"), "{build:?}");

    // Reports of those that were skipped are there again, also where TestNG writes one about all.
    for report in [
        "it/target/failsafe-reports/TEST-k.ItOneIT.xml",
        "it/target/surefire-reports/TEST-k.UnitOneTest.xml",
        "ng/target/surefire-reports/TEST-k.NgTwoTest.xml",
    ] {
        let xml = maven.read(report);
        assert!(xml.contains("<testcase") && xml.contains("\"tamis.record\""), "{report}: {xml}");
    }

    maven.replace("ng/src/main/java/k/NgTwo.java", "two of ng", "2");
    maven.replace("it/src/main/java/k/UnitOne.java", "one of units", "1");
    // What a module opens is read by the JVM, and by no test.
    maven.replace(
        "mod/src/main/java/module-info.java",
        "exports k.mod;",
        "exports k.mod;\n opens k.mod;",
    );
    let build = verify(&maven, "what runs at the same time");
    for test in ["k.NgTwoTest", "k.UnitOneTest", "k.mod.ModOneTest", "k.mod.ModTwoTest"] {
        assert!(build.ran.contains_key(test), "{test}: {build:?}");
    }
    assert!(build.skipped.contains("k.ItOneIT"), "{build:?}");

    // A test of Failsafe that fails does so at its end, and again the next time.
    maven.replace("it/src/main/java/k/ItOne.java", "\"one of it\"", "null");
    for round in ["it fails", "it still fails"] {
        let build = maven.build(&[], &["verify", "-DforkCount=1C"]);
        assert_eq!(build.code, 1, "{round}: {build:?}");
        build.assert_ran(round, &["ItOneIT"]);
    }
}
