//! Static test selection for the JVM.
//!
//! Class files become a graph of types; a change to some types puts everything that can reach them
//! inside the *firewall*; the test classes in there are selected. No JVM is started for that and
//! nothing of the build is changed.

pub mod call_query;
pub mod diff;
pub mod edges;
pub mod engine;
pub mod explain;
pub mod graph;
pub mod lock;
pub mod maven;
pub mod methods;
pub mod naming;
pub mod project;
pub mod recognise;
pub mod render;
pub mod select;
pub mod sessions;
pub mod starts;
pub mod state;
pub mod surroundings;
pub mod world;

pub use edges::Kinds;
pub use graph::EdgeKind;
pub use methods::MethodLevel;
pub use naming::Naming;
pub use project::{Asked, PlaceError, Places};
pub use select::{Changed, Libraries, Reason, Session, Settings, Step, TestDecision};
pub use sessions::{Access, Sessions};
pub use world::{Configuration, Module, World};
