//! Failures that are known: which tests that are not run now did not pass when they last were.
//!
//! A test whose source is gone from the project is no known failure any more.

use crate::call::Call;
use crate::cases::Case;
use std::collections::HashSet;
use tamis_core::{Decision, TestKey, Tool};
use tamis_report::{StillFailing, TestReport, human};
use tamis_session::messages;
use tamis_store::Store;

/// The tests that a call left alone and that did not pass when they last ran: those of `left_out`, those
/// that were not finished, and the units of the tools that were called.
pub(crate) fn still_failing(
    call: Call<'_>,
    store: Option<&Store>,
    cases: &[Case],
    left_out: &[TestKey],
    reports: &[TestReport],
) -> Vec<StillFailing> {
    let Some(store) = store else { return Vec::new() };
    let Ok(tests) = store.not_passed() else { return Vec::new() };
    let settled = reports
        .iter()
        .filter(|r| r.outcome.is_some() || matches!(r.decision, Decision::Skip { .. }))
        .map(|report| &report.key);
    let settled: HashSet<&TestKey> = settled.collect();
    let asked: HashSet<&TestKey> = cases.iter().map(|case| &case.key).chain(left_out).collect();
    let claims = cases.iter().filter_map(|case| case.claim.as_ref());
    let tools: Vec<Tool> = claims.flat_map(|claim| claim.tools()).collect();
    let concerns = |key: &TestKey| {
        let of_tool = || key.scope.tool().is_some_and(|tool| tools.contains(tool));
        asked.contains(key) || of_tool() && call.frontends.may_exist(call.project, key)
    };
    tests
        .into_iter()
        .filter(|test| !settled.contains(&test.key))
        .filter(|test| concerns(&test.key))
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

/// The units of some tools that did not pass when they last ran, where their command is not even
/// started.
pub(crate) fn of_tools(call: Call<'_>, tools: &[Tool]) -> Vec<TestKey> {
    let store = call.existing_store().ok().flatten();
    let Some(Ok(tests)) = store.as_ref().map(Store::not_passed) else { return Vec::new() };
    tests
        .into_iter()
        .map(|test| test.key)
        .filter(|key| key.scope.tool().is_some_and(|tool| tools.contains(tool)))
        .filter(|key| call.frontends.may_exist(call.project, key))
        .collect()
}
