//! What calls save, beside the records: how long a command takes with all that is inside it, and the sum of all
//! calls.
//!
//! What the word means is in `tamis_report::savings`. The record of a command in which tests were skipped is that
//! of a short run; skipping the command as a whole saves what these tests would have taken as well.

use std::collections::HashMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tamis_core::{Decision, Planned, RecordId, TestKey};
use tamis_report::TestReport;
use tamis_report::json::status::{SavingsLine, TimesLine, WeekOfSavings};
use tamis_report::json::{Version, seconds};
use tamis_report::phases::PhaseTimes;
use tamis_report::savings::wall;
use tamis_store::{Saved, Store};

/// What full times are kept as, beside the records; by the number of the record.
const KIND: &str = "full-time";

/// Full times that are kept at most; those of the oldest records go first.
const MOST: usize = 64;

/// What was decided, in words, with all that a skip saves.
pub(crate) fn reports_of(store: Option<&Store>, planned: &[Planned]) -> Vec<TestReport> {
    // Few commands have one, and there may be a million tests: they are read once.
    let full = store.map(full_times).unwrap_or_default();
    let report = |planned: &Planned| {
        let mut report = TestReport::of(planned);
        if let Decision::Skip { record, .. } = &planned.decision
            && let Some(full) = full.get(record)
        {
            report.saved = report.saved.max(*full);
        }
        report
    };
    planned.iter().map(report).collect()
}

/// Remembers how long a command takes with the tests that were skipped inside it.
pub(crate) fn keep_full_time(
    store: &Store,
    command: &TestKey,
    report: &TestReport,
    inside: &[TestReport],
) {
    let skipped = inside.iter().filter(|test| test.skipped());
    let left_out = wall(skipped.map(|test| (test.span, test.saved)));
    if left_out.is_zero() {
        return;
    }
    let full = report.wall().saturating_add(left_out).as_micros().to_string();
    // Without it a figure is too small, nothing else.
    let Ok(records) = store.history(command) else { return };
    if let Some(newest) = records.first() {
        let _ = store.keep(KIND, &name(newest.id), full.as_bytes());
    }
    let kept = store.kept(KIND).unwrap_or_default();
    let old = kept.len().saturating_sub(MOST);
    for (name, _) in kept.iter().take(old) {
        let _ = store.drop_kept(KIND, name);
    }
}

fn full_times(store: &Store) -> HashMap<RecordId, Duration> {
    let kept = store.kept(KIND).unwrap_or_default();
    let time = |bytes: &[u8]| std::str::from_utf8(bytes).ok()?.parse().ok();
    let full = kept.iter().filter_map(|(name, bytes)| {
        Some((RecordId(name.parse().ok()?), Duration::from_micros(time(bytes)?)))
    });
    full.collect()
}

/// In the order of numbers.
fn name(record: RecordId) -> String {
    format!("{:010}", record.0)
}

/// Adds what a call took.
pub(crate) fn add_times(store: &Store, times: PhaseTimes) {
    store.add_times(now_ms(), times.named().map(|(_, time)| time));
}

/// What all calls saved together; nothing where there was no run.
pub fn saved(store: &Store) -> Option<SavingsLine> {
    let savings = store.savings();
    let total = savings.total();
    let week = |(week, saved): (&String, &Saved)| WeekOfSavings {
        week: week.clone(),
        saved_seconds: seconds(saved.time),
        calls: saved.calls,
    };
    Some(SavingsLine {
        version: Version,
        since_ms: savings.since_ms?,
        saved_seconds: seconds(total.time),
        calls: total.calls,
        weeks: savings.weeks.iter().map(week).collect(),
    })
}

/// What all calls took together; nothing where there was no run.
pub fn took(store: &Store) -> Option<TimesLine> {
    let (calls, [analyse, build, run, collect, overhead]) = store.times();
    let phases = PhaseTimes { analyse, build, run, collect, overhead };
    (calls > 0).then(|| TimesLine { version: Version, calls, phases: phases.into() })
}

/// Adds what a call saved.
pub(crate) fn add(store: &Store, saved: Duration) {
    store.add_saving(now_ms(), saved);
}

fn now_ms() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_millis()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tamis_core::Outcome;
    use tamis_core::record::{ProofId, Run};
    use tamis_report::savings::Span;

    fn run(key: &TestKey) -> Run {
        Run {
            test: key.clone(),
            outcome: Outcome::Passed,
            started_ms: 5,
            wall_us: 2_000,
            cpu_us: 0,
            engine: "x".into(),
            observed: Vec::new(),
            taints: Vec::new(),
            notes: Vec::new(),
            left_behind: Vec::new(),
        }
    }

    fn skipped(began_ms: u64, length: Duration) -> TestReport {
        let decision = Decision::Skip { record: RecordId(1), proof: ProofId(1) };
        let key = TestKey::item("s", "x", ".");
        let span = Span { began_ms, length };
        TestReport { span, saved: length, ..TestReport::new(key, decision, "same") }
    }

    #[test]
    fn a_command_saves_what_was_left_out_of_its_record() {
        let folder = tempfile::tempdir().unwrap();
        let (store, _) = Store::open(folder.path()).unwrap();
        let key = TestKey::command("mvn test", ".");
        let record = store.append(&run(&key)).unwrap();
        let mut report = TestReport::new(key.clone(), Decision::OutOfReach, "");
        report.ended(&run(&key));
        let second = Duration::from_secs(1);
        // Two of them ran at the same time.
        let inside = [skipped(1_000, second), skipped(1_000, second), skipped(9_000, second)];
        keep_full_time(&store, &key, &report, &inside);
        let expected = Some(Duration::from_micros(2_002_000));
        assert_eq!(full_times(&store).get(&record).copied(), expected);
        let planned = Planned::new(key, Decision::Skip { record, proof: ProofId(1) });
        assert_eq!(
            Some(reports_of(Some(&store), std::slice::from_ref(&planned))[0].saved),
            expected
        );
        assert_eq!(full_times(&store).len(), 1);
    }

    #[test]
    fn old_full_times_go_first() {
        let folder = tempfile::tempdir().unwrap();
        let (store, _) = Store::open(folder.path()).unwrap();
        let key = TestKey::command("mvn test", ".");
        let report = TestReport::new(key.clone(), Decision::OutOfReach, "");
        let inside = [skipped(0, Duration::from_secs(1))];
        let mut records = Vec::new();
        for _ in 0..MOST + 2 {
            records.push(store.append(&run(&key)).unwrap());
            keep_full_time(&store, &key, &report, &inside);
        }
        let known = |n: usize| full_times(&store).contains_key(&records[n]);
        assert_eq!((known(1), known(2), known(MOST + 1)), (false, true, true));
    }
}
