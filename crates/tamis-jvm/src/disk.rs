//! Reading and writing of our own small files. A reader sees the old file or the new one, never
//! half of one; what cannot be decoded counts as not there.

use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;
use tamis_core::Hash;

/// Decodes a file; None where it is missing, damaged or of another format.
pub(crate) fn load<T: DeserializeOwned>(path: &Path) -> Option<T> {
    let bytes = std::fs::read(path).ok()?;
    let (sum, body) = bytes.split_first_chunk::<16>()?;
    if Hash::of(body).0.to_le_bytes() != *sum {
        return None;
    }
    postcard::from_bytes(body).ok()
}

/// Encodes into a file, atomically.
pub(crate) fn save<T: Serialize>(path: &Path, value: &T) -> io::Result<()> {
    let body = postcard::to_allocvec(value).map_err(io::Error::other)?;
    write(path, &[&Hash::of(&body).0.to_le_bytes()[..], &body].concat())
}

/// Writes bytes into a file, atomically.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder)?;
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(bytes)?;
    file.persist(path)?;
    Ok(())
}

/// Reads a file of probably this size into a buffer that is used again. Knowing the size saves two
/// system calls per file, which counts with tens of thousands of small ones.
pub(crate) fn read_into(path: &Path, size: u64, buffer: &mut Vec<u8>) -> io::Result<()> {
    let mut file = File::open(path)?;
    let size = usize::try_from(size).unwrap_or(0).min(1 << 30);
    buffer.clear();
    buffer.resize(size + 1, 0);
    let read = file.read(buffer)?;
    buffer.truncate(read);
    if read != size {
        file.read_to_end(buffer)?;
    }
    Ok(())
}
