//! The socket behind a descriptor of a stopped process.
//!
//! A copy of the descriptor tells what the process itself could ask: the kind of the socket and the
//! address that it got. Kernels before 5.6 give no copy; then the table of descriptors names at least
//! its number.

use crate::event::{Socket, SocketKind};
use crate::process::Process;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

impl Process {
    /// What is behind a descriptor; nothing is known of what is no socket.
    pub(crate) fn socket(self, descriptor: i32) -> Socket {
        match self.copy_of(descriptor) {
            Some(copy) => describe(&copy).unwrap_or_default(),
            None => Socket { inode: self.socket_inode(descriptor), ..Socket::default() },
        }
    }

    fn copy_of(self, descriptor: i32) -> Option<OwnedFd> {
        let process = open_process(self.thread).or_else(|| open_process(self.leader()))?;
        // SAFETY: a new descriptor of our own, or an error.
        let copy =
            unsafe { libc::syscall(libc::SYS_pidfd_getfd, process.as_raw_fd(), descriptor, 0) };
        // SAFETY: as above.
        (copy >= 0).then(|| unsafe { OwnedFd::from_raw_fd(copy as i32) })
    }

    fn socket_inode(self, descriptor: i32) -> u64 {
        std::fs::read_link(format!("/proc/{}/fd/{descriptor}", self.thread))
            .ok()
            .and_then(|t| t.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok())
            .unwrap_or(0)
    }
}

fn open_process(number: u32) -> Option<OwnedFd> {
    // SAFETY: a new descriptor of our own, or an error (a thread that is no process has none).
    let process = unsafe { libc::syscall(libc::SYS_pidfd_open, number, 0) };
    // SAFETY: as above.
    (process >= 0).then(|| unsafe { OwnedFd::from_raw_fd(process as i32) })
}

fn describe(copy: &OwnedFd) -> Option<Socket> {
    // SAFETY: plain data that the call fills.
    let mut stat: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: as above.
    let done = unsafe { libc::fstat(copy.as_raw_fd(), &raw mut stat) };
    if done != 0 || stat.st_mode & libc::S_IFMT != libc::S_IFSOCK {
        return None;
    }
    let (kind, local) = (kind_of(copy), local_address(copy));
    Some(Socket { inode: stat.st_ino, kind, local, ..Socket::default() })
}

fn kind_of(copy: &OwnedFd) -> SocketKind {
    let mut number: libc::c_int = 0;
    let mut size = size_of_val(&number) as libc::socklen_t;
    // SAFETY: the kernel writes at most `size` bytes into `number`.
    let done = unsafe {
        libc::getsockopt(
            copy.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_TYPE,
            (&raw mut number).cast(),
            &raw mut size,
        )
    };
    if done == 0 { SocketKind::from_number(number) } else { SocketKind::Unknown }
}

fn local_address(copy: &OwnedFd) -> Option<SocketAddr> {
    let mut bytes = [0_u8; 128];
    let mut size = bytes.len() as libc::socklen_t;
    // SAFETY: the kernel writes at most `size` bytes into `bytes`.
    let done =
        unsafe { libc::getsockname(copy.as_raw_fd(), bytes.as_mut_ptr().cast(), &raw mut size) };
    (done == 0).then(|| internet_address(&bytes[..size as usize]))?.filter(|a| a.port() != 0)
}

/// A `sockaddr` of the internet.
pub(crate) fn internet_address(bytes: &[u8]) -> Option<SocketAddr> {
    let family = i32::from(u16::from_ne_bytes(*bytes.first_chunk()?));
    let port = u16::from_be_bytes(*bytes.get(2..)?.first_chunk()?);
    match family {
        libc::AF_INET => {
            let ip: [u8; 4] = *bytes.get(4..)?.first_chunk()?;
            Some(SocketAddr::from((Ipv4Addr::from(ip), port)))
        }
        libc::AF_INET6 => {
            let ip: [u8; 16] = *bytes.get(8..)?.first_chunk()?;
            Some(SocketAddr::from((Ipv6Addr::from(ip), port)))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, UdpSocket};

    fn me() -> Process {
        Process { thread: std::process::id() }
    }

    #[test]
    fn a_listener_is_described() {
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let found = me().socket(server.as_raw_fd());
        assert_eq!(found.kind, SocketKind::Stream);
        assert_eq!(found.local, server.local_addr().ok());
        assert_eq!(found.inode, me().socket_inode(server.as_raw_fd()));
    }

    #[test]
    fn kinds_and_addresses_of_both_families() {
        let datagram = UdpSocket::bind("127.0.0.1:0").unwrap();
        assert_eq!(me().socket(datagram.as_raw_fd()).kind, SocketKind::Datagram);
        if let Ok(six) = TcpListener::bind("[::1]:0") {
            assert_eq!(me().socket(six.as_raw_fd()).local, six.local_addr().ok());
        }
        let (one, _other) = std::os::unix::net::UnixStream::pair().unwrap();
        let found = me().socket(one.as_raw_fd());
        assert_eq!((found.kind, found.local), (SocketKind::Stream, None));
    }

    #[test]
    fn a_file_and_nothing_are_no_sockets() {
        let file = std::fs::File::open("/dev/null").unwrap();
        assert_eq!(me().socket(file.as_raw_fd()), Socket::default());
        assert_eq!(me().socket(4000), Socket::default());
    }

    #[test]
    fn cut_addresses_are_none() {
        let whole = [2, 0, 0, 80, 127, 0, 0, 1];
        assert_eq!(internet_address(&whole), "127.0.0.1:80".parse().ok());
        for length in 0..whole.len() {
            assert_eq!(internet_address(&whole[..length]), None);
        }
    }
}
