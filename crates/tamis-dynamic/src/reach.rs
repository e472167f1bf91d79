//! What methods can call, among those that ran.
//!
//! A call can arrive at every method of the same name and descriptor whose class is related to the
//! class that the call names. Calls of types that are not the project's can arrive at project classes
//! that extend such types. An object that is made can be called back by code that is not seen: if it
//! extends a type that is not the project's, all its methods that ran count.

use crate::class::Class;
use roaring::RoaringBitmap;
use rustc_hash::{FxHashMap, FxHashSet};
use tamis_jvm::names::{NameId, Names};

/// Types that nobody calls an object by, but for what every object has.
const MARKERS: &[&[u8]] =
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

    pub(crate) fn method(&self, probe: u32) -> Option<(&Class, &crate::class::Method)> {
        let &(class, method) = self.methods.get(&probe)?;
        let class = &self.classes[class].0;
        Some((class, &class.methods[method]))
    }

    /// The probe of a class's static initialiser.
    pub(crate) fn initialiser(&self, class: NameId) -> Option<u32> {
        let (class, first) = &self.classes[*self.by_name.get(&class)?];
        let at = class.methods.iter().position(|m| m.is_initialiser)?;
        Some(first + at as u32)
    }

    /// Everything in `ran` that can be reached by calls from `roots`, the roots not included unless
    /// they are reached again.
    pub(crate) fn reach(
        &self,
        roots: impl Iterator<Item = u32>,
        ran: &RoaringBitmap,
        names: &Names,
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
                        && self.can_arrive(owner, target, names)
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
                let (class, first) = &self.classes[at];
                if !self.has_foreign_parent(class.name, names) {
                    continue;
                }
                for n in 0..class.methods.len() as u32 {
                    if ran.contains(first + n) && reached.insert(first + n) {
                        todo.push(first + n);
                    }
                }
            }
        }
        reached
    }

    fn can_arrive(&self, owner: NameId, target: u32, names: &Names) -> bool {
        let Some(&(class, _)) = self.methods.get(&target) else { return false };
        let name = self.classes[class].0.name;
        name == owner
            || self.inherits(name, owner)
            || self.inherits(owner, name)
            || (!self.by_name.contains_key(&owner)
                && (names.get(owner) == b"java/lang/Object"
                    || self.has_foreign_parent(name, names)))
    }

    /// Whether a class inherits from another, as far as classes of the project say.
    fn inherits(&self, class: NameId, from: NameId) -> bool {
        let mut seen = FxHashSet::default();
        let mut todo = vec![class];
        while let Some(name) = todo.pop() {
            let Some(&at) = self.by_name.get(&name) else { continue };
            for &parent in &self.classes[at].0.inherits {
                if parent == from {
                    return true;
                }
                if seen.insert(parent) {
                    todo.push(parent);
                }
            }
        }
        false
    }

    fn has_foreign_parent(&self, class: NameId, names: &Names) -> bool {
        let mut todo = vec![class];
        let mut seen = FxHashSet::default();
        while let Some(name) = todo.pop() {
            match self.by_name.get(&name) {
                Some(&at) => {
                    todo.extend(self.classes[at].0.inherits.iter().filter(|p| seen.insert(**p)));
                }
                None if !MARKERS.contains(&names.get(name)) => return true,
                None => {}
            }
        }
        false
    }
}
