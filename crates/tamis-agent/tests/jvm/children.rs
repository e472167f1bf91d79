//! JVMs that a test starts have the agent, and the test's JVM is reported as their host.

use crate::harness::{JvmReport, Program, Server, compile, tried_jdks};
use tamis_jvm_wire::{FromJvm, Role};
use tamis_testkit::{classpath_of, jars};

const SOURCES: [(&str, &str); 2] = [
    ("a/Child.java", "package a; public class Child {
        static String said() { return \"said\"; }
        static void other() {}
        public static void main(String[] words) throws Exception {
            if (words.length > 0) StartsTest.start(System.getProperty(\"java.home\") + \"/bin/java\");
            System.out.println(said() + words.length); } }"),
    ("a/StartsTest.java", "package a; public class StartsTest {
        static String start(String... words) throws Exception {
            java.util.List<String> all = new java.util.ArrayList<>(java.util.Arrays.asList(words));
            all.addAll(java.util.Arrays.asList(\"-cp\", System.getProperty(\"java.class.path\"), \"a.Child\"));
            if (words.length > 1) all.add(\"more\");
            Process process = new ProcessBuilder(all).redirectErrorStream(true).start();
            java.io.InputStream in = process.getInputStream();
            java.io.ByteArrayOutputStream out = new java.io.ByteArrayOutputStream();
            for (int next = in.read(); next >= 0; next = in.read()) out.write(next);
            return out.toString() + process.waitFor(); }
        static final String JAVA = System.getProperty(\"java.home\") + \"/bin/java\";
        @org.junit.Test public void starts() throws Exception {
            org.junit.Assert.assertEquals(\"said0\\n0\", start(JAVA));
            org.junit.Assert.assertEquals(\"said1\\n0\", start(JAVA, \"-Dx=y\")); } }"),
];

#[test]
fn a_jvm_that_a_test_starts_tells_what_it_ran() {
    let Some(jars) = jars(&["junit:junit:4.13.2", "org.hamcrest:hamcrest-core:1.3"]) else {
        return;
    };
    let classes = compile(&SOURCES, &jars);
    let class_path = classpath_of(&classes, &jars);
    for jdk in &tried_jdks() {
        let program = Program::junit4(jdk, class_path.clone(), &["a.StartsTest"]);
        let server = Server::new();
        let output = program.command(&server.argument(Role::Tests)).output().expect("java starts");
        assert!(output.status.success(), "{output:?}");
        let jvms = server.finish();
        // The second of the test's own starts one itself.
        assert_eq!(jvms.len(), 4, "{output:?}");
        let host = jvms.iter().find_map(|jvm| match jvm.first() {
            Some(FromJvm::Hello(hello)) if hello.role == Role::Tests => Some(hello.pid),
            _ => None,
        });
        let host = host.expect("the JVM of the test");
        for jvm in jvms {
            let report = JvmReport::new(jvm, &class_path);
            report.assert_sound();
            if report.hello.as_ref().is_some_and(|hello| hello.role == Role::Child(host)) {
                let ran: Vec<_> =
                    report.ran("").into_iter().filter(|m| m.contains("Child")).collect();
                assert_eq!(ran, ["a.Child.main", "a.Child.said"]);
            } else {
                assert!(report.tests.contains_key("a.StartsTest"));
            }
        }
    }
}

#[test]
fn what_is_started_outside_of_tests_has_no_agent() {
    let main = (
        "a/Main.java",
        "package a; public class Main {
        public static void main(String[] words) throws Exception {
            String java = System.getProperty(\"java.home\") + \"/bin/java\";
            new ProcessBuilder(java, \"-version\").inheritIO().start().waitFor(); } }",
    );
    let classes = compile(&[main], &[]);
    for jdk in &tried_jdks() {
        let program = Program::new(jdk, vec![classes.clone()], &["a.Main"]);
        let (output, report) = program.run();
        assert!(output.status.success(), "{output:?}");
        report.assert_sound();
    }
}
