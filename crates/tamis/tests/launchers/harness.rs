//! A small Java project in a folder of its own, compiled by javac and run by a runner under tamis.
//!
//! Home, cache and environment belong to the test; jars come from the user's Maven repository, where
//! `scripts/test` puts them. Which test classes ran is told twice: by tamis's decisions, and by the
//! program itself, which writes a line for each test that runs.

use crate::ended::{Ended, ended};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tamis_testjava::{Jdk, artifact};
use tempfile::TempDir;

#[derive(Debug)]
pub(crate) struct Project {
    base: TempDir,
    pub(crate) root: PathBuf,
    pub(crate) jdk: Jdk,
    jars: Vec<PathBuf>,
    variables: BTreeMap<String, String>,
}

/// One call of tamis.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) code: i32,
    /// Test class to why it ran.
    pub(crate) ran: BTreeMap<String, String>,
    pub(crate) skipped: BTreeSet<String>,
    /// Whether the command as a whole was needed.
    pub(crate) started: bool,
    /// Everything that runner and tamis printed.
    pub(crate) output: String,
    /// What the tests themselves say ran, sorted.
    pub(crate) said: Vec<String>,
}

/// What a test calls to say that it runs.
const LOG: &str = "package a; public class Log {
    public static void ran(String what) {
        System.err.println(\"ran: \" + what);
    } }";

impl Project {
    /// `None` where the jars cannot be had.
    pub(crate) fn new(artifacts: &[&str]) -> Option<Self> {
        let jars: Option<Vec<PathBuf>> = artifacts.iter().map(|a| artifact(a)).collect();
        let Some(jars) = jars else {
            eprintln!("not tried: {artifacts:?} cannot be had; scripts/test fetches them");
            return None;
        };
        let base = tempfile::tempdir().expect("a temp folder");
        let root = base.path().canonicalize().expect("a real path").join("a project");
        for folder in [root.join(".git"), root.join("classes"), base.path().join("home/.cache")] {
            fs::create_dir_all(folder).expect("a folder");
        }
        let jdk = tamis_testjava::jdk();
        let project = Self { base, root, jdk, jars, variables: BTreeMap::new() };
        project.write("src/a/Log.java", LOG);
        Some(project)
    }

    pub(crate) fn write(&self, relative: &str, content: &str) -> &Self {
        let path = self.root.join(relative);
        fs::create_dir_all(path.parent().expect("in a folder")).expect("its folder");
        fs::write(&path, content).unwrap_or_else(|e| panic!("{relative}: {e}"));
        self
    }

    /// Replaces a text that stands in the file exactly once.
    pub(crate) fn replace(&self, relative: &str, from: &str, to: &str) -> &Self {
        let path = self.root.join(relative);
        let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{relative}: {e}"));
        assert_eq!(text.matches(from).count(), 1, "{from:?} in {relative}");
        fs::write(&path, text.replace(from, to)).expect("a file to write");
        self
    }

    pub(crate) fn jars(&self) -> String {
        let texts: Vec<String> = self.jars.iter().map(|jar| jar.display().to_string()).collect();
        texts.join(":")
    }

    pub(crate) fn jar(&self, n: usize) -> String {
        self.jars[n].display().to_string()
    }

    /// Compiles all sources, as a build without any cleverness does.
    pub(crate) fn compile(&self) -> &Self {
        self.compile_folder("src", "classes");
        self
    }

    fn compile_folder(&self, from: &str, to: &str) {
        let mut sources = Vec::new();
        java_files(&self.root.join(from), &mut sources);
        let output = self
            .command(self.jdk.tool("javac"))
            .args(["-nowarn", "-proc:none", "-parameters", "-d", to, "-cp"])
            .arg(self.jars())
            .args(&sources)
            .output()
            .expect("javac starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    /// Makes a jar of the sources in a folder and adds it to the classpath.
    pub(crate) fn add_library(&mut self, sources: &str) {
        // Outside of the project: a jar inside counts as a part of it.
        let (classes, jar) = (format!("{sources}-classes"), self.base.path().join("library.jar"));
        self.compile_folder(sources, &classes);
        let mut pack = self.command(self.jdk.tool("jar"));
        let output = pack.arg("cf").arg(&jar).args(["-C", &classes, "."]).output();
        assert!(output.expect("jar starts").status.success(), "a jar of {sources}");
        self.jars.push(jar);
    }

    pub(crate) fn set(&mut self, name: &str, value: &str) {
        self.variables.insert(name.into(), value.into());
    }

    pub(crate) fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut path = OsString::from(self.jdk.home.join("bin"));
        path.push(":/usr/bin:/bin");
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("PATH", path)
            .env("HOME", self.base.path().join("home"))
            .env("XDG_CACHE_HOME", self.base.path().join("home/.cache"))
            .env("JAVA_HOME", &self.jdk.home)
            .env("LC_ALL", "C")
            .envs(&self.variables)
            .current_dir(&self.root)
            .stdin(Stdio::null());
        command
    }

    pub(crate) fn tamis(&self, words: &[&str]) -> Ended {
        ended(self.command(env!("CARGO_BIN_EXE_tamis")).args(words))
    }

    /// The command as a user calls it; nothing changed means that it is not started.
    pub(crate) fn call(&self, words: &[&str]) -> Call {
        self.call_with(&[], words)
    }

    /// The same with the command started in any case.
    pub(crate) fn inside(&self, words: &[&str]) -> Call {
        self.call_with(&["--no-command-skip"], words)
    }

    fn call_with(&self, options: &[&str], words: &[&str]) -> Call {
        let mut all = vec!["--json"];
        all.extend(options);
        all.extend(words);
        let command = words.join(" ");
        read(&self.tamis(&all), command.split(' ').next().unwrap_or_default())
    }
}

pub(crate) fn read(got: &Ended, program: &str) -> Call {
    let said = got.stderr.lines().filter_map(|line| Some(line.split_once("ran: ")?.1.to_owned()));
    let mut said: Vec<String> = said.collect();
    said.sort();
    let mut call = Call {
        code: got.code,
        ran: BTreeMap::new(),
        skipped: BTreeSet::new(),
        started: false,
        output: got.stderr.clone(),
        said,
    };
    for (name, decided) in got.decisions() {
        if name.starts_with(program) {
            call.started = decided.runs;
        } else if decided.runs {
            call.ran.insert(name, decided.reason);
        } else {
            call.skipped.insert(name);
        }
    }
    call
}

impl Call {
    /// Exactly these test classes ran, by what tamis says and by what they say themselves.
    pub(crate) fn assert_ran(&self, round: &str, expected: &[&str]) -> &Self {
        let ran: Vec<&str> = self.ran.keys().map(|name| name.trim_start_matches("a.")).collect();
        assert_eq!(ran, expected, "{round}: {:#?}\n{}", self.ran, self.output);
        let said: BTreeSet<&str> = self.said.iter().map(String::as_str).collect();
        let said: Vec<&str> = said.into_iter().collect();
        assert_eq!(said, expected, "{round}: what the tests say\n{}", self.output);
        self
    }

    pub(crate) fn assert_code(&self, code: i32) -> &Self {
        assert_eq!(self.code, code, "{}", self.output);
        self
    }
}

fn java_files(folder: &Path, out: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        if path.is_dir() {
            java_files(&path, out);
        } else if path.extension().is_some_and(|e| e == "java") {
            out.push(path);
        }
    }
    out.sort();
}
