//! What the kernel side sends of a socket, and what that says of a connection.

use super::record::Record;
use super::table::RecordKind;
use crate::event::{Reached, Socket, SocketKind};
use std::net::{IpAddr, SocketAddr};

/// From `net/tcp_states.h`.
const ESTABLISHED: u64 = 1;
const SYN_SENT: u64 = 2;

/// What was sent of the socket: see `add_socket` in program.c.
pub(super) fn socket(record: &Record<'_>) -> Socket {
    let argument = record.argument;
    let kind = SocketKind::from_number((argument >> 48) as i32 & 0xff);
    let inode = u64::from(argument as u32);
    Socket { inode, kind, local: None, reached: reached(record, kind, argument >> 56) }
}

/// The address of a socket that is bound, with the port that it got.
pub(super) fn given(ip: IpAddr, record: &Record<'_>) -> Option<SocketAddr> {
    let port = (record.argument >> 32) as u16;
    (port != 0).then(|| SocketAddr::from((ip, port)))
}

/// Whether a connection came about. On one machine it does, or is refused, while the call lasts; the
/// socket's state tells where the process did not wait for it.
fn reached(record: &Record<'_>, kind: SocketKind, state: u64) -> Reached {
    let failed = |errno: i32| record.result == -i64::from(errno);
    let stream = kind == SocketKind::Stream && record.kind == RecordKind::Connect;
    if failed(libc::ECONNREFUSED) || failed(libc::ENOENT) {
        return Reached::No;
    }
    match state {
        _ if !stream => Reached::Unknown,
        _ if record.result == 0 => Reached::Yes,
        ESTABLISHED if failed(libc::EINPROGRESS) => Reached::Yes,
        SYN_SENT if failed(libc::EINPROGRESS) => Reached::Unknown,
        _ if failed(libc::EINPROGRESS) => Reached::No,
        _ => Reached::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::super::record::Sample;
    use super::*;

    /// A connection of a stream socket in this state.
    fn connection(result: i64, state: u64) -> Reached {
        let mut sample = Sample::new(RecordKind::Connect, libc::SYS_connect);
        sample.result = result;
        sample.argument = 77 | 1 << 48 | state << 56;
        let bytes = sample.to_bytes();
        let socket = socket(&Record::parse(&bytes).unwrap());
        assert_eq!((socket.inode, socket.kind), (77, SocketKind::Stream));
        socket.reached
    }

    #[test]
    fn the_state_of_a_socket_says_what_became_of_a_connection() {
        let error = |errno: i32| -i64::from(errno);
        let (established, waiting, closed) = (1, 2, 7);
        assert_eq!(connection(0, established), Reached::Yes);
        assert_eq!(connection(error(libc::ECONNREFUSED), closed), Reached::No);
        assert_eq!(connection(error(libc::EINPROGRESS), established), Reached::Yes);
        assert_eq!(connection(error(libc::EINPROGRESS), waiting), Reached::Unknown);
        assert_eq!(connection(error(libc::EINPROGRESS), closed), Reached::No);
        assert_eq!(connection(error(libc::EINTR), waiting), Reached::Unknown);
    }

    #[test]
    fn a_bound_socket_has_the_port_that_it_got() {
        let mut sample = Sample::new(RecordKind::Bind, libc::SYS_bind);
        let ip: IpAddr = "127.0.0.1".parse().unwrap();
        let local = |sample: &Sample| given(ip, &Record::parse(&sample.to_bytes()).unwrap());
        assert_eq!(local(&sample), None);
        sample.argument = 8080 << 32;
        assert_eq!(local(&sample), "127.0.0.1:8080".parse().ok());
    }
}
