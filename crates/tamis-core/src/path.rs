//! Paths that mean the same in another checkout and on another machine.
//!
//! | absolute path | portable form |
//! | --- | --- |
//! | below the project's root | `src/a.c`, the root itself `.` |
//! | directly inside a folder above the root | `../node_modules`, the folder itself `..` |
//! | below the user's home folder | `~/.m2/settings.xml` |
//! | anything else | `/usr/lib/libc.so.6` |
//!
//! Tools look for `package.json` or `.git` in every folder above the project; written with `../`
//! such a look-up is checked above the *current* checkout and not above the one of another machine.
//! Paths are bytes: names that are not UTF-8 are kept as they are.

use serde::{Deserialize, Serialize};
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A path in portable form. A copy is cheap: thousands of records can name the same files.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct PortablePath(Arc<[u8]>);

impl PortablePath {
    /// Takes the portable form as it was stored.
    pub fn from_stored(bytes: impl Into<Vec<u8>>) -> Self {
        Self(bytes.into().into())
    }

    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Whether the path is inside the project.
    pub fn in_project(&self) -> bool {
        !matches!(self.0.first(), Some(b'/' | b'~')) && !self.0.starts_with(b"..")
            || self.0.starts_with(b"./")
    }
}

impl fmt::Display for PortablePath {
    /// Control characters are shown escaped, so that a name with a newline stays on one line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for c in String::from_utf8_lossy(&self.0).chars() {
            if c.is_control() {
                write!(f, "{}", c.escape_default())?;
            } else {
                write!(f, "{c}")?;
            }
        }
        Ok(())
    }
}

impl fmt::Debug for PortablePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", String::from_utf8_lossy(&self.0))
    }
}

/// Where the project and the user's home are on this machine.
///
/// Both must be given as canonical absolute paths: the map compares bytes and asks no file system.
#[derive(Debug, Clone)]
pub struct PathMap {
    root: PathBuf,
    home: Option<PathBuf>,
}

impl PathMap {
    pub fn new(root: PathBuf, home: Option<PathBuf>) -> Self {
        // A home of `/` (containers, system users) would swallow every path.
        let home = home.filter(|h| h.parent().is_some());
        Self { root, home }
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn home(&self) -> Option<&Path> {
        self.home.as_deref()
    }

    pub fn to_portable(&self, absolute: &Path) -> PortablePath {
        PortablePath(self.portable_bytes(absolute).into())
    }

    fn portable_bytes(&self, absolute: &Path) -> Vec<u8> {
        if let Some(rest) = below(absolute, &self.root) {
            return match rest {
                [] => b".".to_vec(),
                // A folder of the project that looks like one of the other anchors.
                [b'~', ..] => [b"./", rest].concat(),
                _ if rest.starts_with(b"..") => [b"./", rest].concat(),
                _ => rest.to_vec(),
            };
        }
        if let Some(home) = &self.home
            && let Some(rest) = below(absolute, home)
        {
            return if rest.is_empty() { b"~".to_vec() } else { [b"~/", rest].concat() };
        }
        if let Some(above) = self.above(absolute) {
            return above;
        }
        absolute.as_os_str().as_bytes().to_vec()
    }

    /// The `../` form of a folder above the root, or of an entry directly inside one; not for
    /// `/` and its entries, which are the system's.
    fn above(&self, absolute: &Path) -> Option<Vec<u8>> {
        let ups = |ancestor: &Path| -> Option<usize> {
            ancestor.parent()?;
            self.root.ancestors().skip(1).position(|a| a == ancestor).map(|n| n + 1)
        };
        if let Some(n) = ups(absolute) {
            return Some(vec![b"..".as_slice(); n].join(&b'/'));
        }
        let n = ups(absolute.parent()?)?;
        let mut parts = vec![b"..".as_slice(); n];
        parts.push(absolute.file_name()?.as_bytes());
        Some(parts.join(&b'/'))
    }

    pub fn to_absolute(&self, portable: &PortablePath) -> PathBuf {
        let bytes = portable.as_bytes();
        let join = |base: &Path, rest: &[u8]| {
            if rest.is_empty() { base.to_path_buf() } else { base.join(OsStr::from_bytes(rest)) }
        };
        match bytes {
            b"." => self.root.clone(),
            [b'/', ..] => PathBuf::from(OsString::from_vec(bytes.to_vec())),
            [b'.', b'/', rest @ ..] => join(&self.root, rest),
            [b'~'] => self.home.clone().unwrap_or_else(|| PathBuf::from("/")),
            [b'~', b'/', rest @ ..] => {
                join(self.home.as_deref().unwrap_or_else(|| Path::new("/")), rest)
            }
            _ if bytes == b".." || bytes.starts_with(b"../") => {
                let mut base = self.root.as_path();
                let mut rest = bytes;
                loop {
                    match rest {
                        b".." => {
                            base = base.parent().unwrap_or(base);
                            rest = b"";
                        }
                        [b'.', b'.', b'/', tail @ ..] => {
                            base = base.parent().unwrap_or(base);
                            rest = tail;
                        }
                        _ => return join(base, rest),
                    }
                }
            }
            _ => join(&self.root, bytes),
        }
    }

    /// Text with the project's root and the home folder replaced by placeholders, so that values
    /// of environment variables compare across checkouts. A brace of the text itself is doubled, so
    /// that no text looks like a placeholder.
    pub fn neutral_text(&self, text: &[u8]) -> Vec<u8> {
        let root = self.root.parent().map(|_| (self.root.as_path(), b"{root}".as_slice()));
        let home = self.home.as_deref().map(|home| (home, b"{home}".as_slice()));
        let places: Vec<(&[u8], &[u8])> = [root, home]
            .into_iter()
            .flatten()
            .map(|(path, name)| (path.as_os_str().as_bytes(), name))
            .collect();
        let mut out = Vec::with_capacity(text.len());
        let mut at = 0;
        while let Some(&byte) = text.get(at) {
            match places.iter().find(|(path, _)| stands_at(text, at, path)) {
                Some((path, name)) => {
                    out.extend_from_slice(name);
                    at += path.len();
                }
                None => {
                    out.extend(std::iter::repeat_n(byte, if byte == b'{' { 2 } else { 1 }));
                    at += 1;
                }
            }
        }
        out
    }
}

/// The bytes of `path` below `base`, without a leading slash; `None` where it is not below.
pub fn below<'a>(path: &'a Path, base: &Path) -> Option<&'a [u8]> {
    let (path, base) = (path.as_os_str().as_bytes(), base.as_os_str().as_bytes());
    let rest = path.strip_prefix(base)?;
    match rest {
        [] => Some(rest),
        [b'/', tail @ ..] => Some(tail),
        // The root folder as base ends with the slash itself.
        _ if base == b"/" => Some(rest),
        _ => None,
    }
}

/// Whether `path` stands at this place of the text, as a whole path prefix.
fn stands_at(text: &[u8], at: usize, path: &[u8]) -> bool {
    text[at..].strip_prefix(path).is_some_and(|rest| {
        rest.first().is_none_or(|c| !(c.is_ascii_alphanumeric() || b"-_.".contains(c)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn map() -> PathMap {
        PathMap::new("/home/ann/dev/app".into(), Some("/home/ann".into()))
    }

    fn portable(path: &str) -> String {
        map().to_portable(Path::new(path)).to_string()
    }

    #[test]
    fn anchors() {
        assert_eq!(portable("/home/ann/dev/app/src/a.c"), "src/a.c");
        assert_eq!(portable("/home/ann/dev/app"), ".");
        assert_eq!(portable("/home/ann/dev/apple"), "~/dev/apple");
        assert_eq!(portable("/home/ann/.npmrc"), "~/.npmrc");
        assert_eq!(portable("/usr/lib/libc.so"), "/usr/lib/libc.so");
        assert_eq!(portable("/home/ann/dev/app/~/x"), "./~/x");
        assert_eq!(portable("/home/ann/dev/app/..x"), "./..x");
    }

    #[test]
    fn folders_above_the_root_travel() {
        let here = PathMap::new("/srv/ci/app".into(), None);
        let there = PathMap::new("/builds/42/app".into(), None);
        let stored = here.to_portable(Path::new("/srv/ci/package.json"));
        assert_eq!(stored.to_string(), "../package.json");
        assert_eq!(there.to_absolute(&stored), Path::new("/builds/42/package.json"));
        assert_eq!(here.to_portable(Path::new("/srv/ci")).to_string(), "..");
        assert_eq!(here.to_portable(Path::new("/srv")).to_string(), "../..");
        // Entries of `/` belong to the system, a sibling's inside is no look-up above us.
        assert_eq!(here.to_portable(Path::new("/etc")).to_string(), "/etc");
        assert_eq!(here.to_portable(Path::new("/srv/ci/other/x")).to_string(), "/srv/ci/other/x");
    }

    #[test]
    fn in_project() {
        for (path, inside) in [("src/a", true), (".", true), ("./..x", true), ("../a", false)] {
            assert_eq!(PortablePath::from_stored(path).in_project(), inside, "{path}");
        }
        assert!(!PortablePath::from_stored("/a").in_project());
        assert!(!PortablePath::from_stored("~/a").in_project());
    }

    #[test]
    fn neutral_text_replaces_whole_prefixes_only() {
        let text = map().neutral_text(b"/home/ann/dev/app/bin:/home/ann/dev/apple:/home/annie");
        assert_eq!(text, b"{root}/bin:{home}/dev/apple:/home/annie");
    }

    #[test]
    fn no_text_looks_like_a_placeholder() {
        let neutral = |text: &str| map().neutral_text(text.as_bytes());
        let texts = ["/home/ann/x", "{home}/x", "{{home}/x", "{{{home}/x", "{/home/ann/x"];
        for one in texts {
            for other in texts.iter().filter(|other| **other != one) {
                assert_ne!(neutral(one), neutral(other), "{one} {other}");
            }
        }
        assert_eq!(neutral("${VERSION}"), b"${{VERSION}");
    }

    #[test]
    fn control_characters_stay_on_one_line() {
        assert_eq!(PortablePath::from_stored("a\nb").to_string(), "a\\nb");
    }

    proptest! {
        #[test]
        fn round_trip(parts in prop::collection::vec("[a-z.~]{1,4}", 1..6)) {
            prop_assume!(parts.iter().all(|p| p != "." && p != ".."));
            let path = PathBuf::from(format!("/{}", parts.join("/")));
            for map in [map(), PathMap::new("/a/b".into(), None), PathMap::new("/".into(), None),
                        PathMap::new("/a/b/c/d".into(), Some("/a".into()))] {
                prop_assert_eq!(map.to_absolute(&map.to_portable(&path)), path.clone());
            }
        }
    }
}
