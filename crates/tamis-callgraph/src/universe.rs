//! The class files of a program: by name, first definition first.
//!
//! A class is *own* (of the project) or of a *library* (jars, the JDK). Whatever is asked for and not
//! here is missing; what could not be read is listed in [`Universe::problems`].

use crate::image::{self, Mapped};
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use tamis_classpath::jar::{EntryReader, Jar, SERVICES};

/// Who wrote a class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Author {
    Project,
    Library,
}

#[derive(Debug)]
enum Bytes {
    Owned(Vec<u8>),
    /// In the image of this number.
    Image(usize, usize, usize),
}

#[derive(Debug, Default)]
pub struct Universe {
    classes: Vec<(Bytes, Author)>,
    by_name: FxHashMap<Vec<u8>, u32>,
    images: Vec<Mapped>,
    /// Services by internal name with their providers, as `META-INF/services` lists them.
    services: BTreeMap<Vec<u8>, BTreeSet<Vec<u8>>>,
    /// What could not be read, with the reason.
    pub problems: Vec<String>,
}

impl Universe {
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds one class under the name that it is found by (`com/acme/Thing`).
    pub fn add_class(&mut self, name: &[u8], bytes: Vec<u8>, origin: Author) {
        self.claim(name.to_vec(), Bytes::Owned(bytes), origin);
    }

    /// Adds what a file in `META-INF/services` says: the service's name (`com.acme.Service`) and the
    /// file's text.
    pub fn add_service(&mut self, name: &[u8], text: &[u8]) {
        let internal = |name: &[u8]| -> Vec<u8> {
            name.iter().map(|&b| if b == b'.' { b'/' } else { b }).collect()
        };
        let lines = text.split(|&b| b == b'\n');
        let providers = lines.filter_map(|line| {
            let name = line.split(|&b| b == b'#').next().unwrap_or_default().trim_ascii();
            (!name.is_empty()).then(|| internal(name))
        });
        self.services.entry(internal(name)).or_default().extend(providers);
    }

    /// Services with the names of their providers, all internal (`com/acme/Service`).
    pub fn services(&self) -> &BTreeMap<Vec<u8>, BTreeSet<Vec<u8>>> {
        &self.services
    }

    fn claim(&mut self, name: Vec<u8>, bytes: Bytes, origin: Author) {
        if name.ends_with(b"module-info") || name.ends_with(b"package-info") {
            return;
        }
        if let std::collections::hash_map::Entry::Vacant(free) = self.by_name.entry(name) {
            free.insert(self.classes.len() as u32);
            self.classes.push((bytes, origin));
        }
    }

    /// Adds a folder of class files or a jar. One that is not there is empty, as for the JVM.
    pub fn add_entry(&mut self, path: &Path, origin: Author, release: u32) {
        self.add_entries(&[path], origin, release);
    }

    /// Adds folders and jars in their order. Of a multi-release jar the classes for this release of
    /// Java are taken.
    pub fn add_entries(&mut self, paths: &[&Path], origin: Author, release: u32) {
        let read: Vec<_> = paths
            .par_iter()
            .map(|path| match std::fs::metadata(path) {
                Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(Found::default()),
                Err(e) => Err(e.to_string()),
                Ok(meta) if meta.is_dir() => folder(path),
                Ok(_) => std::fs::read(path)
                    .map_err(|e| e.to_string())
                    .and_then(|bytes| jar(&bytes, release)),
            })
            .collect();
        for (path, read) in paths.iter().zip(read) {
            match read {
                Ok(found) => {
                    for (name, bytes) in found.classes {
                        self.claim(name, Bytes::Owned(bytes), origin);
                    }
                    for (name, text) in found.services {
                        self.add_service(&name, &text);
                    }
                }
                Err(why) => self.problems.push(format!("{}: {why}", path.display())),
            }
        }
    }

    /// Adds the classes of the JDK at this place.
    pub fn add_jdk(&mut self, home: &Path) {
        let path = home.join("lib").join("modules");
        let add = || -> Result<(Mapped, Vec<image::ImageClass>), image::ImageError> {
            let mapped = Mapped::open(&path)?;
            let classes = image::classes(mapped.bytes())?;
            Ok((mapped, classes))
        };
        match add() {
            Ok((mapped, classes)) => {
                let number = self.images.len();
                self.images.push(mapped);
                self.by_name.reserve(classes.len());
                for class in classes {
                    let bytes = Bytes::Image(number, class.start, class.len);
                    self.claim(class.name, bytes, Author::Library);
                }
            }
            Err(error) => self.problems.push(format!("{}: {error}", path.display())),
        }
    }

    pub fn len(&self) -> usize {
        self.classes.len()
    }

    pub fn is_empty(&self) -> bool {
        self.classes.is_empty()
    }

    /// The class file of this name.
    pub fn find(&self, name: &[u8]) -> Option<(&[u8], Author)> {
        let (bytes, origin) = self.classes.get(*self.by_name.get(name)? as usize)?;
        let bytes = match bytes {
            Bytes::Owned(bytes) => bytes,
            Bytes::Image(image, start, len) => {
                self.images.get(*image)?.bytes().get(*start..start + len)?
            }
        };
        Some((bytes, *origin))
    }

    /// All names, in no particular order that means anything but always the same.
    pub fn names(&self) -> Vec<&[u8]> {
        let mut names: Vec<(&[u8], u32)> =
            self.by_name.iter().map(|(name, &at)| (name.as_slice(), at)).collect();
        names.sort_unstable_by_key(|&(_, at)| at);
        names.into_iter().map(|(name, _)| name).collect()
    }

    /// The names of the project's classes, in the order in which they were added.
    pub fn own_names(&self) -> Vec<&[u8]> {
        let mut names: Vec<(&[u8], u32)> = self
            .by_name
            .iter()
            .filter(|&(_, &at)| self.classes[at as usize].1 == Author::Project)
            .map(|(name, &at)| (name.as_slice(), at))
            .collect();
        names.sort_unstable_by_key(|&(_, at)| at);
        names.into_iter().map(|(name, _)| name).collect()
    }
}

/// Names with files.
type Named = Vec<(Vec<u8>, Vec<u8>)>;

/// The classes and services of one entry.
#[derive(Debug, Default)]
struct Found {
    classes: Named,
    services: Named,
}

/// All class files below a folder, sorted by name, and its services.
fn folder(root: &Path) -> Result<Found, String> {
    let mut out = Found::default();
    for path in tamis_classpath::folder::files(root)? {
        let read = || {
            let file = root.join(std::ffi::OsStr::from_bytes(&path));
            std::fs::read(&file).map_err(|e| format!("{}: {e}", file.display()))
        };
        if let Some(name) = path.strip_suffix(b".class") {
            // No class loader finds a name that is no text.
            let Ok(name) = std::str::from_utf8(name) else { continue };
            out.classes.push((tamis_classfile::mutf8::encode(name).into_owned(), read()?));
        } else if let Some(name) = path.strip_prefix(SERVICES.as_bytes())
            && !name.contains(&b'/')
        {
            out.services.push((name.to_vec(), read()?));
        }
    }
    Ok(out)
}

/// All classes of a jar, as a JVM of this release sees them.
fn jar(bytes: &[u8], release: u32) -> Result<Found, String> {
    let jar = Jar::open(bytes).map_err(|e| e.to_string())?;
    let multi_release = jar.is_multi_release();
    let mut reader = EntryReader::default();
    // The class with the release it is for.
    let mut found: Vec<(&[u8], u32, Vec<u8>)> = Vec::new();
    let mut services = Vec::new();
    for entry in jar.entries() {
        let path = &entry.path;
        let mut read = || {
            let content = reader.read(&jar, entry).map(<[u8]>::to_vec);
            content.map_err(|why| format!("{}: {why}", String::from_utf8_lossy(path)))
        };
        if let Some((name, of)) = class_place(path) {
            if of == 0 || (multi_release && of <= release) {
                found.push((name, of, read()?));
            }
        } else if let Some(name) = path.strip_prefix(SERVICES.as_bytes()) {
            services.push((name.to_vec(), read()?));
        }
    }
    found.sort_by(|a, b| a.0.cmp(b.0).then(b.1.cmp(&a.1)));
    found.dedup_by(|later, first| later.0 == first.0);
    let classes = found.into_iter().map(|(name, _, content)| (name.to_vec(), content)).collect();
    Ok(Found { classes, services })
}

/// The class that a path in a jar stands for, and the release that it is for (0 for any).
fn class_place(path: &[u8]) -> Option<(&[u8], u32)> {
    let class = path.strip_suffix(b".class")?;
    let Some(versioned) = class.strip_prefix(b"META-INF/") else { return Some((class, 0)) };
    let versioned = versioned.strip_prefix(b"versions/")?;
    let slash = versioned.iter().position(|&b| b == b'/')?;
    let release = std::str::from_utf8(&versioned[..slash]).ok()?.parse().ok()?;
    Some((&versioned[slash + 1..], release))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_definition_wins() {
        let mut universe = Universe::new();
        universe.add_class(b"a/B", vec![1], Author::Project);
        universe.add_class(b"a/B", vec![2], Author::Library);
        assert_eq!(universe.find(b"a/B"), Some((&[1][..], Author::Project)));
        assert_eq!(universe.find(b"a/C"), None);
        assert_eq!(universe.own_names(), [b"a/B"]);
    }

    #[test]
    fn what_is_missing_is_empty_and_what_is_broken_is_reported() {
        let folder = tempfile::tempdir().unwrap();
        let mut universe = Universe::new();
        universe.add_entry(&folder.path().join("missing"), Author::Library, 17);
        assert!(universe.is_empty() && universe.problems.is_empty());
        let broken = folder.path().join("broken.jar");
        std::fs::write(&broken, b"text").unwrap();
        universe.add_entry(&broken, Author::Library, 17);
        assert!(universe.problems[0].contains("not a readable jar"), "{:?}", universe.problems);
        universe.add_jdk(folder.path());
        assert_eq!(universe.problems.len(), 2);
    }

    #[test]
    fn services_have_all_providers_that_any_file_lists() {
        let mut universe = Universe::new();
        universe.add_service(b"a.S", b"# none\n a.One # the first\r\n\na.Two");
        universe.add_service(b"a.S", b"b.Three");
        let providers: Vec<&[u8]> =
            universe.services()[&b"a/S"[..]].iter().map(|p| &p[..]).collect();
        assert_eq!(providers, [b"a/One", b"a/Two", b"b/Three" as &[u8]]);
    }

    #[test]
    fn places_in_a_jar() {
        assert_eq!(class_place(b"a/B.class"), Some((&b"a/B"[..], 0)));
        assert_eq!(class_place(b"META-INF/versions/11/a/B.class"), Some((&b"a/B"[..], 11)));
        assert_eq!(class_place(b"META-INF/versions/x/a/B.class"), None);
        assert_eq!(class_place(b"META-INF/B.class"), None);
        assert_eq!(class_place(b"a/B.txt"), None);
    }
}
