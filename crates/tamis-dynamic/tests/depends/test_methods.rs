//! What test methods depend on, and which test classes are not divided.

use crate::play::{Play, has_body};
use tamis_dynamic::{Depends, MethodDepends};

/// A test class with its methods: what ran for it before, between and for each.
fn divided(
    play: &mut Play,
    class: &str,
    shared: &[&str],
    methods: &[(&str, &[&str])],
) -> Result<Vec<MethodDepends>, String> {
    play.jvm.began(100, class);
    play.jvm.stretch_began(100, 101, None);
    play.ran(&[100], shared);
    for ((method, ran), stretch) in methods.iter().zip(102..) {
        play.jvm.stretch_began(100, stretch, Some(&format!("{class}#{method}")));
        play.ran(&[100, stretch], ran);
        play.jvm.stretch_ended(100, stretch);
    }
    let all = play.jvm.methods_ended(100, false);
    play.jvm.ended(100);
    all
}

fn of<'m>(all: &'m [MethodDepends], method: &str) -> &'m Depends {
    let found = all.iter().find(|m| m.method.ends_with(&format!("#{method}")));
    &found.unwrap_or_else(|| panic!("{method}: {all:?}")).depends
}

const THINGS: [(&str, &str); 3] = [
    ("A.java", "class A { static void a() { } }"),
    ("B.java", "class B { static void b() { } }"),
    ("Up.java", "class Up { static void up() { } }"),
];

fn play(test: &str, more: &[(&str, &str)]) -> Play {
    let mut sources = vec![("T.java", test)];
    sources.extend(THINGS);
    sources.extend_from_slice(more);
    Play::new(&sources)
}

const PLAIN: &str = "class T { void a() { A.a(); } void b() { B.b(); } }";

#[test]
fn each_has_its_own_and_what_is_between() {
    let mut play = play(PLAIN, &[]);
    let earlier = play.test(1, "Other", &["Up.up"]);
    assert!(has_body(&earlier, "Up", "up"));
    let a: &[&str] = &["T.<init>", "T.a", "A.a"];
    let b: &[&str] = &["T.<init>", "T.b", "B.b"];
    let all = divided(&mut play, "T", &["Up.up"], &[("a", a), ("b", b)]).unwrap();
    for (own, other) in [("a", "b"), ("b", "a")] {
        let depends = of(&all, own);
        assert!(has_body(depends, &own.to_uppercase(), own), "{depends:?}");
        assert!(!has_body(depends, &other.to_uppercase(), other), "{depends:?}");
        assert!(has_body(depends, "Up", "up") && has_body(depends, "T", "<init>"));
    }
}

#[test]
fn several_runs_of_a_method_are_one() {
    let mut play = play(PLAIN, &[]);
    let runs: [(&str, &[&str]); 2] =
        [("a", &["T.<init>", "T.a"]), ("a", &["T.<init>", "T.a", "A.a"])];
    let all = divided(&mut play, "T", &[], &runs).unwrap();
    assert_eq!(all.len(), 1);
    assert_eq!(all[0].stretches, [102, 103]);
    assert!(has_body(of(&all, "a"), "A", "a"));
}

#[test]
fn what_one_leaves_in_static_state_counts_for_all_whichever_was_first() {
    let cache =
        "import java.util.*; class Cache { static final Map<String, Object> ALL = new HashMap<>();
        static Object get(String s) { return ALL.computeIfAbsent(s, k -> Parser.parse(k)); } }
        class Parser { static Object parse(String s) { return s; } }";
    let test = "class T { void a() { Cache.get(\"x\"); } void b() { Cache.get(\"x\"); } }";
    let mut play = play(test, &[("Cache.java", cache)]);
    let first: &[&str] = &["T.<init>", "T.a", "Cache.get", "Cache.lambda$get$0", "Parser.parse"];
    let second: &[&str] = &["T.<init>", "T.b", "Cache.get"];
    for order in [[("a", first), ("b", second)], [("b", second), ("a", first)]] {
        let all = divided(&mut play, "T", &[], &order).unwrap();
        assert!(has_body(of(&all, "a"), "Parser", "parse"));
        assert!(has_body(of(&all, "b"), "Parser", "parse"), "{all:?}");
    }
}

#[test]
fn what_an_object_of_the_class_keeps_counts_for_all() {
    let keeper =
        "class Keeper { Object kept; void each() { if (kept == null) kept = Parser.parse(); } }
        class Parser { static Object parse() { return 1; } }";
    let mut play = play(PLAIN, &[("Keeper.java", keeper)]);
    let a: &[&str] = &["T.<init>", "T.a", "A.a", "Keeper.each", "Parser.parse"];
    let b: &[&str] = &["T.<init>", "T.b", "B.b", "Keeper.each"];
    let all = divided(&mut play, "T", &["Keeper.<init>"], &[("a", a), ("b", b)]).unwrap();
    assert!(has_body(of(&all, "b"), "Parser", "parse"), "{all:?}");
    assert!(!has_body(of(&all, "b"), "A", "a"));
}

fn why_not(play: &mut Play, methods: &[(&str, &[&str])]) -> String {
    divided(play, "T", &[], methods).expect_err("not divided")
}

#[test]
fn one_object_for_all_is_not_divided() {
    let mut play = play(PLAIN, &[]);
    let why = why_not(&mut play, &[("a", &["T.<init>", "T.a"]), ("b", &["T.b"])]);
    assert!(why.contains("T#b ran on an object that others use"), "{why}");
}

#[test]
fn static_state_of_the_test_is_not_divided() {
    let state = "class T extends Above { static final int[] DATA = new int[1];
        void a() { DATA[0] = 1; } void b() { A.a(); } }
        class Above { static Object above; void c() { above = null; } }";
    let mut play = play(state, &[]);
    let why = why_not(&mut play, &[("a", &["T.<init>", "Above.<init>", "T.a"])]);
    assert!(why.contains("uses static state of T"), "{why}");
    let why = why_not(&mut play, &[("c", &["T.<init>", "Above.<init>", "Above.c"])]);
    assert!(why.contains("uses static state of Above"), "{why}");
    // Who does not name it cannot get at it.
    let b: &[&str] = &["T.<clinit>", "T.<init>", "Above.<init>", "T.b", "A.a"];
    assert!(divided(&mut play, "T", &[], &[("b", b)]).is_ok());
}

#[test]
fn objects_that_somebody_else_keeps_are_not_divided() {
    let bean = "class Bean { int n = 1; int n() { return n; } }";
    let mut play = play(PLAIN, &[("Bean.java", bean)]);
    let a: &[&str] = &["T.<init>", "T.a", "Bean.<init>", "Bean.n"];
    let why = why_not(&mut play, &[("a", a), ("b", &["T.<init>", "T.b", "Bean.n"])]);
    assert!(why.contains("T#b uses objects of Bean that it did not make"), "{why}");
}

#[test]
fn constants_of_an_enum_are_there_for_everybody() {
    let kind = "enum Kind { ONE; int n() { return 1; } }";
    let mut play = play(PLAIN, &[("Kind.java", kind)]);
    let a: &[&str] = &["T.<init>", "T.a", "Kind.<clinit>", "Kind.$values", "Kind.<init>", "Kind.n"];
    let b: &[&str] = &["T.<init>", "T.b", "Kind.n"];
    let all = divided(&mut play, "T", &[], &[("a", a), ("b", b)]).unwrap();
    assert!(has_body(of(&all, "b"), "Kind", "<init>"), "{all:?}");
}

#[test]
fn what_was_not_reported_is_not_divided() {
    let mut play = play(PLAIN, &[]);
    play.jvm.began(1, "T");
    assert!(play.jvm.methods_ended(1, false).is_err());
    play.jvm.ended(1);
    play.jvm.began(2, "T");
    play.jvm.stretch_began(2, 3, Some("T#a"));
    assert!(play.jvm.methods_ended(2, false).is_err(), "it did not end");
}
