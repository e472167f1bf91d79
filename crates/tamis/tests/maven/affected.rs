//! `tamis --select modules mvn test` and `--select hybrid`: what git says changed leads to modules, and
//! real Maven builds them. The two failures of the paper about such selection are here.

use std::path::Path;
use tamis_testkit::Call;
use tamis_testkit::maven::{Maven, is_resolved};
use tamis_testkit::need;
use tamis_testkit::{Ended, ended};

const D: &str = "core/src/main/java/m/D.java";
const APP_TEST: &str = "app/src/test/java/m/AppTest.java";
const APP: &[&str] = &["AppAloneTest", "AppTest"];
const CORE_TESTS: usize = 13;

const WORDS_TEST: &str = "package m;\n\
    public class WordsTest {\n\
    \x20   @org.junit.Test public void words() throws Exception {\n\
    \x20       org.junit.Assert.assertTrue(java.nio.file.Files.size(java.nio.file.Paths.get(\"words.txt\")) > 0);\n\
    \x20   }\n}\n";

/// The fixture in a repository with one commit; `None` where it cannot be built.
fn project(name: &str) -> Option<Maven> {
    if !need("git") {
        return None;
    }
    let maven = Maven::copy_of("maven-modules", &tamis_testkit::jdk(), name)?;
    maven.write(".gitignore", "target\n");
    maven.commit();
    Some(maven)
}

fn build(maven: &Maven, strategy: &str, more: &[&str]) -> Call {
    maven.build(&["--select", strategy, "--since", "HEAD"], more)
}

/// The same from a folder of the project.
fn build_in(maven: &Maven, folder: &str, strategy: &str) -> Call {
    let words = maven.words(&["test"]);
    let got: Ended = ended(
        maven
            .binary()
            .current_dir(maven.path(folder))
            .args(["--json", "--select", strategy, "--since", "HEAD"])
            .args(words),
    );
    maven.read_call(&got)
}

#[test]
fn modules_and_what_they_need() {
    let Some(maven) = project("modules") else { return };
    let none = build(&maven, "modules", &["test"]);
    none.assert_passed("nothing changed").assert_ran("nothing changed", &[]);
    assert!(!none.started && none.log.is_empty(), "{none:?}");

    maven.replace(APP_TEST, "class AppTest", "class  AppTest");
    let tests = build(&maven, "modules", &["test"]);
    if !is_resolved(&tests) {
        return;
    }
    tests.assert_passed("a test of app").assert_ran("a test of app", APP);
    assert_eq!(tests.skipped.len(), CORE_TESTS, "built, and not tested: {tests:?}");
    assert!(tests.ran["m.AppTest"].contains("AppTest.java changed"), "{tests:?}");
    assert!(!tests.log.contains("m.TestP"), "{}", tests.log);

    maven.replace(D, "return 4", "return Integer.parseInt(\"4\")");
    let all = build(&maven, "modules", &["test"]);
    all.assert_passed("core");
    assert_eq!(all.ran.len(), CORE_TESTS + APP.len(), "all tests of affected modules: {all:?}");

    // The user's own choice stays the limit.
    let core = build(&maven, "modules", &["test", "-pl", "core"]);
    core.assert_passed("-pl core");
    assert_eq!((core.ran.len(), core.skipped.len()), (CORE_TESTS, 0), "{core:?}");
    let app = build(&maven, "modules", &["test", "-pl", ":app", "-am"]);
    app.assert_passed("-pl :app -am");
    assert_eq!(app.ran.len(), CORE_TESTS + APP.len(), "core changed, too: {app:?}");
    maven.commit();
    let nothing = build(&maven, "modules", &["test", "-pl", "core"]);
    assert!(!nothing.started, "{nothing:?}");

    // A test that failed stays affected until it passes, whatever is compared with.
    maven.replace(D, "\"4\"", "\"no number\"");
    assert_eq!(build(&maven, "modules", &["test"]).code, 1);
    maven.commit();
    let failed = build(&maven, "modules", &["test"]);
    assert_eq!(failed.code, 1, "{failed:?}");
    assert!(failed.ran.contains_key("m.TestP"), "{failed:?}");
}

#[test]
fn hybrid_goes_down_to_classes_and_files_that_tests_read() {
    let Some(maven) = project("hybrid") else { return };
    maven.write("core/src/test/java/m/WordsTest.java", WORDS_TEST);
    maven.write("core/words.txt", "some words\n");
    let first = maven.test();
    if !is_resolved(&first) {
        return;
    }
    first.assert_passed("the first build");
    maven.commit();

    maven.replace(D, "return 4", "return Integer.parseInt(\"4\")");
    let one = build(&maven, "hybrid", &["test"]);
    one.assert_passed("D.p").assert_ran("D.p", &["TestP"]);
    maven.commit();

    // By its name it would not count; a record knows who reads it.
    maven.write("core/words.txt", "other words\n");
    maven.write("core/notes.txt", "read by nobody\n");
    let read = build(&maven, "hybrid", &["test"]);
    read.assert_passed("words.txt").assert_ran("words.txt", &["WordsTest"]);
    let shown = maven.tamis(&["modules", "--since", "HEAD"]).text();
    assert!(shown.contains("counts    core/words.txt") && shown.contains("m.WordsTest"), "{shown}");
    assert!(shown.contains("excluded  core/notes.txt"), "{shown}");
    let modules = build(&maven, "modules", &["test"]);
    modules.assert_passed("words.txt, modules");
    assert!(modules.ran.contains_key("m.WordsTest"), "{modules:?}");
}

#[test]
fn a_call_inside_a_module_runs_its_affected_tests() {
    let Some(maven) = project("inside") else { return };
    maven.replace(D, "return 4", "return Integer.parseInt(\"4\")");
    let own = build_in(&maven, "core", "modules");
    if !is_resolved(&own) {
        return;
    }
    own.assert_passed("its own file");
    assert_eq!(own.ran.len(), CORE_TESTS, "{own:?}");
    let none = build_in(&maven, "core", "hybrid");
    none.assert_passed("recorded just now").assert_ran("recorded just now", &[]);
    maven.commit();
    assert!(!build_in(&maven, "core", "modules").started);

    // What changed is outside of what is built here.
    maven.write("settings.json", "{}\n");
    let outside = build_in(&maven, "core", "modules");
    outside.assert_passed("a file of the root");
    assert_eq!(outside.ran.len(), CORE_TESTS, "{outside:?}");
    assert!(outside.ran["m.TestP"].contains("inherits from m:parent"), "{outside:?}");
    let pom = Path::new("pom.xml").display().to_string();
    maven.remove("settings.json");
    maven.replace(&pom, "<version>4.13.2</version>", "<version>4.13.1</version>");
    let shown = maven.tamis(&["modules", "--since", "HEAD"]).text();
    assert!(
        shown.contains("dependency junit:junit is 4.13.1 (test), was 4.13.2 (test)"),
        "{shown}"
    );
    assert!(shown.contains("3 of 3 modules affected"), "{shown}");
    assert!(shown.contains("m:core  (its tests alone)"), "{shown}");
}

#[test]
fn upstream_and_downstream_modules_get_properties_of_their_own() {
    let Some(maven) = project("args") else { return };
    let resources = "<build><resources><resource><directory>res</directory><filtering>true</filtering>\
        </resource></resources></build>";
    maven.replace("pom.xml", "<properties>", "<properties><who>nobody</who>");
    maven.replace("pom.xml", "<module>app</module>", "<module>app</module><module>last</module>");
    for module in ["core", "app"] {
        let pom = format!("{module}/pom.xml");
        maven.replace(&pom, "</project>", &format!("{resources}</project>"));
        maven.write(format!("{module}/res/who.txt"), "${who}");
    }
    maven.write(
        "last/pom.xml",
        format!(
            "<project><modelVersion>4.0.0</modelVersion><parent><groupId>m</groupId>\
             <artifactId>parent</artifactId><version>1</version></parent><artifactId>last</artifactId>\
             <dependencies><dependency><groupId>m</groupId><artifactId>app</artifactId>\
             <version>1</version></dependency></dependencies>{resources}</project>"
        ),
    );
    maven.write("last/res/who.txt", "${who}");
    maven.write(
        "tamis.toml",
        "[modules]\nupstream-args = [\"-Dwho=upstream\"]\ndownstream-args = [\"-Dwho=downstream\"]\n",
    );
    maven.commit();
    maven.write("app/src/main/java/m/More.java", "package m; class More {}\n");
    let built = build(&maven, "modules", &["compile"]);
    if !is_resolved(&built) {
        return;
    }
    assert_eq!(built.code, 0, "{built:?}");
    let who = |module: &str| {
        std::fs::read_to_string(maven.path(format!("{module}/target/classes/who.txt")))
            .unwrap_or_default()
    };
    assert_eq!(
        (who("core"), who("app"), who("last")),
        ("upstream".into(), "nobody".into(), "downstream".into())
    );
}
