//! The words of `tamis static`.

use crate::call_graph_words::{CallGraphArguments, LevelArguments};
use crate::graph_unit::GraphUnit;
use clap::builder::PossibleValue;
use clap::{Args, Subcommand, ValueEnum};
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use tamis_select_static::render::Detail;
use tamis_select_static::{Access, EdgeKind, EdgeKinds, Libraries, Places};

#[derive(Debug, Args)]
pub struct StaticArguments {
    #[command(flatten)]
    pub(crate) places: PlaceArguments,
    #[command(subcommand)]
    pub(crate) verb: StaticVerb,
}

#[derive(Debug, Args)]
pub(crate) struct PlaceArguments {
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
    without: Vec<EdgeName>,
    /// The Maven to ask for classpaths [default: ./mvnw, else mvn]
    #[arg(long, value_name = "PROGRAM", global = true)]
    mvn: Option<String>,
    /// Profiles of the Maven build, separated by commas
    #[arg(short = 'P', long = "activate-profiles", value_name = "PROFILES", global = true)]
    profiles: Vec<String>,
    /// A property of the Maven build (may be given several times)
    #[arg(short = 'D', long = "define", value_name = "NAME=VALUE", global = true)]
    properties: Vec<String>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum LibrariesWhen {
    /// Only when a library changed
    Auto,
    Include,
    /// Never: a changed library selects all tests
    Exclude,
}

/// Kinds of edges that can be left out.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum EdgeName {
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
pub(crate) enum StaticVerb {
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
pub(crate) struct SelectArguments {
    /// Print why: the path from the test to the change
    #[arg(long)]
    pub(crate) explain: bool,
    /// One name a line, only tests that are to run
    #[arg(long)]
    pub(crate) plain: bool,
    /// Note that the selected tests are about to run; they stay selected until `record` gets
    /// that they finished
    #[arg(long)]
    pub(crate) update: bool,
    /// Answer first; what only the next call profits from is done in the background
    #[arg(long)]
    pub(crate) offline: bool,
    /// Write lists of tests, changes and the graph into this folder
    #[arg(long, value_name = "DIR")]
    pub(crate) artifacts: Option<PathBuf>,
    /// How much goes into that folder
    #[arg(long, value_name = "LEVEL", default_value = "finer", requires = "artifacts")]
    detail: DetailName,
    #[command(flatten)]
    pub(crate) level: LevelArguments,
}

impl SelectArguments {
    pub(crate) fn detail(&self) -> Detail {
        match self.detail {
            DetailName::Finer => Detail::Finer,
            DetailName::Finest => Detail::Finest,
        }
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
pub(crate) struct RecordArguments {
    /// Folder of Surefire reports [default: target/surefire-reports and target/failsafe-reports of
    /// each Maven module]
    #[arg(long, value_name = "DIR")]
    pub(crate) reports: Vec<PathBuf>,
    /// File with the names of the test classes that passed, one a line; `-` reads them from the
    /// standard input. Counts only for the classes that `select --update` saw
    #[arg(long, value_name = "FILE", conflicts_with = "reports")]
    pub(crate) passed: Option<PathBuf>,
    /// Write down the tests that finished and do the rest in the background
    #[arg(long)]
    pub(crate) offline: bool,
    #[command(flatten)]
    unit: GraphUnit,
}

#[derive(Debug, Args)]
pub(crate) struct GraphArguments {
    /// For Graphviz; with --json one edge a line
    #[arg(long)]
    pub(crate) dot: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ExportArguments {
    #[arg(long, value_name = "FORMAT", default_value = "zlc")]
    pub(crate) format: ExportFormat,
    /// File to write; for clz a folder
    #[arg(long, value_name = "PATH")]
    pub(crate) to: PathBuf,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum ExportFormat {
    /// Type to tests, tests by name
    Zlc,
    /// Type to tests, tests by number
    ZlcIndexed,
    /// Test to types, one file per test
    Clz,
}

#[derive(Debug, Args)]
pub(crate) struct CompareArguments {
    /// A deps.zlc file, or a folder with .clz files
    #[arg(value_name = "PATH")]
    pub(crate) with: PathBuf,
}

impl StaticVerb {
    /// The answer comes first, the rest is left to the background.
    pub(crate) fn is_offline(&self) -> bool {
        match self {
            Self::Select(select) => select.offline,
            Self::Record(record) => record.offline,
            _ => false,
        }
    }

    /// What it does with the state.
    pub(crate) fn access(&self) -> Access {
        match self {
            Self::Graph(_) | Self::Callgraph(_) | Self::Export(_) | Self::Compare(_) => {
                Access::None
            }
            Self::Diff | Self::Impacted(_) => Access::Read,
            Self::Select(select) if select.update || select.offline => Access::Write,
            Self::Select(_) => Access::Read,
            Self::Record(_) | Self::Clean | Self::CatchUp => Access::Write,
        }
    }
}

impl StaticArguments {
    /// Whether the unit of the graph is given by its old word.
    pub fn uses_level(&self) -> bool {
        match &self.verb {
            StaticVerb::Impacted(level) => level.unit.uses_level(),
            StaticVerb::Select(select) => select.level.unit.uses_level(),
            StaticVerb::Record(record) => record.unit.uses_level(),
            _ => false,
        }
    }
}

impl RecordArguments {
    pub(crate) fn by_methods(&self) -> bool {
        self.unit.calls()
    }
}

impl PlaceArguments {
    pub(crate) fn kinds(&self) -> EdgeKinds {
        self.without.iter().fold(EdgeKinds::ALL, |kinds, name| kinds.without(edge(*name)))
    }

    pub(crate) fn libraries(&self) -> Libraries {
        match self.libraries {
            LibrariesWhen::Auto => Libraries::Auto,
            LibrariesWhen::Include => Libraries::Include,
            LibrariesWhen::Exclude => Libraries::Exclude,
        }
    }

    pub(crate) fn places(&self) -> Places {
        let path = self.classpath.clone().unwrap_or_default();
        let profiles = self.profiles.iter().map(|profiles| format!("-P{profiles}"));
        let properties = self.properties.iter().map(|property| format!("-D{property}"));
        Places {
            classes: self.classes.clone(),
            test_classes: self.test_classes.clone(),
            classpath: std::env::split_paths(&path).filter(|p| !p.as_os_str().is_empty()).collect(),
            mvn: self.mvn.clone(),
            maven_words: profiles.chain(properties).collect(),
        }
    }

    /// The words that give these places to another tamis.
    pub(crate) fn words(&self) -> Vec<OsString> {
        let mut words = Vec::new();
        let mut option = |name: &str, value: &OsStr| {
            words.push(OsString::from(name));
            words.push(value.to_owned());
        };
        self.classes.iter().for_each(|f| option("--classes", f.as_os_str()));
        self.test_classes.iter().for_each(|f| option("--test-classes", f.as_os_str()));
        self.classpath.iter().for_each(|c| option("--classpath", c));
        self.mvn.iter().for_each(|m| option("--mvn", m.as_ref()));
        self.profiles.iter().for_each(|p| option("--activate-profiles", p.as_ref()));
        self.properties.iter().for_each(|p| option("--define", p.as_ref()));
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

fn edge(name: EdgeName) -> EdgeKind {
    match name {
        EdgeName::Inlined => EdgeKind::Inlined,
        EdgeName::String => EdgeKind::NamedInString,
        EdgeName::NameParts => EdgeKind::NameParts,
        EdgeName::Service => EdgeKind::Service,
        EdgeName::Resource => EdgeKind::Resource,
        EdgeName::Package => EdgeKind::Package,
        EdgeName::Everywhere => EdgeKind::Everywhere,
    }
}
