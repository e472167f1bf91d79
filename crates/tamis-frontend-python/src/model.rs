//! A command that runs pytest, while it runs.
//!
//! Each pytest process (one, or each worker of xdist) is a host with windows. It asks which of its tests need
//! to run; the answer about a test is given once in a command, so that all workers get the same. Another run
//! of pytest in the same command, after something that may have changed anything, runs it. A test's
//! record is made when the tracer has seen the end of its windows, with those of some others. A source that changed
//! since the command was prepared may not be what was imported: the tests that use it are not recorded as complete.

use crate::changed::SourceStamps;
use crate::collection::{self, Collection};
use crate::kept_coverage::{Covered, CoveredLines, KeptCover, Measurement};
use crate::left::{self, LeftByTest};
use crate::messages::{
    Ask, AskedBack, AskedFiles, Greeting, Message, OfModules, SeesLeft, TestCoverage, TestEnded,
    WindowClosed,
};
use crate::plugin_files;
use crate::scope::{Kind, PytestScope, Sources, body_fact};
use crate::windows::Windows;
use crate::words::runs_pytest;
use anyhow::Result;
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tamis_core::record::{Numbers, Observed, Run};
use tamis_core::{
    Decision, Hash, Outcome, PathMap, PortablePath, Question, Taint, TestKey, Unit, Value,
};
use tamis_observe::{Cover, CoveredPaths, Observations, Openings, WindowEnded};
use tamis_project::given;
use tamis_session::{
    Invocation, KnownScope, Ledger, Model, NOT_COLLECTED, Place, Pool, Services, Start, Units,
};
use tamis_store::WithRecord;
use tamis_wire::{FromProcess, Hello};

#[derive(Debug, Default)]
pub(crate) struct PytestModel {
    root: PathBuf,
    session: PathBuf,
    sources: Arc<Sources>,
    units: Units,
    answers: FxHashMap<TestKey, bool>,
    /// The run of pytest that asked for a test first.
    asked_by: FxHashMap<TestKey, String>,
    hosts: FxHashMap<u32, Host>,
    stamps: SourceStamps,
    /// Tests of which all is known.
    ready: Vec<ReadyTest>,
    remarked: BTreeSet<String>,
    by_files: bool,
    beside: BesideRecords,
}

/// What is kept with the records of the tests that ran.
#[derive(Debug, Default)]
struct BesideRecords {
    /// What they covered.
    covers: Vec<TestCover>,
    /// What they left in their process.
    left: Vec<LeftByTest>,
    /// What their files were.
    collected: Vec<(TestKey, Hash)>,
    /// The files that each process imported.
    collections: FxHashMap<u32, Collection>,
}

/// Tests that are recorded together, and how long one waits for others at most.
const AT_ONCE: usize = 64;
const WAIT_AT_MOST: Duration = Duration::from_millis(300);

/// A test that ended, and all its windows.
#[derive(Debug)]
struct ReadyTest {
    pid: u32,
    test: Ended,
    /// When that was known.
    since: Instant,
}

/// A test that ended, and when its process reported that.
#[derive(Debug)]
struct Ended {
    test: TestEnded,
    at: SystemTime,
    heard: Instant,
}

/// A test of a process, and what it covered.
#[derive(Debug)]
struct TestCover {
    pid: u32,
    key: TestKey,
    coverage: TestCoverage,
}

#[derive(Debug)]
struct Host {
    answers: UnixStream,
    scope: Option<Arc<PytestScope>>,
    windows: Windows,
    /// What ran in windows, until the scope is known.
    early: Vec<WindowClosed>,
    bodies: Bodies,
    lists: Lists,
    /// What counts for every test of the command, by the numbers of the facts.
    surroundings: Option<Vec<u32>>,
    openings: Vec<(u32, Openings)>,
    waiting: Vec<Ended>,
    /// What was covered in windows.
    covered: FxHashMap<u32, BTreeMap<String, CoveredLines>>,
    /// Where coverage.py writes it.
    data: Option<PathBuf>,
    /// Why nothing is complete from here on.
    trouble: Option<String>,
}

impl Host {
    fn new(answers: UnixStream) -> Self {
        Self {
            answers,
            scope: None,
            windows: Windows::default(),
            early: Vec::new(),
            bodies: Bodies::default(),
            lists: Lists::default(),
            surroundings: None,
            openings: Vec::new(),
            waiting: Vec::new(),
            covered: FxHashMap::default(),
            data: None,
            trouble: None,
        }
    }

    /// What ran and was looked at, as facts of the scope.
    fn settle(&mut self, root: &Path, pool: &mut Pool) {
        let Some(scope) = self.scope.clone() else { return };
        for mut window in std::mem::take(&mut self.early) {
            if !window.covered.is_empty() {
                self.covered.insert(window.window, std::mem::take(&mut window.covered));
            }
            self.bodies.names.extend(window.new);
            let Some(ran) = self.bodies.facts(&window.bodies, &scope, pool) else {
                self.trouble.get_or_insert_with(|| "a function has no name".to_owned());
                continue;
            };
            self.windows.add_numbers(window.window, ran);
            let mut facts: FxHashMap<Arc<str>, Value> = FxHashMap::default();
            facts.extend(window.read.iter().map(|file| scope.fact(Kind::Bytes, file)));
            for kind in [Kind::Distributions, Kind::Conftests] {
                facts.extend(window.lists.iter().map(|folder| scope.fact(kind, folder)));
            }
            let facts = facts.into_iter().map(|fact| pool.number(as_observed(fact)));
            self.windows.add_numbers(window.window, facts);
            for folder in &window.lists {
                let folder = if folder == "." { root.to_path_buf() } else { root.join(folder) };
                let folder = PathMap::new(root.to_path_buf(), None).to_portable(&folder);
                self.windows.leave_out_names(window.window, folder);
            }
        }
        for (number, openings) in std::mem::take(&mut self.openings) {
            let looked = openings.keys().filter_map(|path| relative(root, path));
            let facts = looked.map(|file| pool.number(as_observed(scope.fact(Kind::Look, &file))));
            self.windows.add_numbers(number, facts);
        }
    }

    /// What counts for a test besides its windows; none where a list of files is not known.
    fn besides(
        &mut self,
        test: &TestEnded,
        scope: &PytestScope,
        ledger: &mut Ledger<'_>,
    ) -> Option<Vec<u32>> {
        if self.surroundings.is_none() {
            let all = ledger.surroundings().to_vec();
            self.surroundings =
                Some(all.into_iter().map(|one| ledger.pool().number(one)).collect());
        }
        let pool = ledger.pool();
        let is_whole = test.counts == OfModules::Whole;
        let kind = if is_whole { Kind::Code } else { Kind::Module };
        let mut besides = self.lists.facts(test.modules, kind, scope, pool)?.to_vec();
        if test.counts == OfModules::Lines {
            besides.extend(self.lists.facts(test.modules, Kind::Bytes, scope, pool)?);
        }
        besides.extend(self.lists.facts(test.looks, Kind::Look, scope, pool)?);
        let all = test.all.iter().map(|file| as_observed(scope.fact(Kind::Code, file)));
        besides.extend(all.map(|fact| pool.number(fact)));
        besides.extend(self.surroundings.iter().flatten());
        Some(besides)
    }

    fn take_finished(&mut self, last: bool) -> Vec<Ended> {
        let seen = self.windows.last;
        let all = std::mem::take(&mut self.waiting).into_iter();
        let is_ready =
            |ended: &Ended| last || ended.test.windows.last().is_none_or(|window| *window <= seen);
        let (ready, waiting) = all.partition(is_ready);
        self.waiting = waiting;
        ready
    }
}

/// Functions of the project that ran, by the numbers that the process gave them.
#[derive(Debug, Default)]
struct Bodies {
    names: Vec<(String, String)>,
    /// The facts, by their numbers in the pool.
    facts: Vec<u32>,
}

impl Bodies {
    /// The facts of these functions; none where one of them has no name.
    fn facts(&mut self, bodies: &[u32], scope: &PytestScope, pool: &mut Pool) -> Option<Vec<u32>> {
        for (file, name) in &self.names[self.facts.len()..] {
            let fact = as_observed(body_fact(scope, file, name));
            self.facts.push(pool.number(fact));
        }
        bodies.iter().map(|body| self.facts.get(*body as usize).copied()).collect()
    }
}

/// Lists of files that the process sent, each once.
#[derive(Debug, Default)]
struct Lists {
    all: Vec<Vec<String>>,
    /// What is true of the files of a list, by the numbers of the facts.
    facts: FxHashMap<(u32, Kind), Vec<u32>>,
}

impl Lists {
    fn facts(
        &mut self,
        number: u32,
        kind: Kind,
        scope: &PytestScope,
        pool: &mut Pool,
    ) -> Option<&[u32]> {
        let files = self.all.get(number as usize)?;
        let facts = self.facts.entry((number, kind)).or_insert_with(|| {
            let facts = files.iter().map(|file| as_observed(scope.fact(kind, file)));
            facts.map(|fact| pool.number(fact)).collect()
        });
        Some(facts)
    }
}

fn as_observed((fact, value): (Arc<str>, Value)) -> Observed {
    given(Question::Fact(fact), value)
}

/// A file of the project, as facts name it.
fn relative(root: &Path, path: &[u8]) -> Option<String> {
    let path = Path::new(std::ffi::OsStr::from_bytes(path));
    path.strip_prefix(root).ok()?.to_str().map(str::to_owned)
}

impl PytestModel {
    pub(crate) fn new(by_files: bool) -> Self {
        Self { by_files, ..Self::default() }
    }

    fn ask(&mut self, services: &mut Services<'_, '_>, pid: u32, ask: Ask) {
        self.record_ready(services.ledger, true);
        let scope = PytestScope::new(Arc::clone(&self.sources), &ask.folder, &ask.scope);
        let scope = scope.running_everything(ask.everything.clone()).keeping_files(self.by_files);
        let coverage = ask.coverage;
        let data = coverage.as_ref().map(|coverage| PathBuf::from(&coverage.data));
        let scope = scope.measuring(coverage.map(|c| Measurement::new(c.settings, &ask.ask)));
        let scope = Arc::new(scope);
        let known: Arc<dyn KnownScope> = Arc::clone(&scope) as _;
        services.ledger.collected.scopes += 1;
        let key = |node: &String| known.key(PytestScope::unit(node));
        let new: BTreeSet<Unit> = (ask.ask.iter())
            .filter(|node| !self.answers.contains_key(&key(node)))
            .map(|node| PytestScope::unit(node))
            .collect();
        let new: Vec<Unit> = new.into_iter().collect();
        for unit in &new {
            self.asked_by.insert(known.key(unit.clone()), ask.run.clone());
        }
        match self.units.decide(services.ledger, &known, &new) {
            Ok(run) => {
                let decided = new.into_iter().zip(run);
                self.answers.extend(decided.map(|(unit, run)| (known.key(unit), run)));
            }
            Err(error) => self.remark(services, format!("nothing was decided: {error:#}")),
        }
        if ask.out > 0 {
            let (out, of) = (ask.out, ask.of);
            self.remark(services, format!("{out} of {of} test files are not imported"));
        }
        if let Some(why) = ask.everything {
            self.remark(services, format!("all tests run: {why}"));
        }
        let needs_to_run = |node: &String| {
            let key = key(node);
            self.asked_by.get(&key) != Some(&ask.run) || self.answers.get(&key) != Some(&false)
        };
        let run: Vec<bool> = ask.ask.iter().map(needs_to_run).collect();
        let skipped = ask.ask.iter().zip(&run).filter(|(_, run)| !**run).map(|(node, _)| key(node));
        let covered = scope.measurement.is_some().then(|| self.kept(services.ledger, skipped));
        let is_partial = run.contains(&true) && run.contains(&false);
        let left = is_partial.then(|| self.known_left(services.ledger, &ask.ask, key)).flatten();
        if let Some(host) = self.hosts.get_mut(&pid) {
            host.scope = Some(scope);
            host.data = data;
            host.settle(&self.root, services.ledger.pool());
            let covered = covered.unwrap_or_default().into_lines();
            let all = serde_json::json!({ "run": run, "covered": covered, "left": left });
            answer(&mut host.answers, &all);
        }
    }

    /// The files that pytest need not import. A second run of pytest in one command imports all.
    fn ask_files(&mut self, ledger: &mut Ledger<'_>, pid: u32, asked: &AskedFiles) {
        let scope = PytestScope::new(Arc::clone(&self.sources), &asked.folder, &asked.scope);
        let scope = Arc::new(scope.keeping_files(self.by_files));
        let nothing = || serde_json::json!({ "texts": [], "files": [] });
        let files = match self.answers.is_empty() {
            true => collection::may_stay_out(ledger, &scope, asked),
            false => nothing(),
        };
        if let Some(host) = self.hosts.get_mut(&pid) {
            answer(&mut host.answers, &files);
        }
    }

    /// Keeps what is known of the files that were imported.
    fn keep_collections(&mut self, ledger: &mut Ledger<'_>) {
        collection::keep_names(ledger, &self.beside.collected);
        if ledger.is_trial() || !ledger.options().collect {
            return;
        }
        let (session, project) = (self.session.clone(), ledger.project());
        for (pid, collection) in std::mem::take(&mut self.beside.collections) {
            let Some(host) = self.hosts.get(&pid) else { continue };
            if host.trouble.is_some() || self.stamps.are_new(collection.sources()) {
                continue;
            }
            let (pool, paths) = (ledger.pool(), &project.paths);
            let is_own = |path: &PortablePath| is_own(&session, &paths.to_absolute(path));
            let windows = collection.windows();
            let quiet = windows.map(|w| host.windows.are_quiet(pool, w, is_own)).collect();
            if let Some(store) = ledger.opened_store() {
                collection.keep(store, quiet);
            }
        }
    }

    /// What tests leave in their process, by what is known of each.
    fn known_left<'t>(
        &self,
        ledger: &Ledger<'_>,
        tests: &'t [String],
        key: impl Fn(&String) -> TestKey,
    ) -> Option<BTreeMap<&'t str, Vec<String>>> {
        let with_decision = |name: &'t String| {
            let key = key(name);
            let decision = self.units.place(&key).map(|at| ledger.report(at).decision.clone());
            (name, key, decision)
        };
        left::known(ledger, tests.iter().map(with_decision))
    }

    /// Tests that were left out run after all, if they were left out because of their records.
    fn put_back(&mut self, ledger: &mut Ledger<'_>, pid: u32, asked: AskedBack) {
        let Some(host) = self.hosts.get_mut(&pid) else { return };
        let Some(scope) = host.scope.clone() else { return };
        let mut run = Vec::new();
        for SeesLeft { test, left } in asked.back {
            let key = <dyn KnownScope>::key(scope.as_ref(), PytestScope::unit(&test));
            let place = self.units.place(&key);
            let why = format!("{} now leaves something that it can see ({left})", asked.by);
            let runs = place.is_some_and(|at| ledger.run_after_all(at, why));
            if runs {
                self.answers.insert(key, true);
            }
            run.push(runs);
        }
        answer(&mut host.answers, &run);
    }

    /// What tests cover that do not run.
    fn kept(&self, ledger: &Ledger<'_>, skipped: impl Iterator<Item = TestKey>) -> Covered {
        let mut covered = Covered::default();
        let Some(store) = ledger.opened_store() else { return covered };
        for at in skipped.filter_map(|key| self.units.place(&key)) {
            let Decision::Skip { record, .. } = ledger.report(at).decision else { continue };
            if let Some(kept) = KeptCover::load(store, record) {
                // It could be added when that was decided.
                let _ = kept.add_to(&self.sources, &mut covered);
            }
        }
        covered
    }

    /// Keeps what tests covered with their records.
    fn keep_covers(&self, ledger: &Ledger<'_>) {
        let mut by_test: BTreeMap<&TestKey, Vec<&TestCover>> = BTreeMap::new();
        for cover in &self.beside.covers {
            by_test.entry(&cover.key).or_default().push(cover);
        }
        let kept = |(key, covers): (&TestKey, Vec<&TestCover>)| {
            let record = ledger.passed_record(key)?;
            let scope = self.hosts.get(&covers.first()?.pid)?.scope.as_ref()?;
            let mut covered = Covered::default();
            for cover in &covers {
                let host = self.hosts.get(&cover.pid)?;
                for window in cover.coverage.windows.as_ref()? {
                    let files = host.covered.get(window).into_iter().flatten();
                    files.for_each(|(file, lines)| covered.add(file, lines));
                }
            }
            let alone = covers.iter().all(|cover| cover.coverage.alone);
            let met = covers.iter().flat_map(|cover| cover.coverage.met.iter().cloned()).collect();
            let measurement = scope.measurement.as_ref()?;
            let kept = KeptCover::new(&self.sources, measurement, covered, alone, met)?;
            Some((record, kept.to_bytes()?))
        };
        let kept: Vec<_> = by_test.into_iter().filter_map(kept).collect();
        // A test without it runs again where coverage is measured.
        if let Some(store) = ledger.opened_store() {
            let _ = store.keep_with(WithRecord::Coverage, &kept);
        }
    }

    fn remark(&mut self, services: &Services<'_, '_>, text: String) {
        if self.remarked.insert(text.clone()) {
            services.ledger.remark(text);
        }
    }

    fn payload(&mut self, services: &mut Services<'_, '_>, pid: u32, bytes: &[u8]) {
        let message = Message::read(bytes);
        let Some(host) = self.hosts.get_mut(&pid) else { return };
        match message {
            Ok(Message::Ask(ask)) => self.ask(services, pid, ask),
            Ok(Message::Window(window)) => {
                host.early.push(window);
                host.settle(&self.root, services.ledger.pool());
            }
            Ok(Message::Test(mut test)) => {
                host.lists.all.append(&mut test.lists);
                let (at, heard) = (ended_at(test.time.ended), Instant::now());
                host.waiting.push(Ended { test: *test, at, heard });
                self.record_finished(services.ledger, pid, false);
            }
            Ok(Message::Back(asked)) => self.put_back(services.ledger, pid, asked),
            Ok(Message::Files(asked)) => self.ask_files(services.ledger, pid, &asked),
            Ok(Message::Collected(collected)) => {
                let sources = Arc::clone(&self.sources);
                let scope = PytestScope::new(sources, &collected.folder, &collected.scope);
                let collection = Collection::new(Arc::new(scope), collected);
                self.beside.collections.insert(pid, collection);
            }
            Ok(Message::Deselected { .. }) => {
                let deselected = self.answers.values().any(|run| !run);
                answer(&mut host.answers, &deselected);
            }
            Err(why) => drop(host.trouble.get_or_insert(why)),
        }
    }

    fn record_finished(&mut self, ledger: &mut Ledger<'_>, pid: u32, last: bool) {
        let Some(host) = self.hosts.get_mut(&pid) else { return };
        let since = Instant::now();
        let finished = host.take_finished(last).into_iter();
        self.ready.extend(finished.map(|test| ReadyTest { pid, test, since }));
        self.record_ready(ledger, last);
    }

    /// Records the tests of which all is known: those that are recorded together cost one look at each source.
    fn record_ready(&mut self, ledger: &mut Ledger<'_>, now: bool) {
        let is_old = |first: &ReadyTest| first.since.elapsed() >= WAIT_AT_MOST;
        if now || self.ready.len() >= AT_ONCE || self.ready.first().is_some_and(is_old) {
            for ready in std::mem::take(&mut self.ready) {
                self.record(ledger, ready.pid, &ready.test);
            }
        }
    }

    fn record(&mut self, ledger: &mut Ledger<'_>, pid: u32, ended: &Ended) {
        let test = &ended.test;
        let Some(scope) = self.hosts.get(&pid).and_then(|host| host.scope.clone()) else { return };
        let known: Arc<dyn KnownScope> = Arc::clone(&scope) as _;
        let mut run = run_of(known.key(PytestScope::unit(&test.test)), test, ended.at);
        ledger.runs_in(pid, run.test.clone());
        if !ledger.options().collect {
            return self.record_unobserved(ledger, run, test);
        }
        if let Some(coverage) = test.coverage.clone() {
            self.beside.covers.push(TestCover { pid, key: run.test.clone(), coverage });
        }
        if !test.left.is_empty() {
            self.beside.left.push((run.test.clone(), test.left.clone()));
        }
        let session = self.session.clone();
        let collection = self.beside.collections.get(&pid);
        if let Some(name) = collection.and_then(|known| known.name_of(&test.test)) {
            self.beside.collected.push((run.test.clone(), name));
        }
        let Some(host) = self.hosts.get_mut(&pid) else { return };
        let data = host.data.clone();
        let paths = &ledger.project().paths;
        let is_own = |path: &PortablePath| {
            let path = paths.to_absolute(path);
            is_own(&session, &path) || data.as_ref().is_some_and(|data| is_data(data, &path))
        };
        let besides = host.besides(test, &scope, ledger);
        if besides.is_none() {
            host.trouble.get_or_insert_with(|| "a list of files is not known".to_owned());
        }
        host.windows.forget(ledger.pool(), is_own);
        let facts = besides.unwrap_or_default();
        let mut together = host.windows.together(ledger.pool(), &test.windows, &facts);
        together.forget(is_own);
        let incomplete = test.incomplete.clone().or_else(|| host.trouble.clone());
        together.taints.extend(incomplete.map(Taint::Unobserved));
        if let Some(own) = test.windows.last().and_then(|window| host.windows.get(*window)) {
            run.notes.clone_from(&own.notes);
            run.left_behind.clone_from(&own.left_behind);
        }
        if let Some(changed) = self.stamps.changed(ledger.pool(), &together.numbers, ended.heard) {
            ledger.collected.changed += 1;
            let why = format!("{changed} changed while the tests ran, or just before");
            together.taints.insert(Taint::Unobserved(why));
        }
        run.taints = together.taints.into_iter().collect();
        self.hand_over(ledger, run, together.numbers, test);
    }

    fn record_unobserved(&self, ledger: &mut Ledger<'_>, mut run: Run, test: &TestEnded) {
        if run.outcome.passed() && !ledger.options().failed_before(&run.test) {
            if let Some(at) = self.units.place(&run.test) {
                ledger.report_outcome(at, true, run.wall_us);
            }
            return;
        }
        run.taints.push(Taint::Unobserved(NOT_COLLECTED.into()));
        self.hand_over(ledger, run, Numbers::default(), test);
    }

    fn hand_over(&self, ledger: &mut Ledger<'_>, run: Run, numbers: Numbers, test: &TestEnded) {
        let place = self.units.place(&run.test);
        ledger.record_shared(run, numbers, place.map_or(Place::Nowhere, Place::At), None, false);
        let message = test.outcome.message.as_ref().filter(|_| !test.outcome.passed);
        if let (Some(at), Some(message)) = (place, message) {
            ledger.report_mut(at).output = Some(message.clone().into_bytes());
        }
    }
}

/// What pytest keeps for its next run, byte code, and the plugin itself.
fn is_own(session: &Path, path: &Path) -> bool {
    path.starts_with(session) || is_in_cache(path) || path.iter().any(|part| part == "__pycache__")
}

/// What pytest keeps for its next run. What tests and plugins keep there by `config.cache` is theirs.
pub(crate) fn is_in_cache(path: &Path) -> bool {
    let mut parts = path.iter().skip_while(|part| *part != ".pytest_cache");
    let is_inside = parts.next().is_some();
    match parts.next().and_then(|part| part.to_str()) {
        Some("d") => parts.next().is_none(),
        Some("v") => parts.next().is_none_or(|key| key == "cache"),
        _ => is_inside,
    }
}

/// The file of coverage.py, and those that it puts together into it.
fn is_data(data: &Path, path: &Path) -> bool {
    let name = |path: &Path| path.file_name().map(|name| name.as_bytes().to_vec());
    let (Some(data_name), Some(name)) = (name(data), name(path)) else { return false };
    let rest = name.strip_prefix(data_name.as_slice());
    path.parent() == data.parent()
        && rest
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(b".") || rest.starts_with(b"-"))
}

fn run_of(key: TestKey, test: &TestEnded, ended: SystemTime) -> Run {
    let ended = ended.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as u64;
    Run {
        test: key,
        outcome: if test.outcome.passed { Outcome::Passed } else { Outcome::Failed(1) },
        started_ms: ended.saturating_sub(test.time.wall / 1000),
        wall_us: test.time.wall,
        cpu_us: 0,
        engine: "pytest".into(),
        observed: Vec::new(),
        taints: Vec::new(),
        notes: Vec::new(),
        left_behind: Vec::new(),
    }
}

/// Answers a process; one that is gone needs no answer.
fn answer(stream: &mut UnixStream, value: &impl serde::Serialize) {
    let Ok(text) = serde_json::to_vec(value) else { return };
    let length = (text.len() as u32).to_le_bytes();
    let _ = stream.write_all(&[&length[..], &text].concat());
}

/// The clock by which the kernel stamps files.
fn kernel_time() -> (i64, i64) {
    time_by(libc::CLOCK_REALTIME_COARSE)
}

fn time_by(clock: libc::clockid_t) -> (i64, i64) {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the clock writes to a timespec that is ours.
    let failed = unsafe { libc::clock_gettime(clock, &raw mut now) } != 0;
    if failed { (0, 0) } else { (now.tv_sec, now.tv_nsec) }
}

/// When a test ended that was reported just now, by the clock of its process, which tests can stop: a moment that is
/// still to come, or long ago, is none.
fn ended_at(microseconds: u64) -> SystemTime {
    const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);
    let (seconds, nanoseconds) = time_by(libc::CLOCK_MONOTONIC);
    let now = Duration::new(seconds as u64, nanoseconds as u32);
    let waited = now.checked_sub(Duration::from_micros(microseconds));
    let waited = waited.filter(|waited| *waited < LONGEST).unwrap_or_default();
    SystemTime::now().checked_sub(waited).unwrap_or_else(SystemTime::now)
}

impl Model for PytestModel {
    fn prepare(
        &mut self,
        services: &mut Services<'_, '_>,
        invocation: &mut Invocation,
    ) -> Result<Start> {
        let session = services.session;
        let began = kernel_time();
        self.root = services.ledger.project().root().to_path_buf();
        self.stamps = SourceStamps::new(&self.root, began);
        self.session = session.folder().to_path_buf();
        self.sources = Arc::new(Sources::new(&self.root));
        let root = self.root.canonicalize().unwrap_or_else(|_| self.root.clone());
        let parts = [session.library().into(), session.socket(), session.token().into(), root];
        let parts: Vec<OsString> = parts.map(PathBuf::into_os_string).into();
        let text = parts.join(std::ffi::OsStr::new("\n"));
        let folder = plugin_files::place(session.folder());
        plugin_files::add_to(&mut invocation.environment, &folder, text);
        if !runs_pytest(&invocation.words) {
            plugin_files::through_tox(&mut invocation.environment);
        }
        Ok(Start::Run)
    }

    fn covered(&self) -> Arc<dyn CoveredPaths + Send + Sync> {
        Arc::new(ProjectSources(self.root.clone()))
    }

    fn connected(
        &mut self,
        services: &mut Services<'_, '_>,
        _: Option<usize>,
        hello: Hello,
        answers: UnixStream,
    ) {
        services.ledger.collected.launched += 1;
        if let Some(why) = Greeting::read(&hello.payload.0).kept_out {
            services.ledger.collected.refused = true;
            let warning =
                "WARNING: a pytest in which no test is distinguished, so all its tests run";
            return self.remark(services, format!("{warning}: {why}"));
        }
        self.hosts.insert(hello.pid, Host::new(answers));
    }

    fn message(&mut self, services: &mut Services<'_, '_>, pid: u32, message: FromProcess) {
        match message {
            FromProcess::Payload(payload) => self.payload(services, pid, &payload.0),
            FromProcess::Trouble(why) => {
                if let Some(host) = self.hosts.get_mut(&pid) {
                    host.trouble.get_or_insert(why);
                }
            }
            FromProcess::Hello(_) | FromProcess::Began(_) | FromProcess::Ended(_) => {}
            FromProcess::Bye => {}
        }
    }

    fn gone(&mut self, _: &mut Services<'_, '_>, _: u32) {}

    fn window(&mut self, services: &mut Services<'_, '_>, window: WindowEnded) {
        match window {
            WindowEnded::Outside { host, observations, undecided } => {
                let pool = services.ledger.pool();
                if let Some(host) = self.hosts.get_mut(&host) {
                    host.windows.add_outside(pool, observations);
                    host.windows.add_outside(pool, undecided);
                }
            }
            WindowEnded::Unit { host: pid, test, mut observations, mut openings, children } => {
                let Some(host) = self.hosts.get_mut(&pid) else { return };
                for child in children {
                    add(&mut observations, child.undecided);
                    openings.extend(child.openings);
                }
                let pool = services.ledger.pool();
                host.windows.add(pool, test, observations);
                host.windows.last = host.windows.last.max(test);
                host.openings.push((test, openings));
                host.settle(&self.root, pool);
                self.record_finished(services.ledger, pid, false);
            }
        }
    }

    fn idle(&mut self, services: &mut Services<'_, '_>) {
        self.record_ready(services.ledger, true);
    }

    fn finish(mut self: Box<Self>, services: &mut Services<'_, '_>) {
        let hosts: Vec<u32> = self.hosts.keys().copied().collect();
        for host in hosts {
            self.record_finished(services.ledger, host, true);
        }
        self.record_ready(services.ledger, true);
        services.ledger.keep_messages();
        self.keep_covers(services.ledger);
        left::keep(services.ledger, &self.beside.left);
        self.keep_collections(services.ledger);
    }
}

fn add(all: &mut Observations, more: Observations) {
    all.observed.extend(more.observed);
    all.taints.extend(more.taints);
}

/// Sources of the project, which count by their functions.
struct ProjectSources(PathBuf);

impl CoveredPaths for ProjectSources {
    fn cover(&self, path: &[u8]) -> Cover {
        let name = Path::new(std::ffi::OsStr::from_bytes(path));
        let is_source = path.ends_with(b".py") && name.starts_with(&self.0);
        let below = name.strip_prefix(&self.0).unwrap_or(name);
        match is_source && !below.iter().any(is_installed) {
            true => Cover::Counted,
            false => Cover::None,
        }
    }
}

/// Libraries inside of the project's folder; the plugin has the same rule (`_tamis_watch.py`).
fn is_installed(part: &std::ffi::OsStr) -> bool {
    let part = part.as_bytes();
    part.ends_with(b"-packages") || part.starts_with(b"python3")
}

#[cfg(test)]
mod tests {
    use super::is_in_cache;
    use std::path::Path;

    #[test]
    fn what_tests_keep_in_the_cache_is_theirs() {
        let own = ["", "CACHEDIR.TAG", "v", "v/cache", "v/cache/lastfailed", "d"];
        let theirs = ["v/mine", "v/mine/value", "d/files"];
        let is_own = |rest: &&str| is_in_cache(&Path::new("a/.pytest_cache").join(rest));
        assert!(own.iter().all(is_own) && !theirs.iter().any(is_own));
        assert!(!is_in_cache(Path::new("v/cache/lastfailed")));
    }
}
