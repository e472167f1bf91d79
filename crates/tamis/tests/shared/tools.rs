//! Small tools of some test programs.

use std::fs;
use std::path::Path;

/// Copies a folder with its links and modes.
pub(crate) fn copy_tree(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder to copy") {
        let entry = entry.expect("an entry");
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type().expect("its kind");
        if kind.is_dir() {
            copy_tree(&source, &target);
        } else if kind.is_symlink() {
            let link = fs::read_link(&source).expect("a link");
            std::os::unix::fs::symlink(link, &target).expect("a link");
        } else {
            fs::copy(&source, &target).expect("a file");
        }
    }
    fs::set_permissions(to, fs::metadata(from).expect("there").permissions()).expect("chmod");
}

/// Whether a tool that a test needs is here; says so where it is not.
pub(crate) fn has(tool: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).any(|folder| folder.join(tool).is_file());
    if !found {
        eprintln!("not tried: {tool} is missing");
    }
    found
}
