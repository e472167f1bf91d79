//! What can be asked about the project's sources, and the answers.

use crate::fingerprint::{Lines, SourceFacts};
use rustc_hash::FxHashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use tamis_core::{Hash, Value};

/// What a fact is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    /// A module without the bodies of its functions.
    Module,
    /// The body of a function.
    Function,
    /// The tree of a file.
    Code,
    /// The bytes of a file.
    Bytes,
    /// Whether there is a file.
    Look,
    /// Which distributions are installed in a folder.
    Distributions,
    /// Which conftests pytest loads before it collects, from folders in this one.
    Conftests,
}

/// The sources of the project, each read once.
#[derive(Debug, Default)]
pub(crate) struct Sources {
    root: PathBuf,
    known: Mutex<FxHashMap<String, Option<Arc<SourceFacts>>>>,
    lines: Mutex<FxHashMap<String, Option<Arc<Lines>>>>,
}

impl Sources {
    pub(crate) fn new(root: &Path) -> Self {
        Self { root: root.to_path_buf(), known: Mutex::default(), lines: Mutex::default() }
    }

    pub(crate) fn path(&self, file: &str) -> PathBuf {
        self.root.join(file)
    }

    /// The facts of a file; `None` where there is none.
    pub(crate) fn facts(&self, file: &str) -> Option<Arc<SourceFacts>> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(facts) = known.get(file) {
            return facts.clone();
        }
        let facts = std::fs::read(self.path(file)).ok().map(|b| Arc::new(SourceFacts::of(&b)));
        known.insert(file.to_owned(), facts.clone());
        facts
    }

    /// Where the statements of a file are; `None` where there is none.
    pub(crate) fn lines(&self, file: &str) -> Option<Arc<Lines>> {
        let mut known = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(lines) = known.get(file) {
            return lines.clone();
        }
        let lines = std::fs::read(self.path(file)).ok().map(|bytes| Arc::new(Lines::of(&bytes)));
        known.insert(file.to_owned(), lines.clone());
        lines
    }

    /// The fingerprint in which statements are named; the bytes of a file where they are not distinguished.
    pub(crate) fn of_owner(&self, file: &str, name: &str) -> Option<Hash> {
        let (lines, facts) = (self.lines(file)?, self.facts(file)?);
        if lines.are_known { facts.of_owner(name) } else { Some(facts.bytes) }
    }

    pub(crate) fn answer(&self, kind: Kind, about: &str) -> Value {
        match kind {
            Kind::Look => return self.kind_of(about),
            Kind::Distributions => return self.names_in(about, is_distribution),
            Kind::Conftests => {
                return self.names_in(about, |folder| {
                    folder.starts_with("test")
                        && self.path(about).join(folder).join("conftest.py").is_file()
                });
            }
            _ => {}
        }
        let (file, name) = match kind {
            Kind::Function => about.split_once("::").unwrap_or((about, "")),
            _ => (about, ""),
        };
        let Some(facts) = self.facts(file) else { return Value::Absent };
        match kind {
            Kind::Module => Value::Text(facts.module),
            Kind::Function => facts.body(name),
            Kind::Code => Value::Text(facts.code),
            _ => Value::Text(facts.bytes),
        }
    }

    /// The names in a folder that count.
    fn names_in(&self, folder: &str, counts: impl Fn(&str) -> bool) -> Value {
        let Ok(entries) = std::fs::read_dir(self.path(folder)) else { return Value::Absent };
        let name = |entry: std::fs::DirEntry| entry.file_name().to_string_lossy().into_owned();
        let mut names: Vec<String> = entries.flatten().map(name).filter(|n| counts(n)).collect();
        names.sort_unstable();
        Value::Text(Hash::of_parts(names.iter().map(String::as_bytes)))
    }

    /// What is there, and where links lead.
    fn kind_of(&self, file: &str) -> Value {
        let Ok(real) = self.path(file).canonicalize() else { return Value::Absent };
        if real.is_dir() {
            return Value::Directory;
        }
        let real = real.strip_prefix(&self.root).unwrap_or(&real);
        Value::text(real.as_os_str().as_encoded_bytes())
    }
}

/// Whether an installed distribution is found by this name.
fn is_distribution(name: &str) -> bool {
    let name = name.to_lowercase();
    [".dist-info", ".egg-info", ".egg", ".egg-link"].iter().any(|end| name.ends_with(end))
}
