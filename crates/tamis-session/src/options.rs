//! What the user wants of the tests inside a command, how they ended in earlier tries of this call, and trials.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use tamis_core::record::Run;
use tamis_core::{Outcome, Strategy, Taint, TestKey, Unit};
use tamis_report::{Reruns, TestReport};
use tamis_settings::{NameFilter, Names};

#[derive(Debug, Clone, Default)]
pub struct SessionOptions {
    pub strategy: Strategy,
    /// Record what the units used; without it, only that one did not pass.
    pub collect: bool,
    /// Only units with such names; all where it is empty.
    pub only: NameFilter,
    /// Only units that did not pass when they last ran.
    pub failed: bool,
    /// How units ended before in this call, where it is a second try.
    pub earlier: Option<Arc<Earlier>>,
    /// Distinguish the parts of units: test methods.
    pub parts: bool,
    /// Several machines share the units out among them, and this one runs its part.
    pub shared_out: bool,
    /// The call is a trial and no run: only its units run, and nothing of it is kept.
    pub trial: Option<Arc<Trial>>,
}

/// Units that run to see how they end without others, or with few of them (`--check-isolation`). A record of that
/// would be true of another surrounding than the one that the user has: none is made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trial {
    pub units: BTreeSet<TestKey>,
    /// Each in a process of its own, where the tool can do that in one call; else in one process together.
    pub apart: bool,
}

impl SessionOptions {
    /// Which of these tests the user asks for by name.
    pub fn wanted<'k>(&self, keys: impl IntoIterator<Item = &'k TestKey>) -> Vec<bool> {
        let keys = keys.into_iter();
        match self.only.is_empty() {
            true => keys.map(|_| true).collect(),
            false => self.only.meant(&keys.map(names).collect::<Vec<Names>>()),
        }
    }

    /// Whether what units use is of interest.
    pub fn observes(&self) -> bool {
        self.collect && !self.is_static()
    }

    pub fn is_static(&self) -> bool {
        matches!(self.strategy, Strategy::Static { .. })
    }

    /// Whether a unit did not pass before in this call.
    pub fn failed_before(&self, key: &TestKey) -> bool {
        self.earlier.as_ref().is_some_and(|earlier| earlier.failed(key))
    }

    /// Whether a unit need not run again in this call.
    pub fn is_done(&self, key: &TestKey) -> bool {
        self.earlier.as_ref().is_some_and(|earlier| earlier.is_done(key))
    }
}

/// What people call a test.
pub fn names(key: &TestKey) -> Names {
    let whole = key.unit.name().into_owned();
    let mut exact = vec![whole.clone(), key.to_string(), key.unit.short_name().into_owned()];
    match &key.unit {
        Unit::Method { method, .. } => exact.push(method.clone()),
        Unit::Class(_) => {}
        Unit::Command(_) | Unit::Item(_) | Unit::Package(_) => {
            let file = whole.rsplit('/').next().unwrap_or_default();
            let stem = file.rsplit_once('.').map_or(file, |(stem, _)| stem);
            exact.extend([file.to_owned(), stem.to_owned()]);
        }
    }
    Names { exact, whole }
}

/// How units ended in the tries before this one.
#[derive(Debug, Clone, Default)]
pub struct Earlier(HashMap<TestKey, EarlierRuns>);

#[derive(Debug, Clone, Copy)]
struct EarlierRuns {
    runs: u32,
    failed: u32,
    /// Of the first failure; nothing where all is well.
    outcome: Option<Outcome>,
}

impl Earlier {
    pub fn of(reports: &[TestReport]) -> Self {
        let runs = |report: &TestReport| {
            let Reruns { runs, failed } = runs_of(report);
            let outcome = report.outcome.filter(|o| !o.passed() && !report.flaky());
            EarlierRuns { runs, failed, outcome }
        };
        let ended = reports.iter().filter(|r| r.outcome.is_some() || r.skipped());
        Self(ended.map(|report| (report.key.clone(), runs(report))).collect())
    }

    /// Whether a unit need not run again: it passed, was skipped, or is known to be flaky.
    pub fn is_done(&self, key: &TestKey) -> bool {
        self.0.get(key).is_some_and(|earlier| earlier.outcome.is_none())
    }

    /// Whether a unit did not pass before.
    pub fn failed(&self, key: &TestKey) -> bool {
        self.0.get(key).is_some_and(|earlier| earlier.outcome.is_some())
    }

    /// A run that passed after a failure, as it is recorded.
    pub fn mark(&self, run: &mut Run) {
        if let Some(EarlierRuns { runs, failed, outcome: Some(outcome) }) = self.0.get(&run.test)
            && run.outcome.passed()
        {
            mark_flaky(run, *outcome, Reruns { runs: runs + 1, failed: *failed });
        }
    }
}

/// The record of a flaky test keeps the failure.
pub fn mark_flaky(run: &mut Run, failure: Outcome, Reruns { runs, failed }: Reruns) {
    run.outcome = failure;
    run.taints.push(Taint::Flaky { failed, runs });
}

/// The runs behind a report.
pub fn runs_of(report: &TestReport) -> Reruns {
    let once = Reruns { runs: 1, failed: u32::from(report.failed()) };
    report.reruns.unwrap_or(once)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tamis_core::{Cause, Decision};

    fn report(name: &str, outcome: Option<Outcome>) -> TestReport {
        let key = TestKey::item("s", name, ".");
        TestReport { outcome, ..TestReport::new(key, Decision::Run(Cause::New), "never run") }
    }

    const FAILED: Option<Outcome> = Some(Outcome::Failed(1));
    const PASSED: Option<Outcome> = Some(Outcome::Passed);

    #[test]
    fn what_runs_again() {
        let mut flaky = report("Flaky", FAILED);
        flaky.reruns = Some(Reruns { runs: 2, failed: 1 });
        let unfinished = report("Stopped", None);
        let reports = [report("Good", PASSED), report("Bad", FAILED), flaky, unfinished];
        let earlier = Earlier::of(&reports);
        let done: Vec<bool> = reports.iter().map(|r| earlier.is_done(&r.key)).collect();
        assert_eq!(done, [true, false, true, false]);
        assert!(earlier.failed(&reports[1].key) && !earlier.failed(&reports[3].key));
    }

    #[test]
    fn the_record_of_a_flaky_test_keeps_the_failure() {
        let earlier = Earlier::of(&[report("A", FAILED)]);
        let mut run = Run {
            test: report("A", None).key,
            outcome: Outcome::Passed,
            started_ms: 0,
            wall_us: 0,
            cpu_us: 0,
            engine: "jvm".into(),
            observed: Vec::new(),
            taints: Vec::new(),
            notes: Vec::new(),
            left_behind: Vec::new(),
        };
        let mut other = run.clone();
        earlier.mark(&mut run);
        assert_eq!(run.outcome, Outcome::Failed(1));
        assert_eq!(run.taints, [Taint::Flaky { failed: 1, runs: 2 }]);
        other.test = report("B", None).key;
        earlier.mark(&mut other);
        assert_eq!(other.outcome, Outcome::Passed);
    }

    #[test]
    fn names_that_are_asked_for() {
        let key = TestKey {
            scope: tamis_core::Scope::Suite("s".into()),
            unit: tamis_core::Unit::Class("com.acme.FooTest".into()),
            folder: ".".into(),
        };
        let item = TestKey::item("s", "tests/api/test_a.py", ".");
        let only = |name: &str| {
            let only = NameFilter::new(vec![name.to_owned()]).unwrap();
            let options = SessionOptions { only, ..SessionOptions::default() };
            options.wanted([&key, &item])
        };
        assert_eq!(SessionOptions::default().wanted([&key, &item]), [true, true]);
        for name in ["FooTest", "Foo*", "com.acme.*", "s::com.acme.FooTest", "acme", "FooTest#x"] {
            assert_eq!(only(name), [true, false], "{name}");
        }
        for name in ["test_a", "test_a.py", "api*", "tests/api", "s::tests/api/test_a.py", "api"] {
            assert_eq!(only(name), [false, true], "{name}");
        }
        assert_eq!(only("BarTest"), [false, false]);
    }
}
