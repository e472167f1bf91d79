//! Which threads are about to change something.
//!
//! The world is as a logged read found it only while the tree changes nothing. So before a change
//! goes on, the threads that log get to know of it, and everything in the log is looked at. While the
//! change is on its way, the others' reads are notified, as they would be without a log. It is over
//! when the thread is heard of again, or has left the call.

use crate::decode::Call;
use crate::proc::{is_alive, user_time};
use std::sync::atomic::{Ordering, fence};
use tamis_patch::layout::{Header, NO_CHANGE, SEVERAL};

#[derive(Debug, Default)]
pub(crate) struct Changes {
    pending: Vec<Pending>,
}

#[derive(Debug)]
struct Pending {
    thread: u32,
    call: Call,
    /// How long the thread had run outside of the kernel when it was first looked at.
    user_time: Option<u64>,
}

impl Changes {
    /// A thread calls: what it was about to do is over.
    pub(crate) fn heard(&mut self, header: &Header, thread: u32) {
        if self.pending.is_empty() {
            return;
        }
        // The thread found it over itself.
        if header.changing.load(Ordering::SeqCst) == NO_CHANGE {
            self.pending.clear();
        }
        let before = self.pending.len();
        self.pending.retain(|p| p.thread != thread);
        if self.pending.len() != before {
            self.tell(header);
        }
    }

    /// A thread is about to make a change. Read the log after this.
    pub(crate) fn announce(&mut self, header: &Header, thread: u32, call: &Call) {
        self.pending.push(Pending { thread, call: *call, user_time: None });
        self.tell(header);
        header.generation.fetch_add(1, Ordering::SeqCst);
        fence(Ordering::SeqCst);
    }

    /// A read is notified because of a change: perhaps it is over, and no thread has reported it.
    pub(crate) fn look(&mut self, header: &Header) {
        let before = self.pending.len();
        self.pending.retain_mut(Pending::is_inside);
        if self.pending.len() != before {
            self.tell(header);
        }
    }

    fn tell(&self, header: &Header) {
        let changing = match self.pending.as_slice() {
            [] => NO_CHANGE,
            [one] => one.thread,
            _ => SEVERAL,
        };
        header.changing.store(changing, Ordering::SeqCst);
    }
}

impl Pending {
    /// Whether the thread can still be inside the call.
    fn is_inside(&mut self) -> bool {
        let Some(user_time) = user_time(self.thread) else { return false };
        // Time outside of the kernel passes after the call; how it is rounded is not exact.
        let first = *self.user_time.get_or_insert(user_time);
        if user_time > first + 1 {
            return false;
        }
        match std::fs::read_to_string(format!("/proc/{}/syscall", self.thread)) {
            Ok(text) => names(&text, &self.call),
            Err(_) => is_alive(self.thread),
        }
    }
}

/// Whether the kernel's words about a thread ("running", or number and arguments) can be about this
/// call. A thread that runs may be on its way into it.
fn names(text: &str, call: &Call) -> bool {
    let mut words = text.split_ascii_whitespace();
    let Some(Ok(number)) = words.next().map(str::parse::<i64>) else {
        return text.trim() == "running";
    };
    let argument = |word: &str| u64::from_str_radix(word.trim_start_matches("0x"), 16).ok();
    number == call.number && words.next().and_then(argument) == Some(call.arguments[0])
}

/// Whether a watched call only looks: at a path, or at an address.
pub(crate) fn only_looks(call: &Call) -> bool {
    let reads = |flags: u64| {
        let changing = libc::O_ACCMODE | libc::O_CREAT | libc::O_TRUNC | libc::O_TMPFILE;
        flags & (changing & !libc::O_DIRECTORY) as u64 == 0
    };
    match call.number {
        libc::SYS_open => reads(call.arguments[1]),
        libc::SYS_openat => reads(call.arguments[2]),
        libc::SYS_stat
        | libc::SYS_lstat
        | libc::SYS_newfstatat
        | libc::SYS_statx
        | libc::SYS_access
        | libc::SYS_faccessat
        | libc::SYS_faccessat2
        | libc::SYS_readlink
        | libc::SYS_readlinkat
        | libc::SYS_execve
        | libc::SYS_execveat
        | libc::SYS_chdir
        | libc::SYS_statfs
        | libc::SYS_getxattr
        | libc::SYS_lgetxattr
        | libc::SYS_listxattr
        | libc::SYS_llistxattr
        | libc::SYS_fgetxattr
        | libc::SYS_flistxattr
        | libc::SYS_inotify_add_watch
        | libc::SYS_connect
        | libc::SYS_listen
        | libc::SYS_sendto
        | libc::SYS_sendmsg
        | libc::SYS_sendmmsg
        | libc::SYS_io_uring_setup
        | libc::SYS_ioctl
        | libc::SYS_read
        | libc::SYS_readv
        | libc::SYS_pread64
        | libc::SYS_preadv
        | libc::SYS_preadv2
        | libc::SYS_recvfrom
        | libc::SYS_recvmsg => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(number: i64, arguments: [u64; 6]) -> Call {
        Call { number, arguments }
    }

    #[test]
    fn opening_to_write_changes() {
        let open = |flags: i32| only_looks(&call(libc::SYS_openat, [0, 0, flags as u64, 0, 0, 0]));
        assert!(open(libc::O_RDONLY | libc::O_CLOEXEC | libc::O_DIRECTORY));
        for flags in [
            libc::O_WRONLY,
            libc::O_RDWR,
            libc::O_CREAT,
            libc::O_TRUNC,
            libc::O_TMPFILE | libc::O_RDWR,
        ] {
            assert!(!open(flags), "{flags:#o}");
        }
        assert!(!only_looks(&call(libc::SYS_renameat2, [0; 6])));
        assert!(!only_looks(&call(libc::SYS_mount, [0; 6])));
    }

    #[test]
    fn the_kernel_s_words_about_a_call() {
        let rename = call(82, [0x7f00, 2, 0, 0, 0, 0]);
        assert!(names("82 0x7f00 0x2 0x0 0x0 0x0 0x0 0x7ffd 0x7fff\n", &rename));
        assert!(names("running\n", &rename));
        assert!(!names("82 0x7f01 0x2 0x0 0x0 0x0 0x0 0x7ffd 0x7fff\n", &rename));
        assert!(!names("0 0x7f00 0x2 0x0 0x0 0x0 0x0 0x7ffd 0x7fff\n", &rename));
        assert!(!names("-1 0x7ffd 0x7fff\n", &rename));
        assert!(!names("", &rename));
    }
}
