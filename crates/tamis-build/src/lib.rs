//! For build scripts: the libraries that tamis carries for other people's programs are built from crates of their own.
//!
//! The sources of such a crate stand in the folder beside the one of the script, in the repository and where packages
//! are vendored. Where cargo has unpacked a package, the crate says its place by `cargo::metadata=root=...`, for which it has
//! a `links` key and is an ordinary dependency of the crate whose script asks. (Only there: a target folder may be shared by
//! several clones, so that a place of an earlier build can be that of another clone.)
//!
//! Such a library is loaded into programs that use the GNU C library, whatever tamis itself is linked with: a tamis
//! that is linked statically runs beside programs that are not. On a machine whose Rust is one of musl, it is built for musl;
//! that has not been tried. TAMIS_LIBRARY_SYSROOT names the root folder of an older system, for instance a Debian made by
//! debootstrap, against whose C library they are linked; then they can be loaded there, too.

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A variable that cargo sets.
pub fn variable(name: &str) -> OsString {
    env::var_os(name).unwrap_or_else(|| panic!("cargo sets {name}"))
}

fn text(name: &str) -> String {
    variable(name).into_string().unwrap_or_else(|_| panic!("{name} is no text"))
}

/// The folder of the crate with this name, and the value of its `links` key.
pub fn sources(name: &str, links: &str) -> PathBuf {
    let beside = Path::new("..").join(name);
    match beside.join("src/lib.rs").exists() {
        true => beside,
        false => variable(&format!("DEP_{}_ROOT", links.to_uppercase())).into(),
    }
}

/// What a library is built for.
pub fn target() -> String {
    target_of(&text("TARGET"), &text("HOST"))
}

fn target_of(target: &str, host: &str) -> String {
    match host.ends_with("-musl") {
        true => target.to_owned(),
        false => target.replace("-linux-musl", "-linux-gnu"),
    }
}

/// The linker for it, if cargo was given one.
fn linker() -> Option<OsString> {
    let target = target();
    let of_target = format!("CARGO_TARGET_{}_LINKER", target.to_uppercase().replace('-', "_"));
    let outer = || env::var_os("RUSTC_LINKER").filter(|_| text("TARGET") == target);
    env::var_os(of_target).or_else(outer)
}

/// The variable that names an older system.
pub const SYSROOT: &str = "TAMIS_LIBRARY_SYSROOT";

/// The option of the compiler for it.
pub fn sysroot() -> Option<String> {
    let root = env::var(SYSROOT).ok().filter(|root| !root.is_empty())?;
    Some(format!("-Clink-arg=--sysroot={root}"))
}

/// Compiles a crate without dependencies into a library: optimised, in one piece, without symbols; the same bytes in
/// whichever folder.
pub fn compile(sources: &Path, crate_name: &str, more: &[&str], library: &Path) {
    let mut rustc = Command::new(variable("RUSTC"));
    rustc
        .args(["--crate-name", crate_name, "--crate-type", "cdylib", "--edition", "2024"])
        .args(["--target", &target()])
        .arg(joined("--remap-path-prefix=", sources, &format!("={crate_name}")));
    for option in ["panic=abort", "opt-level=3", "lto=fat", "codegen-units=1", "strip=symbols"] {
        rustc.args(["-C", option]);
    }
    if let Some(linker) = linker() {
        rustc.arg("-C").arg(joined("linker=", &linker, ""));
    }
    rustc.args(sysroot());
    let status = rustc.args(more).arg("-o").arg(library).arg(sources.join("src/lib.rs")).status();
    assert!(status.is_ok_and(|s| s.success()), "the library {crate_name} does not build");
}

fn joined(before: &str, middle: impl AsRef<OsStr>, after: &str) -> OsString {
    let mut all = OsString::from(before);
    all.push(middle);
    all.push(after);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_for_programs_with_the_gnu_library() {
        let (gnu, musl) = ("x86_64-unknown-linux-gnu", "x86_64-unknown-linux-musl");
        assert_eq!(target_of(gnu, gnu), gnu);
        assert_eq!(target_of(musl, gnu), gnu);
        assert_eq!(target_of(musl, musl), musl);
        let arm = "aarch64-unknown-linux-musl";
        assert_eq!(target_of(arm, gnu), "aarch64-unknown-linux-gnu");
    }
}
