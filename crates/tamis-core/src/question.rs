//! Questions: the inputs of a test, and under which scheme their fingerprint is taken.

use crate::path::PortablePath;
use crate::value::Hash;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

/// How the state of a path becomes a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Scheme {
    /// Only what kind of thing is there (absent, file, directory, link and its target).
    Kind,
    /// The bytes of the file and its executable bit.
    Raw,
    /// The names (with their kinds) in the directory, less those that the rules ignore.
    Listing,
    /// XML without comments and insignificant blanks.
    Xml,
    /// JSON by value: order of keys and blanks do not count.
    Json,
    /// TOML by value.
    Toml,
    /// Text without blanks at line ends and without blank lines at the end.
    Text,
    /// Python byte code that Python itself checks against its source: carries no information.
    Bytecode,
    /// The output of a user's command; the hash names the command.
    Command(Hash),
    /// Whether a file can be written here. A file that is there already and none are the same, so
    /// that what a test itself wrote does not count; a directory, no folder to write in, or one that
    /// this user may not write in, is not.
    Place,
    /// How long a file is that is written to. None and an empty one are the same.
    Size,
    /// The extended attributes.
    Attributes,
    /// What this user may do with it: read, write, execute.
    Rights,
    /// Whether a file has more than one name.
    Names,
    /// A class file as a program can see it: no debug information.
    Class,
    /// The bytes, unless a user's command says that the file is no input; the hash names the command.
    Filter(Hash),
    /// The index of git by its entries, without what git writes anew to be quicker.
    GitIndex,
    /// `pyvenv.cfg` without the line that says by which command the environment was made.
    Venv,
}

impl Scheme {
    /// The user's command that is run to take the value: what it reads besides the file is not known, so
    /// that no value of it can be kept.
    pub fn command(self) -> Option<Hash> {
        match self {
            Self::Command(id) | Self::Filter(id) => Some(id),
            _ => None,
        }
    }

    /// Code and parameter, the form in which a scheme is stored.
    pub fn to_raw(self) -> (u8, u128) {
        match self {
            Self::Kind => (0, 0),
            Self::Raw => (1, 0),
            Self::Listing => (2, 0),
            Self::Xml => (3, 0),
            Self::Json => (4, 0),
            Self::Toml => (5, 0),
            Self::Text => (6, 0),
            Self::Bytecode => (7, 0),
            Self::Command(h) => (8, h.0),
            Self::Place => (9, 0),
            Self::Size => (10, 0),
            Self::Attributes => (11, 0),
            Self::Rights => (12, 0),
            Self::Names => (13, 0),
            Self::Class => (14, 0),
            Self::Filter(h) => (15, h.0),
            Self::GitIndex => (24, 0),
            Self::Venv => (25, 0),
        }
    }

    pub fn from_raw(code: u8, parameter: u128) -> Option<Self> {
        Some(match code {
            0 => Self::Kind,
            1 => Self::Raw,
            2 => Self::Listing,
            3 => Self::Xml,
            4 => Self::Json,
            5 => Self::Toml,
            6 => Self::Text,
            7 => Self::Bytecode,
            8 => Self::Command(Hash(parameter)),
            9 => Self::Place,
            10 => Self::Size,
            11 => Self::Attributes,
            12 => Self::Rights,
            13 => Self::Names,
            14 => Self::Class,
            15 => Self::Filter(Hash(parameter)),
            24 => Self::GitIndex,
            25 => Self::Venv,
            _ => return None,
        })
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Kind => "kind",
            Self::Raw => "raw",
            Self::Listing => "listing",
            Self::Xml => "xml",
            Self::Json => "json",
            Self::Toml => "toml",
            Self::Text => "text",
            Self::Bytecode => "bytecode",
            Self::Command(_) => "command",
            Self::Place => "place",
            Self::Size => "size",
            Self::Attributes => "attributes",
            Self::Rights => "rights",
            Self::Names => "names",
            Self::Class => "class",
            Self::Filter(_) => "filter",
            Self::GitIndex => "git-index",
            Self::Venv => "venv",
        })
    }
}

/// One thing a test's outcome can depend on, as a question that can be put to the world again.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Question {
    /// What is at this path?
    Path(PortablePath, Scheme),
    /// What is the value of this environment variable?
    Variable(Vec<u8>),
    /// Which environment variables (that count) are there?
    VariableNames,
    /// Which files match this glob below the project's root, and what is in them?
    Glob(String),
    /// Under which rules (filters, schemes, model version) was observed?
    Rules,
    /// A named fact of the toolchain or runner that an adapter answers.
    Fact(Arc<str>),
}

impl Question {
    /// The path that is asked about, if it is about a path.
    pub fn path(&self) -> Option<&PortablePath> {
        match self {
            Self::Path(path, _) => Some(path),
            _ => None,
        }
    }
}

impl fmt::Display for Question {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path(path, Scheme::Listing) => write!(f, "the names in {path}"),
            Self::Path(path, Scheme::Size) => write!(f, "the size of {path}"),
            Self::Path(path, Scheme::Attributes) => write!(f, "the attributes of {path}"),
            Self::Path(path, Scheme::Rights) => write!(f, "the rights on {path}"),
            Self::Path(path, Scheme::Names) => write!(f, "the other names of {path}"),
            Self::Path(path, _) => write!(f, "{path}"),
            Self::Variable(name) => write!(f, "variable {}", String::from_utf8_lossy(name)),
            Self::VariableNames => write!(f, "the set of environment variables"),
            Self::Glob(glob) => write!(f, "files matching {glob}"),
            Self::Rules => write!(f, "the rules of observation"),
            Self::Fact(name) => write!(f, "{name}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scheme_survives_its_stored_form() {
        let mut known = 0;
        for code in 0..=u8::MAX {
            if let Some(scheme) = Scheme::from_raw(code, 7) {
                assert_eq!(scheme.to_raw().0, code, "{scheme}");
                let (code, parameter) = scheme.to_raw();
                assert_eq!(Scheme::from_raw(code, parameter), Some(scheme));
                known += 1;
            }
        }
        assert_eq!(known, 18);
    }

    #[test]
    fn what_is_asked_of_a_path_is_named() {
        let asked = |scheme| Question::Path(PortablePath::from_stored("a"), scheme).to_string();
        assert_eq!(asked(Scheme::Raw), "a");
        assert_eq!(asked(Scheme::Size), "the size of a");
        assert_eq!(asked(Scheme::Attributes), "the attributes of a");
        assert_eq!(asked(Scheme::Rights), "the rights on a");
    }
}
