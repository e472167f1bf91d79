//! Figures 1, 2, 5 and 7 of the study of static selection (Legunsen and others, FSE 2016): the sets that
//! it says, at method level, for each call graph, with libraries and without.

use crate::support::{Fixture, Libraries, built, options};
use std::collections::BTreeSet;
use tamis_callgraph::Algorithm::{self, Cha, Rta, ZeroCfa, ZeroOneCfa};

fn check(
    fixture: &Fixture,
    tests: &[&str],
    changed: &str,
    libraries: Libraries,
    expected: &[(Algorithm, &[&str])],
) {
    let universe = fixture.universe(libraries);
    for &(algorithm, expected) in expected {
        let tests: Vec<String> = tests.iter().map(|test| in_package(test)).collect();
        let tests: Vec<&str> = tests.iter().map(String::as_str).collect();
        let built = built(&universe, &tests, options(algorithm));
        let expected: BTreeSet<String> = expected.iter().map(|test| in_package(test)).collect();
        let selected: BTreeSet<String> =
            built.selected(&in_package(changed)).into_iter().map(str::to_owned).collect();
        assert_eq!(selected, expected, "{algorithm:?}, {libraries:?}");
    }
}

/// All classes of the figures' projects are in one package.
fn in_package(class: &str) -> String {
    format!("a/{class}")
}

fn figure(number: u32) -> Fixture {
    let [project, library] = ["project", "library"].map(|part| tamis_testkit::figure(number, part));
    Fixture::new(&borrowed(&project), &borrowed(&library))
}

fn borrowed(files: &[(String, String)]) -> Vec<(&str, &str)> {
    files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect()
}

#[test]
fn figure_1_with_the_library() {
    let tests = ["T1", "T2", "T3"];
    check(
        &figure(1),
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
    check(&figure(1), &["T1", "T2", "T3"], "C2", Libraries::Exclude, &expected);
}

#[test]
fn figure_2_is_the_call_graph_of_figure_1() {
    let fixture = figure(1);
    let universe = fixture.universe(Libraries::Include);
    let built = built(&universe, &["a/T1", "a/T2", "a/T3"], options(Rta));
    let callees = |class: &str, name: &str| -> BTreeSet<String> {
        let methods = built.program.methods_of(in_package(class).as_bytes());
        let mut methods =
            methods.filter(|&m| built.program.method_display(m).contains(&format!("#{name}(")));
        let method = methods.next().expect("such a method");
        let callees = built.graph.callees(method).into_iter();
        callees
            .map(|m| built.program.method_display(m).split('(').next().unwrap().to_owned())
            .collect()
    };
    let set = |names: &[&str]| names.iter().map(|n| (*n).to_owned()).collect::<BTreeSet<_>>();
    assert_eq!(callees("T1", "t"), set(&["lib.L#<init>", "lib.L#m1", "a.C1#m1"]));
    assert_eq!(callees("T2", "t"), set(&["a.C1#<init>", "lib.L#m1", "a.C1#m1"]));
    assert_eq!(callees("T3", "t"), set(&["a.C1#<init>", "a.C1#m2"]));
    assert_eq!(callees("C1", "m1"), set(&["a.C2#m3"]));
    assert_eq!(callees("C1", "<init>"), set(&["lib.L#<init>"]));
}

/// A test that reaches the change only through a library's fluent interface.
#[test]
fn figure_5_is_missed_without_the_library() {
    let fixture = figure(5);
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
    let fixture = figure(7);
    let both: &[&str] = &["DiskFileItemTest", "FileItemHeadersTest"];
    let tests = ["DiskFileItemTest", "FileItemHeadersTest"];
    check(&fixture, &tests, "Streams", Libraries::Include, &Algorithm::ALL.map(|a| (a, both)));
}
