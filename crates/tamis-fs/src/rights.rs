//! What this user may do: by the permission bits of a file, and as the system itself says.
//!
//! Not seen: access control lists beyond what the permission bits show of them, and security modules.

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::OnceLock;

/// Of a file: its permission bits, and whom they are for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Permissions {
    pub(crate) mode: u32,
    pub(crate) owner: u32,
    pub(crate) group: u32,
}

/// Who asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct User {
    pub(crate) user: u32,
    pub(crate) groups: Vec<u32>,
}

impl User {
    fn now() -> Self {
        // SAFETY: these have no precondition.
        let (user, group) = unsafe { (libc::geteuid(), libc::getegid()) };
        let mut groups = vec![0; 1024];
        // SAFETY: writes at most as many numbers as there is room for.
        let count = unsafe { libc::getgroups(groups.len() as libc::c_int, groups.as_mut_ptr()) };
        groups.truncate(usize::try_from(count).unwrap_or(0));
        groups.push(group);
        Self { user, groups }
    }

    pub(crate) fn may_execute(&self, file: Permissions) -> bool {
        let bit = match self.user {
            0 => 0o111,
            user if user == file.owner => 0o100,
            _ if self.groups.contains(&file.group) => 0o010,
            _ => 0o001,
        };
        file.mode & bit != 0
    }
}

pub(crate) fn of_this_user() -> &'static User {
    static USER: OnceLock<User> = OnceLock::new();
    USER.get_or_init(User::now)
}

/// Whether the system lets this user do all of this (`W_OK` and so on).
pub(crate) fn may(path: &Path, mode: libc::c_int) -> bool {
    let Ok(path) = CString::new(path.as_os_str().as_bytes()) else { return false };
    // SAFETY: the path ends with a zero byte.
    unsafe { libc::faccessat(libc::AT_FDCWD, path.as_ptr(), mode, libc::AT_EACCESS) == 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bits_of_the_nearest_role_count() {
        let user = User { user: 7, groups: vec![3, 4] };
        for (mode, owner, group, may) in [
            (0o700, 7, 9, true),
            (0o077, 7, 3, false),
            (0o010, 8, 4, true),
            (0o101, 8, 4, false),
            (0o001, 8, 9, true),
            (0o110, 8, 9, false),
        ] {
            assert_eq!(user.may_execute(Permissions { mode, owner, group }), may, "{mode:o}");
        }
    }

    #[test]
    fn root_may_execute_what_anybody_may() {
        let root = User { user: 0, groups: vec![0] };
        let may = |mode, owner| root.may_execute(Permissions { mode, owner, group: owner });
        assert!(may(0o001, 7) && !may(0o666, 0));
    }

    #[test]
    fn the_system_is_asked() {
        let dir = tempfile::tempdir().unwrap();
        assert!(may(dir.path(), libc::W_OK | libc::X_OK));
        assert!(!may(&dir.path().join("none"), libc::F_OK));
        assert!(!may(Path::new("a\0b"), libc::F_OK));
    }
}
