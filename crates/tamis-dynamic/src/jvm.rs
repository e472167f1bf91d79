//! One JVM: takes what its agent says, and tells at the end of each test what it depends on.

use crate::class::Class;
use crate::discovery::{Discovery, outermost};
use crate::facts::Kind;
use crate::index::ClassIndex;
use crate::kept::Kept;
use crate::methods::Divided;
use crate::reach::{Calls, Kinds};
use roaring::RoaringBitmap;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use tamis_core::{Hash, Value};
use tamis_jvm::names::{NameId, Names, dotted};
use tamis_wire::{ClassSeen, Hits, Lookup, StaticState, Window};

/// What one test depends on, as far as classes go.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Depends {
    pub facts: BTreeMap<Kind, Value>,
    /// Earlier tests of this JVM that ran code which this test relies on: their files count.
    pub relies_on: BTreeSet<u32>,
    /// Classes that were loaded meanwhile.
    pub loaded: BTreeSet<String>,
    /// It may use resource bundles, which the JDK keeps: those that earlier tests of this JVM read
    /// count for it.
    pub uses_bundles: bool,
    /// Nothing of the project ran outside of tests before it began, but for finding tests.
    pub found_only: bool,
    /// Why the set is not complete.
    pub incomplete: Option<String>,
}

#[derive(Debug)]
pub struct Jvm {
    pub(crate) index: Arc<ClassIndex>,
    pub(crate) names: Names,
    /// By first probe.
    loaded: Vec<Loaded>,
    /// Loaded classes that are not on the classpath.
    elsewhere: FxHashSet<String>,
    pub(crate) calls: Calls,
    /// Everything that ran so far.
    ran: RoaringBitmap,
    outside: Seen,
    pub(crate) open: FxHashMap<u32, Seen>,
    /// Those of the open ones whose methods are told apart.
    pub(crate) divided: FxHashMap<u32, Divided>,
    /// What each ended test did by itself.
    pub(crate) ended: Vec<Ended>,
    /// Class names and the like that tests asked for, each once.
    asked: Vec<Kind>,
    asked_ids: FxHashMap<Kind, u32>,
    /// Bundles in jars that anybody asked for so far.
    bundles: BTreeSet<Kind>,
    /// Who can depend on earlier tests, and by which calls; dropped when another class is loaded.
    pub(crate) kept: Option<(Kept, Kinds)>,
    /// What ran in static initialisers, by their probes.
    initialised: FxHashMap<u32, RoaringBitmap>,
    /// Classes whose static fields are looked at before each test.
    watched: FxHashSet<NameId>,
    /// All classes that were loaded.
    seen: FxHashSet<NameId>,
    /// Names of more than one class: which of them is meant cannot be told.
    twice: FxHashSet<NameId>,
    /// What was seen of them for the test that begins next.
    state: Option<Untouched>,
    discovery: Discovery,
    incomplete: Option<String>,
}

/// What is known to hold nothing of earlier tests when a test begins.
#[derive(Debug, Default, Clone)]
pub(crate) struct Untouched {
    /// Static fields that hold something else than at first.
    changed: Arc<FxHashSet<(NameId, NameId)>>,
    /// Classes that were not used yet.
    waiting: Arc<FxHashSet<NameId>>,
}

#[derive(Debug, Default, Clone)]
pub(crate) struct Seen {
    /// The test class.
    pub(crate) own_class: String,
    found_only: bool,
    loaded: BTreeSet<String>,
    /// `None` where nobody looked, or other tests ran at the same time.
    pub(crate) untouched: Option<Untouched>,
    pub(crate) hits: RoaringBitmap,
    pub(crate) classes: BTreeSet<String>,
    /// Resources and the like.
    others: BTreeSet<Kind>,
    /// Classes whose files in jars were asked for.
    class_entries: BTreeSet<String>,
}

impl Seen {
    fn absorb(&mut self, other: &Self) {
        self.hits |= &other.hits;
        self.classes.extend(other.classes.iter().cloned());
        self.others.extend(other.others.iter().cloned());
        self.class_entries.extend(other.class_entries.iter().cloned());
    }

    /// With what was loaded meanwhile.
    pub(crate) fn absorb_all(&mut self, other: &Self) {
        self.absorb(other);
        self.loaded.extend(other.loaded.iter().cloned());
    }
}

/// What a test did that has ended. There are many of them, and each one that comes is held against all:
/// names are numbers here.
#[derive(Debug)]
pub(crate) struct Ended {
    test: u32,
    hits: RoaringBitmap,
    /// Classes that it asked for by name, but for its own.
    classes: RoaringBitmap,
    /// Resources and class files.
    others: RoaringBitmap,
}

/// What counts for a test.
#[derive(Debug)]
pub(crate) struct Counted {
    pub(crate) depends: Depends,
    /// All methods that do, those that ran for others included.
    pub(crate) hits: RoaringBitmap,
    /// Classes whose objects a static field that it can get at can hold.
    pub(crate) objects: FxHashSet<NameId>,
}

#[derive(Debug)]
struct Loaded {
    name: String,
    first: u32,
    probes: u32,
    place: Place,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// A class of the project whose bytes are those of its file.
    Project,
    /// A class of the project that somebody changed on the way: which probe is which method is not
    /// known.
    Changed,
    Library(u32),
    /// Not on the classpath: made at run time by what ran, or a file that the tracer sees.
    Elsewhere,
}

impl Jvm {
    pub fn new(index: Arc<ClassIndex>) -> Self {
        let incomplete = index.blind().first().map(|why| format!("the classpath: {why}"));
        Self {
            index,
            names: Names::default(),
            loaded: Vec::new(),
            elsewhere: FxHashSet::default(),
            calls: Calls::default(),
            ran: RoaringBitmap::new(),
            outside: Seen::default(),
            open: FxHashMap::default(),
            divided: FxHashMap::default(),
            ended: Vec::new(),
            asked: Vec::new(),
            asked_ids: FxHashMap::default(),
            bundles: BTreeSet::new(),
            kept: None,
            initialised: FxHashMap::default(),
            watched: FxHashSet::default(),
            seen: FxHashSet::default(),
            twice: FxHashSet::default(),
            state: None,
            discovery: Discovery::default(),
            incomplete,
        }
    }

    /// With the test classes that a framework may look at before any of them runs.
    #[must_use]
    pub fn with_tests<'t>(mut self, tests: impl IntoIterator<Item = &'t str>) -> Self {
        self.discovery = Discovery::of(tests, &self.index);
        self
    }

    /// One more test class that a framework may look at.
    pub fn add_test(&mut self, test: &str) {
        self.discovery.add(test, &self.index);
    }

    /// Nothing from here on is complete.
    pub fn trouble(&mut self, why: &str) {
        self.incomplete.get_or_insert_with(|| why.to_owned());
    }

    pub fn class(&mut self, seen: &ClassSeen) {
        let name = dotted(&seen.name);
        let place = self.place(&name, seen);
        if let (Some(problem), true) = (&seen.problem, place != Place::Elsewhere) {
            self.trouble(&format!("class {name} could not be observed: {problem}"));
        }
        for open in self.open.values_mut() {
            open.loaded.insert(name.clone());
        }
        for divided in self.divided.values_mut() {
            divided.part(|_| true).loaded.insert(name.clone());
        }
        if place == Place::Elsewhere {
            self.elsewhere.insert(name.clone());
        }
        let (first, probes) = (seen.first_probe, seen.probes);
        let id = id_of(&name, &mut self.names);
        if !self.seen.insert(id) {
            self.twice.insert(id);
        }
        if probes > 0 {
            self.loaded.push(Loaded { name, first, probes, place });
        }
        self.kept = None;
    }

    fn place(&mut self, name: &str, seen: &ClassSeen) -> Place {
        let Some(found) = self.index.find_dotted(name) else { return Place::Elsewhere };
        if !found.is_project {
            return Place::Library(found.entry);
        }
        if found.facts.raw != Hash(seen.hash) {
            return Place::Changed;
        }
        let mut file = found.path.to_path_buf();
        file.push(format!("{}.class", name.replace('.', "/")));
        let bytes = std::fs::read(file).unwrap_or_default();
        if Hash::of(&bytes) != Hash(seen.hash) {
            self.trouble(&format!("class {name} was written while the tests ran"));
            return Place::Changed;
        }
        match Class::read(&bytes, &mut self.names) {
            Ok(class) if class.methods.len() == seen.probes as usize => {
                self.calls.add(class, seen.first_probe);
                Place::Project
            }
            _ => Place::Changed,
        }
    }

    pub fn window(&mut self, window: &Window) {
        let hits: RoaringBitmap = window.hits.iter().collect();
        self.ran |= &hits;
        let mut seen = Seen { hits, ..Seen::default() };
        for lookup in window.lookups.iter() {
            match lookup {
                Lookup::Class(name) | Lookup::Reflected(name) => {
                    seen.classes.insert(class_name(&name));
                }
                Lookup::JarEntry { jar, entry } => {
                    if !self.index.has_jar(Path::new(&jar)) {
                        continue;
                    }
                    if let Some(class) = entry.strip_suffix(".class") {
                        seen.class_entries.insert(class.replace('/', "."));
                    } else if is_resource(&entry) {
                        let kind = Kind::Resource(entry);
                        if is_bundle(&kind) {
                            self.bundles.insert(kind.clone());
                        }
                        seen.others.insert(kind);
                    }
                }
                Lookup::JarNames { jar } => {
                    if self.index.has_jar(Path::new(&jar)) {
                        seen.others.insert(Kind::Jars);
                    }
                }
                // The whole environment counts for every test.
                Lookup::Variable(_) | Lookup::AllVariables => {}
            }
        }
        if window.open.is_empty() {
            self.outside.absorb(&seen);
        }
        for test in &window.open {
            // A stretch of a test is no test.
            if let Some(open) = self.open.get_mut(test) {
                open.absorb(&seen);
            }
            if let Some(divided) = self.divided.get_mut(test) {
                divided.part(|stretch| window.open.contains(&stretch)).absorb(&seen);
            }
        }
    }

    /// A static initialiser came to its end.
    pub fn initialised(&mut self, probe: u32, hits: &Hits) {
        let hits: RoaringBitmap = hits.iter().collect();
        // What is handed to somebody else's threads may run later.
        let hands_over = |probe: u32| {
            self.calls.method(probe).is_some_and(|(_, method)| {
                method.calls.iter().any(|&(owner, _)| runs_later(self.names.get(owner)))
            })
        };
        if !hits.iter().chain([probe]).any(hands_over) {
            self.initialised.insert(probe, hits);
        }
    }

    /// What static fields hold, said right before a test begins.
    pub fn state(&mut self, state: &StaticState) {
        let names = &mut self.names;
        let watched = state.watched.iter().map(|class| id_of(class, names));
        self.watched.extend(watched);
        let waiting = state.waiting.iter().map(|class| id_of(class, names)).collect();
        let changed = state.changed.as_ref().map(|changed| {
            let ids = changed
                .iter()
                .map(|(class, field)| (id_of(class, names), names.intern(field.as_bytes())));
            Arc::new(ids.collect())
        });
        self.state = changed.map(|changed| Untouched { changed, waiting: Arc::new(waiting) });
    }

    /// What was said of static fields was about something that is no test.
    pub fn forget_state(&mut self) {
        self.state = None;
    }

    pub fn began(&mut self, test: u32, class: &str) {
        let mut seen = Seen { own_class: class.to_owned(), ..self.outside.clone() };
        seen.untouched = self.state.take().filter(|_| self.open.is_empty());
        for other in self.open.values_mut() {
            other.untouched = None;
        }
        let ran = seen.hits.iter().filter_map(|probe| find(&self.loaded, probe));
        let ran = ran.filter(|l| matches!(l.place, Place::Project | Place::Changed));
        if self.discovery.did_all(ran.map(|l| l.name.as_str())) {
            self.discovery.leave_out(&mut seen.classes, class, &self.index);
            seen.found_only = true;
        }
        self.open.insert(test, seen);
    }

    /// The test ended; its last window was told.
    pub fn ended(&mut self, test: u32) -> Depends {
        let Some(seen) = self.open.remove(&test) else {
            let incomplete = Some("the agent did not tell when it began".to_owned());
            return Depends { incomplete, ..Depends::default() };
        };
        self.divided.remove(&test);
        let Counted { depends, .. } = self.depends_on(&seen, &FxHashSet::default());
        self.add_ended(test, &seen);
        depends
    }

    /// Keeps what an ended test did, for those that come after it.
    pub(crate) fn add_ended(&mut self, test: u32, seen: &Seen) {
        let classes = seen.classes.iter().filter(|class| **class != seen.own_class);
        let classes: Vec<Kind> = classes.map(|class| Kind::Header(class.clone())).collect();
        let mut others: Vec<Kind> = self.class_files_read(seen).collect();
        others.extend(seen.others.iter().cloned());
        let (classes, others) = (self.ids_of(classes), self.ids_of(others));
        self.ended.push(Ended { test, hits: seen.hits.clone(), classes, others });
    }

    fn ids_of(&mut self, kinds: Vec<Kind>) -> RoaringBitmap {
        let mut ids = RoaringBitmap::new();
        for kind in kinds {
            let id = *self.asked_ids.entry(kind).or_insert_with_key(|kind| {
                self.asked.push(kind.clone());
                self.asked.len() as u32 - 1
            });
            ids.insert(id);
        }
        ids
    }

    /// What follows from what was seen. Objects of the `made` classes count as held by a static field.
    pub(crate) fn depends_on(&mut self, seen: &Seen, made: &FxHashSet<NameId>) -> Counted {
        let incomplete = self.incomplete.clone();
        let found_only = seen.found_only;
        let mut depends = Depends { incomplete, found_only, ..Depends::default() };
        let (hits, mut touched, objects) = self.close(seen, made);
        let inherited = &hits - &seen.hits;
        let mut others = seen.others.clone();
        // What a test asked for by name that this one relies on may have been for this one, too.
        let (mut classes, mut things) = (RoaringBitmap::new(), RoaringBitmap::new());
        for did in self.ended.iter().filter(|did| !did.hits.is_disjoint(&inherited)) {
            depends.relies_on.insert(did.test);
            classes |= &did.classes;
            things |= &did.others;
        }
        touched.extend(classes.iter().filter_map(|id| match &self.asked[id as usize] {
            Kind::Header(class) => Some(class.clone()),
            _ => None,
        }));
        others.extend(things.iter().map(|id| self.asked[id as usize].clone()));
        depends.uses_bundles = self.uses_bundles(&touched);
        if depends.uses_bundles {
            others.extend(self.bundles.iter().cloned());
        }
        others.extend(self.class_files_read(seen));
        self.add_facts(&hits, &touched, &others, &mut depends.facts);
        depends.loaded = seen.loaded.clone();
        Counted { depends, hits, objects }
    }

    /// Who reads a class file without loading it depends on all of it, and on its absence. Those of the
    /// project that are there are found in folders: the tracer sees them.
    fn class_files_read<'s>(&'s self, seen: &'s Seen) -> impl Iterator<Item = Kind> + 's {
        let read = seen.class_entries.difference(&seen.loaded);
        read.filter(|class| !self.elsewhere.contains(*class) && !class.starts_with("META-INF."))
            .filter_map(|class| match self.index.find_dotted(class) {
                Some(found) => (!found.is_project).then(|| Kind::Whole(class.clone())),
                None => Some(Kind::Header(class.clone())),
            })
    }

    fn uses_bundles(&self, touched: &BTreeSet<String>) -> bool {
        let is_bundle = |name: &str| name == "java.util.ResourceBundle";
        touched.iter().any(|class| {
            is_bundle(class)
                || self.index.find_dotted(class).is_some_and(|found| !found.is_project)
                    && self.index.uses(class).iter().any(|name| is_bundle(name))
        })
    }

    /// The outermost classes of the project that did something outside of all tests, other than being
    /// initialised: where a framework found no test in one, that was not the whole truth.
    pub fn ran_outside(&self) -> BTreeSet<String> {
        let did = self.outside.hits.iter().filter(|&probe| {
            self.calls.method(probe).is_none_or(|(_, method)| !method.is_initialiser)
        });
        let classes = did.filter_map(|probe| find(&self.loaded, probe));
        let ours = classes.filter(|l| matches!(l.place, Place::Project | Place::Changed));
        ours.map(|l| outermost(&l.name).to_owned()).collect()
    }

    /// How classes are related, where that is known by now.
    pub(crate) fn kinds(&self) -> Option<&Kinds> {
        self.kept.as_ref().map(|(_, kinds)| kinds)
    }

    /// All methods that count for a test, all classes that it touches, and those whose objects can be
    /// kept for it.
    fn close(
        &mut self,
        seen: &Seen,
        made: &FxHashSet<NameId>,
    ) -> (RoaringBitmap, BTreeSet<String>, FxHashSet<NameId>) {
        let (index, calls) = (Arc::clone(&self.index), &self.calls);
        let names = &mut self.names;
        let (kept, kinds) =
            self.kept.get_or_insert_with(|| (Kept::of(calls, names), calls.kinds(names)));
        let loaded = match seen.untouched {
            Some(_) => seen.loaded.iter().map(|class| id_of(class, names)).collect(),
            None => FxHashSet::default(),
        };
        let (watched, twice) = (&self.watched, &self.twice);
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
        let mut hits = seen.hits.clone();
        let mut touched: BTreeSet<String> = BTreeSet::new();
        let mut new_classes: Vec<String> = seen.classes.iter().cloned().collect();
        new_classes.push(seen.own_class.clone());
        let mut new_hits: Vec<u32> = hits.iter().collect();
        let mut roots_done = RoaringBitmap::new();
        let mut ids: Vec<NameId> = Vec::new();
        loop {
            for &probe in &new_hits {
                if let Some(loaded) = find(&self.loaded, probe) {
                    new_classes.push(loaded.name.clone());
                }
                if let Some((_, method)) = calls.method(probe) {
                    new_classes.extend(method.mentions.iter().map(|&m| dotted(names.get(m))));
                }
            }
            let mut roots: Vec<u32> = Vec::new();
            while let Some(class) = new_classes.pop() {
                if touched.contains(&class) {
                    continue;
                }
                new_classes.extend(index.header_names(&class));
                let id = names.intern(class.replace('.', "/").as_bytes());
                roots.extend(calls.initialiser(id));
                ids.push(id);
                touched.insert(class);
            }
            // With each round there may be more: what was no matter at first may be now.
            let met = kept.met(&hits, made, &can_be_left, (calls, kinds), &index, names);
            for &id in ids.iter().filter(|id| met.objects.contains(id)) {
                roots.extend(calls.constructors(id));
            }
            // What a static initialiser used belongs to everybody who touches the class, and what made
            // an object that is kept to everybody who can meet it.
            roots.retain(|&probe| self.ran.contains(probe));
            let makers: RoaringBitmap = roots.iter().copied().collect();
            // Of most static initialisers it is known what ran in them.
            let mut ran_in_them = RoaringBitmap::new();
            roots.retain(|probe| match self.initialised.get(probe) {
                Some(ran) => {
                    ran_in_them |= ran;
                    false
                }
                None => true,
            });
            let is_told = |probe: &u32| self.initialised.contains_key(probe);
            roots.extend(met.concerned.iter().filter(|probe| !is_told(probe)));
            roots.retain(|&probe| roots_done.insert(probe));
            let mut more = calls.reach(roots.iter().copied(), &self.ran, kinds);
            // What was called by reflection is not known: anything that ran together with it.
            for probe in more.iter().chain(roots).collect::<Vec<_>>() {
                if calls.method(probe).is_some_and(|(_, method)| method.is_reflective) {
                    let with_it = self.ended.iter().filter(|did| did.hits.contains(probe));
                    with_it.for_each(|did| more |= &did.hits);
                }
            }
            more |= makers;
            more |= ran_in_them;
            more -= &hits;
            if more.is_empty() {
                return (hits, touched, met.objects);
            }
            hits |= &more;
            new_hits = more.iter().collect();
        }
    }

    fn add_facts(
        &self,
        hits: &RoaringBitmap,
        touched: &BTreeSet<String>,
        others: &BTreeSet<Kind>,
        facts: &mut BTreeMap<Kind, Value>,
    ) {
        let mut add = |kind: Kind| {
            let value = crate::facts::answer(&self.index, &kind).unwrap_or(Value::Absent);
            facts.insert(kind, value);
        };
        let mut libraries = FxHashSet::default();
        for class in touched {
            match self.index.find_dotted(class) {
                Some(found) if found.is_project => add(Kind::Header(class.clone())),
                Some(found) => {
                    libraries.insert(found.entry);
                    add(Kind::Whole(class.clone()));
                }
                None if is_jdk(class) || self.elsewhere.contains(class) => {}
                None => add(Kind::Header(class.clone())),
            }
        }
        for probe in hits {
            let Some(loaded) = find(&self.loaded, probe) else { continue };
            match loaded.place {
                Place::Project => {
                    let Some((_, method)) = self.calls.method(probe) else { continue };
                    let signature =
                        tamis_classfile::mutf8::decode(self.names.get(method.signature));
                    add(Kind::Body(loaded.name.clone(), signature.into_owned()));
                }
                Place::Changed => add(Kind::Whole(loaded.name.clone())),
                Place::Library(_) | Place::Elsewhere => {}
            }
        }
        // A library may keep anything from earlier tests.
        for loaded in &self.loaded {
            if let Place::Library(entry) = loaded.place
                && libraries.contains(&entry)
                && self.ran.range_cardinality(loaded.first..loaded.first + loaded.probes) > 0
            {
                add(Kind::Whole(loaded.name.clone()));
            }
        }
        for other in others {
            add(other.clone());
        }
    }
}

/// Whether a class of the JDK lets other threads run what it is given.
fn runs_later(class: &[u8]) -> bool {
    const RUNNERS: [&[u8]; 5] = [b"Execut", b"Future", b"ForkJoin", b"Thread", b"Timer"];
    let is_runner = |part: &&[u8]| class.windows(part.len()).any(|window| window == *part);
    class.starts_with(b"java/") && RUNNERS.iter().any(is_runner)
}

fn id_of(class: &str, names: &mut Names) -> NameId {
    names.intern(class.replace('.', "/").as_bytes())
}

fn find(loaded: &[Loaded], probe: u32) -> Option<&Loaded> {
    let at = loaded.partition_point(|l| l.first <= probe).checked_sub(1)?;
    loaded.get(at).filter(|l| probe < l.first + l.probes)
}

/// A name as given to `Class.forName`, without the brackets of arrays.
fn class_name(name: &str) -> String {
    let inner = name.trim_start_matches('[');
    match inner.strip_prefix('L').and_then(|n| n.strip_suffix(';')) {
        Some(element) if inner.len() < name.len() => element.replace('/', "."),
        _ => inner.replace('/', "."),
    }
}

/// What the JDK keeps once it was read.
fn is_bundle(kind: &Kind) -> bool {
    matches!(kind, Kind::Resource(name) if name.ends_with(".properties"))
}

/// Entries that the class loader itself looks at are no resources.
fn is_resource(entry: &str) -> bool {
    entry != "META-INF/MANIFEST.MF"
        && entry != "META-INF/INDEX.LIST"
        && !entry.starts_with("META-INF/versions/")
        && !entry.starts_with("META-INF/maven/")
}

/// Packages that nobody but the JDK may define.
fn is_jdk(class: &str) -> bool {
    ["java.", "jdk.", "sun."].iter().any(|p| class.starts_with(p))
        || !class.contains(char::is_alphanumeric)
}
