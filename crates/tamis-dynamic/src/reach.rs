//! What methods can call, among those that ran.
//!
//! A call can arrive at a method of the same name and descriptor if some class is both of the class
//! that the call names and of the class that has the method: its own class, a subclass, or one that
//! inherits the method and implements the interface that is named. Static methods and constructors are
//! called by their own class's name or by that of a subclass. Calls of types that are not the project's
//! can arrive at project classes that extend such types. An object that is made can be called back by
//! code that is not seen: if it extends a type that is not the project's, all its methods that ran
//! count, or those that such types have, where they are all known ([`Known`](crate::known::Known)).

use crate::calls::Calls;
use crate::loaded_types::LoadedTypes;
use roaring::RoaringBitmap;
use rustc_hash::FxHashSet;
use tamis_classpath::names::NameId;

impl Calls {
    /// The classes that a class inherits from, itself among them.
    pub(crate) fn parents_of<'k>(
        &self,
        kinds: &'k LoadedTypes,
        class: NameId,
    ) -> impl Iterator<Item = NameId> + 'k {
        let at = self.by_name.get(&class).copied();
        at.into_iter().flat_map(|at| kinds.parents[at].iter().copied())
    }

    /// Everything in `ran` that can be reached by calls from `roots`, the roots not included unless
    /// they are reached again.
    pub(crate) fn reach(
        &self,
        roots: impl Iterator<Item = u32>,
        ran: &RoaringBitmap,
        kinds: &LoadedTypes,
    ) -> RoaringBitmap {
        let mut reached = RoaringBitmap::new();
        let mut seen_calls = FxHashSet::default();
        let mut made = FxHashSet::default();
        let mut todo: Vec<u32> = roots.collect();
        while let Some(probe) = todo.pop() {
            let Some((_, method)) = self.method(probe) else { continue };
            for &(owner, signature) in &method.calls {
                if !seen_calls.insert((owner, signature)) {
                    continue;
                }
                for &target in self.by_signature.get(&signature).into_iter().flatten() {
                    if ran.contains(target)
                        && self.can_arrive(kinds, owner, target)
                        && reached.insert(target)
                    {
                        todo.push(target);
                    }
                }
            }
            for &class in &method.makes {
                let Some(&at) = self.by_name.get(&class) else { continue };
                if !made.insert(at) {
                    continue;
                }
                for target in self.called_back(kinds, at) {
                    if ran.contains(target) && reached.insert(target) {
                        todo.push(target);
                    }
                }
            }
        }
        reached
    }

    /// The methods of an object of this class that code which is not seen can call: those that a type
    /// which is not the project's declares, as far as such types are known.
    fn called_back<'k>(
        &'k self,
        kinds: &'k LoadedTypes,
        at: usize,
    ) -> impl Iterator<Item = u32> + 'k {
        let foreign = &kinds.foreign[at];
        let families = kinds.parents[at].iter().filter(|_| !foreign.is_empty());
        let classes = families.filter_map(|name| self.by_name.get(name)).map(|&c| &self.classes[c]);
        classes.flat_map(move |(class, first)| {
            let methods = class.methods.iter().zip(*first..);
            methods.filter_map(move |(method, probe)| {
                let name = &kinds.method_names[&method.signature];
                let can = !method.is_static
                    && !method.is_constructor
                    && (!kinds.all_known[at] || kinds.known.calls_back(foreign, name));
                can.then_some(probe)
            })
        })
    }

    /// Whether a call that names this class can arrive at a method of the same signature.
    pub(crate) fn can_arrive(&self, kinds: &LoadedTypes, owner: NameId, target: u32) -> bool {
        let Some(&(at, method)) = self.methods.get(&target) else { return false };
        let (class, _) = &self.classes[at];
        let method = &class.methods[method];
        if method.is_constructor {
            return class.name == owner;
        }
        if method.is_static {
            let named = self.by_name.get(&owner);
            return named.is_some_and(|&named| kinds.parents[named].contains(&class.name));
        }
        kinds.seen_as[at].contains(&owner)
            || (!self.by_name.contains_key(&owner)
                && !kinds.known.is_final(owner)
                && (Some(owner) == kinds.object || kinds.can_be_foreign(at, owner)))
    }
}
