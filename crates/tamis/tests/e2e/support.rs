//! A project in a folder of its own, and `tamis` started in it as a user would.
//!
//! Nothing of the surroundings gets in: home, cache and environment belong to the test. Whether
//! something ran is read from tamis's own decision events, so that no test needs a side effect to
//! be seen.

use serde_json::Value;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
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
const WITHOUT_ENGINE: [&str; 13] = [
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

/// How a call of `tamis` ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
    pub(crate) code: i32,
}

/// What tamis decided about one test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Decided {
    pub(crate) runs: bool,
    pub(crate) cause: String,
    pub(crate) reason: String,
}

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

    /// Calls `tamis` with these words. `TAMIS_TEST_ENGINE` makes all tests use one engine.
    pub(crate) fn tamis<S: AsRef<OsStr>>(&self, words: &[S]) -> Ended {
        let mut command = self.command();
        let asks = |word: &S| WITHOUT_ENGINE.iter().any(|verb| word.as_ref() == *verb);
        if let Some(engine) = std::env::var_os("TAMIS_TEST_ENGINE")
            && !words.iter().any(asks)
        {
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

impl Ended {
    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.stdout.clone()).expect("text on standard output")
    }

    /// The JSON lines on standard output.
    pub(crate) fn lines(&self) -> Vec<Value> {
        self.text()
            .lines()
            .map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{line}: {e}")))
            .collect()
    }

    /// The events of this kind.
    pub(crate) fn events(&self, kind: &str) -> Vec<Value> {
        self.lines().into_iter().filter(|l| l["event"] == kind).collect()
    }

    pub(crate) fn decisions(&self) -> BTreeMap<String, Decided> {
        let text = |v: &Value| v.as_str().unwrap_or_default().to_owned();
        self.events("decision")
            .iter()
            .map(|line| {
                let decided = Decided {
                    runs: line["decision"] == "run",
                    cause: text(&line["cause"]),
                    reason: text(&line["reason"]),
                };
                (text(&line["name"]), decided)
            })
            .collect()
    }
}

/// Runs a prepared command to its end. A signal counts as 128 and its number.
pub(crate) fn ended(command: &mut Command) -> Ended {
    let output = command.output().expect("tamis starts");
    Ended {
        stdout: output.stdout,
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        code: output.status.code().or(output.status.signal().map(|s| 128 + s)).expect("an end"),
    }
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

/// Copies a folder with its links and modes.
pub(crate) fn copy_tree(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder to copy") {
        let entry = entry.expect("an entry");
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type().expect("its kind");
        if kind.is_dir() {
            copy_tree(&source, &target);
        } else if kind.is_symlink() {
            let link = fs::read_link(&source).expect("a link");
            std::os::unix::fs::symlink(link, &target).expect("a link");
        } else {
            fs::copy(&source, &target).expect("a file");
        }
    }
    fs::set_permissions(to, fs::metadata(from).expect("there").permissions()).expect("chmod");
}

/// Whether a tool that a test needs is here; says so where it is not.
pub(crate) fn has(tool: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).any(|folder| folder.join(tool).is_file());
    if !found {
        eprintln!("not tried: {tool} is missing");
    }
    found
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

/// Waits until something is so; a test that hangs is better than one that depends on time.
pub(crate) fn wait_for(what: &str, mut is_so: impl FnMut() -> bool) {
    for _ in 0..6000 {
        if is_so() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    panic!("{what} did not happen within a minute");
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
