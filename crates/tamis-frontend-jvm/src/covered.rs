//! What the agent reports in more detail than the tracer: the classes and jars of all goals so far.
//!
//! Class files are counted: who reads one without loading it depends on its bytes. Folders that a tool
//! writes for itself (reports, working files) are covered as well: they are nothing to a test.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{PoisonError, RwLock};
use tamis_classpath::ClassIndex;
use tamis_jvm_wire::Goal;
use tamis_observe::{Cover, CoveredPaths};

#[derive(Debug, Default)]
pub(crate) struct CoveredClasses(RwLock<Paths>);

#[derive(Debug, Default)]
struct Paths {
    folders: Vec<Vec<u8>>,
    jars: HashSet<Vec<u8>>,
    own: Vec<Vec<u8>>,
}

impl Paths {
    fn is_own(&self, path: &[u8]) -> bool {
        let below = |own: &Vec<u8>| path.strip_prefix(own.as_slice());
        self.own.iter().filter_map(below).any(|rest| matches!(rest.first(), None | Some(b'/')))
    }
}

impl CoveredClasses {
    pub(crate) fn add(&self, goal: &Goal, index: &ClassIndex) {
        self.add_index(index);
        let folders = [goal.folder.as_str(), &goal.classes, &goal.test_classes];
        let others: Vec<&str> =
            folders.into_iter().chain(goal.class_path.iter().map(String::as_str)).collect();
        for folder in Self::own_folders(goal) {
            self.add_own(&folder, &others);
        }
    }

    /// The folders that a goal itself writes.
    pub(crate) fn own_folders(goal: &Goal) -> Vec<PathBuf> {
        // Surefire's working folder is given by its name in the module's output folder; before 2.20 there was
        // no parameter for it.
        let output = Path::new(&goal.test_classes).parent().unwrap_or(Path::new(&goal.folder));
        let is_given = goal.configuration.iter().any(|(name, _)| name == "tempDir");
        let usual = (!is_given).then_some("surefire");
        let named = goal.own_folders.iter().map(String::as_str);
        named.chain(usual).map(|folder| output.join(folder)).collect()
    }

    /// A folder that a tool writes for itself, unless it holds one of the others: then files of the project are
    /// in it as well, and what a test looks at there counts.
    pub(crate) fn add_own(&self, folder: &Path, others: &[&str]) {
        if others.iter().any(|other| Path::new(other).starts_with(folder)) {
            return;
        }
        let mut paths = self.0.write().unwrap_or_else(PoisonError::into_inner);
        paths.own.push(folder.as_os_str().as_encoded_bytes().to_vec());
    }

    /// How many places are known that tools write for themselves; they are never fewer than before.
    pub(crate) fn own_places(&self) -> usize {
        self.0.read().unwrap_or_else(PoisonError::into_inner).own.len()
    }

    /// Whether a build tool or runner writes this for itself.
    pub(crate) fn is_own(&self, path: &Path) -> bool {
        let paths = self.0.read().unwrap_or_else(PoisonError::into_inner);
        paths.is_own(path.as_os_str().as_encoded_bytes())
    }

    pub(crate) fn add_index(&self, index: &ClassIndex) {
        let bytes = |path: &Path| path.as_os_str().as_encoded_bytes().to_vec();
        let folder = |path: &Path| [bytes(path).as_slice(), b"/"].concat();
        let mut paths = self.0.write().unwrap_or_else(PoisonError::into_inner);
        for (path, is_folder) in index.paths() {
            if is_folder {
                paths.folders.push(folder(path));
            } else {
                paths.jars.insert(bytes(path));
            }
        }
    }
}

impl CoveredPaths for CoveredClasses {
    fn cover(&self, path: &[u8]) -> Cover {
        let is_class = path.ends_with(b".class");
        let is_jar = path.ends_with(b".jar");
        let paths = self.0.read().unwrap_or_else(PoisonError::into_inner);
        match () {
            () if is_class && paths.folders.iter().any(|f| path.starts_with(f)) => Cover::Counted,
            () if paths.jars.contains(path) => Cover::Covered,
            // What tools write for themselves may well be called like a class.
            () if paths.is_own(path) && is_class => Cover::Counted,
            () if paths.is_own(path) => Cover::Covered,
            () if is_class || is_jar => Cover::Undecided,
            () => Cover::None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_of_reports_hides_nothing_of_the_project() {
        let covered = CoveredClasses::default();
        let others = ["/p/m", "/p/m/target/classes", "/p/m/lib/a.jar"];
        for folder in ["/p/m/target", "/p/m", "/p", "/p/m/lib", "/p/m/target/classes"] {
            covered.add_own(Path::new(folder), &others);
        }
        assert_eq!(covered.cover(b"/p/m/target/classes/text.txt"), Cover::None);
        assert!(!covered.is_own(Path::new("/p/m/target")));
        covered.add_own(Path::new("/p/m/target/reports"), &others);
        assert_eq!(covered.cover(b"/p/m/target/reports/a.xml"), Cover::Covered);
        assert!(covered.is_own(Path::new("/p/m/target/reports")));
        assert_eq!(covered.cover(b"/p/m/target/reports-of-others/a.xml"), Cover::None);
    }
}
