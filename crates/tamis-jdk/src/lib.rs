//! Which JDK a build takes, what its `release` file says, and the classes in it ([`Image`]).
//!
//! Every JDK since 7 has a text file `release` in its folder: lines of `NAME="value"` with the version, the
//! vendor's build and the modules. It is the same for all copies of one build of a JDK and differs between any
//! two, so it stands for the JDK as a whole. No JVM is started.
//!
//! Not seen: a JDK without that file is distinguished from others by its place only; files of a JDK that somebody edited
//! by hand; toolchains and wrappers that make a build take another JDK than `JAVA_HOME` and `PATH` say.

mod image;

pub use image::Image;

use std::path::{Path, PathBuf};

/// The JDK that Maven and runners take: `JAVA_HOME`, else that of the `java` on the `PATH`.
pub fn home() -> Option<PathBuf> {
    if let Some(home) = std::env::var_os("JAVA_HOME").filter(|home| !home.is_empty()) {
        return Some(home.into());
    }
    std::env::split_paths(&std::env::var_os("PATH")?)
        .map(|folder| folder.join("java"))
        .filter(|java| java.is_file())
        .find_map(|java| java.canonicalize().ok())
        .and_then(|java| java.parent()?.parent().map(Path::to_path_buf))
}

/// A JDK's `release` file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Release {
    bytes: Vec<u8>,
}

impl Release {
    /// Of the JDK at this place; `None` where there is no such file.
    pub fn of(home: &Path) -> Option<Self> {
        let read = |home: &Path| std::fs::read(home.join("release")).ok();
        // A JRE of Java 8 stands inside its JDK.
        let around = || home.parent().filter(|_| home.ends_with("jre"));
        let bytes = read(home).or_else(|| read(around()?))?;
        Some(Self { bytes })
    }

    /// `17.0.2`, `1.8.0_292`.
    pub fn version(&self) -> Option<&str> {
        let mut lines = self.bytes.split(|&b| b == b'\n');
        let value = lines.find_map(|line| line.strip_prefix(b"JAVA_VERSION="))?;
        Some(std::str::from_utf8(value).ok()?.trim().trim_matches('"'))
    }

    /// The release of Java: 17 for `17.0.2`, 8 for `1.8.0`.
    pub fn feature(&self) -> Option<u32> {
        let version = self.version()?;
        let version = version.strip_prefix("1.").unwrap_or(version);
        version.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
    }
}

/// What distinguishes the JDK at this place from others: its `release` file, else the place itself.
pub fn identity(home: &Path) -> Vec<u8> {
    let place = || home.canonicalize().unwrap_or_else(|_| home.to_path_buf());
    match Release::of(home) {
        Some(release) => release.bytes,
        None => place().into_os_string().into_encoded_bytes(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn jdk(release: &str) -> tempfile::TempDir {
        let home = tempfile::tempdir().unwrap();
        std::fs::write(home.path().join("release"), release).unwrap();
        home
    }

    #[test]
    fn versions_of_old_and_new_jdks() {
        for (text, version, feature) in [
            ("IMPLEMENTOR=\"X\"\nJAVA_VERSION=\"17.0.2\"\n", "17.0.2", 17),
            ("JAVA_VERSION=\"1.8.0_292\"\r\n", "1.8.0_292", 8),
            ("JAVA_VERSION=\"25\"", "25", 25),
            ("JAVA_VERSION=\"26-ea\"", "26-ea", 26),
        ] {
            let home = jdk(text);
            let release = Release::of(home.path()).unwrap();
            assert_eq!((release.version(), release.feature()), (Some(version), Some(feature)));
        }
        let without = jdk("OS_NAME=\"Linux\"\n");
        assert_eq!(Release::of(without.path()).unwrap().feature(), None);
    }

    #[test]
    fn a_jre_has_the_file_of_the_jdk_around_it_and_nothing_else_has() {
        let home = jdk("JAVA_VERSION=\"1.8.0\"");
        for inside in ["jre", "lib"] {
            std::fs::create_dir(home.path().join(inside)).unwrap();
        }
        assert_eq!(identity(&home.path().join("jre")), identity(home.path()));
        assert_eq!(Release::of(&home.path().join("lib")), None);
    }

    #[test]
    fn without_the_file_the_place_distinguishes() {
        let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        assert_ne!(identity(one.path()), identity(other.path()));
        assert!(!identity(one.path()).is_empty());
    }
}
