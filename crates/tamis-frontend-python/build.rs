//! Builds the native part of the plugin (tamis-python-agent) into a library of its own, optimised and without
//! symbols. It has no dependencies, so the compiler alone is enough.

use std::env;
use std::path::PathBuf;
use std::process::Command;

fn main() {
    // Relative to this crate: a target folder may be shared by several clones.
    println!("cargo::rerun-if-changed=../tamis-python-agent/src");
    let variable = |name: &str| env::var_os(name).unwrap_or_else(|| panic!("cargo sets {name}"));
    let library = PathBuf::from(variable("OUT_DIR")).join("_tamis_native.so");
    let mut rustc = Command::new(variable("RUSTC"));
    rustc
        .args(["--crate-name", "tamis_python_agent", "--crate-type", "cdylib"])
        .args(["--edition", "2024", "--target"])
        .arg(variable("TARGET"));
    for option in ["panic=abort", "opt-level=3", "lto=fat", "codegen-units=1", "strip=symbols"] {
        rustc.args(["-C", option]);
    }
    if let Some(linker) = env::var_os("RUSTC_LINKER") {
        let mut option = std::ffi::OsString::from("linker=");
        option.push(linker);
        rustc.arg("-C").arg(option);
    }
    let status = rustc.arg("-o").arg(&library).arg("../tamis-python-agent/src/lib.rs").status();
    assert!(status.is_ok_and(|s| s.success()), "the native part of the plugin does not build");
}
