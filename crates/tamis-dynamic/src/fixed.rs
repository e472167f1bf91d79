//! Static fields that hold no state, although their types could.
//!
//! - What a final field holds cannot change if the class of it cannot: a class of the project, with all
//!   subclasses that are loaded, whose fields are final and hold numbers, texts, or objects that cannot
//!   change; so are most enums.
//! - A collection or an array that the static initialiser makes and fills, and that does not change later, is a
//!   table. That it does not is seen in the code of all loaded classes: all of it only looks at the
//!   field, or hands it to static methods that only look at it.
//!
//! Not seen: reflection that writes into private fields or collections.

use crate::calls::Calls;
use crate::class::{Class, Field, SharedValue};
use crate::known::Known;
use rustc_hash::{FxHashMap, FxHashSet};
use tamis_classpath::names::{NameId, Names};

/// What is known of the loaded classes.
#[derive(Debug)]
pub(crate) struct Fixed<'c> {
    calls: &'c Calls,
    known: Known,
    inert: &'c FxHashSet<NameId>,
    subtypes: &'c FxHashMap<NameId, Vec<NameId>>,
    /// Static fields that somebody does more with than to look at them: declaring class and name.
    given_away: FxHashSet<(NameId, NameId)>,
    unchanging: FxHashMap<NameId, bool>,
}

/// A method and one of its parameters.
type Parameter = (NameId, NameId, u16);

impl<'c> Fixed<'c> {
    pub(crate) fn of(
        calls: &'c Calls,
        inert: &'c FxHashSet<NameId>,
        subtypes: &'c FxHashMap<NameId, Vec<NameId>>,
        names: &mut Names,
    ) -> Self {
        Self {
            calls,
            known: Known::new(names),
            inert,
            subtypes,
            given_away: given_away(calls),
            unchanging: FxHashMap::default(),
        }
    }

    /// Whether this static field of the class always gives the same, whoever used it before.
    pub(crate) fn is_fixed(&mut self, class: &Class, field: &Field) -> bool {
        if !field.is_final {
            return false;
        }
        let fresh = class.fresh.iter().find(|(name, _)| *name == field.name).map(|(_, f)| f);
        if let Some(fresh) = fresh {
            if fresh.is_empty && !fresh.can_change {
                return true;
            }
            let own = !fresh.can_change || !self.given_away.contains(&(class.name, field.name));
            return own && field.is_flat && self.has_unchanging_elements(field);
        }
        !field.is_array && field.holds.is_some_and(|held| self.is_unchanging(held))
    }

    fn has_unchanging_elements(&mut self, field: &Field) -> bool {
        if field.is_array {
            return field.holds.is_none_or(|element| self.is_unchanging(element));
        }
        field.is_closed
            && field.generic_arguments.is_empty()
            && field.arguments.iter().all(|&element| self.is_unchanging(element))
    }

    /// Whether no object of this type, or of a loaded subtype, can change.
    fn is_unchanging(&mut self, name: NameId) -> bool {
        if self.inert.contains(&name) {
            return true;
        }
        if let Some(&known) = self.unchanging.get(&name) {
            return known;
        }
        let Some(class) = self.calls.class(name) else { return false };
        // Those that refer to each other are so together, or none of them is.
        self.unchanging.insert(name, true);
        let mut below = self.subtypes.get(&name).cloned().unwrap_or_default().into_iter();
        let found = !class.is_interface
            && self.has_unchanging_fields(class)
            && below.all(|sub| self.is_unchanging(sub));
        self.unchanging.insert(name, found);
        if !found {
            // What was found with its help is found anew.
            self.unchanging.retain(|_, is| !*is);
        }
        found
    }

    fn has_unchanging_fields(&mut self, class: &Class) -> bool {
        class.fields.iter().filter(|f| !f.is_static).all(|field| {
            field.is_final
                && !field.is_array
                && field.holds.is_none_or(|held| self.is_unchanging(held))
        }) && class.inherits.iter().all(|&parent| match self.calls.class(parent) {
            Some(above) if above.is_interface => true,
            Some(above) => self.has_unchanging_fields(above),
            None => self.known.is_known(parent),
        })
    }
}

/// The static fields that are given away, directly or by a static method that they are handed to.
fn given_away(calls: &Calls) -> FxHashSet<(NameId, NameId)> {
    let mut lost: FxHashSet<Parameter> = FxHashSet::default();
    let mut handed: Vec<(Parameter, Parameter)> = Vec::new();
    let mut fields = FxHashSet::default();
    let mut fields_handed: Vec<((NameId, NameId), Parameter)> = Vec::new();
    let mut known: FxHashSet<(NameId, NameId)> = FxHashSet::default();
    for class in calls.classes() {
        for method in &class.methods {
            if method.is_static {
                known.insert((class.name, method.signature));
            }
            for value in &method.given_away {
                match *value {
                    SharedValue::Static(owner, name) => {
                        fields.insert(declared(calls, owner, name));
                    }
                    SharedValue::Parameter(slot) => {
                        lost.insert((class.name, method.signature, slot));
                    }
                }
            }
            for &(value, to) in &method.handed_on {
                match value {
                    SharedValue::Static(owner, name) => {
                        fields_handed.push((declared(calls, owner, name), to));
                    }
                    SharedValue::Parameter(slot) => {
                        handed.push(((class.name, method.signature, slot), to));
                    }
                }
            }
        }
    }
    let is_lost = |lost: &FxHashSet<Parameter>, to: &Parameter| {
        lost.contains(to) || !known.contains(&(to.0, to.1))
    };
    loop {
        let before = lost.len();
        for (from, to) in &handed {
            if is_lost(&lost, to) {
                lost.insert(*from);
            }
        }
        if lost.len() == before {
            break;
        }
    }
    fields.extend(fields_handed.iter().filter(|(_, to)| is_lost(&lost, to)).map(|(f, _)| *f));
    fields
}

/// The class that declares a static field which may be named by one that inherits it.
fn declared(calls: &Calls, owner: NameId, name: NameId) -> (NameId, NameId) {
    let mut todo = vec![owner];
    while let Some(class) = todo.pop() {
        let Some(found) = calls.class(class) else { continue };
        if found.fields.iter().any(|f| f.is_static && f.name == name) {
            return (class, name);
        }
        todo.extend(&found.inherits);
    }
    (owner, name)
}
