//! Tests inside one command, whatever their language.
//!
//! A command such as `mvn test` or `go test ./...` is one test, as any other command: with nothing changed
//! it is not even started. Where it is, a *front end* ([`Frontend`]) distinguishes the units of tests
//! inside it. This crate is what front ends have in common:
//!
//! - the sockets that the observed processes connect to, and the one thread that takes all that they and
//!   the tracer report, in order ([`Session`]);
//! - joining what a process reported of a unit with the files that the tracer saw ([`Joiner`]);
//! - the decision about units, which is asked for here and made elsewhere ([`Planner`]);
//! - records and reports ([`Ledger`]), and what units have in common ([`Pool`]);
//! - what a command prints on the user's own streams ([`Printed`]).
//!
//! A front end drives: it *claims* a command line, makes a [`Model`] of it, and the model takes each
//! message. Languages whose units simply begin, end and report facts use the model that is ready here
//! ([`UsualModel`]). What is not seen: a process that does not connect. Its unit has no record then, and
//! runs again.

mod command;
mod frontend;
mod join;
mod joined;
mod ledger;
pub mod messages;
mod model;
mod options;
mod passage;
mod planner;
mod pool;
mod printed;
mod scope;
mod session;
mod threads;
mod usual;

pub use command::{CommandContext, Invocation, Start};
pub use frontend::{Ability, Claim, Frontend, Frontends, ScopeUnits};
pub use join::{Joiner, Seen};
pub use joined::{JoinedNumbers, JoinedObservations, together};
pub use ledger::{Collected, Ledger, NOT_COLLECTED, Place, proof_of};
pub use model::{Model, Services};
pub use options::{Earlier, SessionOptions, Trial, mark_flaky, names, runs_of};
pub use passage::Passage;
pub use planner::{Choice, ModuleTests, PartsPlan, Plan, PlannedUnit, Planner, Request};
pub use pool::Pool;
pub use printed::{Instead, Printed, to_ours};
pub use scope::{GraphDecision, GraphStrategy, KnownScope};
pub use session::{Session, socket_folder};
pub use threads::Running;
pub use usual::{Confirmed, Language, Process, ProcessModel, UnitEvidence, Units, UsualModel};
