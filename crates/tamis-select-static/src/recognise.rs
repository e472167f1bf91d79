//! Which classes are tests, seen in the class files alone.
//!
//! A class is a test when it is concrete and it or something it inherits from has a test: a method,
//! field or class annotation of JUnit 4 or 5, TestNG, jqwik or ArchUnit (also through annotations of
//! the project that carry one), or a base class of JUnit 3 or Spock. Nested tests count for their
//! outermost class, because that is what runners take.
//!
//! Where a class inherits from a library, its tests may be inherited too and cannot be seen; then
//! the usual naming decides (`Test*`, `*Test`, `*Tests`, `*TestCase`). Too many tests are harmless.
//! What the build configures about names comes on top ([`crate::test_naming`]).

use crate::definitions::{Definitions, Origin, Type};
use crate::test_naming::Rules;
use rustc_hash::{FxHashMap, FxHashSet};
use tamis_classfile::flags;
use tamis_classpath::block::List;
use tamis_classpath::names::NameId;

/// Annotations on members or classes that make a test.
const TEST_ANNOTATIONS: &[&str] = &[
    "org/junit/Test",
    "org/junit/runner/RunWith",
    "org/junit/experimental/theories/Theory",
    "org/junit/jupiter/api/Test",
    "org/junit/jupiter/api/RepeatedTest",
    "org/junit/jupiter/api/TestFactory",
    "org/junit/jupiter/api/TestTemplate",
    "org/junit/jupiter/params/ParameterizedTest",
    "org/junit/jupiter/params/ParameterizedClass",
    "org/junit/jupiter/api/ClassTemplate",
    "org/junit/platform/commons/annotation/Testable",
    "org/junit/platform/suite/api/Suite",
    "org/testng/annotations/Test",
    "org/testng/annotations/Factory",
    "net/jqwik/api/Property",
    "net/jqwik/api/Example",
    "com/tngtech/archunit/junit/ArchTest",
    "com/tngtech/archunit/junit/AnalyzeClasses",
];

/// Superclasses that make a test.
const TEST_BASES: &[&str] = &[
    "junit/framework/TestCase",
    "junit/framework/TestSuite",
    "spock/lang/Specification",
    "io/kotest/core/spec/Spec",
    "org/scalatest/Suite",
    "org/specs2/mutable/Specification",
    "munit/FunSuite",
];

struct Recogniser<'w> {
    definitions: &'w Definitions,
    annotations: FxHashMap<NameId, bool>,
    bases: FxHashSet<NameId>,
    naming: Rules,
}

/// The test classes of the test folders, outermost classes only, sorted by name.
pub fn tests(definitions: &Definitions) -> Vec<NameId> {
    let id = |name: &&str| definitions.names.find(name.as_bytes());
    let mut recogniser = Recogniser {
        definitions,
        annotations: TEST_ANNOTATIONS.iter().filter_map(id).map(|n| (n, true)).collect(),
        bases: TEST_BASES.iter().filter_map(id).collect(),
        naming: Rules::new(&definitions.naming),
    };
    let mut found: Vec<NameId> = definitions
        .nodes()
        .filter(|&n| {
            definitions
                .class(n)
                .is_some_and(|class| class.origin == Origin::Tests && recogniser.is_test(n, &class))
        })
        .map(|n| outermost(definitions, n))
        .collect();
    found.retain(|&n| !recogniser.naming.excludes(definitions.names.get(n)));
    found.sort_by(|&a, &b| definitions.names.get(a).cmp(definitions.names.get(b)));
    found.dedup();
    found
}

/// The class that a nested one belongs to.
fn outermost(definitions: &Definitions, id: NameId) -> NameId {
    let name = definitions.names.get(id);
    let simple = name.iter().rposition(|&b| b == b'/').map_or(0, |p| p + 1);
    name[simple..]
        .iter()
        .enumerate()
        .skip(1)
        .filter(|&(_, &b)| b == b'$')
        .filter_map(|(at, _)| definitions.names.find(&name[..simple + at]))
        .find(|&outer| definitions.class(outer).is_some())
        .unwrap_or(id)
}

impl Recogniser<'_> {
    fn is_test(&mut self, id: NameId, class: &Type<'_>) -> bool {
        let kinds = flags::ABSTRACT | flags::INTERFACE | flags::ANNOTATION | flags::MODULE;
        if class.facts.access & (kinds | flags::SYNTHETIC) != 0 {
            return false;
        }
        let name = self.definitions.names.get(id);
        if !name.contains(&b'$') && self.naming.includes(name) {
            return true;
        }
        if class.facts.problem.is_some() || class.facts.suite_method {
            // What could not be read may well be a test.
            return class.facts.suite_method || self.has_test_name(id);
        }
        let (mut seen, mut todo) = (FxHashSet::default(), vec![id]);
        let mut unknown = false;
        while let Some(next) = todo.pop() {
            if !seen.insert(next) {
                continue;
            }
            if self.bases.contains(&next) {
                return true;
            }
            let Some(class) = self.definitions.class(next) else {
                unknown |= !is_platform(self.definitions.names.get(next));
                continue;
            };
            for annotation in
                class.ids(List::ClassAnnotations).chain(class.ids(List::MemberAnnotations))
            {
                match self.makes_test(annotation, 0) {
                    Some(true) => return true,
                    Some(false) => {}
                    None => unknown = true,
                }
            }
            todo.extend(class.ids(List::Inherits));
        }
        unknown && self.has_test_name(id)
    }

    /// Whether an annotation makes a test; None where its type is not known.
    fn makes_test(&mut self, annotation: NameId, depth: u32) -> Option<bool> {
        if let Some(&known) = self.annotations.get(&annotation) {
            return Some(known);
        }
        let Some(class) = self.definitions.class(annotation) else {
            return is_platform(self.definitions.names.get(annotation)).then_some(false);
        };
        // Guards against annotations that carry each other.
        self.annotations.insert(annotation, false);
        let meta: Vec<NameId> = class.ids(List::ClassAnnotations).collect();
        let makes =
            depth < 16 && meta.into_iter().any(|m| self.makes_test(m, depth + 1) == Some(true));
        self.annotations.insert(annotation, makes);
        Some(makes)
    }

    fn has_test_name(&self, id: NameId) -> bool {
        let name = self.definitions.names.get(id);
        let simple = name.rsplit(|&b| b == b'/').next().unwrap_or(name);
        !simple.contains(&b'$')
            && (simple.starts_with(b"Test")
                || [&b"Test"[..], b"Tests", b"TestCase"].iter().any(|end| simple.ends_with(end)))
    }
}

/// Types of the JDK and of Kotlin and Scala themselves hold no tests.
fn is_platform(name: &[u8]) -> bool {
    [
        &b"java/"[..],
        b"javax/",
        b"jdk/",
        b"kotlin/",
        b"scala/",
        b"groovy/lang/",
        b"org/junit/",
        b"org/testng/",
    ]
    .iter()
    .any(|start| name.starts_with(start))
}
