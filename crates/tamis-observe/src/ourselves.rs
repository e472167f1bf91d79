//! What is the same for all observers of this process, of which there are thousands: its own program and name spaces.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The path of this program.
pub(crate) fn program() -> &'static str {
    static PROGRAM: OnceLock<String> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let own = std::env::current_exe().unwrap_or_default();
        own.to_string_lossy().into_owned()
    })
}

/// Its table of mounts.
pub(crate) fn mounts() -> Option<&'static Path> {
    static MOUNTS: OnceLock<Option<PathBuf>> = OnceLock::new();
    MOUNTS.get_or_init(|| std::fs::read_link("/proc/self/ns/mnt").ok()).as_deref()
}

/// Its network.
pub(crate) fn network() -> Option<&'static Path> {
    static NETWORK: OnceLock<Option<PathBuf>> = OnceLock::new();
    NETWORK.get_or_init(|| std::fs::read_link("/proc/self/ns/net").ok()).as_deref()
}
