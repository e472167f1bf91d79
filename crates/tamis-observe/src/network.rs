//! Connections: to other machines (a note), and to processes on this machine that were already
//! running and whose state nobody observes (a taint, unless the settings allow them).

use std::collections::HashSet;
use std::net::{IpAddr, SocketAddr};
use tamis_core::{Note, Taint};
use tamis_trace::Peer;

/// What the settings say about local services.
#[derive(Debug, Clone, Default)]
pub struct Services {
    /// Talking to any of them is fine.
    pub ignore_all: bool,
    /// A note instead of a taint.
    pub warn_only: bool,
    /// Addresses (`127.0.0.1:5432`) and socket paths that are fine.
    pub allowed: Vec<String>,
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

/// What a connection means for the record.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Meaning {
    Nothing,
    Note(Note),
    Taint(Taint),
}

/// Judges a connection by the address. `threads` are those of the tree.
pub(crate) fn judge(
    peer: &Peer,
    services: &Services,
    threads: impl Iterator<Item = u32>,
) -> Meaning {
    match peer {
        Peer::Inet(address) => judge_inet(*address, services, threads),
        Peer::Unix(path) => {
            let path = String::from_utf8_lossy(path).into_owned();
            if HARMLESS.iter().any(|h| path.starts_with(h)) {
                return Meaning::Nothing;
            }
            service(path, services)
        }
        Peer::Abstract(name) => {
            let text = format!("@{}", String::from_utf8_lossy(name).trim_end_matches('\0'));
            let sockets = unix_sockets(&text);
            if owned_by(&sockets, threads) {
                return Meaning::Nothing;
            }
            service(text, services)
        }
    }
}

fn judge_inet(
    address: SocketAddr,
    services: &Services,
    threads: impl Iterator<Item = u32>,
) -> Meaning {
    let ip = address.ip().to_canonical();
    // A connect without a port only asks for the route (address sorting in getaddrinfo).
    if address.port() == 0 {
        return Meaning::Nothing;
    }
    let local = ip.is_loopback() || ip.is_unspecified();
    if !local || address.port() == 53 {
        return Meaning::Note(Note::TalksTo(SocketAddr::from((ip, address.port())).to_string()));
    }
    if owned_by(&listening_sockets(ip, address.port()), threads) {
        return Meaning::Nothing;
    }
    service(SocketAddr::from((ip, address.port())).to_string(), services)
}

fn service(name: String, services: &Services) -> Meaning {
    if services.ignore_all || services.allowed.contains(&name) {
        Meaning::Nothing
    } else if services.warn_only {
        Meaning::Note(Note::TalksTo(name))
    } else {
        Meaning::Taint(Taint::RunningService(name))
    }
}

/// Whether a process of the tree holds one of these sockets.
fn owned_by(sockets: &HashSet<u64>, threads: impl Iterator<Item = u32>) -> bool {
    !sockets.is_empty()
        && threads.into_iter().any(|thread| {
            let Ok(entries) = std::fs::read_dir(format!("/proc/{thread}/fd")) else {
                return false;
            };
            entries.flatten().any(|entry| {
                std::fs::read_link(entry.path())
                    .ok()
                    .and_then(|t| {
                        t.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
                    })
                    .is_some_and(|inode| sockets.contains(&inode))
            })
        })
}

/// The sockets that listen (TCP) or are bound (UDP) at this port, for any address.
fn listening_sockets(ip: IpAddr, port: u16) -> HashSet<u64> {
    let mut found = HashSet::new();
    let tables: &[(&str, bool)] = if ip.is_ipv4() {
        &[("tcp", true), ("tcp6", true), ("udp", false), ("udp6", false)]
    } else {
        &[("tcp6", true), ("udp6", false)]
    };
    for (table, stream) in tables {
        let Ok(text) = std::fs::read_to_string(format!("/proc/self/net/{table}")) else { continue };
        for line in text.lines().skip(1) {
            let fields: Vec<&str> = line.split_ascii_whitespace().collect();
            let [_, local, _, state, _, _, _, _, _, inode, ..] = fields[..] else { continue };
            let at_port = local
                .rsplit_once(':')
                .and_then(|(_, p)| u16::from_str_radix(p, 16).ok())
                .is_some_and(|p| p == port);
            if at_port && (!stream || state == "0A") {
                found.extend(inode.parse::<u64>().ok());
            }
        }
    }
    found
}

/// The sockets bound to this name in the table of Unix sockets.
fn unix_sockets(name: &str) -> HashSet<u64> {
    let Ok(text) = std::fs::read_to_string("/proc/self/net/unix") else { return HashSet::new() };
    text.lines()
        .filter_map(|line| {
            let fields: Vec<&str> = line.split_ascii_whitespace().collect();
            match fields[..] {
                [_, _, _, _, _, _, inode, path] if path == name => inode.parse().ok(),
                _ => None,
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    fn judged(text: &str, threads: &[u32], services: &Services) -> Meaning {
        judge(&Peer::Inet(text.parse().unwrap()), services, threads.iter().copied())
    }

    #[test]
    fn other_machines_are_noted() {
        let got = judged("192.0.2.7:443", &[], &Services::default());
        assert_eq!(got, Meaning::Note(Note::TalksTo("192.0.2.7:443".into())));
    }

    #[test]
    fn a_server_of_the_tree_is_nothing_and_a_foreign_one_taints() {
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = server.local_addr().unwrap().to_string();
        let me = std::process::id();
        assert_eq!(judged(&address, &[me], &Services::default()), Meaning::Nothing);
        let foreign = judged(&address, &[1], &Services::default());
        assert_eq!(foreign, Meaning::Taint(Taint::RunningService(address.clone())));
        let allowed = Services { allowed: vec![address.clone()], ..Services::default() };
        assert_eq!(judged(&address, &[1], &allowed), Meaning::Nothing);
        let warn = Services { warn_only: true, ..Services::default() };
        assert_eq!(judged(&address, &[1], &warn), Meaning::Note(Note::TalksTo(address)));
    }

    #[test]
    fn asking_for_a_route_is_nothing() {
        assert_eq!(judged("192.0.2.7:0", &[], &Services::default()), Meaning::Nothing);
    }
}
