//! All types and resources of one classpath, first definition first.
//!
//! A *node* is a name: a type (`com/acme/Thing`) or a file (`/config/app.xml`, with a leading slash,
//! which no type has). Names stand for whatever the classpath gives for them now, so a class that
//! appears earlier on the classpath, or that was missing before, is a change of that name.
//!
//! Entries of the classpath are either *project* entries (folders, and jars inside the project) or
//! *libraries* (all other jars). Libraries are only opened when a selection needs them, and stand
//! behind the project; where the real classpath has it the other way round, a type that both define
//! changes when either does.

use crate::test_naming::Naming;
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use tamis_classpath::block::{Block, ClassFacts, List, ResourceFacts};
use tamis_classpath::folder::{self, Folder, Keep};
use tamis_classpath::names::{NameId, Names};
use tamis_classpath::{Caches, jar_content};
use tamis_core::Hash;

/// A module: where its classes are. Paths that do not exist are empty, as for the JVM.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TestModule {
    /// For people: its folder within the project (`.` or `core/api`).
    pub name: String,
    /// What its state is found by ([`TestModule::key_of`]); the name where it is empty.
    pub key: String,
    pub test_classes: Vec<PathBuf>,
    pub classes: Vec<PathBuf>,
    /// What follows on the classpath: folders and jars.
    pub classpath: Vec<PathBuf>,
    /// Anything else that every test depends on: the JDK, options of the JVM.
    pub environment: Vec<String>,
    /// What the build says about the names of test classes.
    pub naming: Naming,
    pub configuration: Configuration,
}

/// How the tests of a module are run, as far as that is known.
///
/// Whoever runs them inside of a build sees it; whoever only looks at class files does not, and knows at most what
/// the build's definition declares.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Configuration {
    /// Which run of the build it is, where one module has several; empty where the run was not seen.
    pub execution: String,
    /// What the build itself reported: options of the JVM, properties, and so on.
    pub seen: Option<Hash>,
    /// What the build's definition says. The same definition gives the same configuration.
    pub declared: Option<Hash>,
}

impl TestModule {
    /// A key for the module with these test classes, whoever asks and whatever they call the module.
    pub fn key_of(root: &Path, test_classes: &[PathBuf]) -> String {
        let portable = |path: &PathBuf| {
            let real = path.canonicalize().or_else(|_| std::path::absolute(path));
            let real = real.unwrap_or_else(|_| path.clone());
            real.strip_prefix(root).unwrap_or(&real).to_string_lossy().into_owned()
        };
        let folders: Vec<String> = test_classes.iter().map(portable).collect();
        folders.join(":")
    }
}

/// Which part of the classpath a block is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    Tests,
    Project,
    Library,
}

#[derive(Debug)]
struct Part {
    block: Block,
    /// Ids of the block's table to ids of the table of all definitions.
    ids: Vec<NameId>,
    origin: Origin,
    /// The folder or jar.
    path: PathBuf,
}

/// The winning definition of a node.
#[derive(Debug, Clone, Copy)]
enum Place {
    Class(u32, u32),
    Resource(u32, u32),
}

/// A type with the ids of all definitions.
#[derive(Debug, Clone, Copy)]
pub struct Type<'w> {
    pub facts: &'w ClassFacts,
    pub origin: Origin,
    ids: &'w [NameId],
}

impl<'w> Type<'w> {
    pub fn id(&self, local: NameId) -> NameId {
        self.ids.get(local as usize).copied().unwrap_or(NameId::MAX)
    }

    /// One of the class's lists.
    pub fn ids(&self, list: List) -> impl Iterator<Item = NameId> + 'w {
        self.translated(self.facts.list(list))
    }

    pub fn translated(&self, locals: &'w [NameId]) -> impl Iterator<Item = NameId> + 'w {
        let ids = self.ids;
        locals.iter().map(move |&l| ids.get(l as usize).copied().unwrap_or(NameId::MAX))
    }
}

/// A resource with the ids of all definitions.
#[derive(Debug, Clone, Copy)]
pub struct Resource<'w> {
    pub facts: &'w ResourceFacts,
    pub origin: Origin,
    ids: &'w [NameId],
}

impl<'w> Resource<'w> {
    pub fn providers(&self) -> impl Iterator<Item = NameId> + 'w {
        let ids = self.ids;
        self.facts
            .providers
            .iter()
            .map(move |&l| ids.get(l as usize).copied().unwrap_or(NameId::MAX))
    }
}

/// The libraries of a classpath, in its order.
#[derive(Debug, Default)]
pub struct LibraryEntries {
    pub contents: Vec<Hash>,
    paths: Vec<PathBuf>,
    /// Whether their types and resources are among the definitions.
    pub are_loaded: bool,
    /// For each entry of the classpath whether it is a library, where a library stands before an
    /// entry of the project; empty otherwise, because the project then wins in any case.
    pub mixed_order: Vec<bool>,
}

impl LibraryEntries {
    fn add(&mut self, path: &Path, content: Hash) {
        self.mixed_order.push(true);
        self.contents.push(content);
        self.paths.push(path.to_path_buf());
    }

    /// All entries of the classpath are known.
    fn finish_order(&mut self) {
        if self.mixed_order.is_sorted() {
            self.mixed_order.clear();
        }
    }

    /// Where they are, with their content.
    pub fn iter(&self) -> impl Iterator<Item = (&Path, Hash)> {
        self.paths.iter().map(PathBuf::as_path).zip(self.contents.iter().copied())
    }

    /// Reads them, each once per content for all projects.
    fn blocks(&self, caches: &Caches) -> Vec<Result<Block, String>> {
        let all = self.contents.par_iter().zip(&self.paths);
        all.map(|(&content, path)| caches.jars.block(content, Some(path))).collect()
    }
}

#[derive(Debug)]
pub struct Definitions {
    pub names: Names,
    places: Vec<Option<Place>>,
    parts: Vec<Part>,
    pub libraries: LibraryEntries,
    /// Types that both the project and a library define, with the library's fingerprint.
    pub twice: BTreeMap<NameId, Hash>,
    pub environment: Hash,
    pub(crate) naming: Naming,
    /// Why the classpath is not known completely. Nothing may be skipped then.
    pub blind: Vec<String>,
    /// Worth telling, harmless for the selection.
    pub notes: Vec<String>,
    /// When the newest file of the project's folders was written.
    pub newest_ns: i64,
    /// Files read in this scan.
    pub files_read: usize,
}

impl Definitions {
    /// Reads the project part of a classpath. Jars below `root` belong to the project.
    pub fn load(module: &TestModule, root: &Path, caches: &Caches) -> Self {
        Self::load_with(module, root, caches, true)
    }

    /// As [`Definitions::load`]; unless `keep`, what was read of folders is left for a later call to keep.
    pub fn load_with(module: &TestModule, root: &Path, caches: &Caches, keep: bool) -> Self {
        let mut definitions = Self {
            names: Names::default(),
            places: Vec::new(),
            parts: Vec::new(),
            libraries: LibraryEntries::default(),
            twice: BTreeMap::new(),
            environment: Hash::of_parts(module.environment.iter().map(String::as_bytes)),
            naming: module.naming.clone(),
            blind: Vec::new(),
            notes: Vec::new(),
            newest_ns: i64::MIN,
            files_read: 0,
        };
        let entries: Vec<(&PathBuf, Origin)> = module
            .test_classes
            .iter()
            .map(|p| (p, Origin::Tests))
            .chain(module.classes.iter().chain(&module.classpath).map(|p| (p, Origin::Project)))
            .collect();
        // A path that stands on the classpath twice is found at its first place.
        let mut seen = BTreeSet::new();
        let entries: Vec<_> = entries.into_iter().filter(|(p, _)| seen.insert(*p)).collect();
        let loaded: Vec<Loaded> =
            entries.par_iter().map(|(path, _)| load_entry(path, root, caches, keep)).collect();
        for ((path, origin), loaded) in entries.into_iter().zip(loaded) {
            match loaded {
                Loaded::Folder(folder) => {
                    definitions.libraries.mixed_order.push(false);
                    definitions.blind.extend(folder.blind);
                    definitions.files_read += folder.read;
                    definitions.newest_ns = definitions.newest_ns.max(folder.newest_ns);
                    definitions.add(folder.block, origin, path);
                }
                Loaded::Jar(block) => {
                    definitions.libraries.mixed_order.push(false);
                    definitions.add(block, origin, path);
                }
                Loaded::Library(content) => {
                    definitions.libraries.add(path, content);
                }
                Loaded::Nothing => {}
                Loaded::Failed(why) => definitions.blind.push(format!("{}: {why}", path.display())),
            }
        }
        definitions.libraries.finish_order();
        definitions
    }

    fn add(&mut self, mut block: Block, origin: Origin, path: &Path) {
        let block_names = std::mem::take(&mut block.names);
        let ids = match self.names.is_empty() {
            true => {
                self.names = block_names;
                self.names.prepare();
                (0..self.names.len() as NameId).collect()
            }
            false => self.names.intern_all(&block_names),
        };
        let part = self.parts.len() as u32;
        let mut shadowed = Vec::new();
        for (i, class) in block.classes.iter().enumerate() {
            let id = ids.get(class.name as usize).copied().unwrap_or(0);
            if !self.claim(id, Place::Class(part, i as u32)) {
                shadowed.push(id);
                if origin == Origin::Library && self.origin(id) != Some(Origin::Library) {
                    self.twice.entry(id).or_insert(class.whole);
                }
            }
        }
        for (i, resource) in block.resources.iter().enumerate() {
            let path = ids.get(resource.path as usize).copied().unwrap_or(NameId::MAX);
            let name = [b"/", self.names.get(path)].concat();
            let id = self.names.intern(&name);
            self.claim(id, Place::Resource(part, i as u32));
        }
        if let Some(&first) = shadowed.first()
            && origin != Origin::Library
        {
            self.notes.push(format!(
                "{}: {} also stands earlier on the classpath{}",
                path.display(),
                self.names.display(first),
                if shadowed.len() > 1 {
                    format!(", and {} more classes", shadowed.len() - 1)
                } else {
                    String::new()
                }
            ));
        }
        self.parts.push(Part { block, ids, origin, path: path.to_path_buf() });
    }

    /// Gives a name its definition unless it has one.
    fn claim(&mut self, id: NameId, place: Place) -> bool {
        if self.places.len() <= id as usize {
            self.places.resize(self.names.len().max(id as usize + 1), None);
        }
        let free = self.places[id as usize].is_none();
        if free {
            self.places[id as usize] = Some(place);
        }
        free
    }

    /// Opens the libraries, each once per content for all projects.
    pub fn load_libraries(&mut self, caches: &Caches) {
        if std::mem::replace(&mut self.libraries.are_loaded, true) {
            return;
        }
        let blocks = self.libraries.blocks(caches);
        for (block, path) in blocks.into_iter().zip(self.libraries.paths.clone()) {
            match block {
                Ok(block) => self.add(block, Origin::Library, &path),
                Err(why) => self.blind.push(format!("{}: {why}", path.display())),
            }
        }
    }

    /// The nodes that are defined now.
    pub fn nodes(&self) -> impl Iterator<Item = NameId> + '_ {
        (0..self.places.len() as u32).filter(|&id| self.places[id as usize].is_some())
    }

    pub fn is_defined(&self, id: NameId) -> bool {
        self.places.get(id as usize).is_some_and(Option::is_some)
    }

    pub fn class(&self, id: NameId) -> Option<Type<'_>> {
        match self.places.get(id as usize)? {
            Some(Place::Class(part, i)) => {
                let part = self.parts.get(*part as usize)?;
                let facts = part.block.classes.get(*i as usize)?;
                Some(Type { facts, origin: part.origin, ids: &part.ids })
            }
            _ => None,
        }
    }

    pub fn resource(&self, id: NameId) -> Option<Resource<'_>> {
        match self.places.get(id as usize)? {
            Some(Place::Resource(part, i)) => {
                let part = self.parts.get(*part as usize)?;
                let facts = part.block.resources.get(*i as usize)?;
                Some(Resource { facts, origin: part.origin, ids: &part.ids })
            }
            _ => None,
        }
    }

    pub fn origin(&self, id: NameId) -> Option<Origin> {
        self.class(id).map(|c| c.origin).or_else(|| self.resource(id).map(|r| r.origin))
    }

    /// What a program can see of a node.
    pub fn fingerprint(&self, id: NameId) -> Option<Hash> {
        self.class(id).map(|c| c.facts.whole).or_else(|| self.resource(id).map(|r| r.facts.content))
    }

    /// Why a node could not be understood.
    pub fn problem(&self, id: NameId) -> Option<&str> {
        match self.class(id) {
            Some(class) => class.facts.problem.as_deref(),
            None => self.resource(id)?.facts.problem.as_deref(),
        }
    }

    /// Types and resources of the project that could not be understood.
    pub fn problems(&self) -> Vec<(NameId, &str)> {
        self.nodes().filter_map(|id| Some((id, self.problem(id)?))).collect()
    }

    /// Where a class file is, as a URL.
    pub fn url(&self, id: NameId) -> Option<String> {
        let Some(Place::Class(part, _)) = self.places.get(id as usize)? else { return None };
        let path = &self.parts.get(*part as usize)?.path;
        let absolute = std::path::absolute(path).ok()?;
        let name = tamis_classfile::mutf8::decode(self.names.get(id));
        Some(if path.is_dir() {
            format!("file:{}/{name}.class", absolute.display())
        } else {
            format!("jar:file:{}!/{name}.class", absolute.display())
        })
    }

    /// A name for people: `com.acme.Thing`, or the path of a file.
    pub fn display(&self, id: NameId) -> String {
        display(self.names.get(id))
    }
}

pub(crate) fn display(name: &[u8]) -> String {
    match name.strip_prefix(b"/") {
        Some(path) => tamis_classfile::mutf8::decode(path).into_owned(),
        None => tamis_classpath::names::dotted(name),
    }
}

enum Loaded {
    Folder(Folder),
    Jar(Block),
    Library(Hash),
    Nothing,
    Failed(String),
}

fn load_entry(path: &Path, root: &Path, caches: &Caches, keep: bool) -> Loaded {
    match std::fs::metadata(path) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Loaded::Nothing,
        Err(e) => return Loaded::Failed(e.to_string()),
        Ok(meta) if meta.is_dir() => {
            let keep = if keep { Keep::Plain } else { Keep::Nothing };
            return Loaded::Folder(folder::scan(path, caches, keep));
        }
        Ok(_) => {}
    }
    let content = match jar_content(path, &caches.files) {
        Ok(content) => content,
        Err(e) => return Loaded::Failed(e.to_string()),
    };
    let inside = |p: &Path, base: &Path| match (p.canonicalize(), base.canonicalize()) {
        (Ok(p), Ok(base)) => p.starts_with(base),
        _ => false,
    };
    if !inside(path, root) {
        return Loaded::Library(content);
    }
    match caches.jars.block(content, Some(path)) {
        Ok(block) => Loaded::Jar(block),
        Err(why) => Loaded::Failed(why),
    }
}
