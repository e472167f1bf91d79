//! Whether a place can have been filled by somebody else.
//!
//! Every folder and link on the way to a place has to belong to this user or to root, and must not be
//! writable by others, unless it is sticky (`/tmp`): then others can add to it, and what they add
//! belongs to them. Writable by a group counts as writable by others, unless the group is the user's
//! own (many systems give each user one, with a umask of 002) or root's.
//!
//! Inside a user name space, users that have no number there all look like one; what belongs to them
//! was there before and is trusted like root's.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fmt;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

/// Why a place is not used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Distrust {
    /// What is wrong is here.
    pub place: PathBuf,
    pub why: String,
    /// What the user can do about it.
    pub remedy: String,
}

impl fmt::Display for Distrust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.place.display(), self.why)
    }
}

/// Checks all of a path; what is not there yet is no problem.
pub fn check(path: &Path) -> Result<(), Distrust> {
    Walk::new(&Me::now(), Path::new("/")).all(path)
}

/// The same, except that what is above a folder (and that folder) is not asked about: the user has
/// decided to trust it.
pub fn check_below(path: &Path, trusted: &Path) -> Result<(), Distrust> {
    match path.strip_prefix(trusted) {
        Ok(rest) if !rest.components().any(|part| part == Component::ParentDir) => {
            Walk::new(&Me::now(), trusted).all(rest)
        }
        _ => check(path),
    }
}

/// Who asks.
#[derive(Debug, Clone, Copy)]
struct Me {
    user: u32,
    group: u32,
    /// The number of all users that have none here.
    nameless: Option<u32>,
}

impl Me {
    fn now() -> Self {
        // SAFETY: these have no precondition.
        let (user, group) = unsafe { (libc::geteuid(), libc::getegid()) };
        Self { user, group, nameless: nameless() }
    }

    fn trusts(self, owner: u32) -> bool {
        owner == self.user || owner == 0 || Some(owner) == self.nameless
    }

    /// What is wrong with the folder, link or file at this place.
    fn objection(self, place: &Path, found: &Metadata) -> Option<Distrust> {
        let place = place.to_path_buf();
        if !self.trusts(found.uid()) {
            let (owner, me) = (named(found.uid()), named(self.user));
            let why = format!("belongs to {owner}, and tamis runs as {me}");
            return Some(Distrust { place, why, remedy: "run tamis as that user".to_owned() });
        }
        let by_group = found.mode() & 0o020 != 0 && ![0, self.group].contains(&found.gid());
        let by_all = found.mode() & 0o002 != 0;
        let sticky = found.is_dir() && found.mode() & 0o1000 != 0;
        // The mode of a link means nothing, and that of a file is mended.
        (found.is_dir() && (by_group || by_all) && !sticky).then(|| Distrust {
            remedy: format!("`chmod go-w {}`", place.display()),
            why: "can be written by other users".to_owned(),
            place,
        })
    }
}

/// Where users are mapped, those that are not.
fn nameless() -> Option<u32> {
    let map = std::fs::read_to_string("/proc/self/uid_map").ok()?;
    let everybody = map.split_whitespace().eq(["0", "0", "4294967295"]);
    if everybody {
        return None;
    }
    std::fs::read_to_string("/proc/sys/kernel/overflowuid").ok()?.trim().parse().ok()
}

/// A user for people: the name, if the machine has one, and the number.
fn named(user: u32) -> String {
    let all = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let name = all.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)? == user.to_string()).then(|| name.to_owned())
    });
    name.map_or_else(|| format!("user {user}"), |name| format!("user {name} ({user})"))
}

/// More links than the kernel follows.
const MOST_LINKS: usize = 40;

/// The way to a place, link by link.
struct Walk<'m> {
    me: &'m Me,
    at: PathBuf,
    ahead: VecDeque<OsString>,
    links: usize,
}

impl<'m> Walk<'m> {
    fn new(me: &'m Me, from: &Path) -> Self {
        Self { me, at: from.to_path_buf(), ahead: VecDeque::new(), links: 0 }
    }

    fn all(mut self, path: &Path) -> Result<(), Distrust> {
        self.go_through(path);
        while let Some(name) = self.ahead.pop_front() {
            if name == ".." {
                self.at.pop();
                continue;
            }
            let next = self.at.join(&name);
            // Not there, or not to be seen: whoever uses it will meet that.
            let Ok(found) = next.symlink_metadata() else { return Ok(()) };
            if let Some(distrust) = self.me.objection(&next, &found) {
                return Err(distrust);
            }
            if !found.is_symlink() {
                self.at = next;
                continue;
            }
            self.links += 1;
            match std::fs::read_link(&next) {
                Ok(target) if self.links <= MOST_LINKS => self.go_through(&target),
                _ => return Ok(()),
            }
        }
        Ok(())
    }

    /// Puts a path in front of what is still ahead.
    fn go_through(&mut self, path: &Path) {
        if path.is_absolute() {
            self.at = PathBuf::from("/");
        }
        for part in path.components().rev() {
            match part {
                Component::Normal(name) => self.ahead.push_front(name.to_owned()),
                Component::ParentDir => self.ahead.push_front("..".into()),
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt, symlink};

    /// A temp folder behind which no other user can write, and who we are.
    fn place() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().canonicalize().unwrap();
        (dir, path)
    }

    fn mode(path: &Path, mode: u32) {
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    }

    fn check_as(me: Me, path: &Path, below: &Path) -> Result<(), Distrust> {
        Walk::new(&me, below).all(path.strip_prefix(below).unwrap())
    }

    #[test]
    fn our_own_folders_are_fine_and_so_is_what_is_missing() {
        let (_dir, top) = place();
        fs::create_dir_all(top.join("a/b")).unwrap();
        mode(&top.join("a"), 0o755);
        assert_eq!(check(&top.join("a/b/c/d")), Ok(()));
    }

    #[test]
    fn folders_that_others_can_write_are_refused_unless_sticky() {
        let (_dir, top) = place();
        fs::create_dir_all(top.join("a/b")).unwrap();
        for (bits, fine) in [(0o777, false), (0o757, false), (0o1777, true), (0o700, true)] {
            mode(&top.join("a"), bits);
            assert_eq!(check(&top.join("a/b")).is_ok(), fine, "{bits:o}");
            assert_eq!(check(&top.join("a")).is_ok(), fine, "{bits:o}");
            assert_eq!(check_below(&top.join("a/b"), &top.join("a")), Ok(()));
            let around = top.join("a/b/../../a/b");
            assert_eq!(check_below(&around, &top.join("a/b")).is_ok(), fine, "{bits:o}");
        }
        mode(&top.join("a"), 0o777);
        let refused = check(&top.join("a/b")).unwrap_err();
        assert_eq!(refused.place, top.join("a"));
        assert!(refused.to_string().ends_with("a can be written by other users"), "{refused}");
    }

    #[test]
    fn a_group_counts_as_others_unless_it_is_the_users_own() {
        let (_dir, top) = place();
        fs::create_dir(top.join("a")).unwrap();
        mode(&top.join("a"), 0o775);
        let owner = top.join("a").metadata().unwrap();
        let me = Me { user: owner.uid(), group: owner.gid(), nameless: None };
        assert_eq!(check_as(me, &top.join("a"), &top), Ok(()));
        let other = Me { group: owner.gid() + 1, ..me };
        assert_eq!(check_as(other, &top.join("a"), &top).is_ok(), owner.gid() == 0);
    }

    #[test]
    fn what_belongs_to_somebody_else_is_refused() {
        let (_dir, top) = place();
        fs::write(top.join("f"), "").unwrap();
        let owner = top.metadata().unwrap().uid();
        let me = Me { user: owner + 7, group: 7, nameless: None };
        let refused = check_as(me, &top.join("f"), &top);
        // What root made is trusted by everybody.
        assert_eq!(refused.is_ok(), owner == 0);
        assert!(me.trusts(owner + 7));
        assert!(!me.trusts(owner + 8));
        assert!(Me { nameless: Some(65_534), ..me }.trusts(65_534));
    }

    #[test]
    fn links_are_followed_through_every_folder() {
        let (_dir, top) = place();
        fs::create_dir_all(top.join("open/real")).unwrap();
        fs::create_dir_all(top.join("own")).unwrap();
        symlink("../open/real", top.join("own/link")).unwrap();
        symlink(top.join("own/link"), top.join("own/far")).unwrap();
        symlink("round", top.join("own/round")).unwrap();
        for path in ["own/link", "own/far", "own/link/x", "own/round"] {
            assert_eq!(check(&top.join(path)), Ok(()), "{path}");
        }
        mode(&top.join("open"), 0o777);
        for path in ["own/link", "own/far", "own/link/x"] {
            assert_eq!(check(&top.join(path)).unwrap_err().place, top.join("open"), "{path}");
        }
    }

    #[test]
    fn users_have_names_where_the_machine_has_some() {
        assert_eq!(named(0), "user root (0)");
        assert_eq!(named(4_000_000_123), "user 4000000123");
    }
}
