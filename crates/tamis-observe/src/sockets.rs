//! Who listens where, asked of the kernel (sock_diag): one question and one answer of a few
//! microseconds, where the tables in /proc/net would have to be read as a whole.
//!
//! Nothing is connected to: a server must not see a visitor because tamis decides.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::sync::{Mutex, PoisonError};

/// A place on this machine that can be connected to.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Endpoint {
    Tcp(SocketAddr),
    Udp(SocketAddr),
    /// A Unix socket by its resolved path.
    Unix(Vec<u8>),
    Abstract(Vec<u8>),
}

const BY_FAMILY: u16 = 20;
const ERROR: u16 = 2;
const DONE: u16 = 3;
const REQUEST: u16 = 1;
const DUMP: u16 = 0x300;
const HEADER: usize = 16;
const LISTEN: u8 = 10;
const ANY_COOKIE: [u8; 8] = [0xff; 8];

/// A line to the kernel, opened when it is first needed.
#[derive(Debug, Default)]
pub(crate) struct Sockets {
    line: Mutex<Option<OwnedFd>>,
}

impl Sockets {
    /// The number of the socket that takes what is sent to this place; `None` where there is none.
    pub(crate) fn find(&self, place: &Endpoint) -> io::Result<Option<u64>> {
        match place {
            Endpoint::Tcp(address) => self.internet(libc::IPPROTO_TCP, reachable(*address)),
            Endpoint::Udp(address) => self.internet(libc::IPPROTO_UDP, reachable(*address)),
            Endpoint::Unix(path) => {
                use std::os::unix::ffi::OsStrExt;
                let file = std::path::Path::new(std::ffi::OsStr::from_bytes(path));
                match std::fs::symlink_metadata(file) {
                    Ok(found) => self.unix(&|socket| socket.is_at(path, &found)),
                    Err(_) => Ok(None),
                }
            }
            Endpoint::Abstract(name) => {
                self.unix(&|socket| socket.name.strip_prefix(b"\0") == Some(name))
            }
        }
    }

    /// Asks over the line. After an error it is dropped, with what may still come over it.
    fn ask<T>(&self, question: impl FnOnce(&OwnedFd) -> io::Result<T>) -> io::Result<T> {
        let mut line = self.line.lock().unwrap_or_else(PoisonError::into_inner);
        let open = match line.take() {
            Some(open) => open,
            None => open_line()?,
        };
        let answer = question(&open)?;
        *line = Some(open);
        Ok(answer)
    }

    fn internet(&self, protocol: i32, address: SocketAddr) -> io::Result<Option<u64>> {
        let (mut found, mut error) = (None, None);
        self.ask(|line| {
            send(line, 0, &internet_request(protocol, address))?;
            receive(line, |kind, body| {
                let is_there = protocol == libc::IPPROTO_UDP || body.get(1) == Some(&LISTEN);
                match kind {
                    BY_FAMILY if is_there => found = word(body, 68).map(u64::from),
                    ERROR => error = word(body, 0).map(|code| -code.cast_signed()),
                    _ => {}
                }
                // One answer, or one error.
                false
            })
        })?;
        match error {
            Some(code) if code != libc::ENOENT => Err(io::Error::from_raw_os_error(code)),
            _ => Ok(found),
        }
    }

    fn unix(&self, wanted: &dyn Fn(&UnixSocket<'_>) -> bool) -> io::Result<Option<u64>> {
        const SHOW_NAME_AND_FILE: u32 = 1 | 2;
        let mut request = vec![libc::AF_UNIX as u8, 0, 0, 0];
        request.extend(u32::MAX.to_ne_bytes());
        request.extend(0_u32.to_ne_bytes());
        request.extend(SHOW_NAME_AND_FILE.to_ne_bytes());
        request.extend(ANY_COOKIE);
        let (mut found, mut error) = (None, None);
        self.ask(|line| {
            send(line, DUMP, &request)?;
            receive(line, |kind, body| {
                let socket = UnixSocket::parse(body).filter(|_| kind == BY_FAMILY);
                if let Some(socket) = socket.filter(|s| s.takes() && wanted(s)) {
                    found = Some(socket.inode);
                }
                if kind == ERROR {
                    error = word(body, 0);
                }
                kind != DONE && kind != ERROR
            })
        })?;
        match error {
            Some(code) => Err(io::Error::from_raw_os_error(-code.cast_signed())),
            None => Ok(found),
        }
    }
}

/// Connecting to "any address" means this machine.
fn reachable(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip().to_canonical() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::from((ip, address.port()))
}

fn open_line() -> io::Result<OwnedFd> {
    let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC;
    // SAFETY: a new descriptor of our own, or an error.
    let line = unsafe { libc::socket(libc::AF_NETLINK, kind, libc::NETLINK_SOCK_DIAG) };
    if line < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: as above.
    Ok(unsafe { OwnedFd::from_raw_fd(line) })
}

/// `inet_diag_req_v2`: which socket a packet from nowhere to this address would reach.
fn internet_request(protocol: i32, address: SocketAddr) -> Vec<u8> {
    let family = if address.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 };
    let mut ip = [0; 16];
    match address.ip() {
        IpAddr::V4(v4) => ip[..4].copy_from_slice(&v4.octets()),
        IpAddr::V6(v6) => ip.copy_from_slice(&v6.octets()),
    }
    let (here, nowhere) = ((address.port().to_be_bytes(), ip), ([0; 2], [0; 16]));
    // The two ends are swapped for UDP, "for historical reasons".
    let ends = if protocol == libc::IPPROTO_UDP { (nowhere, here) } else { (here, nowhere) };
    let mut request = vec![family as u8, protocol as u8, 0, 0];
    request.extend(u32::MAX.to_ne_bytes());
    request.extend(ends.0.0);
    request.extend(ends.1.0);
    request.extend(ends.0.1);
    request.extend(ends.1.1);
    request.extend(0_u32.to_ne_bytes());
    request.extend(ANY_COOKIE);
    request
}

fn send(line: &OwnedFd, flags: u16, body: &[u8]) -> io::Result<()> {
    let mut message = Vec::with_capacity(HEADER + body.len());
    message.extend(((HEADER + body.len()) as u32).to_ne_bytes());
    message.extend(BY_FAMILY.to_ne_bytes());
    message.extend((REQUEST | flags).to_ne_bytes());
    message.extend([0; 8]);
    message.extend_from_slice(body);
    // SAFETY: the kernel reads the message.
    let sent = unsafe { libc::send(line.as_raw_fd(), message.as_ptr().cast(), message.len(), 0) };
    if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Hands the messages of an answer on, as long as more of it comes.
fn receive(line: &OwnedFd, mut more: impl FnMut(u16, &[u8]) -> bool) -> io::Result<()> {
    let mut buffer = vec![0_u8; 32 * 1024];
    loop {
        // SAFETY: the kernel writes into the buffer.
        let got =
            unsafe { libc::recv(line.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len(), 0) };
        let Ok(got) = usize::try_from(got) else {
            let error = io::Error::last_os_error();
            if error.kind() == io::ErrorKind::Interrupted {
                continue;
            }
            return Err(error);
        };
        let mut rest = &buffer[..got];
        while let Some(length) = word(rest, 0).map(|n| n as usize).filter(|n| *n >= HEADER) {
            let Some(message) = rest.get(..length) else { break };
            let kind = u16::from_ne_bytes([message[4], message[5]]);
            if !more(kind, &message[HEADER..]) {
                return Ok(());
            }
            rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        }
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// One row of the kernel's table of Unix sockets.
#[derive(Debug, Default)]
struct UnixSocket<'a> {
    kind: u8,
    state: u8,
    inode: u64,
    name: &'a [u8],
    /// Inode and device of the file that it is bound to.
    file: Option<(u32, u32)>,
}

impl<'a> UnixSocket<'a> {
    fn parse(body: &'a [u8]) -> Option<Self> {
        let head = body.get(..16)?;
        let inode = u64::from(word(body, 4)?);
        let mut socket = Self { kind: head[1], state: head[2], inode, ..Self::default() };
        let mut rest = &body[16..];
        while let Some(header) = rest.first_chunk::<4>() {
            let length = usize::from(u16::from_ne_bytes([header[0], header[1]]));
            let value = rest.get(4..length)?;
            match u16::from_ne_bytes([header[2], header[3]]) {
                0 => socket.name = value,
                1 => socket.file = word(value, 0).zip(word(value, 4)),
                _ => {}
            }
            rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        }
        Some(socket)
    }

    /// Whether it takes what is sent or connected to it.
    fn takes(&self) -> bool {
        self.state == LISTEN || i32::from(self.kind) == libc::SOCK_DGRAM
    }

    /// Some file systems show another device to programs than to the kernel; then the name decides.
    fn is_at(&self, path: &[u8], found: &std::fs::Metadata) -> bool {
        let last = |path: &[u8]| path.rsplit(|&b| b == b'/').next().map(<[u8]>::to_vec);
        let device = libc::major(found.dev()) << 20 | libc::minor(found.dev());
        let bound_name = self.name.strip_suffix(b"\0").unwrap_or(self.name);
        self.file.is_some_and(|(inode, on)| {
            u64::from(inode) == found.ino() & 0xffff_ffff
                && (on == device || last(bound_name) == last(path))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream, UdpSocket};
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::net::{UnixDatagram, UnixListener, UnixStream};

    fn inode(socket: &impl AsRawFd) -> u64 {
        std::fs::metadata(format!("/proc/self/fd/{}", socket.as_raw_fd())).unwrap().ino()
    }

    fn find(place: &Endpoint) -> Option<u64> {
        Sockets::default().find(place).unwrap()
    }

    #[test]
    fn a_tcp_listener_is_found_until_it_is_gone() {
        for at in ["127.0.0.1:0", "0.0.0.0:0", "[::1]:0", "[::]:0"] {
            let Ok(server) = TcpListener::bind(at) else { continue };
            let address = server.local_addr().unwrap();
            let place = Endpoint::Tcp(address);
            assert_eq!(find(&place), Some(inode(&server)), "{at}");
            // A connection alone is no listener.
            let client = TcpStream::connect(reachable(address)).unwrap();
            drop(server);
            assert_eq!(find(&place), None, "{at}");
            drop(client);
        }
    }

    #[test]
    fn a_listener_of_both_families_is_found_by_either() {
        let Ok(server) = TcpListener::bind("[::]:0") else { return };
        let port = server.local_addr().unwrap().port();
        let place = Endpoint::Tcp(SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
        assert_eq!(find(&place), Some(inode(&server)));
    }

    #[test]
    fn a_udp_socket_is_found_and_is_no_tcp_listener() {
        for at in ["127.0.0.1:0", "0.0.0.0:0", "[::1]:0"] {
            let Ok(server) = UdpSocket::bind(at) else { continue };
            let address = server.local_addr().unwrap();
            assert_eq!(find(&Endpoint::Udp(address)), Some(inode(&server)), "{at}");
            assert_eq!(find(&Endpoint::Tcp(address)), None);
        }
    }

    #[test]
    fn unix_sockets_by_path_listen_or_take_datagrams() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        let place = |name: &str| Endpoint::Unix(at(name).as_os_str().as_bytes().to_vec());
        let server = UnixListener::bind(at("s")).unwrap();
        let client = UnixStream::connect(at("s")).unwrap();
        assert_eq!(find(&place("s")), Some(inode(&server)));
        drop((server, client));
        assert_eq!(find(&place("s")), None, "the file alone does not listen");
        let datagram = UnixDatagram::bind(at("d")).unwrap();
        assert_eq!(find(&place("d")), Some(inode(&datagram)));
        assert_eq!(find(&place("none")), None);
    }

    #[test]
    fn an_abstract_name_is_found_as_a_whole() {
        use std::os::linux::net::SocketAddrExt;
        let name = format!("tamis-test-{}", std::process::id());
        let address = std::os::unix::net::SocketAddr::from_abstract_name(&name).unwrap();
        let server = UnixListener::bind_addr(&address).unwrap();
        assert_eq!(find(&Endpoint::Abstract(name.clone().into())), Some(inode(&server)));
        let longer = format!("{name}x").into_bytes();
        assert_eq!(find(&Endpoint::Abstract(longer)), None);
        drop(server);
        assert_eq!(find(&Endpoint::Abstract(name.into())), None);
    }

    #[test]
    fn cut_rows_are_none_or_nameless() {
        let mut row = vec![1, 1, LISTEN, 0, 7, 0, 0, 0];
        row.extend([0; 8]);
        row.extend([7, 0, 0, 0, 0, b'a', b'b', 0]);
        let whole = UnixSocket::parse(&row).unwrap();
        assert_eq!((whole.inode, whole.name, whole.takes()), (7, &b"\0ab"[..], true));
        for length in 0..16 {
            assert!(UnixSocket::parse(&row[..length]).is_none());
        }
    }
}
