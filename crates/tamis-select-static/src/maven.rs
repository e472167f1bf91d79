//! Maven projects: modules and their folders from effective poms, the classpath from Maven itself.
//!
//! Poms are read by [`tamis_modules::maven`], with the profiles and properties that the user gives. What a module is
//! cannot be answered by halves: one that is named and not there, that is not compiled, or that Maven left no classpath
//! for, is an error, because its tests would silently be missing from the selection.
//!
//! The classpath is what `dependency:build-classpath` gives, kept for as long as no pom, `.mvn` file, user setting of
//! Maven or given word changes. What repositories offer under the same version is not seen.

use crate::definitions::{Configuration, TestModule};
use crate::test_naming::{self, Exclusion, Naming};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tamis_classpath::disk;
use tamis_core::Hash;
use tamis_modules::maven::{
    Layout, Surroundings, TestNaming, TestPlugin, Words, layout_of, layouts,
};
use tamis_modules::{Files as _, Tree};

/// Where each module's classpath is left by Maven; below `target`, so a clean removes it.
const CLASSPATH_FILE: &str = "target/tamis-classpath";

#[derive(Debug, thiserror::Error)]
pub enum MavenError {
    #[error("{0}")]
    Build(#[from] tamis_modules::BuildError),
    #[error(
        "{pom}: its parent {parent} is neither in the project nor in the local repository; build the project once"
    )]
    Parent { pom: String, parent: String },
    #[error(
        "the classpath is not known: {0}; build the project once, or give --classes, --test-classes and --classpath"
    )]
    Classpath(String),
    #[error(
        "{module}: {sources} has sources and {classes} is not there; compile first (mvn test-compile)"
    )]
    NotCompiled { module: String, sources: String, classes: String },
}

/// A Maven build, as the user calls it.
#[derive(Debug, Clone)]
pub struct MavenBuild<'a> {
    /// The project's root; all poms are below it.
    pub top: &'a Path,
    /// The folder of the pom that the build starts with.
    pub folder: &'a Path,
    pub home: Option<&'a Path>,
    /// The Maven to ask for classpaths.
    pub mvn: &'a str,
    /// Profiles and properties as Maven takes them (`-P`, `-D`).
    pub words: &'a [String],
}

impl MavenBuild<'_> {
    fn read(&self) -> Result<Vec<Layout>, MavenError> {
        let tree = Tree::new(self.top);
        let outside = || {
            let pom = self.folder.join("pom.xml");
            tamis_modules::BuildError(format!("{} is not in the project", pom.display()))
        };
        let pom = tree.relative(&self.folder.join("pom.xml")).ok_or_else(outside)?;
        let around = surroundings(self.folder, self.top, self.home, self.words);
        Ok(layouts(&tree, &pom, &around)?)
    }

    /// Everything that decides about the classpath, apart from what repositories offer.
    fn digest(&self, layouts: &[Layout]) -> Hash {
        let mut poms: Vec<&String> = layouts.iter().flat_map(|l| &l.definitions).collect();
        poms.sort_unstable();
        poms.dedup();
        let mut files: Vec<PathBuf> = poms.iter().map(|pom| self.top.join(pom)).collect();
        for name in ["maven.config", "jvm.config", "extensions.xml", "settings.xml"] {
            files.extend(self.folder.ancestors().take(4).map(|f| f.join(".mvn").join(name)));
        }
        files.extend(self.home.map(|home| home.join(".m2/settings.xml")));
        let mut parts: Vec<Vec<u8>> =
            files.iter().map(|file| std::fs::read(file).unwrap_or_default()).collect();
        parts.extend(self.words.iter().map(|word| word.clone().into_bytes()));
        Hash::of_parts(parts.iter().map(Vec::as_slice))
    }
}

/// What poms depend on besides themselves: the machine, the user's settings, the project's own words for Maven and
/// those given.
pub fn surroundings(
    folder: &Path,
    top: &Path,
    home: Option<&Path>,
    words: &[String],
) -> Surroundings {
    let mut around = Surroundings::of_user(home);
    let with =
        folder.ancestors().take_while(|f| f.starts_with(top)).find(|f| f.join(".mvn").is_dir());
    let config = with.and_then(|f| std::fs::read_to_string(f.join(".mvn/maven.config")).ok());
    Words::with_config(&config.unwrap_or_default(), words).add_to(&mut around);
    around
}

/// What the poms declare about how the tests of one module run; `None` where that is not known.
pub fn declared(top: &Path, module: &str, home: Option<&Path>, words: &[String]) -> Option<Hash> {
    let (tree, folder) = (Tree::new(top), top.join(module));
    let pom = tree.relative(&folder.join("pom.xml")).filter(|pom| tree.is_file(pom))?;
    let around = surroundings(&folder, top, home, words);
    declared_by(&layout_of(&tree, &pom, &around).ok()?)
}

fn declared_by(layout: &Layout) -> Option<Hash> {
    let known = layout.missing_parents.is_empty();
    known.then(|| Hash::of(layout.test_configuration.as_bytes()))
}

/// The modules with classpaths, as the selection wants them. Asks Maven only when something that decides about the
/// classpath changed.
pub fn resolve(
    build: &MavenBuild<'_>,
    cache: &Path,
    environment: &[String],
) -> Result<Vec<TestModule>, MavenError> {
    let mut layouts = build.read()?;
    let file = cache.join("maven-classpath");
    let kept: Option<(Hash, BTreeMap<String, String>)> = disk::load(&file);
    let is_known = |layouts: &[Layout], digest| {
        digest == build.digest(layouts) && layouts.iter().all(|l| l.missing_parents.is_empty())
    };
    let classpaths = match kept {
        Some((digest, paths)) if is_known(&layouts, digest) => paths,
        _ => {
            let paths = ask_maven(build, &layouts)?;
            // Maven may have fetched parents.
            layouts = build.read()?;
            // Only a cache.
            disk::save(&file, &(build.digest(&layouts), &paths)).ok();
            paths
        }
    };
    let mut modules = Vec::new();
    for layout in &layouts {
        let module = module(build, layout, &classpaths, environment)?;
        let name = match is_shared(layout, &layouts) {
            true => format!("{}:{}", layout.folder, layout.artifact),
            false => layout.folder.clone(),
        };
        modules.extend(module.map(|module| TestModule { name, ..module }));
    }
    Ok(modules)
}

/// Whether there are several modules in the folder of this one.
fn is_shared(layout: &Layout, layouts: &[Layout]) -> bool {
    layouts.iter().filter(|other| other.folder == layout.folder).count() > 1
}

/// A module as the selection wants it, without its name; `None` for one that has no classes and is not to have any.
fn module(
    build: &MavenBuild<'_>,
    layout: &Layout,
    classpaths: &BTreeMap<String, String>,
    environment: &[String],
) -> Result<Option<TestModule>, MavenError> {
    if let Some(parent) = layout.missing_parents.first() {
        let (pom, parent) = (layout.definition.clone(), parent.clone());
        return Err(MavenError::Parent { pom, parent });
    }
    let (classes, test_classes) =
        (build.top.join(&layout.classes), build.top.join(&layout.test_classes));
    if !test_classes.is_dir() && has_tests(build.top, layout) {
        return Err(MavenError::NotCompiled {
            module: layout.folder.clone(),
            sources: layout.test_sources.clone(),
            classes: layout.test_classes.clone(),
        });
    }
    if !test_classes.is_dir() && !classes.is_dir() {
        return Ok(None);
    }
    let path = classpaths.get(&layout.definition).ok_or_else(|| {
        MavenError::Classpath(format!("Maven left none for {}", layout.definition))
    })?;
    let path = std::env::split_paths(path).filter(|p| !p.as_os_str().is_empty());
    Ok(Some(TestModule {
        name: String::new(),
        key: TestModule::key_of(build.top, std::slice::from_ref(&test_classes)),
        test_classes: vec![test_classes],
        classes: vec![classes],
        classpath: path.collect(),
        environment: environment.to_vec(),
        naming: naming_of(&layout.naming),
        configuration: Configuration { declared: declared_by(layout), ..Configuration::default() },
    }))
}

/// Whether there is something that the build would compile into the folder of test classes.
fn has_tests(top: &Path, layout: &Layout) -> bool {
    let sources = top.join(&layout.test_sources);
    let any = || tamis_classpath::folder::files(&sources).map_or(true, |files| !files.is_empty());
    layout.packaging != "pom" && !layout.tests_left_out && sources.is_dir() && any()
}

/// One Maven run for all modules. Up to `test-compile`, because only then do modules of the same build see each
/// other's folders.
fn ask_maven(
    build: &MavenBuild<'_>,
    layouts: &[Layout],
) -> Result<BTreeMap<String, String>, MavenError> {
    // Several modules in one folder would write one file.
    let by_name = layouts.iter().any(|layout| is_shared(layout, layouts));
    let file_of = |l: &Layout| {
        let end = if by_name { format!("-{}", l.artifact) } else { String::new() };
        build.top.join(&l.folder).join(format!("{CLASSPATH_FILE}{end}"))
    };
    for layout in layouts {
        // What an earlier run left is not what this one says.
        std::fs::remove_file(file_of(layout)).ok();
    }
    let end = if by_name { "-${project.artifactId}" } else { "" };
    let mut words: Vec<String> = build.words.to_vec();
    let goals = ["-q", "-B", "test-compile", "dependency:build-classpath", "-DincludeScope=test"];
    words.extend(goals.map(str::to_owned));
    words.push(format!("-Dmdep.outputFile={CLASSPATH_FILE}{end}"));
    let mvn = build.mvn;
    let output = start(mvn, &words, build.folder)
        .map_err(|e| MavenError::Classpath(format!("{mvn} could not be started: {e}")))?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let line = text.lines().find(|l| l.contains("ERROR")).unwrap_or("no message").trim();
        return Err(MavenError::Classpath(format!("{mvn} failed: {line}")));
    }
    let read = |l: &Layout| {
        let text = std::fs::read_to_string(file_of(l)).ok()?;
        Some((l.definition.clone(), text.trim().to_owned()))
    };
    Ok(layouts.iter().filter_map(read).collect())
}

/// A script without a first line that names its interpreter is one for the shell, as for a shell itself.
fn start(program: &str, words: &[String], folder: &Path) -> std::io::Result<Output> {
    const NOT_A_PROGRAM: i32 = 8;
    match Command::new(program).args(words).current_dir(folder).output() {
        Err(e) if e.raw_os_error() == Some(NOT_A_PROGRAM) => {
            Command::new("sh").arg(program).args(words).current_dir(folder).output()
        }
        other => other,
    }
}

/// What the configurations of Surefire and Failsafe say about names.
fn naming_of(all: &[TestNaming]) -> Naming {
    let mut naming = Naming::default();
    for one in all {
        add_naming(one, &mut naming);
        if one.merges {
            // Rules of merging that are not followed here: another list may be in effect.
            naming.excludes.push(Exclusion::default());
            naming.negated.push(Exclusion::default());
        }
    }
    naming
}

fn add_naming(one: &TestNaming, naming: &mut Naming) {
    let is_failsafe = one.plugin == TestPlugin::Failsafe;
    let patterns = |list: &[String]| -> Vec<String> {
        list.iter().flat_map(|p| test_naming::split(p)).collect()
    };
    let mut plain = Vec::new();
    if let Some(includes) = &one.includes {
        let (negated, others): (Vec<String>, Vec<String>) =
            patterns(includes).into_iter().partition(|p| p.starts_with('!'));
        plain.extend(others);
        if !is_failsafe {
            let patterns = negated.iter().map(|p| p.trim_start_matches('!').to_owned()).collect();
            naming.negated.push(Exclusion { patterns, for_all: one.for_all });
        }
    }
    let single = one.single.as_deref().map(test_naming::split).unwrap_or_default();
    plain.extend(single.into_iter().filter(|p| !p.starts_with('!')));
    // A list in a file, which we do not read.
    plain.extend(one.includes_file.then(|| "${includesFile}".to_owned()));
    if is_failsafe {
        naming.failsafe.get_or_insert_default().extend(plain.iter().cloned());
    } else if let Some(excludes) = &one.excludes {
        naming.excludes.push(Exclusion { patterns: patterns(excludes), for_all: one.for_all });
    }
    naming.includes.extend(plain);
}

#[cfg(test)]
mod tests;
