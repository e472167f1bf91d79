//! Whatever a test really runs is in every call graph from its roots, but for reflection.
//!
//! One class of the fixture for each way in which code comes to run; the agent tells what ran, and the graphs
//! must have all of it. `bench/calls/soundness` does the same with real suites.

use std::collections::BTreeSet;
use tamis_callgraph::{Algorithm, AnalysisOptions, Author, MethodId, Program, Universe, build};
use tamis_testkit::Project;
use tamis_testkit::runner::JUNIT4;

const SOURCES: [(&str, &str); 10] = [
    (
        "Lambdas",
        "import java.util.*; import java.util.function.*; import java.util.stream.*;
         class Lambdas {
           final int n; Lambdas(int n) { this.n = n; }
           static Lambdas twice(Lambdas l) { return new Lambdas(2 * l.n); }
           Lambdas bound(Lambdas l) { return new Lambdas(n + l.n); }
           int unbound() { return n; }
           static int order(Lambdas a, Lambdas b) { return Integer.compare(a.n, b.n); }
           static void run() {
             Lambdas one = new Lambdas(1);
             List<Integer> all = Stream.of(3, 2, 1).map(Lambdas::new).map(Lambdas::twice)
               .map(one::bound).sorted(Lambdas::order).map(l -> inLambda(l)).map(Lambdas::unbound)
               .collect(Collectors.toList());
             Supplier<Supplier<String>> nested = () -> () -> inner(all);
             nested.get().get();
             new TreeMap<Lambdas, String>(Comparator.comparing(Lambdas::unbound)).put(one, \"\");
             new HashMap<String, Lambdas>().computeIfAbsent(\"a\", Lambdas::made).unbound(); }
           static Lambdas inLambda(Lambdas l) { return l; }
           static String inner(Object o) { return \"\" + o; }
           static Lambdas made(String s) { return new Lambdas(7); } }",
    ),
    (
        "Dispatch",
        "interface Shape<T> { T make(T t); default int area() { return side() * side(); } int side();
           private int hidden() { return 1; } default int open() { return hidden(); }
           static int helper() { return 2; } }
         interface Named { default String name() { return \"named\"; } }
         interface Loud extends Named { default String name() { return Named.super.name() + \"!\"; } }
         abstract class Half implements Shape<String> { public String make(String s) { return s; }
           Half copy() { return this; } }
         class Whole extends Half implements Loud { public int side() { return 3; }
           @Override Whole copy() { return new Whole(); }
           private class Inner { private int deep() { return side(); } }
           int inner() { return new Inner().deep(); } }
         class Dispatch { @SuppressWarnings(\"unchecked\") static void run() {
           Shape raw = new Whole(); raw.make(\"a\"); raw.area(); raw.open(); Shape.helper();
           Half half = new Whole(); half.copy().side(); new Whole().name(); new Whole().inner(); } }",
    ),
    (
        "Threads",
        "import java.util.concurrent.*; import java.util.concurrent.atomic.*;
         class Own extends Thread { public void run() { Threads.ran(0); } }
         class Step extends RecursiveTask<Integer> { final int n; Step(int n) { this.n = n; }
           protected Integer compute() { return n == 0 ? Threads.ran(6)
             : new Step(n - 1).fork().join(); } }
         class Failing implements Thread.UncaughtExceptionHandler {
           public void uncaughtException(Thread t, Throwable e) { Threads.ran(7); } }
         class Threads { static final AtomicInteger COUNT = new AtomicInteger();
           static final ThreadLocal<Integer> LOCAL = ThreadLocal.withInitial(() -> ran(8));
           static int ran(int n) { return COUNT.addAndGet(n); }
           static void run() throws Exception {
             Thread own = new Own(); own.start(); own.join();
             Thread other = new Thread(() -> ran(1)); other.start(); other.join();
             ExecutorService pool = Executors.newFixedThreadPool(1);
             pool.submit(new Callable<Integer>() { public Integer call() { return ran(2); } }).get();
             pool.execute(() -> ran(3)); pool.shutdown(); pool.awaitTermination(9, TimeUnit.SECONDS);
             CompletableFuture.supplyAsync(() -> ran(4)).thenApply(n -> ran(5)).get();
             new ForkJoinPool(1).invoke(new Step(2));
             Thread broken = new Thread(() -> { throw new IllegalStateException(); });
             broken.setUncaughtExceptionHandler(new Failing()); broken.start(); broken.join();
             LOCAL.get(); } }",
    ),
    (
        "Initialisers",
        "enum Colour { RED { int code() { return 1; } }, GREEN { int code() { return 2; } };
           abstract int code(); static final int ALL = count(); static int count() { return 2; } }
         class Above { static int a = Log1.at(1); } class Below extends Above { static int b = Log1.at(2); }
         interface WithDefault { int I = Log1.at(3); default void d() { } }
         class Implements implements WithDefault { }
         class Lazy { static class Holder { static final Lazy ONE = new Lazy(); } static Lazy get() {
           return Holder.ONE; } }
         class Log1 { static int at(int n) { return n; } }
         class Initialisers { static void run() {
           int b = Below.b; new Implements(); Lazy.get(); Colour.valueOf(\"RED\").code();
           switch (Colour.GREEN) { case GREEN: Log1.at(4); break; default: }
           new java.util.EnumMap<Colour, String>(Colour.class).put(Colour.RED, \"\"); } }",
    ),
    (
        "Privileged",
        "import java.security.*;
         class Privileged { @SuppressWarnings(\"removal\") static void run() throws Exception {
           AccessController.doPrivileged((PrivilegedAction<String>) () -> act());
           AccessController.doPrivileged(new PrivilegedExceptionAction<String>() {
             public String run() { return act(); } }); }
           static String act() { return \"\"; } }",
    ),
    (
        "Exceptions",
        "class Bad extends RuntimeException { @Override public String getMessage() { return text(); }
           static String text() { return \"bad\"; } void handled() { } }
         class Res implements AutoCloseable { public void close() { throw new Bad(); } }
         class Exceptions { static void run() {
           try (Res r = new Res()) { throw new IllegalStateException(new Bad()); }
           catch (IllegalStateException e) { ((Bad) e.getSuppressed()[0]).handled();
             e.printStackTrace(new java.io.PrintWriter(new java.io.StringWriter())); }
           try { fail(); } catch (Bad e) { e.handled(); } finally { last(); } }
           static void fail() { throw new Bad(); } static void last() { } }",
    ),
    (
        "Arrays1",
        "import java.util.*;
         class Item implements Comparable<Item> { final int n; Item(int n) { this.n = n; }
           public int compareTo(Item o) { return Integer.compare(n, o.n); }
           @Override public boolean equals(Object o) { return o instanceof Item && ((Item) o).n == n; }
           @Override public int hashCode() { return n; } @Override public String toString() { return shown(); }
           String shown() { return \"\" + n; } int value() { return n; } }
         class Arrays1 { static int sum(Item... all) { int n = 0; for (Item i : all) n += i.value(); return n; }
           static void run() {
             Item[] all = {new Item(2), new Item(1)}; Arrays.sort(all);
             Item[] copy = all.clone(); copy[0].value(); sum(all);
             Item[][] deep = new Item[1][1]; deep[0][0] = all[0]; deep[0][0].value();
             Object[] target = new Object[2]; System.arraycopy(all, 0, target, 0, 2);
             ((Item) target[0]).value(); new HashSet<>(Arrays.asList(all)).contains(all[0]);
             String.format(\"%s\", all[0]); new StringBuilder().append((Object) all[1]); } }",
    ),
    (
        "Services",
        "interface Service { int serve(); }
         class Services { static void run() {
           for (Service s : java.util.ServiceLoader.load(Service.class)) s.serve(); } }",
    ),
    (
        "Provider",
        "public class Provider implements Service { public Provider() { }
           public int serve() { return helper(); } int helper() { return 1; } }",
    ),
    (
        "Reflective",
        "import java.lang.reflect.*;
         class Hidden { public Hidden() { } public int called() { return 1; } }
         interface Greeter { String greet(String s); }
         class Reflective { static void run() throws Exception {
           Class<?> c = Class.forName(\"a.\" + \"Hid\".concat(\"den\"));
           Constructor<?> made = c.getDeclaredConstructor(); made.setAccessible(true);
           Method m = c.getDeclaredMethod(\"called\"); m.setAccessible(true); m.invoke(made.newInstance());
           Greeter g = (Greeter) Proxy.newProxyInstance(Greeter.class.getClassLoader(),
             new Class<?>[] {Greeter.class}, new InvocationHandler() {
               public Object invoke(Object p, Method m, Object[] a) { return handled(a); } });
           g.greet(\"x\"); }
           static String handled(Object[] a) { return \"\" + a[0]; } }",
    ),
];

/// What the graphs cannot have: a name that is put together at run time, and a method that is looked up.
const BY_REFLECTION: [&str; 2] = ["a.Hidden#<init>()V", "a.Hidden#called()I"];

fn project() -> Option<Project> {
    let project = Project::java(&JUNIT4)?;
    let mut calls = String::new();
    for (name, text) in SOURCES {
        project.write(format!("src/a/{name}.java"), format!("package a; {text}"));
        if text.contains("static void run()") {
            calls.push_str(&format!("{name}.run(); "));
        }
    }
    project
        .add(
            "src/a/AllTest.java",
            format!(
                "package a; public class AllTest {{
                   @org.junit.Test public void all() throws Exception {{ {calls} }} }}"
            ),
        )
        .add("classes/META-INF/services/a.Service", "a.Provider # the only one\n")
        .compile();
    Some(project)
}

/// The methods of the project that the test ran, as the agent saw them.
fn ran(project: &Project) -> BTreeSet<String> {
    let class_path = format!("classes:{}", project.jars());
    let words = ["java", "-cp", &class_path, "org.junit.runner.JUnitCore", "a.AllTest"];
    project.inside(&words).assert_code(0);
    let inputs = project.tamis(&["deps", "--json", "a.AllTest"]);
    assert_eq!(inputs.code, 0, "{}", inputs.stderr);
    let lines = inputs.lines();
    let inputs = lines.iter().filter_map(|line| line["input"].as_str());
    inputs.filter_map(|i| Some(i.split_once(": method ")?.1.to_owned())).collect()
}

fn method(program: &mut Program<'_>, name: &str) -> Option<MethodId> {
    let (class, rest) = name.split_once('#')?;
    let (name, descriptor) = rest.split_at(rest.find('(')?);
    let class = class.replace('.', "/");
    program.method_named(class.as_bytes(), name.as_bytes(), descriptor.as_bytes())
}

#[test]
fn what_a_test_runs_is_in_every_graph() {
    let Some(project) = project() else { return };
    let ran = ran(&project);
    assert!(ran.len() > 100 && BY_REFLECTION.iter().all(|name| ran.contains(*name)), "{ran:#?}");
    let mut universe = Universe::new();
    universe.add_entry(&project.path("classes"), Author::Project, 17);
    for jar in 0..JUNIT4.len() {
        universe.add_entry(project.jar(jar).as_ref(), Author::Library, 17);
    }
    universe.add_jdk(&project.jdk().home);
    for algorithm in Algorithm::ALL {
        let mut program = Program::new(&universe);
        let roots = program.roots_of(b"a/AllTest");
        let graph = build(&mut program, &roots, AnalysisOptions::new(algorithm));
        assert_eq!(program.problems, Vec::<String>::new());
        let roots: Vec<MethodId> = roots.iter().map(|root| root.method).collect();
        let reached: BTreeSet<MethodId> = graph.reachable(&roots).into_iter().collect();
        let missing: Vec<&str> = ran
            .iter()
            .map(String::as_str)
            .filter(|name| method(&mut program, name).is_none_or(|m| !reached.contains(&m)))
            .collect();
        assert_eq!(missing, BY_REFLECTION, "{algorithm:?}");
    }
}
