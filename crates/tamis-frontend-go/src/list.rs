//! From the answers of go to a [`Listing`].
//!
//! A package's closure is what `go list -test -deps` says of its test binary (`P.test`), with the variants
//! that are compiled for one test (`a [P.test]`) taken as the packages they are variants of: they are made
//! of the same files. Packages of the Go installation count by the toolchain, those of the module cache by
//! their module's version and checksum, all others (main modules, workspace, local `replace`, `vendor`) by
//! their files. Files that build constraints leave out are no input, but they are part of what the listing
//! rests on, since an edit can bring them in.

mod rests_on;

use crate::ask::{Answers, GoError, Listed, ask, plain_name};
use crate::command::GoTest;
use crate::environment::Surroundings;
use crate::facts::{
    ALWAYS, C_COMPILER, C_SETTINGS, C_VARIABLES, PROFILE, TOOLCHAIN, TOOLS, dependencies_fact,
    godebug_fact, has_tests, module_fact, module_value, own_sources, package_fact, pkg_config_fact,
    tags, test_sources, tests_fact,
};
use crate::listing::{Listing, Named, Package};
use crate::quoted;

use crate::structure::{Moved, Sources, Structure};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use tamis_core::Hash;
use tamis_fs::Fingerprinter;

/// Asks go about the packages of a command and takes the values of their facts.
pub fn list(test: &GoTest, at: &Surroundings, fs: &Fingerprinter) -> Result<Listing, GoError> {
    let began = SystemTime::now();
    let answers = ask(test, at)?;
    let build = Build::new(test, at, &answers)?;
    let packages = build.packages();
    if packages.is_empty() {
        return Err(GoError::Whole("no package matches".into()));
    }
    let structure = build.structure(&packages, fs, began);
    let facts = structure.look(fs).facts(at);
    Ok(Listing::new(packages, build.unmatched(), structure, facts))
}

impl Listing {
    /// The listing with the values of now, without asking go; an error where go must be asked.
    pub fn refresh(
        &self,
        test: &GoTest,
        at: &Surroundings,
        fs: &Fingerprinter,
    ) -> Result<Self, Moved> {
        self.structure.check(test, at)?;
        let seen = self.structure.look(fs);
        seen.check()?;
        Ok(self.with_facts(seen.facts(at)))
    }
}

/// The answers of go with the command they are about.
pub(crate) struct Build<'a> {
    pub(crate) test: &'a GoTest,
    pub(crate) at: &'a Surroundings,
    pub(crate) answers: &'a Answers,
    /// Packages by import path, without those that exist for a test only.
    pub(crate) plain: BTreeMap<&'a str, &'a Listed>,
    /// What the test binaries are made of, by the package under test.
    binaries: BTreeMap<&'a str, &'a Listed>,
    module_cache: PathBuf,
}

impl<'a> Build<'a> {
    fn new(test: &'a GoTest, at: &'a Surroundings, answers: &'a Answers) -> Result<Self, GoError> {
        let settings = &answers.settings;
        let host = (settings.get("GOHOSTOS"), settings.get("GOHOSTARCH"));
        if (settings.get("GOOS"), settings.get("GOARCH")) != host {
            return Err(GoError::Whole("it is built for another system than this one".into()));
        }
        if settings.get("GOFLAGS") != at.setting("GOFLAGS").unwrap_or_default() {
            return Err(GoError::Whole("GOFLAGS is set in the Go installation".into()));
        }
        if settings.get("GO111MODULE") == "off" {
            return Err(GoError::Whole("GO111MODULE=off works without modules".into()));
        }
        let mut build = Self {
            test,
            at,
            answers,
            plain: BTreeMap::new(),
            binaries: BTreeMap::new(),
            module_cache: PathBuf::from(settings.get("GOMODCACHE")),
        };
        build.sort();
        build.check()?;
        Ok(build)
    }

    fn sort(&mut self) {
        let (variants, plain): (Vec<&Listed>, Vec<&Listed>) =
            self.answers.listed.iter().partition(|listed| listed.import_path.ends_with(']'));
        for listed in plain {
            // Only the main packages that go makes up have their sources in the build cache.
            let made_up = listed.go_files.iter().any(|file| file.starts_with('/'));
            match listed.import_path.strip_suffix(".test") {
                Some(tested) if made_up => drop(self.binaries.insert(tested, listed)),
                _ => drop(self.plain.insert(&listed.import_path, listed)),
            }
        }
        // A package can be there as a variant only: one that imports the package under test, and that
        // nothing but this test imports.
        for listed in variants {
            let tested = self.plain.get(listed.for_test.as_str());
            let is_test_package = tested.is_some_and(|tested| tested.dir == listed.dir);
            if !is_test_package {
                self.plain.entry(listed.name()).or_insert(listed);
            }
        }
    }

    fn check(&self) -> Result<(), GoError> {
        match self.named().find(|p| p.standard || p.import_path.starts_with("_/")) {
            Some(package) => {
                let name = &package.import_path;
                Err(GoError::Whole(format!("{name} is not a package of a module")))
            }
            None => Ok(()),
        }
    }

    /// The packages that the command names.
    pub(crate) fn named(&self) -> impl Iterator<Item = &'a Listed> {
        self.plain.values().copied().filter(|listed| !listed.matched.is_empty())
    }

    fn packages(&self) -> Vec<Named> {
        let mut named: Vec<&Listed> = self.named().collect();
        named.sort_by_key(|listed| self.place(listed));
        named.into_iter().map(|listed| (self.package(listed), self.inputs(listed))).collect()
    }

    /// Go reports packages in the order of the patterns, and those of one pattern as a walk through the
    /// folders finds them.
    fn place(&self, listed: &Listed) -> (usize, Vec<String>) {
        let patterns = self.test.clean_packages();
        let first = patterns.iter().position(|pattern| listed.matched.contains(pattern));
        let parts = listed.import_path.split('/').map(str::to_owned).collect();
        (first.unwrap_or(0), parts)
    }

    fn unmatched(&self) -> Vec<String> {
        let matches = |pattern: &String| self.named().any(|p| p.matched.contains(pattern));
        self.test.clean_packages().into_iter().filter(|pattern| !matches(pattern)).collect()
    }

    fn package(&self, listed: &Listed) -> Package {
        let errors = listed.error.iter().chain(&listed.deps_errors);
        let of_binary = self.binaries.get(listed.name());
        let of_binary = of_binary.iter().flat_map(|b| b.error.iter().chain(&b.deps_errors));
        let error = errors.chain(of_binary).next().map(|failure| failure.err.trim().to_owned());
        Package {
            has_tests: has_tests(listed),
            must_run: self.must_run(listed, error.is_some()),
            error,
            ..Package::new(listed.name(), &listed.dir)
        }
    }

    fn must_run(&self, listed: &Listed, broken: bool) -> Option<String> {
        let missing = has_tests(listed) && !self.binaries.contains_key(listed.name());
        if broken || missing {
            return Some("go cannot build it".into());
        }
        if let Some(why) = self.test.always_runs() {
            return Some(why.into());
        }
        let swig = |p: &&Listed| !p.swig_files.is_empty() || !p.swig_cxx_files.is_empty();
        let swig = self.closure(listed).into_iter().find(swig)?;
        Some(format!("{} is made by SWIG", swig.import_path))
    }

    /// Names of everything in the test binary, or in the package where it has no tests.
    fn dependencies(&self, listed: &'a Listed) -> BTreeSet<&'a str> {
        let top = self.binaries.get(listed.name()).copied().unwrap_or(listed);
        let names = top.deps.iter().map(|name| plain_name(name));
        names.chain([listed.name()]).collect()
    }

    /// The packages of the closure that are not of the Go installation.
    fn closure(&self, listed: &Listed) -> Vec<&'a Listed> {
        let Some(listed) = self.plain.get(listed.name()) else { return Vec::new() };
        let names = self.dependencies(listed);
        let packages = names.iter().filter_map(|name| self.plain.get(name).copied());
        packages.filter(|package| !package.standard).collect()
    }

    fn inputs(&self, listed: &Listed) -> BTreeSet<String> {
        let name = listed.name();
        let mut inputs: BTreeSet<String> = ALWAYS.iter().map(|fact| (*fact).to_owned()).collect();
        inputs.insert(dependencies_fact(name));
        if has_tests(listed) {
            inputs.extend([tests_fact(name), godebug_fact(name)]);
        }
        if self.test.build_flag("pgo").is_some_and(|value| !matches!(value, "auto" | "off")) {
            inputs.insert(PROFILE.into());
        }
        for package in self.closure(listed) {
            inputs.extend(package.module.iter().map(|module| module_fact(&module.path)));
            if self.by_content(package) {
                inputs.insert(package_fact(package.name()));
            }
            if !package.cgo_pkg_config.is_empty() {
                inputs.insert(pkg_config_fact(package));
            }
        }
        let with_c = self.plain.get(name).map(|listed| self.dependencies(listed));
        if with_c.is_some_and(|names| names.contains("runtime/cgo")) {
            inputs.insert(C_COMPILER.into());
        }
        inputs
    }

    /// Whether the files of a package count, and not a version that stands for them.
    pub(crate) fn by_content(&self, listed: &Listed) -> bool {
        !listed.standard && !self.is_cached(&listed.dir)
    }

    pub(crate) fn is_cached(&self, path: &Path) -> bool {
        !self.module_cache.as_os_str().is_empty() && path.starts_with(&self.module_cache)
    }

    fn structure(&self, packages: &[Named], fs: &Fingerprinter, began: SystemTime) -> Structure {
        let mut structure = Structure {
            command: Some(self.test.key()),
            folder: self.at.folder().to_owned(),
            fixed: self.fixed(),
            sources: self.sources(),
            ..Structure::default()
        };
        rests_on::fill(self, &mut structure, fs, began);
        if let Some(broken) =
            packages.iter().map(|(package, _)| package).find(|package| package.error.is_some())
        {
            structure.unsettled = Some(format!("go cannot build {}", broken.import_path));
        }
        structure
    }

    /// The facts that go answered.
    fn fixed(&self) -> BTreeMap<String, Hash> {
        let mut facts = BTreeMap::from([
            ("go build flags".to_owned(), self.test.build_flags()),
            ("go build tags".to_owned(), tags(self.test.build_flag("tags").unwrap_or_default())),
            ("go test flags".to_owned(), self.test.test_flags()),
        ]);
        for listed in self.plain.values() {
            facts.extend(listed.module.iter().map(|m| (module_fact(&m.path), module_value(m))));
        }
        for listed in self.named() {
            facts.insert(dependencies_fact(listed.name()), self.dependencies_value(listed));
            if let Some(binary) = self.binaries.get(listed.name()) {
                let godebug = Hash::of(binary.default_godebug.as_bytes());
                facts.insert(godebug_fact(listed.name()), godebug);
            }
        }
        facts
    }

    fn dependencies_value(&self, listed: &Listed) -> Hash {
        let listed = self.plain.get(listed.name());
        let names = listed.map(|listed| self.dependencies(listed)).unwrap_or_default();
        Hash::of_parts(names.into_iter().map(str::as_bytes))
    }

    /// The facts that are in files.
    fn sources(&self) -> Vec<Sources> {
        let by_content = self.plain.values().filter(|listed| self.by_content(listed));
        let mut sources: Vec<Sources> = by_content.map(|listed| own_sources(listed)).collect();
        sources.extend(self.named().filter(|p| has_tests(p)).map(test_sources));
        let pkg_config = self.plain.values().filter(|listed| !listed.cgo_pkg_config.is_empty());
        sources.extend(pkg_config.map(|listed| self.pkg_config(listed)));
        sources.extend([self.toolchain(), self.c_compiler()]);
        if let Some(profile) = self.test.build_flag("pgo") {
            let folder = self.test.folder(self.at.folder());
            sources.push(Sources::new(PROFILE.into(), &folder, vec![folder.join(profile)]));
        }
        sources
    }

    /// A released toolchain is its version, as it is for go's own cache; another one is its programs.
    fn toolchain(&self) -> Sources {
        let settings = &self.answers.settings;
        let folder = Path::new(settings.get("GOTOOLDIR"));
        let released = settings.get("GOVERSION").starts_with("go1");
        let files = TOOLS.iter().filter(|_| !released).map(|tool| folder.join(tool)).collect();
        let mut sources = Sources::new("go toolchain".into(), folder, files);
        let values = TOOLCHAIN.iter().map(|name| settings.get(name).as_bytes());
        sources.with = Hash::of_parts(values);
        sources
    }

    fn pkg_config(&self, listed: &Listed) -> Sources {
        let program = self.answers.settings.get("PKG_CONFIG").to_owned();
        let mut sources = Sources::new(pkg_config_fact(listed), &listed.dir, Vec::new());
        sources.output_of = [program, "--cflags".into(), "--libs".into(), "--".into()]
            .into_iter()
            .chain(listed.cgo_pkg_config.iter().cloned())
            .collect();
        sources
    }

    fn c_compiler(&self) -> Sources {
        let programs = self.c_programs();
        let files = programs.values().flatten().cloned().collect();
        let variables = C_VARIABLES.iter().map(|name| self.at.variable(name).unwrap_or_default());
        let variables = variables.map(OsStr::as_encoded_bytes);
        let settings = C_SETTINGS.iter().map(|name| self.answers.settings.get(name).as_bytes());
        let mut sources = Sources::new(C_COMPILER.into(), Path::new("/"), files);
        sources.with = Hash::of_parts(settings.chain(variables));
        sources
    }

    /// The programs in the settings of C, as they are found now: `ccache gcc` are two.
    pub(crate) fn c_programs(&self) -> BTreeMap<String, Option<PathBuf>> {
        let words = ["CC", "CXX"].map(|name| self.answers.settings.get(name));
        let words = words.into_iter().flat_map(|text| quoted::split(text).unwrap_or_default());
        let words = words.filter(|word| !word.starts_with('-'));
        words.map(|word| (word.clone(), self.at.program(&word))).collect()
    }
}
