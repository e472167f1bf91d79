//! The front end: commands that run pytest are taken, their tests are units.

use crate::model::{PytestModel, is_in_cache};
use crate::plugin_files;
use crate::scope::{self, PYTEST, PytestScope};
use crate::words::{concerns_pytest, has_pytest, runs_pytest};
use anyhow::{Context as _, Result};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tamis_core::record::Observed;
use tamis_core::{PortablePath, TestKey, Tool};
use tamis_project::Project;
use tamis_session::{
    Ability, Claim, Collected, Frontend, Invocation, KnownScope, Model, Session, SessionOptions,
};
use tamis_store::Store;

/// pytest by test functions.
#[derive(Debug, Clone, Copy)]
pub struct PytestFrontend {
    /// Whether commands are taken at all: `[python] functions`. What is known of earlier runs is explained in any case.
    pub claims: bool,
    /// All tests of a file run where one of them needs to.
    pub by_files: bool,
}

impl Frontend for PytestFrontend {
    fn tools(&self) -> &'static [Tool] {
        const TOOLS: &[Tool] = &[PYTEST];
        TOOLS
    }

    fn source_of(&self, fact: &str) -> Option<String> {
        PytestScope::file_of(fact).map(str::to_owned)
    }

    fn may_claim(&self, words: &[OsString]) -> bool {
        self.claims && concerns_pytest(words)
    }

    fn claim(&self, invocation: &Invocation) -> Option<Box<dyn Claim>> {
        let words = &invocation.words;
        let chosen_by_cache = words.iter().any(|word| {
            ["--lf", "--last-failed", "--ff", "--failed-first", "--nf", "--new-first", "--sw"]
                .iter()
                .any(|option| word == option)
                || word.to_string_lossy().starts_with("--stepwise")
        });
        let names_pytest = runs_pytest(words);
        let is_ours = self.may_claim(words) && (names_pytest || has_pytest(&invocation.folder));
        is_ours.then(|| -> Box<dyn Claim> {
            Box::new(PytestCommand { chosen_by_cache, names_pytest, by_files: self.by_files })
        })
    }

    fn restore(&self, project: &Project, store: &Store) -> Vec<Arc<dyn KnownScope>> {
        let known = |scope| -> Arc<dyn KnownScope> { Arc::new(scope) };
        scope::restore(project, store, self.by_files).into_iter().map(known).collect()
    }

    /// A test is gone if its file is.
    fn may_exist(&self, project: &Project, key: &TestKey) -> bool {
        let name = key.unit.name();
        let file = name.split("::").next().unwrap_or_default();
        project.root().join(&key.folder).join(file).exists()
    }
}

const NOT_ENTERED: &str = "WARNING: no test was distinguished: tamis did not get into pytest, so everything ran as one \
     command (an interpreter with -E, -I or -S, or older than 3.6, `env -i`, or an environment of tox without \
     `pass_env = PYTHONPATH, TAMIS_PYTEST` keeps it out)";

/// Whether a file is of pytest itself, which only a process that imports it reads.
fn is_of_pytest(path: &PortablePath) -> bool {
    path.to_string().contains("/_pytest/config/")
}

/// A command that runs pytest.
#[derive(Debug, Clone, Copy)]
struct PytestCommand {
    /// What pytest remembers of the last run decides which tests run.
    chosen_by_cache: bool,
    /// Its words name pytest. Others may start it, or not.
    names_pytest: bool,
    by_files: bool,
}

impl Claim for PytestCommand {
    fn can(&self, ability: Ability) -> bool {
        ability == Ability::Files
    }

    fn tools(&self) -> Vec<Tool> {
        vec![PYTEST]
    }

    /// What pytest keeps for its next run.
    fn owns(&self, path: &Path) -> bool {
        !self.chosen_by_cache && is_in_cache(path)
    }

    fn library(&self, folder: &Path) -> Result<PathBuf> {
        plugin_files::write(folder)?;
        let file = folder.join("host");
        std::fs::write(&file, "").context("the session's folder cannot be written")?;
        Ok(file)
    }

    fn model(&self, _: &Session, _: &SessionOptions) -> Box<dyn Model> {
        Box::new(PytestModel::new(self.by_files))
    }

    fn nothing_seen(&self, collected: &Collected, _: bool) -> Option<String> {
        let collected_none = "WARNING: no test was collected that could be distinguished; everything ran as one command";
        (collected.launched > 0 && !collected.refused).then(|| collected_none.to_owned())
    }

    /// pytest was read, and did not connect.
    fn not_entered(&self, collected: &Collected, read: &[Observed]) -> Option<String> {
        let has_run = || read.iter().filter_map(|read| read.question.path()).any(is_of_pytest);
        (collected.launched == 0 && (self.names_pytest || has_run()))
            .then(|| NOT_ENTERED.to_owned())
    }
}
