//! TestNG's test classes that need others.

use tamis_classpath::{Caches, ClassIndex};
use tamis_dynamic::needs_others;
use tamis_testkit::{Sources, jdk};

const ANNOTATION: &str = "package org.testng.annotations; import java.lang.annotation.*;
    @Retention(RetentionPolicy.RUNTIME) public @interface Test {
    String[] groups() default {}; String[] dependsOnGroups() default {};
    String[] dependsOnMethods() default {}; }";

fn needs(annotation: &str) -> bool {
    let test =
        format!("public class BTest {{ @org.testng.annotations.Test{annotation} void b() {{ }} }}");
    let sources = Sources::new()
        .file("org/testng/annotations/Test.java", ANNOTATION)
        .file("ATest.java", "public class ATest { @org.testng.annotations.Test void a() { } }")
        .file("BTest.java", &test);
    let index = ClassIndex::load(&[sources.compile(&jdk())], &Caches::none());
    needs_others(&index) == Some("BTest")
}

#[test]
fn groups_and_methods_of_other_classes_are_needed() {
    for needed in ["(dependsOnGroups = \"g\")", "(dependsOnMethods = {\"x\", \"ATest.a\"})"] {
        assert!(needs(needed), "{needed}");
    }
    for alone in
        ["", "(groups = \"g\")", "(dependsOnMethods = \"c\")", "(dependsOnMethods = \"BTest.c\")"]
    {
        assert!(!needs(alone), "{alone}");
    }
}
