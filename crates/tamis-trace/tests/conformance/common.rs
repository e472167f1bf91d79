//! Shared by the integration tests.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use tamis_testkit::{need, not_here};
use tamis_trace::{Action, Command, Engine, Event, Finish};

pub(crate) fn command(words: &[&str]) -> Command {
    Command {
        words: words.iter().map(OsString::from).collect(),
        folder: std::env::temp_dir(),
        environment: std::env::vars_os().collect(),
        stdin: Some(File::open("/dev/null").unwrap().into()),
        stdout: None,
        stderr: None,
        timeout: None,
        stand_for_ours: [false; 3],
        watch_stdin: false,
    }
}

/// Every engine that works here.
pub(crate) fn available() -> Vec<Box<dyn Engine>> {
    let engines = tamis_trace::engines();
    for candidate in &engines {
        if let Err(why) = &candidate.available {
            not_here(&format!("the {} engine: {why}", candidate.name));
        }
    }
    let working = engines.iter().filter(|c| c.available.is_ok());
    working.map(|c| tamis_trace::choose(c.name).unwrap()).collect()
}

pub(crate) fn run(engine: &dyn Engine, command: Command) -> (Finish, Vec<Action<'static>>) {
    let mut actions = Vec::new();
    let mut sink = |event: Event<'_>| actions.push(owned(event.action));
    let finish = engine.run(command, &mut sink, &AtomicBool::new(false)).unwrap();
    (finish, actions)
}

pub(crate) fn owned(action: Action<'_>) -> Action<'static> {
    let own = |p: std::borrow::Cow<'_, [u8]>| std::borrow::Cow::Owned(p.into_owned());
    match action {
        Action::Open { path, how } => Action::Open { path: own(path), how },
        Action::Stat { path, follow } => Action::Stat { path: own(path), follow },
        Action::ReadLink { path } => Action::ReadLink { path: own(path) },
        Action::Execute { path } => Action::Execute { path: own(path) },
        Action::Remove { path } => Action::Remove { path: own(path) },
        Action::MakeDirectory { path } => Action::MakeDirectory { path: own(path) },
        Action::MakeNode { path } => Action::MakeNode { path: own(path) },
        Action::LinkTo { path, target } => Action::LinkTo { path: own(path), target: own(target) },
        Action::Rename { from, to, exchange, keep } => {
            Action::Rename { from: own(from), to: own(to), exchange, keep }
        }
        Action::Inspect { path, follow, facet } => {
            Action::Inspect { path: own(path), follow, facet }
        }
        Action::Link { from, to, follow } => Action::Link { from: own(from), to: own(to), follow },
        Action::Truncate { path } => Action::Truncate { path: own(path) },
        Action::ChangeMode { path, follow } => Action::ChangeMode { path: own(path), follow },
        Action::Connect { peer, socket } => Action::Connect { peer, socket },
        Action::Bind { peer, socket } => Action::Bind { peer, socket },
        Action::Listen { socket } => Action::Listen { socket },
        Action::Stream { number, facet } => Action::Stream { number, facet },
        Action::Blind(blind) => Action::Blind(blind),
    }
}

pub(crate) fn opened(actions: &[Action<'_>]) -> BTreeSet<String> {
    actions
        .iter()
        .filter_map(|a| match a {
            Action::Open { path, .. } => Some(String::from_utf8_lossy(path).into_owned()),
            _ => None,
        })
        .collect()
}

/// A file of the corpus.
pub(crate) fn corpus(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus").join(name)
}

/// The absolute path of a program; the test is not tried where it is not installed.
pub(crate) fn found(program: &str) -> Option<String> {
    let place = need(program).then(|| tamis_testkit::found(program))?;
    place.map(|p| p.display().to_string())
}

/// Builds a C program of the corpus. None where there is no compiler, or the options do not work
/// here.
pub(crate) fn compile(name: &str, options: &[&str], into: &Path) -> Option<PathBuf> {
    let gcc = found("gcc")?;
    let program = into.join(name.split('.').next().unwrap_or(name));
    let built = std::process::Command::new(gcc)
        .args(["-w", "-pthread", "-o"])
        .args([program.as_os_str(), corpus(name).as_os_str()])
        .args(options)
        .output()
        .unwrap();
    if built.status.success() {
        return Some(program);
    }
    let why = String::from_utf8_lossy(&built.stderr);
    assert!(!options.is_empty(), "{name} does not build: {why}");
    not_here(&format!("{name} with {options:?} does not build: {why}"));
    None
}
