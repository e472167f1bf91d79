//! Messages on a byte stream: a length of four bytes, then the message.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
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
    let mut frame = postcard::to_extend(message, vec![0; 4]).map_err(foreign)?;
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
    from_bytes(&bytes).map(Some)
}

/// A value as it travels.
pub fn to_bytes<T: Serialize>(value: &T) -> Result<Vec<u8>, FrameError> {
    postcard::to_allocvec(value).map_err(foreign)
}

/// The value that travelled.
pub fn from_bytes<'de, T: Deserialize<'de>>(bytes: &'de [u8]) -> Result<T, FrameError> {
    postcard::from_bytes(bytes).map_err(foreign)
}

fn foreign(error: postcard::Error) -> FrameError {
    FrameError::Foreign(error.to_string())
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
    use crate::{Began, Ended, FromProcess, Hello, Payload, Verdict};

    fn messages() -> Vec<FromProcess> {
        let payload = Payload::of(&("class", vec![1_u32, 40_000])).unwrap();
        vec![
            FromProcess::Hello(Hello { pid: 17, payload: payload.clone() }),
            FromProcess::Began(Began {
                test: 7,
                name: "a.FooTest".into(),
                payload: payload.clone(),
            }),
            FromProcess::Payload(payload),
            FromProcess::Ended(Ended { test: 7, verdict: Verdict::Failed, wall_us: u64::MAX }),
            FromProcess::Trouble("no".into()),
            FromProcess::Bye,
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
            assert_eq!(read::<FromProcess>(&mut from).unwrap(), Some(message));
        }
        assert_eq!(read::<FromProcess>(&mut from).unwrap(), None);
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
            while let Some(message) = read::<FromProcess>(&mut from).unwrap() {
                assert_eq!(Some(message), whole.next());
            }
        }
    }

    #[test]
    fn foreign_bytes_are_an_error() {
        assert!(read::<FromProcess>(&mut [0xff; 64].as_slice()).is_err());
        assert!(read::<FromProcess>(&mut [1, 0, 0, 0, 200].as_slice()).is_err());
        assert!(Payload(vec![0xff]).read::<String>().is_err());
    }

    #[test]
    fn payloads_come_back() {
        let payload = Payload::of(&Some("x")).unwrap();
        assert_eq!(payload.read::<Option<&str>>().unwrap(), Some("x"));
    }
}
