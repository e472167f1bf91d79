//! The files that the globs of a suite's `each` stand for.
//!
//! As in a shell, a name that starts with a dot matches only where the pattern says so, and the
//! answer is sorted. A pattern stands for files, one with a slash at its end for folders.
//! Links to folders are not entered below `**`, so a loop of links ends.

use crate::glob;
use crate::settings::Item;
use globset::GlobMatcher;
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

/// Why the items of a suite are not known.
#[derive(Debug, thiserror::Error)]
pub enum ItemsError {
    #[error("cannot list {}: {source}", folder.display())]
    Unreadable { folder: PathBuf, source: io::Error },
    #[error("{} matches `{glob}` but its name is not UTF-8; rename it or narrow the glob", path.display())]
    NotUtf8 { path: PathBuf, glob: String },
    #[error("`{glob}` {problem}")]
    BadGlob { glob: String, problem: String },
}

/// The items in the order in which they are written, each glob's files sorted, none twice.
/// `folder` is the suite's folder.
pub fn expand(items: &[Item], folder: &Path) -> Result<Vec<String>, ItemsError> {
    let mut names = Vec::new();
    let mut seen = BTreeSet::new();
    for item in items {
        let found = match item {
            Item::Name(name) => vec![name.clone()],
            Item::Glob(pattern) => matching(pattern, folder)?,
        };
        names.extend(found.into_iter().filter(|name| seen.insert(name.clone())));
    }
    Ok(names)
}

/// The texts in a JSON document at a way of keys, `tests.name`; lists on the way are gone through.
pub fn json_names(text: &str, keys: &str) -> Result<Vec<String>, String> {
    let document: serde_json::Value =
        serde_json::from_str(text).map_err(|error| format!("printed no JSON: {error}"))?;
    let mut names = Vec::new();
    gather(&document, keys, &mut names);
    Ok(names)
}

fn gather(value: &serde_json::Value, keys: &str, names: &mut Vec<String>) {
    match value {
        serde_json::Value::Array(all) => all.iter().for_each(|one| gather(one, keys, names)),
        serde_json::Value::String(name) if keys.is_empty() => names.push(name.clone()),
        serde_json::Value::Object(object) => {
            let (key, rest) = keys.split_once('.').unwrap_or((keys, ""));
            object.get(key).into_iter().for_each(|inner| gather(inner, rest, names));
        }
        _ => {}
    }
}

struct Search<'a> {
    pattern: &'a str,
    matcher: GlobMatcher,
    folders_wanted: bool,
    hidden: bool,
    /// How many folders deep a match can be; `None` below `**`.
    depth: Option<usize>,
    found: Vec<String>,
}

fn matching(pattern: &str, folder: &Path) -> Result<Vec<String>, ItemsError> {
    let text = pattern.trim_start_matches("./").trim_end_matches('/');
    let glob = glob::compile(text)
        .map_err(|problem| ItemsError::BadGlob { glob: pattern.into(), problem })?;
    let parts: Vec<&str> = text.split('/').collect();
    // Alternatives may hold slashes of their own.
    let plain = parts.iter().take_while(|part| !glob::is_pattern(part)).count();
    let fixed = plain.min(parts.len() - 1);
    let start = parts[..fixed].join("/");
    let bounded = !text.contains("**") && !text.contains('{');
    let mut search = Search {
        pattern,
        matcher: glob.compile_matcher(),
        folders_wanted: pattern.ends_with('/'),
        hidden: text.starts_with('.') || text.contains("/."),
        depth: bounded.then(|| parts.len() - fixed),
        found: Vec::new(),
    };
    search.walk(folder, Path::new(&start), 1)?;
    search.found.sort();
    Ok(search.found)
}

impl Search<'_> {
    fn walk(&mut self, base: &Path, below: &Path, level: usize) -> Result<(), ItemsError> {
        let folder = base.join(below);
        let failed = |source| ItemsError::Unreadable { folder: folder.clone(), source };
        let entries = match std::fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(failed(error)),
        };
        for entry in entries {
            let entry = entry.map_err(failed)?;
            let name = entry.file_name();
            if !self.hidden && name.as_encoded_bytes().starts_with(b".") {
                continue;
            }
            let path = below.join(&name);
            let kind = entry.file_type().map_err(failed)?;
            let is_folder = if kind.is_symlink() { entry.path().is_dir() } else { kind.is_dir() };
            if is_folder == self.folders_wanted && self.matcher.is_match(&path) {
                let Some(text) = path.to_str() else {
                    return Err(ItemsError::NotUtf8 { path, glob: self.pattern.to_owned() });
                };
                self.found.push(text.to_owned());
            }
            let deeper = self.depth.map_or(!kind.is_symlink(), |depth| level < depth);
            if is_folder && deeper {
                self.walk(base, &path, level + 1)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_json() {
        let text = r#"{"kind":"x","tests":[{"name":"a"},{"name":"b c"},{"other":1},{"name":2}]}"#;
        assert_eq!(json_names(text, "tests.name").unwrap(), ["a", "b c"]);
        assert_eq!(json_names(text, "kind").unwrap(), ["x"]);
        assert!(json_names(text, "none.name").unwrap().is_empty());
        assert_eq!(json_names(r#"["a",["b"]]"#, "").unwrap(), ["a", "b"]);
        assert!(json_names("x", "a").unwrap_err().starts_with("printed no JSON"));
    }
    use std::os::unix::ffi::OsStrExt;

    fn project(files: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for file in files {
            let path = folder.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        folder
    }

    fn globs(folder: &Path, patterns: &[&str]) -> Vec<String> {
        let items: Vec<Item> = patterns.iter().map(|p| Item::Glob((*p).into())).collect();
        expand(&items, folder).unwrap()
    }

    #[test]
    fn globs_are_files_in_order() {
        let project =
            project(&["t/b.sh", "t/a.sh", "t/.x.sh", "t/sub/c.sh", "t/d.txt", "top.sh", ".h/e.sh"]);
        let at = project.path();
        assert_eq!(globs(at, &["t/*.sh"]), ["t/a.sh", "t/b.sh"]);
        assert_eq!(globs(at, &["./t/*.sh"]), ["t/a.sh", "t/b.sh"]);
        assert_eq!(globs(at, &["**/*.sh"]), ["t/a.sh", "t/b.sh", "t/sub/c.sh", "top.sh"]);
        assert_eq!(globs(at, &["*/*/*.sh"]), ["t/sub/c.sh"]);
        assert_eq!(globs(at, &["t/.*.sh"]), ["t/.x.sh"]);
        assert_eq!(globs(at, &["t/*/"]), ["t/sub"]);
        assert_eq!(globs(at, &["{t/sub,t}/?.sh"]), ["t/a.sh", "t/b.sh", "t/sub/c.sh"]);
        assert_eq!(globs(at, &["none/*.sh"]), Vec::<String>::new());
        assert_eq!(globs(at, &["top.sh*", "**/*.sh"])[..2], ["top.sh", "t/a.sh"]);
    }

    #[test]
    fn names_are_taken_as_they_are() {
        let items = [Item::Name("unit".into()), Item::Name("b".into()), Item::Name("unit".into())];
        assert_eq!(expand(&items, Path::new("/nowhere")).unwrap(), ["unit", "b"]);
    }

    #[test]
    fn loops_of_links_end() {
        let project = project(&["t/a.sh"]);
        std::os::unix::fs::symlink("..", project.path().join("t/up")).unwrap();
        assert_eq!(globs(project.path(), &["**/*.sh"]), ["t/a.sh"]);
    }

    #[test]
    fn what_cannot_be_named_or_listed_is_an_error() {
        let project = project(&["plain"]);
        let odd = std::ffi::OsStr::from_bytes(b"\xff.sh");
        std::fs::write(project.path().join(odd), "").unwrap();
        let error = expand(&[Item::Glob("*.sh".into())], project.path()).unwrap_err();
        assert!(error.to_string().contains("is not UTF-8"), "{error}");
        let error = expand(&[Item::Glob("plain/*".into())], project.path()).unwrap_err();
        assert!(error.to_string().starts_with("cannot list "), "{error}");
    }
}
