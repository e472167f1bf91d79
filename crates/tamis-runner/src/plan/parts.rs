//! The parts of units, test methods: what the records say about those of a test class.
//!
//! Which parts a unit has is known only from its runner. So the record of each names the others beside it,
//! and holds all that decides about that: while it holds, these are all.
//!
//! The whole comes first. Where a record of it proves that it need not run, its parts are not asked
//! about. Where it did not pass in this state, all of it runs, unless the records of its parts are of the
//! same run and say which of them failed. A failure of the whole that is newer than everything known about
//! its parts counts for all of them.

use super::{Asked, by_records};
use crate::call::Call;
use anyhow::Result;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use tamis_core::decide::Demand;
use tamis_core::{Cause, Decision, Planned, RecordId, TestKey, Unit};
use tamis_project::World;
use tamis_session::{KnownScope, PartsPlan};
use tamis_store::Store;

/// What is known about the parts of these units, by unit.
pub(super) fn plans(
    call: Call<'_>,
    store: &Store,
    world: &World<'_>,
    scope: &dyn KnownScope,
    asked: &[Asked],
    planned: &[Planned],
) -> Result<HashMap<Unit, PartsPlan>> {
    let both = asked.iter().zip(planned).filter(|(asked, planned)| may_divide(asked, planned));
    let wholes: HashMap<&TestKey, &Planned> = both.map(|(a, planned)| (&a.key, planned)).collect();
    let mut found: Vec<(TestKey, Asked)> = Vec::new();
    if wholes.is_empty() {
        return Ok(HashMap::new());
    }
    for test in store.tests()? {
        let key = |unit| TestKey { unit, ..test.key.clone() };
        let mut of = scope.wholes_of(&test.key.unit).into_iter().map(key);
        if let Some(whole) = of.find(|whole| wholes.contains_key(whole)) {
            found.push((whole, Asked { key: test.key, demand: Demand::None }));
        }
    }
    let (of, asked): (Vec<TestKey>, Vec<Asked>) = found.into_iter().unzip();
    let planned = by_records(call.project, call.notices(), Some(store), world, &asked)?;
    let mut known: HashMap<TestKey, BTreeMap<Unit, Planned>> = HashMap::new();
    for (whole, planned) in of.into_iter().zip(planned) {
        known.entry(whole).or_default().insert(planned.key.unit.clone(), planned);
    }
    let mut plans = HashMap::new();
    for (whole, parts) in known {
        let of_whole = wholes[&whole];
        let newest = of_whole.evidence.newest.as_ref();
        let failed = newest.filter(|newest| !newest.outcome.passed()).map(|newest| newest.id);
        let Some(plan) = plan_of(store, scope, parts, failed)? else { continue };
        // Where no part failed, the whole did by itself.
        if did_not_pass(of_whole) && !plan.parts.values().any(did_not_pass) {
            continue;
        }
        plans.insert(whole.unit, plan);
    }
    Ok(plans)
}

fn did_not_pass(planned: &Planned) -> bool {
    matches!(planned.decision, Decision::Run(Cause::DidNotPass(..)))
}

/// Whether parts may be left out of a unit about which this was decided.
fn may_divide(asked: &Asked, planned: &Planned) -> bool {
    let Decision::Run(cause) = &planned.decision else { return false };
    let newest = planned.evidence.newest.as_ref().map(|newest| newest.id);
    asked.demand == Demand::None
        && match cause {
            // What is not built yet is an answer like others: parts that asked for none of it may be left out.
            Cause::New | Cause::Changed(_) | Cause::Incomplete(_) | Cause::Unbuilt(_) => true,
            Cause::DidNotPass(record, _) => Some(*record) == newest,
            _ => false,
        }
}

fn plan_of(
    store: &Store,
    scope: &dyn KnownScope,
    mut parts: BTreeMap<Unit, Planned>,
    failed: Option<RecordId>,
) -> Result<Option<PartsPlan>> {
    let newest = parts.values().filter_map(|p| Some(p.evidence.newest.as_ref()?.id)).max();
    if failed > newest {
        return Ok(None);
    }
    let mut all: Option<BTreeSet<Unit>> = None;
    for (unit, planned) in &parts {
        let Decision::Skip { record, .. } = planned.decision else { continue };
        let Some(stored) = store.record(record)? else { return Ok(None) };
        let siblings = stored.run.observed.iter().filter_map(|o| scope.sibling(&o.question));
        let together: BTreeSet<Unit> = siblings.chain([unit.clone()]).collect();
        if all.as_ref().is_some_and(|all| *all != together) {
            return Ok(None);
        }
        all = Some(together);
    }
    let Some(all) = all else { return Ok(None) };
    parts.retain(|unit, _| all.contains(unit));
    Ok((parts.len() == all.len()).then_some(PartsPlan { parts }))
}
