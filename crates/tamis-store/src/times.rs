//! How long the calls of a project took, by phase, in files beside the database ([`crate::weekly`]).
//!
//! A line is when the call was, in milliseconds since 1970, and the microseconds of each phase. What a phase is,
//! the caller knows.

use crate::store::Store;
use std::time::Duration;

/// The folder of these files, in that of the store.
const FOLDER: &str = "times";

/// The phases of a call that are kept.
const PHASES: usize = 5;

impl Store {
    /// Adds what a call took.
    pub fn add_times(&self, now_ms: u64, phases: [Duration; PHASES]) {
        let micros = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        let [a, b, c, d, e] = phases.map(micros);
        self.add_line(FOLDER, now_ms, &format!("{now_ms} {a} {b} {c} {d} {e}"));
    }

    /// How many calls there were, and what they took together.
    pub fn times(&self) -> (u64, [Duration; PHASES]) {
        let (mut calls, mut sums) = (0, [Duration::ZERO; PHASES]);
        for line in self.lines(FOLDER) {
            let numbers: Option<Vec<u64>> = line.split(' ').map(|n| n.parse().ok()).collect();
            let Some([_, phases @ ..]) = numbers.as_deref() else { continue };
            if phases.len() == PHASES {
                calls += 1;
                for (sum, micros) in sums.iter_mut().zip(phases) {
                    *sum = sum.saturating_add(Duration::from_micros(*micros));
                }
            }
        }
        (calls, sums)
    }

    /// Drops all of it.
    pub fn forget_times(&self) {
        let _ = std::fs::remove_dir_all(self.dir().join(FOLDER));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_add_up() {
        let folder = tempfile::tempdir().unwrap();
        let (store, _) = Store::open(folder.path()).unwrap();
        let of = Duration::from_micros;
        store.add_times(5, [1, 2, 3, 4, 5].map(of));
        store.add_times(5_000_000_000, [10, 0, 0, 0, 1].map(of));
        let file = folder.path().join(FOLDER).join("1970-W01");
        let text = std::fs::read_to_string(&file).unwrap() + "6 1 1\nx\n7 1 1 1 1 x\n";
        std::fs::write(file, text).unwrap();
        assert_eq!(store.times(), (2, [11, 2, 3, 4, 6].map(of)));
        store.forget_times();
        assert_eq!(store.times().0, 0);
    }
}
