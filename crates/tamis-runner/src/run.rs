//! Decides, runs what is selected, several tests at once, and reports.

use crate::call::Call;
use crate::cases::{self, Case};
use crate::checks;
use crate::collect_every;
use crate::engines::{self, Engines};
use crate::execute::{Ended, Executed, Job, Streams};
use crate::failures::{self, LeftOut};
use crate::isolation::{self, AllEnds, Place, Ran};
use crate::kept_runs;
use crate::plan;
use crate::rerun::{Failed, execute_and_rerun};
use crate::savings;
use crate::schedule::{self, Queue};
use anyhow::{Context as _, Result};
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant, SystemTime};
use tamis_core::record::Run;
use tamis_core::taints::{self, TaintGroup};
use tamis_core::{Note, Outcome, Planned, Taint, TestKey};
use tamis_project::{Project, World};
use tamis_report::isolation::Isolation;
use tamis_report::phases::Phase;
use tamis_report::{Event, Mode, RunReport, Shape, TestReport, exit};
use tamis_session::{SessionOptions, messages, names};
use tamis_settings::{Contact, NameFilter, Names};
use tamis_store::{GcPolicy, Store};

/// What `--failed` says where nothing is left of what failed.
pub(crate) const NO_FAILURE: &str = "nothing is known to fail now";

/// Decides, runs and reports; gives the exit code.
pub(crate) fn run(call: Call<'_>, cases: &[Case], shape: Shape, left_out: &LeftOut) -> Result<i32> {
    let checker = checks::wanted(call);
    let call = Call { check: checker.as_ref(), ..call };
    let deciding = Instant::now();
    let store = call.open_store();
    let world = cases::world(call, cases);
    let planned = plan::of_cases(call, store.as_ref(), &world, cases)?;
    call.times.add(Phase::Analyse, deciding);
    checks::say_tripped(call, store.as_ref());
    let (cases, planned) = asked_for(call, cases.to_vec(), planned);
    if cases.is_empty() && call.options.which.failed {
        call.remark(NO_FAILURE);
        return Ok(0);
    }
    let (cases, planned) = of_this_machine(call, store.as_ref(), cases, planned);
    let stop = stop_flag()?;
    let mut runner = Runner::new(call, store.as_ref(), shape, &planned);
    let selected = planned.iter().filter(|p| p.decision.is_run()).count();
    runner.collects = selected > 0 && collect_every::collects(call, &cases);
    runner.look_inside_skipped(&cases, &planned);
    let decided = runner.decided();
    let _ = call.reporters.emit(&Event::Planned { tests: &decided, mode: Mode::Run });
    if selected > 0 {
        let engines = runner.engines(&cases, &planned)?;
        runner.run_selected(&engines, &world, &cases, &planned, &stop)?;
    }
    runner.check_isolation(&world, &cases, &stop)?;
    let interrupted = stop.load(Ordering::Relaxed);
    runner.finish(&cases, left_out, Finished { interrupted, selected: selected > 0 })
}

/// With `--failed`, only tests that did not pass. Which units of a command failed is asked inside it.
fn asked_for(call: Call<'_>, cases: Vec<Case>, planned: Vec<Planned>) -> (Vec<Case>, Vec<Planned>) {
    if !call.options.which.failed || cases.iter().any(|case| case.claim.is_some()) {
        return (cases, planned);
    }
    let both = cases.into_iter().zip(planned);
    both.filter_map(|(case, planned)| Some((case, planned.if_failed()?))).unzip()
}

/// With `--shard`, without what has to run and is another machine's.
fn of_this_machine(
    call: Call<'_>,
    store: Option<&Store>,
    cases: Vec<Case>,
    planned: Vec<Planned>,
) -> (Vec<Case>, Vec<Planned>) {
    let Some(sharding) = &call.options.which.shard else { return (cases, planned) };
    if planned.iter().any(|planned| planned.decision.is_run()) {
        call.remark(sharding.how());
    }
    let mine = plan::mine(call, store, &cases, &planned);
    let both = cases.into_iter().zip(planned).zip(mine);
    both.filter(|(_, mine)| *mine).map(|(both, _)| both).unzip()
}

/// Set by the first Ctrl-C, SIGTERM or SIGHUP. The second one kills what is still there.
fn stop_flag() -> Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        if signal == libc::SIGHUP && is_ignored(signal) {
            continue;
        }
        let stop = Arc::clone(&stop);
        let asked = move || {
            if stop.swap(true, Ordering::Relaxed) {
                tamis_trace::hurry();
            }
        };
        // SAFETY: the handler only sets flags.
        unsafe { signal_hook::low_level::register(signal, asked) }
            .context("signals cannot be caught")?;
    }
    Ok(stop)
}

/// Whether tamis was started with a signal ignored: under nohup the end of the terminal stops nothing.
fn is_ignored(signal: libc::c_int) -> bool {
    // SAFETY: plain data, filled by the call, which changes nothing.
    unsafe {
        let mut now: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, std::ptr::null(), &raw mut now) == 0
            && now.sa_sigaction == libc::SIG_IGN
    }
}

struct Runner<'a> {
    call: Call<'a>,
    store: Option<&'a Store>,
    shape: Shape,
    reports: Vec<TestReport>,
    /// What could not be started, and the exit code for that.
    not_started: Option<(String, i32)>,
    recorded: bool,
    /// Why the last test that could not be recorded was not.
    not_recorded: Option<String>,
    /// Units that were distinguished inside commands, by the case that they are inside of.
    inside: BTreeMap<usize, Vec<TestReport>>,
    /// Whether what is observed is recorded.
    collects: bool,
    /// What the isolation of tests is checked on: the case, and how it ran.
    ran: Option<(usize, Ran)>,
    isolation: Option<Isolation>,
}

/// How a run ended.
struct Finished {
    interrupted: bool,
    /// Whether anything had to run.
    selected: bool,
}

/// What a worker reports.
enum News {
    Started(usize),
    /// It did not pass, and is tried again.
    Failed(usize, Box<Failed>),
    Ended(usize, Result<Executed>),
}

impl<'a> Runner<'a> {
    fn new(call: Call<'a>, store: Option<&'a Store>, shape: Shape, planned: &[Planned]) -> Self {
        Self {
            call,
            store,
            shape,
            reports: savings::reports_of(store, planned),
            not_started: None,
            recorded: false,
            not_recorded: None,
            inside: BTreeMap::new(),
            collects: false,
            ran: None,
            isolation: None,
        }
    }

    /// Made only now: what an engine needs (loading a program into the kernel, say) costs time. What a
    /// graph decides about is proven by no observation.
    fn engines(&self, cases: &[Case], planned: &[Planned]) -> Result<Engines> {
        if !self.collects || self.call.options.is_static() {
            return Ok(Engines::none());
        }
        let selected = cases.iter().zip(planned).filter(|(_, p)| p.decision.is_run());
        let tests: Vec<&Case> = selected.map(|(case, _)| case).collect();
        let failed = planned.iter().filter(|p| p.evidence.failed_before > 0);
        let failed = failed.map(|p| p.key.clone()).collect();
        let (asked, settings) = (self.call.options.engine, &self.call.project.settings);
        Engines::new(asked, settings, self.store, &tests, &failed, expected(planned, 1))
    }

    fn run_selected(
        &mut self,
        engines: &Engines,
        world: &World<'_>,
        cases: &[Case],
        planned: &[Planned],
        stop: &AtomicBool,
    ) -> Result<()> {
        let selected = planned.iter().filter(|p| p.decision.is_run()).count();
        let jobs = self.jobs().min(selected);
        let streams = self.streams(jobs);
        let (shape, collected) = (self.shape, streams == Streams::Collect);
        let expected = expected(planned, jobs);
        self.emit(&Event::Running { tests: selected, shape, collected, expected });
        let queue = Queue::new(schedule::order(planned, jobs), cases);
        let (send, news) = mpsc::channel();
        let call = self.call;
        let most_reruns =
            call.options.rerun_failed.unwrap_or(call.project.settings.flaky.rerun_failed);
        let mut session = call.options.session(self.collects);
        if !session.only.is_empty() {
            let known: Vec<Names> = known_tests(self.store).iter().map(names).collect();
            session.only.learn(&known);
        }
        // An item of a suite is one machine's as a whole.
        session.shared_out &= self.shape == Shape::Command;
        // Of an item that is asked for by its own name everything inside is.
        let whole = &SessionOptions { only: NameFilter::default(), ..session.clone() };
        let named = session.wanted(cases.iter().map(|case| &case.key));
        let (session, named, is_suite) = (&session, &named, self.shape == Shape::Suites);
        std::thread::scope(|scope| {
            for _ in 0..jobs {
                let (queue, send) = (&queue, send.clone());
                scope.spawn(move || {
                    while let Some(n) = queue.next(stop) {
                        let _ = send.send(News::Started(n));
                        let case = &cases[n];
                        let engine = engines.of(case);
                        let session = if is_suite && named[n] { whole } else { session };
                        let checked = planned[n].decision.is_checked();
                        let job =
                            Job { call, world, engine, case, streams, session, stop, checked };
                        let failed = |failed| drop(send.send(News::Failed(n, Box::new(failed))));
                        let result = execute_and_rerun(job, most_reruns, failed);
                        queue.done(n);
                        if send.send(News::Ended(n, result)).is_err() {
                            return;
                        }
                    }
                });
            }
            drop(send);
            self.listen(&news, cases, stop)
        })
    }

    fn jobs(&self) -> usize {
        let asked = self.call.options.jobs.or(self.call.project.settings.jobs);
        let jobs = asked.or_else(|| std::thread::available_parallelism().ok());
        jobs.map_or(1, NonZeroUsize::get)
    }

    fn streams(&self, jobs: usize) -> Streams {
        let output = self.call.options.output;
        match (self.shape, output.as_errors) {
            (Shape::Command, false) => Streams::Inherit,
            (Shape::Command, true) => Streams::InheritAsErrors,
            // A report with the output of failed tests needs it collected.
            (Shape::Suites, as_errors) if jobs > 1 || output.kept || as_errors => Streams::Collect,
            (Shape::Suites, _) => Streams::Through,
        }
    }

    /// Records and reports what the workers do, until all are done.
    fn listen(
        &mut self,
        news: &mpsc::Receiver<News>,
        cases: &[Case],
        stop: &AtomicBool,
    ) -> Result<()> {
        let mut failure = Ok(());
        loop {
            match news.recv_timeout(Duration::from_millis(100)) {
                Ok(News::Started(n)) => self.emit(&Event::Started { key: &cases[n].key }),
                Ok(News::Failed(n, failed)) => self.failed(&cases[n], &failed),
                Ok(News::Ended(n, Ok(executed))) => self.ended(n, &cases[n], executed),
                Ok(News::Ended(_, Err(error))) => {
                    // The engine does not work: no use in trying it on every other test.
                    stop.store(true, Ordering::Relaxed);
                    failure = failure.and(Err(error));
                }
                Err(RecvTimeoutError::Timeout) => self.emit(&Event::Tick),
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        self.emit(&Event::Stopped);
        failure
    }

    /// A closed terminal or pipe must not end the run.
    fn emit(&self, event: &Event<'_>) {
        let _ = self.call.reporters.emit(event);
    }

    /// A failure that is tried again is recorded like any other.
    fn failed(&mut self, case: &Case, failed: &Failed) {
        if !failed.ended.is_reported {
            self.record(&failed.ended.run);
        }
        if let Some(bytes) = failed.ended.output.as_deref() {
            self.show(&failed.ended);
            messages::save(self.store, &case.key, bytes);
        }
        self.call.remark(failed.next.clone());
    }

    /// Writes a record; whether there is one now.
    fn record(&mut self, run: &Run) -> bool {
        // A run that was not observed counts only if it did not pass: no older record may hide that.
        let counts = self.collects || !run.outcome.passed();
        let store = self.store.filter(|store| counts && store.read_only().is_none());
        let append = |store: &Store| self.call.times.measure(Phase::Collect, || store.append(run));
        let recorded = match store.map(append) {
            Some(Ok(_)) => true,
            Some(Err(error)) => {
                // What keeps one test from being recorded mostly keeps all of them.
                let error = error.to_string();
                if self.not_recorded.as_ref() != Some(&error) {
                    self.call.notices().warn(format!("{} was not recorded: {error}", run.test));
                }
                self.not_recorded = Some(error);
                false
            }
            None => false,
        };
        self.recorded |= recorded;
        recorded
    }

    fn ended(&mut self, n: usize, case: &Case, executed: Executed) {
        let mut ended = match executed {
            Executed::Ended(ended) => *ended,
            Executed::Interrupted => return,
            Executed::NotStarted(errno) => {
                let word = case.words.first().map(|w| w.to_string_lossy().into_owned());
                let (problem, code) = not_started(&word.unwrap_or_default(), errno);
                self.reports[n].notes = vec![problem.clone()];
                self.not_started = Some((problem, code));
                return;
            }
        };
        self.find_messages(case, &mut ended);
        let run = &ended.run;
        let recorded = ended.is_reported && self.recorded || !ended.is_reported && self.record(run);
        if let Some(store) = self.store.filter(|_| recorded) {
            engines::remember(store, run);
        }
        self.show(&ended);
        let notes = self.shown_notes(&run.notes);
        let report = &mut self.reports[n];
        report.ended(run);
        report.inputs = recorded.then_some(run.observed.len() as u64);
        report.taints = incomplete(&run.taints);
        report.notes = notes;
        report.reruns = ended.reruns;
        report.output = ended.failure_output.or(ended.output);
        messages::keep(self.store, report);
        if let Some(store) = self.store.filter(|_| recorded && run.outcome.passed()) {
            savings::keep_full_time(store, &case.key, report, &ended.inside);
        }
        self.emit(&Event::Finished { test: &self.reports[n], inside: &ended.inside });
        if self.call.options.isolation.is_some() && case.claim.is_some() {
            let inside = ended.inside.clone();
            let ran = AllEnds { inside, processes: ended.processes, parts: ended.failed_parts };
            self.ran = Some((n, Ran { ends: ran, written: ended.written }));
        }
        self.inside.entry(n).or_default().extend(ended.inside);
    }

    /// Runs some of the tests that ran again without the others.
    fn check_isolation(
        &mut self,
        world: &World<'_>,
        cases: &[Case],
        stop: &AtomicBool,
    ) -> Result<()> {
        let Some(option) = self.call.options.isolation else { return Ok(()) };
        let (n, ran) = self.ran.take().unwrap_or_default();
        if let Some(case) = cases.get(n) {
            let place = Place { call: self.call, world, case, store: self.store, stop };
            self.isolation = Some(isolation::check(place, option, &ran)?);
        }
        Ok(())
    }

    /// Shows what a test printed, where the user has not seen it yet.
    fn show(&self, ended: &Ended) {
        if let Some(bytes) = ended.output.as_deref().filter(|_| !ended.is_shown) {
            self.emit(&Event::Output { bytes });
        }
    }

    /// What the command printed of units that did not pass and reported nothing themselves.
    fn find_messages(&self, case: &Case, ended: &mut Ended) {
        let (Some(claim), Some(output)) = (&case.claim, &ended.output) else { return };
        for report in ended.inside.iter_mut().filter(|r| r.failed() && r.output.is_none()) {
            if let Some(text) = claim.message_of(&report.key.unit, output) {
                messages::save(self.store, &report.key, &text);
                report.output = Some(text);
            }
        }
    }

    /// Notes that the settings want to be shown.
    fn shown_notes(&self, notes: &[Note]) -> Vec<String> {
        let quiet = self.call.project.settings.network == Contact::Ignore;
        let shown = notes.iter().filter(|n| !(quiet && matches!(n, Note::TalksTo(_))));
        shown.map(ToString::to_string).collect()
    }

    /// The summary and the exit code.
    fn finish(mut self, cases: &[Case], left_out: &LeftOut, how: Finished) -> Result<i32> {
        for report in &mut self.reports {
            report.output = report.output.take().filter(|_| report.failed());
        }
        let (call, options) = (self.call, self.call.options);
        let mut report = RunReport {
            tests: std::mem::take(&mut self.reports),
            wall: call.times.elapsed(),
            interrupted: how.interrupted,
            mode: Mode::Run,
            flaky_ok: options.flaky_ok || call.project.settings.flaky.ok,
            ..RunReport::default()
        };
        // What a graph decides about has outcomes of its own.
        if !options.is_static() {
            let reports: Vec<TestReport> =
                report.tests.iter().chain(self.inside.values().flatten()).cloned().collect();
            report.still_failing =
                failures::still_failing(call, self.store, cases, left_out, &reports);
        }
        call.project.notice_troubles(call.notices());
        call.times.measure(Phase::Collect, || {
            finish_store(call.project, self.store, self.recorded);
        });
        let code = match self.not_started.take() {
            Some((problem, code)) => {
                call.notices().warn(problem);
                if self.shape == Shape::Command { code } else { exit::FAILED }
            }
            None => exit_code(&report, self.shape),
        };
        let only = &options.which.only;
        let is_command = self.shape == Shape::Command;
        if code == 0
            && how.selected
            && is_command
            && !only.is_empty()
            && self.inside.values().all(Vec::is_empty)
        {
            let known = known_tests(self.store).into_iter().filter(|key| !key.is_command());
            let known: Vec<TestKey> = known.collect();
            anyhow::bail!(
                "no test inside the command is called so: {}",
                cases::not_found(only, &known)
            );
        }
        let called_as = self.shape;
        let shape = self.with_inside(&mut report);
        report.checked = checks::finish(call, self.store, &report);
        report.isolation = self.isolation.take();
        let found = report.isolation.as_ref().is_some_and(|isolation| !isolation.found.is_empty());
        let code = if found && code == exit::SUCCESS { exit::FOUND } else { code };
        let phases = call.times.times();
        (report.wall, report.phases) = (phases.total(), Some(phases));
        if let Some(store) = self.store {
            kept_runs::keep(call, store, cases, called_as, &report);
        }
        call.reporters.emit(&Event::Summary { report: &report, shape })?;
        if let Some(store) = self.store {
            savings::add_times(store, phases);
        }
        if let Some(store) = self.store.filter(|_| !report.interrupted) {
            savings::add(store, report.counts().saved);
        }
        if how.selected && !self.collects {
            call.remark("nothing was recorded: what ran stays affected until it is");
        }
        Ok(code)
    }

    /// The units inside say it better than the command around them, unless it failed by itself.
    fn with_inside(&mut self, report: &mut RunReport) -> Shape {
        let mut inside = std::mem::take(&mut self.inside);
        inside.retain(|_, units| !units.is_empty());
        if inside.is_empty() {
            return self.shape;
        }
        for (n, command) in std::mem::take(&mut report.tests).into_iter().enumerate() {
            let Some(units) = inside.remove(&n) else {
                report.tests.push(command);
                continue;
            };
            report.tests.extend(failed_by_itself(&command, &units).then(|| command.clone()));
            report.tests.extend(units);
            report.around.push(command);
        }
        Shape::Suites
    }

    /// The units of items that are skipped as a whole, so that counts are of the same things whether an item
    /// runs or not.
    fn look_inside_skipped(&mut self, cases: &[Case], planned: &[Planned]) {
        if self.shape != Shape::Suites {
            return;
        }
        let skipped = planned.iter().enumerate().filter(|(_, planned)| planned.skips());
        for (n, item) in skipped {
            // Without them the item is counted as one test.
            let units = plan::inside_skipped(self.call, self.store, &cases[n], item);
            let units = savings::reports_of(self.store, &units.unwrap_or_default());
            self.inside.insert(n, units);
        }
    }

    /// What is decided before anything runs: each item, with what is skipped inside of it.
    fn decided(&self) -> Vec<TestReport> {
        let with_inside = |(n, report): (usize, &TestReport)| {
            let inside = self.inside.get(&n).into_iter().flatten();
            std::iter::once(report).chain(inside).cloned().collect::<Vec<_>>()
        };
        self.reports.iter().enumerate().flat_map(with_inside).collect()
    }
}

/// How long the tests that run took when they last did; `None` where one of them never did.
fn expected(planned: &[Planned], jobs: usize) -> Option<Duration> {
    let run = planned.iter().filter(|planned| planned.decision.is_run());
    let times = run.map(|p| p.evidence.newest.as_ref().map(|r| Duration::from_micros(r.wall_us)));
    let all = times.sum::<Option<Duration>>()?;
    u32::try_from(jobs).ok().map(|jobs| all / jobs.max(1))
}

/// Whether a command failed otherwise than by its tests: a compiler, a gate after the tests, a signal.
fn failed_by_itself(command: &TestReport, inside: &[TestReport]) -> bool {
    let by_tests = || inside.iter().any(|test| test.failed() && !test.flaky());
    match command.outcome {
        None => command.unfinished(),
        Some(Outcome::Passed) => false,
        Some(Outcome::Failed(_)) => !command.flaky() && !by_tests(),
        Some(Outcome::Killed(_) | Outcome::TimedOut) => true,
    }
}

/// The tests that have records; of a store that cannot be read, none.
fn known_tests(store: Option<&Store>) -> Vec<TestKey> {
    let tests = store.map(Store::tests).transpose().unwrap_or_default().unwrap_or_default();
    tests.into_iter().map(|test| test.key).collect()
}

/// Why a run was not observed completely, in words. That it was flaky is shown otherwise.
fn incomplete(all: &[Taint]) -> Vec<String> {
    let groups = taints::by_kind(all);
    let seen = groups.iter().filter(|group| !matches!(group.first(), Taint::Flaky { .. }));
    seen.map(TaintGroup::text).collect()
}

/// Housekeeping after the results are out.
fn finish_store(project: &Project, store: Option<&Store>, recorded: bool) {
    // Losing this cache costs time only.
    let _ = project.fingerprinter.flush();
    let Some(store) = store.filter(|store| recorded && store.read_only().is_none()) else { return };
    let stamp = store.dir().join("collected");
    let age = std::fs::metadata(&stamp).and_then(|m| m.modified()).ok();
    let recent = age.is_some_and(|t| {
        SystemTime::now().duration_since(t).is_ok_and(|d| d < Duration::from_secs(24 * 3600))
    });
    if !recent || store.size_on_disk() > project.settings.keep.max_size {
        let _ = tamis_private::write(&stamp, b"");
        let _ = store.collect_garbage(&gc_policy(project));
    }
}

/// What the settings want to be kept.
pub fn gc_policy(project: &Project) -> GcPolicy {
    GcPolicy {
        max_age: Some(project.settings.keep.max_age),
        max_bytes: Some(project.settings.keep.max_size),
        keep_per_test: Some(project.settings.keep.records),
    }
}

/// What to say of a program that could not be started, and the exit code that a shell gives for it.
fn not_started(word: &str, errno: i32) -> (String, i32) {
    match errno {
        libc::ENOENT => {
            (format!("{word}: no such command; check the name and PATH"), exit::NOT_FOUND)
        }
        libc::EACCES => {
            let text = format!("{word} may not be executed; `chmod +x` it or name its interpreter");
            (text, exit::NOT_EXECUTABLE)
        }
        _ => {
            let error = std::io::Error::from_raw_os_error(errno);
            (format!("{word} cannot be started: {error}"), exit::NOT_EXECUTABLE)
        }
    }
}

fn exit_code(report: &RunReport, shape: Shape) -> i32 {
    if report.interrupted {
        return exit::INTERRUPTED;
    }
    match shape {
        Shape::Command => match report.tests.first() {
            Some(test) if report.flaky_ok && test.flaky() => 0,
            test => test.and_then(|t| t.outcome).map_or(0, Outcome::exit_code),
        },
        Shape::Suites => i32::from(report.failed()),
    }
}
