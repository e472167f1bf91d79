//! strace as the oracle: runs a command under it and reads its output back as actions.
//!
//! strace prints all strings in hexadecimal (`-xx`), so that any name survives, and writes the path
//! of every descriptor beside it (`-y`). What it does not print is kept here: each process's working
//! directory (for calls without a descriptor) and the descriptors behind /proc/self/fd.

mod line;

use line::{Argument, Line};
use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tamis_trace::{Action, OpenHow};

/// Runs the command under strace and tells what it did.
pub(crate) fn watch(
    words: &[&str],
    folder: &Path,
    environment: &[(&str, &str)],
) -> Vec<Action<'static>> {
    let log = tempfile::NamedTempFile::new().unwrap();
    let calls = "trace=%file,fchdir,fchmod,fchown,fsetxattr,fremovexattr,clone,clone3,fork,vfork";
    let mut strace = Command::new("strace");
    strace.args(["-f", "-qq", "-y", "-xx", "-s", "9000", "-e", calls, "-o"]).arg(log.path());
    strace.args(words).current_dir(folder).env_clear().envs(environment.iter().copied());
    strace.stdin(Stdio::null()).stdout(Stdio::null());
    let status = strace.status().unwrap();
    assert!(status.success(), "{words:?} under strace: {status}");
    Oracle::new(folder).read(&std::fs::read_to_string(log.path()).unwrap())
}

struct Oracle {
    start: PathBuf,
    /// Processes by number; threads that share a working directory share the entry.
    groups: HashMap<u32, usize>,
    working: Vec<Vec<u8>>,
    programs: HashMap<u32, Vec<u8>>,
    descriptors: HashMap<(u32, i32), Vec<u8>>,
    /// Whose child each process is, and whether the two share a working directory.
    parents: HashMap<u32, (u32, bool)>,
    actions: Vec<Action<'static>>,
}

impl Oracle {
    fn new(folder: &Path) -> Self {
        Self {
            start: folder.canonicalize().unwrap(),
            groups: HashMap::new(),
            working: Vec::new(),
            programs: HashMap::new(),
            descriptors: HashMap::new(),
            parents: HashMap::new(),
            actions: Vec::new(),
        }
    }

    fn read(mut self, log: &str) -> Vec<Action<'static>> {
        let lines = line::parse(log);
        // A child's first line may stand before the line that says whose child it is.
        for line in lines.iter().filter(|line| line.makes_process()) {
            if let Some(child) = line.result {
                let shares = line.text.contains("CLONE_FS");
                self.parents.insert(child as u32, (line.process, shares));
            }
        }
        for line in &lines {
            self.settle(line.process);
            self.line(line);
            if let (Some(child), true) = (line.result, line.makes_process()) {
                self.settle(child as u32);
            }
        }
        self.actions
    }

    /// Gives a process that is seen for the first time its parent's state.
    fn settle(&mut self, process: u32) {
        if self.groups.contains_key(&process) {
            return;
        }
        let (parent, shares) = self.parents.get(&process).copied().unzip();
        let shares = shares.unwrap_or(false);
        let from = parent.and_then(|p| self.groups.get(&p)).copied();
        let group = match from {
            Some(group) if shares => group,
            _ => {
                let start = self.start.clone().into_os_string().into_vec();
                self.working.push(from.map_or(start, |g| self.working[g].clone()));
                self.working.len() - 1
            }
        };
        self.groups.insert(process, group);
        if let Some(parent) = parent {
            let inherited: Vec<_> = self
                .descriptors
                .iter()
                .filter(|((p, _), _)| *p == parent)
                .map(|((_, fd), path)| ((process, *fd), path.clone()))
                .collect();
            self.descriptors.extend(inherited);
            if let Some(program) = self.programs.get(&parent).cloned() {
                self.programs.insert(process, program);
            }
        }
    }

    fn cwd(&mut self, process: u32) -> &mut Vec<u8> {
        let group = self.groups[&process];
        &mut self.working[group]
    }

    fn line(&mut self, line: &Line) {
        let process = line.process;
        // strace knows better where a process is whenever it says so.
        for argument in &line.arguments {
            match argument {
                Argument::Descriptor { number: libc::AT_FDCWD, path: Some(path) } => {
                    self.cwd(process).clone_from(path);
                }
                Argument::Descriptor { number, path: Some(path) } => {
                    self.descriptors.insert((process, *number), path.clone());
                }
                _ => {}
            }
        }
        if let Some(action) = self.action(line) {
            self.actions.push(action);
        }
        let done = line.result.is_some_and(|r| r >= 0);
        if let (true, Some((number, path))) = (done, &line.opened) {
            match path {
                Some(path) => self.descriptors.insert((process, *number), path.clone()),
                None => self.descriptors.remove(&(process, *number)),
            };
        }
        match line.call {
            "chdir" if done => {
                if let Some(path) = self.path(line, None, 0) {
                    // Here it would be the oracle itself.
                    let own = path == b"/proc/self";
                    *self.cwd(process) =
                        if own { format!("/proc/{process}").into_bytes() } else { canonical(path) };
                }
            }
            "fchdir" if done => {
                if let Some(path) = line.descriptor(0) {
                    *self.cwd(process) = path.to_vec();
                }
            }
            "execve" | "execveat" if done => {
                let path = if line.call == "execve" {
                    self.path(line, None, 0)
                } else {
                    self.path_or_descriptor(line, 0, 1)
                };
                if let Some(path) = path {
                    self.programs.insert(process, interpreter(&canonical(path)));
                }
            }
            _ => {}
        }
    }

    /// The absolute path in argument `n`; none where strace printed no string.
    fn path(&mut self, line: &Line, directory: Option<usize>, n: usize) -> Option<Vec<u8>> {
        let path = line.string(n).filter(|p| !p.is_empty())?;
        let base = match directory.map(|d| &line.arguments[d]) {
            _ if path.starts_with(b"/") => return self.through_proc(line.process, path.to_vec()),
            None => self.cwd(line.process).clone(),
            Some(Argument::Descriptor { number: libc::AT_FDCWD, path: None }) => {
                self.cwd(line.process).clone()
            }
            Some(Argument::Descriptor { path: Some(path), .. }) => path.clone(),
            _ => return None,
        };
        // Nothing can be found in a directory that is gone.
        if base.ends_with(b" (deleted)") && !Path::new(OsStr::from_bytes(&base)).exists() {
            return None;
        }
        let absolute = [base.as_slice(), b"/", path].concat();
        self.through_proc(line.process, absolute)
    }

    /// The same for a call that is about a link itself.
    fn link(&mut self, line: &Line, directory: Option<usize>, n: usize) -> Option<Vec<u8>> {
        match line.string(n) {
            Some(path) if path.starts_with(b"/") => Some(path.to_vec()),
            _ => self.path(line, directory, n),
        }
    }

    fn path_or_descriptor(&mut self, line: &Line, directory: usize, n: usize) -> Option<Vec<u8>> {
        match line.string(n) {
            Some(path) if !path.is_empty() => self.path(line, Some(directory), n),
            _ => line.descriptor(directory).map(<[u8]>::to_vec),
        }
    }

    /// Follows the links of /proc that lead to a process's own things. What has no path (a pipe, a
    /// deleted file) is none.
    fn through_proc(&mut self, process: u32, path: Vec<u8>) -> Option<Vec<u8>> {
        let own = [b"/proc/".as_slice(), process.to_string().as_bytes(), b"/"].concat();
        let task = [b"/proc/self/task/".as_slice(), process.to_string().as_bytes(), b"/"].concat();
        let prefixes: [&[u8]; 4] = [&task, b"/proc/self/", b"/proc/thread-self/", &own];
        let fd = path.strip_prefix(b"/dev/fd/").map(|rest| [b"fd/", rest].concat());
        let rest =
            fd.or_else(|| prefixes.iter().find_map(|p| Some(path.strip_prefix(*p)?.to_vec())));
        let Some(rest) = rest else { return Some(path) };
        let words: Vec<&[u8]> = rest.split(|&b| b == b'/').collect();
        let (target, below) = match words.as_slice() {
            [b"cwd", below @ ..] => (self.cwd(process).clone(), below),
            [b"root", below @ ..] => (Vec::new(), below),
            [b"exe", below @ ..] => (self.programs.get(&process)?.clone(), below),
            [b"fd", number, below @ ..] => {
                let Some(number) = std::str::from_utf8(number).ok().and_then(|n| n.parse().ok())
                else {
                    return Some(path);
                };
                (self.descriptors.get(&(process, number))?.clone(), below)
            }
            _ => return Some(path),
        };
        Some(below.iter().fold(target, |path, word| [path.as_slice(), b"/", word].concat()))
    }

    fn action(&mut self, line: &Line) -> Option<Action<'static>> {
        let has = |flag: &str| line.arguments.iter().any(|a| a.has_flag(flag));
        let follow = !has("AT_SYMLINK_NOFOLLOW");
        Some(match line.call {
            "open" => {
                Action::Open { path: self.path(line, None, 0)?.into(), how: how(line.flags(1)) }
            }
            "creat" => Action::Open {
                path: self.path(line, None, 0)?.into(),
                how: how("O_WRONLY|O_CREAT|O_TRUNC"),
            },
            // Without its structure openat2 fails by itself.
            "openat2" if !line.flags(2).starts_with('{') => return None,
            "openat" | "openat2" => {
                Action::Open { path: self.path(line, Some(0), 1)?.into(), how: how(line.flags(2)) }
            }
            "stat" | "access" | "chdir" | "statfs" | "getxattr" | "listxattr" => {
                Action::Stat { path: self.path(line, None, 0)?.into(), follow: true }
            }
            "lstat" | "lgetxattr" | "llistxattr" => {
                Action::Stat { path: self.link(line, None, 0)?.into(), follow: false }
            }
            "newfstatat" | "statx" | "faccessat2" if !follow => {
                Action::Stat { path: self.link(line, Some(0), 1)?.into(), follow: false }
            }
            "newfstatat" | "statx" | "faccessat" | "faccessat2" => {
                Action::Stat { path: self.path(line, Some(0), 1)?.into(), follow }
            }
            "name_to_handle_at" => Action::Stat {
                path: self.path(line, Some(0), 1)?.into(),
                follow: has("AT_SYMLINK_FOLLOW"),
            },
            "inotify_add_watch" => {
                Action::Stat { path: self.path(line, None, 1)?.into(), follow: true }
            }
            "readlink" => Action::ReadLink { path: self.link(line, None, 0)?.into() },
            "readlinkat" => Action::ReadLink { path: self.link(line, Some(0), 1)?.into() },
            "execve" => Action::Execute { path: self.path(line, None, 0)?.into() },
            "execveat" => Action::Execute { path: self.path_or_descriptor(line, 0, 1)?.into() },
            "unlink" | "rmdir" => Action::Remove { path: self.path(line, None, 0)?.into() },
            "unlinkat" => Action::Remove { path: self.path(line, Some(0), 1)?.into() },
            "mkdir" => Action::MakeDirectory { path: self.path(line, None, 0)?.into() },
            "mkdirat" => Action::MakeDirectory { path: self.path(line, Some(0), 1)?.into() },
            "mknod" => Action::MakeNode { path: self.path(line, None, 0)?.into() },
            "mknodat" => Action::MakeNode { path: self.path(line, Some(0), 1)?.into() },
            "symlink" => Action::MakeNode { path: self.path(line, None, 1)?.into() },
            "symlinkat" => Action::MakeNode { path: self.path(line, Some(1), 2)?.into() },
            "rename" => Action::Rename {
                from: self.path(line, None, 0)?.into(),
                to: self.path(line, None, 1)?.into(),
                exchange: false,
                keep: false,
            },
            "renameat" | "renameat2" => Action::Rename {
                from: self.path(line, Some(0), 1)?.into(),
                to: self.path(line, Some(2), 3)?.into(),
                exchange: has("RENAME_EXCHANGE"),
                keep: has("RENAME_NOREPLACE"),
            },
            "link" => Action::Link {
                from: self.path(line, None, 0)?.into(),
                to: self.path(line, None, 1)?.into(),
                follow: false,
            },
            "linkat" => {
                let to = self.path(line, Some(2), 3)?.into();
                match self.path_or_descriptor(line, 0, 1) {
                    Some(from) => {
                        Action::Link { from: from.into(), to, follow: has("AT_SYMLINK_FOLLOW") }
                    }
                    // A file that had no name so far.
                    None => Action::MakeNode { path: to },
                }
            }
            "truncate" => Action::Truncate { path: self.path(line, None, 0)?.into() },
            "chmod" | "chown" | "utime" | "utimes" | "setxattr" | "removexattr" => {
                Action::ChangeMode { path: self.path(line, None, 0)?.into(), follow: true }
            }
            "lchown" | "lsetxattr" | "lremovexattr" => {
                Action::ChangeMode { path: self.path(line, None, 0)?.into(), follow: false }
            }
            "fchmodat" => {
                Action::ChangeMode { path: self.path(line, Some(0), 1)?.into(), follow: true }
            }
            "fchownat" | "utimensat" | "futimesat" | "fchmodat2" => {
                Action::ChangeMode { path: self.path_or_descriptor(line, 0, 1)?.into(), follow }
            }
            "fchmod" | "fchown" | "fsetxattr" | "fremovexattr" => {
                Action::ChangeMode { path: line.descriptor(0)?.to_vec().into(), follow: true }
            }
            "fchdir" | "clone" | "clone3" | "fork" | "vfork" | "getcwd" => return None,
            other => panic!("the oracle does not know {other}: {}", line.text),
        })
    }
}

/// The flags as strace writes them.
fn how(flags: &str) -> OpenHow {
    let value = flags.split(['|', ',', '=', '{', '}']).fold(0, |value, flag| {
        value
            | match flag {
                "O_WRONLY" => libc::O_WRONLY,
                "O_RDWR" => libc::O_RDWR,
                "O_CREAT" => libc::O_CREAT,
                "O_EXCL" => libc::O_EXCL,
                "O_TRUNC" => libc::O_TRUNC,
                "O_NOFOLLOW" => libc::O_NOFOLLOW,
                "O_PATH" => libc::O_PATH,
                "O_TMPFILE" => libc::O_TMPFILE,
                "O_RDONLY" | "O_LARGEFILE" => 0,
                // Only that there is one more matters.
                other if other.starts_with("O_") => libc::O_CLOEXEC,
                _ => 0,
            }
    });
    OpenHow::from_flags(value as u64)
}

fn canonical(path: Vec<u8>) -> Vec<u8> {
    let resolved = Path::new(OsStr::from_bytes(&path)).canonicalize();
    resolved.map_or(path, |p| p.into_os_string().into_vec())
}

/// What runs when this file is executed.
fn interpreter(path: &[u8]) -> Vec<u8> {
    let Ok(content) = std::fs::read(OsStr::from_bytes(path)) else { return path.to_vec() };
    let Some(first) = content.strip_prefix(b"#!") else { return path.to_vec() };
    let mut words = first.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    canonical(words.next().unwrap_or_default().to_vec())
}
