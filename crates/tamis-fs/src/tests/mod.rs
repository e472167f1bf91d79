//! Tests of the whole: answers, what the cache may and may not remember, damage.

mod answers;
mod caching;
mod properties;
mod whole;

use crate::{Fingerprinter, Options};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// An hour ahead: every file counts as settled, so that the cache can be tried without waiting.
/// Only for tests that change no file twice within one tick of the file system.
fn in_an_hour() -> i128 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    since.as_nanos() as i128 + 3_600_000_000_000
}

fn cached(file: &Path) -> Options {
    Options { cache_file: Some(file.to_path_buf()), ..Options::default() }
}

fn plain() -> Fingerprinter {
    Fingerprinter::new(Options::default())
}
