//! Objects, and the sets of their fields and elements.

use super::{Flow, MANY_SITES};
use crate::program::{ClassId, ClassKind, FieldId, MethodId, key};
use crate::solver::{Node, OUTSIDE};

impl Flow<'_, '_> {
    pub(super) fn new_object(&mut self, class: ClassId) -> u32 {
        let object = self.class_of.len() as u32;
        self.class_of.push(class);
        let found = &self.program.classes[class as usize];
        let incomplete = found.incomplete;
        let nodes: Vec<Node> =
            found.supers.iter().filter_map(|above| self.below.get(above).copied()).collect();
        for node in nodes {
            self.solver.add(node, object);
        }
        if incomplete {
            for node in self.below_open.clone() {
                self.solver.add(node, object);
            }
        }
        object
    }

    /// The one object of a class.
    pub(super) fn shared_object(&mut self, class: ClassId) -> u32 {
        if let Some(&known) = self.by_class.get(&class) {
            return known;
        }
        let object = self.new_object(class);
        self.by_class.insert(class, object);
        object
    }

    pub(super) fn made(&mut self, method: MethodId, class: ClassId) -> u32 {
        if !self.by_site || self.is_merged(class) {
            return self.shared_object(class);
        }
        let count = self.site_counts.entry(key(method, class)).or_insert(0);
        *count += 1;
        if *count > MANY_SITES {
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
        if let Some(&known) = self.below.get(&class) {
            return known;
        }
        let node = self.solver.node();
        self.below.insert(class, node);
        if self.program.is_open(class) {
            self.below_open.push(node);
        }
        for object in 1..self.class_of.len() as u32 {
            if self.program.is_subtype(self.class_of[object as usize], class) {
                self.solver.add(node, object);
            }
        }
        node
    }

    /// The set of a field: of all objects (0-CFA), of no object in particular (static, or opened).
    pub(super) fn field(&mut self, field: FieldId) -> Node {
        self.field_of(OUTSIDE, field)
    }

    pub(super) fn field_of(&mut self, object: u32, field: FieldId) -> Node {
        let place = u64::from(object) << 32 | u64::from(field);
        if let Some(&known) = self.fields.get(&place) {
            return known;
        }
        let node = self.solver.node();
        self.fields.insert(place, node);
        if object == OUTSIDE && self.program.fields[field as usize].open {
            self.add_unknown(node);
        }
        node
    }

    pub(super) fn elements(&mut self, object: u32) -> Node {
        if let Some(&known) = self.elements.get(&object) {
            return known;
        }
        let node = self.solver.node();
        self.elements.insert(object, node);
        node
    }
}
