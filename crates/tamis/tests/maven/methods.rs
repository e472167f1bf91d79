//! `tamis --granularity method mvn test`: each test method by itself, and whatever methods of a class
//! share counts for all of them.

use tamis_testkit::Call;
use tamis_testkit::maven::{Maven, Pom, is_resolved};

const METHODS: &[&str] = &["--granularity", "method"];

/// Writes `src/{folder}/java/p/NAME.java` for each class text, named after what it declares.
fn write_classes(maven: &Maven, folder: &str, texts: &str) {
    for text in texts.split("\n====\n") {
        let name = text.split(" // ").nth(1).and_then(|rest| rest.split('\n').next());
        let name = name.unwrap_or_else(|| panic!("no name in {text}"));
        maven.write(format!("src/{folder}/java/p/{name}.java"), text);
    }
}

fn main_class(name: &str) -> String {
    format!("src/main/java/p/{name}.java")
}

fn project(name: &str, pom: &Pom, tests: &str) -> Option<Maven> {
    let maven = Maven::empty(&tamis_testkit::jdk(), name)?;
    maven.write("pom.xml", pom.text());
    for (class, value) in [("A", 1), ("B", 2), ("Up", 3), ("Made", 4), ("Parser", 5)] {
        let text = format!(
            "package p;\n\npublic class {class} {{\n    public static int value() {{ return {value}; }}\n}}\n"
        );
        maven.write(main_class(class), &text);
    }
    maven.write(main_class("Cache"), CACHE);
    write_classes(&maven, "test", tests);
    Some(maven)
}

fn pom4() -> Pom {
    Pom::new("p:p", 8)
        .dependency("junit:junit:4.13.2", "<scope>test</scope>")
        .surefire("2.22.2", "")
}

fn pom5() -> Pom {
    let pom = Pom::new("p:p", 8);
    pom.dependency("org.junit.jupiter:junit-jupiter:5.10.2", "<scope>test</scope>")
        .surefire("3.2.5", "")
}

fn edit(maven: &Maven, class: &str, from: i32, to: i32) {
    maven.replace(main_class(class), &format!("return {from};"), &format!("return {to};"));
}

fn green(maven: &Maven, round: &str, expected: &[&str]) -> Call {
    let build = maven.build(METHODS, &["test"]);
    build.assert_passed(round).assert_ran(round, expected);
    build
}

fn red(maven: &Maven, round: &str, expected: &[&str]) -> Call {
    let build = maven.build(METHODS, &["test"]);
    assert_ne!(build.code, 0, "{round}: {}\n{}", build.stderr, build.log);
    build.assert_ran(round, expected);
    build
}

const CACHE: &str = "package p;

import java.util.HashMap;
import java.util.Map;

public class Cache {
    private static final Map<String, Integer> KNOWN = new HashMap<>();

    public static int get(String name) {
        Integer known = KNOWN.get(name);
        if (known == null) KNOWN.put(name, known = Parser.value());
        return known;
    }
}
";

const JUNIT4: &str = "package p; // PlainTest
import org.junit.Test;
public class PlainTest {
    @Test public void a() { if (A.value() > 100) throw new AssertionError(); }
    @Test public void b() { if (B.value() > 100) throw new AssertionError(); }
}
====
package p; // SetUpTest
import org.junit.*;
public class SetUpTest {
    @BeforeClass public static void up() { Up.value(); }
    @Test public void a() { A.value(); }
    @Test public void b() { B.value(); }
}
====
package p; // MadeTest
import org.junit.Test;
public class MadeTest {
    private final int made = Made.value();
    @Test public void a() { A.value(); }
    @Test public void b() { B.value(); }
}
====
package p; // ParamTest
import java.util.Arrays;
import org.junit.Test;
import org.junit.runner.RunWith;
import org.junit.runners.Parameterized;
@RunWith(Parameterized.class)
public class ParamTest {
    @Parameterized.Parameters(name = \"{index}: {0}\")
    public static Iterable<Integer> numbers() { return Arrays.asList(1, 2); }
    private final int n;
    public ParamTest(int n) { this.n = n; }
    @Test public void a() { if (n == 2) A.value(); }
    @Test public void b() { B.value(); }
}
====
package p; // AboveCase
import org.junit.Test;
public abstract class AboveCase {
    @Test public void inherited() { A.value(); }
}
====
package p; // BelowTest
import org.junit.Test;
public class BelowTest extends AboveCase {
    @Test public void own() { B.value(); }
}
====
package p; // SharedTest
import org.junit.Test;
public class SharedTest {
    private static Integer shared;
    private static int shared() { if (shared == null) shared = A.value(); return shared; }
    @Test public void a() { shared(); }
    @Test public void b() { shared(); }
}
====
package p; // CachedTest
import org.junit.Test;
public class CachedTest {
    @Test public void a() { Cache.get(\"x\"); }
    @Test public void b() { Cache.get(\"x\"); }
    @Test public void c() { B.value(); }
}
====
package p; // OrderedTest
import org.junit.*;
import org.junit.runners.MethodSorters;
@FixMethodOrder(MethodSorters.NAME_ASCENDING)
public class OrderedTest {
    @Test public void a() { A.value(); }
    @Test public void b() { B.value(); }
}
====
package p; // EnclosedTest
import org.junit.Test;
import org.junit.experimental.runners.Enclosed;
import org.junit.runner.RunWith;
@RunWith(Enclosed.class)
public class EnclosedTest {
    public static class InA { @Test public void a() { A.value(); } }
    public static class InB { @Test public void b() { B.value(); } }
}
====
package p; // FileTest
import java.nio.file.*;
import org.junit.Test;
public class FileTest {
    @Test public void a() throws Exception { Files.readAllBytes(Paths.get(\"a.txt\")); }
    @Test public void b() throws Exception { Files.readAllBytes(Paths.get(\"b.txt\")); }
}
====
package p; // OldTest
public class OldTest extends junit.framework.TestCase {
    public void testA() { A.value(); }
    public void testB() { B.value(); }
}
";

#[test]
fn methods_of_junit4() {
    let Some(maven) = project("methods4", &pom4(), JUNIT4) else { return };
    maven.write("a.txt", "1");
    maven.write("b.txt", "1");
    let first = maven.build(METHODS, &["test"]);
    if !is_resolved(&first) {
        return;
    }
    let divided = ["PlainTest", "SetUpTest", "MadeTest", "ParamTest"];
    let mut all: Vec<String> =
        divided.iter().flat_map(|c| [format!("{c}#a"), format!("{c}#b")]).collect();
    all.extend(["BelowTest#inherited", "BelowTest#own", "CachedTest#a"].map(String::from));
    all.extend(["CachedTest#b", "CachedTest#c", "SharedTest", "OrderedTest"].map(String::from));
    all.extend(["EnclosedTest$InA#a", "EnclosedTest$InB#b"].map(String::from));
    all.extend(["OldTest#testA", "OldTest#testB"].map(String::from));
    all.extend(["FileTest#a", "FileTest#b"].map(String::from));
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    first.assert_passed("first").assert_ran("first", &all);
    assert!(first.stderr.contains("known as a whole only"), "{}", first.stderr);

    assert!(!maven.build(METHODS, &["test"]).started);

    edit(&maven, "A", 1, 7);
    let a = [
        "PlainTest#a",
        "SetUpTest#a",
        "MadeTest#a",
        "ParamTest#a",
        "BelowTest#inherited",
        "SharedTest",
        "OrderedTest",
        "EnclosedTest$InA#a",
        "OldTest#testA",
        // Objects of theirs that a runner may keep between methods.
        "ParamTest#b",
        "BelowTest#own",
        "EnclosedTest$InB#b",
    ];
    let build = green(&maven, "A", &a);
    assert!(build.skipped.iter().any(|name| name.ends_with("PlainTest#b")), "{build:?}");
    assert!(build.skipped.contains("p.CachedTest"), "{:?}", build.skipped);
    assert!(build.log.contains("Skipped: 1"), "{}", build.log);

    edit(&maven, "Up", 3, 8);
    green(&maven, "set-up of a class", &["SetUpTest#a", "SetUpTest#b"]);
    edit(&maven, "Made", 4, 8);
    green(&maven, "constructors", &["MadeTest#a", "MadeTest#b"]);
    edit(&maven, "Parser", 5, 8);
    green(&maven, "a cached result", &["CachedTest#a", "CachedTest#b"]);
    maven.write("b.txt", "2");
    green(&maven, "a file", &["FileTest#b"]);

    // Red stays red, in both ways, and the other methods are not run again for it.
    edit(&maven, "B", 2, 101);
    let b = [
        "PlainTest#b",
        "SetUpTest#b",
        "MadeTest#b",
        "ParamTest#b",
        "BelowTest#own",
        "CachedTest#c",
        "OrderedTest",
        "EnclosedTest$InB#b",
        "OldTest#testB",
    ];
    red(&maven, "B", &b);
    red(&maven, "red again", &["PlainTest#b"]);
    let by_class = maven.test();
    assert_ne!(by_class.code, 0);
    assert!(by_class.names().contains("PlainTest"), "{by_class:?}");
    assert!(!by_class.names().iter().any(|name| name.contains('#')), "{by_class:?}");
    edit(&maven, "B", 101, 2);
    // By class it is not known which of them failed: all are tried.
    green(&maven, "mended", &["PlainTest#a", "PlainTest#b"]);

    answers_about_one_method(&maven);
    green(&maven, "A again", &a);

    // A method more: which ones there are is not known any more.
    maven.replace(
        "src/test/java/p/PlainTest.java",
        "    @Test public void b()",
        "    @Test public void c() { }\n    @Test public void b()",
    );
    green(&maven, "one more", &["PlainTest#a", "PlainTest#b", "PlainTest#c"]);
    assert!(!maven.build(METHODS, &["test"]).started);
}

/// `A` is edited in it.
fn answers_about_one_method(maven: &Maven) {
    let answer = |words: &[&str]| {
        let got = maven.tamis(words);
        assert_eq!(got.code, 0, "{}", got.stderr);
        String::from_utf8_lossy(&got.stdout).into_owned()
    };
    let proof = answer(&["why-not", "PlainTest#a"]);
    assert!(proof.contains("method p.A#value()I") && !proof.contains("p.B#value"), "{proof}");
    let deps = answer(&["deps", "PlainTest#b"]);
    assert!(deps.contains("p.B#value") && !deps.contains("p.A#value"), "{deps}");
    assert!(answer(&["why", "PlainTest"]).contains("PlainTest would not run now"));
    edit(maven, "A", 7, 9);
    // Compiled without tamis, which does not know from what: the answer is an upper bound.
    assert!(maven.command("javac").args(JAVAC).status().expect("javac").success());
    let why = answer(&["why", "PlainTest#a"]);
    assert!(why.contains("method p.A#value()I is not known before compiling"), "{why}");
    let mut select = vec!["select", "--granularity", "method", "--plain"];
    let words = maven.words(&["test"]);
    select.extend(words.iter().map(String::as_str));
    let select = answer(&select);
    assert!(select.contains("PlainTest#a\n") && select.contains("OrderedTest\n"), "{select}");
    assert!(!select.contains("PlainTest#b") && !select.contains("PlainTest\n"), "{select}");
}

const JAVAC: &[&str] = &["-d", "target/classes", "-cp", "target/classes", "src/main/java/p/A.java"];

const JUPITER: &str = "package p; // NestedTest
import org.junit.jupiter.api.*;
class NestedTest {
    @Test void a() { A.value(); }
    @Nested class In { @Test void b() { B.value(); } }
}
====
package p; // PerClassTest
import org.junit.jupiter.api.*;
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class PerClassTest {
    private Integer lazy;
    int lazy() { if (lazy == null) lazy = A.value(); return lazy; }
    @Test void a() { lazy(); }
    @Test void b() { lazy(); }
}
====
package p; // ManyTest
import java.util.stream.Stream;
import org.junit.jupiter.api.*;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
class ManyTest {
    @ParameterizedTest @ValueSource(ints = {1, 2}) void params(int n) { if (n == 2) A.value(); }
    @RepeatedTest(2) void repeated(RepetitionInfo i) { if (i.getCurrentRepetition() == 2) B.value(); }
    @TestFactory Stream<DynamicTest> made() {
        return Stream.of(DynamicTest.dynamicTest(\"x\", () -> A.value()));
    }
    @Test void none() { }
}
====
package p; // BeforeTest
import org.junit.jupiter.api.*;
class BeforeTest {
    @BeforeAll static void up() { Up.value(); }
    @Test void a() { A.value(); }
    @Test void b() { B.value(); }
}
====
package p; // Keeper
import org.junit.jupiter.api.extension.*;
public class Keeper implements BeforeEachCallback {
    private Integer kept;
    @Override public void beforeEach(ExtensionContext context) {
        if (kept == null) kept = Parser.value();
    }
}
====
package p; // Storing
import org.junit.jupiter.api.extension.*;
public class Storing implements BeforeEachCallback {
    @Override public void beforeEach(ExtensionContext context) {
        ExtensionContext above = context.getParent().get();
        above.getStore(ExtensionContext.Namespace.GLOBAL).getOrComputeIfAbsent(\"k\", k -> Made.value());
    }
}
====
package p; // KeptTest
import org.junit.jupiter.api.*;
import org.junit.jupiter.api.extension.ExtendWith;
@ExtendWith(Keeper.class)
class KeptTest {
    @Test void a() { A.value(); }
    @Test void b() { B.value(); }
}
====
package p; // StoredTest
import org.junit.jupiter.api.*;
import org.junit.jupiter.api.extension.ExtendWith;
@ExtendWith(Storing.class)
class StoredTest {
    @Test void a() { A.value(); }
    @Test void b() { B.value(); }
}
====
package p; // Holder
public class Holder {
    public int seen = Made.value();
    public int seen() { return seen; }
}
====
package p; // Giving
import org.junit.jupiter.api.extension.*;
public class Giving implements ParameterResolver {
    @Override public boolean supportsParameter(ParameterContext p, ExtensionContext c) { return true; }
    @Override public Object resolveParameter(ParameterContext p, ExtensionContext context) {
        ExtensionContext above = context.getParent().get();
        return above.getStore(ExtensionContext.Namespace.GLOBAL)
                .getOrComputeIfAbsent(\"h\", k -> new Holder());
    }
}
====
package p; // GivenTest
import org.junit.jupiter.api.*;
import org.junit.jupiter.api.extension.ExtendWith;
@ExtendWith(Giving.class)
class GivenTest {
    @Test void a(Holder h) { h.seen(); A.value(); }
    @Test void b(Holder h) { h.seen(); B.value(); }
}
====
package p; // WithDefaults
import org.junit.jupiter.api.Test;
interface WithDefaults {
    @Test default void inherited() { A.value(); }
}
====
package p; // DefaultTest
import org.junit.jupiter.api.Test;
class DefaultTest implements WithDefaults {
    @Test void own() { B.value(); }
}
";

#[test]
fn methods_of_jupiter() {
    let Some(maven) = project("methods5", &pom5(), JUPITER) else { return };
    let first = maven.build(METHODS, &["test"]);
    if !is_resolved(&first) {
        return;
    }
    first.assert_passed("first");
    assert!(first.names().contains("ManyTest#none"), "{:?}\n{}", first.ran, first.stderr);
    assert!(first.stderr.contains("PerClassTest (it has @TestInstance)"), "{}", first.stderr);
    assert!(!maven.build(METHODS, &["test"]).started);

    // Of what was not divided, nothing is left out.
    let whole = |name: &'static str| first.names().contains(name).then_some(name);
    let with = |methods: &[&'static str], class: &'static str| match whole(class) {
        Some(class) => vec![class],
        None => methods.to_vec(),
    };
    edit(&maven, "A", 1, 7);
    let mut a = vec![
        "NestedTest#a",
        "PerClassTest",
        "ManyTest#params",
        "ManyTest#made",
        "BeforeTest#a",
        "StoredTest#a",
        // JUnit's store, and what an extension gives, may be kept between methods.
        "StoredTest#b",
        "DefaultTest#inherited",
    ];
    a.extend(with(&["KeptTest#a"], "KeptTest"));
    a.extend(with(&["GivenTest#a", "GivenTest#b"], "GivenTest"));
    green(&maven, "A", &a);
    edit(&maven, "B", 2, 7);
    let mut b = vec!["NestedTest$In#b", "ManyTest#repeated", "BeforeTest#b", "StoredTest#b"];
    b.extend(["DefaultTest#own", "StoredTest#a"]);
    b.extend(with(&["KeptTest#b"], "KeptTest"));
    b.extend(with(&["GivenTest#a", "GivenTest#b"], "GivenTest"));
    green(&maven, "B", &b);
    edit(&maven, "Up", 3, 8);
    green(&maven, "set-up of a class", &["BeforeTest#a", "BeforeTest#b"]);
    edit(&maven, "Parser", 5, 8);
    green(&maven, "an object of an extension", &with(&["KeptTest#a", "KeptTest#b"], "KeptTest"));
    edit(&maven, "Made", 4, 8);
    let mut made = with(&["StoredTest#a", "StoredTest#b"], "StoredTest");
    made.extend(with(&["GivenTest#a", "GivenTest#b"], "GivenTest"));
    green(&maven, "what a framework keeps", &made);
}
