//! Objects: which there are, and those below a class.

use super::Flow;
use crate::program::{ClassId, ClassKind, MethodId, key};
use crate::solver::Node;
use rustc_hash::FxHashMap;

/// Places in one method that make objects of one class: beyond this many they are one.
const MANY_SITES: u32 = 25;

/// The objects that the program makes, as numbers; the first one is the unknown.
pub(super) struct Objects {
    /// The class of each object; the unknown has none.
    class_of: Vec<ClassId>,
    /// The one object of classes whose objects are not distinguished.
    by_class: FxHashMap<ClassId, u32>,
    /// How many objects of a class a method makes.
    site_counts: FxHashMap<u64, u32>,
    /// The nodes of all objects below a class, where somebody asks.
    below: FxHashMap<ClassId, Node>,
    /// Those of them that any object with a missing supertype belongs to.
    below_open: Vec<Node>,
}

impl Default for Objects {
    fn default() -> Self {
        Self {
            class_of: vec![u32::MAX],
            by_class: FxHashMap::default(),
            site_counts: FxHashMap::default(),
            below: FxHashMap::default(),
            below_open: Vec::new(),
        }
    }
}

impl Objects {
    pub(super) fn class_of(&self, object: u32) -> ClassId {
        self.class_of[object as usize]
    }

    fn add(&mut self, class: ClassId) -> u32 {
        self.class_of.push(class);
        self.class_of.len() as u32 - 1
    }

    /// Whether a method makes objects of a class in so many places that they are one, with this one.
    fn are_many(&mut self, method: MethodId, class: ClassId) -> bool {
        let count = self.site_counts.entry(key(method, class)).or_insert(0);
        *count += 1;
        *count > MANY_SITES
    }
}

impl Flow<'_, '_> {
    pub(super) fn new_object(&mut self, class: ClassId) -> u32 {
        let object = self.objects.add(class);
        let found = &self.program.classes[class as usize];
        let incomplete = found.incomplete;
        let nodes: Vec<Node> = found
            .supers
            .iter()
            .filter_map(|above| self.objects.below.get(above).copied())
            .collect();
        for node in nodes {
            self.solver.add(node, object);
        }
        if incomplete {
            for node in self.objects.below_open.clone() {
                self.solver.add(node, object);
            }
        }
        object
    }

    /// The one object of a class.
    pub(super) fn shared_object(&mut self, class: ClassId) -> u32 {
        if let Some(&known) = self.objects.by_class.get(&class) {
            return known;
        }
        let object = self.new_object(class);
        self.objects.by_class.insert(class, object);
        object
    }

    pub(super) fn made(&mut self, method: MethodId, class: ClassId) -> u32 {
        if !self.by_site || self.is_merged(class) || self.objects.are_many(method, class) {
            return self.shared_object(class);
        }
        self.new_object(class)
    }

    /// Classes whose objects are not worth telling apart.
    pub(super) fn is_merged(&self, class: ClassId) -> bool {
        let found = &self.program.classes[class as usize];
        if found.supers.binary_search(&self.program.known.throwable).is_ok() {
            return true;
        }
        if let ClassKind::Array(element) = found.kind {
            return element.is_none();
        }
        matches!(
            self.program.text(found.name),
            b"java/lang/String"
                | b"java/lang/StringBuilder"
                | b"java/lang/StringBuffer"
                | b"java/lang/Class"
                | b"java/lang/Integer"
                | b"java/lang/Long"
                | b"java/lang/Character"
                | b"java/lang/Short"
                | b"java/lang/Byte"
                | b"java/lang/Boolean"
                | b"java/lang/Double"
                | b"java/lang/Float"
        )
    }

    /// The node that holds all objects below a class.
    pub(super) fn below(&mut self, class: ClassId) -> Node {
        if let Some(&known) = self.objects.below.get(&class) {
            return known;
        }
        let node = self.solver.node();
        self.objects.below.insert(class, node);
        if self.program.is_open(class) {
            self.objects.below_open.push(node);
        }
        for object in 1..self.objects.class_of.len() as u32 {
            if self.program.is_subtype(self.objects.class_of(object), class) {
                self.solver.add(node, object);
            }
        }
        node
    }
}
