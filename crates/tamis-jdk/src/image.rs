//! Class files of a JDK, read from its image (`lib/modules`, since Java 9).
//!
//! The image has a table of its files by a hash of their paths, `/java.base/java/util/List.class`, and files
//! `/packages/java.util` that tell the modules of a package. Only what is asked for is read, beside the
//! table; `tamis-callgraph` reads all of an image.
//!
//! Not read: images whose class files are compressed (`jlink --compress`), and JDK 8, which has none.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

const MAGIC: u32 = 0xcafe_dada;
const HEADER: usize = 28;
const SEED: u32 = 0x0100_0193;

/// An image, open.
#[derive(Debug)]
pub struct Image {
    file: File,
    /// Everything before the contents of files.
    index: Vec<u8>,
    /// How many places the table has.
    places: u32,
    locations: usize,
    strings: usize,
}

/// Where a file is.
#[derive(Debug, Default, Clone, Copy)]
struct Location {
    offset: u64,
    compressed: u64,
    size: u64,
}

impl Image {
    /// Of the JDK at this place; `None` where there is none, or it is not understood.
    pub fn of(home: &Path) -> Option<Self> {
        Self::open(&home.join("lib/modules")).ok()
    }

    fn open(path: &Path) -> io::Result<Self> {
        let bad = || io::Error::from(io::ErrorKind::InvalidData);
        let file = File::open(path)?;
        let mut header = [0; HEADER];
        file.read_exact_at(&mut header, 0)?;
        let word = |at: usize| number(&header, at * 4).ok_or_else(bad);
        if word(0)? != MAGIC {
            return Err(bad());
        }
        let places = word(4)?;
        let (locations_size, strings_size) = (word(5)? as usize, word(6)? as usize);
        let locations = HEADER + places as usize * 8;
        let strings = locations + locations_size;
        let size = strings + strings_size;
        if places == 0 || size as u64 > file.metadata()?.len() {
            return Err(bad());
        }
        let mut index = vec![0; size];
        file.read_exact_at(&mut index, 0)?;
        Ok(Self { file, index, places, locations, strings })
    }

    /// The bytes of a class, `java/util/List`.
    pub fn class(&self, name: &str) -> Option<Vec<u8>> {
        let (package, _) = name.rsplit_once('/')?;
        let modules = self.read(&format!("/packages/{}", package.replace('/', ".")))?;
        // For each module whether the package is empty there, and where its name stands.
        modules.chunks_exact(8).find_map(|module| {
            let module = self.string(number(module, 4)?)?;
            self.read(&format!("/{module}/{name}.class"))
        })
    }

    fn read(&self, path: &str) -> Option<Vec<u8>> {
        let found = self.find(path)?;
        if found.compressed != 0 || found.size > 1 << 24 {
            return None;
        }
        let mut content = vec![0; found.size as usize];
        self.file.read_exact_at(&mut content, self.index.len() as u64 + found.offset).ok()?;
        Some(content)
    }

    fn find(&self, path: &str) -> Option<Location> {
        let place = |hash: u32| (hash % self.places) as usize;
        let redirect = number(&self.index, HEADER + place(hash(path, SEED)) * 4)?.cast_signed();
        let at = match redirect {
            0 => return None,
            1.. => place(hash(path, redirect.cast_unsigned())),
            _ => usize::try_from(-1 - i64::from(redirect)).ok()?,
        };
        let offset = number(&self.index, HEADER + self.places as usize * 4 + at * 4)?;
        self.location(self.locations + offset as usize, path)
    }

    /// Kinds with values: 1 module, 2 folder, 3 name, 4 extension, 5 offset, 6 compressed size, 7 size.
    fn location(&self, mut at: usize, path: &str) -> Option<Location> {
        let mut values = [0_u64; 8];
        loop {
            let byte = *self.index.get(at)?;
            let (kind, len) = (usize::from(byte >> 3), usize::from(byte & 7) + 1);
            if kind == 0 {
                break;
            }
            let bytes = self.index.get(at + 1..at + 1 + len)?;
            *values.get_mut(kind)? =
                bytes.iter().fold(0, |value, &byte| value << 8 | u64::from(byte));
            at += 1 + len;
        }
        let text = |kind: usize| self.string(u32::try_from(values[kind]).ok()?);
        let (module, folder, name, extension) = (text(1)?, text(2)?, text(3)?, text(4)?);
        let mut whole = String::new();
        for (before, part) in [("/", module), ("/", folder), ("/", name), (".", extension)] {
            if !part.is_empty() {
                whole.push_str(before);
                whole.push_str(part);
            }
        }
        // Paths that are not there have a place in the table, too.
        let found = Location { offset: values[5], compressed: values[6], size: values[7] };
        (whole == path).then_some(found)
    }

    fn string(&self, at: u32) -> Option<&str> {
        let rest = self.index.get(self.strings + at as usize..)?;
        let end = rest.iter().position(|&byte| byte == 0)?;
        std::str::from_utf8(&rest[..end]).ok()
    }
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn hash(path: &str, seed: u32) -> u32 {
    let next = |hash: u32, byte: u8| hash.wrapping_mul(SEED) ^ u32::from(byte);
    path.bytes().fold(seed, next) & 0x7fff_ffff
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_of_the_jdk_are_found() {
        let image = crate::home().and_then(|home| Image::of(&home)).expect("a JDK with an image");
        for class in
            ["java/lang/Object", "java/util/ArrayList", "java/util/Map$Entry", "java/sql/Driver"]
        {
            let bytes = image.class(class).unwrap_or_else(|| panic!("{class}"));
            assert!(bytes.starts_with(&[0xca, 0xfe, 0xba, 0xbe]), "{class}");
        }
        for class in ["java/lang/Objects", "a/B", "Object", "", "/", "java/lang/"] {
            assert!(image.class(class).is_none(), "{class}");
        }
    }

    #[test]
    fn what_is_no_image_is_none() {
        assert!(Image::of(Path::new("/nowhere")).is_none());
        let folder = std::env::temp_dir().join(format!("tamis-image-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("lib")).unwrap();
        for content in [
            &b""[..],
            &[0xda; 28],
            b"\xda\xda\xfe\xca\0\0\0\0\0\0\0\0\0\0\0\0\xff\xff\xff\x0f\0\0\0\0\0\0\0\0",
        ] {
            std::fs::write(folder.join("lib/modules"), content).unwrap();
            assert!(Image::of(&folder).is_none());
        }
        std::fs::remove_dir_all(folder).unwrap();
    }
}
