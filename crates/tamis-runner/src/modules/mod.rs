//! Changed files to affected modules, for the project that the user is in.
//!
//! The build is read from the top of its repository, whatever folder the user is in: a module is
//! affected by a change anywhere, also where only that module is built. What cannot be known (no git,
//! too little history, a definition that cannot be read) makes everything count, and is reported.

mod maven;
mod narrow;
mod others;

pub(crate) use narrow::chosen_for_all;
pub use narrow::{Narrowed, narrowed};

use crate::call::Call;
use anyhow::{Result, bail};
use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use tamis_core::PortablePath;
use tamis_core::Silent;
use tamis_modules::affected::{Excluded, touches_definitions};
use tamis_modules::git::{Changes, Git, Since};
use tamis_modules::maven::{Surroundings, Words};
use tamis_modules::model::{inside, join};
use tamis_modules::{
    Affected, AffectedModule, BuildError, BuildTool as Kind, Change, Exclusions, Files, Force,
    Graph, Part, Reason, Rules, Travel, Tree, affected, cargo, golang, gradle, npm,
};
use tamis_project::{Project, cache_folder};
use tamis_settings::FileGlob;
use tamis_settings::modules::{ModuleSettings, When, WithoutGit};
use tamis_store::Store;

/// What a change does to the modules of a build.
#[derive(Debug)]
pub struct Found {
    pub graph: Graph,
    pub affected: Affected,
    pub tree: Tree,
    /// The definition that the whole build starts with.
    pub root: String,
    /// What was compared with, and its commit.
    pub since: Option<String>,
    pub commit: Option<String>,
    /// Why everything counts, where it does.
    pub everything: Option<String>,
    pub around: Surroundings,
}

/// What git says: the reference that counts, and what changed since.
fn changes_since(
    git: Result<Git, String>,
    settings: &ModuleSettings,
    asked: Option<&str>,
) -> (Option<String>, Result<(Git, Changes), String>) {
    let mut reference = None;
    let changes = git.and_then(|git| {
        let since = since(settings, asked, &git)?;
        reference = Some(since.reference.clone());
        if let Some(why) = disabled(settings, &git, &since.reference) {
            return Err(why);
        }
        let changes = git.changes(&since).map_err(|e| e.to_string())?;
        Ok((git, changes))
    });
    (reference, changes)
}

/// What is asked about.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    /// The words of the command, as text; empty where there is none.
    pub words: &'a [String],
    pub since: Option<&'a str>,
    /// What uses a changed module is not affected.
    pub alone: bool,
}

impl Found {
    /// Looks at the project, its history and its records.
    pub fn new(call: Call<'_>, asked: Asked<'_>) -> Result<Self> {
        let project = call.project;
        let settings = &project.settings.modules;
        let git = Git::find(&project.folder);
        let top =
            git.as_ref().map_or_else(|_| project.root().to_path_buf(), |g| g.top().to_path_buf());
        let tree = Tree::new(&top);
        let folder = tree.relative(&project.folder).unwrap_or_else(|| ".".into());
        let kind = kind_of(&tree, &folder, asked.words)?;
        let around = surroundings(project, &tree, asked.words);
        let root = root_of(kind, &tree, &folder, project, asked.words, &around)?;
        let program = (kind == Kind::Gradle).then(|| asked.words.first()).flatten();
        let program = program.map(|word| program_of(project, word));
        let build = Build { kind, root: &root, top: &top, around: &around, program };
        let git = git.map_err(|e| e.to_string());
        // git has many files to look at; the definitions are read meanwhile.
        let (graph, (since, changes)) = std::thread::scope(|scope| {
            let asking = scope.spawn(|| changes_since(git, settings, asked.since));
            let graph = build.read(&tree, false);
            (graph, asking.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
        });
        let mut found = Self {
            graph: graph?,
            affected: Affected::default(),
            root: root.clone(),
            since,
            commit: None,
            everything: None,
            around: around.clone(),
            tree,
        };
        match changes {
            Ok((git, mut changes)) => {
                found.leave_out_store(project, &mut changes);
                found.commit = Some(changes.commit.clone());
                found.judge(project, &git, &changes, &build, asked.alone)?;
            }
            Err(why) if settings.without_git == WithoutGit::Fail => bail!(why),
            Err(why) => found.everything_counts(why),
        }
        Ok(found)
    }

    /// Our own records may stand in the work tree; they are no change.
    fn leave_out_store(&self, project: &Project, changes: &mut Changes) {
        let store = project.store_folder.as_ref().ok().and_then(|f| f.canonicalize().ok());
        if let Some(store) = store.and_then(|store| self.tree.relative(&store)) {
            changes.files.retain(|file| !inside(file, &store));
            changes.folders.retain(|folder| !inside(folder, &store));
        }
    }

    fn everything_counts(&mut self, why: String) {
        self.affected = Affected::everything(&self.graph, &why);
        self.everything = Some(why);
    }

    fn judge(
        &mut self,
        project: &Project,
        git: &Git,
        changes: &Changes,
        build: &Build<'_>,
        alone: bool,
    ) -> Result<()> {
        let settings = &project.settings.modules;
        let mut before: Result<Graph, String> = Err("it was not looked at".into());
        if touches_definitions(&self.graph, &changes.files, &changes.folders) {
            if matches!(build.kind, Kind::Maven) {
                self.graph = build.read(&self.tree, true)?;
            }
            before = match (build.kind, git.revision(&changes.commit)) {
                // Their modules come from the tool, which knows only the work tree.
                (Kind::Go | Kind::Gradle, _) => Ok(self.graph.clone()),
                (_, Ok(revision)) => build.read(&revision, true).map_err(|e| e.to_string()),
                (_, Err(error)) => Err(error.to_string()),
            };
        }
        let store = project.existing_store(&Silent).ok().flatten();
        let readers =
            Readers { project, tree: &self.tree, graph: &self.graph, store: store.as_ref() };
        let known: RefCell<HashMap<String, Option<String>>> = RefCell::default();
        let reader = |file: &str| {
            let mut known = known.borrow_mut();
            known.entry(file.to_owned()).or_insert_with(|| readers.of(file)).clone()
        };
        let change = Change {
            files: &changes.files,
            folders: &changes.folders,
            before: before.as_ref().map_err(String::as_str),
            reader: &reader,
        };
        self.affected = affected(&self.graph, &change, &rules(settings, alone)?);
        if let Some(glob) = self.run_all_on(project, changes) {
            self.everything_counts(format!("a file matching {glob} changed (run-all-on)"));
        }
        if self.affected.modules.is_empty() && settings.everything_if_unchanged {
            self.everything_counts("nothing changed (everything-if-unchanged)".into());
        }
        add_failed(project, store.as_ref(), &self.tree, &self.graph, &mut self.affected);
        Ok(())
    }

    /// The first glob of `run-all-on` that a change matches.
    fn run_all_on(&self, project: &Project, changes: &Changes) -> Option<String> {
        let top = self.tree.top();
        let changed = |glob: &FileGlob| {
            changes.files.iter().any(|file| glob.matches(&top.join(file)))
                || !changes.folders.is_empty()
                    && project.files_meant(glob).iter().any(|file| {
                        changes.folders.iter().any(|folder| file.starts_with(top.join(folder)))
                    })
        };
        let globs = project.settings.all_run_all_on();
        // A pattern that cannot be understood here must not hide a change.
        globs
            .into_iter()
            .find(|glob| FileGlob::new(glob, &project.paths).map_or(true, |glob| changed(&glob)))
    }

    /// A module that a change can affect.
    pub fn affected(&self, module: usize) -> Option<&AffectedModule> {
        self.affected.modules.iter().find(|m| m.module == module)
    }
}

/// The changed files that do not count for modules, compared with what the settings or git name. Nothing
/// where that cannot be known, and for Gradle, which would have to be asked.
pub fn excluded_changes(call: Call<'_>) -> Vec<Excluded> {
    let project = call.project;
    let top = Git::find(&project.folder).map(|git| git.top().to_path_buf());
    let Ok(tree) = top.map(Tree::new) else { return Vec::new() };
    let folder = tree.relative(&project.folder).unwrap_or_else(|| ".".into());
    match kind_of(&tree, &folder, &[]) {
        Err(_) | Ok(Kind::Gradle) => return Vec::new(),
        Ok(_) => {}
    }
    let found = Found::new(call, Asked { words: &[], since: None, alone: false });
    found.map(|found| found.affected.excluded).unwrap_or_default()
}

/// How the graph of a build is read.
#[derive(Debug)]
struct Build<'a> {
    kind: Kind,
    root: &'a str,
    top: &'a Path,
    around: &'a Surroundings,
    /// The Gradle that the user calls.
    program: Option<PathBuf>,
}

impl Build<'_> {
    fn read(&self, files: &dyn Files, with_resolution: bool) -> Result<Graph, BuildError> {
        match self.kind {
            Kind::Maven => {
                tamis_modules::maven::read(files, self.root, self.around, with_resolution)
            }
            Kind::Cargo => cargo::read(files, self.root),
            Kind::Npm => npm::read(files, self.root),
            Kind::Go => golang::read(files, self.top, self.root),
            Kind::Gradle => {
                let cache = cache_folder().map(|cache| cache.join("gradle"));
                let (program, cache) = (self.program.as_deref(), cache.as_deref());
                gradle::read(files, self.top, self.root, program, cache)
            }
        }
    }
}

/// The tool that a command belongs to, or that the definitions nearest to the folder are for.
fn kind_of(tree: &Tree, folder: &str, words: &[String]) -> Result<Kind> {
    if let Some(kind) = words.first().and_then(|w| kind_of_program(w)) {
        return Ok(kind);
    }
    if let Some(word) = words.first() {
        bail!("{word}: modules are known for mvn, gradle, cargo, go, npm, pnpm and yarn commands");
    }
    let names = [
        ("pom.xml", Kind::Maven),
        ("settings.gradle", Kind::Gradle),
        ("settings.gradle.kts", Kind::Gradle),
        ("build.gradle", Kind::Gradle),
        ("build.gradle.kts", Kind::Gradle),
        ("Cargo.toml", Kind::Cargo),
        ("go.work", Kind::Go),
        ("go.mod", Kind::Go),
        ("package.json", Kind::Npm),
    ];
    for here in Path::new(folder).ancestors().map(|f| f.to_str().unwrap_or_default()) {
        let here = if here.is_empty() { "." } else { here };
        let is_file = |name: &str| join(here, name).is_some_and(|p| tree.is_file(&p));
        if let Some((_, kind)) = names.iter().find(|(name, _)| is_file(name)) {
            return Ok(*kind);
        }
    }
    bail!(
        "no pom.xml, settings.gradle, Cargo.toml, go.mod or package.json here or above; change to a \
         build's folder"
    )
}

/// A program as the user named it, seen from any folder.
fn program_of(project: &Project, word: &str) -> PathBuf {
    if !word.contains('/') {
        return PathBuf::from(word);
    }
    let place = project.folder.join(word);
    place.canonicalize().unwrap_or(place)
}

pub fn kind_of_program(word: &str) -> Option<Kind> {
    Some(match Path::new(word).file_name()?.to_str()? {
        "mvn" | "mvnw" => Kind::Maven,
        "cargo" => Kind::Cargo,
        "go" => Kind::Go,
        "gradle" | "gradlew" => Kind::Gradle,
        "npm" | "pnpm" | "yarn" => Kind::Npm,
        _ => return None,
    })
}

/// The definition that the whole build starts with.
fn root_of(
    kind: Kind,
    tree: &Tree,
    folder: &str,
    project: &Project,
    words: &[String],
    around: &Surroundings,
) -> Result<String> {
    let root = match kind {
        Kind::Maven => {
            let pom = maven::start(tree, folder, project, words)?;
            Some(tamis_modules::maven::root_of(tree, &pom, around))
        }
        Kind::Cargo => cargo::root_of(tree, folder),
        Kind::Npm => npm::root_of(tree, folder),
        Kind::Go => golang::root_of(tree, folder),
        Kind::Gradle => gradle::root_of(tree, folder),
    };
    let name = match kind {
        Kind::Maven => "pom.xml",
        Kind::Cargo => "Cargo.toml",
        Kind::Npm => "package.json",
        Kind::Go => "go.mod",
        Kind::Gradle => "settings.gradle",
    };
    root.ok_or_else(|| anyhow::anyhow!("no {name} here or above; change to a build's folder"))
}

fn surroundings(project: &Project, tree: &Tree, words: &[String]) -> Surroundings {
    let mut around = Surroundings::of_user(project.paths.home());
    maven::words(project, tree, words).add_to(&mut around);
    around
}

/// What to compare with: the command line, the settings, the remote's main branch.
fn since(settings: &ModuleSettings, asked: Option<&str>, git: &Git) -> Result<Since, String> {
    let reference = asked.map(str::to_owned).or_else(|| settings.since.clone());
    let reference = reference.or_else(|| git.default_reference()).ok_or(
        "nothing to compare with; name a branch, tag or commit with --since, or set `since` in \
         [modules]",
    )?;
    Ok(Since {
        merge_base: settings.merge_base,
        uncommitted: settings.uncommitted,
        untracked: settings.untracked,
        fetch: settings.fetch,
        base: settings.base.clone(),
        ..Since::new(reference)
    })
}

/// Why everything counts on this branch, if the settings say so.
fn disabled(settings: &ModuleSettings, git: &Git, reference: &str) -> Option<String> {
    let matches = |patterns: &[String], name: &str| {
        tamis_modules::exclude::first_match(patterns, name).ok().flatten().map(str::to_owned)
    };
    if !settings.disable_if_branch.is_empty()
        && let Some(branch) = git.branch()
        && let Some(pattern) = matches(&settings.disable_if_branch, &branch)
    {
        return Some(format!("this is branch {branch} (disable-if-branch {pattern})"));
    }
    matches(&settings.disable_if_since, reference)
        .map(|pattern| format!("it is compared with {reference} (disable-if-since {pattern})"))
}

fn rules(settings: &ModuleSettings, alone: bool) -> Result<Rules> {
    let exclusions =
        Exclusions::new(settings.default_exclude, &settings.exclude, &settings.include);
    let never = alone || settings.downstream == When::Never;
    Ok(Rules {
        exclusions: exclusions.map_err(anyhow::Error::msg)?,
        travel: if never { Travel::Nowhere } else { Travel::Downstream },
        force: settings
            .force
            .iter()
            .map(|f| Force { when: f.when.clone(), modules: f.modules.clone() })
            .collect(),
        leave_out: settings.leave_out_packaging.clone(),
        everything_if: settings.everything_if.clone(),
    })
}

/// Who was seen reading a file, from the records.
struct Readers<'a> {
    project: &'a Project,
    tree: &'a Tree,
    graph: &'a Graph,
    store: Option<&'a Store>,
}

impl Readers<'_> {
    fn of(&self, file: &str) -> Option<String> {
        let paths: Vec<PortablePath> = self
            .places(file)
            .iter()
            .map(|place| self.project.paths.to_portable(&self.tree.top().join(place)))
            .collect();
        match self.store?.readers_of(&paths) {
            Ok(found) => {
                let best = found.values().min_by_key(|key| (key.is_command(), key.to_string()));
                best.map(ToString::to_string)
            }
            // Records that cannot be read may well name it.
            Err(error) => Some(format!("(not known: {error})")),
        }
    }

    /// The file itself, and where a build puts it when it is a resource.
    fn places(&self, file: &str) -> Vec<String> {
        let mut places = vec![file.to_owned()];
        for module in self.graph.owners(file).into_iter().map(|n| &self.graph.modules[n]) {
            for folder in &module.resource_folders {
                let rest = file.strip_prefix(folder.as_str()).map(|r| r.trim_start_matches('/'));
                for output in ["target/classes", "target/test-classes"] {
                    let place =
                        rest.and_then(|rest| join(&module.folder, &format!("{output}/{rest}")));
                    places.extend(place);
                }
            }
        }
        places
    }
}

/// Modules with tests that did not pass last time are affected, whatever changed.
fn add_failed(
    project: &Project,
    store: Option<&Store>,
    tree: &Tree,
    graph: &Graph,
    affected: &mut Affected,
) {
    let Some(tests) = store.and_then(|store| store.tests().ok()) else { return };
    let failed =
        tests.into_iter().filter(|t| !t.last.outcome.passed() && t.key.scope.tool().is_some());
    for test in failed {
        let folder: PathBuf = project.root().join(&test.key.folder);
        let Some(folder) = tree.relative(&folder) else { continue };
        let modules = (0..graph.modules.len()).filter(|&n| graph.modules[n].folder == folder);
        for module in modules {
            let reason = Reason::Failed { test: test.key.to_string() };
            match affected.modules.iter_mut().find(|m| m.module == module) {
                Some(known) => known.reasons.push(reason),
                None => affected.modules.push(AffectedModule {
                    module,
                    part: Part::Tests,
                    changed: false,
                    reasons: vec![reason],
                }),
            }
        }
    }
    affected.modules.sort_by_key(|m| m.module);
}

/// Words as text; modules are not known for commands that are none.
pub fn text_words(words: &[std::ffi::OsString]) -> Result<Vec<String>> {
    let text = |w: &std::ffi::OsString| {
        w.to_str().map(str::to_owned).ok_or_else(|| anyhow::anyhow!("{w:?} is no text"))
    };
    words.iter().map(text).collect()
}
