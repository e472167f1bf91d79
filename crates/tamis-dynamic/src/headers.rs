//! Which parts of the headers of classes count for a test.
//!
//! Code finds members of a class by name and descriptor: in the class that it names, in those above it, and
//! when it calls, from the class of the object upwards. So of a class that a test met count its core, and of
//! its members those, there or not, that
//!
//! * code which ran for the test names by this class, by one below it or above it, or by a type that an
//!   object of it can be seen as;
//! * types have that objects of it can be seen as, and that are not the project's or were listed (by their
//!   names): the JDK, a library, reflection or a method handle may call them.
//!
//! The **whole** header counts where somebody listed the members or may have: classes that anybody asked by
//! reflection or for a method handle in this JVM so far, with all above them (a framework keeps what it found
//! for later tests); the test class with those nested in it; classes that a library's class which was loaded
//! refers to; classes above which a type stands that is not known. And all classes, from then on, where code is in the JVM
//! that cannot be read: classes that were changed on their way in or are made at run time, machine code in the
//! project.
//!
//! A class object **leads to others**: what a class says of itself, to the classes around it, to type arguments of its
//! supertypes and to permitted subclasses; a listed member, to the types of its descriptor. Of those that the JVM has loaded the core counts,
//! as it is not seen who asks it for flags and supertypes; and where they were listed themselves, all of it.

use crate::answers::{Answers, OnPath, class_id};
use crate::calls::{Calls, MARKERS};
use crate::facts::FactKind;
use crate::loaded_classes::LoadedClasses;
use crate::loaded_types::LoadedTypes;
use crate::seen::Place;
use roaring::RoaringBitmap;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeSet;
use std::path::Path;
use tamis_classfile::{ClassFile, flags, mutf8};
use tamis_classpath::ClassIndex;
use tamis_classpath::names::{NameId, Names, dotted};
use tamis_jdk::Image;

/// Classes that are made at run time of what reflection tells.
const MADE_BY_REFLECTION: &[&str] = &[
    "jdk.internal.reflect.Generated",
    "sun.reflect.Generated",
    "$MockitoMock$",
    "ByteBuddy",
    "$$Enhancer",
    "$$FastClass",
    "$$KeyFactory",
    "$$SpringCGLIB$$",
];

/// What runs tests, and is not on their classpath; and helpers that makers of such classes make for themselves.
const RUNNERS: &[&str] = &[
    "net.bytebuddy.",
    "org.mockito.",
    "org.apache.maven.",
    "org.junit.",
    "junit.",
    "org.testng.",
    "org.gradle.",
    "org.apache.tools.ant.",
    "worker.org.gradle.",
];

/// What one type that is not the project's has: names of methods, and the types that it extends.
#[derive(Debug, Clone, Default)]
struct Foreign {
    methods: BTreeSet<String>,
    extends: Vec<String>,
}

#[derive(Debug, Default)]
pub(crate) struct Headers {
    jdk: Option<Image>,
    /// Classes whose members somebody listed.
    listed: FxHashSet<NameId>,
    /// There is code that cannot be read.
    all_count: bool,
    foreign: FxHashMap<String, Option<Foreign>>,
    facts: FxHashMap<(NameId, NameId), u32>,
    cached: Cached,
}

/// What holds as long as no class comes.
#[derive(Debug, Default)]
struct Cached {
    classes: usize,
    /// Classes by whose names a member can be found in others, to the positions of those.
    related: FxHashMap<NameId, Vec<usize>>,
    /// What others may call, by the position of the class; `None` where it is not known. Holds only as long
    /// as no class is listed.
    overrides: FxHashMap<usize, Option<u32>>,
    listed: usize,
}

/// What is asked for beside.
pub(crate) struct Loaded<'l> {
    pub(crate) calls: &'l Calls,
    pub(crate) kinds: &'l LoadedTypes,
    pub(crate) index: &'l ClassIndex,
    pub(crate) all: &'l LoadedClasses,
}

impl Headers {
    /// The JDK that the JVM is of.
    pub(crate) fn set_jdk(&mut self, home: &Path) {
        self.jdk = Image::of(home);
    }

    /// A class came that is not as its file says, or not of a file.
    pub(crate) fn came(&mut self, name: &str, place: Place) {
        let is_known = || {
            is_proxy(name)
                || MADE_BY_REFLECTION.iter().any(|part| name.contains(part))
                || RUNNERS.iter().any(|start| name.starts_with(start))
        };
        self.all_count |= match place {
            Place::Changed => true,
            Place::Elsewhere => !is_known(),
            Place::Project | Place::Library(_) => false,
        };
    }

    pub(crate) fn count_all(&mut self) {
        self.all_count = true;
    }

    /// Somebody listed the members of a class, or may have: those above it count as well.
    pub(crate) fn list(&mut self, class: NameId, answers: &mut Answers, names: &mut Names) {
        let mut new = vec![class];
        while let Some(class) = new.pop() {
            if self.listed.insert(class) {
                new.extend(&answers.class(class, names).header_names);
            }
        }
    }

    /// The classes among these whose whole header counts.
    fn is_whole(&self, class: NameId, own: &FxHashSet<NameId>) -> bool {
        self.all_count || self.listed.contains(&class) || own.contains(&class)
    }

    /// Adds what counts of the headers of these classes of the project, for a test for which these methods
    /// count. Of those in `own` all counts.
    pub(crate) fn add(
        &mut self,
        classes: &FxHashSet<NameId>,
        own: &FxHashSet<NameId>,
        hits: &RoaringBitmap,
        loaded: &Loaded<'_>,
        (answers, names): (&mut Answers, &mut Names),
        facts: &mut RoaringBitmap,
    ) {
        if self.cached.classes != loaded.calls.len() {
            self.cached = Cached { classes: loaded.calls.len(), ..Cached::default() };
        }
        if self.cached.listed != self.listed.len() {
            self.cached.listed = self.listed.len();
            self.cached.overrides.clear();
        }
        let mut divided = FxHashSet::default();
        for &class in classes {
            let name = dotted(names.get(class));
            let at = loaded.calls.position(class);
            let overrides = match at {
                _ if self.is_whole(class, own) => None,
                // Nothing can have found a member in a class that was never there.
                None => Some(None),
                Some(at) => self.overrides(at, &name, loaded, (answers, names)).map(Some),
            };
            let Some(overrides) = overrides else {
                facts.insert(answers.number(FactKind::Header(name)));
                continue;
            };
            facts.insert(answers.number(FactKind::Core(name.clone())));
            facts.extend(overrides.flatten());
            let nest = loaded.calls.nest(class);
            if nest != class && at.is_some() {
                let key = format!("nest {}", name.replace('.', "/"));
                let outer = dotted(names.get(nest));
                facts.insert(answers.number(FactKind::Member(outer, key)));
            }
            divided.extend(at);
        }
        self.add_members(&divided, hits, loaded, (answers, names), facts);
        self.add_shown(classes, own, loaded, (answers, names), facts);
    }

    /// The classes that class objects of these lead to, as far as they are loaded.
    fn add_shown(
        &self,
        classes: &FxHashSet<NameId>,
        own: &FxHashSet<NameId>,
        loaded: &Loaded<'_>,
        (answers, names): (&mut Answers, &mut Names),
        facts: &mut RoaringBitmap,
    ) {
        let mut new = Vec::new();
        for &class in classes {
            self.shown_by(class, self.is_whole(class, own), loaded, names, &mut new);
        }
        let mut done: FxHashSet<NameId> = FxHashSet::default();
        while let Some(class) = new.pop() {
            if classes.contains(&class) || !loaded.all.contains(class) || !done.insert(class) {
                continue;
            }
            let named = answers.class(class, names);
            new.extend(&named.header_names);
            match named.place {
                OnPath::Library(_) => drop(facts.insert(named.fact)),
                OnPath::Project => {
                    let is_listed = self.listed.contains(&class);
                    let kind = if is_listed { FactKind::Header } else { FactKind::Core };
                    facts.insert(answers.number(kind(dotted(names.get(class)))));
                    self.shown_by(class, is_listed, loaded, names, &mut new);
                }
                OnPath::Jdk | OnPath::Missing => {}
            }
        }
    }

    fn shown_by(
        &self,
        class: NameId,
        with_members: bool,
        loaded: &Loaded<'_>,
        names: &mut Names,
        found: &mut Vec<NameId>,
    ) {
        match loaded.calls.position(class) {
            Some(at) => {
                let [by_class, by_members] = &loaded.calls.classes[at].0.shown;
                found.extend(by_class);
                if with_members {
                    found.extend(by_members);
                }
            }
            // Not as its file says: it can lead anywhere that the file names.
            None if loaded.all.contains(class) => {
                let uses = loaded.index.uses(&dotted(names.get(class)));
                found.extend(uses.iter().map(|name| class_id(name, names)));
            }
            None => {}
        }
    }

    /// The members of these classes that the methods name, but for methods that count with their bodies.
    fn add_members(
        &mut self,
        divided: &FxHashSet<usize>,
        hits: &RoaringBitmap,
        loaded: &Loaded<'_>,
        (answers, names): (&mut Answers, &mut Names),
        facts: &mut RoaringBitmap,
    ) {
        let mut ran: FxHashSet<(NameId, NameId)> = FxHashSet::default();
        let mut named: FxHashSet<(NameId, NameId)> = FxHashSet::default();
        for (_, class, method) in loaded.calls.methods_in(hits) {
            ran.insert((class, method.signature));
            named.extend(&method.calls);
            named.extend(&method.links.fields);
        }
        for (owner, key) in named {
            let Some(position) = loaded.calls.position(owner) else { continue };
            let Cached { related, .. } = &mut self.cached;
            let related = related.entry(owner).or_insert_with(|| related_to(owner, loaded));
            for &at in related.iter().filter(|at| divided.contains(at)) {
                let class = loaded.calls.classes[at].0.name;
                if ran.contains(&(class, key))
                    || (at != position && names.get(key).starts_with(b"<"))
                {
                    continue;
                }
                let fact = *self.facts.entry((class, key)).or_insert_with(|| {
                    let key = mutf8::decode(names.get(key)).into_owned();
                    answers.number(FactKind::Member(dotted(names.get(class)), key))
                });
                facts.insert(fact);
            }
        }
    }

    /// The fact about methods that may be called without any code of the project that names them; `None` where
    /// that is not known, and no fact where there are none.
    fn overrides(
        &mut self,
        at: usize,
        name: &str,
        loaded: &Loaded<'_>,
        (answers, names): (&mut Answers, &mut Names),
    ) -> Option<Option<u32>> {
        if let Some(known) = self.cached.overrides.get(&at) {
            return known.map(|fact| (fact != u32::MAX).then_some(fact));
        }
        let methods = self.may_be_called(at, loaded, names);
        let fact = methods.map(|methods| {
            let texts: Vec<String> = methods.into_iter().collect();
            match texts.is_empty() {
                true => u32::MAX,
                false => answers.number(FactKind::Overrides(name.to_owned(), texts.join(" "))),
            }
        });
        self.cached.overrides.insert(at, fact);
        fact.map(|fact| (fact != u32::MAX).then_some(fact))
    }

    fn may_be_called(
        &mut self,
        at: usize,
        loaded: &Loaded<'_>,
        names: &Names,
    ) -> Option<BTreeSet<String>> {
        let is_foreign = |id: &&NameId| {
            loaded.calls.position(**id).is_none() && !MARKERS.contains(&names.get(**id))
        };
        let above = loaded.kinds.seen_as[at].iter().filter(is_foreign);
        let mut todo: Vec<String> = above.map(|&id| dotted(names.get(id))).collect();
        let mut done: FxHashSet<String> = FxHashSet::default();
        let mut methods = self.called_as_listed(at, loaded, names);
        while let Some(class) = todo.pop() {
            // What every object has is in the core.
            if class == "java.lang.Object" || !done.insert(class.clone()) {
                continue;
            }
            if !self.foreign.contains_key(&class) {
                let found = self.look_up(&class, loaded.index);
                self.foreign.insert(class.clone(), found);
            }
            let foreign = self.foreign.get(&class)?.as_ref()?;
            methods.extend(foreign.methods.iter().cloned());
            todo.extend(foreign.extends.iter().cloned());
        }
        Some(methods)
    }

    /// What classes have that were listed and that objects of this class can be seen as: who found a method
    /// there and calls it arrives at the object's own.
    fn called_as_listed(&self, at: usize, loaded: &Loaded<'_>, names: &Names) -> BTreeSet<String> {
        let mut methods = BTreeSet::new();
        let own = loaded.calls.classes[at].0.name;
        for &id in loaded.kinds.seen_as[at].iter().filter(|id| self.listed.contains(id)) {
            if id != own
                && loaded.calls.position(id).is_some()
                && let Some(found) = loaded.index.find_dotted(&dotted(names.get(id)))
            {
                let inherited = found.facts.members.inherited();
                methods.extend(inherited.map(|name| mutf8::decode(name).into_owned()));
            }
        }
        methods
    }

    /// `None` for what cannot be found, or is the project's.
    fn look_up(&self, class: &str, index: &ClassIndex) -> Option<Foreign> {
        if let Some(found) = index.find_dotted(class) {
            if found.is_project {
                return None;
            }
            let methods =
                found.facts.members.inherited().map(|name| mutf8::decode(name).into_owned());
            return Some(Foreign { methods: methods.collect(), extends: index.inherits(class) });
        }
        let bytes = self.jdk.as_ref()?.class(&class.replace('.', "/"))?;
        let file = ClassFile::parse(&bytes).ok()?;
        let is_open = |access: u16| access & (flags::PRIVATE | flags::STATIC) == 0;
        let methods = file.methods.iter().filter(|m| is_open(m.access) && m.name != b"<init>");
        Some(Foreign {
            methods: methods.map(|m| mutf8::decode(m.name).into_owned()).collect(),
            extends: file.super_name.iter().chain(&file.interfaces).map(|n| dotted(n)).collect(),
        })
    }
}

/// The JDK's proxies: `jdk.proxy2.$Proxy7`.
fn is_proxy(name: &str) -> bool {
    let last = name.rsplit('.').next().unwrap_or(name);
    let number = last.strip_prefix("$Proxy");
    number.is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
}

/// Where a member can be that code names by this class: in those above it, and in those of whose objects
/// one can be seen as this class.
fn related_to(owner: NameId, loaded: &Loaded<'_>) -> Vec<usize> {
    let Loaded { calls, kinds, .. } = loaded;
    let above = calls.parents_of(kinds, owner).filter_map(|class| calls.position(class));
    let mut all: Vec<usize> = above.collect();
    let below = kinds.seen_as.iter().enumerate().filter(|(_, seen_as)| seen_as.contains(&owner));
    all.extend(below.map(|(at, _)| at));
    all.sort_unstable();
    all.dedup();
    all
}

/// A test class, those nested with it, and all above them.
pub(crate) fn own_classes(
    test: &str,
    calls: &Calls,
    (answers, names): (&mut Answers, &mut Names),
) -> FxHashSet<NameId> {
    let mut own = FxHashSet::default();
    if test.is_empty() {
        return own;
    }
    let test = class_id(test, names);
    let nest = calls.nest(test);
    let nested = calls.classes().map(|class| class.name).filter(|&class| calls.nest(class) == nest);
    let mut new: Vec<NameId> = nested.chain([test]).collect();
    while let Some(class) = new.pop() {
        if own.insert(class) {
            new.extend(&answers.class(class, names).header_names);
        }
    }
    own
}
