//! Lines that calls leave, week by week, in files beside the database.
//!
//! One file per week of ISO 8601 (in UTC), one line per call, written with one write to its end, so that a call
//! in which nothing has to run need not wait for the database, and several calls at once lose nothing. A line
//! that cannot be read counts nothing.

use crate::savings::week_of;
use crate::store::Store;
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};

impl Store {
    /// Adds a line to the file of this week. Losing it costs a figure.
    pub(crate) fn add_line(&self, folder: &str, now_ms: u64, line: &str) {
        if self.read_only().is_some() {
            return;
        }
        let folder = self.dir().join(folder);
        // For the user alone, like the store itself, whatever the umask.
        let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder);
        let _ = made.and_then(|()| {
            let mut options = std::fs::File::options();
            let options = options.append(true).create(true).mode(0o600);
            let mut file = options.open(folder.join(week_of(now_ms)))?;
            file.write_all(format!("{line}\n").as_bytes())
        });
    }

    /// All lines of all weeks, oldest week first.
    pub(crate) fn lines(&self, folder: &str) -> Vec<String> {
        let entries = std::fs::read_dir(self.dir().join(folder)).into_iter().flatten().flatten();
        let mut files: Vec<std::path::PathBuf> = entries.map(|entry| entry.path()).collect();
        files.sort();
        let mut lines = Vec::new();
        for file in files {
            let text = std::fs::read(file).unwrap_or_default();
            lines.extend(String::from_utf8_lossy(&text).lines().map(str::to_owned));
        }
        lines
    }
}
