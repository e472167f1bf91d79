//! Figures 1, 2, 5 and 7 of the study of static selection (Legunsen and others, FSE 2016): the sets that
//! it says, at method level, for each call graph, with libraries and without.

use crate::support::{Fixture, Libraries, built, options};
use std::collections::BTreeSet;
use tamis_calls::Algorithm::{self, Cha, Rta, ZeroCfa, ZeroOneCfa};

fn check(
    fixture: &Fixture,
    tests: &[&str],
    changed: &str,
    libraries: Libraries,
    expected: &[(Algorithm, &[&str])],
) {
    let universe = fixture.universe(libraries);
    for &(algorithm, expected) in expected {
        let built = built(&universe, tests, options(algorithm));
        let expected: BTreeSet<&str> = expected.iter().copied().collect();
        assert_eq!(built.selected(changed), expected, "{algorithm:?}, {libraries:?}");
    }
}

fn figure_1() -> Fixture {
    Fixture::new(
        &[
            ("C1.java", "class C1 extends lib.L { public void m1() { C2.m3(); } void m2() { } }"),
            ("C2.java", "class C2 { static void m3() { } }"),
            ("T1.java", "class T1 { void t1() { lib.L l = new lib.L(); l.m1(); } }"),
            ("T2.java", "class T2 { void t2() { lib.L l = new C1(); l.m1(); } }"),
            ("T3.java", "class T3 { void t3() { C1 c = new C1(); c.m2(); } }"),
        ],
        &[("lib/L.java", "package lib; public class L { public void m1() { } }")],
    )
}

#[test]
fn figure_1_with_the_library() {
    let tests = ["T1", "T2", "T3"];
    check(
        &figure_1(),
        &tests,
        "C2",
        Libraries::Include,
        &[
            (Cha, &["T1", "T2"]),
            (Rta, &["T1", "T2"]),
            // The two that follow objects know that T1's receiver is an L.
            (ZeroCfa, &["T2"]),
            (ZeroOneCfa, &["T2"]),
        ],
    );
}

#[test]
fn figure_1_without_the_library_misses_the_test() {
    let nothing: &[&str] = &[];
    let expected = Algorithm::ALL.map(|a| (a, nothing));
    check(&figure_1(), &["T1", "T2", "T3"], "C2", Libraries::Exclude, &expected);
}

#[test]
fn figure_2_is_the_call_graph_of_figure_1() {
    let fixture = figure_1();
    let universe = fixture.universe(Libraries::Include);
    let built = built(&universe, &["T1", "T2", "T3"], options(Rta));
    let callees = |class: &str, name: &str| -> BTreeSet<String> {
        let methods = built.program.methods_of(class.as_bytes());
        let mut methods =
            methods.filter(|&m| built.program.method_display(m).contains(&format!("#{name}(")));
        let method = methods.next().expect("such a method");
        let callees = built.graph.callees(method).into_iter();
        callees
            .map(|m| built.program.method_display(m).split('(').next().unwrap().to_owned())
            .collect()
    };
    let set = |names: &[&str]| names.iter().map(|n| (*n).to_owned()).collect::<BTreeSet<_>>();
    assert_eq!(callees("T1", "t1"), set(&["lib.L#<init>", "lib.L#m1", "C1#m1"]));
    assert_eq!(callees("T2", "t2"), set(&["C1#<init>", "lib.L#m1", "C1#m1"]));
    assert_eq!(callees("T3", "t3"), set(&["C1#<init>", "C1#m2"]));
    assert_eq!(callees("C1", "m1"), set(&["C2#m3"]));
    assert_eq!(callees("C1", "<init>"), set(&["lib.L#<init>"]));
}

/// A test that reaches the change only through a library's fluent interface.
#[test]
fn figure_5_is_missed_without_the_library() {
    let fixture = Fixture::new(
        &[
            (
                "SourceSubject.java",
                "class SourceSubject extends truth.Subject {
                   CompileTester processedWith() { return new CompilationClause(); } }",
            ),
            ("CompileTester.java", "interface CompileTester { void compilesWithoutError(); }"),
            (
                "CompilationClause.java",
                "class CompilationClause implements CompileTester {
                   public void compilesWithoutError() { Compilation.compile(); } }",
            ),
            ("Compilation.java", "class Compilation { static void compile() { } }"),
            (
                "SourceFactory.java",
                "class SourceFactory implements truth.SubjectFactory<SourceSubject, String> {
                   static SourceFactory javaSource() { return new SourceFactory(); }
                   public SourceSubject getSubject(String that) { return new SourceSubject(); } }",
            ),
            (
                "SourcesTest.java",
                "public class SourcesTest { public void invokes() {
                   truth.Truth.ASSERT.about(SourceFactory.javaSource()).that(\"Hello.java\")
                     .processedWith().compilesWithoutError(); } }",
            ),
        ],
        &[
            ("truth/Subject.java", "package truth; public class Subject { }"),
            (
                "truth/SubjectFactory.java",
                "package truth; public interface SubjectFactory<S extends Subject, T> {
                   S getSubject(T that); }",
            ),
            (
                "truth/Truth.java",
                "package truth; public class Truth {
                   public static final Truth ASSERT = new Truth();
                   public <S extends Subject, T> Verb<S, T> about(SubjectFactory<S, T> f) {
                     return new Verb<S, T>(f); } }",
            ),
            (
                "truth/Verb.java",
                "package truth; public class Verb<S extends Subject, T> {
                   private final SubjectFactory<S, T> factory;
                   Verb(SubjectFactory<S, T> factory) { this.factory = factory; }
                   public S that(T that) { return factory.getSubject(that); } }",
            ),
        ],
    );
    let all: &[&str] = &["SourcesTest"];
    let tests = ["SourcesTest"];
    check(&fixture, &tests, "Compilation", Libraries::Include, &Algorithm::ALL.map(|a| (a, all)));
    check(
        &fixture,
        &tests,
        "Compilation",
        Libraries::Exclude,
        // The hierarchy alone sees the method; that anybody makes such an object only the library knows.
        &[(Cha, all), (Rta, &[]), (ZeroCfa, &[]), (ZeroOneCfa, &[])],
    );
}

/// `toString` on an `Object` inside the JDK: no graph can tell whose it is.
#[test]
fn figure_7_selects_a_test_too_many() {
    let fixture = Fixture::new(
        &[
            (
                "Streams.java",
                "final class Streams { static String checkFileName(String n) { return n; } }",
            ),
            (
                "DiskFileItem.java",
                "public class DiskFileItem { String name = \"a\";
                   @Override public String toString() { return Streams.checkFileName(name); } }",
            ),
            (
                "FileItemHeadersTest.java",
                "public class FileItemHeadersTest { public void testHeaders() {
                   junit.Assert.assertEquals(\"a\", \"b\"); } }",
            ),
            (
                "DiskFileItemTest.java",
                "public class DiskFileItemTest { public void testItem() {
                   junit.Assert.assertEquals(new DiskFileItem(), \"b\"); } }",
            ),
        ],
        &[(
            "junit/Assert.java",
            "package junit; public class Assert {
               public static void assertEquals(Object expected, Object actual) {
                 if (!expected.equals(actual))
                   throw new AssertionError(String.format(\"%s but %s\", expected, actual)); } }",
        )],
    );
    let both: &[&str] = &["DiskFileItemTest", "FileItemHeadersTest"];
    let tests = ["DiskFileItemTest", "FileItemHeadersTest"];
    check(&fixture, &tests, "Streams", Libraries::Include, &Algorithm::ALL.map(|a| (a, both)));
}
