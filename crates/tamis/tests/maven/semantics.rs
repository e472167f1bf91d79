//! Every kind of thing that a test can depend on, in one project: an edit and the test classes that it
//! selects, each with the changed thing in its reason.

use std::collections::BTreeMap;
use tamis_testkit::Jdk;
use tamis_testkit::maven::{Maven, is_resolved};
use tamis_testkit::{Call, not_here, simple};

/// An edit and what it selects: test class and what its reason names. No test is selected by two edits
/// of one round.
struct Edit {
    file: &'static str,
    change: Change,
    selects: &'static [(&'static str, &'static str)],
}

enum Change {
    Replace(&'static str, &'static str),
    Write(&'static str),
    Remove,
}

const fn edit(
    file: &'static str,
    from: &'static str,
    to: &'static str,
    selects: &'static [(&'static str, &'static str)],
) -> Edit {
    Edit { file, change: Change::Replace(from, to), selects }
}

const fn write(
    file: &'static str,
    content: &'static str,
    selects: &'static [(&'static str, &'static str)],
) -> Edit {
    Edit { file, change: Change::Write(content), selects }
}

/// Nothing that a running program can see.
const UNSEEN: &[Edit] = &[
    // Another method of a class that is used.
    edit("Body", "\"unused\"", "\"unused now\"", &[]),
    edit("Lambda", "class Lambda {", "// a comment\n\n\nclass Lambda {\n", &[]),
    edit(
        "Nest",
        "private static Object secret() {",
        "private static Object\n secret() { // lines",
        &[],
    ),
    edit("Shape", "record ShapeCircle", "/* lines\n of a record */ record ShapeCircle", &[]),
    edit("Colour", "RED,", "/** The first. */ RED,", &[]),
    // The order of methods.
    edit("Quiet", "    static Object first() {\n        return \"first\";\n    }\n\n", "", &[]),
    edit("Quiet", "// the end", "static Object first() {\n        return \"first\";\n    }", &[]),
    // The order of annotations, names of variables, an annotation that no program can see.
    edit("Plain", "@PlainOne\n@PlainTwo", "@PlainTwo\n@PlainOne", &[]),
    edit("Plain", "Object marked", "@PlainUnseen Object marked", &[]),
    edit(
        "Plain",
        "int i = 1;\n        i++;\n        return i;",
        "int count = 1;\n        count += 1;\n        return count;",
        &[],
    ),
    // A subclass that is never made, and a class that is never used.
    write("Unused", "package f;\n\nclass Unused extends FamilyTop {}\n", &[]),
];

/// Bodies of methods.
const BODIES: &[Edit] = &[
    edit("Body", "\"used\"", "\"used now\"", &[("BodyTest", "f.Body#used()")]),
    edit("Lambda", "from a lambda", "changed", &[("LambdaTest", "f.Lambda#lambda$supplier$0()")]),
    edit("Reference", "n * 2", "n + n", &[("ReferenceTest", "f.ReferenceTarget#twice(")]),
    edit("Defaults", "hello", "good day", &[("DefaultsTest", "f.Defaults#greet()")]),
    edit(
        "InheritedField",
        "\"base\"",
        "\"changed\"",
        &[("InheritedFieldTest", "f.InheritedFieldBase#<clinit>()")],
    ),
    edit("Nest", "\"secret\"", "\"changed\"", &[("NestTest", "f.Nest#secret()")]),
    // What a static initialiser used belongs to both, although only one of them triggered it.
    edit(
        "Initialised",
        "\"seven\"",
        "\"eight\"",
        &[
            ("InitialisedFirstTest", "f.InitialisedHelper#read()"),
            ("InitialisedSecondTest", "f.InitialisedHelper#read()"),
        ],
    ),
    // The second test never runs the parser: it finds its result in a static map.
    edit(
        "Cache",
        "text.trim()",
        "text.strip()",
        &[("CacheFirstTest", "f.CacheRules#apply("), ("CacheSecondTest", "f.CacheRules#apply(")],
    ),
    // The same with an object in between, and a call through a type of the JDK.
    edit(
        "Singleton",
        "\"made\"",
        "\"changed\"",
        &[
            ("SingletonFirstTest", "f.SingletonMaker#get()"),
            ("SingletonSecondTest", "f.SingletonMaker#get()"),
        ],
    ),
    edit(
        "Shared",
        "made by C",
        "changed",
        &[("SharedFirstTest", "f.SharedC#<init>()"), ("SharedSecondTest", "f.SharedC#<init>()")],
    ),
    edit(
        "Service",
        "return \"first\"",
        "return \"1st\"",
        &[("ServiceTest", "f.Service$First#name()")],
    ),
    edit(
        "ChildMain",
        "from a child",
        "changed",
        &[("ChildJavaTest", "target/classes/f/ChildHelper.class")],
    ),
    edit("tools/answer.txt", "42", "43", &[("ChildShellTest", "tools/answer.txt")]),
    edit(
        "Shape",
        "\"circle \"",
        "\"a circle \"",
        &[("ShapeCircleTest", "f.Shape#describe("), ("ShapeSquareTest", "f.Shape#describe(")],
    ),
    edit("Code", "\"anonymous\"", "\"a\"", &[("CodeAnonymousTest", "f.Code$1#call()")]),
    edit("Code", "\"n is \"", "\"n = \"", &[("CodeConcatenatedTest", "f.Code#concatenated(")]),
    edit("Code", "case \"one\"", "case \"two\"", &[("CodeChosenTest", "f.Code#chosen(")]),
    edit("Code", "\"in a thread\"", "\"t\"", &[("CodeThreadTest", "f.CodeInThread#run()")]),
    edit("Code", "\"in a proxy\"", "\"p\"", &[("CodeProxyTest", "f.CodeInProxy#run()")]),
    edit("Code", "\"in a handle\"", "\"h\"", &[("CodeHandleTest", "f.CodeInHandle#run()")]),
    edit(
        "Code",
        "\"bridged\"",
        "\"b\"",
        &[("CodeBridgeTest", "f.CodeBridged#make()Ljava/lang/String;")],
    ),
    edit("Code", "\"hidden\"", "\"h\"", &[("CodeFaceTest", "f.CodeFace#hidden()")]),
    edit(
        "Code",
        "\"initialised\"",
        "\"i\"",
        &[("CodeInitialiserTest", "f.CodeInitialiser#<init>()")],
    ),
    edit("Work", "\"four\"", "\"4\"", &[("VintageTest", "f.Work$Four#run()")]),
    // Only the second parameter goes there.
    edit(
        "Work",
        "\"more of four\"",
        "\"much\"",
        &[("VintageParameterTest", "f.Work$FourParameter#more()")],
    ),
    edit("Work", "\"three\"", "\"3\"", &[("VintageThreeTest", "f.Work$Three#run()")]),
    edit("Work", "\"nested\"", "\"n\"", &[("NestedTest", "f.Work$Nested#run()")]),
    edit("Work", "\"more\"", "\"much\"", &[("ManyTest", "f.Work$Parameter#more()")]),
    edit("Work", "\"before all\"", "\"b\"", &[("SetUpTest", "f.Work$BeforeAll#run()")]),
];

/// What reflection and other classes see of a class; names that are looked up; files.
const HEADERS: &[Edit] = &[
    // Reflection shows the order of fields.
    edit(
        "Plain",
        "int left;\n    int right;",
        "int right;\n    int left;",
        &[("PlainTest", "class f.Plain")],
    ),
    edit(
        "Named",
        "class NamedConstant",
        "final class NamedConstant",
        &[("NamedConstantTest", "class f.NamedConstant")],
    ),
    edit(
        "Named",
        "class NamedBuilt {}",
        "class NamedBuilt { int more; }",
        &[("NamedBuiltTest", "class f.NamedBuilt")],
    ),
    write(
        "NamedLater",
        "package f;\n\nclass NamedLater {}\n",
        &[("NamedMissingTest", "f.NamedLater")],
    ),
    write(
        "NamedLaterStill",
        "package f;\n\nclass NamedLaterStill {}\n",
        &[("NamedMissingInLoaderTest", "f.NamedLaterStill")],
    ),
    edit(
        "Literal",
        "class LiteralTarget",
        "abstract class LiteralTarget",
        &[("LiteralTest", "class f.LiteralTarget")],
    ),
    edit(
        "Types",
        "class TypesKind",
        "class TypesKind implements java.io.Serializable",
        &[("TypesKindTest", "class f.TypesKind")],
    ),
    edit(
        "Types",
        "class TypesCast",
        "class TypesCast extends TypesKind",
        &[("TypesCastTest", "class f.TypesCast")],
    ),
    edit(
        "Types",
        "class TypesCaught extends RuntimeException",
        "class TypesCaught extends IllegalStateException",
        &[("TypesCaughtTest", "class f.TypesCaught")],
    ),
    edit("Marked", "default 1", "default 2", &[("MarkedTest", "class f.MarkedBy")]),
    // A superclass overrides: the tests below it, not those above.
    edit(
        "Family",
        "// a place in the middle",
        "Object name() { return \"middle\"; }",
        &[("FamilyTest", "class f.FamilyMiddle"), ("FamilySiblingTest", "class f.FamilyMiddle")],
    ),
    edit(
        "Code",
        "// a place for a field",
        "int more;",
        &[("CodeParentTest", "class f.CodeParent")],
    ),
    edit(
        "Face",
        "// a place for a method",
        "default void more() {}",
        &[("FaceTest", "class f.Face")],
    ),
    edit(
        "src/main/resources/META-INF/services/f.Service$Provider",
        "f.Service$First",
        "f.Service$First\nf.Service$Second",
        &[("ServiceTest", "META-INF/services/f.Service$Provider")],
    ),
    edit("src/main/resources/found.txt", "found", "changed", &[("ResourceTest", "found.txt")]),
    edit("src/test/resources/plain.txt", "plain", "changed", &[("ResourcePathTest", "plain.txt")]),
    write("src/main/resources/later.txt", "here now\n", &[("ResourceAbsentTest", "later.txt")]),
    write(
        "src/test/resources/listed/two.txt",
        "two\n",
        &[("ResourceListTest", "src/test/resources/listed")],
    ),
    // Class files as resources.
    write(
        "ResourceLater",
        "package f;\n\nclass ResourceLater {}\n",
        &[("ResourceClassAbsentTest", "f.ResourceLater")],
    ),
    edit(
        "ResourceClass",
        "class ResourceClass",
        "final class ResourceClass",
        &[("ResourceClassTest", "f.ResourceClass")],
    ),
    // javac copies constants; a label of a switch leaves no trace of where it came from.
    edit("Constants", "LIMIT = 3", "LIMIT = 4", &[("ConstantsTest", "f.ConstantsTest#works()")]),
    edit(
        "ConstantsLabels",
        "LABEL = 10",
        "LABEL = 11",
        &[("ConstantsLabelTest", "f.ConstantsLabel#choose(")],
    ),
    edit("Colour", "BLUE", "GREEN,\n    BLUE", &[("ColourTest", "f.Colour")]),
    edit(
        "Shape",
        "record ShapeSquare(int side)",
        "record ShapeSquare(int side, int more)",
        &[("ShapeSquareTest", "f.ShapeSquare")],
    ),
    edit("src/test/java/f/ShapeSquareTest.java", "ShapeSquare(1)", "ShapeSquare(1, 2)", &[]),
    edit(
        "Generic",
        "List<String> names",
        "List<Integer> names",
        &[("GenericTest", "class f.Generic")],
    ),
    // A private method that is not called: reflection sees it.
    edit(
        "Grows",
        "// a place for a member",
        "private void more() {}",
        &[("GrowsTest", "class f.Grows")],
    ),
    edit("Work", "\"set up of four\"", "\"s\"", &[("VintageTest", "f.Work$FourSetUp#run()")]),
    edit("Work", "\"inner\"", "\"i\"", &[("NestedTest", "f.Work$NestedInner#run()")]),
    edit("Work", "\"a source\"", "\"s\"", &[("ManyTest", "f.Work$ParameterSource#run()")]),
    edit("Work", "\"before each\"", "\"b\"", &[("SetUpTest", "f.Work$BeforeEach#run()")]),
];

/// What only reflection tells, members by the name of a subclass, and what comes from elsewhere: loaders of
/// the test's own, things that shadow others, files that are absent, listed or rewritten.
const ELSEWHERE: &[Edit] = &[
    edit(
        "Told",
        "ToldVariable<T extends Comparable<T>>",
        "ToldVariable<T extends Number>",
        &[("ToldVariableTest", "class f.ToldVariable")],
    ),
    edit(
        "Told",
        "take(int first)",
        "take(int second)",
        &[("ToldParameterTest", "class f.ToldParameter")],
    ),
    edit("Told", "@ToldUse(1)", "@ToldUse(2)", &[("ToldTypeUseTest", "class f.ToldTypeUse")]),
    edit(
        "Told",
        "@ToldMark(\"one\")",
        "@ToldMark(\"1\")",
        &[("ToldValueTest", "class f.ToldValue")],
    ),
    edit(
        "Told",
        "throws IOException",
        "throws java.io.FileNotFoundException",
        &[("ToldThrownTest", "class f.ToldThrown")],
    ),
    // javac copies the constant into the annotation, and leaves no trace of where it came from.
    edit(
        "Told",
        "\"constant\"",
        "\"changed\"",
        &[("ToldConstantTest", "class f.ToldConstantUser")],
    ),
    // A field and a method that hide those of the superclass.
    edit(
        "Fields",
        "// a place for a field",
        "static Object last;",
        &[("FieldsWrittenTest", "class f.FieldsWritten")],
    ),
    edit(
        "Fields",
        "// a place for a method",
        "static Object name() { return \"hiding\"; }",
        &[("FieldsHiddenTest", "class f.FieldsHiding")],
    ),
    edit(
        "ElsewhereIsolated",
        "\"isolated\"",
        "\"i\"",
        &[("ElsewhereIsolatedTest", "ElsewhereIsolated")],
    ),
    write("src/main/resources/folder/two.txt", "two\n", &[("ElsewhereFolderTest", "folder")]),
    write(
        "src/main/resources/META-INF/services/f.Elsewhere$Later",
        "f.Elsewhere$LaterProvider\n",
        &[("ElsewhereProvidedTest", "META-INF/services/f.Elsewhere$Later")],
    ),
    // Classes and resources of the tests come first.
    write(
        "src/test/resources/shadowed.txt",
        "of the tests\n",
        &[("ElsewhereShadowedTest", "shadowed.txt")],
    ),
    write(
        "src/test/java/f/Shadowed.java",
        "package f;\n\nclass Shadowed {\n    static Object name() {\n        return 1;\n    }\n}\n",
        &[("ShadowedTest", "f.Shadowed")],
    ),
    write("tools/later.txt", "here now\n", &[("ElsewhereAbsentTest", "tools/later.txt")]),
    write("tools/rewritten.txt", "by hand\n", &[("ElsewhereRewrittenTest", "tools/rewritten.txt")]),
    edit("Work", "\"repeated\"", "\"r\"", &[("ManyTest", "f.Work$Repeated#run()")]),
];

/// Test classes that change, come and go; and the rest.
const TESTS: &[Edit] = &[
    edit(
        "src/test/java/f/BodyTest.java",
        "Body.used()",
        "Body.used().toString()",
        &[("BodyTest", "f.BodyTest#works()")],
    ),
    write(
        "src/test/java/f/NewTest.java",
        "package f;\n\nclass NewTest {\n    @org.junit.jupiter.api.Test\n    void works() {}\n}\n",
        &[("NewTest", "never run before")],
    ),
    Edit { file: "src/test/java/f/QuietTest.java", change: Change::Remove, selects: &[] },
    // An override in a subclass: its test, not its sibling's.
    edit(
        "Family",
        "// a place at the bottom",
        "Object name() { return \"bottom\"; }",
        &[("FamilyTest", "class f.Family")],
    ),
    edit("Work", "\"dynamic\"", "\"d\"", &[("ManyTest", "f.Work$Dynamic#run()")]),
    edit("Work", "\"after all\"", "\"a\"", &[("SetUpTest", "f.Work$AfterAll#run()")]),
    edit(
        "Shape",
        "permits ShapeCircle, ShapeSquare {",
        "permits ShapeCircle, ShapeSquare, ShapeLine {",
        &[("ShapeCircleTest", "class f.Shape"), ("ShapeSquareTest", "class f.Shape")],
    ),
    write("ShapeLine", "package f;\n\nrecord ShapeLine() implements Shape {}\n", &[]),
];

fn path(file: &str) -> String {
    if file.contains('/') { file.to_owned() } else { format!("src/main/java/f/{file}.java") }
}

fn apply(maven: &Maven, edits: &[Edit]) {
    for edit in edits {
        let file = path(edit.file);
        match edit.change {
            Change::Replace(from, to) => _ = maven.replace(&file, from, to),
            Change::Write(content) => maven.write(&file, content),
            Change::Remove => maven.remove(&file),
        }
    }
}

/// Makes the edits, builds, and compares.
fn round(maven: &Maven, name: &str, edits: &[Edit]) -> Call {
    apply(maven, edits);
    let build = maven.test();
    build.assert_passed(name);
    let because: BTreeMap<&str, &str> =
        edits.iter().flat_map(|e| e.selects.iter().copied()).collect();
    let expected: Vec<&str> = because.keys().copied().collect();
    build.assert_ran(name, &expected);
    for (test, reason) in &build.ran {
        let expected = because[simple(test)];
        assert!(reason.contains(expected), "{name}: {test}: {expected:?} in {reason:?}");
    }
    build
}

/// The project, built once; `None` where it cannot be.
fn project(jdk: &Jdk) -> Option<Maven> {
    let mut maven = Maven::copy_of("maven-semantics", jdk, "semantics")?;
    maven.set("SEMANTICS", "off");
    let first = maven.test();
    if !is_resolved(&first) {
        return None;
    }
    first.assert_passed("the first build");
    assert!(first.skipped.is_empty() && first.ran.len() > 60, "{first:?}");
    Some(maven)
}

/// The same classes on the newest JDK, where there is one.
#[test]
fn what_a_change_selects_on_the_newest_jdk() {
    let newest = tamis_testkit::jdks().pop().filter(|jdk| *jdk != tamis_testkit::jdk());
    let Some(jdk) = newest else {
        not_here("there is only one JDK");
        return;
    };
    let Some(maven) = project(&jdk) else { return };
    round(&maven, "bodies", BODIES);
    round(&maven, "headers, names and files", HEADERS);
}

#[test]
fn what_a_change_selects() {
    let Some(mut maven) = project(&tamis_testkit::jdk()) else { return };
    assert!(!maven.test().started, "nothing changed: Maven is not started");

    round(&maven, "what cannot be seen", UNSEEN);
    round(&maven, "bodies", BODIES);
    round(&maven, "headers, names and files", HEADERS);
    round(&maven, "elsewhere", ELSEWHERE);
    round(&maven, "tests", TESTS);
    round(&maven, "nothing", &[]);
    red_stays_red(&maven);

    // How the tests are started counts for all of them.
    maven.replace("pom.xml", "<flavour>plain<", "<flavour>sweet<");
    let build = maven.test();
    build.assert_passed("a property of the pom");
    assert!(build.skipped.is_empty(), "{build:?}");
    assert!(build.ran.values().all(|r| r.contains("test configuration")), "{build:?}");
    let named = ["test configuration changed: ", "plain", "sweet"];
    assert!(named.iter().all(|text| build.stderr.contains(text)), "{build:?}");
    maven.set("SEMANTICS", "on");
    let build = maven.test();
    build.assert_passed("a variable");
    assert!(build.ran.keys().any(|test| test.ends_with("EnvironmentVariableTest")), "{build:?}");
    assert!(build.ran.values().all(|r| r.contains("SEMANTICS")), "{build:?}");
    maven.set("SEMANTICS", "off");
    round(&maven, "the variable as before", &[]);
}

/// A failing test runs again until it passes, and the exit code is Maven's.
fn red_stays_red(maven: &Maven) {
    maven.replace("src/main/java/f/Lambda.java", "\"changed\"", "null");
    let build = maven.test();
    assert_eq!(build.code, 1, "{build:?}");
    build.assert_ran("it fails", &["LambdaTest"]);
    let again = maven.test();
    assert_eq!(again.code, 1, "{again:?}");
    again.assert_ran("it still fails", &["LambdaTest"]);
    assert!(again.ran.values().all(|r| r.contains("failed")), "{again:?}");
    maven.replace("src/main/java/f/Lambda.java", "null", "\"repaired\"");
    let build = maven.test();
    build.assert_passed("repaired").assert_ran("repaired", &["LambdaTest"]);
}
