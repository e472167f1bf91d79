//! Jars are analysed once per content, for all projects of a user.
//!
//! Two kinds of files in the cache folder: `path-<hash of path>` remembers the content hash of a
//! jar by its size and times, `jar-<content hash>` holds what is in it. Both are only caches, and
//! several processes may write them at once: each file is replaced as a whole.

use crate::block::{BLOCK_VERSION, Block};
use crate::disk;
use crate::folder::{Stat, now_ns};
use crate::jar_facts::block_of_jar;
use serde::{Deserialize, Serialize};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use tamis_core::Hash;

#[derive(Debug, Clone)]
pub struct JarCache {
    folder: Option<PathBuf>,
}

#[derive(Serialize, Deserialize)]
struct Seen {
    stat: Stat,
    seen_ns: i64,
    content: Hash,
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

    /// The hash of a jar's content, by its size and times where they are known.
    pub fn content(&self, jar: &Path) -> std::io::Result<Hash> {
        let meta = std::fs::metadata(jar)?;
        if !meta.is_file() {
            return Err(std::io::Error::other("not a file"));
        }
        let stat = Stat::of(&meta);
        let absolute = std::path::absolute(jar)?;
        let key = Hash::of(absolute.as_os_str().as_bytes()).0;
        let file = self.folder.as_ref().map(|f| f.join(format!("path-{key:032x}")));
        if let Some(seen) = file.as_deref().and_then(disk::load::<Seen>)
            && seen.stat == stat
            && stat.settled(seen.seen_ns)
        {
            return Ok(seen.content);
        }
        let seen_ns = now_ns();
        let content = Hash::of(&std::fs::read(jar)?);
        if let Some(file) = file {
            disk::save(&file, &Seen { stat, seen_ns, content }).ok();
        }
        Ok(content)
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The smallest zip: nothing but its end record.
    const EMPTY: [u8; 22] = *b"PK\x05\x06\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";

    #[test]
    fn a_known_content_needs_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let cache = JarCache::new(Some(folder.path().join("cache")));
        let jar = folder.path().join("a.jar");
        std::fs::write(&jar, EMPTY).unwrap();
        let content = cache.content(&jar).unwrap();
        assert!(cache.block(content, None).unwrap_err().contains("not in the jar cache"));
        assert!(cache.block(content, Some(&jar)).is_ok());
        std::fs::remove_file(&jar).unwrap();
        assert!(cache.block(content, None).is_ok());
    }

    #[test]
    fn a_change_within_the_same_moment_is_seen() {
        let folder = tempfile::tempdir().unwrap();
        let cache = JarCache::new(Some(folder.path().join("cache")));
        let jar = folder.path().join("a.jar");
        std::fs::write(&jar, b"one").unwrap();
        let one = cache.content(&jar).unwrap();
        std::fs::write(&jar, b"two").unwrap();
        assert_ne!(cache.content(&jar).unwrap(), one);
    }

    #[test]
    fn what_is_no_jar_is_an_error_with_its_reason() {
        let folder = tempfile::tempdir().unwrap();
        let cache = JarCache::new(None);
        assert!(cache.content(folder.path()).is_err());
        let jar = folder.path().join("a.jar");
        std::fs::write(&jar, b"text").unwrap();
        let content = cache.content(&jar).unwrap();
        assert!(cache.block(content, Some(&jar)).unwrap_err().starts_with("not a readable jar"));
    }
}
