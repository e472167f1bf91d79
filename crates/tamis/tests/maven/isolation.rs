//! `--check-isolation`: a test class that needs what another one left.

use serde_json::Value;
use tamis_testkit::Ended;
use tamis_testkit::maven::{Maven, Pom, is_resolved};

const KEPT: &str = "package p;
public class Kept { public static final java.util.List<String> LIST = new java.util.ArrayList<>(); }
";

fn class(name: &str, methods: &[(&str, &str)]) -> (String, String) {
    let methods = methods
        .iter()
        .map(|(method, body)| format!("    @org.junit.Test public void {method}() {{ {body} }}\n"));
    let methods: String = methods.collect();
    (
        format!("src/test/java/p/{name}.java"),
        format!(
            "package p;\nimport static org.junit.Assert.*;\npublic class {name} {{\n{methods}}}\n"
        ),
    )
}

fn isolation(got: &Ended) -> Value {
    let summary = got.events("summary").pop().unwrap_or_else(|| panic!("no summary: {got:?}"));
    summary["isolation"].clone()
}

fn report_of(maven: &Maven, class: &str) -> String {
    maven.read(format!("target/surefire-reports/TEST-p.{class}.xml"))
}

#[test]
fn who_depends_on_whom_is_named_and_leaves_no_trace() {
    let Some(maven) = Maven::empty(&tamis_testkit::jdk(), "isolation") else { return };
    let pom = Pom::new("g:iso", 8).dependency("junit:junit:4.13.2", "<scope>test</scope>");
    maven.write("pom.xml", pom.text());
    maven.write("src/main/java/p/Kept.java", KEPT);
    let last = "assertEquals(\"left\", Kept.LIST.get(Kept.LIST.size() - 1));";
    for (file, text) in [
        class("AFirstTest", &[("goes", "assertTrue(Kept.LIST.isEmpty());")]),
        class("BWriterTest", &[("writes", "Kept.LIST.add(\"left\"); assertTrue(true);")]),
        class("COtherTest", &[("goes", "assertTrue(Kept.LIST.size() < 2);")]),
        class("DReaderTest", &[("well", ""), ("reads", last)]),
    ] {
        maven.write(&file, text);
    }
    let words = maven.words(&["test"]);
    let tamis = |options: &[&str]| {
        let mut all = options.to_vec();
        all.extend(words.iter().map(String::as_str));
        maven.tamis(&all)
    };
    let got = tamis(&["--json", "--check-isolation"]);
    if !is_resolved(&maven.read_call(&got)) {
        return;
    }
    // The build is green, and all the same something is to be mended.
    assert_eq!(got.code, 3, "{got:?}");
    let found = isolation(&got);
    assert_eq!(
        (&found["behind_others"], &found["flaky"]),
        (&3.into(), &Value::Array(vec![])),
        "{found}"
    );
    let expected = serde_json::json!([{
        "test": "mvn:iso::p.DReaderTest",
        "how": "depends-on-others",
        "parts": ["reads"],
        "by": ["mvn:iso::p.BWriterTest"],
        "by_record": ["mvn:iso::p.BWriterTest"],
        "message": found["found"][0]["message"],
    }]);
    assert_eq!(found["found"], expected);
    let message = found["found"][0]["message"].as_str().unwrap_or_default();
    assert!(message.contains("reads: java.lang."), "{message}");
    let finding =
        "mvn:iso::p.DReaderTest fails alone (reads), passes behind mvn:iso::p.BWriterTest";
    assert!(got.stderr.contains(finding), "{}", got.stderr);
    // Neither a record nor a file of a run that the user did not ask for is left.
    assert!(!report_of(&maven, "DReaderTest").contains("<error"), "the report of the run alone");
    let next = tamis(&["--json", "--check-isolation"]);
    let decisions = next.decisions();
    assert!(next.code == 0 && !decisions.values().any(|d| d.runs), "{next:?}");
    assert_eq!(isolation(&next)["behind_others"], 0, "{next:?}");
}
