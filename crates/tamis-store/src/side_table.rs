//! Small things that the caller keeps beside the records, in few bytes: what a test printed when it
//! failed, facts under a kind and a name, and what belongs to one record.
//!
//! What is damaged is not there. A message goes with its test, and what belongs to a record goes with that. What came from
//! other machines under a kind and a name stands apart, with its origin: it is there while that is believed and nothing of
//! this store has the name.

use crate::codec::{blob, pack, seal, text, unpack, unseal};
use crate::error::StoreError;
use crate::key::StoredKey;
use crate::packed::{expand, squeeze};
use crate::store::{Store, test_id};
use crate::with_record::WithRecord;
use rusqlite::{OptionalExtension, params};
use tamis_core::{Origin, RecordId, TestKey};
use xxhash_rust::xxh3::xxh3_64;

/// The kind under which others' things of a kind stand.
fn elsewhere(kind: &str) -> String {
    format!("{kind} from elsewhere")
}

impl Store {
    /// Remembers what a test with a record printed, or forgets it.
    pub fn set_message(&self, test: &TestKey, message: Option<&[u8]>) -> Result<(), StoreError> {
        let known = self.message(test)?;
        if known.as_deref() == message {
            return Ok(());
        }
        self.write(|conn| {
            let Some(id) = test_id(conn, &StoredKey::of(test))? else { return Ok(()) };
            let sealed = message.map(|text| seal(id.cast_unsigned(), &squeeze(text)));
            conn.prepare_cached("UPDATE test SET message = ?2 WHERE id = ?1")?
                .execute(params![id, sealed])?;
            Ok(())
        })
    }

    /// What a test printed, see [`Store::set_message`].
    pub fn message(&self, test: &TestKey) -> Result<Option<Vec<u8>>, StoreError> {
        self.with(|conn| {
            let Some(id) = test_id(conn, &StoredKey::of(test))? else { return Ok(None) };
            let mut statement = conn.prepare_cached("SELECT message FROM test WHERE id = ?1")?;
            let message = statement
                .query_row([id], |row| {
                    let sealed = blob(row.get_ref(0)?).and_then(|b| unseal(id.cast_unsigned(), b));
                    Ok(sealed.and_then(expand))
                })
                .optional()?;
            Ok(message.flatten())
        })
    }

    /// Keeps bytes under a kind and a name, in place of what was there.
    pub fn keep(&self, kind: &str, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
        if self.own_kept(kind)?.iter().any(|(known, old)| known == name && old == bytes) {
            return Ok(());
        }
        self.write(|conn| {
            let sealed = seal(xxh3_64(name.as_bytes()), &squeeze(bytes));
            conn.prepare_cached(
                "INSERT OR REPLACE INTO kept (kind, name, bytes) VALUES (?1, ?2, ?3)",
            )?
            .execute(params![kind, name, sealed])?;
            Ok(())
        })
    }

    /// Keeps what another machine keeps under a kind and a name, in place of what came from elsewhere before.
    pub(crate) fn keep_from(
        &self,
        origin: &Origin,
        kind: &str,
        name: &str,
        bytes: &[u8],
    ) -> Result<(), StoreError> {
        self.keep(&elsewhere(kind), name, &pack(&(origin, bytes)))
    }

    /// Keeps bytes with records, in one transaction. A record that is not there any more keeps nothing.
    pub fn keep_with(
        &self,
        what: WithRecord,
        kept: &[(RecordId, Vec<u8>)],
    ) -> Result<(), StoreError> {
        if kept.is_empty() {
            return Ok(());
        }
        self.write(|conn| {
            let sql = "INSERT OR REPLACE INTO kept (kind, name, bytes) \
                       SELECT ?1, ?2, ?3 WHERE EXISTS (SELECT 1 FROM record WHERE id = ?4)";
            let mut statement = conn.prepare_cached(sql)?;
            for (record, bytes) in kept {
                let name = record.0.to_string();
                let sealed = seal(xxh3_64(name.as_bytes()), &squeeze(bytes));
                statement.execute(params![what.kind(), name, sealed, record.0])?;
            }
            Ok(())
        })
    }

    /// What was kept with a record.
    pub fn kept_with(
        &self,
        what: WithRecord,
        record: RecordId,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        let name = record.0.to_string();
        self.with(|conn| {
            let sql = "SELECT bytes FROM kept WHERE kind = ?1 AND name = ?2";
            let bytes = conn
                .prepare_cached(sql)?
                .query_row(params![what.kind(), name], |row| {
                    let sealed =
                        blob(row.get_ref(0)?).and_then(|b| unseal(xxh3_64(name.as_bytes()), b));
                    Ok(sealed.and_then(expand))
                })
                .optional()?;
            Ok(bytes.flatten())
        })
    }

    /// Drops what is kept under a kind and a name.
    pub fn drop_kept(&self, kind: &str, name: &str) -> Result<(), StoreError> {
        self.write(|conn| {
            let sql = "DELETE FROM kept WHERE kind IN (?1, ?2) AND name = ?3";
            conn.prepare_cached(sql)?.execute(params![kind, elsewhere(kind), name])?;
            Ok(())
        })
    }

    /// All that is kept of a kind, by name: what this store keeps itself, and of other names what came from elsewhere and is
    /// believed.
    pub fn kept(&self, kind: &str) -> Result<Vec<(String, Vec<u8>)>, StoreError> {
        let mut own = self.own_kept(kind)?;
        let believed = self.believed();
        for (name, bytes) in self.own_kept(&elsewhere(kind))? {
            if let Some((origin, bytes)) = unpack::<(Origin, Vec<u8>)>(&bytes)
                && believed.believes(&origin)
                && !own.iter().any(|(known, _)| *known == name)
            {
                own.push((name, bytes));
            }
        }
        own.sort();
        Ok(own)
    }

    /// All that this store keeps of a kind itself, by name.
    pub(crate) fn own_kept(&self, kind: &str) -> Result<Vec<(String, Vec<u8>)>, StoreError> {
        self.with(|conn| {
            let sql = "SELECT name, bytes FROM kept WHERE kind = ?1 ORDER BY name";
            let mut statement = conn.prepare_cached(sql)?;
            let mut rows = statement.query([kind])?;
            let mut found = Vec::new();
            while let Some(row) = rows.next()? {
                let Some(name) = text(row.get_ref(0)?).map(str::to_owned) else { continue };
                let sealed = blob(row.get_ref(1)?);
                let bytes =
                    sealed.and_then(|b| unseal(xxh3_64(name.as_bytes()), b)).and_then(expand);
                found.extend(bytes.map(|bytes| (name, bytes)));
            }
            Ok(found)
        })
    }
}
