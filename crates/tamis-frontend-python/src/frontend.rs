//! The front end: commands that run pytest are taken, their tests are units.

use crate::model::PytestModel;
use crate::plugin_files;
use crate::scope::{self, PYTEST, PytestScope};
use crate::words::runs_pytest;
use anyhow::{Context as _, Result};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tamis_core::{TestKey, Tool};
use tamis_project::Project;
use tamis_session::{
    Claim, Collected, Frontend, Invocation, KnownScope, Model, Session, SessionOptions,
};
use tamis_store::Store;

/// pytest by test functions.
#[derive(Debug, Clone, Copy)]
pub struct PytestFrontend {
    /// Whether the project asks for it. What is known of earlier runs is explained in any case.
    pub claims: bool,
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
        self.claims && runs_pytest(words)
    }

    fn claim(&self, invocation: &Invocation) -> Option<Box<dyn Claim>> {
        let words = &invocation.words;
        let chosen_by_cache = words.iter().any(|word| {
            ["--lf", "--last-failed", "--ff", "--failed-first", "--nf", "--new-first", "--sw"]
                .iter()
                .any(|option| word == option)
                || word.to_string_lossy().starts_with("--stepwise")
        });
        self.may_claim(words)
            .then(|| -> Box<dyn Claim> { Box::new(PytestCommand { chosen_by_cache }) })
    }

    fn restore(&self, project: &Project, store: &Store) -> Vec<Arc<dyn KnownScope>> {
        let known = |scope| -> Arc<dyn KnownScope> { Arc::new(scope) };
        scope::restore(project, store).into_iter().map(known).collect()
    }

    /// A test is gone if its file is.
    fn may_exist(&self, project: &Project, key: &TestKey) -> bool {
        let name = key.unit.name();
        let file = name.split("::").next().unwrap_or_default();
        project.root().join(&key.folder).join(file).exists()
    }
}

/// A command that runs pytest.
#[derive(Debug, Clone, Copy)]
struct PytestCommand {
    /// What pytest remembers of the last run decides which tests run.
    chosen_by_cache: bool,
}

impl Claim for PytestCommand {
    fn tools(&self) -> Vec<Tool> {
        vec![PYTEST]
    }

    /// What pytest keeps for its next run.
    fn owns(&self, path: &Path) -> bool {
        !self.chosen_by_cache && path.iter().any(|part| part == ".pytest_cache")
    }

    fn library(&self, folder: &Path) -> Result<PathBuf> {
        plugin_files::write(folder)?;
        let file = folder.join("host");
        std::fs::write(&file, "").context("the session's folder cannot be written")?;
        Ok(file)
    }

    fn model(&self, _: &Session, _: &SessionOptions) -> Box<dyn Model> {
        Box::new(PytestModel::default())
    }

    fn nothing_seen(&self, collected: &Collected, _: bool) -> Option<String> {
        let why = match collected.launched {
            0 => {
                "no test was distinguished: tamis did not get into pytest (the interpreter may have been \
                 started with -E, -I or -S, or without this environment), so everything ran as one command"
            }
            _ => "no test was collected that could be distinguished",
        };
        Some(why.to_owned())
    }
}
