//! Which classes can hold state that outlives a test, by the types of fields.
//!
//! A class *holds state* if it has a static field that can change, or whose value can: one that is not
//! final, an array, or anything else than a number, a text or the like. With it all classes nested with
//! it do, because they share what is private. A static field can hold objects of its type and of its
//! subtypes; those hold what their fields can hold, inherited ones included. A field of a type that is
//! not the project's (a map, a list, `Object`) can hold its type arguments; where those are not all given,
//! anything that the class which declares it refers to, but for types that it only inherits from. In any
//! case it can hold what that class refers to and extends a type that is not the project's: a map of one's
//! own. Numbers, texts and compile-time constants hold nothing.
//!
//! A method is *concerned* if it belongs to such a class or object, names a static field of such a class,
//! or got an object from a method that is concerned (or that passed it on) and can change it: it writes
//! fields, or makes a call that sounds like putting something somewhere.

use crate::class::{Class, Field, takes_objects};
use crate::index::ClassIndex;
use crate::reach::{Calls, Kinds, MARKERS};
use roaring::RoaringBitmap;
use rustc_hash::{FxHashMap, FxHashSet};
use tamis_jvm::names::{NameId, Names, dotted};

/// JDK types whose objects hold nothing that a project could have put there.
const INERT: &[&[u8]] = &[
    b"java/lang/String",
    b"java/lang/Boolean",
    b"java/lang/Byte",
    b"java/lang/Character",
    b"java/lang/Short",
    b"java/lang/Integer",
    b"java/lang/Long",
    b"java/lang/Float",
    b"java/lang/Double",
    b"java/lang/Class",
    b"java/math/BigInteger",
    b"java/math/BigDecimal",
    b"java/util/regex/Pattern",
    b"java/util/UUID",
    b"java/util/Locale",
    b"java/util/Random",
    b"java/util/concurrent/atomic/AtomicInteger",
    b"java/util/concurrent/atomic/AtomicLong",
    b"java/util/concurrent/atomic/AtomicBoolean",
    b"java/nio/charset/Charset",
    b"java/time/Duration",
    b"java/time/Instant",
    b"java/time/ZoneId",
];

/// Who can find at its start what an earlier test left.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    /// Classes whose methods can look at static state; outermost classes for their nest.
    holders: FxHashSet<NameId>,
    /// Classes whose objects a static field can hold.
    objects: FxHashSet<NameId>,
    /// Methods that can depend on what an earlier test left.
    concerned: RoaringBitmap,
}

impl Kept {
    /// Whether what this method does can depend on what an earlier test left.
    pub(crate) fn concerns(&self, probe: u32) -> bool {
        self.concerned.contains(probe)
    }

    /// Whether a static field can hold objects of this class.
    pub(crate) fn holds(&self, class: NameId) -> bool {
        self.objects.contains(&class)
    }

    pub(crate) fn of(calls: &Calls, kinds: &Kinds, index: &ClassIndex, names: &mut Names) -> Self {
        let mut kept = Self::of_fields(calls.classes(), index, names);
        kept.find_concerned(calls, kinds, names);
        kept
    }

    fn find_concerned(&mut self, calls: &Calls, kinds: &Kinds, names: &Names) {
        let is_holder = |class: NameId| {
            names.find(nest(names.get(class))).is_some_and(|nest| self.holders.contains(&nest))
        };
        // A static field can be named by any class that inherits it.
        let has_state = |class: NameId| calls.parents_of(kinds, class).any(is_holder);
        let mut callers: FxHashMap<NameId, Vec<(NameId, u32)>> = FxHashMap::default();
        let mut givers = Vec::new();
        for (probe, class, method) in calls.all() {
            for &(owner, signature) in &method.calls {
                callers.entry(signature).or_default().push((owner, probe));
            }
            if (!method.is_static && self.objects.contains(&class.name))
                || is_holder(class.name)
                || method.statics.iter().any(|&owner| has_state(owner))
            {
                self.concerned.insert(probe);
                givers.push(probe);
            }
        }
        // What a method gets from another one it can change, or pass on.
        let inert: FxHashSet<NameId> = INERT.iter().filter_map(|name| names.find(name)).collect();
        let mut passes_on = self.concerned.clone();
        while let Some(giver) = givers.pop() {
            let Some((_, gives)) = calls.method(giver) else { continue };
            if gives.returns.is_none_or(|returned| inert.contains(&returned)) {
                continue;
            }
            for &(owner, caller) in callers.get(&gives.signature).into_iter().flatten() {
                if !calls.can_arrive(kinds, owner, giver) {
                    continue;
                }
                let Some((_, method)) = calls.method(caller) else { continue };
                let puts = || {
                    method.calls.iter().any(|&(owner, signature)| {
                        (self.objects.contains(&owner) || is_holder(owner))
                            && takes_objects(names.get(signature))
                    })
                };
                if method.is_writer || puts() {
                    self.concerned.insert(caller);
                }
                if passes_on.insert(caller) {
                    givers.push(caller);
                }
            }
        }
    }

    fn of_fields<'c>(
        classes: impl Iterator<Item = &'c Class> + Clone,
        index: &ClassIndex,
        names: &mut Names,
    ) -> Self {
        let inert: FxHashSet<NameId> = INERT.iter().map(|name| names.intern(name)).collect();
        let mut search = Search {
            by_name: classes.clone().map(|c| (c.name, c)).collect(),
            index,
            inert,
            opened: FxHashSet::default(),
            todo: Vec::new(),
        };
        let mut subtypes: FxHashMap<NameId, Vec<NameId>> = FxHashMap::default();
        let mut kept = Self::default();
        for class in classes {
            for &parent in &class.inherits {
                subtypes.entry(parent).or_default().push(class.name);
            }
            for field in class.fields.iter().filter(|f| f.is_static && !f.is_constant) {
                if !field.is_final || field.is_array || search.can_change(field) {
                    let nest = nest(names.get(class.name)).to_vec();
                    kept.holders.insert(names.intern(&nest));
                }
                search.hold(class.name, field, names);
            }
        }
        let mut held = FxHashSet::default();
        while let Some((name, how)) = search.todo.pop() {
            let Some(&class) = search.by_name.get(&name) else { continue };
            // A field of this type can hold any subtype.
            if how == Held::Itself && held.insert(name) {
                let below = subtypes.get(&name).into_iter().flatten();
                search.todo.extend(below.map(|&below| (below, Held::Itself)));
            }
            if !kept.objects.insert(name) {
                continue;
            }
            search.todo.extend(class.inherits.iter().map(|&above| (above, Held::AsParent)));
            for field in class.fields.iter().filter(|f| !f.is_static) {
                search.hold(class.name, field, names);
            }
        }
        kept
    }
}

struct Search<'c> {
    by_name: FxHashMap<NameId, &'c Class>,
    index: &'c ClassIndex,
    inert: FxHashSet<NameId>,
    /// Classes with a field that can hold things they refer to: all, or maps and the like of one's own.
    opened: FxHashSet<(NameId, bool)>,
    todo: Vec<(NameId, Held)>,
}

/// Why a class belongs to what is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Held {
    /// Objects of this type.
    Itself,
    /// An object has its fields and methods, by inheritance.
    AsParent,
}

impl Search<'_> {
    fn can_change(&self, field: &Field) -> bool {
        field.holds.is_some_and(|held| !self.inert.contains(&held))
    }

    fn hold(&mut self, declaring: NameId, field: &Field, names: &mut Names) {
        let Some(held) = field.holds.filter(|held| !self.inert.contains(held)) else { return };
        let named = field.arguments.iter().chain(&field.generic_arguments).chain([&held]);
        self.todo.extend(named.map(|&class| (class, Held::Itself)));
        if self.is_project(held, names) {
            return;
        }
        let is_known =
            |&class: &NameId| self.inert.contains(&class) || self.is_project(class, names);
        let closed = field.is_closed && field.arguments.iter().all(is_known);
        if !self.opened.insert((declaring, closed)) {
            return;
        }
        let class = self.by_name.get(&declaring);
        for name in self.index.uses(&dotted(names.get(declaring))) {
            let name = names.intern(name.replace('.', "/").as_bytes());
            let only_parent =
                class.is_some_and(|c| c.inherits.contains(&name) && !c.handles.contains(&name));
            if !only_parent && (!closed || self.extends_foreign(name, names)) {
                self.todo.push((name, Held::Itself));
            }
        }
    }

    fn is_project(&self, class: NameId, names: &Names) -> bool {
        let on_path = || self.index.find_dotted(&dotted(names.get(class)));
        self.by_name.contains_key(&class) || on_path().is_some_and(|found| found.is_project)
    }

    /// Whether a class extends a type that is not the project's, at any depth.
    fn extends_foreign(&self, class: NameId, names: &Names) -> bool {
        let Some(found) = self.by_name.get(&class) else { return false };
        found.inherits.iter().any(|&parent| match self.by_name.contains_key(&parent) {
            true => self.extends_foreign(parent, names),
            false => !MARKERS.contains(&names.get(parent)),
        })
    }
}

/// The outermost class of a class.
fn nest(name: &[u8]) -> &[u8] {
    let end = name.iter().position(|&b| b == b'$').filter(|&at| at > 0).unwrap_or(name.len());
    &name[..end]
}
