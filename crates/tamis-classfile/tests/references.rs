//! What a class file says about other classes, with what javac writes.

use std::collections::BTreeSet;
use tamis_classfile::{Analyser, ClassFile, Place};
use tamis_testkit::{Sources, jdk};

const SOURCE: &str = "
import java.lang.annotation.*; import java.util.function.*;
@Retention(RetentionPolicy.RUNTIME) @interface Mark { Class<?>[] types() default {}; Mode mode() default Mode.A; String text() default \"\"; }
@Retention(RetentionPolicy.CLASS) @interface Hidden { Class<?> value(); }
enum Mode { A, B }
class Base { static int count; } interface Face { }
class Constants { static final int SIZE = 77; }
class InValue {} class InHidden {} class InArray {} class InCast {} class InCatch extends RuntimeException {}
class InBound {} class InThrows extends Exception {} class InLambda { static void f() {} } class InReference { static void f() {} }
class InField {} class InParameter {} class InResult {} class InLocal {} class InTypeUse {}
@Mark(types = InValue.class, mode = Mode.B, text = \"named.in.Annotation\") @Hidden(InHidden.class)
class Subject<T extends Comparable<? super InBound>> extends Base implements Face {
  InField field;
  InResult call(InParameter p) throws InThrows {
    Object o = new InArray[1]; if (o instanceof InCast) { } try { count++; } catch (InCatch e) { }
    Runnable r = () -> InLambda.f(); Runnable s = InReference::f; int size = Constants.SIZE;
    InLocal unused = null; String t = \"named.in.String\"; return null; }
  Class<?> look(String name) throws Exception { return Class.forName(name); }
}";

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn with_subject(option: &str, check: impl FnOnce(&ClassFile<'_>)) {
    let folder = Sources::new().file("Subject.java", SOURCE).option(option).compile(&jdk());
    let bytes = std::fs::read(folder.join("Subject.class")).unwrap();
    check(&ClassFile::parse(&bytes).unwrap());
}

#[test]
fn inheritance_uses_constants_and_strings_are_kept_apart() {
    with_subject("-g:none", |class| {
        let references = Analyser::default().analyse(class).unwrap().references;
        let inherits: Vec<String> = references.inherits.iter().map(|n| text(n)).collect();
        assert_eq!(inherits, ["Base", "Face"]);
        let uses: BTreeSet<String> = references.all_uses().iter().map(|n| text(n)).collect();
        for name in [
            "InValue",
            "Mode",
            "Mark",
            "InArray",
            "InCast",
            "InCatch",
            "InBound",
            "InThrows",
            "InLambda",
            "InReference",
            "InField",
            "InParameter",
            "InResult",
            "Base",
        ] {
            assert!(uses.contains(name), "{name} in {uses:?}");
        }
        // Neither debug information nor annotations that are gone at run time are dependencies.
        for name in ["InLocal", "InHidden", "Hidden", "Constants"] {
            assert!(!uses.contains(name), "{name} in {uses:?}");
        }
        let inlined: Vec<String> = references.inlined.iter().map(|n| text(n)).collect();
        assert_eq!(inlined, ["Constants"]);
        let texts: BTreeSet<String> = references.texts.iter().map(|n| text(n)).collect();
        assert!(texts.contains("named.in.String") && texts.contains("named.in.Annotation"));
        assert!(references.looks_up_names);
        let on_class: Vec<String> = references
            .annotations
            .iter()
            .filter(|a| a.place == Place::Class)
            .map(|a| text(a.name))
            .collect();
        assert_eq!(on_class, ["Mark"]);
    });
}

#[test]
fn debug_information_changes_no_reference() {
    let names = |option: &str| {
        let mut all = BTreeSet::new();
        with_subject(option, |class| {
            let references = Analyser::default().analyse(class).unwrap().references;
            all.extend(references.all_uses().iter().map(|n| text(n)));
        });
        all
    };
    assert_eq!(names("-g"), names("-g:none"));
}
