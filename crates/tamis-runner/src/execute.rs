//! Runs one test under an engine and makes its record.

use crate::call::Call;
use crate::cases::Case;
use crate::plan::UnitPlanner;
use anyhow::{Context as _, Result};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::File;
use std::io::{PipeReader, Read};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tamis_core::record::{Access, Observed, Run};
use tamis_core::{Outcome, PortablePath, Question, Scheme, Taint, TestKey};
use tamis_observe::{Context, Observations, Observer, SplitObserver};
use tamis_project::{Input, Project, STANDARD_INPUT, World, given, standard_input};
use tamis_report::phases::Phase;
use tamis_report::savings::Span;
use tamis_report::{Reruns, TestReport};
use tamis_session::{
    Claim, Collected, Instead, Invocation, Ledger, NOT_COLLECTED, Printed, Session, SessionOptions,
    Start, to_ours,
};
use tamis_trace::{Command, Ending, Engine, Finish, Sink};

/// Where the test's output goes, and where its input comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Streams {
    /// The user's own, untouched.
    Inherit,
    /// The user's own, with standard output on standard error: ours is for JSON.
    InheritAsErrors,
    /// No input; output is collected.
    Collect,
    /// No input; output goes straight through.
    Through,
}

/// How a test ended.
#[derive(Debug)]
pub(crate) enum Executed {
    Ended(Box<Ended>),
    /// The user stopped it.
    Interrupted,
    /// The program could not be started; the `errno`.
    NotStarted(i32),
}

/// A test that ended by itself.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) run: Run,
    pub(crate) output: Option<Vec<u8>>,
    /// The user has seen the output: it went to the user's own streams.
    pub(crate) is_shown: bool,
    /// The units inside the command that were distinguished.
    pub(crate) inside: Vec<TestReport>,
    /// Tests ran inside the command that could not be distinguished.
    pub(crate) undistinguished: bool,
    /// Its runs, where there was more than one.
    pub(crate) reruns: Option<Reruns>,
    /// What was printed when it did not pass, where `output` is of a run that did.
    pub(crate) failure_output: Option<Vec<u8>>,
    /// Its failure was reported before; nothing of it is to be recorded or shown again.
    pub(crate) is_reported: bool,
    /// The process that each unit began in, in the order of beginnings.
    pub(crate) processes: Vec<(u32, TestKey)>,
    /// Names of the tests in a unit that did not pass, where its tool reports them.
    pub(crate) failed_parts: HashMap<TestKey, Vec<String>>,
    /// The files that it wrote in the project; known of builds, and where its tests are to run again alone.
    pub(crate) written: Vec<PathBuf>,
}

impl Ended {
    /// The same without what it printed and the tests inside.
    pub(crate) fn outline(&self) -> Self {
        Self {
            run: self.run.clone(),
            output: None,
            is_shown: true,
            inside: Vec::new(),
            undistinguished: self.undistinguished,
            reruns: None,
            failure_output: None,
            is_reported: true,
            processes: self.processes.clone(),
            failed_parts: self.failed_parts.clone(),
            written: self.written.clone(),
        }
    }
}

/// One test to run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Job<'a> {
    pub(crate) call: Call<'a>,
    pub(crate) world: &'a World<'a>,
    pub(crate) engine: &'a dyn Engine,
    pub(crate) case: &'a Case,
    pub(crate) streams: Streams,
    /// About the units inside the command.
    pub(crate) session: &'a SessionOptions,
    pub(crate) stop: &'a AtomicBool,
    /// It could have been skipped.
    pub(crate) checked: bool,
}

/// What a debugger inside a test fails with under ptrace, in words.
const NO_SECOND_TRACER: &str = "debuggers and tracers cannot work inside a test under the ptrace engine; use --engine notify or ebpf";

pub(crate) fn execute(job: Job<'_>) -> Result<Executed> {
    let Job { call, world, engine, case, streams, stop, .. } = job;
    let rules = call.project.observer_rules();
    let context = Context {
        paths: &call.project.paths,
        rules: &rules,
        fingerprinter: &call.project.fingerprinter,
        services: &call.project.services,
    };
    let surroundings = case.surroundings(world);
    let inherits = matches!(streams, Streams::Inherit | Streams::InheritAsErrors);
    let input = inherits.then(Input::of_ours);
    let (printed, outputs) = outputs(streams)?;
    let is_shown = streams != Streams::Collect;
    let command = command(case, outputs, input.as_ref())?;
    let Watched { started, finish, mut observer, inside } = match &case.claim {
        Some(claim) => watch_units(job, claim.as_ref(), context, command)?,
        None => watch(job, Observer::new(context), command)?,
    };
    let ended = Instant::now();
    keep_times(job, started, &finish, &inside);
    let failed =
        finish.ending != Ending::Exited(0) || inside.reports.iter().any(TestReport::failed);
    // Also where it is not needed: what the command printed comes before what tamis says.
    let output = Some(printed.text()).filter(|text| !is_shown || failed && !text.is_empty());
    let outcome = match finish.ending {
        Ending::NotStarted(errno) => return Ok(Executed::NotStarted(errno)),
        Ending::Interrupted => return Ok(Executed::Interrupted),
        Ending::Exited(0) => Outcome::Passed,
        // Asked to stop, it ended in its own way.
        _ if stop.load(Ordering::Relaxed) => return Ok(Executed::Interrupted),
        Ending::Exited(code) => Outcome::Failed(code),
        Ending::Signalled(signal) => Outcome::Killed(signal),
        Ending::TimedOut => Outcome::TimedOut,
    };
    for taint in taints(job, &finish, &inside) {
        observer.taint(taint);
    }
    let is_build = case.claim.as_ref().is_some_and(|claim| claim.is_build());
    let keeps = is_build || call.options.isolation.is_some();
    let written = if keeps { observer.written() } else { Vec::new() };
    let outputs = if is_build { written.clone() } else { Vec::new() };
    let Observations { mut observed, mut taints, notes, left_behind } =
        observer.finish(finish.no_new_privileges);
    observed.extend(surroundings);
    if engine.name() == "ptrace" && taints.iter().any(|t| matches!(t, Taint::SecondTracer(_))) {
        taints.push(Taint::Unobserved(NO_SECOND_TRACER.to_owned()));
    }
    if let Some(claim) = &case.claim {
        if inside.scopes == 0 && matches!(outcome, Outcome::Passed | Outcome::Failed(_)) {
            claim.not_entered(&inside, &observed).into_iter().for_each(|text| call.remark(text));
        }
        forget_places_of(claim.as_ref(), call.project, &mut observed, &mut taints);
    }
    let relied_on = inside.relied_on.into_iter().chain(still_there(call.project, outputs));
    add_new(&mut observed, relied_on);
    if input.is_some_and(|input| counts(&input, &mut taints)) {
        observed.push(standard_input(world.answer(&Question::Fact(STANDARD_INPUT.into()))));
    }
    let run = Run {
        test: case.key.clone(),
        outcome,
        started_ms: started.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as u64,
        wall_us: micros(finish.wall),
        cpu_us: micros(finish.cpu),
        engine: engine.name().to_owned(),
        observed,
        taints,
        notes,
        left_behind,
    };
    call.times.add(Phase::Collect, ended);
    Ok(Executed::Ended(Box::new(Ended {
        run,
        output,
        is_shown,
        inside: inside.reports,
        undistinguished: inside.refused,
        reruns: None,
        failure_output: None,
        is_reported: false,
        processes: inside.ran_in,
        failed_parts: inside.failed_parts,
        written,
    })))
}

/// A command around tests is a build while none of them runs.
fn keep_times(job: Job<'_>, started: SystemTime, finish: &Finish, inside: &Collected) {
    let times = job.call.times;
    let began_ms = started.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as u64;
    let whole = Span { began_ms, length: finish.wall };
    let units = inside.reports.iter().filter(|unit| unit.outcome.is_some());
    times.add_span(if inside.reports.is_empty() { Phase::Run } else { Phase::Build }, whole);
    units.for_each(|unit| times.add_span(Phase::Run, unit.span));
}

fn command(case: &Case, outputs: Outputs, input: Option<&Input>) -> Result<Command> {
    let Outputs { stdout, stderr, stand_for_ours } = outputs;
    let stdin = match input {
        Some(_) => None,
        None => Some(File::open("/dev/null").context("/dev/null cannot be opened")?.into()),
    };
    Ok(Command {
        words: case.words.clone(),
        folder: case.folder.clone(),
        environment: case.environment(),
        stdin,
        stdout,
        stderr,
        stand_for_ours: [false, stand_for_ours[0], stand_for_ours[1]],
        timeout: case.timeout,
        watch_stdin: matches!(input, Some(Input::Nothing | Input::Stream)),
    })
}

/// Why the run of a command is no proof, besides what its observer saw.
fn taints(job: Job<'_>, finish: &Finish, inside: &Collected) -> Vec<Taint> {
    let unobserved = |why: &str| Taint::Unobserved(why.to_owned());
    let left = finish.left_running.iter().map(|program| Taint::LeftRunning(program.clone()));
    let mut taints: Vec<Taint> = left.collect();
    if finish.ended_survivors {
        taints.push(unobserved("what it left running cannot go on without the engine: ended"));
    }
    let failed = inside.reports.iter().filter(|r| r.failed()).count();
    if failed > 0 {
        taints.push(Taint::FailedInside(failed as u64));
    }
    if !job.engine.observes() {
        taints.push(unobserved(NOT_COLLECTED));
    }
    if inside.left_out > 0 {
        taints.push(unobserved("some of its tests were not asked for"));
    }
    if inside.changed > 0 {
        taints.push(unobserved("what some of its tests are built from changed while it ran"));
    }
    let claim = job.case.claim.as_ref();
    taints.extend(claim.and_then(|claim| claim.unseen()).map(Taint::Unobserved));
    if inside.unread > 0 {
        taints.push(unobserved("a record that a test was skipped on could not be read again"));
    }
    if job.case.choice.is_some() {
        // With other words, and skipped modules say nothing about what their tests look at.
        taints.push(unobserved("its modules were chosen by a change"));
    }
    if inside.by_graph {
        // What the skipped tests look at when they run is not known.
        taints.push(unobserved("its test classes were chosen by the graph of types"));
    }
    taints
}

/// What the command's tool keeps for itself is no input of the command.
fn forget_places_of(
    claim: &dyn Claim,
    project: &Project,
    observed: &mut Vec<Observed>,
    taints: &mut Vec<Taint>,
) {
    let owns = |path: &PortablePath| claim.owns(&project.paths.to_absolute(path));
    observed.retain(|observed| !observed.question.path().is_some_and(owns));
    taints.retain(|taint| {
        !matches!(taint, Taint::Unstable(path) | Taint::ChangedBeforeSeen(path) if owns(path))
    });
}

/// Adds what is not among the observations yet.
fn add_new(observed: &mut Vec<Observed>, more: impl Iterator<Item = Observed>) {
    let mut more = more.peekable();
    if more.peek().is_some() {
        let known: HashSet<Question> = observed.iter().map(|o| o.question.clone()).collect();
        let more = more.filter(|o| !known.contains(&o.question));
        let more: BTreeMap<Question, _> = more.map(|o| (o.question.clone(), o)).collect();
        observed.extend(more.into_values());
    }
}

/// Whether standard input is an input that can be compared.
fn counts(input: &Input, taints: &mut Vec<Taint>) -> bool {
    match input {
        Input::File(..) => true,
        Input::Nothing => {
            // That it was empty can be compared.
            let read = taints.contains(&Taint::StandardInput);
            taints.retain(|t| *t != Taint::StandardInput);
            read
        }
        Input::Stream => false,
    }
}

/// What a build wrote must still be there for it to be skipped: a later step may need it.
fn still_there(project: &Project, outputs: Vec<PathBuf>) -> Vec<Observed> {
    let files: Vec<(PathBuf, Scheme)> = outputs.into_iter().map(|f| (f, Scheme::Raw)).collect();
    let answers = project.fingerprinter.answer_many(&files);
    let observed = files.iter().zip(answers).map(|((path, scheme), answer)| Observed {
        access: Access::WRITE,
        detail: answer.detail,
        ..given(Question::Path(project.paths.to_portable(path), *scheme), answer.value)
    });
    observed.collect()
}

/// A command that has ended, with the observer of its files.
struct Watched<'a> {
    started: SystemTime,
    finish: Finish,
    observer: Observer<'a>,
    inside: Collected,
}

fn watch<'a>(job: Job<'_>, mut observer: Observer<'a>, command: Command) -> Result<Watched<'a>> {
    let started = SystemTime::now();
    let finish = run_under(job, command, &mut observer)?;
    Ok(Watched { started, finish, observer, inside: Collected::default() })
}

fn run_under(job: Job<'_>, command: Command, sink: &mut dyn Sink) -> Result<Finish> {
    let (engine, key) = (job.engine, &job.case.key);
    engine
        .run(command, sink, job.stop)
        .with_context(|| format!("the {} engine could not run {key}", engine.name()))
}

/// The same with the units inside the command distinguished by their front end.
fn watch_units<'a>(
    job: Job<'a>,
    claim: &'a dyn Claim,
    context: Context<'a>,
    command: Command,
) -> Result<Watched<'a>> {
    match Session::new(|folder| claim.library(folder)) {
        Ok(session) => watch_session(job, claim, context, command, &session),
        Err(error) => {
            job.call.notices().warn(format!("{error:#}; the command is observed as a whole"));
            watch(job, Observer::new(context), command)
        }
    }
}

fn watch_session<'a>(
    job: Job<'a>,
    claim: &dyn Claim,
    context: Context<'a>,
    mut command: Command,
    session: &Session,
) -> Result<Watched<'a>> {
    let (planner, about) = (UnitPlanner(job.call), job.case.context());
    let notices = job.call.notices();
    let mut ledger = Ledger::new(job.call.project, job.session, &about, &planner, notices);
    let mut model = claim.model(session, job.session);
    let mut invocation = Invocation {
        words: std::mem::take(&mut command.words),
        environment: std::mem::take(&mut command.environment),
        folder: command.folder.clone(),
    };
    let times = job.call.times;
    let start = times.measure(Phase::Analyse, || {
        session.prepare(model.as_mut(), &mut ledger, &mut invocation)
    })?;
    let started = SystemTime::now();
    if start == Start::NothingToRun {
        let inside = session.finish_unstarted(model, ledger);
        return Ok(Watched {
            started,
            finish: nothing_to_run(),
            observer: Observer::new(context),
            inside,
        });
    }
    command.words = invocation.words;
    command.environment = invocation.environment;
    let covered = model.covered();
    let mut whole = None;
    let (finish, inside) = std::thread::scope(|scope| {
        let running = session.start(scope, model, ledger);
        let windows = running.windows(scope);
        let mut split = SplitObserver::new(context, session.marks(covered.as_ref()), windows);
        let finish = run_under(job, command, &mut split);
        let ended = Instant::now();
        session.close();
        whole = Some(split.into_whole());
        let passed = finish.as_ref().is_ok_and(|finish| finish.ending == Ending::Exited(0));
        let inside = running.finish(passed)?;
        times.add(Phase::Collect, ended);
        Ok::<_, anyhow::Error>((finish?, inside))
    })?;
    let observer = whole.unwrap_or_else(|| Observer::new(context));
    if inside.scopes == 0 && matches!(finish.ending, Ending::Exited(_)) {
        let passed = finish.ending == Ending::Exited(0);
        claim.nothing_seen(&inside, passed).into_iter().for_each(|text| job.call.remark(text));
    }
    Ok(Watched { started, finish, observer, inside })
}

/// A command that did not have to be started.
fn nothing_to_run() -> Finish {
    Finish {
        ending: Ending::Exited(0),
        wall: Duration::ZERO,
        cpu: Duration::ZERO,
        left_running: Vec::new(),
        ended_survivors: false,
        no_new_privileges: false,
    }
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

/// What a command prints, on one of two ways.
enum Output {
    /// For us to show.
    Collected(Collector),
    /// To the user's own streams.
    Printed(Printed),
}

impl Output {
    /// All of it, now that the command has ended.
    fn text(self) -> Vec<u8> {
        match self {
            Self::Collected(collector) => collector.finish(),
            Self::Printed(printed) => printed.text(),
        }
    }
}

/// Standard output and standard error of a command; ours where there is none.
struct Outputs {
    stdout: Option<OwnedFd>,
    stderr: Option<OwnedFd>,
    /// Which of the two lead to ours of the same number.
    stand_for_ours: [bool; 2],
}

fn outputs(streams: Streams) -> Result<(Output, Outputs)> {
    let (errors, in_between) = (std::io::stderr(), "no pipe before the standard streams");
    Ok(match streams {
        Streams::Collect => {
            let collector = Collector::start()?;
            let end = || Ok::<_, std::io::Error>(Some(collector.writer.try_clone()?));
            let (stdout, stderr) = (end()?, end()?);
            let outputs = Outputs { stdout, stderr, stand_for_ours: [false; 2] };
            (Output::Collected(collector), outputs)
        }
        Streams::Inherit | Streams::Through => {
            let (printed, Instead { stdout, stderr }) = to_ours().context(in_between)?;
            (Output::Printed(printed), Outputs { stdout, stderr, stand_for_ours: [true; 2] })
        }
        Streams::InheritAsErrors => {
            let both = Printed::to(errors.as_fd(), errors.as_fd()).context(in_between)?;
            let (printed, Instead { stdout, stderr }) = both;
            let stdout = stdout.map_or_else(|| errors.as_fd().try_clone_to_owned(), Ok)?;
            let stand_for_ours = [false, true];
            (Output::Printed(printed), Outputs { stdout: Some(stdout), stderr, stand_for_ours })
        }
    })
}

/// Output beyond this is cut, in the middle of nowhere but with a word about it.
const MOST_OUTPUT: usize = 64 << 20;

/// Collects what a test prints, in the order in which it prints it.
struct Collector {
    writer: OwnedFd,
    done: Arc<AtomicBool>,
    thread: std::thread::JoinHandle<Vec<u8>>,
}

impl Collector {
    fn start() -> Result<Self> {
        let (reader, writer) = std::io::pipe().context("no pipe for a test's output")?;
        let done = Arc::new(AtomicBool::new(false));
        let seen_done = Arc::clone(&done);
        let thread = std::thread::spawn(move || collect(reader, &seen_done));
        Ok(Self { writer: writer.into(), done, thread })
    }

    /// Ends with what is in the pipe now: a process that stayed may hold it open for ever.
    fn finish(self) -> Vec<u8> {
        drop(self.writer);
        self.done.store(true, Ordering::Release);
        self.thread.join().unwrap_or_default()
    }
}

fn collect(mut reader: PipeReader, done: &AtomicBool) -> Vec<u8> {
    let mut output = Vec::new();
    let mut cut = 0;
    let mut buffer = vec![0; 64 << 10];
    loop {
        let was_done = done.load(Ordering::Acquire);
        let mut fd = libc::pollfd { fd: reader.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: polls one live descriptor.
        let ready = unsafe { libc::poll(&raw mut fd, 1, if was_done { 0 } else { 50 }) };
        if ready == 0 {
            if was_done {
                break;
            }
            continue;
        }
        match reader.read(&mut buffer) {
            Ok(0) => break,
            Ok(n) => {
                let keep = n.min(MOST_OUTPUT.saturating_sub(output.len()));
                output.extend_from_slice(&buffer[..keep]);
                cut += n - keep;
            }
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            Err(_) => break,
        }
    }
    if cut > 0 {
        output.extend_from_slice(format!("\n... {cut} more bytes\n").as_bytes());
    }
    output
}
