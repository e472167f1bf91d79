//! What an observed process and tamis send each other, whatever the language of its tests.
//!
//! A part of tamis inside of the process (an agent, a plugin, a wrapper around it) connects to a Unix
//! socket of the tamis that started the command, and sends [`FromProcess`] messages in order. What is
//! the same for every language has a message here: that the process is there, that a unit of tests
//! begins and ends, that something went wrong, that all was sent. Everything else is a payload that
//! only the language's own front end reads, as are all answers.
//!
//! Everything that was sent survives the death of the process; a frame that was cut short by it is no
//! message. Files are not reported here: the tracer sees them. So that it can attribute a file to a unit,
//! the process looks at a path that does not exist at each boundary ([`Mark`]), which the tracer sees in
//! order with everything else that the process does.

mod frame;

pub use frame::{FrameError, from_bytes, read, to_bytes, write};

pub use tamis_core::Mark;

use serde::{Deserialize, Serialize};

/// A message from a process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum FromProcess {
    /// The first message of every process.
    Hello(Hello),
    Began(Began),
    Ended(Ended),
    /// Nothing that this process reports is complete from here on, and why.
    Trouble(String),
    /// For the front end of the language alone.
    Payload(Payload),
    /// The process ends in good order: everything was sent.
    Bye,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    pub pid: u32,
    pub payload: Payload,
}

/// A unit of tests, or a part of one, begins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Began {
    /// Unique in this process, never 0.
    pub test: u32,
    /// As the runner calls it.
    pub name: String,
    pub payload: Payload,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ended {
    pub test: u32,
    pub verdict: Verdict,
    pub wall_us: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Verdict {
    Passed,
    Failed,
}

/// Bytes that only the front end of the language understands.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Payload(pub Vec<u8>);

impl Payload {
    /// A value of the front end as it travels.
    pub fn of<T: Serialize>(value: &T) -> Result<Self, FrameError> {
        to_bytes(value).map(Self)
    }

    pub fn read<'de, T: Deserialize<'de>>(&'de self) -> Result<T, FrameError> {
        from_bytes(&self.0)
    }
}

impl Serialize for Payload {
    // As one run of bytes: a payload may be large.
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_bytes(&self.0)
    }
}

impl<'de> Deserialize<'de> for Payload {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        <&[u8]>::deserialize(d).map(|bytes| Self(bytes.to_vec()))
    }
}
