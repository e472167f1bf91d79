//! One small program per kind of instruction or idiom: what must be reached, and what must not.

use crate::support::{Fixture, Libraries, built, options};
use std::collections::BTreeSet;
use tamis_callgraph::Algorithm::{self, ZeroCfa, ZeroOneCfa};
use tamis_callgraph::{AnalysisOptions, Assumptions};

/// The methods of `Used` that `Case` reaches, by algorithm.
fn used(source: &str, libraries: Libraries, options: AnalysisOptions) -> BTreeSet<String> {
    let fixture = Fixture::new(&[("Case.java", source)], &[]);
    let universe = fixture.universe(libraries);
    let built = built(&universe, &["Case"], options);
    built
        .reached("Case")
        .into_iter()
        .filter_map(|name| name.strip_prefix("Used#").map(str::to_owned))
        .filter(|name| name != "<init>")
        .collect()
}

fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|n| (*n).to_owned()).collect()
}

/// All algorithms, with libraries and without, reach just these methods of `Used`. The hierarchy of the
/// whole JDK is left to the tests of the figures: it takes too long for each idiom.
fn all_reach(source: &str, expected: &[&str]) {
    for algorithm in Algorithm::ALL {
        for libraries in [Libraries::Exclude, Libraries::Include] {
            if (algorithm, libraries) == (Algorithm::Cha, Libraries::Include) {
                continue;
            }
            let found = used(source, libraries, options(algorithm));
            assert_eq!(found, set(expected), "{algorithm:?} {libraries:?}");
        }
    }
}

#[test]
fn static_special_virtual_and_interface_calls() {
    all_reach(
        "interface I { void i(); }
         class Base { void v() { Used.inBase(); } }
         class Sub extends Base implements I {
           Sub() { Used.constructed(); }
           @Override void v() { super.v(); Used.inSub(); }
           public void i() { p(); }
           private void p() { Used.inPrivate(); } }
         class Case { void t() { Base b = new Sub(); b.v(); I i = (I) b; i.i(); Used.direct(); } }
         class Used { static void inBase() {} static void constructed() {} static void inSub() {}
           static void inPrivate() {} static void direct() {} static void never() {} }",
        &["inBase", "constructed", "inSub", "inPrivate", "direct"],
    );
}

#[test]
fn lambdas_and_method_references() {
    all_reach(
        "interface F<A, B> { B f(A a); }
         interface S<A> { A get(); }
         class Case {
           void t() {
             Used used = new Used();
             call(a -> { Used.lambda(); used.captured(); return a; }, used);
             call(Used::staticReference, used);
             call(used::bound, used);
             call(Used::unbound, used);
             S<Made> s = Made::new; s.get().hello();
           }
           static <A, B> B call(F<A, B> f, A a) { return f.f(a); } }
         class Made { Made() { Used.made(); } void hello() { Used.hello(); } }
         class Used { static void lambda() {} void captured() {} static void made() {}
           static Used staticReference(Used u) { return u; } Used bound(Used u) { return u; }
           Used unbound() { return this; } static void hello() {} void never() {} }",
        &["lambda", "captured", "staticReference", "bound", "unbound", "made", "hello"],
    );
}

#[test]
fn a_lambda_that_is_not_called_does_not_run() {
    let source = "class Case { Runnable r; void t() { r = () -> Used.never(); } }
         class Used { static void never() {} }";
    for algorithm in [Algorithm::Rta, ZeroCfa, ZeroOneCfa] {
        assert_eq!(used(source, Libraries::Exclude, options(algorithm)), set(&[]));
    }
}

#[test]
fn string_concatenation_calls_to_string() {
    all_reach(
        "class Thing { public String toString() { return Used.text(); } }
         class Case { String t() { return \"thing \" + new Thing() + 1; } }
         class Used { static String text() { return \"\"; } }",
        &["text"],
    );
}

#[test]
fn records_call_their_components() {
    all_reach(
        "class Thing { public String toString() { Used.text(); return \"\"; }
           public int hashCode() { Used.hash(); return 1; }
           public boolean equals(Object o) { Used.same(); return true; } }
         record Pair(Thing a, int b) { }
         class Case { Object t() { Pair p = new Pair(new Thing(), 1);
           return p.toString() + p.hashCode() + p.equals(p); } }
         class Used { static void text() {} static void hash() {} static void same() {} }",
        &["text", "hash", "same"],
    );
}

#[test]
fn static_initialisers() {
    all_reach(
        "class A { static { Used.byNew(); } }
         class B { static { Used.byCall(); } static void call() {} }
         class C { static int number = Used.byNumber(); }
         class D { static { Used.byParent(); } }
         class E extends D { static void call() {} }
         class Never { static { Used.never(); } static final int CONSTANT = 5; }
         class Case { static { Used.own(); }
           int t() { new A(); B.call(); E.call(); return C.number + Never.CONSTANT; } }
         class Used { static void byNew() {} static void byCall() {} static int byNumber() { return 1; }
           static void byParent() {} static void never() {} static void own() {} }",
        &["byNew", "byCall", "byNumber", "byParent", "own"],
    );
}

#[test]
fn default_and_bridge_methods() {
    all_reach(
        "interface I<T> { void take(T t); default void more(T t) { take(t); Used.inDefault(); } }
         interface J<T> extends I<T> { @Override default void more(T t) { I.super.more(t); Used.below(); } }
         class Impl implements J<String> { public void take(String s) { Used.bridged(); } }
         class Case { void t() { I<String> i = new Impl(); i.more(\"\"); } }
         class Used { static void inDefault() {} static void bridged() {} static void below() {} }",
        &["inDefault", "bridged", "below"],
    );
}

#[test]
fn what_is_handed_over_to_be_run() {
    all_reach(
        "import java.util.concurrent.*; import java.security.*;
         class Case { @SuppressWarnings(\"removal\") void t(ExecutorService pool) throws Exception {
             new Thread() { @Override public void run() { Used.thread(); } }.start();
             new Thread(() -> Used.runnable()).start();
             Executors.newSingleThreadExecutor().submit((Callable<String>) () -> Used.callable());
             AccessController.doPrivileged((PrivilegedAction<String>) () -> Used.privileged()); } }
         class Used { static void thread() {} static void runnable() {}
           static String callable() { return null; } static String privileged() { return null; } }",
        &["thread", "runnable", "callable", "privileged"],
    );
}

#[test]
fn caught_exceptions() {
    all_reach(
        "class Bad extends RuntimeException { void tell() { Used.told(); } }
         class Worse extends RuntimeException { void tell() { Used.never(); } }
         class Case {
           void t() { try { deep(); } catch (Bad bad) { bad.tell(); } finally { Used.last(); } }
           void deep() { throw new Bad(); } }
         class Used { static void told() {} static void never() {} static void last() {} }",
        &["told", "last"],
    );
}

#[test]
fn arrays() {
    all_reach(
        "class Thing { void a() { Used.one(); } void b() { Used.two(); } void c() { Used.three(); } }
         class Case { void t() {
             Thing[] things = { new Thing() }; things[0].a();
             Thing[][] more = new Thing[2][2]; more[0][1] = things[0]; more[1][0].b();
             things.clone()[0].c(); } }
         class Used { static void one() {} static void two() {} static void three() {} }",
        &["one", "two", "three"],
    );
}

#[test]
fn fields_of_objects_and_classes() {
    all_reach(
        "class Thing { void a() { Used.one(); } void b() { Used.two(); } }
         class Holder { Thing thing; static Thing common; }
         class Below extends Holder { void set(Thing t) { thing = t; } }
         class Case { void t() {
             Below below = new Below(); below.set(new Thing()); Holder h = below; h.thing.a();
             Holder.common = h.thing; Below.common.b(); } }
         class Used { static void one() {} static void two() {} }",
        &["one", "two"],
    );
}

#[test]
fn what_comes_back_from_a_library_may_be_anything_that_was_made() {
    all_reach(
        "import java.util.*;
         class Thing { void a() { Used.one(); } }
         class Case { void t() {
             List<Thing> list = new ArrayList<>(); list.add(new Thing());
             for (Thing thing : list) thing.a(); } }
         class Used { static void one() {} }",
        &["one"],
    );
}

#[test]
fn reflection_with_constants_is_an_option() {
    let source = "class Case { Object t() throws Exception {
             return Literal.class.getDeclaredConstructor().newInstance(); }
             Object u() throws Exception { return Class.forName(\"Named\").newInstance(); } }
         class Literal { Literal() { Used.literal(); } }
         class Named { Named() { Used.named(); } }
         class Used { static void literal() {} static void named() {} }";
    for algorithm in Algorithm::ALL {
        for libraries in [Libraries::Exclude, Libraries::Include] {
            if (algorithm, libraries) == (Algorithm::Cha, Libraries::Include) {
                continue;
            }
            let with = AnalysisOptions { reflection: true, ..options(algorithm) };
            assert_eq!(used(source, libraries, with), set(&["literal", "named"]), "{algorithm:?}");
            assert_eq!(used(source, libraries, options(algorithm)), set(&[]), "{algorithm:?}");
        }
    }
}

#[test]
fn what_is_assumed_of_code_that_is_not_read() {
    let source = "import java.util.*;
         class Case { Object t() { Iterator<Object> i = new It(); return i.next(); }
           void u(List<Object> l) { new A(); ((A) l.get(0)).a(); }
           void v(Object o) { o = new B(); ((B) (Iterable<?>) o).b(); } }
         class It implements Iterator<Object> { public boolean hasNext() { return true; }
           public Object next() { Used.next(); return null; } }
         class A { void a() { Used.a(); } }
         class B implements Iterable<Object> { void b() { Used.b(); }
           public Iterator<Object> iterator() { return null; } }
         class Used { static void next() {} static void a() {} static void b() {} }";
    let found = |algorithm, assumptions| {
        used(source, Libraries::Exclude, AnalysisOptions { assumptions, ..options(algorithm) })
    };
    let follow = Assumptions { follow_library_types: true, ..Assumptions::default() };
    let nothing = Assumptions { nothing_from_outside: true, ..Assumptions::default() };
    for algorithm in Algorithm::ALL {
        assert_eq!(found(algorithm, Assumptions::default()), set(&["a", "b"]), "{algorithm:?}");
        assert_eq!(found(algorithm, follow), set(&["a", "b", "next"]), "{algorithm:?}");
    }
    for algorithm in [ZeroCfa, ZeroOneCfa] {
        assert_eq!(found(algorithm, nothing), set(&[]), "{algorithm:?}");
    }
}

#[test]
fn objects_are_followed_where_types_are_not_enough() {
    let source = "interface I { void i(); }
         class A implements I { public void i() { Used.a(); } }
         class B implements I { public void i() { Used.b(); } }
         class Case { void t() { I a = new A(); new B(); a.i(); } }
         class Used { static void a() {} static void b() {} }";
    let found = |algorithm| used(source, Libraries::Exclude, options(algorithm));
    assert_eq!(found(Algorithm::Cha), set(&["a", "b"]));
    assert_eq!(found(Algorithm::Rta), set(&["a", "b"]));
    assert_eq!(found(ZeroCfa), set(&["a"]));
    assert_eq!(found(ZeroOneCfa), set(&["a"]));
}

#[test]
fn what_is_not_made_is_not_run() {
    let source = "interface I { void i(); }
         class A implements I { public void i() { Used.a(); } }
         class B implements I { public void i() { Used.b(); } }
         class Case { void t() { I a = new A(); a.i(); } }
         class Used { static void a() {} static void b() {} }";
    let found = |algorithm| used(source, Libraries::Exclude, options(algorithm));
    assert_eq!(found(Algorithm::Cha), set(&["a", "b"]));
    assert_eq!(found(Algorithm::Rta), set(&["a"]));
}

#[test]
fn two_boxes_are_distinguished_by_where_they_are_made() {
    let source = "interface I { void i(); }
         class A implements I { public void i() { Used.a(); } }
         class B implements I { public void i() { Used.b(); } }
         class Box { I inside; }
         class Case { void t() {
             Box first = new Box(), second = new Box();
             first.inside = new A(); second.inside = new B(); first.inside.i(); } }
         class Used { static void a() {} static void b() {} }";
    let found = |algorithm| used(source, Libraries::Exclude, options(algorithm));
    assert_eq!(found(ZeroCfa), set(&["a", "b"]));
    assert_eq!(found(ZeroOneCfa), set(&["a"]));
}

#[test]
fn loops_switches_and_joins() {
    all_reach(
        "class Thing { Thing next; void a() { Used.one(); } }
         class Case { void t(int n, long w, String s) {
             Thing thing = null;
             for (int i = 0; i < n; i++) {
               switch (i) { case 1: thing = new Thing(); break; case 1000: continue; default: }
               switch (s) { case \"a\": w += 2; break; default: w *= i; }
               Thing kept = n > 3 && w < 7L ? thing : thing.next;
               while (kept != null) { kept = kept.next; w--; }
             }
             synchronized (this) { if (thing != null) thing.a(); } } }
         class Used { static void one() {} }",
        &["one"],
    );
}
