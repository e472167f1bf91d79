//! Contents of files by path, taken at once, with links followed.
//!
//! Go reads through symbolic links and does not look at permissions: the value is that of the file at the
//! end, without the executable bit.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use tamis_core::{Hash, Scheme, Value};
use tamis_fs::Fingerprinter;

#[derive(Debug, Default)]
pub(crate) struct Contents(HashMap<PathBuf, Value>);

impl Contents {
    pub(crate) fn of(fs: &Fingerprinter, paths: &BTreeSet<PathBuf>) -> Self {
        let paths: Vec<&PathBuf> = paths.iter().collect();
        let values = fs.values(&paths, |path| ((*path).clone(), Scheme::Raw));
        let followed = |path: &PathBuf, value| match value {
            Value::Link(_) => target(fs, path).unwrap_or(value),
            Value::Content { hash, .. } => Value::Content { hash, executable: false },
            other => other,
        };
        Self(paths.into_iter().zip(values).map(|(p, v)| (p.clone(), followed(p, v))).collect())
    }

    pub(crate) fn get(&self, path: &Path) -> Value {
        self.0.get(path).copied().unwrap_or(Value::Absent)
    }

    /// One value for some files: their names as seen from a folder, and what is in them.
    pub(crate) fn hash<'a>(&self, base: &Path, files: impl Iterator<Item = &'a PathBuf>) -> Hash {
        let files: BTreeSet<&PathBuf> = files.collect();
        let parts: Vec<Vec<u8>> = files.into_iter().map(|file| self.part(base, file)).collect();
        Hash::of_parts(parts.iter().map(Vec::as_slice))
    }

    fn part(&self, base: &Path, file: &Path) -> Vec<u8> {
        let (tag, hash) = self.get(file).to_raw();
        let name = relative(base, file);
        [name.as_os_str().as_encoded_bytes(), &[0, tag], &hash.to_le_bytes()].concat()
    }
}

fn target(fs: &Fingerprinter, link: &Path) -> Option<Value> {
    match fs.answer(&link.canonicalize().ok()?, Scheme::Raw).value {
        Value::Content { hash, .. } => Some(Value::Content { hash, executable: false }),
        other => Some(other),
    }
}

/// The way from a folder to a file, by `..` where needed: the same in every checkout.
fn relative(base: &Path, file: &Path) -> PathBuf {
    let common = base.components().zip(file.components()).take_while(|(a, b)| a == b).count();
    let up = base.components().skip(common).map(|_| std::path::Component::ParentDir);
    up.chain(file.components().skip(common)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn hash(paths: &[&Path]) -> Hash {
        let paths: BTreeSet<PathBuf> = paths.iter().map(|p| p.to_path_buf()).collect();
        let fs = Fingerprinter::new(tamis_fs::Options::default());
        Contents::of(&fs, &paths).hash(paths.first().unwrap().parent().unwrap(), paths.iter())
    }

    #[test]
    fn links_count_by_what_they_lead_to() {
        let folder = tempfile::tempdir().unwrap();
        let (link, end) = (folder.path().join("a.go"), folder.path().join("real"));
        std::fs::write(&end, "1").unwrap();
        std::os::unix::fs::symlink("real", &link).unwrap();
        let before = hash(&[&link]);
        std::fs::set_permissions(&end, PermissionsExt::from_mode(0o755)).unwrap();
        assert_eq!(hash(&[&link]), before);
        std::fs::write(&end, "2").unwrap();
        assert_ne!(hash(&[&link]), before);
    }

    #[test]
    fn a_missing_file_is_another_value() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.go");
        let before = hash(&[&file]);
        std::fs::write(&file, "").unwrap();
        assert_ne!(hash(&[&file]), before);
    }

    #[test]
    fn names_do_not_depend_on_the_place_of_the_checkout() {
        for (base, file, expected) in [
            ("/p/a", "/p/a/x.go", "x.go"),
            ("/p/a", "/p/inc/x.h", "../inc/x.h"),
            ("/p", "/p/a/b/x", "a/b/x"),
        ] {
            assert_eq!(relative(Path::new(base), Path::new(file)), Path::new(expected));
        }
    }
}
