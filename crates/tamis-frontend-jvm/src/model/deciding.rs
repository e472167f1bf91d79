//! Asks for decisions about the test classes of a goal.

use super::JvmModel;
use std::sync::Arc;
use tamis_core::record::ProofId;
use tamis_core::{RecordId, Unit};
use tamis_dynamic::Fact;
use tamis_session::{KnownScope, Ledger, PartsPlan, PlannedUnit, Services, proof_of};

/// Classes are covered by the files of the class path, which the command relies on.
pub(super) fn is_no_class_fact(name: &str) -> bool {
    Fact::parse(name).is_none()
}

impl JvmModel {
    /// Decides about the test classes of a goal; gives those that need not run.
    pub(super) fn decide(
        &mut self,
        services: &mut Services<'_, '_>,
        number: usize,
        classes: &[String],
    ) -> Vec<u32> {
        let ledger = &mut *services.ledger;
        let scope: Arc<dyn KnownScope> = Arc::new(self.goals[number].facts.clone());
        let units: Vec<Unit> = classes.iter().map(|class| Unit::Class(class.clone())).collect();
        let plan = match ledger.plan(&scope, &units) {
            Ok(plan) => plan,
            Err(error) => {
                ledger.remark(format!("{}: {error:#}; all its tests run", scope.scope()));
                return Vec::new();
            }
        };
        plan.remarks.into_iter().for_each(|remark| ledger.remark(remark));
        ledger.collected.by_graph |= plan.graph.is_some();
        if plan.graph.is_some() {
            self.goals[number].graph = plan.graph;
        }
        let mut skip = Vec::new();
        let mut proofs = Vec::new();
        let mut left_out = 0;
        for (n, (class, planned)) in classes.iter().zip(plan.units).enumerate() {
            match planned {
                PlannedUnit::Done => skip.push(n as u32),
                PlannedUnit::NotAskedFor => {
                    skip.push(n as u32);
                    left_out += 1;
                }
                PlannedUnit::Decided(_, Some(parts)) if parts.skips_all() => {
                    skip.push(n as u32);
                    self.skip_methods(ledger, number, class, &parts, &mut proofs);
                }
                PlannedUnit::Decided(planned, parts) => {
                    if planned.skips() {
                        skip.push(n as u32);
                    }
                    let proof = proof_of(&planned);
                    proofs.extend(proof);
                    let goal = &mut self.goals[number];
                    let record = proof.map(|(record, _)| (class.clone(), record));
                    goal.left_out.skipped.extend(record);
                    if let Some(parts) = parts {
                        goal.methods.plans.insert(class.clone(), parts);
                    }
                    goal.units.insert(class.clone(), ledger.add_planned(&planned));
                }
            }
        }
        ledger.rely_on(proofs, is_no_class_fact);
        ledger.collected.left_out += left_out;
        self.remark_how_many(ledger, number, classes.len(), skip.len(), left_out);
        skip
    }

    /// A test class of which no method needs to run.
    fn skip_methods(
        &mut self,
        ledger: &mut Ledger<'_>,
        number: usize,
        class: &str,
        parts: &PartsPlan,
        proofs: &mut Vec<(RecordId, ProofId)>,
    ) {
        for (n, planned) in parts.parts.values().enumerate() {
            proofs.extend(proof_of(planned));
            let at = ledger.add_planned(planned);
            if n == 0 {
                self.goals[number].units.insert(class.to_owned(), at);
            }
        }
    }

    fn remark_how_many(
        &self,
        ledger: &Ledger<'_>,
        number: usize,
        all: usize,
        skipped: usize,
        left_out: usize,
    ) {
        let goal = &self.goals[number];
        let scope = &goal.facts.scope;
        let run = all - skipped;
        // A runner that asks for one class after the other is not commented each time.
        let one_by_one = all == 1 && goal.asks.is_some();
        match (all, left_out) {
            (0, _) => {}
            _ if one_by_one => {}
            (_, 0) => {
                let plans = goal.methods.plans.values();
                let (known, not) =
                    plans.fold((0, 0), |(all, n), p| (all + p.parts.len(), n + p.skipped()));
                let methods = match known {
                    0 => String::new(),
                    _ => format!(", without {not} of {known} methods in them"),
                };
                ledger.remark(format!("{scope}: {run} of {all} test classes need to run{methods}"));
            }
            _ => ledger.remark(format!(
                "{scope}: {run} of {all} test classes run; {left_out} were not asked for"
            )),
        }
    }
}
