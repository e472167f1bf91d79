//! `--rerun-failed` in a Maven build: a second call runs the failed test classes alone, and what the first
//! did not reach.

use serde_json::Value;
use tamis_testkit::maven::{Maven, is_resolved};

const FLAKY: &str = "package m;
import java.io.File;
public class FlakyTest {
    @org.junit.Test public void sometimes() throws Exception {
        File mark = new File(System.getProperty(\"java.io.tmpdir\"), \"MARK\");
        boolean there = mark.delete();
        if (!there) mark.createNewFile();
        org.junit.Assert.assertTrue(\"no luck this time\", there);
    }
}
";

#[test]
fn a_flaky_test_class_is_run_again_alone() {
    let Some(maven) = Maven::copy_of("maven-modules", &tamis_testkit::jdk(), "two modules") else {
        return;
    };
    let mark = format!("tamis-{}-flaky", std::process::id());
    maven.write("core/src/test/java/m/FlakyTest.java", FLAKY.replace("MARK", &mark));
    let words = maven.words(&["test"]);
    let tamis = |more: &[&str]| {
        let mut all = more.to_vec();
        all.extend(words.iter().map(String::as_str));
        maven.tamis(&all)
    };
    let got = tamis(&["--json", "--rerun-failed", "2"]);
    let build = maven.read_call(&got);
    if !is_resolved(&build) {
        return;
    }
    assert_eq!(got.code, 1, "{got:?}");
    let finished = got.events("finished");
    let of = |name: &str| finished.iter().find(|e| e["name"] == name).cloned().unwrap_or_default();
    let flaky = of("m.FlakyTest");
    assert_eq!((&flaky["flaky"], &flaky["runs"]), (&true.into(), &2.into()), "{got:?}");
    assert!(flaky["output"].as_str().unwrap_or_default().contains("no luck"), "{flaky}");
    // Those that passed did not run again, and the module behind was reached.
    assert_eq!(
        (&of("m.TestM")["runs"], &of("m.TestM")["outcome"]),
        (&Value::Null, &"passed".into())
    );
    assert_eq!(of("m.AppTest")["outcome"], "passed", "{got:?}");

    // Not run, it is still failing, with its message.
    let got = tamis(&["--json", "--only", "TestM", "--all"]);
    let failing = got.events("still-failing");
    assert_eq!(failing.len(), 1, "{got:?}");
    assert!(failing[0]["message"].as_str().unwrap_or_default().contains("no luck"), "{failing:?}");

    // It alone is selected; with --flaky-ok the build ends well.
    let got = tamis(&["--json", "--rerun-failed", "1", "--flaky-ok"]);
    assert_eq!(got.code, 0, "{got:?}");
    let ran = maven.read_call(&got).ran;
    assert_eq!(ran.keys().map(String::as_str).collect::<Vec<_>>(), ["m.FlakyTest"], "{got:?}");
}
