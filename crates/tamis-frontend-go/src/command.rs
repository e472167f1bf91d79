//! Which command lines are `go test` by packages, and the command line for some of its packages.
//!
//! The words are read as `testFlags` of the go command reads them: flags stand before and behind the
//! package list, the first run of words that are no flags is the list, an unknown flag ends the search for
//! it, and whatever follows `--`, `-args` or a second run of plain words belongs to the test binary.
//! `GOFLAGS` comes first, from the environment or from the file of `go env -w`.

use crate::environment::Surroundings;
use crate::flags::{self, Concerns, Flag, Word};
use crate::quoted;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::ops::Range;
use std::path::{Path, PathBuf};
use tamis_core::Hash;

/// What a command line is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Claim {
    /// No `go test`.
    Other,
    /// `go test`, but its packages cannot run one without the other: it runs as one command.
    Whole { why: String },
    /// `go test` with a list of packages.
    Packages(GoTest),
}

/// A `go test` whose packages can be run one without the other.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GoTest {
    words: Vec<String>,
    /// The value of `-C`.
    chdir: Option<String>,
    /// Behind `test` and `-C`: where flags may be added.
    flags_at: usize,
    /// The words of the package list; empty for the package of the current folder.
    packages_at: Range<usize>,
    /// Flags that decide what is built, from `GOFLAGS` and the command line; several values each only
    /// where they add up.
    build: BTreeMap<&'static str, Vec<String>>,
    /// The words of the command line that `go list` gets.
    for_list: Vec<String>,
    test_build: BTreeMap<&'static str, String>,
    /// From `GOFLAGS`, where the command line does not overrule them.
    test_defaults: BTreeMap<&'static str, String>,
    test_words: Vec<String>,
    json: bool,
}

/// Reads a command line. Nothing is started, and no file but that of `go env -w` is read.
pub fn claim(words: &[OsString], at: &Surroundings) -> Claim {
    let Some(words) = words.iter().map(|w| w.to_str().map(str::to_owned)).collect() else {
        return Claim::Other;
    };
    let Some(mut test) = GoTest::begin(words) else {
        return Claim::Other;
    };
    match test.read(&at.setting("GOFLAGS").unwrap_or_default()) {
        Ok(()) => Claim::Packages(test),
        Err(why) => Claim::Whole { why },
    }
}

/// `go`, and the wrappers `go1.22.3` that `golang.org/dl` installs.
fn is_go(word: &str) -> bool {
    let name = word.rsplit('/').next().unwrap_or(word);
    let version = name.strip_prefix("go1.").unwrap_or_default();
    name == "go" || version.starts_with(|c: char| c.is_ascii_digit())
}

impl GoTest {
    /// The part up to `test` and `-C DIR`, which stands before or behind `test`.
    fn begin(words: Vec<String>) -> Option<Self> {
        words.first().filter(|word| is_go(word))?;
        let (before, used) = chdir(&words[1..]);
        let verb = 1 + used;
        words.get(verb).filter(|word| *word == "test")?;
        let (behind, used) = match before {
            Some(_) => (None, 0),
            None => chdir(&words[verb + 1..]),
        };
        let flags_at = verb + 1 + used;
        Some(Self { chdir: before.or(behind), flags_at, words, ..Self::default() })
    }

    fn read(&mut self, goflags: &str) -> Result<(), String> {
        let goflags = quoted::split(goflags).ok_or("GOFLAGS has a quote that is not closed")?;
        for word in goflags {
            self.read_default(&word)?;
        }
        let mut reader = PackageList::default();
        let mut at = self.flags_at;
        while at < self.words.len() {
            let rest = self.words[at..].to_vec();
            match self.take(&rest, at, &mut reader)? {
                0 => break,
                used => at += used,
            }
        }
        self.packages_at = reader.found.unwrap_or(self.flags_at..self.flags_at);
        self.packages().iter().try_for_each(|package| separable(package))
    }

    /// One word of `GOFLAGS`, which always carries its value with it.
    fn read_default(&mut self, word: &str) -> Result<(), String> {
        let word = [word.to_owned()];
        match flags::read(&word) {
            Word::Known { name, value, .. } => {
                let flag = Flag::find(name).ok_or("unknown flag")?;
                if flag.for_test() {
                    self.test_defaults.insert(name, value.clone());
                }
                self.note(flag, &value).map_err(|why| format!("GOFLAGS: {why}"))
            }
            Word::Wrong(why) => Err(format!("GOFLAGS: {why}")),
            // Flags of other go commands.
            _ => Ok(()),
        }
    }

    /// Takes the first of the remaining words; how many were used, none where the rest is taken.
    fn take(
        &mut self,
        rest: &[String],
        at: usize,
        list: &mut PackageList,
    ) -> Result<usize, String> {
        let after_flag = std::mem::take(&mut list.after_open_flag);
        match flags::read(rest) {
            Word::Help => return Err("asks for help".into()),
            Word::Wrong(why) => return Err(why),
            Word::End => {
                self.test_words.extend_from_slice(rest);
                return Ok(0);
            }
            Word::NoFlag(_) if list.open() => list.extend(at),
            Word::NoFlag(word) if after_flag => {
                if list.unknown_first && looks_like_packages(word) {
                    return Err(format!("{word} stands behind a flag that go test does not know"));
                }
                self.test_words.push(word.to_owned());
            }
            Word::NoFlag(_) => {
                self.test_words.extend_from_slice(rest);
                return Ok(0);
            }
            Word::Unknown { raw: "-args" | "--args", .. } => {
                self.test_words.extend_from_slice(&rest[1..]);
                return Ok(0);
            }
            Word::Unknown { raw, has_value } => {
                list.close(true);
                list.after_open_flag = !has_value;
                self.test_words.push(raw.to_owned());
            }
            Word::Known { name, value, used } => {
                list.close(false);
                self.take_flag(name, &value, &rest[..used])?;
                return Ok(used);
            }
        }
        Ok(1)
    }

    fn take_flag(&mut self, name: &str, value: &str, words: &[String]) -> Result<(), String> {
        let flag = Flag::find(name).ok_or("unknown flag")?;
        if flag.for_test() {
            self.test_defaults.remove(flag.name);
            self.test_words.push(format!("-test.{}={value}", flag.name));
        }
        if matches!(flag.concerns, Concerns::Build | Concerns::BuildMany) {
            self.for_list.extend_from_slice(words);
        }
        self.note(flag, value)
    }

    fn note(&mut self, flag: &'static Flag, value: &str) -> Result<(), String> {
        match flag.concerns {
            Concerns::Build if (flag.name, value) == ("compiler", "gccgo") => {
                return Err("-compiler=gccgo is another compiler".into());
            }
            Concerns::Build => drop(self.build.insert(flag.name, vec![value.to_owned()])),
            Concerns::BuildMany => {
                self.build.entry(flag.name).or_default().push(value.to_owned());
            }
            Concerns::TestBuild => drop(self.test_build.insert(flag.name, value.to_owned())),
            Concerns::Whole(why) | Concerns::WholeTest(why) if asks(value) => {
                return Err(format!("-{} {why}", flag.name));
            }
            Concerns::Work if flag.name == "json" => self.json = value == "true",
            Concerns::Work | Concerns::Test | Concerns::Whole(_) | Concerns::WholeTest(_) => {}
        }
        Ok(())
    }

    /// The patterns of the package list as they were written; empty for the current folder.
    pub fn packages(&self) -> &[String] {
        &self.words[self.packages_at.clone()]
    }

    /// The patterns in the form in which `go list` repeats them.
    pub(crate) fn clean_packages(&self) -> Vec<String> {
        self.packages().iter().map(|pattern| clean(pattern)).collect()
    }

    /// All words of the command line.
    pub fn words(&self) -> &[String] {
        &self.words
    }

    /// The words behind `test` without `-C` and the package list.
    pub fn flags(&self) -> Vec<&str> {
        let before = &self.words[self.flags_at..self.packages_at.start.max(self.flags_at)];
        let behind = &self.words[self.packages_at.end.max(self.flags_at)..];
        let behind = if self.packages_at.is_empty() { &self.words[..0] } else { behind };
        let before =
            if self.packages_at.is_empty() { &self.words[self.flags_at..] } else { before };
        before.iter().chain(behind).map(String::as_str).collect()
    }

    /// The word that stands for the go command.
    pub fn program(&self) -> &str {
        &self.words[0]
    }

    /// The folder in which go works.
    pub fn folder(&self, current: &Path) -> PathBuf {
        self.chdir.as_ref().map_or_else(|| current.to_owned(), |dir| current.join(dir))
    }

    /// Why no package may be skipped, whatever did not change.
    pub fn always_runs(&self) -> Option<&'static str> {
        let value = |name: &str| self.test_flag(name);
        if value("bench").is_some_and(|v| !v.is_empty()) {
            return Some("-bench measures");
        }
        if self.build_flag("buildvcs") == Some("true") {
            return Some("-buildvcs writes the state of the repository into the test binary");
        }
        value("shuffle").filter(|v| v == "on").map(|_| "-shuffle=on takes another order each time")
    }

    /// The last value of a flag that the test binary gets.
    fn test_flag(&self, name: &str) -> Option<String> {
        let prefix = format!("-test.{name}=");
        let given = self.test_words.iter().rev().find_map(|word| word.strip_prefix(&prefix));
        given.map(str::to_owned).or_else(|| self.test_defaults.get(name).cloned())
    }

    /// What the test binary is called with, less what go adds for each run.
    pub(crate) fn test_flags(&self) -> Hash {
        let json = [format!("json={}", self.json)];
        let defaults = self.test_defaults.iter().map(|(name, value)| format!("{name}={value}"));
        let words = self.test_words.iter().cloned();
        hash_all(json.into_iter().chain(defaults).chain(["--".into()]).chain(words))
    }

    /// What is built and checked, less the build tags.
    pub(crate) fn build_flags(&self) -> Hash {
        let build =
            self.build.iter().filter(|(name, _)| !matches!(**name, "tags" | "mod" | "modfile"));
        let build =
            build.flat_map(|(name, values)| values.iter().map(move |v| format!("{name}={v}")));
        let test = self.test_build.iter().map(|(name, value)| format!("{name}={value}"));
        hash_all(build.chain(test))
    }

    pub(crate) fn build_flag(&self, name: &str) -> Option<&str> {
        self.build.get(name).and_then(|values| values.last()).map(String::as_str)
    }

    /// The words that ask `go list` (or `go env`) about the same build.
    pub(crate) fn ask(&self, verb: &str) -> Vec<String> {
        let mut words = vec![verb.to_owned()];
        if let Some(dir) = &self.chdir {
            words.push(format!("-C={dir}"));
        }
        if verb == "list" {
            words.extend_from_slice(&self.for_list);
        }
        words
    }

    /// Stands for the command line in a saved listing.
    pub fn key(&self) -> Hash {
        Hash::of_parts(self.words.iter().map(String::as_bytes))
    }

    /// The command line that runs these packages through a shim. `packages` are words of the package
    /// list ([`Listing::arguments`](crate::Listing::arguments)) in the order of their output; `shim` is a
    /// program with its first words. `None` where nothing is selected, and where go cannot be given a program of
    /// this name.
    pub fn command(&self, packages: &[String], shim: &[String]) -> Option<Vec<OsString>> {
        // An empty list would mean the package of the current folder.
        if packages.is_empty() && !self.packages_at.is_empty() {
            return None;
        }
        let exec = format!("-exec={}", quoted::join(shim.iter().map(String::as_str))?);
        let mut words = self.words[..self.flags_at].to_vec();
        words.push(exec);
        words.extend_from_slice(&self.words[self.flags_at..self.packages_at.start]);
        // Without a list, go streams the output of the one package; it must stay without.
        if !self.packages_at.is_empty() {
            words.extend_from_slice(packages);
        }
        words.extend_from_slice(&self.words[self.packages_at.end..]);
        Some(words.into_iter().map(OsString::from).collect())
    }
}

/// The package list while it is looked for.
#[derive(Debug, Default)]
struct PackageList {
    found: Option<Range<usize>>,
    closed: bool,
    /// An unknown flag came before any package.
    unknown_first: bool,
    /// The word before was an unknown flag without a value.
    after_open_flag: bool,
}

impl PackageList {
    fn open(&self) -> bool {
        !self.closed
    }

    fn extend(&mut self, at: usize) {
        let start = self.found.as_ref().map_or(at, |range| range.start);
        self.found = Some(start..at + 1);
    }

    /// A flag ends the list if it has begun; an unknown one ends it in any case.
    fn close(&mut self, unknown: bool) {
        self.unknown_first |= unknown && self.found.is_none();
        self.closed |= unknown || self.found.is_some();
    }
}

/// `-C DIR` at the beginning of some words, and how many words it has.
fn chdir(words: &[String]) -> (Option<String>, usize) {
    let Some(first) = words.first() else { return (None, 0) };
    let joined = first.strip_prefix("-C=").or_else(|| first.strip_prefix("--C="));
    match (first.as_str(), joined) {
        (_, Some(dir)) => (Some(dir.to_owned()), 1),
        ("-C" | "--C", _) if words.len() > 1 => (Some(words[1].clone()), 2),
        _ => (None, 0),
    }
}

/// A switch that is off, and an empty file name or pattern, ask for nothing.
fn asks(value: &str) -> bool {
    !matches!(value, "" | "false")
}

/// `./a` for `./a/` and `././a`, as the go command does it (`search.CleanPatterns`).
fn clean(pattern: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in pattern.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => drop(parts.pop()),
            ".." if pattern.starts_with('/') => {}
            _ => parts.push(part),
        }
    }
    let path = parts.join("/");
    match pattern {
        _ if pattern.starts_with('/') => format!("/{path}"),
        _ if path.is_empty() => ".".into(),
        _ if pattern.starts_with("./") => format!("./{path}"),
        _ => path,
    }
}

fn looks_like_packages(word: &str) -> bool {
    word.starts_with("./") || word.contains("...")
}

fn separable(package: &str) -> Result<(), String> {
    match package {
        "std" | "cmd" | "tool" => Err(format!("{package} is not a package of the project")),
        _ if package.ends_with(".go") => {
            Err("a list of files is one package without a name".into())
        }
        _ if package.contains('@') => Err(format!("{package} names a version")),
        _ => Ok(()),
    }
}

fn hash_all(parts: impl Iterator<Item = String>) -> Hash {
    let parts: Vec<String> = parts.collect();
    Hash::of_parts(parts.iter().map(String::as_bytes))
}

#[cfg(test)]
mod tests;
