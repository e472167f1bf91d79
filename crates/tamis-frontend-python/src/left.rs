//! What tests leave in their process, kept with their records as texts.
//!
//! The plugin has the rule (`plugin/_tamis_left.py`): a test that ran and leaves what its record does not have puts those
//! back that were left out and can see it. Here it gets the texts of the records that count now: of a test that is
//! left out, the record that proves it; of one that runs, its newest. Records of another machine have none; where a
//! test is left out by one of these nothing is known of what would have been left.

use rustc_hash::FxHashSet;
use std::collections::BTreeMap;
use tamis_core::{Decision, RecordId, TestKey};
use tamis_session::Ledger;
use tamis_store::{Store, WithRecord};

/// A test that ran, and what it left.
pub(crate) type LeftByTest = (TestKey, Vec<String>);

/// By the name of each test, where there is something; nothing where it is not known of all.
pub(crate) fn known<'t>(
    ledger: &Ledger<'_>,
    tests: impl Iterator<Item = (&'t String, TestKey, Option<Decision>)>,
) -> Option<BTreeMap<&'t str, Vec<String>>> {
    let store = ledger.opened_store()?;
    let own: FxHashSet<RecordId> = store.own_records_after(0).ok()?.into_iter().collect();
    let mut found = BTreeMap::new();
    for (name, key, decision) in tests {
        let record = match decision {
            Some(Decision::Skip { record, .. }) if own.contains(&record) => Some(record),
            Some(Decision::Skip { .. }) => return None,
            _ => store.history(&key).ok()?.first().map(|record| record.id),
        };
        let left = record.map(|record| load(store, record)).unwrap_or_default();
        if !left.is_empty() {
            found.insert(name.as_str(), left);
        }
    }
    Some(found)
}

fn load(store: &Store, record: RecordId) -> Vec<String> {
    let bytes = store.kept_with(WithRecord::Left, record).ok().flatten();
    bytes.and_then(|bytes| tamis_wire::from_bytes(&bytes).ok()).unwrap_or_default()
}

/// Keeps what tests left with their records.
pub(crate) fn keep(ledger: &Ledger<'_>, left: &[LeftByTest]) {
    let kept = |(key, texts): &LeftByTest| {
        let record = ledger.collected.written.get(key)?;
        Some((*record, tamis_wire::to_bytes(texts).ok()?))
    };
    let kept: Vec<_> = left.iter().filter_map(kept).collect();
    // Without it a test that leaves the same again puts more tests back than needed.
    if let Some(store) = ledger.opened_store() {
        let _ = store.keep_with(WithRecord::Left, &kept);
    }
}
