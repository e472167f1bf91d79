//! Reads whole files for those who need the bytes, and remembers their value on the way.

use crate::cache::{Key, Known};
use crate::fingerprinter::{ATTEMPTS, Fingerprinter};
use crate::identity::{FileKind, Identity, identity};
use crate::{filesystem, read};
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use tamis_core::{Hash, Scheme, Value};

/// A file that was read as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WholeFile {
    /// What `lstat` gave before and after it was read.
    pub identity: Identity,
    /// Of its bytes: the hash that [`Scheme::Raw`] gives.
    pub hash: Hash,
}

impl Fingerprinter {
    /// Reads the regular file at `path` into `content`, a link at its end followed. What was learnt answers later
    /// questions for [`Scheme::Raw`] without reading.
    pub fn read_whole(&self, path: &Path, content: &mut Vec<u8>) -> io::Result<WholeFile> {
        for _ in 0..ATTEMPTS {
            let began_ns = self.now_ns();
            let found = identity(path)?.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
            match found.kind() {
                FileKind::Link => return self.read_whole(&path.canonicalize()?, content),
                FileKind::File => {}
                _ => return Err(io::Error::other("not a regular file")),
            }
            if let Some(whole) = self.read_as(path, found, content, began_ns)? {
                return Ok(whole);
            }
        }
        Err(io::Error::other("changes all the time; wait for what writes it"))
    }

    /// `None` if the file of this identity did not stay there until it was read.
    fn read_as(
        &self,
        path: &Path,
        identity: Identity,
        content: &mut Vec<u8>,
        began_ns: i128,
    ) -> io::Result<Option<WholeFile>> {
        let mut file = match read::open(path, &identity) {
            read::Reading::Done(file) => file,
            read::Reading::Changed => return Ok(None),
            read::Reading::Forbidden => return Err(io::ErrorKind::PermissionDenied.into()),
            read::Reading::Failed(error) => return Err(error),
        };
        content.clear();
        content.reserve(usize::try_from(identity.size).unwrap_or(0).min(1 << 30));
        file.read_to_end(content)?;
        if !matches!(crate::identity::identity(path), Ok(Some(after)) if after == identity) {
            return Ok(None);
        }
        let hash = Hash::of(content);
        self.learn(path, &identity, hash, &file, began_ns);
        Ok(Some(WholeFile { identity, hash }))
    }

    /// Unless it is known: a run that changes nothing writes nothing.
    fn learn(&self, path: &Path, identity: &Identity, hash: Hash, file: &File, began_ns: i128) {
        let key = Key::new(path.as_os_str().as_bytes(), Scheme::Raw, Hash(0));
        let value = Value::Content { hash, executable: identity.executable() };
        let known = Known { value, size: identity.size };
        let cache = self.cache();
        if cache.get(&cache.view(1), key, identity, began_ns) != Some(known)
            && filesystem::times_are_meaningful(file)
        {
            cache.put(key, identity, known, began_ns);
        }
    }
}
