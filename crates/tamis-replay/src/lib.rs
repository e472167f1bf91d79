//! `tamis replay`: the revisions of a history, one after the other, as if tamis had been there.
//!
//! ```text
//! words      the command line of the verb
//! setting    the project and the program that it is about
//! git        the history: which revisions, what changed, a work tree of our own
//! place      the folder of a replay: result, work tree, stores
//! call       one call of tamis in the work tree, and what it reported
//! selection  what a strategy selected in a revision, against what ended how
//! details    what each test did in a revision
//! mutants    faults that are put into a revision
//! revision   one revision from checkout to its line
//! sums       the tables of the papers: shares, times, break-even
//! replay     all of it
//! ```
//!
//! Each revision is checked out into one work tree, never the user's. There tamis itself is started with `--shadow`,
//! so that everything runs and the decision that is judged is that of every other run; nothing is decided here. A
//! revision's line is written before the next one begins, and the stores are put back to what they were before a
//! revision that was not finished, so that a kill loses that one at most.
//!
//! What is not seen: what the revisions of a history need from outside (servers, accounts, dependencies that are
//! gone). A revision that cannot be run is shown as that, and is in no sum.

mod call;
mod details;
mod git;
mod mutants;
mod place;
mod replay;
mod revision;
mod selection;
mod setting;
mod sums;
mod words;

pub use replay::{Progress, last_result, replay};
pub use setting::Setting;
pub use tamis_mutants::Language;
pub use words::{Form, ReplayArguments};
