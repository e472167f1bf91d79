//! `tamis static` on compiled classes, without a build tool.

use tamis_testkit::{Project, need, schema, wait_for};

const PLACES: [&str; 4] = ["--classes", "classes", "--test-classes", "tests"];

fn compile(project: &Project) {
    project.tool(&["javac", "-d", "classes", "src/A.java", "src/B.java"]);
    project.tool(&["javac", "-cp", "classes", "-d", "tests", "src/ATest.java", "src/BTest.java"]);
}

fn answer(project: &Project, words: &[&str]) -> String {
    let text = project.answer(&[&["static"], words, &PLACES].concat());
    if words.contains(&"--json") {
        text.lines().for_each(|line| schema::assert_valid(&serde_json::from_str(line).unwrap()));
    }
    text
}

#[test]
fn a_changed_class_selects_the_tests_that_reach_it() {
    if !need("javac") {
        return;
    }
    // A suite class stands for JUnit, so that no library is needed.
    let project = Project::with(&[
        ("src/A.java", "public class A { int one() { return 1; } }"),
        ("src/B.java", "public class B { int two() { return 2; } }"),
        (
            "src/ATest.java",
            "public class ATest extends junit.framework.TestCase { public void testA() { new A(); } }",
        ),
        (
            "src/BTest.java",
            "public class BTest extends junit.framework.TestCase { public void testB() { new B(); } }",
        ),
        ("src/TestCase.java", "package junit.framework; public class TestCase {}"),
    ]);
    project.tool(&["javac", "-d", "classes", "src/TestCase.java"]);
    compile(&project);
    assert_eq!(answer(&project, &["select", "--plain"]), "ATest\nBTest\n", "nothing is known yet");
    answer(&project, &["select", "--update"]);
    assert_eq!(answer(&project, &["select", "--plain"]), "ATest\nBTest\n", "they never ran yet");
    project.write("passed", "ATest\nBTest\n");
    let recorded = answer(&project, &["record", "--passed", "passed", "--json"]);
    assert!(recorded.contains("\"finished\":2,\"passed\":2"), "{recorded}");
    assert_eq!(answer(&project, &["select", "--plain"]), "");

    project.write("src/A.java", "public class A { int one() { return 7; } }");
    compile(&project);
    assert_eq!(answer(&project, &["select", "--plain"]), "ATest\n");
    let explained = answer(&project, &["select", "--explain"]);
    assert!(explained.contains("ATest") && explained.contains("-> A"), "{explained}");
    let changed = answer(&project, &["diff"]);
    assert!(changed.contains('A') && changed.contains("one"), "{changed}");
    for (verb, event, part) in [
        ("diff", "static-diff", "\"change\":\"methods\",\"detail\":[\"one()I\"]"),
        ("impacted", "static-impacted", "\"types\":[\"A\",\"ATest\"]"),
        ("select", "static-selection", "\"reason\":\"reaches\""),
        ("graph", "static-edge", "\"from\":\"ATest\",\"to\":\"A\""),
    ] {
        let lines = answer(&project, &[verb, "--json"]);
        assert!(lines.contains(event) && lines.contains(part), "{lines}");
    }

    // Folders that are not there yet.
    answer(&project, &["export", "--format", "clz", "--to", "new/clz"]);
    assert!(project.read("new/clz/ATest.clz").contains("A.class"));
    answer(&project, &["select", "--artifacts", "new/lists"]);
    assert_eq!(project.read("new/lists/selected-tests"), "ATest\n");

    project.write("src/A.java", "public class A {\n\n int one() { return 1; } }");
    compile(&project);
    assert_eq!(answer(&project, &["select", "--plain"]), "", "only lines moved");
}

/// A suite of two tests, each over one class.
fn two_tests() -> Project {
    let project = Project::with(&[
        ("src/A.java", "public class A { int one() { return 1; } }"),
        ("src/B.java", "public class B { int two() { return 2; } }"),
        ("src/ATest.java", "public class ATest extends junit.framework.TestCase { A a; }"),
        ("src/BTest.java", "public class BTest extends junit.framework.TestCase { B b; }"),
        ("src/TestCase.java", "package junit.framework; public class TestCase {}"),
        ("passed", "BTest\n"),
    ]);
    project.tool(&["javac", "-d", "classes", "src/TestCase.java"]);
    compile(&project);
    project
}

#[test]
fn only_tests_that_passed_are_done_and_only_for_the_classes_they_saw() {
    if !need("javac") {
        return;
    }
    let project = two_tests();
    let record = &["static", "record", "--passed", "passed"];
    let ended = project.tamis(&[&record[..], &PLACES].concat());
    assert_ne!(ended.code, 0, "nothing was announced");
    assert!(ended.stderr.contains("select --update"), "{}", ended.stderr);

    answer(&project, &["select", "--update"]);
    answer(&project, &["record", "--passed", "passed"]);
    assert_eq!(answer(&project, &["select", "--plain"]), "ATest\n");

    answer(&project, &["select", "--update"]);
    project.write("src/B.java", "public class B { int two() { return 5; } }");
    compile(&project);
    let ended = project.tamis(&[&record[..], &PLACES].concat());
    assert_ne!(ended.code, 0, "other classes than those that were announced");
    assert_eq!(answer(&project, &["select", "--plain"]), "ATest\nBTest\n");
}

/// Waits until the worker of the last call has done its work.
fn worker_done(_project: &Project, store: &std::path::Path) {
    let behind = store.join("static/behind");
    wait_for("the end of the background work", || !behind.exists());
}

#[test]
fn offline_answers_are_the_same_and_the_rest_is_done_in_the_background() {
    if !need("javac") {
        return;
    }
    let project = two_tests();
    let store = project.beside("records");
    let place = ["--store", store.to_str().unwrap()];
    let offline = |words: &[&str]| project.answer(&[&["static"], words, &PLACES, &place].concat());
    let selected = ["select", "--offline", "--plain"];

    assert_eq!(offline(&["select", "--offline", "--update", "--plain"]), "ATest\nBTest\n");
    worker_done(&project, &store);
    project.write("passed", "ATest\nBTest\n");
    offline(&["record", "--offline", "--passed", "passed"]);
    worker_done(&project, &store);
    assert_eq!(offline(&selected), "");
    worker_done(&project, &store);

    project.write("src/A.java", "public class A { int one() { return 7; } }");
    compile(&project);
    assert_eq!(offline(&selected), "ATest\n");
    worker_done(&project, &store);
    // What held was carried to the new state; what did not is still to run.
    assert_eq!(offline(&["select", "--plain"]), "ATest\n");
    assert_eq!(snapshots(&store), 2, "ATest's and that of now");
}

fn snapshots(store: &std::path::Path) -> usize {
    let modules = std::fs::read_dir(store.join("static")).unwrap().flatten();
    let files = modules.filter_map(|m| std::fs::read_dir(m.path()).ok()).flatten().flatten();
    files.filter(|f| f.file_name().to_string_lossy().starts_with("snapshot-")).count()
}

#[test]
fn a_killed_worker_loses_nothing() {
    if !need("javac") {
        return;
    }
    let project = two_tests();
    let store = project.beside("records");
    let place = ["--store", store.to_str().unwrap()];
    let answer = |words: &[&str]| project.answer(&[&["static"], words, &PLACES, &place].concat());
    answer(&["select", "--update"]);
    project.write("passed", "ATest\nBTest\n");
    answer(&["record", "--passed", "passed"]);
    project.write("passed", "ATest\n");
    let mut killed = 0;
    for (round, delay) in [0, 2, 5, 15].into_iter().enumerate() {
        for class in ["A", "B"] {
            let text = format!("public class {class} {{ int one() {{ return {round} + 100; }} }}");
            project.write(format!("src/{class}.java"), text);
        }
        project.tool(&["javac", "-d", "classes", "src/A.java", "src/B.java"]);
        answer(&["select", "--update", "--offline"]);
        worker_done(&project, &store);
        // Only ATest finishes.
        answer(&["record", "--offline", "--passed", "passed"]);
        std::thread::sleep(std::time::Duration::from_millis(delay));
        killed += kill_worker(&store);
        assert_eq!(answer(&["select", "--plain"]), "BTest\n", "killed after {delay} ms");
        assert!(!store.join("static/behind").exists(), "the next call did what was left");
    }
    println!("{killed} workers were killed before they were done");
}

/// Kills the worker of this store, which a call of this test started; 0 where it is done already.
fn kill_worker(store: &std::path::Path) -> usize {
    let of_this_store = |id: &str| {
        let words = std::fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
        let words: Vec<&[u8]> = words.split(|&b| b == 0).collect();
        words.contains(&store.as_os_str().as_encoded_bytes()) && words.contains(&&b"catch-up"[..])
    };
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let ids = processes.map(|p| p.file_name().to_string_lossy().into_owned());
    ids.filter(|id| id.bytes().all(|b| b.is_ascii_digit()) && of_this_store(id))
        .filter(|id| {
            let kill = std::process::Command::new("kill").args(["-9", id]).status();
            kill.is_ok_and(|status| status.success())
        })
        .count()
}

#[test]
fn at_method_level_calls_decide_and_the_answer_says_that_it_can_miss() {
    if !need("javac") {
        return;
    }
    let test = |name: &str, call: &str| {
        format!(
            "public class {name} extends junit.framework.TestCase {{ public void test() {{ {call} }} }}"
        )
    };
    let project = Project::with(&[
        ("src/A.java", "public class A { int one() { return new B().two(); } void other() { } }"),
        ("src/B.java", "public class B { int two() { return 2; } }"),
        ("src/ATest.java", &test("ATest", "new A().one();")),
        ("src/BTest.java", &test("BTest", "new A().other();")),
        ("src/TestCase.java", "package junit.framework; public class TestCase {}"),
        ("passed", "ATest\nBTest\n"),
    ]);
    project.tool(&["javac", "-d", "classes", "src/TestCase.java"]);
    compile(&project);
    answer(&project, &["select", "--granularity", "method", "--update"]);
    answer(&project, &["record", "--granularity", "method", "--passed", "passed"]);
    let by_methods = ["select", "--granularity", "method", "--plain"];
    assert_eq!(answer(&project, &by_methods), "");

    project.write("src/B.java", "public class B { int two() { return 7; } }");
    compile(&project);
    assert_eq!(answer(&project, &["select", "--plain"]), "ATest\nBTest\n", "by types");
    for graph in ["cha", "rta", "0-cfa", "0-1-cfa"] {
        let words = [&by_methods[..], &["--callgraph", graph]].concat();
        assert_eq!(answer(&project, &words), "ATest\n", "{graph}");
    }
    let explained = answer(&project, &["select", "--granularity", "method", "--explain"]);
    assert!(
        explained.contains("run   ATest  (B#two changed: ATest#test -> A#one -> B#two)"),
        "{explained}"
    );
    let got =
        project.tamis(&[&["static", "select", "--granularity", "method"], &PLACES[..]].concat());
    assert!(got.stderr.contains("  1  B#two changed\n"), "grouped: {}", got.stderr);
    let all = answer(&project, &["select", "--granularity", "method", "--json"]);
    assert!(all.contains("\"name\":\"A#one()I\",\"by\":\"calls\""), "every step: {all}");
    let got = project.tamis(&[&["static"], &by_methods[..], &PLACES].concat());
    assert!(got.stderr.contains("can miss tests"), "{}", got.stderr);
    let methods = answer(&project, &["impacted", "--granularity", "method", "--changes", "method"]);
    assert_eq!(methods, "A#one()I\nATest#test()V\nB#two()I\n");
    let words = ["static", "impacted", "--granularity", "method", "--changes", "method"];
    let got = project.tamis(&[&words[..], &PLACES].concat()).stderr;
    assert!(got.contains("3 methods of 3 classes can reach a change"), "{got}");

    // The graph of now, to look at.
    let way = answer(&project, &["callgraph", "--from", "ATest", "--to", "B#two"]);
    assert_eq!(way, "ATest#test()V\nA#one()I\nB#two()I\n");
    assert!(!answer(&project, &["callgraph", "--to", "B#two"]).contains("BTest"));
    let dot = answer(&project, &["callgraph", "--from", "A#one", "--dot"]);
    assert!(dot.contains("\"A#one()I\" -> \"B#two()I\";"), "{dot}");
    let lines = answer(&project, &["callgraph", "--json"]);
    assert!(lines.contains("\"from\":\"A#one()I\",\"to\":\"B#two()I\"}"), "{lines}");
    assert!(
        answer(&project, &["callgraph"]).contains("methods can run from 2 test classes (0-cfa)")
    );

    // Options that would do nothing are mistakes.
    for words in [&["select", "--changes", "method"][..], &["callgraph", "--from", "no.Such"]] {
        assert_ne!(project.tamis(&[&["static"], words, &PLACES].concat()).code, 0, "{words:?}");
    }
}

/// A Maven build of which one module is named by a property, one is in a profile, and one has its test classes where
/// its parent says. Its Maven is a script that leaves classpaths, as the real one is asked to.
fn maven_build() -> Project {
    let pom = |artifact: &str, content: &str| {
        format!(
            "<project><modelVersion>4.0.0</modelVersion><groupId>g</groupId><artifactId>{artifact}</artifactId>\
             <version>1</version>{content}</project>"
        )
    };
    let root = "<packaging>pom</packaging><modules><module>a</module><module>${second}</module></modules>\
        <build><testOutputDirectory>${project.basedir}/out</testOutputDirectory></build>\
        <profiles><profile><id>more</id><modules><module>c</module></modules></profile></profiles>";
    let parent =
        "<parent><groupId>g</groupId><artifactId>root</artifactId><version>1</version></parent>";
    let test = |name: &str| format!("public class {name} extends junit.framework.TestCase {{ }}");
    let project = Project::with(&[
        ("pom.xml", &pom("root", root)),
        ("a/pom.xml", &pom("a", parent)),
        ("b/pom.xml", &pom("b", "")),
        ("c/pom.xml", &pom("c", "")),
        ("src/TestCase.java", "package junit.framework; public class TestCase {}"),
        ("src/ATest.java", &test("ATest")),
        ("src/BTest.java", &test("BTest")),
        ("src/CTest.java", &test("CTest")),
        (
            "maven",
            "for m in . a b c; do mkdir -p $m/target; echo \"$PWD/library\" > $m/target/tamis-classpath; done\n",
        ),
    ]);
    project.mode("maven", 0o755);
    project.tool(&["javac", "-d", "library", "src/TestCase.java"]);
    for (module, name) in
        [("a/out", "A"), ("b/target/test-classes", "B"), ("c/target/test-classes", "C")]
    {
        let source = format!("src/{name}Test.java");
        project.tool(&["javac", "-cp", "library", "-d", module, &source]);
    }
    project
}

#[test]
fn a_maven_build_is_read_as_maven_reads_it_and_a_gap_is_an_error() {
    if !need("javac") {
        return;
    }
    let project = maven_build();
    let mvn = project.path("maven").display().to_string();
    let select = |given: &[&str]| {
        project.tamis(&[&["static", "--mvn", &mvn], given, &["select", "--plain"]].concat())
    };
    let ended = select(&[]);
    assert_ne!(ended.code, 0, "nothing says what the second module is");
    assert!(ended.stderr.contains("${second}") && ended.stderr.contains("-D"), "{}", ended.stderr);
    assert_eq!(select(&["-D", "second=b"]).text(), "ATest\nBTest\n");
    assert_eq!(select(&["-Dsecond=b", "-P", "more"]).text(), "ATest\nBTest\nCTest\n");
    project.write(".mvn/maven.config", "-Dsecond=b\n-Pmore\n");
    assert_eq!(select(&[]).text(), "ATest\nBTest\nCTest\n");

    project.remove("c/pom.xml");
    let ended = select(&[]);
    assert_ne!(ended.code, 0, "a module that is not there");
    assert!(ended.stderr.contains("names the module c"), "{}", ended.stderr);
    assert_eq!(select(&["-P", "!more"]).text(), "ATest\nBTest\n");

    project.write("b/src/test/java/BTest.java", "");
    std::fs::remove_dir_all(project.path("b/target/test-classes")).unwrap();
    let ended = select(&["-P", "!more"]);
    assert_ne!(ended.code, 0, "a module that is not compiled");
    assert!(ended.stderr.contains("compile first"), "{}", ended.stderr);
}
