//! The four analyses behind one call.

use crate::analysis_options::{Algorithm, AnalysisOptions, Root};
use crate::by_types;
use crate::flow;
use crate::graph::CallGraph;
use crate::program::Program;

/// Builds the call graph of a program from its roots.
pub fn build(program: &mut Program<'_>, roots: &[Root], options: AnalysisOptions) -> CallGraph {
    match options.algorithm {
        Algorithm::Cha => by_types::build(program, roots, options, true),
        Algorithm::Rta => by_types::build(program, roots, options, false),
        Algorithm::ZeroCfa => flow::build(program, roots, options, false),
        Algorithm::ZeroOneCfa => flow::build(program, roots, options, true),
    }
}
