//! Failures that are known: which tests that are not run now did not pass when they last were.
//!
//! A test is named only if all of this is so:
//!
//! * its newest record did not pass, and no older one proves that it would pass as things are now (a change that
//!   broke it and was taken back);
//! * it may still be there: its source, its package, its item is not gone;
//! * it belongs to what was called: an item of the suites, or a unit of a command's tool in that command's
//!   folders. The units of a command that is skipped as a whole are proven by that.

use crate::call::Call;
use crate::cases::Case;
use crate::options::{RunOptions, Which};
use crate::plan;
use std::collections::HashSet;
use std::path::PathBuf;
use tamis_core::{Decision, Planned, Strategy, Taint, TestKey, Tool};
use tamis_report::{StillFailing, TestReport, human};
use tamis_session::{ScopeUnits, messages};
use tamis_store::{Store, TestSummary};

/// What belongs to a call and is left alone by it.
#[derive(Debug, Default)]
pub(crate) struct LeftOut {
    /// Tests that the user did not ask for.
    pub(crate) cases: Vec<Case>,
    /// The tools of a command that is not even started.
    pub(crate) tools: Vec<Tool>,
}

/// The tests that a call left alone and that are known to fail.
pub(crate) fn still_failing(
    call: Call<'_>,
    store: Option<&Store>,
    cases: &[Case],
    left_out: &LeftOut,
    reports: &[TestReport],
) -> Vec<StillFailing> {
    let Some(store) = store else { return Vec::new() };
    let failing = known(call, store, cases, left_out, reports).into_iter();
    failing
        .map(|test| StillFailing {
            message: messages::load(store, &test.key),
            outcome: test.last.outcome,
            flaky: test.last.is_flaky(),
            record: test.last.id,
            when: human::ago(test.last.started_ms),
            key: test.key,
        })
        .collect()
}

/// Whether a command, or a test inside it, is known to fail.
pub(crate) fn any(call: Call<'_>, store: &Store, case: &Case) -> bool {
    !known(call, store, std::slice::from_ref(case), &LeftOut::default(), &[]).is_empty()
}

fn known(
    call: Call<'_>,
    store: &Store,
    cases: &[Case],
    left_out: &LeftOut,
    reports: &[TestReport],
) -> Vec<TestSummary> {
    let settled = reports
        .iter()
        .filter(|r| r.outcome.is_some() || matches!(r.decision, Decision::Skip { .. }))
        .map(|report| &report.key);
    let settled: HashSet<&TestKey> = settled.collect();
    let asked: Vec<&Case> = cases.iter().chain(&left_out.cases).collect();
    let reach = reach(call, &asked, left_out, &settled, reports);
    let concerns = |key: &TestKey| match key.scope.tool() {
        Some(tool) => {
            let folder = call.project.root().join(&key.folder);
            reach.iter().any(|(of, at)| of == tool && folder.starts_with(at))
        }
        None => asked.iter().any(|case| case.key == *key),
    };
    // A command that failed by its tests is known by them.
    let by_tests = |test: &TestSummary| {
        let is_claimed = asked.iter().any(|case| case.key == test.key && case.claim.is_some());
        is_claimed && test.last.taints.iter().any(|t| matches!(t, Taint::FailedInside(_)))
    };
    let tests = store.not_passed().unwrap_or_default().into_iter();
    let mut failed: Vec<TestSummary> = tests
        .filter(|test| !settled.contains(&test.key))
        .filter(|test| concerns(&test.key) && !by_tests(test))
        .collect();
    if !failed.is_empty() {
        leave_to_others(call, &asked, &mut failed);
        let open = not_proven(call, store, &asked, &failed);
        failed.retain(|test| open.contains(&test.key));
    }
    without_parts(call, failed)
}

/// Where the units of a call are: the tools of its commands, each with a folder. A command that is skipped by a
/// record proves the units inside it; one that ran has units of its own.
fn reach(
    call: Call<'_>,
    asked: &[&Case],
    left_out: &LeftOut,
    settled: &HashSet<&TestKey>,
    reports: &[TestReport],
) -> Vec<(Tool, PathBuf)> {
    let is_skipped = |key: &TestKey| {
        let skips = |r: &TestReport| matches!(r.decision, Decision::Skip { .. });
        settled.contains(key) && reports.iter().any(|r| r.key == *key && skips(r))
    };
    let open = asked.iter().filter(|case| !is_skipped(&case.key));
    let claimed = open.filter_map(|case| Some((case, case.claim.as_ref()?)));
    let of_claims = claimed.flat_map(|(case, claim)| {
        let named = claim.folder().map(|folder| case.folder.join(folder));
        // Links and `..` on the way.
        let folder = named.and_then(|named| named.canonicalize().ok());
        let folder = folder.unwrap_or_else(|| case.folder.clone());
        claim.tools().into_iter().map(move |tool| (tool, folder.clone()))
    });
    let others = left_out.tools.iter().map(|tool| (tool.clone(), call.project.folder.clone()));
    of_claims.chain(others).collect()
}

/// Takes units out that no command of this call runs, where the commands know theirs.
fn leave_to_others(call: Call<'_>, asked: &[&Case], failed: &mut Vec<TestSummary>) {
    let claims: Vec<_> = asked.iter().filter_map(|case| case.claim.as_ref()).collect();
    let mut own: HashSet<TestKey> = HashSet::new();
    for claim in &claims {
        let Some(scopes) = claim.units(call.project) else { return };
        let keys = |(scope, units): ScopeUnits| {
            units.into_iter().map(move |unit| scope.key(unit)).collect::<Vec<_>>()
        };
        own.extend(scopes.into_iter().flat_map(keys));
    }
    if !claims.is_empty() {
        failed.retain(|test| test.key.scope.tool().is_none() || own.contains(&test.key));
    }
}

/// Those that may still be there and that no record proves to pass now.
fn not_proven(
    call: Call<'_>,
    store: &Store,
    asked: &[&Case],
    failed: &[TestSummary],
) -> HashSet<TestKey> {
    // Whatever the user wishes of this run: what do the records say?
    let which = Which { parts: call.options.which.parts, ..Which::default() };
    let options = RunOptions { strategy: Strategy::Records, which, ..call.options.clone() };
    let call = Call { options: &options, ..call };
    let mut keys: Vec<TestKey> = failed.iter().map(|test| test.key.clone()).collect();
    call.frontends.retain_existing(call.project, &mut keys);
    let cases: Vec<Case> =
        asked.iter().filter(|case| keys.contains(&case.key)).map(|case| (*case).clone()).collect();
    let wholes = keys.iter().flat_map(|key| {
        let units = call.frontends.wholes_of(key).into_iter();
        units.map(|unit| TestKey { unit, ..key.clone() })
    });
    let mut units: Vec<TestKey> = keys.iter().cloned().chain(wholes).collect();
    units.sort();
    units.dedup();
    let planned = plan::of_known(call, store, &cases, &units);
    let proven: HashSet<TestKey> = match planned {
        Ok(planned) => planned.into_iter().filter(Planned::skips).map(|p| p.key).collect(),
        // What cannot be decided about is named: it did fail.
        Err(_) => HashSet::new(),
    };
    keys.into_iter().filter(|key| !proven.contains(key)).collect()
}

/// A part of a unit that is named itself says nothing more.
fn without_parts(call: Call<'_>, failed: Vec<TestSummary>) -> Vec<TestSummary> {
    let named: HashSet<TestKey> = failed.iter().map(|test| test.key.clone()).collect();
    let whole_is_named = |key: &TestKey| {
        let mut wholes = call.frontends.wholes_of(key).into_iter();
        wholes.any(|unit| named.contains(&TestKey { unit, ..key.clone() }))
    };
    failed.into_iter().filter(|test| !whole_is_named(&test.key)).collect()
}
