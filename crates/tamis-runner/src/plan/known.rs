//! Decisions about what earlier runs know, without starting anything: for `select`, `why` and `status`.
//!
//! The units inside commands are decided about scope by scope, by the same plan as in a session. The
//! facts of a scope are those of now: its classes as they are compiled, its packages as they are on disk.

use super::{UnitPlanner, by_records, of_cases};
use crate::call::Call;
use crate::cases::{self, Case};
use crate::modules::chosen_for_all;
use anyhow::Result;
use std::collections::BTreeMap;
use std::sync::Arc;
use tamis_core::decide::Demand;
use tamis_core::{Evidence, Planned, Scope, Strategy, TestKey, Tool, Unit};
use tamis_session::{Choice, KnownScope, PartsPlan, PlannedUnit, Planner, Request};
use tamis_store::Store;

/// Everything that is known: the tests of the suites, the commands that ran before, and the units inside
/// them.
pub fn known(call: Call<'_>, store: Option<&Store>) -> Result<Vec<Planned>> {
    let mut cases = cases::of_suites(call)?;
    let keys = existing(call, store)?;
    let commands = keys.iter().filter(|key| key.is_command());
    cases.extend(commands.map(|key| cases::of_recorded(call.project, key.clone())));
    if call.options.strategy != Strategy::Records && !cases.is_empty() {
        call.remark(format!(
            "commands and items of suites are shown by records: --select {} is for the tests inside",
            call.options.strategy
        ));
    }
    let world = cases::world(call, &cases);
    let mut planned = of_cases(call, store, &world, &cases)?;
    if call.options.which.failed {
        planned = planned.into_iter().filter_map(Planned::if_failed).collect();
    }
    let choice = chosen_for_all(call)?;
    let wanted = Wanted { tool: &|_| true, choice: choice.as_ref(), parts: true };
    planned.extend(units(call, store, &keys, wanted)?);
    let options = call.options.session(true);
    let wanted = options.wanted(planned.iter().map(|planned| &planned.key));
    let mut wanted = wanted.into_iter();
    planned.retain(|_| wanted.next().unwrap_or_default());
    Ok(planned)
}

/// Tests that are known by their keys: those that tamis starts itself with their cases, and units.
pub(crate) fn of_known(
    call: Call<'_>,
    store: &Store,
    cases: &[Case],
    keys: &[TestKey],
) -> Result<Vec<Planned>> {
    let world = cases::world(call, cases);
    let mut planned = of_cases(call, Some(store), &world, cases)?;
    let wanted = Wanted { tool: &|_| true, choice: None, parts: true };
    planned.extend(units(call, Some(store), keys, wanted)?);
    Ok(planned)
}

/// A command and the units inside it: those of now where its front end knows them without running it, else
/// those that earlier runs know.
pub fn of_command(
    call: Call<'_>,
    store: Option<&Store>,
    case: &Case,
    choice: Option<&Choice>,
) -> Result<Vec<Planned>> {
    let cases = std::slice::from_ref(case);
    let world = cases::world(call, cases);
    let mut planned = of_cases(call, store, &world, cases)?;
    if call.options.which.failed {
        planned = planned.into_iter().filter_map(Planned::if_failed).collect();
    }
    let Some(claim) = &case.claim else { return Ok(planned) };
    let tools = claim.tools();
    let tool = &|tool: &Tool| tools.contains(tool);
    let wanted = Wanted { tool, choice, parts: false };
    if let Some(scopes) = claim.units(call.project) {
        for (scope, units) in scopes {
            let keys: Vec<TestKey> = units.into_iter().map(|unit| scope.key(unit)).collect();
            let keys: Vec<&TestKey> = keys.iter().collect();
            planned.extend(of_scope(call, store, &scope, &keys, wanted)?);
        }
        return Ok(planned);
    }
    planned.extend(units(call, store, &existing(call, store)?, wanted)?);
    Ok(planned)
}

/// The units inside an item of a suite that is skipped as a whole: they are skipped with it, on its proof, and stand
/// for it in counts. None where none are known.
pub(crate) fn inside_skipped(
    call: Call<'_>,
    store: Option<&Store>,
    case: &Case,
    item: &Planned,
) -> Result<Vec<Planned>> {
    let Some(claim) = &case.claim else { return Ok(Vec::new()) };
    let folder = claim.folder().map_or(case.folder.clone(), |folder| case.folder.join(folder));
    let is_its = |key: &TestKey| {
        *key != item.key && call.project.root().join(&key.folder).starts_with(&folder)
    };
    let known = of_command(call, store, case, None)?.into_iter();
    let its = known.filter(|planned| is_its(&planned.key));
    Ok(its.map(|unit| Planned { key: unit.key, ..item.clone() }).collect())
}

/// The tests that the store knows and that are not gone.
fn existing(call: Call<'_>, store: Option<&Store>) -> Result<Vec<TestKey>> {
    let mut keys = store.map(recorded).transpose()?.unwrap_or_default();
    call.frontends.retain_existing(call.project, &mut keys);
    Ok(keys)
}

/// The tests that have a record, or had one until the user had them forgotten.
pub(crate) fn recorded(store: &Store) -> Result<Vec<TestKey>> {
    let mut keys: Vec<TestKey> = store.tests()?.into_iter().map(|test| test.key).collect();
    let marks = store.forgotten()?;
    keys.extend(marks.into_iter().map(|mark| mark.key));
    keys.sort();
    keys.dedup();
    Ok(keys)
}

/// One test that is known by its key, as a run would decide about it: a part by its whole where that is
/// enough.
pub fn of_test(call: Call<'_>, store: Option<&Store>, case: &Case) -> Result<Planned> {
    let key = &case.key;
    let Scope::Tool(of) = &key.scope else {
        let cases = std::slice::from_ref(case);
        let world = cases::world(call, cases);
        return Ok(of_cases(call, store, &world, cases)?.remove(0));
    };
    let scopes = call.frontends.scopes(call.project);
    let scope = scopes.iter().find(|s| s.scope() == of && s.folder() == key.folder);
    let Some(scope) = scope else { return alone(call, store, key) };
    let wholes = known_wholes(store, scope.as_ref(), &key.unit)?;
    let Some(whole) = wholes.first() else {
        return match decided(call, store, scope, key, false)? {
            Some((planned, _)) => Ok(planned),
            None => alone(call, store, key),
        };
    };
    let Some((of_whole, parts)) = decided(call, store, scope, whole, true)? else {
        return alone(call, store, key);
    };
    let own = alone(call, store, key)?;
    let by_whole = BTreeMap::from([(whole.unit.clone(), (of_whole, parts))]);
    Ok(of_part(scope.as_ref(), own.clone(), &by_whole).unwrap_or(own))
}

/// The units that a part can belong to, as far as they are known.
fn known_wholes(
    store: Option<&Store>,
    scope: &dyn KnownScope,
    part: &Unit,
) -> Result<Vec<TestKey>> {
    let wholes: Vec<TestKey> =
        scope.wholes_of(part).into_iter().map(|unit| scope.key(unit)).collect();
    if wholes.is_empty() {
        return Ok(wholes);
    }
    let tests = store.map(Store::tests).transpose()?.unwrap_or_default();
    let is_known = |whole: &TestKey| tests.iter().any(|test| test.key == *whole);
    Ok(wholes.into_iter().filter(is_known).collect())
}

/// By its own records alone.
fn alone(call: Call<'_>, store: Option<&Store>, key: &TestKey) -> Result<Planned> {
    let planned = by_themselves(call, store, &[key])?;
    Ok(planned.into_iter().next().expect("one for each that is asked about"))
}

fn decided(
    call: Call<'_>,
    store: Option<&Store>,
    scope: &Arc<dyn KnownScope>,
    key: &TestKey,
    parts: bool,
) -> Result<Option<(Planned, Option<PartsPlan>)>> {
    let mut options = call.options.session(true);
    options.parts = parts;
    let mut units = vec![key.unit.clone()];
    if scope.decides_together() {
        let is_beside = |other: &TestKey| other.scope == key.scope && other.folder == key.folder;
        let beside = existing(call, store)?.into_iter().filter(|o| is_beside(o) && o != key);
        units.extend(beside.map(|o| o.unit).filter(|unit| scope.wholes_of(unit).is_empty()));
    }
    let plan = UnitPlanner(call).plan(Request {
        store,
        scope,
        units: &units,
        demand: &call.options.demand(),
        choice: chosen_for_all(call)?.as_ref(),
        options: &options,
    })?;
    Ok(plan.units.into_iter().next().and_then(|unit| match unit {
        PlannedUnit::Decided(planned, parts) => Some((*planned, parts)),
        PlannedUnit::Done | PlannedUnit::NotAskedFor => None,
    }))
}

/// Which units are asked for, and how.
#[derive(Clone, Copy)]
struct Wanted<'a> {
    tool: &'a dyn Fn(&Tool) -> bool,
    choice: Option<&'a Choice>,
    /// With each part that is known beside its whole.
    parts: bool,
}

/// The units of all scopes of some tools, in the order of their keys.
fn units(
    call: Call<'_>,
    store: Option<&Store>,
    keys: &[TestKey],
    wanted: Wanted<'_>,
) -> Result<Vec<Planned>> {
    let mut by_scope: BTreeMap<(&Scope, &str), Vec<&TestKey>> = BTreeMap::new();
    for key in keys.iter().filter(|key| key.scope.tool().is_some_and(wanted.tool)) {
        by_scope.entry((&key.scope, &key.folder)).or_default().push(key);
    }
    let mut all = Vec::new();
    if by_scope.is_empty() {
        return Ok(all);
    }
    let scopes = call.frontends.scopes(call.project);
    for ((scope, folder), mut keys) in by_scope {
        keys.sort();
        let is_it = |s: &&Arc<dyn KnownScope>| {
            Scope::Tool(s.scope().clone()) == *scope && s.folder() == folder
        };
        match scopes.iter().find(is_it) {
            Some(known) => all.extend(of_scope(call, store, known, &keys, wanted)?),
            None => all.extend(by_themselves(call, store, &keys)?),
        }
    }
    Ok(all)
}

/// By their own records alone.
fn by_themselves(call: Call<'_>, store: Option<&Store>, keys: &[&TestKey]) -> Result<Vec<Planned>> {
    let asked = |key: &&TestKey| super::Asked { key: (*key).clone(), demand: Demand::None };
    let asked: Vec<super::Asked> = keys.iter().map(asked).collect();
    by_records(call.project, call.notices(), store, &call.world(), &asked)
}

fn of_scope(
    call: Call<'_>,
    store: Option<&Store>,
    known: &Arc<dyn KnownScope>,
    keys: &[&TestKey],
    wanted: Wanted<'_>,
) -> Result<Vec<Planned>> {
    known.upper_bound().into_iter().for_each(|why| call.remark(why));
    let mut options = call.options.session(true);
    options.parts |= wanted.parts;
    let is_whole = |key: &&&TestKey| known.wholes_of(&key.unit).is_empty();
    let (wholes, parts): (Vec<&TestKey>, Vec<&TestKey>) = keys.iter().partition(|k| is_whole(k));
    let units: Vec<Unit> = wholes.iter().map(|key| key.unit.clone()).collect();
    let (demand, choice) = (&call.options.demand(), wanted.choice);
    let request = Request { store, scope: known, units: &units, demand, choice, options: &options };
    let plan = UnitPlanner(call).plan(request)?;
    plan.remarks.into_iter().for_each(|remark| call.remark(remark));
    let mut all = Vec::new();
    let mut by_whole: BTreeMap<Unit, (Planned, Option<PartsPlan>)> = BTreeMap::new();
    for unit in plan.units {
        let PlannedUnit::Decided(planned, parts) = unit else { continue };
        let planned = *planned;
        if wanted.parts {
            all.push(planned.clone());
            by_whole.insert(planned.key.unit.clone(), (planned, parts));
        } else if let Some(parts) = parts {
            all.extend(parts.parts.into_values());
        } else {
            all.push(planned);
        }
    }
    if wanted.parts {
        for own in by_themselves(call, store, &parts)? {
            all.extend(of_part(known.as_ref(), own, &by_whole));
        }
        all.sort_by(|a, b| a.key.cmp(&b.key));
    }
    Ok(all)
}

/// What a run would decide about a part: by its whole, unless parts of that one are left out. `None`
/// where the whole is not asked for.
fn of_part(
    scope: &dyn KnownScope,
    own: Planned,
    by_whole: &BTreeMap<Unit, (Planned, Option<PartsPlan>)>,
) -> Option<Planned> {
    let wholes = scope.wholes_of(&own.key.unit);
    let (whole, parts) = wholes.iter().find_map(|whole| by_whole.get(whole))?;
    if let Some(planned) = parts.as_ref().and_then(|plan| plan.parts.get(&own.key.unit)) {
        return Some(planned.clone());
    }
    // Its own proof says more than that of its whole.
    if whole.skips() && own.skips() {
        return Some(own);
    }
    let evidence = Evidence { newest: own.evidence.newest, ..whole.evidence.clone() };
    Some(Planned { key: own.key, decision: whole.decision.clone(), evidence })
}
