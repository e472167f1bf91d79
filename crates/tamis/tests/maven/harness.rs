//! A Maven project in a folder of its own, and `tamis mvn test` in it as a user would call it.
//!
//! Home, cache and environment belong to the test; only Maven's repository is the user's, and Maven is
//! offline: `scripts/test` fetches what the fixtures need. Which test classes ran is read from tamis's
//! decisions, and compared with the reports that Surefire wrote.

use crate::ended::{Ended, ended};
use crate::tools::copy_tree;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tamis_testjava::Jdk;
use tempfile::TempDir;

#[derive(Debug)]
pub(crate) struct Maven {
    base: TempDir,
    root: PathBuf,
    jdk: Jdk,
    variables: BTreeMap<String, String>,
}

/// One `tamis mvn ...`.
#[derive(Debug)]
pub(crate) struct Build {
    pub(crate) code: i32,
    /// Test class to why it ran.
    pub(crate) ran: BTreeMap<String, String>,
    pub(crate) skipped: BTreeSet<String>,
    /// Whether the command as a whole was needed.
    pub(crate) started: bool,
    pub(crate) stderr: String,
    pub(crate) log: String,
}

impl Maven {
    /// A copy of a fixture; `None` where Maven is not here.
    pub(crate) fn copy_of(fixture: &str, jdk: &Jdk, name: &str) -> Option<Self> {
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures").join(fixture);
        let maven = Self::empty(jdk, name)?;
        copy_tree(&from, &maven.root);
        Some(maven)
    }

    pub(crate) fn empty(jdk: &Jdk, name: &str) -> Option<Self> {
        if !crate::tools::has("mvn") {
            return None;
        }
        let base = tempfile::tempdir().expect("a temp folder");
        let root = base.path().canonicalize().expect("a real path").join(name);
        for folder in [&root, &base.path().join("home/.cache")] {
            fs::create_dir_all(folder).expect("a folder");
        }
        let mut variables = BTreeMap::new();
        variables.insert("MAVEN_OPTS".into(), "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC".into());
        Some(Self { base, root, jdk: jdk.clone(), variables })
    }

    pub(crate) fn path(&self, relative: impl AsRef<Path>) -> PathBuf {
        self.root.join(relative)
    }

    pub(crate) fn set(&mut self, name: &str, value: &str) {
        self.variables.insert(name.into(), value.into());
    }

    pub(crate) fn write(&self, relative: &str, content: &str) {
        let path = self.path(relative);
        fs::create_dir_all(path.parent().expect("in a folder")).expect("its folder");
        fs::write(&path, content).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    }

    pub(crate) fn remove(&self, relative: &str) {
        fs::remove_file(self.path(relative)).unwrap_or_else(|e| panic!("{relative}: {e}"));
    }

    /// Replaces a text that stands in the file exactly once.
    pub(crate) fn replace(&self, relative: &str, from: &str, to: &str) {
        let path = self.path(relative);
        let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{relative}: {e}"));
        assert_eq!(text.matches(from).count(), 1, "{from:?} in {relative}");
        fs::write(&path, text.replace(from, to)).expect("a file to write");
    }

    fn log(&self) -> PathBuf {
        self.base.path().join("maven.log")
    }

    /// The words of a Maven command.
    pub(crate) fn words(&self, more: &[&str]) -> Vec<String> {
        let mut words = vec!["mvn".to_owned(), "-o".into(), "-B".into(), "-l".into()];
        words.push(self.log().display().to_string());
        words.push(format!("-Dmaven.repo.local={}", repository().display()));
        words.extend(more.iter().map(|w| (*w).to_owned()));
        words
    }

    pub(crate) fn java(&self) -> PathBuf {
        self.jdk.tool("java")
    }

    pub(crate) fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_else(|| "/usr/bin:/bin".into()))
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

    /// `tamis mvn test`.
    pub(crate) fn test(&self) -> Build {
        self.build(&[], &["test"])
    }

    /// `tamis OPTIONS mvn MORE`.
    pub(crate) fn build(&self, options: &[&str], more: &[&str]) -> Build {
        let _ = fs::remove_file(self.log());
        let words = self.words(more);
        let mut all = vec!["--json"];
        all.extend(options);
        all.extend(words.iter().map(String::as_str));
        let got = self.tamis(&all);
        self.read(&got)
    }

    /// What a finished call says.
    pub(crate) fn read(&self, got: &Ended) -> Build {
        let log = fs::read_to_string(self.log()).unwrap_or_default();
        let mut build = Build {
            code: got.code,
            ran: BTreeMap::new(),
            skipped: BTreeSet::new(),
            started: false,
            stderr: got.stderr.clone(),
            log,
        };
        for (name, decided) in got.decisions() {
            if name.starts_with("mvn ") {
                build.started = decided.runs;
            } else if decided.runs {
                build.ran.insert(name, decided.reason);
            } else {
                build.skipped.insert(name);
            }
        }
        build
    }
}

impl Build {
    /// The simple names of the test classes that ran.
    pub(crate) fn names(&self) -> BTreeSet<&str> {
        self.ran.keys().map(|name| simple(name)).collect()
    }

    pub(crate) fn assert_passed(&self, round: &str) -> &Self {
        assert_eq!(self.code, 0, "{round}: {}\n{}", self.stderr, self.log);
        self
    }

    /// Exactly these test classes ran.
    pub(crate) fn assert_ran(&self, round: &str, expected: &[&str]) -> &Self {
        let expected: BTreeSet<&str> = expected.iter().copied().collect();
        let more: Vec<_> = self
            .ran
            .iter()
            .filter(|(name, _)| !expected.contains(simple(name)))
            .map(|(name, reason)| format!("{name}: {reason}"))
            .collect();
        let ran = self.names();
        let fewer: Vec<_> = expected.iter().filter(|name| !ran.contains(*name)).collect();
        assert!(
            more.is_empty() && fewer.is_empty(),
            "{round}:\nwrongly skipped: {fewer:#?}\nneedlessly run: {more:#?}\n{}\n{}",
            self.stderr,
            self.log
        );
        self
    }
}

pub(crate) fn simple(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}

/// Whether Maven has what the fixture needs, as its first build shows; says so where not.
pub(crate) fn is_resolved(build: &Build) -> bool {
    let missing = ["could not be resolved", "Cannot access", "Could not transfer", "offline mode"];
    let resolved = build.code == 0 || !missing.iter().any(|m| build.log.contains(m));
    if !resolved {
        eprintln!("not tried: Maven's repository lacks artifacts; scripts/test fetches them");
    }
    resolved
}

/// The user's Maven repository, or another one.
pub(crate) fn repository() -> PathBuf {
    let home = || PathBuf::from(std::env::var_os("HOME").unwrap_or_default());
    let given = std::env::var_os("TAMIS_TEST_MAVEN_REPOSITORY");
    given.map_or_else(|| home().join(".m2/repository"), PathBuf::from)
}
