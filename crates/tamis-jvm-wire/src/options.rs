//! What the agent gets on the command line: `socket=...,token=...,role=...,methods=yes`.
//!
//! The text passes through `MAVEN_OPTS`, which some start scripts evaluate a second time, and
//! through Surefire's own splitting of arguments. So it has none of the characters that a shell, a
//! splitter or the JVM itself gives a meaning to: everything else than letters, digits and a few
//! signs is written as `%` and two hexadecimal digits.

use crate::Role;
use std::ffi::OsString;
use std::fmt;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// Stands before the number of the JVM whose child it is.
const CHILD: &str = "child-";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// The socket that tamis listens on.
    pub socket: PathBuf,
    /// Stands in every [`crate::mark`] of this run.
    pub token: String,
    pub role: Role,
    /// Tell the methods of test classes apart.
    pub methods: bool,
}

impl Options {
    /// The argument for `java`. `None` if the library's path would not survive a shell and a
    /// splitter of arguments: it cannot be written in another way, the JVM takes it as it is.
    pub fn argument(&self, library: &Path) -> Option<String> {
        let library = library.to_str().filter(|path| path.bytes().all(is_plain))?;
        Some(format!("-agentpath:{library}={self}"))
    }

    pub fn parse(text: &str) -> Result<Self, String> {
        let (mut socket, mut token, mut role, mut methods) = (None, None, None, false);
        for part in text.split(',').filter(|part| !part.is_empty()) {
            match part.split_once('=') {
                Some(("socket", path)) => socket = Some(OsString::from_vec(decode(path)?).into()),
                Some(("token", text)) => {
                    let text = String::from_utf8(decode(text)?);
                    token = Some(text.map_err(|_| "the token is not text".to_owned())?);
                }
                Some(("role", "build")) => role = Some(Role::Build),
                Some(("role", "tests")) => role = Some(Role::Tests),
                Some(("role", "outcomes")) => role = Some(Role::Outcomes),
                Some(("role", "launched")) => role = Some(Role::Launched),
                Some(("role", child)) if child.starts_with(CHILD) => {
                    let host = child[CHILD.len()..].parse();
                    role = Some(Role::Child(host.map_err(|_| format!("unknown role {child}"))?));
                }
                Some(("methods", "yes")) => methods = true,
                _ => return Err(format!("unknown option {part}")),
            }
        }
        Ok(Self {
            socket: socket.ok_or("no socket was given")?,
            token: token.ok_or("no token was given")?,
            role: role.ok_or("no role was given")?,
            methods,
        })
    }
}

impl fmt::Display for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let role = match self.role {
            Role::Build => "build".to_owned(),
            Role::Tests => "tests".to_owned(),
            Role::Outcomes => "outcomes".to_owned(),
            Role::Launched => "launched".to_owned(),
            Role::Child(host) => format!("{CHILD}{host}"),
        };
        let socket = encode(self.socket.as_os_str().as_bytes());
        let methods = if self.methods { ",methods=yes" } else { "" };
        write!(f, "socket={socket},token={},role={role}{methods}", encode(self.token.as_bytes()))
    }
}

fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'.' | b'_' | b'-' | b'+' | b':' | b'@')
}

fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for &byte in bytes {
        if is_plain(byte) {
            text.push(char::from(byte));
        } else {
            text.push_str(&format!("%{byte:02x}"));
        }
    }
    text
}

fn decode(text: &str) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, behind)) = rest.split_first() {
        rest = behind;
        if first != b'%' {
            bytes.push(first);
            continue;
        }
        let digits = rest.get(..2).and_then(|two| std::str::from_utf8(two).ok());
        let byte = digits.and_then(|two| u8::from_str_radix(two, 16).ok());
        bytes.push(byte.ok_or_else(|| format!("a broken escape in {text}"))?);
        rest = &rest[2..];
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(socket: &str) -> Options {
        Options { socket: socket.into(), token: "t0=,%é".into(), role: Role::Tests, methods: true }
    }

    #[test]
    fn options_come_back_and_have_no_character_with_a_meaning() {
        for socket in ["/tmp/x/s", "/tmp/a b,c;d=$(e)'\"%41/sock", "/tmp/é\n*?[x]"] {
            for role in [Role::Tests, Role::Launched, Role::Child(u32::MAX)] {
                let options = Options { role, ..options(socket) };
                let text = options.to_string();
                assert_eq!(Options::parse(&text), Ok(options));
                assert!(text.bytes().all(|b| is_plain(b) || b"%,=".contains(&b)), "{text}");
            }
        }
    }

    #[test]
    fn broken_options_are_reported() {
        let texts = [
            "",
            "socket=/s,token=t",
            "socket=%zz,token=t,role=tests",
            "role=x",
            "role=child-",
            "what",
        ];
        for text in texts {
            assert!(Options::parse(text).is_err(), "{text}");
        }
        assert!(Options::parse("socket=%4,token=t,role=tests").is_err());
    }

    #[test]
    fn a_library_below_a_folder_with_a_space_has_no_argument() {
        assert!(options("/s").argument(Path::new("/a b/lib.so")).is_none());
        let argument = options("/s").argument(Path::new("/a/lib.so")).unwrap();
        assert!(argument.starts_with("-agentpath:/a/lib.so=socket=/s,"), "{argument}");
    }
}
