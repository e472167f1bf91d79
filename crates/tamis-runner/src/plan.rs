//! The decision about tests. Dry runs, explanations and real runs all come here, and nothing else turns
//! evidence into "run" or "skip".
//!
//! ```text
//! plan        tests that tamis starts itself: bare commands, items of suites
//! plan/units  units inside a command: demands, filters, and the strategies (records, graph, modules)
//! plan/parts  the methods of a test class, where these are distinguished
//! plan/variables  names the variables that are new
//! plan/known  what earlier runs know, for `select`, `why` and `status`
//! ```
//!
//! All of them end in [`by_records`], which asks the store, or in what a graph says. The result is typed
//! ([`Planned`]); words are made of it in `tamis-report` alone.

mod known;
mod parts;
mod units;
mod variables;

pub(crate) use known::{inside_skipped, of_known, recorded};
pub use known::{known, of_command, of_test};
pub(crate) use variables::by_variable;

use crate::call::Call;
use crate::cases::Case;
use crate::checks;
use anyhow::Result;
use tamis_core::decide::Demand;
use tamis_core::{
    Cause, Decision, Difference, Evidence, Note, Notices, Planned, RecordId, RecordSummary, TestKey,
};
use tamis_project::{Project, World, notice_set_aside};
use tamis_report::phases::Phase;
use tamis_session::{Plan, Planner, Request};
use tamis_settings::Contact;
use tamis_store::{Evidence as StoreEvidence, Store};
use variables::NewVariables;

/// A test that is asked about.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) key: TestKey,
    pub(crate) demand: Demand,
}

/// Decides about tests that tamis starts itself, in the order given.
pub(crate) fn of_cases(
    call: Call<'_>,
    store: Option<&Store>,
    world: &World<'_>,
    cases: &[Case],
) -> Result<Vec<Planned>> {
    let asked = |case: &Case| Asked { key: case.key.clone(), demand: case.demand.clone() };
    let asked: Vec<Asked> = cases.iter().map(asked).collect();
    let mut planned = by_records(call.project, call.notices(), store, world, &asked)?;
    if let Some(checker) = call.check {
        let has_units = cases.iter().map(|case| case.claim.is_some());
        checker.cases(store, has_units.zip(&mut planned));
    }
    Ok(planned)
}

/// Which of these tests that tamis starts itself are for this machine, of those that have to run. A command whose tests
/// are distinguished is started by all, and its tests are shared out inside.
pub(crate) fn mine(
    call: Call<'_>,
    store: Option<&Store>,
    cases: &[Case],
    planned: &[Planned],
) -> Vec<bool> {
    let Some(sharding) = &call.options.which.shard else { return vec![true; planned.len()] };
    if let [case] = cases
        && case.key.is_command()
        && case.claim.is_some()
    {
        return vec![true; planned.len()];
    }
    let planned: Vec<&Planned> = planned.iter().collect();
    sharding.mine("the suites", &planned, store, call.notices())
}

/// Decides about the units of a session.
#[derive(Debug, Clone, Copy)]
pub(crate) struct UnitPlanner<'a>(pub(crate) Call<'a>);

impl Planner for UnitPlanner<'_> {
    fn plan(&self, request: Request<'_>) -> Result<Plan> {
        let times = self.0.times;
        times.measure(Phase::Analyse, || units::plan(self.0, request))
    }
}

/// Why the settings of now do not accept a record that knows of no problem itself.
fn refused_by_settings(project: &Project, record: &RecordSummary) -> Option<String> {
    if project.settings.network != Contact::AlwaysRun {
        return None;
    }
    record.notes.iter().find(|n| matches!(n, Note::TalksTo(_))).map(ToString::to_string)
}

/// Decides by what the records say.
fn by_records(
    project: &Project,
    notices: &dyn Notices,
    store: Option<&Store>,
    world: &World<'_>,
    asked: &[Asked],
) -> Result<Vec<Planned>> {
    let Some(store) = store else { return Ok(without_store(asked)) };
    let keys: Vec<TestKey> = asked.iter().map(|asked| asked.key.clone()).collect();
    // Where every test runs in any case, nothing has to be compared.
    let open = asked.iter().any(|asked| asked.demand == Demand::None);
    let complete = |record: &RecordSummary| open && refused_by_settings(project, record).is_none();
    let found = store.evidence(&keys, &complete, &|questions| world.ask(questions));
    let mut planned = match &found {
        Ok(found) => {
            let mut variables = NewVariables::default();
            let mut decide = |(n, asked): (usize, &Asked)| {
                let mut planned = planned(project, found, n, asked);
                variables.name(&mut planned, store, world);
                planned
            };
            named_forgotten(store, asked.iter().enumerate().map(&mut decide).collect())
        }
        Err(error) => {
            // A store that cannot be read must not keep tests from running.
            notices.warn(format!("{error}; everything runs"));
            without_store(asked)
        }
    };
    checks::where_tripped(Some(store), &mut planned.iter_mut());
    notice_set_aside(notices, store.take_set_aside());
    project.notice_troubles(notices);
    Ok(planned)
}

fn planned(project: &Project, found: &StoreEvidence, n: usize, asked: &Asked) -> Planned {
    let records = found.records(n);
    let decision = found.decide(n, &asked.demand);
    let difference = match &decision {
        Decision::Run(Cause::Changed(id)) => found.first_difference(*id).unwrap_or(None),
        _ => None,
    };
    let record = record_of(&decision).and_then(|id| records.iter().find(|r| r.id == id)).cloned();
    let evidence = Evidence {
        newest: records.first().cloned(),
        difference: difference.map(|(question, was, is)| Difference { question, was, is }),
        refused: record.as_ref().and_then(|record| refused_by_settings(project, record)),
        record,
        failed_before: failures_in_a_row(records),
        ..Evidence::default()
    };
    Planned { key: asked.key.clone(), decision, evidence }
}

/// A test without a record that the user had forgotten has run before.
fn named_forgotten(store: &Store, mut planned: Vec<Planned>) -> Vec<Planned> {
    let is_new = |planned: &Planned| planned.decision == Decision::Run(Cause::New);
    if !planned.iter().any(is_new) {
        return planned;
    }
    // Without the marks a reason is poorer, nothing else.
    let marks = store.forgotten().unwrap_or_default();
    for planned in planned.iter_mut().filter(|planned| is_new(planned)) {
        if let Some(mark) = marks.iter().find(|mark| mark.key == planned.key) {
            planned.decision = Decision::Run(Cause::Forgotten(mark.inside.clone()));
        }
    }
    planned
}

/// The record that a decision names.
fn record_of(decision: &Decision) -> Option<RecordId> {
    match decision {
        Decision::Skip { record, .. }
        | Decision::Run(
            Cause::DidNotPass(record, _) | Cause::Incomplete(record) | Cause::Changed(record),
        ) => Some(*record),
        _ => None,
    }
}

/// Without a store everything runs.
fn without_store(asked: &[Asked]) -> Vec<Planned> {
    let run = |asked: &Asked| Planned::new(asked.key.clone(), Decision::Run(Cause::NoStore));
    asked.iter().map(run).collect()
}

fn failures_in_a_row(records: &[RecordSummary]) -> u32 {
    let fails = |r: &&RecordSummary| !r.outcome.passed() && !r.is_flaky();
    records.iter().take_while(fails).count() as u32
}
