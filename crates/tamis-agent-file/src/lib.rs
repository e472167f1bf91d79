//! The agent's library as a file: JVMs take it by its path only.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use xxhash_rust::xxh3::xxh3_128;

/// The library, as it was built with this program.
pub const LIBRARY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/libtamis_agent.so"));

/// A class with one method, by which it is tried whether the agent works with a JVM.
pub const CHECK: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/TamisCheck.class"));

/// Writes the library into a folder, unless it is there already, and gives its path. The name is
/// made of the content, so several versions live side by side and a file that a JVM has loaded is
/// never written again.
pub fn install(folder: &Path) -> io::Result<PathBuf> {
    let path = folder.join(format!("libtamis_agent-{:032x}.so", xxh3_128(LIBRARY)));
    if fs::read(&path).is_ok_and(|bytes| bytes == LIBRARY) {
        return Ok(path);
    }
    tamis_private::make_folder(folder)?;
    static WRITERS: AtomicU32 = AtomicU32::new(0);
    let writer = WRITERS.fetch_add(1, Ordering::Relaxed);
    let half = folder.join(format!(".libtamis_agent-{}-{writer}.half", std::process::id()));
    let written = tamis_private::create_file(&half).and_then(|mut file| {
        file.write_all(LIBRARY)?;
        // A name that is there after a crash of the machine must have its content.
        file.sync_all()
    });
    written.and_then(|()| fs::rename(&half, &path)).inspect_err(|_| {
        let _ = fs::remove_file(&half);
    })?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_library_is_installed_once_and_repaired() {
        let folder = tempfile::tempdir().unwrap();
        let below = folder.path().join("a/b");
        let path = install(&below).unwrap();
        assert_eq!(fs::read(&path).unwrap(), LIBRARY);
        let made = fs::metadata(&path).unwrap().modified().unwrap();
        assert_eq!(install(&below).unwrap(), path);
        assert_eq!(fs::metadata(&path).unwrap().modified().unwrap(), made);
        fs::write(&path, b"cut short").unwrap();
        assert_eq!(install(&below).unwrap(), path);
        assert_eq!(fs::read(&path).unwrap(), LIBRARY);
        assert_eq!(fs::read_dir(&below).unwrap().count(), 1);
    }

    #[test]
    fn the_jvm_finds_its_entries_in_the_library() {
        for name in ["Agent_OnLoad", "Java_java_lang_TamisHooks_testBegins"] {
            let name = name.as_bytes();
            assert!(LIBRARY.windows(name.len()).any(|part| part == name));
        }
    }

    #[test]
    fn a_folder_that_cannot_be_written_is_an_error() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert!(install(file.path()).is_err());
    }
}
