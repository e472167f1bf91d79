//! Records: what one finished run of one test leaves for the next decision.

use crate::key::TestKey;
use crate::path::PortablePath;
use crate::question::Question;
use crate::value::Value;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RecordId(pub u32);

impl fmt::Display for RecordId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.0)
    }
}

/// One set of observations under which a record's outcome is proven. A record has one, or two
/// where the test changed what it had looked at: the state it found, and the state it left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ProofId(pub u32);

/// How a run ended. An interrupted run is not recorded at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Outcome {
    Passed,
    /// Ended with this exit code.
    Failed(i32),
    /// Ended by this signal.
    Killed(i32),
    TimedOut,
}

impl Outcome {
    pub fn passed(self) -> bool {
        self == Self::Passed
    }

    /// The exit code a shell would report.
    pub fn exit_code(self) -> i32 {
        match self {
            Self::Passed => 0,
            Self::Failed(code) => code,
            Self::Killed(signal) => 128 + signal,
            Self::TimedOut => 124,
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Passed => write!(f, "passed"),
            Self::Failed(code) => write!(f, "failed with exit code {code}"),
            Self::Killed(signal) => write!(f, "was ended by signal {signal}"),
            Self::TimedOut => write!(f, "timed out"),
        }
    }
}

/// Why a run could not be observed completely. A tainted record never lets a test be skipped.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Taint {
    /// The input changed while the test ran, and not by the test: what it saw is not known.
    Unstable(PortablePath),
    /// The test changed a file before the observer could take the fingerprint of what was read.
    ChangedBeforeSeen(PortablePath),
    /// io_uring was used: its file accesses are invisible.
    IoUring(String),
    /// A program of a foreign architecture ran; its calls are not understood.
    ForeignArchitecture(String),
    /// A file was opened by handle: its path is not known.
    FileHandle(String),
    /// The mount table or root directory was changed below the test.
    Namespace(String),
    /// A path could not be resolved.
    Unresolved(String),
    /// Processes of the test went on after its end.
    LeftRunning(String),
    /// Standard input was read from a pipe or a terminal.
    StandardInput,
    /// A process that was already running was talked to.
    RunningService(String),
    /// The tracer lost events.
    LostEvents(u64),
    /// The test used a tracer or listener of its own that hides calls from ours.
    SecondTracer(String),
    /// The tracer failed.
    Engine(String),
    /// A part of what the test did was not observed.
    Unobserved(String),
    /// Tests inside the command did not pass, whatever its own exit code.
    FailedInside(u64),
    /// It did not pass, and then passed without a change: something decided that was not observed.
    Flaky { failed: u32, runs: u32 },
    /// A named pipe that others made was opened: what waits in it cannot be compared.
    ForeignPipe(PortablePath),
}

impl fmt::Display for Taint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unstable(path) => {
                write!(f, "{path} changed while the test ran, and not by the test")
            }
            Self::ChangedBeforeSeen(path) => {
                write!(f, "the test changed {path} before it could be fingerprinted")
            }
            Self::IoUring(who) => write!(f, "{who} used io_uring, which cannot be observed"),
            Self::ForeignArchitecture(who) => {
                write!(f, "{who} is of a foreign architecture and cannot be observed")
            }
            Self::FileHandle(who) => write!(f, "{who} opened a file by its handle, without a path"),
            Self::Namespace(what) => write!(f, "{what}"),
            Self::Unresolved(what) => write!(f, "a path could not be resolved: {what}"),
            Self::LeftRunning(who) => write!(f, "left a process running: {who}"),
            Self::StandardInput => write!(f, "read its standard input, which cannot be compared"),
            Self::RunningService(what) => {
                write!(
                    f,
                    "talked to a process that was already running: {what} (allow-services = \
                     [\"{what}\"] in tamis.toml accepts it)"
                )
            }
            Self::LostEvents(1) => write!(f, "one of its calls was missed"),
            Self::LostEvents(n) => {
                write!(f, "{n} of its calls were missed: they came faster than they were read")
            }
            Self::SecondTracer(who) => write!(
                f,
                "{who} watches or filters system calls itself, so that tamis may miss some"
            ),
            Self::Engine(what) => write!(f, "the tracer failed: {what}"),
            Self::Unobserved(what) => write!(f, "{what}"),
            Self::FailedInside(n) => write!(f, "{n} of the tests inside it did not pass"),
            Self::Flaky { failed, runs } => {
                write!(f, "flaky: {failed} of {runs} runs without a change did not pass")
            }
            Self::ForeignPipe(path) => {
                write!(f, "opened the pipe {path}, which the test did not make")
            }
        }
    }
}

/// Something worth telling that does not make the record incomplete by itself.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Note {
    /// A connection to another machine, `host:port`.
    TalksTo(String),
    /// A set-user-id program ran without its privileges because of the tracer.
    PrivilegeLost(String),
    /// A file in a temp folder that the test did not make was read; the filter ignores it.
    ReadsTemp(String),
    /// It failed, and when it then passed, this was different.
    OtherWhenPassed(String),
    /// A build failed outside of its tests, so it was not run again.
    NotRunAgain,
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TalksTo(address) => write!(f, "talks to {address}"),
            Self::PrivilegeLost(program) => {
                write!(f, "{program} ran without its set-user-id privileges under the tracer")
            }
            Self::ReadsTemp(path) => {
                write!(f, "reads {path}, which it did not make (temp folders do not count)")
            }
            Self::OtherWhenPassed(what) => {
                write!(f, "{what} was different when it passed: an earlier run may have left it so")
            }
            Self::NotRunAgain => {
                write!(
                    f,
                    "none of the test classes that were distinguished failed; it was not run again"
                )
            }
        }
    }
}

/// What was done with a path; a set of bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash, Serialize, Deserialize)]
pub struct Access(pub u8);

impl Access {
    pub const READ: Self = Self(1);
    pub const STAT: Self = Self(2);
    pub const EXECUTE: Self = Self(4);
    pub const LIST: Self = Self(8);
    /// Changed, created or removed by the test itself.
    pub const WRITE: Self = Self(16);
    /// A symbolic link on the way to another path.
    pub const FOLLOW: Self = Self(32);

    pub fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    #[must_use]
    pub fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut names = Vec::new();
        for (bit, name) in [
            (Self::EXECUTE, "executed"),
            (Self::READ, "read"),
            (Self::LIST, "listed"),
            (Self::STAT, "looked at"),
            (Self::FOLLOW, "followed"),
            (Self::WRITE, "changed"),
        ] {
            if self.contains(bit) {
                names.push(name);
            }
        }
        f.write_str(&names.join(", "))
    }
}

/// One input of one run, with who looked at it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Observed {
    pub question: Question,
    /// The answer before the test changed anything there.
    pub before: Value,
    /// The answer at the end, where the test itself changed it.
    pub after: Option<Value>,
    pub access: Access,
    /// The first program that looked.
    pub program: Arc<str>,
    /// More about `before` for explanations: file size, or the names of a listing.
    pub detail: Detail,
}

/// What an explanation can show of a value besides its hash.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Detail {
    #[default]
    None,
    Size(u64),
    Names(Vec<Vec<u8>>),
}

/// Which observations count for a run, as numbers among those that many runs have in common: a set of bits.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Numbers(Vec<u64>);

impl Numbers {
    pub fn insert(&mut self, number: u32) {
        let word = number as usize / 64;
        if word >= self.0.len() {
            self.0.resize(word + 1, 0);
        }
        self.0[word] |= 1 << (number % 64);
    }

    pub fn contains(&self, number: u32) -> bool {
        self.0.get(number as usize / 64).is_some_and(|word| word & (1 << (number % 64)) != 0)
    }

    pub fn len(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }

    /// In ascending order.
    pub fn iter(&self) -> impl Iterator<Item = u32> {
        (0..).zip(&self.0).flat_map(|(at, word)| {
            let mut left = *word;
            std::iter::from_fn(move || {
                let bit = (left != 0).then(|| left.trailing_zeros())?;
                left &= left - 1;
                Some(at * 64 + bit)
            })
        })
    }

    /// All of both.
    pub fn add(&mut self, others: &Self) {
        if others.0.len() > self.0.len() {
            self.0.resize(others.0.len(), 0);
        }
        self.0.iter_mut().zip(&others.0).for_each(|(word, other)| *word |= other);
    }
}

impl FromIterator<u32> for Numbers {
    fn from_iter<I: IntoIterator<Item = u32>>(numbers: I) -> Self {
        let mut all = Self::default();
        numbers.into_iter().for_each(|number| all.insert(number));
        all
    }
}

/// A finished run, on its way into the store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    pub test: TestKey,
    pub outcome: Outcome,
    /// Milliseconds since the Unix epoch.
    pub started_ms: u64,
    pub wall_us: u64,
    pub cpu_us: u64,
    pub engine: String,
    pub observed: Vec<Observed>,
    pub taints: Vec<Taint>,
    pub notes: Vec<Note>,
    /// Files of the project that the run created and left behind.
    pub left_behind: Vec<PortablePath>,
}

/// Where a record came from.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub enum Origin {
    /// It ran here.
    #[default]
    Here,
    /// A file, or another store, that the user named.
    Named(String),
    /// A scope of a shared store. It counts while the settings read that scope there and believe the signer.
    Shared {
        /// Which store and which project in it.
        place: crate::Hash,
        scope: String,
        signer: String,
    },
}

impl Origin {
    /// What people call it; `None` where it is here.
    pub fn shown(&self) -> Option<&str> {
        match self {
            Self::Here => None,
            Self::Named(name) => Some(name),
            Self::Shared { scope, .. } => Some(scope),
        }
    }
}

/// One record without its observations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordSummary {
    pub id: RecordId,
    pub outcome: Outcome,
    /// Milliseconds since the Unix epoch.
    pub started_ms: u64,
    pub wall_us: u64,
    pub cpu_us: u64,
    pub engine: String,
    /// How many observations there are.
    pub inputs: u32,
    pub taints: Vec<Taint>,
    pub notes: Vec<Note>,
    pub origin: Origin,
}

impl RecordSummary {
    /// Whether the run was observed completely, as far as the record itself knows. Settings can
    /// only be stricter.
    pub fn is_complete(&self) -> bool {
        self.taints.is_empty()
    }

    /// Whether the test did not pass, and then passed without a change.
    pub fn is_flaky(&self) -> bool {
        self.taints.iter().any(|taint| matches!(taint, Taint::Flaky { .. }))
    }
}
