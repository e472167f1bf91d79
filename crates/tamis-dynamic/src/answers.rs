//! Facts about classes, each made and answered once for all tests of a JVM.
//!
//! Hundreds of tests depend on the same thousands of classes and methods: what counts for a test is put
//! together from numbers, and texts are made when a fact is met for the first time.

use crate::facts::{Fact, FactKind, answer};
use crate::library_calls;
use crate::shelves::Shelves;
use roaring::RoaringBitmap;
use rustc_hash::FxHashMap;
use std::sync::Arc;
use tamis_classfile::mutf8;
use tamis_classpath::ClassIndex;
use tamis_classpath::names::{NameId, Names, dotted};
use tamis_core::Value;

/// A fact with what the classpath says to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answered {
    pub kind: FactKind,
    /// The fact as a text.
    pub text: Arc<str>,
    pub value: Value,
}

impl Answered {
    /// A fact about classes, in the suite whose classpath this is.
    pub fn new(index: &ClassIndex, scope: &str, kind: FactKind) -> Self {
        let value = answer(index, &kind).unwrap_or(Value::Absent);
        let fact = Fact { scope: scope.to_owned(), kind };
        Self { text: fact.to_string().into(), kind: fact.kind, value }
    }
}

/// Facts that count for a test.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts(Vec<Arc<Answered>>);

impl Facts {
    pub fn iter(&self) -> impl Iterator<Item = &Answered> {
        self.0.iter().map(Arc::as_ref)
    }

    /// What the classpath says to this one, if it is among them.
    pub fn get(&self, kind: &FactKind) -> Option<Value> {
        self.iter().find(|fact| fact.kind == *kind).map(|fact| fact.value)
    }
}

impl FromIterator<Answered> for Facts {
    fn from_iter<I: IntoIterator<Item = Answered>>(facts: I) -> Self {
        Self(facts.into_iter().map(Arc::new).collect())
    }
}

/// A class by its name, as the classpath knows it.
#[derive(Debug)]
pub(crate) struct Named {
    pub(crate) place: OnPath,
    /// The names that its header leads to.
    pub(crate) header_names: Box<[NameId]>,
    /// Whether it is, or a library uses in it, the JDK's resource bundles.
    pub(crate) uses_bundles: bool,
    /// The shelves that it can get something from, of a library's class.
    pub(crate) asks: Shelves,
    /// What a test that touches it depends on: its header, or all of a library's class.
    pub(crate) fact: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OnPath {
    Project,
    /// The position of its jar.
    Library(u32),
    /// Only the JDK may define it.
    Jdk,
    Missing,
}

#[derive(Debug)]
pub(crate) struct Answers {
    index: Arc<ClassIndex>,
    scope: String,
    all: Vec<Arc<Answered>>,
    numbers: FxHashMap<FactKind, u32>,
    classes: FxHashMap<NameId, Named>,
    /// The facts of methods, by their probes; `None` for those of libraries and the like.
    pub(crate) bodies: FxHashMap<u32, Option<u32>>,
    /// Bundles in jars that anybody asked for so far.
    pub(crate) bundles: RoaringBitmap,
}

impl Answers {
    pub(crate) fn new(index: Arc<ClassIndex>, scope: &str) -> Self {
        Self {
            index,
            scope: scope.to_owned(),
            all: Vec::new(),
            numbers: FxHashMap::default(),
            classes: FxHashMap::default(),
            bodies: FxHashMap::default(),
            bundles: RoaringBitmap::new(),
        }
    }

    /// The number of a fact.
    pub(crate) fn number(&mut self, kind: FactKind) -> u32 {
        let Self { index, scope, all, .. } = self;
        *self.numbers.entry(kind).or_insert_with_key(|kind| {
            all.push(Arc::new(Answered::new(index, scope, kind.clone())));
            all.len() as u32 - 1
        })
    }

    /// A fact as a text.
    pub(crate) fn text(&self, number: u32) -> Arc<str> {
        Arc::clone(&self.all[number as usize].text)
    }

    pub(crate) fn facts(&self, numbers: impl IntoIterator<Item = u32>) -> Facts {
        Facts(numbers.into_iter().map(|number| Arc::clone(&self.all[number as usize])).collect())
    }

    pub(crate) fn class(&mut self, id: NameId, names: &mut Names) -> &Named {
        if !self.classes.contains_key(&id) {
            let named = self.look_up(&dotted(names.get(id)), names);
            self.classes.insert(id, named);
        }
        &self.classes[&id]
    }

    fn look_up(&mut self, name: &str, names: &mut Names) -> Named {
        let index = Arc::clone(&self.index);
        let place = match index.find_dotted(name) {
            Some(found) if found.is_project => OnPath::Project,
            Some(found) => OnPath::Library(found.entry),
            None if is_jdk(name) => OnPath::Jdk,
            None => OnPath::Missing,
        };
        let is_bundle = |name: &str| name == "java.util.ResourceBundle";
        let in_library = matches!(place, OnPath::Library(_));
        let kind = if in_library { FactKind::Whole } else { FactKind::Header };
        Named {
            place,
            header_names: index.header_names(name).iter().map(|n| class_id(n, names)).collect(),
            uses_bundles: is_bundle(name)
                || in_library && index.uses(name).iter().any(|name| is_bundle(name)),
            asks: if in_library { library_calls::asks(&index, name, &index.uses(name)) } else { 0 },
            fact: self.number(kind(name.to_owned())),
        }
    }
}

/// The number of a class's name, `com.acme.Thing`.
pub(crate) fn class_id(class: &str, names: &mut Names) -> NameId {
    names.intern(&mutf8::encode(&class.replace('.', "/")))
}

/// The same, of a name that is known.
pub(crate) fn known_class_id(class: &str, names: &Names) -> Option<NameId> {
    names.find(&mutf8::encode(&class.replace('.', "/")))
}

/// Packages that only the JDK may define.
fn is_jdk(class: &str) -> bool {
    ["java.", "jdk.", "sun."].iter().any(|p| class.starts_with(p))
        || !class.contains(char::is_alphanumeric)
}
