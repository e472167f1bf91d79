//! Names the variables that are new. A record says which variables there were as one answer, the set of
//! their names; that another one is there shows only in it. A variable that is gone or has another value
//! is a difference of its own.
//!
//! Where the names of then are not known any more, the set is what is reported to differ.

use std::collections::HashMap;
use tamis_core::record::{Detail, Observed};
use tamis_core::{Cause, Decision, Planned, Question, Value};
use tamis_project::World;
use tamis_store::{Difference, Store};

/// The first new variable by the set of names of then: tests of one run share it.
#[derive(Debug, Default)]
pub(crate) struct NewVariables(HashMap<Value, Option<Vec<u8>>>);

impl NewVariables {
    /// Puts the first variable that is new in the place of "the set of variables".
    pub(crate) fn name(&mut self, planned: &mut Planned, store: &Store, world: &World<'_>) {
        let Decision::Run(Cause::Changed(record)) = planned.decision else { return };
        let Some(difference) = &mut planned.evidence.difference else { return };
        if difference.question != Question::VariableNames {
            return;
        }
        let first = self.0.entry(difference.was).or_insert_with(|| {
            let stored = store.record(record).ok().flatten()?;
            let names =
                stored.run.observed.iter().find(|o| o.question == Question::VariableNames)?;
            new_names(&names.detail, world).into_iter().next()
        });
        if let Some(name) = first {
            difference.question = Question::Variable(name.clone());
            difference.was = Value::Absent;
            difference.is = world.answer(&difference.question);
        }
    }
}

/// The differences with each new variable by its name.
pub(crate) fn by_variable(found: Vec<Difference>, world: &World<'_>) -> Vec<Difference> {
    let is_variable = |d: &Difference| matches!(d.observed.question, Question::Variable(_));
    let others = found.iter().any(is_variable);
    let expand = |difference: Difference| {
        if difference.observed.question != Question::VariableNames {
            return vec![difference];
        }
        let names = new_names(&difference.observed.detail, world);
        // What is gone is there under its own name.
        if names.is_empty() && !others {
            return vec![difference];
        }
        names.into_iter().map(|name| is_new(name, &difference.observed, world)).collect()
    };
    found.into_iter().flat_map(expand).collect()
}

fn is_new(name: Vec<u8>, names: &Observed, world: &World<'_>) -> Difference {
    let question = Question::Variable(name);
    let is = world.answer(&question);
    let before = Value::Absent;
    let observed =
        Observed { question, before, after: None, detail: Detail::None, ..names.clone() };
    Difference { observed, was: before, is, is_detail: Detail::None }
}

/// The names of now that are not among those of then; none where those are not known.
fn new_names(then: &Detail, world: &World<'_>) -> Vec<Vec<u8>> {
    let (Detail::Names(then), Detail::Names(now)) = (then, world.detail(&Question::VariableNames))
    else {
        return Vec::new();
    };
    now.into_iter().filter(|name| !then.contains(name)).collect()
}
