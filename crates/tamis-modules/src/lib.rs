//! Modules of a build: which there are, how they depend on each other, and which of them a change
//! can affect.
//!
//! | word | meaning |
//! | --- | --- |
//! | module | one unit that the build tool can build and test by itself: a Maven project, a Cargo package, a workspace of npm, a Go package |
//! | resolution | what the definition of a module comes to, as keys and values: dependencies with versions, plugins, properties. Two resolutions that are equal build the same thing |
//! | edge | a module uses another one, in a way that says how far a change travels |
//! | part | which part of a module a change concerns: all of it, or its tests alone |
//!
//! The readers ([`maven`], [`gradle`], [`cargo`], [`npm`], [`golang`]) make a [`Graph`] out of [`Files`], which are
//! those of the work tree or those of a revision: so the same code says what a module was and what
//! it is. [`git`] tells the changed files, [`affected()`] goes from files to modules.
//!
//! What is not seen: what a build does while it runs (a plugin that reads another module's folder by a
//! path of its own), and artifacts that change under the same version in a repository. Whatever
//! cannot be read makes every module affected, with the reason.

pub mod affected;
pub mod cargo;
pub mod exclude;
pub mod files;
pub mod git;
pub mod golang;
pub mod gradle;
pub mod maven;
pub mod model;
pub mod npm;

pub use affected::{Affected, AffectedModule, Change, Force, Reason, Rules, Travel, affected};
pub use exclude::Exclusions;
pub use files::{Files, Tree};
pub use model::{BuildTool, Edge, EdgeKind, Graph, Module, Part, Resolution};

/// What went wrong with the definition of a build. The text names the file and the next step.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BuildError(pub String);
