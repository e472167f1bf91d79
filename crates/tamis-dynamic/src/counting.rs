//! What counts for a test, from what was seen of it and of those before it.

use crate::answers::{Answers, OnPath, class_id};
use crate::calls::Calls;
use crate::elsewhere::{Elsewhere, View, handed_by, made_by_others, writers_of};
use crate::facts::FactKind;
use crate::headers::{Loaded, own_classes};
use crate::jvm::Jvm;
use crate::retained_state::{Met, RetainedState};
use crate::seen::{Because, Counted, Depends, Place, Seen};
use crate::statics::Initialised;
use crate::tests_seen::TestsSeen;
use crate::trail::{From, Rule, Trail};
use roaring::RoaringBitmap;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeSet;
use std::sync::Arc;
use tamis_classfile::mutf8;
use tamis_classpath::names::{NameId, Names};

/// All that a test can have used.
struct Closed {
    /// Methods.
    hits: RoaringBitmap,
    /// Classes, by name.
    touched: FxHashSet<NameId>,
    /// Methods that count because of what earlier tests left, other than by static initialisers.
    left: RoaringBitmap,
    /// Classes that static initialisers asked for by name, and resources, as facts.
    asked: RoaringBitmap,
    others: RoaringBitmap,
    /// Classes whose objects can be kept for it.
    objects: FxHashSet<NameId>,
    /// A class of which it uses objects that only others made.
    stranger: Option<NameId>,
    /// How what others ran came to count.
    trail: Trail,
}

impl Jvm {
    /// What follows from what was seen. Objects of the `made` classes count as held by a static field.
    pub(crate) fn depends_on(&mut self, seen: &Seen, made: &FxHashSet<NameId>) -> Counted {
        let Closed { hits, mut touched, left, mut asked, others, objects, stranger, trail } =
            self.close(seen, made);
        let mut depends = Depends {
            incomplete: self.incomplete.clone(),
            asked: Some(self.tests.asked.clone()),
            found_only: seen.found_only,
            loaded: seen.loaded.clone(),
            ..Depends::default()
        };
        let mut facts = &seen.others | self.class_files_read(seen);
        facts |= others;
        // What a test asked for by name that this one relies on may have been for this one, too. Of static
        // initialisers it is known what they asked for.
        let inherited = &hits - &seen.hits;
        // Which way it took through code that meets it depends on what was left, also where it ran that code.
        let others = self.tests.ended.iter().filter(|did| !did.hits.is_disjoint(&left));
        depends.left_by = others.map(|did| did.test).collect();
        depends.initialisers = self.known_initialisers(&touched);
        let left = left - &seen.hits;
        for did in self.tests.ended.iter().filter(|did| !did.hits.is_disjoint(&inherited)) {
            depends.relies_on.insert(did.test);
            if !did.hits.is_disjoint(&left) {
                asked |= &did.classes;
                facts |= &did.others;
            }
        }
        touched.extend(asked);
        depends.uses_bundles = self.add_classes(&touched, &seen.own_class, &hits, &mut facts);
        if depends.uses_bundles {
            facts |= &self.answers.bundles;
        }
        self.add_bodies(&hits, &mut facts);
        if seen.lines {
            facts |= self.lines_of(&hits);
        }
        depends.facts = self.answers.facts(facts);
        depends.because = self.because(seen, &hits, &trail);
        Counted { depends, hits, objects, stranger }
    }

    /// Why what the test did not run itself counts.
    fn because(&self, seen: &Seen, hits: &RoaringBitmap, trail: &Trail) -> Because {
        let tells = tracing::enabled!(tracing::Level::DEBUG);
        let mut because = Because::default();
        let mut texts: FxHashMap<(Rule, From), Arc<str>> = FxHashMap::default();
        for probe in hits - &seen.hits {
            if tells {
                let chain = trail.text(probe, &self.calls, &self.names);
                tracing::debug!(test = seen.own_class, "counts though it ran for others: {chain}");
            }
            if let Some(&Some(body)) = self.answers.bodies.get(&probe) {
                let text = texts
                    .entry(trail.end(probe))
                    .or_insert_with_key(|&end| Trail::left(end, &self.names).into());
                because.insert(self.answers.text(body), Arc::clone(text));
            }
        }
        because
    }

    /// The static initialisers of these classes of which it is known what they did.
    fn known_initialisers(&self, touched: &FxHashSet<NameId>) -> BTreeSet<u32> {
        let all = touched.iter().filter_map(|&class| self.calls.initialiser(class));
        all.filter(|probe| self.statics.initialised.contains_key(probe)).collect()
    }

    /// Who reads a class file without loading it depends on all of it, and on its absence. Those of the
    /// project that are there are found in folders: the tracer sees them.
    pub(crate) fn class_files_read(&mut self, seen: &Seen) -> RoaringBitmap {
        let mut facts = RoaringBitmap::new();
        for class in seen.class_entries.difference(&seen.loaded) {
            let id = class_id(class, &mut self.names);
            if self.loaded.elsewhere.contains(&id) || class.starts_with("META-INF.") {
                continue;
            }
            let kind = match self.index.find_dotted(class) {
                Some(found) if found.is_project => continue,
                Some(_) => FactKind::Whole,
                None => FactKind::Header,
            };
            facts.insert(self.answers.number(kind(class.clone())));
        }
        facts
    }

    /// All methods that count for a test, all classes that it touches, and those whose objects can be
    /// kept for it.
    fn close(&mut self, seen: &Seen, made: &FxHashSet<NameId>) -> Closed {
        let index = &self.index;
        let Self { calls, names, answers, kinds, .. } = self;
        kinds.update(calls, names);
        let fields = self.statics.kept.get_or_insert_with(|| RetainedState::of(calls, names));
        let loaded = match seen.untouched {
            Some(_) => seen.loaded.iter().map(|class| class_id(class, names)).collect(),
            None => FxHashSet::default(),
        };
        let (watched, twice) = (&self.statics.watched, &self.loaded.twice);
        // What was not there before the test, or is as it was at first, has nothing of earlier ones.
        let can_be_left = |class: NameId, field: NameId| {
            seen.untouched.as_ref().is_none_or(|untouched| {
                let is_new = loaded.contains(&class) || untouched.waiting.contains(&class);
                twice.contains(&class)
                    || !is_new
                        && (!watched.contains(&class)
                            || untouched.changed.contains(&(class, field)))
            })
        };
        let mut view = View { calls, kinds, answers, names, ran: &self.ran };
        let kept = Elsewhere::of(&seen.hits, &self.loaded, &mut view);
        let mut trail = Trail::of(&seen.hits);
        let mut left = self.tests.changed_by_others(seen);
        trail.steps(&left, Rule::Globals, From::Nothing);
        let mut hits = &seen.hits | &left;
        let mut touched: FxHashSet<NameId> = FxHashSet::default();
        let mut new_classes: Vec<NameId> =
            seen.classes.iter().map(|class| class_id(class, names)).collect();
        // A JVM that a test started has no class of its own.
        let own = Some(&seen.own_class).filter(|class| !class.is_empty());
        new_classes.extend(own.map(|class| class_id(class, names)));
        let mut new_hits: Vec<u32> = hits.iter().collect();
        let mut roots_done = RoaringBitmap::new();
        let mut stranger = None;
        let (mut asked, mut others) = (RoaringBitmap::new(), RoaringBitmap::new());
        loop {
            for &probe in &new_hits {
                new_classes.extend(self.loaded.find(probe).map(|loaded| loaded.id));
                if let Some((_, method)) = calls.method(probe) {
                    new_classes.extend(&method.mentions);
                }
            }
            touch(&mut new_classes, &mut touched, answers, names);
            let mut roots: Vec<u32> =
                touched.iter().filter_map(|&c| calls.initialiser(c)).collect();
            // With each round there may be more: what was no matter at first may be now.
            let met = fields.met(&hits, made, &can_be_left, (calls, kinds), index, names);
            trail.steps(roots.iter().copied(), Rule::Initialiser, From::Nothing);
            for &class in met.objects.intersection(&touched) {
                roots.extend(calls.constructors(class));
            }
            trail.steps(roots.iter().copied(), Rule::Maker, From::Nothing);
            met.because.iter().for_each(|&(probe, from)| trail.concerned(probe, from));
            // What a static initialiser used belongs to everybody who touches the class, and what made
            // an object that is kept to everybody who can meet it.
            roots.retain(|&probe| self.ran.contains(probe));
            let makers: RoaringBitmap = roots.iter().copied().collect();
            // Of most static initialisers it is known what ran in them.
            let known = take_known(&mut roots, &self.statics.initialised, &mut trail);
            asked |= known.classes;
            others |= known.others;
            let mut view = View { calls, kinds, answers, names, ran: &self.ran };
            left.extend(&roots);
            let mut outside: Vec<u32> = kept.roots(&hits, &touched, &mut view);
            trail.steps(outside.iter().copied(), Rule::CalledBack, From::Nothing);
            outside.extend(given_by_state(&met, &view, &mut trail));
            roots.extend(&outside);
            trail.steps(&seen.running, Rule::Running, From::Nothing);
            roots.extend(&seen.running);
            let is_known = |probe: &u32| self.statics.initialised.contains_key(probe);
            roots.extend(met.concerned.iter().filter(|probe| !is_known(probe)));
            roots.retain(|&probe| roots_done.insert(probe));
            let mut more = calls.reach(roots.iter().copied(), &self.ran, kinds, &mut trail);
            let reflective: Vec<u32> = more.iter().chain(roots).collect();
            more |= with_reflection(&reflective, calls, &self.tests, &mut trail);
            more.extend(outside);
            left |= &more;
            more |= makers;
            more |= known.hits;
            let shelved = shelved(&kept, &hits, (calls, &self.tests), seen, &mut trail);
            left |= &shelved;
            more |= shelved;
            more -= &hits;
            if more.is_empty() {
                let made = made_by_others(seen, &hits, &met.objects, calls, &self.tests);
                let of = made.class.map_or(From::Nothing, From::Class);
                trail.steps(&made.ran, Rule::Stranger, of);
                left |= &made.ran;
                more = made.ran - &hits;
                stranger = stranger.or(made.class);
            }
            if more.is_empty() {
                let objects = met.objects;
                return Closed { hits, touched, left, asked, others, objects, stranger, trail };
            }
            hits |= &more;
            new_hits = more.iter().collect();
        }
    }

    /// What depends on the names of classes; whether one of them uses resource bundles.
    fn add_classes(
        &mut self,
        touched: &FxHashSet<NameId>,
        test: &str,
        hits: &RoaringBitmap,
        facts: &mut RoaringBitmap,
    ) -> bool {
        let Self { answers, names, calls, kinds, .. } = self;
        let own = own_classes(test, calls, (answers, names));
        let mut of_project = FxHashSet::default();
        let mut libraries = FxHashSet::default();
        let mut uses_bundles = false;
        for &class in touched {
            let named = answers.class(class, names);
            uses_bundles |= named.uses_bundles;
            match named.place {
                OnPath::Library(entry) => drop(libraries.insert(entry)),
                OnPath::Project => {
                    of_project.insert(class);
                    continue;
                }
                OnPath::Missing if !self.loaded.elsewhere.contains(&class) => {}
                OnPath::Missing | OnPath::Jdk => continue,
            }
            facts.insert(named.fact);
        }
        let loaded = Loaded { calls, kinds, index: &self.index, all: &self.loaded };
        self.headers.add(&of_project, &own, hits, &loaded, (answers, names), facts);
        // A library may keep anything from earlier tests.
        for loaded in self.loaded.probed() {
            if let Place::Library(entry) = loaded.place
                && libraries.contains(&entry)
                && self.ran.range_cardinality(loaded.first..loaded.first + loaded.probes) > 0
            {
                facts.insert(whole(answers, &loaded.name));
            }
        }
        uses_bundles
    }

    fn add_bodies(&mut self, hits: &RoaringBitmap, facts: &mut RoaringBitmap) {
        let Self { answers, loaded, calls, names, .. } = self;
        for probe in hits {
            if let Some(&body) = answers.bodies.get(&probe) {
                facts.extend(body);
                continue;
            }
            let Some(loaded) = loaded.find(probe) else { continue };
            let body = match loaded.place {
                Place::Project => calls.method(probe).map(|(_, method)| {
                    let signature = mutf8::decode(names.get(method.signature)).into_owned();
                    answers.number(FactKind::Body(loaded.name.clone(), signature))
                }),
                Place::Changed => Some(whole(answers, &loaded.name)),
                Place::Library(_) | Place::Elsewhere => None,
            };
            answers.bodies.insert(probe, body);
            facts.extend(body);
        }
    }
}

/// What ran in static initialisers, by their probes.
type InInitialisers = FxHashMap<u32, Initialised>;

/// Takes out the static initialisers of which it is known what ran in them: all of that.
fn take_known(roots: &mut Vec<u32>, ran: &InInitialisers, trail: &mut Trail) -> Initialised {
    let mut known = Initialised::default();
    roots.retain(|probe| match ran.get(probe) {
        Some(initialised) => {
            known.hits |= &initialised.hits;
            trail.steps(&initialised.hits, Rule::Initialiser, From::Method(*probe));
            known.classes |= &initialised.classes;
            known.others |= &initialised.others;
            false
        }
        None => true,
    });
    known
}

/// What ran in tests that left something where this one can have got it.
fn shelved(
    kept: &Elsewhere,
    hits: &RoaringBitmap,
    (calls, tests): (&Calls, &TestsSeen),
    seen: &Seen,
    trail: &mut Trail,
) -> RoaringBitmap {
    let mut found = RoaringBitmap::new();
    for (left, asker) in kept.left_on_shelves(hits, calls, tests, &seen.own_class) {
        trail.steps(&left - hits, Rule::Shelf, asker);
        found |= left;
    }
    found
}

/// Who can have left something in static fields, and what classes with such fields let others call.
fn given_by_state(met: &Met, view: &View<'_>, trail: &mut Trail) -> Vec<u32> {
    let mut found = Vec::new();
    for (writer, field) in writers_of(&met.fields, view) {
        trail.step(writer, Rule::Writer, field);
        found.push(writer);
    }
    let handed = handed_by(&met.concerned, view);
    trail.steps(handed.iter().copied(), Rule::Handed, From::Nothing);
    found.extend(handed);
    found
}

/// Adds classes, and what their headers lead to.
fn touch(
    new: &mut Vec<NameId>,
    touched: &mut FxHashSet<NameId>,
    answers: &mut Answers,
    names: &mut Names,
) {
    while let Some(class) = new.pop() {
        if touched.insert(class) {
            new.extend(&answers.class(class, names).header_names);
        }
    }
}

/// What was called by reflection is not known: anything that ran together with it.
fn with_reflection(
    methods: &[u32],
    calls: &Calls,
    tests: &TestsSeen,
    trail: &mut Trail,
) -> RoaringBitmap {
    let mut found = RoaringBitmap::new();
    for &probe in methods {
        if calls.method(probe).is_some_and(|(_, method)| method.links.is_reflective) {
            let with_it = tests.ended.iter().filter(|did| did.hits.contains(probe));
            for did in with_it {
                trail.steps(&did.hits, Rule::Reflection, From::Method(probe));
                found |= &did.hits;
            }
        }
    }
    found
}

fn whole(answers: &mut Answers, class: &str) -> u32 {
    answers.number(FactKind::Whole(class.to_owned()))
}
