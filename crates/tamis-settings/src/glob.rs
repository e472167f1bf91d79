//! Globs, the same in every place of the settings: `*` and `?` stay within one name, `**` crosses
//! folders, `[...]` and `{a,b}` are alternatives, a backslash takes the next character as it is.

use globset::{Candidate, Glob, GlobBuilder, GlobSet, GlobSetBuilder};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

pub(crate) fn compile(pattern: &str) -> Result<Glob, String> {
    GlobBuilder::new(pattern)
        .literal_separator(true)
        .build()
        .map_err(|error| format!("is no valid glob: {}", error.kind()))
}

/// The same where `*` and `?` cross folders: for names that a user types.
pub(crate) fn across_folders(pattern: &str) -> Result<Glob, String> {
    Glob::new(pattern).map_err(|error| format!("is no valid glob: {}", error.kind()))
}

/// The set of patterns that were checked when the settings were read.
pub(crate) fn set(globs: impl IntoIterator<Item = Glob>) -> Result<GlobSet, String> {
    let mut builder = GlobSetBuilder::new();
    for glob in globs {
        builder.add(glob);
    }
    builder.build().map_err(|error| format!("is no valid glob: {}", error.kind()))
}

/// Whether a pattern holds anything but plain characters.
pub(crate) fn is_pattern(text: &str) -> bool {
    plain_start(text).len() < text.len()
}

/// What every match of a pattern starts with.
pub(crate) fn plain_start(pattern: &str) -> &str {
    let end = pattern.find(['*', '?', '[', '{', '\\']).unwrap_or(pattern.len());
    &pattern[..end]
}

/// A path as the pattern that matches only itself.
pub(crate) fn escape(path: &str) -> String {
    globset::escape(path)
}

/// Globs on names: items of a suite, programs, variables. A pattern without a slash also matches
/// the part of a name after its last slash.
#[derive(Debug, Clone, Default)]
pub struct NameGlobs {
    patterns: Vec<String>,
    set: GlobSet,
}

impl NameGlobs {
    /// The error is a fragment that says what is wrong with which pattern.
    pub fn new(patterns: Vec<String>) -> Result<Self, String> {
        let globs: Vec<Glob> = patterns
            .iter()
            .map(|p| compile(p).map_err(|error| format!("`{p}` {error}")))
            .collect::<Result<_, _>>()?;
        Ok(Self { patterns, set: set(globs)? })
    }

    pub fn patterns(&self) -> &[String] {
        &self.patterns
    }

    /// The first pattern that matches.
    pub fn matching(&self, name: &[u8]) -> Option<&str> {
        let whole = self.indexes(name);
        let last = name.iter().rposition(|&c| c == b'/').map(|at| self.indexes(&name[at + 1..]));
        let parts = last.into_iter().flatten().filter(|&n| !self.patterns[n].contains('/'));
        let first = whole.into_iter().chain(parts).min()?;
        Some(&self.patterns[first])
    }

    /// Whether a pattern matches the name from its first to its last character.
    pub fn matches_whole(&self, name: &[u8]) -> bool {
        !self.indexes(name).is_empty()
    }

    fn indexes(&self, name: &[u8]) -> Vec<usize> {
        let path = Path::new(OsStr::from_bytes(name));
        self.set.matches_candidate(&Candidate::new(path))
    }

    pub fn matches(&self, name: &[u8]) -> bool {
        self.matching(name).is_some()
    }
}

impl PartialEq for NameGlobs {
    fn eq(&self, other: &Self) -> bool {
        self.patterns == other.patterns
    }
}

impl Eq for NameGlobs {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        let globs =
            NameGlobs::new(vec!["net_*".into(), "slow/**".into(), "t[12].sh".into()]).unwrap();
        assert_eq!(globs.matching(b"net_a"), Some("net_*"));
        assert_eq!(globs.matching(b"tests/net_a.sh"), Some("net_*"));
        assert_eq!(globs.matching(b"slow/x/y"), Some("slow/**"));
        assert_eq!(globs.matching(b"deep/t1.sh"), Some("t[12].sh"));
        assert!(!globs.matches(b"net_a/plain"));
        assert!(!globs.matches(b"other/slow/x"));
        assert!(globs.matches(b"net_\xff"));
        assert!(!NameGlobs::default().matches(b"x"));
    }

    #[test]
    fn plain_starts() {
        assert_eq!(plain_start("docs/**"), "docs/");
        assert_eq!(plain_start("a\\*b"), "a");
        assert_eq!(plain_start("plain"), "plain");
        assert!(!is_pattern("plain") && is_pattern("{a,b}"));
    }

    #[test]
    fn a_bad_pattern_is_named() {
        let error = NameGlobs::new(vec!["a[".into()]).unwrap_err();
        assert!(error.starts_with("`a[` is no valid glob: "), "{error}");
    }
}
