//! Decides about the test classes of a goal: by their records, by the graph of types, by their module.

use super::{Collector, key};
use crate::cases::{self, Case};
use crate::jvm::always::AlwaysRun;
use crate::jvm::by_graph::ByGraph;
use crate::jvm::goal::GoalFacts;
use crate::jvm::methods::{self, MethodPlan};
use crate::modules::choice::Tests;
use crate::plan;
use crate::world::World;
use std::collections::HashMap;
use tamis_core::decide::Demand;
use tamis_core::record::ProofId;
use tamis_core::{Cause, Decision, Question, RecordId};
use tamis_report::TestReport;

impl Collector<'_> {
    /// Decides about the test classes of a goal; gives those that need not run.
    pub(super) fn decide(&mut self, number: usize, classes: &[String]) -> Vec<u32> {
        let mut demand = self.command.inside.clone();
        match self.goals[number].choice.clone() {
            Some((Tests::None, why)) => return self.skip_all(number, classes, &why),
            Some((Tests::All, why)) => demand = Demand::Module(why),
            Some((Tests::ByRecords, _)) | None => {}
        }
        if self.wishes.by_graph {
            return self.decide_by_graph(number, classes);
        }
        let facts = self.goals[number].facts.clone();
        let always = AlwaysRun::new(self.project);
        let again = self.wishes.again.clone();
        let failed = |class: &str| again.as_ref().is_some_and(|a| a.failed(&key(&facts, class)));
        let cases: Vec<Case> = classes
            .iter()
            .map(|class| {
                let demand = match failed(class) {
                    true => Demand::Requested,
                    false => always.or(&demand, class, &facts),
                };
                cases::of_test_class(self.project, &key(&facts, class), demand)
            })
            .collect();
        let world = World::new(self.project, &cases).with_goal(facts.clone());
        if self.store.is_none() {
            self.store = self.project.open_store();
        }
        self.write_records();
        let planned = match plan::decide(self.project, self.store.as_ref(), &world, &cases) {
            Ok(planned) => planned,
            Err(error) => {
                self.say(&format!("{}: {error:#}; all its tests run", facts.scope));
                return Vec::new();
            }
        };
        let mut plans = self.plan_methods(&facts, &cases, &planned);
        let mut skip = Vec::new();
        let mut proofs = Vec::new();
        let mut left_out = 0;
        for (n, (class, planned)) in classes.iter().zip(planned).enumerate() {
            if again.as_ref().is_some_and(|a| a.is_done(&planned.report.key)) {
                skip.push(n as u32);
                continue;
            }
            let wanted = self.wishes.wants(&planned.report.key);
            let planned = match self.wishes.failed {
                true => planned.again_if_failed(),
                false => Some(planned),
            };
            let Some(planned) = planned.filter(|_| wanted) else {
                skip.push(n as u32);
                left_out += 1;
                continue;
            };
            if let Decision::Skip { record, proof } = planned.report.decision {
                skip.push(n as u32);
                proofs.push((record, proof));
            }
            if let Some(plan) = plans.remove(class) {
                if plan.skips_all() {
                    skip.push(n as u32);
                    self.skip_methods(number, class, plan, &mut proofs);
                    continue;
                }
                self.goals[number].plans.insert(class.clone(), plan);
            }
            self.goals[number].units.insert(class.clone(), self.collected.reports.len());
            self.collected.reports.push(planned.report);
        }
        self.rely_on(&proofs);
        self.collected.left_out += left_out;
        self.tell_how_many(number, classes.len(), skip.len(), left_out);
        skip
    }

    /// What is known about the methods of those that run, where methods are told apart.
    fn plan_methods(
        &self,
        facts: &GoalFacts,
        cases: &[Case],
        planned: &[plan::Planned],
    ) -> HashMap<String, MethodPlan> {
        let Some(store) = self.store.as_ref().filter(|_| self.wishes.methods) else {
            return HashMap::new();
        };
        if self.wishes.failed {
            return HashMap::new();
        }
        let both = cases.iter().zip(planned);
        let divided: Vec<_> = both
            .filter(|(case, planned)| methods::may_divide(case, planned))
            .map(|(case, planned)| (&case.key, planned))
            .collect();
        methods::plans(self.project, store, Some(facts.clone()), &divided).unwrap_or_else(|error| {
            self.say(&format!("{error:#}; test classes run as a whole"));
            HashMap::new()
        })
    }

    /// A test class of which no method needs to run.
    fn skip_methods(
        &mut self,
        number: usize,
        class: &str,
        plan: MethodPlan,
        proofs: &mut Vec<(RecordId, ProofId)>,
    ) {
        self.goals[number].units.insert(class.to_owned(), self.collected.reports.len());
        for planned in plan.methods.into_values() {
            if let Decision::Skip { record, proof } = planned.report.decision {
                proofs.push((record, proof));
            }
            self.collected.reports.push(planned.report);
        }
    }

    /// The tests of a module that is only built because others need it.
    fn skip_all(&mut self, number: usize, classes: &[String], why: &str) -> Vec<u32> {
        for class in classes {
            let key = key(&self.goals[number].facts, class);
            self.goals[number].units.insert(class.clone(), self.collected.reports.len());
            self.collected.reports.push(TestReport::new(key, Decision::OutOfReach, why));
        }
        self.tell_how_many(number, classes.len(), classes.len(), 0);
        (0..classes.len() as u32).collect()
    }

    pub(super) fn decide_by_graph(&mut self, number: usize, classes: &[String]) -> Vec<u32> {
        let goal = &self.goals[number];
        let level = self.wishes.by_methods.then(tamis_select_static::MethodLevel::default);
        let words = self.command.words.iter().skip(1).map(|w| w.to_string_lossy().into_owned());
        let words: Vec<String> = words.collect();
        let (facts, tests) = (&goal.facts, &goal.test_classes);
        let decided = ByGraph::decide(self.project, facts, tests, classes, level, &words);
        let Some((graph, reports)) = decided else {
            self.say("without a store everything runs and nothing is recorded");
            return Vec::new();
        };
        let all = self.command.inside != Demand::None;
        let mut skip = Vec::new();
        for (n, (class, mut report)) in classes.iter().zip(reports).enumerate() {
            if self.wishes.again.as_ref().is_some_and(|a| a.is_done(&report.key)) {
                skip.push(n as u32);
                continue;
            }
            if !self.wishes.wants(&report.key) {
                skip.push(n as u32);
                self.collected.left_out += 1;
                continue;
            }
            if all {
                report.decision = Decision::Run(Cause::Requested);
                report.reason = crate::reason::cause(&Cause::Requested, &[], None, |_| None);
            }
            if report.skipped() {
                skip.push(n as u32);
            }
            self.goals[number].units.insert(class.clone(), self.collected.reports.len());
            self.collected.reports.push(report);
        }
        self.goals[number].graph = Some(graph);
        self.collected.by_graph = true;
        self.tell_how_many(number, classes.len(), skip.len(), 0);
        if self.wishes.by_methods && !skip.is_empty() {
            self.say(tamis_select_static::method_level::WARNING);
        }
        skip
    }

    pub(super) fn tell_how_many(&self, number: usize, all: usize, skipped: usize, left_out: usize) {
        let scope = &self.goals[number].facts.scope;
        let run = all - skipped;
        // A runner that asks for one class after the other is not commented each time.
        let one_by_one = all == 1 && self.goals[number].asks.is_some();
        match (all, left_out) {
            (0, _) => {}
            _ if one_by_one => {}
            (_, 0) => {
                let plans = self.goals[number].plans.values();
                let (known, not) =
                    plans.fold((0, 0), |(all, n), p| (all + p.methods.len(), n + p.skipped()));
                let methods = match known {
                    0 => String::new(),
                    _ => format!(", without {not} of {known} methods in them"),
                };
                self.say(&format!("{scope}: {run} of {all} test classes need to run{methods}"));
            }
            _ => self.say(&format!(
                "{scope}: {run} of {all} test classes run; {left_out} were not asked for"
            )),
        }
    }

    /// The command as a whole now relies on what the skipped tests had looked at.
    pub(super) fn rely_on(&mut self, proofs: &[(RecordId, ProofId)]) {
        let Some(store) = &self.store else { return };
        for (record, proof) in proofs {
            let Ok(Some(stored)) = store.record(*record) else {
                self.collected.unread += 1;
                continue;
            };
            let found = stored.proofs.first() == Some(proof);
            for mut observed in stored.run.observed {
                if matches!(observed.question, Question::Path(..)) {
                    if let (false, Some(after)) = (found, observed.after) {
                        observed.before = after;
                    }
                    observed.after = None;
                    self.collected.relied_on.push(observed);
                }
            }
        }
    }
}
