//! Whether the source of a test class is still there.
//!
//! A test class is gone if its module has sources and none of them is called like it or, in a language whose
//! files may have any name (Kotlin, Scala, Groovy), has its name in it. A class of the same name in another
//! package counts: to name a test that is gone costs a line, to lose one that fails more.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use tamis_core::{TestKey, Unit};
use tamis_dynamic::outermost;
use tamis_project::Project;

/// Deeper folders are no sources.
const DEEPEST: usize = 40;

/// Endings of languages whose classes need not be in files of their names.
const FREELY_NAMED: [&str; 4] = ["kt", "kts", "scala", "groovy"];

/// The sources of the modules that were asked about; each is looked through once.
#[derive(Debug, Default)]
pub(crate) struct Sources(HashMap<PathBuf, Option<ModuleSources>>);

/// What one module has.
#[derive(Debug, Default)]
struct ModuleSources {
    /// The names of files without their endings.
    names: HashSet<String>,
    /// The words in files that may hold classes of any name.
    words: HashSet<String>,
}

impl Sources {
    /// Whether a test class may still be there.
    pub(crate) fn may_have(&mut self, project: &Project, key: &TestKey) -> bool {
        let (Unit::Class(class) | Unit::Method { class, .. }) = &key.unit else { return true };
        let folder = project.root().join(&key.folder);
        if !folder.is_dir() {
            return false;
        }
        let simple = outermost(class).rsplit('.').next().unwrap_or(class);
        match self.of(&folder.join("src")) {
            Some(module) => module.names.contains(simple) || module.words.contains(simple),
            None => true,
        }
    }

    fn of(&mut self, folder: &Path) -> Option<&ModuleSources> {
        let known = self.0.entry(folder.to_path_buf()).or_insert_with(|| {
            folder.is_dir().then(|| {
                let mut module = ModuleSources::default();
                module.add(folder, 0);
                module
            })
        });
        known.as_ref()
    }
}

impl ModuleSources {
    fn add(&mut self, folder: &Path, depth: usize) {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => {
                    if depth < DEEPEST {
                        self.add(&path, depth + 1);
                    }
                }
                Ok(_) => self.add_file(&path),
                Err(_) => {}
            }
        }
    }

    fn add_file(&mut self, path: &Path) {
        let stem = path.file_stem().and_then(|stem| stem.to_str());
        self.names.extend(stem.map(str::to_owned));
        let ending = path.extension().and_then(|ending| ending.to_str());
        if ending.is_some_and(|ending| FREELY_NAMED.contains(&ending)) {
            let text = std::fs::read(path).unwrap_or_default();
            let text = String::from_utf8_lossy(&text);
            let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
            let words = text.split(|c: char| !is_part(c)).filter(|word| !word.is_empty());
            self.words.extend(words.map(str::to_owned));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_found_by_the_name_of_the_class() {
        let folder = tempfile::tempdir().unwrap();
        let deep = folder.path().join("test/java/com/acme");
        std::fs::create_dir_all(&deep).unwrap();
        std::fs::write(deep.join("ATest.java"), "class Inner").unwrap();
        std::fs::write(deep.join("Tests.kt"), "class BTest { fun x() {} }").unwrap();
        let mut module = ModuleSources::default();
        module.add(folder.path(), 0);
        let has = |name: &str| module.names.contains(name) || module.words.contains(name);
        assert!(has("ATest") && has("BTest"));
        assert!(!has("Inner") && !has("CTest") && !has("BTes"));
        let mut too_deep = ModuleSources::default();
        too_deep.add(&folder.path().join("test"), DEEPEST);
        assert!(too_deep.names.is_empty());
    }

    #[test]
    fn a_module_without_sources_says_nothing() {
        let folder = tempfile::tempdir().unwrap();
        assert!(Sources::default().of(&folder.path().join("src")).is_none());
    }
}
