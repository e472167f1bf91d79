//! Who looked at a file: the tests whose newest record has a question about it.

use crate::blocks;
use crate::error::StoreError;
use crate::proofs::Proofs;
use crate::store::{Store, newest_records};
use roaring::RoaringBitmap;
use std::collections::{HashMap, HashSet};
use tamis_core::{PortablePath, TestKey};

/// A test class says more than the build around it.
fn rank(key: &TestKey) -> (bool, &TestKey) {
    (key.is_command(), key)
}

impl Store {
    /// One test for each of these paths that any test's newest run asked about, whatever the answer
    /// was. Not seen here: a test that only lists the folder of a file.
    pub fn readers_of(
        &self,
        paths: &[PortablePath],
    ) -> Result<HashMap<PortablePath, TestKey>, StoreError> {
        self.with(|conn| {
            let tx = conn.transaction()?;
            let asked: HashSet<&PortablePath> = paths.iter().collect();
            let about = blocks::about_paths(&tx, &|path| asked.contains(path))?;
            let mut found = HashMap::new();
            if about.is_empty() {
                return Ok(found);
            }
            let wanted: RoaringBitmap = about.keys().copied().collect();
            let mut proofs = Proofs::new(&tx);
            for (key, _, row) in newest_records(&tx)? {
                let Some(set) = proofs.get(row.before.0)? else { continue };
                for observation in set & &wanted {
                    let known = found.entry(about[&observation].clone());
                    let known = known.or_insert_with(|| key.clone());
                    if rank(&key) < rank(known) {
                        *known = key.clone();
                    }
                }
            }
            Ok(found)
        })
    }
}
