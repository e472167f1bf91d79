//! The JDK's own classes, out of its `lib/modules` image.
//!
//! The image is a perfect hash table over resources: a header, two tables, the attributes of each
//! resource, a table of strings, and behind all of that the contents. It is mapped into memory and
//! walked once from end to end; nothing is copied and no JVM is started. The byte order of the image is
//! that of the machine it was made for; only little-endian ones are read. Compressed resources
//! (`jlink --compress`) are not read: such an image is an error that says so.

use std::fs::File;
use std::io;
use std::path::Path;

const MAGIC: u32 = 0xcafe_dada;
const HEADER: usize = 28;

/// Kinds of attributes of a resource.
mod attribute {
    pub(super) const END: u8 = 0;
    pub(super) const MODULE: u8 = 1;
    pub(super) const PARENT: u8 = 2;
    pub(super) const BASE: u8 = 3;
    pub(super) const EXTENSION: u8 = 4;
    pub(super) const OFFSET: u8 = 5;
    pub(super) const COMPRESSED: u8 = 6;
    pub(super) const UNCOMPRESSED: u8 = 7;
    pub(super) const COUNT: usize = 8;
}

#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    #[error("cannot be opened: {0}")]
    Io(#[from] io::Error),
    #[error("not the class image of a JDK for this kind of machine")]
    NotAnImage,
    #[error("damaged: {0}")]
    Damaged(&'static str),
    #[error(
        "its classes are compressed, which is not supported; use a JDK whose image was made without \
         --compress"
    )]
    Compressed,
}

/// A file in memory for as long as this lives.
#[derive(Debug)]
pub(crate) struct Mapped {
    start: *mut std::ffi::c_void,
    len: usize,
}

// SAFETY: the mapping is private, read-only and lives until the value is dropped.
unsafe impl Send for Mapped {}
// SAFETY: as above; nothing writes.
unsafe impl Sync for Mapped {}

impl Mapped {
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        use rustix::mm::{MapFlags, ProtFlags, mmap};
        let file = File::open(path)?;
        let len = usize::try_from(file.metadata()?.len()).map_err(io::Error::other)?;
        if len == 0 {
            return Err(io::Error::other("it is empty"));
        }
        // SAFETY: a fresh private mapping at an address that the kernel chooses overlaps nothing. A
        // JDK that is replaced gets a new file; one that is cut while it is read ends this process,
        // as it would end a JVM.
        let start = unsafe {
            mmap(std::ptr::null_mut(), len, ProtFlags::READ, MapFlags::PRIVATE, &file, 0)?
        };
        Ok(Self { start, len })
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: `start` and `len` are those of a readable mapping that lives as long as `self`.
        unsafe { std::slice::from_raw_parts(self.start.cast(), self.len) }
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: this is the mapping made in `open`, and nothing borrows from it any more.
        unsafe { rustix::mm::munmap(self.start, self.len).ok() };
    }
}

/// Where a class is in the image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ImageClass {
    /// `java/lang/Object`.
    pub(crate) name: Vec<u8>,
    pub(crate) start: usize,
    pub(crate) len: usize,
}

fn word(bytes: &[u8], at: usize) -> Result<u32, ImageError> {
    let four = bytes.get(at..at.saturating_add(4)).ok_or(ImageError::Damaged("it is too short"))?;
    Ok(u32::from_le_bytes([four[0], four[1], four[2], four[3]]))
}

/// All classes of an image, except module descriptors.
pub(crate) fn classes(image: &[u8]) -> Result<Vec<ImageClass>, ImageError> {
    if image.len() < HEADER || word(image, 0)? != MAGIC {
        return Err(ImageError::NotAnImage);
    }
    let entries = word(image, 16)? as usize;
    let locations_len = word(image, 20)? as usize;
    let strings_len = word(image, 24)? as usize;
    let offsets = HEADER.saturating_add(entries.saturating_mul(4));
    let locations = offsets.saturating_add(entries.saturating_mul(4));
    let strings = locations.saturating_add(locations_len);
    let contents = strings.saturating_add(strings_len);
    let damaged = ImageError::Damaged;
    let location_bytes =
        image.get(locations..strings).ok_or(damaged("its attributes do not fit"))?;
    let string_bytes = image.get(strings..contents).ok_or(damaged("its strings do not fit"))?;
    let text = |offset: u64| -> Result<&[u8], ImageError> {
        let rest = usize::try_from(offset).ok().and_then(|o| string_bytes.get(o..));
        let rest = rest.ok_or(damaged("a string outside of its table"))?;
        let end = rest.iter().position(|&b| b == 0).ok_or(damaged("a string without end"))?;
        Ok(&rest[..end])
    };
    let mut found = Vec::with_capacity(entries);
    for entry in 0..entries {
        let at = word(image, offsets + entry * 4)? as usize;
        let attributes = attributes(location_bytes.get(at..).unwrap_or_default())?;
        let value = |kind: u8| attributes[usize::from(kind)];
        if text(value(attribute::EXTENSION))? != b"class" {
            continue;
        }
        let base = text(value(attribute::BASE))?;
        if base == b"module-info" || text(value(attribute::MODULE))?.is_empty() {
            continue;
        }
        if value(attribute::COMPRESSED) != 0 {
            return Err(ImageError::Compressed);
        }
        let parent = text(value(attribute::PARENT))?;
        let mut name = Vec::with_capacity(parent.len() + 1 + base.len());
        name.extend_from_slice(parent);
        if !parent.is_empty() {
            name.push(b'/');
        }
        name.extend_from_slice(base);
        let start = usize::try_from(value(attribute::OFFSET))
            .ok()
            .and_then(|offset| contents.checked_add(offset))
            .ok_or(damaged("a class outside of the file"))?;
        let len = usize::try_from(value(attribute::UNCOMPRESSED)).unwrap_or(usize::MAX);
        if start.checked_add(len).is_none_or(|end| end > image.len()) {
            return Err(damaged("a class outside of the file"));
        }
        found.push(ImageClass { name, start, len });
    }
    Ok(found)
}

/// The attributes of one resource: each a byte with its kind and length, and a big-endian number.
fn attributes(mut bytes: &[u8]) -> Result<[u64; attribute::COUNT], ImageError> {
    let damaged = ImageError::Damaged("an attribute without end");
    let mut values = [0; attribute::COUNT];
    loop {
        let Some((&first, rest)) = bytes.split_first() else { return Err(damaged) };
        let (kind, len) = (first >> 3, usize::from(first & 7) + 1);
        if kind == attribute::END {
            return Ok(values);
        }
        let Some((number, rest)) = rest.split_at_checked(len) else { return Err(damaged) };
        let slot = values.get_mut(usize::from(kind));
        let slot = slot.ok_or(ImageError::Damaged("an attribute of an unknown kind"))?;
        *slot = number.iter().fold(0, |value, &byte| value << 8 | u64::from(byte));
        bytes = rest;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tamis_classfile::ClassFile;
    use tamis_testkit::jdks;

    #[test]
    fn every_jdk_of_this_machine() {
        for jdk in jdks() {
            let image = Mapped::open(&jdk.home.join("lib/modules")).unwrap();
            let classes = classes(image.bytes()).unwrap();
            assert!(classes.len() > 5_000, "{}: {}", jdk.home.display(), classes.len());
            for wanted in ["java/lang/Object", "java/util/HashMap$Node", "jdk/internal/misc/VM"] {
                let class = classes.iter().find(|c| c.name == wanted.as_bytes()).unwrap();
                let bytes = &image.bytes()[class.start..class.start + class.len];
                assert_eq!(ClassFile::parse(bytes).unwrap().name, wanted.as_bytes());
            }
            assert!(classes.iter().all(|c| !c.name.ends_with(b"module-info")));
        }
    }

    /// A header and nothing but one class `a/B` of four bytes.
    fn small(compressed: u8) -> Vec<u8> {
        let strings = b"\0class\0a\0B\0mod\0";
        let attributes = [
            attribute::MODULE << 3,
            11,
            attribute::PARENT << 3,
            7,
            attribute::BASE << 3,
            9,
            attribute::EXTENSION << 3,
            1,
            attribute::COMPRESSED << 3,
            compressed,
            attribute::UNCOMPRESSED << 3,
            4,
            attribute::END,
        ];
        let mut image = Vec::new();
        for word in [MAGIC, 1 << 16, 0, 1, 1, attributes.len() as u32, strings.len() as u32] {
            image.extend_from_slice(&word.to_le_bytes());
        }
        image.extend_from_slice(&[0; 8]);
        image.extend_from_slice(&attributes);
        image.extend_from_slice(strings);
        image.extend_from_slice(b"code");
        image
    }

    #[test]
    fn a_small_image() {
        let image = small(0);
        let found = classes(&image).unwrap();
        let start = image.len() - 4;
        assert_eq!(found, [ImageClass { name: b"a/B".to_vec(), start, len: 4 }]);
    }

    #[test]
    fn compressed_classes_are_refused_with_the_reason() {
        assert!(matches!(classes(&small(3)), Err(ImageError::Compressed)));
    }

    #[test]
    fn damage_is_an_error_and_never_a_panic() {
        let image = small(0);
        assert!(matches!(classes(b"no image at all"), Err(ImageError::NotAnImage)));
        for len in 0..image.len() {
            assert!(classes(&image[..len]).is_err(), "cut at {len}");
        }
        for at in 4..image.len() {
            let mut broken = image.clone();
            broken[at] ^= 0xff;
            let _ = classes(&broken);
        }
    }
}
