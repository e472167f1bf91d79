//! The command line as it is written. tamis's own options stand before the user's command; the first
//! word that is no verb of tamis starts that command.
//!
//! What the options mean together is not known here; see [`super::resolved`].

use clap::{Args, Parser, Subcommand, ValueEnum};
use std::ffi::OsString;
use std::path::PathBuf;
use tamis_runner::MOST_RERUNS as MOST;

/// Runs only the tests that a change can affect, and tells why.
#[derive(Debug, Parser)]
#[command(
    name = "tamis",
    version,
    about,
    long_about = "Runs only the tests that a change can affect, in any language, and tells why the \
        others need not run.\n\n\
        tamis runs your command, watches which files, folders, absent files, programs, libraries \
        and variables its processes look at, and writes that down. Next time, if all of that is \
        still the same and the command had passed, it is skipped in milliseconds.",
    after_help = "Examples:\n  \
        tamis ./check.sh             run it, or skip it while nothing it looked at has changed\n  \
        tamis npm test               any command; tamis's own options stand before it\n  \
        tamis mvn test               Maven: each test class by itself, no build file touched\n  \
        tamis --granularity method mvn test      ... and each test method\n  \
        tamis ant test               the same with Ant, Gradle, and java with JUnit or TestNG\n  \
        tamis go test ./...          Go: each package by itself\n  \
        tamis run -- status          a command with the name of a tamis verb\n  \
        tamis                        the suites of tamis.toml, several tests at once\n  \
        tamis select                 what would run now, and why; runs nothing\n  \
        tamis why ./check.sh         which input changed, what it was, who looked at it\n  \
        tamis init                   write a tamis.toml for this project\n\n\
        Exit code: the command's own; for suites 0 if nothing failed, 1 otherwise; 125 for a mistake \
        in the call or the settings. Nothing to run is success. `tamis help exit-codes` lists all.",
    args_conflicts_with_subcommands = false,
    disable_help_subcommand = true
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(super) common: Common,
    #[command(flatten)]
    pub(super) selecting: Selecting,
    #[command(flatten)]
    pub(super) running: Running,
    #[command(subcommand)]
    pub(crate) verb: Option<Verb>,
}

/// Options of every verb.
#[derive(Debug, Clone, Args)]
pub(crate) struct Common {
    /// Folder of the records [default: in your cache folder, one per project]
    #[arg(long, value_name = "DIR", global = true, env = "TAMIS_STORE", hide_env_values = true)]
    pub(crate) store: Option<PathBuf>,
    /// JSON lines on standard output; the tests' own output goes to standard error
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Say nothing but errors and the tests' own output
    #[arg(short, long, global = true)]
    pub(crate) quiet: bool,
    /// Colours in tamis's own messages
    #[arg(long, value_name = "WHEN", default_value = "auto", global = true)]
    pub(crate) color: Color,
}

/// Options of verbs that decide about many tests.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
pub(crate) struct Selecting {
    /// Run everything, whatever the records say
    #[arg(long)]
    pub(crate) all: bool,
    /// Only tests whose name matches this glob (may be given several times)
    #[arg(long, value_name = "GLOB")]
    pub(crate) only: Vec<String>,
    /// Only tests that did not pass when they last ran
    #[arg(long)]
    pub(crate) failed: bool,
    /// Start the build or JVM even if nothing that it looked at has changed; its test classes are
    /// still decided about one by one
    #[arg(long)]
    pub(crate) no_command_skip: bool,
    #[command(flatten)]
    pub(crate) choice: Choice,
}

/// How tests are chosen.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
pub(crate) struct Choice {
    /// How tests are chosen [default: records]
    #[arg(long, value_name = "STRATEGY")]
    pub(crate) select: Option<SelectName>,
    /// With Maven and JVMs: what is decided about and recorded, test classes or also each test method.
    /// With --select static: which graph decides; `method` (0-CFA without libraries) can miss tests,
    /// because it sees neither reflection nor callbacks from libraries [default: class]
    #[arg(long, value_name = "UNIT")]
    pub(crate) granularity: Option<Granularity>,
    /// With --select modules or hybrid: the branch, tag or commit to compare with
    #[arg(long, value_name = "REF")]
    pub(crate) since: Option<String>,
}

/// Options of verbs that run tests.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
pub(crate) struct Running {
    /// How processes are observed [default: auto, the best that works here]
    #[arg(long, value_name = "ENGINE")]
    pub(crate) engine: Option<EngineWord>,
    /// The word for --granularity that belonged to --engine static
    #[arg(long, value_name = "UNIT", hide = true)]
    pub(crate) level: Option<Granularity>,
    /// How many tests run at once [default: one per core]
    #[arg(short, long, value_name = "N")]
    pub(crate) jobs: Option<std::num::NonZeroUsize>,
    /// End a test that runs longer, for instance 90s or 5m
    #[arg(long, value_name = "TIME")]
    pub(crate) timeout: Option<String>,
    /// Write a JUnit XML report to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
    /// Run what is affected at full speed and record nothing: it stays affected until a run that
    /// does, for instance `tamis record` at night
    #[arg(long)]
    pub(crate) no_collect: bool,
    /// Record every Nth run only; those between are as with --no-collect
    #[arg(long, value_name = "N", conflicts_with = "no_collect")]
    pub(crate) collect_every: Option<std::num::NonZeroU32>,
    /// Run a test that did not pass again, up to N times (at most 6); one that then passes is flaky, is
    /// named, and still counts as failed
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=i64::from(MOST)))]
    pub(crate) rerun_failed: Option<u32>,
    /// With --rerun-failed: flaky tests do not make the exit code a failure
    #[arg(long)]
    pub(crate) flaky_ok: bool,
}

impl Selecting {
    /// These options and those that stood behind the verb.
    pub(super) fn and(mut self, other: &Self) -> Self {
        self.all |= other.all;
        self.failed |= other.failed;
        self.no_command_skip |= other.no_command_skip;
        self.only.extend(other.only.iter().cloned());
        self.choice = self.choice.and(&other.choice);
        self
    }
}

impl Choice {
    /// These options and those that stood behind the verb, which come first.
    pub(super) fn and(self, other: &Self) -> Self {
        Self {
            select: other.select.or(self.select),
            granularity: other.granularity.or(self.granularity),
            since: other.since.clone().or(self.since),
        }
    }
}

impl Running {
    /// These options and those that stood behind the verb, which come first.
    pub(super) fn and(self, other: &Self) -> Self {
        Self {
            engine: other.engine.or(self.engine),
            level: other.level.or(self.level),
            jobs: other.jobs.or(self.jobs),
            timeout: other.timeout.clone().or(self.timeout),
            junit: other.junit.clone().or(self.junit),
            no_collect: self.no_collect || other.no_collect,
            collect_every: other.collect_every.or(self.collect_every),
            rerun_failed: other.rerun_failed.or(self.rerun_failed),
            flaky_ok: self.flaky_ok || other.flaky_ok,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Granularity {
    /// Test classes; with --select static, the graph of types
    Class,
    /// Test methods, where those of a class can be distinguished; with --select static, a call graph
    Method,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    Auto,
    Always,
    Never,
}

/// What `--select` takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SelectName {
    /// By what each test looked at when it last ran
    Records,
    /// For Maven: test classes by the graph of their class files alone, without looking at what they
    /// do; can miss what a program finds at run time
    Static,
    /// All tests of the modules that a change can affect (--since), for Maven, Gradle, Cargo, Go and npm
    Modules,
    /// Modules first, then what the records say about each test inside them
    Hybrid,
}

/// What `--engine` takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum EngineWord {
    /// The best one that works here
    Auto,
    /// seccomp user notification: no privilege needed
    Notify,
    /// notify, with a log inside of the processes for calls that only look (x86-64, GNU C library);
    /// builds whose test classes are distinguished take notify all the same
    Patch,
    /// eBPF: the cheapest, needs CAP_BPF and CAP_PERFMON; builds whose test classes are distinguished
    /// take notify all the same
    Ebpf,
    /// ptrace: the last resort
    Ptrace,
    /// The old word for --select static
    #[value(hide = true)]
    Static,
    /// The old word for --select modules
    #[value(hide = true)]
    Modules,
    /// The old word for --select hybrid
    #[value(hide = true)]
    Hybrid,
}

/// Which graph decides in `tamis static`.
#[derive(Debug, Clone, Args)]
pub(crate) struct GraphUnit {
    /// What the graph is made of: `class`, types; `method`, calls, for which `record` keeps the class
    /// files as well. `method` can miss tests: it sees neither reflection nor callbacks from libraries
    /// that are left out [default: class]
    #[arg(long, value_name = "UNIT", hide_possible_values = true)]
    granularity: Option<Granularity>,
    /// The old word for --granularity
    #[arg(long, value_name = "UNIT", hide = true, conflicts_with = "granularity")]
    level: Option<Granularity>,
}

impl GraphUnit {
    /// Whether a call graph decides.
    pub(crate) fn calls(&self) -> bool {
        self.granularity.or(self.level) == Some(Granularity::Method)
    }

    /// Whether it is given by its old word.
    pub(crate) fn uses_level(&self) -> bool {
        self.level.is_some()
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Run a command, or the suites, only where affected (what `tamis COMMAND` does)
    Run(RunArguments),
    /// Decide only: what would run now, and why; with --quiet exit code 1 if anything would
    Select(SelectArguments),
    /// Run and record in any case
    Record(RunArguments),
    /// Why a test would run now: which input, what it was, what it is, who looked at it
    Why(WhyArguments),
    /// Why a test may be skipped: the record that proves it, input by input
    WhyNot(WhyArguments),
    /// The inputs of a test by kind
    Deps(DepsArguments),
    /// The project, its store and its tests at a glance
    Status(StatusArguments),
    /// The recorded runs of one test, or of all
    History(OptionalName),
    /// Drop the records of a test: it runs next time
    Forget(Name),
    /// Drop all records of this project, or only what is old
    Clean(CleanArguments),
    /// Check that tamis can observe here, and name tests with bad habits
    Doctor,
    /// Write a commented tamis.toml by looking at the project
    Init(InitArguments),
    /// Which modules a change can affect, and why; runs nothing
    Modules(ModulesArguments),
    /// Java without running it: what changed in class files, and which test classes can reach it
    Static(super::static_words::StaticArguments),
    /// Help about a verb, or about exit-codes, engines, strategies or tool-state
    Help(HelpArguments),
    /// Print what completes tamis's words in a shell
    Completions(CompletionsArguments),
    /// Print the manual page
    Man,
    #[command(external_subcommand)]
    Command(Vec<OsString>),
}

#[derive(Debug, Args)]
pub(crate) struct RunArguments {
    #[command(flatten)]
    pub(super) selecting: Selecting,
    #[command(flatten)]
    pub(super) running: Running,
    #[command(flatten)]
    pub(crate) command: CommandWords,
}

#[derive(Debug, Args)]
pub(crate) struct CommandWords {
    /// The command; without one, the suites of tamis.toml
    #[arg(trailing_var_arg = true, value_name = "COMMAND")]
    pub(crate) words: Vec<OsString>,
}

#[derive(Debug, Args)]
pub(crate) struct SelectArguments {
    /// One name a line, only tests that would run
    #[arg(long)]
    pub(crate) plain: bool,
    #[command(flatten)]
    pub(super) selecting: Selecting,
    #[command(flatten)]
    pub(crate) command: CommandWords,
}

#[derive(Debug, Args)]
pub(crate) struct WhyArguments {
    #[command(flatten)]
    pub(super) choice: Choice,
    #[command(flatten)]
    pub(crate) name: Name,
}

#[derive(Debug, Args)]
pub(crate) struct StatusArguments {
    /// Only tests whose name matches this glob (may be given several times)
    #[arg(long, value_name = "GLOB")]
    pub(super) only: Vec<String>,
    /// Only tests that did not pass when they last ran
    #[arg(long)]
    pub(super) failed: bool,
    #[command(flatten)]
    pub(super) choice: Choice,
}

#[derive(Debug, Args)]
pub(crate) struct Name {
    /// The test's name, or a part of it that no other test has
    #[arg(trailing_var_arg = true, value_name = "NAME", required = true)]
    pub(crate) name: Vec<OsString>,
}

#[derive(Debug, Args)]
pub(crate) struct OptionalName {
    /// The test's name, or a part of it that no other test has
    #[arg(trailing_var_arg = true, value_name = "NAME")]
    pub(crate) name: Vec<OsString>,
}

#[derive(Debug, Args)]
pub(crate) struct DepsArguments {
    /// One path a line, nothing else
    #[arg(long)]
    pub(crate) plain: bool,
    #[command(flatten)]
    pub(crate) name: Name,
}

#[derive(Debug, Args)]
pub(crate) struct CleanArguments {
    /// Only drop records that are old or too many (as happens by itself once a day)
    #[arg(long)]
    pub(crate) old: bool,
}

#[derive(Debug, Args)]
pub(crate) struct HelpArguments {
    /// A verb, with the verb below it where there is one (static select), or exit-codes, engines,
    /// strategies, tool-state
    #[arg(value_name = "TOPIC")]
    pub(crate) topic: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct CompletionsArguments {
    pub(crate) shell: Shell,
}

/// Shells whose completion we print.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Shell {
    Bash,
    Zsh,
    Fish,
}

#[derive(Debug, Args)]
pub(crate) struct InitArguments {
    /// Print it instead of writing the file
    #[arg(long)]
    pub(crate) print: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ModulesArguments {
    /// The branch, tag or commit to compare with [default: `since` in tamis.toml, else the remote's
    /// main branch]
    #[arg(long, value_name = "REF")]
    pub(crate) since: Option<String>,
    /// One folder a line, nothing else
    #[arg(long, conflicts_with = "names")]
    pub(crate) plain: bool,
    /// One name a line, nothing else: group:artifact, a package, a workspace
    #[arg(long)]
    pub(crate) names: bool,
    /// All modules of the build, affected or not
    #[arg(long)]
    pub(crate) all: bool,
    /// A command whose profiles, properties and -f count (tamis modules -- mvn -Pextra test)
    #[arg(trailing_var_arg = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}
