//! Decisions, reports and records of the units of one command.
//!
//! Records are written together, a few at once and at most a second late: one by one, a command with
//! hundreds of units would read the store hundreds of times. A unit that runs more than once in one
//! command has one record with everything, which did not pass if any of its runs did not.

use crate::command::CommandContext;
use crate::joined::together;
use crate::options::{SessionOptions, mark_flaky};
use crate::planner::{Plan, Planner, Request};
use crate::pool::Pool;
use crate::scope::KnownScope;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tamis_core::record::{Numbers, Observed, ProofId, Run};
use tamis_core::{
    Cause, Decision, Notices, Outcome, Planned, Question, RecordId, Step, TestKey, Unit,
};
use tamis_project::{NoScopes, Project, World};
use tamis_report::{Reruns, TestReport};
use tamis_store::{Store, StoreError};

/// Records with a list of their own that are written together.
const AT_ONCE: usize = 64;

/// Records that are written together, where what they have in common is looked up once.
const SHARED_AT_ONCE: usize = 256;

/// How long records wait at most.
const WAIT_AT_MOST: Duration = Duration::from_secs(1);

/// Why a run without observation is no proof.
pub const NOT_COLLECTED: &str = "it ran without being observed";

/// What a session was.
#[derive(Debug, Default)]
pub struct Collected {
    pub reports: Vec<TestReport>,
    /// What the records have that units were skipped on, and what the front end relies on besides.
    pub relied_on: Vec<Observed>,
    /// Records among them that could not be read again: the command relies on something unknown.
    pub unread: usize,
    /// The newest record of each unit of this command, where it was written.
    pub written: HashMap<TestKey, RecordId>,
    /// Scopes that were seen.
    pub scopes: usize,
    /// A graph decided about units.
    pub by_graph: bool,
    /// Units that the user did not ask for, and nothing proves.
    pub left_out: usize,
    /// Processes that connected by themselves.
    pub launched: usize,
    /// Tests were seen that could not be distinguished, which was reported.
    pub refused: bool,
    /// Units whose sources changed while the command ran: what it did is not what it would do now, also where
    /// it made the change itself.
    pub changed: usize,
    /// Which process each unit began in, in the order of their beginnings.
    pub ran_in: Vec<(u32, TestKey)>,
    /// Names of the tests in a unit that did not pass, where its tool reports them.
    pub failed_parts: HashMap<TestKey, Vec<String>>,
}

/// Where the report of a record stands.
#[derive(Debug, Clone, Copy)]
pub enum Place {
    /// There is none: nothing was decided about it.
    Nowhere,
    /// The unit's own.
    At(usize),
    /// A part of the unit with this report gets a report of its own.
    PartOf(usize),
}

#[derive(Debug)]
pub struct Ledger<'e> {
    project: &'e Project,
    options: &'e SessionOptions,
    command: &'e CommandContext,
    planner: &'e dyn Planner,
    notices: &'e dyn Notices,
    store: Option<Store>,
    /// What counts for every unit.
    surroundings: Vec<Observed>,
    runs: Runs,
    waiting: Waiting,
    /// Reports of units whose parts have reports of their own.
    replaced_by_parts: HashSet<usize>,
    pub collected: Collected,
}

/// The units that ran in this command.
#[derive(Debug, Default)]
struct Runs {
    /// What they have in common.
    pool: Pool,
    last: HashMap<TestKey, Ran>,
    /// How often those ran that ran more than once.
    repeated: HashMap<TestKey, Reruns>,
}

/// A unit that ran in this command. What it observed is in its own list, or numbers in the pool.
#[derive(Debug)]
struct Ran {
    run: Run,
    numbers: Option<Numbers>,
}

impl Ran {
    /// With a list of its own.
    fn alone(self, pool: &Pool) -> Run {
        let Self { mut run, numbers } = self;
        run.observed.extend(numbers.iter().flat_map(|numbers| pool.observed(numbers)));
        run
    }

    fn inputs(&self) -> usize {
        self.run.observed.len() + self.numbers.as_ref().map_or(0, Numbers::len)
    }
}

/// Records that wait to be written, with the positions of their reports.
#[derive(Debug)]
struct Waiting {
    own: Vec<(Run, Option<usize>)>,
    shared: Vec<((Run, Numbers), Option<usize>)>,
    since: Instant,
}

impl<'e> Ledger<'e> {
    pub fn new(
        project: &'e Project,
        options: &'e SessionOptions,
        command: &'e CommandContext,
        planner: &'e dyn Planner,
        notices: &'e dyn Notices,
    ) -> Self {
        // The units of a session know their scope.
        let world = World::new(project, &NoScopes);
        let mut surroundings = world.surroundings(&[]);
        surroundings.extend(world.globs(&command.run_all_on));
        Self {
            project,
            options,
            command,
            planner,
            notices,
            store: None,
            surroundings,
            runs: Runs::default(),
            waiting: Waiting { own: Vec::new(), shared: Vec::new(), since: Instant::now() },
            replaced_by_parts: HashSet::new(),
            collected: Collected::default(),
        }
    }

    pub fn project(&self) -> &'e Project {
        self.project
    }

    pub fn options(&self) -> &'e SessionOptions {
        self.options
    }

    pub fn command(&self) -> &'e CommandContext {
        self.command
    }

    pub fn notices(&self) -> &'e dyn Notices {
        self.notices
    }

    pub fn remark(&self, text: impl Into<String>) {
        self.notices.remark(text.into());
    }

    /// What counts for every unit: environment, settings, globs of the suite.
    pub fn surroundings(&self) -> &[Observed] {
        &self.surroundings
    }

    /// Opened when it is first needed.
    pub fn store(&mut self) -> Option<&Store> {
        if self.store.is_none() {
            self.store = self.project.open_store(self.notices);
        }
        self.store.as_ref()
    }

    /// The store if it was needed so far.
    pub fn opened_store(&self) -> Option<&Store> {
        self.store.as_ref()
    }

    /// Decides about units that are about to run.
    pub fn plan(&mut self, scope: &Arc<dyn KnownScope>, units: &[Unit]) -> anyhow::Result<Plan> {
        self.store();
        self.write_records();
        self.planner.plan(Request {
            store: self.store.as_ref(),
            scope,
            units,
            demand: &self.command.demand,
            choice: self.command.choice.as_deref(),
            options: self.options,
        })
    }

    /// Takes up a decision into the reports; gives the place of its report.
    pub fn add_planned(&mut self, planned: &Planned) -> usize {
        self.notices.step(Step::Decided(planned));
        self.add_report(TestReport::of(planned))
    }

    pub fn add_report(&mut self, report: TestReport) -> usize {
        self.collected.reports.push(report);
        self.collected.reports.len() - 1
    }

    pub fn report(&self, at: usize) -> &TestReport {
        &self.collected.reports[at]
    }

    pub fn report_mut(&mut self, at: usize) -> &mut TestReport {
        &mut self.collected.reports[at]
    }

    /// A unit that its record lets be skipped runs after all; whether there is such a one.
    pub fn run_after_all(&mut self, at: usize, why: String) -> bool {
        let report = &mut self.collected.reports[at];
        let is_skipped = matches!(report.decision, Decision::Skip { .. });
        if is_skipped {
            let decision = Decision::Run(Cause::Effect(why.clone()));
            *report = TestReport::new(report.key.clone(), decision, why);
        }
        is_skipped
    }

    /// Whether a unit ran before in this command.
    pub fn has_run(&self, key: &TestKey) -> bool {
        self.runs.last.contains_key(key)
    }

    /// The command as a whole now relies on what the skipped units had looked at: files, and those facts
    /// that are not covered by files of the front end's own.
    pub fn rely_on(
        &mut self,
        skipped: impl IntoIterator<Item = (RecordId, ProofId)>,
        fact: impl Fn(&str) -> bool,
    ) {
        let Some(store) = &self.store else { return };
        for (record, proof) in skipped {
            let Ok(Some(stored)) = store.record(record) else {
                self.collected.unread += 1;
                continue;
            };
            let found = stored.proofs.first() == Some(&proof);
            for mut observed in stored.run.observed {
                let counts = match &observed.question {
                    Question::Path(..) => true,
                    Question::Fact(name) => fact(name),
                    _ => false,
                };
                if counts {
                    if let (false, Some(after)) = (found, observed.after) {
                        observed.before = after;
                    }
                    observed.after = None;
                    self.collected.relied_on.push(observed);
                }
            }
        }
    }

    /// A unit began, or what is known of it last came, in a process.
    pub fn runs_in(&mut self, process: u32, key: TestKey) {
        self.collected.ran_in.push((process, key));
    }

    /// Whether nothing of this call is kept.
    pub fn is_trial(&self) -> bool {
        self.options.trial.is_some()
    }

    /// The end of a unit that is not recorded.
    pub fn report_outcome(&mut self, at: usize, passed: bool, wall_us: u64) {
        let report = &mut self.collected.reports[at];
        let failed = report.failed() || !passed;
        report.outcome = Some(if failed { Outcome::Failed(1) } else { Outcome::Passed });
        self.notices.step(Step::Ended(&report.key, !failed));
        report.span.length += Duration::from_micros(wall_us);
    }

    /// What units have in common: numbers in it are for [`Ledger::record_shared`].
    pub fn pool(&mut self) -> &mut Pool {
        &mut self.runs.pool
    }

    /// Records a run of a unit. `retries`: its runner tries failed tests again by itself.
    /// `own` is what was decided about a part.
    pub fn record(&mut self, run: Run, place: Place, own: Option<TestReport>, retries: bool) {
        self.record_run(Ran { run, numbers: None }, place, own, retries);
    }

    /// The same where the observations are in the pool, no two of one question; the run's own list is empty.
    pub fn record_shared(
        &mut self,
        run: Run,
        numbers: Numbers,
        place: Place,
        own: Option<TestReport>,
        retries: bool,
    ) {
        self.record_run(Ran { run, numbers: Some(numbers) }, place, own, retries);
    }

    fn record_run(&mut self, ran: Ran, place: Place, own: Option<TestReport>, retries: bool) {
        let ran = match self.runs.last.remove(&ran.run.test) {
            Some(earlier) => {
                let (earlier, run) = (earlier.alone(&self.runs.pool), ran.alone(&self.runs.pool));
                Ran { run: self.once_more(earlier, run), numbers: None }
            }
            None => ran,
        };
        let run = &ran.run;
        let mut written = run.clone();
        if let Some(earlier) = &self.options.earlier {
            earlier.mark(&mut written);
        }
        // A runner that tries again by itself shows the same.
        let repeated = self.runs.repeated.get(&run.test).copied();
        let repeated = repeated.filter(|r| retries && r.failed < r.runs && !run.outcome.passed());
        if let Some(reruns) = repeated {
            mark_flaky(&mut written, run.outcome, reruns);
        }
        let at = self.place(run, place, own);
        if let Some(at) = at {
            self.fill_report(at, &ran, repeated);
        }
        self.notices.step(Step::Ended(&run.test, run.outcome.passed()));
        if self.is_trial() {
            self.runs.last.insert(ran.run.test.clone(), ran);
            return;
        }
        match ran.numbers.clone() {
            None => self.waiting.own.push((written, at)),
            Some(numbers) => self.waiting.shared.push(((written, numbers), at)),
        }
        self.runs.last.insert(ran.run.test.clone(), ran);
        let waiting = &self.waiting;
        if waiting.own.len() >= AT_ONCE || waiting.shared.len() >= SHARED_AT_ONCE {
            self.write_records();
        }
    }

    fn once_more(&mut self, earlier: Run, run: Run) -> Run {
        let first = Reruns { runs: 1, failed: u32::from(!earlier.outcome.passed()) };
        let counts = self.runs.repeated.entry(run.test.clone()).or_insert(first);
        counts.runs += 1;
        counts.failed += u32::from(!run.outcome.passed());
        together(earlier, run)
    }

    fn place(&mut self, run: &Run, place: Place, own: Option<TestReport>) -> Option<usize> {
        match place {
            Place::Nowhere => None,
            Place::At(at) => {
                self.replaced_by_parts.remove(&at);
                Some(at)
            }
            Place::PartOf(whole) => {
                // What is decided about a unit that runs as a whole goes for each of its parts.
                let around = &self.collected.reports[whole];
                let report = own.unwrap_or_else(|| {
                    let reason = around.reason.clone();
                    TestReport::new(run.test.clone(), around.decision.clone(), reason)
                });
                self.replaced_by_parts.insert(whole);
                Some(self.add_report(report))
            }
        }
    }

    fn fill_report(&mut self, at: usize, ran: &Ran, reruns: Option<Reruns>) {
        let run = &ran.run;
        let recorded = self.store.as_ref().is_some_and(|store| store.read_only().is_none());
        let report = &mut self.collected.reports[at];
        report.ended(run);
        report.reruns = reruns;
        report.inputs = recorded.then(|| ran.inputs() as u64);
        report.taints = tamis_core::taints::lines(&run.taints);
        report.notes = run.notes.iter().map(ToString::to_string).collect();
    }

    /// The report of a unit is shown although its parts have reports of their own.
    pub fn show_whole(&mut self, at: usize) {
        self.replaced_by_parts.remove(&at);
    }

    /// Keeps the message of a unit that did not pass, and drops that of one that did. What passes at the
    /// second try keeps what it reported at the first.
    pub fn keep_message(&self, at: usize) {
        if self.is_trial() {
            return;
        }
        let report = &self.collected.reports[at];
        let again = self.options.failed_before(&report.key);
        if report.outcome.is_some() && (report.failed() || !again) {
            crate::messages::keep(self.store.as_ref(), report);
        }
    }

    /// The same of all units, now that everything was reported.
    pub fn keep_messages(&mut self) {
        self.write_records();
        (0..self.collected.reports.len()).for_each(|at| self.keep_message(at));
    }

    /// Writes the records that have waited long enough.
    pub fn write_if_due(&mut self) {
        if self.waiting.since.elapsed() > WAIT_AT_MOST {
            self.write_records();
        }
    }

    /// Writes the records that wait.
    pub fn write_records(&mut self) {
        self.waiting.since = Instant::now();
        let (runs, reports): (Vec<_>, Vec<_>) = self.waiting.shared.drain(..).unzip();
        if !runs.is_empty() {
            let store = self.store.as_ref();
            let written = store.map(|store| store.append_shared(self.runs.pool.all(), &runs));
            let keys = runs.into_iter().map(|(run, _)| run.test).collect();
            self.have_written(keys, &reports, written);
        }
        // Behind those above: what ran more than once has a list of its own from then on.
        let (runs, reports): (Vec<_>, Vec<_>) = self.waiting.own.drain(..).unzip();
        if !runs.is_empty() {
            let written = self.store.as_ref().map(|store| store.append_many(&runs));
            let keys = runs.into_iter().map(|run: Run| run.test).collect();
            self.have_written(keys, &reports, written);
        }
    }

    fn have_written(
        &mut self,
        keys: Vec<TestKey>,
        reports: &[Option<usize>],
        written: Option<Result<Vec<RecordId>, StoreError>>,
    ) {
        match written {
            Some(Ok(ids)) => self.collected.written.extend(keys.into_iter().zip(ids)),
            Some(Err(error)) => {
                let which = match keys.as_slice() {
                    [one] => format!("{one} was"),
                    many => format!("{} and {} more were", many[0], many.len() - 1),
                };
                self.notices.warn(format!("{which} not recorded: {error}"));
                for report in reports.iter().copied().flatten() {
                    self.collected.reports[report].inputs = None;
                }
            }
            None => {}
        }
    }

    /// The record of a unit that ran in this command, if it passed and was written.
    pub fn passed_record(&self, key: &TestKey) -> Option<RecordId> {
        let passed = self.runs.last.get(key).is_some_and(|ran| ran.run.outcome.passed());
        self.collected.written.get(key).copied().filter(|_| passed)
    }

    /// Everything was reported.
    pub fn finish(mut self) -> Collected {
        self.write_records();
        let mut at = 0..;
        let replaced = &self.replaced_by_parts;
        self.collected.reports.retain(|_| !at.next().is_some_and(|n| replaced.contains(&n)));
        self.collected
    }
}

/// The proof that a decision to skip rests on.
pub fn proof_of(planned: &Planned) -> Option<(RecordId, ProofId)> {
    match planned.decision {
        Decision::Skip { record, proof } => Some((record, proof)),
        _ => None,
    }
}
