//! The words of `tamis static` about call graphs.

use crate::graph_unit::GraphUnit;
use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use tamis_callgraph::{Algorithm, Changes};
use tamis_select_static::Libraries;
use tamis_select_static::method_level::MethodLevel;

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum CallGraphName {
    /// Class hierarchy analysis
    Cha,
    /// Rapid type analysis
    Rta,
    /// Classes followed through variables and fields
    #[value(name = "0-cfa")]
    ZeroCfa,
    /// The same, objects distinguished by where they are made
    #[value(name = "0-1-cfa")]
    ZeroOneCfa,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ChangesName {
    /// A changed class changes all of its methods
    Class,
    /// Only methods that differ, and those that another one is found instead of
    Method,
}

/// How a call graph is made.
#[derive(Debug, Clone, Args)]
pub(crate) struct CallGraphOptions {
    /// With --granularity method: how receivers of calls are found [default: 0-cfa]
    #[arg(long, value_name = "NAME")]
    callgraph: Option<CallGraphName>,
    /// With --granularity method: objects made by reflection with constants (`X.class`, `Class.forName("x")`)
    /// count
    #[arg(long)]
    reflection: bool,
}

/// Which graph decides.
#[derive(Debug, Clone, Args)]
pub(crate) struct LevelArguments {
    #[command(flatten)]
    pub(crate) unit: GraphUnit,
    #[command(flatten)]
    graph: CallGraphOptions,
    /// With --granularity method: how finely changes are distinguished [default: class]
    #[arg(long, value_name = "LEVEL")]
    changes: Option<ChangesName>,
}

#[derive(Debug, Args)]
pub(crate) struct CallGraphArguments {
    /// What a class (com.acme.FooTest) or method (com.acme.Foo#bar) can run
    #[arg(long, value_name = "NAME")]
    pub(crate) from: Option<String>,
    /// Who can run it; with --from a shortest way between both
    #[arg(long, value_name = "NAME")]
    pub(crate) to: Option<String>,
    /// For Graphviz; with --json one call a line
    #[arg(long)]
    pub(crate) dot: bool,
    #[command(flatten)]
    pub(crate) graph: CallGraphOptions,
}

impl CallGraphOptions {
    /// The call graph that these words ask for.
    pub(crate) fn level(&self, libraries: Libraries) -> MethodLevel {
        MethodLevel {
            algorithm: match self.callgraph {
                Some(CallGraphName::Cha) => Algorithm::Cha,
                Some(CallGraphName::Rta) => Algorithm::Rta,
                Some(CallGraphName::ZeroCfa) | None => Algorithm::ZeroCfa,
                Some(CallGraphName::ZeroOneCfa) => Algorithm::ZeroOneCfa,
            },
            libraries: libraries == Libraries::Include,
            reflection: self.reflection,
            changes: Changes::Class,
        }
    }
}

impl LevelArguments {
    /// The method level if it is asked for. Options of it without it are a mistake of the call.
    pub(crate) fn methods(&self, libraries: Libraries) -> Result<Option<MethodLevel>> {
        if !self.unit.calls() {
            if self.graph.callgraph.is_some() || self.graph.reflection || self.changes.is_some() {
                bail!("--callgraph, --reflection and --changes need --granularity method");
            }
            return Ok(None);
        }
        let changes = match self.changes {
            Some(ChangesName::Method) => Changes::Method,
            Some(ChangesName::Class) | None => Changes::Class,
        };
        Ok(Some(MethodLevel { changes, ..self.graph.level(libraries) }))
    }
}
