//! The names of facts, and the values of those that one package or module has.

use crate::ask::{Listed, Module};
use crate::c_sources;
use crate::structure::Sources;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use tamis_core::Hash;

pub(crate) const ALWAYS: [&str; 4] =
    ["go toolchain", "go build flags", "go build tags", "go test flags"];
pub(crate) const C_COMPILER: &str = "go C compiler";
pub(crate) const PROFILE: &str = "go profile of -pgo";

/// Settings that select the toolchain and its target.
pub(crate) const TOOLCHAIN: [&str; 14] = [
    "GOVERSION",
    "GOOS",
    "GOARCH",
    "GO386",
    "GOAMD64",
    "GOARM",
    "GOARM64",
    "GOMIPS",
    "GOMIPS64",
    "GOPPC64",
    "GORISCV64",
    "GOEXPERIMENT",
    "GOFIPS140",
    "CGO_ENABLED",
];

/// The programs that make a test binary.
pub(crate) const TOOLS: [&str; 6] = ["asm", "cgo", "compile", "cover", "link", "vet"];

pub(crate) const C_SETTINGS: [&str; 7] =
    ["CC", "CXX", "CGO_CFLAGS", "CGO_CPPFLAGS", "CGO_CXXFLAGS", "CGO_FFLAGS", "CGO_LDFLAGS"];

pub(crate) const C_VARIABLES: [&str; 4] =
    ["CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "LIBRARY_PATH"];

pub(crate) fn package_fact(name: &str) -> String {
    format!("go package {name}")
}

pub(crate) fn tests_fact(name: &str) -> String {
    format!("go tests of {name}")
}

/// The package that somebody edits to change a fact about it.
pub(crate) fn package_of(fact: &str) -> Option<&str> {
    let about = fact.split_once(": ").map_or(fact, |(_, about)| about);
    about.strip_prefix("go package ").or_else(|| about.strip_prefix("go tests of "))
}

pub(crate) fn module_fact(path: &str) -> String {
    format!("go module {path}")
}

pub(crate) fn dependencies_fact(name: &str) -> String {
    format!("go dependencies of {name}")
}

pub(crate) fn godebug_fact(name: &str) -> String {
    format!("go GODEBUG defaults of {name}")
}

pub(crate) fn pkg_config_fact(listed: &Listed) -> String {
    format!("go pkg-config {}", listed.cgo_pkg_config.join(" "))
}

pub(crate) fn has_tests(listed: &Listed) -> bool {
    !listed.test_go_files.is_empty() || !listed.x_test_go_files.is_empty()
}

/// The same tags in another order, or twice, are the same tags.
pub(crate) fn tags(value: &str) -> Hash {
    let tags: BTreeSet<&str> = value.split([',', ' ']).filter(|tag| !tag.is_empty()).collect();
    Hash::of_parts(tags.into_iter().map(str::as_bytes))
}

/// Version, checksum and language version. A local replacement counts by its files.
pub(crate) fn module_value(module: &Module) -> Hash {
    let replaced = module.replace.as_deref();
    let version = replaced.map(|other| other.version.as_str());
    let path = replaced.filter(|other| !other.version.is_empty()).map(|other| other.path.as_str());
    let sum = replaced.map_or(module.sum.as_str(), |other| other.sum.as_str());
    let parts = [module.version.as_str(), version.unwrap_or("-"), path.unwrap_or("-"), sum];
    Hash::of_parts(parts.into_iter().chain([module.go_version.as_str()]).map(str::as_bytes))
}

fn files_in(dir: &Path, lists: &[&Vec<String>]) -> Vec<PathBuf> {
    lists.iter().flat_map(|list| list.iter()).map(|file| dir.join(file)).collect()
}

/// The files that are compiled into a package, and those that its C parts reach.
pub(crate) fn own_sources(listed: &Listed) -> Sources {
    let c_like = [
        &listed.cgo_files,
        &listed.c_files,
        &listed.cxx_files,
        &listed.m_files,
        &listed.h_files,
        &listed.f_files,
        &listed.s_files,
        &listed.swig_files,
        &listed.swig_cxx_files,
    ];
    let c_files = files_in(&listed.dir, &c_like);
    let mut files =
        files_in(&listed.dir, &[&listed.go_files, &listed.syso_files, &listed.embed_files]);
    files.extend(Some(listed.dir.join("default.pgo")).filter(|file| file.exists()));
    files.extend_from_slice(&c_files);
    let mut sources = Sources::new(package_fact(listed.name()), &listed.dir, files);
    let flags = c_flags(listed);
    sources.trees = c_sources::named(&listed.dir, &flags);
    sources.with = flags_value(listed, &flags);
    sources.c_files = c_files;
    sources
}

fn c_flags(listed: &Listed) -> Vec<String> {
    let lists = [
        &listed.cgo_cflags,
        &listed.cgo_cppflags,
        &listed.cgo_cxxflags,
        &listed.cgo_fflags,
        &listed.cgo_ldflags,
        &listed.cgo_pkg_config,
    ];
    lists.into_iter().flatten().cloned().collect()
}

/// The flags as they are written, with `${SRCDIR}` for the package's folder.
fn flags_value(listed: &Listed, flags: &[String]) -> Hash {
    let dir = listed.dir.to_string_lossy();
    let module = listed.module.as_ref().map_or("", |module| module.path.as_str()).to_owned();
    let flags = flags.iter().map(|flag| flag.replace(dir.as_ref(), "${SRCDIR}"));
    let parts: Vec<String> = [module].into_iter().chain(flags).collect();
    Hash::of_parts(parts.iter().map(String::as_bytes))
}

pub(crate) fn test_sources(listed: &Listed) -> Sources {
    let lists = [
        &listed.test_go_files,
        &listed.x_test_go_files,
        &listed.test_embed_files,
        &listed.x_test_embed_files,
    ];
    Sources::new(tests_fact(listed.name()), &listed.dir, files_in(&listed.dir, &lists))
}
