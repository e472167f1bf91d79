//! Reads what a stopped thread of the tree names: memory, working directory, descriptors.

use std::io;
use std::os::unix::ffi::OsStringExt;

/// A view of a thread that waits in a call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Process {
    pub(crate) thread: u32,
}

/// Why something could not be read.
#[derive(Debug)]
pub(crate) enum Unread {
    /// The call itself will fail (bad pointer), or the process is gone: nothing to observe.
    Nothing,
    /// It starts from a folder that is gone: there is nothing in it, and only `..` leads out.
    Gone,
    /// It is about what is behind descriptor 0, which has no path (`/dev/stdin`), or one of a device.
    StandardInput,
    /// It may succeed and we do not know what it is about.
    Unknown(String),
}

/// What becomes of a link of /proc at the end of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Last {
    Follow,
    /// The call is about the link itself: its text is a process's state, not a file.
    Keep,
}

/// Longest path the kernel takes, with its end.
const PATH_MAX: usize = 4096;
const PAGE: u64 = 4096;

impl Process {
    /// Reads memory; fewer bytes where the mapping ends.
    pub(crate) fn read(self, address: u64, buffer: &mut [u8]) -> Result<usize, Unread> {
        let local = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
        let remote = libc::iovec { iov_base: address as *mut _, iov_len: buffer.len() };
        // SAFETY: writes into `buffer` only; the remote address is checked by the kernel.
        let got = unsafe {
            libc::process_vm_readv(
                self.thread as libc::pid_t,
                &raw const local,
                1,
                &raw const remote,
                1,
                0,
            )
        };
        if got >= 0 {
            return Ok(got as usize);
        }
        let error = io::Error::last_os_error();
        match error.raw_os_error() {
            Some(libc::EFAULT | libc::ESRCH) => Err(Unread::Nothing),
            _ => Err(Unread::Unknown(format!(
                "memory of {} is closed to us: {error}",
                crate::proc::program_name(self.thread)
            ))),
        }
    }

    /// Reads a plain structure, zero beyond what is there.
    pub(crate) fn read_exact<const N: usize>(self, address: u64) -> Result<[u8; N], Unread> {
        let mut buffer = [0; N];
        match self.read(address, &mut buffer)? {
            n if n == N => Ok(buffer),
            _ => Err(Unread::Nothing),
        }
    }

    /// Reads the first bytes at each of these places, zero beyond what is mapped.
    pub(crate) fn read_starts<const N: usize>(self, addresses: &[u64]) -> Option<Vec<[u8; N]>> {
        let mut starts = vec![[0; N]; addresses.len()];
        let mut done = 0;
        while done < addresses.len() {
            let rest = &mut starts[done..];
            let local = libc::iovec { iov_base: rest.as_mut_ptr().cast(), iov_len: rest.len() * N };
            let remote: Vec<libc::iovec> = addresses[done..]
                .iter()
                .map(|&a| libc::iovec { iov_base: a as *mut _, iov_len: N })
                .collect();
            // SAFETY: writes into `starts` only; the remote addresses are checked by the kernel.
            let got = unsafe {
                libc::process_vm_readv(
                    self.thread as libc::pid_t,
                    &raw const local,
                    1,
                    remote.as_ptr(),
                    remote.len() as libc::c_ulong,
                    0,
                )
            };
            done += usize::try_from(got).unwrap_or(0) / N;
            if done < addresses.len() {
                // It is close to the end of what is mapped, or nowhere.
                let string = self.read_path(addresses[done]).ok()?;
                starts[done] = [0; N];
                for (to, from) in starts[done].iter_mut().zip(string) {
                    *to = from;
                }
                done += 1;
            }
        }
        Some(starts)
    }

    /// Writes a number; false where it is not mapped.
    pub(crate) fn write(self, address: u64, value: u32) -> bool {
        let local = libc::iovec {
            iov_base: (&raw const value).cast_mut().cast(),
            iov_len: size_of::<u32>(),
        };
        let remote = libc::iovec { iov_base: address as *mut _, iov_len: size_of::<u32>() };
        // SAFETY: reads `value` only; the remote address is checked by the kernel.
        let put = unsafe {
            libc::process_vm_writev(
                self.thread as libc::pid_t,
                &raw const local,
                1,
                &raw const remote,
                1,
                0,
            )
        };
        put == size_of::<u32>() as isize
    }

    /// Reads a C string of at most the length of a path.
    pub(crate) fn read_path(self, address: u64) -> Result<Vec<u8>, Unread> {
        let mut path = Vec::new();
        let mut address = address;
        // Most paths are short.
        let mut buffer = [0; 256];
        while path.len() < PATH_MAX {
            // Not beyond a page: the next one may not be mapped.
            let want = buffer.len().min((PAGE - address % PAGE) as usize);
            let got = self.read(address, &mut buffer[..want])?;
            if got == 0 {
                return Err(Unread::Nothing);
            }
            if let Some(end) = buffer[..got].iter().position(|&b| b == 0) {
                path.extend_from_slice(&buffer[..end]);
                break;
            }
            path.extend_from_slice(&buffer[..got]);
            address += got as u64;
        }
        // With its end it must fit, or the kernel answers ENAMETOOLONG.
        if path.len() < PATH_MAX { Ok(path) } else { Err(Unread::Nothing) }
    }

    /// Makes a path absolute as this thread would.
    pub(crate) fn absolute(
        self,
        directory: i32,
        path: Vec<u8>,
        last: Last,
    ) -> Result<Vec<u8>, Unread> {
        if path.first() == Some(&b'/') {
            return self.through_proc(path, last);
        }
        let mut absolute = self.directory(directory).map_err(|why| why.of_way(&path))?;
        if absolute.last() != Some(&b'/') {
            absolute.push(b'/');
        }
        absolute.extend_from_slice(&path);
        self.through_proc(absolute, last)
    }

    /// The path behind a directory descriptor, or the working directory.
    pub(crate) fn directory(self, descriptor: i32) -> Result<Vec<u8>, Unread> {
        if descriptor == libc::AT_FDCWD { self.link("cwd") } else { self.descriptor(descriptor) }
    }

    /// The path behind a descriptor.
    pub(crate) fn descriptor(self, descriptor: i32) -> Result<Vec<u8>, Unread> {
        if descriptor < 0 {
            return Err(Unread::Nothing);
        }
        self.link(&format!("fd/{descriptor}"))
    }

    fn link(self, name: &str) -> Result<Vec<u8>, Unread> {
        let target = match std::fs::read_link(format!("/proc/{}/{name}", self.thread)) {
            Ok(target) => target.into_os_string().into_vec(),
            Err(e) if matches!(e.raw_os_error(), Some(libc::ENOENT | libc::ESRCH)) => {
                return Err(Unread::Nothing);
            }
            Err(e) => {
                let who = crate::proc::program_name(self.thread);
                return Err(Unread::Unknown(format!("{name} of {who}: {e}")));
            }
        };
        // Pipes, sockets and anonymous files have no path; nothing is looked up in them, nor in a
        // directory that is gone.
        let nameless = target.first() != Some(&b'/') || target.starts_with(b"/memfd:");
        if name == "fd/0" && (nameless || target.starts_with(b"/dev/")) {
            return Err(Unread::StandardInput);
        }
        if nameless {
            return Err(Unread::Nothing);
        }
        if target.ends_with(b" (deleted)")
            && std::fs::symlink_metadata(std::ffi::OsString::from_vec(target.clone())).is_err()
        {
            return Err(Unread::Gone);
        }
        Ok(target)
    }

    /// Follows the links of /proc that lead to a process's own things: `/proc/self/cwd`,
    /// `/proc/7/fd/3`, `/dev/fd/3`. To us they would mean other things, and to most filters nothing.
    fn through_proc(self, path: Vec<u8>, last: Last) -> Result<Vec<u8>, Unread> {
        if !path.starts_with(b"/dev/") && !path.windows(4).any(|w| w == b"proc") {
            return Ok(path);
        }
        let mut place: Vec<Vec<u8>> = Vec::new();
        let mut rest = path.as_slice();
        while !rest.is_empty() {
            let end = rest.iter().position(|&b| b == b'/').unwrap_or(rest.len());
            let name = &rest[..end];
            rest = rest[end..].strip_prefix(b"/").unwrap_or_default();
            match name {
                b"" | b"." => continue,
                b".." => drop(place.pop()),
                _ => place.push(name.to_vec()),
            }
            let names: Vec<&[u8]> = place.iter().map(Vec::as_slice).collect();
            let process = |name: &[u8]| number(name).map(|thread| Self { thread });
            let (whose, link) = match names.as_slice() {
                [b"proc", b"self"] => {
                    place[1] = self.leader().to_string().into_bytes();
                    continue;
                }
                [b"proc", b"thread-self"] => {
                    place[1] = self.thread.to_string().into_bytes();
                    continue;
                }
                [b"proc", _, b"task", thread] if number(thread).is_some() => {
                    place = vec![b"proc".to_vec(), thread.to_vec()];
                    continue;
                }
                [b"dev", b"fd"] => {
                    let leader = self.leader().to_string().into_bytes();
                    place = vec![b"proc".to_vec(), leader, b"fd".to_vec()];
                    continue;
                }
                [b"dev", b"stdin"] => (Self { thread: self.leader() }, "fd/0".to_owned()),
                [b"dev", b"stdout"] => (Self { thread: self.leader() }, "fd/1".to_owned()),
                [b"dev", b"stderr"] => (Self { thread: self.leader() }, "fd/2".to_owned()),
                [b"proc", pid, link @ (b"cwd" | b"root" | b"exe")] => match process(pid) {
                    Some(whose) => (whose, String::from_utf8_lossy(link).into_owned()),
                    None => continue,
                },
                [b"proc", pid, b"fd", n] => match (process(pid), number(n)) {
                    (Some(whose), Some(n)) => (whose, format!("fd/{n}")),
                    _ => continue,
                },
                _ => continue,
            };
            if rest.is_empty() && last == Last::Keep {
                return Ok(path);
            }
            if whose.leader() != self.leader() && !whose.sees_what_we_see() {
                let path = String::from_utf8_lossy(&path);
                let why = format!("{path} leads to where another process has other mounts");
                return Err(Unread::Unknown(why));
            }
            let mut target = match whose.link(&link) {
                Ok(target) => target,
                // A process outside of the tree that is closed to us is closed to the tree.
                Err(Unread::Unknown(_)) if whose.leader() != self.leader() => return Ok(path),
                // What has no path, or no longer one, is known only where a process of the tree made it.
                Err(Unread::Nothing | Unread::Gone) if !whose.is_ours() && whose.has(&link) => {
                    let path = String::from_utf8_lossy(&path);
                    let why =
                        format!("{path} is something without a path that another process has");
                    return Err(Unread::Unknown(why));
                }
                Err(unread) => return Err(unread.of_way(rest)),
            };
            if rest.is_empty() {
                return Ok(target);
            }
            target.push(b'/');
            target.extend_from_slice(rest);
            // The target may lie in /proc itself; what is left gets shorter each time.
            return self.through_proc(target, last);
        }
        Ok(path)
    }

    /// Whether it is us, or was started, however indirectly, by us: the shepherd takes in what lost
    /// its parent.
    fn is_ours(self) -> bool {
        let us = std::process::id();
        self.leader() == us || crate::proc::ancestors(self.thread).any(|above| above == us)
    }

    fn has(self, link: &str) -> bool {
        std::fs::symlink_metadata(format!("/proc/{}/{link}", self.thread)).is_ok()
    }

    /// Whether a path means to this process what it means to us, or the process is gone or closed
    /// to us, and so to the tree.
    fn sees_what_we_see(self) -> bool {
        let mounts = |whose: &str| std::fs::read_link(format!("/proc/{whose}/ns/mnt")).ok();
        let theirs = mounts(&self.thread.to_string());
        theirs.is_none() || theirs == mounts("self")
    }

    /// The number of the process to which this thread belongs.
    pub(crate) fn leader(self) -> u32 {
        crate::proc::family(self.thread).map_or(self.thread, |(process, _)| process)
    }
}

impl Unread {
    /// For a path from there on: what is in a folder that is gone is nothing, what is around it may
    /// be anything.
    fn of_way(self, path: &[u8]) -> Self {
        match self {
            Self::Gone if path.split(|&b| b == b'/').any(|name| name == b"..") => {
                Self::Unknown(format!("{} starts from a folder that is gone", path.escape_ascii()))
            }
            other => other,
        }
    }
}

fn number(name: &[u8]) -> Option<u32> {
    std::str::from_utf8(name).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn me() -> Process {
        // SAFETY: gettid has no precondition.
        Process { thread: unsafe { libc::gettid() } as u32 }
    }

    #[test]
    fn reads_strings_across_pages() {
        let mut text = vec![b'a'; 4000];
        text.push(0);
        let path = me().read_path(text.as_ptr() as u64).unwrap();
        assert_eq!(path.len(), 4000);
    }

    #[test]
    fn a_bad_pointer_is_nothing() {
        assert!(matches!(me().read_path(8), Err(Unread::Nothing)));
    }

    #[test]
    fn starts_are_read_up_to_the_end_of_what_is_mapped() {
        let (long, short) = (c"a long one, longer than asked for", c"b");
        // SAFETY: one page, of which the last two bytes are a string.
        let last = unsafe {
            let page = libc::mmap(
                std::ptr::null_mut(),
                PAGE as usize,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            );
            let last = page.cast::<u8>().add(PAGE as usize - 2);
            last.write(b'c');
            last as u64
        };
        let places = [long.as_ptr() as u64, last, short.as_ptr() as u64];
        let starts = me().read_starts::<8>(&places).unwrap();
        assert_eq!(starts[0], *b"a long o");
        assert_eq!(starts[1], *b"c\0\0\0\0\0\0\0");
        assert_eq!(starts[2][..2], *b"b\0");
        assert!(me().read_starts::<8>(&[8]).is_none());
    }

    #[test]
    fn a_number_is_written() {
        let value = std::sync::atomic::AtomicU32::new(3);
        assert!(me().write(value.as_ptr() as u64, 4));
        assert_eq!(value.load(std::sync::atomic::Ordering::Relaxed), 4);
        assert!(!me().write(8, 4));
    }

    #[test]
    fn too_long_is_nothing() {
        let mut text = vec![b'a'; 9000];
        text.push(0);
        assert!(matches!(me().read_path(text.as_ptr() as u64), Err(Unread::Nothing)));
    }

    #[test]
    fn relative_paths_get_the_working_directory() {
        let cwd = std::env::current_dir().unwrap().into_os_string().into_vec();
        let got = me().absolute(libc::AT_FDCWD, b"x/y".to_vec(), Last::Follow).unwrap();
        assert_eq!(got, [cwd.as_slice(), b"/x/y"].concat());
    }

    #[test]
    fn proc_self_is_translated() {
        let cwd = std::env::current_dir().unwrap().into_os_string().into_vec();
        let absolute = |path: &str| me().absolute(0, path.as_bytes().to_vec(), Last::Follow);
        let mine = std::process::id();
        for path in [
            "/proc/self/cwd/x",
            "/proc/thread-self/cwd/x",
            "//proc/./self//cwd/x",
            "/proc/self/../self/cwd/x",
            &format!("/proc/{mine}/cwd/x"),
            &format!("/proc/self/task/{mine}/cwd/x"),
            &format!("/dev/../proc/self/cwd/../{}/x", cwd.escape_ascii()),
        ] {
            let got = absolute(path).unwrap();
            assert!(
                got.ends_with(b"/x") && got.starts_with(&cwd),
                "{path}: {}",
                got.escape_ascii()
            );
        }
        for path in ["/proc/self/maps", "/proc/cpuinfo", "/proc/self/fd", "/proc", "/dev/null"] {
            assert_eq!(absolute(path).unwrap(), path.as_bytes());
        }
        assert!(matches!(absolute("/dev/fd/4000"), Err(Unread::Nothing)));
    }

    #[test]
    fn a_call_about_the_link_keeps_it() {
        let got = me().absolute(0, b"/proc/self/exe".to_vec(), Last::Keep).unwrap();
        assert_eq!(got, b"/proc/self/exe");
    }

    #[test]
    fn a_path_with_its_end_must_fit() {
        for (length, fits) in [(4095, true), (4096, false), (4100, false)] {
            let mut text = vec![b'a'; length];
            text.push(0);
            assert_eq!(me().read_path(text.as_ptr() as u64).is_ok(), fits, "{length}");
        }
    }
}
