//! The command line as it is written. tamis's own options stand before the user's command; the first
//! word that is no verb of tamis starts that command.
//!
//! What the options mean together is not known here; see [`super::resolved`].

use super::teach;
use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum};
use std::ffi::OsString;
use std::path::PathBuf;
use tamis_runner::MOST_RERUNS as MOST;

/// Runs only the tests that a change can affect, and explains why
#[derive(Debug, Parser)]
#[command(
    name = "tamis",
    version,
    about,
    override_help = teach::OVERVIEW,
    args_conflicts_with_subcommands = false,
    disable_help_subcommand = true,
    disable_help_flag = true
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

impl Arguments {
    /// The folder of the records that the user asks for.
    pub(crate) fn store(&self) -> Option<&std::path::Path> {
        self.common.store.as_deref()
    }
}

/// Options of every verb.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Options of every verb")]
pub(crate) struct Common {
    /// Folder of the records [default: one per project, in your cache folder]
    #[arg(long, value_name = "DIR", global = true, env = "TAMIS_STORE", hide_env_values = true)]
    pub(crate) store: Option<PathBuf>,
    /// Answer in JSON lines on standard output; what tests print goes to standard error
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Show only errors, and what the tests print
    #[arg(short, long, global = true)]
    pub(crate) quiet: bool,
    /// Leave the shared store of [remote] in tamis.toml alone (also TAMIS_REMOTE=off)
    #[arg(long, global = true)]
    pub(crate) offline: bool,
    /// Colours in messages of tamis: auto, always or never
    #[arg(long, value_name = "WHEN", default_value = "auto", global = true)]
    #[arg(hide_possible_values = true)]
    pub(crate) color: Color,
    /// Print help
    #[arg(short, long, global = true, action = ArgAction::HelpShort)]
    help: Option<bool>,
}

/// Options of verbs that decide about many tests.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
#[command(next_help_heading = "Which tests run")]
pub(crate) struct Selecting {
    /// Run everything, whatever the records say
    #[arg(long)]
    pub(crate) all: bool,
    /// Only tests of this name: a part of the name, a glob, a path, a class (may be repeated)
    #[arg(long, value_name = "NAME")]
    pub(crate) only: Vec<String>,
    /// Only tests that did not pass when they last ran
    #[arg(long)]
    pub(crate) failed: bool,
    /// Start the build even if nothing that it read has changed; its tests are still decided one by one
    #[arg(long)]
    pub(crate) no_command_skip: bool,
    #[command(flatten)]
    pub(crate) part: Part,
    #[command(flatten)]
    pub(crate) choice: Choice,
}

/// Which part of what has to run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
#[command(next_help_heading = "Which tests run")]
pub(crate) struct Part {
    /// Of what has to run now, only the part of this machine, for instance 3/8; see docs/shards.md
    #[arg(long, value_name = "N/OF")]
    pub(crate) shard: Option<String>,
    /// With --shard: the split that `tamis shards --write FILE` made
    #[arg(long, value_name = "FILE", requires = "shard")]
    pub(crate) plan: Option<PathBuf>,
}

/// How tests are chosen.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
#[command(next_help_heading = "Which tests run")]
pub(crate) struct Choice {
    /// How tests are chosen: records, static, modules or hybrid; see `tamis help strategies` [default:
    /// records]
    #[arg(long, value_name = "STRATEGY", hide_possible_values = true)]
    pub(crate) select: Option<SelectName>,
    /// What is decided about: in Java each test class or each test method (class, method), in pytest each
    /// test function or all of a file together (function, file); see `tamis help strategies` [default: class, and
    /// function]
    #[arg(long, value_name = "UNIT", hide_possible_values = true)]
    pub(crate) granularity: Option<Granularity>,
    /// With --select modules or hybrid: the branch, tag or commit to compare with
    #[arg(long, value_name = "REF")]
    pub(crate) since: Option<String>,
}

/// Options of verbs that run tests.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
#[command(next_help_heading = "How they run")]
pub(crate) struct Running {
    /// How processes are observed: auto, notify, patch, ebpf or ptrace; see `tamis help engines` [default:
    /// auto]
    #[arg(long, value_name = "ENGINE", hide_possible_values = true)]
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
    /// Run at full speed and record nothing: what ran is run again until a run records it, for instance
    /// `tamis record` at night
    #[arg(long)]
    pub(crate) no_collect: bool,
    /// Record every Nth run only; the runs between are as with --no-collect
    #[arg(long, value_name = "N", conflicts_with = "no_collect")]
    pub(crate) collect_every: Option<std::num::NonZeroU32>,
    /// Run a test that did not pass again, up to N times (at most 6); one that then passes is reported as
    /// flaky, and still counts as failed
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=i64::from(MOST)))]
    pub(crate) rerun_failed: Option<u32>,
    /// With --rerun-failed: flaky tests do not make the exit code a failure
    #[arg(long)]
    pub(crate) flaky_ok: bool,
    #[command(flatten)]
    pub(crate) looking: Looking,
}

/// What is looked for besides failures.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
#[command(next_help_heading = "What is checked besides")]
pub(crate) struct Looking {
    /// Run everything, and report what would have been skipped, and whether that would have been right
    /// [also: TAMIS_SHADOW=1]
    #[arg(long, conflicts_with = "audit")]
    pub(crate) shadow: bool,
    /// Of what may be skipped, run a random share all the same, for instance 5%; a failure among it turns
    /// skipping off (`tamis audit`)
    #[arg(long, value_name = "SHARE")]
    pub(crate) audit: Option<String>,
    /// With --audit: choose as the run that printed this number did, with the same records
    #[arg(long, value_name = "SEED", requires = "audit")]
    pub(crate) audit_seed: Option<u64>,
    /// After the run, run N of the tests that ran behind others alone, each in a process of its own, and name those
    /// that end otherwise, and because of which others [default N: 10]
    #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true, default_missing_value = "10")]
    pub(crate) check_isolation: Option<std::num::NonZeroUsize>,
    /// With --check-isolation: choose as the run that printed this number did, of the same tests
    #[arg(long, value_name = "SEED", requires = "check_isolation")]
    pub(crate) isolation_seed: Option<u64>,
}

impl Selecting {
    /// These options and those that stood behind the verb.
    pub(super) fn and(mut self, other: &Self) -> Self {
        self.all |= other.all;
        self.failed |= other.failed;
        self.no_command_skip |= other.no_command_skip;
        self.only.extend(other.only.iter().cloned());
        self.choice = self.choice.and(&other.choice);
        self.part = Part {
            shard: other.part.shard.clone().or(self.part.shard),
            plan: other.part.plan.clone().or(self.part.plan),
        };
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
            looking: self.looking.and(&other.looking),
        }
    }
}

impl Looking {
    /// These options and those that stood behind the verb, which come first.
    fn and(self, other: &Self) -> Self {
        Self {
            shadow: self.shadow || other.shadow,
            audit: other.audit.clone().or(self.audit),
            audit_seed: other.audit_seed.or(self.audit_seed),
            check_isolation: other.check_isolation.or(self.check_isolation),
            isolation_seed: other.isolation_seed.or(self.isolation_seed),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Granularity {
    /// Test classes; with --select static, the graph of types
    Class,
    /// Test methods, where those of a class can be distinguished; with --select static, a call graph
    Method,
    /// pytest: all tests of a file run where one of them needs to
    File,
    /// pytest: each test function, and each set of its parameters
    Function,
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

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Run a command or the suites, where a change can affect them (`run` may be left out)
    #[command(after_help = teach::RUN)]
    Run(RunArguments),
    /// Show what would run now, and why; runs nothing
    #[command(after_help = teach::SELECT)]
    Select(SelectArguments),
    /// How what would run now is split among machines, for a matrix of CI jobs; runs nothing
    #[command(after_help = teach::SHARDS)]
    Shards(ShardsArguments),
    /// Run and record, even if nothing has changed
    #[command(after_help = teach::RECORD)]
    Record(RunArguments),
    /// Why a test would run now: what changed, what it was, and which program read it
    #[command(after_help = teach::WHY)]
    Why(WhyArguments),
    /// Why a test may be skipped: the run that proves it, and everything it read
    #[command(after_help = teach::WHY_NOT)]
    WhyNot(WhyNotArguments),
    /// What a test reads, by kind
    #[command(after_help = teach::DEPS)]
    Deps(DepsArguments),
    /// All known tests of the project, and what would happen to each now
    #[command(after_help = teach::STATUS)]
    Status(StatusArguments),
    /// The recorded runs of one test, or of all
    #[command(after_help = teach::HISTORY)]
    History(OptionalName),
    /// Write a page about the last runs, savings and inputs: one HTML file, and Markdown beside it
    #[command(after_help = teach::REPORT)]
    Report(ReportArguments),
    /// Drop the records of a test, so that it runs next time
    #[command(after_help = teach::FORGET)]
    Forget(Name),
    /// Drop all records of this project, or only the old ones
    #[command(after_help = teach::CLEAN)]
    Clean(CleanArguments),
    /// Run the tests of earlier commits again: what would have been saved, and missed
    #[command(after_help = teach::REPLAY)]
    Replay(tamis_replay::ReplayArguments),
    /// What runs with --shadow and --audit have checked, and what that proves
    #[command(after_help = teach::AUDIT)]
    Audit(AuditArguments),
    /// Check that tamis works here, and name tests that leave files behind or read such files
    #[command(after_help = teach::DOCTOR)]
    Doctor,
    /// Write a tamis.toml with the tests that are found in this folder
    #[command(after_help = teach::INIT)]
    Init(InitArguments),
    /// Which modules of a build a change can affect, and why; runs nothing
    #[command(after_help = teach::MODULES)]
    Modules(ModulesArguments),
    /// The store that a team shares: push, pull, check, keys, and records in files
    #[command(after_help = tamis_shared::TEACH)]
    Store(tamis_shared::StoreArguments),
    /// Java without running it: what changed in class files, and which test classes can reach it
    Static(tamis_static_verb::StaticArguments),
    /// Help about a verb, or about options, exit-codes, engines, strategies or tool-state
    Help(HelpArguments),
    /// Print the completions of a shell: bash, zsh or fish
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
    #[arg(trailing_var_arg = true, value_name = "COMMAND", help_heading = "Arguments")]
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
pub(crate) struct ShardsArguments {
    /// At most so many machines; fewer where more would end hardly earlier, none where nothing has to run
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) plan: u32,
    /// Write the split to this file, for --plan of the machines
    #[arg(long, value_name = "FILE")]
    pub(crate) write: Option<PathBuf>,
    /// Run everything, whatever the records say
    #[arg(long)]
    pub(super) all: bool,
    #[command(flatten)]
    pub(super) choice: Choice,
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
pub(crate) struct WhyNotArguments {
    #[command(flatten)]
    pub(crate) shown: Shown,
    #[command(flatten)]
    pub(super) choice: Choice,
    #[command(flatten)]
    pub(crate) name: Name,
}

/// Which inputs of a test are shown.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Shown {
    /// Show every input; without it, those outside of the project are counted by folder
    #[arg(long)]
    pub(crate) all: bool,
    /// Show only inputs with this word in their name (may be repeated)
    #[arg(long, value_name = "WORD")]
    pub(crate) filter: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct StatusArguments {
    /// Only tests of this name: a part of the name, a glob, a path, a class (may be repeated)
    #[arg(long, value_name = "NAME")]
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
    #[arg(
        trailing_var_arg = true,
        value_name = "NAME",
        required = true,
        help_heading = "Arguments"
    )]
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
    pub(crate) shown: Shown,
    #[command(flatten)]
    pub(crate) name: Name,
}

#[derive(Debug, Args)]
pub(crate) struct ReportArguments {
    /// The folder to write to; it is made if it is not there
    #[arg(short, long, value_name = "DIR", default_value = "tamis-report")]
    pub(crate) output: PathBuf,
    /// Open the page in the browser (by xdg-open)
    #[arg(long)]
    pub(crate) open: bool,
    /// Where the page will be found, for the link in the Markdown [default: the CI job's page where the
    /// environment names it, else the file]
    #[arg(long, value_name = "URL")]
    pub(crate) link: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct CleanArguments {
    /// Drop only records that are old or too many (tamis does that once a day by itself)
    #[arg(long)]
    pub(crate) old: bool,
}

#[derive(Debug, Args)]
pub(crate) struct AuditArguments {
    /// Acknowledge all misses, and turn skipping on again
    #[arg(long)]
    pub(crate) resolve: bool,
}

#[derive(Debug, Args)]
pub(crate) struct HelpArguments {
    /// A verb (static select, where it has verbs of its own), or options, exit-codes,
    /// engines, strategies, tool-state
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
    /// Print the text instead of writing the file
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
