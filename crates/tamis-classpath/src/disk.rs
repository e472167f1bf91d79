//! Reading and writing of our own small files. A reader sees the old file or the new one, never
//! half of one; what cannot be decoded counts as not there.

use libdeflater::{CompressionLvl, Compressor, Decompressor};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::io::{self, Write};
use std::path::Path;
use tamis_core::Hash;

/// Decodes a file; None where it is missing, damaged or of another format.
pub fn load<T: DeserializeOwned>(path: &Path) -> Option<T> {
    let bytes = std::fs::read(path).ok()?;
    let (sum, body) = bytes.split_first_chunk::<16>()?;
    if Hash::of(body).0.to_le_bytes() != *sum {
        return None;
    }
    postcard::from_bytes(body).ok()
}

/// Encodes into a file, atomically.
pub fn save<T: Serialize>(path: &Path, value: &T) -> io::Result<()> {
    let body = postcard::to_allocvec(value).map_err(io::Error::other)?;
    write(path, &[&Hash::of(&body).0.to_le_bytes()[..], &body].concat())
}

/// As [`load`], of what [`save_deflated`] wrote.
pub fn load_deflated(path: &Path) -> Option<Vec<u8>> {
    let kept: Deflated = load(path)?;
    let mut plain = vec![0; usize::try_from(kept.len).ok().filter(|&len| len < 1 << 32)?];
    let len = Decompressor::new().deflate_decompress(&kept.deflated, &mut plain).ok()?;
    (len == plain.len()).then_some(plain)
}

/// As [`save`], of encoded bytes, in a smaller file.
pub fn save_deflated(path: &Path, plain: &[u8]) -> io::Result<()> {
    let mut compressor = Compressor::new(CompressionLvl::default());
    let mut deflated = vec![0; compressor.deflate_compress_bound(plain.len())];
    let len = compressor.deflate_compress(plain, &mut deflated).map_err(io::Error::other)?;
    deflated.truncate(len);
    save(path, &Deflated { len: plain.len() as u64, deflated })
}

#[derive(Serialize, Deserialize)]
struct Deflated {
    len: u64,
    #[serde(with = "serde_bytes")]
    deflated: Vec<u8>,
}

/// Writes bytes into a file, atomically.
pub fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    tamis_private::make_folder(folder)?;
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(bytes)?;
    file.persist(path)?;
    Ok(())
}
