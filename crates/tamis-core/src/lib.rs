//! The model of tamis: what a test looked at, and when that lets it be skipped.
//!
//! A test run is a memo. While a test runs we write down *questions* that it put to the world
//! (what is in this file? which names are in this folder? is there a file at all?) together with
//! the *answer* that it got. A question with its answer is an [`Observation`]. A finished run is a
//! [`Record`]: an outcome and one or two sets of observations ("proofs"). Next time the
//! same questions are put to the world again; if all answers of one proof are the same and the
//! outcome was a pass, the test need not run.
//!
//! This crate holds the words and the [`decide`](decide::decide) function. It does no I/O and
//! prints nothing, so that a dry run, an explanation and a real run cannot come to different
//! answers.

#[cfg(not(target_os = "linux"))]
compile_error!(
    "tamis works on Linux only, since it watches processes by means of its kernel; on macOS and Windows use it in a Linux \
     container, a virtual machine or WSL 2"
);

pub mod decide;
pub mod key;
pub mod mark;
pub mod notice;
pub mod path;
pub mod plan;
pub mod question;
pub mod record;
pub mod strategy;
pub mod taints;
pub mod value;

pub use decide::{Cause, Check, Decision};
pub use key::{Module, Scope, TestKey, Tool, ToolScope, Unit};
pub use mark::Mark;
pub use notice::{Notice, Notices, Silent, Step, Weight};
pub use path::{PathMap, PortablePath};
pub use plan::{Difference, Evidence, Planned, Way};
pub use question::{Question, Scheme};
pub use record::{Note, Origin, Outcome, RecordId, RecordSummary, Taint};
pub use strategy::Strategy;
pub use value::{Hash, Hasher, Value};

use serde::{Deserialize, Serialize};

/// A question with the answer that a test got.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Observation {
    pub question: Question,
    pub value: Value,
}
