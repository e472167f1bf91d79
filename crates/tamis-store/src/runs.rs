//! What earlier calls did, in files beside the database, for reports alone: no decision reads them.
//!
//! | file | holds |
//! | --- | --- |
//! | `runs/2026-W47` | one line per call of that week (ISO 8601, in UTC), as the caller wrote it |
//! | `last-runs/HASH` | the whole of the last run of one call (a command in its folder, or the suites), sealed and compressed |
//!
//! They are files because a call in which nothing has to run need not wait for the database. What is damaged or
//! cannot be written is not there. Weeks are kept for two years, last runs of the calls that were made last.

use crate::codec::{seal, unseal};
use crate::packed::{expand, squeeze_fast};
use crate::savings::week_of;
use crate::store::Store;
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use xxhash_rust::xxh3::xxh3_64;

/// The folder of lines, in that of the store.
const FOLDER: &str = "runs";
/// The folder of last runs.
const LAST: &str = "last-runs";
/// Weeks that are kept.
const MOST_WEEKS: usize = 105;
/// Calls whose last run is kept.
const MOST_CALLS: usize = 16;

impl Store {
    /// Adds a line about a call. Losing it costs a point in a chart.
    pub fn add_run(&self, now_ms: u64, line: &str) {
        let folder = self.dir().join(FOLDER);
        let is_new = !folder.join(week_of(now_ms)).exists();
        self.add_line(FOLDER, now_ms, line);
        if is_new {
            let mut weeks = names(&folder);
            weeks.sort();
            let old = weeks.len().saturating_sub(MOST_WEEKS);
            weeks.iter().take(old).for_each(|week| drop(std::fs::remove_file(folder.join(week))));
        }
    }

    /// The lines about calls, oldest week first.
    pub fn run_lines(&self) -> Vec<String> {
        self.lines(FOLDER)
    }

    /// Keeps the last run of a call, in place of the one before. A reader sees the old one or the new one.
    pub fn keep_last_run(&self, call: &str, bytes: &[u8]) {
        let Some(folder) = self.last_runs_for_writing() else { return };
        let seed = xxh3_64(call.as_bytes());
        let name = format!("{seed:016x}");
        let draft = folder.join(format!(".{name}.{}", std::process::id()));
        let sealed = seal(seed, &squeeze_fast(bytes));
        let mut options = std::fs::File::options();
        let opened = options.write(true).create(true).truncate(true).mode(0o600).open(&draft);
        let written = opened.and_then(|mut file| file.write_all(&sealed));
        if written.and_then(|()| std::fs::rename(&draft, folder.join(&name))).is_err() {
            let _ = std::fs::remove_file(&draft);
        }
        drop_oldest(&folder);
    }

    /// The last runs of all calls that are kept, those that can be read, newest first.
    pub fn last_runs(&self) -> Vec<Vec<u8>> {
        let folder = self.dir().join(LAST);
        let read = |(_, name): (SystemTime, String)| {
            let seed = u64::from_str_radix(&name, 16).ok()?;
            expand(unseal(seed, &std::fs::read(folder.join(name)).ok()?)?)
        };
        by_age(&folder).into_iter().rev().filter_map(read).collect()
    }

    /// Drops all of it.
    pub fn forget_runs(&self) {
        for folder in [FOLDER, LAST] {
            let _ = std::fs::remove_dir_all(self.dir().join(folder));
        }
    }

    fn last_runs_for_writing(&self) -> Option<PathBuf> {
        let folder = self.dir().join(LAST);
        self.read_only().is_none().then_some(())?;
        // For the user alone, like the store itself, whatever the umask.
        let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder);
        made.ok().map(|()| folder)
    }
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    names.filter(|name| !name.starts_with('.')).collect()
}

/// The last runs that are kept, oldest first.
fn by_age(folder: &Path) -> Vec<(SystemTime, String)> {
    let names = names(folder);
    let age = |name: String| {
        let changed = folder.join(&name).metadata().and_then(|meta| meta.modified());
        Some((changed.ok()?, name))
    };
    let mut aged: Vec<(SystemTime, String)> = names.into_iter().filter_map(age).collect();
    aged.sort();
    aged
}

fn drop_oldest(folder: &Path) {
    let aged = by_age(folder);
    let old = aged.len().saturating_sub(MOST_CALLS);
    aged.iter().take(old).for_each(|(_, name)| drop(std::fs::remove_file(folder.join(name))));
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    fn store() -> (tempfile::TempDir, Store) {
        let folder = tempfile::tempdir().unwrap();
        let (store, _) = Store::open(folder.path()).unwrap();
        (folder, store)
    }

    #[test]
    fn lines_come_back_in_their_order() {
        let (_folder, store) = store();
        assert!(store.run_lines().is_empty());
        let week = 7 * 86_400_000;
        store.add_run(3 * week, "c");
        store.add_run(week, "a");
        store.add_run(week + 1, "b");
        assert_eq!(store.run_lines(), ["a", "b", "c"]);
        store.forget_runs();
        assert!(store.run_lines().is_empty());
    }

    #[test]
    fn old_weeks_go() {
        let (_folder, store) = store();
        for n in 0..MOST_WEEKS + 3 {
            store.add_run(n as u64 * 7 * 86_400_000, &n.to_string());
        }
        let lines = store.run_lines();
        assert_eq!((lines.len(), lines[0].as_str()), (MOST_WEEKS, "3"));
    }

    #[test]
    fn each_call_has_its_last_run() {
        let (folder, store) = store();
        store.keep_last_run("mvn test", b"one");
        store.keep_last_run("./check.sh", b"two");
        store.keep_last_run("mvn test", b"three");
        let mut runs = store.last_runs();
        runs.sort();
        assert_eq!(runs, [b"three".to_vec(), b"two".to_vec()]);
        for n in 0..MOST_CALLS * 2 {
            store.keep_last_run(&n.to_string(), b"x");
        }
        assert_eq!(store.last_runs().len(), MOST_CALLS);
        let mode = |path: PathBuf| path.metadata().unwrap().permissions().mode() & 0o777;
        let place = folder.path().join(LAST);
        assert_eq!(mode(place.clone()), 0o700);
        assert!(names(&place).iter().all(|name| mode(place.join(name)) == 0o600));
    }

    #[test]
    fn what_is_damaged_is_not_there() {
        let (folder, store) = store();
        store.keep_last_run("a", b"one");
        store.keep_last_run("b", b"two");
        let place = folder.path().join(LAST);
        let name = names(&place).remove(0);
        let mut bytes = std::fs::read(place.join(&name)).unwrap();
        let last = bytes.len() - 1;
        bytes[last] ^= 1;
        std::fs::write(place.join(&name), bytes).unwrap();
        std::fs::write(place.join("zz"), b"no").unwrap();
        assert_eq!(store.last_runs().len(), 1);
    }
}
