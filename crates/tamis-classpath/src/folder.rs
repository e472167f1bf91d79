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
mod tests;
