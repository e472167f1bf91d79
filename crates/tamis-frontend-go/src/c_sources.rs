//! What the C parts of a package read beside its own files, which go itself does not watch.
//!
//! Two ways lead out of a package's folder: `#include "other/x.h"` relative to the including file (often
//! `.c` files in sub-folders, which go does not compile), and folders and libraries in `#cgo` directives.
//! Headers of the system are not followed; the C compiler is a fact of its own.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Folders that belong to the system.
const SYSTEM: [&str; 6] = ["/usr", "/lib", "/lib64", "/bin", "/opt", "/nix"];

/// The files that these files include by a relative name, and so on.
pub(crate) fn included(files: &[PathBuf]) -> BTreeSet<PathBuf> {
    let mut found: BTreeSet<PathBuf> = BTreeSet::new();
    let mut open: Vec<PathBuf> = files.to_vec();
    while let Some(file) = open.pop() {
        let Ok(text) = std::fs::read(&file) else { continue };
        let folder = file.parent().unwrap_or(Path::new("/"));
        for name in names(&String::from_utf8_lossy(&text)) {
            let other = plain(&folder.join(name));
            if other.is_file() && !files.contains(&other) && found.insert(other.clone()) {
                open.push(other);
            }
        }
    }
    found
}

/// The names in `#include "NAME"` and `#import "NAME"`, also in Go comments.
fn names(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| {
        let line = line.trim_start().trim_start_matches('/').trim_start();
        let word = line.strip_prefix('#')?.trim_start();
        let rest = word.strip_prefix("include").or_else(|| word.strip_prefix("import"))?;
        rest.trim_start().strip_prefix('"')?.split_once('"').map(|(name, _)| name)
    })
}

/// Without `.` and `x/..`.
fn plain(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut path, part| {
        match part {
            std::path::Component::ParentDir => drop(path.pop()),
            std::path::Component::CurDir => {}
            other => path.push(other),
        }
        path
    })
}

/// The folders and files that flags of the C compiler and linker name, less those of the system.
pub(crate) fn named(dir: &Path, flags: &[String]) -> BTreeSet<PathBuf> {
    const BEFORE: [&str; 5] = ["-I", "-L", "-isystem", "-iquote", "-include"];
    let mut found = BTreeSet::new();
    let mut next_is_path = false;
    for flag in flags {
        let joined = BEFORE.iter().find_map(|before| flag.strip_prefix(before));
        let path = match joined {
            _ if next_is_path => Some(flag.as_str()),
            Some(path) => Some(path),
            None => Some(flag.as_str()).filter(|flag| flag.starts_with('/')),
        };
        next_is_path = !next_is_path && joined == Some("");
        found.extend(path.filter(|path| !path.is_empty()).map(|path| plain(&dir.join(path))));
    }
    found.retain(|path| !SYSTEM.iter().any(|system| path.starts_with(system)));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn includes_are_followed_out_of_the_folder() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        std::fs::create_dir_all(top.join("p/sub")).unwrap();
        std::fs::create_dir_all(top.join("inc")).unwrap();
        let write = |name: &str, text: &str| std::fs::write(top.join(name), text).unwrap();
        write(
            "p/a.go",
            "package p\n// #include \"sub/x.c\"\n// #include <stdio.h>\nimport \"C\"\n",
        );
        write("p/sub/x.c", "# include \"../../inc/y.h\"\n#include \"missing.h\"\n");
        write("inc/y.h", "#include \"../p/sub/x.c\"\n");
        let found = included(&[top.join("p/a.go")]);
        assert_eq!(found, BTreeSet::from([top.join("p/sub/x.c"), top.join("inc/y.h")]));
    }

    #[test]
    fn folders_and_libraries_in_directives() {
        let flags = [
            "-I/p/inc",
            "-I",
            "inc2",
            "-DX=1",
            "-L/usr/lib/x",
            "/p/lib/libx.a",
            "-lm",
            "-isystem/p/sys",
        ];
        let found = named(Path::new("/p/a"), &flags.map(str::to_owned));
        let expected = ["/p/a/inc2", "/p/inc", "/p/lib/libx.a", "/p/sys"].map(PathBuf::from);
        assert_eq!(found, BTreeSet::from(expected));
    }
}
