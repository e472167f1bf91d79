//! The state of everyday tools: logs, counters, notes of when a tool last looked for a newer version
//! of itself. A test that is started by npm or go looks at it and changes it each time, and so does
//! every other call of the tool; none of it decides how a test ends.
//!
//! The list is [`TOOL_STATE`]; `[tamis.tool-state]` extends it (`ignore`), leaves out entries
//! (`except`) or all of it (`default = false`). Where a tool keeps its state shows in variables,
//! as in a shell: `${CARGO_HOME:-~/.cargo}/.global-cache`. A pattern takes in everything below.
//!
//! [`TOOL_LOOKS`] is about files that do count: a tool that walks through folders looks at each entry,
//! and takes nothing from it but its kind. `except` and `default` switch these off as well.
//!
//! A project that lies inside such a place counts as a whole: who tests a tool's log files keeps them
//! in a project. What this does not see: a test that does act upon such a file of the user. `except`
//! is for that.

mod list;

pub use list::{TOOL_LOOKS, TOOL_STATE, ToolLook, ToolState};

use crate::glob;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The names that `except` takes.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    TOOL_STATE.iter().map(|entry| entry.name).chain(TOOL_LOOKS.iter().map(|look| look.name))
}

/// What the settings say about the state of tools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolSettings {
    /// `default`: the built-in list holds.
    pub default: bool,
    /// `except`: entries of it that count all the same.
    pub except: Vec<String>,
    /// `ignore`: paths of other tools.
    pub ignore: Vec<String>,
}

impl Default for ToolSettings {
    fn default() -> Self {
        Self { default: true, except: Vec::new(), ignore: Vec::new() }
    }
}

impl ToolSettings {
    /// The entries of the built-in list that hold.
    pub fn entries(&self) -> impl Iterator<Item = &'static ToolState> {
        let holds = |entry: &&ToolState| self.default && !self.is_except(entry.name);
        TOOL_STATE.iter().filter(holds)
    }

    /// The looks of the built-in list that decide nothing.
    pub fn looks(&self) -> Vec<&'static ToolLook> {
        TOOL_LOOKS.iter().filter(|look| self.default && !self.is_except(look.name)).collect()
    }

    fn is_except(&self, name: &str) -> bool {
        self.except.iter().any(|except| except == name)
    }

    /// All patterns that hold, as they are written.
    pub fn patterns(&self) -> Vec<String> {
        let built_in = self.entries().flat_map(|entry| entry.paths).map(|p| (*p).to_owned());
        built_in.chain(self.ignore.iter().cloned()).collect()
    }
}

impl ToolLook {
    /// Whether this program looks at this entry of a folder only to know what kind of thing it is.
    pub(crate) fn takes(&self, path: &Path, program: &Path) -> bool {
        let is_source = || {
            let ending = path.extension().map(OsStr::as_bytes);
            ending.is_some_and(|ending| self.except.iter().any(|e| e.as_bytes() == ending))
        };
        let is_this = || {
            let above = program.parent().and_then(Path::parent);
            above.is_some_and(|above| above.join(self.beside).is_file())
        };
        program.file_name() == Some(OsStr::new(self.program)) && !is_source() && is_this()
    }
}

/// A pattern of the list with its variables replaced; `None` where it names no place here.
/// What comes from the environment is no pattern, whatever is in it.
pub(crate) fn expand(
    pattern: &str,
    home: Option<&Path>,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Option<String> {
    if let Some(rest) = pattern.strip_prefix("${") {
        let end = closing(rest)?;
        let (inside, tail) = (&rest[..end], &rest[end + 1..]);
        let (name, otherwise) = match inside.split_once(":-") {
            Some((name, otherwise)) => (name, Some(otherwise)),
            None => (inside, None),
        };
        let set = variable(name).filter(|value| is_place(value));
        let base = match (set, otherwise) {
            (Some(value), _) => glob::escape(value.trim_end_matches('/')),
            (None, Some(otherwise)) => expand(otherwise, home, variable)?,
            (None, None) => return None,
        };
        return Some(base + tail);
    }
    match pattern.strip_prefix('~') {
        Some(rest) => {
            let home = home?.to_str()?.trim_end_matches('/');
            Some(glob::escape(home) + rest)
        }
        None => Some(pattern.to_owned()),
    }
}

/// Where the bracket closes that was opened before the text.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' if depth == 0 => return Some(at),
            b'}' => depth -= 1,
            _ => {}
        }
    }
    None
}

/// Whether the value of a variable names a folder below the top one.
fn is_place(value: &str) -> bool {
    let path = Path::new(value);
    path.is_absolute() && path.parent().is_some()
}

#[cfg(test)]
mod tests;
