//! Names in folders: which packages a pattern matches, which files are of a package, which files are
//! embedded.
//!
//! Only names that go looks at count in folders of sources, so that notes and outputs beside them do not
//! make go be asked again; in folders that are embedded every name counts. The folders are read each time;
//! rules that hide names from observations do not hide them here, since go sees them.

use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use tamis_core::Hash;

/// Which names of a folder count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum Names {
    /// Those that can be sources, and folders that can be packages.
    OfSources,
    All,
}

/// The names of a folder at one moment.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Folder {
    pub(crate) path: PathBuf,
    which: Names,
    names: Hash,
}

impl Folder {
    pub(crate) fn look(path: &Path, which: Names) -> Self {
        Self { path: path.to_owned(), which, names: names(path, which) }
    }

    pub(crate) fn holds(&self) -> bool {
        names(&self.path, self.which) == self.names
    }
}

const SOURCES: [&str; 19] = [
    "go", "c", "cc", "cpp", "cxx", "m", "h", "hh", "hpp", "hxx", "f", "F", "for", "f90", "s", "S",
    "swig", "swigcxx", "syso",
];

fn names(path: &Path, which: Names) -> Hash {
    let entries = match entries(path) {
        Ok(entries) => entries,
        Err(error) => return Hash::of(format!("{:?}", error.kind()).as_bytes()),
    };
    let kept = entries.iter().filter(|entry| which == Names::All || entry.can_be_source());
    let lines: Vec<String> =
        kept.map(|entry| format!("{}{}", entry.name, entry.letter())).collect();
    Hash::of_parts(lines.iter().map(String::as_bytes))
}

struct Entry {
    name: String,
    folder: bool,
    link: bool,
}

impl Entry {
    fn letter(&self) -> char {
        match (self.folder, self.link) {
            (true, _) => '/',
            (_, true) => '@',
            _ => ' ',
        }
    }

    fn hidden(&self) -> bool {
        self.name.starts_with(['.', '_'])
    }

    /// A folder that patterns with `...` go into.
    fn can_hold_packages(&self) -> bool {
        self.folder && !self.hidden() && self.name != "testdata" && self.name != "vendor"
    }

    fn can_be_source(&self) -> bool {
        if self.hidden() {
            return false;
        }
        let extension = self.name.rsplit_once('.').map_or("", |(_, extension)| extension);
        let named = ["go.mod", "default.pgo", "vendor"].contains(&self.name.as_str());
        self.can_hold_packages() || named || (!self.folder && SOURCES.contains(&extension))
    }
}

/// The entries of a folder, by name.
fn entries(path: &Path) -> std::io::Result<Vec<Entry>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(path)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        let name = entry.file_name().to_string_lossy().into_owned();
        found.push(Entry { name, folder: kind.is_dir(), link: kind.is_symlink() });
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(found)
}

/// The folders that a pattern with `...` looks through: not into nested modules, except those that belong
/// to the build (`modules`).
pub(crate) fn walk(root: &Path, modules: &BTreeSet<PathBuf>, found: &mut BTreeSet<PathBuf>) {
    if !found.insert(root.to_owned()) {
        return;
    }
    for entry in entries(root).unwrap_or_default() {
        let path = root.join(&entry.name);
        if !entry.can_hold_packages() {
            continue;
        }
        match path.join("go.mod").exists() && !modules.contains(&path) {
            true => drop(found.insert(path)),
            false => walk(&path, modules, found),
        }
    }
}

/// All folders and files below a folder, up to a number; false where there are more.
pub(crate) fn tree(
    root: &Path,
    limit: usize,
    folders: &mut BTreeSet<PathBuf>,
    files: &mut BTreeSet<PathBuf>,
) -> bool {
    folders.insert(root.to_owned());
    for entry in entries(root).unwrap_or_default() {
        let path = root.join(&entry.name);
        if folders.len() + files.len() >= limit {
            return false;
        }
        if !entry.folder {
            files.insert(path);
        } else if !tree(&path, limit, folders, files) {
            return false;
        }
    }
    true
}

/// The folders whose names decide which files a `//go:embed` pattern matches; false where there are too
/// many.
pub(crate) fn embedded(
    dir: &Path,
    pattern: &str,
    limit: usize,
    found: &mut BTreeSet<PathBuf>,
) -> bool {
    const GLOB: [char; 4] = ['*', '?', '[', '\\'];
    let pattern = pattern.strip_prefix("all:").unwrap_or(pattern);
    let parts: Vec<&str> = pattern.split('/').filter(|part| *part != ".").collect();
    let plain = parts.iter().take_while(|part| !part.contains(GLOB)).count();
    let base = parts[..plain].iter().fold(dir.to_owned(), |path, part| path.join(part));
    match parts.get(plain) {
        None if !base.is_dir() => true,
        Some(glob) if base == dir => embedded_here(dir, glob, limit, found),
        _ => tree(&base, limit, found, &mut BTreeSet::new()),
    }
}

/// For a pattern whose first part is a glob: the package's folder, and those below that can match.
fn embedded_here(dir: &Path, glob: &str, limit: usize, found: &mut BTreeSet<PathBuf>) -> bool {
    found.insert(dir.to_owned());
    let end = glob.rsplit(['*', '?', ']']).next().unwrap_or_default();
    let entries = entries(dir).unwrap_or_default();
    let mut folders = entries.iter().filter(|entry| entry.folder && entry.name.ends_with(end));
    folders.all(|entry| tree(&dir.join(&entry.name), limit, found, &mut BTreeSet::new()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(files: &[&str]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for file in files {
            let path = dir.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        dir
    }

    fn below(root: &Path, found: &BTreeSet<PathBuf>) -> Vec<String> {
        found.iter().map(|p| p.strip_prefix(root).unwrap().to_str().unwrap().to_owned()).collect()
    }

    #[test]
    fn names_that_go_does_not_look_at_do_not_count() {
        let dir = made(&["a.go"]);
        let before = Folder::look(dir.path(), Names::OfSources);
        let all = Folder::look(dir.path(), Names::All);
        for name in ["notes.txt", "_x.go", ".y.go", "out.o"] {
            std::fs::write(dir.path().join(name), "").unwrap();
            assert!(before.holds(), "{name}");
        }
        std::fs::create_dir(dir.path().join("testdata")).unwrap();
        assert!(before.holds());
        assert!(!all.holds());
        for name in ["b.go", "b_test.go", "x.s", "y.h", "go.mod", "default.pgo"] {
            std::fs::write(dir.path().join(name), "").unwrap();
            assert!(!before.holds(), "{name}");
            std::fs::remove_file(dir.path().join(name)).unwrap();
        }
        std::fs::create_dir(dir.path().join("sub")).unwrap();
        assert!(!before.holds());
    }

    #[test]
    fn a_folder_that_is_gone_does_not_hold() {
        let dir = made(&["p/a.go"]);
        let folder = Folder::look(&dir.path().join("p"), Names::OfSources);
        std::fs::remove_dir_all(dir.path().join("p")).unwrap();
        assert!(!folder.holds());
    }

    #[test]
    fn patterns_stop_at_other_modules() {
        let dir = made(&[
            "a/x.go",
            "a/testdata/x.go",
            "_b/x.go",
            "vendor/v/x.go",
            "m/go.mod",
            "m/s/x.go",
            "n/go.mod",
            "n/s/x.go",
        ]);
        let mut found = BTreeSet::new();
        walk(dir.path(), &BTreeSet::from([dir.path().join("n")]), &mut found);
        assert_eq!(below(dir.path(), &found), ["", "a", "m", "n", "n/s"]);
    }

    #[test]
    fn folders_of_embed_patterns() {
        let dir = made(&["x.txt", "s/a.css", "s/t/b.css", "web.d/i", "other/i"]);
        for (pattern, expected) in [
            ("x.txt", vec![]),
            ("s", vec!["s", "s/t"]),
            ("all:s", vec!["s", "s/t"]),
            ("s/*.css", vec!["s", "s/t"]),
            ("s/t/b.css", vec![]),
            ("*.txt", vec![""]),
            ("*.d", vec!["", "web.d"]),
            ("*", vec!["", "other", "s", "s/t", "web.d"]),
        ] {
            let mut found = BTreeSet::new();
            assert!(embedded(dir.path(), pattern, 100, &mut found));
            assert_eq!(below(dir.path(), &found), expected, "{pattern}");
        }
        assert!(!embedded(dir.path(), "*", 3, &mut BTreeSet::new()));
    }
}
