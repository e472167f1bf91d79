//! Jars are analysed once per content, for all projects of a user.
//!
//! A file `jar-<content hash>` in the cache folder holds what is in a jar. Which content a jar has is what
//! [`tamis_fs`] says. Both are only caches, and several processes may write them at once: each file is replaced as a
//! whole.

use crate::block::{BLOCK_VERSION, Block};
use crate::disk;
use crate::jar_facts::block_of_jar;
use std::path::{Path, PathBuf};
use tamis_core::{Hash, Scheme, Value};
use tamis_fs::Fingerprinter;

#[derive(Debug, Clone)]
pub struct JarCache {
    folder: Option<PathBuf>,
}

impl JarCache {
    /// `None` keeps nothing.
    pub fn new(folder: Option<PathBuf>) -> Self {
        Self { folder }
    }

    /// The usual place: below `XDG_CACHE_HOME` or `~/.cache`.
    pub fn of_user() -> Self {
        let absolute =
            |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|p| p.is_absolute());
        let base = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")));
        Self::new(base.map(|b| b.join("tamis").join("jars")))
    }

    /// What is in a jar of this content: from the cache, else from the file itself.
    pub fn block(&self, content: Hash, jar: Option<&Path>) -> Result<Block, String> {
        let file = self.folder.as_ref().map(|f| f.join(format!("jar-{:032x}", content.0)));
        if let Some((BLOCK_VERSION, block)) = file.as_deref().and_then(disk::load::<(u32, Block)>) {
            return Ok(block);
        }
        let Some(jar) = jar else {
            return Err("an earlier version of a library is not in the jar cache".into());
        };
        let bytes = std::fs::read(jar).map_err(|e| e.to_string())?;
        if Hash::of(&bytes) != content {
            return Err("changed while it was read".into());
        }
        let block = block_of_jar(&bytes).map_err(|e| e.to_string())?;
        if let Some(file) = file {
            disk::save(&file, &(BLOCK_VERSION, &block)).ok();
        }
        Ok(block)
    }
}

/// The hash of a jar's bytes.
pub fn jar_content(jar: &Path, files: &Fingerprinter) -> std::io::Result<Hash> {
    // A link is not what it leads to.
    let answer = files.answer(&jar.canonicalize()?, Scheme::Raw);
    match (answer.value, answer.error) {
        (Value::Content { hash, .. }, None) => Ok(hash),
        (_, Some(why)) => Err(std::io::Error::other(why)),
        (Value::Opaque(_), None) => Err(std::io::ErrorKind::PermissionDenied.into()),
        _ => Err(std::io::Error::other("not a file")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Caches;

    /// The smallest zip: nothing but its end record.
    const EMPTY: [u8; 22] = *b"PK\x05\x06\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";

    #[test]
    fn a_known_content_needs_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let cache = JarCache::new(Some(folder.path().join("cache")));
        let jar = folder.path().join("a.jar");
        std::fs::write(&jar, EMPTY).unwrap();
        let content = jar_content(&jar, &Caches::none().files).unwrap();
        assert!(cache.block(content, None).unwrap_err().contains("not in the jar cache"));
        assert!(cache.block(content, Some(&jar)).is_ok());
        std::fs::remove_file(&jar).unwrap();
        assert!(cache.block(content, None).is_ok());
    }

    #[test]
    fn a_change_within_the_same_moment_is_seen() {
        let folder = tempfile::tempdir().unwrap();
        let files = Caches::none().files;
        let jar = folder.path().join("a.jar");
        std::fs::write(&jar, b"one").unwrap();
        let one = jar_content(&jar, &files).unwrap();
        std::fs::write(&jar, b"two").unwrap();
        assert_ne!(jar_content(&jar, &files).unwrap(), one);
    }

    #[test]
    fn what_is_no_jar_is_an_error_with_its_reason() {
        let folder = tempfile::tempdir().unwrap();
        let cache = JarCache::new(None);
        let files = Caches::none().files;
        assert!(jar_content(folder.path(), &files).is_err());
        assert!(jar_content(&folder.path().join("missing"), &files).is_err());
        let jar = folder.path().join("a.jar");
        std::fs::write(&jar, b"text").unwrap();
        let content = jar_content(&jar, &Caches::none().files).unwrap();
        assert!(cache.block(content, Some(&jar)).unwrap_err().starts_with("not a readable jar"));
    }

    #[test]
    fn a_link_has_the_content_of_what_it_leads_to() {
        let folder = tempfile::tempdir().unwrap();
        let files = Caches::none().files;
        let (jar, link) = (folder.path().join("a.jar"), folder.path().join("link.jar"));
        std::fs::write(&jar, EMPTY).unwrap();
        std::os::unix::fs::symlink("a.jar", &link).unwrap();
        assert_eq!(jar_content(&link, &files).unwrap(), Hash::of(&EMPTY));
    }
}
