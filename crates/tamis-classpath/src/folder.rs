//! Class folders, analysed again only where a file changed.
//!
//! Model: whether a file has the content that it had is what [`tamis_fs`] says, by the identity of the file or by
//! reading it. What is kept here is what follows from contents: the facts of each file, by the hash of the bytes
//! that they were taken from. The cache is only a cache: without it everything is read, and its loss changes no
//! answer.

use crate::Caches;
use crate::block::{Added, BLOCK_VERSION, Block, ClassFacts, ResourceFacts};
use crate::disk;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use tamis_classfile::Analyser;
use tamis_core::{Hash, Scheme, Value};
use tamis_fs::{Fingerprinter, Identity};

/// Deeper folders are a circle of symbolic links.
const DEEPEST: u32 = 128;

/// Raised whenever the form of a stored folder changes, or that of a block.
const VERSION: u32 = BLOCK_VERSION << 8 | 1;

#[derive(Debug, Clone, Serialize, Deserialize)]
struct FileEntry {
    #[serde(with = "serde_bytes")]
    path: Vec<u8>,
    /// Of its bytes; `None` of a file that could not be read: it is tried again every time.
    content: Option<Hash>,
    added: Added,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Cache {
    version: u32,
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
    /// A link is followed each time: its own identity says nothing about what is in the file.
    is_link: bool,
}

/// Fewer files than these are read in milliseconds.
const FEWEST: usize = 256;

/// How what was found is kept for the next scan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// Not at all: the next scan finds it again.
    Nothing,
    Plain,
    /// In few bytes, and only of a folder that has at least so many files.
    Deflated {
        fewest: usize,
    },
}

impl Keep {
    /// For caches that should stay small.
    pub const SPARINGLY: Self = Self::Deflated { fewest: FEWEST };
}

/// Scans a folder; a folder that does not exist is empty (Maven leaves `target/classes` out where
/// there are no sources).
pub fn scan(folder: &Path, caches: &Caches, keep: Keep) -> Folder {
    let deflated = matches!(keep, Keep::Deflated { .. });
    let file = caches.folders.as_ref().map(|c| c.join(cache_name(folder, deflated)));
    let known = file.as_deref().and_then(|file| load(file, deflated)).unwrap_or_default();
    let (mut found, blind) = match std::fs::symlink_metadata(folder) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => (Vec::new(), Vec::new()),
        _ => list(folder, &[], 0),
    };
    found.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    let now = contents(folder, &found, &known, &caches.files);
    let kept = unchanged(&found, &now.values, &known);
    let to_read: Vec<usize> = (0..found.len()).filter(|&i| kept[i].is_none()).collect();
    if to_read.is_empty() && found.len() == known.files.len() {
        return Folder { block: known.block, read: 0, newest_ns: now.newest_ns, blind };
    }
    let (fresh, places) = read(folder, &found, &to_read, &caches.files);
    let newest_ns = places.iter().map(|read| read.modified_ns).fold(now.newest_ns, i64::max);
    let (block, files) = assemble(known, fresh, found, &kept, &places);
    let cache = Cache { version: VERSION, files, block };
    if let Some(file) = file {
        save(&file, &cache, keep);
    }
    Folder { block: cache.block, read: to_read.len(), newest_ns, blind }
}

fn load(file: &Path, deflated: bool) -> Option<Cache> {
    let known: Option<Cache> = match deflated {
        true => postcard::from_bytes(&disk::load_deflated(file)?).ok(),
        false => disk::load(file),
    };
    known.filter(|known| known.version == VERSION)
}

/// Only a cache: where it cannot be written, the next scan analyses everything again.
fn save(file: &Path, cache: &Cache, keep: Keep) {
    match keep {
        Keep::Plain => drop(disk::save(file, cache)),
        Keep::Deflated { fewest } if cache.files.len() >= fewest => {
            let plain = postcard::to_allocvec(cache).unwrap_or_default();
            drop(disk::save_deflated(file, &plain));
        }
        Keep::Nothing | Keep::Deflated { .. } => {}
    }
}

/// What the files of a folder hold now, where there is something to compare it with.
struct Contents {
    values: Vec<Option<Hash>>,
    newest_ns: i64,
}

fn contents(folder: &Path, found: &[Found], known: &Cache, files: &Fingerprinter) -> Contents {
    if known.files.is_empty() {
        return Contents { values: vec![None; found.len()], newest_ns: i64::MIN };
    }
    let question = |file: &Found| (path_of(folder, &file.path), Scheme::Raw);
    let questions: Vec<(PathBuf, Scheme)> = found.iter().map(question).collect();
    let answers = files.answer_many(&questions);
    let times = answers.iter().zip(found).filter(|(_, file)| !file.is_link);
    let times = times.filter_map(|(answer, _)| answer.identity.as_ref().map(modified_ns));
    let newest_ns = times.max().unwrap_or(i64::MIN);
    let hash = |value: Value| match value {
        Value::Content { hash, .. } => Some(hash),
        _ => None,
    };
    Contents { values: answers.iter().map(|answer| hash(answer.value)).collect(), newest_ns }
}

fn path_of(folder: &Path, below: &[u8]) -> PathBuf {
    folder.join(OsStr::from_bytes(below))
}

fn modified_ns(identity: &Identity) -> i64 {
    i64::try_from(identity.mtime_ns).unwrap_or(i64::MAX)
}

/// For each file its place among the known ones, where it has the content that it had.
fn unchanged(found: &[Found], contents: &[Option<Hash>], known: &Cache) -> Vec<Option<usize>> {
    let mut old = 0;
    let mut kept = Vec::with_capacity(found.len());
    for (file, content) in found.iter().zip(contents) {
        while known.files.get(old).is_some_and(|known| known.path < file.path) {
            old += 1;
        }
        let here = known.files.get(old).filter(|known| known.path == file.path);
        let same = here.is_some_and(|known| content.is_some() && known.content == *content);
        kept.push(same.then_some(old));
    }
    kept
}

fn cache_name(folder: &Path, deflated: bool) -> String {
    let absolute = std::path::absolute(folder).unwrap_or_else(|_| folder.to_path_buf());
    let kind = if deflated { "deflated" } else { "folder" };
    format!("{kind}-{:032x}", Hash::of(absolute.as_os_str().as_bytes()).0)
}

/// The paths of all files below a folder, sorted, links followed; or why not all of them are known.
pub fn files(folder: &Path) -> Result<Vec<Vec<u8>>, String> {
    let (found, blind) = list(folder, &[], 0);
    if let Some(why) = blind.into_iter().next() {
        return Err(why);
    }
    let mut paths: Vec<Vec<u8>> = found.into_iter().map(|file| file.path).collect();
    paths.sort_unstable();
    Ok(paths)
}

/// All files below a folder with what could not be listed.
fn list(folder: &Path, prefix: &[u8], depth: u32) -> (Vec<Found>, Vec<String>) {
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
            Ok(kind) if kind.is_file() => {
                files.push(Found { path, is_link: false });
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
            Ok(_) => files.push(Found { path, is_link: true }),
            // Gone since it was listed, or a link to nowhere: no class loader finds it either.
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {}
            Err(e) => blind.push(format!("{}: {e}", entry.path().display())),
        }
    }
    let below: Vec<_> = folders.par_iter().map(|(path, pre)| list(path, pre, depth + 1)).collect();
    for (more, problems) in below {
        files.extend(more);
        blind.extend(problems);
    }
    (files, blind)
}

/// A file that was read: where it went, and what it was.
struct Read {
    added: Added,
    content: Option<Hash>,
    modified_ns: i64,
}

/// Reads and analyses files, in parallel. Gives one block and, for each file, its place in it.
fn read(
    folder: &Path,
    found: &[Found],
    to_read: &[usize],
    files: &Fingerprinter,
) -> (Block, Vec<Read>) {
    let chunk = to_read.len().div_ceil(rayon::current_num_threads() * 4).max(16);
    let parts: Vec<(Block, Vec<Read>)> = to_read
        .par_chunks(chunk)
        .map(|chunk| {
            let mut analyser = Analyser::default();
            let (mut block, mut content) = (Block::default(), Vec::new());
            let mut read = |&i: &usize| {
                let path = &found[i].path;
                match files.read_whole(&path_of(folder, path), &mut content) {
                    Ok(whole) => Read {
                        added: block.add_file(&mut analyser, path, &content),
                        content: Some(whole.hash),
                        modified_ns: modified_ns(&whole.identity),
                    },
                    Err(e) => Read {
                        added: block.add_unreadable(path, &e.to_string()),
                        content: None,
                        modified_ns: i64::MIN,
                    },
                }
            };
            let places = chunk.iter().map(&mut read).collect();
            (block, places)
        })
        .collect();
    let mut all = Block::default();
    let mut places = Vec::with_capacity(to_read.len());
    for (block, read) in parts {
        let (classes, resources) = all.absorb(block);
        let behind = |read: Read| Read { added: read.added.behind(classes, resources), ..read };
        places.extend(read.into_iter().map(behind));
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
        let (place, content) = match kept.and_then(|old| known.files.get(old)) {
            Some(known) => (known.added, known.content),
            None => match places.next() {
                Some(read) => (read.added.behind(classes_at, resources_at), read.content),
                None => (Added::Nothing, None),
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
        files.push(FileEntry { path: file.path, content, added });
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

    struct Work {
        work: tempfile::TempDir,
        caches: Caches,
    }

    impl Work {
        /// A folder with these files and their own names as content.
        fn new(names: &[&str]) -> Self {
            let work = tempfile::tempdir().unwrap();
            let caches = Caches { folders: Some(work.path().join("cache")), ..Caches::none() };
            let this = Self { work, caches };
            names.iter().for_each(|name| this.write(name, name));
            this
        }

        fn folder(&self) -> PathBuf {
            self.work.path().join("classes")
        }

        fn write(&self, name: &str, text: &str) {
            let path = self.folder().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }

        fn scan(&self) -> Folder {
            scan(&self.folder(), &self.caches, Keep::Plain)
        }
    }

    fn contents(folder: &Folder) -> Vec<Hash> {
        folder.block.resources.iter().map(|r| r.content).collect()
    }

    #[test]
    fn only_changed_files_are_analysed_again() {
        let work = Work::new(&["a.txt", "b/x.txt", "b/y.txt", "z.txt"]);
        assert_eq!([work.scan().read, work.scan().read], [4, 0]);
        work.write("b/x.txt", "X.TXT");
        std::fs::remove_file(work.folder().join("a.txt")).unwrap();
        work.write("c.txt", "new");
        let next = work.scan();
        assert_eq!(next.read, 2);
        assert_eq!(paths(&next), ["b/x.txt", "b/y.txt", "c.txt", "z.txt"]);
        let whole = scan(&work.folder(), &Caches::none(), Keep::Plain);
        assert_eq!(whole.read, 4);
        assert_eq!(contents(&next), contents(&whole));
        let again = work.scan();
        assert_eq!((again.read, contents(&again)), (0, contents(&whole)));
        assert_eq!((again.newest_ns, next.newest_ns), (whole.newest_ns, whole.newest_ns));
    }

    #[test]
    fn a_change_of_the_same_size_in_the_same_moment_is_seen() {
        let work = Work::new(&["a.txt"]);
        let first = contents(&work.scan());
        for text in ["b.txt", "c.txt", "d.txt"] {
            work.write("a.txt", text);
            assert_ne!(contents(&work.scan()), first);
            assert_eq!(contents(&work.scan()), [Hash::of(text.as_bytes())]);
        }
    }

    #[test]
    fn links_are_followed_and_what_is_behind_them_is_not_remembered_by_the_link() {
        let work = Work::new(&["a.txt"]);
        let behind = work.work.path().join("behind");
        std::fs::write(&behind, "one").unwrap();
        std::os::unix::fs::symlink(&behind, work.folder().join("link.txt")).unwrap();
        std::os::unix::fs::symlink("nowhere", work.folder().join("dangling.txt")).unwrap();
        assert_eq!(paths(&work.scan()), ["a.txt", "link.txt"]);
        std::fs::write(&behind, "two").unwrap();
        assert_eq!(contents(&work.scan())[1], Hash::of(b"two"));
        std::fs::remove_file(&behind).unwrap();
        assert_eq!(paths(&work.scan()), ["a.txt"]);
    }

    #[test]
    fn a_deflated_cache_is_as_good_and_few_files_have_none() {
        let name = |n| format!("a-name-of-some-length-as-classes-have-{n:03}.txt");
        let names: Vec<String> = (0..200).map(name).collect();
        let work = Work::new(&names.iter().map(String::as_str).collect::<Vec<_>>());
        let cache = work.work.path().join("cache");
        let keep = |fewest| scan(&work.folder(), &work.caches, Keep::Deflated { fewest });
        assert_eq!([keep(201).read, keep(201).read], [200, 200]);
        assert!(!cache.exists());
        assert_eq!([keep(200).read, keep(200).read], [200, 0]);
        assert_eq!(paths(&keep(200)), paths(&scan(&work.folder(), &Caches::none(), Keep::Plain)));
        work.scan();
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
        let work = Work::new(&["file"]);
        let missing = scan(&work.folder().join("missing"), &work.caches, Keep::Plain);
        assert!(missing.blind.is_empty() && missing.block.classes.is_empty());
        let file = scan(&work.folder().join("file"), &work.caches, Keep::Plain);
        assert_eq!(file.blind.len(), 1);
    }

    #[test]
    fn a_damaged_cache_is_no_cache() {
        let work = Work::new(&["a.txt"]);
        work.scan();
        for entry in std::fs::read_dir(work.work.path().join("cache")).unwrap().flatten() {
            std::fs::write(entry.path(), "garbage that is long enough").unwrap();
        }
        assert_eq!(work.scan().read, 1);
    }
}
