//! Compiles the kernel side of the eBPF engine where the machine has a clang that can do it, and the
//! library of the patch engine.
//!
//! Without clang the crate builds all the same and the engine says why it is missing. `TAMIS_CLANG`
//! names another clang (or, empty, none).

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const SOURCES: [&str; 4] =
    ["src/ebpf/program.c", "src/ebpf/building.h", "src/ebpf/kernel.h", "src/ebpf/shared.h"];

fn main() {
    for source in SOURCES {
        println!("cargo::rerun-if-changed={source}");
    }
    println!("cargo::rerun-if-env-changed=TAMIS_CLANG");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    if env_is("CARGO_CFG_TARGET_ARCH", "x86_64") && env_is("CARGO_CFG_TARGET_ENV", "gnu") {
        build_library(&out);
    }
    let program = match compile(&out) {
        Ok(object) => format!("Ok(aya::include_bytes_aligned!({object:?}))"),
        Err(reason) => format!("Err({reason:?})"),
    };
    fs::write(
        out.join("ebpf_program.rs"),
        format!("pub(super) const PROGRAM: Result<&[u8], &str> = {program};\n"),
    )
    .expect("the build folder is writable");
}

/// The compiled object, or why there is none.
fn compile(out: &Path) -> Result<PathBuf, String> {
    let machine = match env::var("CARGO_CFG_TARGET_ARCH").as_deref() {
        Ok("x86_64") => "-D__TARGET_ARCH_x86",
        Ok("aarch64") => "-D__TARGET_ARCH_arm64",
        _ => return Err("the eBPF engine does not know this machine's system calls".to_owned()),
    };
    let clang = env::var("TAMIS_CLANG").unwrap_or_else(|_| "clang".to_owned());
    let empty = out.join("empty.c");
    fs::write(&empty, "").expect("the build folder is writable");
    let able = bpf_compiler(&clang, &empty, &out.join("empty.o"))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    if !able {
        return Err(
            "this tamis was built without clang, so the eBPF engine is not in it".to_owned()
        );
    }
    let object = out.join("ebpf_program.o");
    let status = bpf_compiler(&clang, Path::new(SOURCES[0]), &object)
        .args(["-O2", "-g", "-mcpu=v3", "-Wall", "-Wextra", "-Werror", machine])
        .status()
        .expect("clang has just been started");
    assert!(status.success(), "{} does not compile", SOURCES[0]);
    // Only the BTF of the debug information is needed; a missing llvm-strip costs a few kilobytes.
    let _ = Command::new("llvm-strip").arg("-g").arg(&object).stderr(Stdio::null()).status();
    Ok(object)
}

fn bpf_compiler(clang: &str, source: &Path, object: &Path) -> Command {
    let mut command = Command::new(clang);
    command.args(["-target", "bpf", "-c"]).arg(source).arg("-o").arg(object);
    command
}

fn env_is(name: &str, value: &str) -> bool {
    env::var(name).is_ok_and(|found| found == value)
}

/// Builds tamis-patch into a library of its own: optimised, without a C library, start files or
/// unwinding. It has no dependencies, so the compiler alone is enough.
fn build_library(out: &Path) {
    // Relative to this crate: a target folder may be shared by several clones.
    println!("cargo::rerun-if-changed=../tamis-patch/src");
    let library = out.join("libtamis_patch.so");
    let mut rustc = Command::new(env::var_os("RUSTC").expect("cargo sets RUSTC"));
    rustc
        .args(["--crate-name", "tamis_patch", "--crate-type", "cdylib", "--edition", "2024"])
        .args(["--cfg", "tamis_library", "--target"])
        .arg(env::var_os("TARGET").expect("cargo sets TARGET"));
    for option in [
        "panic=abort",
        "opt-level=3",
        "lto=fat",
        "codegen-units=1",
        "strip=symbols",
        "link-arg=-nostdlib",
        "link-arg=-nostartfiles",
        "link-arg=-Wl,-z,now",
        "link-arg=-Wl,--build-id=none",
    ] {
        rustc.args(["-C", option]);
    }
    if let Some(linker) = env::var_os("RUSTC_LINKER") {
        let mut option = std::ffi::OsString::from("linker=");
        option.push(linker);
        rustc.arg("-C").arg(option);
    }
    let status = rustc.arg("-o").arg(&library).arg("../tamis-patch/src/lib.rs").status();
    assert!(status.is_ok_and(|s| s.success()), "the library of the patch engine does not build");
}
