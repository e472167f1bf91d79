//! What is around the classes of a project: entries of jars, their versions and order, native libraries, a
//! class that no probe fits into, arguments of the JVM, and the JDK.

use std::fmt::Write as _;
use std::process::Command;
use tamis_testkit::maven::{Maven, Pom, is_resolved};
use tamis_testkit::{Jdk, Sources};

/// Test classes and what each of them uses.
const TESTS: &[(&str, &str)] = &[
    ("AloneTest", "\"alone\""),
    ("LaterTest", "lib.Later.name()"),
    ("MultiTest", "lib.Multi.name()"),
    ("NativeTest", "Native.load()"),
    ("ResourceTest", "Native.class.getResourceAsStream(\"/text.txt\")"),
    ("ShadowTest", "lib.Shadow.name()"),
    ("UsedTest", "lib.Used.name()"),
    ("ZHugeTest", "Integer.valueOf(Huge.run(0))"),
];

/// With two jars in this order.
fn pom(jars: [&str; 2]) -> String {
    let configuration = "<runOrder>alphabetical</runOrder>\
        <reportsDirectory>${project.build.directory}</reportsDirectory><argLine>-Dspeed=slow</argLine>";
    let mut pom = Pom::new("s:surroundings", 17).surefire("3.2.5", configuration);
    for name in jars {
        let place = format!("<systemPath>${{basedir}}/lib/{name}.jar</systemPath>");
        pom = pom.dependency(&format!("s:{name}:1"), &format!("<scope>system</scope>{place}"));
    }
    pom.dependency("org.junit.jupiter:junit-jupiter:5.10.2", "").text()
}

/// A class file's worth of code and no room for more: a method may have 65,535 bytes.
fn huge(step: u32) -> String {
    let mut text = "package s;\n\nclass Huge {\n    static int run(int n) {\n".to_owned();
    for _ in 0..10_921 {
        let _ = writeln!(text, "n += {step};");
    }
    text + "n++; n++; return n;\n    }\n}\n"
}

/// A jar with classes that each say a text, for all JDKs and for those from 9 on.
fn jar(maven: &Maven, jdk: &Jdk, name: &str, classes: &[(&str, &str)], newer: &[(&str, &str)]) {
    let compile = |classes: &[(&str, &str)]| {
        let mut sources = Sources::new().option("--release").option("9");
        for (class, says) in classes {
            let body = format!("public static Object name() {{ return \"{says}\"; }}");
            let text = format!("package lib;\npublic class {class} {{ {body} }}\n");
            sources = sources.file(&format!("lib/{class}.java"), &text);
        }
        sources.compile(jdk)
    };
    std::fs::create_dir_all(maven.path("lib")).expect("a folder");
    let mut command = Command::new(jdk.tool("jar"));
    command.arg("--create").arg("--file").arg(maven.path(format!("lib/{name}.jar")));
    command.arg("-C").arg(compile(classes)).arg(".");
    if !newer.is_empty() {
        command.args(["--release", "9", "-C"]).arg(compile(newer)).arg(".");
    }
    assert!(command.status().expect("jar starts").success());
}

/// A native library; `false` where there is no C compiler.
fn native(maven: &Maven, answer: u32) -> bool {
    maven.write("lib/answer.c", format!("int answer(void) {{ return {answer}; }}\n"));
    let mut command = Command::new("cc");
    command.args(["-shared", "-o", "lib/libanswer.so", "lib/answer.c"]).current_dir(maven.path(""));
    command.status().is_ok_and(|status| status.success())
}

fn project(jdk: &Jdk) -> Option<Maven> {
    let maven = Maven::empty(jdk, "surroundings")?;
    maven.write("pom.xml", pom(["first", "second"]));
    for (name, uses) in TESTS {
        let body = format!("org.junit.jupiter.api.Assertions.assertNotNull({uses});");
        let test = format!("@org.junit.jupiter.api.Test\n    void works() {{ {body} }}");
        let text = format!("package s;\n\nclass {name} {{\n    {test}\n}}\n");
        maven.write(format!("src/test/java/s/{name}.java"), &text);
    }
    maven.write("src/main/resources/text.txt", "text\n");
    maven.write("src/main/java/s/Huge.java", huge(1000));
    maven.write(
        "src/main/java/s/Native.java",
        "package s;\n\nclass Native {\n    static Object load() {\n        \
         System.load(new java.io.File(\"lib/libanswer.so\").getAbsolutePath());\n        \
         return \"loaded\";\n    }\n}\n",
    );
    jar(
        &maven,
        jdk,
        "first",
        &[("Used", "used"), ("Multi", "for all"), ("Shadow", "first")],
        &[("Multi", "from 9 on")],
    );
    jar(&maven, jdk, "second", &[("Shadow", "second"), ("Later", "second")], &[]);
    native(&maven, 42).then_some(maven)
}

#[test]
fn what_is_around_the_classes_counts() {
    let jdk = tamis_testkit::jdk();
    let Some(mut maven) = project(&jdk) else { return };
    let all: Vec<&str> = TESTS.iter().map(|(name, _)| *name).collect();
    let first = maven.test();
    if !is_resolved(&first) {
        return;
    }
    first.assert_passed("the first build").assert_ran("the first build", &all);

    // ZHugeTest runs a class without probes: it is not known what it used. It is the last one, because nothing that
    // comes after such a class is known either.
    let built = |maven: &Maven, round: &str, expected: &[&str]| {
        let build = maven.test();
        let mut with_huge = vec!["ZHugeTest"];
        with_huge.extend(expected);
        build.assert_passed(round).assert_ran(round, &with_huge);
    };
    // An upgrade of a library selects by class. What a library kept from earlier tests counts as well: ShadowTest
    // came after MultiTest.
    let mut classes = vec![("Used", "used now"), ("Multi", "for all"), ("Shadow", "first")];
    jar(&maven, &jdk, "first", &classes, &[("Multi", "from 9 on")]);
    built(&maven, "a class of a jar", &["UsedTest"]);
    classes.push(("Later", "first"));
    jar(&maven, &jdk, "first", &classes, &[("Multi", "9")]);
    let expected = ["MultiTest", "ShadowTest", "LaterTest"];
    built(&maven, "an entry for this JDK, and one that shadows", &expected);
    // The folder of the reports is the one that holds the classes and resources.
    maven.write("src/main/resources/text.txt", "changed\n");
    assert!(native(&maven, 43), "a native library");
    built(&maven, "a native library and a resource", &["NativeTest", "ResourceTest"]);
    maven.write("src/main/java/s/Huge.java", huge(1001));
    built(&maven, "a class without probes", &[]);

    maven.write("pom.xml", pom(["second", "first"]));
    // LaterTest is as it was at first; MultiTest came after it the last time.
    built(&maven, "the order of jars", &["ShadowTest", "MultiTest"]);

    // What JUnit looked for before the first test.
    maven.write("src/test/resources/junit-platform.properties", "some.setting = 1\n");
    maven.test().assert_passed("JUnit's settings").assert_ran("JUnit's settings", &all);
    maven.replace("pom.xml", "-Dspeed=slow", "-Dspeed=fast");
    let build = maven.test();
    build.assert_passed("an argument of the JVM").assert_ran("an argument of the JVM", &all);
    if let Some(other) = tamis_testkit::jdks().pop().filter(|other| *other != jdk) {
        maven.set("JAVA_HOME", other.home.display().to_string());
        maven.test().assert_passed("another JDK").assert_ran("another JDK", &all);
    }
}
