//! Which tests a project has. One function per kind of project, in the modules beside this one; each
//! looks only at names and at the text of a few files of one folder.

use super::{builds, files, node};
use crate::items;
use crate::settings::Item;
use std::path::{Path, PathBuf};

/// How much one test of a find covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Grain {
    /// One test per file, package or binary.
    PerItem,
    /// One command for everything of its kind.
    Whole,
    /// One command that probably runs what others run as well.
    WholeIfAlone,
}

/// Tests of one kind in one folder.
#[derive(Debug)]
pub(super) struct Find {
    pub(super) comment: Vec<String>,
    pub(super) name: &'static str,
    /// The value of `each` as TOML.
    pub(super) each: Option<String>,
    /// The value of `run`, without the quotes.
    pub(super) run: String,
    pub(super) env: Vec<(String, String)>,
    pub(super) grain: Grain,
    /// Its tests get in each other's way.
    pub(super) one_at_a_time: bool,
    /// A place in the folder that its tool writes for itself.
    pub(super) own_state: Option<String>,
    /// Relative to the root, `.` for the root.
    pub(super) folder: String,
}

impl Find {
    pub(super) fn new(name: &'static str, run: impl Into<String>, grain: Grain) -> Self {
        Self {
            comment: Vec::new(),
            name,
            each: None,
            run: run.into(),
            env: Vec::new(),
            grain,
            one_at_a_time: false,
            own_state: None,
            folder: ".".into(),
        }
    }

    pub(super) fn comment(mut self, lines: &[&str]) -> Self {
        self.comment.extend(lines.iter().map(|line| (*line).to_owned()));
        self
    }

    /// A name that no other suite has: a folder has one find of a kind.
    pub(super) fn suite_name(&self) -> String {
        match self.folder.as_str() {
            "." => self.name.to_owned(),
            folder => format!("{}-{}", self.name, folder.replace('/', "-")),
        }
    }

    /// What is no input of its tests, relative to the root.
    pub(super) fn ignored(&self) -> Option<String> {
        let own = self.own_state.as_ref()?;
        Some(if self.folder == "." { own.clone() } else { format!("{}/{own}", self.folder) })
    }
}

/// A folder that may be a project, and the root above it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place<'p> {
    pub(super) root: &'p Path,
    pub(super) folder: &'p Path,
}

impl Place<'_> {
    pub(super) fn has(&self, file: &str) -> bool {
        self.folder.join(file).is_file()
    }

    pub(super) fn text(&self, file: &str) -> Option<String> {
        let bytes = std::fs::read(self.folder.join(file)).ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Whether its package.json asks for a package of this name.
    pub(super) fn asks_npm_for(&self, name: &str) -> bool {
        let text = self.text("package.json").unwrap_or_default();
        let package: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
        let asks = |key: &str| package.get(key).is_some_and(|all| all.get(name).is_some());
        ["dependencies", "devDependencies"].into_iter().any(asks)
    }

    /// Whether a folder above this one, up to the root, has a file with such a text.
    pub(super) fn above_has(&self, file: &str, part: &str) -> bool {
        let above = self.folder.ancestors().skip(1).take_while(|a| a.starts_with(self.root));
        let mut texts = above.filter_map(|folder| std::fs::read_to_string(folder.join(file)).ok());
        texts.any(|text| text.contains(part))
    }

    /// Those of the patterns that match files, with all files.
    pub(super) fn matching(&self, patterns: &[String]) -> (Vec<String>, Vec<String>) {
        let (mut used, mut files) = (Vec::new(), Vec::new());
        for pattern in patterns {
            let item = [Item::Glob(pattern.clone())];
            let found = items::expand(&item, self.folder).unwrap_or_default();
            if !found.is_empty() {
                used.push(pattern.clone());
                files.extend(found);
            }
        }
        (used, files)
    }
}

/// The finds of each project, the root's first; in each the finest first.
pub(super) fn projects(root: &Path) -> Vec<Vec<Find>> {
    let mut folders = vec![root.to_path_buf()];
    below(root, LEVELS, &mut folders);
    let finds = folders.iter().map(|folder| of_folder(Place { root, folder }));
    finds.filter(|finds| !finds.is_empty()).take(MOST_PROJECTS).collect()
}

/// How deep projects are looked for.
const LEVELS: usize = 3;

/// More would make a file that is not read.
const MOST_PROJECTS: usize = 40;

/// Folders that hold no projects of their own: what tools make, and what tests work on.
const NO_PROJECTS: [&str; 22] = [
    "node_modules",
    "target",
    "build",
    "dist",
    "out",
    "vendor",
    "third_party",
    "venv",
    "env",
    "__pycache__",
    "testdata",
    "fixtures",
    "examples",
    "example",
    "test",
    "tests",
    "t",
    "spec",
    "docs",
    "doc",
    "bench",
    "fuzz",
];

fn below(folder: &Path, levels: usize, found: &mut Vec<PathBuf>) {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let is_folder = |entry: &std::fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
    let mut folders: Vec<PathBuf> = entries.filter(is_folder).map(|entry| entry.path()).collect();
    folders.retain(|folder| {
        let name = folder.file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| !name.starts_with('.') && !NO_PROJECTS.contains(&name))
    });
    folders.sort();
    for folder in folders {
        found.push(folder.clone());
        if levels > 1 {
            below(&folder, levels - 1, found);
        }
    }
}

type Finder = fn(Place<'_>) -> Option<Find>;

/// What every folder is looked at for, and what the root is looked at for besides.
const ANYWHERE: [Finder; 8] = [
    files::pytest,
    builds::go,
    builds::cargo,
    builds::ctest,
    builds::maven,
    builds::gradle,
    node::package_json,
    builds::meson,
];
const AT_THE_ROOT: [Finder; 3] = [files::shell, files::tap, files::bats];

fn of_folder(place: Place<'_>) -> Vec<Find> {
    let relative = place.folder.strip_prefix(place.root).unwrap_or(place.folder);
    let Some(relative) = relative.to_str() else { return Vec::new() };
    let is_root = relative.is_empty();
    let more: &[Finder] = if is_root { &AT_THE_ROOT } else { &[] };
    let mut finds: Vec<Find> = more.iter().chain(&ANYWHERE).filter_map(|f| f(place)).collect();
    // A Makefile below the root is mostly a part of the one above.
    finds.extend(builds::make(place).filter(|_| is_root));
    finds.sort_by_key(|find| (find.grain != Grain::PerItem, find.grain == Grain::WholeIfAlone));
    for find in &mut finds {
        find.folder = if is_root { ".".into() } else { relative.to_owned() };
    }
    finds
}
