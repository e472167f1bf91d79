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
    if env::var("CARGO_CFG_TARGET_ARCH").is_ok_and(|found| found == "x86_64") {
        build_library(&out);
    }
    let program = match compile(&out) {
        Ok(object) => format!(
            "{{ const OBJECT: &Aligned<[u8]> = &Aligned(*include_bytes!({object:?})); Ok(&OBJECT.0) }}"
        ),
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
        // The same bytes in whichever folder.
        .arg("-fdebug-compilation-dir=.")
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

/// Builds tamis-patch into a library of its own, without a C library, start files or unwinding.
fn build_library(out: &Path) {
    let sources = tamis_build::sources("tamis-patch", "tamis_patch");
    println!("cargo::rerun-if-changed={}", sources.join("src").display());
    let mut options = vec!["--cfg", "tamis_library"];
    for option in [
        "link-arg=-nostdlib",
        "link-arg=-nostartfiles",
        "link-arg=-Wl,-z,now",
        "link-arg=-Wl,--build-id=none",
    ] {
        options.extend(["-C", option]);
    }
    tamis_build::compile(&sources, "tamis_patch", &options, &out.join("libtamis_patch.so"));
}
