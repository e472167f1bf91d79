//! What methods can call, among those that ran.
//!
//! A call can arrive at a method of the same name and descriptor if some class is both of the class
//! that the call names and of the class that has the method: its own class, a subclass, or one that
//! inherits the method and implements the interface that is named. Static methods and constructors are
//! called by their own class's name or by that of a subclass. Calls of types that are not the project's
//! can arrive at project classes that extend such types. An object that is made can be called back by
//! code that is not seen: if it extends a type that is not the project's, all its methods that ran
//! count, or those that such types have, where they are all known ([`Known`](crate::known::Known)).

//!
//! A call by an interface's name can arrive at every lambda and method reference with such a method whose
//! maker ran in this JVM, wherever its object was kept in between; so can a call of code that is not the
//! project's to which such an object may be handed, judged by the types of its parameters.

use crate::calls::Calls;
use crate::class::Method;
use crate::loaded_types::LoadedTypes;
use crate::trail::{From, Rule, Trail};
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
        trail: &mut Trail,
    ) -> RoaringBitmap {
        let mut search = Reach::new((self, kinds, ran), roots.collect(), trail);
        while let Some(probe) = search.todo.pop() {
            let Some((_, method)) = self.method(probe) else { continue };
            search.from = From::Method(probe);
            search.follow(method);
        }
        search.reached
    }

    /// The methods in `ran` that a call of this method can arrive at.
    pub(crate) fn targets<'k>(
        &'k self,
        kinds: &'k LoadedTypes,
        (owner, signature): (NameId, NameId),
        ran: &'k RoaringBitmap,
    ) -> impl Iterator<Item = u32> + 'k {
        let targets = self.by_signature.get(&signature).into_iter().flatten().copied();
        targets.filter(move |&to| ran.contains(to) && self.can_arrive(kinds, owner, to))
    }

    /// The methods of an object of this class that code which is not seen can call: those that a type
    /// which is not the project's declares, as far as such types are known.
    pub(crate) fn called_back<'k>(
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

    /// Whether an object of a lambda with this interface can be behind a call by another one's name.
    fn can_be_called_by(&self, kinds: &LoadedTypes, owner: NameId, interface: NameId) -> bool {
        match (self.position(interface), self.position(owner)) {
            _ if owner == interface => true,
            (None, None) => true,
            // A type that is not the project's knows none of the project's.
            (None, Some(_)) => false,
            (Some(at), Some(_)) => kinds.parents[at].contains(&owner),
            (Some(at), None) => !kinds.foreign[at].is_empty(),
        }
    }

    /// Whether a call that names this class can arrive at a method of the same signature.
    pub(crate) fn can_arrive(&self, kinds: &LoadedTypes, owner: NameId, target: u32) -> bool {
        let Some((at, method)) = self.place(target) else { return false };
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

/// A search for all that can be called.
struct Reach<'c> {
    calls: &'c Calls,
    kinds: &'c LoadedTypes,
    ran: &'c RoaringBitmap,
    reached: RoaringBitmap,
    todo: Vec<u32>,
    called: FxHashSet<(NameId, NameId)>,
    called_by_interface: FxHashSet<(NameId, NameId)>,
    handed: FxHashSet<NameId>,
    made: FxHashSet<usize>,
    trail: &'c mut Trail,
    /// The method that is being followed.
    from: From,
}

impl<'c> Reach<'c> {
    fn new(
        (calls, kinds, ran): (&'c Calls, &'c LoadedTypes, &'c RoaringBitmap),
        todo: Vec<u32>,
        trail: &'c mut Trail,
    ) -> Self {
        Self {
            calls,
            kinds,
            ran,
            reached: RoaringBitmap::new(),
            todo,
            called: FxHashSet::default(),
            called_by_interface: FxHashSet::default(),
            handed: FxHashSet::default(),
            made: FxHashSet::default(),
            trail,
            from: From::Nothing,
        }
    }

    fn follow(&mut self, method: &Method) {
        for &(owner, signature) in &method.calls {
            self.call(owner, signature, Rule::Called);
            // What is called there can call other methods of the same object.
            if self.calls.position(owner).is_none() && self.handed.insert(owner) {
                self.hand(owner);
            }
        }
        for &(owner, called_as) in &method.links.interface_calls {
            if self.called_by_interface.insert((owner, called_as)) {
                for (lambda, maker) in self.calls.lambdas(called_as) {
                    if self.ran.contains(*maker)
                        && self.calls.can_be_called_by(self.kinds, owner, lambda.interface)
                    {
                        self.call(lambda.runs.0, lambda.runs.1, Rule::CalledAsLambda);
                    }
                }
            }
        }
        for &(owner, interface) in &method.links.hands {
            if self.calls.position(owner).is_none() && self.handed.insert(interface) {
                self.hand(interface);
            }
        }
        for &class in &method.makes {
            if let Some(at) = self.calls.position(class) {
                self.make(at);
            }
        }
    }

    fn call(&mut self, owner: NameId, signature: NameId, rule: Rule) {
        if self.called.insert((owner, signature)) {
            for &target in self.calls.by_signature.get(&signature).into_iter().flatten() {
                if self.ran.contains(target) && self.calls.can_arrive(self.kinds, owner, target) {
                    self.arrive(target, rule);
                }
            }
        }
    }

    /// An object with this interface is given to code that is not seen.
    fn hand(&mut self, interface: NameId) {
        for (lambda, maker) in self.calls.lambdas_of(interface) {
            if self.ran.contains(*maker) {
                self.call(lambda.runs.0, lambda.runs.1, Rule::CalledAsLambda);
            }
        }
        if self.calls.position(interface).is_none() && self.kinds.is_interface_of_others(interface)
        {
            for at in self.kinds.below(interface) {
                self.make(at);
            }
        }
    }

    fn make(&mut self, at: usize) {
        if self.made.insert(at) {
            for target in self.calls.called_back(self.kinds, at) {
                if self.ran.contains(target) {
                    self.arrive(target, Rule::OfObject);
                }
            }
        }
    }

    fn arrive(&mut self, target: u32, rule: Rule) {
        if self.reached.insert(target) {
            self.trail.step(target, rule, self.from);
            self.todo.push(target);
        }
    }
}
