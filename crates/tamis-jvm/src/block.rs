//! What is known of a group of classes and resources: one class folder, or one jar.
//!
//! A block has its own name table and no paths, so that it can be kept on disk and shared: a jar's
//! block depends on nothing but the jar's content.

use crate::names::{NameId, Names};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use tamis_classfile::{Analyser, ClassFile, Malformed, Place, flags};
use tamis_core::Hash;

/// Raised whenever the meaning of a stored block changes.
pub const BLOCK_VERSION: u32 = 1;

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
    /// Method bodies, encoded: only a listing of differences looks inside.
    #[serde(with = "serde_bytes")]
    bodies: Vec<u8>,
    pub inherits: Vec<NameId>,
    pub uses: Vec<NameId>,
    pub inlined: Vec<NameId>,
    /// Strings that could be a class or resource name.
    pub texts: Vec<NameId>,
    pub class_annotations: Vec<NameId>,
    /// On methods and fields.
    pub member_annotations: Vec<NameId>,
    pub provides: Vec<(NameId, Vec<NameId>)>,
    pub looks_up_names: bool,
    /// Has `static Test suite()` of JUnit 3.
    pub suite_method: bool,
    /// Why the file could not be understood. Such a class may depend on anything.
    pub problem: Option<String>,
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
}

/// Where [`Block::add_file`] put a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Added {
    Class(u32),
    Resource(u32),
    /// Written by compilers for compilers; nothing reads it when tests run.
    Nothing,
}

impl ClassFacts {
    pub fn is(&self, flag: u16) -> bool {
        self.access & flag != 0
    }

    /// Method (`name(descriptor)`) and hash of every body, sorted.
    pub fn bodies(&self) -> Vec<(String, Hash)> {
        postcard::from_bytes(&self.bodies).unwrap_or_default()
    }

    /// Adds another version of the same class (multi-release jars): which one is loaded depends on
    /// the JVM, so both count.
    pub(crate) fn merge(&mut self, other: ClassFacts) {
        let both = |a: Hash, b: Hash| Hash::of_parts([&a.0.to_le_bytes()[..], &b.0.to_le_bytes()]);
        self.raw = both(self.raw, other.raw);
        self.header = both(self.header, other.header);
        self.whole = both(self.whole, other.whole);
        for (mine, theirs) in [
            (&mut self.inherits, other.inherits),
            (&mut self.uses, other.uses),
            (&mut self.inlined, other.inlined),
            (&mut self.texts, other.texts),
            (&mut self.class_annotations, other.class_annotations),
            (&mut self.member_annotations, other.member_annotations),
        ] {
            mine.extend(theirs);
            mine.sort_unstable();
            mine.dedup();
        }
        self.provides.extend(other.provides);
        self.looks_up_names |= other.looks_up_names;
        self.suite_method |= other.suite_method;
        self.problem = self.problem.take().or(other.problem);
    }

    fn ids_mut(&mut self) -> impl Iterator<Item = &mut NameId> {
        std::iter::once(&mut self.name)
            .chain(&mut self.inherits)
            .chain(&mut self.uses)
            .chain(&mut self.inlined)
            .chain(&mut self.texts)
            .chain(&mut self.class_annotations)
            .chain(&mut self.member_annotations)
            .chain(
                self.provides.iter_mut().flat_map(|(s, p)| std::iter::once(s).chain(p.iter_mut())),
            )
    }
}

impl Block {
    /// Adds the file at `path` (below a class folder or inside a jar, with `/`).
    pub fn add_file(&mut self, analyser: &mut Analyser, path: &[u8], content: &[u8]) -> Added {
        if let Some(name) = class_name_of(path) {
            match facts(&mut self.names, analyser, name, content) {
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
            bodies: Vec::new(),
            inherits: Vec::new(),
            uses: Vec::new(),
            inlined: Vec::new(),
            texts: Vec::new(),
            class_annotations: Vec::new(),
            member_annotations: Vec::new(),
            provides: Vec::new(),
            looks_up_names: false,
            suite_method: false,
            problem: Some(why.into()),
        });
        Added::Class(self.classes.len() as u32 - 1)
    }

    /// Takes over all of another block. Returns where its classes and resources start here.
    pub fn absorb(&mut self, other: Block) -> (u32, u32) {
        let map: Vec<NameId> = other.names.iter().map(|(_, n)| self.names.intern(n)).collect();
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
        let Block { names, classes, resources } = self;
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
    let mut set = |items: &mut dyn Iterator<Item = &[u8]>| {
        let mut ids: Vec<NameId> =
            items.filter(|n| *n != class.name).map(|n| names.intern(n)).collect();
        ids.sort_unstable();
        ids.dedup();
        ids
    };
    let annotations = |on_class: bool| {
        references
            .annotations
            .iter()
            .filter(move |a| match a.place {
                Place::Class => on_class,
                Place::Method | Place::Field => !on_class,
                Place::Other => false,
            })
            .map(|a| a.name)
    };
    let bodies: Vec<(Cow<'_, str>, Hash)> = analysis
        .fingerprint
        .bodies
        .iter()
        .map(|m| (tamis_classfile::mutf8::decode(&m.method), m.body))
        .collect();
    let provides = references
        .provides
        .iter()
        .map(|(service, providers)| {
            (set(&mut [*service].into_iter()), set(&mut providers.iter().copied()))
        })
        .filter_map(|(service, providers)| Some((*service.first()?, providers)))
        .collect();
    let suite_method = class.methods.iter().any(|m| {
        m.name == b"suite"
            && m.descriptor == b"()Ljunit/framework/Test;"
            && m.access & flags::STATIC != 0
    });
    Ok(Some(ClassFacts {
        inherits: set(&mut references.inherits.iter().copied()),
        uses: set(&mut references.uses.iter().map(AsRef::as_ref)),
        inlined: set(&mut references.inlined.iter().copied()),
        texts: set(&mut references.texts.iter().copied().filter(|t| could_be_a_name(t))),
        class_annotations: set(&mut annotations(true)),
        member_annotations: set(&mut annotations(false)),
        name: names.intern(class.name),
        access: class.access,
        raw: Hash::of(content),
        header: analysis.fingerprint.header,
        whole: analysis.fingerprint.whole(),
        bodies: postcard::to_allocvec(&bodies).unwrap_or_default(),
        provides,
        looks_up_names: references.looks_up_names,
        suite_method,
        problem: None,
    }))
}

/// Letters, digits and what separates them in class names and paths.
fn could_be_a_name(text: &[u8]) -> bool {
    (2..=200).contains(&text.len())
        && text.iter().any(u8::is_ascii_alphabetic)
        && text.iter().all(|&b| b.is_ascii_alphanumeric() || b"_$./-".contains(&b) || b >= 0x80)
}

#[cfg(test)]
mod tests {
    use super::*;

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
        for yes in ["com.acme.Foo", "a/b.txt", "Integrator", "messages_fr"] {
            assert!(could_be_a_name(yes.as_bytes()), "{yes}");
        }
        for no in ["", "a", "two words", "12.5", "a=b", "x\n"] {
            assert!(!could_be_a_name(no.as_bytes()), "{no}");
        }
    }
}
