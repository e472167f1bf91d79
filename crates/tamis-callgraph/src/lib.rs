//! Call graphs of JVM programs, from class files alone.
//!
//! [`Universe`] holds class files (folders, jars, the JDK's image), [`Program`] reads them into numbers
//! as they are asked for, and [`build`] finds which methods can run and who calls whom, from the roots
//! that it is given, in one of four ways ([`Algorithm`]). Libraries are left out by not putting them into
//! the universe: calls on types that are not there are not followed, and what they return may be any
//! object that the program makes.
//!
//! Seen: static, special, virtual and interface calls; lambdas, method references, string concatenation
//! and records through `invokedynamic`; static initialisers; default and bridge methods; threads and
//! other code that is handed over to be run; handlers, arrays, and reflection with constants as an option.
//!
//! Not seen: other reflection, method handles that are looked up by name, callbacks from native code and
//! from libraries that are left out, finalizers and other calls that the JVM makes by itself.

mod analysis;
mod analysis_options;
mod body;
mod by_types;
mod change;
mod descriptor;
mod dynamic;
mod flow;
mod graph;
mod hints;
mod ids;
mod image;
mod interpret;
mod lookup;
mod models;
mod program;
mod reached;
mod roots;
mod sets;
mod solver;
mod tables;
mod universe;

pub use analysis::build;
pub use analysis_options::{Algorithm, AnalysisOptions, Assumptions, Root};
pub use change::Changes;
pub use graph::{CallGraph, Callers};
pub use ids::{ClassId, MethodId};
pub use image::ImageError;
pub use program::Program;
pub use universe::{Author, Universe};
