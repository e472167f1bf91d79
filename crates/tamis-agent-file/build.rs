//! Builds the agent's library, optimised and without symbols, in a target folder of its own: the
//! cargo that runs this script holds the lock of the usual one.

use std::env;
use std::path::PathBuf;
use std::process::Command;

/// The agent and the crates of this workspace that it is made of.
const CRATES: [&str; 5] =
    ["tamis-agent", "tamis-wire", "tamis-jvm-wire", "tamis-classfile", "tamis-core"];

fn main() {
    let variable = |name: &str| env::var_os(name).unwrap_or_else(|| panic!("cargo sets {name}"));
    let here = PathBuf::from(variable("CARGO_MANIFEST_DIR"));
    let workspace = here.ancestors().nth(2).expect("the crate is in crates/ of its workspace");
    // Relative to this crate: a target folder may be shared by several clones.
    for name in CRATES {
        println!("cargo::rerun-if-changed=../{name}/src");
        println!("cargo::rerun-if-changed=../{name}/Cargo.toml");
    }
    for other in ["../tamis-agent/java/classes", "../../Cargo.toml", "../../Cargo.lock"] {
        println!("cargo::rerun-if-changed={other}");
    }

    let out = PathBuf::from(variable("OUT_DIR"));
    let target = variable("TARGET");
    let folder = out.join("agent");
    let mut command = Command::new(variable("CARGO"));
    command
        .args(["rustc", "--release", "--locked", "--quiet", "--package", "tamis-agent", "--lib"])
        .args(["--crate-type", "cdylib"])
        .arg("--manifest-path")
        .arg(workspace.join("Cargo.toml"))
        .arg("--target")
        .arg(&target)
        .arg("--target-dir")
        .arg(&folder)
        .env("CARGO_PROFILE_RELEASE_STRIP", "symbols")
        // A panic of the agent must not end the JVM.
        .env("CARGO_PROFILE_RELEASE_PANIC", "unwind")
        // The flags of the outer build, except that a library in somebody else's process uses the C library of that.
        .env(
            "CARGO_ENCODED_RUSTFLAGS",
            shared(&env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default()),
        )
        // Set by a linter around the outer build; the library is the same with and without it.
        .env_remove("RUSTC_WORKSPACE_WRAPPER");
    let status = command.status().expect("cargo starts");
    assert!(status.success(), "the agent's library does not build");
    let built = folder.join(target).join("release/libtamis_agent.so");
    std::fs::copy(&built, out.join("libtamis_agent.so"))
        .unwrap_or_else(|error| panic!("{}: {error}", built.display()));
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
