//! The front end: which commands it takes, and what it knows from earlier runs.

use crate::agent_arguments;
use crate::always_run;
use crate::commands::{self, ANT, GRADLE, JAVA, Launcher, MAVEN};
use crate::launch;
use crate::methods;
use crate::model::JvmModel;
use crate::saved_goals;
use crate::static_strategy;
use crate::test_sources::Sources;
use anyhow::Result;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tamis_core::decide::Demand;
use tamis_core::{TestKey, Tool, Unit};
use tamis_dynamic::{Fact, FactKind, outermost};
use tamis_project::Project;
use tamis_session::{
    Ability, Claim, Collected, Frontend, Invocation, KnownScope, Model, Session, SessionOptions,
};
use tamis_store::Store;

/// The JVM: Maven, Ant, Gradle, `java` itself, and programs that the user names.
#[derive(Debug, Clone, Copy, Default)]
pub struct JvmFrontend;

/// The class that somebody edits to change a fact, as a path below its module; a class inside another one is edited with
/// that. Classes of libraries and what is no class are not edited.
fn edited_class(fact: &Fact) -> Option<String> {
    let (FactKind::Header(class) | FactKind::Body(class, _)) = &fact.kind else { return None };
    let outer = class.split('$').next().filter(|name| !name.is_empty()).unwrap_or(class);
    let module = fact.scope.split_once(':').map_or(fact.scope.as_str(), |(_, module)| module);
    let module = module.split('@').next().unwrap_or_default();
    let folder = module.strip_prefix("./").unwrap_or(module).trim_matches('/');
    let path = outer.replace('.', "/");
    Some(if matches!(folder, "" | ".") { path } else { format!("{folder}/{path}") })
}

impl Frontend for JvmFrontend {
    fn tools(&self) -> &'static [Tool] {
        const TOOLS: &[Tool] = &[MAVEN, JAVA, ANT, GRADLE];
        TOOLS
    }

    fn source_of(&self, fact: &str) -> Option<String> {
        edited_class(&Fact::parse(fact)?)
    }

    fn is_about(&self, fact: &str, unit: &Unit) -> bool {
        let (Some(fact), Unit::Class(class)) = (Fact::parse(fact), unit) else { return false };
        matches!(&fact.kind, FactKind::Body(name, _) if outermost(name) == class)
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

    fn may_exist(&self, project: &Project, key: &TestKey) -> bool {
        Sources::default().may_have(project, key)
    }

    fn retain_existing(&self, project: &Project, keys: &mut Vec<TestKey>) {
        let mut sources = Sources::default();
        keys.retain(|key| sources.may_have(project, key));
    }

    fn wholes_of(&self, part: &Unit) -> Vec<Unit> {
        methods::classes_of(part)
    }

    fn remembered(&self, project: &Project, store: &Store) -> Vec<TestKey> {
        static_strategy::remembered(project, saved_goals::places(project, store))
    }

    fn forget(&self, project: &Project, store: &Store, key: &TestKey) -> Result<usize> {
        static_strategy::forget(project, saved_goals::places(project, store), key)
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

    fn folder(&self) -> Option<PathBuf> {
        commands::other_folder(self.launcher, &self.words)
    }

    fn can(&self, ability: Ability) -> bool {
        match ability {
            Ability::Parts => true,
            Ability::Files => false,
            Ability::Static | Ability::Apart => self.launcher == Launcher::Maven,
        }
    }

    fn demand(&self, project: &Project) -> Demand {
        if always_run::is_set(&project.settings.jvm) {
            return Demand::AlwaysRun("[jvm]".into());
        }
        self.effect_elsewhere().map_or(Demand::None, Demand::Effect)
    }

    fn effect_elsewhere(&self) -> Option<String> {
        commands::effect_elsewhere(self.launcher, &self.words)
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

#[cfg(test)]
mod source_tests {
    use super::*;

    #[test]
    fn a_fact_leads_to_the_class_that_is_edited() {
        for (fact, source) in [
            ("mvn:./core: class com.acme.Thing", Some("core/com/acme/Thing")),
            ("mvn:./core@it: method com.acme.Thing$Inner#go()V", Some("core/com/acme/Thing")),
            ("mvn:.: class Thing", Some("Thing")),
            ("mvn:./core: library class org.junit.Test", None),
            ("mvn:./core: the jars of the classpath", None),
            ("no fact of ours", None),
        ] {
            assert_eq!(JvmFrontend.source_of(fact).as_deref(), source, "{fact}");
        }
    }
}
