//! What static fields hold when a test begins, what ran in static initialisers, what goes on from test to
//! test.

use crate::harness::{JvmReport, Program, compile, tried_jdks};
use std::collections::BTreeSet;
use tamis_jvm_wire::FromJvm;
use tamis_testkit::runner::JUNIT4;
use tamis_testkit::{classpath_of, jars};

/// From this JDK on the agent can look into objects.
const FIRST_JDK: u32 = 12;

/// `Class.field` of what was reported as changed before each test, in the order of the tests.
fn changed(report: &JvmReport) -> Vec<(String, BTreeSet<String>)> {
    let mut last = None;
    let mut all = Vec::new();
    for message in &report.messages {
        match message {
            FromJvm::State(state) => last = Some(state.changed.clone().expect("somebody looked")),
            FromJvm::Began(began) => {
                let fields = last.take().expect("it was reported before each test");
                let fields = fields.into_iter().map(|(class, field)| format!("{class}.{field}"));
                all.push((began.class.clone(), fields.collect()));
            }
            _ => {}
        }
    }
    all
}

fn set(fields: &[&str]) -> BTreeSet<String> {
    fields.iter().map(|field| (*field).to_owned()).collect()
}

const HOLDER: &str = "package a; import java.util.*; import java.util.function.*;
public class Holder {
    static int number = 1; static int restored = 3; static double exact; static boolean flag;
    static String text; static final StringBuilder builder = new StringBuilder();
    static final Map<String, String> map = new HashMap<>();
    static final Map<String, String> looked = new HashMap<>();
    static final Map<String, String> put_back = new TreeMap<>();
    static final int[] table = {1, 2}; static final long[][] deep = {{1}, {2}};
    static final Node cycle = new Node(); static final Node other = new Node();
    static final ThreadLocal<String> local = new ThreadLocal<>();
    static final java.util.concurrent.atomic.AtomicInteger count = new java.util.concurrent.atomic.AtomicInteger();
    static final Supplier<String> lambda = () -> text; static final Kind kind = Kind.A;
    static final Supplier<Integer> captured; static final int[] inside = {0};
    static final Thread thread = new Mine(); static final Object lock = new Object();
    static final List<Object> same = new ArrayList<>(Arrays.asList(\"x\", 1L, null));
    static final java.lang.ref.SoftReference<List<String>> soft = new java.lang.ref.SoftReference<>(new ArrayList<>());
    static final String constant = \"c\"; static final long size = System.nanoTime();
    static { looked.put(\"a\", \"b\"); cycle.next = new Node(); cycle.next.next = cycle;
      int[] in = inside; captured = () -> in[0]; }
    static class Node { Node next; int value; List<String> names = new LinkedList<>(); }
    static class Mine extends Thread { int steps; }
    enum Kind { A, B; int used; }
    static void change() {
        number = 2; restored = 4; exact = 0.5; flag = true; text = \"t\"; builder.append('x');
        map.put(\"k\", \"v\"); table[1] = 3; deep[1][0] = 3; cycle.next.names.add(\"n\");
        count.incrementAndGet(); Kind.B.used++; inside[0] = 1; ((Mine) thread).steps++; soft.get().add(\"s\");
        put_back.put(\"a\", \"b\"); Plain.list = new ArrayList<>(); look(); }
    static void put_back() { restored = 3; put_back.clear(); }
    static int look() { int n = 0; for (String key : looked.keySet()) n += key.hashCode() + looked.values().size();
        synchronized (lock) { n += looked.entrySet().size() + constant.hashCode(); } n += same.hashCode();
        return n + table.length + kind.ordinal() + kind.hashCode() + lambda.hashCode(); } }";

#[test]
fn what_changed_at_any_depth_is_reported_and_nothing_else() {
    let Some(jars) = jars(&JUNIT4) else { return };
    let test = |name: &str, body: &str| {
        format!("package a; public class {name} {{ @org.junit.Test public void t() {{ {body} }} }}")
    };
    let classes = compile(
        &[
            ("a/Holder.java", HOLDER),
            (
                "a/Plain.java",
                "package a; class Plain { static java.util.List<String> list; static int n; }",
            ),
            (
                "a/Late.java",
                "package a; class Late { static java.util.List<String> all = new java.util.ArrayList<>(); }",
            ),
            (
                "a/Fails.java",
                "package a; class Fails { static Object kept = new Object(); static { if (true) throw new Error(); } }",
            ),
            ("a/LookTest.java", &test("LookTest", "Holder.look(); Plain.n += 0;")),
            (
                "a/ChangeTest.java",
                &test("ChangeTest", "Holder.change(); try { new Fails(); } catch (Error e) { }"),
            ),
            ("a/BackTest.java", &test("BackTest", "Holder.put_back(); Late.all.size();")),
            ("a/LastTest.java", &test("LastTest", "")),
        ],
        &jars,
    );
    let tests = ["a.LookTest", "a.ChangeTest", "a.BackTest", "a.LastTest"];
    let mut arguments = vec!["org.junit.runner.JUnitCore".to_owned()];
    arguments.extend(tests.map(str::to_owned));
    for jdk in tried_jdks().iter().filter(|jdk| jdk.release >= FIRST_JDK) {
        let (output, report) = Program {
            jdk,
            class_path: classpath_of(&classes, &jars),
            jvm: Vec::new(),
            arguments: arguments.clone(),
        }
        .run();
        assert!(output.status.success(), "{output:?}");
        report.assert_sound();
        let of_threads = "a.Holder.local";
        let stays = [
            "a.Holder.number",
            "a.Holder.exact",
            "a.Holder.flag",
            "a.Holder.text",
            "a.Holder.builder",
            "a.Holder.map",
            "a.Holder.table",
            "a.Holder.deep",
            "a.Holder.cycle",
            "a.Holder.inside",
            "a.Holder.captured",
            "a.Holder.thread",
            "a.Holder.soft",
            "a.Holder.count",
            "a.Plain.list",
            "a.Fails.kept",
            // The other constant changed, and the array of all has it.
            "a.Holder$Kind.B",
            "a.Holder$Kind.$VALUES",
            of_threads,
        ];
        let mut after = set(&stays);
        let expected_last = after.clone();
        after.extend(set(&["a.Holder.restored", "a.Holder.put_back"]));
        let expected = [set(&[]), set(&[of_threads]), after, expected_last];
        let expected: Vec<_> = tests.iter().map(|test| (*test).to_owned()).zip(expected).collect();
        assert_eq!(changed(&report), expected, "{jdk:?}");
        let watched: BTreeSet<String> = report
            .messages
            .iter()
            .filter_map(|m| match m {
                FromJvm::State(state) => Some(state.watched.clone()),
                _ => None,
            })
            .flatten()
            .collect();
        for class in ["a.Holder", "a.Plain", "a.Late", "a.Fails", "a.Holder$Kind"] {
            assert!(watched.contains(class), "{class} of {watched:?}");
        }
        // Libraries are counted as a whole: they are not looked into.
        assert!(watched.iter().all(|class| class.starts_with("a.")), "{watched:?}");
    }
}

#[test]
fn what_ran_in_a_static_initialiser_is_reported_with_what_it_started() {
    let Some(jars) = jars(&JUNIT4) else { return };
    let classes = compile(
        &[
            ("a/Outer.java", "package a; class Outer { static final int N = Help.one() + Inner.N; static int later() { return Help.two(); } }"),
            ("a/Inner.java", "package a; class Inner { static final int N = Help.three(); }"),
            ("a/Twice.java", "package a; interface Twice { int A = Help.one(); int B = Help.two(); }"),
            ("a/Fails.java", "package a; class Fails { static int n = Help.fail(); }"),
            ("a/Starts.java", "package a; class Starts { static final Thread T = new Thread(() -> Help.two()); static { T.start(); } }"),
            ("a/Help.java", "package a; class Help { static int one() { return 1; } static int two() { return 2; } static int three() { return 3; } static int fail() { throw new Error(); } }"),
            ("a/ATest.java", "package a; public class ATest { @org.junit.Test public void t() {
                Outer.later(); Starts.T.interrupt(); System.out.println(Twice.A); try { Fails.n++; } catch (Error e) { } } }"),
        ],
        &jars,
    );
    for jdk in &tried_jdks() {
        let arguments = ["org.junit.runner.JUnitCore", "a.ATest"].map(str::to_owned).to_vec();
        let path = classpath_of(&classes, &jars);
        let (output, report) = Program { jdk, class_path: path, jvm: Vec::new(), arguments }.run();
        assert!(output.status.success(), "{output:?}");
        report.assert_sound();
        let ran = report.initialised().clone();
        // Its own mark comes before it says that it begins.
        let expected = [
            ("a.Inner.<clinit>", set(&["a.Help.three"])),
            ("a.Outer.<clinit>", set(&["a.Help.one", "a.Inner.<clinit>", "a.Help.three"])),
            ("a.Twice.<clinit>", set(&["a.Help.one", "a.Help.two"])),
        ];
        let expected = expected.map(|(name, methods)| (name.to_owned(), methods));
        assert_eq!(ran.into_iter().collect::<Vec<_>>(), expected, "{jdk:?}");
        // All of it counts for the test as always.
        for method in ["a.Help.one", "a.Help.two", "a.Help.three", "a.Help.fail"] {
            assert!(report.ran("a.ATest").contains(&method), "{method}");
        }
    }
}

#[test]
fn what_a_thread_of_an_earlier_test_is_still_in_counts() {
    let Some(jars) = jars(&JUNIT4) else { return };
    let server = "package a; class Server implements Runnable {
        static final java.util.concurrent.CountDownLatch up = new java.util.concurrent.CountDownLatch(1);
        static void start() throws Exception { Thread t = new Thread(new Server()); t.setDaemon(true);
            t.start(); up.await(); }
        public void run() { prepare(); try { serve(); } catch (Exception e) { } }
        void prepare() { } void serve() throws Exception { up.countDown(); Thread.sleep(100000); } }";
    let classes = compile(
        &[
            ("a/Server.java", server),
            (
                "a/ATest.java",
                "package a; public class ATest { @org.junit.Test public void t() throws Exception { Server.start(); } }",
            ),
            (
                "a/BTest.java",
                "package a; public class BTest { @org.junit.Test public void t() { } }",
            ),
            (
                "a/Main.java",
                "package a; public class Main { public static void main(String[] tests) { org.junit.runner.JUnitCore.main(tests); } }",
            ),
        ],
        &jars,
    );
    for jdk in &tried_jdks() {
        let arguments = ["a.Main", "a.ATest", "a.BTest"].map(str::to_owned).to_vec();
        let path = classpath_of(&classes, &jars);
        let (output, report) = Program { jdk, class_path: path, jvm: Vec::new(), arguments }.run();
        assert!(output.status.success(), "{output:?}");
        report.assert_sound();
        let expected =
            ["a.BTest.<init>", "a.BTest.t", "a.Main.main", "a.Server.run", "a.Server.serve"];
        assert_eq!(report.ran("a.BTest"), expected, "{jdk:?}");
    }
}
