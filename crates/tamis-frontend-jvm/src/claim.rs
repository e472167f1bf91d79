//! The front end: which commands it takes, and what it knows from earlier runs.

use crate::agent_arguments;
use crate::always_run;
use crate::commands::{self, ANT, GRADLE, JAVA, Launcher, MAVEN};
use crate::launch;
use crate::model::JvmModel;
use crate::saved_goals;
use anyhow::Result;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tamis_core::decide::Demand;
use tamis_core::{TestKey, Tool, Unit};
use tamis_dynamic::outermost;
use tamis_project::Project;
use tamis_session::{
    Ability, Claim, Collected, Frontend, Invocation, KnownScope, Model, Session, SessionOptions,
};
use tamis_store::Store;

/// The JVM: Maven, Ant, Gradle, `java` itself, and programs that the user names.
#[derive(Debug, Clone, Copy, Default)]
pub struct JvmFrontend;

impl Frontend for JvmFrontend {
    fn tools(&self) -> &'static [Tool] {
        const TOOLS: &[Tool] = &[MAVEN, JAVA, ANT, GRADLE];
        TOOLS
    }

    fn may_claim(&self, words: &[OsString]) -> bool {
        Launcher::of(words).is_some()
    }

    fn claim(&self, invocation: &Invocation) -> Option<Box<dyn Claim>> {
        let words = invocation.words.clone();
        Some(Box::new(JvmCommand { launcher: Launcher::of(&words)?, words }))
    }

    fn restore(&self, project: &Project, store: &Store) -> Vec<Arc<dyn KnownScope>> {
        let known = |goal| -> Arc<dyn KnownScope> { Arc::new(goal) };
        saved_goals::load(project, store).into_iter().map(known).collect()
    }

    /// A test class is gone if its module has sources and none of them is called like it.
    fn may_exist(&self, project: &Project, key: &TestKey) -> bool {
        let (Unit::Class(class) | Unit::Method { class, .. }) = &key.unit else { return true };
        let folder = project.root().join(&key.folder);
        let sources = folder.join("src");
        let simple = outermost(class).rsplit('.').next().unwrap_or(class);
        folder.is_dir() && (!sources.is_dir() || has_source(&sources, simple, 0))
    }
}

/// A command that starts JVMs with tests.
#[derive(Debug, Clone)]
pub(crate) struct JvmCommand {
    pub(crate) launcher: Launcher,
    words: Vec<OsString>,
}

impl Claim for JvmCommand {
    fn tools(&self) -> Vec<Tool> {
        vec![self.launcher.tool()]
    }

    fn can(&self, ability: Ability) -> bool {
        match ability {
            Ability::Parts => true,
            Ability::Static => self.launcher == Launcher::Maven,
        }
    }

    fn demand(&self, project: &Project) -> Demand {
        if always_run::is_set(&project.settings.jvm) {
            return Demand::AlwaysRun("[jvm]".into());
        }
        let effect = commands::effect_elsewhere(self.launcher, &self.words);
        effect.map_or(Demand::None, Demand::Effect)
    }

    fn is_build(&self) -> bool {
        self.launcher.is_build()
    }

    fn unseen(&self) -> Option<String> {
        launch::unseen(self.launcher, &self.words)
    }

    /// Maven and Ant end where they are given an option that they do not know. Tasks of Gradle have options
    /// of their own, and behind `java` all words are the program's.
    fn refuses(&self, option: &str) -> bool {
        match self.launcher {
            Launcher::Maven => !["--quiet", "--color"].contains(&option),
            Launcher::Ant => true,
            _ => false,
        }
    }

    fn library(&self, folder: &Path) -> Result<PathBuf> {
        agent_arguments::library(folder)
    }

    fn model(&self, session: &Session, options: &SessionOptions) -> Box<dyn Model> {
        Box::new(JvmModel::new(self.launcher, &self.words, session, options))
    }

    fn nothing_seen(&self, collected: &Collected, passed: bool) -> Option<String> {
        launch::nothing_seen(self.launcher, collected, passed)
    }
}

/// Deeper folders are no sources.
const DEEPEST: usize = 40;

fn has_source(folder: &Path, name: &str, depth: usize) -> bool {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut folders = Vec::new();
    for entry in entries {
        let path = entry.path();
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => folders.push(path),
            Ok(_) if path.file_stem().is_some_and(|stem| stem == name) => return true,
            _ => {}
        }
    }
    depth < DEEPEST && folders.iter().any(|folder| has_source(folder, name, depth + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_found_by_the_name_of_the_class() {
        let folder = tempfile::tempdir().unwrap();
        let deep = folder.path().join("test/java/com/acme");
        std::fs::create_dir_all(&deep).unwrap();
        std::fs::write(deep.join("ATest.java"), "").unwrap();
        assert!(has_source(folder.path(), "ATest", 0));
        assert!(!has_source(folder.path(), "BTest", 0));
        assert!(!has_source(folder.path(), "ATest", DEEPEST));
    }
}
