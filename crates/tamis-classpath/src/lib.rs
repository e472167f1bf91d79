//! What stands on a class path: class folders and jars, and what is known of each class in them.
//!
//! ```text
//! jar, folder           bytes of files, as a class loader finds them
//!   block               facts about classes and resources: hashes of header and bodies, names, problems
//!     jar_cache         of a jar: once per content, for all projects of a user
//!     folder            of a folder: again only where a file changed
//!       index           the classes of a whole class path by name, first definition first
//! ```
//!
//! Names ([`names`]) are small integers within the table that they stand in. No JVM is started, and nothing of
//! the build is changed.

pub mod block;
pub mod disk;
pub mod folder;
mod index;
pub mod jar;
mod jar_cache;
mod jar_facts;
pub mod names;

pub use index::{ClassIndex, Located};
pub use jar_cache::{JarCache, jar_content};
pub use jar_facts::block_of_jar;

use std::path::PathBuf;
use std::sync::Arc;
use tamis_fs::Fingerprinter;

/// What is known from earlier, and where it is kept.
#[derive(Debug, Clone)]
pub struct Caches {
    /// Folder of what is known about class folders; `None` keeps nothing.
    pub folders: Option<PathBuf>,
    pub jars: JarCache,
    /// Says which files have the content that they had.
    pub files: Arc<Fingerprinter>,
}

impl Caches {
    /// The user's own for jars, with these for class folders and files.
    pub fn of_user(folders: Option<PathBuf>, files: Arc<Fingerprinter>) -> Self {
        Self { folders, jars: JarCache::of_user(), files }
    }

    /// Nothing is known, and nothing is kept.
    pub fn none() -> Self {
        let files = Fingerprinter::new(tamis_fs::Options::default());
        Self { folders: None, jars: JarCache::new(None), files: Arc::new(files) }
    }
}
