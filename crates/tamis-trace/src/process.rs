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
    /// It may succeed and we do not know what it is about.
    Unknown(String),
}

/// Longest path the kernel takes.
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
                crate::tree::program_name(self.thread)
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

    /// Reads a C string of at most the length of a path.
    pub(crate) fn read_path(self, address: u64) -> Result<Vec<u8>, Unread> {
        let mut path = Vec::new();
        let mut address = address;
        let mut buffer = [0; PAGE as usize];
        while path.len() < PATH_MAX {
            // Page by page: the next page may not be mapped. Most paths are short.
            let to_page_end = (PAGE - address % PAGE) as usize;
            let want = if path.is_empty() { to_page_end.min(256) } else { to_page_end };
            let got = self.read(address, &mut buffer[..want])?;
            if got == 0 {
                return Err(Unread::Nothing);
            }
            if let Some(end) = buffer[..got].iter().position(|&b| b == 0) {
                path.extend_from_slice(&buffer[..end]);
                return Ok(path);
            }
            path.extend_from_slice(&buffer[..got]);
            address += got as u64;
        }
        // The kernel answers ENAMETOOLONG.
        Err(Unread::Nothing)
    }

    /// Makes a path absolute as this thread would.
    pub(crate) fn absolute(self, directory: i32, path: Vec<u8>) -> Result<Vec<u8>, Unread> {
        if path.first() == Some(&b'/') {
            return self.through_proc(path);
        }
        let mut absolute = self.directory(directory)?;
        if absolute.last() != Some(&b'/') {
            absolute.push(b'/');
        }
        absolute.extend_from_slice(&path);
        Ok(absolute)
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
                let who = crate::tree::program_name(self.thread);
                return Err(Unread::Unknown(format!("{name} of {who}: {e}")));
            }
        };
        // Pipes, sockets and anonymous files have no path; nothing is looked up in them, nor in a
        // directory that is gone.
        if target.first() != Some(&b'/') || target.starts_with(b"/memfd:") {
            return Err(Unread::Nothing);
        }
        if target.ends_with(b" (deleted)")
            && std::fs::symlink_metadata(std::ffi::OsString::from_vec(target.clone())).is_err()
        {
            return Err(Unread::Nothing);
        }
        Ok(target)
    }

    /// `/proc/self/...` and `/dev/fd/...` mean the thread's own things, not ours.
    fn through_proc(self, path: Vec<u8>) -> Result<Vec<u8>, Unread> {
        let own = |rest: &[u8]| -> Option<Result<Vec<u8>, Unread>> {
            let text = std::str::from_utf8(rest).ok()?;
            let (first, below) = match text.split_once('/') {
                Some(("fd", rest)) => {
                    let (n, below) = rest.split_once('/').unwrap_or((rest, ""));
                    n.parse::<u32>().ok()?;
                    (format!("fd/{n}"), below)
                }
                Some((first, below)) => (first.to_owned(), below),
                None => (text.to_owned(), ""),
            };
            if !first.starts_with("fd/") && !matches!(first.as_str(), "cwd" | "root" | "exe") {
                return None;
            }
            Some(self.link(&first).map(|mut target| {
                if !below.is_empty() {
                    target.push(b'/');
                    target.extend_from_slice(below.as_bytes());
                }
                target
            }))
        };
        let rest = if let Some(rest) = path.strip_prefix(b"/dev/fd/") {
            [b"fd/", rest].concat()
        } else if let Some(rest) = path.strip_prefix(b"/proc/") {
            let Some(slash) = rest.iter().position(|&b| b == b'/') else { return Ok(path) };
            let (who, rest) = (&rest[..slash], &rest[slash + 1..]);
            let rest = match who {
                b"self" => rest,
                // /proc/thread-self/..., /proc/self/task/N/... are not used for files.
                b"thread-self" => rest,
                _ if who == self.thread.to_string().as_bytes() => rest,
                _ => return Ok(path),
            };
            rest.to_vec()
        } else {
            return Ok(path);
        };
        own(&rest).unwrap_or(Ok(path))
    }
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
    fn too_long_is_nothing() {
        let mut text = vec![b'a'; 9000];
        text.push(0);
        assert!(matches!(me().read_path(text.as_ptr() as u64), Err(Unread::Nothing)));
    }

    #[test]
    fn relative_paths_get_the_working_directory() {
        let cwd = std::env::current_dir().unwrap().into_os_string().into_vec();
        let got = me().absolute(libc::AT_FDCWD, b"x/y".to_vec()).unwrap();
        assert_eq!(got, [cwd.as_slice(), b"/x/y"].concat());
    }

    #[test]
    fn proc_self_is_translated() {
        let cwd = std::env::current_dir().unwrap().into_os_string().into_vec();
        let got = me().absolute(0, b"/proc/self/cwd/x".to_vec()).unwrap();
        assert_eq!(got, [cwd.as_slice(), b"/x"].concat());
        let got = me().absolute(0, b"/proc/self/maps".to_vec()).unwrap();
        assert_eq!(got, b"/proc/self/maps");
    }
}
