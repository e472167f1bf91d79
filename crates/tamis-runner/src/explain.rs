//! One test: its decision, and the evidence that the decision rests on.

use crate::call::Call;
use crate::cases::{self, Case};
use crate::plan;
use anyhow::{Result, bail};
use std::ffi::OsString;
use tamis_core::record::Observed;
use tamis_core::{Cause, Decision, Planned, PortablePath, RecordId, Scope, TestKey};
use tamis_project::World;
use tamis_store::{Difference, LeftoverReader, Store, StoredRecord};

/// A test that was found by name, with what is decided about it.
#[derive(Debug)]
pub struct Explained<'a> {
    pub store: Option<Store>,
    pub case: Case,
    pub planned: Planned,
    pub world: World<'a>,
}

impl<'a> Explained<'a> {
    /// The test that these words mean: of the suites, or one that the store knows.
    pub fn find(call: Call<'a>, words: &[OsString]) -> Result<Self> {
        let store = call.existing_store()?;
        let suites = cases::of_suites(call)?;
        let mut keys: Vec<TestKey> = suites.iter().map(|case| case.key.clone()).collect();
        let tests = store.as_ref().map(Store::tests).transpose()?.unwrap_or_default();
        // An item that is gone from its suite is no test any more.
        let recorded = tests.into_iter().map(|test| test.key);
        keys.extend(recorded.filter(|key| !matches!(key.scope, Scope::Suite(_))));
        let wanted = cases::wanted_name(words);
        let key = cases::find(&wanted, &call.project.relative_folder(), &keys)?;
        let suite = suites.into_iter().find(|case| case.key == key);
        let case = suite.unwrap_or_else(|| cases::of_recorded(call.project, key));
        let planned = plan::of_test(call, store.as_ref(), &case)?;
        let world = cases::world(call, std::slice::from_ref(&case));
        Ok(Self { store, case, planned, world })
    }

    /// All inputs that are different now, where that is why it runs.
    pub fn differences(&self) -> Result<Vec<Difference>> {
        match (&self.planned.decision, &self.store) {
            (Decision::Run(Cause::Changed(record)), Some(store)) => {
                let found = store.differences(*record, &|questions| self.world.ask(questions))?;
                Ok(plan::by_variable(found, &self.world))
            }
            _ => Ok(Vec::new()),
        }
    }

    /// What proves that it may be skipped; `None` where it runs, or a graph decided.
    pub fn proof(&self) -> Result<Option<Proof>> {
        let Decision::Skip { record, proof } = self.planned.decision else { return Ok(None) };
        let stored = self.store.as_ref().map(|store| store.record(record)).transpose()?.flatten();
        let Some(stored) = stored else { bail!("record {record} cannot be read") };
        // The second proof is the state that the test left.
        let left = stored.proofs.first() != Some(&proof);
        Ok(Some(Proof { record, stored, left }))
    }

    /// What the test leaves behind in the project.
    pub fn leaves(&self) -> Result<Vec<PortablePath>> {
        let Some(store) = &self.store else { return Ok(Vec::new()) };
        let own = store.left_behind()?.into_iter().filter(|(key, _)| *key == self.case.key);
        Ok(own.flat_map(|(_, paths)| paths).collect())
    }

    /// What it looks at that others left behind.
    pub fn reads_leftovers(&self) -> Result<Vec<LeftoverReader>> {
        let Some(store) = &self.store else { return Ok(Vec::new()) };
        let readers = store.readers_of_leftovers()?.into_iter();
        Ok(readers.filter(|reader| reader.reader == self.case.key).collect())
    }
}

/// A record that proves a skip.
#[derive(Debug)]
pub struct Proof {
    pub record: RecordId,
    pub stored: StoredRecord,
    /// By the state that the test left, not by the one that it found.
    pub left: bool,
}

impl Proof {
    /// The value of an input in the state that proves it.
    pub fn value(&self, observed: &Observed) -> tamis_core::Value {
        match self.left {
            true => observed.after.unwrap_or(observed.before),
            false => observed.before,
        }
    }
}
