//! Objects of the project that something outside of it keeps: libraries, test frameworks, the JVM.
//!
//! What they hold cannot be looked into as static fields can. Three things tell of it:
//!
//! * **Callbacks.** A library can keep what a method of the project gave it when it called back: in every
//!   later test that runs code of this library, each such method counts that ran, with all that it can call,
//!   whether it runs again or not. Such methods are those of classes that extend a type of the library, and
//!   lambdas and objects whose type a nest hands to the library. With test frameworks, which every test
//!   uses, only what the test touches itself.
//! * **Strangers.** A test that calls an object, looks into it, or runs a lambda whose maker ran in earlier
//!   tests only, got it from somebody who kept it: all that ran in the tests that made such objects counts.
//! * **Shelves** ([`shelves`](crate::shelves)).
//!
//! What is not seen: an object that is kept while the test makes another one of the same class; a number or
//! a text that a library keeps without having called the project for it.

use crate::answers::{Answers, OnPath};
use crate::calls::Calls;
use crate::class::Method;
use crate::loaded_classes::LoadedClasses;
use crate::loaded_types::LoadedTypes;
use crate::seen::{Place, Seen};
use crate::shelves::Shelves;
use crate::tests_seen::TestsSeen;
use crate::trail::From;
use roaring::RoaringBitmap;
use rustc_hash::FxHashSet;
use tamis_classpath::names::{NameId, Names};

/// Test frameworks and what they bring: every test runs their code.
const FRAMEWORKS: &[&[u8]] = &[
    b"org/junit/",
    b"junit/",
    b"org/testng/",
    b"org/hamcrest/",
    b"org/assertj/",
    b"org/opentest4j/",
    b"org/apiguardian/",
    b"org/apache/maven/surefire/",
    b"org/gradle/",
    b"org/apache/tools/ant/",
    b"com/beust/jcommander/",
    b"com/google/common/truth/",
];

/// Of them, types whose objects stay with a framework beyond one test.
const EXTENSIONS: &[&[u8]] = &[
    b"org/junit/jupiter/api/extension/",
    b"org/junit/rules/",
    b"org/junit/platform/",
    b"org/junit/runner/notification/",
    b"org/testng/",
];

/// What was loaded, as far as this needs it.
pub(crate) struct View<'v> {
    pub(crate) calls: &'v Calls,
    pub(crate) kinds: &'v LoadedTypes,
    pub(crate) answers: &'v mut Answers,
    pub(crate) names: &'v mut Names,
    /// Everything that ran.
    pub(crate) ran: &'v RoaringBitmap,
}

/// What a test uses outside of the project.
#[derive(Debug, Default)]
pub(crate) struct Elsewhere {
    /// Libraries whose code ran for it.
    libraries: FxHashSet<u32>,
    /// Shelves that their classes can get something from, and which class can.
    asks: Vec<(Shelves, NameId)>,
    /// Callbacks of libraries, which do not depend on what else counts.
    called_back: Vec<u32>,
}

impl Elsewhere {
    pub(crate) fn of(hits: &RoaringBitmap, loaded: &LoadedClasses, view: &mut View<'_>) -> Self {
        let mut found = Self::default();
        for class in loaded.probed() {
            let Place::Library(entry) = class.place else { continue };
            if is_one_of(FRAMEWORKS, view.names.get(class.id))
                || hits.range_cardinality(class.first..class.first + class.probes) == 0
            {
                continue;
            }
            found.libraries.insert(entry);
            let asks = view.answers.class(class.id, view.names).asks;
            found.asks.extend((asks != 0).then_some((asks, class.id)));
        }
        if !found.libraries.is_empty() {
            found.called_back = found.callbacks(view);
        }
        found
    }

    /// Methods that a library which the test uses can have called back in earlier tests.
    fn callbacks(&self, view: &mut View<'_>) -> Vec<u32> {
        let mut found = Vec::new();
        for at in 0..view.calls.len() {
            if view.kinds.foreign[at].iter().any(|&above| self.uses(above, view)) {
                add_object(at, view, &mut found);
            }
        }
        for (probe, _, method) in view.calls.methods_in(view.ran) {
            // A lambda or an object of the nest that is of a type which the nest hands to the library.
            let nest = view.calls.nest_of(probe);
            for lambda in &method.links.lambdas {
                if self.uses(lambda.interface, view) || self.takes(nest, lambda.interface, view) {
                    found.extend(view.calls.targets(view.kinds, lambda.runs, view.ran));
                }
            }
            for at in method.makes.iter().filter_map(|&made| view.calls.position(made)) {
                if view.kinds.foreign[at].iter().any(|&above| self.takes(nest, above, view)) {
                    add_object(at, view, &mut found);
                }
            }
        }
        found
    }

    /// Whether a type is of a library that the test uses.
    fn uses(&self, class: NameId, view: &mut View<'_>) -> bool {
        let place = view.answers.class(class, view.names).place;
        matches!(place, OnPath::Library(entry) if self.libraries.contains(&entry))
            && !is_one_of(FRAMEWORKS, view.names.get(class))
    }

    /// Whether code of a nest hands objects of a type to such a library.
    fn takes(&self, nest: NameId, kind: NameId, view: &mut View<'_>) -> bool {
        view.calls.takers(nest, kind).iter().any(|&owner| self.uses(owner, view))
    }

    /// Where a search for what counts begins, beside of what is known otherwise.
    pub(crate) fn roots(
        &self,
        hits: &RoaringBitmap,
        touched: &FxHashSet<NameId>,
        view: &mut View<'_>,
    ) -> Vec<u32> {
        let mut roots = self.called_back.clone();
        for at in touched.iter().filter_map(|&class| view.calls.position(class)) {
            let mut above = view.kinds.foreign[at].iter();
            if above.any(|&above| is_one_of(EXTENSIONS, view.names.get(above))) {
                add_object(at, view, &mut roots);
            }
        }
        let makers = view.calls.making_lambdas(hits);
        for (_, _, method) in view.calls.methods_in(&makers) {
            for lambda in &method.links.lambdas {
                let mut takers =
                    method.links.hands.iter().filter(|(_, kind)| *kind == lambda.interface);
                if takers.any(|&(owner, _)| is_one_of(FRAMEWORKS, view.names.get(owner))) {
                    roots.extend(view.calls.targets(view.kinds, lambda.runs, view.ran));
                }
            }
        }
        roots
    }

    /// What ran in earlier tests which put something where the test can have got it, and who can have got it.
    pub(crate) fn left_on_shelves(
        &self,
        hits: &RoaringBitmap,
        calls: &Calls,
        tests: &TestsSeen,
        own_class: &str,
    ) -> Vec<(RoaringBitmap, From)> {
        let of_libraries = self.asks.iter().map(|&(asks, class)| (asks, From::Class(class)));
        let own = calls.by_shelf.askers.iter().filter(|(probe, _)| hits.contains(*probe));
        let own = own.map(|&(probe, asks)| (asks, From::Method(probe)));
        let mut askers: Vec<(Shelves, From)> = Vec::new();
        for (asks, from) in of_libraries.chain(own) {
            let before = askers.iter().fold(0, |all, (asks, _)| all | asks);
            if asks & !before != 0 {
                askers.push((asks, from));
            }
        }
        let asker = |sets: Shelves| askers.iter().find(|(asks, _)| asks & sets != 0).map(|a| a.1);
        let ended = tests.ended.iter().map(|did| (did.sets, &did.hits));
        let open = tests.others_open(own_class).map(|open| (sets(open, calls), open));
        let left = ended.chain(open);
        left.filter_map(|(sets, hits)| Some((hits.clone(), asker(sets)?))).collect()
    }
}

/// Objects that a test uses and only others made.
#[derive(Debug, Default)]
pub(crate) struct Strangers {
    /// What ran in those others.
    pub(crate) ran: RoaringBitmap,
    /// A class with such objects, or whose code made them.
    pub(crate) class: Option<NameId>,
}

/// What ran in the tests that made objects which the test uses, and which nothing that counts for it made.
/// `known` are classes whose objects can be there for another reason.
pub(crate) fn made_by_others(
    seen: &Seen,
    counted: &RoaringBitmap,
    known: &FxHashSet<NameId>,
    calls: &Calls,
    tests: &TestsSeen,
) -> Strangers {
    let mut makers = RoaringBitmap::new();
    let mut done = FxHashSet::default();
    for (_, class, method) in calls.methods_in(&seen.hits) {
        if !(method.is_static || method.is_constructor) {
            add_makers(class, (calls, counted, known), &mut done, &mut makers);
        }
        for &class in &method.links.looks_into {
            add_makers(class, (calls, counted, known), &mut done, &mut makers);
        }
        let of_lambda = calls.makers_of(class, method.signature);
        if method.links.is_hidden && !of_lambda.iter().any(|&maker| counted.contains(maker)) {
            makers.extend(of_lambda);
        }
    }
    let mut found = Strangers::default();
    let ended = tests.ended.iter().map(|did| &did.hits);
    let others = ended.chain(tests.others_open(&seen.own_class));
    for hits in others.filter(|hits| !hits.is_disjoint(&makers)) {
        found.ran |= hits;
        let maker = (hits & &makers).min();
        let class = maker.and_then(|maker| calls.method(maker)).map(|(class, _)| class.name);
        found.class = found.class.or(class);
    }
    found
}

fn add_makers(
    class: NameId,
    (calls, counted, known): (&Calls, &RoaringBitmap, &FxHashSet<NameId>),
    seen: &mut FxHashSet<NameId>,
    makers: &mut RoaringBitmap,
) {
    if !known.contains(&class)
        && seen.insert(class)
        && !calls.constructors(class).any(|constructor| counted.contains(constructor))
    {
        makers.extend(calls.constructors(class));
    }
}

/// Lambdas that a nest with state hands to code which is not the project's: that can call them at any time,
/// such as a stream whose elements are made late.
pub(crate) fn handed_by(concerned: &RoaringBitmap, view: &View<'_>) -> Vec<u32> {
    let View { calls, kinds, ran, .. } = view;
    let nests: FxHashSet<NameId> = concerned.iter().map(|probe| calls.nest_of(probe)).collect();
    let mut found = Vec::new();
    for nest in nests {
        for (lambda, maker) in calls.lambdas_in(nest) {
            let mut takers = calls.takers(nest, lambda.interface).iter();
            if ran.contains(*maker) && takers.any(|&taker| calls.position(taker).is_none()) {
                found.extend(calls.targets(kinds, lambda.runs, ran));
            }
        }
    }
    found
}

/// What of an object's methods ran: those that made it, and those that others can call.
fn add_object(at: usize, view: &View<'_>, found: &mut Vec<u32>) {
    let methods = view.calls.made_at(at).chain(view.calls.called_back(view.kinds, at));
    found.extend(methods.filter(|&probe| view.ran.contains(probe)));
}

/// The shelves that methods put something on.
pub(crate) fn sets(hits: &RoaringBitmap, calls: &Calls) -> Shelves {
    let setters = calls.by_shelf.setters.iter().filter(|(probe, _)| hits.contains(*probe));
    setters.fold(0, |all, (_, shelves)| all | shelves)
}

/// Who can have left something in static fields: the methods that name them, and those that gave them what
/// they wrote.
pub(crate) fn writers_of(fields: &[(NameId, NameId)], view: &View<'_>) -> Vec<(u32, From)> {
    let View { calls, kinds, ran, names, .. } = view;
    let mut found = Vec::new();
    for &(class, field) in fields {
        let left = From::Field(class, field);
        for &(owner, user, writes) in calls.users(field) {
            let mut declaring = calls.parents_of(kinds, owner);
            // What ran in static initialisers is known otherwise.
            if calls.method(user).is_some_and(|(_, method)| method.is_initialiser) {
                continue;
            }
            if !ran.contains(user) || (owner != class && declaring.all(|above| above != class)) {
                continue;
            }
            found.push((user, left));
            if writes {
                let givers = givers(user, calls, kinds, names).filter(|&p| ran.contains(p));
                found.extend(givers.map(|giver| (giver, From::Method(user))));
            }
        }
        for &writer in calls.hidden_writers.iter().filter(|&&writer| ran.contains(writer)) {
            let mentions = calls.method(writer).is_some_and(|(_, m)| m.mentions.contains(&class));
            found.extend(mentions.then_some((writer, left)));
        }
    }
    found
}

/// Who calls a method that writes what it is given.
fn givers<'c>(
    writer: u32,
    calls: &'c Calls,
    kinds: &'c LoadedTypes,
    names: &Names,
) -> impl Iterator<Item = u32> + 'c {
    let setter: Option<&Method> = calls.method(writer).map(|(_, method)| method);
    let setter = setter.filter(|m| {
        !m.is_constructor && !m.is_initialiser && !is_without_parameters(names.get(m.signature))
    });
    setter.into_iter().flat_map(move |method| {
        let callers = calls.callers(method.signature);
        callers.filter(move |&(owner, _)| calls.can_arrive(kinds, owner, writer)).map(|(_, p)| p)
    })
}

fn is_without_parameters(signature: &[u8]) -> bool {
    signature.windows(2).any(|two| two == b"()")
}

fn is_one_of(beginnings: &[&[u8]], class: &[u8]) -> bool {
    beginnings.iter().any(|beginning| class.starts_with(beginning))
}
