//! What a user sees of a run.
//!
//! The input is a [`RunReport`]: plain values, filled by whoever ran the tests. Nothing here decides
//! anything or opens anything; every writer takes the place to write to. All writers are
//! deterministic: the same report gives the same bytes.
//!
//! | module | for |
//! | --- | --- |
//! | [`text`] | the summary at the end of a run, and the one line for a single command |
//! | [`progress`] | what is going on while tests run |
//! | [`inputs`] | what a test read, for `deps` and `why-not` |
//! | [`json`] | JSON lines for programs (`docs/json.md`) |
//! | [`junit`] | JUnit XML for CI systems |
//! | [`markdown`] | the job summary of GitHub Actions |
//! | [`nearest`](mod@nearest) | names that somebody may have meant |
//! | [`kept`] | a run as it is kept for later reports |
//! | [`savings`] | how much time a call saved |
//! | [`phases`] | what the time of a call was spent on |
//! | [`sums`] | what all calls took and saved, for `status` |
//! | [`excerpt`] | what failed, out of all that a test printed |
//! | [`checked`], [`checks`] | what `--shadow` and `--audit` found: the values, the words |
//! | [`isolation`] | what `--check-isolation` found: the values, the words |
//! | [`replay`] | the result of a replay |
//! | [`exit`] | the exit codes |
//!
//! Names and outputs come from foreign programs. On a terminal control characters are shown
//! escaped, in XML and JSON what the format forbids is replaced.

mod bottom;
pub mod checked;
pub mod checks;
pub mod event;
pub mod excerpt;
pub mod exit;
pub mod human;
pub mod inputs;
pub mod isolation;
pub mod json;
pub mod junit;
pub mod kept;
pub mod markdown;
mod model;
pub mod nearest;
pub mod phases;
pub mod progress;
pub mod reason;
pub mod records;
pub mod replay;
pub mod reporters;
pub mod savings;
pub mod style;
pub mod sums;
pub mod text;
mod watch;

#[cfg(test)]
mod samples;

pub use bottom::Size;
pub use event::{Event, Reporter, Reporters, Shape};
pub use model::{Counts, Mode, Reruns, RunReport, StillFailing, TestReport};
pub use nearest::nearest;
pub use progress::Progress;
pub use style::Style;
