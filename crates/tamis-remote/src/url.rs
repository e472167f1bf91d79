//! Which place a url names: a folder for `file://`, a bucket for everything else.

use crate::bucket::Bucket;
use crate::error::RemoteError;
use crate::folder::Folder;
use crate::place::Place;

/// Opens the place that a url names; no request is made.
pub fn open(url: &str) -> Result<Box<dyn Place>, RemoteError> {
    match url.strip_prefix("file://") {
        Some(path) => Ok(Box::new(Folder::new(path.into()))),
        None => Ok(Box::new(Bucket::open(url)?)),
    }
}
