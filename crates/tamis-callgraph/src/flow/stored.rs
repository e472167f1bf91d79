//! The sets of what lies in fields and arrays, and of what is thrown.

use super::Flow;
use crate::program::FieldId;
use crate::solver::{Node, OUTSIDE};
use rustc_hash::FxHashMap;

/// Where objects lie that are in no variable.
pub(super) struct Stored {
    /// By object and field.
    fields: FxHashMap<u64, Node>,
    /// The elements of an array object.
    elements: FxHashMap<u32, Node>,
    /// Everything that is thrown anywhere.
    pub(super) thrown: Node,
}

impl Stored {
    pub(super) fn new(thrown: Node) -> Self {
        Self { fields: FxHashMap::default(), elements: FxHashMap::default(), thrown }
    }
}

impl Flow<'_, '_> {
    /// The set of a field: of all objects (0-CFA), of no object in particular (static, or opened).
    pub(super) fn field(&mut self, field: FieldId) -> Node {
        self.field_of(OUTSIDE, field)
    }

    pub(super) fn field_of(&mut self, object: u32, field: FieldId) -> Node {
        let place = u64::from(object) << 32 | u64::from(field);
        if let Some(&known) = self.stored.fields.get(&place) {
            return known;
        }
        let node = self.solver.node();
        self.stored.fields.insert(place, node);
        if object == OUTSIDE && self.program.fields.is_open(field) {
            self.add_unknown(node);
        }
        node
    }

    pub(super) fn elements(&mut self, object: u32) -> Node {
        if let Some(&known) = self.stored.elements.get(&object) {
            return known;
        }
        let node = self.solver.node();
        self.stored.elements.insert(object, node);
        node
    }
}
