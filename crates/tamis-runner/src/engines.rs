//! The engine that a command line and the settings ask for, and what earlier runs say about it.
//!
//! With `auto`, the cheapest one that works is taken. eBPF reports a call after it was made: a test that
//! reads a file and rewrites it at once cannot be observed completely by it. Such a test is remembered,
//! in the store beside the records, and gets an engine that stops the process at each call from then
//! on: one change costs one run. So do rules by program, which need to know who asks at the moment of the call,
//! and tests that were over quickly last time: to load eBPF's program takes longer than all of their calls.
//! A test that failed last time gets one until it passes: builds clear away what a failed one left without looking at
//! it first, and what that was cannot be seen afterwards. A command with units inside gets such an engine at once, also
//! where another one is asked for: builds do that all the time, and the borders of units are exact then.

use crate::cases::Case;
use crate::options::EngineName;
use anyhow::{Result, anyhow};
use std::collections::HashSet;
use std::time::Duration;
use tamis_core::record::Run;
use tamis_core::{Taint, TestKey};
use tamis_settings::Settings;
use tamis_store::Store;
use tamis_trace::{Engine, Untraced};

/// The name by which the tracer knows it.
fn name(asked: Option<EngineName>, settings: &Settings) -> &'static str {
    use tamis_settings::Engine as Set;
    match (asked, settings.engine) {
        (Some(EngineName::Notify), _) | (None, Set::Notify) => "notify",
        (Some(EngineName::Patch), _) | (None, Set::Patch) => "patch",
        (Some(EngineName::Ebpf), _) | (None, Set::Ebpf) => "ebpf",
        (Some(EngineName::Ptrace), _) | (None, Set::Ptrace) => "ptrace",
        (Some(_), _) | (None, Set::Auto) => "auto",
    }
}

/// What all tests of a run took together where loading eBPF's program would be most of the cost: that takes about
/// 0.1 s of CPU time, and stopping at each call adds a third to a half to what a test takes.
const BRIEF: Duration = Duration::from_millis(150);

/// The engines of one run. One that records nothing is not observed at all.
#[derive(Debug)]
pub(crate) struct Engines {
    usual: Option<Box<dyn Engine>>,
    exact: Option<Box<dyn Engine>>,
    /// The tests for which the processes have to stop at each call.
    stopping: HashSet<TestKey>,
}

impl Engines {
    /// Engines that observe nothing.
    pub(crate) fn none() -> Self {
        Self { usual: Some(Box::new(Untraced)), exact: None, stopping: HashSet::new() }
    }

    /// Makes what these tests need. `failed`: those that did not pass last time. `expected`: how long
    /// they took last time, if all are known.
    pub(crate) fn new(
        asked: Option<EngineName>,
        settings: &Settings,
        store: Option<&Store>,
        tests: &[&Case],
        failed: &HashSet<TestKey>,
        expected: Option<Duration>,
    ) -> Result<Self> {
        let name = name(asked, settings);
        let stopping = match name == "auto" && all_stop(settings, expected) {
            true => tests.iter().map(|case| case.key.clone()).collect(),
            false => stopping(name, store, tests, failed),
        };
        let choose = |name| tamis_trace::choose::choose(name).map_err(|why| anyhow!(why));
        let (mut usual, mut exact) = (None, None);
        if !stopping.is_empty() {
            exact = Some(choose("notify").or_else(|_| choose("ptrace"))?);
        }
        if tests.iter().any(|case| !stopping.contains(&case.key)) {
            usual = Some(choose(name)?);
        }
        Ok(Self { usual, exact, stopping })
    }

    /// The engine for a test.
    pub(crate) fn of(&self, case: &Case) -> &dyn Engine {
        let exact = self.exact.as_deref().filter(|_| self.stopping.contains(&case.key));
        exact.or(self.usual.as_deref()).expect("made for every selected test")
    }
}

/// Whether the processes of all tests stop at each call, where nothing else is asked for.
fn all_stop(settings: &Settings, expected: Option<Duration>) -> bool {
    settings.rules.iter().any(|rule| rule.program.is_some())
        || expected.is_some_and(|expected| expected < BRIEF)
}

/// The tests for which the processes have to stop at each call to be observed completely.
fn stopping(
    name: &str,
    store: Option<&Store>,
    tests: &[&Case],
    failed: &HashSet<TestKey>,
) -> HashSet<TestKey> {
    let too_quick = match (name, store) {
        ("auto", Some(store)) => remembered(store),
        _ => HashSet::new(),
    };
    let by_inside = ["auto", "ebpf", "patch"].contains(&name);
    let must_stop = |case: &&&Case| {
        by_inside && case.claim.is_some()
            || name == "auto" && failed.contains(&case.key)
            || too_quick.contains(&stored_name(&case.key))
    };
    tests.iter().filter(must_stop).map(|case| case.key.clone()).collect()
}

/// Under which kind the store keeps the tests that were too quick.
const KIND: &str = "stopping-engine";

/// Remembers a test that an engine which reports afterwards could not observe completely.
pub(crate) fn remember(store: &Store, run: &Run) {
    if was_too_quick(run) {
        // Forgotten, it costs one run more.
        let _ = store.keep(KIND, &stored_name(&run.test), b"");
    }
}

fn remembered(store: &Store) -> HashSet<String> {
    let kept = store.kept(KIND).unwrap_or_default();
    kept.into_iter().map(|(name, _)| name).collect()
}

/// Different tests have different names.
fn stored_name(test: &TestKey) -> String {
    let (scope, unit) = (test.scope.to_stored(), test.unit.to_stored());
    format!("{}:{scope}{}:{unit}{}", scope.len(), unit.len(), test.folder)
}

/// Whether an engine that stops the process at each call would have seen more.
fn was_too_quick(run: &Run) -> bool {
    let would_be_seen = |taint: &Taint| {
        matches!(
            taint,
            Taint::ChangedBeforeSeen(_)
                | Taint::Unstable(_)
                | Taint::Unresolved(_)
                | Taint::LostEvents(_)
                | Taint::IoUring(_)
        )
    };
    ["ebpf", "patch"].contains(&run.engine.as_str()) && run.taints.iter().any(would_be_seen)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tamis_core::{Outcome, PortablePath};

    fn run(engine: &str, item: &str, taints: Vec<Taint>) -> Run {
        Run {
            test: TestKey::item("s", item.to_owned(), "."),
            outcome: Outcome::Passed,
            started_ms: 1,
            wall_us: 1,
            cpu_us: 1,
            engine: engine.into(),
            observed: Vec::new(),
            taints,
            notes: Vec::new(),
            left_behind: Vec::new(),
        }
    }

    #[test]
    fn a_test_that_was_too_quick_is_remembered() {
        let folder = tempfile::tempdir().unwrap();
        let (store, _) = Store::open(folder.path()).unwrap();
        let changed = || vec![Taint::ChangedBeforeSeen(PortablePath::from_stored("data"))];
        remember(&store, &run("ebpf", "quick", changed()));
        remember(&store, &run("patch", "lost", vec![Taint::LostEvents(3)]));
        remember(&store, &run("notify", "exact", changed()));
        remember(&store, &run("ebpf", "complete", Vec::new()));
        remember(&store, &run("ebpf", "stdin", vec![Taint::StandardInput]));
        // A later run says nothing against it.
        remember(&store, &run("notify", "quick", Vec::new()));
        let known = remembered(&store);
        let is_known = |item: &str| known.contains(&stored_name(&run("", item, vec![]).test));
        assert!(is_known("quick") && is_known("lost"));
        assert!(!is_known("exact") && !is_known("complete") && !is_known("stdin"));
    }

    #[test]
    fn for_what_was_over_quickly_no_program_is_loaded() {
        let settings = Settings::default();
        assert!(all_stop(&settings, Some(Duration::from_millis(20))));
        assert!(!all_stop(&settings, Some(Duration::from_millis(400))));
        assert!(!all_stop(&settings, None), "a first run may be long");
    }

    #[test]
    fn different_tests_have_different_names() {
        let named = |scope: &str, item: &str, folder: &str| {
            stored_name(&TestKey::item(scope, item.to_owned(), folder))
        };
        assert_ne!(named("a", "b", "c"), named("a", "bc", ""));
        assert_ne!(named("ab", "c", "."), named("a", "bc", "."));
    }
}
