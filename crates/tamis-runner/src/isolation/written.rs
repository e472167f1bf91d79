//! Files that a run wrote, as it left them. What runs after it for a check alone would leave others in their place:
//! reports with failures that no run of the user had, coverage of half of the tests. So they are kept and put back.
//!
//! Not put back: files that the run did not write, and those outside of the project. Where tamis is killed nothing is.

use std::fs::{File, FileTimes, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use tamis_private::TempFolder;

/// Copies of files, which go back to their places with this value.
#[derive(Debug)]
pub(crate) struct Written {
    folder: TempFolder,
    files: Vec<(PathBuf, Metadata)>,
}

impl Written {
    pub(crate) fn keep(paths: &[PathBuf]) -> io::Result<Self> {
        let mut kept = Self { folder: TempFolder::new()?, files: Vec::new() };
        for path in paths {
            let Ok(meta) = std::fs::metadata(path) else { continue };
            std::fs::copy(path, kept.copy(kept.files.len()))?;
            kept.files.push((path.clone(), meta));
        }
        Ok(kept)
    }

    fn copy(&self, number: usize) -> PathBuf {
        self.folder.path().join(number.to_string())
    }

    /// Puts all of them back; gives those that could not be.
    pub(crate) fn put_back(&mut self) -> Vec<PathBuf> {
        let files = std::mem::take(&mut self.files);
        let failed = files.into_iter().enumerate().filter_map(|(number, (path, meta))| {
            put_back(&self.copy(number), &path, &meta).is_err().then_some(path)
        });
        failed.collect()
    }
}

impl Drop for Written {
    fn drop(&mut self) {
        self.put_back();
    }
}

fn put_back(copy: &Path, path: &Path, meta: &Metadata) -> io::Result<()> {
    if std::fs::read(path).ok() != Some(std::fs::read(copy)?) {
        path.parent().map_or(Ok(()), std::fs::create_dir_all)?;
        std::fs::copy(copy, path)?;
    }
    // Build tools compare times. A file that may not be written keeps its new one.
    if let Ok(file) = File::options().write(true).open(path) {
        file.set_times(FileTimes::new().set_modified(meta.modified()?))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, SystemTime};

    #[test]
    fn what_was_written_is_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str| folder.path().join(name);
        let paths = [file("target/a"), file("b"), file("c"), file("gone before")];
        std::fs::create_dir(file("target")).unwrap();
        let long_ago = SystemTime::now() - Duration::from_secs(1_000);
        for path in &paths[..3] {
            std::fs::write(path, "as it was").unwrap();
            File::options().write(true).open(path).unwrap().set_modified(long_ago).unwrap();
        }
        let kept = Written::keep(&paths).unwrap();
        std::fs::remove_dir_all(file("target")).unwrap();
        std::fs::write(&paths[1], "otherwise").unwrap();
        std::fs::write(&paths[2], "as it was").unwrap();
        drop(kept);
        for path in &paths[..3] {
            assert_eq!(std::fs::read_to_string(path).unwrap(), "as it was");
            assert_eq!(std::fs::metadata(path).unwrap().modified().unwrap(), long_ago);
        }
        assert!(!paths[3].exists());
    }
}
