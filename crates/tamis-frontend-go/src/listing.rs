//! The packages of a `go test`, and the facts that their test binaries are built from.
//!
//! # Model
//! A test binary is a function of named facts: the sources of each package in it, the test files of the
//! package itself, the versions of modules, the toolchain, the flags. A [`Package`] lists the names of its
//! facts, a [`Listing`] knows their values of now. If the values are those of a recorded run, go would build
//! the same binary. Values do not contain the place of the checkout, of Go or of the user's home.
//!
//! A listing has two layers. Its *structure* (which packages there are, who imports whom, which files are
//! theirs) comes from `go list` and holds while the Go files, the names in the folders, the module files,
//! the settings and the go program are the same. What is in other files (embedded ones, C) changes
//! values only. So [`Listing::refresh`] answers by looking at files alone; only if the structure moved,
//! go must be asked again ([`list`](crate::list)).
//!
//! # Not seen
//! - Edits in the module cache and in the Go installation: both count by version (and checksum).
//! - Headers and libraries of the system: they count by the C compiler. What a test binary loads when it
//!   runs is observed then.
//! - A file that is edited while go builds. Compare the listings from before and after the run with
//!   [`Listing::changed`]; packages whose facts differ must not be recorded.

use crate::structure::Structure;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use tamis_core::{Hash, Value};

/// Another number for another form or another meaning of listings and facts.
const VERSION: u32 = 1;

/// A package that the command names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Package {
    pub import_path: String,
    /// Where its sources are and its tests run; empty where go found none.
    pub folder: PathBuf,
    /// Without test files go only builds and checks it: no test process belongs to it.
    pub has_tests: bool,
    /// Why go cannot build it.
    pub error: Option<String>,
    /// Why it must run in any case: its inputs are not all known.
    pub must_run: Option<String>,
    /// The words of the package list that stand for it.
    pub(crate) argument: String,
    /// The facts that it is built from, as places in the list of their names; in the order of these.
    pub(crate) inputs: Vec<u32>,
}

/// A package with the names of its facts.
pub(crate) type Named = (Package, BTreeSet<String>);

impl Package {
    pub(crate) fn new(import_path: &str, folder: &Path) -> Self {
        Self {
            import_path: import_path.to_owned(),
            folder: folder.to_owned(),
            has_tests: false,
            error: None,
            must_run: None,
            argument: import_path.to_owned(),
            inputs: Vec::new(),
        }
    }
}

/// A named fact with its value of now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BuildInput<'a> {
    /// As it is named in a reason: `go package ex.org/m/util`, `go module ex.org/x`, `go toolchain`.
    pub name: &'a str,
    pub value: Value,
}

/// The packages of a command with their facts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listing {
    version: u32,
    packages: Vec<Package>,
    /// Patterns that matched nothing; go warns about them.
    unmatched: Vec<String>,
    pub(crate) structure: Structure,
    /// Names of facts that packages have, sorted: a hundred packages share most of theirs.
    names: Vec<String>,
    facts: BTreeMap<String, Hash>,
}

impl Listing {
    pub(crate) fn new(
        packages: Vec<Named>,
        unmatched: Vec<String>,
        structure: Structure,
        facts: BTreeMap<String, Hash>,
    ) -> Self {
        let names: BTreeSet<&String> = packages.iter().flat_map(|(_, inputs)| inputs).collect();
        let places: HashMap<&String, u32> = names.iter().copied().zip(0..).collect();
        let placed = |(package, inputs): &Named| Package {
            inputs: inputs.iter().filter_map(|name| places.get(name).copied()).collect(),
            ..package.clone()
        };
        let placed = packages.iter().map(placed).collect();
        let names = names.into_iter().cloned().collect();
        Self { version: VERSION, packages: placed, unmatched, structure, names, facts }
    }

    pub(crate) fn with_facts(&self, facts: BTreeMap<String, Hash>) -> Self {
        Self { facts, ..self.clone() }
    }

    /// The packages in the order in which `go test` reports them.
    pub fn packages(&self) -> &[Package] {
        &self.packages
    }

    pub fn package(&self, import_path: &str) -> Option<&Package> {
        self.packages.iter().find(|package| package.import_path == import_path)
    }

    /// The facts of a package, by name.
    pub fn inputs<'a>(&'a self, package: &'a Package) -> impl Iterator<Item = BuildInput<'a>> {
        self.names_of(package).map(|name| BuildInput { name, value: self.fact(name) })
    }

    fn names_of<'a>(&'a self, package: &'a Package) -> impl Iterator<Item = &'a str> {
        package
            .inputs
            .iter()
            .filter_map(|place| self.names.get(*place as usize))
            .map(String::as_str)
    }

    /// The value of a fact, also one of an earlier listing; absent where nothing of that name is built.
    pub fn fact(&self, name: &str) -> Value {
        self.facts.get(name).map_or(Value::Absent, |hash| Value::Text(*hash))
    }

    /// Import paths of the packages whose facts are others than in an earlier listing.
    pub fn changed<'a>(&'a self, earlier: &'a Self) -> impl Iterator<Item = &'a str> {
        let same = |package: &Package| {
            let before = earlier.package(&package.import_path);
            before.is_some_and(|before| self.inputs(package).eq(earlier.inputs(before)))
        };
        let moved = self.packages.iter().filter(move |package| !same(package));
        moved.map(|package| package.import_path.as_str())
    }

    /// The words of the package list for some packages, for [`GoTest::command`](crate::GoTest::command).
    /// Patterns that match nothing stay, since go has something to say about them.
    pub fn arguments<'a>(&self, selected: impl IntoIterator<Item = &'a Package>) -> Vec<String> {
        let selected: BTreeSet<&str> =
            selected.into_iter().map(|package| package.argument.as_str()).collect();
        let in_order = self.packages.iter().map(|package| &package.argument);
        let mut words: Vec<String> =
            in_order.filter(|word| selected.contains(word.as_str())).cloned().collect();
        words.dedup();
        words.extend(self.unmatched.iter().cloned());
        words
    }

    /// The package whose test binary a process is: go starts `FOLDER/NAME.test -test.paniconexit0 ...` in
    /// the folder of the package. `argv` is the command line behind the words of the shim.
    pub fn package_of(&self, cwd: &Path, argv: &[OsString]) -> Option<&Package> {
        let program = Path::new(argv.first()?);
        if program.extension()? != "test" {
            return None;
        }
        let here = cwd.canonicalize().unwrap_or_else(|_| cwd.to_owned());
        let with_tests = self.packages.iter().filter(|package| package.has_tests);
        with_tests.into_iter().find(|package| is_folder(&package.folder, &here))
    }

    /// The form in which a listing is kept; `None` where a path is no text.
    pub fn save(&self) -> Option<Vec<u8>> {
        serde_json::to_vec(self).ok()
    }

    /// A kept listing; `None` where another version of tamis wrote it.
    pub fn load(bytes: &[u8]) -> Option<Self> {
        let listing: Self = serde_json::from_slice(bytes).ok()?;
        Some(listing).filter(|listing| listing.version == VERSION)
    }
}

fn is_folder(folder: &Path, here: &Path) -> bool {
    folder == here || folder.canonicalize().is_ok_and(|folder| folder == here)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, folder: &str, inputs: &[&str]) -> Named {
        let package = Package::new(&format!("m/{name}"), Path::new(folder));
        let inputs = inputs.iter().map(|input| (*input).to_owned()).collect();
        (Package { has_tests: true, ..package }, inputs)
    }

    fn listing(facts: &[(&str, &str)]) -> Listing {
        let packages = vec![package("b", "/p/b", &["x"]), package("a", "/p/a", &["x", "y"])];
        let facts = facts.iter().map(|(n, v)| ((*n).to_owned(), Hash::of(v.as_bytes()))).collect();
        Listing::new(packages, vec!["./none/...".into()], Structure::default(), facts)
    }

    #[test]
    fn packages_change_with_their_facts_only() {
        let before = listing(&[("x", "1"), ("y", "1")]);
        let changed = |facts: &[(&str, &str)]| {
            listing(facts).changed(&before).map(str::to_owned).collect::<Vec<_>>()
        };
        assert!(changed(&[("x", "1"), ("y", "1"), ("z", "1")]).is_empty());
        assert_eq!(changed(&[("x", "1"), ("y", "2")]), ["m/a"]);
        assert_eq!(changed(&[("x", "2"), ("y", "1")]), ["m/b", "m/a"]);
        assert_eq!(changed(&[("x", "1")]), ["m/a"]);
    }

    #[test]
    fn words_are_in_the_order_of_the_output() {
        let listing = listing(&[]);
        let all: Vec<&Package> = listing.packages().iter().rev().collect();
        assert_eq!(listing.arguments(all), ["m/b", "m/a", "./none/..."]);
        assert_eq!(listing.arguments([]), ["./none/..."]);
    }

    #[test]
    fn a_process_belongs_to_the_package_of_its_folder() {
        let listing = listing(&[]);
        let of = |cwd: &str, program: &str| {
            let argv = [OsString::from(program), "-test.paniconexit0".into()];
            listing.package_of(Path::new(cwd), &argv).map(|p| p.import_path.clone())
        };
        assert_eq!(of("/p/a", "/tmp/go-build1/b001/a.test").as_deref(), Some("m/a"));
        assert_eq!(of("/p/c", "/tmp/go-build1/b001/a.test"), None);
        assert_eq!(of("/p/a", "/bin/sh"), None);
        assert_eq!(listing.package_of(Path::new("/p/a"), &[]), None);
    }

    #[test]
    fn what_is_kept_is_found_again_unless_another_version_wrote_it() {
        let listing = listing(&[("x", "1")]);
        let bytes = listing.save().unwrap();
        assert_eq!(Listing::load(&bytes), Some(listing));
        let other = String::from_utf8(bytes).unwrap().replace("\"version\":1", "\"version\":0");
        assert_eq!(Listing::load(other.as_bytes()), None);
        assert_eq!(Listing::load(b"{"), None);
    }
}
