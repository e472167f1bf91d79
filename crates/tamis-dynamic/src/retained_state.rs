//! What of the state that earlier tests left a test can meet, by the types of fields.
//!
//! A class *holds state* if it has a static field that can change, or whose value can: one that is not
//! final, an array, or anything else than a number, a text or the like. With it all classes nested with
//! it do, because they share what is private. A static field can hold objects of its type and of its
//! subtypes; those hold what their fields can hold, inherited ones included. A field of a type that is
//! not the project's (a map, a list, `Object`) can hold its type arguments; where those are not all given,
//! anything that the class which declares it refers to, but for types that it only inherits from. In any
//! case it can hold what that class refers to and extends a type that is not the project's: a map of one's
//! own. Numbers, texts and compile-time constants hold nothing, nor do fields that never change
//! ([`Fixed`]).
//!
//! A test can get at a static field only by code that it runs: of the nest that has the field, or that
//! names it. So only what the fields of such nests can hold counts for it; and where the agent looked at a
//! static field before the test began and found in it what the static initialiser had left, it holds
//! nothing of earlier tests. Of the methods that ran for it,
//! one is *concerned* if it belongs to a class that holds state or to an object that such a field can hold,
//! names a static field of such a class, gets at fields without naming them (by reflection, by their place in
//! memory), or got an object from a method that is concerned (or that passed
//! it on) and can change it: it writes fields, or makes a call that sounds like putting something somewhere.

use crate::answers::class_id;
use crate::calls::{Calls, MARKERS};
use crate::class::{Field, takes_objects};
use crate::fixed::Fixed;
use crate::loaded_types::LoadedTypes;
use roaring::RoaringBitmap;
use rustc_hash::{FxHashMap, FxHashSet};
use tamis_classpath::ClassIndex;
use tamis_classpath::names::{NameId, Names, dotted};

/// JDK types whose objects do not change.
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
    b"java/nio/charset/Charset",
    b"java/time/Duration",
    b"java/time/Instant",
    b"java/time/ZoneId",
    // What is logged is not read again.
    b"java/lang/System$Logger",
    b"java/util/logging/Logger",
    b"org/apache/commons/logging/Log",
    b"org/apache/log4j/Logger",
    b"org/apache/logging/log4j/Logger",
    b"org/jboss/logging/Logger",
    b"org/slf4j/Logger",
];

/// JDK types whose objects can change, and hold nothing that a project could have put there.
const HOLDS_NOTHING: &[&[u8]] = &[
    b"java/lang/StringBuffer",
    b"java/lang/StringBuilder",
    b"java/security/MessageDigest",
    b"java/security/SecureRandom",
    b"java/text/DateFormat",
    b"java/text/DecimalFormat",
    b"java/text/NumberFormat",
    b"java/text/SimpleDateFormat",
    b"java/util/BitSet",
    b"java/util/Calendar",
    b"java/util/Date",
    b"java/util/Random",
    b"java/util/TimeZone",
    b"java/util/concurrent/atomic/AtomicBoolean",
    b"java/util/concurrent/atomic/AtomicInteger",
    b"java/util/concurrent/atomic/AtomicLong",
];

/// The static fields of a JVM's classes.
#[derive(Debug, Default)]
pub(crate) struct RetainedState {
    /// Outermost classes to the static fields of their nests: class and position.
    statics: FxHashMap<NameId, Vec<(NameId, usize)>>,
    /// Outermost classes in whose nests a static field, or what it holds, can change.
    holders: FxHashSet<NameId>,
    subtypes: FxHashMap<NameId, Vec<NameId>>,
    inert: FxHashSet<NameId>,
    holds_nothing: FxHashSet<NameId>,
}

/// What of it one test can meet.
#[derive(Debug, Default)]
pub(crate) struct Met {
    /// Classes whose objects a static field that it can get at can hold.
    pub(crate) objects: FxHashSet<NameId>,
    /// Methods that ran for it and can depend on what an earlier test left.
    pub(crate) concerned: RoaringBitmap,
    /// Static fields that it can get at and in which something can have been left: class and name.
    pub(crate) fields: Vec<(NameId, NameId)>,
}

impl RetainedState {
    pub(crate) fn of(calls: &Calls, names: &mut Names) -> Self {
        let mut kept = Self {
            inert: INERT.iter().map(|name| names.intern(name)).collect(),
            holds_nothing: HOLDS_NOTHING.iter().map(|name| names.intern(name)).collect(),
            ..Self::default()
        };
        for class in calls.classes() {
            for &parent in &class.inherits {
                kept.subtypes.entry(parent).or_default().push(class.name);
            }
        }
        let mut fixed = Fixed::of(calls, &kept.inert, &kept.subtypes, names);
        let mut statics: FxHashMap<NameId, Vec<(NameId, usize)>> = FxHashMap::default();
        let mut holders = FxHashSet::default();
        for class in calls.classes() {
            for (at, field) in class.fields.iter().enumerate() {
                if !field.is_static || field.is_constant || fixed.is_fixed(class, field) {
                    continue;
                }
                let nest = calls.nest(class.name);
                statics.entry(nest).or_default().push((class.name, at));
                if kept.is_state(field) {
                    holders.insert(nest);
                }
            }
        }
        (kept.statics, kept.holders) = (statics, holders);
        kept
    }

    fn can_change(&self, field: &Field) -> bool {
        field.holds.is_some_and(|held| !self.inert.contains(&held))
    }

    /// Whether a static field of this nest, or what it holds, can change.
    pub(crate) fn holds_state(&self, nest: NameId) -> bool {
        self.holders.contains(&nest)
    }

    /// What a test can meet for which these methods ran. Objects of the `made` classes are there in any
    /// case.
    pub(crate) fn met(
        &self,
        hits: &RoaringBitmap,
        made: &FxHashSet<NameId>,
        can_be_left: &dyn Fn(NameId, NameId) -> bool,
        (calls, kinds): (&Calls, &LoadedTypes),
        index: &ClassIndex,
        names: &mut Names,
    ) -> Met {
        let holders = self.holders_with(can_be_left, calls);
        let nests = nests_of(hits, calls, kinds);
        let todo = made.iter().map(|&class| (class, Held::AsParent)).collect();
        let mut search = Search { kept: self, calls, index, opened: FxHashSet::default(), todo };
        let mut fields = Vec::new();
        for (class, field) in nests.iter().filter_map(|nest| self.statics.get(nest)).flatten() {
            if let Some(field) = calls.class(*class).and_then(|c| c.fields.get(*field))
                && can_be_left(*class, field.name)
            {
                fields.push((*class, field.name));
                search.hold(*class, field, names);
            }
        }
        let objects = search.objects(names);
        let concerned = self.concerned(hits, &objects, &holders, (calls, kinds), names);
        Met { objects, concerned, fields }
    }

    /// The nests with a static field in which something can have been left.
    fn holders_with(
        &self,
        can_be_left: &dyn Fn(NameId, NameId) -> bool,
        calls: &Calls,
    ) -> FxHashSet<NameId> {
        let holds = |fields: &[(NameId, usize)]| {
            fields.iter().any(|&(class, at)| {
                let field = calls.class(class).and_then(|c| c.fields.get(at));
                field.is_some_and(|field| self.is_state(field) && can_be_left(class, field.name))
            })
        };
        let nests = self.statics.iter().filter(|(_, fields)| holds(fields));
        nests.map(|(&nest, _)| nest).collect()
    }

    /// Whether a static field, or what it holds, can change.
    fn is_state(&self, field: &Field) -> bool {
        !field.is_final || field.is_array || self.can_change(field)
    }

    fn concerned(
        &self,
        hits: &RoaringBitmap,
        objects: &FxHashSet<NameId>,
        holders: &FxHashSet<NameId>,
        (calls, kinds): (&Calls, &LoadedTypes),
        names: &Names,
    ) -> RoaringBitmap {
        let is_holder = |class: NameId| holders.contains(&calls.nest(class));
        let has_state = |class: NameId| calls.parents_of(kinds, class).any(is_holder);
        let mut concerned = RoaringBitmap::new();
        let mut givers = Vec::new();
        for probe in hits {
            let Some((class, method)) = calls.method(probe) else { continue };
            if (!method.is_static && objects.contains(&class.name))
                || is_holder(class.name)
                || method.links.gets_at_any_field
                || method.statics.iter().any(|&owner| has_state(owner))
            {
                concerned.insert(probe);
                givers.push(probe);
            }
        }
        // What a method gets from another one it can change, or pass on.
        let mut passes_on = concerned.clone();
        while let Some(giver) = givers.pop() {
            let Some((_, gives)) = calls.method(giver) else { continue };
            if gives.returns.is_none_or(|returned| self.inert.contains(&returned)) {
                continue;
            }
            for (owner, caller) in calls.callers(gives.signature) {
                if !hits.contains(caller) || !calls.can_arrive(kinds, owner, giver) {
                    continue;
                }
                let Some((_, method)) = calls.method(caller) else { continue };
                let puts = || {
                    method.calls.iter().any(|&(owner, signature)| {
                        (objects.contains(&owner) || is_holder(owner))
                            && takes_objects(names.get(signature))
                    })
                };
                if method.is_writer || puts() {
                    concerned.insert(caller);
                }
                if passes_on.insert(caller) {
                    givers.push(caller);
                }
            }
        }
        concerned
    }
}

/// The search for all that some static fields can hold.
struct Search<'c> {
    kept: &'c RetainedState,
    calls: &'c Calls,
    index: &'c ClassIndex,
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
    fn objects(mut self, names: &mut Names) -> FxHashSet<NameId> {
        let mut objects = FxHashSet::default();
        let mut held = FxHashSet::default();
        while let Some((name, how)) = self.todo.pop() {
            let Some(class) = self.calls.class(name) else { continue };
            // A field of this type can hold any subtype.
            if how == Held::Itself && held.insert(name) {
                let below = self.kept.subtypes.get(&name).into_iter().flatten();
                self.todo.extend(below.map(|&below| (below, Held::Itself)));
            }
            if !objects.insert(name) {
                continue;
            }
            self.todo.extend(class.inherits.iter().map(|&above| (above, Held::AsParent)));
            for field in class.fields.iter().filter(|f| !f.is_static) {
                self.hold(class.name, field, names);
            }
        }
        objects
    }

    fn hold(&mut self, declaring: NameId, field: &Field, names: &mut Names) {
        let inert = &self.kept.inert;
        let Some(held) = field.holds.filter(|held| !inert.contains(held)) else { return };
        let named = field.arguments.iter().chain(&field.generic_arguments).chain([&held]);
        self.todo.extend(named.map(|&class| (class, Held::Itself)));
        if self.is_project(held, names) {
            return;
        }
        let is_known = |&class: &NameId| inert.contains(&class) || self.is_project(class, names);
        let closed = self.kept.holds_nothing.contains(&held)
            || field.is_closed && field.arguments.iter().all(is_known);
        if !self.opened.insert((declaring, closed)) {
            return;
        }
        let class = self.calls.class(declaring);
        for name in self.index.uses(&dotted(names.get(declaring))) {
            let name = class_id(&name, names);
            let only_parent =
                class.is_some_and(|c| c.inherits.contains(&name) && !c.handles.contains(&name));
            if !only_parent && (!closed || self.extends_foreign(name, names)) {
                self.todo.push((name, Held::Itself));
            }
        }
    }

    fn is_project(&self, class: NameId, names: &Names) -> bool {
        let on_path = || self.index.find_dotted(&dotted(names.get(class)));
        self.calls.class(class).is_some() || on_path().is_some_and(|found| found.is_project)
    }

    /// Whether a class extends a type that is not the project's, at any depth.
    fn extends_foreign(&self, class: NameId, names: &Names) -> bool {
        let Some(found) = self.calls.class(class) else { return false };
        found.inherits.iter().any(|&parent| match self.calls.class(parent) {
            Some(_) => self.extends_foreign(parent, names),
            None => !MARKERS.contains(&names.get(parent)),
        })
    }
}

/// The nests whose static fields these methods can get at.
fn nests_of(hits: &RoaringBitmap, calls: &Calls, kinds: &LoadedTypes) -> FxHashSet<NameId> {
    let mut nests = FxHashSet::default();
    for (class, method) in hits.iter().filter_map(|probe| calls.method(probe)) {
        nests.insert(calls.nest(class.name));
        // A static field can be named by any class that inherits it.
        for &owner in &method.statics {
            nests.extend(calls.parents_of(kinds, owner).map(|class| calls.nest(class)));
        }
    }
    nests
}
