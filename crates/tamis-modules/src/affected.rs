//! From changed files to changed modules to affected modules, each with its reasons.
//!
//! - A file belongs to the module whose folder is the nearest above it. One that belongs to none, and
//!   is not set aside, concerns all of them.
//! - A definition (a pom, a manifest) is judged by what modules resolve to, before and now. Where
//!   that is not known, all modules count.
//! - A change travels along the edges: from a module to those that use it; where only its tests are
//!   concerned, to those that use its tests; where it is used in tests, no further than those tests.
//! - Files beside a definition travel to those who inherit from it.

use crate::exclude::{Exclusions, first_match};
use crate::model::{BuildTool, EdgeKind, Graph, Part, Resolution, inside};
use globset::GlobBuilder;
use serde::Serialize;
use std::collections::BTreeSet;
use std::fmt;

/// Why a module is affected.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Reason {
    /// One of its files changed.
    File { file: String },
    /// A repository inside the project changed that it is in, or that is in it.
    Folder { folder: String },
    /// A file that concerns every module changed.
    Global { file: String },
    /// A file that belongs to no module changed.
    Outside { file: String },
    /// Its definition comes to something else.
    Resolution { what: String, was: Option<String>, is: Option<String> },
    /// Whether a changed definition matters is not known.
    Unjudged { why: String },
    /// It was not there before.
    New,
    /// A module in its folder was there before and is not any more.
    Removed { module: String },
    /// It uses an affected module.
    Uses { module: String, how: EdgeKind },
    /// The settings say so.
    Forced { by: String },
    /// Everything counts, and why.
    Everything { why: String },
    /// A test of it did not pass last time.
    Failed { test: String },
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { file } => write!(f, "{file} changed"),
            Self::Folder { folder } => write!(f, "the repository in {folder} changed"),
            Self::Global { file } => write!(f, "{file} changed, which concerns all modules"),
            Self::Outside { file } => write!(f, "{file} changed, which belongs to no module"),
            Self::Resolution { what, was: Some(was), is: Some(is) } => {
                write!(f, "{what} is {is}, was {was}")
            }
            Self::Resolution { what, was: None, is } => {
                write!(f, "{what} is new ({})", is.as_deref().unwrap_or_default())
            }
            Self::Resolution { what, is: None, .. } => write!(f, "{what} is gone"),
            Self::Unjudged { why } => f.write_str(why),
            Self::New => f.write_str("it is new"),
            Self::Removed { module } => write!(f, "{module} was removed"),
            Self::Uses { module, how } => write!(f, "{how} {module}"),
            Self::Forced { by } => write!(f, "forced by {by}"),
            Self::Everything { why } => f.write_str(why),
            Self::Failed { test } => write!(f, "{test} did not pass last time"),
        }
    }
}

/// A module that a change can affect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AffectedModule {
    /// Its number in the graph.
    pub module: usize,
    pub part: Part,
    /// It changed itself, and not only something that it uses.
    pub changed: bool,
    pub reasons: Vec<Reason>,
}

/// A changed file that does not count.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Excluded {
    pub file: String,
    pub rule: String,
}

/// The answer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Affected {
    /// In the order of the graph.
    pub modules: Vec<AffectedModule>,
    pub excluded: Vec<Excluded>,
    /// Changed files that a rule would set aside, with the test that reads them: they count.
    pub read_by_tests: Vec<(String, String)>,
}

impl Affected {
    pub fn contains(&self, module: usize) -> bool {
        self.modules.iter().any(|m| m.module == module)
    }

    /// All modules, for one reason.
    pub fn everything(graph: &Graph, why: &str) -> Self {
        let all = (0..graph.modules.len()).map(|module| AffectedModule {
            module,
            part: Part::All,
            changed: true,
            reasons: vec![Reason::Everything { why: why.to_owned() }],
        });
        Self { modules: all.collect(), ..Self::default() }
    }
}

/// How far a change travels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Travel {
    /// To everything that can notice it.
    #[default]
    Downstream,
    /// Only what changed itself.
    Nowhere,
}

/// Modules that are always affected, or when certain modules changed. Names are globs over the name,
/// its last part and the folder of a module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Force {
    pub when: Option<String>,
    pub modules: Vec<String>,
}

/// What a project can say about it all.
#[derive(Debug, Clone, Default)]
pub struct Rules {
    pub exclusions: Exclusions,
    pub travel: Travel,
    pub force: Vec<Force>,
    /// Packagings of modules that are left out where they did not change themselves.
    pub leave_out: Vec<String>,
    /// A changed file that matches one of these makes everything count.
    pub everything_if: Vec<String>,
}

/// What changed.
pub struct Change<'a> {
    pub files: &'a BTreeSet<String>,
    pub folders: &'a BTreeSet<String>,
    /// The graph of before, or why there is none. Needed where [`touches_definitions`] says so.
    pub before: Result<&'a Graph, &'a str>,
    /// The test that was seen reading a file.
    pub reader: &'a dyn Fn(&str) -> Option<String>,
}

impl fmt::Debug for Change<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Change").field("files", self.files).finish_non_exhaustive()
    }
}

/// Whether the graph of before is needed.
pub fn touches_definitions(
    graph: &Graph,
    files: &BTreeSet<String>,
    folders: &BTreeSet<String>,
) -> bool {
    // A definition that is gone is not in the graph of now; all of them have such names.
    let was_one = |file: &str| {
        let name = file.rsplit('/').next().unwrap_or(file);
        name.ends_with(".xml")
            || matches!(name, "Cargo.toml" | "package.json" | "go.mod" | "go.work")
    };
    files.iter().any(|f| graph.definitions.contains(f) || was_one(f)) || !folders.is_empty()
}

/// The modules that a change can affect.
pub fn affected(graph: &Graph, change: &Change<'_>, rules: &Rules) -> Affected {
    let mut work = Work { graph, found: vec![None; graph.modules.len()] };
    let mut answer = Affected::default();
    for file in change.files {
        if let Ok(Some(pattern)) = first_match(&rules.everything_if, file) {
            return Affected::everything(
                graph,
                &format!("{file} changed (everything-if {pattern})"),
            );
        }
    }
    let before = change.before.ok();
    let is_definition = |file: &String| {
        graph.definitions.contains(file) || before.is_some_and(|g| g.definitions.contains(file))
    };
    let (definitions, files): (Vec<&String>, Vec<&String>) =
        change.files.iter().partition(|file| is_definition(file));
    let mut beside = BTreeSet::new();
    for file in files {
        if let Some(rule) = rules.exclusions.rule(file, graph) {
            match (change.reader)(file) {
                Some(test) => answer.read_by_tests.push((file.clone(), test)),
                None => {
                    answer.excluded.push(Excluded { file: file.clone(), rule });
                    continue;
                }
            }
        }
        work.file(file, before, &mut beside);
    }
    for folder in change.folders {
        work.folder(folder, &mut beside);
    }
    if let Some(first) = definitions.first() {
        work.definitions(first, change.before);
    }
    work.forced(&rules.force);
    if rules.travel == Travel::Downstream {
        work.inherited(&beside);
        work.travel();
    }
    answer.modules = work.finish();
    answer
        .modules
        .retain(|m| m.changed || !rules.leave_out.contains(&graph.modules[m.module].packaging));
    answer
}

struct Work<'a> {
    graph: &'a Graph,
    found: Vec<Option<AffectedModule>>,
}

impl Work<'_> {
    /// Notes a reason; tells whether the module is concerned more than before.
    fn mark(&mut self, module: usize, part: Part, changed: bool, reason: Reason) -> bool {
        let known = &mut self.found[module];
        let before = known.as_ref().map(|m| m.part);
        let found =
            known.get_or_insert(AffectedModule { module, part, changed, reasons: Vec::new() });
        found.part = found.part.max(part);
        found.changed |= changed;
        if !found.reasons.contains(&reason) {
            found.reasons.push(reason);
        }
        before < Some(part)
    }

    fn file(&mut self, file: &str, before: Option<&Graph>, beside: &mut BTreeSet<usize>) {
        if self.graph.global.contains(file) {
            for module in 0..self.graph.modules.len() {
                self.mark(module, Part::All, true, Reason::Global { file: file.to_owned() });
            }
            return;
        }
        let owners = self.graph.owners(file);
        if owners.is_empty() {
            for module in 0..self.graph.modules.len() {
                self.mark(module, Part::All, true, Reason::Outside { file: file.to_owned() });
            }
            return;
        }
        // A file of a module that is gone: who used it resolves to something else now.
        let removed = before.and_then(|before| {
            let was = before.owners(file).into_iter().map(|n| &before.modules[n].name);
            was.into_iter().find(|name| self.graph.find(name).is_none())
        });
        for owner in owners {
            if let Some(name) = removed {
                let reason = Reason::Removed { module: name.clone() };
                self.mark(owner, Part::Tests, true, reason);
                continue;
            }
            let folders = &self.graph.modules[owner].test_folders;
            let tests = folders.iter().any(|folder| inside(file, folder))
                || (self.graph.kind == BuildTool::Go && file.ends_with("_test.go"));
            let part = if tests { Part::Tests } else { Part::All };
            // Sources of a Gradle project are nothing to the projects below it; its scripts may be.
            let sources = || {
                let folders = &self.graph.modules[owner].resource_folders;
                self.graph.kind == BuildTool::Gradle && folders.iter().any(|f| inside(file, f))
            };
            if part == Part::All && !sources() {
                beside.insert(owner);
            }
            self.mark(owner, part, true, Reason::File { file: file.to_owned() });
        }
    }

    fn folder(&mut self, folder: &str, beside: &mut BTreeSet<usize>) {
        let below = |n: &usize| inside(&self.graph.modules[*n].folder, folder);
        let mut modules: Vec<usize> = (0..self.graph.modules.len()).filter(below).collect();
        if modules.is_empty() {
            modules = self.graph.owners(folder);
        }
        for module in modules {
            beside.insert(module);
            self.mark(module, Part::All, true, Reason::Folder { folder: folder.to_owned() });
        }
    }

    fn definitions(&mut self, first: &str, before: Result<&Graph, &str>) {
        let before = match before {
            Ok(before) => before,
            Err(why) => {
                let why = format!("{first} changed, and what it was cannot be read: {why}");
                for module in 0..self.graph.modules.len() {
                    self.mark(module, Part::All, true, Reason::Unjudged { why: why.clone() });
                }
                return;
            }
        };
        for (number, module) in self.graph.modules.iter().enumerate() {
            let Some(was) = before.find(&module.name).map(|n| &before.modules[n]) else {
                self.mark(number, Part::All, true, Reason::New);
                continue;
            };
            if let Some(why) = module.unknown.as_ref().or(was.unknown.as_ref()) {
                let why = format!("{first} changed, and what it comes to is not known: {why}");
                self.mark(number, Part::All, true, Reason::Unjudged { why });
            }
            for (part, reason) in differences(&was.resolution, &module.resolution) {
                self.mark(number, part, true, reason);
            }
        }
    }

    fn forced(&mut self, force: &[Force]) {
        let changed: Vec<usize> =
            (0..self.found.len()).filter(|&n| self.found[n].is_some()).collect();
        for rule in force {
            let cause = rule
                .when
                .as_ref()
                .map(|when| changed.iter().find(|&&n| is_called(self.graph, n, when)).copied());
            let by = match (cause, &rule.when) {
                (None, _) => "force".to_owned(),
                (Some(Some(n)), _) => format!("a change of {}", self.graph.modules[n].name),
                (Some(None), _) => continue,
            };
            for module in 0..self.graph.modules.len() {
                if rule.modules.iter().any(|name| is_called(self.graph, module, name)) {
                    self.mark(module, Part::Tests, false, Reason::Forced { by: by.clone() });
                }
            }
        }
    }

    /// Files beside a definition concern those who inherit from it, and those who inherit from them.
    fn inherited(&mut self, beside: &BTreeSet<usize>) {
        let mut open: Vec<usize> = beside.iter().copied().collect();
        let mut seen = beside.clone();
        while let Some(parent) = open.pop() {
            let name = self.graph.modules[parent].name.clone();
            for edge in &self.graph.edges {
                if edge.to == parent && edge.kind == EdgeKind::Parent {
                    let reason = Reason::Uses { module: name.clone(), how: edge.kind };
                    self.mark(edge.from, Part::All, false, reason);
                    if seen.insert(edge.from) {
                        open.push(edge.from);
                    }
                }
            }
        }
    }

    fn travel(&mut self) {
        let mut users: Vec<Vec<(usize, EdgeKind)>> = vec![Vec::new(); self.graph.modules.len()];
        for edge in &self.graph.edges {
            users[edge.to].push((edge.from, edge.kind));
        }
        let mut open: Vec<usize> =
            (0..self.found.len()).filter(|&n| self.found[n].is_some()).collect();
        while let Some(module) = open.pop() {
            let Some(part) = self.found[module].as_ref().map(|m| m.part) else { continue };
            // Forced modules run their tests; no other module notices.
            let forced = |r: &Reason| matches!(r, Reason::Forced { .. });
            if self.found[module].as_ref().is_some_and(|m| m.reasons.iter().all(forced)) {
                continue;
            }
            let name = self.graph.modules[module].name.clone();
            for &(user, how) in &users[module] {
                let Some(reached) = reach(how, part) else { continue };
                let reason = Reason::Uses { module: name.clone(), how };
                if self.mark(user, reached, false, reason) {
                    open.push(user);
                }
            }
        }
    }

    fn finish(self) -> Vec<AffectedModule> {
        let mut modules: Vec<AffectedModule> = self.found.into_iter().flatten().collect();
        for module in &mut modules {
            module.reasons.sort();
        }
        modules
    }
}

/// Which part of the user an edge concerns, when this part of the used module is.
fn reach(how: EdgeKind, part: Part) -> Option<Part> {
    match (how, part) {
        (EdgeKind::Uses | EdgeKind::BuildsWith, Part::All) => Some(Part::All),
        (EdgeKind::UsesInTests, Part::All) => Some(Part::Tests),
        (EdgeKind::UsesTests, _) => Some(Part::All),
        (EdgeKind::UsesTestsInTests, _) => Some(Part::Tests),
        // Definitions are judged module by module, files beside them by `inherited`.
        (EdgeKind::Parent | EdgeKind::Imports, _)
        | (EdgeKind::Uses | EdgeKind::BuildsWith | EdgeKind::UsesInTests, Part::Tests) => None,
    }
}

/// Whether a module goes by a name: all of it, what stands after the colon or the last slash, or its
/// folder.
pub fn is_called(graph: &Graph, module: usize, name: &str) -> bool {
    let module = &graph.modules[module];
    let short = module.name.rsplit(':').next().unwrap_or(&module.name);
    let Ok(glob) = GlobBuilder::new(name).literal_separator(true).build() else { return false };
    let glob = glob.compile_matcher();
    [module.name.as_str(), short, module.folder.as_str()].iter().any(|n| glob.is_match(n))
}

fn differences(was: &Resolution, is: &Resolution) -> Vec<(Part, Reason)> {
    let keys: BTreeSet<&String> = was.keys().chain(is.keys()).collect();
    let mut found = Vec::new();
    for key in keys {
        let (old, new) = (was.get(key), is.get(key));
        if old != new {
            let part = part_of(key, old, new);
            let (was, is) = (old.cloned(), new.cloned());
            found.push((part, Reason::Resolution { what: key.clone(), was, is }));
        }
    }
    found
}

/// Keys that concern tests alone begin so; the readers use these words.
const OF_TESTS: &[&str] = &[
    "test ",
    "plugin org.apache.maven.plugins:maven-surefire-plugin",
    "plugin org.apache.maven.plugins:maven-failsafe-plugin",
];

fn part_of(key: &str, was: Option<&String>, is: Option<&String>) -> Part {
    let in_tests = |value: Option<&String>| value.is_none_or(|v| v.ends_with("(test)"));
    let dependency = key.starts_with("dependency ") && in_tests(was) && in_tests(is);
    if dependency || OF_TESTS.iter().any(|start| key.starts_with(start)) {
        Part::Tests
    } else {
        Part::All
    }
}

#[cfg(test)]
mod tests;
