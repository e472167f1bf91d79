//! A project in a folder of its own, and `tamis` started in it as a user would.
//!
//! Nothing of the surroundings gets in: home, cache, store and environment belong to the test. Whether
//! something ran is read from tamis's own decision events, so that no test needs a side effect to
//! be seen.

use crate::ended::{Decided, Ended, ended};
use crate::java::Jdk;
use crate::tools::{built, copy_tree};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// A project, with a home folder and a cache of its own.
#[derive(Debug)]
pub struct Project {
    base: TempDir,
    root: PathBuf,
    /// Given to every command, over what all projects have.
    variables: BTreeMap<OsString, OsString>,
    /// Named to `tamis` where a call has a use for one.
    engine: Option<OsString>,
    pub(crate) jdk: Option<Jdk>,
    pub(crate) jars: Vec<PathBuf>,
}

/// Verbs and options that have no use for an engine.
const WITHOUT_ENGINE: [&str; 23] = [
    "shards",
    "help",
    "completions",
    "man",
    "static",
    "store",
    "modules",
    "select",
    "why",
    "why-not",
    "deps",
    "status",
    "history",
    "report",
    "forget",
    "clean",
    "doctor",
    "init",
    "audit",
    "replay",
    "--engine",
    "--version",
    "--help",
];

impl Default for Project {
    fn default() -> Self {
        Self::new()
    }
}

impl Project {
    /// An empty one. All its runs use the engine that never comes too late, so that a record is
    /// complete the first time; `TAMIS_TEST_ENGINE` names another.
    pub fn new() -> Self {
        let engine = std::env::var_os("TAMIS_TEST_ENGINE").unwrap_or_else(|| "notify".into());
        Self { engine: Some(engine), ..Self::named("project") }
    }

    /// An empty one in a folder of this name; tamis chooses the engine.
    pub fn named(name: &str) -> Self {
        let base = crate::place::folder();
        let root = base.path().canonicalize().expect("a real path").join(name);
        for folder in [&root, &base.path().join("home/.cache")] {
            fs::create_dir_all(folder).expect("a folder");
        }
        let variables = BTreeMap::new();
        Self { base, root, variables, engine: None, jdk: None, jars: Vec::new() }
    }

    /// With these files; those that begin with `#!` may be executed.
    pub fn with(files: &[(&str, &str)]) -> Self {
        let project = Self::new();
        for (path, content) in files {
            project.write(path, content);
        }
        project
    }

    /// A copy of the whole project in another folder, with a home and cache of its own.
    #[must_use]
    pub fn copied(&self) -> Self {
        let copy = Self::new();
        copy_tree(&self.root, &copy.root);
        copy
    }

    pub fn path(&self, relative: impl AsRef<Path>) -> PathBuf {
        self.root.join(relative)
    }

    /// A place beside the project.
    pub fn beside(&self, name: &str) -> PathBuf {
        self.base.path().canonicalize().expect("a real path").join(name)
    }

    pub fn set(&mut self, name: &str, value: impl AsRef<OsStr>) {
        self.variables.insert(name.into(), value.as_ref().into());
    }

    pub fn unset(&mut self, name: &str) {
        self.variables.remove(OsStr::new(name));
    }

    /// Writes a file as an editor would: a new content under the old name.
    pub fn write(&self, relative: impl AsRef<Path>, content: impl AsRef<[u8]>) {
        let (path, content) = (self.path(relative), content.as_ref());
        fs::create_dir_all(path.parent().expect("in a folder")).expect("its folder");
        fs::write(&path, content).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        if content.starts_with(b"#!") {
            self.mode(&path, 0o755);
        }
    }

    /// The same, for chains.
    pub fn add(&self, relative: impl AsRef<Path>, content: impl AsRef<[u8]>) -> &Self {
        self.write(relative, content);
        self
    }

    /// Replaces a text that stands in the file exactly once.
    pub fn replace(&self, relative: impl AsRef<Path>, from: &str, to: &str) -> &Self {
        let text = self.read(&relative);
        assert_eq!(text.matches(from).count(), 1, "{from:?} in {}", relative.as_ref().display());
        self.add(relative, text.replace(from, to))
    }

    pub fn mode(&self, relative: impl AsRef<Path>, mode: u32) {
        fs::set_permissions(self.path(relative), fs::Permissions::from_mode(mode)).expect("chmod");
    }

    pub fn remove(&self, relative: impl AsRef<Path>) {
        let path = self.path(relative);
        match fs::symlink_metadata(&path) {
            Ok(m) if m.is_dir() => fs::remove_dir_all(&path).expect("a folder to remove"),
            _ => fs::remove_file(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display())),
        }
    }

    pub fn read(&self, relative: impl AsRef<Path>) -> String {
        let path = self.path(relative);
        fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
    }

    /// Any program, in the project's root and with its surroundings.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_else(|| "/usr/bin:/bin".into()))
            .env("HOME", self.beside("home"))
            .env("XDG_CACHE_HOME", self.beside("home/.cache"))
            .env("LC_ALL", "C")
            .envs(&self.variables)
            .current_dir(&self.root)
            .stdin(Stdio::null());
        command
    }

    /// `tamis`, ready to be given words.
    pub fn binary(&self) -> Command {
        self.command(built("tamis"))
    }

    /// The same in another folder of the project.
    pub fn seen_from(&self, folder: &Path) -> Command {
        let mut command = self.binary();
        command.current_dir(folder);
        command
    }

    /// Runs a tool of the surroundings (git, gcc) in the project's root, which must succeed.
    pub fn tool(&self, words: &[&str]) {
        let mut command = self.command(words[0]);
        command
            .args(&words[1..])
            .env("GIT_AUTHOR_NAME", "a")
            .env("GIT_AUTHOR_EMAIL", "a@example.org")
            .env("GIT_COMMITTER_NAME", "a")
            .env("GIT_COMMITTER_EMAIL", "a@example.org");
        let got = ended(&mut command);
        assert_eq!(got.code, 0, "{words:?}: {}{}", got.stderr, got.text());
    }

    /// Commits everything, in a repository that is made the first time.
    pub fn commit(&self) {
        if !self.path(".git").exists() {
            self.git(&["init", "-q", "-b", "main"]);
        }
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "-m", "x"]);
    }

    pub fn git(&self, words: &[&str]) {
        self.tool(&[&["git"], words].concat());
    }

    /// Calls `tamis` with these words.
    pub fn tamis<S: AsRef<OsStr>>(&self, words: &[S]) -> Ended {
        let mut command = self.binary();
        let asks = |word: &S| WITHOUT_ENGINE.iter().any(|verb| word.as_ref() == *verb);
        if let Some(engine) = self.engine.as_ref().filter(|_| !words.iter().any(asks)) {
            command.arg("--engine").arg(engine);
        }
        ended(command.args(words))
    }

    /// Calls `tamis` and expects success; its standard output as text.
    pub fn answer(&self, words: &[&str]) -> String {
        let got = self.tamis(words);
        assert_eq!(got.code, 0, "tamis {words:?}: {}", got.stderr);
        got.text()
    }

    /// Runs the suites, or the command, and gives the decisions by name.
    pub fn run(&self, words: &[&str]) -> BTreeMap<String, Decided> {
        self.decide("run", words)
    }

    /// The decisions alone.
    pub fn select(&self, words: &[&str]) -> BTreeMap<String, Decided> {
        self.decide("select", words)
    }

    fn decide(&self, verb: &str, words: &[&str]) -> BTreeMap<String, Decided> {
        let mut all = vec!["--json", verb];
        if !words.is_empty() {
            all.push("--");
            all.extend(words);
        }
        let got = self.tamis(&all);
        let decisions = got.decisions();
        assert!(!decisions.is_empty(), "no decision of tamis {all:?}: {}", got.stderr);
        decisions
    }

    /// Runs a command, which must really run; gives the reason.
    pub fn assert_ran(&self, words: &[&str]) -> String {
        let decided = self.run(words).into_values().next().expect("one decision");
        assert!(decided.runs, "{words:?} was skipped and should have run");
        decided.reason
    }

    /// Runs a command, which must be skipped.
    pub fn assert_skipped(&self, words: &[&str]) {
        let decided = self.run(words).into_values().next().expect("one decision");
        assert!(!decided.runs, "{words:?} ran and should have been skipped: {}", decided.reason);
    }

    /// Runs the suites and gives the names of those tests that ran.
    pub fn ran(&self) -> Vec<String> {
        names(&self.run(&[]))
    }

    /// The names of the tests of the suites that would run.
    pub fn selected(&self) -> Vec<String> {
        names(&self.select(&[]))
    }
}

fn names(decisions: &BTreeMap<String, Decided>) -> Vec<String> {
    decisions.iter().filter(|(_, d)| d.runs).map(|(name, _)| name.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_surroundings_are_those_of_the_project() {
        let mut project = Project::new();
        project.set("MINE", "1");
        project.set("GONE", "1");
        project.unset("GONE");
        let got = ended(project.command("env").env("LAST", "2"));
        let mut names: Vec<String> =
            got.text().lines().filter_map(|l| Some(l.split_once('=')?.0.to_owned())).collect();
        names.sort();
        assert_eq!(names, ["HOME", "LAST", "LC_ALL", "MINE", "PATH", "XDG_CACHE_HOME"]);
        assert!(got.text().contains(&format!("HOME={}", project.beside("home").display())));
    }

    #[test]
    fn scripts_may_be_executed_and_a_text_is_replaced_once() {
        let project = Project::with(&[("a/b.sh", "#!/bin/sh\necho one\n")]);
        let say = || ended(&mut project.command(project.path("a/b.sh"))).text();
        assert_eq!(say(), "one\n");
        project.replace("a/b.sh", "one", "two");
        assert_eq!(say(), "two\n");
        let twice = std::panic::catch_unwind(|| {
            Project::with(&[("x", "a a")]).replace("x", "a", "b");
        });
        assert!(twice.is_err(), "it must be clear what is replaced");
    }

    #[test]
    fn a_tool_that_fails_fails_the_test() {
        let failing = std::panic::catch_unwind(|| Project::new().tool(&["false"]));
        assert!(failing.is_err());
    }
}
