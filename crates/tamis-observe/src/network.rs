//! Connections: to other machines (a note), to servers of the tree itself (nothing), to processes on
//! this machine that were already running and whose state is not observed (a taint, unless the
//! settings allow them), and to places where nothing listens (a question that can be put again).
//!
//! Whose socket takes a connection: one that the tree was seen to bind, or to listen on, is its own.
//! Of another one that is looked up once, among the descriptors of the tree's processes. An engine
//! that reports afterwards may name a connection before the call that made it possible, and a server
//! may be gone when we look: what is not known to be the tree's own is judged at the end of the run.
//!
//! What is sent to many (a group, a broadcast) reaches other machines, and whoever listens at the port on this
//! one: it is both.
//!
//! Not seen: a datagram to a server that is gone before an engine that reports afterwards looks; a group in
//! which the tree and others take part at one port.

use crate::ourselves;
use crate::sockets::{Endpoint, Sockets};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::net::{IpAddr, SocketAddr, ToSocketAddrs as _, UdpSocket};
use tamis_core::{Note, Taint, Value};
use tamis_trace::{Peer, Reached, Socket, SocketKind, Timing};

/// What the settings say about local services.
#[derive(Debug, Clone, Default)]
pub struct Services {
    /// Talking to any of them is fine.
    pub ignore_all: bool,
    /// A note instead of a taint.
    pub warn_only: bool,
    /// Addresses, names (`localhost:5432`, `*:5432`) and socket paths that are fine, as the user wrote them.
    pub allowed: Vec<String>,
}

impl Services {
    fn allow(&self, name: &str) -> bool {
        self.ignore_all || self.allowed.iter().any(|allowed| allows(allowed, name))
    }

    fn judge(&self, name: String) -> Meaning {
        match self.warn_only {
            _ if self.allow(&name) => Meaning::Nothing,
            true => Meaning::Note(Note::TalksTo(name)),
            false => Meaning::Taint(Taint::RunningService(name)),
        }
    }
}

/// Whether an entry of `allow-services` means the service of this name: `127.0.0.1:5432`, `/run/x.sock`,
/// `@abstract`. A host is an address, `*` for all of this machine, or a name that is looked up here and now.
fn allows(allowed: &str, name: &str) -> bool {
    if allowed == name {
        return true;
    }
    let (Some((host, port)), Ok(peer)) = (allowed.rsplit_once(':'), name.parse::<SocketAddr>())
    else {
        return path_matches(allowed, name);
    };
    if port.parse() != Ok(peer.port()) {
        return false;
    }
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let is_peer = |address: IpAddr| address.to_canonical() == peer.ip().to_canonical();
    match host {
        "*" => true,
        "localhost" if peer.ip().to_canonical().is_loopback() => true,
        _ => match host.parse::<IpAddr>() {
            Ok(address) => is_peer(address),
            Err(_) => (host, 0).to_socket_addrs().is_ok_and(|mut all| all.any(|a| is_peer(a.ip()))),
        },
    }
}

/// Paths of sockets may end in `*`, for names that are new with each start.
fn path_matches(allowed: &str, name: &str) -> bool {
    let is_path = |text: &str| text.starts_with(['/', '@']);
    let start = allowed.strip_suffix('*').filter(|_| is_path(allowed) && is_path(name));
    start.is_some_and(|start| start.len() > 1 && name.starts_with(start))
}

/// Sockets of the system whose answers come from files or that only take messages.
const HARMLESS: [&str; 7] = [
    "/var/run/nscd/",
    "/run/nscd/",
    "/dev/log",
    "/run/systemd/journal/",
    "/run/systemd/userdb/",
    "/run/systemd/resolve/",
    "/var/run/systemd/",
];

pub(crate) fn is_harmless(path: &[u8]) -> bool {
    HARMLESS.iter().any(|harmless| path.starts_with(harmless.as_bytes()))
}

/// What a connection means for the record.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Meaning {
    Nothing,
    Note(Note),
    Taint(Taint),
}

/// The answer where something listens; where nothing does, it is [`Value::Absent`].
pub(crate) fn taken() -> Value {
    Value::text(b"yes")
}

/// What is known of a run's connections.
#[derive(Debug, Default)]
pub(crate) struct Network {
    sockets: Sockets,
    /// Sockets that the tree bound or listens on.
    own: HashSet<u64>,
    /// Addresses at which the tree was reachable.
    served: HashSet<SocketAddr>,
    /// Names of Unix sockets that the tree took.
    named: HashSet<Endpoint>,
    /// Ports that the tree chose itself; any other was given by the kernel.
    chosen: HashSet<u16>,
    /// Peers of which everything is known.
    settled: HashSet<(Peer, SocketKind)>,
    /// Whether something was there, with the program that asked.
    asked: BTreeMap<Endpoint, (Value, usize)>,
    /// Connections whose other end was not seen to be the tree's own, with its socket if it was found.
    unknown: BTreeMap<Endpoint, Option<u64>>,
    local: HashMap<IpAddr, bool>,
    name_servers: Option<HashSet<IpAddr>>,
}

/// One call that is about an address.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Caller<'a> {
    pub(crate) services: &'a Services,
    pub(crate) socket: Socket,
    pub(crate) thread: u32,
    pub(crate) program: usize,
    pub(crate) timing: Timing,
}

impl Network {
    /// A socket of the tree takes connections from now on.
    pub(crate) fn listens(&mut self, socket: Socket) {
        self.own.extend(Some(socket.inode).filter(|inode| *inode != 0));
        self.served.extend(socket.local.map(canonical));
    }

    /// A socket of the tree wants an address. Where it chose the address itself, it asks whether that
    /// is free.
    pub(crate) fn binds(
        &mut self,
        peer: &Peer,
        caller: Caller<'_>,
        threads: impl Iterator<Item = u32>,
    ) {
        let socket = caller.socket;
        let Some(place) = endpoint(peer, socket.kind) else { return };
        let result = match caller.timing {
            Timing::After { result, .. } => Some(result),
            Timing::Before | Timing::Logged { .. } => None,
        };
        let refused = result == Some(-i64::from(libc::EADDRINUSE));
        let chosen = !matches!(peer, Peer::Inet(address) if address.port() == 0);
        if chosen && !matches!(peer, Peer::Unix(_)) && !self.is_elsewhere(caller.thread) {
            if let Peer::Inet(address) = peer {
                self.chosen.insert(address.port());
            }
            let found = match result {
                Some(_) => refused && !self.is_served(&place),
                None => self.foreign(&place, threads).is_some(),
            };
            if !caller.services.allow(&name_of(&place)) {
                let value = if found { taken() } else { Value::Absent };
                self.ask(place.clone(), value, caller.program);
            }
        }
        if result.is_some_and(|result| result >= 0) && !matches!(peer, Peer::Inet(_)) {
            self.named.insert(place);
        }
        if !refused {
            self.own.extend(Some(socket.inode).filter(|inode| *inode != 0));
            if socket.kind == SocketKind::Datagram {
                self.served.extend(socket.local.map(canonical));
            }
        }
    }

    /// A process of the tree connects or sends. `threads` are those of the tree.
    pub(crate) fn connects(
        &mut self,
        peer: &Peer,
        caller: Caller<'_>,
        threads: impl Iterator<Item = u32>,
    ) -> Meaning {
        let key = (peer.clone(), caller.socket.kind);
        if self.settled.contains(&key) {
            return Meaning::Nothing;
        }
        let meaning = self.judge(peer, caller, threads);
        if meaning != Meaning::Nothing {
            self.settled.insert(key);
        }
        meaning
    }

    fn judge(
        &mut self,
        peer: &Peer,
        caller: Caller<'_>,
        threads: impl Iterator<Item = u32>,
    ) -> Meaning {
        let Some(place) = endpoint(peer, caller.socket.kind) else { return Meaning::Nothing };
        let mut otherwise = Meaning::Nothing;
        if let Peer::Inet(address) = peer {
            // A connect without a port only asks for the route (address sorting in getaddrinfo).
            if address.port() == 0 {
                return Meaning::Nothing;
            }
            let to_many = is_to_many(address.ip());
            if to_many || !self.is_local(address.ip()) || self.is_name_server(*address) {
                otherwise = Meaning::Note(Note::TalksTo(name_of(&place)));
            }
            // Who takes part in a group can be on this machine, too.
            if !to_many && otherwise != Meaning::Nothing {
                return otherwise;
            }
        }
        if caller.services.allow(&name_of(&place)) || self.is_elsewhere(caller.thread) {
            return otherwise;
        }
        let foreign = self.foreign(&place, threads);
        match (caller.timing, caller.socket.reached) {
            (Timing::After { .. }, Reached::No) => self.nothing_listens(place, caller.program),
            // It can still turn out to be the tree's own.
            (Timing::After { .. }, Reached::Yes) => self.somebody(place, foreign.flatten()),
            (Timing::After { .. }, Reached::Unknown) => match foreign {
                Some(found) => self.somebody(place, found),
                None => self.nothing_listens(place, caller.program),
            },
            (_, _) => match foreign {
                Some(_) => return caller.services.judge(name_of(&place)),
                None => self.nothing_listens(place, caller.program),
            },
        }
        otherwise
    }

    fn somebody(&mut self, place: Endpoint, found: Option<u64>) {
        if found.is_none_or(|inode| !self.own.contains(&inode)) && !self.is_served(&place) {
            self.unknown.insert(place, found);
        }
    }

    /// Nothing takes the connection; a server of the tree that is gone, or not there yet, is its own
    /// affair.
    fn nothing_listens(&mut self, place: Endpoint, program: usize) {
        let own = self.sockets.find(&place).ok().flatten();
        if own.is_none_or(|inode| !self.own.contains(&inode)) && !self.is_served(&place) {
            self.ask(place, Value::Absent, program);
        }
    }

    fn ask(&mut self, place: Endpoint, value: Value, program: usize) {
        self.asked.entry(place).or_insert((value, program));
    }

    /// The socket that takes connections there, if it is not the tree's own. Where that cannot be
    /// asked, something is taken to be there.
    fn foreign(
        &mut self,
        place: &Endpoint,
        threads: impl Iterator<Item = u32>,
    ) -> Option<Option<u64>> {
        let inode = match self.sockets.find(place) {
            Ok(None) => return None,
            Ok(Some(inode)) => inode,
            Err(_) => return Some(None),
        };
        if !self.own.contains(&inode) && is_held(inode, threads) {
            self.own.insert(inode);
        }
        (!self.own.contains(&inode)).then_some(Some(inode))
    }

    /// Whether the tree was reachable at this address.
    fn is_served(&self, place: &Endpoint) -> bool {
        let (Endpoint::Tcp(address) | Endpoint::Udp(address)) = place else {
            return self.named.contains(place);
        };
        let address = canonical(*address);
        self.served.iter().any(|own| {
            own.port() == address.port()
                && (own.ip() == address.ip()
                    || own.ip().is_unspecified() && (own.is_ipv6() || address.is_ipv4()))
        })
    }

    fn is_local(&mut self, ip: IpAddr) -> bool {
        let ip = ip.to_canonical();
        ip.is_loopback()
            || ip.is_unspecified()
            // Only an address of this machine can be bound.
            || *self.local.entry(ip).or_insert_with(|| UdpSocket::bind((ip, 0)).is_ok())
    }

    fn is_name_server(&mut self, address: SocketAddr) -> bool {
        address.port() == 53
            && self
                .name_servers
                .get_or_insert_with(name_servers)
                .contains(&address.ip().to_canonical())
    }

    /// Whether the thread has a network of its own, in which only the tree can listen.
    fn is_elsewhere(&self, thread: u32) -> bool {
        let theirs = std::fs::read_link(format!("/proc/{thread}/ns/net")).ok();
        theirs.is_some() && theirs.as_deref() != ourselves::network()
    }

    /// The end of the run: what was asked, and what connections to unknown ends mean.
    pub(crate) fn finish(
        mut self,
        services: &Services,
        threads: &[u32],
    ) -> (Vec<(Endpoint, Value, usize)>, Vec<Meaning>) {
        let mut meanings = Vec::new();
        for (place, found) in std::mem::take(&mut self.unknown) {
            let own = found.is_some_and(|inode| self.own.contains(&inode));
            if !own && !self.is_served(&place) {
                meanings.push(services.judge(name_of(&place)));
            }
        }
        let mut asked = Vec::new();
        for (place, (value, program)) in std::mem::take(&mut self.asked) {
            if self.was_given(&place) {
                continue;
            }
            // It came up while the test ran, and not by the test.
            let came = value == Value::Absent
                && !self.is_served(&place)
                && self.foreign(&place, threads.iter().copied()).is_some();
            if came {
                meanings.push(services.judge(name_of(&place)));
            }
            asked.push((place, value, program));
        }
        (asked, meanings)
    }

    /// Whether the kernel gave the tree this port: the next run will get another one.
    fn was_given(&self, place: &Endpoint) -> bool {
        let (Endpoint::Tcp(address) | Endpoint::Udp(address)) = place else { return false };
        self.is_served(place) && !self.chosen.contains(&address.port())
    }
}

/// Whether what is sent there reaches others, and whoever listens at the port on this machine.
fn is_to_many(ip: IpAddr) -> bool {
    let ip = ip.to_canonical();
    ip.is_multicast() || matches!(ip, IpAddr::V4(ip) if ip.is_broadcast())
}

fn canonical(address: SocketAddr) -> SocketAddr {
    SocketAddr::from((address.ip().to_canonical(), address.port()))
}

/// The place that a peer names. What kind of socket is not known is taken for one of connections.
fn endpoint(peer: &Peer, kind: SocketKind) -> Option<Endpoint> {
    Some(match peer {
        Peer::Inet(address) if kind == SocketKind::Datagram => Endpoint::Udp(canonical(*address)),
        Peer::Inet(address) => Endpoint::Tcp(canonical(*address)),
        Peer::Unix(path) => Endpoint::Unix(path.clone()),
        Peer::Abstract(name) => Endpoint::Abstract(name.clone()),
    })
}

/// The name under which the settings and reports know a service.
fn name_of(place: &Endpoint) -> String {
    match place {
        Endpoint::Tcp(address) | Endpoint::Udp(address) => address.to_string(),
        Endpoint::Unix(path) => String::from_utf8_lossy(path).into_owned(),
        Endpoint::Abstract(name) => {
            format!("@{}", String::from_utf8_lossy(name).trim_end_matches('\0'))
        }
    }
}

/// Whether a process of the tree holds this socket.
fn is_held(inode: u64, threads: impl Iterator<Item = u32>) -> bool {
    let link = format!("socket:[{inode}]");
    let mut threads = threads;
    threads.any(|thread| {
        let Ok(entries) = std::fs::read_dir(format!("/proc/{thread}/fd")) else { return false };
        entries
            .flatten()
            .any(|entry| std::fs::read_link(entry.path()).is_ok_and(|t| t.as_os_str() == &*link))
    })
}

fn name_servers() -> HashSet<IpAddr> {
    let text = std::fs::read_to_string("/etc/resolv.conf").unwrap_or_default();
    text.lines()
        .filter_map(|line| line.trim().strip_prefix("nameserver")?.trim().parse().ok())
        .collect()
}

#[cfg(test)]
mod tests;
