//! What was checked by running tests that could have been skipped, in files beside the database: the numbers of each
//! call, when each test was last checked, misses until they are acknowledged, and whether skipping is off.
//!
//! They are in the store's folder, so that they travel with it from one CI job to the next and add up; what jobs had side by
//! side comes together by [`Store::take_checks`]. Dropping
//! records (`tamis clean`) leaves them: that a skip was wrong is still true.

use crate::store::Store;
use std::collections::HashMap;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::PathBuf;
use tamis_core::TestKey;
use xxhash_rust::xxh3::xxh3_64;

/// The folder of all of it, in that of the store.
const FOLDER: &str = "checks";
/// In it: the numbers of each call, by week.
const CALLS: &str = "checks/calls";
/// The folder of the misses.
const MISSES: &str = "checks/misses";
/// Is there where skipping is off; the version of tamis that turned it off.
const TRIPPED: &str = "checks/tripped";
/// When each test was last checked.
const TESTS: &str = "checks/tests";

/// The numbers of one or more calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CheckNumbers {
    pub calls: u64,
    /// When the first of them was, in milliseconds since 1970.
    pub since_ms: Option<u64>,
    pub checked: u64,
    pub missed: u64,
    pub flaky: u64,
}

/// When tests were last checked, in milliseconds since 1970, by [`Store::check_id`].
pub type LastChecked = HashMap<u64, u64>;

impl Store {
    /// What a test is known by in [`LastChecked`].
    pub fn check_id(key: &TestKey) -> u64 {
        let text = [key.scope.to_stored(), key.unit.to_stored(), key.folder.clone()].join("\0");
        xxh3_64(text.as_bytes())
    }

    /// Adds the numbers of a call.
    pub fn add_checks(&self, now_ms: u64, of: CheckNumbers) {
        let line = format!("{now_ms} {} {} {}", of.checked, of.missed, of.flaky);
        self.add_line(CALLS, now_ms, &line);
    }

    /// The numbers of all calls.
    pub fn checks(&self) -> CheckNumbers {
        let mut all = CheckNumbers::default();
        for line in self.lines(CALLS) {
            let numbers: Option<Vec<u64>> = line.split(' ').map(|n| n.parse().ok()).collect();
            let Some([when, checked, missed, flaky]) = numbers.as_deref() else { continue };
            all.calls += 1;
            all.since_ms = Some(all.since_ms.map_or(*when, |since| since.min(*when)));
            all.checked += checked;
            all.missed += missed;
            all.flaky += flaky;
        }
        all
    }

    /// When each test was last checked.
    pub fn last_checked(&self) -> LastChecked {
        let text = std::fs::read_to_string(self.dir().join(TESTS)).unwrap_or_default();
        let entry = |line: &str| {
            let (id, when) = line.split_once(' ')?;
            Some((u64::from_str_radix(id, 16).ok()?, when.parse().ok()?))
        };
        text.lines().filter_map(entry).collect()
    }

    /// Remembers that these tests were checked now. Losing it costs a better choice next time.
    pub fn set_checked(&self, now_ms: u64, keys: &[&TestKey]) {
        if keys.is_empty() || !self.make_folder(FOLDER) {
            return;
        }
        let mut all = self.last_checked();
        all.extend(keys.iter().map(|key| (Self::check_id(key), now_ms)));
        self.write_checked(&all);
    }

    fn write_checked(&self, all: &LastChecked) {
        let mut lines: Vec<String> =
            all.iter().map(|(id, when)| format!("{id:016x} {when}\n")).collect();
        lines.sort_unstable();
        let _ = tamis_private::write(&self.dir().join(TESTS), lines.concat().as_bytes());
    }

    /// Takes in what was checked with another store: calls that are not known here, the latest moment of each test, misses, and
    /// that skipping is off. Both may have begun as copies of one store. What was acknowledged here and not there is open again.
    pub fn take_checks(&self, other: &Self) -> std::io::Result<()> {
        let mut here: HashMap<String, usize> = HashMap::new();
        for line in self.lines(CALLS) {
            *here.entry(line).or_default() += 1;
        }
        for line in other.lines(CALLS) {
            match here.get_mut(&line).filter(|left| **left > 0) {
                Some(left) => *left -= 1,
                None => {
                    let when = line.split(' ').next().and_then(|when| when.parse().ok());
                    self.add_line(CALLS, when.unwrap_or_default(), &line);
                }
            }
        }
        let mut all = other.last_checked();
        if !all.is_empty() && self.make_folder(FOLDER) {
            for (id, when) in self.last_checked() {
                let latest = all.entry(id).or_default();
                *latest = when.max(*latest);
            }
            self.write_checked(&all);
        }
        let entries = std::fs::read_dir(other.dir().join(MISSES)).into_iter().flatten().flatten();
        for entry in entries {
            if !self.dir().join(MISSES).join(entry.file_name()).exists() {
                let name = entry.file_name();
                self.add_miss(&name.to_string_lossy(), &std::fs::read(entry.path())?)?;
            }
        }
        match std::fs::read(other.dir().join(TRIPPED)) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
            // What cannot be read counts, for every version.
            by => self.trip(&String::from_utf8_lossy(&by.unwrap_or_default())),
        }
    }

    /// Keeps a miss until [`Store::resolve_misses`]. The caller says what is in it.
    pub fn add_miss(&self, name: &str, bytes: &[u8]) -> std::io::Result<()> {
        if !self.make_folder(MISSES) {
            return Err(std::io::Error::other("the store cannot be written"));
        }
        tamis_private::write(&self.dir().join(MISSES).join(name), bytes)
    }

    /// The misses that are kept, by name.
    pub fn misses(&self) -> Vec<Vec<u8>> {
        let entries = std::fs::read_dir(self.dir().join(MISSES)).into_iter().flatten().flatten();
        let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        files.sort();
        files.iter().filter_map(|file| std::fs::read(file).ok()).collect()
    }

    /// Drops the misses, and turns skipping on again.
    pub fn resolve_misses(&self) -> std::io::Result<()> {
        for gone in [
            std::fs::remove_dir_all(self.dir().join(MISSES)),
            std::fs::remove_file(self.dir().join(TRIPPED)),
        ] {
            match gone {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    /// Turns skipping off, for this version of tamis.
    pub fn trip(&self, version: &str) -> std::io::Result<()> {
        if !self.make_folder(FOLDER) {
            return Err(std::io::Error::other("the store cannot be written"));
        }
        tamis_private::write(&self.dir().join(TRIPPED), version.as_bytes())
    }

    /// Whether this version of tamis must not skip. What cannot be read counts.
    pub fn is_tripped(&self, version: &str) -> bool {
        match std::fs::read(self.dir().join(TRIPPED)) {
            Ok(by) => by.is_empty() || by == version.as_bytes(),
            Err(error) => error.kind() != std::io::ErrorKind::NotFound,
        }
    }

    fn make_folder(&self, folder: &str) -> bool {
        let made =
            std::fs::DirBuilder::new().recursive(true).mode(0o700).create(self.dir().join(folder));
        self.read_only().is_none() && made.is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_add_up() {
        let folder = tempfile::tempdir().unwrap();
        let (store, _) = Store::open(folder.path()).unwrap();
        assert_eq!(store.checks(), CheckNumbers::default());
        let of =
            |checked, missed, flaky| CheckNumbers { checked, missed, flaky, ..Default::default() };
        store.add_checks(9_000, of(5, 1, 0));
        store.add_checks(8_000, of(7, 0, 2));
        let file = folder.path().join(CALLS).join("1970-W01");
        let text = std::fs::read_to_string(&file).unwrap() + "x 1\n1 2 3\n\n";
        std::fs::write(file, text).unwrap();
        let all = CheckNumbers { calls: 2, since_ms: Some(8_000), ..of(12, 1, 2) };
        assert_eq!(store.checks(), all);
    }

    #[test]
    fn tests_are_known_by_when_they_were_checked() {
        let folder = tempfile::tempdir().unwrap();
        let (store, _) = Store::open(folder.path()).unwrap();
        let (a, b) = (TestKey::item("s", "a", "."), TestKey::item("s", "b", "."));
        store.set_checked(5, &[&a, &b]);
        store.set_checked(7, &[&b]);
        let known = store.last_checked();
        assert_eq!(known.get(&Store::check_id(&a)), Some(&5));
        assert_eq!(known.get(&Store::check_id(&b)), Some(&7));
    }

    #[test]
    fn what_jobs_had_side_by_side_comes_together() {
        let folder = tempfile::tempdir().unwrap();
        let open = |name: &str| Store::open(&folder.path().join(name)).unwrap().0;
        let (a, b) = (open("a"), open("b"));
        let one = |checked| CheckNumbers { checked, ..Default::default() };
        let (first, second) = (TestKey::item("s", "a", "."), TestKey::item("s", "b", "."));
        // Both begin with the same call.
        for store in [&a, &b] {
            store.add_checks(9_000, one(5));
            store.set_checked(9_000, &[&first]);
        }
        a.add_checks(10_000, one(7));
        a.set_checked(10_000, &[&first]);
        b.add_checks(9_000, one(5));
        b.add_checks(11_000, CheckNumbers { missed: 1, ..one(3) });
        b.set_checked(11_000, &[&second]);
        b.add_miss("m", b"one").unwrap();
        b.trip("1").unwrap();
        for _ in 0..2 {
            a.take_checks(&b).unwrap();
            let found = a.checks();
            assert_eq!((found.calls, found.checked, found.missed), (4, 20, 1));
            let known = a.last_checked();
            assert_eq!(known.get(&Store::check_id(&first)), Some(&10_000));
            assert_eq!(known.get(&Store::check_id(&second)), Some(&11_000));
            assert_eq!(a.misses(), [b"one".to_vec()]);
            assert!(a.is_tripped("1"));
        }
        b.take_checks(&a).unwrap();
        assert_eq!(b.checks(), a.checks());
    }

    #[test]
    fn a_trip_holds_until_it_is_resolved_or_tamis_is_another() {
        let folder = tempfile::tempdir().unwrap();
        let (store, _) = Store::open(folder.path()).unwrap();
        assert!(!store.is_tripped("1"));
        store.add_miss("a", b"one").unwrap();
        assert!(!store.is_tripped("1"));
        store.trip("1").unwrap();
        assert!(store.is_tripped("1") && !store.is_tripped("2"));
        assert_eq!(store.misses(), [b"one".to_vec()]);
        // One that was cut off counts for every version.
        std::fs::write(folder.path().join(TRIPPED), b"").unwrap();
        assert!(store.is_tripped("2"));
        store.resolve_misses().unwrap();
        store.resolve_misses().unwrap();
        assert!(!store.is_tripped("1") && store.misses().is_empty());
    }
}
