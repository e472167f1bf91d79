//! The decisions about a list of tests. Dry runs, explanations and real runs all come here.

use crate::cases::Case;
use crate::project::Project;
use crate::reason;
use crate::world::World;
use anyhow::Result;
use std::time::Duration;
use tamis_core::decide::Demand;
use tamis_core::{Cause, Decision, Note, TestKey};
use tamis_report::TestReport;
use tamis_report::human;
use tamis_settings::Contact;
use tamis_store::{RecordSummary, Store};

/// A test with its decision.
#[derive(Debug)]
pub(crate) struct Planned {
    pub(crate) report: TestReport,
    /// How long its newest run took, to start long ones first.
    pub(crate) expected: Duration,
    /// The newest record, where there is one.
    pub(crate) newest: Option<RecordSummary>,
}

/// Why the settings of now do not accept a record that knows of no problem itself.
pub(crate) fn refused_by_settings(project: &Project, record: &RecordSummary) -> Option<String> {
    if project.settings.network != Contact::AlwaysRun {
        return None;
    }
    record.notes.iter().find(|n| matches!(n, Note::TalksTo(_))).map(ToString::to_string)
}

/// Decides about tests, in the order given.
pub(crate) fn decide(
    project: &Project,
    store: Option<&Store>,
    world: &World<'_>,
    cases: &[Case],
) -> Result<Vec<Planned>> {
    let Some(store) = store else {
        return Ok(cases.iter().map(undecided).collect());
    };
    let keys: Vec<TestKey> = cases.iter().map(|c| c.key.clone()).collect();
    // Where every test runs in any case, nothing has to be compared.
    let open = cases.iter().any(|case| case.demand == Demand::None);
    let complete = |record: &RecordSummary| open && refused_by_settings(project, record).is_none();
    let evidence = match store.evidence(&keys, &complete, &|questions| world.ask(questions)) {
        Ok(evidence) => evidence,
        Err(error) => {
            // A store that cannot be read must not keep tests from running.
            eprintln!("tamis: {error}; everything runs");
            crate::project::tell_set_aside(store.take_set_aside());
            return Ok(cases.iter().map(undecided).collect());
        }
    };
    let mut planned = Vec::with_capacity(cases.len());
    for (n, case) in cases.iter().enumerate() {
        let records = evidence.records(n);
        let decision = evidence.decide(n, &case.demand);
        let mut report = match &decision {
            Decision::Run(cause) => {
                let first = match cause {
                    Cause::Changed(id) => evidence.first_difference(*id).unwrap_or(None),
                    _ => None,
                };
                let refused = |r: &RecordSummary| refused_by_settings(project, r);
                let reason = reason::cause(cause, records, first, refused);
                TestReport::new(case.key.clone(), decision.clone(), reason)
            }
            Decision::OutOfReach => {
                TestReport::new(case.key.clone(), decision.clone(), "it reaches no change")
            }
            Decision::Skip { record, .. } => {
                let reason = "nothing it looked at has changed";
                let mut report = TestReport::new(case.key.clone(), decision.clone(), reason);
                if let Some(proof) = records.iter().find(|r| r.id == *record) {
                    let inputs = human::counted(u64::from(proof.inputs), "input", "inputs");
                    report.proof = Some(format!("record {record}, {inputs}"));
                    report.inputs = Some(u64::from(proof.inputs));
                    report.saved = Duration::from_micros(proof.wall_us);
                    report.notes = proof.notes.iter().map(ToString::to_string).collect();
                }
                report
            }
        };
        report.failed_before = failures_in_a_row(records);
        planned.push(Planned {
            report,
            expected: records.first().map_or(Duration::MAX, |r| Duration::from_micros(r.wall_us)),
            newest: records.first().cloned(),
        });
    }
    crate::project::tell_set_aside(store.take_set_aside());
    Ok(planned)
}

/// Only the tests that did not pass when they last ran, and those run.
pub(crate) fn only_failed(cases: &[Case], planned: Vec<Planned>) -> (Vec<Case>, Vec<Planned>) {
    let both = cases.iter().cloned().zip(planned);
    both.filter_map(|(case, planned)| Some((case, planned.again_if_failed()?))).unzip()
}

impl Planned {
    /// To run whatever else the records say, where the newest run did not pass; else nothing.
    pub(crate) fn again_if_failed(mut self) -> Option<Self> {
        let newest = self.newest.as_ref().filter(|newest| !newest.outcome.passed())?;
        if !self.report.decision.is_run() {
            let cause = Cause::DidNotPass(newest.id, newest.outcome);
            self.report.reason =
                reason::cause(&cause, std::slice::from_ref(newest), None, |_| None);
            self.report.decision = Decision::Run(cause);
            self.report.proof = None;
            self.report.saved = Duration::ZERO;
        }
        Some(self)
    }
}

/// Without a store everything runs.
fn undecided(case: &Case) -> Planned {
    let decision = Decision::Run(Cause::NoStore);
    let reason = reason::cause(&Cause::NoStore, &[], None, |_| None);
    Planned {
        report: TestReport::new(case.key.clone(), decision, reason),
        expected: Duration::MAX,
        newest: None,
    }
}

fn failures_in_a_row(records: &[RecordSummary]) -> u32 {
    let fails = |r: &&RecordSummary| !r.outcome.passed() && !r.is_flaky();
    records.iter().take_while(fails).count() as u32
}
