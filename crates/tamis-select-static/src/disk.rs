//! Reading and writing of our own small files. A reader sees the old file or the new one, never
//! half of one; what cannot be decoded counts as not there.

use libdeflater::{CompressionLvl, Compressor, Decompressor};
use rustix::fs::{Mode, OFlags};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::ffi::OsStr;
use std::fs::{File, Metadata};
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
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

/// As [`load`], of what [`save_deflated`] wrote.
pub(crate) fn load_deflated(path: &Path) -> Option<Vec<u8>> {
    let kept: Deflated = load(path)?;
    let mut plain = vec![0; usize::try_from(kept.len).ok().filter(|&len| len < 1 << 32)?];
    let len = Decompressor::new().deflate_decompress(&kept.deflated, &mut plain).ok()?;
    (len == plain.len()).then_some(plain)
}

/// As [`save`], of encoded bytes, in a smaller file.
pub(crate) fn save_deflated(path: &Path, plain: &[u8]) -> io::Result<()> {
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
pub(crate) fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder)?;
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(bytes)?;
    file.persist(path)?;
    Ok(())
}

/// Reads many files below one folder. Files are opened by their name in their own folder and into
/// one buffer, which counts with tens of thousands of small ones.
#[derive(Debug)]
pub(crate) struct FolderReader<'f> {
    root: &'f Path,
    /// The folder of the last file, below the root.
    folder: Option<(Vec<u8>, OwnedFd)>,
    content: Vec<u8>,
    len: usize,
}

impl<'f> FolderReader<'f> {
    pub(crate) fn new(root: &'f Path) -> Self {
        Self { root, folder: None, content: Vec::new(), len: 0 }
    }

    /// Reads the file at `path` (with `/`). What is returned was asked for before the first byte was
    /// read, so a write in between gives the file other times than these.
    pub(crate) fn read(&mut self, path: &[u8]) -> io::Result<Metadata> {
        let (folder, name) = path.split_at(path.iter().rposition(|&b| b == b'/').unwrap_or(0));
        let name = name.strip_prefix(b"/").unwrap_or(name);
        let folder = match self.folder.take() {
            Some(last) if last.0 == folder => last,
            _ => {
                let below = self.root.join(OsStr::from_bytes(folder));
                let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
                (folder.to_vec(), rustix::fs::open(below, flags, Mode::empty())?)
            }
        };
        // Not blocking: there may be a pipe where a file should be.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&folder.1, name, flags, Mode::empty());
        self.folder = Some(folder);
        let mut file = File::from(file?);
        let meta = file.metadata()?;
        if !meta.is_file() {
            return Err(io::Error::other("not a regular file"));
        }
        let size = usize::try_from(meta.len()).unwrap_or(usize::MAX).min(1 << 30);
        if self.content.len() <= size {
            self.content.resize(size + 1, 0);
        }
        self.len = 0;
        loop {
            match file.read(&mut self.content[self.len..])? {
                0 => return Ok(meta),
                read => self.len += read,
            }
            // Usually at once, without another call to be told the end.
            if self.len == size {
                return Ok(meta);
            }
            if self.len == self.content.len() {
                self.content.resize(self.len * 2, 0);
            }
        }
    }

    /// What the last call of [`FolderReader::read`] read.
    pub(crate) fn content(&self) -> &[u8] {
        &self.content[..self.len]
    }
}
