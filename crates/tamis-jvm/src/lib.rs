//! Static test selection for the JVM.
//!
//! Class files become a graph of types; a change to some types puts everything that can reach them
//! inside the *firewall*; the test classes in there are selected. No JVM is started for that and
//! nothing of the build is changed.

pub mod archive;
pub mod block;
mod disk;
pub mod folder;
pub mod graph;
pub mod jars;
pub mod names;
