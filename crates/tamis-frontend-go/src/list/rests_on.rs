//! What the answers of go rest on: the files and folders that go has read to give them.
//!
//! - The program and its settings: the go command, `VERSION` and `go.env` of the installation, the file of
//!   `go env -w`.
//! - The modules: `go.work`, `go.mod` with their checksums, `vendor/modules.txt`, `-modfile`; and that there is
//!   none of them nearer to the current folder or to a package than the one that was found.
//! - The Go files of all packages that count by content, also those that build constraints leave out: imports,
//!   constraints and `//go:embed` are in them.
//! - The names in the folders of these packages, in all folders that a pattern looks through, and in those
//!   that are embedded.
//!
//! What was written while go worked may have been read in another state than that of now: such a listing is
//! good for this run and is not used again.

use super::Build;
use crate::ask::Listed;
use crate::contents::Contents;
use crate::folders::{self, Folder, Names};
use crate::structure::{Structure, counting};
use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tamis_fs::Fingerprinter;

/// More folders than this below an embedded one are not watched; go is asked each time.
const MAX_EMBEDDED: usize = 20_000;

/// How coarse the clock of file times may be.
const TICK: Duration = Duration::from_millis(20);

/// Fills in the state of what the answers rest on.
pub(crate) fn fill(
    build: &Build<'_>,
    structure: &mut Structure,
    fs: &Fingerprinter,
    began: SystemTime,
) {
    structure.variables = counting(build.at);
    structure.programs = build.c_programs();
    let go = build.test.program().to_owned();
    structure.programs.insert(go.clone(), build.at.program(&go));
    let files = files(build);
    let (of_sources, embedded, complete) = watched_folders(build);
    let look = |paths: &BTreeSet<PathBuf>, which| {
        paths.iter().map(|path| Folder::look(path, which)).collect::<Vec<_>>()
    };
    structure.folders.extend(look(&of_sources, Names::OfSources));
    structure.folders.extend(look(&embedded, Names::All));
    let contents = Contents::of(fs, &files);
    let all = files.iter().chain(&of_sources).chain(&embedded);
    structure.unsettled = match complete {
        true => wrapper(build).or_else(|| changed_since(all, began)),
        false => Some("too many folders are embedded".into()),
    };
    structure.files = files.iter().map(|path| (path.clone(), contents.get(path))).collect();
}

/// A program that is not the go command of the installation but finds one (a version manager) may find
/// another one next time. That go itself switches to the toolchain that `go.mod` names is known.
fn wrapper(build: &Build<'_>) -> Option<String> {
    let root = Path::new(build.answers.settings.get("GOROOT"));
    let of_module = root
        .components()
        .any(|part| part.as_os_str().as_encoded_bytes().starts_with(b"toolchain@"));
    let program = build.at.program(build.test.program())?.canonicalize().ok()?;
    let same = root.join("bin/go").canonicalize().is_ok_and(|go| go == program);
    let why = || format!("{} is not the go command of {}", program.display(), root.display());
    (!same && !of_module).then(why)
}

fn changed_since<'a>(
    paths: impl Iterator<Item = &'a PathBuf>,
    began: SystemTime,
) -> Option<String> {
    let began = began.checked_sub(TICK)?.duration_since(UNIX_EPOCH).ok()?.as_nanos();
    let is_new = |path: &&PathBuf| {
        path.metadata()
            .is_ok_and(|m| m.ctime() as u128 * 1_000_000_000 + m.ctime_nsec() as u128 >= began)
    };
    let new = paths.into_iter().find(is_new)?;
    Some(format!("{} was written while go read it", new.display()))
}

fn files(build: &Build<'_>) -> BTreeSet<PathBuf> {
    let mut files = of_installation(build);
    files.extend(of_modules(build));
    for listed in build.plain.values().filter(|listed| build.by_content(listed)) {
        let lists = [
            &listed.go_files,
            &listed.cgo_files,
            &listed.ignored_go_files,
            &listed.ignored_other_files,
        ];
        let tests = [&listed.test_go_files, &listed.x_test_go_files];
        // Test files of a package that is only imported are never read.
        let tests = tests.into_iter().filter(|_| !listed.matched.is_empty());
        let names = lists.into_iter().chain(tests).flatten();
        files.extend(names.map(|name| listed.dir.join(name)));
    }
    files
}

fn of_installation(build: &Build<'_>) -> BTreeSet<PathBuf> {
    let root = Path::new(build.answers.settings.get("GOROOT"));
    let program = build.at.program(build.test.program());
    let program = program.map(|program| program.canonicalize().unwrap_or(program));
    let of_user = build.at.settings_file();
    [root.join("VERSION"), root.join("go.env")].into_iter().chain(program).chain(of_user).collect()
}

fn of_modules(build: &Build<'_>) -> BTreeSet<PathBuf> {
    let settings = &build.answers.settings;
    let here = build.test.folder(build.at.folder());
    let mut files = BTreeSet::new();
    let mut tops: BTreeSet<PathBuf> = module_folders(build);
    match settings.get("GOWORK") {
        "" | "off" => files.extend(here.ancestors().map(|folder| folder.join("go.work"))),
        work => {
            files.extend(["", ".sum"].map(|end| PathBuf::from(format!("{work}{end}"))));
            tops.extend(Path::new(work).parent().map(Path::to_owned));
            files.extend(up_to(&here, Path::new(work).parent(), "go.work"));
        }
    }
    let own = Path::new(settings.get("GOMOD")).parent();
    files.extend(up_to(&here, own.filter(|own| here.starts_with(own)), "go.mod"));
    let replaced: Vec<PathBuf> = tops.iter().flat_map(|top| replacements(top)).collect();
    tops.extend(replaced);
    let names = ["go.mod", "go.sum", "vendor/modules.txt"];
    files.extend(tops.iter().flat_map(|top| names.map(|name| top.join(name))));
    if let Some(file) = build.test.build_flag("modfile") {
        let file = here.join(file);
        files.extend([file.with_extension("sum"), file]);
    }
    for listed in build.plain.values().filter(|listed| build.by_content(listed)) {
        let top = listed.module.as_ref().map(|module| module.dir.as_path());
        files.extend(up_to(&listed.dir, top, "go.mod"));
    }
    files
}

/// A file of this name in a folder and in those above it, up to the top one.
fn up_to(folder: &Path, top: Option<&Path>, name: &str) -> Vec<PathBuf> {
    let Some(top) = top.filter(|top| !top.as_os_str().is_empty()) else { return Vec::new() };
    let on_the_way = folder.ancestors().take_while(|above| above.starts_with(top));
    on_the_way.map(|above| above.join(name)).collect()
}

/// The folders of modules whose files count.
fn module_folders(build: &Build<'_>) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    for module in build.plain.values().filter_map(|listed| listed.module.as_ref()) {
        let files = [Some(module.dir.as_path()), module.go_mod.parent()];
        let files = files.into_iter().flatten().filter(|dir| !dir.as_os_str().is_empty());
        found.extend(files.filter(|dir| !build.is_cached(dir)).map(Path::to_owned));
    }
    let own = Path::new(build.answers.settings.get("GOMOD")).parent();
    found.extend(own.filter(|own| own.join("go.mod").exists()).map(Path::to_owned));
    found.extend(used_by_workspace(build.answers.settings.get("GOWORK")));
    found
}

/// The folders that replace modules, by the `go.mod` and `go.work` of a folder. A module without a package
/// in the build still has a say in the versions of others.
fn replacements(folder: &Path) -> Vec<PathBuf> {
    let texts = ["go.mod", "go.work"].map(|name| std::fs::read_to_string(folder.join(name)));
    let texts = texts.map(Result::unwrap_or_default);
    let targets = texts.iter().flat_map(|text| text.lines()).filter_map(|line| {
        let (_, target) = line.split("//").next().unwrap_or(line).split_once("=>")?;
        Some(target.trim().trim_matches(['"', '`'])).filter(|target| target.starts_with(['.', '/']))
    });
    targets.map(|target| folder.join(target)).collect()
}

/// The folders in the `use` lines of a `go.work`; a workspace may name a module that has no package yet.
fn used_by_workspace(work: &str) -> Vec<PathBuf> {
    let (Ok(text), Some(folder)) = (std::fs::read_to_string(work), Path::new(work).parent()) else {
        return Vec::new();
    };
    let mut inside = false;
    let mut found = Vec::new();
    for line in text.lines() {
        let line = line.split("//").next().unwrap_or(line).trim();
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            ["use", "("] | ["use("] => inside = true,
            [")"] => inside = false,
            ["use", path] => found.push(*path),
            [path] if inside => found.push(*path),
            _ => {}
        }
    }
    let paths = found.iter().map(|path| path.trim_matches(['"', '`']));
    paths.map(|path| folder.join(path).components().collect()).collect()
}

/// Folders of sources, embedded folders, and whether these are all.
fn watched_folders(build: &Build<'_>) -> (BTreeSet<PathBuf>, BTreeSet<PathBuf>, bool) {
    let (mut sources, mut embedded, mut complete) = (BTreeSet::new(), BTreeSet::new(), true);
    let modules = module_folders(build);
    for root in roots(build, &modules) {
        folders::walk(&root, &modules, &mut sources);
    }
    for listed in build.plain.values().filter(|listed| build.by_content(listed)) {
        sources.insert(listed.dir.clone());
        for pattern in embed_patterns(listed) {
            complete &= folders::embedded(&listed.dir, pattern, MAX_EMBEDDED, &mut embedded);
        }
    }
    sources.remove(Path::new(""));
    (sources, embedded, complete)
}

fn embed_patterns(listed: &Listed) -> impl Iterator<Item = &String> {
    let tests = [&listed.test_embed_patterns, &listed.x_test_embed_patterns];
    let tests = tests.into_iter().filter(|_| !listed.matched.is_empty());
    [&listed.embed_patterns].into_iter().chain(tests).flatten()
}

/// The folders in which the patterns look for packages.
fn roots(build: &Build<'_>, modules: &BTreeSet<PathBuf>) -> BTreeSet<PathBuf> {
    let here = build.test.folder(build.at.folder());
    let mut roots = BTreeSet::new();
    for pattern in build.test.packages() {
        match pattern.split_once("...") {
            Some((before, _)) if before.starts_with(['.', '/']) => {
                let folder = before.rsplit_once('/').map_or("", |(folder, _)| folder);
                roots.insert(here.join(folder).components().collect());
            }
            None if !matches!(pattern.as_str(), "all" | "work") => {}
            _ => roots.extend(modules.iter().cloned()),
        }
    }
    roots
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_up_to_the_top() {
        let found = up_to(Path::new("/p/m/a/b"), Some(Path::new("/p/m")), "go.mod");
        assert_eq!(found, ["/p/m/a/b/go.mod", "/p/m/a/go.mod", "/p/m/go.mod"].map(PathBuf::from));
        assert!(up_to(Path::new("/q"), Some(Path::new("/p")), "go.mod").is_empty());
        assert!(up_to(Path::new("/q"), None, "go.mod").is_empty());
    }

    #[test]
    fn folders_that_replace_modules() {
        let dir = tempfile::tempdir().unwrap();
        let text = "replace a => ../a // x\nreplace (\n b v1.0.0 => \"./b\"\n c => ex.org/c v1.0.0\n)\n// d => ./d\n";
        std::fs::write(dir.path().join("go.mod"), text).unwrap();
        std::fs::write(dir.path().join("go.work"), "replace e => /abs/e\n").unwrap();
        let expected = ["../a", "./b", "/abs/e"].map(|name| dir.path().join(name));
        assert_eq!(replacements(dir.path()), expected);
    }

    #[test]
    fn folders_that_a_workspace_uses() {
        let dir = tempfile::tempdir().unwrap();
        let work = dir.path().join("go.work");
        let text = "go 1.21\nuse ./one // x\nuse (\n  ./two\n  \"./three\"\n)\nreplace x => ./no\n";
        std::fs::write(&work, text).unwrap();
        let expected = ["one", "two", "three"].map(|name| dir.path().join(name));
        assert_eq!(used_by_workspace(work.to_str().unwrap()), expected);
        assert!(used_by_workspace("").is_empty());
    }
}
