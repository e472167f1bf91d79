//! What counts for a test.

use crate::play::{Play, has_body};
use std::sync::Arc;
use tamis_classpath::{Caches, ClassIndex};
use tamis_dynamic::{Depends, FactKind, Jvm};
use tamis_jvm_wire::{ClassSeen, Hits, Lookup, Lookups, Window};
use tamis_testkit::{Sources, jdk};

/// What counts of the header of a class: all of it, or its core.
fn of_header(depends: &Depends, class: &str) -> Option<tamis_core::Value> {
    let whole = depends.facts.get(&FactKind::Header(class.into()));
    whole.or_else(|| depends.facts.get(&FactKind::Core(class.into())))
}

#[test]
fn bodies_that_ran_and_headers_that_were_touched() {
    let mut play = Play::new(&[
        ("T.java", "class T { void t() { new A().run(); } }"),
        (
            "A.java",
            "class A extends Base { void run() { Object o = null; if (o instanceof I) {} } void other() {} }",
        ),
        ("Base.java", "@Mark class Base { }"),
        (
            "Mark.java",
            "@java.lang.annotation.Retention(java.lang.annotation.RetentionPolicy.RUNTIME) @interface Mark { int value() default 1; }",
        ),
        ("I.java", "interface I { }"),
        ("Far.java", "class Far { void far() {} }"),
    ]);
    let depends = play.test(1, "T", &["T.<init>", "T.t", "A.<init>", "Base.<init>", "A.run"]);
    assert!(has_body(&depends, "A", "run"));
    assert!(!has_body(&depends, "A", "other"));
    for class in ["T", "A", "Base", "Mark", "I"] {
        assert!(of_header(&depends, class).is_some(), "{class}: {depends:?}");
    }
    assert!(of_header(&depends, "Far").is_none());
    assert_eq!(depends.incomplete, None);
}

const PARSER: &str = "class Parser { static Object parse(String s) { return Rules.apply(s); } }";
const RULES: &str = "class Rules { static Object apply(String s) { return s.trim(); } }";

#[test]
fn the_parser_whose_result_is_cached_in_a_static_map_counts_for_the_second_test() {
    let mut play = Play::new(&[
        (
            "Cache.java",
            "import java.util.*; class Cache { static final Map<String, Object> ALL = new HashMap<>();
               static Object get(String s) { return ALL.computeIfAbsent(s, k -> Parser.parse(k)); } }",
        ),
        ("Parser.java", PARSER),
        ("Rules.java", RULES),
        ("Other.java", "class Other { static void run() { } }"),
    ]);
    let first = &[
        "Cache.<clinit>",
        "Cache.get",
        "Cache.lambda$get$0",
        "Parser.parse",
        "Rules.apply",
        "Other.run",
    ];
    play.test(1, "First", first);
    let second = play.test(2, "Second", &["Cache.get"]);
    assert!(has_body(&second, "Parser", "parse"), "{second:?}");
    assert!(has_body(&second, "Rules", "apply"));
    assert!(has_body(&second, "Cache", "<clinit>"));
    assert!(second.relies_on.contains(&1));
    assert!(!has_body(&second, "Other", "run"), "what the cache cannot call is not its business");
    let third = play.test(3, "Third", &["Other.run"]);
    assert!(!has_body(&third, "Parser", "parse"));
    assert!(third.relies_on.is_empty());
}

const ENCODER: &str = "interface Encoder { Object encode(Object o); }";
const PLAIN: &str = "class Plain implements Encoder {
  public Object encode(Object o) { return Deep.work(o); } }
  class Deep { static Object work(Object o) { return o; } }";

/// A test that uses a class with these static fields, after one that used an encoder. What the encoder
/// did for that one counts if one of the fields can have kept it.
fn can_have_kept_an_encoder(fields: &str, second: &[&str]) -> bool {
    let mapped = format!(
        "import java.util.*; class Mapped implements Encoder {{ {fields}
           static void touch() {{ }}
           public Object encode(Object o) {{ return o; }} }}
         class Holder<T> {{ T value; }}
         class Mine extends HashMap<String, String> {{ Encoder first; }}
         class Others {{ static Encoder first() {{ return null; }} }}",
    );
    let mut play =
        Play::new(&[("Encoder.java", ENCODER), ("Plain.java", PLAIN), ("Mapped.java", &mapped)]);
    play.test(7, "Initialises", &["Mapped.<clinit>"]);
    play.test(1, "First", &["Mapped.touch", "Plain.<init>", "Plain.encode", "Deep.work"]);
    let second = play.test(2, "Second", second);
    assert_eq!(has_body(&second, "Deep", "work"), second.relies_on.contains(&1), "{second:?}");
    has_body(&second, "Deep", "work")
}

const BOTH: &[&str] = &["Mapped.touch", "Plain.<init>", "Plain.encode"];
const ALL: &str = "static final Map<Object, Object> ALL = new HashMap<>();";

#[test]
fn a_map_in_one_class_holds_no_siblings_that_the_class_never_sees() {
    assert!(!can_have_kept_an_encoder(ALL, BOTH));
}

#[test]
fn what_a_field_holds_matters_to_those_who_can_get_at_it() {
    let kept = format!("{ALL} static Encoder kept;");
    assert!(can_have_kept_an_encoder(&kept, BOTH));
    assert!(!can_have_kept_an_encoder(&kept, &["Plain.<init>", "Plain.encode"]));
}

#[test]
fn a_map_holds_what_it_is_declared_with() {
    let sees = "static void with(Encoder e) { }";
    for (field, held) in [
        ("static final Map<String, String> ALL = new HashMap<>();", false),
        ("static final Map<String, List<Integer>> ALL = new HashMap<>();", false),
        ("static final BitSet ALL = new BitSet();", false),
        ("static final Map<String, Encoder> ALL = new HashMap<>();", true),
        ("static final Map<String, List<Encoder>> ALL = new HashMap<>();", true),
        ("static final Map<String, Object> ALL = new HashMap<>();", true),
        ("static final Map<String, ?> ALL = new HashMap<>();", true),
        ("static final Map ALL = new HashMap();", true),
        ("static final Holder<Encoder> ALL = new Holder<>();", true),
        ("static final Map<String, String> ALL = new Mine();", true),
    ] {
        let fields = format!("{field} {sees}");
        assert_eq!(can_have_kept_an_encoder(&fields, BOTH), held, "{field}");
    }
}

#[test]
fn a_map_in_one_class_holds_siblings_that_it_gets_hold_of() {
    for getting in [
        "static void keep(Encoder e) { ALL.put(e, e); }",
        "static Encoder kept;",
        "static void keep(Object o) { ALL.put(o, (Encoder) o); }",
        "static Object first() { return Others.first().toString(); }",
    ] {
        assert!(can_have_kept_an_encoder(&format!("{ALL} {getting}"), BOTH), "{getting}");
    }
}

#[test]
fn a_cache_inside_an_object_that_a_static_field_holds_counts_too() {
    let mut play = Play::new(&[
        (
            "Service.java",
            "import java.util.*; class Service { static final Service ONE = new Service(); final Store store = new Store();
               static Service one() { return ONE; } Object find(String s) { return store.find(s); } }",
        ),
        (
            "Store.java",
            "import java.util.*; class Store { Map<String, Object> all = new HashMap<>();
               Object find(String s) { Object o = all.get(s); if (o == null) { o = Parser.parse(s); all.put(s, o); } return o; } }",
        ),
        ("Parser.java", PARSER),
        ("Rules.java", RULES),
    ]);
    let first = &[
        "Service.<clinit>",
        "Service.<init>",
        "Store.<init>",
        "Service.one",
        "Service.find",
        "Store.find",
        "Parser.parse",
        "Rules.apply",
    ];
    play.test(1, "First", first);
    let second = play.test(2, "Second", &["Service.one", "Service.find", "Store.find"]);
    assert!(has_body(&second, "Rules", "apply"), "{second:?}");
}

/// The second of two tests that call `Client.find`; only the first one made the parser run.
fn second_client(client: &str) -> Depends {
    let mut play = Play::new(&[
        (
            "Registry.java",
            "import java.util.*; class Registry { static final Map<String, Object> ALL = new HashMap<>();
               static final Registry ONE = new Registry(); Object kept;
               static Map<String, Object> all() { return ALL; } static Registry one() { return ONE; } }",
        ),
        ("Below.java", "class Below extends Registry { }"),
        ("Between.java", "class Between { static java.util.Map<String, Object> all() { return Registry.all(); } }"),
        ("Client.java", client),
        ("Parser.java", PARSER),
        ("Rules.java", RULES),
    ]);
    let first = &[
        "Registry.<clinit>",
        "Registry.<init>",
        "Registry.all",
        "Registry.one",
        "Between.all",
        "Client.find",
        "Parser.parse",
        "Rules.apply",
    ];
    play.test(1, "First", first);
    play.test(2, "Second", &["Registry.all", "Registry.one", "Between.all", "Client.find"])
}

#[test]
fn state_that_another_class_uses_counts_for_that_class() {
    for find in [
        "Object o = Registry.ALL.get(s); if (o == null) Registry.ALL.put(s, o = Parser.parse(s)); return o;",
        "Object o = Below.ALL.get(s); if (o == null) Below.ALL.put(s, o = Parser.parse(s)); return o;",
        "Object o = Registry.all().get(s); if (o == null) Registry.all().put(s, o = Parser.parse(s)); return o;",
        "Object o = Between.all().get(s); if (o == null) Between.all().put(s, o = Parser.parse(s)); return o;",
        "Registry r = Registry.one(); if (r.kept == null) r.kept = Parser.parse(s); return r.kept;",
    ] {
        let client = format!("class Client {{ static Object find(String s) {{ {find} }} }}");
        let second = second_client(&client);
        assert!(has_body(&second, "Rules", "apply"), "{find}: {second:?}");
    }
    let other = "class Client { static Object find(String s) { if (s == null) Parser.parse(s); return s; } }";
    assert!(!has_body(&second_client(other), "Rules", "apply"), "without state nothing is left");
}

#[test]
fn constructors_and_static_methods_are_called_by_their_own_names_only() {
    let mut play = Play::new(&[
        (
            "Shared.java",
            "class Shared { static Shared one = new Shared(); Object get() { return this; } }",
        ),
        ("Other.java", "class Other { static Object make() { return new Other(); } }"),
    ]);
    play.test(1, "First", &["Other.<init>", "Other.make"]);
    let second = play.test(2, "Second", &["Shared.<clinit>", "Shared.<init>", "Shared.get"]);
    assert!(!has_body(&second, "Other", "<init>"), "every constructor calls that of Object");
    assert!(second.relies_on.is_empty());
}

#[test]
fn a_method_that_is_inherited_answers_for_an_interface_that_its_class_does_not_know() {
    let mut play = Play::new(&[
        (
            "Cache.java",
            "class Cache { static Object kept; static Reads reads = new Both();
               static Object get() { if (kept == null) kept = reads.read(); return kept; } }",
        ),
        ("Reads.java", "interface Reads { Object read(); }"),
        ("Base.java", "class Base { public Object read() { return Deep.read(); } }"),
        ("Both.java", "class Both extends Base implements Reads { }"),
        ("Deep.java", "class Deep { static Object read() { return 1; } }"),
        (
            "Lazy.java",
            "class Lazy { static Object kept; static java.util.function.Supplier<Object> from = new Given();
               static Object get() { if (kept == null) kept = from.get(); return kept; } }",
        ),
        ("Giver.java", "class Giver { public Object get() { return Deep.read(); } }"),
        ("Given.java", "class Given extends Giver implements java.util.function.Supplier<Object> { }"),
    ]);
    let first =
        &["Cache.<clinit>", "Both.<init>", "Base.<init>", "Cache.get", "Base.read", "Deep.read"];
    play.test(1, "First", first);
    let second = play.test(2, "Second", &["Cache.get"]);
    assert!(has_body(&second, "Base", "read") && has_body(&second, "Deep", "read"), "{second:?}");
    play.test(3, "Third", &["Lazy.<clinit>", "Given.<init>", "Lazy.get", "Giver.get", "Deep.read"]);
    let fourth = play.test(4, "Fourth", &["Lazy.get"]);
    assert!(has_body(&fourth, "Giver", "get"), "{fourth:?}");
}

#[test]
fn what_is_made_by_reflection_and_kept_counts_with_everything_that_ran_there() {
    let mut play = Play::new(&[
        (
            "Plugins.java",
            "class Plugins { static Object kept; static Object get() throws Exception {
               if (kept == null) kept = Class.forName(\"Plugin\").getDeclaredConstructor().newInstance(); return kept; } }",
        ),
        ("Plugin.java", "class Plugin { Plugin() { Deep.read(); } }"),
        ("Deep.java", "class Deep { static Object read() { return 1; } }"),
        ("Far.java", "class Far { static void far() { } }"),
    ]);
    play.jvm.began(1, "First");
    let lookups = [Lookup::Class("Plugin".into())].into_iter().collect();
    play.jvm.window(&Window { open: vec![1], lookups, ..Window::default() });
    play.ran(&[1], &["Plugins.get", "Plugin.<init>", "Deep.read"]);
    play.jvm.ended(1);
    play.test(2, "Second", &["Far.far"]);
    let third = play.test(3, "Third", &["Plugins.get"]);
    assert!(has_body(&third, "Plugin", "<init>") && has_body(&third, "Deep", "read"), "{third:?}");
    assert!(of_header(&third, "Plugin").is_some());
    assert!(!has_body(&third, "Far", "far"));
    assert_eq!(third.relies_on.into_iter().collect::<Vec<_>>(), [1]);
}

#[test]
fn names_that_an_earlier_test_asked_for_count_where_its_code_does() {
    let mut play = Play::new(&[
        ("Config.java", "class Config { static final Object SIZE = Reader.read(); }"),
        ("Reader.java", "class Reader { static Object read() { return 7; } }"),
        ("Far.java", "class Far { static void far() { } }"),
    ]);
    play.jvm.began(1, "First");
    let lookups = [Lookup::Class("Optional".into())].into_iter().collect();
    play.jvm.window(&Window { open: vec![1], lookups, ..Window::default() });
    play.ran(&[1], &["Config.<clinit>", "Reader.read"]);
    play.jvm.ended(1);
    play.jvm.began(2, "Second");
    let lookups = [Lookup::Class("Config".into())].into_iter().collect();
    play.jvm.window(&Window { open: vec![2], lookups, ..Window::default() });
    let second = play.jvm.ended(2);
    assert_eq!(of_header(&second, "Optional"), Some(tamis_core::Value::Absent));
    assert!(of_header(&second, "First").is_none(), "but not the other test itself");
    let third = play.test(3, "Third", &["Far.far"]);
    assert!(of_header(&third, "Optional").is_none());
}

#[test]
fn what_a_static_initialiser_used_belongs_to_everybody_who_touches_the_class() {
    let mut play = Play::new(&[
        ("Config.java", "class Config { static final int SIZE = Reader.read(); }"),
        ("Reader.java", "class Reader { static int read() { return 7; } }"),
        ("User.java", "class User { static int size() { return Config.SIZE; } }"),
    ]);
    play.test(1, "First", &["User.size", "Config.<clinit>", "Reader.read"]);
    let second = play.test(2, "Second", &["User.size"]);
    assert!(has_body(&second, "Reader", "read"), "{second:?}");
}

#[test]
fn what_ran_outside_of_tests_counts_for_all_later_ones_and_overlapping_tests_share() {
    let mut play = Play::new(&[
        ("Setup.java", "class Setup { static void up() { } }"),
        ("A.java", "class A { static void a() { } static void b() { } }"),
    ]);
    play.ran(&[], &["Setup.up"]);
    play.jvm.began(1, "First");
    play.jvm.began(2, "Second");
    play.ran(&[1, 2], &["A.a"]);
    let first = play.jvm.ended(1);
    play.ran(&[2], &["A.b"]);
    let second = play.jvm.ended(2);
    assert!(has_body(&first, "Setup", "up") && has_body(&second, "Setup", "up"));
    assert!(has_body(&first, "A", "a") && has_body(&second, "A", "a"));
    assert!(!has_body(&first, "A", "b") && has_body(&second, "A", "b"));
}

/// Before any test, a framework looks at both test classes; perhaps something else runs, too.
fn discovered(ran: &[&str]) -> Depends {
    let mut play = Play::new(&[
        ("OneTest.java", "class OneTest { static Object data() { return null; } }"),
        ("TwoTest.java", "class TwoTest { Two two; static class Inner { } }"),
        ("Two.java", "class Two extends Base { }"),
        ("Base.java", "class Base { }"),
        ("Orderer.java", "class Orderer { static void order() { } }"),
    ]);
    play.jvm = play.jvm.with_tests(["OneTest", "TwoTest"]);
    let asked = ["OneTest", "TwoTest", "TwoTest$Inner", "Two", "Base", "Missing"];
    let lookups = asked.map(|class| Lookup::Reflected(class.into())).into_iter().collect();
    play.jvm.window(&Window { open: vec![], lookups, ..Window::default() });
    play.ran(&[], ran);
    play.test(1, "OneTest", &["OneTest.<init>"])
}

#[test]
fn what_is_looked_at_to_find_other_tests_does_not_count() {
    for ran in [&[][..], &["OneTest.data"]] {
        let one = discovered(ran);
        for other in ["TwoTest", "TwoTest$Inner", "Two", "Base"] {
            assert!(of_header(&one, other).is_none(), "{other}: {one:?}");
        }
        assert!(of_header(&one, "OneTest").is_some());
        assert!(of_header(&one, "Missing").is_some(), "who knows why");
    }
    let one = discovered(&["Orderer.order"]);
    assert!(of_header(&one, "TwoTest").is_some() && of_header(&one, "Two").is_some());
}

#[test]
fn classes_that_did_something_outside_of_tests() {
    let mut play = Play::new(&[
        ("AllTest.java", "class AllTest { static Object suite() { return null; } }"),
        ("InTest.java", "class InTest { static class Case { void run() { } } }"),
        ("LoadedTest.java", "class LoadedTest { static Object o = new Object(); }"),
        ("RunTest.java", "class RunTest { void run() { } }"),
    ]);
    play.ran(&[], &["AllTest.suite", "InTest$Case.run", "LoadedTest.<clinit>"]);
    play.test(1, "RunTest", &["RunTest.run"]);
    assert_eq!(play.jvm.ran_outside().into_iter().collect::<Vec<_>>(), ["AllTest", "InTest"]);
}

#[test]
fn names_that_are_looked_up_count_whether_there_or_not() {
    let mut play = Play::new(&[("Plugin.java", "class Plugin { }")]);
    play.jvm.began(1, "First");
    let lookups = ["Plugin", "[Lcom.acme.Missing;"].map(|n| Lookup::Class(n.into()));
    let lookups: Lookups = lookups.into_iter().collect();
    play.jvm.window(&Window { open: vec![1], lookups, ..Window::default() });
    let depends = play.jvm.ended(1);
    assert!(of_header(&depends, "Plugin").is_some());
    assert_eq!(of_header(&depends, "com.acme.Missing"), Some(tamis_core::Value::Absent));
}

#[test]
fn class_files_that_are_looked_for_as_resources_count_whether_there_or_not() {
    let work = tempfile::tempdir().unwrap();
    let library = work.path().join("library.jar");
    let classes = Sources::new().file("Lib.java", "class Lib { }").compile(&jdk());
    let mut jar = std::process::Command::new(jdk().tool("jar"));
    assert!(
        jar.arg("cf").arg(&library).arg("-C").arg(classes).arg(".").status().unwrap().success()
    );
    let caches = Caches::none();
    let index = ClassIndex::load(std::slice::from_ref(&library), &caches);
    let mut jvm = Jvm::new(Arc::new(index), "play");
    jvm.began(1, "First");
    let entry = |entry: &str| Lookup::JarEntry {
        jar: library.to_str().unwrap().into(),
        entry: entry.into(),
    };
    let lookups = [entry("Lib.class"), entry("a/Missing.class")].into_iter().collect();
    jvm.window(&Window { open: vec![1], lookups, ..Window::default() });
    let depends = jvm.ended(1);
    assert!(depends.facts.get(&FactKind::Whole("Lib".into())).is_some(), "{depends:?}");
    assert_eq!(of_header(&depends, "a.Missing"), Some(tamis_core::Value::Absent));
}

#[test]
fn a_class_that_somebody_changed_on_the_way_counts_as_a_whole() {
    let mut play = Play::new(&[("A.java", "class A { void run() { } }")]);
    let seen = ClassSeen {
        name: b"A".to_vec(),
        hash: 1,
        size: 3,
        first_probe: 100,
        probes: 9,
        problem: None,
    };
    play.jvm.class(&seen);
    play.jvm.began(1, "First");
    play.jvm.window(&Window {
        open: vec![1],
        hits: Hits::from_sorted([105]),
        lookups: Lookups::default(),
        still_running: false,
    });
    assert!(play.jvm.ended(1).facts.get(&FactKind::Whole("A".into())).is_some());
}

#[test]
fn a_class_without_probes_makes_every_later_test_incomplete() {
    let mut play = Play::new(&[("A.java", "class A { void run() { } }")]);
    let problem = Some("its code would become too long".to_owned());
    let seen =
        ClassSeen { name: b"A".to_vec(), hash: 1, size: 3, first_probe: 0, probes: 0, problem };
    play.jvm.class(&seen);
    let depends = play.test(1, "First", &[]);
    assert!(depends.incomplete.is_some_and(|why| why.contains("class A")));
    assert!(play.jvm.ended(77).incomplete.is_some(), "a test that never began");
}

#[test]
fn a_method_of_an_unknown_class_makes_the_test_incomplete() {
    let mut play = Play::new(&[("A.java", "class A { void run() { } }")]);
    assert_eq!(play.test(1, "First", &["A.run"]).incomplete, None);
    play.jvm.began(2, "Second");
    let hits = Hits::from_sorted([4_000]);
    play.jvm.window(&Window { open: vec![2], hits, ..Window::default() });
    assert!(play.jvm.ended(2).incomplete.is_some_and(|why| why.contains("did not report")));
}

#[test]
fn who_may_use_resource_bundles_is_reported() {
    let mut play = Play::new(&[
        (
            "Texts.java",
            "class Texts { static Object of(String k) {
               return java.util.ResourceBundle.getBundle(\"texts\").getString(k); } }",
        ),
        ("Plain.java", "class Plain { static void run() { } }"),
    ]);
    assert!(play.test(1, "First", &["Texts.of"]).uses_bundles);
    assert!(!play.test(2, "Second", &["Plain.run"]).uses_bundles);
}
