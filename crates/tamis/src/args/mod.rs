//! The command line: words -> [`low`] arguments, as clap reads them -> [`resolved`] options.
//!
//! Commands see resolved options alone. Every rule about which options have a meaning for which verb,
//! with which other options, and for which commands is in [`resolved`]; a command refuses an option for
//! what it finds in the world only (no test matches `--only`, no module file is there).

mod behind;
pub(crate) mod call_graph_words;
mod low;
mod resolved;
pub(crate) mod static_words;
mod teach;
#[cfg(test)]
mod tests;

pub(crate) use behind::{misplaced, parse, verb_meant};
pub(crate) use low::{
    Arguments, Color, DepsArguments, EngineWord, Granularity, GraphUnit, ModulesArguments,
    SelectArguments, SelectName, Shell, Verb, WhyNotArguments,
};
pub(crate) use resolved::{CommandTraits, Options};
