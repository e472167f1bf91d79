//! One JVM: takes what its agent says, and tells at the end of each test what it depends on.

use crate::answers::{Answers, class_id};
use crate::calls::Calls;
use crate::class::Class;
use crate::discovery::{Discovery, outermost};
use crate::elsewhere;
use crate::facts::FactKind;
use crate::headers::Headers;
use crate::loaded_classes::LoadedClasses;
use crate::loaded_types::LoadedTypes;
use crate::seen::{Depends, Ended, Loaded, Place, Seen};
use crate::statics::{Initialised, Statics};
use crate::tests_seen::TestsSeen;
use roaring::RoaringBitmap;
use rustc_hash::FxHashSet;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use tamis_classpath::ClassIndex;
use tamis_classpath::names::{Names, dotted};
use tamis_core::Hash;
use tamis_jvm_wire::{ClassSeen, Hits, Lookup, Lookups, StaticState, Window};

#[derive(Debug)]
pub struct Jvm {
    pub(crate) index: Arc<ClassIndex>,
    pub(crate) names: Names,
    pub(crate) loaded: LoadedClasses,
    pub(crate) calls: Calls,
    /// Everything that ran so far.
    pub(crate) ran: RoaringBitmap,
    pub(crate) tests: TestsSeen,
    pub(crate) answers: Answers,
    pub(crate) kinds: LoadedTypes,
    pub(crate) statics: Statics,
    pub(crate) headers: Headers,
    discovery: Discovery,
    pub(crate) incomplete: Option<String>,
}

impl Jvm {
    /// Its classes are those of this classpath; `scope` is the suite that its facts belong to.
    pub fn new(index: Arc<ClassIndex>, scope: &str) -> Self {
        let incomplete = index.blind().first().map(|why| format!("the classpath: {why}"));
        Self {
            answers: Answers::new(Arc::clone(&index), scope),
            index,
            names: Names::default(),
            loaded: LoadedClasses::default(),
            calls: Calls::default(),
            ran: RoaringBitmap::new(),
            tests: TestsSeen::default(),
            kinds: LoadedTypes::default(),
            statics: Statics::default(),
            headers: Headers::default(),
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

    /// The folder of its JDK: what the JDK's types have is read there. Without it the whole headers of classes
    /// count that extend such types.
    #[must_use]
    pub fn of_jdk(mut self, home: &str) -> Self {
        self.headers.set_jdk(Path::new(home));
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

    /// Somebody can have asked for variables and system properties before it could be seen.
    pub fn asked_unseen(&mut self) {
        self.tests.asked.all_variables = true;
        self.tests.asked.all_properties = true;
    }

    pub fn class(&mut self, seen: &ClassSeen) {
        let name = dotted(&seen.name);
        let place = self.place(&name, seen);
        if let (Some(problem), true) = (&seen.problem, place != Place::Elsewhere) {
            self.trouble(&format!("class {name} could not be observed: {problem}"));
        }
        self.tests.loaded(&name);
        let (first, probes) = (seen.first_probe, seen.probes);
        let id = class_id(&name, &mut self.names);
        self.headers.came(&name, place);
        if matches!(place, Place::Library(_)) {
            self.list_uses(&name);
        }
        self.loaded.add(Loaded { name, id, first, probes, place });
        self.statics.kept = None;
    }

    /// Classes of the project that a library's class names: what it finds in them is not known.
    fn list_uses(&mut self, library: &str) {
        let index = Arc::clone(&self.index);
        for class in index.uses(library) {
            if index.find_dotted(&class).is_some_and(|found| found.is_project) {
                let id = class_id(&class, &mut self.names);
                self.headers.list(id, &mut self.answers, &mut self.names);
            }
        }
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
                if class.has_natives {
                    self.headers.count_all();
                }
                self.calls.add(class, seen.first_probe, &mut self.names);
                Place::Project
            }
            _ => Place::Changed,
        }
    }

    pub fn window(&mut self, window: &Window) {
        let hits: RoaringBitmap = window.hits.iter().collect();
        self.know_all(&(&hits - &self.ran));
        self.ran |= &hits;
        let mut seen = Seen { hits, ..self.asked(&window.lookups) };
        if window.still_running {
            seen.running = seen.hits.clone();
        }
        self.tests.absorb(&window.open, &seen);
    }

    /// What was asked for by name.
    fn asked(&mut self, lookups: &Lookups) -> Seen {
        let mut seen = Seen::default();
        for lookup in lookups.iter() {
            self.tests.asked.add(&lookup);
            match lookup {
                Lookup::Class(name) => seen.classes.extend(class_name(&name)),
                Lookup::Reflected(name) => {
                    if let Some(class) = class_name(&name) {
                        let id = class_id(&class, &mut self.names);
                        self.headers.list(id, &mut self.answers, &mut self.names);
                        seen.classes.insert(class);
                    }
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
                            self.answers.bundles.insert(fact);
                        }
                        seen.others.insert(fact);
                    }
                }
                Lookup::JarNames { jar } => {
                    if self.index.has_jar(Path::new(&jar)) {
                        seen.others.insert(self.answers.number(FactKind::Jars));
                    }
                }
                Lookup::Place(name) => {
                    if let Some(class) = class_name(&name) {
                        seen.others.insert(self.answers.number(FactKind::Place(class)));
                    }
                }
                Lookup::Lines => seen.lines = true,
                Lookup::HiddenClass => self.headers.count_all(),
                Lookup::Property(name) => drop(seen.properties.insert(name)),
                // For this test and all that come.
                Lookup::Variable(_) | Lookup::AllVariables => {}
            }
        }
        seen
    }

    /// A class is reported before its methods can run. Without its class a method would count for no test.
    fn know_all(&mut self, ran_first: &RoaringBitmap) {
        if ran_first.iter().any(|probe| self.loaded.find(probe).is_none()) {
            self.trouble("a method ran whose class the agent did not report");
        }
    }

    /// A static initialiser came to its end.
    pub fn initialised(&mut self, probe: u32, hits: &Hits, lookups: &Lookups) {
        let hits: RoaringBitmap = hits.iter().collect();
        // What is handed to somebody else's threads may run later.
        let hands_over = |probe: u32| {
            self.calls.method(probe).is_some_and(|(_, method)| {
                method.calls.iter().any(|&(owner, _)| runs_later(self.names.get(owner)))
            })
        };
        if !hits.iter().chain([probe]).any(hands_over) {
            let asked = self.asked(lookups);
            let mut others = &asked.others | self.class_files_read(&asked);
            if asked.lines {
                others |= self.lines_of(&(&hits | RoaringBitmap::from([probe])));
            }
            let names = &mut self.names;
            let classes = asked.classes.iter().map(|class| class_id(class, names)).collect();
            self.statics.initialised.insert(probe, Initialised { hits, classes, others });
        }
    }

    /// The lines of the classes that have these methods.
    pub(crate) fn lines_of(&mut self, hits: &RoaringBitmap) -> RoaringBitmap {
        let classes: BTreeSet<&str> = hits
            .iter()
            .filter_map(|probe| self.loaded.find_own(probe))
            .map(|class| class.name.as_str())
            .collect();
        let answers = &mut self.answers;
        classes.into_iter().map(|c| answers.number(FactKind::Lines(c.to_owned()))).collect()
    }

    /// What static fields hold, reported right before a test begins.
    pub fn state(&mut self, state: &StaticState) {
        self.statics.look(state, &mut self.names);
    }

    /// What of the JVM itself is not as it was before the first test.
    pub fn globals(&mut self, seen: &[(String, i64)]) {
        self.tests.look(seen);
    }

    /// What was reported of static fields was about something that is no test.
    pub fn forget_state(&mut self) {
        self.statics.next = None;
    }

    pub fn began(&mut self, test: u32, class: &str) {
        let mut seen = self.tests.beginning(class, self.statics.next.take());
        let ran = seen.hits.iter().filter_map(|probe| self.loaded.find_own(probe));
        if self.discovery.did_all(ran.map(|l| l.name.as_str())) {
            self.discovery.leave_out(&mut seen.classes, class, &self.index);
            seen.found_only = true;
        }
        self.tests.open.insert(test, seen);
    }

    /// The test ended; its last window was reported.
    pub fn ended(&mut self, test: u32) -> Depends {
        let Some(seen) = self.tests.open.remove(&test) else {
            let incomplete = Some("the agent did not tell when it began".to_owned());
            return Depends { incomplete, ..Depends::default() };
        };
        self.tests.divided.remove(&test);
        let counted = self.depends_on(&seen, &FxHashSet::default());
        self.add_ended(test, &seen, counted.hits);
        self.tests.globals.ended(test);
        counted.depends
    }

    /// Keeps what an ended test did, for those that come after it.
    pub(crate) fn add_ended(&mut self, test: u32, seen: &Seen, counted: RoaringBitmap) {
        let others = &seen.others | self.class_files_read(seen);
        let classes = seen.classes.iter().filter(|class| **class != seen.own_class);
        let classes = classes.map(|class| class_id(class, &mut self.names)).collect();
        let sets = elsewhere::sets(&seen.hits, &self.calls);
        let hits = seen.hits.clone();
        self.tests.ended.push(Ended { test, hits, counted, classes, others, sets });
    }

    /// The outermost classes of the project that did something outside of all tests, other than being
    /// initialised: where a framework found no test in one, that was not the whole truth.
    pub fn ran_outside(&self) -> BTreeSet<String> {
        let did = self.tests.outside.hits.iter().filter(|&probe| {
            self.calls.method(probe).is_none_or(|(_, method)| !method.is_initialiser)
        });
        did.filter_map(|probe| self.loaded.find_own(probe))
            .map(|l| outermost(&l.name).to_owned())
            .collect()
    }
}

/// Whether a class of the JDK lets other threads run what it is given.
fn runs_later(class: &[u8]) -> bool {
    const RUNNERS: [&[u8]; 5] = [b"Execut", b"Future", b"ForkJoin", b"Thread", b"Timer"];
    let is_runner = |part: &&[u8]| class.windows(part.len()).any(|window| window == *part);
    class.starts_with(b"java/") && RUNNERS.iter().any(is_runner)
}

/// The class that a name given to `Class.forName` or found by reflection stands for, without the brackets
/// of arrays. None for what no class file can have: arrays of numbers, texts such as `[0]` that runners
/// try, and hidden classes (`a.B$$Lambda/0x7f3c`), which what ran has made and cannot be found by name.
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
