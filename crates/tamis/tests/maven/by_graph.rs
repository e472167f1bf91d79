//! `tamis --select static mvn test`: the graph of types decides, inside the one Maven run.

use std::collections::BTreeSet;
use tamis_testkit::Call;
use tamis_testkit::maven::{Maven, is_resolved};

const D: &str = "core/src/main/java/m/D.java";

fn build(maven: &Maven) -> Call {
    maven.build(&["--select", "static"], &["test"])
}

#[test]
fn the_graph_decides_and_only_what_finished_moves_on() {
    let Some(maven) = Maven::copy_of("maven-modules", &tamis_testkit::jdk(), "graph") else {
        return;
    };
    let first = build(&maven);
    if !is_resolved(&first) {
        return;
    }
    first.assert_passed("the first build");
    let all = first.ran.len();
    assert!(all > 10 && first.skipped.is_empty(), "{first:?}");

    let again = build(&maven);
    again.assert_passed("nothing changed").assert_ran("nothing changed", &[]);
    assert!(again.started, "what tests read besides classes is not known: the build starts");
    assert!(!again.log.contains("T E S T S"), "no JVM is forked: {}", again.log);

    maven.replace(D, "return 4", "return Integer.parseInt(\"4\")");
    let edited = build(&maven);
    edited.assert_passed("D.p");
    assert!(edited.names().contains("TestP") && edited.ran.len() < all, "{edited:?}");
    assert!(edited.ran["m.TestP"].contains("m.TestP -> "), "a path explains it: {edited:?}");

    // A test that fails is not done: it runs until it passes.
    maven.replace(D, "parseInt(\"4\")", "parseInt(\"no number\")");
    assert_eq!(build(&maven).code, 1);
    let still = build(&maven);
    assert_eq!(still.code, 1);
    assert!(still.names().contains("TestP"), "{still:?}");
    maven.replace(D, "parseInt(\"no number\")", "parseInt(\"4\")");
    assert!(build(&maven).assert_passed("mended").names().contains("TestP"));

    // The other way of deciding has records of its own, and nothing of these.
    let observed = maven.test();
    assert_eq!(observed.assert_passed("observed").ran.len(), all, "{observed:?}");
}

/// `tamis static` sees what a run with the graph of types did, as long as it can know that the tests still run in the
/// same way; and the run sees only what it can know of itself.
#[test]
fn a_run_and_a_look_at_the_classes_share_one_state() {
    let Some(maven) = Maven::copy_of("maven-modules", &tamis_testkit::jdk(), "shared") else {
        return;
    };
    let first = build(&maven);
    if !is_resolved(&first) {
        return;
    }
    first.assert_passed("the first build");
    let words = maven.words(&[]);
    let repository = words.iter().find_map(|word| word.strip_prefix("-D")).expect("a repository");
    maven.write("offline-mvn", "exec mvn -o \"$@\"\n");
    let program = maven.path("offline-mvn").display().to_string();
    std::process::Command::new("chmod").arg("+x").arg(&program).status().expect("chmod");
    let select = |more: &[&str]| {
        let words =
            [&["static", "--mvn", &program, "-D", repository], more, &["select", "--plain"]];
        let ended = maven.tamis(&words.concat());
        assert_eq!(ended.code, 0, "{}", ended.stderr);
        // Surefire does not run all that looks like a test.
        let text = ended.text();
        let names: BTreeSet<&str> = text.lines().collect();
        let ran = first.ran.keys().filter(|name| names.contains(name.as_str()));
        ran.cloned().collect::<BTreeSet<String>>()
    };
    let (none, mut all) = (BTreeSet::new(), first.ran.keys().cloned().collect::<BTreeSet<_>>());
    // It only has the name of a test.
    all.remove("m.HelperTest");
    assert_eq!(select(&[]), none, "the run is known");
    assert_eq!(
        select(&["-D", "other=1"]),
        all,
        "tests may see a property that the run did not have"
    );
    maven.replace("pom.xml", "</properties>", "<argLine>-Dx=1</argLine></properties>");
    assert_eq!(select(&[]), all, "the poms declare another way to run tests");
    let again = build(&maven);
    assert_eq!(again.assert_passed("another argument").ran.len(), first.ran.len());
    assert_eq!(select(&[]), none);
}

#[test]
fn at_method_level_the_call_graph_decides() {
    let Some(maven) = Maven::copy_of("maven-modules", &tamis_testkit::jdk(), "calls") else {
        return;
    };
    let build = || maven.build(&["--select", "static", "--granularity", "method"], &["test"]);
    let first = build();
    if !is_resolved(&first) {
        return;
    }
    first.assert_passed("the first build");
    let all = first.ran.len();
    build().assert_passed("nothing changed").assert_ran("nothing changed", &[]);
    maven.replace(D, "return 4", "return Integer.parseInt(\"4\")");
    let edited = build();
    edited.assert_passed("D.p");
    assert!(edited.names().contains("TestP") && edited.ran.len() < all, "{edited:?}");
    assert!(edited.ran["m.TestP"].contains("m.TestP#"), "a path of methods: {edited:?}");
    assert!(edited.stderr.contains("can miss tests"), "{}", edited.stderr);
    assert_ne!(
        maven.build(&["--level", "method"], &["test"]).code,
        0,
        "--level belonged to static"
    );
}
