//! The command line: words -> [`low`] arguments, as clap reads them -> [`resolved`] options.
//!
//! Commands see resolved options alone. Every rule about which options have a meaning for which verb,
//! with which other options, and for which commands is in [`resolved`]; a command refuses an option for
//! what it finds in the world only (no test matches `--only`, no module file is there).

mod behind;
mod low;
mod resolved;
mod teach;
#[cfg(test)]
mod tests;

pub(crate) use behind::{is_rare, misplaced, parse, verb_meant};
pub(crate) use low::{
    Arguments, Color, DepsArguments, EngineWord, Granularity, ModulesArguments, ReportArguments,
    SelectArguments, SelectName, ShardsArguments, Shell, Verb, WhyNotArguments,
};
pub(crate) use resolved::{CommandTraits, Options};
