//! Reads jars: which entries there are, and what is in them.
//!
//! Of two entries with one name the class loader takes the last in the directory, as the JDK's own reader does;
//! keeping both would make the answer depend on chance.
//!
//! A jar that cannot be opened is an error; an entry that cannot be read is an error of that entry only.

use libdeflater::Decompressor;
use rawzip::{CompressionMethod, ZipArchive, ZipArchiveEntryWayfinder, ZipSliceArchive};
use rustc_hash::{FxHashMap, FxHashSet};

/// Deflate cannot do better than this; a header that promises more lies.
const BEST_RATIO: u64 = 1_032;

/// Where the providers of services are listed.
pub const SERVICES: &str = "META-INF/services/";

#[derive(Debug, thiserror::Error)]
#[error("not a readable jar: {0}")]
pub struct BrokenJar(String);

impl From<rawzip::Error> for BrokenJar {
    fn from(error: rawzip::Error) -> Self {
        Self(error.to_string())
    }
}

/// An opened jar.
#[derive(Debug)]
pub struct Jar<'b> {
    archive: ZipSliceArchive<&'b [u8]>,
    entries: Vec<JarEntry>,
}

/// One file of a jar.
#[derive(Debug)]
pub struct JarEntry {
    /// With `/`, as the jar has it.
    pub path: Vec<u8>,
    way: ZipArchiveEntryWayfinder,
    method: CompressionMethod,
    size: u64,
    crc: u32,
}

impl<'b> Jar<'b> {
    pub fn open(bytes: &'b [u8]) -> Result<Self, BrokenJar> {
        let archive = ZipArchive::from_slice(bytes)?;
        let mut all = Vec::new();
        let mut listing = archive.entries();
        while let Some(entry) = listing.next_entry()? {
            let path = entry.file_path().as_ref().to_vec();
            if entry.is_dir() || path.ends_with(b"/") {
                continue;
            }
            all.push(JarEntry {
                path,
                way: entry.wayfinder(),
                method: entry.compression_method(),
                size: entry.uncompressed_size_hint(),
                crc: entry.crc32(),
            });
        }
        Ok(Self { archive, entries: last_of_each_name(all) })
    }

    /// The files in the order of the directory, each name once.
    pub fn entries(&self) -> &[JarEntry] {
        &self.entries
    }

    /// Whether the manifest says that there are classes for certain releases of Java.
    pub fn is_multi_release(&self) -> bool {
        let manifest = self.entries.iter().find(|e| e.path == b"META-INF/MANIFEST.MF");
        let mut reader = EntryReader::default();
        let content = manifest.and_then(|entry| reader.read(self, entry).ok());
        content.is_some_and(|text| text.split(|&b| b == b'\n').any(switches_releases_on))
    }
}

fn last_of_each_name(all: Vec<JarEntry>) -> Vec<JarEntry> {
    let mut last: FxHashMap<&[u8], usize> = FxHashMap::default();
    for (at, entry) in all.iter().enumerate() {
        last.insert(&entry.path, at);
    }
    if last.len() == all.len() {
        return all;
    }
    let wanted: FxHashSet<usize> = last.into_values().collect();
    let kept = all.into_iter().enumerate().filter(|(at, _)| wanted.contains(at));
    kept.map(|(_, entry)| entry).collect()
}

fn switches_releases_on(line: &[u8]) -> bool {
    let line = line.trim_ascii().to_ascii_lowercase();
    line.strip_prefix(b"multi-release:").is_some_and(|v| v.trim_ascii() == b"true")
}

/// Decompresses entries, one after the other, into one buffer.
#[derive(Default)]
pub struct EntryReader {
    decompressor: Option<Decompressor>,
    content: Vec<u8>,
}

impl std::fmt::Debug for EntryReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EntryReader").finish_non_exhaustive()
    }
}

impl EntryReader {
    /// The content of an entry of this jar, or why it is not known.
    pub fn read(&mut self, jar: &Jar<'_>, entry: &JarEntry) -> Result<&[u8], String> {
        let data = jar.archive.get_entry(entry.way).map_err(|e| e.to_string())?;
        self.content.clear();
        self.decode(data.data(), entry)?;
        if self.content.len() as u64 != entry.size {
            return Err("its size is not what the jar says".into());
        }
        if libdeflater::crc32(&self.content) != entry.crc {
            return Err("its checksum is not what the jar says".into());
        }
        Ok(&self.content)
    }

    fn decode(&mut self, data: &[u8], entry: &JarEntry) -> Result<(), String> {
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
        Ok(())
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use rawzip::ZipArchiveWriter;
    use std::io::Write;

    pub(crate) fn jar(files: &[(&str, &[u8])]) -> Vec<u8> {
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

    #[test]
    fn of_two_entries_with_one_name_the_last_counts() {
        let bytes = jar(&[("a", b"first"), ("b", b"other"), ("a", b"second")]);
        let jar = Jar::open(&bytes).unwrap();
        let mut reader = EntryReader::default();
        let found: Vec<(String, Vec<u8>)> = jar
            .entries()
            .iter()
            .map(|entry| {
                let path = String::from_utf8_lossy(&entry.path).into_owned();
                (path, reader.read(&jar, entry).unwrap().to_vec())
            })
            .collect();
        assert_eq!(found, [("b".into(), b"other".to_vec()), ("a".into(), b"second".to_vec())]);
    }

    #[test]
    fn the_manifest_says_whether_releases_count() {
        let with = |text: &[u8]| {
            Jar::open(&jar(&[("META-INF/MANIFEST.MF", text)])).unwrap().is_multi_release()
        };
        assert!(with(b"Manifest-Version: 1.0\r\nMulti-Release: true\r\n"));
        assert!(!with(b"Multi-Release: false\n"));
        assert!(!with(b""));
    }
}
