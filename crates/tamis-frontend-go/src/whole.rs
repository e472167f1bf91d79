//! A `go test` that runs as one command, because its packages cannot be run one without the other.
//!
//! Go may answer from its cache of results then: what the tests look at is not seen in such a run, so its
//! record proves nothing. `-count` switches that cache off.

use anyhow::{Context as _, Result};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tamis_core::Tool;
use tamis_observe::{Cover, CoveredPaths};
use tamis_project::Project;
use tamis_session::{
    Claim, Confirmed, Invocation, Language, Model, Process, Services, Session, SessionOptions,
    Start, Units, UsualModel,
};
use tamis_wire::Hello;

use crate::scope::GO;

#[derive(Debug, Clone)]
pub(crate) struct WholeCommand {
    why: String,
    words: Vec<OsString>,
}

impl WholeCommand {
    pub(crate) fn new(why: String, words: Vec<OsString>) -> Self {
        Self { why, words }
    }
}

/// Whether the words switch Go's cache of results off.
fn is_uncached(words: &[OsString]) -> bool {
    let text = |word: &OsString| word.to_str().map(str::to_owned);
    words.iter().filter_map(text).any(|word| {
        let name = word.trim_start_matches('-').split('=').next().unwrap_or_default();
        word.starts_with('-') && name == "count"
    })
}

impl Claim for WholeCommand {
    fn tools(&self) -> Vec<Tool> {
        vec![GO]
    }

    fn unseen(&self) -> Option<String> {
        let why = "go may have answered from its cache of results, which -count=1 switches off";
        (!is_uncached(&self.words)).then(|| why.to_owned())
    }

    fn library(&self, folder: &Path) -> Result<PathBuf> {
        let file = folder.join("host");
        std::fs::write(&file, "").context("the session's folder cannot be written")?;
        Ok(file)
    }

    fn model(&self, _: &Session, _: &SessionOptions) -> Box<dyn Model> {
        Box::new(UsualModel::new(AsOne { why: self.why.clone() }))
    }
}

/// Nothing inside is distinguished.
struct AsOne {
    why: String,
}

impl Language for AsOne {
    fn engine(&self) -> &'static str {
        "go"
    }

    fn prepare(
        &mut self,
        services: &mut Services<'_, '_>,
        _: &mut Units,
        _: &mut Invocation,
    ) -> Result<Start> {
        services.ledger.collected.refused = true;
        services.ledger.remark(format!("{}: its packages run as one command", self.why));
        Ok(Start::Run)
    }

    fn covered(&self) -> Arc<dyn CoveredPaths + Send + Sync> {
        Arc::new(NothingCovered)
    }

    fn process(&mut self, _: &Hello) -> Result<Process, String> {
        Err("a process connected that was not expected".into())
    }

    fn confirm(&mut self, _: &Project, _: bool) -> Option<Confirmed> {
        Some(Confirmed::default())
    }
}

/// For front ends whose processes report nothing of files.
pub(crate) struct NothingCovered;

impl CoveredPaths for NothingCovered {
    fn cover(&self, _: &[u8]) -> Cover {
        Cover::None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cache_of_results_is_off_with_a_count() {
        let uncached =
            |text: &str| is_uncached(&text.split(' ').map(OsString::from).collect::<Vec<_>>());
        assert!(uncached("go test -count=1 ./...") && uncached("go test --count 2 ./..."));
        assert!(!uncached("go test -coverprofile=count ./...") && !uncached("go test count"));
    }
}
