//! `tamis static`: Java class files, without running anything.
//!
//! With `--classes` or `--test-classes` the folders are taken as they are given, as one module;
//! otherwise the project is a Maven build and its poms tell the modules. Every verb works module by
//! module; types of other modules and of libraries are seen through each module's classpath.

use crate::args::{GraphUnit, Options};
use crate::commands::static_json;
use crate::commands::static_methods::{self, CallGraphArguments, LevelArguments};
use crate::commands::static_offline as offline;
use crate::commands::static_starts::{self, CompareArguments, ExportArguments};
use crate::project::Project;
use crate::terminal;
use anyhow::{Context as _, Result, bail};
use clap::builder::PossibleValue;
use clap::{Args, Subcommand, ValueEnum};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use tamis_report::json::static_graph::{
    DiffLine, EdgeLine, ImpactedLine, RecordedLine, SelectionLine,
};
use tamis_report::json::{Line, Version};
use tamis_report::style::Role;
use tamis_select_static::render::{self, Detail};
use tamis_select_static::{
    Caches, EdgeKind, JarCache, Kinds, Libraries, MethodLevel, Module, Naming, Session, Settings,
    TestDecision, explain, maven, methods, surroundings,
};

#[derive(Debug, Args)]
pub(crate) struct StaticArguments {
    #[command(flatten)]
    places: Places,
    #[command(subcommand)]
    verb: StaticVerb,
}

#[derive(Debug, Args)]
pub(super) struct Places {
    /// Folder of compiled classes (may be given several times) [default: from the Maven build]
    #[arg(long, value_name = "DIR", global = true)]
    classes: Vec<PathBuf>,
    /// Folder of compiled test classes (may be given several times) [default: from the Maven build]
    #[arg(long, value_name = "DIR", global = true)]
    test_classes: Vec<PathBuf>,
    /// What else is on the classpath, separated by colons
    #[arg(long, value_name = "PATHS", global = true, requires = "test_classes")]
    classpath: Option<std::ffi::OsString>,
    /// Whether types of libraries are followed
    #[arg(long, value_name = "WHEN", default_value = "auto", global = true)]
    libraries: LibrariesWhen,
    /// Leave out a kind of edge (may be given several times)
    #[arg(long, value_name = "KIND", global = true)]
    without: Vec<Kind>,
    /// The Maven to ask for classpaths [default: ./mvnw, else mvn]
    #[arg(long, value_name = "PROGRAM", global = true)]
    mvn: Option<String>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(super) enum LibrariesWhen {
    /// Only when a library changed
    Auto,
    Include,
    /// Never: a changed library selects all tests
    Exclude,
}

/// Kinds of edges that can be left out.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Kind {
    /// Class constants that a copied constant left behind
    Inlined,
    /// Strings that are the name of a class
    String,
    /// Strings that are part of a name, in classes that look up classes by name
    NameParts,
    /// Providers of services
    Service,
    /// Files on the classpath that are no classes
    Resource,
    /// Annotations of packages
    Package,
    /// Module descriptors
    Everywhere,
}

#[derive(Debug, Subcommand)]
pub(super) enum StaticVerb {
    /// Types and files that changed since the last update, and what changed in them
    Diff,
    /// All types and files that can reach a change; with --granularity method, methods
    Impacted(LevelArguments),
    /// Test classes to run
    Select(SelectArguments),
    /// Write down which tests finished, from the reports of a run of yours
    Record(RecordArguments),
    /// Do now what calls with --offline leave for the background
    CatchUp,
    /// The graph of types
    Graph(GraphArguments),
    /// The call graph from the tests: what a method can run, who can run it, and on which way
    Callgraph(CallGraphArguments),
    /// Write which types each test reaches in a file format of STARTS
    Export(ExportArguments),
    /// Compare with what STARTS wrote down
    Compare(CompareArguments),
    /// Forget what is known of finished tests
    Clean,
}

#[derive(Debug, Args)]
pub(super) struct SelectArguments {
    /// Print why: the path from the test to the change
    #[arg(long)]
    explain: bool,
    /// One name a line, only tests that are to run
    #[arg(long)]
    plain: bool,
    /// Note that the selected tests are about to run; they stay selected until `record` is told
    /// that they finished
    #[arg(long)]
    update: bool,
    /// Answer first; what only the next call profits from is done in the background
    #[arg(long)]
    offline: bool,
    /// Write lists of tests, changes and the graph into this folder
    #[arg(long, value_name = "DIR")]
    artifacts: Option<PathBuf>,
    /// How much goes into that folder
    #[arg(long, value_name = "LEVEL", default_value = "finer", requires = "artifacts")]
    detail: DetailName,
    #[command(flatten)]
    level: LevelArguments,
}

impl StaticArguments {
    /// Whether the unit of the graph is given by its old word.
    pub(crate) fn uses_level(&self) -> bool {
        match &self.verb {
            StaticVerb::Impacted(level) => level.unit.uses_level(),
            StaticVerb::Select(select) => select.level.unit.uses_level(),
            StaticVerb::Record(record) => record.unit.uses_level(),
            _ => false,
        }
    }
}

impl SelectArguments {
    /// Whether the state is written to.
    pub(super) fn writes(&self) -> bool {
        self.update || self.offline
    }
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum DetailName {
    /// All tests and the selected ones
    Finer,
    /// Also the others, changed types, graph and libraries
    Finest,
}

#[derive(Debug, Args)]
pub(super) struct RecordArguments {
    /// Folder of Surefire reports [default: target/surefire-reports and target/failsafe-reports of
    /// each Maven module]
    #[arg(long, value_name = "DIR")]
    reports: Vec<PathBuf>,
    /// File with the names of the test classes that passed, one a line; `-` reads them from the
    /// standard input. Counts only for the classes that `select --update` saw
    #[arg(long, value_name = "FILE", conflicts_with = "reports")]
    passed: Option<PathBuf>,
    /// Write down the tests that finished and do the rest in the background
    #[arg(long)]
    offline: bool,
    #[command(flatten)]
    unit: GraphUnit,
}

#[derive(Debug, Args)]
pub(super) struct GraphArguments {
    /// For Graphviz; with --json one edge a line
    #[arg(long)]
    dot: bool,
}

pub(crate) fn run(options: &Options, arguments: &StaticArguments) -> Result<i32> {
    let project = Project::find(options)?;
    let places = &arguments.places;
    let store = project.store_folder.as_ref().map_err(|why| anyhow::anyhow!(why.clone()))?;
    let state = store.join("static");
    let offline = match &arguments.verb {
        StaticVerb::Select(select) => select.offline,
        StaticVerb::Record(record) => record.offline,
        _ => false,
    };
    let settings = Settings {
        root: project.root().to_path_buf(),
        caches: Caches { folders: Some(state.join("folders")), jars: JarCache::of_user() },
        state: state.clone(),
        kinds: places.without.iter().fold(Kinds::ALL, |kinds, kind| kinds.without(edge(*kind))),
        libraries: match places.libraries {
            LibrariesWhen::Auto => Libraries::Auto,
            LibrariesWhen::Include => Libraries::Include,
            LibrariesWhen::Exclude => Libraries::Exclude,
        },
        offline,
    };
    let lock = offline::lock(&state, &arguments.verb)?;
    let modules = modules(&project, places, &state)?;
    let mut sessions: Vec<Session> = modules.iter().map(|m| Session::open(m, &settings)).collect();
    for session in &sessions {
        for note in session.world.blind.iter().chain(&session.world.notes) {
            eprintln!("tamis: {note}");
        }
    }
    let mut out = BufWriter::new(std::io::stdout().lock());
    let code = match &arguments.verb {
        StaticVerb::Diff => diff(&mut sessions, options, &mut out)?,
        StaticVerb::Impacted(level) => match level.methods(places.libraries)? {
            None => impacted(&mut sessions, options, &mut out)?,
            Some(level) => {
                static_methods::impacted(&mut sessions, &modules, &level, options, &mut out)?
            }
        },
        StaticVerb::Select(select) => {
            let level = select.level.methods(places.libraries)?;
            self::select(&mut sessions, &modules, options, select, level, &mut out)?
        }
        StaticVerb::Record(record) => {
            self::record(&mut sessions, &modules, record, options, &project, &mut out)?
        }
        StaticVerb::CatchUp => 0,
        StaticVerb::Graph(graph) => self::graph(&sessions, options, graph, &mut out)?,
        StaticVerb::Callgraph(graph) => {
            let libraries = places.libraries;
            static_methods::callgraph(&sessions, &modules, libraries, graph, options, &mut out)?
        }
        StaticVerb::Export(export) => static_starts::export(&sessions, export)?,
        StaticVerb::Compare(compare) => {
            static_starts::compare(&sessions, options, compare, &mut out)?
        }
        StaticVerb::Clean => {
            for session in &sessions {
                session.clean().context("the state could not be removed")?;
            }
            offline::nothing_left(&state);
            0
        }
    };
    // A reader that has seen enough (`| head`) is no error.
    let _ = out.flush();
    if offline {
        offline::leave_behind(&state)?;
        drop(lock);
        offline::start_worker(store, places);
    } else if offline::is_behind(&state) && lock.is_some() {
        offline::catch_up(&mut sessions, &state)?;
    }
    Ok(code)
}

impl Places {
    /// The words that give these places to another tamis.
    pub(super) fn words(&self) -> Vec<OsString> {
        let mut words = Vec::new();
        let mut option = |name: &str, value: &OsStr| {
            words.push(OsString::from(name));
            words.push(value.to_owned());
        };
        self.classes.iter().for_each(|f| option("--classes", f.as_os_str()));
        self.test_classes.iter().for_each(|f| option("--test-classes", f.as_os_str()));
        self.classpath.iter().for_each(|c| option("--classpath", c));
        self.mvn.iter().for_each(|m| option("--mvn", m.as_ref()));
        let name = |value: Option<PossibleValue>| value.map(|v| v.get_name().to_owned());
        name(self.libraries.to_possible_value())
            .iter()
            .for_each(|l| option("--libraries", l.as_ref()));
        for kind in &self.without {
            name(kind.to_possible_value()).iter().for_each(|k| option("--without", k.as_ref()));
        }
        words
    }
}

fn edge(kind: Kind) -> EdgeKind {
    match kind {
        Kind::Inlined => EdgeKind::Inlined,
        Kind::String => EdgeKind::NamedInString,
        Kind::NameParts => EdgeKind::NameParts,
        Kind::Service => EdgeKind::Service,
        Kind::Resource => EdgeKind::Resource,
        Kind::Package => EdgeKind::Package,
        Kind::Everywhere => EdgeKind::Everywhere,
    }
}

fn modules(project: &Project, places: &Places, state: &Path) -> Result<Vec<Module>> {
    let environment = surroundings::environment();
    if !places.classes.is_empty() || !places.test_classes.is_empty() {
        for folder in places.classes.iter().chain(&places.test_classes) {
            if !folder.is_dir() {
                bail!("{} is not a folder; compile first, or name another one", folder.display());
            }
        }
        let classpath = places.classpath.clone().unwrap_or_default();
        return Ok(vec![Module {
            name: project.relative_folder(),
            test_classes: places.test_classes.clone(),
            classes: places.classes.clone(),
            classpath: std::env::split_paths(&classpath)
                .filter(|p| !p.as_os_str().is_empty())
                .collect(),
            environment,
            naming: Naming::default(),
        }]);
    }
    let root = [project.folder.as_path(), project.root()]
        .into_iter()
        .find(|folder| folder.join("pom.xml").is_file())
        .context(
            "no pom.xml here: give --test-classes DIR, --classes DIR and --classpath PATHS, or \
             change to the folder of a Maven project",
        )?;
    let wrapper = root.join("mvnw");
    let mvn = match &places.mvn {
        Some(mvn) => mvn.clone(),
        None if wrapper.is_file() => wrapper.display().to_string(),
        None => "mvn".to_owned(),
    };
    Ok(maven::resolve(root, state, &mvn, &environment)?)
}

/// A heading per module, where there is more than one.
fn heading(sessions: usize, session: &Session, out: &mut impl Write) -> Result<()> {
    if sessions > 1 {
        writeln!(out, "{}:", session.module)?;
    }
    Ok(())
}

fn diff(sessions: &mut [Session], options: &Options, out: &mut impl Write) -> Result<i32> {
    let count = sessions.len();
    for session in sessions {
        let changes = session.diff();
        let known = changes.is_some();
        let changes = changes.unwrap_or_default();
        if options.common.json {
            let (module, version) = (session.module.clone(), Version);
            let changes = changes.into_iter().map(static_json::changed).collect();
            Line::StaticDiff(DiffLine { version, module, known, changes }).write(out)?;
            continue;
        }
        heading(count, session, out)?;
        if !known {
            writeln!(out, "nothing to compare with: no finished run is known")?;
        }
        for changed in &changes {
            writeln!(out, "{}  ({})", changed.name, changed.change)?;
        }
    }
    Ok(0)
}

fn impacted(sessions: &mut [Session], options: &Options, out: &mut impl Write) -> Result<i32> {
    let count = sessions.len();
    for session in sessions {
        let types = session.impacted();
        let known = types.is_some();
        let types = types.unwrap_or_default();
        if options.common.json {
            let (module, version) = (session.module.clone(), Version);
            let types = Some(types);
            Line::StaticImpacted(ImpactedLine { version, module, known, types, methods: None })
                .write(out)?;
            continue;
        }
        heading(count, session, out)?;
        if !known {
            writeln!(out, "everything: no finished run is known")?;
        }
        for name in &types {
            writeln!(out, "{name}")?;
        }
    }
    Ok(0)
}

fn select(
    sessions: &mut [Session],
    modules: &[Module],
    options: &Options,
    arguments: &SelectArguments,
    level: Option<MethodLevel>,
    out: &mut impl Write,
) -> Result<i32> {
    let count = sessions.len();
    let style = terminal::output_style(options);
    let (mut selected, mut all) = (0, 0);
    let mut reasons: BTreeMap<String, usize> = BTreeMap::new();
    for (session, module) in sessions.iter_mut().zip(modules) {
        let decisions = match &level {
            _ if options.selecting.all => all_of(session),
            None => session.select(),
            Some(level) => methods::select(session, module, level),
        };
        for reason in decisions.iter().filter_map(|d| d.run.as_ref()) {
            selected += 1;
            *reasons.entry(explain::what(reason)).or_default() += 1;
        }
        all += decisions.len();
        if options.common.json {
            let (module, notes) = (session.module.clone(), session.world.notes.clone());
            let tests = decisions.iter().cloned().map(static_json::selected).collect();
            Line::StaticSelection(SelectionLine { version: Version, module, tests, notes })
                .write(out)?;
        } else if arguments.plain {
            render::plain(&decisions, out)?;
        } else if !options.common.quiet {
            heading(count, session, out)?;
            for decision in decisions.iter().filter(|d| arguments.explain || d.run.is_some()) {
                let (word, why) = match &decision.run {
                    Some(reason) => (style.paint(Role::Strong, "run "), explain::line(reason)),
                    None => (
                        style.paint(Role::Faint, "skip"),
                        "nothing that it can reach changed".into(),
                    ),
                };
                write!(out, "{word}  {}", decision.name)?;
                if arguments.explain {
                    write!(out, "  {}", style.paint(Role::Faint, &format!("({why})")))?;
                }
                writeln!(out)?;
            }
        }
        if let Some(folder) = &arguments.artifacts {
            let detail = match arguments.detail {
                DetailName::Finer => Detail::Finer,
                DetailName::Finest => Detail::Finest,
            };
            render::artifacts(session, &decisions, detail, &of_module(folder, &session.module))
                .with_context(|| format!("{} could not be written", folder.display()))?;
        }
        if arguments.update && level.is_some() {
            out.flush().ok();
            written(session.announce_only())?;
            written(methods::keep(session, module))?;
        } else if arguments.update && arguments.offline {
            // Before the state is touched the answer is out.
            out.flush().ok();
            written(session.announce_only())?;
        } else if arguments.update {
            written(session.announce(&decisions))?;
        }
    }
    if !options.common.quiet && !options.common.json && !arguments.plain {
        eprintln!("tamis: {selected} of {all} test classes are selected");
        eprint!("{}", grouped(reasons));
    }
    if level.is_some() && selected < all {
        eprintln!("tamis: {}", methods::WARNING);
    }
    Ok(i32::from(options.common.quiet && selected > 0))
}

/// Why tests are selected, most frequent reason first.
fn grouped(reasons: BTreeMap<String, usize>) -> String {
    const MOST: usize = 8;
    let mut reasons: Vec<(String, usize)> = reasons.into_iter().collect();
    reasons.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let column = reasons.first().map_or(0, |(_, count)| count.to_string().len());
    let shown = reasons.iter().take(MOST);
    let mut text: String = shown.map(|(why, n)| format!("  {n:>column$}  {why}\n")).collect();
    if reasons.len() > MOST {
        text += &format!("  ... and {} more reasons\n", reasons.len() - MOST);
    }
    text
}

/// `--all`: a wish of the user that comes before the evidence.
fn all_of(session: &Session) -> Vec<TestDecision> {
    let run = || Some(tamis_select_static::Reason::Requested);
    session.test_names().into_iter().map(|name| TestDecision { name, run: run() }).collect()
}

fn written(outcome: std::io::Result<bool>) -> Result<()> {
    if !outcome.context("the state could not be written")? {
        eprintln!("tamis: nothing was written down, because not everything is known");
    }
    Ok(())
}

fn record(
    sessions: &mut [Session],
    modules: &[Module],
    arguments: &RecordArguments,
    options: &Options,
    project: &Project,
    out: &mut impl Write,
) -> Result<i32> {
    let passed = arguments.passed.as_deref().map(|file| passed(file, sessions)).transpose()?;
    for (session, module) in sessions.iter_mut().zip(modules) {
        let finished = match &passed {
            Some(names) => names
                .iter()
                .filter(|name| session.test_names().contains(name))
                .map(|name| (name.clone(), true))
                .collect(),
            None => reported(session, module, arguments, project)?,
        };
        if arguments.unit.calls() {
            written(session.record_finished(&finished))?;
            written(methods::keep(session, module))?;
        } else if arguments.offline {
            written(session.record_finished(&finished))?;
        } else {
            let decisions = session.select();
            written(session.record(&decisions, &finished))?;
        }
        let passed = finished.values().filter(|p| **p).count();
        if options.common.json {
            let (module, finished) = (session.module.clone(), finished.len());
            Line::StaticRecorded(RecordedLine { version: Version, module, finished, passed })
                .write(out)?;
        } else if !options.common.quiet {
            writeln!(
                out,
                "{}: {} finished, {passed} of them passed",
                session.module,
                finished.len()
            )?;
        }
    }
    Ok(0)
}

/// The names that the user says passed. They passed with the classes that were announced: where
/// those are not there any more, nobody knows what the tests saw.
fn passed(file: &Path, sessions: &[Session]) -> Result<Vec<String>> {
    let text = match file.to_str() {
        Some("-") => std::io::read_to_string(std::io::stdin()),
        _ => std::fs::read_to_string(file),
    };
    let text = text.with_context(|| format!("{} could not be read", file.display()))?;
    for session in sessions.iter().filter(|s| !s.tests.is_empty()) {
        if !session.is_announced() {
            bail!(
                "{}: the classes are not those of the last `tamis static select --update`; \
                 select with --update, run the tests, and record again",
                session.module
            );
        }
    }
    let tests: Vec<String> = sessions.iter().flat_map(Session::test_names).collect();
    let names: Vec<String> =
        text.lines().map(|l| l.trim().to_owned()).filter(|l| !l.is_empty()).collect();
    for name in names.iter().filter(|name| !tests.contains(name)) {
        eprintln!("tamis: {name} is no test class here");
    }
    Ok(names)
}

/// Who finished, from the reports of Surefire and Failsafe.
fn reported(
    session: &Session,
    module: &Module,
    arguments: &RecordArguments,
    project: &Project,
) -> Result<BTreeMap<String, bool>> {
    let mut folders = arguments.reports.clone();
    if folders.is_empty() {
        let target = module.test_classes.first().and_then(|t| t.parent());
        let target = target.unwrap_or(project.root());
        folders.extend(["surefire-reports", "failsafe-reports"].map(|name| target.join(name)));
        folders.retain(|folder| folder.is_dir());
    }
    let mut finished = BTreeMap::new();
    for folder in &folders {
        let found = surroundings::finished(folder, session.world.newest_ns)
            .with_context(|| format!("{} could not be read", folder.display()))?;
        finished.extend(found);
    }
    Ok(finished)
}

fn graph(
    sessions: &[Session],
    options: &Options,
    arguments: &GraphArguments,
    out: &mut impl Write,
) -> Result<i32> {
    for session in sessions {
        let graph = session.graph([]);
        if options.common.json {
            render::for_each_edge(session, &graph, |from, to, kind| {
                Line::StaticEdge(EdgeLine { version: Version, from, to, kind }).write(out)
            })?;
        } else if arguments.dot {
            render::graph_dot(session, &graph, out)?;
        } else {
            let (nodes, edges) = (session.world.nodes().count(), graph.graph.edges());
            writeln!(out, "{}: {nodes} types and files, {edges} edges", session.module)?;
        }
    }
    Ok(0)
}

/// A module's own folder below one for all modules.
pub(super) fn of_module(folder: &Path, module: &str) -> PathBuf {
    match module {
        "." => folder.to_path_buf(),
        _ => folder.join(module),
    }
}
