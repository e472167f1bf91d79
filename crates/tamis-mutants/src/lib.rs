//! Small faults that are put into a program on purpose, one at a time, to see which of its tests notice.
//!
//! ```text
//! fault       what a fault is: a file, a place in it, and other bytes there
//! class_file  faults in class files
//! python      faults in Python sources
//! product     which files of a work tree are the program, not its tests
//! choose      which faults are tried: most where a change was
//! inject      puts one in, and the file back as it was
//! ```
//!
//! There are three kinds: a condition is negated, what is returned is something else, a call is left out. In class
//! files instructions are replaced by others of the same length, so that nothing behind them moves and the JVM's
//! verifier accepts them; in Python sources one expression becomes another one.
//!
//! What is not made: faults in languages other than those of the JVM and Python, in files that git does not
//! track or that no tracked source belongs to, and in tests.

mod choose;
pub mod class_file;
mod fault;
mod inject;
mod product;
pub mod python;

pub use choose::{Touched, choose};
pub use fault::{Fault, Kind, Lines};
pub use inject::Injected;
pub use product::{Language, faults_of_tree};
