//! The faults of a whole work tree: which of its files are the program.
//!
//! Class files are those that a tracked source belongs to, by package and name; the folder that a build puts them
//! into does not matter. What is below a folder of tests, or is called like a test, is none.

use crate::fault::Fault;
use crate::{class_file, python};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use tamis_classfile::ClassFile;

/// Languages that faults are made in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Language {
    /// In class files.
    Jvm,
    Python,
}

/// The folders of tests and of what only helps.
const NOT_THE_PROGRAM: [&str; 15] = [
    "test",
    "tests",
    "testing",
    "it",
    "integration-test",
    "integrationTest",
    "testFixtures",
    "androidTest",
    "jmh",
    "benchmarks",
    "bench",
    "docs",
    "examples",
    "example",
    "tools",
];

/// All faults of a work tree whose tracked files are given, relative to its top.
pub fn faults_of_tree(tree: &Path, tracked: &[String], language: Language) -> Vec<Fault> {
    let program = tracked.iter().map(String::as_str).filter(|file| is_program(file));
    match language {
        Language::Python => {
            let sources = program.filter(|file| file.ends_with(".py"));
            sources.flat_map(|source| of_source(tree, source)).collect()
        }
        Language::Jvm => {
            let sources = program.filter(|file| is_jvm_source(file));
            let mut by_name: HashMap<&str, Vec<&str>> = HashMap::new();
            for source in sources {
                by_name.entry(name_of(source)).or_default().push(source);
            }
            let mut files = Vec::new();
            class_files(tree, 0, &mut files);
            files.sort();
            files.into_iter().flat_map(|file| of_class(file, &by_name)).collect()
        }
    }
}

fn name_of(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn is_jvm_source(file: &str) -> bool {
    [".java", ".kt", ".scala", ".groovy"].iter().any(|ending| file.ends_with(ending))
}

fn is_program(file: &str) -> bool {
    let mut folders = file.split('/');
    let name = folders.next_back().unwrap_or_default();
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    !folders.any(|folder| NOT_THE_PROGRAM.contains(&folder))
        && !stem.starts_with("test_")
        && !stem.ends_with("_test")
        && !["conftest", "setup", "noxfile", "package-info", "module-info"].contains(&stem)
}

fn of_source(tree: &Path, source: &str) -> Vec<Fault> {
    let file = tree.join(source);
    // A link may lead out of the work tree.
    let is_file = fs::symlink_metadata(&file).is_ok_and(|found| found.is_file());
    let Some(text) = is_file.then(|| fs::read_to_string(&file).ok()).flatten() else {
        return Vec::new();
    };
    let found = python::faults(&text).into_iter();
    found.map(|fault| Fault { file: file.clone(), source: source.to_owned(), ..fault }).collect()
}

fn of_class(file: PathBuf, sources: &HashMap<&str, Vec<&str>>) -> Vec<Fault> {
    let Ok(bytes) = fs::read(&file) else { return Vec::new() };
    let Ok(class) = ClassFile::parse(&bytes) else { return Vec::new() };
    let Ok(Some(name)) = class.source_file() else { return Vec::new() };
    let name = String::from_utf8_lossy(name);
    let package = String::from_utf8_lossy(class.name);
    let package = package.rsplit_once('/').map_or("", |(package, _)| package);
    let ending = if package.is_empty() { name.to_string() } else { format!("{package}/{name}") };
    // Kotlin may leave folders of the package out; then the name alone decides, where it is the only one.
    let named = sources.get(&*name).map(Vec::as_slice).unwrap_or_default();
    let is_below = |source: &&&str| {
        source.strip_suffix(ending.as_str()).is_some_and(|r| r.is_empty() || r.ends_with('/'))
    };
    let source = named.iter().find(is_below).or(match named {
        [only] if !name.ends_with(".java") => Some(only),
        _ => None,
    });
    let Some(source) = source else { return Vec::new() };
    let found = class_file::faults(&bytes).unwrap_or_default().into_iter();
    found.map(|fault| Fault { file: file.clone(), source: (*source).to_owned(), ..fault }).collect()
}

/// All class files below a folder; links are not followed.
fn class_files(folder: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    const DEEPEST: usize = 64;
    if depth > DEEPEST {
        return;
    }
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let (path, kind) = (entry.path(), entry.file_type());
        match kind {
            Ok(kind) if kind.is_dir() => {
                let name = entry.file_name();
                if name != ".git" && name != "test-classes" && name != "node_modules" {
                    class_files(&path, depth + 1, found);
                }
            }
            Ok(kind) if kind.is_file() && path.extension().is_some_and(|e| e == "class") => {
                found.push(path);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tamis_testkit::{Sources, jdk};

    #[test]
    fn tests_are_not_the_program() {
        for file in ["src/main/java/a/B.java", "click/core.py", "src/a/latest.py"] {
            assert!(is_program(file), "{file}");
        }
        for file in [
            "src/test/java/a/B.java",
            "tests/core.py",
            "a/test_core.py",
            "a/core_test.py",
            "a/conftest.py",
            "docs/x.py",
            "module-info.java",
        ] {
            assert!(!is_program(file), "{file}");
        }
    }

    #[test]
    fn class_files_belong_to_tracked_sources() {
        let code = "package p; class A { int f(int a) { if (a > 1) { return 1; } return 2; } class In { int g() { return f(1); } } }";
        let folder = Sources::new()
            .file("p/A.java", code)
            .file("p/Made.java", "package p; class Made { int f() { return 1; } }")
            .compile(&jdk());
        let of = |tracked: &str| {
            let found = faults_of_tree(&folder, &[tracked.to_owned()], Language::Jvm);
            let mut files: Vec<String> = found
                .iter()
                .map(|f| format!("{} {}", f.file.file_name().unwrap().display(), f.source))
                .collect();
            files.dedup();
            files
        };
        let source = "src/main/java/p/A.java";
        assert_eq!(of(source), [format!("A$In.class {source}"), format!("A.class {source}")]);
        assert_eq!(of("src/main/java/q/A.java"), [""; 0]);
        assert_eq!(of("src/main/java/xp/A.java"), [""; 0]);
        assert_eq!(of("src/test/java/p/A.java"), [""; 0]);
    }

    #[test]
    fn sources_of_python() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("tests")).unwrap();
        for file in ["a.py", "tests/a.py"] {
            std::fs::write(folder.path().join(file), "def f(x):\n    return x\n").unwrap();
        }
        let tracked = ["a.py", "tests/a.py", "gone.py"].map(str::to_owned);
        let found = faults_of_tree(folder.path(), &tracked, Language::Python);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].source.as_str(), found[0].line), ("a.py", 2));
        assert_eq!(found[0].file, folder.path().join("a.py"));
    }
}
