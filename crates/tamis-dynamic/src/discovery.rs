//! What a framework looks at before it runs any test.
//!
//! It loads all test classes and reads their methods and annotations. What it finds in one of them decides
//! about the tests of that one only, so it counts for no other: a method more in a test class must not
//! select all of them. This holds for test classes, what is nested in them and what they refer to, because
//! loading a class asks for its supertypes and, to verify it, for others that it refers to. And it holds as
//! long as nothing else of the project ran outside of tests, such as an extension or an orderer: that may
//! have looked at anything for any reason.

use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeSet;
use tamis_classpath::ClassIndex;

#[derive(Debug, Default)]
pub(crate) struct Discovery {
    /// Each test class with what is nested in it.
    tests: FxHashMap<String, Vec<String>>,
    /// All of them with what they lead to.
    classes: FxHashSet<String>,
}

impl Discovery {
    pub(crate) fn of<'t>(tests: impl IntoIterator<Item = &'t str>, index: &ClassIndex) -> Self {
        let mut tests: FxHashMap<String, Vec<String>> =
            tests.into_iter().map(|test| (outermost(test).to_owned(), Vec::new())).collect();
        for class in index.project_classes() {
            if let Some(nested) = tests.get_mut(outermost(class)) {
                nested.push(class.to_owned());
            }
        }
        let classes = closure(tests.values().flatten().cloned().collect(), index);
        Self { tests, classes }
    }

    pub(crate) fn add(&mut self, test: &str, index: &ClassIndex) {
        let outer = outermost(test);
        if !self.tests.contains_key(outer) {
            let nested = index.project_classes().filter(|class| outermost(class) == outer);
            let nested: Vec<String> = nested.map(str::to_owned).collect();
            self.classes.extend(closure(nested.clone(), index));
            self.tests.insert(outer.to_owned(), nested);
        }
    }

    /// Whether all these classes are of the tests, so that only discovery can have run.
    pub(crate) fn did_all<'c>(&self, mut ran: impl Iterator<Item = &'c str>) -> bool {
        ran.all(|class| self.classes.contains(class))
    }

    /// Leaves out what was asked for to find the tests of others.
    pub(crate) fn leave_out(&self, asked: &mut BTreeSet<String>, test: &str, index: &ClassIndex) {
        if asked.iter().any(|class| self.classes.contains(class)) {
            let nested = self.tests.get(outermost(test)).cloned().unwrap_or_default();
            let own = closure(nested, index);
            asked.retain(|class| !self.classes.contains(class) || own.contains(class));
        }
    }
}

/// Classes, what they refer to, and the supertypes of all of these.
fn closure(classes: Vec<String>, index: &ClassIndex) -> FxHashSet<String> {
    let mut todo: Vec<String> = classes.iter().flat_map(|class| index.uses(class)).collect();
    todo.extend(classes);
    let mut all = FxHashSet::default();
    while let Some(class) = todo.pop() {
        if !all.contains(&class) {
            todo.extend(index.header_names(&class));
            all.insert(class);
        }
    }
    all
}

/// The class that a class is nested in, or itself.
pub fn outermost(class: &str) -> &str {
    class.split('$').next().filter(|name| !name.is_empty()).unwrap_or(class)
}
