//! What is in a jar, as a [`Block`]: its classes and resources.
//!
//! * Multi-release jars: which version of a class is loaded depends on the JVM, so all versions
//!   count as one class.
//! * Jars inside a jar, `BOOT-INF/classes` and `WEB-INF/classes` are read as if they stood behind
//!   the outer jar's own classes; custom class loaders find them.
//! * `META-INF` and licence texts do not count (signatures, manifests and build stamps change with
//!   every release), services files do.
//!
//! An entry that cannot be read becomes a class or resource with a problem.

use crate::block::{Added, Block, ClassFacts};
use crate::jar::{BrokenJar, EntryReader, Jar, JarEntry, SERVICES};
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use tamis_classfile::Analyser;

/// A jar in a jar in a jar.
const DEEPEST: u32 = 3;

/// The classes and resources of a jar.
pub fn block_of_jar(bytes: &[u8]) -> Result<Block, BrokenJar> {
    read(bytes, 0)
}

fn read(bytes: &[u8], depth: u32) -> Result<Block, BrokenJar> {
    let jar = Jar::open(bytes)?;
    let multi_release = jar.is_multi_release();
    let chunk = jar.entries().len().div_ceil(rayon::current_num_threads() * 2).max(64);
    let parts: Vec<Part> = jar
        .entries()
        .par_chunks(chunk)
        .map(|entries| {
            let mut part = Part::default();
            let mut worker = Worker::default();
            for entry in entries {
                part.add(&jar, entry, multi_release, depth, &mut worker);
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
struct Worker {
    reader: EntryReader,
    analyser: Analyser,
}

impl Part {
    fn add(
        &mut self,
        jar: &Jar<'_>,
        entry: &JarEntry,
        multi_release: bool,
        depth: u32,
        worker: &mut Worker,
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
        match worker.reader.read(jar, entry) {
            Err(why) => {
                target.add_unreadable(path, &why);
            }
            Ok(content) if nested => match read(content, depth + 1) {
                Ok(block) => self.inner.push(block),
                Err(error) => {
                    target.add_unreadable(path, &error.to_string());
                }
            },
            Ok(content) => {
                if let Added::Class(at) = target.add_file(&mut worker.analyser, path, content) {
                    target.classes[at as usize].members.drop_parts();
                }
            }
        }
    }
}

/// Files of a jar that say nothing about what its classes do.
fn is_noise(path: &[u8]) -> bool {
    if path.starts_with(b"META-INF/") {
        return !path.starts_with(SERVICES.as_bytes());
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
    use crate::jar::tests::jar;

    fn resources(block: &Block) -> Vec<String> {
        let name = |id| String::from_utf8_lossy(block.names.get(id)).into_owned();
        block.resources.iter().map(|r| name(r.path)).collect()
    }

    fn classes(block: &Block) -> Vec<String> {
        block.classes.iter().map(|c| block.names.display(c.name)).collect()
    }

    #[test]
    fn resources_and_noise() {
        let block = block_of_jar(&jar(&[
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
        let block = block_of_jar(&jar(&[
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
        let both = block_of_jar(&jar(&files)).unwrap();
        let base = block_of_jar(&jar(&files[..2])).unwrap();
        let ignored = block_of_jar(&jar(&files[1..])).unwrap();
        assert_eq!(classes(&both), ["a.B"]);
        assert_ne!(both.classes[0].whole, base.classes[0].whole);
        assert_eq!(ignored.classes[0].whole, base.classes[0].whole);
    }

    #[test]
    fn broken_bytes_are_errors_and_never_panics() {
        assert!(block_of_jar(b"").is_err());
        assert!(block_of_jar(b"PK\x03\x04 something else").is_err());
        let good = jar(&[("a/data.txt", b"some text"), ("b/Other.class", b"?")]);
        for cut in 0..good.len() {
            drop(block_of_jar(&good[..cut]));
        }
        for at in 0..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 0x55;
            drop(block_of_jar(&bad));
        }
    }

    #[test]
    fn a_wrong_checksum_is_a_problem_of_that_entry() {
        let mut bytes = jar(&[("a/data.txt", b"some text")]);
        let at = bytes.windows(9).position(|w| w == b"some text").unwrap();
        bytes[at] = b'S';
        let block = block_of_jar(&bytes).unwrap();
        assert!(block.resources[0].problem.as_deref().unwrap().contains("checksum"));
    }
}
