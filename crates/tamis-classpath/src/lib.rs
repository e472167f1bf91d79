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
pub use jar_cache::JarCache;
pub use jar_facts::block_of_jar;

use std::path::PathBuf;

/// Where facts are kept between runs.
#[derive(Debug, Clone)]
pub struct Caches {
    /// Those of class folders; `None` keeps none.
    pub folders: Option<PathBuf>,
    pub jars: JarCache,
}
