//! Builds the agent's library, optimised and without symbols, in a target folder of its own: the
//! cargo that runs this script holds the lock of the usual one.

use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The agent and the crates of this workspace that it is made of.
const CRATES: [&str; 5] =
    ["tamis-agent", "tamis-wire", "tamis-jvm-wire", "tamis-classfile", "tamis-core"];

fn main() {
    let out = PathBuf::from(tamis_build::variable("OUT_DIR"));
    let sources = tamis_build::sources("tamis-agent", "tamis_agent");
    println!("cargo::rerun-if-changed={}", sources.join("java/classes").display());
    let manifest = match is_package() {
        true => unpacked(&sources, &out.join("source")).expect("the build folder is writable"),
        false => {
            watch_workspace();
            sources
        }
    };
    println!("cargo::rerun-if-env-changed={}", tamis_build::SYSROOT);
    let target = tamis_build::target();
    let folder = out.join("agent");
    let mut command = Command::new(tamis_build::variable("CARGO"));
    command
        .args(["rustc", "--release", "--locked", "--quiet", "--lib", "--crate-type", "cdylib"])
        .arg("--manifest-path")
        .arg(manifest.join("Cargo.toml"))
        .args(["--target", &target])
        .arg("--target-dir")
        .arg(&folder)
        .env("CARGO_PROFILE_RELEASE_STRIP", "symbols")
        // A panic of the agent must not end the JVM.
        .env("CARGO_PROFILE_RELEASE_PANIC", "unwind")
        // The same in a package as in the workspace, whose manifest says so.
        .env("CARGO_PROFILE_RELEASE_LTO", "thin")
        .env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "4")
        // The flags of the outer build, except that a library in somebody else's process uses the C library of that.
        .env("CARGO_ENCODED_RUSTFLAGS", shared(&inherited(&out)))
        // Set by a linter around the outer build; the library is the same with and without it.
        .env_remove("RUSTC_WORKSPACE_WRAPPER");
    let status = command.status().expect("cargo starts");
    assert!(status.success(), "the agent's library does not build");
    let built = folder.join(target).join("release/libtamis_agent.so");
    let class = manifest.join("java/classes/TamisCheck.class");
    for (from, name) in [(built, "libtamis_agent.so"), (class, "TamisCheck.class")] {
        fs::copy(&from, out.join(name))
            .unwrap_or_else(|error| panic!("{}: {error}", from.display()));
    }
}

/// Whether this crate was packaged: cargo writes out there what it inherits in the repository.
fn is_package() -> bool {
    !fs::read_to_string("Cargo.toml").expect("a manifest").contains(".workspace = true")
}

/// Relative to this crate: a target folder may be shared by several clones.
fn watch_workspace() {
    for name in CRATES {
        println!("cargo::rerun-if-changed=../{name}/src");
        println!("cargo::rerun-if-changed=../{name}/Cargo.toml");
    }
    for other in ["../../Cargo.toml", "../../Cargo.lock"] {
        println!("cargo::rerun-if-changed={other}");
    }
}

/// A copy of the agent's package that is a workspace of its own, whatever workspace surrounds the place where the
/// packages are. It has its own Cargo.lock.
fn unpacked(package: &Path, folder: &Path) -> io::Result<PathBuf> {
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    copy(package, folder)?;
    let manifest = folder.join("Cargo.toml");
    let text = fs::read_to_string(&manifest)?;
    fs::remove_file(&manifest)?;
    fs::write(&manifest, text + "\n[workspace]\n")?;
    Ok(folder.to_owned())
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        match entry.file_type()?.is_dir() {
            true => copy(&entry.path(), &target)?,
            false => drop(fs::copy(entry.path(), target)?),
        }
    }
    Ok(())
}

/// The flags of the outer build, one by which the folder of this build is not in the library, and that for an older system.
fn inherited(out: &Path) -> String {
    let outer = env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    let own = format!("--remap-path-prefix={}=tamis-agent", out.join("source").display());
    let all = [outer, own, tamis_build::sysroot().unwrap_or_default()];
    all.into_iter().filter(|flag| !flag.is_empty()).collect::<Vec<_>>().join("\u{1f}")
}

/// The flags without the wish for a static C library.
fn shared(flags: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    for flag in flags.split('\u{1f}') {
        match flag {
            "target-feature=+crt-static" if kept.last() == Some(&"-C") => drop(kept.pop()),
            "-Ctarget-feature=+crt-static" => {}
            other => kept.push(other),
        }
    }
    kept.join("\u{1f}")
}
