//! What to run, and how it ended.

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::time::Duration;

/// A command to run under an engine.
#[derive(Debug)]
pub struct Command {
    /// The program (looked up in `PATH` like a shell does) and its arguments.
    pub words: Vec<OsString>,
    pub folder: PathBuf,
    /// The whole environment.
    pub environment: Vec<(OsString, OsString)>,
    /// Standard input; ours where `None`.
    pub stdin: Option<OwnedFd>,
    /// Standard output; ours where `None`.
    pub stdout: Option<OwnedFd>,
    /// Standard error; ours where `None`.
    pub stderr: Option<OwnedFd>,
    /// Which of these three lead to ours of the same number by way of the descriptor that is given.
    pub stand_for_ours: [bool; 3],
    /// Ends the whole tree after this time.
    pub timeout: Option<Duration>,
    /// Report reads of standard input (for an input that cannot be fingerprinted).
    pub watch_stdin: bool,
}

/// How the main process of the tree ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    Exited(i32),
    Signalled(i32),
    TimedOut,
    /// The user asked to stop.
    Interrupted,
    /// The program could not be started; the number is the `errno`.
    NotStarted(i32),
}

/// A finished run.
#[derive(Debug)]
pub struct Finish {
    pub ending: Ending,
    pub wall: Duration,
    /// Processor time of all processes of the tree that ended.
    pub cpu: Duration,
    /// Programs that were still running when the main process had ended and a moment had passed.
    /// They live on, unless [`Finish::ended_survivors`].
    pub left_running: Vec<String>,
    /// What was left running could not go on without the engine and was ended.
    pub ended_survivors: bool,
    /// Whether set-user-id programs ran without their privileges because of the engine.
    pub no_new_privileges: bool,
}
