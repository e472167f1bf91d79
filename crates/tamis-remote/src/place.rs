//! Where the bytes are. Names are words between slashes; a place may be a folder or a bucket ([`crate::url`] opens one).
//!
//! The one thing that is asked of a place beyond keeping bytes is [`Place::replace`]: it replaces an object only if that
//! is still the one that the caller has seen.

use crate::error::RemoteError;
use std::time::{Duration, Instant};

/// What an object was when it was read: an entity tag, or a number.
pub type Version = String;

/// How a conditional read ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    Bytes(Vec<u8>, Version),
    /// It is still the one that the caller knows.
    Same,
    Nothing,
}

/// An object in a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    pub name: String,
    pub bytes: u64,
    /// How long ago it was written, by the clock of the place.
    pub age: Duration,
}

/// When a step has to be done.
#[derive(Debug, Clone, Copy)]
pub struct Deadline {
    pub at: Instant,
    pub whole: Duration,
}

impl Deadline {
    pub fn within(whole: Duration) -> Self {
        Self { at: Instant::now() + whole, whole }
    }

    pub fn left(self) -> Duration {
        self.at.saturating_duration_since(Instant::now())
    }

    /// An error where the time is up.
    pub fn check(self) -> Result<(), RemoteError> {
        if self.left().is_zero() { Err(RemoteError::Late(self.whole)) } else { Ok(()) }
    }
}

pub trait Place: Send + Sync + std::fmt::Debug {
    /// The object, unless it is the one of this version.
    fn get(
        &self,
        name: &str,
        known: Option<&Version>,
        until: Deadline,
    ) -> Result<Found, RemoteError>;

    /// Writes an object that is the same whoever writes it.
    fn put(&self, name: &str, bytes: &[u8], until: Deadline) -> Result<(), RemoteError>;

    /// Replaces the object of this version, or makes the first one. `false`: somebody was faster, and nothing was
    /// written.
    fn replace(
        &self,
        name: &str,
        bytes: &[u8],
        seen: Option<&Version>,
        until: Deadline,
    ) -> Result<bool, RemoteError>;

    /// The objects directly below a name.
    fn list(&self, folder: &str, until: Deadline) -> Result<Vec<Listed>, RemoteError>;

    /// Removes an object; none is no error.
    fn remove(&self, name: &str, until: Deadline) -> Result<(), RemoteError>;

    /// Requests so far.
    fn requests(&self) -> u64;

    /// Bytes of objects that were read and written so far.
    fn traffic(&self) -> (u64, u64);
}
