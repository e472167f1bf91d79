//! Tells the crate that builds this one into a library where the sources are: see tamis-build.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::metadata=root={}", env!("CARGO_MANIFEST_DIR"));
}
