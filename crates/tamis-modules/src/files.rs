//! Files of a state of the project: the work tree as it is, or a revision of the past.

use crate::model::join;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Files by their path relative to the top folder.
pub trait Files {
    /// The content; `None` where there is no such file, or it cannot be read.
    fn read(&self, path: &str) -> Option<Vec<u8>>;
    fn is_file(&self, path: &str) -> bool;
    fn is_folder(&self, path: &str) -> bool;
    /// The names of the folders in a folder, sorted.
    fn folders(&self, path: &str) -> Vec<String>;
    /// The paths of the files in a folder, sorted.
    fn files(&self, path: &str) -> Vec<String>;
    /// The files in a folder and in all folders below it, sorted.
    fn below(&self, path: &str) -> Vec<String>;
}

/// The work tree.
#[derive(Debug, Clone)]
pub struct Tree {
    top: PathBuf,
}

impl Tree {
    pub fn new(top: impl Into<PathBuf>) -> Self {
        Self { top: top.into() }
    }

    pub fn top(&self) -> &Path {
        &self.top
    }

    /// A path below the top folder in the form that all of this crate uses.
    pub fn relative(&self, path: &Path) -> Option<String> {
        let rest = path.strip_prefix(&self.top).ok()?;
        join(".", rest.to_str()?)
    }
}

impl Files for Tree {
    fn read(&self, path: &str) -> Option<Vec<u8>> {
        std::fs::read(self.top.join(path)).ok()
    }

    fn is_file(&self, path: &str) -> bool {
        self.top.join(path).is_file()
    }

    fn is_folder(&self, path: &str) -> bool {
        self.top.join(path).is_dir()
    }

    fn folders(&self, path: &str) -> Vec<String> {
        let entries = std::fs::read_dir(self.top.join(path)).into_iter().flatten().flatten();
        let mut names: Vec<String> = entries
            .filter(|e| e.path().is_dir())
            .filter_map(|e| e.file_name().into_string().ok())
            .collect();
        names.sort();
        names
    }

    fn files(&self, path: &str) -> Vec<String> {
        let entries = std::fs::read_dir(self.top.join(path)).into_iter().flatten().flatten();
        let mut files: Vec<String> = entries
            .filter(|e| e.path().is_file())
            .filter_map(|e| join(path, e.file_name().to_str()?))
            .collect();
        files.sort();
        files
    }

    fn below(&self, path: &str) -> Vec<String> {
        let mut found = Vec::new();
        let mut open = vec![path.to_owned()];
        while let Some(folder) = open.pop() {
            let entries = std::fs::read_dir(self.top.join(&folder)).into_iter().flatten().flatten();
            for entry in entries {
                let name = entry.file_name().into_string().ok();
                let Some(path) = name.and_then(|name| join(&folder, &name)) else { continue };
                // Links are not followed: they could lead in a circle.
                match entry.file_type() {
                    Ok(kind) if kind.is_dir() => open.push(path),
                    _ => found.push(path),
                }
            }
        }
        found.sort();
        found
    }
}

/// Files that are held in memory.
#[derive(Debug, Clone, Default)]
pub struct Held(pub BTreeMap<String, Vec<u8>>);

impl Files for Held {
    fn read(&self, path: &str) -> Option<Vec<u8>> {
        self.0.get(path).cloned()
    }

    fn is_file(&self, path: &str) -> bool {
        self.0.contains_key(path)
    }

    fn is_folder(&self, path: &str) -> bool {
        let prefix = format!("{path}/");
        path == "."
            || self.0.range(prefix.clone()..).next().is_some_and(|(p, _)| p.starts_with(&prefix))
    }

    fn folders(&self, path: &str) -> Vec<String> {
        let prefix = if path == "." { String::new() } else { format!("{path}/") };
        let below = self.0.range(prefix.clone()..).take_while(|(p, _)| p.starts_with(&prefix));
        let mut names: Vec<String> = below
            .filter_map(|(p, _)| p[prefix.len()..].split_once('/').map(|(name, _)| name.to_owned()))
            .collect();
        names.dedup();
        names
    }

    fn files(&self, path: &str) -> Vec<String> {
        direct(below(&self.0, path), path)
    }

    fn below(&self, path: &str) -> Vec<String> {
        below(&self.0, path)
    }
}

/// Those of the files below a folder that are directly in it.
pub(crate) fn direct(mut below: Vec<String>, path: &str) -> Vec<String> {
    below.retain(|file| crate::model::folder_of(file) == path);
    below
}

/// The names in a sorted map that are below a folder.
pub(crate) fn below<T>(names: &BTreeMap<String, T>, path: &str) -> Vec<String> {
    let prefix = if path == "." { String::new() } else { format!("{path}/") };
    let found = names.range(prefix.clone()..).take_while(|(p, _)| p.starts_with(&prefix));
    found.map(|(p, _)| p.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_kinds_of_files_say_the_same() {
        let dir = tempfile::tempdir().unwrap();
        let mut held = Held::default();
        for path in ["a/b/x", "a/c", "d/x", "y"] {
            let file = dir.path().join(path);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(&file, path).unwrap();
            held.0.insert(path.into(), path.into());
        }
        let tree = Tree::new(dir.path());
        for path in [".", "a", "a/b", "a/c", "d", "y", "none", "a/b/x"] {
            let answers = |files: &dyn Files| {
                (
                    files.read(path),
                    files.is_file(path),
                    files.is_folder(path),
                    files.folders(path),
                    files.files(path),
                    files.below(path),
                )
            };
            assert_eq!(answers(&tree), answers(&held), "{path}");
        }
        assert_eq!(tree.relative(&dir.path().join("a/b")).as_deref(), Some("a/b"));
        assert_eq!(tree.relative(dir.path()).as_deref(), Some("."));
        assert_eq!(tree.relative(Path::new("/")), None);
    }
}
