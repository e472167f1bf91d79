//! Of what a graph is made: types or calls.

use clap::{Args, ValueEnum};

/// Which graph decides in `tamis static`.
#[derive(Debug, Clone, Args)]
pub(crate) struct GraphUnit {
    /// What the graph is made of: `class`, types; `method`, calls, for which `record` keeps the class
    /// files as well. `method` can miss tests: it sees neither reflection nor callbacks from libraries
    /// that are left out [default: class]
    #[arg(long, value_name = "UNIT", hide_possible_values = true)]
    granularity: Option<GraphUnitName>,
    /// The old word for --granularity
    #[arg(long, value_name = "UNIT", hide = true, conflicts_with = "granularity")]
    level: Option<GraphUnitName>,
}

impl GraphUnit {
    /// Whether a call graph decides.
    pub(crate) fn calls(&self) -> bool {
        self.granularity.or(self.level) == Some(GraphUnitName::Method)
    }

    /// Whether it is given by its old word.
    pub(crate) fn uses_level(&self) -> bool {
        self.level.is_some()
    }
}

/// Units of a graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum GraphUnitName {
    /// The graph of types
    Class,
    /// A call graph
    Method,
}
