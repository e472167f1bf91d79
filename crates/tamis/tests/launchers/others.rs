//! A launcher that tamis does not know, named by the user in the environment.

use tamis_testkit::Project;
use tamis_testkit::runner::JUNIT4;

#[test]
fn a_script_that_starts_a_runner() {
    let Some(mut project) = Project::java(&JUNIT4) else { return };
    let test = |class: &str, method: &str| {
        format!(
            "package a; public class {class} {{ @org.junit.Test public void it() {{
            Log.ran(\"{class}\"); org.junit.Assert.assertEquals(1, new Thing().{method}()); }} }}"
        )
    };
    let script = format!(
        "set -e\njava -cp classes:{} org.junit.runner.JUnitCore a.OneTest a.TwoTest\n",
        project.jars()
    );
    project
        .add("run.sh", &script)
        .add(
            "src/a/Thing.java",
            "package a; public class Thing { int one() { return 1; } int two() { return 1; } }",
        )
        .add("src/a/OneTest.java", test("OneTest", "one"))
        .add("src/a/TwoTest.java", test("TwoTest", "two"))
        .compile();
    // Unknown: one command as any other.
    let whole = project.call(&["bash", "run.sh"]);
    assert!(whole.assert_code(0).ran.is_empty(), "{:?}", whole.ran);
    project.set("TAMIS_JVM_LAUNCHERS", "sbt:bash");
    let run = || project.inside(&["bash", "run.sh"]);
    run().assert_code(0).assert_ran("the first run", &["OneTest", "TwoTest"]);
    run().assert_code(0).assert_ran("nothing changed", &[]);
    project
        .replace("src/a/Thing.java", "two() { return 1; }", "two() { return \"x\".length(); }")
        .compile();
    run().assert_code(0).assert_ran("one method", &["TwoTest"]);
    project
        .replace("src/a/Thing.java", "two() { return \"x\".length(); }", "two() { return 3; }")
        .compile();
    let red = run();
    assert_eq!(red.assert_ran("a failure", &["TwoTest"]).code, 1);
    assert_eq!(run().assert_ran("it stays red", &["TwoTest"]).code, 1);
}
