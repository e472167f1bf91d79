//! How tests are chosen.

/// What a decision goes by.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Strategy {
    /// By what each test looked at when it last ran.
    #[default]
    Records,
    /// By the graph of types of the class files, or by their call graph.
    Static { calls: bool },
    /// All tests of affected modules.
    Modules,
    /// The affected modules, and in them by records.
    Hybrid,
}

impl std::fmt::Display for Strategy {
    /// As `--select` has it.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Records => "records",
            Self::Static { .. } => "static",
            Self::Modules => "modules",
            Self::Hybrid => "hybrid",
        })
    }
}
