//! The settings of a project as typed values, with what each key means.

use crate::condition::Condition;
use crate::environment::EnvironmentPolicy;
use crate::glob::NameGlobs;
use crate::modules::ModuleSettings;
use crate::remote::Remote;
use crate::tools::{TOOL_LOOKS, ToolSettings};
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tamis_core::{Hash, Scheme};

/// Everything that `tamis.toml` says. The default is what holds without a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// `store`: the folder of the records, relative to the root, absolute or `~/`. Default: a
    /// folder in the user's cache.
    pub store: Option<String>,
    /// `engine`: how processes are observed.
    pub engine: Engine,
    /// `jobs`: how many tests run at once. Default: the number of cores.
    pub jobs: Option<NonZeroUsize>,
    /// `keep-records`, `max-age`, `max-size`: what garbage collection leaves.
    pub keep: Keep,
    /// `rerun-failed` and `flaky-ok`: what happens with tests that did not pass.
    pub flaky: Flaky,
    /// `network`: what a connection to another machine means. Default: warn.
    pub network: Contact,
    /// `services`: what it means to talk to a process that was already running on this machine,
    /// for instance a database on loopback. Default: always-run.
    pub services: Contact,
    /// `allow-services`: addresses (`127.0.0.1:5432`) and sockets (`/run/foo.sock`) of such
    /// processes that need not be reported.
    pub allow_services: Vec<String>,
    /// `ignore`: globs of paths that are no input. A pattern that matches a folder takes in
    /// everything below it.
    pub ignore: Vec<String>,
    /// `default-ignore`, `default-rules`: what is built in.
    pub built_in: BuiltIn,
    /// `always-run`, `run-all-on` and `shadow`, for all tests.
    pub everywhere: Everywhere,
    /// `[tamis.environment]`: which variables count.
    pub environment: EnvironmentPolicy,
    /// `[tamis.tool-state]`: what everyday tools write down for themselves.
    pub tools: ToolSettings,
    /// `[jvm]`: the test classes of Java builds.
    pub jvm: Jvm,
    /// `[python]`: the tests inside pytest.
    pub python: Python,
    /// `[[rule]]`: how fingerprints are taken; the first match wins.
    pub rules: Vec<Rule>,
    /// `[[suite]]`: many commands under one name.
    pub suites: Vec<Suite>,
    /// `[modules]`: changed and affected modules.
    pub modules: ModuleSettings,
    /// `[remote]`: the store that a team shares.
    pub remote: Option<Remote>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            store: None,
            engine: Engine::Auto,
            jobs: None,
            keep: Keep::default(),
            flaky: Flaky::default(),
            network: Contact::Warn,
            services: Contact::AlwaysRun,
            allow_services: Vec::new(),
            ignore: Vec::new(),
            built_in: BuiltIn::default(),
            everywhere: Everywhere::default(),
            environment: EnvironmentPolicy::default(),
            tools: ToolSettings::default(),
            jvm: Jvm::default(),
            python: Python::default(),
            rules: Vec::new(),
            suites: Vec::new(),
            modules: ModuleSettings::default(),
            remote: None,
        }
    }
}

/// What happens with tests that did not pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Flaky {
    /// `rerun-failed`: how often such a test is run again. Default: 0.
    pub rerun_failed: u32,
    /// `flaky-ok`: one that then passes does not make the run a failure. Default: false.
    pub ok: bool,
}

/// Filters and rules that hold without being written down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BuiltIn {
    /// `default-ignore`: /proc, /sys, /dev and temp folders are no input. Default: true.
    pub ignore: bool,
    /// `default-rules`: Python byte code, git's index. Default: true.
    pub rules: bool,
}

impl Default for BuiltIn {
    fn default() -> Self {
        Self { ignore: true, rules: true }
    }
}

/// What holds for all tests, those of suites and those inside of commands too.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Everywhere {
    /// `always-run`: globs on the names of tests that are never skipped.
    pub always_run: NameGlobs,
    /// `run-all-on`: a change in any file that matches runs every test.
    pub run_all_on: Vec<String>,
    /// `shadow`: everything runs, and what could be skipped is only reported. Default: false.
    pub shadow: bool,
}

/// How processes are observed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Engine {
    /// The best one that works here.
    #[default]
    Auto,
    /// seccomp user notification.
    Notify,
    Patch,
    Ebpf,
    Ptrace,
}

/// What garbage collection leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Keep {
    /// `keep-records`: records per test. Default: 16.
    pub records: NonZeroUsize,
    /// `max-age`: records that proved nothing for this long go. Default: 90 days.
    pub max_age: Duration,
    /// `max-size`: of the store, in bytes. Default: 1 GiB.
    pub max_size: u64,
}

impl Default for Keep {
    fn default() -> Self {
        Self {
            records: NonZeroUsize::new(16).unwrap_or(NonZeroUsize::MIN),
            max_age: Duration::from_secs(90 * 24 * 60 * 60),
            max_size: 1 << 30,
        }
    }
}

/// What it means that a test talked to somebody whose answers cannot be compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Contact {
    /// Tell, and let the record count.
    Warn,
    /// The record never lets the test be skipped.
    AlwaysRun,
    /// Say nothing.
    Ignore,
}

/// `[[rule]]`: how the fingerprint of some paths is taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// `path`: a glob relative to the root, absolute, `~/` or `../`.
    pub path: String,
    /// `program`: a glob on the file name of the program that looked, or on its full path where
    /// the glob has a slash. Default: any program.
    pub program: Option<String>,
    /// `if`: holds only where this does. Default: everywhere.
    pub condition: Option<Condition>,
    /// `as`.
    pub treatment: Treatment,
}

/// What a rule does with a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Treatment {
    /// The path is no input.
    Ignore,
    /// `raw`, `listing`, `xml`, `json`, `toml`, `text`, `class`.
    As(Scheme),
    /// `{ command = [...] }`: what the command prints is the fingerprint; `{}` is the path.
    Command(Vec<String>),
    /// `{ ignore-if = [...] }`: no input where the command ends with 0, else the bytes; `{}` is the path.
    IgnoreIf(Vec<String>),
}

impl Treatment {
    /// The words of a user's command.
    pub fn command(&self) -> Option<&[String]> {
        match self {
            Self::Command(words) | Self::IgnoreIf(words) => Some(words),
            Self::Ignore | Self::As(_) => None,
        }
    }

    /// The scheme that questions carry; `None` for [`Treatment::Ignore`].
    pub fn scheme(&self) -> Option<Scheme> {
        match self {
            Self::Ignore => None,
            Self::As(scheme) => Some(*scheme),
            Self::Command(words) => Some(Scheme::Command(command_hash(words))),
            Self::IgnoreIf(words) => Some(Scheme::Filter(command_hash(words))),
        }
    }
}

fn command_hash(words: &[String]) -> Hash {
    Hash::of_parts(words.iter().map(String::as_bytes))
}

/// `[[suite]]`: many tests that are started the same way, or one where `each` is missing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suite {
    /// `name`: unique in the file.
    pub name: String,
    /// `each`: what the tests are.
    pub each: Each,
    /// `run`: the command, `{}` stands for the item.
    pub run: Vec<String>,
    /// `folder`: the working directory, relative to the root; `.` is the root.
    pub folder: String,
    /// `jobs`: how many tests of this suite run at once. Default: as many as `[tamis] jobs`.
    pub jobs: Option<NonZeroUsize>,
    /// `timeout`: a test that runs longer is ended. Default: none.
    pub timeout: Option<Duration>,
    /// `env`: variables that are set for the tests.
    pub env: BTreeMap<String, String>,
    /// `always-run`: globs on the names of items that are never skipped.
    pub always_run: NameGlobs,
    /// `run-all-on`: a change in any file that matches runs every test of the suite.
    pub run_all_on: Vec<String>,
    /// `allow-empty`: that `each` gives nothing is no mistake.
    pub allow_empty: bool,
}

/// What holds for the test classes of Java builds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Jvm {
    /// `always-run`: globs on the names of test classes, with or without the package, that are never
    /// skipped.
    pub always_run: NameGlobs,
    /// `always-run-tags`: JUnit tags and categories, TestNG groups, annotation types (with or without
    /// the package) of test classes that are never skipped.
    pub always_run_tags: Vec<String>,
    /// `debug-info`: globs on the names of classes, with or without the package, whose line numbers and other debug
    /// information count. None by default.
    pub debug_info: NameGlobs,
}

impl Jvm {
    /// Whether lines of a class count, whoever asks for them.
    pub fn counts_lines(&self, class: &str) -> bool {
        let simple = class.rsplit('.').next().unwrap_or(class);
        [class, simple].iter().any(|name| self.debug_info.matches_whole(name.as_bytes()))
    }
}

/// `[python]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Python {
    /// `functions`: the tests inside pytest are decided about one by one. Without, pytest is one command. Default: true.
    pub functions: bool,
}

impl Default for Python {
    fn default() -> Self {
        Self { functions: true }
    }
}

/// What the tests of a suite are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Each {
    /// The command is the one test.
    Once,
    Items(Vec<Item>),
    /// The lines that this command prints.
    Command(Vec<String>),
    /// Texts in the JSON that this command prints.
    Json(Vec<String>, String),
}

/// One entry of `each`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Item {
    /// Taken as it is, whether there is a file of that name or not.
    Name(String),
    /// All files that match, relative to the suite's folder.
    Glob(String),
}

impl Suite {
    /// The words of the command for one item.
    pub fn command_for(&self, item: &str) -> Vec<String> {
        if self.each == Each::Once {
            return self.run.clone();
        }
        self.run.iter().map(|word| word.replace("{}", item)).collect()
    }

    /// The name of the only test of a suite without `each`.
    pub fn single_name(&self) -> String {
        self.run.join(" ")
    }
}

impl Settings {
    /// The folder of the store, if the settings name one.
    pub fn store_folder(&self, root: &Path, home: Option<&Path>) -> Option<PathBuf> {
        let store = self.store.as_deref()?;
        Some(match (store.strip_prefix("~/"), home) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => root.join(store),
        })
    }

    /// The suite of that name.
    pub fn suite(&self, name: &str) -> Option<&Suite> {
        self.suites.iter().find(|suite| suite.name == name)
    }

    /// A digest of everything that changes what is observed, and how. Records of another digest
    /// prove nothing: they may not know of something that counts now.
    pub fn observation_digest(&self) -> Hash {
        // Raised whenever the built-in rules or filters of `paths` change their meaning.
        const MODEL: &str = "observation 2";
        let mut parts: Vec<String> = vec![MODEL.into()];
        let mut list = |title: &str, entries: Vec<String>| {
            parts.push(format!("{title} {}", entries.len()));
            parts.extend(entries);
        };
        let sorted = |patterns: &[String]| {
            let mut patterns = patterns.to_vec();
            patterns.sort();
            patterns.dedup();
            patterns
        };
        list("ignore", sorted(&self.ignore));
        list("default-ignore", vec![self.built_in.ignore.to_string()]);
        list("default-rules", vec![self.built_in.rules.to_string()]);
        list("environment ignore", sorted(self.environment.ignored()));
        list("environment count", sorted(self.environment.counted()));
        if let Some(only) = self.environment.only() {
            list("environment only", sorted(only));
        }
        list("tool state", sorted(&self.tools.patterns()));
        // With all of them a record knows less than without.
        if self.tools.looks().len() < TOOL_LOOKS.len() {
            list(
                "tool looks",
                self.tools.looks().iter().map(|look| look.name.to_owned()).collect(),
            );
        }
        if !self.jvm.debug_info.patterns().is_empty() {
            list("debug information", sorted(self.jvm.debug_info.patterns()));
        }
        for rule in &self.rules {
            let (title, treatment) = match &rule.treatment {
                Treatment::Ignore => ("ignore", Vec::new()),
                Treatment::As(scheme) => ("as", vec![scheme.to_string()]),
                Treatment::Command(words) => ("command", words.clone()),
                Treatment::IgnoreIf(words) => ("ignore-if", words.clone()),
            };
            list("rule", vec![rule.path.clone()]);
            list("program", rule.program.iter().cloned().collect());
            let condition = rule.condition.iter().map(|c| c.text().to_owned());
            list("if", condition.collect());
            list(title, treatment);
        }
        self.add_run_all_on(&mut parts);
        Hash::of_parts(parts.iter().map(String::as_bytes))
    }

    /// All globs of `run-all-on`, of the project and of its suites.
    pub fn all_run_all_on(&self) -> Vec<String> {
        let mut all = self.everywhere.run_all_on.clone();
        all.extend(self.suites.iter().flat_map(|suite| suite.run_all_on.iter().cloned()));
        all.sort();
        all.dedup();
        all
    }

    /// A record from before a glob was there does not know which files it matched then.
    fn add_run_all_on(&self, parts: &mut Vec<String>) {
        let of_suites = self.suites.iter().map(|suite| (suite.name.as_str(), &suite.run_all_on));
        let all = std::iter::once(("", &self.everywhere.run_all_on)).chain(of_suites);
        for (suite, globs) in all.filter(|(_, globs)| !globs.is_empty()) {
            parts.push(format!("run-all-on {} {suite}", globs.len()));
            parts.extend(globs.iter().cloned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Settings {
        crate::parse(text.as_bytes(), Path::new("tamis.toml")).unwrap()
    }

    #[test]
    fn command_for_replaces_inside_words() {
        let settings = parse("[[suite]]\nname='s'\neach='*.x'\nrun=['a', '--in={}', '{}{}', '']");
        let words = settings.suites[0].command_for("b c");
        assert_eq!(words, ["a", "--in=b c", "b cb c", ""]);
        let once = parse("[[suite]]\nname='s'\nrun='make test'");
        assert_eq!(once.suites[0].command_for("x"), ["make", "test"]);
        assert_eq!(once.suites[0].single_name(), "make test");
    }

    #[test]
    fn store_folders() {
        let at = |store: &str| {
            let settings = Settings { store: Some(store.into()), ..Settings::default() };
            settings.store_folder(Path::new("/r"), Some(Path::new("/h"))).unwrap()
        };
        assert_eq!(at(".tamis"), Path::new("/r/.tamis"));
        assert_eq!(at("~/x"), Path::new("/h/x"));
        assert_eq!(at("/x"), Path::new("/x"));
        assert_eq!(Settings::default().store_folder(Path::new("/r"), None), None);
    }

    #[test]
    fn the_digest_sees_what_changes_observation_and_nothing_else() {
        let base = parse("").observation_digest();
        for same in [
            "[tamis]\njobs = 2\nstore = 'x'\nengine = 'ptrace'\nnetwork = 'ignore'",
            "[[suite]]\nname='s'\nrun='x'",
            "[tamis]\nalways-run = ['x']\nrun-all-on = []",
            "[tamis]\ndefault-ignore = true",
        ] {
            assert_eq!(parse(same).observation_digest(), base, "{same}");
        }
        let different = [
            "[tamis]\nignore = ['a', 'b']",
            "[tamis]\nignore = ['ab']",
            "[tamis]\ndefault-ignore = false",
            "[tamis]\ndefault-rules = false",
            "[tamis.environment]\nignore = ['A']",
            "[tamis.environment]\ncount = ['A']",
            "[tamis.environment]\nonly = ['A']",
            "[tamis.environment]\nonly = []",
            "[tamis.tool-state]\ndefault = false",
            "[jvm]\ndebug-info = 'counts'",
            "[jvm]\ndebug-info = ['a.*']",
            "[tamis.tool-state]\nexcept = ['npm']",
            "[tamis.tool-state]\nexcept = ['go-listing']",
            "[tamis.tool-state]\nignore = ['~/.acme/log']",
            "[[rule]]\npath='a'\nas='raw'",
            "[[rule]]\npath='a'\nas='xml'",
            "[[rule]]\npath='a'\nas='ignore'",
            "[[rule]]\npath='a'\nprogram='p'\nas='raw'",
            "[[rule]]\npath='a'\nas='class'",
            "[[rule]]\npath='a'\nif=\"name = 'a'\"\nas='raw'",
            "[[rule]]\npath='a'\nas={ignore-if=['raw']}",
            "[tamis]\nrun-all-on = ['a']",
            "[[suite]]\nname='s'\nrun='x'\nrun-all-on = ['a']",
            "[[rule]]\npath='a'\nas={command=['raw']}",
            "[[rule]]\npath='a'\nas={command=['a', 'b']}",
            "[[rule]]\npath='a'\nas={command=['a b']}",
        ];
        let mut digests: Vec<Hash> =
            different.iter().map(|text| parse(text).observation_digest()).collect();
        digests.push(base);
        digests.sort();
        digests.dedup();
        assert_eq!(digests.len(), different.len() + 1);
        // The order of filters carries no meaning, the order of rules does.
        assert_eq!(
            parse("[tamis]\nignore = ['b', 'a']").observation_digest(),
            parse("[tamis]\nignore = ['a', 'b']").observation_digest()
        );
        let rules = |a: &str, b: &str| {
            parse(&format!("[[rule]]\npath='{a}'\nas='raw'\n[[rule]]\npath='{b}'\nas='raw'"))
                .observation_digest()
        };
        assert_ne!(rules("a", "b"), rules("b", "a"));
    }
}
