//! Static fields that hold no state, and those that only look so.

use crate::play::{Play, has_body};

/// Classes `Table0`, `Table1` and so on with these members, among them a method `find` that may call a
/// parser. A first test ran the parser by it, a second one did not: whether the parser counts for the
/// second, too.
fn keep(all_members: &[String], others: &str) -> Vec<bool> {
    let tables = all_members.iter().enumerate();
    let tables: String =
        tables.map(|(n, members)| format!("class Table{n} {{ {members} }}\n")).collect();
    let source = format!(
        "import java.util.*; import java.util.function.*; {tables}
         class Parser {{ static String parse(String s) {{ return s.trim(); }} }}
         enum Color {{ RED, GREEN {{ int shade() {{ return 2; }} }}; final int n = 1;
           int shade() {{ return n; }} }}
         enum Counting {{ ONE; int n; }}
         class Point {{ final int x; final String name; final Color color;
           Point(int x) {{ this.x = x; name = \"\"; color = Color.RED; }} }}
         class Box {{ int x; }} class Cell {{ final Box box = new Box(); }}
         class Open {{ final int x = 1; }} class Closed extends Open {{ int y; }}
         class Other {{ static Set<String> kept; static void take(Object o) {{ }} {others} }}"
    );
    let mut play = Play::new(&[("Tables.java", &source)]);
    let mut test = 0;
    let mut run = |methods: &[&str]| {
        test += 1;
        play.test(test, &format!("Test{test}"), methods)
    };
    (0..all_members.len())
        .map(|n| {
            let (initialiser, find) = (format!("Table{n}.<clinit>"), format!("Table{n}.find"));
            run(&[&initialiser]);
            run(&[&find, "Parser.parse"]);
            has_body(&run(&[&find]), "Parser", "parse")
        })
        .collect()
}

fn assert_all_keep(all_members: &[String], others: &str, expected: bool) {
    for (members, kept) in all_members.iter().zip(keep(all_members, others)) {
        assert_eq!(kept, expected, "{members}");
    }
}

const SET: &str = "static final Set<String> T = new HashSet<>(Arrays.asList(\"a\", \"b\"));";
const ARRAY: &str = "static final String[] T = { \"a\", \"b\" };";
const FIND: &str =
    "static String find(String s) { return T.contains(s) ? Parser.parse(s) : null; }";
const PARSES: &str = "static String find(String s) { return Parser.parse(s); }";

#[test]
fn tables_that_are_only_looked_at_keep_nothing() {
    assert_all_keep(&[
        format!("{SET} {FIND}"),
        format!("private static final Set<String> T = new TreeSet<>(); static {{ T.add(\"a\"); }} {FIND}"),
        format!("static final Set<String> T; static {{ Set<String> s = new HashSet<>(); s.add(\"a\");
                 T = Collections.unmodifiableSet(s); }} {FIND} static Set<String> all() {{ return T; }}"),
        format!("static final List<String> T = List.of(\"a\"); {FIND} static Object all() {{ return T; }}"),
        format!("static final List<String> T = Collections.emptyList(); {FIND} static Object all() {{ return T; }}"),
        format!("static final List<String> T = new ArrayList<>(); {PARSES}
                 static int walk() {{ int n = 0; for (String s : T) {{ n += s.length(); }} return n; }}"),
        format!("static final Map<String, Integer> T = new HashMap<>(); {PARSES}
                 static int walk() {{ int n = 0; for (Map.Entry<String, Integer> e : T.entrySet()) {{
                   n += e.getValue(); }} return n; }}"),
        format!("{ARRAY} {PARSES} static String at(int i) {{ return T[i] + T.length + T.clone().length; }}"),
        format!("{ARRAY} {PARSES} static boolean has(String s) {{ return in(s, T, 0L); }}
                 static boolean in(String s, String[] all, long n) {{ return deep(1.0, all) || all[0] == s; }}
                 static boolean deep(double d, String[] all) {{ return Arrays.binarySearch(all, null) > 0; }}"),
        format!("static final int[] T = {{ 1, 2 }}; {PARSES} static int at(int i) {{ return T[i]; }}"),
        format!("static final Object LOCK = new Object(); {PARSES}
                 static String locked(String s) {{ synchronized (LOCK) {{ return s; }} }}"),
        format!("static final Color ONE = Color.RED; static final Color[] ALL = {{ Color.GREEN }}; {PARSES}"),
        format!("static final Point ONE = new Point(1); {PARSES}"),
        format!("static final Map<Color, Point> T = new EnumMap<>(Color.class); {PARSES}
                 static Point at(Color c) {{ return T.get(c); }}"),
    ], "", false);
}

#[test]
fn what_can_change_keeps() {
    assert_all_keep(&[
        format!("static Set<String> T = new HashSet<>(); {FIND}"),
        format!("{SET} {FIND} static void add(String s) {{ T.add(s); }}"),
        format!("{SET} {FIND} static Set<String> all() {{ return T; }}"),
        format!("{SET} {FIND} Set<String> mine = T;"),
        format!("{SET} {FIND} static Runnable later() {{ Set<String> t = T; return () -> t.clear(); }}"),
        format!("{SET} {FIND} static void give() {{ Other.kept = T; }}"),
        format!("{SET} {FIND} static void give(boolean b) {{ add(b ? T : null); }}
                 static void add(Set<String> s) {{ s.add(\"c\"); }}"),
        format!("{SET} {FIND} static void give() {{ pass(T); }} static void pass(Set<String> s) {{ add(s); }}
                 static void add(Set<String> s) {{ s.add(\"c\"); }}"),
        format!("{SET} {FIND} static void give() {{ new ArrayList<Object>().add(T); }}"),
        format!("{SET} {FIND} static void drop() {{ for (Iterator<String> i = T.iterator(); i.hasNext();) {{
                 i.next(); i.remove(); }} }}"),
        format!("{SET} {FIND} static Iterator<String> all() {{ return T.iterator(); }}"),
        format!("{SET} {FIND} static void walk() {{ Iterator<String> i = T.iterator(); Other.take(i); }}"),
        format!("static final Map<String, String> T = new HashMap<>(); {PARSES}
                 static void walk() {{ for (Map.Entry<String, String> e : T.entrySet()) {{ e.setValue(\"\"); }} }}"),
        format!("static final Map<String, String> T = new HashMap<>(); {PARSES}
                 static void drop(String s) {{ T.keySet().remove(s); }}"),
        format!("{ARRAY} {PARSES} static void set(String s) {{ T[0] = s; }}"),
        format!("{ARRAY} {PARSES} static void fill() {{ Arrays.fill(T, null); }}"),
        format!("{ARRAY} {PARSES} static List<String> all() {{ return Arrays.asList(T); }}"),
        format!("{ARRAY} {PARSES} static void set(String s) {{ put(T, s); }}
                 static void put(String[] all, String s) {{ all[0] = s; }}"),
        format!("static final int[] T = {{ 1, 2 }}; {PARSES} static void count() {{ T[0]++; }}"),
        format!("static final String[][] T = {{ {{ \"a\" }} }}; {PARSES} static void set() {{ T[0][0] = null; }}"),
        format!("static final Map<String, String[]> T = new HashMap<>(); {PARSES}
                 static void set() {{ T.get(\"\")[0] = null; }}"),
        format!("static final Map<String, List<String>> T = new HashMap<>(); {PARSES}
                 static void add() {{ T.get(\"\").add(\"x\"); }}"),
        format!("static final List<Box> T = List.of(new Box()); {PARSES}"),
        format!("static final Box ONE = new Box(); {PARSES}"),
        format!("static final Cell ONE = new Cell(); {PARSES}"),
        format!("static final Open ONE = new Open(); {PARSES}"),
        format!("static final Counting ONE = Counting.ONE; {PARSES}"),
        format!("static final Supplier<String> ONE = () -> \"\"; {PARSES}"),
        format!("static final Set<String> T; static {{ T = Other.kept = new HashSet<>(); }} {FIND}"),
        format!("static final Set<String> T; static {{ Set<String> s = new HashSet<>(); Other.take(s); T = s; }} {FIND}"),
        format!("static final Set<String> T; static {{ Set<String> s = new HashSet<>(); Other.kept = s;
                 T = Collections.unmodifiableSet(s); }} {FIND}"),
        format!("static final Set<String> T = new HashSet<>() {{ {{ add(\"a\"); }} }}; {FIND}"),
    ], "", true);
    let by_others = "static void add() { Table0.T.add(\"c\"); }";
    assert_all_keep(&[format!("{SET} {FIND}")], by_others, true);
}
