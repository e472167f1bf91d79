//! Units inside a command: what is wanted of them, which strategy decides, and which are asked for.

use super::{Asked, by_records, parts};
use crate::always_run;
use crate::call::Call;
use crate::checks;
use anyhow::Result;
use std::sync::Arc;
use tamis_core::decide::Demand;
use tamis_core::{Cause, Decision, Evidence, Planned, Strategy, TestKey, Value};
use tamis_project::ScopeFacts;
use tamis_session::{KnownScope, ModuleTests, Plan, PlannedUnit, Request, SessionOptions, Trial};
use tamis_store::Store;

pub(super) fn plan(call: Call<'_>, request: Request<'_>) -> Result<Plan> {
    let keys: Vec<TestKey> =
        request.units.iter().map(|unit| request.scope.key(unit.clone())).collect();
    if let Some(trial) = &request.options.trial {
        return Ok(of_trial(trial, &keys));
    }
    let mut demand = request.demand.clone();
    let mut left_out = None;
    match chosen(&request) {
        Some((ModuleTests::None, why)) => left_out = Some(why),
        Some((ModuleTests::All, why)) => demand = Demand::Module(why),
        Some((ModuleTests::ByRecords, _)) | None => {}
    }
    let mut plan = match (left_out, request.options.strategy) {
        (Some(why), _) => out_of_reach(call, &request, &keys, &why),
        (None, Strategy::Static { calls }) => by_graph(call, &request, &keys, &demand, calls)?,
        (None, _) => by_evidence(call, &request, keys, &demand)?,
    };
    let decided = plan.units.iter_mut().filter_map(|unit| match unit {
        PlannedUnit::Decided(planned, _) => Some(planned.as_mut()),
        PlannedUnit::Done | PlannedUnit::NotAskedFor => None,
    });
    checks::where_tripped(request.store, &mut { decided });
    if request.options.shared_out {
        leave_to_others(call, &request, &mut plan);
    }
    if let Some(checker) = call.check {
        checker.units(request.store, &mut plan);
    }
    Ok(plan)
}

/// In a trial its units run, whatever is known of them, and no others.
fn of_trial(trial: &Trial, keys: &[TestKey]) -> Plan {
    let unit = |key: &TestKey| match trial.units.contains(key) {
        true => {
            let planned = Planned::new(key.clone(), Decision::Run(Cause::Requested));
            PlannedUnit::Decided(Box::new(planned), None)
        }
        false => PlannedUnit::NotAskedFor,
    };
    Plan { units: keys.iter().map(unit).collect(), ..Plan::default() }
}

/// What has to run and is another machine's is not asked for here.
fn leave_to_others(call: Call<'_>, request: &Request<'_>, plan: &mut Plan) {
    let Some(sharding) = &call.options.which.shard else { return };
    let decided = plan.units.iter().map(|unit| match unit {
        PlannedUnit::Decided(planned, _) => Some(planned.as_ref()),
        PlannedUnit::Done | PlannedUnit::NotAskedFor => None,
    });
    let (places, planned): (Vec<usize>, Vec<&Planned>) =
        decided.enumerate().filter_map(|(at, planned)| Some((at, planned?))).unzip();
    let group = format!("{} in {}", request.scope.scope().id(), request.scope.folder());
    let mine = sharding.mine(&group, &planned, request.store, call.notices());
    for (at, _) in places.into_iter().zip(mine).filter(|(_, mine)| !mine) {
        plan.units[at] = PlannedUnit::NotAskedFor;
    }
}

/// What was chosen for the module of a scope.
fn chosen(request: &Request<'_>) -> Option<(ModuleTests, String)> {
    let choice = request.choice?;
    let (tests, why) = choice.of(request.scope.module_name().unwrap_or_default());
    Some((tests, why.to_owned()))
}

/// The tests of a module that is only built because others need it; those that are never skipped run.
fn out_of_reach(call: Call<'_>, request: &Request<'_>, keys: &[TestKey], why: &str) -> Plan {
    let unit = |key: &TestKey| {
        let evidence = Evidence { out_of_reach: Some(why.to_owned()), ..Evidence::default() };
        let planned = match by_settings(call, request, key) {
            Demand::AlwaysRun(pattern) => {
                Planned::new(key.clone(), Decision::Run(Cause::AlwaysRun(pattern)))
            }
            _ => Planned { key: key.clone(), decision: Decision::OutOfReach, evidence },
        };
        PlannedUnit::Decided(Box::new(planned), None)
    };
    Plan { units: keys.iter().map(unit).collect(), ..Plan::default() }
}

fn by_graph(
    call: Call<'_>,
    request: &Request<'_>,
    keys: &[TestKey],
    demand: &Demand,
    calls: bool,
) -> Result<Plan> {
    let Some(decided) = request.scope.by_graph(call.project, keys, calls) else {
        anyhow::bail!("no graph of its classes is known");
    };
    let mut decided = decided?;
    // A graph has no records that anything was kept with.
    run_for_more(request.scope.as_ref(), None, &mut decided.planned);
    let wanted = request.options.wanted(decided.planned.iter().map(|planned| &planned.key));
    let unit = |(mut planned, wanted): (Planned, bool)| {
        if let Some(filtered) = filtered(request.options, &planned.key, wanted) {
            return filtered;
        }
        if let Some(cause) = cause_of(&demand_of(call, request, &planned.key, demand)) {
            planned.decision = Decision::Run(cause);
            planned.evidence.way = None;
        }
        PlannedUnit::Decided(Box::new(planned), None)
    };
    Ok(Plan {
        units: decided.planned.into_iter().zip(wanted).map(unit).collect(),
        graph: Some(decided.strategy),
        remarks: decided.remarks,
    })
}

fn by_evidence(
    call: Call<'_>,
    request: &Request<'_>,
    keys: Vec<TestKey>,
    demand: &Demand,
) -> Result<Plan> {
    let Request { store, scope, options, .. } = *request;
    let asked: Vec<Asked> = keys
        .into_iter()
        .map(|key| Asked { demand: demand_of(call, request, &key, demand), key })
        .collect();
    let facts: Arc<dyn ScopeFacts> = Arc::clone(scope) as _;
    let world = call.world().with_scope(facts);
    let mut planned = by_records(call.project, call.notices(), store, &world, &asked)?;
    planned.iter_mut().for_each(|planned| before_building(scope.as_ref(), planned));
    run_for_more(scope.as_ref(), store, &mut planned);
    let divided = store.filter(|_| options.parts && !options.failed && scope.may_divide());
    let mut plans = match divided {
        Some(store) => parts::plans(call, store, &world, scope.as_ref(), &asked, &planned)?,
        None => Default::default(),
    };
    let wanted = options.wanted(planned.iter().map(|planned| &planned.key));
    let unit = |(planned, wanted): (Planned, bool)| {
        if let Some(filtered) = filtered(options, &planned.key, wanted) {
            return filtered;
        }
        let parts = plans.remove(&planned.key.unit);
        let planned = if options.failed { planned.if_failed() } else { Some(planned) };
        let decided = |planned| PlannedUnit::Decided(Box::new(planned), parts);
        planned.map_or(PlannedUnit::NotAskedFor, decided)
    };
    let units = planned.into_iter().zip(wanted).map(unit).collect();
    Ok(Plan { units, ..Plan::default() })
}

/// Some run although their outcome is proven.
fn run_for_more(scope: &dyn KnownScope, store: Option<&Store>, planned: &mut [Planned]) {
    for (at, why) in scope.wanted_besides(store, planned) {
        planned[at].decision = Decision::Run(Cause::Effect(why));
    }
}

/// A difference that is only that nothing was built yet has words of its own.
fn before_building(scope: &dyn KnownScope, planned: &mut Planned) {
    let Some(difference) = &planned.evidence.difference else { return };
    if difference.is == Value::unbuilt()
        && let Some(why) = scope.unbuilt(&difference.question)
    {
        planned.decision = Decision::Run(Cause::Unbuilt(why));
    }
}

/// What is wanted of one unit: a second try, the user's wish, else the settings'.
fn demand_of(call: Call<'_>, request: &Request<'_>, key: &TestKey, demand: &Demand) -> Demand {
    if request.options.failed_before(key) {
        return Demand::Requested;
    }
    if *demand != Demand::None {
        return demand.clone();
    }
    by_settings(call, request, key)
}

fn by_settings(call: Call<'_>, request: &Request<'_>, key: &TestKey) -> Demand {
    let settings = &call.project.settings;
    match always_run::demand(settings, key) {
        Demand::None => request.scope.demand(settings, &key.unit),
        always => always,
    }
}

/// A unit that is not decided about: it is done, or was not asked for.
fn filtered(options: &SessionOptions, key: &TestKey, wanted: bool) -> Option<PlannedUnit> {
    match () {
        () if options.is_done(key) => Some(PlannedUnit::Done),
        () if !wanted => Some(PlannedUnit::NotAskedFor),
        () => None,
    }
}

fn cause_of(demand: &Demand) -> Option<Cause> {
    match tamis_core::decide::decide(demand, &[], |_| false) {
        Decision::Run(Cause::New) | Decision::Skip { .. } | Decision::OutOfReach => None,
        Decision::Run(cause) => Some(cause),
    }
}
