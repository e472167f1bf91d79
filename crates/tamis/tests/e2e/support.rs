//! A project in a folder of its own, and `tamis` started in it as a user would.
//!
//! Nothing of the surroundings gets in: home, cache and environment belong to the test. Whether
//! something ran is read from tamis's own decision events, so that no test needs a side effect to
//! be seen.

pub(crate) use crate::ended::{Decided, Ended, ended, wait_for};
pub(crate) use crate::tools::{copy_tree, has};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;

/// A project, with a home folder and a cache that nobody else uses.
#[derive(Debug)]
pub(crate) struct Project {
    base: TempDir,
    root: PathBuf,
    variables: Vec<(OsString, OsString)>,
}

/// Verbs and options that have no use for an engine.
const WITHOUT_ENGINE: [&str; 18] = [
    "help",
    "completions",
    "man",
    "static",
    "modules",
    "select",
    "why",
    "why-not",
    "deps",
    "status",
    "history",
    "forget",
    "clean",
    "doctor",
    "init",
    "--engine",
    "--version",
    "--help",
];

impl Project {
    pub(crate) fn new() -> Self {
        let base = tempfile::tempdir().expect("a temp folder");
        let root = base.path().canonicalize().expect("a real path").join("project");
        for folder in ["project", "home/.cache"] {
            fs::create_dir_all(base.path().join(folder)).expect("a folder");
        }
        Self { base, root, variables: Vec::new() }
    }

    /// With these files; those that begin with `#!` may be executed.
    pub(crate) fn with(files: &[(&str, &str)]) -> Self {
        let project = Self::new();
        for (path, content) in files {
            project.write(path, content);
        }
        project
    }

    /// A copy of the whole project in another folder, with a home and cache of its own.
    pub(crate) fn copied(&self) -> Self {
        let copy = Self::new();
        copy_tree(&self.root, &copy.root);
        copy
    }

    pub(crate) fn path(&self, relative: impl AsRef<Path>) -> PathBuf {
        self.root.join(relative)
    }

    /// A place beside the project.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.base.path().canonicalize().expect("a real path").join(name)
    }

    /// The same project, seen from another of its folders.
    pub(crate) fn seen_from(&self, folder: &Path) -> Command {
        let mut command = self.command();
        command.current_dir(folder);
        command
    }

    pub(crate) fn set(&mut self, name: &str, value: &str) {
        self.unset(name);
        self.variables.push((name.into(), value.into()));
    }

    pub(crate) fn unset(&mut self, name: &str) {
        self.variables.retain(|(n, _)| n != name);
    }

    /// Writes a file as an editor would: a new content under the old name.
    pub(crate) fn write(&self, relative: impl AsRef<Path>, content: impl AsRef<[u8]>) {
        let (path, content) = (self.path(relative), content.as_ref());
        fs::create_dir_all(path.parent().expect("in a folder")).expect("its folder");
        fs::write(&path, content).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        if content.starts_with(b"#!") {
            self.mode(&path, 0o755);
        }
    }

    pub(crate) fn mode(&self, relative: impl AsRef<Path>, mode: u32) {
        fs::set_permissions(self.path(relative), fs::Permissions::from_mode(mode)).expect("chmod");
    }

    pub(crate) fn remove(&self, relative: impl AsRef<Path>) {
        let path = self.path(relative);
        match fs::symlink_metadata(&path) {
            Ok(m) if m.is_dir() => fs::remove_dir_all(&path).expect("a folder to remove"),
            _ => fs::remove_file(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display())),
        }
    }

    pub(crate) fn read(&self, relative: impl AsRef<Path>) -> String {
        let path = self.path(relative);
        fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
    }

    /// `tamis`, ready to be given words, in the project's root.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tamis"));
        self.prepare(&mut command);
        command
    }

    /// Gives any command the surroundings of the project.
    pub(crate) fn prepare(&self, command: &mut Command) {
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_else(|| "/usr/bin:/bin".into()))
            .env("HOME", self.beside("home"))
            .env("XDG_CACHE_HOME", self.beside("home/.cache"))
            .env("LC_ALL", "C")
            .envs(self.variables.iter().cloned())
            .current_dir(&self.root)
            .stdin(Stdio::null());
    }

    /// Calls `tamis` with these words. All tests use the engine that never comes too late, so that
    /// a record is complete the first time; `TAMIS_TEST_ENGINE` names another.
    pub(crate) fn tamis<S: AsRef<OsStr>>(&self, words: &[S]) -> Ended {
        let mut command = self.command();
        let asks = |word: &S| WITHOUT_ENGINE.iter().any(|verb| word.as_ref() == *verb);
        if !words.iter().any(asks) {
            let engine = std::env::var_os("TAMIS_TEST_ENGINE");
            let engine = engine.unwrap_or_else(|| "notify".into());
            command.arg("--engine").arg(engine);
        }
        ended(command.args(words))
    }

    /// Calls `tamis` and expects success; its standard output as text.
    pub(crate) fn answer(&self, words: &[&str]) -> String {
        let got = self.tamis(words);
        assert_eq!(got.code, 0, "tamis {words:?}: {}", got.stderr);
        got.text()
    }

    /// Runs the suites, or the command, and gives the decisions by name.
    pub(crate) fn run(&self, words: &[&str]) -> BTreeMap<String, Decided> {
        self.decide("run", words)
    }

    /// The decisions alone.
    pub(crate) fn select(&self, words: &[&str]) -> BTreeMap<String, Decided> {
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
    pub(crate) fn assert_ran(&self, words: &[&str]) -> String {
        let decided = self.run(words).into_values().next().expect("one decision");
        assert!(decided.runs, "{words:?} was skipped and should have run");
        decided.reason
    }

    /// Runs a command, which must be skipped.
    pub(crate) fn assert_skipped(&self, words: &[&str]) {
        let decided = self.run(words).into_values().next().expect("one decision");
        assert!(!decided.runs, "{words:?} ran and should have been skipped: {}", decided.reason);
    }

    /// Runs the suites and gives the names of those tests that ran.
    pub(crate) fn ran(&self) -> Vec<String> {
        names(&self.run(&[]))
    }

    /// The names of the tests of the suites that would run.
    pub(crate) fn selected(&self) -> Vec<String> {
        names(&self.select(&[]))
    }
}

fn names(decisions: &BTreeMap<String, Decided>) -> Vec<String> {
    decisions.iter().filter(|(_, d)| d.runs).map(|(name, _)| name.clone()).collect()
}

/// Runs a prepared command and gives it these bytes through a pipe.
pub(crate) fn ended_with_input(command: &mut Command, input: &[u8]) -> Ended {
    let mut child: Child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("tamis starts");
    // Who does not read it closes the pipe.
    let _ = child.stdin.take().expect("a pipe").write_all(input);
    let output = child.wait_with_output().expect("an end");
    Ended {
        stdout: output.stdout,
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        code: output.status.code().expect("an exit code"),
    }
}

/// The Python itself, not a script that looks for it.
pub(crate) fn python() -> Option<&'static str> {
    static PYTHON: std::sync::OnceLock<Option<String>> = std::sync::OnceLock::new();
    let found = PYTHON.get_or_init(|| {
        let asked = Command::new("python3")
            .args(["-c", "import sys; print(sys.executable)"])
            .stdin(Stdio::null())
            .output();
        let output = asked.ok().filter(|o| o.status.success())?;
        Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
    });
    if found.is_none() {
        eprintln!("not tried: python3 is missing");
    }
    found.as_deref()
}

/// Runs a tool of the surroundings (git, gcc) in a folder, which must succeed.
pub(crate) fn tool(project: &Project, folder: &Path, words: &[&str]) {
    let mut command = Command::new(words[0]);
    project.prepare(&mut command);
    command
        .args(&words[1..])
        .current_dir(folder)
        .env("GIT_AUTHOR_NAME", "a")
        .env("GIT_AUTHOR_EMAIL", "a@example.org")
        .env("GIT_COMMITTER_NAME", "a")
        .env("GIT_COMMITTER_EMAIL", "a@example.org");
    let got = ended(&mut command);
    assert_eq!(got.code, 0, "{words:?}: {}{}", got.stderr, got.text());
}
