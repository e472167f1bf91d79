//! One JVM: takes what its agent says, and tells at the end of each test what it depends on.

use crate::answers::{Answers, class_id};
use crate::calls::Calls;
use crate::class::Class;
use crate::discovery::{Discovery, outermost};
use crate::divided::Divided;
use crate::facts::FactKind;
use crate::loaded_types::LoadedTypes;
use crate::retained_state::RetainedState;
use crate::seen::{Depends, Ended, Loaded, Place, Seen, Untouched};
use roaring::RoaringBitmap;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use tamis_classfile::mutf8;
use tamis_classpath::ClassIndex;
use tamis_classpath::names::{NameId, Names, dotted};
use tamis_core::Hash;
use tamis_jvm_wire::{ClassSeen, Hits, Lookup, StaticState, Window};

#[derive(Debug)]
pub struct Jvm {
    pub(crate) index: Arc<ClassIndex>,
    pub(crate) names: Names,
    /// By first probe.
    pub(crate) loaded: Vec<Loaded>,
    /// Loaded classes that are not on the classpath.
    pub(crate) elsewhere: FxHashSet<NameId>,
    pub(crate) calls: Calls,
    /// Everything that ran so far.
    pub(crate) ran: RoaringBitmap,
    outside: Seen,
    pub(crate) open: FxHashMap<u32, Seen>,
    /// Those of the open ones whose methods are told apart.
    pub(crate) divided: FxHashMap<u32, Divided>,
    /// What each ended test did by itself.
    pub(crate) ended: Vec<Ended>,
    pub(crate) answers: Answers,
    /// The facts of methods, by their probes; `None` for those of libraries and the like.
    pub(crate) bodies: FxHashMap<u32, Option<u32>>,
    /// Bundles in jars that anybody asked for so far, as facts.
    pub(crate) bundles: RoaringBitmap,
    pub(crate) kinds: LoadedTypes,
    /// Who can depend on earlier tests; dropped when another class is loaded.
    pub(crate) kept: Option<RetainedState>,
    /// What ran in static initialisers, by their probes.
    pub(crate) initialised: FxHashMap<u32, RoaringBitmap>,
    /// Classes whose static fields are looked at before each test.
    pub(crate) watched: FxHashSet<NameId>,
    /// All classes that were loaded.
    seen: FxHashSet<NameId>,
    /// Names of more than one class: which of them is meant cannot be told.
    pub(crate) twice: FxHashSet<NameId>,
    /// What was seen of them for the test that begins next.
    state: Option<Untouched>,
    discovery: Discovery,
    pub(crate) incomplete: Option<String>,
}

impl Jvm {
    /// Its classes are those of this classpath; `scope` is the suite that facts about it are told of.
    pub fn new(index: Arc<ClassIndex>, scope: &str) -> Self {
        let incomplete = index.blind().first().map(|why| format!("the classpath: {why}"));
        Self {
            answers: Answers::new(Arc::clone(&index), scope),
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
            bodies: FxHashMap::default(),
            bundles: RoaringBitmap::new(),
            kinds: LoadedTypes::default(),
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
        let (first, probes) = (seen.first_probe, seen.probes);
        let id = class_id(&name, &mut self.names);
        if place == Place::Elsewhere {
            self.elsewhere.insert(id);
        }
        if !self.seen.insert(id) {
            self.twice.insert(id);
        }
        if probes > 0 {
            self.loaded.push(Loaded { name, id, first, probes, place });
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
                self.calls.add(class, seen.first_probe, &mut self.names);
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
                    seen.classes.extend(class_name(&name));
                }
                Lookup::JarEntry { jar, entry } => {
                    if !self.index.has_jar(Path::new(&jar)) {
                        continue;
                    }
                    if let Some(class) = entry.strip_suffix(".class") {
                        seen.class_entries.insert(class.replace('/', "."));
                    } else if is_resource(&entry) {
                        let is_bundle = entry.ends_with(".properties");
                        let fact = self.answers.number(FactKind::Resource(entry));
                        if is_bundle {
                            // The JDK keeps what it read.
                            self.bundles.insert(fact);
                        }
                        seen.others.insert(fact);
                    }
                }
                Lookup::JarNames { jar } => {
                    if self.index.has_jar(Path::new(&jar)) {
                        seen.others.insert(self.answers.number(FactKind::Jars));
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
        let watched = state.watched.iter().map(|class| class_id(class, names));
        self.watched.extend(watched);
        let waiting = state.waiting.iter().map(|class| class_id(class, names)).collect();
        let changed = state.changed.as_ref().map(|changed| {
            let ids = changed.iter().map(|(class, field)| {
                (class_id(class, names), names.intern(&mutf8::encode(field)))
            });
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
        let depends = self.depends_on(&seen, &FxHashSet::default()).depends;
        self.add_ended(test, &seen);
        depends
    }

    /// Keeps what an ended test did, for those that come after it.
    pub(crate) fn add_ended(&mut self, test: u32, seen: &Seen) {
        let others = &seen.others | self.class_files_read(seen);
        let classes = seen.classes.iter().filter(|class| **class != seen.own_class);
        let classes = classes.map(|class| class_id(class, &mut self.names)).collect();
        self.ended.push(Ended { test, hits: seen.hits.clone(), classes, others });
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
}

/// Whether a class of the JDK lets other threads run what it is given.
fn runs_later(class: &[u8]) -> bool {
    const RUNNERS: [&[u8]; 5] = [b"Execut", b"Future", b"ForkJoin", b"Thread", b"Timer"];
    let is_runner = |part: &&[u8]| class.windows(part.len()).any(|window| window == *part);
    class.starts_with(b"java/") && RUNNERS.iter().any(is_runner)
}

pub(crate) fn find(loaded: &[Loaded], probe: u32) -> Option<&Loaded> {
    let at = loaded.partition_point(|l| l.first <= probe).checked_sub(1)?;
    loaded.get(at).filter(|l| probe < l.first + l.probes)
}

/// The class that a name given to `Class.forName` or told by reflection stands for, without the brackets
/// of arrays. None for what no class file can have: arrays of numbers, texts such as `[0]` that runners
/// try, and hidden classes (`a.B$$Lambda/0x7f3c`), which what ran has made and nobody finds by name.
fn class_name(name: &str) -> Option<String> {
    let inner = name.trim_start_matches('[');
    if inner.len() < name.len() {
        return Some(inner.strip_prefix('L')?.strip_suffix(';')?.replace('/', "."));
    }
    let is_hidden =
        inner.rsplit_once('/').is_some_and(|(_, n)| n.starts_with(|c: char| c.is_ascii_digit()));
    (!is_hidden).then(|| inner.replace('/', "."))
}

/// Entries that the class loader itself looks at are no resources.
fn is_resource(entry: &str) -> bool {
    entry != "META-INF/MANIFEST.MF"
        && entry != "META-INF/INDEX.LIST"
        && !entry.starts_with("META-INF/versions/")
        && !entry.starts_with("META-INF/maven/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stand_for_classes() {
        for (name, class) in [
            ("a.B$C", Some("a.B$C")),
            ("a/B", Some("a.B")),
            ("[[La.B;", Some("a.B")),
            ("[I", None),
            ("[0]", None),
            ("[0: 1.5/x]", None),
            ("a.B$$Lambda$14/0x00007f6ea0010a60", None),
            ("a.B$$Lambda$3/1418481495", None),
        ] {
            assert_eq!(class_name(name).as_deref(), class, "{name}");
        }
    }
}
