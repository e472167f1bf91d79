//! Sources that changed while the command ran.
//!
//! Functions are fingerprinted by tamis, and were imported by another process: a source with a stamp behind the
//! beginning of the command may not be what ran. A test is held against the stamps of its sources as they are after
//! its end. A look at a file is good for all tests that ended before it, so that tests which are recorded together
//! cost one look at each file.

use crate::scope::PytestScope;
use rustc_hash::FxHashMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Instant;
use tamis_core::Question;
use tamis_core::record::{Numbers, Observed};
use tamis_session::Pool;

#[derive(Debug, Default)]
pub(crate) struct SourceStamps {
    root: PathBuf,
    /// Sources with a change after this moment are not known.
    began: (i64, i64),
    /// By observation, the source that it is about; as far as that was asked.
    source_of: Vec<Option<u32>>,
    numbers: FxHashMap<String, u32>,
    sources: Vec<Source>,
}

#[derive(Debug)]
struct Source {
    name: String,
    looked: Option<Instant>,
    has_changed: bool,
}

impl SourceStamps {
    pub(crate) fn new(root: &Path, began: (i64, i64)) -> Self {
        Self { root: root.to_path_buf(), began, ..Self::default() }
    }

    /// A source among the facts that changed since the command was prepared, for a test that ended before `ended`.
    pub(crate) fn changed(
        &mut self,
        pool: &Pool,
        numbers: &Numbers,
        ended: Instant,
    ) -> Option<String> {
        for observed in pool.all().get(self.source_of.len()..).unwrap_or_default() {
            let source = self.source(observed);
            self.source_of.push(source);
        }
        let mut used: Vec<u32> =
            numbers.iter().filter_map(|number| *self.source_of.get(number as usize)?).collect();
        used.sort_unstable();
        used.dedup();
        used.retain(|source| self.has_changed(*source, ended));
        let names = used.into_iter().map(|source| &self.sources[source as usize].name);
        names.min().cloned()
    }

    /// Whether one of these sources changed since the command was prepared.
    pub(crate) fn are_new<'s>(&self, mut sources: impl Iterator<Item = &'s str>) -> bool {
        sources.any(|name| is_new(&self.root.join(name), self.began))
    }

    /// Code may name a file of another kind as its own, such as a template: the tracer itself sees who reads that,
    /// and what was in it then.
    fn source(&mut self, observed: &Observed) -> Option<u32> {
        let Question::Fact(fact) = &observed.question else { return None };
        let name = PytestScope::file_of(fact).filter(|file| file.ends_with(".py"))?;
        if let Some(&known) = self.numbers.get(name) {
            return Some(known);
        }
        let number = self.sources.len() as u32;
        self.numbers.insert(name.to_owned(), number);
        self.sources.push(Source { name: name.to_owned(), looked: None, has_changed: false });
        Some(number)
    }

    fn has_changed(&mut self, source: u32, ended: Instant) -> bool {
        let Some(source) = self.sources.get_mut(source as usize) else { return true };
        if source.looked.is_none_or(|looked| looked < ended) {
            source.looked = Some(Instant::now());
            source.has_changed |= is_new(&self.root.join(&source.name), self.began);
        }
        source.has_changed
    }
}

fn is_new(path: &Path, began: (i64, i64)) -> bool {
    let there = std::fs::symlink_metadata(path);
    there.is_ok_and(|there| (there.ctime(), there.ctime_nsec()) >= began)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tamis_core::Value;
    use tamis_project::given;

    #[test]
    fn a_look_from_before_the_end_of_a_test_says_nothing_about_it() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.py"), "").unwrap();
        let mut pool = Pool::default();
        let mut fact = |text: &str| pool.number(given(Question::Fact(text.into()), Value::Absent));
        let used: Numbers =
            [fact("pytest:.@3.12-x: function a.py::f"), fact("other")].into_iter().collect();
        let later = std::fs::metadata(folder.path().join("a.py")).unwrap().ctime() + 1;
        let mut stamps = SourceStamps::new(folder.path(), (later, 0));
        let mut changed = |ended| stamps.changed(&pool, &used, ended);
        assert_eq!(changed(Instant::now()), None);
        let before = Instant::now();
        assert_eq!(changed(before), None);
        // Stamps are coarse: until one is behind the beginning.
        let path = folder.path().join("a.py");
        while std::fs::metadata(&path).unwrap().ctime() < later {
            std::thread::sleep(std::time::Duration::from_millis(50));
            std::fs::write(&path, "x = 1\n").unwrap();
        }
        assert_eq!(changed(before), None, "it ended before the change was made");
        assert_eq!(changed(Instant::now()).as_deref(), Some("a.py"));
    }
}
