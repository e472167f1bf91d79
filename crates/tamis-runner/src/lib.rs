//! Runs tests: from a command line's words to records and reports.
//!
//! ```text
//! call          what one call of tamis works with: project, front ends, options, reporters
//! cases         the tests: one bare command, or the items of the suites
//! plan          the decision about them: the one place, for dry runs, explanations and real runs
//! run           schedules what is selected, several at once
//!   engines     how processes are watched
//!   execute     one test under an engine, and its record
//!   rerun       again where it did not pass
//! isolation     again without the others: which tests depend on them, by what
//!   smallest    as few others as are enough
//!   written     files that those runs write, put back
//! checker       which tests that could be skipped run all the same
//! checks        whether it would have been right to skip them
//! shards        which part of it is this machine's (`--shard 3/8`)
//! savings       what skipping saves, over all calls
//! kept_runs     what a run did, for reports that are made later
//! failures      what is known to fail and was not run
//! modules       changed files to affected modules to a smaller command
//! doctor        what `tamis doctor` checks
//! forget        what has to go so that a test runs next time
//! explain       one test, its decision and its evidence
//! ```
//!
//! Everything that happens is an event ([`tamis_report::Event`]); nothing is printed here.

mod always_run;
mod call;
pub mod cases;
mod checker;
pub mod checks;
mod collect_every;
mod command;
pub mod doctor;
mod engines;
mod execute;
pub mod explain;
mod failures;
mod forget;
mod isolation;
mod kept_runs;
pub mod modules;
mod options;
pub mod plan;
mod rerun;
mod run;
pub mod savings;
mod schedule;
mod selected;
pub mod shards;
pub mod words;

pub use call::Call;
pub use checker::CheckOption;
pub use command::{command, suites};
pub use forget::{ForgottenTest, forget};
pub use options::{EngineName, IsolationOption, Output, RunOptions, Which};
pub use rerun::MOST as MOST_RERUNS;
pub use run::gc_policy;
pub use selected::{select, shard_plan};
