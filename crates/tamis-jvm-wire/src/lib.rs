//! What the agent in a JVM and tamis send each other: the payload of the JVM's front end.
//!
//! The agent sends [`FromJvm`] messages in order: each class as it is loaded, then what happened between
//! two boundaries ([`Window`]). Tests that are open at the same time share a window: what cannot be
//! distinguished belongs to all of them. Only hooks in a build tool, and in runners that no build tool
//! prepared, ask for an answer ([`ToJvm`]). On the wire they are the neutral messages of [`tamis_wire`]
//! where there is one, and payloads else ([`FromJvm::to_process`]).

mod hits;
mod lookups;
mod options;

pub use hits::Hits;
pub use lookups::Lookups;
pub use options::Options;
pub use tamis_wire::{Ended, Mark, Verdict, write};

use serde::{Deserialize, Serialize};
use std::io::Read;
use tamis_wire::{FrameError, FromProcess, Payload};

/// Both sides are of one build; this tells a stale agent file.
pub const VERSION: u32 = 9;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum FromJvm {
    Hello(Hello),
    /// A class that was offered for loading, in the order of loading.
    Class(ClassSeen),
    Began(Began),
    Ended(Ended),
    Window(Window),
    /// A static initialiser of the project came to its end: what was passed since it began, by its own
    /// thread or others. That was reported in windows as well.
    Initialised {
        probe: u32,
        hits: Hits,
        lookups: Lookups,
    },
    /// What JaCoCo counted since the last such message.
    Covered(Covered),
    /// Reported right before a test begins while none is open.
    State(StaticState),
    /// What of the JVM itself is not as it was before the first test, each with a number that is the same
    /// while the difference is. Reported right before a test or one of its methods begins, and when a test ends
    /// while others are open.
    Globals(Vec<(String, i64)>),
    /// Nothing that this JVM says is complete from here on, and why.
    Trouble(String),
    /// A test goal of a build tool starts; answered by [`ToJvm::Goal`].
    Goal(Goal),
    /// The test classes that the goal found; answered by [`ToJvm::Skip`].
    Scanned(Scanned),
    /// A runner in a launched JVM is about to run its first tests; answered by [`ToJvm::Goal`].
    Launch(Launch),
    /// Test classes that the runner is about to run; answered by [`ToJvm::Chosen`].
    Choose(Vec<Candidate>),
    /// The test methods of a class that is open; answered by [`ToJvm::Chosen`].
    Methods(Methods),
    /// The methods of a test class cannot be distinguished, and why.
    Undivided {
        class: String,
        why: String,
    },
    /// The goal ended; `error` is what it threw. Answered by [`ToJvm::Files`].
    GoalEnded {
        goal: u32,
        error: Option<String>,
    },
    /// The JVM ends in good order: everything was sent.
    Bye,
}

impl FromJvm {
    /// The message as it travels.
    pub fn to_process(&self) -> Result<FromProcess, FrameError> {
        Ok(match self {
            Self::Hello(hello) => FromProcess::Hello(tamis_wire::Hello {
                pid: hello.pid,
                payload: Payload::of(hello)?,
            }),
            Self::Began(began) => FromProcess::Began(tamis_wire::Began {
                test: began.test,
                name: began.class.clone(),
                payload: Payload::of(&(&began.framework, &began.stretch))?,
            }),
            Self::Ended(ended) => FromProcess::Ended(ended.clone()),
            Self::Trouble(why) => FromProcess::Trouble(why.clone()),
            Self::Bye => FromProcess::Bye,
            other => FromProcess::Payload(Payload::of(other)?),
        })
    }

    /// The message that travelled.
    pub fn of_process(message: FromProcess) -> Result<Self, FrameError> {
        Ok(match message {
            FromProcess::Hello(hello) => Self::Hello(hello.payload.read()?),
            FromProcess::Began(began) => {
                let (framework, stretch) = began.payload.read()?;
                Self::Began(Began { test: began.test, class: began.name, framework, stretch })
            }
            FromProcess::Ended(ended) => Self::Ended(ended),
            FromProcess::Trouble(why) => Self::Trouble(why),
            FromProcess::Bye => Self::Bye,
            FromProcess::Payload(payload) => payload.read()?,
        })
    }
}

/// Reads the next message of a JVM; `None` at the end of the stream, also in the middle of a message.
pub fn read(from: &mut impl Read) -> Result<Option<FromJvm>, FrameError> {
    tamis_wire::read::<FromProcess>(from)?.map(FromJvm::of_process).transpose()
}

/// The static fields of the project's classes, against what they held when the class had been
/// initialised. Names of classes are as in `Class.getName`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StaticState {
    /// Classes that are looked at from now on.
    pub watched: Vec<String>,
    /// Classes that are loaded and cannot have been used yet.
    pub waiting: Vec<String>,
    /// Classes and fields that hold something else; `None` if it was not looked at.
    pub changed: Option<Vec<(String, String)>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum ToJvm {
    /// What stands before the fork's own arguments; `None` leaves the goal alone.
    Goal { arguments: Option<String> },
    /// Indices into [`Scanned::classes`] that need not run.
    Skip { classes: Vec<u32> },
    /// For each of [`FromJvm::Choose`] or [`FromJvm::Methods`] why it need not run, or nothing if it has to.
    Chosen { skipped: Vec<Option<String>> },
    /// Files that would be there if nothing had been skipped.
    Files(Vec<LeftFile>),
}

/// A file that a build tool is to write.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftFile {
    pub path: String,
    pub mode: Mode,
    #[serde(with = "serde_bytes_vec")]
    pub bytes: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Mode {
    /// In place of what is there.
    Replace,
    /// At the end of what is there.
    Append,
}

/// What JaCoCo counted in a stretch of time.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Covered {
    /// The tests that were open; empty outside of tests.
    pub open: Vec<u32>,
    /// The probes of the static initialisers that ran.
    pub initialisers: Vec<u32>,
    /// Class by class: number, name, how many probes, the probes that were passed as bits; as
    /// `TamisCoverage.drain` writes it. `None` if it is not known.
    pub data: Option<Vec<u8>>,
}

/// The first message of every JVM.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    pub version: u32,
    pub pid: u32,
    pub role: Role,
    pub java_home: String,
    pub java_version: String,
    /// What was started: main class or jar, and its arguments.
    pub command: String,
    pub vm_arguments: Vec<String>,
    pub class_path: String,
    /// Places of this JDK that the agent wanted to watch and could not, such as
    /// `java/util/zip/ZipFile.getEntry`: questions that go through them are not seen.
    pub blind: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Role {
    /// A build tool: its hooks are on, its own classes do not count.
    Build,
    /// Runs tests: everything counts.
    Tests,
    /// Runs tests: only where they begin and end, and how.
    Outcomes,
    /// Runs tests, and nothing was decided about them before: its runner asks.
    Launched,
    /// Was started by a test in the JVM with this number: everything counts for that test.
    Child(u32),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClassSeen {
    /// `com/acme/Thing`, as modified UTF-8.
    #[serde(with = "serde_bytes_vec")]
    pub name: Vec<u8>,
    /// The fingerprint of the bytes that the class loader gave, before anybody changed them.
    pub hash: u128,
    pub size: u32,
    /// The id of the first probe; the methods with code have one each, in file order.
    pub first_probe: u32,
    pub probes: u32,
    /// Why the class has no probes: what it does is not seen.
    pub problem: Option<String>,
}

mod serde_bytes_vec {
    use serde::{Deserialize, Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(bytes: &[u8], s: S) -> Result<S::Ok, S::Error> {
        s.serialize_bytes(bytes)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Vec<u8>, D::Error> {
        <&[u8]>::deserialize(d).map(<[u8]>::to_vec)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Began {
    /// Unique in this JVM.
    pub test: u32,
    /// Binary name of the test class, `com.acme.FooTest`.
    pub class: String,
    /// Which hook reported.
    pub framework: String,
    /// A stretch of the test class instead of the class itself.
    pub stretch: Option<Stretch>,
}

/// A part of the time in which a test class is open. Where methods are distinguished, one follows the other
/// without a gap: a method, the time between, a method, ...
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stretch {
    /// The number of the test class.
    pub of: u32,
    /// `com.acme.FooTest#bar`; nothing for the time between methods.
    pub method: Option<String>,
}

/// What happened between two boundaries.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Window {
    /// The tests that were open; empty outside of tests.
    pub open: Vec<u32>,
    /// The probes that were passed.
    pub hits: Hits,
    pub lookups: Lookups,
    /// These are the methods that threads were in when a test began; they were passed before.
    pub still_running: bool,
}

/// A question that the program put by name.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Lookup {
    /// A class by its name (`Class.forName`, `loadClass`), found or not.
    Class(String),
    /// An entry of a jar by its path, found or not.
    JarEntry { jar: String, entry: String },
    /// All names in a jar.
    JarNames { jar: String },
    /// A variable of the environment.
    Variable(String),
    /// The whole environment.
    AllVariables,
    /// A system property; with an empty name, all of them.
    Property(String),
    /// The members of a class were listed or looked for by reflection or for a method handle. Where only the
    /// class itself was looked at (its annotations, its simple name), that is a question for a class.
    Reflected(String),
    /// Where a class comes from.
    Place(String),
    /// The number of a line in a stack trace.
    Lines,
    /// A class was made of bytes that are seen nowhere else (`defineHiddenClass`).
    HiddenClass,
}

/// A goal of a build tool that runs tests.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Goal {
    pub id: u32,
    /// Such as `surefire:test`.
    pub name: String,
    pub execution: String,
    /// The module's folder.
    pub folder: String,
    /// `group:artifact:version`.
    pub artifact: String,
    pub test_classes: String,
    pub classes: String,
    /// The tests' classpath in order.
    pub class_path: Vec<String>,
    /// All parameters of the goal that are plain values, sorted by name.
    pub configuration: Vec<(String, String)>,
    /// Folders that the goal itself writes: reports and working files.
    pub own_folders: Vec<String>,
    /// The `java` that the fork is started with.
    pub java: Option<String>,
    /// How many JVMs are forked; 0 means that the tests run inside the build tool.
    pub forks: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scanned {
    pub goal: u32,
    pub classes: Vec<String>,
}

/// A runner of tests in a JVM that no build tool prepared.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Launch {
    /// The working folder of the JVM.
    pub folder: String,
    /// What the loader of the test classes and those above it search, in order.
    pub class_path: Vec<String>,
    /// System properties, sorted by name.
    pub properties: Vec<(String, String)>,
    /// Folders that the runner itself writes.
    pub own_folders: Vec<String>,
    /// A task of a build tool began in this JVM since its tests were asked about, and may have set other
    /// properties.
    pub other_task: bool,
    /// Why the class path is not known.
    pub unknown: Option<String>,
}

/// The test methods that a runner found in a test class.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Methods {
    /// Binary name of the test class.
    pub class: String,
    /// `com.acme.FooTest#bar`, by the class that they run in.
    pub methods: Vec<String>,
    /// The runner makes their objects before any of them runs: one for each, or one that the agent looks at.
    pub made_before: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Candidate {
    /// Binary name of the test class, or the name of an entity.
    pub class: String,
    /// Which of its tests the runner chose: a text that is the same for the same choice.
    pub choice: String,
    /// Why it has to run in any case.
    pub needed: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_travel_as_neutral_ones_where_there_is_one() {
        let class = "com.acme.FooTest".to_owned();
        let stretch = Some(Stretch { of: 7, method: Some("com.acme.FooTest#bar".into()) });
        let began = Began { test: 8, class, framework: "junit4".into(), stretch };
        let messages = [
            FromJvm::Began(began),
            FromJvm::Window(Window {
                open: vec![7],
                hits: Hits::from_sorted([0, 1, 40_000, 1_000_000]),
                lookups: [Lookup::Class("a.B".into()), Lookup::AllVariables].into_iter().collect(),
                still_running: false,
            }),
            FromJvm::Class(ClassSeen {
                name: b"a/B".to_vec(),
                hash: u128::MAX,
                size: 12,
                first_probe: 3,
                probes: 4,
                problem: None,
            }),
            FromJvm::Trouble("no".into()),
            FromJvm::Bye,
        ];
        for message in messages {
            let travels = message.to_process().unwrap();
            assert_eq!(FromJvm::of_process(travels).unwrap(), message);
        }
        assert!(matches!(FromJvm::Bye.to_process(), Ok(FromProcess::Bye)));
        assert!(FromJvm::of_process(FromProcess::Payload(Payload(vec![0xff]))).is_err());
    }
}
