//! Jars: their classes and resources as a [`Block`].
//!
//! * Multi-release jars: which version of a class is loaded depends on the JVM, so all versions
//!   count as one class.
//! * Jars inside a jar, `BOOT-INF/classes` and `WEB-INF/classes` are read as if they stood behind
//!   the outer jar's own classes; custom class loaders find them.
//! * `META-INF` and licence texts do not count (signatures, manifests and build stamps change with
//!   every release), services files do.
//!
//! A jar that cannot be opened is an error; an entry that cannot be read becomes a class or
//! resource with a problem.

use crate::block::{Block, ClassFacts};
use libdeflater::Decompressor;
use rawzip::{CompressionMethod, ZipArchive, ZipArchiveEntryWayfinder, ZipSliceArchive};
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use tamis_classfile::Analyser;

/// Deflate cannot do better than this; a header that promises more lies.
const BEST_RATIO: u64 = 1_032;
/// A jar in a jar in a jar.
const DEEPEST: u32 = 3;

#[derive(Debug, thiserror::Error)]
#[error("not a readable jar: {0}")]
pub struct BrokenJar(String);

impl From<rawzip::Error> for BrokenJar {
    fn from(error: rawzip::Error) -> Self {
        Self(error.to_string())
    }
}

#[derive(Debug)]
pub struct Archive;

struct Entry {
    path: Vec<u8>,
    way: ZipArchiveEntryWayfinder,
    method: CompressionMethod,
    size: u64,
    crc: u32,
}

impl Archive {
    pub fn read(bytes: &[u8]) -> Result<Block, BrokenJar> {
        read(bytes, 0)
    }
}

fn read(bytes: &[u8], depth: u32) -> Result<Block, BrokenJar> {
    let archive = ZipArchive::from_slice(bytes)?;
    let mut entries = Vec::new();
    let mut listing = archive.entries();
    while let Some(entry) = listing.next_entry()? {
        let path = entry.file_path().as_ref().to_vec();
        if entry.is_dir() || path.ends_with(b"/") {
            continue;
        }
        entries.push(Entry {
            path,
            way: entry.wayfinder(),
            method: entry.compression_method(),
            size: entry.uncompressed_size_hint(),
            crc: entry.crc32(),
        });
    }
    let multi_release = is_multi_release(&archive, &entries);
    // Of two entries with one name the class loader takes the last in the directory, as the JDK's
    // own reader does; keeping both would make the answer depend on chance.
    let mut last: FxHashMap<&[u8], usize> = FxHashMap::default();
    for (i, entry) in entries.iter().enumerate() {
        last.insert(&entry.path, i);
    }
    let mut wanted: Vec<usize> = last.into_values().collect();
    wanted.sort_unstable();
    let chunk = wanted.len().div_ceil(rayon::current_num_threads() * 2).max(64);
    let parts: Vec<Part> = wanted
        .par_chunks(chunk)
        .map(|indices| {
            let mut part = Part::default();
            let mut reader = EntryReader::default();
            for &i in indices {
                part.add(&archive, &entries[i], multi_release, depth, &mut reader);
            }
            part
        })
        .collect();
    Ok(join(parts))
}

/// What one worker got out of its share of the entries.
#[derive(Default)]
struct Part {
    block: Block,
    /// Classes below `META-INF/versions`.
    versions: Block,
    /// Classes of nested jars and of `BOOT-INF/classes` and the like.
    inner: Vec<Block>,
}

#[derive(Default)]
struct EntryReader {
    decompressor: Option<Decompressor>,
    content: Vec<u8>,
    analyser: Analyser,
}

impl Part {
    fn add(
        &mut self,
        archive: &ZipSliceArchive<&[u8]>,
        entry: &Entry,
        multi_release: bool,
        depth: u32,
        reader: &mut EntryReader,
    ) {
        let path = &entry.path[..];
        let (target, path) = if let Some(rest) = path.strip_prefix(b"META-INF/versions/") {
            let inside = rest.splitn(2, |&b| b == b'/').nth(1);
            match inside {
                Some(inside) if multi_release => (&mut self.versions, inside),
                _ => return,
            }
        } else if let Some(inside) =
            path.strip_prefix(b"BOOT-INF/classes/").or(path.strip_prefix(b"WEB-INF/classes/"))
        {
            self.inner.push(Block::default());
            let last = self.inner.len() - 1;
            (&mut self.inner[last], inside)
        } else {
            (&mut self.block, path)
        };
        let nested = path.ends_with(b".jar") && depth < DEEPEST;
        if !nested && is_noise(path) {
            return;
        }
        match reader.read(archive, entry) {
            Err(why) => {
                target.add_unreadable(path, &why);
            }
            Ok(()) if nested => match read(&reader.content, depth + 1) {
                Ok(block) => self.inner.push(block),
                Err(error) => {
                    target.add_unreadable(path, &error.to_string());
                }
            },
            Ok(()) => {
                target.add_file(&mut reader.analyser, path, &reader.content);
            }
        }
    }
}

impl EntryReader {
    /// Decompresses an entry into `self.content`.
    fn read(&mut self, archive: &ZipSliceArchive<&[u8]>, entry: &Entry) -> Result<(), String> {
        let data = archive.get_entry(entry.way).map_err(|e| e.to_string())?;
        let data = data.data();
        self.content.clear();
        match entry.method {
            CompressionMethod::STORE => self.content.extend_from_slice(data),
            CompressionMethod::DEFLATE => {
                if entry.size > (data.len() as u64).saturating_mul(BEST_RATIO).saturating_add(64) {
                    return Err("the jar promises more bytes than it can hold".into());
                }
                self.content.resize(entry.size as usize, 0);
                let decompressor = self.decompressor.get_or_insert_with(Decompressor::new);
                let len = decompressor
                    .deflate_decompress(data, &mut self.content)
                    .map_err(|e| format!("cannot be decompressed: {e}"))?;
                self.content.truncate(len);
            }
            _ => return Err("compressed in an unknown way".into()),
        }
        if self.content.len() as u64 != entry.size {
            return Err("its size is not what the jar says".into());
        }
        if libdeflater::crc32(&self.content) != entry.crc {
            return Err("its checksum is not what the jar says".into());
        }
        Ok(())
    }
}

fn is_multi_release(archive: &ZipSliceArchive<&[u8]>, entries: &[Entry]) -> bool {
    let Some(entry) = entries.iter().find(|e| e.path == b"META-INF/MANIFEST.MF") else {
        return false;
    };
    let mut reader = EntryReader::default();
    reader.read(archive, entry).is_ok()
        && reader.content.split(|&b| b == b'\n').any(|line| {
            let line = line.trim_ascii().to_ascii_lowercase();
            line.strip_prefix(b"multi-release:").is_some_and(|v| v.trim_ascii() == b"true")
        })
}

/// Files of a jar that say nothing about what its classes do.
fn is_noise(path: &[u8]) -> bool {
    if path.starts_with(b"META-INF/") {
        return !path.starts_with(b"META-INF/services/");
    }
    let name = path.rsplit(|&b| b == b'/').next().unwrap_or(path).to_ascii_lowercase();
    [&b"license"[..], b"notice", b"readme", b"about.html", b"changelog"]
        .iter()
        .any(|start| name.starts_with(start))
        && !name.ends_with(b".class")
}

fn join(parts: Vec<Part>) -> Block {
    let mut all = Block::default();
    let mut versions = Vec::new();
    let mut inner = Vec::new();
    for part in parts {
        all.absorb(part.block);
        versions.push(part.versions);
        inner.extend(part.inner);
    }
    let mut place: FxHashMap<u32, usize> =
        all.classes.iter().enumerate().map(|(i, c)| (c.name, i)).collect();
    for block in versions {
        for class in take_classes(&mut all, block) {
            match place.get(&class.name) {
                Some(&i) => all.classes[i].merge(class),
                None => {
                    place.insert(class.name, all.classes.len());
                    all.classes.push(class);
                }
            }
        }
    }
    for block in inner {
        for class in take_classes(&mut all, block) {
            if let std::collections::hash_map::Entry::Vacant(free) = place.entry(class.name) {
                free.insert(all.classes.len());
                all.classes.push(class);
            }
        }
    }
    all
}

/// Moves the resources of a block into `all` and returns its classes with ids of `all`.
fn take_classes(all: &mut Block, block: Block) -> Vec<ClassFacts> {
    let (start, _) = all.absorb(block);
    all.classes.split_off(start as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rawzip::ZipArchiveWriter;
    use std::io::Write;

    fn jar(files: &[(&str, &[u8])]) -> Vec<u8> {
        let mut out = Vec::new();
        let mut writer = ZipArchiveWriter::new(&mut out);
        for (name, content) in files {
            let (mut entry, config) = writer.new_file(*name).start().unwrap();
            let mut data = config.wrap(&mut entry);
            data.write_all(content).unwrap();
            let (_, descriptor) = data.finish().unwrap();
            entry.finish(descriptor).unwrap();
        }
        writer.finish().unwrap();
        out
    }

    fn resources(block: &Block) -> Vec<String> {
        let name = |id| String::from_utf8_lossy(block.names.get(id)).into_owned();
        block.resources.iter().map(|r| name(r.path)).collect()
    }

    fn classes(block: &Block) -> Vec<String> {
        block.classes.iter().map(|c| block.names.display(c.name)).collect()
    }

    #[test]
    fn resources_and_noise() {
        let block = Archive::read(&jar(&[
            ("META-INF/MANIFEST.MF", b"Manifest-Version: 1.0\n"),
            ("META-INF/LICENSE.txt", b""),
            ("LICENSE", b""),
            ("META-INF/services/a.B", b"a.C"),
            ("a/data.txt", b"1"),
        ]));
        assert_eq!(resources(&block.unwrap()), ["META-INF/services/a.B", "a/data.txt"]);
    }

    #[test]
    fn nested_jars_and_class_roots() {
        let inner = jar(&[("x/y.txt", b"1"), ("x/Broken.class", b"?")]);
        let block = Archive::read(&jar(&[
            ("BOOT-INF/lib/inner.jar", &inner),
            ("BOOT-INF/classes/app/Main.class", b"?"),
        ]))
        .unwrap();
        assert_eq!(classes(&block), ["x.Broken", "app.Main"]);
        assert_eq!(resources(&block), ["x/y.txt"]);
    }

    #[test]
    fn versions_count_only_where_the_manifest_says_so() {
        let manifest = b"Manifest-Version: 1.0\r\nMulti-Release: true\r\n";
        let files: [(&str, &[u8]); 3] = [
            ("META-INF/MANIFEST.MF", manifest),
            ("a/B.class", b"one"),
            ("META-INF/versions/11/a/B.class", b"two"),
        ];
        let both = Archive::read(&jar(&files)).unwrap();
        let base = Archive::read(&jar(&files[..2])).unwrap();
        let ignored = Archive::read(&jar(&files[1..])).unwrap();
        assert_eq!(classes(&both), ["a.B"]);
        assert_ne!(both.classes[0].whole, base.classes[0].whole);
        assert_eq!(ignored.classes[0].whole, base.classes[0].whole);
    }

    #[test]
    fn broken_bytes_are_errors_and_never_panics() {
        assert!(Archive::read(b"").is_err());
        assert!(Archive::read(b"PK\x03\x04 something else").is_err());
        let good = jar(&[("a/data.txt", b"some text"), ("b/Other.class", b"?")]);
        for cut in 0..good.len() {
            drop(Archive::read(&good[..cut]));
        }
        for at in 0..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 0x55;
            drop(Archive::read(&bad));
        }
    }

    #[test]
    fn a_wrong_checksum_is_a_problem_of_that_entry() {
        let mut bytes = jar(&[("a/data.txt", b"some text")]);
        let at = bytes.windows(9).position(|w| w == b"some text").unwrap();
        bytes[at] = b'S';
        let block = Archive::read(&bytes).unwrap();
        assert!(block.resources[0].problem.as_deref().unwrap().contains("checksum"));
    }
}
