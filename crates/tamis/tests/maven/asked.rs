//! Properties of the command line and variables count for those who can have asked for them; a test configuration that is
//! another one is named; lines count where the settings say so.

use tamis_testkit::maven::{Maven, Pom, is_resolved};

const THING: &str = "src/main/java/p/Thing.java";

fn project() -> Option<Maven> {
    let maven = Maven::empty(&tamis_testkit::jdk(), "asked")?;
    let pom = Pom::new("p:asked", 11).dependency("junit:junit:4.13.2", "<scope>test</scope>");
    maven.write("pom.xml", pom.text());
    maven.write(THING, "package p; public class Thing { public static int one() { return 1; } }\n");
    let test = |name: &str, body: &str| {
        let text = format!(
            "package p; public class {name} {{ @org.junit.Test public void t() {{ {body}; }} }}\n"
        );
        maven.write(format!("src/test/java/p/{name}.java"), text);
    };
    test("APlainTest", "Thing.one()");
    test("BAskTest", "System.getProperty(\"colour\"); System.getenv(\"FLAVOUR\")");
    let first = maven.build(&[], &["test", "-Dcolour=red"]);
    if !is_resolved(&first) {
        return None;
    }
    first.assert_passed("first").assert_ran("first", &["APlainTest", "BAskTest"]);
    Some(maven)
}

#[test]
fn what_is_asked_for_counts_and_what_changed_is_named() {
    let Some(mut maven) = project() else { return };
    let build = maven.build(&[], &["test", "-Dcolour=red", "-Dother=1"]);
    build.assert_passed("unasked").assert_ran("a property that was not asked for", &[]);
    let build = maven.build(&[], &["test", "-Dcolour=blue"]);
    build.assert_passed("asked").assert_ran("a property that one asks for", &["BAskTest"]);
    let named = "for tests that ask for it: -Dcolour was \"red\", is \"blue\"";
    assert!(build.stderr.contains(named), "{build:?}");
    let build = maven.build(&[], &["test"]);
    build.assert_passed("gone").assert_ran("it is gone", &["BAskTest"]);
    maven.set("UNASKED", "1");
    maven.test().assert_passed("unasked").assert_ran("a variable that was not asked for", &[]);
    maven.set("FLAVOUR", "sweet");
    maven.test().assert_passed("asked").assert_ran("a variable that one asks for", &["BAskTest"]);

    // One test class runs in the new way, the other does not: then it can be asked why it would.
    let line = "<runOrder>alphabetical</runOrder>";
    maven.replace("pom.xml", line, &format!("{line}<argLine>-Xmx99m</argLine>"));
    let build = maven.build(&["--only", "APlainTest"], &["test"]);
    build.assert_passed("another argument").assert_ran("another argument", &["APlainTest"]);
    let named = "argLine is \"-Xmx99m\" and was not there";
    assert!(build.stderr.contains(named), "{build:?}");
    let why = maven.answer(&["why", "BAskTest"]);
    assert!(why.contains("test configuration") && why.contains(named), "{why}");
    let json = maven.answer(&["--json", "why", "BAskTest"]);
    let parameters = "\"parameters\":\"argLine is \\\"-Xmx99m\\\" and was not there\"";
    assert!(json.contains(parameters), "{json}");

    maven.test().assert_passed("the other one").assert_ran("the other one", &["BAskTest"]);
    maven.replace(THING, "package", "\npackage");
    maven.test().assert_passed("a line").assert_ran("lines do not count", &[]);
    maven.write("tamis.toml", "[jvm]\ndebug-info = ['p.Thing']\n");
    maven.test().assert_passed("settings").assert_ran("other rules", &["APlainTest", "BAskTest"]);
    maven.replace(THING, "package", "\npackage");
    maven.test().assert_passed("a line").assert_ran("lines count", &["APlainTest"]);
}
