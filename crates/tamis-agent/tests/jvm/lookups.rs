//! Questions by name: classes, jars, the environment, reflection.

use crate::harness::{Program, tried_jdks};
use std::process::Command;
use tamis_jvm_wire::Lookup;
use tamis_testkit::runner::JUNIT4;
use tamis_testkit::{Sources, classpath_of, jars, jdk};

/// One test class for each kind of question.
fn sources() -> Sources {
    Sources::new()
        .release(8)
        .file("a/Thing.java", "package a; public class Thing { }")
        .file("a/Plain.java", "package a; @Deprecated public class Plain { }")
        .file(
            "a/NamesTest.java",
            "package a; public class NamesTest { @org.junit.Test public void names() throws Exception {
            Class.forName(\"a.Thing\");
            try { Class.forName(\"a.Absent\", false, getClass().getClassLoader()); }
            catch (ClassNotFoundException expected) {}
            try { getClass().getClassLoader().loadClass(\"a.Gone\"); }
            catch (ClassNotFoundException expected) {} } }",
        )
        .file(
            "a/JarTest.java",
            "package a; import java.util.jar.*; import java.util.zip.*;
            public class JarTest { @org.junit.Test public void jar() throws Exception {
            try (JarFile jar = new JarFile(System.getProperty(\"my.jar\"))) {
              jar.getEntry(\"no/such\"); jar.entries(); } } }",
        )
        .file(
            "a/HomeTest.java",
            "package a; public class HomeTest { @org.junit.Test public void home() {
            System.getenv(\"MY_VARIABLE\"); } }",
        )
        .file(
            "a/AllTest.java",
            "package a; public class AllTest { @org.junit.Test public void all() { System.getenv(); } }",
        )
        .file(
            "a/ReflectTest.java",
            "package a; public class ReflectTest { @org.junit.Test public void look() {
            Thing.class.getDeclaredMethods(); Plain.class.getAnnotations(); } }",
        )
        .file(
            "a/HandleTest.java",
            "package a; import java.lang.invoke.*; public class HandleTest {
            @org.junit.Test public void handles() throws Throwable {
            MethodHandles.Lookup lookup = MethodHandles.lookup();
            lookup.findVirtual(Found.class, \"run\", MethodType.methodType(void.class));
            lookup.bind(new Bound(), \"run\", MethodType.methodType(void.class)); } }
            class Found { void run() { } } class Bound { void run() { } }",
        )
        .file(
            "a/LineTest.java",
            "package a; public class LineTest { @org.junit.Test public void line() {
            if (new Throwable().getStackTrace()[0].getLineNumber() < 0) throw new Error(); } }",
        )
        .file(
            "a/PlaceTest.java",
            "package a; public class PlaceTest { @org.junit.Test public void place() {
            Thing.class.getProtectionDomain().getCodeSource(); } }",
        )
        .file(
            "a/ResourceTest.java",
            "package a; public class ResourceTest { @org.junit.Test public void resource() {
            getClass().getResource(\"/no/such/resource\"); } }",
        )
}

#[test]
fn questions_belong_to_the_test_that_puts_them() {
    let Some(jars) = jars(&JUNIT4) else { return };
    let classes = sources().classpaths(&jars).compile(&jdk());
    let folder = tempfile::tempdir().expect("a folder for a jar");
    let jar = folder.path().join("my.jar");
    let mut packer = Command::new(jdk().tool("jar"));
    packer.arg("cf").arg(&jar).arg("-C").arg(&classes).arg("a");
    assert!(packer.status().expect("jar starts").success());
    let jar = jar.to_str().expect("text").to_owned();
    for jdk in &tried_jdks() {
        let tests =
            ["Names", "Jar", "Home", "All", "Reflect", "Handle", "Line", "Place", "Resource"];
        let program = Program {
            jvm: vec![format!("-Dmy.jar={jar}"), "-Xcheck:jni".into()],
            ..Program::junit4(
                jdk,
                classpath_of(&classes, &jars),
                &tests.map(|test| format!("a.{test}Test")),
            )
        };
        let (output, report) = program.run();
        assert!(output.status.success(), "{output:?}");
        report.assert_sound();
        assert_eq!(report.hello.as_ref().map(|hello| hello.blind.clone()), Some(vec![]));
        let asked = |test: &str, lookup: &Lookup| {
            report.tests[&format!("a.{test}Test")].lookups.contains(lookup)
        };
        let class = |name: &str| Lookup::Class(format!("a.{name}"));
        for name in ["Thing", "Absent", "Gone"] {
            assert!(asked("Names", &class(name)), "{name}");
            assert!(!asked("Home", &class(name)), "{name}");
        }
        let no_such = Lookup::JarEntry { jar: jar.clone(), entry: "no/such".into() };
        assert!(asked("Jar", &no_such) && !asked("Names", &no_such));
        assert!(asked("Jar", &Lookup::JarNames { jar: jar.clone() }));
        let variable = Lookup::Variable("MY_VARIABLE".into());
        assert!(asked("Home", &variable) && !asked("All", &variable));
        assert!(asked("All", &Lookup::AllVariables) && !asked("Home", &Lookup::AllVariables));
        let reflected = Lookup::Reflected("a.Thing".into());
        assert!(asked("Reflect", &reflected) && !asked("Names", &reflected));
        // Of this one the members were not asked for.
        assert!(asked("Reflect", &class("Plain")) && !asked("Names", &class("Plain")));
        assert!(!asked("Reflect", &Lookup::Reflected("a.Plain".into())));
        for name in ["Found", "Bound"] {
            let reflected = Lookup::Reflected(format!("a.{name}"));
            assert!(asked("Handle", &reflected) && !asked("Reflect", &reflected), "{name}");
        }
        assert!(asked("Line", &Lookup::Lines) && !asked("Names", &Lookup::Lines));
        let place = Lookup::Place("a.Thing".into());
        assert!(asked("Place", &place) && !asked("Names", &place));
        let resource = Lookup::JarEntry {
            jar: jars[0].to_str().expect("text").to_owned(),
            entry: "no/such/resource".into(),
        };
        assert!(asked("Resource", &resource), "{:?}", report.tests["a.ResourceTest"].lookups);
    }
}
