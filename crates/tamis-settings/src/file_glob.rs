//! The files that a pattern of `run-all-on` means.
//!
//! Inside the project a pattern without a slash matches in every folder, as everywhere on names. One that
//! is anchored elsewhere (`/etc/app.conf`, `~/.apprc`, `../shared/**`) is looked for from the last folder
//! that it names without a glob character. A pattern that matches a folder takes in what is below it.

use crate::glob::{self, NameGlobs};
use crate::paths::anchored;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use tamis_core::PathMap;
use tamis_core::path::below;

#[derive(Debug)]
pub struct FileGlob {
    root: PathBuf,
    /// Where to look for files.
    start: PathBuf,
    globs: NameGlobs,
    in_project: bool,
}

impl FileGlob {
    pub fn new(pattern: &str, map: &PathMap) -> Result<Self, String> {
        let (in_project, texts) = anchored(pattern, map, true);
        let start = match texts.first() {
            Some(text) if !in_project => start_of(text),
            _ => map.root().to_path_buf(),
        };
        let globs = NameGlobs::new(texts)?;
        Ok(Self { root: map.root().to_path_buf(), start, globs, in_project })
    }

    /// The folder or file below which everything that can match is.
    pub fn start(&self) -> &Path {
        &self.start
    }

    /// Whether the file at this absolute path is meant.
    pub fn matches(&self, path: &Path) -> bool {
        if !self.in_project {
            return self.globs.matches_whole(path.as_os_str().as_bytes());
        }
        let Some(relative) = below(path, &self.root) else { return false };
        let name = |n: &[u8]| self.globs.matches(n);
        // A folder of that name, at any depth.
        let ends = relative.iter().enumerate().filter(|(_, b)| **b == b'/').map(|(n, _)| n);
        name(relative) || ends.map(|end| &relative[..end]).any(name)
    }
}

fn start_of(pattern: &str) -> PathBuf {
    let plain = glob::plain_start(pattern);
    match plain.len() == pattern.len() {
        true => PathBuf::from(pattern),
        false => PathBuf::from(&plain[..=plain.rfind('/').unwrap_or(0)]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meant(pattern: &str, path: &str) -> bool {
        let map = PathMap::new("/home/ann/app".into(), Some("/home/ann".into()));
        let glob = FileGlob::new(pattern, &map).unwrap();
        let reached = Path::new(path).starts_with(glob.start());
        glob.matches(Path::new(path)) && reached
    }

    #[test]
    fn files_inside_and_outside_of_the_project() {
        for (pattern, path, expected) in [
            ("Makefile", "/home/ann/app/Makefile", true),
            ("Makefile", "/home/ann/app/sub/Makefile", true),
            ("Makefile", "/home/ann/Makefile", false),
            ("sub/Makefile", "/home/ann/app/sub/Makefile", true),
            ("sub/Makefile", "/home/ann/app/other/sub/Makefile", false),
            ("conf/**", "/home/ann/app/conf/a/b", true),
            ("conf/", "/home/ann/app/conf/a/b", true),
            ("conf", "/home/ann/app/conf/a/b", true),
            ("conf", "/home/ann/app/deep/conf/a/b", true),
            ("conf", "/home/ann/app/config/a", false),
            ("*.sql", "/home/ann/app/db/a.sql", true),
            ("./a.sql", "/home/ann/app/a.sql", true),
            ("/etc/app.conf", "/etc/app.conf", true),
            ("/etc/app.d", "/etc/app.d/x", true),
            ("/etc/*.conf", "/etc/app.conf", true),
            ("/etc/*.conf", "/etc/app.d/x.conf", false),
            ("~/.apprc", "/home/ann/.apprc", true),
            ("../shared/**", "/home/ann/shared/a/b", true),
            ("../shared/*.x", "/home/ann/shared/a.x", true),
            ("../*.x", "/home/ann/app/a.x", false),
        ] {
            assert_eq!(meant(pattern, path), expected, "{pattern} {path}");
        }
    }

    #[test]
    fn without_a_home_folder_nothing_is_there() {
        let map = PathMap::new("/r".into(), None);
        assert!(!FileGlob::new("~/x", &map).unwrap().matches(Path::new("/r/x")));
    }
}
