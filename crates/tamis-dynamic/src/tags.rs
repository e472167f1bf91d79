//! The tags of a test class: what a user may call it by in the settings.
//!
//! - the types of its annotations and of those of its members, full and short names, and the classes
//!   that they name (`@Category(Slow.class)`);
//! - the texts of `@Tag("slow")` and of the groups of TestNG.
//!
//! Those of its supertypes, of its nested classes, and of annotations on its annotations are its own.
//! Texts are taken from all constants of a class that carries such an annotation, classes from all that
//! it refers to: rather one too many.

use std::collections::BTreeSet;
use tamis_classfile::{ClassFile, Tag, mutf8};
use tamis_classpath::ClassIndex;

/// Annotations whose text names tags.
const WITH_TEXT: [&str; 3] =
    ["org.junit.jupiter.api.Tag", "org.junit.jupiter.api.Tags", "org.testng.annotations.Test"];

/// All that this class can be called by as a tag.
pub fn tags(index: &ClassIndex, class: &str) -> BTreeSet<String> {
    let nested = format!("{class}$");
    let of_test = |name: &&str| *name == class || name.starts_with(&nested);
    let mut open: Vec<String> =
        index.project_classes().filter(of_test).map(str::to_owned).collect();
    let mut seen: BTreeSet<String> = open.iter().cloned().collect();
    let mut tags = BTreeSet::new();
    while let Some(name) = open.pop() {
        let (inherited, used) = (index.header_names(&name), index.uses(&name));
        if inherited.iter().any(|n| WITH_TEXT.contains(&n.as_str())) {
            tags.extend(texts(index, &name));
        }
        // The classes that annotations name stand among all that it refers to.
        for other in inherited.iter().chain(&used) {
            tags.insert(other.rsplit(['.', '$']).next().unwrap_or(other).to_owned());
            tags.insert(other.clone());
        }
        for name in inherited {
            let is_project = index.find_dotted(&name).is_some_and(|found| found.is_project);
            if is_project && seen.insert(name.clone()) {
                open.push(name);
            }
        }
    }
    tags
}

const TESTNG: &str = "org.testng.annotations.Test";

/// A test class of TestNG whose tests need those of other classes to run before them, by groups or by the full
/// names of methods: without these classes TestNG runs nothing at all.
pub fn needs_others(index: &ClassIndex) -> Option<&str> {
    index.find_dotted(TESTNG)?;
    let is_of_testng = |class: &&str| index.header_names(class).iter().any(|n| n == TESTNG);
    index.project_classes().filter(is_of_testng).find(|class| {
        let texts = texts(index, class);
        let is_method = |text: &String| {
            let owner = text.rsplit_once('.').map(|(owner, _)| owner);
            owner.is_some_and(|o| o != *class && index.find_dotted(o).is_some_and(|f| f.is_project))
        };
        texts.contains("dependsOnGroups")
            || texts.contains("dependsOnMethods") && texts.iter().any(is_method)
    })
}

/// All texts among the constants of a class of the project. One that cannot be read has none: the
/// decision about it is not made here.
fn texts(index: &ClassIndex, class: &str) -> BTreeSet<String> {
    let Some(found) = index.find_dotted(class) else { return BTreeSet::new() };
    let file = found.path.join(format!("{}.class", class.replace('.', "/")));
    let bytes = std::fs::read(file).unwrap_or_default();
    let Ok(parsed) = ClassFile::parse(&bytes) else { return BTreeSet::new() };
    let texts = parsed.pool.entries().filter(|(_, tag)| *tag == Tag::Utf8);
    texts
        .filter_map(|(at, _)| parsed.pool.utf8(at).ok())
        .map(|t| mutf8::decode(t).into_owned())
        .collect()
}
