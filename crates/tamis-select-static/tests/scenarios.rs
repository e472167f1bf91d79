//! Small programs, an edit, and the exact set of tests that must be selected.
//!
//! Each scenario lives in a package of its own, so that all of them are compiled by one javac run
//! before the edits and one after.

mod support;

use std::collections::BTreeMap;
use std::sync::OnceLock;
use support::{frameworks, module, pass_all, selected, settings};
use tamis_select_static::{EdgeKind, Reason, Session, TestDecision};
use tamis_testkit::{Sources, jdk};

struct Scenario {
    package: &'static str,
    files: &'static [(&'static str, &'static str)],
    /// Files after the edit; an empty text removes the file.
    edits: &'static [(&'static str, &'static str)],
    all: &'static [&'static str],
    selected: &'static [&'static str],
}

const SCENARIOS: &[Scenario] = &[
    // A library class, a subclass in the program that calls the changed class, and three tests.
    // The first only uses the library class; the third reaches the change in types, though not in
    // calls.
    Scenario {
        package: "hierarchy",
        files: &[
            ("L", "public class L { void m1() {} }"),
            ("C1", "public class C1 extends L { void m1() { C2.m3(); } void m2() {} }"),
            ("C2", "public class C2 { static void m3() {} }"),
            (
                "T1",
                "public class T1 { @org.junit.Test public void t() { L l = new L(); l.m1(); } }",
            ),
            (
                "T2",
                "public class T2 { @org.junit.Test public void t() { L l = new C1(); l.m1(); } }",
            ),
            (
                "T3",
                "public class T3 { @org.junit.Test public void t() { C1 c = new C1(); c.m2(); } }",
            ),
        ],
        edits: &[("C2", "public class C2 { static void m3() { System.gc(); } }")],
        all: &["T1", "T2", "T3"],
        selected: &["T2", "T3"],
    },
    // The name of the class that is created is computed from the name of another one.
    Scenario {
        package: "computedname",
        files: &[
            (
                "AbstractIntegrator",
                "public abstract class AbstractIntegrator { int order() { return 1; } }",
            ),
            (
                "ClassicalIntegrator",
                "public class ClassicalIntegrator extends AbstractIntegrator { }",
            ),
            ("ClassicalStepInterpolator", "public class ClassicalStepInterpolator { }"),
            (
                "AbstractInterpolatorTest",
                "public abstract class AbstractInterpolatorTest { Object provider(Object o) throws Exception { String name = o.getClass().getName().replaceAll(\"StepInterpolator\", \"Integrator\"); return Class.forName(name).getConstructor().newInstance(); } }",
            ),
            (
                "ClassicalInterpolatorTest",
                "public class ClassicalInterpolatorTest extends AbstractInterpolatorTest { @org.junit.Test public void atBounds() throws Exception { provider(new ClassicalStepInterpolator()); } }",
            ),
            (
                "OtherTest",
                "public class OtherTest { @org.junit.Test public void t() { new ClassicalStepInterpolator(); } }",
            ),
        ],
        edits: &[(
            "AbstractIntegrator",
            "public abstract class AbstractIntegrator { int order() { return 2; } }",
        )],
        all: &["ClassicalInterpolatorTest", "OtherTest"],
        selected: &["ClassicalInterpolatorTest"],
    },
    // The test replaces the only method that leads to the change: types still reach it.
    Scenario {
        package: "dispatch",
        files: &[
            ("Reader", "public interface Reader {}"),
            ("Builder", "public class Builder { int v() { return 1; } }"),
            (
                "ReaderImpl",
                "public class ReaderImpl implements Reader { final Builder b = new Builder(); }",
            ),
            (
                "Connection",
                "public class Connection { Reader reader; protected Reader create() { return new ReaderImpl(); } void register() { if (reader == null) reader = create(); } }",
            ),
            (
                "MockedConnection",
                "public class MockedConnection extends Connection { int calls; @Override protected Reader create() { calls++; return null; } }",
            ),
            (
                "ConnectionTest",
                "public class ConnectionTest { @org.junit.Test public void t() { new MockedConnection().register(); } }",
            ),
        ],
        edits: &[("Builder", "public class Builder { int v() { return 2; } }")],
        all: &["ConnectionTest"],
        selected: &["ConnectionTest"],
    },
    Scenario {
        package: "oneclasstwotests",
        files: &[
            ("Base", "public class Base { java.util.Set<Integer> s() { return null; } }"),
            (
                "FirstTest",
                "public class FirstTest { @org.junit.Test public void t() { new Base().s(); } }",
            ),
            (
                "SecondTest",
                "public class SecondTest { @org.junit.Test public void t() { new Base(); } }",
            ),
        ],
        edits: &[("Base", "public class Base { java.util.Set s() { return null; } }")],
        all: &["FirstTest", "SecondTest"],
        selected: &["FirstTest", "SecondTest"],
    },
    Scenario {
        package: "chain",
        files: &[
            ("A", "public class A { int get() { return 1; } }"),
            ("B", "public class B { int get() { return new A().get(); } }"),
            ("C", "public class C { int get() { return new B().get(); } }"),
            ("D", "public class D { int get() { return new C().get(); } }"),
            ("ATest", "public class ATest { @org.junit.Test public void t() { new A().get(); } }"),
            ("BTest", "public class BTest { @org.junit.Test public void t() { new B().get(); } }"),
            ("CTest", "public class CTest { @org.junit.Test public void t() { new C().get(); } }"),
            ("DTest", "public class DTest { @org.junit.Test public void t() { new D().get(); } }"),
        ],
        edits: &[("A", "public class A { int get() { return 2; } }")],
        all: &["ATest", "BTest", "CTest", "DTest"],
        selected: &["ATest", "BTest", "CTest", "DTest"],
    },
    // A change of a child selects neither the parent's nor the sibling's tests.
    Scenario {
        package: "family",
        files: &[
            ("Parent", "public class Parent { int get() { return 0; } }"),
            ("Child", "public class Child extends Parent { int get() { return 1; } }"),
            ("Sibling", "public class Sibling extends Parent { int get() { return 2; } }"),
            (
                "ParentTest",
                "public class ParentTest { @org.junit.Test public void t() { new Parent().get(); } }",
            ),
            (
                "ChildTest",
                "public class ChildTest { @org.junit.Test public void t() { new Child().get(); } }",
            ),
            (
                "SiblingTest",
                "public class SiblingTest { @org.junit.Test public void t() { new Sibling().get(); } }",
            ),
        ],
        edits: &[("Child", "public class Child extends Parent { int get() { return 3; } }")],
        all: &["ChildTest", "ParentTest", "SiblingTest"],
        selected: &["ChildTest"],
    },
    // The same over two levels: the grandchild is below the change.
    Scenario {
        package: "levels",
        files: &[
            ("Base", "public class Base { int get() { return 0; } }"),
            ("Child", "public class Child extends Base { int get() { return 1; } }"),
            ("GrandChild", "public class GrandChild extends Child { }"),
            ("Sibling", "public class Sibling extends Base { }"),
            (
                "BaseTest",
                "public class BaseTest { @org.junit.Test public void t() { new Base().get(); } }",
            ),
            (
                "ChildTest",
                "public class ChildTest { @org.junit.Test public void t() { new Child().get(); } }",
            ),
            (
                "GrandChildTest",
                "public class GrandChildTest { @org.junit.Test public void t() { new GrandChild().get(); } }",
            ),
            (
                "SiblingTest",
                "public class SiblingTest { @org.junit.Test public void t() { new Sibling().get(); } }",
            ),
        ],
        edits: &[("Child", "public class Child extends Base { int get() { return 7; } }")],
        all: &["BaseTest", "ChildTest", "GrandChildTest", "SiblingTest"],
        selected: &["ChildTest", "GrandChildTest"],
    },
    // Two interfaces; only who implements the changed one is affected.
    Scenario {
        package: "interfaces",
        files: &[
            ("BaseA", "public interface BaseA { java.util.List<String> a(); }"),
            (
                "BaseB",
                "public interface BaseB { default java.util.List<String> b() { return null; } }",
            ),
            (
                "Child",
                "public class Child implements BaseA, BaseB { public java.util.List<String> a() { return null; } }",
            ),
            ("GrandChild", "public class GrandChild extends Child { }"),
            (
                "Sibling",
                "public class Sibling implements BaseA { public java.util.List<String> a() { return null; } }",
            ),
            (
                "ChildTest",
                "public class ChildTest { @org.junit.Test public void t() { new Child().a(); } }",
            ),
            (
                "GrandChildTest",
                "public class GrandChildTest { @org.junit.Test public void t() { new GrandChild().a(); } }",
            ),
            (
                "SiblingTest",
                "public class SiblingTest { @org.junit.Test public void t() { new Sibling().a(); } }",
            ),
        ],
        edits: &[(
            "BaseB",
            "public interface BaseB { default java.util.ArrayList<String> b() { return null; } }",
        )],
        all: &["ChildTest", "GrandChildTest", "SiblingTest"],
        selected: &["ChildTest", "GrandChildTest"],
    },
    // The class is only named in a string.
    Scenario {
        package: "reflection",
        files: &[
            ("Simple", "public class Simple { public String toString() { return \"one\"; } }"),
            (
                "SimpleTest",
                "public class SimpleTest { @org.junit.Test public void t() throws Exception { Class.forName(\"reflection.Simple\").getConstructor().newInstance(); } }",
            ),
        ],
        edits: &[(
            "Simple",
            "public class Simple { public String toString() { return \"two\"; } }",
        )],
        all: &["SimpleTest"],
        selected: &["SimpleTest"],
    },
    // Frameworks take methods of other classes by their names: `Class#method`, expressions, lists.
    Scenario {
        package: "mentioned",
        files: &[
            ("Source", "public class Source { static int v() { return 1; } }"),
            (
                "Outer",
                "public class Outer { public static class In { static int v() { return 1; } } }",
            ),
            ("Other", "public class Other { static int v() { return 1; } }"),
            (
                "ByMethodTest",
                "public class ByMethodTest { @org.junit.Test public void t() { String s = \"mentioned.Source#v\"; } }",
            ),
            (
                "BySignatureTest",
                "public class BySignatureTest { @org.junit.Test public void t() { String s = \"mentioned.Outer$In#v(int, java.util.List)\"; } }",
            ),
            (
                "ByExpressionTest",
                "public class ByExpressionTest { @org.junit.Test public void t() { String s = \"#{T(mentioned.Source).v()}\"; } }",
            ),
            (
                "ByMemberTest",
                "public class ByMemberTest { @org.junit.Test public void t() { String s = \"mentioned.Outer.In\"; } }",
            ),
            (
                "ByListTest",
                "public class ByListTest { @org.junit.Test public void t() { String s = \"x.Y, mentioned.Source; z\"; } }",
            ),
            (
                "InAnnotationTest",
                "@org.junit.platform.suite.api.SelectPackages(\"mentioned.Source#v\") public class InAnnotationTest { @org.junit.Test public void t() { } }",
            ),
            (
                "OtherTest",
                "public class OtherTest { @org.junit.Test public void t() { String s = \"the Source is mentioned.\" + Other.v(); } }",
            ),
        ],
        edits: &[
            ("Source", "public class Source { static int v() { return 2; } }"),
            (
                "Outer",
                "public class Outer { public static class In { static int v() { return 2; } } }",
            ),
        ],
        all: &[
            "ByExpressionTest",
            "ByListTest",
            "ByMemberTest",
            "ByMethodTest",
            "BySignatureTest",
            "InAnnotationTest",
            "OtherTest",
        ],
        selected: &[
            "ByExpressionTest",
            "ByListTest",
            "ByMemberTest",
            "ByMethodTest",
            "BySignatureTest",
            "InAnnotationTest",
        ],
    },
    // Members of a suite are only in an annotation.
    Scenario {
        package: "suites",
        files: &[
            ("Used", "public class Used { int v() { return 1; } }"),
            (
                "UsingTest",
                "public class UsingTest { @org.junit.Test public void t() { new Used().v(); } }",
            ),
            ("QuietTest", "public class QuietTest { @org.junit.Test public void t() { } }"),
            (
                "AllTests",
                "@org.junit.runner.RunWith(org.junit.runners.Suite.class) @org.junit.runners.Suite.SuiteClasses({UsingTest.class, QuietTest.class}) public class AllTests { }",
            ),
            (
                "Platform",
                "@org.junit.platform.suite.api.Suite @org.junit.platform.suite.api.SelectClasses(QuietTest.class) public class Platform { }",
            ),
            (
                "ByPackage",
                "@org.junit.platform.suite.api.Suite @org.junit.platform.suite.api.SelectPackages(\"suites\") public class ByPackage { }",
            ),
        ],
        edits: &[("Used", "public class Used { int v() { return 2; } }")],
        all: &["AllTests", "ByPackage", "Platform", "QuietTest", "UsingTest"],
        selected: &["AllTests", "ByPackage", "UsingTest"],
    },
    // JUnit 3, 5 and TestNG, nested tests, inherited tests, annotations that carry annotations.
    Scenario {
        package: "kinds",
        files: &[
            ("Used", "public class Used { static int v() { return 1; } }"),
            (
                "Junit3",
                "public class Junit3 extends junit.framework.TestCase { public void testIt() { Used.v(); } }",
            ),
            ("Junit5", "class Junit5 { @org.junit.jupiter.api.Test void t() { Used.v(); } }"),
            (
                "WithNested",
                "class WithNested { @org.junit.jupiter.api.Nested class Inner { @org.junit.jupiter.api.Test void t() { Used.v(); } } }",
            ),
            (
                "Ng",
                "@org.testng.annotations.Test public class Ng { public void it() { Used.v(); } }",
            ),
            (
                "AbstractBase",
                "abstract class AbstractBase { @org.junit.Test public void t() { Used.v(); } }",
            ),
            ("Inherits", "public class Inherits extends AbstractBase { }"),
            ("ByDefault", "public class ByDefault implements HasTests { }"),
            (
                "HasTests",
                "interface HasTests { @org.junit.jupiter.api.Test default void t() { Used.v(); } }",
            ),
            (
                "Fast",
                "import java.lang.annotation.*; @Retention(RetentionPolicy.RUNTIME) @org.junit.jupiter.api.Test public @interface Fast { }",
            ),
            ("Composed", "class Composed { @Fast void t() { Used.v(); } }"),
            (
                "OldSuite",
                "public class OldSuite { public static junit.framework.Test suite() { Used.v(); return null; } }",
            ),
            ("TestHelper", "public class TestHelper { int v() { return Used.v(); } }"),
            ("Quiet", "public class Quiet { @org.junit.Test public void t() { } }"),
        ],
        edits: &[("Used", "public class Used { static int v() { return 2; } }")],
        all: &[
            "ByDefault",
            "Composed",
            "Inherits",
            "Junit3",
            "Junit5",
            "Ng",
            "OldSuite",
            "Quiet",
            "WithNested",
        ],
        selected: &[
            "ByDefault",
            "Composed",
            "Inherits",
            "Junit3",
            "Junit5",
            "Ng",
            "OldSuite",
            "WithNested",
        ],
    },
    // An extension that only an annotation names, and an annotation whose default changes.
    Scenario {
        package: "annotations",
        files: &[
            ("Extension", "public class Extension { int v() { return 1; } }"),
            (
                "Mark",
                "import java.lang.annotation.*; @Retention(RetentionPolicy.RUNTIME) public @interface Mark { int value() default 1; }",
            ),
            (
                "ExtendedTest",
                "@org.junit.jupiter.api.extension.ExtendWith(Extension.class) class ExtendedTest { @org.junit.jupiter.api.Test void t() { } }",
            ),
            ("MarkedTest", "class MarkedTest { @Mark @org.junit.jupiter.api.Test void t() { } }"),
            ("PlainTest", "class PlainTest { @org.junit.jupiter.api.Test void t() { } }"),
        ],
        edits: &[
            ("Extension", "public class Extension { int v() { return 2; } }"),
            (
                "Mark",
                "import java.lang.annotation.*; @Retention(RetentionPolicy.RUNTIME) public @interface Mark { int value() default 2; }",
            ),
        ],
        all: &["ExtendedTest", "MarkedTest", "PlainTest"],
        selected: &["ExtendedTest", "MarkedTest"],
    },
    // Constants are copied into their users: by an expression, a case label, an annotation.
    Scenario {
        package: "constants",
        files: &[
            (
                "K",
                "public class K { static final int A = 1; static final int B = 2; static final String C = \"c\"; }",
            ),
            (
                "ExpressionTest",
                "public class ExpressionTest { @org.junit.Test public void t() { int a = K.A; } }",
            ),
            (
                "CaseTest",
                "public class CaseTest { @org.junit.Test public void t() { switch (hashCode()) { case K.B: return; default: } } }",
            ),
            (
                "ValueTest",
                "@SuppressWarnings(K.C) @Name(K.C) public class ValueTest { @org.junit.Test public void t() { } }",
            ),
            (
                "Name",
                "import java.lang.annotation.*; @Retention(RetentionPolicy.RUNTIME) public @interface Name { String value(); }",
            ),
            ("PlainTest", "public class PlainTest { @org.junit.Test public void t() { } }"),
        ],
        edits: &[(
            "K",
            "public class K { static final int A = 3; static final int B = 4; static final String C = \"d\"; }",
        )],
        all: &["CaseTest", "ExpressionTest", "PlainTest", "ValueTest"],
        selected: &["CaseTest", "ExpressionTest", "ValueTest"],
    },
    // Only lines move: nothing to do. A new test, a removed one, and a class that comes into
    // being under a name that a string already had.
    Scenario {
        package: "comings",
        files: &[
            ("Lines", "public class Lines { int v() { return 1; } }"),
            (
                "LinesTest",
                "public class LinesTest { @org.junit.Test public void t() { new Lines().v(); } }",
            ),
            ("GoneTest", "public class GoneTest { @org.junit.Test public void t() { } }"),
            (
                "LateTest",
                "public class LateTest { @org.junit.Test public void t() throws Exception { try { Class.forName(\"comings.Late\"); } catch (ClassNotFoundException e) { } } }",
            ),
        ],
        edits: &[
            ("Lines", "\n\n\npublic class Lines { int v() {\n return 1; } }"),
            ("GoneTest", ""),
            ("NewTest", "public class NewTest { @org.junit.Test public void t() { } }"),
            ("Late", "public class Late { }"),
        ],
        all: &["LateTest", "LinesTest", "NewTest"],
        selected: &["LateTest", "NewTest"],
    },
    // Lambdas, method references, arrays, casts, exceptions and generic bounds are uses.
    Scenario {
        package: "uses",
        files: &[
            ("Used", "public class Used extends RuntimeException { static int v() { return 1; } }"),
            (
                "LambdaTest",
                "public class LambdaTest { @org.junit.Test public void t() { Runnable r = () -> Used.v(); } }",
            ),
            (
                "ReferenceTest",
                "public class ReferenceTest { @org.junit.Test public void t() { java.util.function.IntSupplier s = Used::v; } }",
            ),
            (
                "ArrayTest",
                "public class ArrayTest { @org.junit.Test public void t() { Object o = new Used[2][2]; } }",
            ),
            (
                "CatchTest",
                "public class CatchTest { @org.junit.Test public void t() { try { hashCode(); } catch (Used u) { } } }",
            ),
            (
                "InstanceTest",
                "public class InstanceTest { @org.junit.Test public void t() { boolean b = ((Object) this) instanceof Used; } }",
            ),
            (
                "ParameterTest",
                "public class ParameterTest { @org.junit.Test public void t() { } void p(Used u) { } }",
            ),
            (
                "BoundTest",
                "public class BoundTest { @org.junit.Test public void t() { } <T extends Comparable<? super Used>> void p() { } }",
            ),
            (
                "LiteralTest",
                "public class LiteralTest { @org.junit.Test public void t() { Object o = Used.class; } }",
            ),
            (
                "RecordTest",
                "public class RecordTest { record R(Used u) {} @org.junit.Test public void t() { Object o = R.class; } }",
            ),
            ("NothingTest", "public class NothingTest { @org.junit.Test public void t() { } }"),
        ],
        edits: &[(
            "Used",
            "public class Used extends RuntimeException { static int v() { return 2; } }",
        )],
        all: &[
            "ArrayTest",
            "BoundTest",
            "CatchTest",
            "InstanceTest",
            "LambdaTest",
            "LiteralTest",
            "NothingTest",
            "ParameterTest",
            "RecordTest",
            "ReferenceTest",
        ],
        selected: &[
            "ArrayTest",
            "BoundTest",
            "CatchTest",
            "InstanceTest",
            "LambdaTest",
            "LiteralTest",
            "ParameterTest",
            "RecordTest",
            "ReferenceTest",
        ],
    },
];

fn sources(edited: bool) -> Sources {
    let mut sources = frameworks();
    for scenario in SCENARIOS {
        let mut files: BTreeMap<&str, &str> = scenario.files.iter().copied().collect();
        if edited {
            files.extend(scenario.edits.iter().copied());
        }
        for (name, text) in files.into_iter().filter(|(_, text)| !text.is_empty()) {
            let path = format!("{}/{name}.java", scenario.package);
            sources = sources.file(&path, &format!("package {};\n{text}", scenario.package));
        }
    }
    sources
}

/// The decisions after the edits.
fn decisions() -> &'static [TestDecision] {
    static DECISIONS: OnceLock<Vec<TestDecision>> = OnceLock::new();
    DECISIONS.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let settings = settings(folder.path());
        let before = module(&sources(false).compile(&jdk()), &[]);
        let after = module(&sources(true).compile(&jdk()), &[]);

        let mut session = Session::open(&before, &settings);
        let first = session.select();
        assert!(first.iter().all(|d| d.run == Some(Reason::New)), "the first run selects all");
        pass_all(&mut session, &first);
        let again = Session::open(&before, &settings).select();
        assert_eq!(selected(&again), Vec::<String>::new(), "the same state selects nothing");

        let mut session = Session::open(&after, &settings);
        let decisions = session.select();
        pass_all(&mut session, &decisions);
        assert_eq!(selected(&Session::open(&after, &settings).select()), Vec::<String>::new());
        decisions
    })
}

fn in_package(package: &str, decisions: &[TestDecision], only_selected: bool) -> Vec<String> {
    decisions
        .iter()
        .filter(|d| !only_selected || d.run.is_some())
        .filter_map(|d| d.name.strip_prefix(package)?.strip_prefix('.').map(str::to_owned))
        .collect()
}

#[test]
fn every_scenario_selects_its_tests() {
    let mut wrong = Vec::new();
    for scenario in SCENARIOS {
        let all = in_package(scenario.package, decisions(), false);
        let selected = in_package(scenario.package, decisions(), true);
        if all != scenario.all || selected != scenario.selected {
            wrong.push(format!("{}: of {all:?} selected {selected:?}", scenario.package));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn path_of(test: &str) -> Vec<(String, Option<&'static str>)> {
    let decision = decisions().iter().find(|d| d.name == test).expect("a test");
    match &decision.run {
        Some(Reason::Reaches { path, .. }) => path.iter().map(|s| (s.name.clone(), s.by)).collect(),
        other => panic!("{test}: {other:?}"),
    }
}

#[test]
fn explanations_name_every_step_and_its_kind() {
    let step = |name: &str, kind: EdgeKind| (name.to_owned(), Some(kind.name()));
    let end = |name: &str| (name.to_owned(), None);
    assert_eq!(
        path_of("hierarchy.T2"),
        [
            step("hierarchy.T2", EdgeKind::Uses),
            step("hierarchy.C1", EdgeKind::Uses),
            end("hierarchy.C2"),
        ]
    );
    assert_eq!(
        path_of("interfaces.GrandChildTest"),
        [
            step("interfaces.GrandChildTest", EdgeKind::Uses),
            step("interfaces.GrandChild", EdgeKind::Inherits),
            step("interfaces.Child", EdgeKind::Inherits),
            end("interfaces.BaseB"),
        ]
    );
    assert_eq!(
        path_of("reflection.SimpleTest"),
        [step("reflection.SimpleTest", EdgeKind::NamedInString), end("reflection.Simple"),]
    );
    assert_eq!(
        path_of("computedname.ClassicalInterpolatorTest"),
        [
            step("computedname.ClassicalInterpolatorTest", EdgeKind::Inherits),
            step("computedname.AbstractInterpolatorTest", EdgeKind::NameParts),
            end("computedname.AbstractIntegrator"),
        ]
    );
}

#[test]
fn a_kind_that_is_switched_off_does_not_select() {
    let folder = tempfile::tempdir().unwrap();
    let mut settings = settings(folder.path());
    settings.kinds = [EdgeKind::NamedInString, EdgeKind::NameParts, EdgeKind::Inlined]
        .into_iter()
        .fold(settings.kinds, tamis_select_static::EdgeKinds::without);
    let before = module(&sources(false).compile(&jdk()), &[]);
    let after = module(&sources(true).compile(&jdk()), &[]);
    let mut session = Session::open(&before, &settings);
    let first = session.select();
    pass_all(&mut session, &first);
    let decisions = Session::open(&after, &settings).select();
    assert!(in_package("reflection", &decisions, true).is_empty());
    assert!(in_package("computedname", &decisions, true).is_empty());
    // What was proven under weaker rules proves nothing under stronger ones.
    settings.kinds = tamis_select_static::EdgeKinds::ALL;
    let strict = Session::open(&before, &settings).select();
    assert!(strict.iter().all(|d| d.run == Some(Reason::OtherRules)));
}

/// One letter is a name where there is no package.
#[test]
fn names_of_one_letter_in_the_default_package() {
    let folder = tempfile::tempdir().unwrap();
    let settings = settings(folder.path());
    let compiled = |value: u32| {
        let test = |name: &str, body: &str| {
            format!(
                "public class {name} {{ @org.junit.Test public void t() throws Exception {{ {body} }} }}"
            )
        };
        let sources = frameworks()
            .file(
                "A.java",
                &format!("public class A {{ public String toString() {{ return \"{value}\"; }} }}"),
            )
            .file("LookupTest.java", &test("LookupTest", "Class.forName(\"A\");"))
            .file("MethodTest.java", &test("MethodTest", "String s = \"A#toString\";"))
            .file("QuietTest.java", &test("QuietTest", "String s = \"B\";"));
        module(&sources.compile(&jdk()), &[])
    };
    let mut session = Session::open(&compiled(1), &settings);
    let first = session.select();
    pass_all(&mut session, &first);
    let after = Session::open(&compiled(2), &settings).select();
    assert_eq!(selected(&after), ["LookupTest", "MethodTest"]);
}
