//! What a command line means: options from before and behind the verb together, old words as new ones,
//! and the refusal of what has no meaning. The one place with such rules.
//!
//! An option is refused rather than ignored, so that no user believes in an effect that it does not have.

use super::behind::Misplaced;
use super::low::{self, Arguments, Choice, Common, EngineWord, Granularity, SelectName, Verb};
use anyhow::{Result, anyhow, bail, ensure};
use std::ffi::OsString;
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;
use tamis_core::Strategy;
use tamis_runner::shards::Shard;
use tamis_runner::{CheckOption, EngineName, IsolationOption, Output, RunOptions, Which};
use tamis_settings::NameFilter;

/// Which of the tests are asked for.
#[derive(Debug, Clone, Default)]
pub(crate) struct Selecting {
    pub(crate) all: bool,
    pub(crate) only: Vec<String>,
    pub(crate) failed: bool,
    pub(crate) no_command_skip: bool,
    pub(crate) since: Option<String>,
    pub(crate) shard: Option<Shard>,
    pub(crate) plan: Option<PathBuf>,
    /// Of records; [`Strategy::Static`] has its own.
    granularity: Option<Granularity>,
}

/// How tests run.
#[derive(Debug, Clone, Default)]
pub(crate) struct Running {
    pub(crate) engine: Option<EngineName>,
    pub(crate) jobs: Option<NonZeroUsize>,
    pub(crate) timeout: Option<String>,
    pub(crate) junit: Option<PathBuf>,
    pub(crate) no_collect: bool,
    pub(crate) collect_every: Option<NonZeroU32>,
    pub(crate) rerun_failed: Option<u32>,
    pub(crate) flaky_ok: bool,
    check: Option<CheckOption>,
    isolation: Option<IsolationOption>,
}

/// All options of a call, wherever they stood, checked.
#[derive(Debug, Clone)]
pub(crate) struct Options {
    pub(crate) common: Common,
    pub(crate) selecting: Selecting,
    pub(crate) running: Running,
    strategy: Strategy,
    /// `tamis record`: whatever the records say.
    in_any_case: bool,
    /// What to write instead of old words.
    pub(crate) advice: Option<String>,
}

/// What the rules have to know of a user's command.
#[derive(Debug, Clone, Default)]
pub(crate) struct CommandTraits {
    /// The units of tests inside it are distinguished.
    pub(crate) units: bool,
    /// The parts of its units can be distinguished.
    pub(crate) parts: bool,
    /// Its units are in files of tests.
    pub(crate) files: bool,
    /// A graph of its class files can decide.
    pub(crate) graph: bool,
    /// An option of tamis among its words, which its tool certainly does not have.
    pub(crate) misplaced: Option<Misplaced>,
}

impl Selecting {
    /// Whether test methods are distinguished.
    pub(crate) fn by_methods(&self) -> bool {
        self.granularity == Some(Granularity::Method)
    }

    /// Whether a unit of pytest is asked for, whatever the settings say.
    pub(crate) fn in_files(&self) -> bool {
        matches!(self.granularity, Some(Granularity::File | Granularity::Function))
    }

    /// Whether the tests of a file are kept together.
    pub(crate) fn by_files(&self) -> bool {
        self.granularity == Some(Granularity::File)
    }
}

impl Options {
    /// What the runner is asked for.
    pub(crate) fn run_options(&self) -> Result<RunOptions> {
        let Self { selecting, running, .. } = self;
        let only = NameFilter::new(selecting.only.clone()).map_err(|e| anyhow!("--only: {e}"))?;
        let timeout = running.timeout.as_deref().map(tamis_settings::duration).transpose();
        Ok(RunOptions {
            strategy: self.strategy,
            which: Which {
                all: selecting.all || self.in_any_case,
                only,
                failed: selecting.failed,
                no_command_skip: selecting.no_command_skip,
                since: selecting.since.clone(),
                parts: selecting.by_methods(),
                // The machines come to a split by what the project says; see `context`.
                shard: None,
            },
            engine: running.engine,
            jobs: running.jobs,
            timeout: timeout.map_err(|e| anyhow!("--timeout {e}"))?,
            no_collect: running.no_collect,
            collect_every: running.collect_every,
            rerun_failed: running.rerun_failed,
            flaky_ok: running.flaky_ok,
            check: running.check.or(self.shadow_by_variable()),
            isolation: running.isolation,
            output: Output { as_errors: self.common.json, kept: running.junit.is_some() },
        })
    }

    /// `TAMIS_SHADOW=1`; not where everything runs anyway, or only what failed.
    fn shadow_by_variable(&self) -> Option<CheckOption> {
        let set = std::env::var_os("TAMIS_SHADOW").is_some_and(|v| !v.is_empty() && v != "0");
        let free = !self.selecting.all && !self.selecting.failed && !self.in_any_case;
        (set && free).then_some(CheckOption::Shadow)
    }

    /// Whether class files alone decide.
    pub(crate) fn is_static(&self) -> bool {
        matches!(self.strategy, Strategy::Static { .. })
    }
}

impl Arguments {
    /// What the call means. `traits` gives what has to be known of a command.
    pub(crate) fn resolve(&self, traits: &dyn Fn(&[OsString]) -> CommandTraits) -> Result<Options> {
        let (selecting, running) = self.both_sides();
        has_a_use(self.verb.as_ref(), &given(&selecting, &running, &self.common))?;
        let options = self.options(selecting, &running)?;
        together(&options, self.verb.as_ref())?;
        if let Some(words) = self.target() {
            match words {
                [] => for_suites(&options)?,
                words => for_command(&options, &traits(words))?,
            }
        }
        Ok(options)
    }

    /// The options before and behind the verb together.
    fn both_sides(&self) -> (low::Selecting, low::Running) {
        let (selecting, running) = (self.selecting.clone(), self.running.clone());
        let chosen =
            |choice: &Choice| low::Selecting { choice: choice.clone(), ..Default::default() };
        match &self.verb {
            Some(Verb::Run(run) | Verb::Record(run)) => {
                (selecting.and(&run.selecting), running.and(&run.running))
            }
            Some(Verb::Select(select)) => (selecting.and(&select.selecting), running),
            Some(Verb::Shards(shards)) => {
                let behind = low::Selecting { all: shards.all, ..chosen(&shards.choice) };
                (selecting.and(&behind), running)
            }
            Some(Verb::Why(why)) => (selecting.and(&chosen(&why.choice)), running),
            Some(Verb::WhyNot(why)) => (selecting.and(&chosen(&why.choice)), running),
            Some(Verb::Status(status)) => {
                let (only, failed) = (status.only.clone(), status.failed);
                let behind = low::Selecting { only, failed, ..chosen(&status.choice) };
                (selecting.and(&behind), running)
            }
            _ => (selecting, running),
        }
    }

    /// The words of the command that is run or decided about, none for the suites; `None` for verbs
    /// that are about neither.
    pub(crate) fn target(&self) -> Option<&[OsString]> {
        match &self.verb {
            None => Some(&[]),
            Some(Verb::Command(words)) => Some(words),
            Some(Verb::Run(run) | Verb::Record(run)) => Some(&run.command.words),
            Some(Verb::Select(select)) => Some(&select.command.words),
            Some(Verb::Shards(shards)) => Some(&shards.command.words),
            Some(_) => None,
        }
    }

    fn options(&self, selecting: low::Selecting, running: &low::Running) -> Result<Options> {
        let choice = selecting.choice;
        let strategy = strategy(&choice, running)?;
        let level_in_static = matches!(&self.verb, Some(Verb::Static(s)) if s.uses_level());
        Ok(Options {
            common: self.common.clone(),
            advice: advice(running, level_in_static),
            selecting: Selecting {
                all: selecting.all,
                only: selecting.only,
                failed: selecting.failed,
                no_command_skip: selecting.no_command_skip,
                since: choice.since,
                shard: selecting
                    .part
                    .shard
                    .map(|text| text.parse())
                    .transpose()
                    .map_err(|e: String| anyhow!("--shard: {e}"))?,
                plan: selecting.part.plan,
                granularity: choice
                    .granularity
                    .filter(|_| !matches!(strategy, Strategy::Static { .. })),
            },
            running: Running {
                engine: running.engine.and_then(|word| engine(word).ok()),
                jobs: running.jobs,
                timeout: running.timeout.clone(),
                junit: running.junit.clone(),
                no_collect: running.no_collect,
                collect_every: running.collect_every,
                rerun_failed: running.rerun_failed,
                flaky_ok: running.flaky_ok,
                check: check(running)?,
                isolation: running.looking.check_isolation.map(|sample| IsolationOption {
                    sample: sample.get(),
                    seed: running.looking.isolation_seed,
                }),
            },
            strategy,
            in_any_case: matches!(self.verb, Some(Verb::Record(_))),
        })
    }
}

/// An engine, or the way of choosing for which the word stood before there was `--select`.
fn engine(word: EngineWord) -> Result<EngineName, SelectName> {
    match word {
        EngineWord::Auto => Ok(EngineName::Auto),
        EngineWord::Notify => Ok(EngineName::Notify),
        EngineWord::Patch => Ok(EngineName::Patch),
        EngineWord::Ebpf => Ok(EngineName::Ebpf),
        EngineWord::Ptrace => Ok(EngineName::Ptrace),
        EngineWord::Static => Err(SelectName::Static),
        EngineWord::Modules => Err(SelectName::Modules),
        EngineWord::Hybrid => Err(SelectName::Hybrid),
    }
}

fn word(select: SelectName) -> &'static str {
    match select {
        SelectName::Records => "records",
        SelectName::Static => "static",
        SelectName::Modules => "modules",
        SelectName::Hybrid => "hybrid",
    }
}

fn strategy(choice: &Choice, running: &low::Running) -> Result<Strategy> {
    let old = running.engine.and_then(|word| engine(word).err());
    if let (Some(old), Some(_)) = (old, choice.select) {
        let old = word(old);
        bail!("--engine {old} is the old word for --select {old}; leave it out beside --select");
    }
    let select = choice.select.or(old).unwrap_or(SelectName::Records);
    if running.level.is_some() {
        let records = select != SelectName::Static;
        ensure!(
            !records,
            "--level is the old word for --granularity with --select static; write that"
        );
        let both = choice.granularity.is_some();
        ensure!(!both, "--level is the old word for --granularity; leave it out beside that");
    }
    Ok(match select {
        SelectName::Records => Strategy::Records,
        SelectName::Static => {
            let unit = choice.granularity.or(running.level);
            let is_of_pytest = matches!(unit, Some(Granularity::File | Granularity::Function));
            ensure!(
                !is_of_pytest,
                "--select static is about classes and methods: --granularity class or method"
            );
            Strategy::Static { calls: unit == Some(Granularity::Method) }
        }
        SelectName::Modules => Strategy::Modules,
        SelectName::Hybrid => Strategy::Hybrid,
    })
}

/// What runs although it could be skipped.
fn check(running: &low::Running) -> Result<Option<CheckOption>> {
    let Some(share) = &running.looking.audit else {
        return Ok(running.looking.shadow.then_some(CheckOption::Shadow));
    };
    let number = share.strip_suffix('%').and_then(|n| n.trim().parse::<f64>().ok());
    let number = number.filter(|n| *n > 0.0 && *n <= 100.0);
    let number = number.ok_or_else(|| anyhow!("--audit {share}: give a share such as 5%"))?;
    Ok(Some(CheckOption::Audit { share: number / 100.0, seed: running.looking.audit_seed }))
}

/// One line about all old words of the call.
fn advice(running: &low::Running, level_in_static: bool) -> Option<String> {
    let old = running.engine.and_then(|word| engine(word).err()).map(word);
    let level = running.level.is_some() || level_in_static;
    let mut pairs = Vec::new();
    pairs.extend(old.map(|old| (format!("--engine {old}"), format!("--select {old}"))));
    pairs.extend(level.then(|| ("--level".to_owned(), "--granularity".to_owned())));
    let (old, new): (Vec<_>, Vec<_>) = pairs.into_iter().unzip();
    let words = if old.len() > 1 { "are old words" } else { "is an old word" };
    (!old.is_empty()).then(|| format!("{} {words}: write {}", old.join(" and "), new.join(" and ")))
}

/// The options that the user gave, of those that some verbs have no use for.
fn given(selecting: &low::Selecting, running: &low::Running, common: &Common) -> Vec<&'static str> {
    let choice = &selecting.choice;
    let all = [
        ("--all", selecting.all),
        ("--only", !selecting.only.is_empty()),
        ("--failed", selecting.failed),
        ("--no-command-skip", selecting.no_command_skip),
        ("--shard", selecting.part.shard.is_some()),
        ("--select", choice.select.is_some()),
        ("--granularity", choice.granularity.is_some()),
        ("--since", choice.since.is_some()),
        ("--engine", running.engine.is_some()),
        ("--level", running.level.is_some()),
        ("--jobs", running.jobs.is_some()),
        ("--timeout", running.timeout.is_some()),
        ("--junit", running.junit.is_some()),
        ("--no-collect", running.no_collect),
        ("--collect-every", running.collect_every.is_some()),
        ("--rerun-failed", running.rerun_failed.is_some()),
        ("--flaky-ok", running.flaky_ok),
        ("--shadow", running.looking.shadow),
        ("--audit", running.looking.audit.is_some()),
        ("--check-isolation", running.looking.check_isolation.is_some()),
        ("--json", common.json),
    ];
    all.into_iter().filter(|(_, given)| *given).map(|(name, _)| name).collect()
}

/// A verb's name, and the options of [`given`] that it takes; `None` is all of them.
fn takes(verb: &Verb) -> (&'static str, Option<&'static [&'static str]>) {
    const NONE: Option<&[&str]> = Some(&[]);
    const JSON: Option<&[&str]> = Some(&["--json"]);
    const CHOICE: Option<&[&str]> = Some(&["--select", "--granularity", "--since", "--json"]);
    match verb {
        Verb::Command(_) => ("COMMAND", None),
        Verb::Run(_) => ("run", None),
        Verb::Record(_) => ("record", None),
        Verb::Select(_) => (
            "select",
            Some(&[
                "--all",
                "--only",
                "--failed",
                "--no-command-skip",
                "--shard",
                "--select",
                "--granularity",
                "--since",
                "--json",
            ]),
        ),
        Verb::Shards(_) => {
            ("shards", Some(&["--all", "--select", "--granularity", "--since", "--json"]))
        }
        Verb::Why(_) => ("why", CHOICE),
        Verb::WhyNot(_) => ("why-not", CHOICE),
        Verb::Status(_) => (
            "status",
            Some(&["--only", "--failed", "--select", "--granularity", "--since", "--json"]),
        ),
        Verb::Modules(_) => ("modules", Some(&["--since", "--json"])),
        Verb::Deps(_) => ("deps", JSON),
        Verb::History(_) => ("history", JSON),
        Verb::Report(_) => ("report", JSON),
        Verb::Forget(_) => ("forget", JSON),
        Verb::Clean(_) => ("clean", JSON),
        Verb::Replay(_) => ("replay", JSON),
        Verb::Audit(_) => ("audit", JSON),
        Verb::Doctor => ("doctor", JSON),
        Verb::Init(_) => ("init", NONE),
        Verb::Static(_) => ("static", JSON),
        Verb::Store(_) => ("store", JSON),
        Verb::Help(_) => ("help", NONE),
        Verb::Completions(_) => ("completions", NONE),
        Verb::Man => ("man", NONE),
    }
}

/// Every option is one that the verb takes.
fn has_a_use(verb: Option<&Verb>, given: &[&'static str]) -> Result<()> {
    let Some((verb, Some(takes))) = verb.map(takes) else { return Ok(()) };
    let useless: Vec<&str> = given.iter().copied().filter(|name| !takes.contains(name)).collect();
    match useless.as_slice() {
        [] => Ok(()),
        [one] => bail!("{one} has no meaning for `tamis {verb}`; leave it out"),
        several => {
            bail!("{} have no meaning for `tamis {verb}`; leave them out", several.join(", "))
        }
    }
}

/// Rules about options beside each other.
fn together(options: &Options, verb: Option<&Verb>) -> Result<()> {
    let Options { selecting, running, strategy, .. } = options;
    let by_modules = matches!(strategy, Strategy::Modules | Strategy::Hybrid);
    if selecting.since.is_some() && !by_modules && !matches!(verb, Some(Verb::Modules(_))) {
        bail!("--since needs --select modules or --select hybrid, and a command");
    }
    if selecting.by_methods() && running.rerun_failed.is_some() {
        bail!("--rerun-failed tries test classes again; leave out --granularity method");
    }
    let everything = selecting.all || options.in_any_case;
    if running.check.is_some() && (everything || selecting.failed) {
        let what =
            if selecting.failed { "--failed asks for what failed" } else { "everything runs" };
        bail!("{what}, so there is no skip that --shadow or --audit could check; leave one out");
    }
    if running.check.is_some() && by_modules {
        bail!(
            "--shadow and --audit check records and static; leave out --select modules and hybrid"
        );
    }
    if running.isolation.is_some() {
        for_isolation(options)?;
    }
    if options.is_static() && selecting.failed {
        bail!("--failed needs records of outcomes, which --select static has not");
    }
    if options.is_static() && !matches!(running.engine, None | Some(EngineName::Auto)) {
        bail!("--select static watches no process; leave out --engine");
    }
    Ok(())
}

/// What `--check-isolation` cannot stand beside.
fn for_isolation(options: &Options) -> Result<()> {
    let Options { selecting, running, .. } = options;
    if selecting.by_methods() {
        bail!("--check-isolation looks at whole test classes; leave out --granularity method");
    }
    if options.strategy != Strategy::Records {
        bail!("--check-isolation is for runs by records; leave out --select");
    }
    if running.no_collect || running.collect_every.is_some() {
        bail!(
            "--check-isolation puts back what its own runs write, which only a run that is observed shows; \
             leave out --no-collect and --collect-every"
        );
    }
    Ok(())
}

fn for_suites(options: &Options) -> Result<()> {
    if options.running.isolation.is_some() {
        bail!(
            "--check-isolation needs a command with several tests: tamis --check-isolation mvn test"
        );
    }
    match options.strategy {
        Strategy::Records => Ok(()),
        Strategy::Static { .. } => {
            bail!("--select static needs a Maven command: tamis --select static mvn test")
        }
        Strategy::Modules | Strategy::Hybrid => {
            bail!("--select modules and hybrid need a command: tamis --select hybrid mvn test")
        }
    }
}

fn for_command(options: &Options, command: &CommandTraits) -> Result<()> {
    let selecting = &options.selecting;
    if let Some(Misplaced { option, instead, .. }) = &command.misplaced {
        bail!("{option} is an option of tamis, which stands before the command: {instead}");
    }
    if options.is_static() && !command.graph {
        bail!("--select static is for Maven (tamis --select static mvn test); see `tamis static`");
    }
    match selecting.granularity {
        Some(Granularity::Class | Granularity::Method) if !command.parts => bail!(
            "--granularity class and method are for commands whose test classes are known, such as mvn, ant and java"
        ),
        Some(Granularity::File | Granularity::Function) if !command.files => {
            bail!("--granularity file and function are for pytest")
        }
        _ => {}
    }
    if command.units || selecting.in_files() {
        return Ok(());
    }
    if options.running.isolation.is_some() {
        bail!(
            "--check-isolation is for commands whose tests are known one by one, such as mvn, ant, gradle, java \
             and pytest; this command is one test"
        );
    }
    if !selecting.only.is_empty() {
        bail!(
            "--only chooses among several tests, and this command is one test; make a suite of its \
             tests in tamis.toml (`tamis init`), or give the name to the command itself"
        );
    }
    if selecting.no_command_skip {
        bail!(
            "--no-command-skip is for commands whose tests are known one by one (tamis \
             --no-command-skip mvn test); --all runs any command"
        );
    }
    Ok(())
}
