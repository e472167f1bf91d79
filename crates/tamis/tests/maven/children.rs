//! JVMs that tests start: known by their methods where the agent saw all of them, else by their files.

use tamis_testkit::Jdk;
use tamis_testkit::maven::{Maven, Pom, is_resolved};

const MAIN: &str = "package c;

public class Main {
    public static void main(String[] words) throws Exception {
        switch (words[0]) {
            case \"works\" -> System.out.println(Worker.used());
            case \"stays\" -> { System.out.println(Worker.used()); System.in.read(); }
            case \"starts\" -> System.out.print(Started.java(\"works\"));
            case \"looks\" -> System.out.println(Main.class.getResourceAsStream(\"Looked.class\").readAllBytes().length > 0);
            case \"asks\" -> {
                try {
                    System.out.println(Class.forName(\"c.Later\"));
                } catch (ClassNotFoundException e) {
                    System.out.println(\"absent\");
                }
            }
        }
    }
}
";

const STARTED: &str = "package c;

import java.io.File;
import java.util.*;

public class Started {
    static final String JAVA = System.getProperty(\"java.home\") + \"/bin/java\";
    static final String PATH = System.getProperty(\"java.class.path\");

    static String java(String word) throws Exception {
        return run(JAVA, \"-cp\", PATH, \"c.Main\", word);
    }

    static String run(String... words) throws Exception {
        Process process = new ProcessBuilder(words).redirectErrorStream(true).start();
        String said = new String(process.getInputStream().readAllBytes());
        if (process.waitFor() != 0) throw new IllegalStateException(said);
        return said;
    }

    static Process stays() throws Exception {
        Process process = new ProcessBuilder(JAVA, \"-cp\", PATH, \"c.Main\", \"stays\").start();
        process.getInputStream().read();
        return process;
    }
}
";

/// Test classes and what each of them does.
const TESTS: &[(&str, &str)] = &[
    ("AloneTest", "\"alone\""),
    ("AsksTest", "Started.java(\"asks\")"),
    // The test's own folder stands behind: a class may be found elsewhere.
    (
        "FolderTest",
        "Started.run(Started.JAVA, \"-cp\", new java.io.File(\"target/classes\").getAbsolutePath(), \"c.Main\", \"works\")",
    ),
    ("KilledTest", "Started.stays().destroyForcibly().waitFor() + \"\""),
    ("LooksTest", "Started.java(\"looks\")"),
    (
        "ShellTest",
        "Started.run(\"sh\", \"-c\", Started.JAVA + \" -cp \" + Started.PATH + \" c.Main works\")",
    ),
    ("StartsTest", "Started.java(\"starts\")"),
    // It is there until the JVM of the tests ends.
    ("StaysTest", "Started.stays()"),
    ("WorksTest", "Started.java(\"works\")"),
];

const BY_FILES: [&str; 4] = ["FolderTest", "KilledTest", "ShellTest", "StaysTest"];

fn project(jdk: &Jdk) -> Option<Maven> {
    let maven = Maven::empty(jdk, "children")?;
    let pom = Pom::new("c:children", 17).dependency("org.junit.jupiter:junit-jupiter:5.10.2", "");
    let pom = pom.surefire("3.2.5", "<runOrder>alphabetical</runOrder>");
    maven.write("pom.xml", pom.text());
    maven.write("src/main/java/c/Main.java", MAIN);
    maven.write("src/main/java/c/Started.java", STARTED);
    maven.write(
        "src/main/java/c/Worker.java",
        "package c;\n\nclass Worker {\n    static Object used() { return \"used\"; }\n    \
         static Object unused() { return \"unused\"; }\n}\n",
    );
    maven.write(
        "src/main/java/c/Looked.java",
        "package c;\n\nclass Looked {\n    static int number() { return 1; }\n}\n",
    );
    for (name, does) in TESTS {
        let body = format!("org.junit.jupiter.api.Assertions.assertNotNull({does});");
        let test =
            format!("@org.junit.jupiter.api.Test\n    void works() throws Exception {{ {body} }}");
        let text = format!("package c;\n\nclass {name} {{\n    {test}\n}}\n");
        maven.write(format!("src/test/java/c/{name}.java"), &text);
    }
    Some(maven)
}

#[test]
fn a_jvm_that_a_test_starts_is_known_by_its_methods_or_by_its_files() {
    let jdks = tamis_testkit::jdks();
    let tried = [tamis_testkit::jdk()].into_iter().chain(jdks.last().cloned());
    let mut done: Vec<Jdk> = Vec::new();
    for jdk in tried {
        if done.contains(&jdk) {
            continue;
        }
        let Some(maven) = project(&jdk) else { return };
        let all: Vec<&str> = TESTS.iter().map(|(name, _)| *name).collect();
        let first = maven.test();
        if !is_resolved(&first) {
            return;
        }
        first.assert_passed("the first build").assert_ran("the first build", &all);

        maven.replace("src/main/java/c/Worker.java", "\"unused\"", "\"not used\"");
        maven.test().assert_passed("unused").assert_ran("a method that no JVM ran", &BY_FILES);

        maven.replace("src/main/java/c/Worker.java", "\"used\"", "\"used now\"");
        let mut expected = BY_FILES.to_vec();
        expected.extend(["StartsTest", "WorksTest"]);
        let build = maven.test();
        build.assert_passed("used").assert_ran("a method that ran", &expected);
        for test in ["c.StartsTest", "c.WorksTest"] {
            assert!(build.ran[test].contains("c.Worker#used()"), "{:?}", build.ran);
        }

        maven.replace("src/main/java/c/Looked.java", "return 1", "return 2");
        maven.test().assert_passed("looked").assert_ran("a file that was read", &["LooksTest"]);

        maven.write("src/main/java/c/Later.java", "package c;\n\nclass Later {}\n");
        maven.test().assert_passed("later").assert_ran("a class that was missing", &["AsksTest"]);
        done.push(jdk);
    }
}
