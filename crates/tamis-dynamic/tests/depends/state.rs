//! Static state that the agent looked at, and static initialisers of which it reported what ran in them.

use crate::play::{Play, has_body};
use tamis_jvm_wire::StaticState;

/// A cache that the first test fills: the second never runs the parser.
const CACHE: [(&str, &str); 3] = [
    (
        "Cache.java",
        "class Cache { static java.util.Map<String, String> kept = new java.util.HashMap<>(); \
         static String get(String k) { return kept.computeIfAbsent(k, n -> Parser.parse(n)); } }",
    ),
    ("Parser.java", "class Parser { static String parse(String k) { return k; } }"),
    ("T.java", "class T { void run() { Cache.get(\"x\"); } }"),
];

const FIRST: &[&str] =
    &["T.run", "Cache.get", "Cache.<clinit>", "Cache.lambda$get$0", "Parser.parse"];
const SECOND: &[&str] = &["T.run", "Cache.get"];

fn state(watched: &[&str], changed: Option<&[(&str, &str)]>) -> StaticState {
    let text = |text: &&str| (*text).to_owned();
    StaticState {
        watched: watched.iter().map(text).collect(),
        waiting: Vec::new(),
        changed: changed.map(|all| all.iter().map(|(c, f)| (text(c), text(f))).collect()),
    }
}

/// Whether the second test depends on the parser, if this was reported before it began.
fn parser_counts(reported: Option<&StaticState>) -> bool {
    let mut play = Play::new(&CACHE);
    play.test(1, "T", FIRST);
    reported.iter().for_each(|state| play.jvm.state(state));
    has_body(&play.test(2, "T", SECOND), "Parser", "parse")
}

/// Class files write characters beyond 16 bits in another way than everybody else.
#[test]
fn a_field_that_changed_is_known_by_any_name() {
    let escaped: Vec<(&str, String)> =
        CACHE.iter().map(|(file, text)| (*file, text.replace("kept", "\\ud835\\udcb3"))).collect();
    let files: Vec<(&str, &str)> = escaped.iter().map(|(f, text)| (*f, text.as_str())).collect();
    let mut play = Play::new(&files);
    play.test(1, "T", FIRST);
    play.jvm.state(&state(&["Cache"], Some(&[("Cache", "\u{1d4b3}")])));
    assert!(has_body(&play.test(2, "T", SECOND), "Parser", "parse"));
}

#[test]
fn what_is_as_it_was_at_first_has_nothing_of_earlier_tests() {
    assert!(!parser_counts(Some(&state(&["Cache"], Some(&[])))));
    let other = [("Cache", "another"), ("Parser", "kept")];
    assert!(!parser_counts(Some(&state(&["Cache"], Some(&other)))));
}

#[test]
fn what_changed_or_was_not_looked_at_counts() {
    assert!(parser_counts(None));
    assert!(parser_counts(Some(&state(&["Cache"], None))));
    assert!(parser_counts(Some(&state(&["Cache"], Some(&[("Cache", "kept")])))));
    // It was not reported that this class is looked at.
    assert!(parser_counts(Some(&state(&["T"], Some(&[])))));
}

#[test]
fn a_class_that_was_not_used_before_the_test_has_nothing_either() {
    let waits = StaticState { waiting: vec!["Cache".into()], ..state(&[], Some(&[])) };
    assert!(!parser_counts(Some(&waits)));
}

#[test]
fn it_holds_for_one_test_only() {
    let mut play = Play::new(&CACHE);
    play.test(1, "T", FIRST);
    play.jvm.state(&state(&["Cache"], Some(&[])));
    assert!(!has_body(&play.test(2, "T", SECOND), "Parser", "parse"));
    assert!(has_body(&play.test(3, "T", SECOND), "Parser", "parse"));
    play.jvm.state(&state(&[], Some(&[])));
    play.jvm.forget_state();
    assert!(has_body(&play.test(4, "T", SECOND), "Parser", "parse"));
}

#[test]
fn tests_that_run_at_the_same_time_may_leave_things_meanwhile() {
    let mut play = Play::new(&CACHE);
    play.test(1, "T", FIRST);
    play.jvm.state(&state(&["Cache"], Some(&[])));
    play.jvm.began(2, "T");
    play.jvm.state(&state(&[], Some(&[])));
    play.jvm.began(3, "T");
    play.ran(&[2, 3], SECOND);
    assert!(has_body(&play.jvm.ended(2), "Parser", "parse"));
    assert!(has_body(&play.jvm.ended(3), "Parser", "parse"));
}

#[test]
fn of_two_classes_with_one_name_nothing_is_known() {
    let mut play = Play::new(&CACHE);
    play.again("Cache");
    play.test(1, "T", FIRST);
    play.jvm.state(&state(&["Cache"], Some(&[])));
    assert!(has_body(&play.test(2, "T", SECOND), "Parser", "parse"));
}

/// The initialiser of `Uses` can call all implementations; it called one.
const INITIALISER: [(&str, &str); 5] = [
    ("Step.java", "interface Step { int go(); }"),
    ("One.java", "class One implements Step { public int go() { return 1; } }"),
    ("Two.java", "class Two implements Step { public int go() { return 2; } }"),
    (
        "Uses.java",
        "class Uses { static final int N = of(new One()); static int of(Step s) { return s.go(); } \
         static int n() { return N; } }",
    ),
    ("T.java", "class T { void first() { Uses.of(new Two()); } void second() { Uses.n(); } }"),
];

#[test]
fn an_initialiser_counts_with_what_ran_in_it() {
    for is_reported in [true, false] {
        let mut play = Play::new(&INITIALISER);
        let inside = ["Uses.<clinit>", "One.<init>", "Uses.of", "One.go"];
        play.jvm.began(1, "T");
        play.ran(&[1], &inside);
        if is_reported {
            play.initialised("Uses.<clinit>", &inside);
        }
        play.ran(&[1], &["T.first", "Two.<init>", "Uses.of", "Two.go"]);
        play.jvm.ended(1);
        let depends = play.test(2, "T", &["T.second", "Uses.n"]);
        assert!(has_body(&depends, "Uses", "<clinit>"), "{is_reported}");
        assert!(has_body(&depends, "One", "go"), "{is_reported}");
        assert_eq!(has_body(&depends, "Two", "go"), !is_reported);
    }
}

/// What the initialiser hands to an executor runs later, and counts.
#[test]
fn an_initialiser_that_hands_work_over_counts_with_what_it_can_call() {
    let mut play = Play::new(&[
        (
            "Later.java",
            "class Later { static final java.util.concurrent.Executor E = r -> {}; static int n; \
             static { E.execute(() -> work()); } static void work() { n = 1; } static int n() { return n; } }",
        ),
        ("T.java", "class T { void run() { Later.n(); } }"),
    ]);
    play.jvm.began(1, "T");
    play.initialised("Later.<clinit>", &["Later.<clinit>"]);
    play.ran(&[1], &["T.run", "Later.<clinit>", "Later.n"]);
    play.jvm.ended(1);
    play.test(2, "T", &["Later.lambda$static$1", "Later.work"]);
    play.jvm.state(&state(&["Later"], Some(&[])));
    let depends = play.test(3, "T", &["T.run", "Later.n"]);
    assert!(has_body(&depends, "Later", "work"));
}

/// Whether the second test depends on what an iterator did for the first one that remembers it, if this stands
/// in a field of a class that mentions the iterator. The second test has one of its own.
fn iterator_counts(field: &str) -> bool {
    let keep = format!(
        "import java.util.*; import java.util.concurrent.atomic.*; class Keep {{ static {field}; \
         static boolean get(Object o) {{ return HELD != null && o instanceof Each; }} }}"
    );
    let mut play = Play::new(&[
        ("Keep.java", &keep),
        (
            "Each.java",
            "class Each implements java.util.Iterator<Object> { private Object kept; \
             public boolean hasNext() { return true; } \
             public Object next() { if (kept == null) kept = Parser.parse(); return kept; } }",
        ),
        ("Parser.java", "class Parser { static String parse() { return null; } }"),
        ("T.java", "class T { void first() { } void second() { } }"),
    ]);
    play.test(1, "T", &["T.first", "Each.<init>", "Each.next", "Parser.parse"]);
    let second = ["T.second", "Keep.get", "Each.<init>", "Each.next"];
    has_body(&play.test(2, "T", &second), "Parser", "parse")
}

/// A field of numbers, or of objects of the JDK of which it is known what they hold, holds no iterator.
#[test]
fn what_a_type_cannot_hold_is_not_there() {
    for field in [
        "ThreadLocal<StringBuilder> HELD",
        "AtomicReference<java.nio.charset.CharsetEncoder> HELD",
        "AtomicReference<java.net.Proxy> HELD",
        "java.lang.ref.SoftReference<String> HELD",
        "final HashMap<String, String> HELD = new HashMap<>(); static void change() { HELD.clear(); }",
        "final ArrayList<StringBuilder> HELD = new ArrayList<>(); static void change() { HELD.clear(); }",
    ] {
        assert!(!iterator_counts(field), "{field}");
    }
    for field in [
        "AtomicReference<Object> HELD",
        "ThreadLocal<List<String>> HELD",
        "ThreadLocal<Iterator<String>> HELD",
        "ThreadLocal HELD",
        "AtomicReference<?> HELD",
        // One that extends it may hold more.
        "HashMap<String, String> HELD = new HashMap<>()",
        "final HashMap<String, String> HELD = of(); static HashMap<String, String> of() { return null; }",
        "final HashMap<String, Object> HELD = new HashMap<>(); static void change() { HELD.clear(); }",
        "final TreeMap<String, String> HELD = new TreeMap<>(); static void change() { HELD.clear(); }",
    ] {
        assert!(iterator_counts(field), "{field}");
    }
}

/// What the test did not run itself says through what it counts; what it ran says nothing.
#[test]
fn what_counts_for_others_names_the_state() {
    let mut play = Play::new(&[
        (
            "Keep.java",
            "class Keep { static String v; \
             static String get() { if (v == null) v = Parser.parse(); return v; } }",
        ),
        ("Parser.java", "class Parser { static String parse() { return null; } }"),
        ("T.java", "class T { void run() { Keep.get(); } }"),
    ]);
    play.test(1, "T", &["T.run", "Keep.get", "Parser.parse"]);
    let because = play.test(2, "T", &["T.run", "Keep.get"]).because;
    let of = |name: &str| because.iter().find(|(fact, _)| fact.contains(name)).map(|(_, b)| &**b);
    assert_eq!(of("Parser#parse"), Some("what earlier tests can have left in Keep.v"));
    assert_eq!(of("Keep#get"), None);
    assert_eq!(of("T#run"), None);
}
