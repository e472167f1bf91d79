//! The classes of one classpath by name, first definition first.

use crate::Caches;
use crate::block::{Block, ClassFacts, List};
use crate::folder::{self, Keep};
use crate::jar_cache::jar_content;
use crate::names::dotted;
use rustc_hash::FxHashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use tamis_core::{Hash, Value};

#[derive(Debug)]
pub struct ClassIndex {
    entries: Vec<Entry>,
    classes: FxHashMap<String, (u32, u32)>,
    /// Bodies are stored encoded; they are decoded once per class.
    bodies: Mutex<FxHashMap<(u32, u32), FxHashMap<String, Hash>>>,
    /// The same for the parts of headers.
    parts: Mutex<FxHashMap<(u32, u32), FxHashMap<String, Hash>>>,
    /// Why the classpath is not known completely.
    blind: Vec<String>,
}

#[derive(Debug)]
struct Entry {
    path: PathBuf,
    is_folder: bool,
    block: Block,
    /// Of a jar: the whole of it.
    content: Hash,
}

/// A class and where it is.
#[derive(Debug, Clone, Copy)]
pub struct Located<'i> {
    pub facts: &'i ClassFacts,
    /// Position on the classpath.
    pub entry: u32,
    /// The folder or jar.
    pub path: &'i Path,
    /// In a folder: a class of the project. Else a class of a library.
    pub is_project: bool,
}

impl ClassIndex {
    /// Reads a classpath in its order. Entries that do not exist are empty, as for the JVM.
    pub fn load(class_path: &[PathBuf], caches: &Caches) -> Self {
        let mut index = Self {
            entries: Vec::new(),
            classes: FxHashMap::default(),
            bodies: Mutex::default(),
            parts: Mutex::default(),
            blind: Vec::new(),
        };
        for path in class_path {
            if index.entries.iter().any(|e| e.path == *path) {
                continue;
            }
            match load_entry(path, caches) {
                Ok(Some(entry)) => index.add(entry),
                Ok(None) => {}
                Err(why) => index.blind.push(format!("{}: {why}", path.display())),
            }
        }
        index
    }

    fn add(&mut self, mut entry: Entry) {
        let number = self.entries.len() as u32;
        for (i, class) in entry.block.classes.iter().enumerate() {
            let name = dotted(entry.block.names.get(class.name));
            self.classes.entry(name).or_insert((number, i as u32));
        }
        entry.block.names.prepare();
        self.entries.push(entry);
    }

    /// Why nothing is known for sure; empty if all is well.
    pub fn blind(&self) -> &[String] {
        &self.blind
    }

    /// A class by its binary name, `com.acme.Thing$Inner`.
    pub fn find_dotted(&self, name: &str) -> Option<Located<'_>> {
        let &(entry, class) = self.classes.get(name)?;
        let found = self.entries.get(entry as usize)?;
        let facts = found.block.classes.get(class as usize)?;
        Some(Located { facts, entry, path: &found.path, is_project: found.is_folder })
    }

    /// The names of all classes in folders.
    pub fn project_classes(&self) -> impl Iterator<Item = &str> {
        let in_folder = |entry: u32| self.entries[entry as usize].is_folder;
        self.classes
            .iter()
            .filter(move |(_, (entry, _))| in_folder(*entry))
            .map(|(n, _)| n.as_str())
    }

    /// The names that a class's header leads to: supertypes, annotations and their values.
    pub fn header_names(&self, class: &str) -> Vec<String> {
        let Some(&(entry, _)) = self.classes.get(class) else { return Vec::new() };
        let Some(located) = self.find_dotted(class) else { return Vec::new() };
        let names = &self.entries[entry as usize].block.names;
        let facts = located.facts;
        let lists = [List::Inherits, List::ClassAnnotations, List::MemberAnnotations];
        let ids = lists.iter().flat_map(|&list| facts.list(list));
        ids.map(|&id| dotted(names.get(id))).collect()
    }

    /// All classes that a class refers to in any way.
    pub fn uses(&self, class: &str) -> Vec<String> {
        let Some(&(entry, _)) = self.classes.get(class) else { return Vec::new() };
        let Some(located) = self.find_dotted(class) else { return Vec::new() };
        let names = &self.entries[entry as usize].block.names;
        located.facts.list(List::Uses).iter().map(|&id| dotted(names.get(id))).collect()
    }

    /// The hash of a method's body.
    pub fn body(&self, class: &str, method: &str) -> Option<Hash> {
        let &place = self.classes.get(class)?;
        let facts = self.find_dotted(class)?.facts;
        let mut bodies = self.bodies.lock().unwrap_or_else(PoisonError::into_inner);
        let of_class = bodies.entry(place).or_insert_with(|| facts.bodies().into_iter().collect());
        of_class.get(method).copied()
    }

    /// The hash of a member without its body, or that a class is of the nest: `run(I)V`, `count:I`,
    /// `nest a/B$C`.
    pub fn part(&self, class: &str, key: &str) -> Option<Hash> {
        self.with_parts(class, |parts| parts.get(key).copied())?
    }

    /// All methods that have one of these names; `None` where there are none.
    pub fn methods_named(&self, class: &str, names: &[&str]) -> Option<Hash> {
        self.with_parts(class, |parts| {
            let mut found: Vec<(&str, Hash)> = parts
                .iter()
                .filter(|(key, _)| {
                    key.split_once('(').is_some_and(|(name, _)| names.contains(&name))
                })
                .map(|(key, hash)| (key.as_str(), *hash))
                .collect();
            found.sort_unstable();
            let parts = found
                .iter()
                .flat_map(|(key, hash)| [key.as_bytes().to_vec(), hash.0.to_le_bytes().to_vec()]);
            let parts: Vec<Vec<u8>> = parts.collect();
            (!parts.is_empty()).then(|| Hash::of_parts(parts.iter().map(Vec::as_slice)))
        })?
    }

    fn with_parts<T>(
        &self,
        class: &str,
        ask: impl FnOnce(&FxHashMap<String, Hash>) -> T,
    ) -> Option<T> {
        let &place = self.classes.get(class)?;
        let facts = self.find_dotted(class)?.facts;
        let mut parts = self.parts.lock().unwrap_or_else(PoisonError::into_inner);
        let of_class =
            parts.entry(place).or_insert_with(|| facts.members.parts().into_iter().collect());
        Some(ask(of_class))
    }

    /// The direct supertypes of a class.
    pub fn inherits(&self, class: &str) -> Vec<String> {
        let Some(&(entry, _)) = self.classes.get(class) else { return Vec::new() };
        let Some(located) = self.find_dotted(class) else { return Vec::new() };
        let names = &self.entries[entry as usize].block.names;
        located.facts.list(List::Inherits).iter().map(|&id| dotted(names.get(id))).collect()
    }

    /// All entries of this name in the jars, in order. Below `META-INF` only services are known one
    /// by one: for anything else there, every jar counts as a whole.
    pub fn resource(&self, name: &str) -> Value {
        if name.starts_with("META-INF/") && !name.starts_with("META-INF/services/") {
            return self.jars();
        }
        let of = |jar: &Entry| {
            let id = jar.block.names.find(name.as_bytes())?;
            Some(jar.block.resources.iter().find(|r| r.path == id)?.content)
        };
        all(self.entries.iter().filter(|e| !e.is_folder).filter_map(of))
    }

    /// Which folder or jar a class comes from: its place among them and the end of its path, which is the
    /// same wherever the project is.
    pub fn place_of(&self, class: &str) -> Value {
        let Some(found) = self.find_dotted(class) else { return Value::Absent };
        let (before, kept) = match found.is_project {
            true => {
                (self.entries[..found.entry as usize].iter().filter(|e| e.is_folder).count(), 2)
            }
            false => (0, 1),
        };
        let mut path: Vec<&[u8]> =
            found.path.iter().rev().take(kept).map(std::ffi::OsStr::as_encoded_bytes).collect();
        let before = before.to_le_bytes();
        path.push(&before);
        Value::Text(Hash::of_parts(path))
    }

    /// The jars with all that is in them, in order.
    pub fn jars(&self) -> Value {
        all(self.entries.iter().filter(|e| !e.is_folder).map(|jar| jar.content))
    }

    /// One value for everything on the classpath, to be compared within one run.
    pub fn digest(&self) -> Hash {
        let mut parts: Vec<Vec<u8>> = Vec::new();
        for entry in &self.entries {
            parts.push(entry.path.as_os_str().as_encoded_bytes().to_vec());
            parts.push(entry.content.0.to_le_bytes().to_vec());
            if entry.is_folder {
                let classes = entry.block.classes.iter();
                let mut raw: Vec<(&[u8], Hash)> =
                    classes.map(|class| (entry.block.names.get(class.name), class.raw)).collect();
                raw.sort_unstable_by(|a, b| a.0.cmp(b.0));
                for (name, raw) in raw {
                    parts.push(name.to_vec());
                    parts.push(raw.0.to_le_bytes().to_vec());
                }
            }
        }
        Hash::of_parts(parts.iter().map(Vec::as_slice))
    }

    /// The class whose file this is, where the classpath takes it from there.
    pub fn class_at(&self, file: &[u8]) -> Option<String> {
        self.entries.iter().filter(|e| e.is_folder).find_map(|entry| {
            let rest = file.strip_prefix(entry.path.as_os_str().as_encoded_bytes())?;
            let name = dotted(rest.strip_prefix(b"/")?.strip_suffix(b".class")?);
            self.find_dotted(&name).filter(|found| found.path == entry.path).map(|_| name)
        })
    }

    /// Whether a jar stands on this classpath.
    pub fn has_jar(&self, jar: &Path) -> bool {
        self.entries.iter().any(|e| !e.is_folder && e.path == jar)
    }

    /// The folders and jars of the classpath that exist.
    pub fn paths(&self) -> impl Iterator<Item = (&Path, bool)> {
        self.entries.iter().map(|e| (e.path.as_path(), e.is_folder))
    }
}

/// Several contents in order as one value.
fn all(contents: impl Iterator<Item = Hash>) -> Value {
    let parts: Vec<[u8; 16]> = contents.map(|c| c.0.to_le_bytes()).collect();
    match parts.is_empty() {
        true => Value::Absent,
        false => Value::Text(Hash::of_parts(parts.iter().map(<[u8; 16]>::as_slice))),
    }
}

fn load_entry(path: &Path, caches: &Caches) -> Result<Option<Entry>, String> {
    let meta = match std::fs::metadata(path) {
        Ok(meta) => meta,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(e.to_string()),
    };
    if meta.is_dir() {
        let folder = folder::scan(path, caches, Keep::SPARINGLY);
        if let Some(why) = folder.blind.into_iter().next() {
            return Err(why);
        }
        let block = folder.block;
        return Ok(Some(Entry { path: path.into(), is_folder: true, block, content: Hash(0) }));
    }
    let content = jar_content(path, &caches.files).map_err(|e| e.to_string())?;
    let block = caches.jars.block(content, Some(path))?;
    Ok(Some(Entry { path: path.into(), is_folder: false, block, content }))
}
