//! The server fails at random moments: no record is lost, and none is taken that was not sent. (How long a pull takes then
//! is measured in bench/remote.)

use crate::proxy::{Fault, Proxy};
use crate::support::{ALONE, Machine, Server, key, minute, now, run, settings, trusting};
use std::collections::BTreeSet;
use std::sync::Mutex;
use std::time::Duration;
use tamis_core::Outcome;
use tamis_remote::place::Deadline;
use tamis_remote::pull::Wish;
use tamis_testkit::Random;

/// Moments at which something fails.
const MOMENTS: u64 = 200;

fn fault(random: &mut Random) -> Fault {
    match random.below(12) {
        0 => Fault::Status(500),
        1 => Fault::Status(503),
        2 => Fault::Status(403),
        3 => Fault::CutRequest(random.below(3_000)),
        4 => Fault::CutAnswer,
        5 => Fault::Slow,
        6 if random.below(4) == 0 => Fault::Silence,
        _ => Fault::None,
    }
}

#[test]
fn a_server_that_fails_at_random_loses_nothing() {
    let _alone = ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let Some(mut server) = Server::start() else { return };
    let random = Mutex::new(Random::seeded(17));
    let proxy = Proxy::start(server.port(), move || fault(&mut random.lock().unwrap()));
    let settings = settings("s3://cache/tamis", &trusting(&[&key(1)]));
    let mut sent = BTreeSet::new();
    Server::environment(proxy.port);
    let ci = Machine::new(&settings, key(1));
    let dev = Machine::new(&settings, key(2));
    let mut round = 0;
    while proxy.faults.load(std::sync::atomic::Ordering::Relaxed) < MOMENTS {
        let name = format!("r{round}");
        ci.store.append(&run(&name, now(), Outcome::Passed)).unwrap();
        sent.insert(name);
        // Whatever becomes of it: what is not known to be there is sent again.
        let until = Deadline::within(Duration::from_secs(2));
        let _ = ci.remote.push(&ci.store, "main", &ci.key, until);
        let time = Duration::from_millis(1_000);
        let pulled = dev.remote.pull(&dev.store, Wish::default(), Deadline::within(time));
        assert_eq!(pulled.refused, Vec::<String>::new(), "round {round}");
        round += 1;
        if round % 20 == 0 {
            server.down();
            let _ = ci.remote.push(&ci.store, "main", &ci.key, Deadline::within(time));
            server.up();
        }
    }
    // At last the server is well again: everything arrives, and nothing else.
    Server::environment(server.port());
    let paths = tamis_core::PathMap::new(ci.folder.path().join("project"), None);
    let well = tamis_remote::Remote::with_key(&settings, &paths, Some(ci.key.public())).unwrap();
    well.push(&ci.store, "main", &ci.key, minute()).unwrap();
    let reader = Machine::new(&settings, key(3));
    let pulled = reader.pull();
    assert_eq!((&pulled.refused, &pulled.failed), (&Vec::new(), &Vec::new()));
    let arrived: BTreeSet<String> =
        reader.store.tests().unwrap().into_iter().map(|test| test.key.unit.to_string()).collect();
    assert_eq!(arrived, sent);
}

#[test]
fn a_server_that_is_not_there_costs_no_more_than_the_time() {
    let _alone = ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    // A port on which nothing answers at all.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    Server::environment(silent.local_addr().unwrap().port());
    let settings = settings("s3://cache/tamis", &trusting(&[&key(1)]));
    let dev = Machine::new(&settings, key(2));
    let time = Duration::from_millis(300);
    let pulled = dev.remote.pull(&dev.store, Wish::default(), Deadline::within(time));
    assert_eq!((pulled.records, pulled.failed.len()), (0, 1), "{pulled:?}");
    assert!(pulled.failed[0].contains("no answer within"), "{pulled:?}");
}
