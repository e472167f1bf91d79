//! Answers [`Question::Path`](tamis_core::Question): the state of a path under a
//! [`Scheme`](tamis_core::Scheme), as a [`Value`](tamis_core::Value).
//!
//! # Model
//! An answer is taken in three steps: `lstat` (the [`Identity`]), reading, `lstat` again. If the
//! two identities differ, what was read belongs to neither and the answer is taken again. A path
//! that never holds still, or that cannot be read for any reason but missing permission, gets an
//! answer with an `error` and a value that is equal to nothing, not even to itself next time: the
//! test that looked at it runs.
//!
//! Reading is skipped when the stat cache knows the value for exactly this identity. An identity
//! says nothing about changes within one tick of the file system's clock: a file that is written,
//! hashed and written again at once can have the same size and times (the *racily clean* problem).
//! So a value goes into the cache only if, when reading began, the last change of the file was
//! already more than two seconds old, the coarsest clock of a file system. A later change then gets
//! a later `ctime`, whatever a program does to `mtime`. On a file system that cannot be written, and
//! on an image, the mount counts besides: another image can have the same times.
//!
//! # Not seen
//! - Stores through a shared memory mapping change `mtime` late (ext4: when the page was clean
//!   before) or never (tmpfs). While such a mapping is open, a cached value can be old.
//! - A network file system may serve attributes that are some seconds old.
//! - Somebody who sets the system clock back to forge a `ctime`.
//! - What a user's command ([`Scheme::Command`](tamis_core::Scheme::Command),
//!   [`Scheme::Filter`](tamis_core::Scheme::Filter)) reads besides the file: so its values are never cached.
//! - Files of pseudo file systems (`/proc`, `/sys`) are read each time, since their times mean
//!   nothing.

mod cache;
mod canonical;
mod command;
mod facets;
mod filesystem;
mod fingerprinter;
mod identity;
mod listing;
mod map;
mod mounts;
mod names;
mod read;
mod rights;
mod table;
mod troubles;
mod whole;

#[cfg(test)]
mod tests;

pub use command::command_id;
pub use facets::{names as names_value, size as size_value};
pub use fingerprinter::{Answer, Fingerprinter, Ignored, MAX_NAMES, Options};
pub use identity::{FileKind, Identity, identity};
pub use names::listing_value;
pub use whole::WholeFile;
