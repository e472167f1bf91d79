//! Test methods: what the records say about those of a test class (`--granularity method`).
//!
//! A test method is a test of its own, `a.FooTest#bar` beside `a.FooTest`. Which methods a class has is
//! known only from its runner. So the record of each names the others beside it, and holds the headers of
//! all classes that decide about it: while it holds, these are all.
//!
//! The test class comes first. Where a record of the whole class proves that it need not run, nobody asks
//! about methods. Where it did not pass in this state, all of it runs, unless the records of its methods
//! are of the same run and say which of them failed. A failure of the whole class that is newer than
//! everything known about its methods counts for all of them.

use crate::cases::{self, Case};
use crate::jvm::goal::GoalFacts;
use crate::plan::{self, Planned};
use crate::project::Project;
use crate::world::World;
use anyhow::Result;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use tamis_core::decide::Demand;
use tamis_core::{Cause, Decision, Question, RecordId, TestKey};
use tamis_dynamic::{Fact, FactKind as Kind, outermost};
use tamis_store::Store;

/// The methods of one test class, as far as records know them.
#[derive(Debug, Default)]
pub(crate) struct MethodPlan {
    /// All of them, with what is decided about each.
    pub(crate) methods: BTreeMap<String, Planned>,
}

impl MethodPlan {
    pub(crate) fn skips_all(&self) -> bool {
        self.methods.values().all(|planned| planned.report.skipped())
    }

    pub(crate) fn skipped(&self) -> usize {
        self.methods.values().filter(|planned| planned.report.skipped()).count()
    }

    pub(crate) fn is_of(&self, methods: &BTreeSet<String>) -> bool {
        self.methods.len() == methods.len() && methods.iter().all(|m| self.methods.contains_key(m))
    }
}

/// Whether a test is a method of a test class.
pub(crate) fn is_method(name: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '.' | '$' | '_');
    name.split_once('#').is_some_and(|(class, method)| {
        class.chars().all(is_part) && !class.is_empty() && !method.is_empty()
    })
}

/// The test classes that a method can belong to: its own, or the one that is nested in. None for other tests.
pub(crate) fn classes_of(test: &TestKey) -> Vec<TestKey> {
    if !is_method(&test.name) {
        return Vec::new();
    }
    let class = test.name.split('#').next().unwrap_or_default();
    let names = [class, outermost(class)];
    names.map(|name| TestKey { name: name.to_owned(), ..test.clone() }).into()
}

/// Whether methods may be left out of a test class about which this was decided.
pub(crate) fn may_divide(case: &Case, planned: &Planned) -> bool {
    let Decision::Run(cause) = &planned.report.decision else { return false };
    let newest = planned.newest.as_ref().map(|newest| newest.id);
    case.demand == Demand::None
        && match cause {
            Cause::New | Cause::Changed(_) | Cause::Incomplete(_) => true,
            Cause::DidNotPass(record, _) => Some(*record) == newest,
            _ => false,
        }
}

/// What is known about the methods of these test classes, by class; of the goal that is given, or as earlier
/// builds knew it.
pub(crate) fn plans(
    project: &Project,
    store: &Store,
    goal: Option<GoalFacts>,
    classes: &[(&TestKey, &Planned)],
) -> Result<HashMap<String, MethodPlan>> {
    let by_name: HashMap<&TestKey, &Planned> = classes.iter().copied().collect();
    let mut found: Vec<(TestKey, TestKey)> = Vec::new();
    for test in store.tests()? {
        let mut classes = classes_of(&test.key).into_iter();
        if let Some(class) = classes.find(|class| by_name.contains_key(class)) {
            found.push((class, test.key));
        }
    }
    let cases: Vec<Case> =
        found.iter().map(|(_, key)| cases::of_test_class(project, key, Demand::None)).collect();
    let mut world = World::new(project, &cases);
    if let Some(goal) = goal {
        world = world.with_goal(goal);
    }
    let planned = plan::decide(project, Some(store), &world, &cases)?;
    let mut known: HashMap<TestKey, BTreeMap<String, Planned>> = HashMap::new();
    for ((class, key), planned) in found.into_iter().zip(planned) {
        known.entry(class).or_default().insert(key.name, planned);
    }
    let mut plans = HashMap::new();
    for (class, methods) in known {
        let of_class = by_name.get(&class);
        let newest = of_class.and_then(|planned| planned.newest.as_ref());
        let failed = newest.filter(|newest| !newest.outcome.passed()).map(|newest| newest.id);
        let Some(plan) = plan_of(store, methods, failed)? else { continue };
        let did_not_pass = |planned: &Planned| {
            matches!(planned.report.decision, Decision::Run(Cause::DidNotPass(..)))
        };
        // Where no method failed, the class did by itself.
        if of_class.is_some_and(|p| did_not_pass(p)) && !plan.methods.values().any(did_not_pass) {
            continue;
        }
        plans.insert(class.name, plan);
    }
    Ok(plans)
}

fn plan_of(
    store: &Store,
    mut methods: BTreeMap<String, Planned>,
    failed: Option<RecordId>,
) -> Result<Option<MethodPlan>> {
    let newest = methods.values().filter_map(|planned| Some(planned.newest.as_ref()?.id)).max();
    if failed > newest {
        return Ok(None);
    }
    let mut all: Option<BTreeSet<String>> = None;
    for (name, planned) in &methods {
        let Decision::Skip { record, .. } = planned.report.decision else { continue };
        let Some(stored) = store.record(record)? else { return Ok(None) };
        let mut together: BTreeSet<String> =
            stored.run.observed.iter().filter_map(|o| beside(&o.question)).collect();
        together.insert(name.clone());
        if all.as_ref().is_some_and(|all| *all != together) {
            return Ok(None);
        }
        all = Some(together);
    }
    let Some(all) = all else { return Ok(None) };
    methods.retain(|name, _| all.contains(name));
    Ok((methods.len() == all.len()).then_some(MethodPlan { methods }))
}

fn beside(question: &Question) -> Option<String> {
    let Question::Fact(text) = question else { return None };
    match Fact::parse(text)?.kind {
        Kind::Beside(method) => Some(method),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_are_known_by_their_names() {
        assert!(is_method("a.FooTest#bar") && is_method("a.FooTest$In#bar"));
        assert!(is_method("FooTest#with blanks"));
        assert!(!is_method("a.FooTest") && !is_method("payment/refund#1") && !is_method("#x"));
        let method =
            TestKey { suite: "mvn:x".into(), name: "a.FooTest$In#bar".into(), folder: ".".into() };
        let classes: Vec<String> = classes_of(&method).into_iter().map(|key| key.name).collect();
        assert_eq!(classes, ["a.FooTest$In", "a.FooTest"]);
    }
}
