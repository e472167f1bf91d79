//! One revision: checkout, setup, the calls of tamis, and its line.

use crate::call::{Caller, Reported, shell};
use crate::details::Details;
use crate::git::Git;
use crate::mutants::{self, Faults};
use crate::place::Place;
use crate::selection::{self, Before};
use crate::setting::Setting;
use anyhow::{Context as _, Result};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::Instant;
use tamis_report::exit;
use tamis_report::json::Version;
use tamis_report::json::replay::{ReplayLine, RevisionLine, RevisionState, RevisionTimes};

/// Files that name dependencies, by their names or endings.
const DEPENDENCIES: [&str; 25] = [
    "pyproject.toml",
    "setup.py",
    "setup.cfg",
    "tox.ini",
    "Pipfile",
    "Pipfile.lock",
    "poetry.lock",
    "uv.lock",
    "package.json",
    "package-lock.json",
    "npm-shrinkwrap.json",
    "yarn.lock",
    "pnpm-lock.yaml",
    "pom.xml",
    "build.gradle",
    "build.gradle.kts",
    "settings.gradle",
    "gradle.properties",
    "go.mod",
    "go.sum",
    "Cargo.toml",
    "Cargo.lock",
    "Gemfile.lock",
    "CMakeLists.txt",
    "Makefile",
];

/// What is the same for all revisions of a replay.
#[derive(Debug)]
pub(crate) struct Stage<'a> {
    pub(crate) git: &'a Git,
    pub(crate) place: &'a Place,
    pub(crate) setting: &'a Setting,
    pub(crate) replay: &'a ReplayLine,
    pub(crate) caller: Caller,
    pub(crate) setup: Option<String>,
    pub(crate) clean: bool,
    /// Whether tests inside the command are distinguished.
    pub(crate) has_units: bool,
    pub(crate) faults: Option<mutants::Wanted>,
}

/// A revision that has ended.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) line: RevisionLine,
    pub(crate) details: Option<Details>,
    /// Where it was the first: the bare command.
    pub(crate) bare_seconds: Option<f64>,
}

/// Why a revision is in no sum.
type Unfit = (RevisionState, String);

impl Stage<'_> {
    /// Runs one revision. `before` is the one that ran before it.
    pub(crate) fn run(&self, commit: &str, before: Option<&Details>) -> Result<Done> {
        let began = Instant::now();
        let about = self.git.commit(commit)?;
        let changed = match before {
            Some(before) => self.git.changed(&before.commit, commit)?,
            None => Vec::new(),
        };
        let mut done = Done {
            line: RevisionLine {
                version: Version,
                commit: commit.to_owned(),
                subject: about.subject,
                committed_ms: about.committed_ms,
                changed_files: changed.len(),
                state: RevisionState::Ran,
                problem: None,
                times: RevisionTimes::default(),
                selections: Vec::new(),
                failed: Vec::new(),
                flaky: Vec::new(),
                mutants: Vec::new(),
            },
            details: None,
            bare_seconds: None,
        };
        let log = self.place.log(commit);
        if let Err((state, problem)) = self.fill(&mut done, before, &changed, &log)? {
            done.line.state = state;
            done.line.problem = Some(problem);
            done.line.selections.clear();
            done.details = None;
        } else if done.line.failed.is_empty() {
            let _ = std::fs::remove_file(&log);
        }
        done.line.times.wall_seconds = began.elapsed().as_micros() as f64 / 1e6;
        Ok(done)
    }

    fn fill(
        &self,
        done: &mut Done,
        before: Option<&Details>,
        changed: &[String],
        log: &Path,
    ) -> Result<Result<(), Unfit>> {
        let commit = done.line.commit.clone();
        if let Err(error) = Git::check_out(&self.place.tree(), &commit, self.clean) {
            return Ok(Err((RevisionState::NotCheckedOut, format!("{error:#}"))));
        }
        if !self.caller.folder.is_dir() {
            let problem = format!("the folder {} is not there yet", self.git.prefix);
            return Ok(Err((RevisionState::NotBuilt, problem)));
        }
        self.put_settings()?;
        if let Err(unfit) = self.set_up(done, before, changed, log)? {
            return Ok(Err(unfit));
        }
        if before.is_none() && !self.replay.estimate {
            match self.bare(log)? {
                Ok(seconds) => done.bare_seconds = seconds,
                Err(unfit) => return Ok(Err(unfit)),
            }
        }
        self.select(done, before, changed, log)
    }

    /// The settings of now, whatever the revision has: one way of choosing is judged, not many.
    fn put_settings(&self) -> Result<()> {
        let Some((file, text)) = &self.setting.settings else { return Ok(()) };
        let below = Path::new(&self.git.prefix).components().count();
        let top = self.setting.folder.ancestors().nth(below);
        let Some(relative) = top.and_then(|top| file.strip_prefix(top).ok()) else { return Ok(()) };
        let file = self.place.tree().join(relative);
        let written = std::fs::write(&file, text);
        written.with_context(|| format!("{} cannot be written", file.display()))
    }

    fn set_up(
        &self,
        done: &mut Done,
        before: Option<&Details>,
        changed: &[String],
        log: &Path,
    ) -> Result<Result<(), Unfit>> {
        let Some(line) = &self.setup else { return Ok(Ok(())) };
        if before.is_some() && !changed.iter().any(|file| names_dependencies(file)) {
            return Ok(Ok(()));
        }
        let began = Instant::now();
        let code = shell(line, &self.caller.folder, log)?;
        done.line.times.setup_seconds = Some(began.elapsed().as_micros() as f64 / 1e6);
        Ok(match code {
            0 => Ok(()),
            code => Err((
                RevisionState::SetupFailed,
                format!("{line} ended with exit code {code}; see {}", log.display()),
            )),
        })
    }

    /// The bare command, the second time: the first fills the caches that every later run finds.
    fn bare(&self, log: &Path) -> Result<Result<Option<f64>, Unfit>> {
        let mut seconds = None;
        for _ in 0..2 {
            match self.caller.bare(log)? {
                None => return Ok(Ok(None)),
                Some((_, exit::NOT_FOUND | exit::NOT_EXECUTABLE)) => {
                    return Ok(Err(self.not_there()));
                }
                Some((time, _)) => seconds = Some(time.as_micros() as f64 / 1e6),
            }
        }
        Ok(Ok(seconds))
    }

    fn not_there(&self) -> Unfit {
        let word = self.caller.words.first().map(|word| word.to_string_lossy().into_owned());
        let problem = format!("the command {} is not there", word.unwrap_or_default());
        (RevisionState::NotBuilt, problem)
    }

    /// What each strategy selects. The decisions of modules are taken before the run that changes the records.
    fn select(
        &self,
        done: &mut Done,
        before: Option<&Details>,
        changed: &[String],
        log: &Path,
    ) -> Result<Result<(), Unfit>> {
        let strategies = &self.replay.strategies;
        let records = self.place.store("records");
        let by_modules = strategies.iter().any(|name| name == "modules" || name == "hybrid");
        let chosen = match before.filter(|_| by_modules) {
            Some(before) => {
                let options = ["--select", "modules", "--since", &before.commit];
                Some(self.caller.select(&options, &records, &beside(log))?)
            }
            None => None,
        };
        let shadow: &[&str] = if self.replay.estimate { &[] } else { &["--shadow"] };
        let reported = self.caller.run(shadow, &records, log)?;
        if let Some(unfit) = self.unfit(&reported, log) {
            return Ok(Err(unfit));
        }
        let outcomes = before.map(Details::outcomes).unwrap_or_default();
        for name in strategies {
            let found = match name.as_str() {
                "records" => selection::of_run(name, &reported, changed),
                "static" => {
                    let store = self.place.store("static");
                    let options = ["--shadow", "--select", "static"];
                    let reported = self.caller.run(&options, &store, &beside(log))?;
                    if let Some(unfit) = self.unfit(&reported, log) {
                        return Ok(Err(unfit));
                    }
                    selection::of_run(name, &reported, changed)
                }
                _ => {
                    let narrow = name == "hybrid";
                    let names = by_modules_of(&reported, chosen.as_ref(), &outcomes, narrow);
                    selection::of_names(name, &reported, &names, &outcomes, changed)
                }
            };
            done.line.selections.push(found);
        }
        let failed = |flaky: bool| {
            let tests =
                reported.tests.iter().filter(move |t| t.passed == Some(false) && t.flaky == flaky);
            tests.map(|test| test.name.clone()).collect()
        };
        (done.line.failed, done.line.flaky) = (failed(false), failed(true));
        let details = Details::of(&done.line.commit, &reported);
        if let Some(wanted) = self.faults {
            let faults = Faults { git: self.git, place: self.place, caller: &self.caller, wanted };
            let before = before.map(|before| before.commit.as_str());
            done.line.mutants = faults.run(before, &details, log)?;
        }
        done.details = Some(details);
        Ok(Ok(()))
    }

    /// Why a run says nothing about tests.
    fn unfit(&self, reported: &Reported, log: &Path) -> Option<Unfit> {
        let problem = |what: &str| {
            let colon = if reported.last_words.is_empty() { "" } else { ": " };
            (
                RevisionState::NotBuilt,
                format!("{what}{colon}{}; see {}", reported.last_words, log.display()),
            )
        };
        let units = reported
            .tests
            .iter()
            .any(|test| Some(&test.name) != reported.whole.as_ref().map(|w| &w.name));
        let failed = reported.tests.iter().any(|test| test.passed == Some(false));
        match reported.code {
            exit::NOT_FOUND | exit::NOT_EXECUTABLE if !units => Some(self.not_there()),
            _ if !reported.ended || reported.code == exit::INTERRUPTED => {
                Some(problem(&format!("it was ended early, exit code {}", reported.code)))
            }
            exit::EMPTY_SUITE => Some(problem("a suite has no test here")),
            exit::MISTAKE => Some(problem("tamis could not run it")),
            _ if reported.tests.is_empty() && reported.code != 0 => Some(problem("nothing ran")),
            code if code != 0 && self.has_units && !units => {
                Some(problem(&format!("no test came to run, exit code {code}")))
            }
            // The build went on to tests and failed by itself: how its tests ended is not known.
            code if code != 0 && self.has_units && !failed => {
                Some(problem(&format!("it failed beside its tests, exit code {code}")))
            }
            _ => None,
        }
    }
}

/// Another log beside the one of the run.
fn beside(log: &Path) -> PathBuf {
    log.with_extension("more.log")
}

fn names_dependencies(file: &str) -> bool {
    let name = file.rsplit('/').next().unwrap_or(file);
    DEPENDENCIES.contains(&name) || name.starts_with("requirements") && name.ends_with(".txt")
}

/// The tests that `--select modules` lets run, by what `tamis select` answered. A test that is new runs.
fn by_modules_of(
    reported: &Reported,
    chosen: Option<&Reported>,
    before: &Before,
    narrow: bool,
) -> HashSet<String> {
    let names =
        reported.tests.iter().filter(|test| !narrow || test.selected).map(|test| test.name.clone());
    let Some(chosen) = chosen.filter(|chosen| chosen.code == 0) else { return names.collect() };
    let runs: HashSet<&str> =
        chosen.tests.iter().filter(|test| test.selected).map(|test| test.name.as_str()).collect();
    // A command that is one test has another name where it is narrowed.
    let is_one = reported
        .whole
        .as_ref()
        .is_some_and(|whole| reported.tests.iter().all(|t| t.name == whole.name));
    let any = is_one && !runs.is_empty();
    names
        .filter(|name| any || runs.contains(name.as_str()) || !is_one && !before.contains_key(name))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call::Test;

    #[test]
    fn files_that_name_dependencies() {
        for file in ["requirements-dev.txt", "a/b/pom.xml", "Cargo.lock", "requirements.txt"] {
            assert!(names_dependencies(file), "{file}");
        }
        for file in ["src/requirements.py", "notes.txt", "pom.xml.bak"] {
            assert!(!names_dependencies(file), "{file}");
        }
    }

    #[test]
    fn modules_and_what_the_records_leave_of_them() {
        let test = |name: &str, selected| Test { name: name.into(), selected, ..Test::default() };
        let reported = Reported {
            tests: vec![test("a", true), test("b", false), test("new", true), test("c", true)],
            ..Reported::default()
        };
        let chosen = Reported {
            tests: vec![test("a", true), test("b", true), test("c", false)],
            ..Reported::default()
        };
        let before: Before = ["a", "b", "c"].map(|name| (name.to_owned(), true)).into();
        let sorted = |narrow| {
            let mut names: Vec<String> =
                by_modules_of(&reported, Some(&chosen), &before, narrow).into_iter().collect();
            names.sort();
            names
        };
        assert_eq!(sorted(false), ["a", "b", "new"]);
        assert_eq!(sorted(true), ["a", "new"]);
        assert_eq!(by_modules_of(&reported, None, &before, false).len(), 4);
    }
}
