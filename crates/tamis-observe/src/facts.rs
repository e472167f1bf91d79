//! Questions about the machine that are not about a path: their names in records, and their answers.

use crate::network::taken;
use crate::sockets::{Endpoint, Sockets};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use tamis_core::{Hash, PathMap, PortablePath, Value};

/// A question as it stands in records.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fact {
    /// Whether something takes what is sent to this place.
    Listens(Endpoint),
    /// Whether a standard stream that the run shares with us is a terminal.
    Terminal(u32),
    /// What such a stream is.
    Stream(u32),
    /// Whether there is a terminal to ask the user at, whatever the streams are.
    Console,
}

const STREAMS: [&str; 3] = ["standard input", "standard output", "standard error"];
const IS_TERMINAL: &str = " is a terminal";
const KIND: &str = "the kind of ";
const WHETHER: &str = "whether ";
const CONSOLE: &str = "whether there is a terminal (/dev/tty)";

const LISTENS: &str = "whether something listens at ";

impl Fact {
    pub(crate) fn name(&self, paths: &PathMap) -> String {
        let place = match self {
            Self::Terminal(number) => return format!("{WHETHER}{}{IS_TERMINAL}", stream(*number)),
            Self::Stream(number) => return format!("{KIND}{}", stream(*number)),
            Self::Console => return CONSOLE.into(),
            Self::Listens(place) => place,
        };
        let place = match place {
            Endpoint::Tcp(address) => format!("tcp {address}"),
            Endpoint::Udp(address) => format!("udp {address}"),
            Endpoint::Unix(path) => {
                let path = paths.to_portable(Path::new(OsStr::from_bytes(path)));
                format!("unix {}", to_text(path.as_bytes()))
            }
            Endpoint::Abstract(name) => format!("abstract {}", to_text(name)),
        };
        format!("{LISTENS}{place}")
    }

    fn parse(name: &str, paths: &PathMap) -> Option<Self> {
        let number = |name: &str| STREAMS.iter().position(|s| *s == name).map(|n| n as u32);
        if name == CONSOLE {
            return Some(Self::Console);
        }
        if let Some(stream) = name.strip_prefix(KIND) {
            return number(stream).map(Self::Stream);
        }
        if let Some(stream) = name.strip_prefix(WHETHER).and_then(|n| n.strip_suffix(IS_TERMINAL)) {
            return number(stream).map(Self::Terminal);
        }
        let (kind, place) = name.strip_prefix(LISTENS)?.split_once(' ')?;
        Some(Self::Listens(match kind {
            "tcp" => Endpoint::Tcp(place.parse().ok()?),
            "udp" => Endpoint::Udp(place.parse().ok()?),
            "abstract" => Endpoint::Abstract(from_text(place)?),
            "unix" => {
                let path = paths.to_absolute(&PortablePath::from_stored(from_text(place)?));
                Endpoint::Unix(path.as_os_str().as_bytes().to_vec())
            }
            _ => return None,
        }))
    }

    /// The answer now. Of streams it is that of our own.
    pub(crate) fn answer(&self) -> Value {
        let yes_or_no = |yes| Value::text(if yes { b"yes".as_slice() } else { b"no" });
        let place = match self {
            Self::Terminal(number) => return yes_or_no(is_terminal(*number)),
            Self::Stream(number) => return Value::text(kind_of_stream(*number).as_bytes()),
            Self::Console => return yes_or_no(std::fs::File::open("/dev/tty").is_ok()),
            Self::Listens(place) => place,
        };
        match Sockets::default().find(place) {
            Ok(None) => Value::Absent,
            Ok(Some(_)) => taken(),
            // Equal to neither.
            Err(error) => Value::Opaque(Hash::of(error.to_string().as_bytes())),
        }
    }
}

fn stream(number: u32) -> &'static str {
    STREAMS.get(number as usize).copied().unwrap_or("a descriptor")
}

fn is_terminal(number: u32) -> bool {
    // SAFETY: asks about one of our own descriptors.
    unsafe { libc::isatty(number as libc::c_int) == 1 }
}

fn kind_of_stream(number: u32) -> &'static str {
    use std::os::unix::fs::FileTypeExt;
    if is_terminal(number) {
        return "a terminal";
    }
    let Ok(found) = std::fs::metadata(format!("/proc/self/fd/{number}")) else { return "closed" };
    match found.file_type() {
        kind if kind.is_file() => "a file",
        kind if kind.is_dir() => "a folder",
        kind if kind.is_fifo() => "a pipe",
        kind if kind.is_socket() => "a socket",
        _ => "a device",
    }
}

/// The answer to a question that an observer put; `None` where the name is none of its own.
pub fn answer_fact(name: &str, paths: &PathMap) -> Option<Value> {
    Fact::parse(name, paths).map(|fact| fact.answer())
}

/// Bytes as text that can be read back: all but printable ASCII as `%41`.
fn to_text(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, &byte| {
        match byte {
            b'%' | 0..=0x20 | 0x7f.. => text.push_str(&format!("%{byte:02x}")),
            _ => text.push(char::from(byte)),
        }
        text
    })
}

fn from_text(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        rest = tail;
        if first != b'%' {
            bytes.push(first);
            continue;
        }
        let digits = std::str::from_utf8(rest.get(..2)?).ok()?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        rest = &rest[2..];
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    fn paths() -> PathMap {
        PathMap::new("/project".into(), Some("/home/ann".into()))
    }

    #[test]
    fn names_can_be_read_back() {
        for place in [
            Endpoint::Tcp("127.0.0.1:80".parse().unwrap()),
            Endpoint::Udp("[::1]:53".parse().unwrap()),
            Endpoint::Unix(b"/project/run/a b.sock".to_vec()),
            Endpoint::Unix(b"/tmp/\xff%41\n".to_vec()),
            Endpoint::Unix(b"/project/@x".to_vec()),
            Endpoint::Abstract(b"/tmp/.X11-unix/X0".to_vec()),
            Endpoint::Abstract(b"\0\x01".to_vec()),
            Endpoint::Abstract(Vec::new()),
        ] {
            let fact = Fact::Listens(place);
            let name = fact.name(&paths());
            assert_eq!(Fact::parse(&name, &paths()), Some(fact), "{name}");
        }
    }

    #[test]
    fn a_socket_in_the_project_travels_with_it() {
        let fact = Fact::Listens(Endpoint::Unix(b"/project/s".to_vec()));
        let there = PathMap::new("/other".into(), None);
        let expected = Fact::Listens(Endpoint::Unix(b"/other/s".to_vec()));
        assert_eq!(Fact::parse(&fact.name(&paths()), &there), Some(expected));
    }

    #[test]
    fn questions_about_streams_can_be_read_back() {
        let streams = (0..3).flat_map(|n| [Fact::Terminal(n), Fact::Stream(n)]);
        for fact in streams.chain([Fact::Console]) {
            let name = fact.name(&paths());
            assert_eq!(answer_fact(&name, &paths()), Some(fact.answer()), "{name}");
            assert_eq!(Fact::parse(&name, &paths()), Some(fact));
        }
    }

    #[test]
    fn other_names_are_not_ours() {
        for name in [
            "whether the tests run as root",
            "the standard input",
            "whether something listens at tcp nowhere",
            "whether something listens at pigeon 1",
            "whether something listens at abstract %4",
        ] {
            assert_eq!(answer_fact(name, &paths()), None, "{name}");
        }
    }

    #[test]
    fn the_answer_changes_with_the_listener() {
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let name = Fact::Listens(Endpoint::Tcp(server.local_addr().unwrap())).name(&paths());
        assert_eq!(answer_fact(&name, &paths()), Some(taken()));
        drop(server);
        assert_eq!(answer_fact(&name, &paths()), Some(Value::Absent));
    }
}
