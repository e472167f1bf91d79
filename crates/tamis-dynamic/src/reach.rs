//! What methods can call, among those that ran.
//!
//! A call can arrive at a method of the same name and descriptor if some class is both of the class
//! that the call names and of the class that has the method: its own class, a subclass, or one that
//! inherits the method and implements the interface that is named. Static methods and constructors are
//! called by their own class's name or by that of a subclass. Calls of types that are not the project's
//! can arrive at project classes that extend such types. An object that is made can be called back by
//! code that is not seen: if it extends a type that is not the project's, all its methods that ran
//! count, or those that such types have, where they are all known ([`Known`]).

use crate::class::{Class, Method};
use crate::known::Known;
use roaring::RoaringBitmap;
use rustc_hash::{FxHashMap, FxHashSet};
use tamis_jvm::names::{NameId, Names};

/// Types that nobody calls an object by, but for what every object has.
pub(crate) const MARKERS: &[&[u8]] =
    &[b"java/lang/Object", b"java/io/Serializable", b"java/lang/Cloneable", b"java/lang/Record"];

/// The loaded classes of the project as a graph of calls.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    /// Probe to class (position in `classes`) and method.
    methods: FxHashMap<u32, (usize, usize)>,
    classes: Vec<(Class, u32)>,
    by_name: FxHashMap<NameId, usize>,
    by_signature: FxHashMap<NameId, Vec<u32>>,
}

impl Calls {
    /// Adds a class whose methods have the probes from `first` on.
    pub(crate) fn add(&mut self, class: Class, first: u32) {
        let at = self.classes.len();
        for (n, method) in class.methods.iter().enumerate() {
            let probe = first + n as u32;
            self.methods.insert(probe, (at, n));
            self.by_signature.entry(method.signature).or_default().push(probe);
        }
        self.by_name.entry(class.name).or_insert(at);
        self.classes.push((class, first));
    }

    pub(crate) fn classes(&self) -> impl Iterator<Item = &Class> + Clone {
        self.classes.iter().map(|(class, _)| class)
    }

    pub(crate) fn class(&self, name: NameId) -> Option<&Class> {
        self.by_name.get(&name).map(|&at| &self.classes[at].0)
    }

    pub(crate) fn method(&self, probe: u32) -> Option<(&Class, &Method)> {
        let &(class, method) = self.methods.get(&probe)?;
        let class = &self.classes[class].0;
        Some((class, &class.methods[method]))
    }

    /// The classes that a class inherits from, itself among them.
    pub(crate) fn parents_of<'k>(
        &self,
        kinds: &'k Kinds,
        class: NameId,
    ) -> impl Iterator<Item = NameId> + 'k {
        let at = self.by_name.get(&class).copied();
        at.into_iter().flat_map(|at| kinds.parents[at].iter().copied())
    }

    /// The probe of a class's static initialiser.
    pub(crate) fn initialiser(&self, class: NameId) -> Option<u32> {
        let (class, first) = &self.classes[*self.by_name.get(&class)?];
        let at = class.methods.iter().position(|m| m.is_initialiser)?;
        Some(first + at as u32)
    }

    /// The probes of a class's constructors.
    pub(crate) fn constructors(&self, class: NameId) -> impl Iterator<Item = u32> + '_ {
        let class = self.by_name.get(&class).map(|&at| &self.classes[at]);
        class.into_iter().flat_map(|(class, first)| {
            let methods = class.methods.iter().zip(*first..);
            methods.filter(|(method, _)| method.is_constructor).map(|(_, probe)| probe)
        })
    }

    /// Everything in `ran` that can be reached by calls from `roots`, the roots not included unless
    /// they are reached again.
    pub(crate) fn reach(
        &self,
        roots: impl Iterator<Item = u32>,
        ran: &RoaringBitmap,
        kinds: &Kinds,
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
    fn called_back<'k>(&'k self, kinds: &'k Kinds, at: usize) -> impl Iterator<Item = u32> + 'k {
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
    pub(crate) fn can_arrive(&self, kinds: &Kinds, owner: NameId, target: u32) -> bool {
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

    /// How the classes of now are related. A class is offered before its superclass, so this is known
    /// only when it is asked for.
    pub(crate) fn kinds(&self, names: &Names) -> Kinds {
        let parents: Vec<FxHashSet<NameId>> =
            (0..self.classes.len()).map(|at| self.parents(at)).collect();
        let mut seen_as = parents.clone();
        for (below, all) in parents.iter().enumerate() {
            for above in all.iter().filter_map(|name| self.by_name.get(name)) {
                if *above != below {
                    seen_as[*above].extend(all.iter().copied());
                }
            }
        }
        let is_foreign = |name: &NameId| {
            !self.by_name.contains_key(name) && !MARKERS.contains(&names.get(*name))
        };
        let known = Known::new(names);
        let foreign_of = |all: &FxHashSet<NameId>| all.iter().copied().filter(is_foreign).collect();
        let foreign: Vec<Vec<NameId>> = parents.iter().map(foreign_of).collect();
        let seen_as_foreign: Vec<Vec<NameId>> = seen_as.iter().map(foreign_of).collect();
        let are_known = |all: &Vec<NameId>| all.iter().all(|&c| known.is_known(c));
        let above = |all: &Vec<NameId>| known.all_above(all, names);
        let name_of = |&signature: &NameId| {
            let text = names.get(signature);
            let end = text.iter().position(|&b| b == b'(').unwrap_or(text.len());
            (signature, text[..end].to_vec())
        };
        Kinds {
            all_known: foreign.iter().map(are_known).collect(),
            seen_as_foreign: seen_as_foreign
                .iter()
                .map(|all| are_known(all).then(|| above(all)))
                .collect(),
            method_names: self.by_signature.keys().map(name_of).collect(),
            foreign,
            parents,
            seen_as,
            object: names.find(b"java/lang/Object"),
            known,
        }
    }

    /// A class and all that it inherits from, as far as classes of the project say.
    fn parents(&self, at: usize) -> FxHashSet<NameId> {
        let mut all = FxHashSet::from_iter([self.classes[at].0.name]);
        let mut todo = vec![at];
        while let Some(at) = todo.pop() {
            let new = self.classes[at].0.inherits.iter().filter(|parent| all.insert(**parent));
            todo.extend(new.filter_map(|parent| self.by_name.get(parent)));
        }
        all
    }
}

/// The loaded classes of the project as types, by their position.
#[derive(Debug, Default)]
pub(crate) struct Kinds {
    /// Itself and what it inherits from.
    parents: Vec<FxHashSet<NameId>>,
    /// Everything that an object can be seen as which has this class's methods.
    seen_as: Vec<FxHashSet<NameId>>,
    /// The types among `parents` that are not the project's.
    foreign: Vec<Vec<NameId>>,
    /// Whether it is known what those have.
    all_known: Vec<bool>,
    /// All types that are not the project's among `seen_as` and above those; `None` where not all are
    /// known.
    seen_as_foreign: Vec<Option<FxHashSet<NameId>>>,
    method_names: FxHashMap<NameId, Vec<u8>>,
    object: Option<NameId>,
    known: Known,
}

impl Kinds {
    /// Whether an object with this class's methods can be seen as a type that is not the project's.
    fn can_be_foreign(&self, at: usize, owner: NameId) -> bool {
        self.seen_as_foreign[at].as_ref().is_none_or(|all| all.contains(&owner))
    }
}
