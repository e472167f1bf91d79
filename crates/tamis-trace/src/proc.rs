//! What `/proc` tells about processes and threads, read in one way for all of tamis.
//!
//! A number can be that of a thread wherever the kernel takes one. A process that has ended and was
//! waited for is not there; one that was not waited for (a zombie) is there and not alive. Numbers are
//! used again by the kernel: what is read here is about whoever has the number now.

use std::path::PathBuf;

/// A thread's process, and the parent of that.
pub fn family(thread: u32) -> Option<(u32, u32)> {
    let status = status(&thread.to_string())?;
    let number = |name| field(&status, name)?.parse().ok();
    Some((number("Tgid")?, number("PPid")?))
}

/// The processes above one, the nearest first, up to the first of all.
pub fn ancestors(process: u32) -> impl Iterator<Item = u32> {
    let parent = |process: u32| Some(family(process)?.1).filter(|&parent| parent > 0);
    std::iter::successors(parent(process), move |&above| parent(above))
}

/// Whether a process, or thread, has not ended: it can still be inside a call.
pub fn is_alive(thread: u32) -> bool {
    stat(thread).is_some_and(|stat| !stat.has_ended())
}

/// A set of capabilities (`CapEff`, `CapPrm`, `CapBnd`) of a process, by number or as `self`.
pub fn capabilities(process: &str, set: &str) -> Option<u64> {
    u64::from_str_radix(field(&status(process)?, set)?, 16).ok()
}

/// The signals that wait for a process as a whole, one bit each from the lowest on.
pub(crate) fn pending_signals(process: u32) -> Option<u64> {
    u64::from_str_radix(field(&status(&process.to_string())?, "ShdPnd")?, 16).ok()
}

/// The threads of a process.
pub(crate) fn threads(process: u32) -> Vec<u32> {
    let entries = std::fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten();
    entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// How long a thread has run outside of the kernel, in ticks; none where it has ended.
pub fn user_time(thread: u32) -> Option<u64> {
    stat(thread).filter(|stat| !stat.has_ended())?.user_time
}

/// All processes below one that have not ended.
pub fn descendants(ancestor: u32) -> Vec<u32> {
    let all = all();
    let mut found = vec![ancestor];
    let mut at = 0;
    while at < found.len() {
        let above = found[at];
        found.extend(all.iter().filter(|(_, stat)| stat.parent == above).map(|(pid, _)| *pid));
        at += 1;
    }
    let ended = |pid: &u32| all.iter().any(|(other, stat)| other == pid && stat.has_ended());
    found.into_iter().skip(1).filter(|pid| !ended(pid)).collect()
}

/// The program that a process runs.
pub fn program(process: u32) -> Option<PathBuf> {
    std::fs::read_link(format!("/proc/{process}/exe")).ok()
}

/// The file name of a process's program, or its short name.
pub fn program_name(process: u32) -> String {
    let name = program(process).and_then(|p| Some(p.file_name()?.to_string_lossy().into_owned()));
    let short = || std::fs::read_to_string(format!("/proc/{process}/comm")).ok();
    name.or_else(|| short().map(|text| text.trim().to_owned()))
        .unwrap_or_else(|| format!("process {process}"))
}

fn all() -> Vec<(u32, Stat)> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers.filter_map(|pid| Some((pid, stat(pid)?))).collect()
}

fn status(process: &str) -> Option<String> {
    std::fs::read_to_string(format!("/proc/{process}/status")).ok()
}

fn field<'s>(status: &'s str, name: &str) -> Option<&'s str> {
    let named = |line: &'s str| line.strip_prefix(name)?.strip_prefix(':');
    status.lines().find_map(named).map(str::trim)
}

/// A line of `/proc/N/stat`.
#[derive(Debug, PartialEq, Eq)]
struct Stat {
    state: u8,
    parent: u32,
    user_time: Option<u64>,
}

impl Stat {
    /// A zombie, or dead.
    fn has_ended(&self) -> bool {
        matches!(self.state, b'Z' | b'X')
    }
}

fn stat(thread: u32) -> Option<Stat> {
    parsed(&std::fs::read(format!("/proc/{thread}/stat")).ok()?)
}

/// "number (name) state parent ...": the name can hold anything, brackets and lines, too.
fn parsed(stat: &[u8]) -> Option<Stat> {
    let end = stat.iter().rposition(|&byte| byte == b')')?;
    let rest = std::str::from_utf8(&stat[end + 1..]).ok()?;
    let mut fields = rest.split_ascii_whitespace();
    let state = *fields.next()?.as_bytes().first()?;
    let parent = fields.next()?.parse().ok()?;
    let user_time = fields.nth(9).and_then(|ticks| ticks.parse().ok());
    Some(Stat { state, parent, user_time })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Child, Command, Stdio};

    fn sleeping() -> Child {
        Command::new("sleep").arg("60").stdout(Stdio::null()).spawn().expect("sleep starts")
    }

    #[test]
    fn names_with_brackets_and_spaces_do_not_matter() {
        let line = b"7 (a) Z 1 (b\n) S 12 7 7 0 -1 4194560 1 2 3 4 55 66 0 0";
        let stat = Stat { state: b'S', parent: 12, user_time: Some(55) };
        assert_eq!(parsed(line), Some(stat));
        assert_eq!(parsed(b"7 (a) S 12"), Some(Stat { state: b'S', parent: 12, user_time: None }));
        for broken in [&b""[..], b"7 (a", b"7 (a)", b"7 (a) S", b"7 (a) S x"] {
            assert_eq!(parsed(broken), None);
        }
    }

    #[test]
    fn fields_are_found_by_their_whole_name() {
        let status = "Name:\tx\nNSpid:\t3\nPPidX:\t9\nPPid:\t 12 \n";
        assert_eq!(field(status, "PPid"), Some("12"));
        assert_eq!(field(status, "Pid"), None);
    }

    #[test]
    fn a_child_has_us_above_it() {
        let me = std::process::id();
        let mut child = sleeping();
        let pid = child.id();
        assert_eq!(family(pid), Some((pid, me)));
        assert!(is_alive(pid) && user_time(pid).is_some());
        assert_eq!(ancestors(pid).next(), Some(me));
        assert!(ancestors(pid).all(|above| above > 0), "it ends at the first of all");
        assert!(descendants(me).contains(&pid));
        child.kill().expect("it can be killed");
        // Ended, and not waited for.
        while is_alive(pid) {
            std::thread::yield_now();
        }
        assert_eq!(family(pid), Some((pid, me)));
        assert!(user_time(pid).is_none() && !descendants(me).contains(&pid));
        child.wait().expect("an end");
        assert!(family(pid).is_none() && !is_alive(pid));
    }

    #[test]
    fn a_thread_belongs_to_its_process() {
        // SAFETY: gettid has no precondition.
        let own = || unsafe { libc::syscall(libc::SYS_gettid) } as u32;
        let (thread, of) = std::thread::spawn(move || (own(), family(own()))).join().expect("ends");
        assert_ne!(thread, std::process::id());
        assert_eq!(of.map(|(process, _)| process), Some(std::process::id()));
    }

    #[test]
    fn our_own_program_and_capabilities() {
        let own = std::env::current_exe().expect("a program").canonicalize().expect("a file");
        assert_eq!(program(std::process::id()), Some(own.clone()));
        assert_eq!(program_name(std::process::id()), own.file_name().unwrap().to_string_lossy());
        assert!(capabilities("self", "CapEff").is_some());
        assert_eq!(capabilities("self", "CapNone"), None);
        assert_eq!(program_name(u32::MAX), format!("process {}", u32::MAX));
    }
}
