//! Class folders, read again only where a file changed.
//!
//! Model: a file whose size, inode and times are what they were when it was read has the content
//! that it had then, unless it was touched so shortly before the last scan that a later write could
//! carry the same time; such files are read again. The cache is only a cache: without it everything
//! is read, and its loss changes no answer.

mod reader;

use crate::block::{Added, BLOCK_VERSION, Block, ClassFacts, ResourceFacts};
use crate::disk;
use rayon::prelude::*;
use reader::FolderReader;
use serde::{Deserialize, Serialize};
use std::fs::Metadata;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};
use tamis_classfile::Analyser;
use tamis_core::Hash;

/// Time stamps of some file systems are this coarse.
const COARSEST_NS: i64 = 2_000_000_000;
/// Deeper folders are a circle of symbolic links.
const DEEPEST: u32 = 128;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Stat {
    size: u64,
    inode: u64,
    modified_ns: i64,
    changed_ns: i64,
}

impl Stat {
    pub(crate) fn of(meta: &Metadata) -> Self {
        Self {
            size: meta.size(),
            inode: meta.ino(),
            modified_ns: ns(meta.mtime(), meta.mtime_nsec()),
            changed_ns: ns(meta.ctime(), meta.ctime_nsec()),
        }
    }

    /// Of a file that could not be read: it is tried again every time.
    const NEVER_SETTLED: Self =
        Self { size: 0, inode: 0, modified_ns: i64::MAX, changed_ns: i64::MAX };

    /// Whether a write after `scanned_ns` must have given other times.
    pub(crate) fn settled(&self, scanned_ns: i64) -> bool {
        self.modified_ns.max(self.changed_ns) < scanned_ns - COARSEST_NS
    }
}

pub(crate) fn ns(seconds: i64, nanoseconds: i64) -> i64 {
    seconds.wrapping_mul(1_000_000_000).wrapping_add(nanoseconds)
}

pub(crate) fn now_ns() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct FileEntry {
    #[serde(with = "serde_bytes")]
    path: Vec<u8>,
    stat: Stat,
    added: Added,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Cache {
    version: u32,
    scanned_ns: i64,
    files: Vec<FileEntry>,
    block: Block,
}

/// A scanned class folder.
#[derive(Debug)]
pub struct Folder {
    pub block: Block,
    /// How many files were read, the others being known.
    pub read: usize,
    /// When the newest file was written; later test reports are about these files.
    pub newest_ns: i64,
    /// Parts of the folder that could not be listed: what is in there is not known.
    pub blind: Vec<String>,
}

struct Found {
    path: Vec<u8>,
    /// Asked for only where there is something to compare it with; a file that is read anyway
    /// tells it then.
    stat: Option<Stat>,
}

/// Scans a folder; a folder that does not exist is empty (Maven leaves `target/classes` out where
/// there are no sources). `cache` is a folder for what is known from earlier scans.
pub fn scan(folder: &Path, cache: Option<&Path>) -> Folder {
    scan_at(folder, cache, now_ns())
}

/// As [`scan`], but what was read is not kept: the next scan reads it again.
pub fn scan_only(folder: &Path, cache: Option<&Path>) -> Folder {
    scan_with(folder, cache, now_ns(), Keep::Nothing)
}

/// As [`scan`], with a cache in few bytes: deflated, and none of a folder with few files.
pub fn scan_sparingly(folder: &Path, cache: Option<&Path>) -> Folder {
    scan_with(folder, cache, now_ns(), Keep::Deflated { fewest: FEWEST })
}

fn scan_at(folder: &Path, cache: Option<&Path>, scanned_ns: i64) -> Folder {
    scan_with(folder, cache, scanned_ns, Keep::Plain)
}

/// Fewer files than these are read in milliseconds.
const FEWEST: usize = 256;

/// How what was read is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Keep {
    Nothing,
    Plain,
    Deflated { fewest: usize },
}

fn scan_with(folder: &Path, cache: Option<&Path>, scanned_ns: i64, keep: Keep) -> Folder {
    let deflated = matches!(keep, Keep::Deflated { .. });
    let file = cache.map(|c| c.join(cache_name(folder, deflated)));
    let known: Option<Cache> = file.as_deref().and_then(|file| match deflated {
        true => postcard::from_bytes(&disk::load_deflated(file)?).ok(),
        false => disk::load(file),
    });
    let known = known.filter(|k| k.version == BLOCK_VERSION).unwrap_or_default();
    let (mut found, blind) = match std::fs::symlink_metadata(folder) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => (Vec::new(), Vec::new()),
        _ => list(folder, &[], 0, !known.files.is_empty()),
    };
    found.sort_unstable_by(|a, b| a.path.cmp(&b.path));

    let stat_of = |i: usize| (&known.files[i].path[..], Some(known.files[i].stat));
    let mut old = 0;
    let mut kept: Vec<Option<usize>> = Vec::with_capacity(found.len());
    for file in &found {
        while old < known.files.len() && stat_of(old).0 < &file.path[..] {
            old += 1;
        }
        let same = old < known.files.len()
            && stat_of(old) == (&file.path[..], file.stat)
            && file.stat.is_some_and(|stat| stat.settled(known.scanned_ns));
        kept.push(same.then_some(old));
    }
    let to_read: Vec<usize> = (0..found.len()).filter(|&i| kept[i].is_none()).collect();
    if to_read.is_empty() && found.len() == known.files.len() {
        let newest_ns = newest(known.files.iter().map(|f| f.stat));
        return Folder { block: known.block, read: 0, newest_ns, blind };
    }

    let (fresh, places) = read(folder, &found, &to_read);
    let (block, files) = assemble(known, fresh, found, &kept, &places);
    let newest_ns = newest(files.iter().map(|f| f.stat));
    let cache = Cache { version: BLOCK_VERSION, scanned_ns, files, block };
    if let Some(file) = file {
        // Only a cache: where it cannot be written, the next scan reads everything again.
        match keep {
            Keep::Plain => drop(disk::save(&file, &cache)),
            Keep::Deflated { fewest } if cache.files.len() >= fewest => {
                let plain = postcard::to_allocvec(&cache).unwrap_or_default();
                drop(disk::save_deflated(&file, &plain));
            }
            Keep::Nothing | Keep::Deflated { .. } => {}
        }
    }
    Folder { block: cache.block, read: to_read.len(), newest_ns, blind }
}

fn newest(stats: impl Iterator<Item = Stat>) -> i64 {
    stats.filter(|s| *s != Stat::NEVER_SETTLED).map(|s| s.modified_ns).max().unwrap_or(i64::MIN)
}

fn cache_name(folder: &Path, deflated: bool) -> String {
    let absolute = std::path::absolute(folder).unwrap_or_else(|_| folder.to_path_buf());
    let kind = if deflated { "deflated" } else { "folder" };
    format!("{kind}-{:032x}", Hash::of(absolute.as_os_str().as_bytes()).0)
}

/// All files below a folder with what could not be listed.
fn list(folder: &Path, prefix: &[u8], depth: u32, stats: bool) -> (Vec<Found>, Vec<String>) {
    let cannot = |what: String| vec![format!("{}: {what}", folder.display())];
    if depth > DEEPEST {
        return (Vec::new(), cannot("nested too deeply, a circle of links?".into()));
    }
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(e) => return (Vec::new(), cannot(format!("cannot be listed: {e}"))),
    };
    let (mut files, mut blind) = (Vec::new(), Vec::new());
    let mut folders: Vec<(PathBuf, Vec<u8>)> = Vec::new();
    for entry in entries {
        let entry = match entry {
            Ok(entry) => entry,
            Err(e) => {
                blind.extend(cannot(format!("cannot be listed: {e}")));
                continue;
            }
        };
        let path = [prefix, entry.file_name().as_bytes()].concat();
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => {
                folders.push((entry.path(), [&path[..], b"/"].concat()));
                continue;
            }
            Ok(kind) if kind.is_file() && !stats => {
                files.push(Found { path, stat: None });
                continue;
            }
            _ => {}
        }
        let meta = match entry.metadata() {
            Ok(meta) if meta.is_symlink() => std::fs::metadata(entry.path()),
            other => other,
        };
        match meta {
            Ok(meta) if meta.is_dir() => folders.push((entry.path(), [&path[..], b"/"].concat())),
            Ok(meta) => files.push(Found { path, stat: Some(Stat::of(&meta)) }),
            // Gone since it was listed, or a link to nowhere: no class loader finds it either.
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {}
            Err(e) => blind.push(format!("{}: {e}", entry.path().display())),
        }
    }
    let below: Vec<_> =
        folders.par_iter().map(|(path, pre)| list(path, pre, depth + 1, stats)).collect();
    for (more, problems) in below {
        files.extend(more);
        blind.extend(problems);
    }
    (files, blind)
}

/// A file that was read: where it went, and what it looked like just before.
struct Read {
    added: Added,
    stat: Stat,
}

/// Reads and analyses files, in parallel. Gives one block and, for each file, its place in it.
fn read(folder: &Path, found: &[Found], to_read: &[usize]) -> (Block, Vec<Read>) {
    let chunk = to_read.len().div_ceil(rayon::current_num_threads() * 4).max(16);
    let parts: Vec<(Block, Vec<Read>)> = to_read
        .par_chunks(chunk)
        .map(|files| {
            let mut analyser = Analyser::default();
            let mut block = Block::default();
            let mut reader = FolderReader::new(folder);
            let places = files
                .iter()
                .map(|&i| {
                    let path = &found[i].path;
                    match reader.read(path) {
                        Ok(meta) => Read {
                            added: block.add_file(&mut analyser, path, reader.content()),
                            stat: Stat::of(&meta),
                        },
                        Err(e) => Read {
                            added: block.add_unreadable(path, &e.to_string()),
                            stat: Stat::NEVER_SETTLED,
                        },
                    }
                })
                .collect();
            (block, places)
        })
        .collect();
    let mut all = Block::default();
    let mut places = Vec::with_capacity(to_read.len());
    for (block, read) in parts {
        let (classes, resources) = all.absorb(block);
        places.extend(
            read.into_iter()
                .map(|Read { added, stat }| Read { added: added.behind(classes, resources), stat }),
        );
    }
    (all, places)
}

/// The new block out of what is kept and what was read, in the order of the files.
fn assemble(
    known: Cache,
    fresh: Block,
    found: Vec<Found>,
    kept: &[Option<usize>],
    places: &[Read],
) -> (Block, Vec<FileEntry>) {
    let mut block = known.block;
    let (classes_at, resources_at) = block.absorb(fresh);
    let mut classes: Vec<Option<ClassFacts>> =
        std::mem::take(&mut block.classes).into_iter().map(Some).collect();
    let mut resources: Vec<Option<ResourceFacts>> =
        std::mem::take(&mut block.resources).into_iter().map(Some).collect();
    block.classes.reserve(classes.len());
    let mut places = places.iter();
    let mut files = Vec::with_capacity(found.len());
    for (file, kept) in found.into_iter().zip(kept) {
        let (place, stat) = match (kept, file.stat) {
            (Some(old), Some(stat)) => (known.files[*old].added, stat),
            _ => match places.next() {
                Some(read) => (read.added.behind(classes_at, resources_at), read.stat),
                None => (Added::Nothing, Stat::NEVER_SETTLED),
            },
        };
        let added = match place {
            Added::Class(i) => {
                block.classes.extend(classes.get_mut(i as usize).and_then(Option::take));
                Added::Class(block.classes.len() as u32 - 1)
            }
            Added::Resource(i) => {
                block.resources.extend(resources.get_mut(i as usize).and_then(Option::take));
                Added::Resource(block.resources.len() as u32 - 1)
            }
            Added::Nothing => Added::Nothing,
        };
        files.push(FileEntry { path: file.path, stat, added });
    }
    // Names of classes that are gone stay in the table; now and then it is cleaned.
    if block.names.len() > 1_000 && kept.iter().flatten().count() < known.files.len() / 2 {
        block = block.compact();
    }
    (block, files)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(folder: &Folder) -> Vec<String> {
        let name = |id| String::from_utf8_lossy(folder.block.names.get(id)).into_owned();
        folder.block.resources.iter().map(|r| name(r.path)).collect()
    }

    #[test]
    fn settled_files_are_not_read_again() {
        let work = tempfile::tempdir().unwrap();
        let (folder, cache) = (work.path().join("classes"), work.path().join("cache"));
        std::fs::create_dir_all(folder.join("b")).unwrap();
        for name in ["a.txt", "b/x.txt", "b/y.txt", "z.txt"] {
            std::fs::write(folder.join(name), name).unwrap();
        }
        let later = now_ns() + 2 * COARSEST_NS;
        assert_eq!(scan_at(&folder, Some(&cache), now_ns()).read, 4);
        // Written just before that scan: a later write could carry the same time.
        assert_eq!(scan_at(&folder, Some(&cache), later).read, 4);
        assert_eq!(scan_at(&folder, Some(&cache), later).read, 0);
        std::fs::write(folder.join("b/x.txt"), "longer than before").unwrap();
        std::fs::remove_file(folder.join("a.txt")).unwrap();
        std::fs::write(folder.join("c.txt"), "new").unwrap();
        let next = scan_at(&folder, Some(&cache), later);
        assert_eq!(next.read, 2);
        assert_eq!(paths(&next), ["b/x.txt", "b/y.txt", "c.txt", "z.txt"]);
        let whole = scan_at(&folder, None, later);
        assert_eq!(whole.read, 4);
        let contents = |f: &Folder| f.block.resources.iter().map(|r| r.content).collect::<Vec<_>>();
        assert_eq!(contents(&next), contents(&whole));
        assert_eq!(contents(&scan_at(&folder, Some(&cache), later)), contents(&whole));
    }

    #[test]
    fn a_deflated_cache_is_as_good_and_few_files_have_none() {
        let work = tempfile::tempdir().unwrap();
        let (folder, cache) = (work.path().join("classes"), work.path().join("cache"));
        std::fs::create_dir_all(&folder).unwrap();
        for n in 0..200 {
            std::fs::write(
                folder.join(format!("a-name-of-some-length-as-classes-have-{n:03}.txt")),
                "the same in all",
            )
            .unwrap();
        }
        let later = now_ns() + 2 * COARSEST_NS;
        let keep = |fewest| scan_with(&folder, Some(&cache), later, Keep::Deflated { fewest });
        assert_eq!([keep(201).read, keep(201).read], [200, 200]);
        assert!(!cache.exists());
        assert_eq!([keep(200).read, keep(200).read], [200, 0]);
        assert_eq!(paths(&keep(200)), paths(&scan(&folder, None)));
        scan_at(&folder, Some(&cache), later);
        let sizes = |name: &str| {
            let files = std::fs::read_dir(&cache).unwrap().flatten();
            let named = files.filter(|f| f.file_name().to_string_lossy().starts_with(name));
            named.map(|f| f.metadata().unwrap().len()).sum::<u64>()
        };
        let (deflated, plain) = (sizes("deflated-"), sizes("folder-"));
        assert!(deflated < plain, "{deflated} to {plain}");
    }

    #[test]
    fn a_folder_that_is_not_there_is_empty_and_a_file_is_not_a_folder() {
        let work = tempfile::tempdir().unwrap();
        let missing = scan(&work.path().join("missing"), None);
        assert!(missing.blind.is_empty() && missing.block.classes.is_empty());
        let file = work.path().join("file");
        std::fs::write(&file, "").unwrap();
        assert_eq!(scan(&file, None).blind.len(), 1);
    }

    #[test]
    fn a_damaged_cache_is_no_cache() {
        let work = tempfile::tempdir().unwrap();
        let (folder, cache) = (work.path().join("classes"), work.path().join("cache"));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("a.txt"), "a").unwrap();
        let later = now_ns() + 2 * COARSEST_NS;
        scan_at(&folder, Some(&cache), later);
        for entry in std::fs::read_dir(&cache).unwrap().flatten() {
            std::fs::write(entry.path(), "garbage that is long enough").unwrap();
        }
        assert_eq!(scan_at(&folder, Some(&cache), later).read, 1);
    }
}
