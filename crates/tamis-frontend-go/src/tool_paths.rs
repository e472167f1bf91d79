//! Paths that belong to go itself: what is read and written there is no input of a test.
//!
//! | path | why it is no input |
//! | --- | --- |
//! | `GOCACHE` | compiled packages by the hash of everything they are made of, and results of tests |
//! | `go-build*` in `GOTMPDIR` or the temporary folder | the work of one run: test binaries, link inputs |
//! | `GOMODCACHE` | modules, immutable: the version and checksum of each count as facts |
//! | `go/telemetry` in the user's configuration | counters of how often go was started |
//! | `pkg/sumdb` in `GOPATH` | the log of checksums, kept while downloading |
//!
//! The paths come from the environment and the file of `go env -w`, so that they are known without starting
//! go. A test that reads the module cache by itself reads what its version says, too.

use crate::environment::Surroundings;
use std::path::{Path, PathBuf};

/// A place that belongs to go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolPath {
    /// A folder, or the beginning of the names of folders.
    pub path: PathBuf,
    /// Whether `path` is only the beginning of a name: `/tmp/go-build` for `/tmp/go-build123`.
    pub is_beginning: bool,
    pub why: &'static str,
}

impl ToolPath {
    /// Whether a path is this place or below it.
    pub fn covers(&self, path: &Path) -> bool {
        if !self.is_beginning {
            return path.starts_with(&self.path);
        }
        let (Some(folder), Some(name)) = (self.path.parent(), self.path.file_name()) else {
            return false;
        };
        let first = path.strip_prefix(folder).ok().and_then(|rest| rest.components().next());
        first.is_some_and(|part| {
            part.as_os_str().as_encoded_bytes().starts_with(name.as_encoded_bytes())
        })
    }
}

/// The places of go under these settings.
pub fn tool_paths(at: &Surroundings) -> Vec<ToolPath> {
    let folder =
        |path: Option<PathBuf>, why| path.map(|path| ToolPath { path, is_beginning: false, why });
    let work = ToolPath {
        path: temporary(at).join("go-build"),
        is_beginning: true,
        why: "the work folder of one run of go",
    };
    let found = [
        folder(build_cache(at), "the build cache of go"),
        Some(work),
        folder(module_cache(at), "the module cache of go, where a version never changes"),
        folder(at.config_folder().map(|c| c.join("go/telemetry")), "the usage counters of go"),
        folder(first_gopath(at).map(|p| p.join("pkg/sumdb")), "the checksum log of go"),
    ];
    found.into_iter().flatten().collect()
}

fn temporary(at: &Surroundings) -> PathBuf {
    let own = at.setting("GOTMPDIR").map(PathBuf::from);
    own.or_else(|| at.variable("TMPDIR").map(PathBuf::from)).unwrap_or_else(|| "/tmp".into())
}

fn build_cache(at: &Surroundings) -> Option<PathBuf> {
    let own = at.setting("GOCACHE").map(PathBuf::from);
    own.or_else(|| at.cache_folder().map(|folder| folder.join("go-build")))
}

fn module_cache(at: &Surroundings) -> Option<PathBuf> {
    let own = at.setting("GOMODCACHE").map(PathBuf::from);
    own.or_else(|| first_gopath(at).map(|path| path.join("pkg/mod")))
}

fn first_gopath(at: &Surroundings) -> Option<PathBuf> {
    let own = at.setting("GOPATH");
    let first = own.as_deref().and_then(|paths| paths.split(':').find(|path| !path.is_empty()));
    first.map(PathBuf::from).or_else(|| Some(Path::new(at.variable("HOME")?).join("go")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn covered(variables: &[(&str, &str)], path: &str) -> bool {
        let variables = variables.iter().map(|(n, v)| (n.into(), v.into()));
        let at = Surroundings::new("/p", variables);
        tool_paths(&at).iter().any(|tool| tool.covers(Path::new(path)))
    }

    #[test]
    fn places_of_a_usual_installation() {
        let home = [("HOME", "/h")];
        for path in [
            "/h/.cache/go-build/01/x-d",
            "/h/go/pkg/mod/ex.org@v1/x.go",
            "/h/.config/go/telemetry/local/x.count",
            "/h/go/pkg/sumdb/x",
            "/tmp/go-build123/b001/a.test",
            "/tmp/go-build123",
        ] {
            assert!(covered(&home, path), "{path}");
        }
        for path in
            ["/h/.config/go/env", "/tmp/x", "/tmp", "/h/go/src/x.go", "/tmp/x/go-build1", "/p/a.go"]
        {
            assert!(!covered(&home, path), "{path}");
        }
    }

    #[test]
    fn settings_move_them() {
        let moved = [
            ("HOME", "/h"),
            ("GOCACHE", "/c"),
            ("GOMODCACHE", "/m"),
            ("GOTMPDIR", "/t"),
            ("GOPATH", "/g:/g2"),
            ("XDG_CONFIG_HOME", "/x"),
        ];
        for path in ["/c/a", "/m/a", "/t/go-build1/a", "/g/pkg/sumdb", "/x/go/telemetry/a"] {
            assert!(covered(&moved, path), "{path}");
        }
        for path in ["/h/.cache/go-build/a", "/h/go/pkg/mod/a", "/tmp/go-build1"] {
            assert!(!covered(&moved, path), "{path}");
        }
        assert!(covered(&[("HOME", "/h"), ("TMPDIR", "/v")], "/v/go-build1"));
    }
}
