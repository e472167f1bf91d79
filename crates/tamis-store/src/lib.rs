//! The store: what each test looked at in its last runs, and whether that still holds.
//!
//! One SQLite file (`tamis.db`) in a folder that the caller names. Model:
//!
//! | table | one row is |
//! | --- | --- |
//! | `test` | a test's key, and what it printed when it last failed |
//! | `block` | some thousand observations (a question with one answer), compressed together; each has a 32-bit id that is never reused |
//! | `record` | one finished run: summary, taints, and the ids of its one or two proofs |
//! | `proof` | some proofs: sets of observations, as bitmaps of their ids, compressed together |
//! | `record_detail` | what only explanations need, kept apart |
//! | `segment`, `posting` | the inverted index, observation to proofs, built for older proofs |
//! | `kept` | small things that the caller keeps beside the records; those of other machines apart |
//!
//! A proof holds when every observation in it holds: its question, put to the world again, has the
//! same answer. Each distinct question is asked once, however many tests share it.
//!
//! Safety against damage: every record, set and block of observations carries a checksum. What fails its
//! check, is missing, or is not understood counts as *not holding*, so that the test runs. A file
//! that SQLite itself cannot read, or that another version of tamis wrote, is renamed aside and an
//! empty store takes its place; the caller gets a [`SetAside`] to tell the user. The checksums
//! find accidents; they do not guard against somebody who forges records.
//!
//! Several processes may use one store. Writers take turns in short transactions; a `kill -9` at
//! any moment loses only the transaction in flight. A loss of power may lose the last few
//! transactions (they are not flushed one by one), never the file.

#[cfg(test)]
mod agreement;
mod append;
mod believed;
mod block;
mod blocks;
mod checks;
mod codec;
mod error;
mod evidence;
mod explain;
mod files;
mod forgotten;
mod format;
mod gc;
mod index;
mod intern;
mod key;
mod leftovers;
mod load;
mod packed;
mod proofs;
mod readers;
mod runs;
mod savings;
mod schema;
mod shipment;
mod side_table;
mod store;
mod summary;
mod survey;
mod take_in;
mod times;
mod weekly;
mod with_record;

pub use believed::{Believed, Signers};
pub use checks::{CheckNumbers, LastChecked};
pub use error::{SetAside, StoreError};
pub use evidence::Evidence;
pub use explain::{Difference, StoredRecord};
pub use forgotten::Forgotten;
pub use gc::{GcPolicy, GcReport};
pub use leftovers::LeftoverReader;
pub use savings::{Saved, Savings};
pub use shipment::{Kept, Outbound, Shipment, ShippedObservation, ShippedRecord, TakenIn};
pub use store::Store;
pub use summary::TestSummary;
pub use survey::{Asked, Remembered, TestHistory};
pub use with_record::WithRecord;

/// How the world answers: one value for each question, in the same order. It must not use the
/// store that is asking.
pub type Ask<'a> = dyn Fn(&[tamis_core::Question]) -> Vec<tamis_core::Value> + Sync + 'a;
