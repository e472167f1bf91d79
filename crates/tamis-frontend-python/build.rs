//! Builds the native part of the plugin (tamis-python-agent) into a library of its own.

use std::path::Path;

fn main() {
    let sources = tamis_build::sources("tamis-python-agent", "tamis_python_agent");
    println!("cargo::rerun-if-changed={}", sources.join("src").display());
    println!("cargo::rerun-if-env-changed={}", tamis_build::SYSROOT);
    let library = Path::new(&tamis_build::variable("OUT_DIR")).join("_tamis_native.so");
    tamis_build::compile(&sources, "tamis_python_agent", &[], &library);
}
