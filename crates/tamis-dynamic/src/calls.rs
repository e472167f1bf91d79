//! The loaded classes of the project with their methods, by the probes that tell what ran.

use crate::class::{Class, Lambda, Method};
use crate::shelves::Shelves;
use roaring::RoaringBitmap;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::hash_map::Entry;
use tamis_classpath::names::{NameId, Names};

/// Types by which no object is called, but for what every object has.
pub(crate) const MARKERS: &[&[u8]] =
    &[b"java/lang/Object", b"java/io/Serializable", b"java/lang/Cloneable", b"java/lang/Record"];

/// Lambdas with the probes of those who make them.
#[derive(Debug, Default)]
struct Lambdas {
    /// By the method of the interface that they are called as.
    by_call: FxHashMap<NameId, Vec<(Lambda, u32)>>,
    by_interface: FxHashMap<NameId, Vec<(Lambda, u32)>>,
    /// By the outermost class of those who make them.
    by_nest: FxHashMap<NameId, Vec<(Lambda, u32)>>,
    /// Who makes them, by what runs.
    makers: FxHashMap<(NameId, NameId), Vec<u32>>,
    all_makers: RoaringBitmap,
}

impl Lambdas {
    fn add(&mut self, lambda: Lambda, nest: NameId, maker: u32) {
        self.by_call.entry(lambda.called_as).or_default().push((lambda, maker));
        self.by_interface.entry(lambda.interface).or_default().push((lambda, maker));
        self.by_nest.entry(nest).or_default().push((lambda, maker));
        self.makers.entry(lambda.runs).or_default().push(maker);
        self.all_makers.insert(maker);
    }
}

/// Probes to classes (their positions among all) and methods. They are asked for at each step of each search, and
/// there is hardly a gap between them.
#[derive(Debug, Default)]
struct Methods {
    low: Vec<Option<(u32, u32)>>,
    /// Beyond what an agent gives out.
    high: FxHashMap<u32, (u32, u32)>,
}

impl Methods {
    const LOW: u32 = 1 << 20;

    fn insert(&mut self, probe: u32, method: (u32, u32)) {
        if probe >= Self::LOW {
            self.high.insert(probe, method);
            return;
        }
        let at = probe as usize;
        if at >= self.low.len() {
            self.low.resize(at + 1, None);
        }
        self.low[at] = Some(method);
    }

    fn get(&self, probe: u32) -> Option<(usize, usize)> {
        let found = match probe < Self::LOW {
            true => self.low.get(probe as usize).copied().flatten(),
            false => self.high.get(&probe).copied(),
        };
        found.map(|(class, method)| (class as usize, method as usize))
    }
}

/// Methods that have to do with shelves.
#[derive(Debug, Default)]
pub(crate) struct ByShelf {
    /// Who puts something there.
    pub(crate) setters: Vec<(u32, Shelves)>,
    /// Who can get something from there.
    pub(crate) askers: Vec<(u32, Shelves)>,
}

/// The loaded classes of the project as a graph of calls.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    methods: Methods,
    pub(crate) classes: Vec<(Class, u32)>,
    pub(crate) by_name: FxHashMap<NameId, usize>,
    pub(crate) by_signature: FxHashMap<NameId, Vec<u32>>,
    /// Signatures to those who call them: the class that they name, and the caller's probe.
    callers: FxHashMap<NameId, Vec<(NameId, u32)>>,
    lambdas: Lambdas,
    /// Who uses static fields: their names to the class that is named, the user's probe, and whether it
    /// writes.
    users: FxHashMap<NameId, Vec<(NameId, u32, bool)>>,
    pub(crate) by_shelf: ByShelf,
    /// Nests and the types of objects that they hand over, to the owners of the methods that get them.
    takers: FxHashMap<(NameId, NameId), Vec<NameId>>,
    /// Those who may write fields that they do not name.
    pub(crate) hidden_writers: Vec<u32>,
    /// Names of classes to those of their outermost classes.
    nests: FxHashMap<NameId, NameId>,
    initialisers: FxHashMap<NameId, u32>,
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
            self.methods.insert(probe, (at as u32, n as u32));
            self.by_signature.entry(method.signature).or_default().push(probe);
            for &(owner, signature) in &method.calls {
                self.callers.entry(signature).or_default().push((owner, probe));
                self.add_nest(owner, names);
            }
            for &owner in &method.statics {
                self.add_nest(owner, names);
            }
            for &(owner, field, writes) in &method.links.named_statics {
                self.users.entry(field).or_default().push((owner, probe, writes));
            }
            if method.links.sets != 0 {
                self.by_shelf.setters.push((probe, method.links.sets));
            }
            if method.links.asks != 0 {
                self.by_shelf.askers.push((probe, method.links.asks));
            }
            let nest = self.nest(class.name);
            for &(owner, kind) in &method.links.hands {
                let takers = self.takers.entry((nest, kind)).or_default();
                if !takers.contains(&owner) {
                    takers.push(owner);
                }
            }
            if method.links.gets_at_any_field {
                self.hidden_writers.push(probe);
            }
            for &lambda in &method.links.lambdas {
                self.lambdas.add(lambda, nest, probe);
            }
        }
        if let Entry::Vacant(new) = self.by_name.entry(class.name) {
            new.insert(at);
            let initialiser = class.methods.iter().position(|m| m.is_initialiser);
            self.initialisers.extend(initialiser.map(|n| (class.name, first + n as u32)));
        }
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

    /// Lambdas whose object is called by this method of an interface, and who makes them.
    pub(crate) fn lambdas(&self, called_as: NameId) -> &[(Lambda, u32)] {
        self.lambdas.by_call.get(&called_as).map_or(&[], Vec::as_slice)
    }

    /// Lambdas with this interface, and who makes them.
    pub(crate) fn lambdas_of(&self, interface: NameId) -> &[(Lambda, u32)] {
        self.lambdas.by_interface.get(&interface).map_or(&[], Vec::as_slice)
    }

    /// Lambdas that code of a nest makes, and which method does.
    pub(crate) fn lambdas_in(&self, nest: NameId) -> &[(Lambda, u32)] {
        self.lambdas.by_nest.get(&nest).map_or(&[], Vec::as_slice)
    }

    /// Who makes objects of which a call leads to this method.
    pub(crate) fn makers_of(&self, class: NameId, signature: NameId) -> &[u32] {
        self.lambdas.makers.get(&(class, signature)).map_or(&[], Vec::as_slice)
    }

    /// The owners of methods that code of a nest hands objects of a type to.
    pub(crate) fn takers(&self, nest: NameId, kind: NameId) -> &[NameId] {
        self.takers.get(&(nest, kind)).map_or(&[], Vec::as_slice)
    }

    /// The outermost class of the class that has a probe.
    pub(crate) fn nest_of(&self, probe: u32) -> NameId {
        let class = self.method(probe).map(|(class, _)| class.name);
        class.map_or(NameId::MAX, |class| self.nest(class))
    }

    /// Methods of the project among some probes: probe, class, method.
    pub(crate) fn methods_in<'c>(
        &'c self,
        probes: &'c RoaringBitmap,
    ) -> impl Iterator<Item = (u32, NameId, &'c Method)> {
        probes.iter().filter_map(|probe| {
            let (class, method) = self.method(probe)?;
            Some((probe, class.name, method))
        })
    }

    /// Of these, the methods that make lambdas.
    pub(crate) fn making_lambdas(&self, probes: &RoaringBitmap) -> RoaringBitmap {
        probes & &self.lambdas.all_makers
    }

    /// The constructors of the class at this position.
    pub(crate) fn made_at(&self, at: usize) -> impl Iterator<Item = u32> + '_ {
        self.constructors(self.classes[at].0.name)
    }

    /// Who uses static fields of this name: by which class's name, and whether to write.
    pub(crate) fn users(&self, field: NameId) -> &[(NameId, u32, bool)] {
        self.users.get(&field).map_or(&[], Vec::as_slice)
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

    /// The positions of a method's class and of the method in it.
    pub(crate) fn place(&self, probe: u32) -> Option<(usize, usize)> {
        self.methods.get(probe)
    }

    pub(crate) fn method(&self, probe: u32) -> Option<(&Class, &Method)> {
        let (class, method) = self.methods.get(probe)?;
        let class = &self.classes[class].0;
        Some((class, &class.methods[method]))
    }

    /// The probe of a class's static initialiser.
    pub(crate) fn initialiser(&self, class: NameId) -> Option<u32> {
        self.initialisers.get(&class).copied()
    }

    /// The probes of a class's constructors.
    pub(crate) fn constructors(&self, class: NameId) -> impl Iterator<Item = u32> + '_ {
        let class = self.by_name.get(&class).map(|&at| &self.classes[at]);
        class.into_iter().flat_map(|(class, first)| {
            let methods = class.methods.iter().zip(*first..);
            methods.filter(|(method, _)| method.is_constructor).map(|(_, probe)| probe)
        })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probes_lead_to_their_methods_wherever_they_are() {
        let mut methods = Methods::default();
        let probes = [0, 7, 4_000, Methods::LOW - 1, Methods::LOW, u32::MAX];
        for (n, probe) in probes.into_iter().enumerate() {
            methods.insert(probe, (n as u32, 1));
        }
        methods.insert(7, (9, 2));
        let found = probes.map(|probe| methods.get(probe));
        let expected = [(0, 1), (9, 2), (2, 1), (3, 1), (4, 1), (5, 1)].map(Some);
        assert_eq!(found, expected);
        assert_eq!([1, 6, 8, Methods::LOW + 1].map(|probe| methods.get(probe)), [None; 4]);
    }
}
