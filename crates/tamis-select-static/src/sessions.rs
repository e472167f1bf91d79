//! All modules of a project together: what the verbs of `tamis static` do, without a word about it.
//!
//! Nothing is printed here. What the user should know is returned as notes.
//!
//! With [`StaticSettings::offline`] everything that proves something is on disk before a call ends: tests that finished,
//! and the state in which tests were announced. What is left is work that changes no selection: keeping what was read
//! of class files, carrying proofs to the newest state, analysing libraries. The file `behind` in the state folder
//! says that such work is left, and is removed when it is done: whoever was to do it and was killed leaves it to the
//! next call.

use crate::definitions::TestModule;
use crate::lock::Lock;
use crate::method_level::{self, MethodLevel};
use crate::run_surroundings;
use crate::select::{Reason, Session, StaticSettings, TestDecision};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

/// Nothing was written, because not everything is known.
pub const NOTHING_WRITTEN: &str = "nothing was written down, because not everything is known";

/// What a call does with the state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// It looks at classes only.
    None,
    Read,
    Write,
}

#[derive(Debug)]
pub struct Sessions {
    pub modules: Vec<TestModule>,
    pub each: Vec<Session>,
    settings: StaticSettings,
    lock: Option<Lock>,
}

/// The decisions about the tests of one module.
#[derive(Debug)]
pub struct Selection {
    pub module: String,
    pub tests: Vec<TestDecision>,
    pub notes: Vec<String>,
}

/// Tests of one module that finished, with whether they passed.
#[derive(Debug, PartialEq, Eq)]
pub struct Finished {
    pub module: String,
    pub tests: BTreeMap<String, bool>,
    pub notes: Vec<String>,
}

/// Why tests that passed cannot be recorded.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    #[error(
        "{0}: the classes are not those of the last `tamis static select --update`; select with --update, run the \
         tests, and record again"
    )]
    NotAnnounced(String),
    #[error("{} could not be read: {why}", folder.display())]
    Reports { folder: PathBuf, why: io::Error },
    #[error("the state could not be written: {0}")]
    State(#[from] io::Error),
}

/// Takes the lock of the state for a call; `waiting` is called where another process holds it.
pub fn lock(state: &Path, access: Access, waiting: impl FnOnce()) -> io::Result<Option<Lock>> {
    if access == Access::None {
        return Ok(None);
    }
    match Lock::take(state, waiting) {
        Ok(lock) => Ok(Some(lock)),
        // A folder that cannot be written to can still be read.
        Err(_) if access == Access::Read => Ok(None),
        Err(error) => Err(error),
    }
}

impl Sessions {
    pub fn open(modules: Vec<TestModule>, settings: StaticSettings, lock: Option<Lock>) -> Self {
        let each = modules.iter().map(|module| Session::open(module, &settings)).collect();
        Self { modules, each, settings, lock }
    }

    /// What the user should know of the classpaths.
    pub fn notes(&self) -> impl Iterator<Item = &str> {
        let worlds = self.each.iter().map(|session| &session.definitions);
        worlds
            .flat_map(|definitions| definitions.blind.iter().chain(&definitions.notes))
            .map(String::as_str)
    }

    /// Decides about the tests of all modules; `all` is a wish of the user that comes before the evidence.
    pub fn select(&mut self, all: bool, level: Option<&MethodLevel>) -> Vec<Selection> {
        let pairs = self.each.iter_mut().zip(&self.modules);
        let selection = |(session, module): (&mut Session, &TestModule)| Selection {
            tests: match level {
                _ if all => requested(session),
                None => session.select(),
                Some(level) => method_level::select(session, module, level),
            },
            module: session.module.clone(),
            notes: session.definitions.notes.clone(),
        };
        pairs.map(selection).collect()
    }

    /// Writes down that what was selected is about to run. Returns notes.
    pub fn announce(
        &mut self,
        selections: &[Selection],
        by_methods: bool,
    ) -> io::Result<Vec<&'static str>> {
        let mut written = Vec::new();
        for ((session, module), selection) in
            self.each.iter_mut().zip(&self.modules).zip(selections)
        {
            if by_methods {
                written.push(session.announce_only()?);
                written.push(method_level::keep(session, module)?);
            } else if self.settings.offline {
                written.push(session.announce_only()?);
            } else {
                written.push(session.announce(&selection.tests)?);
            }
        }
        Ok(notes_of(&written))
    }

    /// Which of these tests passed with the classes that were announced; where those are not there any more, it is not
    /// known what the tests saw. Names that are no tests are returned as notes of the first module.
    pub fn passed(&self, names: &[String]) -> Result<Vec<Finished>, RecordError> {
        let with_tests = || self.each.iter().filter(|session| !session.tests.is_empty());
        if let Some(session) = with_tests().find(|session| !session.is_announced()) {
            return Err(RecordError::NotAnnounced(session.module.clone()));
        }
        let finished = |session: &Session| {
            let tests = session.test_names();
            let named = names.iter().filter(|name| tests.contains(name));
            Finished {
                module: session.module.clone(),
                tests: named.map(|name| (name.clone(), true)).collect(),
                notes: Vec::new(),
            }
        };
        let mut all: Vec<Finished> = self.each.iter().map(finished).collect();
        let known = |name: &String| all.iter().any(|module| module.tests.contains_key(name));
        let unknown = names.iter().filter(|name| !known(name));
        let notes = unknown.map(|name| format!("{name} is no test class here")).collect();
        if let Some(first) = all.first_mut() {
            first.notes = notes;
        }
        Ok(all)
    }

    /// Who finished, from the reports of Surefire and Failsafe: those in the given folders, else in the usual ones of
    /// each module.
    pub fn reported(&self, given: &[PathBuf], root: &Path) -> Result<Vec<Finished>, RecordError> {
        let of = |(session, module): (&Session, &TestModule)| {
            let mut tests = BTreeMap::new();
            let usual = usual_reports(module, root);
            for folder in if given.is_empty() { usual.as_slice() } else { given } {
                let found = run_surroundings::finished(folder, session.definitions.newest_ns)
                    .map_err(|why| RecordError::Reports { folder: folder.clone(), why })?;
                tests.extend(found);
            }
            Ok(Finished { module: session.module.clone(), tests, notes: Vec::new() })
        };
        self.each.iter().zip(&self.modules).map(of).collect()
    }

    /// Writes down who finished. Returns notes.
    pub fn record(
        &mut self,
        finished: &[Finished],
        by_methods: bool,
    ) -> Result<Vec<&'static str>, RecordError> {
        let mut written = Vec::new();
        for ((session, module), finished) in self.each.iter_mut().zip(&self.modules).zip(finished) {
            if by_methods {
                written.push(session.record_finished(&finished.tests)?);
                written.push(method_level::keep(session, module)?);
            } else if self.settings.offline {
                written.push(session.record_finished(&finished.tests)?);
            } else {
                let decisions = session.select();
                written.push(session.record(&decisions, &finished.tests)?);
            }
        }
        Ok(notes_of(&written))
    }

    /// Forgets all proofs.
    pub fn clean(&self) -> io::Result<()> {
        self.each.iter().try_for_each(Session::clean)?;
        self.nothing_left();
        Ok(())
    }

    fn behind(&self) -> PathBuf {
        self.settings.state.join("behind")
    }

    /// What is left to do is for others; the lock is released.
    pub fn leave_behind(self) -> io::Result<()> {
        std::fs::write(self.behind(), b"")
    }

    /// Does what was left, if anything was and this call holds the lock.
    pub fn catch_up(&mut self) -> io::Result<()> {
        if self.lock.is_none() || !self.behind().exists() {
            return Ok(());
        }
        for session in &mut self.each {
            session.catch_up()?;
        }
        self.nothing_left();
        Ok(())
    }

    fn nothing_left(&self) {
        std::fs::remove_file(self.behind()).ok();
    }
}

fn requested(session: &Session) -> Vec<TestDecision> {
    let run = || Some(Reason::Requested);
    session.test_names().into_iter().map(|name| TestDecision { name, run: run() }).collect()
}

fn notes_of(written: &[bool]) -> Vec<&'static str> {
    written.iter().filter(|written| !**written).map(|_| NOTHING_WRITTEN).collect()
}

fn usual_reports(module: &TestModule, root: &Path) -> Vec<PathBuf> {
    let target = module.test_classes.first().and_then(|folder| folder.parent()).unwrap_or(root);
    let folders = ["surefire-reports", "failsafe-reports"].map(|name| target.join(name));
    folders.into_iter().filter(|folder| folder.is_dir()).collect()
}

/// A module's own folder below one for all modules.
pub fn of_module(folder: &Path, module: &str) -> PathBuf {
    match module {
        "." => folder.to_path_buf(),
        _ => folder.join(module),
    }
}
