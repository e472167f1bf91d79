//! Tests that the user wants to be forgotten: their records go, and a mark stays until they have a record
//! again.
//!
//! Without a record a test runs. The mark is for those who ask something else than records (a module that no
//! change affects), and for the reason: a test that was forgotten has run before.

use crate::error::{Failure, StoreError};
use crate::key::StoredKey;
use crate::store::{Store, delete_record, records_of, test_id};
use rusqlite::{Connection, params};
use serde::{Deserialize, Serialize};
use tamis_core::{Hash, TestKey};

/// What marks are kept as, beside the records.
const KIND: &str = "forgotten";

/// A test that was forgotten and has no record since.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Forgotten {
    pub key: TestKey,
    /// The test inside it for which it was forgotten; nothing where it was meant itself.
    pub inside: Option<TestKey>,
}

impl Store {
    /// Removes all records of one test and says how many there were.
    pub fn forget(&self, test: &TestKey) -> Result<usize, StoreError> {
        self.must_be_writable()?;
        self.write(|conn| {
            let key = StoredKey::of(test);
            let Some(id) = test_id(conn, &key)? else { return Ok(0) };
            let records = records_of(conn, &key)?;
            for record in &records {
                delete_record(conn, record.summary.id.0)?;
            }
            conn.execute("DELETE FROM record WHERE test = ?1", [id])?;
            conn.execute("DELETE FROM test WHERE id = ?1", [id])?;
            Ok(records.len())
        })
    }

    /// Removes the records that could prove that a test need not run, and says how many records went. A failure
    /// that is the newest record stays known; one that is older than a run that passed goes with it, since it
    /// must not look like the last one.
    pub fn forget_proofs(&self, test: &TestKey) -> Result<usize, StoreError> {
        self.must_be_writable()?;
        let records = self.history(test)?;
        if records.first().is_none_or(|newest| newest.outcome.passed()) {
            return self.forget(test);
        }
        let passed = records.iter().filter(|record| record.outcome.passed());
        let passed: Vec<u32> = passed.map(|record| record.id.0).collect();
        self.write(|conn| passed.iter().try_for_each(|record| delete_record(conn, *record)))?;
        Ok(passed.len())
    }

    /// Marks tests as forgotten.
    pub fn mark_forgotten(&self, marks: &[Forgotten]) -> Result<(), StoreError> {
        self.must_be_writable()?;
        for mark in marks {
            let bytes = postcard::to_allocvec(mark).unwrap_or_default();
            self.keep(KIND, &name(&mark.key), &bytes)?;
        }
        Ok(())
    }

    /// Drops all marks.
    pub fn drop_marks(&self) -> Result<(), StoreError> {
        for (name, _) in self.kept(KIND)? {
            self.drop_kept(KIND, &name)?;
        }
        Ok(())
    }

    /// The tests that were forgotten and have no record since.
    pub fn forgotten(&self) -> Result<Vec<Forgotten>, StoreError> {
        let marks = self.kept(KIND)?;
        Ok(marks.iter().filter_map(|(_, bytes)| postcard::from_bytes(bytes).ok()).collect())
    }
}

/// A test that has a record is not forgotten any more.
pub(crate) fn is_known_again<'k>(
    conn: &Connection,
    tests: impl Iterator<Item = &'k TestKey>,
) -> Result<(), Failure> {
    let sql = "SELECT EXISTS (SELECT 1 FROM kept WHERE kind = ?1)";
    if !conn.prepare_cached(sql)?.query_row([KIND], |row| row.get::<_, bool>(0))? {
        return Ok(());
    }
    let mut remove = conn.prepare_cached("DELETE FROM kept WHERE kind = ?1 AND name = ?2")?;
    for test in tests {
        remove.execute(params![KIND, name(test)])?;
    }
    Ok(())
}

fn name(key: &TestKey) -> String {
    let (scope, unit) = (key.scope.to_stored(), key.unit.to_stored());
    Hash::of_parts([scope.as_bytes(), unit.as_bytes(), key.folder.as_bytes()]).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_comes_back_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let (store, _) = Store::open(folder.path()).unwrap();
        let of = |name: &str| TestKey::command(name, "sub");
        let marks = [
            Forgotten { key: of("a"), inside: None },
            Forgotten { key: of("b"), inside: Some(of("a")) },
        ];
        store.mark_forgotten(&marks).unwrap();
        let mut found = store.forgotten().unwrap();
        found.sort_by(|a, b| a.key.cmp(&b.key));
        assert_eq!(found, marks);
        store.write(|conn| is_known_again(conn, [of("a")].iter())).unwrap();
        assert_eq!(store.forgotten().unwrap(), marks[1..]);
        store.drop_marks().unwrap();
        assert!(store.forgotten().unwrap().is_empty());
    }
}
