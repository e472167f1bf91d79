//! Programs of this machine, and copies of folders.

use crate::needs::not_tried;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// The Python itself, not a script that looks for it.
pub fn python() -> Option<&'static str> {
    static PYTHON: OnceLock<Option<String>> = OnceLock::new();
    let found = PYTHON.get_or_init(|| {
        let asked = Command::new("python3")
            .args(["-c", "import sys; print(sys.executable)"])
            .stdin(Stdio::null())
            .output();
        let output = asked.ok().filter(|o| o.status.success())?;
        Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
    });
    if found.is_none() {
        not_tried("python3");
    }
    found.as_deref()
}

/// Copies a folder with its links and modes.
pub fn copy_tree(from: &Path, to: &Path) {
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

/// Something that cargo builds beside the test programs: `tamis`, `libtamis_agent.so`.
pub fn built(name: &str) -> PathBuf {
    let exe = std::env::current_exe().expect("the path of this program");
    let deps = exe.parent().expect("a folder");
    let places = [deps.to_path_buf(), deps.parent().expect("a folder").to_path_buf()];
    let found = places.iter().map(|folder| folder.join(name)).find(|file| file.is_file());
    found.unwrap_or_else(|| panic!("cargo builds {name} before the tests of its crate"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_has_links_modes_and_folders() {
        use std::os::unix::fs::PermissionsExt;
        let folder = crate::place::folder();
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        fs::create_dir_all(from.join("a")).expect("a folder");
        fs::write(from.join("a/b"), "text").expect("a file");
        fs::set_permissions(from.join("a/b"), PermissionsExt::from_mode(0o755)).expect("chmod");
        std::os::unix::fs::symlink("a/b", from.join("link")).expect("a link");
        copy_tree(&from, &to);
        assert_eq!(fs::read_link(to.join("link")).expect("a link"), Path::new("a/b"));
        assert_eq!(fs::read_to_string(to.join("link")).expect("a file"), "text");
        let mode = fs::metadata(to.join("a/b")).expect("a file").permissions().mode();
        assert_eq!(mode & 0o777, 0o755);
    }
}
