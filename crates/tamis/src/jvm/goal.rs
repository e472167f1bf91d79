//! One test goal of a build: its name, classpath and configuration.

use crate::project::Project;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use tamis_classpath::{Caches, ClassIndex};
use tamis_core::{Hash, Value};
use tamis_dynamic::{Fact, FactKind as Kind};
use tamis_wire::Goal;

/// A goal that is known: enough to answer every question about its classes.
#[derive(Debug, Clone)]
pub(crate) struct GoalFacts {
    /// The suite that its test classes belong to.
    pub(crate) scope: String,
    /// The module's folder, portable.
    pub(crate) folder: String,
    pub(crate) class_path: Vec<PathBuf>,
    pub(crate) index: Arc<ClassIndex>,
    pub(crate) configuration: Value,
    /// Which tests of a test class the runner chose, where it tells.
    pub(crate) choices: Arc<BTreeMap<String, Value>>,
}

impl GoalFacts {
    pub(crate) fn new(project: &Project, goal: &Goal, java_home: &str) -> Self {
        let class_path: Vec<PathBuf> = goal.class_path.iter().map(PathBuf::from).collect();
        let folder = project.paths.to_portable(Path::new(&goal.folder)).to_string();
        let index = Arc::new(ClassIndex::load(&class_path, &caches(project)));
        let modules = module_descriptors(&class_path, &index, Path::new(&goal.classes));
        Self {
            scope: scope(goal, &folder),
            index,
            class_path,
            folder,
            configuration: configuration(project, goal, java_home, modules),
            choices: Arc::default(),
        }
    }

    /// The answer to a question about this goal's classes; `None` for other questions.
    pub(crate) fn answer(&self, fact: &Fact) -> Option<Value> {
        if fact.scope != self.scope {
            return None;
        }
        match fact.kind {
            Kind::Configuration => Some(self.configuration),
            Kind::Choice(ref class) => {
                Some(self.choices.get(class).copied().unwrap_or(Value::Absent))
            }
            ref kind => tamis_dynamic::answer(&self.index, kind),
        }
    }
}

pub(crate) fn caches(project: &Project) -> Caches {
    let folders = project.store_folder.as_ref().ok().map(|store| store.join("classes"));
    Caches::of_user(folders, Arc::clone(&project.fingerprinter))
}

/// The suite's name: the module's folder, for the root its artifact; with the execution where it is
/// not the usual one.
fn scope(goal: &Goal, folder: &str) -> String {
    let artifact = goal.artifact.split(':').nth(1).unwrap_or("tests");
    let module = if folder == "." { artifact } else { folder };
    match goal.execution.as_str() {
        "" | "default-test" | "default-cli" => format!("mvn:{module}"),
        other => format!("mvn:{module}/{other}"),
    }
}

/// Parameters that choose which test classes run, or what is done with their results: a test class
/// sees nothing of them. Anything else counts.
const CHOOSES: &[&str] = &[
    "test",
    "user:test",
    "user:it.test",
    "user:skipTests",
    "user:skipITs",
    "user:failIfNoTests",
    "user:surefire.failIfNoSpecifiedTests",
    "user:failsafe.failIfNoSpecifiedTests",
    "includes",
    "excludes",
    "includesFile",
    "excludesFile",
    "failIfNoTests",
    "failIfNoSpecifiedTests",
    "skip",
    "skipTests",
    "skipITs",
    "skipExec",
    "testFailureIgnore",
    "specificTests",
    "runOrder",
    "reportsDirectory",
    "printSummary",
    "disableXmlReport",
    "pluginArtifactMap",
    "forkCount",
    "forkMode",
    "effectiveForkCount",
    "reuseForks",
];

/// How the tests are started, without what is different from machine to machine.
fn configuration(project: &Project, goal: &Goal, java_home: &str, modules: Vec<Vec<u8>>) -> Value {
    let mut parts = modules;
    for (name, value) in &goal.configuration {
        if !CHOOSES.contains(&name.as_str()) {
            parts.push(name.clone().into_bytes());
            parts.push(project.paths.neutral_text(value.as_bytes()));
        }
    }
    // The `java` of the fork is in its JDK's `bin`.
    let home = goal.java.as_deref().map(Path::new).and_then(|java| java.parent()?.parent());
    parts.push(tamis_jdk::identity(home.unwrap_or(Path::new(java_home))));
    Value::Text(Hash::of_parts(parts.iter().map(Vec::as_slice)))
}

/// The descriptors of modules: what they open, export and provide concerns every test, and the JVM reads them as
/// no class. `classes` is where the classes under test are, a folder or a jar. Of libraries only the names count:
/// another version has another one.
pub(crate) fn module_descriptors(
    class_path: &[PathBuf],
    index: &ClassIndex,
    classes: &Path,
) -> Vec<Vec<u8>> {
    let in_folder = |entry: &PathBuf| std::fs::read(entry.join("module-info.class")).ok();
    let mut found: Vec<Vec<u8>> = class_path.iter().filter_map(in_folder).collect();
    let in_jar = index.find_dotted("module-info").filter(|at| !at.is_project && at.path == classes);
    found.extend(in_jar.map(|at| at.facts.raw.0.to_le_bytes().to_vec()));
    if !found.is_empty() {
        let jars = class_path.iter().filter(|entry| entry.extension().is_some_and(|e| e == "jar"));
        let names = jars.filter_map(|jar| jar.file_name());
        found.extend(names.map(|name| name.as_encoded_bytes().to_vec()));
    }
    found
}

/// Why the test classes of a goal are neither skipped nor recorded, where that is so.
pub(crate) fn refusal(goal: &Goal, index: &ClassIndex) -> Option<String> {
    if goal.forks.trim() == "0" || goal.forks.trim() == "never" {
        return Some("its tests run inside Maven itself (forkCount=0)".into());
    }
    let chosen = goal.configuration.iter().find(|(name, _)| name == "test").map(|(_, v)| v);
    if let Some(chosen) = chosen.filter(|c| c.contains('#')) {
        return Some(format!("-Dtest={chosen} runs parts of test classes"));
    }
    index.blind().first().map(|why| format!("its classpath cannot be read: {why}"))
}

/// What the agent tells in more detail than the tracer: the classes and jars of all goals so far.
#[derive(Debug, Default)]
pub(crate) struct Told(RwLock<ToldPaths>);

#[derive(Debug, Default)]
struct ToldPaths {
    folders: Vec<Vec<u8>>,
    jars: std::collections::HashSet<Vec<u8>>,
    own: Vec<Vec<u8>>,
}

impl ToldPaths {
    fn is_own(&self, path: &[u8]) -> bool {
        let below = |own: &Vec<u8>| path.strip_prefix(own.as_slice());
        self.own.iter().filter_map(below).any(|rest| matches!(rest.first(), None | Some(b'/')))
    }
}

impl Told {
    pub(crate) fn add(&self, goal: &Goal, index: &ClassIndex) {
        self.add_index(index);
        let folders = [goal.folder.as_str(), &goal.classes, &goal.test_classes];
        let others: Vec<&str> =
            folders.into_iter().chain(goal.class_path.iter().map(String::as_str)).collect();
        for folder in Self::own_folders(goal) {
            self.add_own(&folder, &others);
        }
    }

    /// The folders that a goal itself writes.
    pub(crate) fn own_folders(goal: &Goal) -> Vec<PathBuf> {
        // Surefire's working folder is given by its name in the module's output folder; before 2.20 there was
        // no parameter for it.
        let output = Path::new(&goal.test_classes).parent().unwrap_or(Path::new(&goal.folder));
        let is_given = goal.configuration.iter().any(|(name, _)| name == "tempDir");
        let usual = (!is_given).then_some("surefire");
        let named = goal.own_folders.iter().map(String::as_str);
        named.chain(usual).map(|folder| output.join(folder)).collect()
    }

    /// A folder that a tool writes for itself, unless it holds one of the others: then files of the project are
    /// in it as well, and what a test looks at there counts.
    pub(crate) fn add_own(&self, folder: &Path, others: &[&str]) {
        if others.iter().any(|other| Path::new(other).starts_with(folder)) {
            return;
        }
        let mut paths = self.0.write().unwrap_or_else(PoisonError::into_inner);
        paths.own.push(folder.as_os_str().as_encoded_bytes().to_vec());
    }

    /// Whether a build tool or runner writes this for itself.
    pub(crate) fn is_own(&self, path: &Path) -> bool {
        let paths = self.0.read().unwrap_or_else(PoisonError::into_inner);
        paths.is_own(path.as_os_str().as_encoded_bytes())
    }

    pub(crate) fn add_index(&self, index: &ClassIndex) {
        let bytes = |path: &Path| path.as_os_str().as_encoded_bytes().to_vec();
        let folder = |path: &Path| [bytes(path).as_slice(), b"/"].concat();
        let mut paths = self.0.write().unwrap_or_else(PoisonError::into_inner);
        for (path, is_folder) in index.paths() {
            if is_folder {
                paths.folders.push(folder(path));
            } else {
                paths.jars.insert(bytes(path));
            }
        }
    }
}

impl tamis_observe::Hosts for Told {
    fn is_told_otherwise(&self, path: &[u8]) -> bool {
        let paths = self.0.read().unwrap_or_else(PoisonError::into_inner);
        paths.jars.contains(path)
            || (path.ends_with(b".class") && paths.folders.iter().any(|f| path.starts_with(f)))
            || paths.is_own(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tamis_observe::Hosts as _;

    #[test]
    fn a_folder_of_reports_hides_nothing_of_the_project() {
        let told = Told::default();
        let others = ["/p/m", "/p/m/target/classes", "/p/m/lib/a.jar"];
        for folder in ["/p/m/target", "/p/m", "/p", "/p/m/lib", "/p/m/target/classes"] {
            told.add_own(Path::new(folder), &others);
        }
        assert!(!told.is_told_otherwise(b"/p/m/target/classes/text.txt"));
        assert!(!told.is_own(Path::new("/p/m/target")));
        told.add_own(Path::new("/p/m/target/reports"), &others);
        assert!(told.is_told_otherwise(b"/p/m/target/reports/a.xml"));
        assert!(told.is_own(Path::new("/p/m/target/reports")));
        assert!(!told.is_told_otherwise(b"/p/m/target/reports-of-others/a.xml"));
    }
}
