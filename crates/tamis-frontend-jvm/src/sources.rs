//! The files from which the classes of a module are built, as they were when its tests last began.
//!
//! A build compiles before it runs tests, so the classes of that moment belong to the sources of that
//! moment. `why`, `select` and `status` build nothing: where a file is another one now, what the class
//! files say is not yet what the build will say ([`crate::unbuilt`]).
//!
//! A module is the folder with a build file around an entry of the class path. What counts in it: build
//! files, sources by their ending, everything below a folder called `src`, and files called like a
//! resource beside the classes. Not seen: other files that a plugin turns into sources, and what
//! is outside of the project.

use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use tamis_core::{PortablePath, Scheme, Silent, Value};
use tamis_project::Project;
use tamis_store::Store;

/// Deeper folders are no sources.
const DEEPEST: usize = 60;

/// What sources are kept as, beside the records.
const KIND: &str = "sources";

const BUILD_FILES: &[&str] = &[
    "pom.xml",
    "build.xml",
    "build.gradle",
    "build.gradle.kts",
    "settings.gradle",
    "settings.gradle.kts",
    "build.sbt",
];

/// More files that say how a build goes, beside those or above them.
const OF_BUILDS: &[&str] = &[
    "gradle.properties",
    "gradle/libs.versions.toml",
    "build.properties",
    "ivy.xml",
    ".mvn/maven.config",
    ".mvn/jvm.config",
    ".mvn/extensions.xml",
];

const OUTPUTS: &[&str] = &["target", "build", "out", "bin", "dist", "node_modules"];

const LANGUAGES: &[&str] = &["java", "kt", "kts", "groovy", "scala", "aj", "clj", "gradle"];

/// One module, with what it is built from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Saved {
    module: PortablePath,
    files: Vec<(PortablePath, Value)>,
}

/// A file that is not as it was when the classes were made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Edited {
    pub(crate) path: PathBuf,
    pub(crate) kind: Edit,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Edit {
    New,
    Changed,
    Gone,
}

/// The folders of modules that a class path has entries of, those of the project.
pub(crate) fn modules(root: &Path, class_path: &[PathBuf]) -> BTreeSet<PathBuf> {
    let own = class_path.iter().filter(|entry| entry.starts_with(root) && *entry != root);
    own.map(|entry| module_of(root, entry)).collect()
}

fn module_of(root: &Path, entry: &Path) -> PathBuf {
    let above = entry.ancestors().skip(1).take_while(|folder| folder.starts_with(root));
    above.into_iter().find(|folder| is_module(folder)).unwrap_or(root).to_path_buf()
}

fn is_module(folder: &Path) -> bool {
    BUILD_FILES.iter().any(|name| folder.join(name).is_file())
}

pub(crate) fn is_build_file(path: &Path) -> bool {
    let is = |names: &[&str]| names.iter().any(|name| path.ends_with(name));
    is(BUILD_FILES) || is(OF_BUILDS) || path.extension() == Some(OsStr::new("gradle"))
}

/// Keeps what modules are built from now. Without it explanations are more careful, nothing else.
pub(crate) fn save(
    project: &Project,
    modules: &BTreeSet<PathBuf>,
    class_path: &[PathBuf],
    began: SystemTime,
) -> Option<()> {
    let store = project.existing_store(&Silent).ok()??;
    for module in modules {
        let saved = Saved {
            module: project.paths.to_portable(module),
            files: contents(project, module, class_path, Some(began)).into_iter().collect(),
        };
        let name = saved.module.to_string();
        store.keep(KIND, &name, &serde_json::to_vec(&saved).ok()?).ok()?;
    }
    Some(())
}

/// What is not as it was when the tests of these modules last began; `None` where that is not known.
pub(crate) fn edits(
    project: &Project,
    store: &Store,
    modules: &BTreeSet<PathBuf>,
    class_path: &[PathBuf],
) -> Option<Vec<Edited>> {
    let kept = store.kept(KIND).ok()?.into_iter();
    let kept = kept.filter_map(|(_, bytes)| serde_json::from_slice::<Saved>(&bytes).ok());
    let kept: BTreeMap<PortablePath, BTreeMap<PortablePath, Value>> =
        kept.map(|one| (one.module, one.files.into_iter().collect())).collect();
    let mut edits = Vec::new();
    for module in modules {
        let was = kept.get(&project.paths.to_portable(module))?;
        let is = contents(project, module, class_path, None);
        edits.extend(
            differences(was, &is)
                .into_iter()
                .map(|(path, kind)| Edited { path: project.paths.to_absolute(path), kind }),
        );
    }
    Some(edits)
}

fn differences<'f>(
    was: &'f BTreeMap<PortablePath, Value>,
    is: &'f BTreeMap<PortablePath, Value>,
) -> Vec<(&'f PortablePath, Edit)> {
    let now = is.iter().filter_map(|(path, value)| match was.get(path) {
        None => Some((path, Edit::New)),
        Some(old) if old != value => Some((path, Edit::Changed)),
        Some(_) => None,
    });
    let gone = was.keys().filter(|path| !is.contains_key(path)).map(|path| (path, Edit::Gone));
    now.chain(gone).collect()
}

/// The files of a module with their contents. One that was written since `began` may be newer than
/// the classes: it gets a value that it will not have again.
fn contents(
    project: &Project,
    module: &Path,
    class_path: &[PathBuf],
    began: Option<SystemTime>,
) -> BTreeMap<PortablePath, Value> {
    let files: Vec<(PathBuf, Scheme)> =
        files(project.root(), module, class_path).into_iter().map(|f| (f, Scheme::Raw)).collect();
    let values = project.fingerprinter.answer_many(&files).into_iter().map(|answer| answer.value);
    let is_late = |path: &Path| {
        let modified = || std::fs::metadata(path).and_then(|meta| meta.modified());
        began.is_some_and(|began| modified().map_or(true, |at| at >= began))
    };
    let one = |((path, _), value): (&(PathBuf, Scheme), Value)| {
        let value = if is_late(path) { Value::unbuilt() } else { value };
        (project.paths.to_portable(path), value)
    };
    files.iter().zip(values).map(one).collect()
}

/// All files of a module that count.
fn files(root: &Path, module: &Path, class_path: &[PathBuf]) -> BTreeSet<PathBuf> {
    let mut names = BTreeSet::new();
    for folder in class_path.iter().filter(|entry| entry.starts_with(module)) {
        walk(folder, 0, &|_| false, &mut |file| {
            if file.extension() != Some(OsStr::new("class")) {
                names.extend(file.file_name().map(OsStr::to_owned));
            }
        });
    }
    let mut found = BTreeSet::new();
    let leaves_out = |folder: &Path| {
        let name = folder.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
        let is_output = OUTPUTS.contains(&&*name) && folder.parent() == Some(module);
        let is_hidden = name.starts_with('.');
        is_output || is_hidden || is_module(folder) || class_path.iter().any(|e| e == folder)
    };
    walk(module, 0, &leaves_out, &mut |file| {
        if counts(module, &file, &names) {
            found.insert(file);
        }
    });
    for folder in module.ancestors().take_while(|folder| folder.starts_with(root)) {
        let of_builds = BUILD_FILES.iter().chain(OF_BUILDS).map(|name| folder.join(name));
        found.extend(of_builds.filter(|file| file.is_file()));
    }
    found
}

fn counts(module: &Path, file: &Path, resources: &BTreeSet<std::ffi::OsString>) -> bool {
    let below = file.strip_prefix(module).unwrap_or(file);
    let ending = file.extension().and_then(OsStr::to_str).unwrap_or_default();
    LANGUAGES.contains(&ending)
        || below.parent().is_some_and(|folder| folder.iter().any(|part| part == "src"))
        || file.file_name().is_some_and(|name| resources.contains(name))
}

fn walk(
    folder: &Path,
    depth: usize,
    leaves_out: &dyn Fn(&Path) -> bool,
    visit: &mut dyn FnMut(PathBuf),
) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        match entry.file_type() {
            Ok(kind) if kind.is_dir() && depth < DEEPEST && !leaves_out(&path) => {
                walk(&path, depth + 1, leaves_out, visit);
            }
            Ok(kind) if !kind.is_dir() => visit(path),
            _ => {}
        }
    }
}

/// The Java sources of modules.
pub(crate) fn java_sources(
    root: &Path,
    modules: &BTreeSet<PathBuf>,
    class_path: &[PathBuf],
) -> Vec<PathBuf> {
    let all = modules.iter().flat_map(|module| files(root, module, class_path));
    all.filter(|file| file.extension() == Some(OsStr::new("java"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(files: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for file in files {
            let path = folder.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        folder
    }

    #[test]
    fn modules_are_found_by_their_build_files() {
        let folder = tree(&["pom.xml", "a/pom.xml", "b/build.gradle", "c/x"]);
        let at = |path: &str| folder.path().join(path);
        let class_path =
            [at("a/target/classes"), at("b/build/classes/java/main"), at("c/out"), "/lib".into()];
        let found = modules(folder.path(), &class_path);
        assert_eq!(found, BTreeSet::from([at(""), at("a"), at("b")].map(|p| p.join(""))));
    }

    #[test]
    fn what_a_module_is_built_from() {
        let folder = tree(&[
            "pom.xml",
            "a/pom.xml",
            "a/README.md",
            "a/docs/x.txt",
            "a/src/main/java/p/A.java",
            "a/src/main/proto/x.proto",
            "a/conf/app.properties",
            "a/other/Gen.kt",
            "a/target/classes/p/A.class",
            "a/target/classes/app.properties",
            "a/target/generated-sources/p/G.java",
            "a/inner/pom.xml",
            "a/inner/src/main/java/p/B.java",
        ]);
        let module = folder.path().join("a");
        let found = files(folder.path(), &module, &[module.join("target/classes")]);
        let found: Vec<String> = found
            .iter()
            .map(|file| file.strip_prefix(folder.path()).unwrap().display().to_string())
            .collect();
        let expected = [
            "a/conf/app.properties",
            "a/other/Gen.kt",
            "a/pom.xml",
            "a/src/main/java/p/A.java",
            "a/src/main/proto/x.proto",
            "pom.xml",
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn new_changed_and_gone() {
        let at = |name: &str| PortablePath::from_stored(name);
        let was = BTreeMap::from([(at("a"), Value::File), (at("b"), Value::File)]);
        let is = BTreeMap::from([(at("b"), Value::Pipe), (at("c"), Value::File)]);
        let (a, b, c) = (at("a"), at("b"), at("c"));
        let expected = vec![(&b, Edit::Changed), (&c, Edit::New), (&a, Edit::Gone)];
        assert_eq!(differences(&was, &is), expected);
    }
}
