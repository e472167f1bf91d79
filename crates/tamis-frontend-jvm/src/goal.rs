//! One test goal of a build: its name, classpath and configuration.

use crate::commands::MAVEN;
use crate::configuration::Configuration;
use crate::coverage::{self, Exec, Measured};
use crate::unbuilt::Unbuilt;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tamis_classpath::{Caches, ClassIndex};
use tamis_core::{Module, TestKey, ToolScope, Unit, Value};
use tamis_dynamic::{Fact, FactKind as Kind};
use tamis_jvm_wire::Goal;
use tamis_project::Project;

/// A goal that is known: enough to answer every question about its classes.
#[derive(Debug, Clone)]
pub(crate) struct GoalFacts {
    /// What its test classes belong to.
    pub(crate) scope: ToolScope,
    /// How facts about its classes begin.
    pub(crate) id: String,
    /// The module's folder, portable.
    pub(crate) folder: String,
    /// `group:artifact`, where a build tool names it.
    pub(crate) artifact: Option<String>,
    /// The folder of the compiled tests, where a build tool names it.
    pub(crate) test_classes: Option<PathBuf>,
    /// The words of the command behind its program.
    pub(crate) words: Vec<String>,
    pub(crate) class_path: Vec<PathBuf>,
    pub(crate) index: Arc<ClassIndex>,
    pub(crate) configuration: Configuration,
    /// Which tests of a test class the runner chose, where it tells.
    pub(crate) choices: Arc<BTreeMap<String, Value>>,
    /// What measures coverage in its JVM.
    pub(crate) measured: Option<Measured>,
    /// What is not built yet; nothing while a build runs, which compiles before it asks.
    pub(crate) unbuilt: Arc<Unbuilt>,
}

impl GoalFacts {
    /// With the file that coverage is written into.
    pub(crate) fn new(
        project: &Project,
        goal: &Goal,
        java_home: &str,
        words: &[String],
    ) -> (Self, Option<Exec>) {
        let class_path: Vec<PathBuf> = goal.class_path.iter().map(PathBuf::from).collect();
        let folder = project.paths.to_portable(Path::new(&goal.folder)).to_string();
        let index = Arc::new(ClassIndex::load(&class_path, &caches(project)));
        let modules = module_descriptors(&class_path, &index, Path::new(&goal.classes));
        let scope = scope(goal, &folder);
        let artifact: Vec<&str> = goal.artifact.split(':').take(2).collect();
        let (measured, exec) = coverage::of_goal(goal, &index).unzip();
        let facts = Self {
            measured,
            id: scope.id(),
            scope,
            artifact: Some(artifact.join(":")),
            test_classes: Some(PathBuf::from(&goal.test_classes)),
            words: words.to_vec(),
            index,
            class_path,
            folder,
            configuration: configuration(project, goal, java_home, &modules),
            choices: Arc::default(),
            unbuilt: Arc::default(),
        };
        (facts, exec.flatten())
    }

    /// The answer to a question about this goal's classes; `None` for other questions.
    pub(crate) fn answer(&self, fact: &Fact) -> Option<Value> {
        if fact.scope != self.id {
            return None;
        }
        if self.not_built(&fact.kind).is_some() {
            return Some(Value::unbuilt());
        }
        match fact.kind {
            Kind::Configuration => Some(self.configuration.value),
            Kind::Property(ref name) => Some(self.configuration.property(name)),
            Kind::Properties => Some(self.configuration.properties()),
            Kind::Choice(ref class) => {
                Some(self.choices.get(class).copied().unwrap_or(Value::Absent))
            }
            ref kind => tamis_dynamic::answer(&self.index, kind),
        }
    }

    /// What became of an answer that a record has, in words, where that is known.
    pub(crate) fn became(&self, fact: &Fact, was: Value) -> Option<String> {
        if fact.scope != self.id {
            return None;
        }
        match &fact.kind {
            Kind::Configuration => self.configuration.became(was),
            Kind::Property(name) => self.configuration.property_became(name, was),
            Kind::Properties => self.configuration.properties_became(was),
            _ => None,
        }
    }

    /// Why the answer to a question about classes is not known before the build has run.
    pub(crate) fn not_built(&self, kind: &Kind) -> Option<String> {
        let is_there = match kind {
            Kind::Header(class)
            | Kind::Core(class)
            | Kind::Member(class, _)
            | Kind::Body(class, _) => self.index.find_dotted(class).is_some(),
            _ => true,
        };
        self.unbuilt.fact(kind, is_there)
    }

    /// The fact of this goal, and its answer now.
    pub(crate) fn fact(&self, kind: Kind) -> (Fact, Value) {
        let fact = Fact { scope: self.id.clone(), kind };
        let value = self.answer(&fact).unwrap_or(Value::Absent);
        (fact, value)
    }

    /// The key of a test class or method of this goal.
    pub(crate) fn key(&self, unit: Unit) -> TestKey {
        TestKey { scope: self.scope.clone().into(), unit, folder: self.folder.clone() }
    }

    pub(crate) fn class_key(&self, class: &str) -> TestKey {
        self.key(Unit::Class(class.to_owned()))
    }
}

pub(crate) fn caches(project: &Project) -> Caches {
    let folders = project.store_folder.as_ref().ok().map(|store| store.join("classes"));
    Caches::of_user(folders, Arc::clone(&project.fingerprinter))
}

/// The module by its folder, at the root by its artifact; with the execution where it is not the usual
/// one, and the plugin where it is not Surefire.
fn scope(goal: &Goal, folder: &str) -> ToolScope {
    let artifact = goal.artifact.split(':').nth(1).unwrap_or("tests");
    let plugin = goal.name.split(':').next().unwrap_or_default();
    let execution = match (plugin, goal.execution.as_str()) {
        ("surefire", "" | "default-test" | "default-cli") => String::new(),
        ("surefire", other) => other.to_owned(),
        (plugin, other) => format!("{plugin}:{other}"),
    };
    ToolScope { tool: MAVEN, module: Module::of(folder, artifact), execution }
}

/// Parameters that choose which test classes run, or what is done with their results: a test class
/// sees nothing of them. Anything else counts; so does whether test classes share a JVM (`reuseForks`, `forkMode`), because
/// then each finds what others left.
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
    "effectiveForkCount",
];

/// How the tests are started, without what is different from machine to machine.
fn configuration(
    project: &Project,
    goal: &Goal,
    java_home: &str,
    modules: &[Vec<u8>],
) -> Configuration {
    let parameters = goal.configuration.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let parameters = parameters.filter(|(name, _)| !CHOOSES.contains(name));
    // The `java` of the fork is in its JDK's `bin`.
    let home = goal.java.as_deref().map(Path::new).and_then(|java| java.parent()?.parent());
    let jdk = tamis_jdk::identity(home.unwrap_or(Path::new(java_home)));
    Configuration::new(project, parameters, &jdk, modules)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn executions_modules_and_plugins_have_scopes_of_their_own() {
        let goal = |name: &str, execution: &str| Goal {
            name: name.into(),
            execution: execution.into(),
            artifact: "g:a:1".into(),
            ..Goal::default()
        };
        let scopes = [
            scope(&goal("surefire:test", "b"), "a"),
            scope(&goal("surefire:test", "default-test"), "a/b"),
            scope(&goal("surefire:test", "default-test"), "a"),
            scope(&goal("surefire:test", "default-test"), "."),
            scope(&goal("failsafe:integration-test", "b"), "a"),
            scope(&goal("failsafe:integration-test", "default-test"), "a"),
        ];
        let ids: std::collections::HashSet<String> = scopes.iter().map(ToolScope::id).collect();
        assert_eq!(ids.len(), scopes.len(), "{ids:?}");
        assert_eq!(scopes[3].to_string(), "mvn:a");
    }
}
