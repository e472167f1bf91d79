//! What a test needs and this machine may lack.
//!
//! The test harness of Rust cannot ignore a test while it runs. A test that lacks something says so
//! here and returns: a line `ignored: needs X`, and the same in the file that `TAMIS_NOT_TRIED`
//! names. `scripts/test` names one, and fails if anything is in it: a machine without a tool is no
//! reason for a test that looks passed. What no installation mends ([`not_here`]: the kernel, the
//! user, a second JDK) is in the same file as `not possible here: X`; that is only shown.

use std::io::Write;
use std::path::{Path, PathBuf};

/// Whether a program that a test needs is on the `PATH`; reports the test as not tried where not.
#[must_use = "a test that cannot be tried must return"]
pub fn need(tool: &str) -> bool {
    let found = has(tool);
    if !found {
        not_tried(tool);
    }
    found
}

/// Whether a program is on the `PATH`.
pub fn has(tool: &str) -> bool {
    found(tool).is_some()
}

/// The place of a program on the `PATH`.
pub fn found(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|place| place.is_file())
}

/// The test that calls this is not tried, for want of `what`, which can be installed.
pub fn not_tried(what: &str) {
    report("ignored: needs", what);
}

/// The test that calls this, or a part of it, is not possible on this machine.
pub fn not_here(why: &str) {
    report("not possible here:", why);
}

fn report(how: &str, what: &str) {
    let test = std::thread::current().name().unwrap_or("a test").to_owned();
    let line = line(&test, how, what);
    eprintln!("{line}");
    if let Some(file) = std::env::var_os("TAMIS_NOT_TRIED").filter(|file| !file.is_empty()) {
        append(Path::new(&file), &line);
    }
}

fn line(test: &str, how: &str, what: &str) -> String {
    let program = std::env::current_exe().ok();
    let program = program.as_deref().and_then(Path::file_stem).unwrap_or_default();
    // Cargo appends a hash.
    let program = program.to_string_lossy();
    let program = program.rsplit_once('-').map_or(&*program, |(name, _)| name);
    let what = what.split_whitespace().collect::<Vec<_>>().join(" ");
    format!("{how} {what}: {program} {test}")
}

/// One call of `write`, so that lines of several processes do not mix.
fn append(file: &Path, line: &str) {
    let opened = std::fs::OpenOptions::new().create(true).append(true).open(file);
    let written = opened.and_then(|mut file| file.write_all(format!("{line}\n").as_bytes()));
    written.unwrap_or_else(|e| panic!("TAMIS_NOT_TRIED={}: {e}", file.display()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_of_every_machine_is_there() {
        assert!(has("sh") && need("sh"));
        assert!(!has("no-such-program-anywhere"));
    }

    #[test]
    fn what_was_not_tried_is_a_line_with_the_test() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("not-tried");
        append(&file, &line("module::a_test", "ignored: needs", "a tool\nthat is long"));
        append(&file, &line("module::b_test", "not possible here:", "x"));
        let text = std::fs::read_to_string(&file).expect("it was written");
        assert_eq!(
            text,
            "ignored: needs a tool that is long: tamis_testkit module::a_test\n\
             not possible here: x: tamis_testkit module::b_test\n"
        );
    }
}
