//! What a change of the source means for the fingerprint, with what javac really writes.
//!
//! Each case is one class before and after an edit. All cases of one compiler are compiled by one
//! javac run before and one after.

use std::collections::BTreeMap;
use std::path::Path;
use tamis_classfile::{Analyser, ClassFile, Fingerprint};
use tamis_testkit::{Jdk, Sources, class_files, jdks};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Same,
    /// Only bodies differ; the names of the methods that do.
    Bodies(&'static [&'static str]),
    /// The header differs (bodies may as well).
    Header,
}
use Verdict::{Bodies, Header, Same};

struct Case {
    /// The class whose fingerprints are compared; its file is `<name>.java`.
    class: &'static str,
    before: &'static str,
    after: &'static str,
    verdict: Verdict,
}

/// Annotations and helpers that the cases use; compiled with both sides.
const SHARED: &str = "
import java.lang.annotation.*;
@Retention(RetentionPolicy.RUNTIME) @interface Seen { int value() default 0; String text() default \"\"; }
@Retention(RetentionPolicy.RUNTIME) @interface SeenToo { Class<?>[] value() default {}; }
@Retention(RetentionPolicy.CLASS) @interface Unseen { int value() default 0; }
@Retention(RetentionPolicy.RUNTIME) @Target(ElementType.TYPE_USE) @interface OnType { int value() default 0; }
";

macro_rules! cases {
    ($($class:literal: $before:expr => $after:expr, $verdict:expr;)*) => {
        &[$(Case { class: $class, before: $before, after: $after, verdict: $verdict }),*]
    };
}

const CASES: &[Case] = cases! {
    "Lines": "class Lines { int f(int a) { int b = a + 1; return b; } }"
        => "class Lines {\n\n\n int f(int a)\n { \n int renamed = a + 1;\n return renamed; } }", Same;
    "Increment": "class Increment { int f(int i) { i++; return i; } }"
        => "class Increment { int f(int i) { i += 1; return i; } }", Same;
    "NestedLines": "class NestedLines { int f() { return new In().g(); } class In { int g() { return 1; } } static class Other {} }"
        => "class NestedLines {\n\n int f() { return new In().g(); }\n class In {\n int g() { return 1; } } static class Other {} }", Same;
    "RecordLines": "record RecordLines(int a, String b) { int sum() { return a + b.length(); } }"
        => "record RecordLines(int a,\n String b) {\n int sum() {\n return a + b.length(); } }", Same;
    "MemberOrder": "class MemberOrder { int a; String b; int f() { return a; } void g() { b = \"x\"; } }"
        => "class MemberOrder { int a; String b; void g() { b = \"x\"; } int f() { return a; } }", Same;
    "FieldOrder": "class FieldOrder { int a; String b; }"
        => "class FieldOrder { String b; int a; }", Header;
    "PoolOrder": "class PoolOrder { String a() { return \"first\"; } String b() { return \"second\"; } }"
        => "class PoolOrder { String b() { return \"second\"; } String a() { return \"first\"; } }", Same;
    "AnnotationOrder": "@Seen(value = 1, text = \"t\") @SeenToo(String.class) class AnnotationOrder {}"
        => "@SeenToo(String.class) @Seen(text = \"t\", value = 1) class AnnotationOrder {}", Same;
    "InvisibleOnField": "class InvisibleOnField { int a; }"
        => "class InvisibleOnField { @Unseen(3) int a; }", Same;
    "InvisibleEverywhere": "class InvisibleEverywhere { void f(int a) {} }"
        => "@Unseen class InvisibleEverywhere { @Unseen(2) void f(@Unseen int a) {} }", Same;
    "MentionsNested": "class MentionsNested { Object f() { return null; } }"
        => "class MentionsNested { Object f() { return java.util.Map.Entry.class; } }", Bodies(&["f"]);
    "Body": "class Body { int f() { return 1; } int g() { return 2; } }"
        => "class Body { int f() { return 1; } int g() { return 3; } }", Bodies(&["g"]);
    "StringConstant": "class StringConstant { String f() { return \"a\"; } }"
        => "class StringConstant { String f() { return \"b\"; } }", Bodies(&["f"]);
    "LongConstant": "class LongConstant { long f() { return 5000000000L; } double g() { return 1.5; } }"
        => "class LongConstant { long f() { return 5000000001L; } double g() { return 2.5; } }", Bodies(&["f", "g"]);
    "Recipe": "class Recipe { String f(int a) { return \"a\" + a; } }"
        => "class Recipe { String f(int a) { return \"b\" + a; } }", Bodies(&["f"]);
    "LambdaBody": "class LambdaBody { Runnable f() { return () -> System.out.println(1); } }"
        => "class LambdaBody { Runnable f() { return () -> System.out.println(2); } }", Bodies(&["lambda$f$0"]);
    "LambdaTarget": "class LambdaTarget { java.util.function.Supplier<String> f(Object o) { return o::toString; } }"
        => "class LambdaTarget { java.util.function.Supplier<String> f(Object o) { return \"x\"::toString; } }", Bodies(&["f"]);
    "CatchType": "class CatchType { void f() { try { g(); } catch (IllegalStateException e) {} } void g() {} }"
        => "class CatchType { void f() { try { g(); } catch (IllegalArgumentException e) {} } void g() {} }", Bodies(&["f"]);
    "TryRange": "class TryRange { int a; void f() { try { a = 1; } catch (RuntimeException e) { a = 2; } a = 3; a = 4; } }"
        => "class TryRange { int a; void f() { try { a = 1; a = 3; } catch (RuntimeException e) { a = 2; } a = 4; } }", Bodies(&["f"]);
    "Switch": "class Switch { int f(int a) { switch (a) { case 1: return 5; case 2: return 6; default: return 7; } } }"
        => "class Switch { int f(int a) { switch (a) { case 1: return 6; case 2: return 5; default: return 7; } } }", Bodies(&["f"]);
    "SwitchLabel": "class SwitchLabel { int f(int a) { switch (a) { case 1: return 5; case 1000: return 6; default: return 7; } } }"
        => "class SwitchLabel { int f(int a) { switch (a) { case 1: return 5; case 1001: return 6; default: return 7; } } }", Bodies(&["f"]);
    "Initialiser": "class Initialiser { static int a = Integer.parseInt(\"1\"); }"
        => "class Initialiser { static int a = Integer.parseInt(\"2\"); }", Bodies(&["<clinit>"]);
    "ConstantField": "class ConstantField { static final int A = 1; }"
        => "class ConstantField { static final int A = 2; }", Header;
    "FieldAdded": "class FieldAdded { }" => "class FieldAdded { int a; }", Header;
    "FieldType": "class FieldType { int a; }" => "class FieldType { long a; }", Header;
    "MethodAdded": "class MethodAdded { }" => "class MethodAdded { void f() {} }", Header;
    "MethodSignature": "class MethodSignature { void f(int a) {} }"
        => "class MethodSignature { void f(long a) {} }", Header;
    "Throws": "class Throws { void f() {} }" => "class Throws { void f() throws java.io.IOException {} }", Header;
    "ClassAccess": "class ClassAccess { }" => "final class ClassAccess { }", Header;
    "MethodAccess": "class MethodAccess { void f() {} }" => "class MethodAccess { protected void f() {} }", Header;
    "FieldAccess": "class FieldAccess { int a; }" => "class FieldAccess { volatile int a; }", Header;
    "Superclass": "class Superclass extends java.util.ArrayList { }"
        => "class Superclass extends java.util.Vector { }", Header;
    "Interface": "abstract class Interface implements Runnable { }"
        => "abstract class Interface implements Runnable, java.io.Serializable { }", Header;
    "ClassSignature": "class ClassSignature<T> { }" => "class ClassSignature<T extends Number> { }", Header;
    "FieldSignature": "class FieldSignature { java.util.List<String> a; }"
        => "class FieldSignature { java.util.List<Integer> a; }", Header;
    "MethodSignatureOnly": "class MethodSignatureOnly { void f(java.util.List<String> a) {} }"
        => "class MethodSignatureOnly { void f(java.util.List<Integer> a) {} }", Header;
    "AnnotationValue": "@Seen(1) class AnnotationValue { }" => "@Seen(2) class AnnotationValue { }", Header;
    "AnnotationClassValue": "@SeenToo(String.class) class AnnotationClassValue { }"
        => "@SeenToo(Integer.class) class AnnotationClassValue { }", Header;
    "AnnotationOnMethod": "class AnnotationOnMethod { void f() {} }"
        => "class AnnotationOnMethod { @Seen void f() {} }", Header;
    "AnnotationOnParameter": "class AnnotationOnParameter { void f(int a, int b) {} }"
        => "class AnnotationOnParameter { void f(@Seen int a, int b) {} }", Header;
    "AnnotationMoves": "class AnnotationMoves { void f(@Seen int a, int b) {} }"
        => "class AnnotationMoves { void f(int a, @Seen int b) {} }", Header;
    "AnnotationOnType": "class AnnotationOnType { @OnType(1) String a; }"
        => "class AnnotationOnType { @OnType(2) String a; }", Header;
    "AnnotationOnCast": "class AnnotationOnCast { Object f(Object a) { return (@OnType(1) String) a; } }"
        => "class AnnotationOnCast { Object f(Object a) { return (@OnType(2) String) a; } }", Bodies(&["f"]);
    "AnnotationDefault": "@interface AnnotationDefault { int value() default 1; }"
        => "@interface AnnotationDefault { int value() default 2; }", Header;
    "ParameterNames": "class ParameterNames { void f(int a) {} }"
        => "class ParameterNames { void f(int b) {} }", Header;
    "RecordComponent": "record RecordComponent(int a, int b) { }"
        => "record RecordComponent(int b, int a) { }", Header;
    "RecordAnnotation": "record RecordAnnotation(@Seen(1) int a) { }"
        => "record RecordAnnotation(@Seen(2) int a) { }", Header;
    "Permits": "sealed interface Permits permits Permits.A, Permits.B { final class A implements Permits {} final class B implements Permits {} }"
        => "sealed interface Permits permits Permits.A, Permits.B, Permits.C { final class A implements Permits {} final class B implements Permits {} final class C implements Permits {} }", Header;
    "NestedAdded": "class NestedAdded { class A {} }" => "class NestedAdded { class A {} class B {} }", Header;
    "NestedAccess": "class NestedAccess { class A {} }" => "class NestedAccess { private class A {} }", Header;
    "EnumConstant": "enum EnumConstant { A, B }" => "enum EnumConstant { A, C }", Header;
    "Deprecated_": "class Deprecated_ { void f() {} }" => "class Deprecated_ { @Deprecated void f() {} }", Header;
    "PatternSwitch": "class PatternSwitch { String f(Object o) { return o instanceof String s ? s : \"a\"; } }"
        => "class PatternSwitch { String f(Object o) { return o instanceof Integer s ? \"\" : \"a\"; } }", Bodies(&["f"]);
};

/// Java 21 and later: pattern switches are dynamic constants with class arguments.
const CASES_21: &[Case] = cases! {
    "TypeSwitch": "class TypeSwitch { int f(Object o) { return switch (o) { case String s -> 1; case Long l -> 2; default -> 3; }; } }"
        => "class TypeSwitch { int f(Object o) { return switch (o) { case String s -> 1; case Short l -> 2; default -> 3; }; } }", Bodies(&["f"]);
    "RecordPattern": "class RecordPattern { record P(int a, int b) {} int f(Object o) { return o instanceof P(int a, int b) ? a : 0; } }"
        => "class RecordPattern { record P(int a, int b) {} int f(Object o) { return o instanceof P(int a, int b) ? b : 0; } }", Bodies(&["f"]);
    "EnumSwitch": "class EnumSwitch { enum E { A, B } sealed interface I permits J {} record J(E e) implements I {} int f(I i) { return switch (i) { case J(E e) when e == E.A -> 1; case J j -> 2; }; } }"
        => "class EnumSwitch { enum E { A, B } sealed interface I permits J {} record J(E e) implements I {} int f(I i) { return switch (i) { case J(E e) when e == E.B -> 1; case J j -> 2; }; } }", Bodies(&["f"]);
};

fn cases_for(jdk: &Jdk) -> Vec<&'static Case> {
    CASES.iter().chain(CASES_21.iter().filter(|_| jdk.release >= 21)).collect()
}

fn sources(cases: &[&Case], side: fn(&Case) -> &'static str) -> Sources {
    let start = Sources::new().file("Shared.java", SHARED).option("-parameters");
    cases.iter().fold(start, |s, case| s.file(&format!("{}.java", case.class), side(case)))
}

fn fingerprint(bytes: Vec<u8>) -> Fingerprint<'static> {
    // A few kilobytes of a test that ends soon.
    let class = ClassFile::parse(bytes.leak()).expect("javac writes well-formed classes");
    Analyser::default().analyse(&class).expect("javac writes well-formed classes").fingerprint
}

fn fingerprints(folder: &Path) -> BTreeMap<String, Fingerprint<'static>> {
    class_files(folder)
        .into_iter()
        .map(|(name, bytes)| (name.trim_end_matches(".class").to_owned(), fingerprint(bytes)))
        .collect()
}

fn differing(before: &Fingerprint<'_>, after: &Fingerprint<'_>) -> Vec<String> {
    let bodies = |f: &Fingerprint<'_>| -> BTreeMap<String, _> {
        let text = |bytes| String::from_utf8_lossy(bytes);
        f.bodies.iter().map(|m| (text(m.name).into_owned() + &text(m.descriptor), m.body)).collect()
    };
    let (before, after) = (bodies(before), bodies(after));
    before
        .keys()
        .chain(after.keys().filter(|k| !before.contains_key(*k)))
        .filter(|k| before.get(*k) != after.get(*k))
        .map(|k| k.split('(').next().unwrap_or(k).to_owned())
        .collect()
}

/// The two compilers between which the language and javac changed most.
fn compilers() -> Vec<Jdk> {
    let all: Vec<Jdk> = jdks().into_iter().filter(|jdk| jdk.release >= 17).collect();
    assert!(!all.is_empty(), "these tests need a JDK 17 or newer");
    let mut two = vec![all[0].clone()];
    if all.last().expect("not empty").release > two[0].release {
        two.extend(all.last().cloned());
    }
    two
}

#[test]
fn every_kind_of_change_gets_its_verdict() {
    let mut wrong = Vec::new();
    for jdk in compilers() {
        let cases = cases_for(&jdk);
        let before = fingerprints(&sources(&cases, |c| c.before).compile(&jdk));
        let after = fingerprints(&sources(&cases, |c| c.after).compile(&jdk));
        for case in cases {
            let (before, after) = (&before[case.class], &after[case.class]);
            let bodies = differing(before, after);
            let right = match case.verdict {
                Same => before == after && before.whole == after.whole,
                Bodies(names) => before.header == after.header && bodies == names,
                Header => before.header != after.header,
            };
            if !right || (case.verdict != Same && before.whole == after.whole) {
                wrong.push(format!(
                    "javac {}: {} should be {:?}; header differs: {}, bodies differ: {bodies:?}",
                    jdk.release,
                    case.class,
                    case.verdict,
                    before.header != after.header
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn debug_options_of_javac_do_not_count() {
    for jdk in compilers() {
        let cases = cases_for(&jdk);
        let plain = sources(&cases, |c| c.before);
        let all = fingerprints(&plain.clone().option("-g").compile(&jdk));
        let none = fingerprints(&plain.clone().option("-g:none").compile(&jdk));
        assert_eq!(all, none);
        assert_eq!(fingerprints(&plain.compile(&jdk)), none);
    }
}

#[test]
fn module_descriptors_differ_by_what_they_open() {
    let jdk = compilers().remove(0);
    let module = |text: &str| {
        let sources = Sources::new()
            .file("module-info.java", text)
            .file("p/A.java", "package p; public class A {}");
        fingerprints(&sources.compile(&jdk))["module-info"].clone()
    };
    let one = module("module m { exports p; }");
    assert_ne!(one, module("module m { opens p; }"));
    assert_ne!(one, module("module m { exports p; requires java.logging; }"));
    assert_eq!(one, module("module m {\n\n exports p; }"));
}

/// A constant past index 255 is loaded by `ldc_w`: adding 300 constants in front must not count.
#[test]
fn the_width_of_ldc_does_not_count() {
    let jdk = compilers().remove(0);
    let many: String = (0..300).map(|i| format!("s(\"filler {i}\");")).collect();
    let body = "int w(int a) { for (int i = 0; i < a; i++) { s(\"kept\"); switch (i) { case 1: s(\"one\"); case 2: s(\"two\"); break; default: try { s(\"deep\"); } catch (RuntimeException e) { s(\"caught\"); } } } return a; } void s(String t) {}";
    let class = |filler: &str, order: bool| {
        let filler = format!("void a() {{ {filler} }}");
        let text = if order {
            format!("class Wide {{ {filler} {body} }}")
        } else {
            format!("class Wide {{ {body} {filler} }}")
        };
        fingerprints(&Sources::new().file("Wide.java", &text).compile(&jdk))["Wide"].clone()
    };
    assert_eq!(class(&many, true), class(&many, false));
    assert_eq!(differing(&class("", true), &class(&many, true)), ["a"]);
}
