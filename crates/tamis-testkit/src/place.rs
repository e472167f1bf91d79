//! Where the folders of tests are.
//!
//! tamis takes no file in a temp folder for an input, and a project in one is an exception to that. A
//! test whose project is in the temp folder tries the exception, and what stands beside the project
//! does not count. So projects are in the user's cache folder, or where `TAMIS_TEST_FOLDER` says.
//! Not below `target`: that is in a git work tree, which tamis would take for the project.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Duration, SystemTime};
use tempfile::TempDir;

/// A folder for one test, removed with the value.
pub fn folder() -> TempDir {
    tempfile::Builder::new().prefix("t").tempdir_in(base()).expect("a folder for a test")
}

/// The folder of all tests' folders.
fn base() -> &'static Path {
    static BASE: OnceLock<PathBuf> = OnceLock::new();
    BASE.get_or_init(|| {
        let base = usual().filter(|base| is_usable(base)).unwrap_or_else(std::env::temp_dir);
        remove_old(&base);
        base
    })
}

fn usual() -> Option<PathBuf> {
    if let Some(given) = std::env::var_os("TAMIS_TEST_FOLDER") {
        return Some(given.into());
    }
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from).filter(|c| c.is_absolute());
    let cache = cache.or_else(|| Some(Path::new(&std::env::var_os("HOME")?).join(".cache")));
    Some(cache?.join("tamis-tests"))
}

/// Whether it can be made, and nothing above it makes it a part of a project.
fn is_usable(base: &Path) -> bool {
    let above = |name: &str| base.ancestors().any(|folder| folder.join(name).exists());
    std::fs::create_dir_all(base).is_ok() && !above(".git") && !above("tamis.toml")
}

/// What killed tests left behind, after two days.
fn remove_old(base: &Path) {
    if !base.ends_with("tamis-tests") {
        return;
    }
    let Ok(entries) = std::fs::read_dir(base) else { return };
    for entry in entries.flatten() {
        let written =
            entry.metadata().and_then(|m| m.modified()).unwrap_or_else(|_| SystemTime::now());
        if written.elapsed().is_ok_and(|age| age > Duration::from_secs(2 * 24 * 3600)) {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_below_a_git_work_tree_is_not_usable() {
        let folder = folder();
        assert!(is_usable(&folder.path().join("a")));
        std::fs::create_dir(folder.path().join(".git")).expect("a folder");
        assert!(!is_usable(&folder.path().join("a/b")));
    }

    #[test]
    fn every_folder_is_another_and_goes_with_its_value() {
        let (one, two) = (folder(), folder());
        assert_ne!(one.path(), two.path());
        let path = one.path().to_path_buf();
        drop(one);
        assert!(!path.exists() && two.path().is_dir());
    }
}
