//! What methods can call, among those that ran.
//!
//! A call can arrive at a method of the same name and descriptor if some class is both of the class
//! that the call names and of the class that has the method: its own class, a subclass, or one that
//! inherits the method and implements the interface that is named. Static methods and constructors are
//! called by their own class's name or by that of a subclass. Calls of types that are not the project's
//! can arrive at project classes that extend such types. An object that is made can be called back by
//! code that is not seen: if it extends a type that is not the project's, all its methods that ran
//! count, or those that such types have, where they are all known ([`Known`](crate::known::Known)).

use crate::class::{Class, Method};
use crate::loaded_types::LoadedTypes;
use roaring::RoaringBitmap;
use rustc_hash::{FxHashMap, FxHashSet};
use tamis_classpath::names::{NameId, Names};

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
    /// Signatures to those who call them: the class that they name, and the caller's probe.
    callers: FxHashMap<NameId, Vec<(NameId, u32)>>,
    /// Names of classes to those of their outermost classes.
    nests: FxHashMap<NameId, NameId>,
}

impl Calls {
    /// Adds a class whose methods have the probes from `first` on.
    pub(crate) fn add(&mut self, class: Class, first: u32, names: &mut Names) {
        let at = self.classes.len();
        for &name in class.inherits.iter().chain([&class.name]) {
            self.add_nest(name, names);
        }
        for (n, method) in class.methods.iter().enumerate() {
            let probe = first + n as u32;
            self.methods.insert(probe, (at, n));
            self.by_signature.entry(method.signature).or_default().push(probe);
            for &(owner, signature) in &method.calls {
                self.callers.entry(signature).or_default().push((owner, probe));
                self.add_nest(owner, names);
            }
            for &owner in &method.statics {
                self.add_nest(owner, names);
            }
        }
        self.by_name.entry(class.name).or_insert(at);
        self.classes.push((class, first));
    }

    fn add_nest(&mut self, class: NameId, names: &mut Names) {
        self.nests.entry(class).or_insert_with(|| {
            let name = names.get(class);
            let end = name.iter().position(|&b| b == b'$').filter(|&at| at > 0);
            match end.map(|end| name[..end].to_vec()) {
                Some(outer) => names.intern(&outer),
                None => class,
            }
        });
    }

    /// The outermost class of a class, or itself.
    pub(crate) fn nest(&self, class: NameId) -> NameId {
        self.nests.get(&class).copied().unwrap_or(class)
    }

    /// Who calls such a method, and by which class's name.
    pub(crate) fn callers(&self, signature: NameId) -> impl Iterator<Item = (NameId, u32)> + '_ {
        self.callers.get(&signature).into_iter().flatten().copied()
    }

    pub(crate) fn len(&self) -> usize {
        self.classes.len()
    }

    pub(crate) fn position(&self, class: NameId) -> Option<usize> {
        self.by_name.get(&class).copied()
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
        kinds: &'k LoadedTypes,
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

    /// A class and all that it inherits from, as far as classes of the project say.
    pub(crate) fn parents(&self, at: usize) -> FxHashSet<NameId> {
        let mut all = FxHashSet::from_iter([self.classes[at].0.name]);
        let mut todo = vec![at];
        while let Some(at) = todo.pop() {
            let new = self.classes[at].0.inherits.iter().filter(|parent| all.insert(**parent));
            todo.extend(new.filter_map(|parent| self.by_name.get(parent)));
        }
        all
    }
}
