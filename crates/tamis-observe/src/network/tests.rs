use super::*;
use std::net::TcpListener;

fn caller(services: &Services, timing: Timing, reached: Reached) -> Caller<'_> {
    let socket = Socket { kind: SocketKind::Stream, reached, ..Socket::default() };
    Caller { services, socket, thread: std::process::id(), program: 0, timing }
}

const AFTER: Timing = Timing::After { time_ns: 0, result: 0 };

fn inet(text: &str) -> Peer {
    Peer::Inet(text.parse().unwrap())
}

fn judged(text: &str, threads: &[u32], services: &Services) -> Meaning {
    let caller = caller(services, Timing::Before, Reached::Unknown);
    Network::default().connects(&inet(text), caller, threads.iter().copied())
}

/// A port at which nothing listens.
fn free() -> String {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string()
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
fn services_are_allowed_by_address_name_and_pattern() {
    for (allowed, name, fine) in [
        ("127.0.0.1:5432", "127.0.0.1:5432", true),
        ("127.0.0.1:5432", "127.0.0.1:5433", false),
        ("localhost:5432", "127.0.0.1:5432", true),
        ("localhost:5432", "[::1]:5432", true),
        ("localhost:5432", "[::ffff:127.0.0.1]:5432", true),
        ("localhost:5432", "127.0.0.1:5433", false),
        ("localhost:5432", "10.1.2.3:5432", false),
        ("[::1]:80", "[::1]:80", true),
        ("*:5432", "10.1.2.3:5432", true),
        ("*:5432", "10.1.2.3:80", false),
        ("*:5432", "/run/5432", false),
        ("no-such-host.invalid:80", "127.0.0.1:80", false),
        ("/run/foo.sock", "/run/foo.sock", true),
        ("/run/foo.sock", "/run/foo.sock2", false),
        ("/run/foo/*", "/run/foo/a.sock", true),
        ("/run/foo/*", "/run/bar", false),
        ("@bus*", "@bus-1", true),
        ("*", "/run/foo.sock", false),
        ("/*", "127.0.0.1:80", false),
    ] {
        assert_eq!(allows(allowed, name), fine, "{allowed} {name}");
    }
}

#[test]
fn asking_for_a_route_is_nothing() {
    assert_eq!(judged("192.0.2.7:0", &[], &Services::default()), Meaning::Nothing);
}

#[test]
fn where_nothing_listens_a_question_is_kept() {
    let services = Services::default();
    let address = free();
    for (timing, reached) in [(Timing::Before, Reached::Unknown), (AFTER, Reached::No)] {
        let mut network = Network::default();
        let caller = caller(&services, timing, reached);
        assert_eq!(network.connects(&inet(&address), caller, [].into_iter()), Meaning::Nothing);
        let (asked, meanings) = network.finish(&services, &[]);
        assert_eq!(asked, [(Endpoint::Tcp(address.parse().unwrap()), Value::Absent, 0)]);
        assert_eq!(meanings, []);
    }
}

#[test]
fn what_comes_up_during_the_run_taints() {
    let services = Services::default();
    let mut network = Network::default();
    let address = free();
    let refused = caller(&services, AFTER, Reached::No);
    network.connects(&inet(&address), refused, [].into_iter());
    let _server = TcpListener::bind(&address).unwrap();
    let (_, meanings) = network.finish(&services, &[]);
    assert_eq!(meanings, [Meaning::Taint(Taint::RunningService(address))]);
}

#[test]
fn a_later_connection_to_the_same_place_is_no_repetition() {
    let services = Services::default();
    let mut network = Network::default();
    let address = free();
    network.connects(&inet(&address), caller(&services, AFTER, Reached::No), [].into_iter());
    // It answered once, and is gone again.
    network.connects(&inet(&address), caller(&services, AFTER, Reached::Yes), [].into_iter());
    let (_, meanings) = network.finish(&services, &[]);
    assert_eq!(meanings, [Meaning::Taint(Taint::RunningService(address))]);
}

#[test]
fn a_server_that_is_gone_was_the_trees_own_if_it_was_seen_to_listen() {
    let services = Services::default();
    for at in ["127.0.0.1", "0.0.0.0", "[::]"] {
        let mut network = Network::default();
        let address = free();
        let port = address.rsplit_once(':').unwrap().1;
        let local = format!("{at}:{port}").parse().ok();
        // The connection was reported before the call that made it possible.
        network.connects(&inet(&address), caller(&services, AFTER, Reached::Yes), [].into_iter());
        network.listens(Socket { local, ..Socket::default() });
        let (asked, meanings) = network.finish(&services, &[]);
        assert_eq!((asked.len(), meanings), (0, Vec::new()), "{at}");
    }
}

#[test]
fn a_server_of_the_tree_at_another_address_is_not_the_one() {
    let services = Services::default();
    let mut network = Network::default();
    let address = free();
    let port = address.rsplit_once(':').unwrap().1;
    network.listens(Socket { local: format!("[::1]:{port}").parse().ok(), ..Socket::default() });
    network.connects(&inet(&address), caller(&services, AFTER, Reached::Yes), [].into_iter());
    assert_eq!(network.finish(&services, &[]).1.len(), 1);
}

#[test]
fn a_port_that_the_kernel_gave_is_no_question_and_a_chosen_one_is() {
    let services = Services::default();
    for chosen in [false, true] {
        let mut network = Network::default();
        let address = free();
        let wish = if chosen { address.as_str() } else { "127.0.0.1:0" };
        network.connects(&inet(&address), caller(&services, AFTER, Reached::No), [].into_iter());
        network.binds(&inet(wish), caller(&services, AFTER, Reached::Unknown), [].into_iter());
        network.listens(Socket { local: address.parse().ok(), ..Socket::default() });
        let (asked, _) = network.finish(&services, &[]);
        assert_eq!(asked.len(), usize::from(chosen));
    }
}

#[test]
fn an_address_in_use_is_seen_when_it_is_wanted() {
    let services = Services::default();
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = server.local_addr().unwrap();
    let in_use = Timing::After { time_ns: 0, result: -i64::from(libc::EADDRINUSE) };
    for timing in [Timing::Before, in_use] {
        let mut network = Network::default();
        let caller = caller(&services, timing, Reached::Unknown);
        network.binds(&Peer::Inet(address), caller, [].into_iter());
        let (asked, _) = network.finish(&services, &[]);
        assert_eq!(asked, [(Endpoint::Tcp(address), taken(), 0)], "{timing:?}");
    }
}

#[test]
fn a_name_server_is_noted_and_another_one_at_its_port_is_not() {
    let name_servers = Some(["127.0.0.53".parse().unwrap()].into());
    let mut network = Network { name_servers, ..Network::default() };
    assert!(network.is_name_server("127.0.0.53:53".parse().unwrap()));
    assert!(!network.is_name_server("127.0.0.1:53".parse().unwrap()));
    assert!(!network.is_name_server("127.0.0.53:5353".parse().unwrap()));
}

#[test]
fn addresses_of_this_machine_are_distinguished_from_others() {
    let mut network = Network::default();
    assert!(network.is_local("127.0.0.9".parse().unwrap()));
    assert!(network.is_local("::ffff:127.0.0.1".parse().unwrap()));
    assert!(network.is_local("0.0.0.0".parse().unwrap()));
    assert!(!network.is_local("192.0.2.7".parse().unwrap()));
    for (ip, many) in [
        ("192.0.2.7", false),
        ("224.0.0.251", true),
        ("255.255.255.255", true),
        ("ff02::fb", true),
        ("::ffff:224.0.0.251", true),
        ("127.0.0.1", false),
    ] {
        assert_eq!(is_to_many(ip.parse().unwrap()), many, "{ip}");
    }
}

#[test]
fn what_is_sent_to_many_is_noted_and_reaches_who_listens_here() {
    let services = Services::default();
    for timing in [Timing::Before, AFTER] {
        let mut socket = caller(&services, timing, Reached::Unknown);
        socket.socket.kind = SocketKind::Datagram;
        let server = UdpSocket::bind("0.0.0.0:0").unwrap();
        let many = format!("239.255.77.1:{}", server.local_addr().unwrap().port());
        let mut network = Network::default();
        let meaning = network.connects(&inet(&many), socket, [].into_iter());
        let (_, late) = network.finish(&services, &[]);
        let taint = Meaning::Taint(Taint::RunningService(many.clone()));
        assert!(meaning == taint || late.contains(&taint), "{timing:?}: {meaning:?} {late:?}");
        drop(server);
        let mut network = Network::default();
        let meaning = network.connects(&inet(&many), socket, [].into_iter());
        assert_eq!(meaning, Meaning::Note(Note::TalksTo(many.clone())));
        let (asked, late) = network.finish(&services, &[]);
        assert_eq!((asked.len(), late.len()), (1, 0), "{timing:?}");
    }
}
