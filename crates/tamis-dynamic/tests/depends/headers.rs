//! Edits to classes that a test met, and whether it can notice.
//!
//! Each case has a package of its own with a class `T` whose `t` is the test; all cases are compiled together,
//! once before and once after their edits.

use crate::play::Play;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use tamis_classpath::{Caches, ClassIndex};
use tamis_dynamic::{Depends, Jvm, answer};
use tamis_jvm_wire::{Lookup, Window};
use tamis_testkit::{Sources, jdk};

struct Case {
    name: &'static str,
    before: &'static str,
    /// What is put in place of what.
    edit: (&'static str, &'static str),
    /// Methods that ran, beside those of `T`.
    ran: &'static [&'static str],
    /// A class of the case that somebody listed.
    listed: &'static str,
    notices: bool,
}

const fn case(
    name: &'static str,
    before: &'static str,
    edit: (&'static str, &'static str),
    ran: &'static [&'static str],
    notices: bool,
) -> Case {
    Case { name, before, edit, ran, listed: "", notices }
}

const fn listed(class: &'static str, case: Case) -> Case {
    Case { listed: class, ..case }
}

const CALLS_A: &str =
    "class T { void t() { new A().run(); } } class A { int n; void run() { } /**/ }";
const BASE: &str = "class T { int t() { Base b = new Sub(); return b.m(); } }
    class Base { int x; int m() { return 1; } } class Mid extends Base { /*mid*/ } class Sub extends Mid { /*sub*/ }";
const BASE_RAN: &[&str] = &["Base.<init>", "Mid.<init>", "Sub.<init>", "Base.m"];
const LIST: &str = "class T { String t() { return new L().toString(); } }
    class L extends java.util.ArrayList<String> { /**/ }";

const CASES: &[Case] = &[
    // What cannot have been found.
    case("a method", CALLS_A, ("/**/", "void more() { }"), &["A.<init>", "A.run"], false),
    case("an overload", CALLS_A, ("/**/", "void run(int i) { }"), &["A.<init>", "A.run"], false),
    case("a constructor", CALLS_A, ("/**/", "A() { } A(int i) { }"), &["A.run"], false),
    case("a field", CALLS_A, ("/**/", "String more;"), &["A.<init>", "A.run"], false),
    case("a static method", CALLS_A, ("/**/", "static void more() { }"), &["A.<init>", "A.run"], false),
    case("a nested class", CALLS_A, ("/**/", "static class In { }"), &["A.<init>", "A.run"], false),
    case("the order of fields", "class T { void t() { new A(); } } class A { int a; /**/ }",
        ("int a; /**/", "int b; int a;"), &["A.<init>"], false),
    case("a method of its own in a list", LIST, ("/**/", "void ownThing() { }"), &["L.<init>"], false),
    case("a method beside", BASE, ("/*sub*/", "int k() { return 2; }"), BASE_RAN, false),
    case("a field that hides another where it is not seen", BASE, ("/*sub*/", "int x;"), BASE_RAN, false),
    // What code that ran finds.
    case("an override", BASE, ("/*sub*/", "int m() { return 2; }"), BASE_RAN, true),
    case("an override in the middle", BASE, ("/*mid*/", "int m() { return 2; }"), BASE_RAN, true),
    case("another superclass", BASE, ("Sub extends Mid", "Sub extends Base"), BASE_RAN, true),
    case("one more interface", BASE, ("Sub extends Mid", "Sub extends Mid implements Cloneable"),
        BASE_RAN, true),
    case("a field that hides another", "class T { int t() { return new S().x; } }
        class B { int x = 1; } class S extends B { /**/ }", ("/**/", "int x = 2;"), &["B.<init>", "S.<init>"], true),
    case("a default method nearer", "class T implements I { void t() { m(); } }
        interface J { default void m() { } } interface I extends J { /**/ }",
        ("/**/", "default void m() { }"), &["J.m"], true),
    case("a class that takes a method for an interface", "class T { int t() { I i = new D(); return i.m(); } }
        interface I { int m(); } class R { public int m() { return 1; } } class S extends R { /**/ }
        class D extends S implements I { }",
        ("/**/", "public int m() { return 2; }"), &["R.<init>", "S.<init>", "D.<init>", "R.m"], true),
    case("a static initialiser", CALLS_A, ("/**/", "static { System.out.print(1); }"),
        &["A.<init>", "A.run"], true),
    case("an interface that is initialised now", "class T implements I { void t() { } }
        interface I { Object O = new Object(); /**/ }", ("/**/", "default void more() { }"), &[], true),
    case("toString", CALLS_A, ("/**/", "public String toString() { return null; }"),
        &["A.<init>", "A.run"], true),
    case("a method that may not be overridden", "class T { void t() { new A(); } } class A { /**/ }",
        ("/**/", "final void more() { }"), &["A.<init>"], true),
    case("flags of a method that ran", CALLS_A, ("void run()", "synchronized void run()"),
        &["A.<init>", "A.run"], true),
    case("flags of the class", CALLS_A, ("class A", "final class A"), &["A.<init>", "A.run"], true),
    case("an annotation of the class", CALLS_A, ("class A", "@Deprecated class A"),
        &["A.<init>", "A.run"], true),
    case("what the JDK calls", "class T { void t() { java.util.List.of(new D()).sort(null); } }
        class C implements Comparable<C> { public int compareTo(C c) { return 0; } } class D extends C { /**/ }",
        ("/**/", "public int compareTo(C c) { return 1; }"), &["C.<init>", "D.<init>"], true),
    case("what the JDK calls in a list", LIST, ("/**/", "public java.util.Iterator<String> iterator() { return null; }"),
        &["L.<init>"], true),
    case("what the JDK calls far above", LIST, ("/**/", "public java.util.stream.Stream<String> stream() { return null; }"),
        &["L.<init>"], true),
    case("a field that is gone", CALLS_A, ("class A { int n; void run() { }", "class A { void run() { }"),
        &["A.<init>", "A.run"], false),
    case("a class of the nest that uses what is private", "class T { int t() { return A.In.get(); } }
        class A { private static int p() { return 1; } static class In { static int get() { return p(); } } /**/ }",
        ("/**/", "static class Other { }"), &["A.p", "A$In.get"], false),
    case("the test class", "class T { void t() { } /**/ }", ("/**/", "void more() { }"), &[], true),
    case("above the test class", "class T extends U { void t() { } } class U { /**/ }",
        ("/**/", "void more() { }"), &["U.<init>"], true),
    // Where somebody listed.
    listed("A", case("a method of a class that was listed", CALLS_A, ("/**/", "void more() { }"),
        &["A.<init>", "A.run"], true)),
    listed("A", case("the order of fields of a class that was listed",
        "class T { void t() { new A(); } } class A { int a; /**/ }", ("int a; /**/", "int b; int a;"), &["A.<init>"], true)),
    listed("Sub", case("a method above a class that was listed", BASE, ("/*mid*/", "int k() { return 2; }"),
        BASE_RAN, true)),
    listed("Base", case("an override of what somebody found in a class above", "class T { Object t() { new Sub(); return null; } }
        class Base { int m() { return 1; } } class Sub extends Base { /**/ }", ("/**/", "int m() { return 2; }"),
        &["Base.<init>", "Sub.<init>", "Base.m"], true)),
    listed("I", case("a method beside an interface that was listed", "class T { Object t() { new Sub(); return null; } }
        interface I { int m(); } class Base { public int m() { return 1; } } class Mid extends Base { /**/ }
        class Sub extends Mid implements I { }", ("/**/", "public int m() { return 2; }"),
        &["Base.<init>", "Mid.<init>", "Sub.<init>", "Base.m"], true)),
    listed("Base", case("a method below a class that was listed", BASE, ("/*sub*/", "int k() { return 2; }"),
        BASE_RAN, false)),
];

fn sources(after: bool) -> Sources {
    CASES.iter().enumerate().fold(Sources::new(), |all, (n, case)| {
        assert!(case.before.contains(case.edit.0), "{}", case.name);
        let text = match after {
            true => case.before.replacen(case.edit.0, case.edit.1, 1),
            false => case.before.to_owned(),
        };
        all.file(&format!("c{n}/T.java"), &format!("package c{n}; {text}"))
    })
}

/// Compiled once for all tests here.
static BEFORE: LazyLock<PathBuf> = LazyLock::new(|| sources(false).compile(&jdk()));
static AFTER: LazyLock<PathBuf> = LazyLock::new(|| sources(true).compile(&jdk()));

/// Whether an answer is another one now.
fn notices(depends: &Depends, now: &ClassIndex) -> Vec<String> {
    let changed = depends.facts.iter().filter(|fact| answer(now, &fact.kind) != Some(fact.value));
    changed.map(|fact| fact.text.to_string()).collect()
}

fn index(folder: &Path) -> ClassIndex {
    ClassIndex::load(&[folder.to_owned()], &Caches::none())
}

fn run(play: &mut Play, n: usize, case: &Case, id: u32) -> Depends {
    let own = ["T.<init>", "T.t"];
    let methods = case.ran.iter().chain(&own).map(|method| format!("c{n}/{method}"));
    let methods: Vec<String> = methods.collect();
    let methods: Vec<&str> = methods.iter().map(String::as_str).collect();
    play.test(id, &format!("c{n}.T"), &methods)
}

#[test]
fn a_test_notices_what_it_can_find_and_nothing_else() {
    let mut play = Play::of(&BEFORE, |jvm| jvm.of_jdk(&jdk().home.display().to_string()));
    let now = index(&AFTER);
    let mut wrong = Vec::new();
    for (n, case) in CASES.iter().enumerate() {
        if !case.listed.is_empty() {
            // By another test before, whose framework may have kept what it found.
            let (other, name) = (1000 + n as u32, format!("c{n}.{}", case.listed));
            let lookups = [Lookup::Reflected(name)].into_iter().collect();
            play.jvm.began(other, "Other");
            play.jvm.window(&Window { open: vec![other], lookups, ..Window::default() });
            play.jvm.ended(other);
        }
        let changed = notices(&run(&mut play, n, case, n as u32 + 1), &now);
        if changed.is_empty() == case.notices {
            wrong.push(format!("{}: {changed:?}", case.name));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The cases in which nothing is noticed because members were not listed.
fn unseen() -> impl Iterator<Item = (usize, &'static Case)> {
    CASES.iter().enumerate().filter(|(_, case)| !case.notices && case.listed.is_empty())
}

/// How many of these are noticed in a JVM of which this is known.
fn noticed(change: impl FnOnce(Jvm) -> Jvm, prepare: impl FnOnce(&mut Play)) -> usize {
    let mut play = Play::of(&BEFORE, change);
    prepare(&mut play);
    let now = index(&AFTER);
    let seen = unseen().map(|(n, case)| notices(&run(&mut play, n, case, n as u32 + 1), &now));
    seen.filter(|changed| !changed.is_empty()).count()
}

#[test]
fn where_code_cannot_be_read_whole_headers_count() {
    let made = |name: &str| tamis_jvm_wire::ClassSeen {
        name: name.as_bytes().to_vec(),
        hash: 1,
        size: 1,
        first_probe: 0,
        probes: 0,
        problem: None,
    };
    let of_jdk = |jvm: Jvm| jvm.of_jdk(&jdk().home.display().to_string());
    // A class that was made at run time may name anything.
    assert_eq!(noticed(of_jdk, |play| play.jvm.class(&made("made/Up"))), unseen().count());
    // A class that was changed on its way in.
    assert_eq!(noticed(of_jdk, |play| play.jvm.class(&made("c0/A"))), unseen().count());
    assert_eq!(noticed(of_jdk, |play| play.again("c0/A")), unseen().count());
    // What was made of what reflection listed, and what runs tests, names nothing of the project.
    let harmless = ["jdk/proxy2/$Proxy7", "org/apache/maven/surefire/booter/ForkedBooter"];
    let come = |play: &mut Play| harmless.iter().for_each(|name| play.jvm.class(&made(name)));
    assert_eq!(noticed(of_jdk, come), 0);
}

#[test]
fn without_the_jdk_its_types_are_not_known() {
    // The one case with a class that extends a type of the JDK.
    assert_eq!(noticed(|jvm| jvm, |_| {}), 1);
}
