//! `--shadow` and `--audit`: tests that could be skipped run all the same, to see whether skipping them is right.
//!
//! Which ones these are is chosen in [`crate::checker`]; here is what comes out of it.
//!
//! A test that fails although it could have been skipped, and fails again when it is tried again, is a *miss*. It is
//! kept in the store until `tamis audit --resolve`. One that an audit found turns skipping off for this version of
//! tamis. What is not seen: a failure that comes from outside of all that tamis observes (time, chance, the network)
//! is a miss as well; that is what a check is for.

use crate::call::Call;
use crate::checker::{CheckOption, Checker};
use anyhow::{Context as _, Result};
use std::collections::HashMap;
use tamis_core::{Cause, Check, Decision, Planned, Question, RecordId, TestKey, Value};
use tamis_report::checked::{Checked, Miss, OpenMiss};
use tamis_report::json::replay::AuditLine;
use tamis_report::savings::wall;
use tamis_report::{RunReport, TestReport, checks, excerpt, reason};
use tamis_store::{CheckNumbers, Store};

/// The version that a wire is tripped for.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// How often a test that failed in a check is tried again before it is called a miss.
pub(crate) const TRIES: u32 = 2;

/// Inputs of a failed run that are named in a miss.
const MOST_BESIDES: usize = 10;

/// Chooses what is checked in a call, where it or the settings ask for that.
pub(crate) fn wanted(call: Call<'_>) -> Option<Checker> {
    let by_settings = call.project.settings.everywhere.shadow.then_some(CheckOption::Shadow);
    let which = &call.options.which;
    let option = call.options.check.or(by_settings.filter(|_| !which.all && !which.failed));
    option.map(Checker::new)
}

/// Where a miss was found, nothing is skipped.
pub(crate) fn where_tripped(
    store: Option<&Store>,
    planned: &mut dyn Iterator<Item = &mut Planned>,
) {
    if store.is_some_and(|store| store.is_tripped(VERSION)) {
        for planned in planned.filter(|planned| planned.skips()) {
            planned.decision = Decision::Run(Cause::Tripped);
        }
    }
}

/// Says that skipping is off, where it is.
pub(crate) fn say_tripped(call: Call<'_>, store: Option<&Store>) {
    if store.is_some_and(|store| store.is_tripped(VERSION)) {
        call.notices().warn(
            "skipping is off, everything runs: an audit found a test that would have been skipped and failed; \
             `tamis audit` tells more, `tamis audit --resolve` turns it on again"
                .into(),
        );
    }
}

/// What the run checked; keeps it in the store.
pub(crate) fn finish(call: Call<'_>, store: Option<&Store>, report: &RunReport) -> Option<Checked> {
    let checker = call.check?;
    // A command that would have been skipped hides all that is inside it.
    let (commands, items): (Vec<&TestReport>, Vec<&TestReport>) =
        report.around.iter().partition(|around| around.key.is_command());
    let around = commands.into_iter().find(|around| around.decision.is_checked());
    let is_checked = |test: &&TestReport| {
        test.decision.is_checked() || around.is_some() && test.decision.is_run()
    };
    // An item of a suite is checked like the tests inside it.
    let items = items.into_iter().filter(|item| !report.tests.iter().any(|t| t.key == item.key));
    let tests = report.tests.iter().chain(items);
    let ended: Vec<&TestReport> =
        tests.filter(is_checked).filter(|test| test.outcome.is_some()).collect();
    let (flaky, sure): (Vec<&TestReport>, Vec<&TestReport>) =
        ended.into_iter().partition(|test| test.flaky());
    let failed = sure.iter().filter(|test| test.failed());
    let missed: Vec<Miss> = failed.map(|test| miss(store, test, around)).collect();
    let skipped = report.tests.iter().filter(|test| test.skipped());
    let saved = match around {
        Some(around) => around.wall(),
        None => wall(sure.iter().map(|test| (test.span, test.wall()))),
    };
    let found = Checked {
        check: checker.check().to_string(),
        seed: checker.chance(),
        skippable: sure.len() + flaky.len() + skipped.count(),
        checked: sure.len(),
        skippable_seconds: tamis_report::json::seconds(saved),
        missed,
        flaky: flaky.len(),
    };
    if let Some(store) = store.filter(|store| store.read_only().is_none()) {
        keep(call, store, checker, &found, &sure);
    }
    Some(found)
}

fn keep(call: Call<'_>, store: &Store, checker: &Checker, found: &Checked, tests: &[&TestReport]) {
    let numbers = CheckNumbers {
        checked: tests.len() as u64,
        missed: found.missed.len() as u64,
        flaky: found.flaky as u64,
        ..CheckNumbers::default()
    };
    if numbers.checked + numbers.flaky > 0 {
        store.add_checks(checker.now_ms(), numbers);
    }
    let keys: Vec<&TestKey> = tests.iter().map(|test| &test.key).collect();
    store.set_checked(checker.now_ms(), &keys);
    for (n, miss) in found.missed.iter().enumerate() {
        let open = OpenMiss {
            when_ms: checker.now_ms(),
            tamis: VERSION.into(),
            check: found.check.clone(),
            miss: miss.clone(),
        };
        let name = format!("{:015}-{n:05}", checker.now_ms());
        let bytes = serde_json::to_vec(&open).unwrap_or_default();
        if let Err(error) = store.add_miss(&name, &bytes) {
            call.notices().warn(format!("the miss could not be kept: {error}"));
        }
    }
    if !found.missed.is_empty()
        && checker.check() == Check::Audit
        && let Err(error) = store.trip(VERSION)
    {
        call.notices().warn(format!("skipping could not be turned off: {error}"));
    }
}

/// A miss with its evidence. What a command inside of which it is was believed by counts for it.
fn miss(store: Option<&Store>, test: &TestReport, around: Option<&TestReport>) -> Miss {
    let believed_by = if test.decision.is_checked() { test } else { around.unwrap_or(test) };
    let record = believed_by.decision.proof().map(|(record, _)| record);
    let outcome = test.outcome.map(|outcome| reason::outcome(&test.key, outcome));
    let believed = match std::ptr::eq(believed_by, test) {
        true => reason::believed(test.proof.as_deref(), &test.reason),
        false => format!(
            "{}: {}",
            believed_by.key,
            reason::believed(believed_by.proof.as_deref(), &believed_by.reason)
        ),
    };
    let besides = store.zip(record).filter(|_| std::ptr::eq(believed_by, test));
    Miss {
        test: test.key.to_string(),
        outcome: outcome.unwrap_or_default(),
        believed,
        record: record.map(|record| record.0),
        message: test.output.as_deref().map(excerpt::excerpt).filter(|text| !text.is_empty()),
        besides: besides
            .and_then(|(s, record)| besides_of(s, &test.key, record))
            .unwrap_or_default(),
        changed: Vec::new(),
    }
}

/// What the failed run looked at and the record that was believed does not have, or has otherwise.
fn besides_of(store: &Store, key: &TestKey, believed: RecordId) -> Option<Vec<String>> {
    let newest = store.history(key).ok()?.first()?.id;
    if newest == believed {
        return None;
    }
    let (now, then) = (store.record(newest).ok()??, store.record(believed).ok()??);
    let mut known: HashMap<&Question, Vec<Value>> = HashMap::new();
    for observed in &then.run.observed {
        known
            .entry(&observed.question)
            .or_default()
            .extend([Some(observed.before), observed.after].into_iter().flatten());
    }
    let new = now.run.observed.iter().filter_map(|observed| match known.get(&observed.question) {
        None => Some((observed.question.to_string(), "not looked at then")),
        Some(values) if values.contains(&observed.before) => None,
        Some(_) => Some((observed.question.to_string(), "otherwise then")),
    });
    let mut new: Vec<(String, &str)> = new.collect();
    // What differs first, then the project's own files.
    new.sort_by_key(|(what, how)| (*how == "not looked at then", what.starts_with('/')));
    Some(new.into_iter().take(MOST_BESIDES).map(|(what, how)| format!("{what} ({how})")).collect())
}

/// What all checks of a project say together.
pub fn audit(store: Option<&Store>) -> AuditLine {
    let Some(store) = store else {
        return AuditLine { excluded_percent: 100.0, ..AuditLine::default() };
    };
    let numbers = store.checks();
    AuditLine {
        calls: numbers.calls,
        since_ms: numbers.since_ms,
        checked: numbers.checked,
        checked_tests: store.last_checked().len() as u64,
        missed: numbers.missed,
        flaky: numbers.flaky,
        excluded_percent: checks::excluded_rate(numbers.checked, numbers.missed) * 100.0,
        tripped: store.is_tripped(VERSION),
        open: store
            .misses()
            .iter()
            .filter_map(|bytes| serde_json::from_slice(bytes).ok())
            .collect(),
        ..AuditLine::default()
    }
}

/// Acknowledges all misses; how many there were, and whether skipping was off.
pub fn resolve(store: &Store) -> Result<(usize, bool)> {
    let found = (store.misses().len(), store.is_tripped(VERSION));
    let place = || format!("{} cannot be changed", store.dir().display());
    store.resolve_misses().with_context(place)?;
    Ok(found)
}
