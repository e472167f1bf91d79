//! A `go test` while it runs: what is decided before, and what its test binaries report.
//!
//! 1. The packages are listed (from the listing that is kept, where nothing moved; else by `go list`), and
//!    decided about. With none left, go is not started.
//! 2. go gets the packages that have to run and our shim. Each shim connects; what it and its children
//!    look at belongs to its package.
//! 3. What a package was built from is fingerprinted before go starts. Before a record is written the
//!    listing is looked at again: a package whose sources changed in between is not recorded as complete.
//! 4. A package without tests has no process. It passed if go did.

use crate::command::GoTest;
use crate::environment::Surroundings;
use crate::list::list;
use crate::listing::{Listing, Package};
use crate::saved_listings;
use crate::scope::GoScope;
use crate::shim_process::{Introduction, SHIM_VERB};
use crate::tool_paths::ToolPath;
use crate::whole::NothingCovered;
use anyhow::Result;
use std::collections::HashSet;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tamis_core::record::Run;
use tamis_core::{Outcome, PortablePath, Question, Taint, TestKey, Unit};
use tamis_observe::CoveredPaths;
use tamis_project::{Project, given};
use tamis_session::{
    Confirmed, Invocation, Language, Ledger, Place, Process, ProcessModel, Services, Start,
    UnitEvidence, Units,
};
use tamis_wire::{Hello, Payload};

/// Looking again may take this part of the time.
const SHARE: u32 = 20;

pub(crate) struct GoLanguage {
    test: GoTest,
    at: Surroundings,
    own: Vec<ToolPath>,
    scope: Option<Arc<GoScope>>,
    /// When the sources may be looked at again.
    next_look: Instant,
}

impl GoLanguage {
    pub(crate) fn new(test: GoTest, at: Surroundings, own: Vec<ToolPath>) -> Self {
        Self { test, at, own, scope: None, next_look: Instant::now() }
    }

    /// The packages of now, without keeping anything.
    fn look_again(&self, project: &Project, before: &Listing) -> Option<Listing> {
        let fs = &project.fingerprinter;
        let same = before.refresh(&self.test, &self.at, fs).ok();
        same.or_else(|| list(&self.test, &self.at, fs).ok())
    }

    /// The words that run these packages through the shim; `None` where go cannot be given it.
    fn words(
        &self,
        services: &Services<'_, '_>,
        listing: &Listing,
        selected: &[&Package],
    ) -> Option<Vec<OsString>> {
        let text = |path: PathBuf| path.into_os_string().into_string().ok();
        let shim = [
            text(std::env::current_exe().ok()?)?,
            SHIM_VERB.to_owned(),
            text(services.session.library().to_path_buf())?,
            text(services.session.socket())?,
            services.session.token().to_owned(),
        ];
        self.test.command(&listing.arguments(selected.iter().copied()), &shim)
    }

    /// Packages that had no process: those without tests passed if go did. Of the others is known that they
    /// did not pass, and go has printed why.
    fn record_without_process(&self, services: &mut Services<'_, '_>, units: &Units) {
        let (Some(scope), Some(passed)) = (self.scope.clone(), services.passed) else { return };
        let before = Arc::clone(&scope.listing);
        let silent: Vec<(usize, Package)> = units
            .iter()
            .filter(|(_, at)| services.ledger.report(*at).unfinished())
            .filter_map(|(key, at)| Some((at, before.package(&key.unit.name())?.clone())))
            .collect();
        if silent.is_empty() {
            return;
        }
        let project = services.ledger.project();
        let after = self.look_again(project, &before);
        let changed: HashSet<String> = match &after {
            Some(after) => after.changed(&before).map(str::to_owned).collect(),
            None => before.packages().iter().map(|p| p.import_path.clone()).collect(),
        };
        for (at, package) in silent {
            let mut taints = Vec::new();
            let outcome = match passed && !package.has_tests {
                true => Outcome::Passed,
                false => {
                    taints.push(unobserved("it did not build, or go did not come to it"));
                    Outcome::Failed(1)
                }
            };
            if changed.contains(&package.import_path) {
                services.ledger.collected.changed += 1;
                taints.push(unobserved("what it is built from changed while it was built"));
            }
            record(services.ledger, &scope, &package, at, outcome, taints);
        }
    }
}

fn unobserved(why: &str) -> Taint {
    Taint::Unobserved(why.to_owned())
}

/// Records a package that had no process.
fn record(
    ledger: &mut Ledger<'_>,
    scope: &Arc<GoScope>,
    package: &Package,
    at: usize,
    outcome: Outcome,
    taints: Vec<Taint>,
) {
    if !ledger.options().collect && outcome.passed() {
        return ledger.report_outcome(at, true, 0);
    }
    let facts = scope.facts(package).into_iter();
    let facts = facts.map(|(fact, value)| given(Question::Fact(fact), value));
    let started = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let known: Arc<dyn tamis_session::KnownScope> = Arc::clone(scope) as _;
    let run = Run {
        test: known.key(GoScope::unit(package)),
        outcome,
        started_ms: started.as_millis() as u64,
        wall_us: 0,
        cpu_us: 0,
        engine: "go".into(),
        observed: ledger.surroundings().iter().cloned().chain(facts).collect(),
        taints,
        notes: Vec::new(),
        left_behind: Vec::new(),
    };
    ledger.record(run, Place::At(at), None, false);
}

impl Language for GoLanguage {
    fn engine(&self) -> &'static str {
        "go"
    }

    fn prepare(
        &mut self,
        services: &mut Services<'_, '_>,
        units: &mut Units,
        invocation: &mut Invocation,
    ) -> Result<Start> {
        let project = services.ledger.project();
        let listing = match saved_listings::current(project, &self.test, &self.at) {
            Ok(listing) => listing,
            Err(why) => {
                services.ledger.collected.refused = true;
                services.ledger.remark(format!("{why}: everything runs as one command"));
                return Ok(Start::Run);
            }
        };
        let scope = Arc::new(GoScope::new(project, &self.test, self.at.folder(), listing));
        let all: Vec<Unit> = scope.listing.packages().iter().map(GoScope::unit).collect();
        let known: Arc<dyn tamis_session::KnownScope> = Arc::clone(&scope) as _;
        let run = units.decide(services.ledger, &known, &all)?;
        let packages = scope.listing.packages().iter();
        let selected: Vec<&Package> =
            packages.zip(&run).filter(|(_, run)| **run).map(|(package, _)| package).collect();
        services.ledger.collected.scopes += 1;
        let (fact, value) = scope.package_list();
        services.ledger.collected.relied_on.push(given(Question::Fact(fact), value));
        if selected.is_empty() {
            self.scope = Some(scope);
            return Ok(Start::NothingToRun);
        }
        match self.words(services, &scope.listing, &selected) {
            Some(words) => invocation.words = words,
            None => {
                services.ledger.collected.refused = true;
                let why = "go cannot be given a program between itself and its tests";
                services.ledger.remark(format!("{why}: everything runs as one command"));
            }
        }
        self.scope = Some(scope);
        Ok(Start::Run)
    }

    fn covered(&self) -> Arc<dyn CoveredPaths + Send + Sync> {
        Arc::new(NothingCovered)
    }

    fn process(&mut self, hello: &Hello) -> Result<Process, String> {
        let (folder, words): Introduction = hello.payload.read().map_err(|e| e.to_string())?;
        let scope =
            self.scope.clone().ok_or("a test binary began before its packages were listed")?;
        let folder = PathBuf::from(OsString::from_vec(folder));
        let words: Vec<OsString> = words.into_iter().map(OsString::from_vec).collect();
        let package = scope.listing.package_of(&folder, &words).cloned();
        let package = package.ok_or_else(|| {
            format!("a test binary ran in {}, which no listed package has", folder.display())
        })?;
        let facts = scope.facts(&package);
        let unit = GoScope::unit(&package);
        let scope: Arc<dyn tamis_session::KnownScope> = scope;
        let key = scope.key(unit.clone());
        Ok(Process { scope, model: Box::new(TestBinary { unit, facts, key }) })
    }

    fn confirm(&mut self, project: &Project, last: bool) -> Option<Confirmed> {
        if !last && Instant::now() < self.next_look {
            return None;
        }
        let began = Instant::now();
        let before = self.scope.as_ref().map(|scope| Arc::clone(&scope.listing))?;
        let changed: HashSet<Unit> = match self.look_again(project, &before) {
            Some(after) => after.changed(&before).map(|p| Unit::Package(p.to_owned())).collect(),
            None => before.packages().iter().map(GoScope::unit).collect(),
        };
        let pause = began.elapsed().saturating_mul(SHARE).min(Duration::from_secs(2));
        self.next_look = Instant::now() + pause;
        Some(Confirmed { changed })
    }

    fn is_tools_own(&self, project: &Project, path: &PortablePath) -> bool {
        let path = project.paths.to_absolute(path);
        self.own.iter().any(|own| own.covers(&path))
    }

    fn finish(&mut self, services: &mut Services<'_, '_>, units: &Units) {
        self.record_without_process(services, units);
        services.ledger.keep_messages();
    }
}

/// A test binary of one package.
struct TestBinary {
    unit: Unit,
    facts: Vec<(Arc<str>, tamis_core::Value)>,
    key: TestKey,
}

impl ProcessModel for TestBinary {
    fn unit(&self, _: &str) -> Unit {
        self.unit.clone()
    }

    /// What it printed, where it did not pass.
    fn payload(
        &mut self,
        services: &mut Services<'_, '_>,
        units: &mut Units,
        payload: &Payload,
        _: &mut UnixStream,
    ) -> Result<(), String> {
        if let Some(at) = units.place(&self.key) {
            services.ledger.report_mut(at).output = Some(payload.0.clone());
        }
        Ok(())
    }

    fn ended(&mut self, _: u32, _: &Unit) -> UnitEvidence {
        UnitEvidence { facts: self.facts.clone(), incomplete: None }
    }
}
