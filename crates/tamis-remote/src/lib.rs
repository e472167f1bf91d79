//! The shared store: records of many machines in an object store, without a server of ours.
//!
//! ```text
//! URL/v1/PROJECT/packs/ADDRESS      a pack: records of some runs, signed, named by the BLAKE3 of its bytes
//! URL/v1/PROJECT/plans/SCOPE-NAME   what machines of one run agreed on, signed, never changed
//! URL/v1/PROJECT/heads/SCOPE        the head of a scope: which packs belong to it, signed; the only thing that is
//!                                   ever replaced, and only by whoever has seen what he replaces
//! ```
//!
//! | module | what |
//! | --- | --- |
//! | [`place`] | where bytes are: a folder ([`folder`]) or a bucket ([`bucket`]), as a [`url`] says |
//! | [`keys`] | who signs, and what |
//! | [`pack`], [`head`] | the two formats |
//! | [`trust`] | who is believed |
//! | [`scope`] | names of projects and scopes |
//! | [`outbound`] | what of a record leaves the machine |
//! | [`memory`] | what this machine remembers of a scope |
//! | [`plans`] | what several machines have to agree on |
//! | [`pull`], [`push`], [`compact`], [`collect`], [`verify`] | what is done with them |
//!
//! Merging is a union: who loses a race for the head reads the new one, adds its packs, and tries again. Nothing here
//! makes a test be skipped: records come into the local store, where they are decided about like all
//! others. What cannot be verified is refused with a reason and changes nothing. Asynchronous code is in
//! [`bucket`] alone.
//!
//! What this does not see: a trusted key in the wrong hands, and somebody who can write there and takes packs away
//! (then tests run).

pub mod bucket;
pub mod collect;
pub mod compact;
mod error;
pub mod folder;
pub mod head;
pub mod keys;
pub mod memory;
pub mod outbound;
pub mod pack;
pub mod place;
pub mod plans;
pub mod pull;
pub mod push;
pub mod remote;
pub mod scope;
pub mod trust;
pub mod url;
pub mod verify;

pub use error::RemoteError;
pub use remote::{Remote, believed};
