//! Static test selection for the JVM.
//!
//! Class files become a graph of types; a change to some types puts everything that can reach them
//! inside the *firewall*; the test classes in there are selected. No JVM is started for that and
//! nothing of the build is changed.

pub mod call_query;
pub mod definitions;
pub mod diff;
pub mod edges;
pub mod explain;
pub mod graph;
pub mod lock;
pub mod maven;
pub mod method_level;
pub mod places;
pub mod recognise;
pub mod render;
pub mod run_surroundings;
pub mod select;
pub mod sessions;
pub mod starts;
pub mod state;
pub mod strategy;
pub mod test_naming;

pub use definitions::{Configuration, Definitions, TestModule};
pub use edges::EdgeKinds;
pub use graph::EdgeKind;
pub use method_level::MethodLevel;
pub use places::{Asked, PlaceError, Places};
pub use select::{Changed, Libraries, Reason, Session, StaticSettings, Step, TestDecision};
pub use sessions::{Access, Sessions};
pub use test_naming::Naming;
