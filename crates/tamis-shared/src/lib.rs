//! The shared store around a call of tamis: pull before it is decided, push after the run, and `tamis store`.
//!
//! Nothing here lets a run fail, hang or lose a record. A pull has at most `pull-timeout`, after which it is decided
//! without it; a push is done by a process of its own, which lives on when tamis has ended. Without `[remote]` in
//! tamis.toml, with `--offline` or `TAMIS_REMOTE=off` nothing of this happens, and no thread or socket is made.
//!
//! Nothing is printed: remarks go to a [`tamis_core::Notices`], answers of verbs are an [`Answer`].

mod answer;
mod around;
mod files;
mod pushing;
mod splits;
mod verbs;
mod words;

pub use answer::Answer;
pub use around::{believed, pull_before, push_after};
pub use splits::{Fix, ci_run, fix};
pub use verbs::answer;
pub use words::{StoreArguments, StoreVerb, TEACH};

/// The variable that turns the shared store off.
const VARIABLE: &str = "TAMIS_REMOTE";

/// Whether this call leaves the shared store alone.
fn is_off(offline: bool) -> bool {
    offline || std::env::var(VARIABLE).is_ok_and(|value| value == "off")
}
