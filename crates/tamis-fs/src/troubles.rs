//! What users' commands failed at, one sentence for each command.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use tamis_core::Hash;

#[derive(Debug, Default)]
pub(crate) struct Troubles(Mutex<BTreeMap<Hash, Trouble>>);

#[derive(Debug, Default)]
struct Trouble {
    /// Of the first file.
    sentence: String,
    files: BTreeSet<PathBuf>,
    reported: bool,
}

impl Troubles {
    pub(crate) fn add(&self, command: Hash, path: &Path, sentence: &str) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let trouble = all.entry(command).or_default();
        if trouble.files.is_empty() {
            trouble.sentence = sentence.to_owned();
        }
        trouble.files.insert(path.to_path_buf());
    }

    /// The sentences of commands that were not reported yet.
    pub(crate) fn take(&self) -> Vec<String> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let new = all.values_mut().filter(|trouble| !trouble.reported);
        new.map(|trouble| {
            trouble.reported = true;
            match trouble.files.len() {
                0 | 1 => trouble.sentence.clone(),
                2 => format!("{}; and for another file", trouble.sentence),
                more => format!("{}; and for {} other files", trouble.sentence, more - 1),
            }
        })
        .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_reported_once_with_how_many_files_it_failed_for() {
        let troubles = Troubles::default();
        assert_eq!(troubles.take(), [""; 0]);
        for (file, sentence) in
            [("a", "failed for a"), ("a", "failed for a"), ("b", "no"), ("c", "no")]
        {
            troubles.add(Hash(1), Path::new(file), sentence);
        }
        troubles.add(Hash(2), Path::new("a"), "the other");
        assert_eq!(troubles.take(), ["failed for a; and for 2 other files", "the other"]);
        troubles.add(Hash(1), Path::new("d"), "again");
        assert_eq!(troubles.take(), [""; 0]);
    }
}
