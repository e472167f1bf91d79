//! Modules, the edges between them, and what both stand for.

use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// The tool that a build belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum BuildTool {
    Maven,
    Cargo,
    Npm,
    Go,
    Gradle,
}

/// What a definition comes to: key to value, both for people to read.
pub type Resolution = BTreeMap<String, String>;

/// One unit that the build tool can build and test by itself. Paths are relative to the top folder,
/// with slashes; `.` is the top folder.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Module {
    /// How the build tool calls it: `group:artifact`, a package, a workspace.
    pub name: String,
    pub version: String,
    pub folder: String,
    /// The file that defines it.
    pub definition: String,
    /// `jar`, `pom`, `war`; the build tool's word for it.
    pub packaging: String,
    pub resolution: Resolution,
    /// What it can be asked to do, where the tool tells.
    pub tasks: Vec<String>,
    /// Folders whose files concern the tests alone, relative to the top folder.
    pub test_folders: Vec<String>,
    /// Folders whose files end up in what is built or tested, whatever they look like.
    pub resource_folders: Vec<String>,
    /// Why the resolution may not be complete; then every edit of a definition counts.
    pub unknown: Option<String>,
}

impl Module {
    /// Whether a file is in the folder of this module.
    pub fn holds(&self, file: &str) -> bool {
        inside(file, &self.folder)
    }
}

/// Which part of a module something concerns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Part {
    /// Its tests alone: who uses the module does not notice.
    Tests,
    /// Everything, and so also those who use it.
    All,
}

/// How a module uses another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum EdgeKind {
    /// Inherits its definition, and the files that stand beside it.
    Parent,
    /// Uses what it builds.
    Uses,
    /// Uses what it builds, in tests alone.
    UsesInTests,
    /// Uses the tests that it builds, as a library.
    UsesTests,
    /// Uses the tests that it builds, in tests alone.
    UsesTestsInTests,
    /// Builds with it: a plugin, an extension, a library of a plugin, a build script.
    BuildsWith,
    /// Imports the versions that it manages.
    Imports,
}

impl fmt::Display for EdgeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Parent => "inherits from",
            Self::Uses => "depends on",
            Self::UsesInTests => "depends in its tests on",
            Self::UsesTests | Self::UsesTestsInTests => "depends on the tests of",
            Self::BuildsWith => "is built with",
            Self::Imports => "imports the versions of",
        })
    }
}

/// `from` uses `to`; numbers of modules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Edge {
    pub from: usize,
    pub to: usize,
    pub kind: EdgeKind,
}

/// All modules of a build.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Graph {
    pub kind: BuildTool,
    pub modules: Vec<Module>,
    pub edges: BTreeSet<Edge>,
    /// Files that were read to make the graph: an edit of them is judged by what modules resolve to.
    pub definitions: BTreeSet<String>,
    /// Files that are there or not there and concern all modules.
    pub global: BTreeSet<String>,
    /// What the user should know about how the graph came about.
    pub notes: Vec<String>,
}

impl Graph {
    /// The edges as texts.
    #[cfg(test)]
    pub(crate) fn described(&self) -> Vec<String> {
        let name = |n: usize| self.modules[n].name.as_str();
        let text = |e: &Edge| format!("{} {:?} {}", name(e.from), e.kind, name(e.to));
        self.edges.iter().map(text).collect()
    }

    pub fn new(kind: BuildTool) -> Self {
        Self {
            kind,
            modules: Vec::new(),
            edges: BTreeSet::new(),
            definitions: BTreeSet::new(),
            global: BTreeSet::new(),
            notes: Vec::new(),
        }
    }

    /// The module of that name.
    pub fn find(&self, name: &str) -> Option<usize> {
        self.modules.iter().position(|m| m.name == name)
    }

    pub fn add_edge(&mut self, from: usize, to: usize, kind: EdgeKind) {
        if from != to {
            self.edges.insert(Edge { from, to, kind });
        }
    }

    /// The modules whose folder is the nearest above a file, or that file itself; several may share
    /// a folder.
    pub fn owners(&self, file: &str) -> Vec<usize> {
        let holding = || (0..self.modules.len()).filter(|&n| self.modules[n].holds(file));
        let depth = |n: usize| folder_depth(&self.modules[n].folder);
        let Some(deepest) = holding().map(depth).max() else { return Vec::new() };
        holding().filter(|&n| depth(n) == deepest).collect()
    }

    /// Everything that these modules need, themselves included.
    pub fn upstream(&self, of: impl IntoIterator<Item = usize>) -> BTreeSet<usize> {
        self.closure(of, |edge| (edge.from, edge.to))
    }

    /// Everything that needs these modules, themselves included.
    pub fn downstream(&self, of: impl IntoIterator<Item = usize>) -> BTreeSet<usize> {
        self.closure(of, |edge| (edge.to, edge.from))
    }

    fn closure(
        &self,
        of: impl IntoIterator<Item = usize>,
        step: impl Fn(&Edge) -> (usize, usize),
    ) -> BTreeSet<usize> {
        let mut next: Vec<Vec<usize>> = vec![Vec::new(); self.modules.len()];
        for edge in &self.edges {
            let (from, to) = step(edge);
            next[from].push(to);
        }
        let mut seen = BTreeSet::new();
        let mut open: Vec<usize> = of.into_iter().collect();
        while let Some(one) = open.pop() {
            if seen.insert(one) {
                open.extend(next[one].iter().copied());
            }
        }
        seen
    }
}

fn folder_depth(folder: &str) -> usize {
    if folder == "." { 0 } else { folder.split('/').count() }
}

/// Whether a path is a folder or something below it.
pub fn inside(path: &str, folder: &str) -> bool {
    folder == "."
        || path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// `relative` as seen from `folder`, without dots; `None` where it leads above the top folder.
pub fn join(folder: &str, relative: &str) -> Option<String> {
    if relative.starts_with('/') {
        return None;
    }
    let mut parts: Vec<&str> = folder.split('/').filter(|p| !matches!(*p, "" | ".")).collect();
    for part in relative.split(['/', '\\']) {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            name => parts.push(name),
        }
    }
    Some(if parts.is_empty() { ".".into() } else { parts.join("/") })
}

/// The folder that a path stands in.
pub fn folder_of(path: &str) -> &str {
    path.rsplit_once('/').map_or(".", |(folder, _)| folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(folders: &[&str]) -> Graph {
        let mut graph = Graph::new(BuildTool::Maven);
        for folder in folders {
            let (name, folder) = ((*folder).to_owned(), (*folder).to_owned());
            graph.modules.push(Module { name, folder, ..Module::default() });
        }
        graph
    }

    #[test]
    fn paths_are_joined_without_dots() {
        assert_eq!(join("a/b", "../c").as_deref(), Some("a/c"));
        assert_eq!(join(".", "./a//b/").as_deref(), Some("a/b"));
        assert_eq!(join("a", "..").as_deref(), Some("."));
        assert_eq!(join("a", "../../x"), None);
        assert_eq!(join("a", "/x"), None);
        assert_eq!(join("a", "..\\b").as_deref(), Some("b"));
    }

    #[test]
    fn a_file_belongs_to_the_nearest_folder_above_it() {
        let graph = graph(&[".", "a", "a/b", "ab"]);
        let names = |file: &str| -> Vec<&str> {
            graph.owners(file).iter().map(|&n| graph.modules[n].name.as_str()).collect()
        };
        assert_eq!(names("a/b/x"), ["a/b"]);
        assert_eq!(names("a/bc/x"), ["a"]);
        assert_eq!(names("ab/x"), ["ab"]);
        assert_eq!(names("abc"), ["."]);
    }

    #[test]
    fn modules_of_one_folder_share_its_files() {
        let graph = graph(&[".", "a", "a"]);
        assert_eq!(graph.owners("a/x"), [1, 2]);
    }

    #[test]
    fn without_a_root_module_a_file_may_belong_to_no_module() {
        assert!(graph(&["a"]).owners("x").is_empty());
    }

    #[test]
    fn closures() {
        let mut graph = graph(&["a", "b", "c", "d"]);
        graph.add_edge(1, 0, EdgeKind::Uses);
        graph.add_edge(2, 1, EdgeKind::UsesInTests);
        graph.add_edge(2, 2, EdgeKind::Uses);
        assert_eq!(graph.upstream([2]), BTreeSet::from([0, 1, 2]));
        assert_eq!(graph.downstream([0]), BTreeSet::from([0, 1, 2]));
        assert_eq!(graph.downstream([3]), BTreeSet::from([3]));
        assert_eq!(graph.edges.len(), 2, "no module needs itself");
    }
}
