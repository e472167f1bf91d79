//! What tamis, the shepherd and the command say to each other: plain structures of fixed size, one
//! per packet, some with a descriptor in tow.

use std::io;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};

/// # Safety
/// Any bytes are a value of the type, and it has no padding that could carry secrets out: both ends
/// are the same program.
pub(crate) unsafe trait Plain: Copy + Default {}

/// The course of a run.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Frame {
    pub(crate) kind: u8,
    pub(crate) flag: u8,
    pub(crate) value: i32,
    pub(crate) cpu_us: u64,
}

// SAFETY: integers only.
unsafe impl Plain for Frame {}

/// A thread stopped at the entry of a call and waits for the [`Answer`].
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct StoppedCall {
    pub(crate) id: u64,
    pub(crate) thread: u32,
    pub(crate) architecture: u32,
    pub(crate) number: u64,
    pub(crate) arguments: [u64; 6],
}

// SAFETY: integers only.
unsafe impl Plain for StoppedCall {}

/// Lets a stopped call go on (0), or fails it with a (negative) error.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Answer {
    pub(crate) id: u64,
    pub(crate) thread: u32,
    pub(crate) error: i32,
}

// SAFETY: integers only.
unsafe impl Plain for Answer {}

pub(crate) fn socket_pair() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut fds = [0; 2];
    let kind = libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC;
    // SAFETY: fills the two descriptors, which we then own.
    unsafe {
        if libc::socketpair(libc::AF_UNIX, kind, 0, fds.as_mut_ptr()) != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok((OwnedFd::from_raw_fd(fds[0]), OwnedFd::from_raw_fd(fds[1])))
    }
}

/// Space for one control message with one descriptor, aligned as the kernel wants it.
#[repr(C, align(8))]
struct Control([u8; 32]);

/// Sends one packet, waiting for room.
pub(crate) fn send<T: Plain>(
    socket: RawFd,
    value: &T,
    descriptor: Option<RawFd>,
) -> io::Result<()> {
    send_with(socket, value, descriptor, 0)
}

/// Sends one packet; `WouldBlock` where there is no room now.
pub(crate) fn send_now<T: Plain>(socket: RawFd, value: &T) -> io::Result<()> {
    send_with(socket, value, None, libc::MSG_DONTWAIT)
}

fn send_with<T: Plain>(
    socket: RawFd,
    value: &T,
    descriptor: Option<RawFd>,
    flags: i32,
) -> io::Result<()> {
    let mut part = libc::iovec {
        iov_base: std::ptr::from_ref(value).cast_mut().cast(),
        iov_len: size_of::<T>(),
    };
    let mut control = Control([0; 32]);
    // SAFETY: msghdr is plain data; all pointers live until sendmsg returns.
    unsafe {
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        if let Some(fd) = descriptor {
            message.msg_control = (&raw mut control).cast();
            message.msg_controllen = libc::CMSG_SPACE(4) as usize;
            let header = libc::CMSG_FIRSTHDR(&raw const message);
            (*header).cmsg_level = libc::SOL_SOCKET;
            (*header).cmsg_type = libc::SCM_RIGHTS;
            (*header).cmsg_len = libc::CMSG_LEN(4) as usize;
            libc::CMSG_DATA(header).cast::<RawFd>().write_unaligned(fd);
        }
        loop {
            if libc::sendmsg(socket, &raw const message, flags | libc::MSG_NOSIGNAL) >= 0 {
                return Ok(());
            }
            if *libc::__errno_location() != libc::EINTR {
                return Err(io::Error::last_os_error());
            }
        }
    }
}

/// The next packet; `None` when the other end is gone.
pub(crate) fn receive<T: Plain>(
    socket: RawFd,
    wait: bool,
) -> io::Result<Option<(T, Option<OwnedFd>)>> {
    let mut value = T::default();
    let mut part = libc::iovec { iov_base: (&raw mut value).cast(), iov_len: size_of::<T>() };
    let mut control = Control([0; 32]);
    // SAFETY: as in `send_with`; a received descriptor is ours.
    unsafe {
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        message.msg_control = (&raw mut control).cast();
        message.msg_controllen = size_of::<Control>();
        let flags = libc::MSG_CMSG_CLOEXEC | if wait { 0 } else { libc::MSG_DONTWAIT };
        let got = loop {
            let got = libc::recvmsg(socket, &raw mut message, flags);
            if got >= 0 || *libc::__errno_location() != libc::EINTR {
                break got;
            }
        };
        if got < 0 {
            return Err(io::Error::last_os_error());
        }
        if got as usize != size_of::<T>() {
            return Ok(None);
        }
        let header = libc::CMSG_FIRSTHDR(&raw const message);
        let descriptor =
            (!header.is_null() && (*header).cmsg_type == libc::SCM_RIGHTS).then(|| {
                OwnedFd::from_raw_fd(libc::CMSG_DATA(header).cast::<RawFd>().read_unaligned())
            });
        Ok(Some((value, descriptor)))
    }
}
