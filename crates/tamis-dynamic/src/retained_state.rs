//! What of the state that earlier tests left a test can meet, by the types of fields.
//!
//! A class *holds state* if it has a static field that can change, or whose value can: one that is not
//! final, an array, or anything else than a number, a text or the like. With it all classes nested with
//! it do, because they share what is private. A static field can hold objects of its type and of its
//! subtypes; those hold what their fields can hold, inherited ones included. A field of a type that is
//! not the project's (a map, a list, `Object`) can hold its type arguments; where those are not all given,
//! anything that the class which declares it refers to, but for types that it only inherits from. In any
//! case it can hold what that class refers to and extends a type that is not the project's: a map of one's
//! own. Of a few types of the JDK it is known what they hold ([`SIMPLE`], [`REFERENCES`]): only what extends
//! one of these. Numbers, texts and compile-time constants hold nothing, nor do fields that never change
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
use crate::trail::From;
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

/// JDK types of which it is known what their objects hold that a project could have put there: nothing but
/// objects of these types.
const SIMPLE: &[(&[u8], &[&[u8]])] = &[
    (b"java/lang/StringBuffer", &[]),
    (b"java/lang/StringBuilder", &[]),
    (b"java/net/Proxy", &[b"java/net/SocketAddress"]),
    (b"java/nio/charset/CharsetDecoder", ENCODED),
    (b"java/nio/charset/CharsetEncoder", ENCODED),
    (b"java/security/MessageDigest", SERVICE),
    (b"java/security/SecureRandom", SERVICE),
    (b"java/text/DateFormat", FORMAT),
    (b"java/text/DecimalFormat", FORMAT),
    (b"java/text/NumberFormat", FORMAT),
    (b"java/text/SimpleDateFormat", FORMAT),
    (b"java/util/BitSet", &[]),
    (b"java/util/Calendar", &[b"java/util/TimeZone"]),
    (b"java/util/Date", &[]),
    (b"java/util/Random", &[b"java/util/random/RandomGenerator"]),
    (b"java/util/TimeZone", &[]),
    (b"java/util/concurrent/atomic/AtomicBoolean", &[]),
    (b"java/util/concurrent/atomic/AtomicInteger", &[]),
    (b"java/util/concurrent/atomic/AtomicLong", &[]),
];

const ENCODED: &[&[u8]] = &[b"java/nio/charset/Charset"];
const SERVICE: &[&[u8]] = &[
    b"java/security/MessageDigestSpi",
    b"java/security/Provider",
    b"java/security/SecureRandomSpi",
];
const FORMAT: &[&[u8]] = &[
    b"java/text/Format",
    b"java/text/DateFormatSymbols",
    b"java/text/DecimalFormatSymbols",
    b"java/util/Calendar",
    b"java/util/TimeZone",
];

/// JDK types whose objects hold one object of their type argument, and what else they can hold.
const REFERENCES: &[(&[u8], &[&[u8]])] = &[
    (b"java/lang/InheritableThreadLocal", &[b"java/util/function/Supplier"]),
    (b"java/lang/ThreadLocal", &[b"java/util/function/Supplier"]),
    (b"java/lang/ref/SoftReference", QUEUE),
    (b"java/lang/ref/WeakReference", QUEUE),
    (b"java/util/concurrent/atomic/AtomicReference", &[]),
];

/// Collections of the JDK that hold what their type arguments say and nothing else. A class that extends one
/// may hold more: only for fields that get one of just this class.
const COLLECTIONS: &[&[u8]] = &[
    b"java/util/ArrayDeque",
    b"java/util/ArrayList",
    b"java/util/HashMap",
    b"java/util/HashSet",
    b"java/util/LinkedHashMap",
    b"java/util/LinkedHashSet",
    b"java/util/LinkedList",
];

const QUEUE: &[&[u8]] = &[b"java/lang/ref/ReferenceQueue"];

/// The static fields of a JVM's classes.
#[derive(Debug, Default)]
pub(crate) struct RetainedState {
    /// Outermost classes to the static fields of their nests: class and position.
    statics: FxHashMap<NameId, Vec<(NameId, usize)>>,
    /// Outermost classes in whose nests a static field, or what it holds, can change.
    holders: FxHashSet<NameId>,
    subtypes: FxHashMap<NameId, Vec<NameId>>,
    inert: FxHashSet<NameId>,
    /// What the objects of some types hold, the type itself included.
    simple: FxHashMap<NameId, Vec<NameId>>,
    references: FxHashMap<NameId, Vec<NameId>>,
    collections: FxHashSet<NameId>,
}

/// What of it one test can meet.
#[derive(Debug, Default)]
pub(crate) struct Met {
    /// Classes whose objects a static field that it can get at can hold.
    pub(crate) objects: FxHashSet<NameId>,
    /// Methods that ran for it and can depend on what an earlier test left.
    pub(crate) concerned: RoaringBitmap,
    /// Why each of them can.
    pub(crate) because: Vec<(u32, From)>,
    /// Static fields that it can get at and in which something can have been left: class and name.
    pub(crate) fields: Vec<(NameId, NameId)>,
}

impl RetainedState {
    pub(crate) fn of(calls: &Calls, names: &mut Names) -> Self {
        let mut kept = Self {
            inert: INERT.iter().map(|name| names.intern(name)).collect(),
            simple: interned(SIMPLE, names),
            references: interned(REFERENCES, names),
            collections: COLLECTIONS.iter().map(|name| names.intern(name)).collect(),
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
        let todo = made.iter().map(|&class| (class, Held::AsParent, From::Nothing)).collect();
        let opened = FxHashSet::default();
        let mut search = Search { kept: self, calls, kinds, index, opened, todo };
        let mut fields = Vec::new();
        for (class, field) in nests.iter().filter_map(|nest| self.statics.get(nest)).flatten() {
            if let Some(field) = calls.class(*class).and_then(|c| c.fields.get(*field))
                && can_be_left(*class, field.name)
            {
                fields.push((*class, field.name));
                search.hold(*class, field, From::Field(*class, field.name), names);
            }
        }
        let objects = search.objects(names);
        let (concerned, because) = self.concerned(hits, &objects, &holders, (calls, kinds), names);
        Met { objects: objects.into_keys().collect(), concerned, because, fields }
    }

    /// The nests with a static field in which something can have been left.
    fn holders_with(
        &self,
        can_be_left: &dyn Fn(NameId, NameId) -> bool,
        calls: &Calls,
    ) -> FxHashMap<NameId, From> {
        let holds = |fields: &[(NameId, usize)]| {
            fields.iter().find_map(|&(class, at)| {
                let field = calls.class(class).and_then(|c| c.fields.get(at))?;
                let can = self.is_state(field) && can_be_left(class, field.name);
                can.then_some(From::Field(class, field.name))
            })
        };
        let nests = self.statics.iter();
        nests.filter_map(|(&nest, fields)| holds(fields).map(|field| (nest, field))).collect()
    }

    /// Whether a static field, or what it holds, can change.
    fn is_state(&self, field: &Field) -> bool {
        !field.is_final || field.is_array || self.can_change(field)
    }

    fn concerned(
        &self,
        hits: &RoaringBitmap,
        objects: &FxHashMap<NameId, From>,
        holders: &FxHashMap<NameId, From>,
        (calls, kinds): (&Calls, &LoadedTypes),
        names: &Names,
    ) -> (RoaringBitmap, Vec<(u32, From)>) {
        let held_by = |class: NameId| holders.get(&calls.nest(class)).copied();
        let is_holder = |class: NameId| held_by(class).is_some();
        let state_of = |class: NameId| calls.parents_of(kinds, class).find_map(held_by);
        let mut because = Vec::new();
        let mut givers = Vec::new();
        for probe in hits {
            let Some((class, method)) = calls.method(probe) else { continue };
            let of_object = || objects.get(&class.name).filter(|_| !method.is_static).copied();
            let named = || method.statics.iter().find_map(|&owner| state_of(owner));
            let any = || method.links.gets_at_any_field.then_some(From::Nothing);
            let from = of_object().or_else(|| held_by(class.name)).or_else(any).or_else(named);
            if let Some(from) = from {
                because.push((probe, from));
                givers.push(probe);
            }
        }
        let mut concerned: RoaringBitmap = givers.iter().copied().collect();
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
                        (objects.contains_key(&owner) || is_holder(owner))
                            && takes_objects(names.get(signature))
                    })
                };
                if (method.is_writer || puts()) && concerned.insert(caller) {
                    because.push((caller, From::Method(giver)));
                }
                if passes_on.insert(caller) {
                    givers.push(caller);
                }
            }
        }
        (concerned, because)
    }
}

/// The search for all that some static fields can hold.
struct Search<'c> {
    kept: &'c RetainedState,
    calls: &'c Calls,
    kinds: &'c LoadedTypes,
    index: &'c ClassIndex,
    /// Classes with a field that can hold things they refer to, and which.
    opened: FxHashSet<(NameId, Open)>,
    /// What is held, how, and by which static field at the end.
    todo: Vec<(NameId, Held, From)>,
}

/// What of the things that a class refers to a field of it can hold.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Open {
    All,
    /// What extends a type that is not the project's: maps and the like of one's own.
    Foreign,
    /// What extends one of these.
    Only(Vec<NameId>),
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
    fn objects(mut self, names: &mut Names) -> FxHashMap<NameId, From> {
        let mut objects = FxHashMap::default();
        let mut held = FxHashSet::default();
        while let Some((name, how, root)) = self.todo.pop() {
            let Some(class) = self.calls.class(name) else { continue };
            // A field of this type can hold any subtype.
            if how == Held::Itself && held.insert(name) {
                let below = self.kept.subtypes.get(&name).into_iter().flatten();
                self.todo.extend(below.map(|&below| (below, Held::Itself, root)));
            }
            if objects.contains_key(&name) {
                continue;
            }
            objects.insert(name, root);
            self.todo.extend(class.inherits.iter().map(|&above| (above, Held::AsParent, root)));
            for field in class.fields.iter().filter(|f| !f.is_static) {
                self.hold(class.name, field, root, names);
            }
        }
        objects
    }

    fn hold(&mut self, declaring: NameId, field: &Field, root: From, names: &mut Names) {
        let inert = &self.kept.inert;
        let Some(held) = field.holds.filter(|held| !inert.contains(held)) else { return };
        let named = field.arguments.iter().chain(&field.generic_arguments).chain([&held]);
        self.todo.extend(named.map(|&class| (class, Held::Itself, root)));
        if self.is_project(held, names) {
            return;
        }
        let open = self.open(declaring, field, held, names);
        if !self.opened.insert((declaring, open.clone())) {
            return;
        }
        let class = self.calls.class(declaring);
        for name in self.index.uses(&dotted(names.get(declaring))) {
            let name = class_id(&name, names);
            let only_parent =
                class.is_some_and(|c| c.inherits.contains(&name) && !c.handles.contains(&name));
            let fits = match &open {
                Open::All => true,
                Open::Foreign => self.extends_foreign(name, names),
                Open::Only(types) => self.extends_one_of(name, types),
            };
            if !only_parent && fits {
                self.todo.push((name, Held::Itself, root));
            }
        }
    }

    /// What a field of this type, which is not the project's, can hold besides of what it names.
    fn open(&self, declaring: NameId, field: &Field, held: NameId, names: &Names) -> Open {
        let RetainedState { inert, simple, references, collections, .. } = self.kept;
        if let Some(types) = simple.get(&held) {
            return Open::Only(types.clone());
        }
        let is_known = |class: &NameId| inert.contains(class) || self.is_project(*class, names);
        let is_plain = |class: &NameId| simple.contains_key(class) || is_known(class);
        let (all, generic) = (&field.arguments, &field.generic_arguments);
        let is_one = collections.contains(&held) && self.is_made_there(declaring, field);
        let types = references.get(&held).map(Vec::as_slice).or(is_one.then_some(&[]));
        if let Some(types) = types
            && field.is_closed
            && generic.is_empty()
            && all.iter().all(is_plain)
        {
            let of_arguments = all.iter().filter_map(|class| simple.get(class)).flatten();
            return Open::Only(types.iter().chain(of_arguments).copied().collect());
        }
        if field.is_closed && all.iter().all(is_known) { Open::Foreign } else { Open::All }
    }

    /// Whether a field gets its only value by the static initialiser, which makes it.
    fn is_made_there(&self, declaring: NameId, field: &Field) -> bool {
        let fresh = self.calls.class(declaring).map(|class| &class.fresh);
        let is_fresh = || fresh.is_some_and(|fresh| fresh.iter().any(|(f, _)| *f == field.name));
        field.is_static && field.is_final && is_fresh()
    }

    /// Whether an object of this class can be seen as one of these types, which are not the project's.
    fn extends_one_of(&self, class: NameId, types: &[NameId]) -> bool {
        let Some(at) = self.calls.position(class) else { return false };
        types.iter().any(|&of| self.kinds.can_be_foreign(at, of))
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

/// A table by the numbers of its names; each type is among those that stand with it.
fn interned(table: &[(&[u8], &[&[u8]])], names: &mut Names) -> FxHashMap<NameId, Vec<NameId>> {
    let mut number = |name: &[u8]| names.intern(name);
    let entries = table.iter().map(|(of, held)| {
        let of = number(of);
        (of, held.iter().map(|held| number(held)).chain([of]).collect())
    });
    entries.collect()
}
