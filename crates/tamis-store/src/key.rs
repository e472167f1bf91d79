//! The key of a test as its row has it: three texts, different for different keys.

use tamis_core::{Scope, TestKey, Unit};
use xxhash_rust::xxh3::xxh3_64_with_seed;

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct StoredKey {
    pub(crate) scope: String,
    pub(crate) unit: String,
    pub(crate) folder: String,
}

/// The columns of a row, without a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct KeyColumns<'a> {
    pub(crate) scope: &'a str,
    pub(crate) unit: &'a str,
    pub(crate) folder: &'a str,
}

impl StoredKey {
    pub(crate) fn of(test: &TestKey) -> Self {
        Self {
            scope: test.scope.to_stored(),
            unit: test.unit.to_stored(),
            folder: test.folder.clone(),
        }
    }

    pub(crate) fn columns(&self) -> KeyColumns<'_> {
        KeyColumns { scope: &self.scope, unit: &self.unit, folder: &self.folder }
    }

    /// The id of a test's row. Where two tests ever got the same, the later one has the row, and the
    /// other is not known.
    pub(crate) fn row(&self) -> i64 {
        (self.columns().hash_from(0) >> 1).cast_signed()
    }
}

impl KeyColumns<'_> {
    /// `None` for what no version of tamis writes: such a row is damaged.
    pub(crate) fn to_key(self) -> Option<TestKey> {
        Some(TestKey {
            scope: Scope::from_stored(self.scope)?,
            unit: Unit::from_stored(self.unit)?,
            folder: self.folder.to_owned(),
        })
    }

    pub(crate) fn hash_from(self, seed: u64) -> u64 {
        let parts = [self.unit, self.scope, self.folder];
        parts.iter().fold(seed, |seed, part| xxh3_64_with_seed(part.as_bytes(), seed))
    }
}
