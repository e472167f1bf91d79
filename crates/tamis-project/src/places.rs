//! Where tamis keeps what it knows, and whether it is this user's alone.
//!
//! The store says which tests need not run; the cache says what is in which file, and holds a library
//! that JVMs load. So neither is used where another user (root excepted) owns it or could have put it
//! there. A store inside the project is checked from the project's root down: who can write the project
//! can change the tests as well.

use std::path::{Path, PathBuf};
use tamis_private::{Distrust, check, check_below, tighten};

/// tamis's folder in the user's cache, if it can be trusted.
pub fn cache_folder() -> Option<PathBuf> {
    named_cache().filter(|cache| check(cache).is_ok())
}

/// The same as the environment names it.
pub(crate) fn named_cache() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|p| p.is_absolute());
    set("XDG_CACHE_HOME").or_else(|| set("HOME").map(|h| h.join(".cache"))).map(|c| c.join("tamis"))
}

/// Why the cache is not used, where it is not.
pub fn cache_problem() -> Option<String> {
    let cache = named_cache()?;
    let Distrust { place, why, remedy } = check(&cache).err()?;
    Some(format!(
        "the cache in {} is not used: {} {why}; {remedy}, or name a folder of your own with XDG_CACHE_HOME",
        cache.display(),
        place.display()
    ))
}

/// The folder, if what is in it can be trusted; what an older version has made for everybody to read
/// is closed to others.
pub(crate) fn trusted_store(folder: PathBuf, root: &Path) -> Result<PathBuf, String> {
    let distrust = ["tamis.db", "tamis.db-wal", "tamis.db-shm"]
        .iter()
        .find_map(|file| check_below(&folder.join(file), root).err());
    if let Some(Distrust { place, why, remedy }) = distrust {
        return Err(format!(
            "the store in {} is not used: {} {why}; {remedy}, or name a folder of your own with --store",
            folder.display(),
            place.display()
        ));
    }
    if let Some(cache) = named_cache() {
        tighten(&cache);
        if folder.starts_with(&cache) {
            folder.ancestors().take_while(|above| **above != cache).for_each(tighten);
        }
    }
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_store_is_refused_in_one_sentence_with_a_remedy() {
        let dir = tempfile::tempdir().unwrap();
        let open = dir.path().canonicalize().unwrap().join("open");
        fs::create_dir_all(open.join("project")).unwrap();
        fs::set_permissions(&open, Permissions::from_mode(0o777)).unwrap();
        let store = open.join("project/store");
        let refused = trusted_store(store.clone(), Path::new("/elsewhere")).unwrap_err();
        assert!(refused.contains("chmod go-w") && refused.contains("--store"), "{refused}");
        assert!(!refused.contains('\n') && !refused.ends_with('.'), "{refused}");
        // Who can write there can write the tests.
        assert_eq!(trusted_store(store.clone(), &open.join("project")), Ok(store));
    }

    #[test]
    fn a_folder_inside_the_project_that_others_can_write_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        fs::create_dir(root.join("store")).unwrap();
        fs::set_permissions(root.join("store"), Permissions::from_mode(0o777)).unwrap();
        assert!(trusted_store(root.join("store"), &root).is_err());
    }
}
