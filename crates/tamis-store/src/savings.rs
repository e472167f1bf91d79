//! How much time the calls of a project saved, week by week, in files beside the database.
//!
//! One file per week of ISO 8601 (in UTC), one line per call: when it was, in milliseconds since 1970, and how
//! many microseconds it saved. A line is one write to the end of a file, so that a call in which nothing has to
//! run need not wait for the database. A line that cannot be read counts nothing. The first call writes a
//! line also where it saved nothing: the sum is since then.

use crate::store::Store;
use std::collections::BTreeMap;
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::PathBuf;
use std::time::Duration;

/// The folder of these files, in that of the store.
const FOLDER: &str = "savings";

/// What calls saved together.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Savings {
    /// When the first call was, in milliseconds since 1970; nothing where there was none.
    pub since_ms: Option<u64>,
    /// By week, as ISO 8601 writes it (`2026-W47`), in their order.
    pub weeks: BTreeMap<String, Saved>,
}

/// The savings of some calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Saved {
    pub time: Duration,
    /// Calls that saved something.
    pub calls: u64,
}

impl Savings {
    /// All weeks together.
    pub fn total(&self) -> Saved {
        let add = |a: Saved, b: &Saved| Saved {
            time: a.time.saturating_add(b.time),
            calls: a.calls + b.calls,
        };
        self.weeks.values().fold(Saved::default(), add)
    }
}

impl Store {
    /// Remembers what a call saved, at this time. Losing it costs a figure.
    pub fn add_saving(&self, now_ms: u64, saved: Duration) {
        let folder = self.savings_folder();
        if saved.is_zero() && folder.exists() || self.read_only().is_some() {
            return;
        }
        // For the user alone, like the store itself, whatever the umask.
        let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder);
        let _ = made.and_then(|()| {
            let file = folder.join(week_of(now_ms));
            let mut options = std::fs::File::options();
            let mut file = options.append(true).create(true).mode(0o600).open(file)?;
            let micros = u64::try_from(saved.as_micros()).unwrap_or(u64::MAX);
            file.write_all(format!("{now_ms} {micros}\n").as_bytes())
        });
    }

    /// What all calls saved.
    pub fn savings(&self) -> Savings {
        let mut all = Savings::default();
        for (week, when, saved) in self.saving_calls() {
            all.since_ms = Some(all.since_ms.map_or(when, |since| since.min(when)));
            if !saved.is_zero() {
                let sum = all.weeks.entry(week).or_default();
                sum.time = sum.time.saturating_add(saved);
                sum.calls += 1;
            }
        }
        all
    }

    /// What each call saved and when, in milliseconds since 1970, in no order. The first call is among them also
    /// where it saved nothing.
    pub fn saved_by_call(&self) -> Vec<(u64, Duration)> {
        self.saving_calls().map(|(_, when, saved)| (when, saved)).collect()
    }

    /// Week, time and saving of each call.
    fn saving_calls(&self) -> impl Iterator<Item = (String, u64, Duration)> {
        let entries = std::fs::read_dir(self.savings_folder()).into_iter().flatten().flatten();
        entries.flat_map(|entry| {
            let week = entry.file_name().into_string().ok();
            let text = week.as_ref().and_then(|_| std::fs::read(entry.path()).ok());
            let text = String::from_utf8_lossy(&text.unwrap_or_default()).into_owned();
            let week = week.unwrap_or_default();
            let calls: Vec<_> = text.lines().filter_map(call).collect();
            calls.into_iter().map(move |(when, saved)| (week.clone(), when, saved))
        })
    }

    /// Drops all of it.
    pub fn forget_savings(&self) {
        let _ = std::fs::remove_dir_all(self.savings_folder());
    }

    fn savings_folder(&self) -> PathBuf {
        self.dir().join(FOLDER)
    }
}

fn call(line: &str) -> Option<(u64, Duration)> {
    let (when, saved) = line.split_once(' ')?;
    Some((when.parse().ok()?, Duration::from_micros(saved.parse().ok()?)))
}

/// The week of ISO 8601: it belongs to the year that its Thursday is in.
pub(crate) fn week_of(ms: u64) -> String {
    let days = ms / 86_400_000;
    // 1970-01-01 was a Thursday.
    let thursday = days + 3 - (days + 3) % 7;
    let mut year = 1970;
    let mut first = 0;
    loop {
        let leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
        let length = if leap { 366 } else { 365 };
        if thursday < first + length {
            return format!("{year:04}-W{:02}", (thursday - first) / 7 + 1);
        }
        first += length;
        year += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weeks_by_iso_8601() {
        for (seconds, week) in [
            (0, "1970-W01"),
            (1_104_537_600, "2004-W53"), // 2005-01-01, a Saturday
            (1_136_160_000, "2006-W01"), // 2006-01-02, a Monday
            (1_230_768_000, "2009-W01"), // 2009-01-01
            (1_230_508_800, "2009-W01"), // 2008-12-29, a Monday
            (1_262_217_600, "2009-W53"), // 2009-12-31
            (1_795_046_400, "2026-W47"), // 2026-11-19
        ] {
            assert_eq!(week_of(seconds * 1000), week, "{seconds}");
        }
    }

    #[test]
    fn calls_add_up_by_week() {
        let folder = tempfile::tempdir().unwrap();
        let (store, _) = Store::open(folder.path()).unwrap();
        assert_eq!(store.savings(), Savings::default());
        let week = 7 * 86_400_000;
        store.add_saving(week, Duration::ZERO);
        store.add_saving(week + 1, Duration::ZERO);
        store.add_saving(week + 2, Duration::from_secs(3));
        store.add_saving(week + 3, Duration::from_secs(4));
        store.add_saving(2 * week, Duration::from_millis(500));
        let found = store.savings();
        assert_eq!(found.since_ms, Some(week));
        let of = |millis: u64, calls: u64| Saved { time: Duration::from_millis(millis), calls };
        let weeks: Vec<(&str, Saved)> =
            found.weeks.iter().map(|(week, saved)| (week.as_str(), *saved)).collect();
        assert_eq!(weeks, [("1970-W02", of(7000, 2)), ("1970-W03", of(500, 1))]);
        assert_eq!(found.total(), of(7500, 3));
        store.forget_savings();
        assert_eq!(store.savings(), Savings::default());
    }

    #[test]
    fn they_are_for_the_user_alone() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let (store, _) = Store::open(folder.path()).unwrap();
        store.add_saving(1, Duration::from_secs(1));
        let mode = |path: PathBuf| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(folder.path().join(FOLDER)), 0o700);
        assert_eq!(mode(folder.path().join(FOLDER).join("1970-W01")), 0o600);
    }

    #[test]
    fn what_is_no_line_of_ours_counts_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let (store, _) = Store::open(folder.path()).unwrap();
        store.add_saving(1, Duration::from_secs(1));
        let file = folder.path().join(FOLDER).join("1970-W01");
        std::fs::write(&file, b"1 1000000\nx\n\xff 3\n-1 5\n2\n9 9").unwrap();
        assert_eq!(store.savings().total().time, Duration::from_micros(1_000_009));
    }
}
