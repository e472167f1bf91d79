//! The project that a call is about, and the answers that its world gives.
//!
//! [`Project`] is everything that is settled before the first question is asked: the root, the settings,
//! the rules for paths, the fingerprints, the place of the store. [`World`] answers questions about the
//! world of now: files, variables, globs, facts. Both are below the front ends for languages, which ask
//! them, and know nothing of tests.

mod places;
mod project;
mod stdin;
pub mod variables_like;
mod world;

pub use places::{cache_folder, cache_problem};
pub use project::{ObserverRules, Project, current_folder, notice_set_aside};
pub use stdin::{FACT as STANDARD_INPUT, Input, observed as standard_input};
pub use world::{NoScopes, RestoreScopes, ScopeFacts, World, given};
