//! From the store, the runs that it keeps and the decisions of now to what the report shows.

use crate::inputs;
use crate::model::{Known, Now, Report, Sources};
use std::collections::HashMap;
use tamis_core::{Cause, Decision, Planned, TestKey};
use tamis_report::TestReport;
use tamis_report::kept::{KeptRun, PastRun};
use tamis_store::StoreError;

/// Reads all that the report shows.
pub fn gather(sources: &Sources<'_>) -> Result<Report, StoreError> {
    let store = sources.store;
    let mut runs: Vec<KeptRun> =
        store.last_runs().iter().filter_map(|bytes| KeptRun::from_bytes(bytes)).collect();
    runs.sort_by_key(|run| std::cmp::Reverse(run.called.at_ms));
    let mut tests = known(sources, &runs)?;
    let commands = commands_around(&runs);
    let (inputs, costs) = inputs::of_tests(sources, &commands, &mut tests)?;
    let mut saved = store.saved_by_call();
    saved.sort_unstable();
    let mut past: Vec<PastRun> =
        store.run_lines().iter().filter_map(|line| PastRun::parse(line)).collect();
    past.sort_by_key(|run| run.at_ms);
    let is_always = |planned: &&Planned| {
        matches!(planned.decision, Decision::Run(Cause::AlwaysRun(_) | Cause::Effect(_)))
    };
    let always = sources.planned.iter().filter(is_always);
    let always =
        always.map(|planned| (planned.key.clone(), TestReport::of(planned).reason)).collect();
    let (project, made_ms) = (sources.project.clone(), sources.now_ms);
    Ok(Report { project, made_ms, runs, tests, inputs, costs, saved, past, always })
}

/// The tests of the store and of the runs.
fn known(sources: &Sources<'_>, runs: &[KeptRun]) -> Result<Vec<Known>, StoreError> {
    let mut now: HashMap<&TestKey, Now> = HashMap::with_capacity(sources.planned.len());
    for planned in sources.planned {
        let why = TestReport::of(planned).reason;
        now.insert(&planned.key, Now { runs: planned.decision.is_run(), why });
    }
    let mut tests = HashMap::new();
    for history in sources.store.histories()? {
        let known = Known {
            now: now.remove(&history.key),
            key: history.key.clone(),
            records: history.records,
            inputs: None,
        };
        tests.insert(history.key, known);
    }
    let without_record = runs.iter().flat_map(|run| &run.tests).map(|test| &test.key);
    let without_record = without_record.chain(sources.planned.iter().map(|planned| &planned.key));
    for key in without_record {
        if !tests.contains_key(key) {
            let known =
                Known { now: now.remove(key), key: key.clone(), records: Vec::new(), inputs: None };
            tests.insert(key.clone(), known);
        }
    }
    let mut tests: Vec<Known> = tests.into_values().collect();
    tests.sort_by(|a, b| a.key.cmp(&b.key));
    Ok(tests)
}

/// The commands whose tests are distinguished: they are no tests beside these.
fn commands_around(runs: &[KeptRun]) -> Vec<&TestKey> {
    let inside = |run: &&KeptRun| run.tests.iter().any(|test| test.key.scope.tool().is_some());
    runs.iter().filter(inside).filter_map(|run| run.called.command.as_ref()).collect()
}
