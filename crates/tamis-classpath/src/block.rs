//! What is known of a group of classes and resources: one class folder, or one jar.
//!
//! A block has its own name table and no paths, so that it can be kept on disk and shared: a jar's
//! block depends on nothing but the jar's content.

use crate::names::{NameId, Names};
use serde::{Deserialize, Serialize};
use tamis_classfile::{
    Analyser, Analysis, ClassFile, Malformed, MethodFingerprint, Part, Place, References,
    classes_in, flags,
};
use tamis_core::Hash;

/// Raised whenever the meaning of a stored block changes.
pub const BLOCK_VERSION: u32 = 7;

/// One type as the selection sees it. All ids are of the block's table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClassFacts {
    pub name: NameId,
    pub access: u16,
    /// Of the file's bytes: tells a debug-only change from none at all.
    pub raw: Hash,
    pub header: Hash,
    /// Header and bodies together.
    pub whole: Hash,
    pub members: MemberFacts,
    /// Method bodies, encoded: only a listing of differences looks inside.
    #[serde(with = "serde_bytes")]
    bodies: Vec<u8>,
    /// All lists of names one behind the other, and where each ends.
    ids: Vec<NameId>,
    ends: [u32; LISTS],
    pub provides: Vec<(NameId, Vec<NameId>)>,
    pub looks_up_names: bool,
    /// Has `static Test suite()` of JUnit 3.
    pub suite_method: bool,
    /// Why the file could not be understood. Such a class may depend on anything.
    pub problem: Option<String>,
}

/// The header of a class, divided by who sees what of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemberFacts {
    /// Of the members and annotations in their order, which only a listing of differences looks at.
    pub order: Hash,
    /// The header without what only those see who name or list members.
    pub core: Hash,
    /// The parts of the header, encoded like bodies; of classes in folders only.
    #[serde(with = "serde_bytes")]
    parts: Vec<u8>,
    /// Names of methods that objects of subclasses have, each followed by a blank.
    #[serde(with = "serde_bytes")]
    inherited: Vec<u8>,
}

impl MemberFacts {
    /// Of a class that cannot be read.
    fn opaque(raw: Hash) -> Self {
        Self { order: raw, core: raw, parts: Vec::new(), inherited: Vec::new() }
    }

    fn of(class: &ClassFile<'_>, analysis: &Analysis<'_>) -> Self {
        let parts = &analysis.fingerprint.parts;
        Self {
            order: order(class, &analysis.references),
            core: parts.core,
            parts: encoded_parts(&parts.all),
            inherited: inherited(&parts.all),
        }
    }

    fn merge(&mut self, other: &Self) {
        self.order = both(self.order, other.order);
        self.core = both(self.core, other.core);
        self.parts.extend_from_slice(&other.parts);
        self.inherited.extend_from_slice(&other.inherited);
    }

    /// The members of a class of the project and the classes of its nest, each with its hash: `run(I)V`,
    /// `count:I`, `nest a/B$C`.
    pub fn parts(&self) -> Vec<(String, Hash)> {
        decoded(&self.parts)
    }

    /// The names of its methods that objects of subclasses have.
    pub fn inherited(&self) -> impl Iterator<Item = &[u8]> {
        self.inherited.split(|&b| b == b' ').filter(|name| !name.is_empty())
    }

    /// The parts of a library's class are never asked for.
    pub(crate) fn drop_parts(&mut self) {
        self.parts = Vec::new();
    }
}

/// Two versions of one thing: both count.
fn both(a: Hash, b: Hash) -> Hash {
    Hash::of_parts([&a.0.to_le_bytes()[..], &b.0.to_le_bytes()])
}

/// The lists of names that a class has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum List {
    Inherits,
    Uses,
    Inlined,
    /// Strings that could be a class or resource name.
    Texts,
    /// What could be the name of a class inside of other strings: `p.Source` of `p.Source#method`.
    Mentioned,
    ClassAnnotations,
    /// On methods and fields.
    MemberAnnotations,
}

const LISTS: usize = 7;

impl List {
    const ALL: [List; LISTS] = [
        Self::Inherits,
        Self::Uses,
        Self::Inlined,
        Self::Texts,
        Self::Mentioned,
        Self::ClassAnnotations,
        Self::MemberAnnotations,
    ];
}

/// A file that is no class.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResourceFacts {
    pub path: NameId,
    pub content: Hash,
    /// Of a file in `META-INF/services`.
    pub providers: Vec<NameId>,
    pub problem: Option<String>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Block {
    pub names: Names,
    pub classes: Vec<ClassFacts>,
    pub resources: Vec<ResourceFacts>,
    #[serde(skip)]
    memo: Memo,
}

/// What is remembered while classes are added.
#[derive(Debug, Clone, Default)]
struct Memo {
    /// Descriptors and signatures that were met, and the classes in each: part of `ids`.
    types: Names,
    classes: Vec<(u32, u32)>,
    ids: Vec<NameId>,
    /// Per name and per descriptor the last list that it was put into.
    name_in: Vec<u32>,
    type_in: Vec<u32>,
    list: u32,
}

/// Where [`Block::add_file`] put a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Added {
    Class(u32),
    Resource(u32),
    /// Written by compilers for compilers; nothing reads it when tests run.
    Nothing,
}

impl Added {
    /// The same place after so many classes and resources were put in front.
    pub(crate) fn behind(self, classes: u32, resources: u32) -> Self {
        match self {
            Self::Class(i) => Self::Class(i + classes),
            Self::Resource(i) => Self::Resource(i + resources),
            Self::Nothing => Self::Nothing,
        }
    }
}

impl ClassFacts {
    pub fn is(&self, flag: u16) -> bool {
        self.access & flag != 0
    }

    /// One of the lists, each name once.
    pub fn list(&self, list: List) -> &[NameId] {
        let start = (list as usize).checked_sub(1).map_or(0, |before| self.ends[before]);
        self.ids.get(start as usize..self.ends[list as usize] as usize).unwrap_or_default()
    }

    /// Method (`name(descriptor)`) and hash of every body, sorted.
    pub fn bodies(&self) -> Vec<(String, Hash)> {
        let mut all = decoded(&self.bodies);
        // A method of several versions of the class: all of them count.
        all.dedup_by(|(next, other), (method, hash)| {
            let same = next == method;
            if same {
                *hash = Hash::of_parts([&hash.0.to_le_bytes()[..], &other.0.to_le_bytes()]);
            }
            same
        });
        all
    }

    /// Adds another version of the same class (multi-release jars): which one is loaded depends on
    /// the JVM, so both count.
    pub(crate) fn merge(&mut self, other: ClassFacts) {
        self.raw = both(self.raw, other.raw);
        self.header = both(self.header, other.header);
        self.members.merge(&other.members);
        self.whole = both(self.whole, other.whole);
        let mut ids = Vec::with_capacity(self.ids.len() + other.ids.len());
        let mut ends = [0; LISTS];
        for (i, list) in List::ALL.into_iter().enumerate() {
            let start = ids.len();
            ids.extend_from_slice(self.list(list));
            for id in other.list(list) {
                if !ids[start..].contains(id) {
                    ids.push(*id);
                }
            }
            ends[i] = ids.len() as u32;
        }
        (self.ids, self.ends) = (ids, ends);
        self.bodies.extend(other.bodies);
        self.provides.extend(other.provides);
        self.looks_up_names |= other.looks_up_names;
        self.suite_method |= other.suite_method;
        self.problem = self.problem.take().or(other.problem);
    }

    fn ids_mut(&mut self) -> impl Iterator<Item = &mut NameId> {
        std::iter::once(&mut self.name).chain(&mut self.ids).chain(
            self.provides.iter_mut().flat_map(|(s, p)| std::iter::once(s).chain(p.iter_mut())),
        )
    }
}

impl Block {
    /// Adds the file at `path` (below a class folder or inside a jar, with `/`).
    pub fn add_file(&mut self, analyser: &mut Analyser, path: &[u8], content: &[u8]) -> Added {
        if let Some(name) = class_name_of(path) {
            match facts(&mut self.names, &mut self.memo, analyser, name, content) {
                Ok(Some(facts)) => {
                    self.classes.push(facts);
                    return Added::Class(self.classes.len() as u32 - 1);
                }
                // A class that no class loader finds at this place: test data.
                Ok(None) => {}
                Err(error) => return self.add_opaque_class(name, content, &error.to_string()),
            }
        } else if is_for_compilers(path) {
            return Added::Nothing;
        }
        let providers = match path.strip_prefix(b"META-INF/services/") {
            Some(_) => providers(content).map(|p| self.names.intern(&p)).collect(),
            None => Vec::new(),
        };
        let path = self.names.intern(path);
        let content = Hash::of(content);
        self.resources.push(ResourceFacts { path, content, providers, problem: None });
        Added::Resource(self.resources.len() as u32 - 1)
    }

    /// A file that exists and cannot be read.
    pub fn add_unreadable(&mut self, path: &[u8], why: &str) -> Added {
        if let Some(name) = class_name_of(path) {
            return self.add_opaque_class(name, &[], why);
        }
        let path = self.names.intern(path);
        self.resources.push(ResourceFacts {
            path,
            content: Hash(0),
            providers: Vec::new(),
            problem: Some(why.into()),
        });
        Added::Resource(self.resources.len() as u32 - 1)
    }

    fn add_opaque_class(&mut self, name: &[u8], content: &[u8], why: &str) -> Added {
        let raw = Hash::of(content);
        let name = self.names.intern(name);
        self.classes.push(ClassFacts {
            name,
            access: 0,
            raw,
            header: raw,
            whole: raw,
            members: MemberFacts::opaque(raw),
            bodies: Vec::new(),
            ids: Vec::new(),
            ends: [0; LISTS],
            provides: Vec::new(),
            looks_up_names: false,
            suite_method: false,
            problem: Some(why.into()),
        });
        Added::Class(self.classes.len() as u32 - 1)
    }

    /// Takes over all of another block. Returns where its classes and resources start here.
    pub fn absorb(&mut self, other: Block) -> (u32, u32) {
        if self.names.is_empty() && self.classes.is_empty() && self.resources.is_empty() {
            *self = Block { memo: Memo::default(), ..other };
            return (0, 0);
        }
        let map = self.names.intern_all(&other.names);
        let start = (self.classes.len() as u32, self.resources.len() as u32);
        let moved = |id: &mut NameId| *id = map.get(*id as usize).copied().unwrap_or(*id);
        for mut class in other.classes {
            class.ids_mut().for_each(moved);
            self.classes.push(class);
        }
        for mut resource in other.resources {
            std::iter::once(&mut resource.path).chain(&mut resource.providers).for_each(moved);
            self.resources.push(resource);
        }
        start
    }

    /// Drops names that nothing uses any more.
    pub fn compact(self) -> Block {
        let Block { names, classes, resources, .. } = self;
        let mut new = Block::default();
        for mut class in classes {
            class.ids_mut().for_each(|id| *id = new.names.intern(names.get(*id)));
            new.classes.push(class);
        }
        for mut resource in resources {
            std::iter::once(&mut resource.path)
                .chain(&mut resource.providers)
                .for_each(|id| *id = new.names.intern(names.get(*id)));
            new.resources.push(resource);
        }
        new
    }
}

/// `a/B` for `a/B.class`.
fn class_name_of(path: &[u8]) -> Option<&[u8]> {
    path.strip_suffix(b".class").filter(|name| !name.starts_with(b"META-INF/"))
}

fn is_for_compilers(path: &[u8]) -> bool {
    path.ends_with(b".kotlin_module") || path.ends_with(b".tasty")
}

/// Provider names in a services file, in internal form, comments removed.
fn providers(content: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    content.split(|&b| b == b'\n').filter_map(|line| {
        let line = line.split(|&b| b == b'#').next().unwrap_or_default().trim_ascii();
        (!line.is_empty()).then(|| line.iter().map(|&b| if b == b'.' { b'/' } else { b }).collect())
    })
}

/// The facts of one class file; None where its name does not fit its place.
fn facts(
    names: &mut Names,
    memo: &mut Memo,
    analyser: &mut Analyser,
    expected: &[u8],
    content: &[u8],
) -> Result<Option<ClassFacts>, Malformed> {
    let class = ClassFile::parse(content)?;
    if class.name != expected {
        return Ok(None);
    }
    let analysis = analyser.analyse(&class)?;
    let references = &analysis.references;
    let own = names.intern(class.name);
    let mut lists = Lists { names, memo, own, ids: Vec::with_capacity(64), ends: [0; LISTS] };
    lists.fill(List::Inherits, references.inherits.iter().copied());
    lists.fill_uses(&references.uses, &references.types);
    lists.fill(List::Inlined, references.inlined.iter().copied());
    lists.fill(List::Texts, references.texts.iter().copied().filter(|t| could_be_a_name(t)));
    let others = references.texts.iter().filter(|text| !could_be_a_name(text));
    lists.fill(List::Mentioned, others.flat_map(|text| names_inside(text)));
    let annotations = |on_class: bool| {
        let wanted = move |place| match place {
            Place::Class => on_class,
            Place::Method | Place::Field => !on_class,
            Place::Other => false,
        };
        references.annotations.iter().filter(move |a| wanted(a.place)).map(|a| a.name)
    };
    lists.fill(List::ClassAnnotations, annotations(true));
    lists.fill(List::MemberAnnotations, annotations(false));
    let Lists { names, ids, ends, .. } = lists;
    let provides = references
        .provides
        .iter()
        .map(|(service, providers)| {
            (names.intern(service), providers.iter().map(|p| names.intern(p)).collect())
        })
        .collect();
    let suite_method = class.methods.iter().any(|m| {
        m.name == b"suite"
            && m.descriptor == b"()Ljunit/framework/Test;"
            && m.access & flags::STATIC != 0
    });
    Ok(Some(ClassFacts {
        name: own,
        access: class.access,
        raw: Hash::of(content),
        header: analysis.fingerprint.header,
        members: MemberFacts::of(&class, &analysis),
        whole: analysis.fingerprint.whole,
        bodies: encoded(&analysis.fingerprint.bodies),
        ids,
        ends,
        provides,
        looks_up_names: references.looks_up_names,
        suite_method,
        problem: None,
    }))
}

/// See [`MemberFacts::order`].
fn order(class: &ClassFile<'_>, references: &References<'_>) -> Hash {
    let mut names = Vec::with_capacity(1024);
    for member in class.fields.iter().chain(&class.methods) {
        names.extend_from_slice(member.name);
        names.extend_from_slice(member.descriptor);
        names.push(b';');
    }
    for annotation in &references.annotations {
        names.extend_from_slice(annotation.name);
        names.push(b';');
    }
    Hash::of(&names)
}

/// See [`ClassFacts::bodies`].
fn encoded(bodies: &[MethodFingerprint<'_>]) -> Vec<u8> {
    let len = |m: &MethodFingerprint<'_>| m.name.len() + m.descriptor.len();
    let mut out = Vec::with_capacity(bodies.iter().map(|m| len(m) + 20).sum());
    for method in bodies {
        out.extend_from_slice(&(len(method) as u32).to_le_bytes());
        out.extend_from_slice(method.name);
        out.extend_from_slice(method.descriptor);
        out.extend_from_slice(&method.body.0.to_le_bytes());
    }
    out
}

/// See [`MemberFacts::parts`].
fn encoded_parts(parts: &[Part<'_>]) -> Vec<u8> {
    let mut out = Vec::new();
    for part in parts {
        let key = part.key();
        out.extend_from_slice(&(key.len() as u32).to_le_bytes());
        out.extend_from_slice(&key);
        out.extend_from_slice(&part.hash.0.to_le_bytes());
    }
    out
}

/// See [`MemberFacts::inherited`].
fn inherited(parts: &[Part<'_>]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut last: &[u8] = b"";
    for part in parts.iter().filter(|part| part.is_inherited()) {
        // Overloads stand together mostly.
        if part.name != last {
            out.extend_from_slice(part.name);
            out.push(b' ');
            last = part.name;
        }
    }
    out
}

/// Texts with their hashes, sorted.
fn decoded(mut rest: &[u8]) -> Vec<(String, Hash)> {
    let mut all = Vec::new();
    while let Some((len, tail)) = rest.split_first_chunk::<4>()
        && let Some((text, tail)) = tail.split_at_checked(u32::from_le_bytes(*len) as usize)
        && let Some((hash, tail)) = tail.split_first_chunk::<16>()
    {
        let text = tamis_classfile::mutf8::decode(text).into_owned();
        all.push((text, Hash(u128::from_le_bytes(*hash))));
        rest = tail;
    }
    all.sort_unstable();
    all
}

/// The lists of one class while they are filled, in the order of [`List`].
struct Lists<'b> {
    names: &'b mut Names,
    memo: &'b mut Memo,
    /// The class itself, which is not listed.
    own: NameId,
    ids: Vec<NameId>,
    ends: [u32; LISTS],
}

impl Lists<'_> {
    fn start(&mut self) {
        self.memo.list += 1;
        *at(&mut self.memo.name_in, self.own) = self.memo.list;
    }

    fn add(&mut self, id: NameId) {
        let last = at(&mut self.memo.name_in, id);
        if std::mem::replace(last, self.memo.list) != self.memo.list {
            self.ids.push(id);
        }
    }

    fn fill<'n>(&mut self, list: List, names: impl Iterator<Item = &'n [u8]>) {
        self.start();
        for name in names {
            let id = self.names.intern(name);
            self.add(id);
        }
        self.ends[list as usize] = self.ids.len() as u32;
    }

    fn fill_uses(&mut self, names: &[&[u8]], types: &[&[u8]]) {
        self.start();
        for name in names {
            let id = self.names.intern(name);
            self.add(id);
        }
        for text in types {
            let id = self.memo.types.intern(text);
            let last = at(&mut self.memo.type_in, id);
            if std::mem::replace(last, self.memo.list) == self.memo.list {
                continue;
            }
            if id as usize == self.memo.classes.len() {
                let (ids, names) = (&mut self.memo.ids, &mut *self.names);
                let start = ids.len() as u32;
                classes_in(text, &mut |name| ids.push(names.intern(&name)));
                self.memo.classes.push((start, ids.len() as u32));
            }
            let (start, end) = self.memo.classes[id as usize];
            for i in start..end {
                self.add(self.memo.ids[i as usize]);
            }
        }
        self.ends[List::Uses as usize] = self.ids.len() as u32;
    }
}

/// An element of a table that grows with its ids.
fn at(table: &mut Vec<u32>, id: u32) -> &mut u32 {
    let index = id as usize;
    if table.len() <= index {
        table.resize((index + 1).next_power_of_two().max(256), 0);
    }
    &mut table[index]
}

const LONGEST_NAME: usize = 200;

/// Letters, digits and what separates them in class names and paths.
fn could_be_a_name(text: &[u8]) -> bool {
    (1..=LONGEST_NAME).contains(&text.len())
        && text.iter().any(|&b| b.is_ascii_alphabetic() || b >= 0x80)
        && text.iter().all(|&b| is_of_a_name(b))
}

fn is_of_a_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_$./-".contains(&byte) || byte >= 0x80
}

/// What could name a class inside of a longer text: `p.Source` of `p.Source#method`, `T(p.Source).method()` or
/// `p.One, p.Two`. Words without a package only where a method follows: other texts are full of words.
fn names_inside(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let pieces = text.split(|&b| !is_of_a_name(b)).scan(0, |start, piece| {
        let end = *start + piece.len();
        *start = end + 1;
        Some((piece, text.get(end..).unwrap_or_default()))
    });
    pieces.filter_map(|(piece, behind)| {
        let has_method = behind.starts_with(b"#") || behind.starts_with(b"::");
        let from = piece.iter().position(|b| !b"./-".contains(b))?;
        let to = piece.iter().rposition(|b| !b"./-".contains(b))? + 1;
        let name = &piece[from..to];
        let qualified = name.iter().any(|b| b"./".contains(b));
        (could_be_a_name(name) && (qualified || has_method)).then_some(name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_strings_mention() {
        let names = |text: &str| -> Vec<String> {
            let found = names_inside(text.as_bytes());
            found.map(|name| String::from_utf8_lossy(name).into_owned()).collect()
        };
        assert_eq!(names("p.Source#list"), ["p.Source"]);
        assert_eq!(
            names("p.Source$In#list(int, java.util.List)"),
            ["p.Source$In", "java.util.List"]
        );
        assert_eq!(names("Source#list"), ["Source"]);
        assert_eq!(names("S::list"), ["S"]);
        assert_eq!(names("#{T(p.Config).on()}"), ["p.Config"]);
        assert_eq!(names("p.One, p.Two;q/Three.class"), ["p.One", "p.Two", "q/Three.class"]);
        assert_eq!(names("{\"@class\": \"p.Data\"}"), ["p.Data"]);
        assert_eq!(names("été.Été#x"), ["été.Été"]);
        assert_eq!(names("no class at all. Or is it?"), Vec::<String>::new());
        assert!(names("#").is_empty() && names("").is_empty() && names("..#").is_empty());
    }

    #[test]
    fn services_files() {
        let mut block = Block::default();
        let added = block.add_file(
            &mut Analyser::default(),
            b"META-INF/services/a.Service",
            b"# all\na.One # first\r\n\n  a.b.Two$In\n",
        );
        assert_eq!(added, Added::Resource(0));
        let providers: Vec<String> =
            block.resources[0].providers.iter().map(|&p| block.names.display(p)).collect();
        assert_eq!(providers, ["a.One", "a.b.Two$In"]);
    }

    #[test]
    fn what_is_no_class_file_is_opaque() {
        let mut block = Block::default();
        block.add_file(&mut Analyser::default(), b"a/B.class", b"no class");
        assert_eq!(block.names.display(block.classes[0].name), "a.B");
        let why = block.classes[0].problem.as_deref();
        assert_eq!(why, Some("not a class file (no CAFEBABE) at byte 0"));
    }

    #[test]
    fn compiler_metadata_does_not_count() {
        let mut block = Block::default();
        let added =
            block.add_file(&mut Analyser::default(), b"META-INF/a.kotlin_module", b"anything");
        assert_eq!(added, Added::Nothing);
    }

    #[test]
    fn absorbing_keeps_what_ids_mean() {
        let mut one = Block::default();
        one.add_file(&mut Analyser::default(), b"x.txt", b"1");
        let mut two = Block::default();
        two.add_file(&mut Analyser::default(), b"y.txt", b"2");
        two.add_file(&mut Analyser::default(), b"META-INF/services/S", b"P");
        assert_eq!(one.absorb(two), (0, 1));
        let paths: Vec<String> = one
            .resources
            .iter()
            .map(|r| String::from_utf8_lossy(one.names.get(r.path)).into_owned())
            .collect();
        assert_eq!(paths, ["x.txt", "y.txt", "META-INF/services/S"]);
        assert_eq!(one.names.get(one.resources[2].providers[0]), b"P");
        one.resources.remove(0);
        let small = one.compact();
        assert_eq!(small.names.find(b"x.txt"), None);
        assert_eq!(small.names.get(small.resources[1].providers[0]), b"P");
    }

    #[test]
    fn names_in_strings() {
        for yes in ["com.acme.Foo", "a/b.txt", "Integrator", "messages_fr", "A", "é", "$a"] {
            assert!(could_be_a_name(yes.as_bytes()), "{yes}");
        }
        for no in ["", "1", "-", "two words", "12.5", "a=b", "a#b", "x\n"] {
            assert!(!could_be_a_name(no.as_bytes()), "{no}");
        }
    }
}
