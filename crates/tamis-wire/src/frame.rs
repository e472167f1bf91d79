//! Messages on a byte stream: a length of four bytes, then the message.

use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt;
use std::io::{self, Read, Write};

/// No message is as long; a length beyond it is not one of ours.
const LONGEST: u32 = 256 << 20;

#[derive(Debug)]
pub enum FrameError {
    Io(io::Error),
    /// The bytes are no message.
    Foreign(String),
}

impl fmt::Display for FrameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => write!(f, "{error}"),
            Self::Foreign(what) => write!(f, "not a message of this tamis: {what}"),
        }
    }
}

impl std::error::Error for FrameError {}

impl From<io::Error> for FrameError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Writes one message in one call, so that messages of several threads do not mix.
pub fn write<T: Serialize>(out: &mut impl Write, message: &T) -> Result<(), FrameError> {
    let mut frame = vec![0; 4];
    frame = postcard::to_extend(message, frame).map_err(|e| FrameError::Foreign(e.to_string()))?;
    let length = u32::try_from(frame.len() - 4).ok().filter(|&n| n <= LONGEST);
    let length = length.ok_or_else(|| FrameError::Foreign("too long".into()))?;
    frame[..4].copy_from_slice(&length.to_le_bytes());
    out.write_all(&frame)?;
    Ok(())
}

/// Reads the next message; `None` at the end of the stream, also in the middle of a message.
pub fn read<T: DeserializeOwned>(from: &mut impl Read) -> Result<Option<T>, FrameError> {
    let mut length = [0; 4];
    if !fill(from, &mut length)? {
        return Ok(None);
    }
    let length = u32::from_le_bytes(length);
    if length > LONGEST {
        return Err(FrameError::Foreign(format!("a length of {length} bytes")));
    }
    let mut bytes = Vec::new();
    from.take(u64::from(length)).read_to_end(&mut bytes)?;
    if bytes.len() < length as usize {
        return Ok(None);
    }
    postcard::from_bytes(&bytes).map(Some).map_err(|e| FrameError::Foreign(e.to_string()))
}

fn fill(from: &mut impl Read, buffer: &mut [u8]) -> io::Result<bool> {
    match from.read_exact(buffer) {
        Ok(()) => Ok(true),
        Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(e) => Err(e),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Began, FromJvm, Hits, Lookup, Window};

    fn messages() -> Vec<FromJvm> {
        let class = "com.acme.FooTest".to_owned();
        vec![
            FromJvm::Began(Began { test: 7, class, framework: "junit4".into(), stretch: None }),
            FromJvm::Window(Window {
                open: vec![7],
                hits: Hits::from_sorted([0, 1, 40_000, 1_000_000]),
                lookups: [Lookup::Class("a.B".into()), Lookup::AllVariables].into_iter().collect(),
            }),
            FromJvm::Class(crate::ClassSeen {
                name: b"a/B".to_vec(),
                hash: u128::MAX,
                size: 12,
                first_probe: 3,
                probes: 4,
                problem: None,
            }),
            FromJvm::Bye,
        ]
    }

    #[test]
    fn messages_come_back_in_order() {
        let mut stream = Vec::new();
        for message in messages() {
            write(&mut stream, &message).unwrap();
        }
        let mut from = stream.as_slice();
        for message in messages() {
            assert_eq!(read::<FromJvm>(&mut from).unwrap(), Some(message));
        }
        assert_eq!(read::<FromJvm>(&mut from).unwrap(), None);
    }

    #[test]
    fn a_stream_that_is_cut_anywhere_ends_without_a_message_that_was_not_sent() {
        let mut stream = Vec::new();
        for message in messages() {
            write(&mut stream, &message).unwrap();
        }
        for cut in 0..stream.len() {
            let mut from = &stream[..cut];
            let mut whole = messages().into_iter();
            while let Some(message) = read::<FromJvm>(&mut from).unwrap() {
                assert_eq!(Some(message), whole.next());
            }
        }
    }

    #[test]
    fn foreign_bytes_are_an_error() {
        assert!(read::<FromJvm>(&mut [0xff; 64].as_slice()).is_err());
        assert!(read::<FromJvm>(&mut [1, 0, 0, 0, 200].as_slice()).is_err());
    }
}
