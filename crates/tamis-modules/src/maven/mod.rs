//! Maven builds, read from their poms without starting Maven.
//!
//! What is done as Maven does it: modules (also named by file, also of profiles), inheritance by
//! relative path and from the local repository, profiles that are on, properties, managed
//! dependencies and plugins, imported version lists. Edges are those of Maven's own reactor, and those
//! that it does not need and a change travels along: imports, annotation processors.
//!
//! | module | what |
//! | --- | --- |
//! | `element` | XML as a tree |
//! | `merge` | inheritance, profiles, management |
//! | `profile` | which profiles are on |
//! | `interpolate` | expressions |
//! | `effective` | what one pom comes to |
//! | [`reactor`] | modules and edges |
//! | `layout` | where the classes of a module are, and which of them are tests |
//! | `resolution` | what a module resolves to, for comparing |
//!
//! What is not seen: the default versions of plugins that no pom names, settings of Maven's
//! installation, extensions that change the model, remote repositories. A pom that is not in the local
//! repository is named by its coordinates: as long as they stay, nothing changed.

mod effective;
mod element;
mod interpolate;
mod layout;
mod merge;
mod profile;
pub mod reactor;
mod resolution;
mod surroundings;
mod words;

pub use layout::{Layout, TestNaming, TestPlugin, layout_of, layouts};
pub use reactor::{read, root_of};
pub use surroundings::Surroundings;
pub use words::Words;
