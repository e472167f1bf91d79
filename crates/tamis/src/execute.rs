//! Runs one test under an engine and makes its record.

use crate::cases::Case;
use crate::jvm::collect::{Collected, Wishes};
use crate::jvm::{self, session::Session};
use crate::project::Project;
use crate::stdin::{self, Input};
use crate::world::World;
use anyhow::{Context as _, Result};
use std::collections::{BTreeMap, HashSet};
use std::fs::File;
use std::io::{PipeReader, Read};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tamis_core::record::{Access, Observed, Run};
use tamis_core::{Outcome, Question, Scheme, Taint};
use tamis_observe::{Context, Observations, Observer, Parted};
use tamis_report::{Reruns, TestReport};
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
    /// No input; all output on standard error.
    ThroughAsErrors,
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
    /// The tests inside the command that were told apart.
    pub(crate) inside: Vec<TestReport>,
    /// Tests ran inside the command that could not be told apart.
    pub(crate) untold: bool,
    /// Its runs, where there was more than one.
    pub(crate) reruns: Option<Reruns>,
    /// What was printed when it did not pass, where `output` is of a run that did.
    pub(crate) failure_output: Option<Vec<u8>>,
    /// Its failure was told before; nothing of it is to be recorded or shown again.
    pub(crate) is_told: bool,
}

impl Ended {
    /// The same without what it printed and the tests inside.
    pub(crate) fn outline(&self) -> Self {
        Self {
            run: self.run.clone(),
            output: None,
            inside: Vec::new(),
            untold: self.untold,
            reruns: None,
            failure_output: None,
            is_told: true,
        }
    }
}

/// One test to run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Job<'a> {
    pub(crate) project: &'a Project,
    pub(crate) world: &'a World<'a>,
    pub(crate) engine: &'a dyn Engine,
    pub(crate) case: &'a Case,
    pub(crate) streams: Streams,
    /// About the tests inside the command.
    pub(crate) wishes: &'a Wishes,
    pub(crate) stop: &'a AtomicBool,
}

pub(crate) fn execute(job: Job<'_>) -> Result<Executed> {
    let Job { project, world, engine, case, streams, stop, .. } = job;
    let rules = project.observer_rules();
    let context = Context {
        paths: &project.paths,
        rules: &rules,
        fingerprinter: &project.fingerprinter,
        services: &project.services,
    };
    let mut surroundings = world.surroundings(case);
    let inherits = matches!(streams, Streams::Inherit | Streams::InheritAsErrors);
    let input = inherits.then(Input::of_ours);
    let watch_stdin = matches!(input, Some(Input::Nothing | Input::Stream));
    let collector = match streams {
        Streams::Collect => Some(Collector::start()?),
        _ => None,
    };
    let (stdout, stderr) = outputs(streams, collector.as_ref())?;
    let stdin = match inherits {
        true => None,
        false => Some(File::open("/dev/null").context("/dev/null cannot be opened")?.into()),
    };
    let command = Command {
        words: case.words.clone(),
        folder: case.folder.clone(),
        environment: World::environment(case),
        stdin,
        stdout,
        stderr,
        timeout: case.timeout,
        watch_stdin,
    };
    let started = SystemTime::now();
    let Watched { finish, mut observer, inside } = match jvm::has_agent(&case.words) {
        true => watch_with_agent(job, context, command)?,
        false => watch(job, Observer::new(context), command)?,
    };
    let output = collector.map(Collector::finish);
    let outcome = match finish.ending {
        Ending::NotStarted(errno) => return Ok(Executed::NotStarted(errno)),
        Ending::Interrupted => return Ok(Executed::Interrupted),
        Ending::Exited(0) => Outcome::Passed,
        // Told to stop, it ended in its own way.
        _ if stop.load(Ordering::Relaxed) => return Ok(Executed::Interrupted),
        Ending::Exited(code) => Outcome::Failed(code),
        Ending::Signalled(signal) => Outcome::Killed(signal),
        Ending::TimedOut => Outcome::TimedOut,
    };
    for program in &finish.left_running {
        observer.taint(Taint::LeftRunning(program.clone()));
    }
    let failed = inside.reports.iter().filter(|r| r.failed()).count();
    if failed > 0 {
        observer.taint(Taint::FailedInside(failed as u64));
    }
    if !engine.observes() {
        observer.taint(Taint::Unobserved(crate::run::NOT_COLLECTED.into()));
    }
    if inside.left_out > 0 {
        let why = "some of its test classes were not asked for";
        observer.taint(Taint::Unobserved(why.into()));
    }
    if let Some(why) = jvm::launch::unseen(&case.words) {
        observer.taint(Taint::Unobserved(why));
    }
    if inside.unread > 0 {
        let why = "a record that a test class was skipped on could not be read again";
        observer.taint(Taint::Unobserved(why.into()));
    }
    if case.choice.is_some() {
        // With other words, and skipped modules say nothing about what their tests look at.
        let why = "its modules were chosen by a change";
        observer.taint(Taint::Unobserved(why.into()));
    }
    if inside.by_graph {
        // What the skipped tests look at when they run is not known.
        let why = "its test classes were chosen by the graph of types";
        observer.taint(Taint::Unobserved(why.into()));
    }
    let outputs = if jvm::is_build(&case.words) { observer.written() } else { Vec::new() };
    let Observations { mut observed, mut taints, notes, left_behind } =
        observer.finish(finish.no_new_privileges);
    observed.append(&mut surroundings);
    let more = inside.relied_on.into_iter().chain(still_there(project, outputs));
    let mut more = more.peekable();
    if more.peek().is_some() {
        let known: HashSet<Question> = observed.iter().map(|o| o.question.clone()).collect();
        let more = more.filter(|o| !known.contains(&o.question));
        let more: BTreeMap<Question, _> = more.map(|o| (o.question.clone(), o)).collect();
        observed.extend(more.into_values());
    }
    let counts = match input {
        Some(Input::File(..)) => true,
        Some(Input::Nothing) => {
            // That it was empty can be compared.
            let read = taints.contains(&Taint::StandardInput);
            taints.retain(|t| *t != Taint::StandardInput);
            read
        }
        Some(Input::Stream) | None => false,
    };
    if counts {
        observed.push(stdin::observed(world.answer(&Question::Fact(stdin::FACT.into()))));
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
    Ok(Executed::Ended(Box::new(Ended {
        run,
        output,
        inside: inside.reports,
        untold: inside.refused,
        reruns: None,
        failure_output: None,
        is_told: false,
    })))
}

/// What a build wrote must still be there for it to be skipped: a later step may need it.
fn still_there(project: &Project, outputs: Vec<PathBuf>) -> Vec<Observed> {
    let files: Vec<(PathBuf, Scheme)> = outputs.into_iter().map(|f| (f, Scheme::Raw)).collect();
    let answers = project.fingerprinter.answer_many(&files);
    let observed = files.iter().zip(answers).map(|((path, scheme), answer)| Observed {
        question: Question::Path(project.paths.to_portable(path), *scheme),
        before: answer.value,
        after: None,
        access: Access::WRITE,
        program: "tamis".into(),
        detail: answer.detail,
    });
    observed.collect()
}

/// A command that has ended, with the observer of its files.
struct Watched<'a> {
    finish: Finish,
    observer: Observer<'a>,
    inside: Collected,
}

fn watch<'a>(job: Job<'_>, mut observer: Observer<'a>, command: Command) -> Result<Watched<'a>> {
    let finish = run_under(job, command, &mut observer)?;
    Ok(Watched { finish, observer, inside: Collected::default() })
}

fn run_under(job: Job<'_>, command: Command, sink: &mut dyn Sink) -> Result<Finish> {
    let (engine, key) = (job.engine, &job.case.key);
    engine
        .run(command, sink, job.stop)
        .with_context(|| format!("the {} engine could not run {key}", engine.name()))
}

/// The same with our agent in the command's JVMs, so that test classes are told apart.
fn watch_with_agent<'a>(
    job: Job<'a>,
    context: Context<'a>,
    mut command: Command,
) -> Result<Watched<'a>> {
    let session = match Session::new(job.wishes.methods) {
        Ok(session) => session,
        Err(error) => {
            eprintln!("tamis: {error:#}; the command is observed as a whole");
            return watch(job, Observer::new(context), command);
        }
    };
    let words = &job.case.words;
    command.words = jvm::launch::words(&session, words);
    command.environment = match jvm::is_maven(words) {
        true => session.environment(command.environment, job.case.choice.as_deref()),
        false => jvm::launch::environment(&session, words, command.environment),
    };
    let (tell, parts) = std::sync::mpsc::channel();
    let mut whole = None;
    let (finish, inside) = std::thread::scope(|scope| {
        let running = session.start(scope, job.project, job.case, job.wishes.clone());
        let forward = running.tell.clone();
        scope.spawn(move || {
            for part in parts {
                if forward.send(jvm::collect::Input::Part(part)).is_err() {
                    return;
                }
            }
        });
        let mut parted = Parted::new(context, session.agent(), tell);
        let finish = run_under(job, command, &mut parted);
        session.close();
        whole = Some(parted.into_whole());
        let inside = running.finish()?;
        Ok::<_, anyhow::Error>((finish?, inside))
    })?;
    let observer = whole.unwrap_or_else(|| Observer::new(context));
    if inside.goals == 0 && !job.wishes.quiet && matches!(finish.ending, Ending::Exited(_)) {
        jvm::launch::tell_nothing_seen(
            &job.case.words,
            &inside,
            finish.ending == Ending::Exited(0),
        );
    }
    Ok(Watched { finish, observer, inside })
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

fn outputs(
    streams: Streams,
    collector: Option<&Collector>,
) -> Result<(Option<OwnedFd>, Option<OwnedFd>)> {
    Ok(match (streams, collector) {
        (Streams::InheritAsErrors | Streams::ThroughAsErrors, _) => {
            (Some(std::io::stderr().as_fd().try_clone_to_owned()?), None)
        }
        (_, Some(collector)) => (
            Some(collector.writer.as_fd().try_clone_to_owned()?),
            Some(collector.writer.as_fd().try_clone_to_owned()?),
        ),
        _ => (None, None),
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
