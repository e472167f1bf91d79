//! Folders of mode 0700 and files of mode 0600, whatever the umask is.

use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

const FOLDER: u32 = 0o700;
const FILE: u32 = 0o600;

/// Makes a folder and those above it that are missing. A folder that is there stays as it is.
pub fn make_folder(folder: &Path) -> io::Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    if let Some(above) = folder.parent().filter(|above| !above.as_os_str().is_empty()) {
        make_folder(above)?;
    }
    match DirBuilder::new().mode(FOLDER).create(folder) {
        // The umask may have taken something from the user, too.
        Ok(()) => std::fs::set_permissions(folder, Permissions::from_mode(FOLDER)),
        // Another process may have been faster.
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists && folder.is_dir() => Ok(()),
        Err(e) => Err(e),
    }
}

/// Opens a file for reading and writing and makes it where it is missing.
pub fn create_file(file: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    let options = options.read(true).write(true).mode(FILE);
    match options.clone().create_new(true).open(file) {
        Ok(made) => {
            made.set_permissions(Permissions::from_mode(FILE))?;
            Ok(made)
        }
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {
            options.custom_flags(libc::O_CLOEXEC | libc::O_NONBLOCK).open(file)
        }
        Err(e) => Err(e),
    }
}

/// Writes a small file, and its folder where that is missing.
pub fn write(file: &Path, bytes: &[u8]) -> io::Result<()> {
    if let Some(folder) = file.parent() {
        make_folder(folder)?;
    }
    let mut open = create_file(file)?;
    open.set_len(0)?;
    open.write_all(bytes)
}

/// Takes from a folder or file of this user what others may do with it: it may have been made by an
/// older version. What belongs to another user, is a link or is not there stays as it is.
pub fn tighten(path: &Path) {
    let Ok(found) = path.symlink_metadata() else { return };
    // SAFETY: geteuid has no precondition.
    let ours = found.uid() == unsafe { libc::geteuid() };
    let open = found.mode() & 0o077 != 0;
    if ours && open && (found.is_dir() || found.is_file()) {
        let mode = found.mode() & 0o7700;
        // What cannot be changed (a read-only file system) was checked by whoever uses it.
        let _ = std::fs::set_permissions(path, Permissions::from_mode(mode));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        path.symlink_metadata().unwrap().mode() & 0o7777
    }

    #[test]
    fn what_is_made_is_for_the_user_alone() {
        let dir = tempfile::tempdir().unwrap();
        let (top, file) = (dir.path().join("a"), dir.path().join("a/b/c"));
        write(&file, b"one").unwrap();
        write(&file, b"2").unwrap();
        assert_eq!(std::fs::read(&file).unwrap(), b"2");
        assert_eq!((mode(&top), mode(&top.join("b")), mode(&file)), (0o700, 0o700, 0o600));
    }

    #[test]
    fn what_is_there_stays_until_it_is_tightened() {
        let dir = tempfile::tempdir().unwrap();
        let (folder, file) = (dir.path().join("a"), dir.path().join("f"));
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(&file, "").unwrap();
        std::fs::set_permissions(&folder, Permissions::from_mode(0o755)).unwrap();
        std::fs::set_permissions(&file, Permissions::from_mode(0o466)).unwrap();
        make_folder(&folder).unwrap();
        assert_eq!(mode(&folder), 0o755);
        for path in [&folder, &file, &dir.path().join("nothing")] {
            tighten(path);
        }
        assert_eq!((mode(&folder), mode(&file)), (0o700, 0o400));
    }

    #[test]
    fn a_link_is_not_followed_to_what_it_names() {
        let dir = tempfile::tempdir().unwrap();
        let (target, link) = (dir.path().join("t"), dir.path().join("l"));
        std::fs::write(&target, "").unwrap();
        std::fs::set_permissions(&target, Permissions::from_mode(0o644)).unwrap();
        std::os::unix::fs::symlink(&target, &link).unwrap();
        tighten(&link);
        assert_eq!(mode(&target), 0o644);
    }
}
