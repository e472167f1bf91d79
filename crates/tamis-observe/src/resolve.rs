//! Resolves paths as the kernel does, remembering every link on the way, and every folder that `..` leads
//! out of.
//!
//! Folders that were found to be plain are remembered, so that a new path costs one look at its last
//! component. The memory is dropped when the tree changes links or renames folders.
//!
//! A link of the file system can lead into /proc or /dev/fd, where every process finds its own things.
//! Where that leads is known while the process waits, and not afterwards.
//!
//! Where we hear of a call afterwards, a link that is there now can be younger than the call. Where the path
//! led then is known only of links that are older, and of what the tree is known to have made.

use crate::entry::Before;
use crate::moment::{is_before, state_now};
use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// A path with its links followed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Resolved {
    /// Absolute, without links, `.` and `..`.
    pub(crate) path: Vec<u8>,
    /// The links that were followed, each by its own resolved path.
    pub(crate) links: Vec<Vec<u8>>,
    /// What a `..` led out of: without a folder there the way is barred.
    pub(crate) left: Vec<Vec<u8>>,
    /// The links lead in a circle: the process gets an error, and there is no path.
    pub(crate) circle: bool,
    /// They lead to a thing of the process's own, and which one that was is not known.
    pub(crate) unknown: bool,
}

/// Who goes the way, and when.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Walker {
    /// A thread that waits for us: things are as it will find them.
    Waits(u32),
    /// It has gone on, and the tree has changed no name since.
    Logged,
    /// It has gone on since this moment, in a run that began at the other one.
    WentOn { since_ns: u64, began_ns: i128 },
}

impl Walker {
    fn waiting(self) -> Option<u32> {
        match self {
            Walker::Waits(thread) => Some(thread),
            Walker::Logged | Walker::WentOn { .. } => None,
        }
    }

    /// Whether it found this link as it is now. Those of /proc and /sys have no age.
    fn found(self, link: &[u8]) -> bool {
        let Walker::WentOn { since_ns, began_ns } = self else { return true };
        let ageless = link.starts_with(b"/proc/") || link.starts_with(b"/sys/");
        ageless
            || matches!(state_now(link), Before::There(now) if is_before(now.ctime_ns, since_ns, began_ns))
    }
}

/// What a path component is.
enum Step {
    /// No link.
    Plain,
    Link(Vec<u8>),
    /// A link now, and perhaps not when the walker came by.
    Unknown,
}

#[derive(Debug, Default)]
pub(crate) struct Resolver {
    /// Link target, or `None` for something that is no link.
    known: HashMap<Vec<u8>, Option<Vec<u8>>>,
    /// Folders that were found to resolve to themselves, so that only the last component of what is
    /// in them has to be looked at.
    plain_folders: HashSet<Vec<u8>>,
    /// Links that the tree is known to have made, where we hear of it afterwards: what is at their
    /// place now may come from a later call.
    made: HashMap<Vec<u8>, Vec<u8>>,
}

/// As many as the kernel follows.
const MOST_LINKS: usize = 40;

impl Resolver {
    /// Resolves an absolute path; a link at its end only where `follow` says so.
    pub(crate) fn resolve(&mut self, path: &[u8], follow: bool, walker: Walker) -> Resolved {
        let folder = folder_of(path);
        if folder.is_some_and(|f| self.plain_folders.contains(f))
            && (!follow || matches!(self.step(path, walker), Step::Plain))
        {
            return Resolved { path: path.to_vec(), ..Resolved::default() };
        }
        let resolved = self.walk(path, follow, walker);
        if let Some(folder) = folder
            && resolved.links.is_empty()
            && resolved.path == path
            // It is there; what is absent may be made a link later.
            && self.known.get(folder) == Some(&None)
        {
            self.plain_folders.insert(folder.to_vec());
        }
        resolved
    }

    /// Resolves component by component.
    fn walk(&mut self, path: &[u8], follow: bool, walker: Walker) -> Resolved {
        let whose = walker.waiting();
        let mut resolved = Resolved::default();
        // A slash at the end means the folder behind a link.
        let follow = follow || path.len() > 1 && path.ends_with(b"/");
        let mut rest: Vec<Vec<u8>> = components(path);
        rest.reverse();
        while let Some(component) = rest.pop() {
            match component.as_slice() {
                b"." => continue,
                b".." => {
                    let parent = resolved.path.iter().rposition(|&b| b == b'/').unwrap_or(0);
                    if !resolved.path.is_empty() {
                        resolved.left.push(resolved.path.clone());
                    }
                    resolved.path.truncate(parent);
                    continue;
                }
                _ => {}
            }
            let parent = resolved.path.len();
            resolved.path.push(b'/');
            resolved.path.extend_from_slice(&component);
            if rest.is_empty() && !follow {
                break;
            }
            if let Some(thread) = whose.filter(|_| is_own_folder(&resolved.path)) {
                resolved.path = format!("/proc/{thread}").into_bytes();
                continue;
            }
            let whose_thing = own_thing(&resolved.path).filter(|_| !resolved.links.is_empty());
            // Whether we have such a thing ourselves says nothing about the process.
            if let Some(process) = whose_thing
                && (whose.is_none() || !has_our_mounts(process))
            {
                return Resolved { unknown: true, ..resolved };
            }
            let target = match self.step(&resolved.path, walker) {
                Step::Plain => continue,
                Step::Link(target) => target,
                Step::Unknown => return Resolved { unknown: true, ..resolved },
            };
            if resolved.links.len() == MOST_LINKS {
                return Resolved { circle: true, ..resolved };
            }
            // What has no path (a pipe) is named by words.
            let nameless = target.first() != Some(&b'/');
            if whose_thing.is_some() && nameless {
                return Resolved { unknown: true, ..resolved };
            }
            resolved.links.push(resolved.path.clone());
            if target.first() == Some(&b'/') {
                resolved.path.clear();
            } else {
                resolved.path.truncate(parent);
            }
            rest.extend(components(&target).into_iter().rev());
        }
        if resolved.path.is_empty() {
            resolved.path.push(b'/');
        }
        resolved
    }

    fn step(&mut self, path: &[u8], walker: Walker) -> Step {
        if let Some(made) = self.made.get(path) {
            return Step::Link(made.clone());
        }
        if let Some(known) = self.known.get(path) {
            return known.clone().map_or(Step::Plain, Step::Link);
        }
        match read_link(path) {
            Ok(_) if !walker.found(path) => Step::Unknown,
            Ok(target) => {
                let target = target.into_os_string().into_vec();
                if !path.starts_with(b"/proc/") {
                    self.known.insert(path.to_vec(), Some(target.clone()));
                }
                Step::Link(target)
            }
            Err(e) => {
                // What is absent may be made a link later, by anybody.
                if e.raw_os_error() == Some(libc::EINVAL) {
                    self.known.insert(path.to_vec(), None);
                }
                Step::Plain
            }
        }
    }

    /// Forgets what is known of one path that the tree is about to replace.
    pub(crate) fn forget(&mut self, path: &[u8]) {
        self.known.remove(path);
        self.made.remove(path);
        self.plain_folders.clear();
    }

    /// The tree has made a folder there: no link, whatever is there by now.
    pub(crate) fn folder_made(&mut self, path: &[u8]) {
        self.made.remove(path);
        self.known.insert(path.to_vec(), None);
    }

    /// The tree has made this link.
    pub(crate) fn link_made(&mut self, path: &[u8], target: &[u8]) {
        self.forget(path);
        self.made.insert(path.to_vec(), target.to_vec());
    }

    /// The tree has renamed something: links below it that it made have other names now, and those at
    /// the new name are gone or have the old one.
    pub(crate) fn links_move(&mut self, from: &[u8], to: &[u8], exchange: bool) {
        let renamed = |path: &[u8], old: &[u8], new: &[u8]| -> Option<Vec<u8>> {
            let rest = path.strip_prefix(old)?;
            (rest.is_empty() || rest.starts_with(b"/")).then(|| [new, rest].concat())
        };
        // A link that others made and that was followed before is as well known.
        let known = [(from, to), (to, from)].map(|(old, new)| {
            let target = self.known.get(old).cloned().flatten()?;
            Some((new.to_vec(), target))
        });
        let before = std::mem::take(&mut self.made);
        for (path, target) in before {
            let path = match (renamed(&path, from, to), renamed(&path, to, from)) {
                (Some(new), _) => new,
                (None, Some(old)) if exchange => old,
                (None, Some(_)) => continue,
                (None, None) => path,
            };
            self.made.insert(path, target);
        }
        let [moved, came] = known;
        for (path, target) in moved.into_iter().chain(came.filter(|_| exchange)) {
            self.made.entry(path).or_insert(target);
        }
    }

    /// Forgets everything that can be looked at again.
    pub(crate) fn forget_all(&mut self) {
        self.known.clear();
        self.plain_folders.clear();
    }
}

/// Where each process finds its own folder.
fn is_own_folder(path: &[u8]) -> bool {
    matches!(path, b"/proc/self" | b"/proc/thread-self")
}

/// The process or thread to whose thing a link in /proc leads.
fn own_thing(path: &[u8]) -> Option<u32> {
    let names: Vec<&[u8]> = path.strip_prefix(b"/proc/")?.split(|&b| b == b'/').collect();
    let (whose, thing) = match names.as_slice() {
        [_, b"task", thread, thing @ ..] => (thread, thing),
        [process, thing @ ..] => (process, thing),
        [] => return None,
    };
    let leads = matches!(thing, [b"cwd" | b"root" | b"exe"] | [b"fd" | b"map_files", _]);
    leads.then(|| std::str::from_utf8(whose).ok()?.parse().ok())?
}

/// Whether a path means to a process what it means to us; also where it is gone or closed to us.
fn has_our_mounts(process: u32) -> bool {
    let mounts = |whose: &str| std::fs::read_link(format!("/proc/{whose}/ns/mnt")).ok();
    let theirs = mounts(&process.to_string());
    theirs.is_none() || theirs == mounts("self")
}

/// The target of a link. File systems of user programs may give up when a signal comes.
fn read_link(path: &[u8]) -> io::Result<PathBuf> {
    loop {
        match std::fs::read_link(Path::new(OsStr::from_bytes(path))) {
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            done => return done,
        }
    }
}

/// The folder of a path whose last component is a name.
fn folder_of(path: &[u8]) -> Option<&[u8]> {
    let slash = path.iter().rposition(|&b| b == b'/')?;
    let name = &path[slash + 1..];
    (!matches!(name, b"" | b"." | b"..")).then_some(&path[..slash])
}

fn components(path: &[u8]) -> Vec<Vec<u8>> {
    path.split(|&b| b == b'/').filter(|c| !c.is_empty()).map(<[u8]>::to_vec).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    /// Comes by after all that these tests make.
    const LATER: Walker = Walker::WentOn { since_ns: u64::MAX, began_ns: 0 };

    fn text(resolved: &Resolved) -> String {
        String::from_utf8_lossy(&resolved.path).into_owned()
    }

    #[test]
    fn follows_links_in_the_middle_and_at_the_end() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        std::fs::create_dir(root.join("real")).unwrap();
        std::fs::write(root.join("real/file"), "").unwrap();
        symlink("real", root.join("link")).unwrap();
        symlink("../link/file", root.join("real/last")).unwrap();
        let mut resolver = Resolver::default();
        let path = root.join("link/./last").into_os_string().into_vec();
        let followed = resolver.resolve(&path, true, LATER);
        assert_eq!(text(&followed), root.join("real/file").to_str().unwrap());
        assert_eq!(followed.links.len(), 3);
        let kept = resolver.resolve(&path, false, LATER);
        assert_eq!(text(&kept), root.join("real/last").to_str().unwrap());
        assert_eq!(kept.links.len(), 1);
    }

    #[test]
    fn dots_are_physical() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("a/b")).unwrap();
        symlink("a/b", root.join("link")).unwrap();
        let path = root.join("link/../x").into_os_string().into_vec();
        let resolved = Resolver::default().resolve(&path, true, LATER);
        assert_eq!(text(&resolved), root.join("a/x").to_str().unwrap());
        assert_eq!(resolved.left, [root.join("a/b").into_os_string().into_vec()]);
        let above = Resolver::default().resolve(b"/../..", true, LATER);
        assert_eq!(text(&above), "/");
    }

    #[test]
    fn a_circle_is_no_path_but_its_links_are_known() {
        let dir = tempfile::tempdir().unwrap();
        symlink("loop", dir.path().join("loop")).unwrap();
        let path = dir.path().join("loop").into_os_string().into_vec();
        let resolved = Resolver::default().resolve(&path, true, LATER);
        assert!(resolved.circle && resolved.links.iter().any(|l| l.ends_with(b"/loop")));
    }

    #[test]
    fn a_plain_folder_is_remembered_until_names_change() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        std::fs::create_dir(root.join("folder")).unwrap();
        std::fs::create_dir(root.join("other")).unwrap();
        symlink("../other/x", root.join("folder/link")).unwrap();
        let bytes = |below: &str| root.join(below).into_os_string().into_vec();
        let mut resolver = Resolver::default();
        for name in ["folder/a", "folder/b", "folder/sub/c"] {
            assert_eq!(resolver.resolve(&bytes(name), true, LATER).path, bytes(name));
        }
        // A link in it is still followed, dots are still physical.
        let link = resolver.resolve(&bytes("folder/link"), true, LATER);
        assert_eq!((link.path, link.links), (bytes("other/x"), vec![bytes("folder/link")]));
        let mut dots = bytes("folder");
        dots.extend_from_slice(b"/..");
        assert_eq!(resolver.resolve(&dots, true, LATER).path, root.as_os_str().as_bytes());
        // The folder becomes a link.
        std::fs::rename(root.join("folder"), root.join("moved")).unwrap();
        resolver.forget_all();
        symlink("other", root.join("folder")).unwrap();
        resolver.forget(&bytes("folder"));
        let behind = resolver.resolve(&bytes("folder/a"), true, LATER);
        assert_eq!((behind.path, behind.links.len()), (bytes("other/a"), 1));
    }

    #[test]
    fn a_link_that_the_tree_made_leads_where_it_did_then() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let at = |below: &str| root.join(below).into_os_string().into_vec();
        let above = |below: &str| root.parent().unwrap().join(below).into_os_string().into_vec();
        let mut resolver = Resolver::default();
        let leads =
            |resolver: &mut Resolver, path: &str| resolver.resolve(&at(path), true, LATER).path;
        // None of them is there any more.
        resolver.link_made(&at("d"), b"b");
        resolver.link_made(&at("e/l"), b"../c");
        assert_eq!(leads(&mut resolver, "d/f"), at("b/f"));
        assert_eq!(leads(&mut resolver, "e/l/f"), at("c/f"));
        resolver.links_move(&at("e"), &at("x"), false);
        resolver.forget_all();
        assert_eq!(leads(&mut resolver, "x/l/f"), at("c/f"));
        assert_eq!(leads(&mut resolver, "e/l/f"), at("e/l/f"));
        resolver.links_move(&at("x/l"), &at("d"), true);
        assert_eq!(leads(&mut resolver, "d/f"), above("c/f"));
        assert_eq!(leads(&mut resolver, "x/l/f"), at("x/b/f"));
        resolver.forget(&at("d"));
        assert_eq!(leads(&mut resolver, "d/f"), at("d/f"));
        resolver.links_move(&at("y"), &at("x/l"), false);
        assert_eq!(leads(&mut resolver, "x/l/f"), at("x/l/f"), "replaced");
    }

    /// What a call found before the link was made is not behind the link.
    #[test]
    fn a_link_that_is_younger_than_the_call_leads_nowhere_that_is_known() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        std::fs::create_dir(root.join("b")).unwrap();
        symlink("b", root.join("d")).unwrap();
        let path = root.join("d/f").into_os_string().into_vec();
        let mut resolver = Resolver::default();
        let earlier = Walker::WentOn { since_ns: 1, began_ns: 0 };
        assert!(resolver.resolve(&path, true, earlier).unknown);
        let older_than_the_run = Walker::WentOn { since_ns: 1, began_ns: i128::MAX };
        for walker in [LATER, older_than_the_run, Walker::Waits(std::process::id())] {
            let found = Resolver::default().resolve(&path, true, walker);
            assert_eq!(text(&found), root.join("b/f").to_str().unwrap(), "{walker:?}");
        }
        resolver.folder_made(root.join("d").as_os_str().as_bytes());
        assert_eq!(resolver.resolve(&path, true, earlier).path, path, "a folder of the tree's own");
        resolver.forget(root.join("d").as_os_str().as_bytes());
        assert!(resolver.resolve(&path, true, earlier).unknown);
    }

    #[test]
    fn a_slash_at_the_end_follows() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        std::fs::create_dir(root.join("real")).unwrap();
        symlink("real", root.join("link")).unwrap();
        let path = [root.join("link").as_os_str().as_bytes(), b"/"].concat();
        let resolved = Resolver::default().resolve(&path, false, LATER);
        assert_eq!(text(&resolved), root.join("real").to_str().unwrap());
    }

    #[test]
    fn a_link_to_a_thing_of_the_process_needs_the_process() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        for (name, target) in [("cwd", "/proc/self/cwd"), ("fd", "/dev/fd/4000")] {
            symlink(target, root.join(name)).unwrap();
        }
        let path = root.join("cwd/x").into_os_string().into_vec();
        assert!(Resolver::default().resolve(&path, true, LATER).unknown);
        let mine = Resolver::default().resolve(&path, true, Walker::Waits(std::process::id()));
        let here = std::env::current_dir().unwrap().join("x").into_os_string().into_vec();
        assert_eq!((mine.path, mine.unknown), (here, false));
        let things = ["fd/9", "task/1/fd/9", "task/1/cwd", "root"];
        for thing in things {
            assert_eq!(own_thing(format!("/proc/1/{thing}").as_bytes()), Some(1), "{thing}");
        }
        for other in ["/proc/1/fd", "/proc/1/maps", "/proc/sys/root", "/proc/1", "/1/cwd"] {
            assert_eq!(own_thing(other.as_bytes()), None, "{other}");
        }
        // That we have no such descriptor says nothing about the process.
        let fd = root.join("fd").into_os_string().into_vec();
        assert!(Resolver::default().resolve(&fd, true, LATER).unknown);
        // A descriptor that is not there leads nowhere.
        let none = root.join("fd").into_os_string().into_vec();
        assert!(
            !Resolver::default().resolve(&none, true, Walker::Waits(std::process::id())).unknown
        );
    }

    #[test]
    fn a_link_to_a_pipe_is_unknown() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let (reader, _writer) = std::io::pipe().unwrap();
        let number = std::os::fd::AsRawFd::as_raw_fd(&reader);
        symlink(format!("/dev/fd/{number}"), root.join("l")).unwrap();
        let path = root.join("l").into_os_string().into_vec();
        assert!(
            Resolver::default().resolve(&path, true, Walker::Waits(std::process::id())).unknown
        );
    }
}
