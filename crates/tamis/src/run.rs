//! Runs what is selected, several tests at once, and reports.

use crate::again::{Failed, execute_and_again};
use crate::args::{EngineName, Options};
use crate::cases::Case;
use crate::commands::static_verb::call_graph::LevelName;
use crate::engine::Engines;
use crate::execute::{Executed, Job, Streams};
use crate::failures;
use crate::jvm::collect::Wishes;
use crate::plan::{self, Planned};
use crate::project::Project;
use crate::sparse;
use crate::terminal;
use crate::world::World;
use anyhow::{Context as _, Result};
use std::collections::HashMap;
use std::io::Write;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant, SystemTime};
use tamis_core::record::Run;
use tamis_core::{Taint, TestKey};
use tamis_report::{Mode, Progress, RunReport, Style, TestReport};
use tamis_store::{GcPolicy, Store};

/// A bare command is shown otherwise than the tests of suites.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    Command,
    Suites,
}

/// The process's own exit code for "ended by the user".
const INTERRUPTED: i32 = 130;

/// Decides, runs and reports; gives the exit code. `left_out` are tests that the user did not ask for.
pub(crate) fn run(
    project: &Project,
    options: &Options,
    cases: &[Case],
    shape: Shape,
    left_out: &[TestKey],
) -> Result<i32> {
    let began = Instant::now();
    let store = project.open_store();
    let world = World::new(project, cases);
    let mut planned = plan::decide(project, store.as_ref(), &world, cases)?;
    let failed: Vec<Case>;
    let mut cases = cases;
    // Which tests of a build failed is asked inside it.
    if options.selecting.failed && !cases.iter().any(|case| crate::jvm::has_agent(&case.words)) {
        (failed, planned) = plan::only_failed(cases, planned);
        cases = &failed;
        if cases.is_empty() {
            terminal::say(options, "nothing failed the last time");
            return Ok(0);
        }
    }
    let selected = planned.iter().filter(|p| p.report.decision.is_run()).count();
    let stop = stop_flag()?;
    let mut runner = Runner {
        project,
        options,
        store: store.as_ref(),
        shape,
        reports: planned.iter().map(|p| p.report.clone()).collect(),
        progress: None,
        style: terminal::style(options),
        not_started: None,
        recorded: false,
        inside: Vec::new(),
        collects: selected > 0 && sparse::collects(project, &options.running, cases),
    };
    if options.common.json {
        runner.json(|out| tamis_report::json::start(cases.len(), Mode::Run, out));
        for planned in &planned {
            runner.json(|out| tamis_report::json::decision(&planned.report, out));
        }
    }
    if selected > 0 {
        // Only now: what the engine needs (loading a program into the kernel, say) costs time.
        let all = cases.iter().zip(&planned);
        let selected = all.filter(|(_, p)| p.report.decision.is_run());
        let tests = selected.map(|(case, p)| (case, p.newest.as_ref()));
        // What is decided by the graph of types is proven by no observation.
        let by_graph = options.running.engine == Some(EngineName::Static);
        let engines = match runner.collects && !by_graph {
            true => Engines::new(options, &project.settings, tests)?,
            false => Engines::none(),
        };
        runner.run_selected(&engines, &world, cases, &planned, &stop)?;
    }
    let Runner { mut reports, not_started, recorded, style, inside, collects, .. } = runner;
    for report in &mut reports {
        report.output = report.output.take().filter(|_| report.failed());
    }
    let mut report = RunReport {
        tests: reports,
        wall: began.elapsed(),
        interrupted: stop.load(Ordering::Relaxed),
        mode: Mode::Run,
        flaky_ok: options.running.flaky_ok || project.settings.flaky_ok,
        still_failing: Vec::new(),
    };
    // What the graph of types decides about has outcomes of its own.
    if options.running.engine != Some(EngineName::Static) {
        let reports: Vec<TestReport> = report.tests.iter().chain(&inside).cloned().collect();
        report.still_failing =
            failures::still_failing(project, store.as_ref(), cases, left_out, &reports);
    }
    finish_store(project, store.as_ref(), recorded);
    if let Some((word, errno)) = &not_started {
        let code = tell_not_started(word, *errno);
        if shape == Shape::Command {
            return Ok(code);
        }
    }
    let code = if not_started.is_some() { 1 } else { exit_code(&report, shape) };
    let only = &options.selecting.only;
    if code == 0 && selected > 0 && shape == Shape::Command && !only.is_empty() && inside.is_empty()
    {
        anyhow::bail!("no test class matches --only {}", only.join(" "));
    }
    let mut shown = shape;
    if !inside.is_empty() {
        // The test classes say it better than the command around them.
        report.tests = match shape {
            Shape::Command => inside,
            Shape::Suites => report.tests.into_iter().chain(inside).collect(),
        };
        shown = Shape::Suites;
    }
    write_reports(options, shown, &report, style)?;
    if selected > 0 && !collects {
        terminal::say(options, "nothing was recorded: what ran stays affected until it is");
    }
    Ok(code)
}

/// Set by the first Ctrl-C or SIGTERM.
fn stop_flag() -> Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&stop))
            .context("signals cannot be caught")?;
    }
    Ok(stop)
}

struct Runner<'a> {
    project: &'a Project,
    options: &'a Options,
    store: Option<&'a Store>,
    shape: Shape,
    reports: Vec<TestReport>,
    progress: Option<Progress>,
    style: Style,
    not_started: Option<(String, i32)>,
    recorded: bool,
    /// Test classes that were told apart inside commands.
    inside: Vec<TestReport>,
    /// Whether what is observed is recorded.
    collects: bool,
}

/// Why a run without observation is no proof.
pub(crate) const NOT_COLLECTED: &str = "it ran without being observed";

/// What a worker tells.
enum News {
    Started(usize),
    /// It did not pass, and is tried again.
    Failed(usize, Box<Failed>),
    Ended(usize, Result<Executed>),
}

impl Runner<'_> {
    fn run_selected(
        &mut self,
        engines: &Engines,
        world: &World<'_>,
        cases: &[Case],
        planned: &[Planned],
        stop: &AtomicBool,
    ) -> Result<()> {
        let mut order: Vec<usize> =
            (0..cases.len()).filter(|&n| planned[n].report.decision.is_run()).collect();
        let jobs = self.jobs().min(order.len());
        if jobs > 1 {
            // The longest first, so that none of them runs alone at the end.
            order.sort_by_key(|&n| std::cmp::Reverse(planned[n].expected));
        }
        let streams = match (self.shape, jobs > 1, self.options.common.json) {
            (Shape::Command, _, false) => Streams::Inherit,
            (Shape::Command, _, true) => Streams::InheritAsErrors,
            (Shape::Suites, true, _) => Streams::Collect,
            // A report with the output of failed tests needs it collected.
            (Shape::Suites, false, _) if self.options.running.junit.is_some() => Streams::Collect,
            (Shape::Suites, false, false) => Streams::Through,
            (Shape::Suites, false, true) => Streams::ThroughAsErrors,
        };
        if self.shape == Shape::Suites && !self.options.common.quiet {
            self.progress = Some(match terminal::columns() {
                Some(columns) if streams == Streams::Collect => {
                    Progress::terminal(order.len(), columns, self.style)
                }
                _ => Progress::lines(order.len(), self.style),
            });
        }
        let queue = Queue::new(order, cases);
        let (tell, news) = mpsc::channel();
        let project = self.project;
        let settings = &project.settings;
        let most_reruns = self.options.running.rerun_failed.unwrap_or(settings.rerun_failed);
        let wishes = &Wishes {
            quiet: self.options.common.quiet,
            by_graph: self.options.running.engine == Some(EngineName::Static),
            by_methods: self.options.running.level == Some(LevelName::Method),
            collect: self.collects,
            only: crate::commands::run::only(self.options)?,
            failed: self.options.selecting.failed,
            again: None,
            methods: self.options.selecting.by_methods(),
        };
        std::thread::scope(|scope| {
            for _ in 0..jobs {
                let (queue, tell) = (&queue, tell.clone());
                scope.spawn(move || {
                    while let Some(n) = queue.next(stop) {
                        let _ = tell.send(News::Started(n));
                        let case = &cases[n];
                        let engine = engines.of(case, planned[n].newest.as_ref());
                        let job = Job { project, world, engine, case, streams, wishes, stop };
                        let failed = |failed| drop(tell.send(News::Failed(n, Box::new(failed))));
                        let result = execute_and_again(job, most_reruns, failed);
                        queue.done(n);
                        if tell.send(News::Ended(n, result)).is_err() {
                            return;
                        }
                    }
                });
            }
            drop(tell);
            self.listen(&news, cases, stop)
        })
    }

    fn jobs(&self) -> usize {
        self.options
            .running
            .jobs
            .or(self.project.settings.jobs)
            .or_else(|| std::thread::available_parallelism().ok())
            .map_or(1, NonZeroUsize::get)
    }

    /// Records and shows what the workers tell, until all are done.
    fn listen(
        &mut self,
        news: &mpsc::Receiver<News>,
        cases: &[Case],
        stop: &AtomicBool,
    ) -> Result<()> {
        let mut failure = Ok(());
        loop {
            match news.recv_timeout(Duration::from_millis(100)) {
                Ok(News::Started(n)) => {
                    self.show(|p, out| p.started(&cases[n].key, Instant::now(), out));
                }
                Ok(News::Failed(n, failed)) => self.failed(&cases[n], &failed),
                Ok(News::Ended(n, Ok(executed))) => self.ended(n, &cases[n], executed),
                Ok(News::Ended(_, Err(error))) => {
                    // The engine does not work: no use in trying it on every other test.
                    stop.store(true, Ordering::Relaxed);
                    failure = failure.and(Err(error));
                }
                Err(RecvTimeoutError::Timeout) => self.show(|p, out| p.tick(Instant::now(), out)),
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        self.show(Progress::erase);
        failure
    }

    fn show(&mut self, draw: impl FnOnce(&mut Progress, &mut dyn Write) -> std::io::Result<()>) {
        if let Some(progress) = &mut self.progress {
            // A closed standard error must not end the run.
            let _ = draw(progress, &mut std::io::stderr());
        }
    }

    fn json(&self, write: impl FnOnce(&mut dyn Write) -> std::io::Result<()>) {
        let _ = write(&mut std::io::stdout());
    }

    /// A failure that is tried again is recorded like any other.
    fn failed(&mut self, case: &Case, failed: &Failed) {
        if !failed.ended.is_told {
            self.record(&failed.ended.run);
        }
        self.print(failed.ended.output.as_deref());
        self.show(Progress::erase);
        if let Some(text) = failed.ended.output.as_deref() {
            failures::save(self.store, &case.key, text);
        }
        terminal::say(self.options, &failed.next);
    }

    /// Writes a record; whether there is one now.
    fn record(&mut self, run: &Run) -> bool {
        // A run that was not observed counts only if it did not pass: no older record may hide that.
        let store = self.store.filter(|_| self.collects || !run.outcome.passed());
        let recorded = match store.map(|store| store.append(run)) {
            Some(Ok(_)) => true,
            Some(Err(error)) => {
                self.show(Progress::erase);
                eprintln!("tamis: {} was not recorded: {error}", run.test);
                false
            }
            None => false,
        };
        self.recorded |= recorded;
        recorded
    }

    fn print(&mut self, output: Option<&[u8]>) {
        let Some(output) = output else { return };
        self.show(Progress::erase);
        let shown = if self.options.common.json {
            std::io::stderr().write_all(output)
        } else {
            std::io::stdout().write_all(output).and_then(|()| std::io::stdout().flush())
        };
        // A reader that went away (a closed pipe) does not end the tests.
        drop(shown);
    }

    fn ended(&mut self, n: usize, case: &Case, executed: Executed) {
        let ended = match executed {
            Executed::Ended(ended) => *ended,
            Executed::Interrupted => return,
            Executed::NotStarted(errno) => {
                let word = case.words.first().map(|w| w.to_string_lossy().into_owned());
                self.not_started = Some((word.unwrap_or_default(), errno));
                return;
            }
        };
        let run = &ended.run;
        let recorded = ended.is_told && self.recorded || !ended.is_told && self.record(run);
        self.print(ended.output.as_deref());
        let notes = self.told_notes(&run.notes);
        let report = &mut self.reports[n];
        report.outcome = Some(run.outcome);
        report.wall = Duration::from_micros(run.wall_us);
        report.inputs = recorded.then_some(run.observed.len() as u64);
        report.taints = tainted(&run.taints);
        report.notes = notes;
        report.reruns = ended.reruns;
        report.output = ended.failure_output.or(ended.output);
        let report = report.clone();
        failures::keep(self.store, &report);
        self.show(|p, out| p.finished(&report, Instant::now(), out));
        if self.options.common.json {
            self.json(|out| tamis_report::json::finished(&report, out));
            for test in &ended.inside {
                self.json(|out| tamis_report::json::decision(test, out));
                if test.outcome.is_some() {
                    self.json(|out| tamis_report::json::finished(test, out));
                }
            }
        }
        self.inside.extend(ended.inside);
    }

    /// Notes that the settings want to be told.
    fn told_notes(&self, notes: &[tamis_core::Note]) -> Vec<String> {
        let quiet = self.project.settings.network == tamis_settings::Contact::Ignore;
        notes
            .iter()
            .filter(|n| !(quiet && matches!(n, tamis_core::Note::TalksTo(_))))
            .map(ToString::to_string)
            .collect()
    }
}

/// Why a run was not observed completely, in words. That it was flaky is said otherwise.
pub(crate) fn tainted(taints: &[Taint]) -> Vec<String> {
    let seen = taints.iter().filter(|taint| !matches!(taint, Taint::Flaky { .. }));
    seen.map(ToString::to_string).collect()
}

/// The tests that wait, handed out within the limits of their suites.
struct Queue<'a> {
    cases: &'a [Case],
    state: Mutex<QueueState>,
    changed: Condvar,
}

struct QueueState {
    waiting: Vec<usize>,
    running: HashMap<String, usize>,
}

impl<'a> Queue<'a> {
    fn new(mut order: Vec<usize>, cases: &'a [Case]) -> Self {
        order.reverse();
        let state = QueueState { waiting: order, running: HashMap::new() };
        Self { cases, state: Mutex::new(state), changed: Condvar::new() }
    }

    fn next(&self, stop: &AtomicBool) -> Option<usize> {
        let mut state = self.state.lock().expect("no worker panics while it holds the queue");
        loop {
            if stop.load(Ordering::Relaxed) || state.waiting.is_empty() {
                return None;
            }
            let free = state.waiting.iter().rposition(|&n| {
                let case = &self.cases[n];
                let running = state.running.get(&case.key.suite).copied().unwrap_or(0);
                case.suite_jobs.is_none_or(|most| running < most)
            });
            if let Some(at) = free {
                let n = state.waiting.remove(at);
                *state.running.entry(self.cases[n].key.suite.clone()).or_default() += 1;
                return Some(n);
            }
            state = self
                .changed
                .wait_timeout(state, Duration::from_millis(100))
                .expect("no worker panics while it holds the queue")
                .0;
        }
    }

    fn done(&self, n: usize) {
        let mut state = self.state.lock().expect("no worker panics while it holds the queue");
        if let Some(running) = state.running.get_mut(&self.cases[n].key.suite) {
            *running -= 1;
        }
        self.changed.notify_all();
    }
}

/// Housekeeping after the results are out.
fn finish_store(project: &Project, store: Option<&Store>, recorded: bool) {
    // Losing this cache costs time only.
    let _ = project.fingerprinter.flush();
    let Some(store) = store.filter(|_| recorded) else { return };
    let stamp = store.dir().join("collected");
    let age = std::fs::metadata(&stamp).and_then(|m| m.modified()).ok();
    let recent = age.is_some_and(|t| {
        SystemTime::now().duration_since(t).is_ok_and(|d| d < Duration::from_secs(24 * 3600))
    });
    if !recent || store.size_on_disk() > project.settings.keep.max_size {
        let _ = std::fs::write(&stamp, "");
        let _ = store.collect_garbage(&gc_policy(project));
    }
}

pub(crate) fn gc_policy(project: &Project) -> GcPolicy {
    GcPolicy {
        max_age: Some(project.settings.keep.max_age),
        max_bytes: Some(project.settings.keep.max_size),
        keep_per_test: Some(project.settings.keep.records),
    }
}

fn write_reports(options: &Options, shape: Shape, report: &RunReport, style: Style) -> Result<()> {
    if options.common.json {
        for failure in &report.still_failing {
            let _ = tamis_report::json::still_failing(failure, &mut std::io::stdout());
        }
        let _ = tamis_report::json::summary(report, &mut std::io::stdout());
    }
    if !options.common.quiet {
        let out = &mut std::io::stderr();
        let _ = match (shape, report.tests.first()) {
            (Shape::Command, Some(test)) => tamis_report::text::single(test, style, out)
                .and_then(|()| tamis_report::text::still_failing(report, style, out)),
            _ => tamis_report::text::summary(report, style, out),
        };
    }
    if let Some(file) = &options.running.junit {
        write_file(file, |out| tamis_report::junit::write(report, out))?;
    }
    if let Some(file) = std::env::var_os("GITHUB_STEP_SUMMARY").filter(|f| !f.is_empty()) {
        let opened = std::fs::File::options().append(true).create(true).open(&file);
        let written = opened.and_then(|mut f| tamis_report::markdown::write(report, &mut f));
        if let Err(error) = written {
            eprintln!("tamis: {} cannot be written: {error}", Path::new(&file).display());
        }
    }
    Ok(())
}

fn write_file(
    file: &Path,
    write: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
) -> Result<()> {
    let made = std::fs::File::create(file).map(std::io::BufWriter::new);
    made.and_then(|mut out| write(&mut out).and_then(|()| out.flush()))
        .with_context(|| format!("the report {} cannot be written", file.display()))
}

fn tell_not_started(word: &str, errno: i32) -> i32 {
    let error = std::io::Error::from_raw_os_error(errno);
    match errno {
        libc::ENOENT => {
            eprintln!("tamis: {word}: no such command; check the name and PATH");
            127
        }
        libc::EACCES => {
            eprintln!("tamis: {word} may not be executed; `chmod +x` it or name its interpreter");
            126
        }
        _ => {
            eprintln!("tamis: {word} cannot be started: {error}");
            126
        }
    }
}

fn exit_code(report: &RunReport, shape: Shape) -> i32 {
    if report.interrupted {
        return INTERRUPTED;
    }
    match shape {
        Shape::Command => match report.tests.first() {
            Some(test) if report.flaky_ok && test.flaky() => 0,
            test => test.and_then(|t| t.outcome).map_or(0, tamis_core::Outcome::exit_code),
        },
        Shape::Suites => i32::from(report.failed()),
    }
}
