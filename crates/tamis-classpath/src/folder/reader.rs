//! Reads many small files below one folder.

use rustix::fs::{Mode, OFlags};
use std::ffi::OsStr;
use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Files are opened by their name in their own folder and into
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
