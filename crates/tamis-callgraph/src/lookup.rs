//! Which method a call means, and which types are subtypes of which.

use crate::program::{ClassId, ClassKind, FieldId, MethodId, NONE, Program, SelectorId, key};
use tamis_classfile::flags;

impl Program<'_> {
    /// Whether objects of `class` can stand where `above` is asked for. With missing classes in
    /// between the answer is yes.
    pub(crate) fn is_subtype(&self, class: ClassId, above: ClassId) -> bool {
        let found = &self.classes[class as usize];
        if found.supers.binary_search(&above).is_ok() {
            return true;
        }
        found.incomplete && self.is_open(above)
    }

    /// Whether a class is missing, or an array of missing ones.
    pub(crate) fn is_open(&self, class: ClassId) -> bool {
        match self.classes[class as usize].kind {
            ClassKind::Missing => class != self.known.object,
            ClassKind::Array(Some(element)) => self.is_open(element),
            _ => false,
        }
    }

    /// The method that a static or special call means: the first one above, interfaces last.
    pub(crate) fn resolve(&self, class: ClassId, selector: SelectorId) -> Option<MethodId> {
        let mut at = Some(class);
        let mut steps = 0;
        while let Some(here) = at {
            if let Some(&found) = self.method_numbers.declared.get(&key(here, selector)) {
                return Some(found);
            }
            steps += 1;
            if steps > 1_000 {
                break;
            }
            at = self.classes[here as usize].super_class;
        }
        self.in_interfaces(class, selector, false)
    }

    /// Whether a class declares a private method of this name.
    pub(crate) fn is_private(&self, class: ClassId, selector: SelectorId) -> bool {
        let declared = self.method_numbers.declared.get(&key(class, selector));
        declared.is_some_and(|&method| self.methods[method as usize].is(flags::PRIVATE))
    }

    /// The method that a virtual call runs on an object of just this class.
    pub(crate) fn dispatch(&mut self, class: ClassId, selector: SelectorId) -> Option<MethodId> {
        let place = key(class, selector);
        if let Some(&known) = self.method_numbers.dispatched.get(&place) {
            return (known != NONE).then_some(known);
        }
        let found = self.search(class, selector);
        self.method_numbers.dispatched.insert(place, found.unwrap_or(NONE));
        found
    }

    fn search(&self, class: ClassId, selector: SelectorId) -> Option<MethodId> {
        let mut at = Some(class);
        let mut steps = 0;
        while let Some(here) = at {
            if let Some(&found) = self.method_numbers.declared.get(&key(here, selector)) {
                let method = &self.methods[found as usize];
                // A private method overrides nothing; found in the class itself it is what was meant.
                if !method.is(flags::STATIC) && (!method.is(flags::PRIVATE) || here == class) {
                    return (!method.is(flags::ABSTRACT)).then_some(found);
                }
            }
            steps += 1;
            if steps > 1_000 {
                return None;
            }
            at = self.classes[here as usize].super_class;
        }
        self.in_interfaces(class, selector, true)
    }

    /// The most specific method of an interface above a class.
    fn in_interfaces(
        &self,
        class: ClassId,
        selector: SelectorId,
        with_body: bool,
    ) -> Option<MethodId> {
        let mut best: Option<MethodId> = None;
        for &above in &self.classes[class as usize].supers {
            if !self.classes[above as usize].is(flags::INTERFACE) {
                continue;
            }
            let Some(&found) = self.method_numbers.declared.get(&key(above, selector)) else {
                continue;
            };
            let method = &self.methods[found as usize];
            let useless = method.is(flags::STATIC | flags::PRIVATE) || method.is(flags::ABSTRACT);
            if with_body && useless {
                continue;
            }
            let better = best.is_none_or(|b| {
                let holder = self.methods[b as usize].class;
                self.classes[above as usize].supers.binary_search(&holder).is_ok()
            });
            if better {
                best = Some(found);
            }
        }
        best
    }

    /// The field that an access means. One that no class declares is taken to stand where it is asked
    /// for.
    pub(crate) fn resolve_field(&mut self, class: ClassId, selector: SelectorId) -> FieldId {
        if let Some(field) = self.fields.find(class, selector) {
            return field;
        }
        let supers = &self.classes[class as usize].supers;
        let mut candidates: Vec<ClassId> = supers
            .iter()
            .copied()
            .filter(|&above| self.fields.find(above, selector).is_some())
            .collect();
        // The nearest one: the one that is below all others.
        candidates.sort_by_key(|&c| std::cmp::Reverse(self.classes[c as usize].supers.len()));
        match candidates.first().and_then(|&holder| self.fields.find(holder, selector)) {
            Some(field) => {
                self.fields.inherit(class, selector, field);
                field
            }
            None => self.fields.declare(class, selector, true),
        }
    }

    /// What the first use of a class runs: its static initialiser and those above it, and the values of an
    /// enum.
    pub(crate) fn initialisers(&self, class: ClassId) -> Vec<MethodId> {
        let found = &self.classes[class as usize];
        let own = found.is(flags::INTERFACE);
        let mut out: Vec<MethodId> = self.values_of_enum(class).into_iter().collect();
        for &above in &found.supers {
            let type_above = &self.classes[above as usize];
            let Some(initialiser) = type_above.initialiser else { continue };
            // An interface is initialised with a class only where it has a default method.
            let counts = above == class
                || (!own && (!type_above.is(flags::INTERFACE) || self.has_default(above)));
            if counts {
                out.push(initialiser);
            }
        }
        out
    }

    fn has_default(&self, interface: ClassId) -> bool {
        self.classes[interface as usize]
            .methods
            .clone()
            .any(|m| !self.methods[m as usize].is(flags::STATIC | flags::ABSTRACT | flags::PRIVATE))
    }

    /// A class and all that was read so far below it.
    pub(crate) fn below(&self, class: ClassId) -> Vec<ClassId> {
        let mut seen = rustc_hash::FxHashSet::default();
        let mut todo = vec![class];
        let mut out = Vec::new();
        while let Some(next) = todo.pop() {
            if seen.insert(next) {
                out.push(next);
                todo.extend_from_slice(&self.classes[next as usize].subtypes);
            }
        }
        out
    }
}
