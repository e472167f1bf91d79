//! The model for languages whose units begin, end, and report facts about themselves.
//!
//! The front end lists its units before the command starts, or when a process asks; each unit is decided
//! about once. A process connects, says which unit begins and ends, and may send payloads in between,
//! from which its [`ProcessModel`] makes the evidence of a unit. With the files that the tracer saw, that
//! is the unit's record. A process that says that something went wrong, or that goes away without a
//! goodbye, leaves the records of its open units incomplete or unwritten: they run again.

use crate::command::{Invocation, Start};
use crate::join::{Joiner, Seen};
use crate::joined::JoinedObservations;
use crate::ledger::{Ledger, NOT_COLLECTED, Place, proof_of};
use crate::model::{Model, Services};
use crate::planner::PlannedUnit;
use crate::scope::KnownScope;
use anyhow::Result;
use std::collections::{HashMap, HashSet};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};
use tamis_core::record::Run;
use tamis_core::{Outcome, PortablePath, Question, Taint, TestKey, Unit, Value};
use tamis_observe::{CoveredPaths, Observations, WindowEnded};
use tamis_project::{Project, given};
use tamis_report::human;
use tamis_wire::{Ended, FromProcess, Hello, Payload, Verdict};

/// What a front end adds to [`UsualModel`].
pub trait Language: Send {
    /// How its records were observed, in one word.
    fn engine(&self) -> &'static str;

    /// Before the command starts: decides what can be decided ([`Units::decide`]), and changes words and
    /// environment so that the processes connect.
    fn prepare(
        &mut self,
        services: &mut Services<'_, '_>,
        units: &mut Units,
        invocation: &mut Invocation,
    ) -> Result<Start>;

    /// What its processes report in more detail than the tracer.
    fn covered(&self) -> Arc<dyn CoveredPaths + Send + Sync>;

    /// The scope and the model of a process that connected; why there is none.
    fn process(&mut self, hello: &Hello) -> Result<Process, String>;

    /// Looks whether what units are made of is still as it was when they were decided about, so that what
    /// ended can be recorded. `None`: later, not to spend more on looking than on tests; at the end
    /// (`last`) there is no later.
    fn confirm(&mut self, project: &Project, last: bool) -> Option<Confirmed>;

    /// Whether the tool itself writes or reads this for its own purposes.
    fn is_tools_own(&self, _: &Project, _: &PortablePath) -> bool {
        false
    }

    /// Everything was reported.
    fn finish(&mut self, _: &mut Services<'_, '_>, _: &Units) {}
}

/// What a look at the sources of units says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Confirmed {
    /// Units that may have been made of something else than what was fingerprinted.
    pub changed: HashSet<Unit>,
}

/// A process that runs units.
pub struct Process {
    pub scope: Arc<dyn KnownScope>,
    pub model: Box<dyn ProcessModel>,
}

impl std::fmt::Debug for Process {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Process").field("scope", &self.scope).finish_non_exhaustive()
    }
}

/// What a process reports, made into evidence.
pub trait ProcessModel: Send {
    /// The unit that a name of the runner means.
    fn unit(&self, name: &str) -> Unit;

    /// A payload, in order. What cannot be understood leaves everything later incomplete.
    fn payload(
        &mut self,
        _: &mut Services<'_, '_>,
        _: &mut Units,
        _: &Payload,
        _answers: &mut UnixStream,
    ) -> Result<(), String> {
        Err("it sent a message that is not known".into())
    }

    /// What a unit that ended depends on, besides the files that the tracer saw.
    fn ended(&mut self, test: u32, unit: &Unit) -> UnitEvidence;
}

/// What a unit depends on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UnitEvidence {
    pub facts: Vec<(Arc<str>, Value)>,
    /// Why it is not all.
    pub incomplete: Option<String>,
}

/// The units that were decided about, with the places of their reports.
#[derive(Debug, Default)]
pub struct Units {
    places: HashMap<TestKey, usize>,
}

impl Units {
    /// Decides about units of one scope; whether each has to run.
    pub fn decide(
        &mut self,
        ledger: &mut Ledger<'_>,
        scope: &Arc<dyn KnownScope>,
        units: &[Unit],
    ) -> Result<Vec<bool>> {
        let plan = ledger.plan(scope, units)?;
        for remark in plan.remarks {
            ledger.remark(remark);
        }
        let mut run = Vec::with_capacity(units.len());
        let mut proofs = Vec::new();
        let mut left_out = 0;
        for planned in plan.units {
            let PlannedUnit::Decided(planned, _) = planned else {
                left_out += usize::from(matches!(planned, PlannedUnit::NotAskedFor));
                run.push(false);
                continue;
            };
            run.push(planned.decision.is_run());
            proofs.extend(proof_of(&planned));
            let at = ledger.add_planned(&planned);
            self.places.insert(planned.key.clone(), at);
        }
        ledger.rely_on(proofs, |_| true);
        ledger.collected.left_out += left_out;
        self.remark_how_many(ledger, scope.as_ref(), &run, left_out);
        Ok(run)
    }

    fn remark_how_many(
        &self,
        ledger: &Ledger<'_>,
        scope: &dyn KnownScope,
        run: &[bool],
        left_out: usize,
    ) {
        let (all, run) = (run.len(), run.iter().filter(|run| **run).count());
        let number = |n: usize| human::number(n as u64);
        let asked = match left_out {
            0 => String::new(),
            _ => format!("; {} were not asked for", number(left_out)),
        };
        if all > 0 {
            let (run, all) = (number(run), number(all));
            ledger.remark(format!("{}: {run} of {all} need to run{asked}", scope.scope()));
        }
    }

    /// Where the report of a unit is.
    pub fn place(&self, key: &TestKey) -> Option<usize> {
        self.places.get(key).copied()
    }

    pub fn iter(&self) -> impl Iterator<Item = (&TestKey, usize)> {
        self.places.iter().map(|(key, at)| (key, *at))
    }
}

/// A model for commands of a [`Language`].
pub struct UsualModel<L> {
    language: L,
    units: Units,
    hosts: HashMap<u32, Host>,
    joiner: Joiner<EndedUnit>,
    /// Units of which all is known, and which wait to be confirmed.
    waiting: Vec<(u32, EndedUnit, Option<Seen>)>,
}

struct Host {
    process: Process,
    answers: UnixStream,
    open: HashMap<u32, (Unit, SystemTime)>,
    /// Why nothing is complete from here on.
    trouble: Option<String>,
}

/// A unit as its process reported it.
struct EndedUnit {
    key: TestKey,
    began: SystemTime,
    ended: Ended,
    evidence: UnitEvidence,
}

impl<L> std::fmt::Debug for UsualModel<L> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("UsualModel").field("units", &self.units).finish_non_exhaustive()
    }
}

impl<L: Language> UsualModel<L> {
    pub fn new(language: L) -> Self {
        Self {
            language,
            units: Units::default(),
            hosts: HashMap::new(),
            joiner: Joiner::default(),
            waiting: Vec::new(),
        }
    }

    fn ended(&mut self, services: &mut Services<'_, '_>, pid: u32, ended: Ended) {
        let Some(host) = self.hosts.get_mut(&pid) else { return };
        let Some((unit, began)) = host.open.remove(&ended.test) else {
            return self.joiner.is_no_unit(pid, ended.test);
        };
        let mut evidence = host.process.model.ended(ended.test, &unit);
        evidence.incomplete = evidence.incomplete.or_else(|| host.trouble.clone());
        let key = host.process.scope.key(unit);
        let test = ended.test;
        let report = EndedUnit { key, began, ended, evidence };
        if !services.ledger.options().collect {
            return self.ended_unobserved(services.ledger, &report);
        }
        if let Some((report, seen)) = self.joiner.reported(pid, test, report) {
            self.waiting.push((pid, report, Some(seen)));
            self.record_confirmed(services.ledger, false);
        }
    }

    /// Records what waits, if it can be confirmed now.
    fn record_confirmed(&mut self, ledger: &mut Ledger<'_>, last: bool) {
        if self.waiting.is_empty() {
            return;
        }
        let Some(confirmed) = self.language.confirm(ledger.project(), last) else { return };
        for (host, mut report, seen) in std::mem::take(&mut self.waiting) {
            if confirmed.changed.contains(&report.key.unit) {
                ledger.collected.changed += 1;
                let why = "what it is built from changed while it was built or ran";
                report.evidence.incomplete.get_or_insert_with(|| why.to_owned());
            }
            self.record(ledger, host, report, seen);
        }
    }

    /// Nothing is recorded of a unit that passed. One that did not must not be skipped on an older
    /// record.
    fn ended_unobserved(&self, ledger: &mut Ledger<'_>, report: &EndedUnit) {
        let passed = report.ended.verdict == Verdict::Passed;
        if passed && !ledger.options().failed_before(&report.key) {
            if let Some(at) = self.units.place(&report.key) {
                ledger.report_outcome(at, true, report.ended.wall_us);
            }
            return;
        }
        let mut run = self.run_of(report);
        run.taints.push(Taint::Unobserved(NOT_COLLECTED.into()));
        self.hand_over(ledger, run);
    }

    fn run_of(&self, report: &EndedUnit) -> Run {
        let started = report.began.duration_since(UNIX_EPOCH).unwrap_or_default();
        Run {
            test: report.key.clone(),
            outcome: match report.ended.verdict {
                Verdict::Passed => Outcome::Passed,
                Verdict::Failed => Outcome::Failed(1),
            },
            started_ms: started.as_millis() as u64,
            wall_us: report.ended.wall_us,
            cpu_us: 0,
            engine: self.language.engine().into(),
            observed: Vec::new(),
            taints: Vec::new(),
            notes: Vec::new(),
            left_behind: Vec::new(),
        }
    }

    fn record(&self, ledger: &mut Ledger<'_>, host: u32, report: EndedUnit, seen: Option<Seen>) {
        let mut run = self.run_of(&report);
        let mut joined = JoinedObservations::default();
        joined.add(ledger.surroundings().iter().cloned());
        let facts = report.evidence.facts.into_iter();
        joined.add(facts.map(|(fact, value)| given(Question::Fact(fact), value)));
        joined.taints.extend(report.evidence.incomplete.map(Taint::Unobserved));
        let own = seen.as_ref().map(|seen| &seen.observations);
        for files in own.into_iter().chain(self.joiner.outside(host)) {
            joined.add(files.observed.iter().cloned());
            joined.taints.extend(files.taints.iter().cloned());
        }
        joined.forget(|path| self.language.is_tools_own(ledger.project(), path));
        match own {
            Some(files) => {
                run.notes.clone_from(&files.notes);
                run.left_behind.clone_from(&files.left_behind);
            }
            None => {
                let why = "the tracer did not see where it began and ended";
                joined.taints.insert(Taint::Unobserved(why.into()));
            }
        }
        run.observed = joined.observed;
        run.taints = joined.taints.into_iter().collect();
        self.hand_over(ledger, run);
    }

    fn hand_over(&self, ledger: &mut Ledger<'_>, run: Run) {
        let place = self.units.place(&run.test).map_or(Place::Nowhere, Place::At);
        ledger.record(run, place, None, false);
    }
}

impl<L: Language> Model for UsualModel<L> {
    fn prepare(
        &mut self,
        services: &mut Services<'_, '_>,
        invocation: &mut Invocation,
    ) -> Result<Start> {
        self.language.prepare(services, &mut self.units, invocation)
    }

    fn covered(&self) -> Arc<dyn CoveredPaths + Send + Sync> {
        self.language.covered()
    }

    fn connected(
        &mut self,
        services: &mut Services<'_, '_>,
        _: Option<usize>,
        hello: Hello,
        answers: UnixStream,
    ) {
        services.ledger.collected.launched += 1;
        match self.language.process(&hello) {
            Ok(process) => {
                let host = Host { process, answers, open: HashMap::new(), trouble: None };
                self.hosts.insert(hello.pid, host);
            }
            Err(why) => {
                services.ledger.collected.refused = true;
                services.ledger.remark(format!("{why}: its tests run and none is recorded"));
            }
        }
    }

    fn message(&mut self, services: &mut Services<'_, '_>, pid: u32, message: FromProcess) {
        if let FromProcess::Ended(ended) = message {
            return self.ended(services, pid, ended);
        }
        let Some(host) = self.hosts.get_mut(&pid) else { return };
        match message {
            FromProcess::Began(began) => {
                let unit = host.process.model.unit(&began.name);
                services.ledger.runs_in(pid, host.process.scope.key(unit.clone()));
                host.open.insert(began.test, (unit, SystemTime::now()));
            }
            FromProcess::Payload(payload) => {
                let model = &mut host.process.model;
                let taken = model.payload(services, &mut self.units, &payload, &mut host.answers);
                if let Err(why) = taken {
                    host.trouble.get_or_insert(why);
                }
            }
            FromProcess::Trouble(why) => drop(host.trouble.get_or_insert(why)),
            FromProcess::Hello(_) | FromProcess::Ended(_) | FromProcess::Bye => {}
        }
    }

    fn gone(&mut self, _: &mut Services<'_, '_>, pid: u32) {
        self.hosts.remove(&pid);
    }

    fn window(&mut self, services: &mut Services<'_, '_>, window: WindowEnded) {
        match window {
            WindowEnded::Outside { host, observations, undecided } => {
                self.joiner.add_outside(host, observations);
                self.joiner.add_outside(host, undecided);
            }
            WindowEnded::Unit { host, test, mut observations, openings, children } => {
                for child in children {
                    add(&mut observations, child.undecided);
                }
                let both = self.joiner.seen(host, test, observations, openings);
                if let Some((report, seen)) = both {
                    self.waiting.push((host, report, Some(seen)));
                    self.record_confirmed(services.ledger, false);
                }
            }
        }
    }

    fn idle(&mut self, services: &mut Services<'_, '_>) {
        self.record_confirmed(services.ledger, false);
    }

    fn finish(mut self: Box<Self>, services: &mut Services<'_, '_>) {
        let without_files = self.joiner.without_files().into_iter();
        self.waiting.extend(without_files.map(|(host, report)| (host, report, None)));
        self.record_confirmed(services.ledger, true);
        self.language.finish(services, &self.units);
    }
}

fn add(all: &mut Observations, more: Observations) {
    all.observed.extend(more.observed);
    all.taints.extend(more.taints);
}
