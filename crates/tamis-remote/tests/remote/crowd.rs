//! Fifty processes push at once: the union is complete.

use crate::support::{ALONE, Machine, Server, key, now, run, settings, trusting};
use std::process::{Command, Stdio};
use tamis_core::Outcome;

const WRITERS: usize = 50;
const URL: &str = "TAMIS_TEST_CROWD";

/// One of the processes; by itself it does nothing.
#[test]
fn one_of_a_crowd() {
    let Ok(text) = std::env::var(URL) else { return };
    let (number, url) = text.split_once(' ').unwrap();
    let machine = Machine::new(&settings(url, &trusting(&[&key(1)])), key(1));
    for n in 0..3 {
        machine.store.append(&run(&format!("w{number}-{n}"), now(), Outcome::Passed)).unwrap();
        machine.push().unwrap();
    }
}

fn crowd(url: &str) {
    let me = std::env::current_exe().unwrap();
    let start = |n: usize| {
        Command::new(&me)
            .args(["--exact", "crowd::one_of_a_crowd"])
            .env(URL, format!("{n} {url}"))
            .stdout(Stdio::null())
            .spawn()
            .unwrap()
    };
    let mut children: Vec<_> = (0..WRITERS).map(start).collect();
    for child in &mut children {
        assert!(child.wait().unwrap().success());
    }
    let reader = Machine::new(&settings(url, &trusting(&[&key(1)])), key(2));
    let pulled = reader.pull();
    assert_eq!(pulled.refused, Vec::<String>::new());
    assert_eq!((pulled.records, reader.tests().len()), (WRITERS * 3, WRITERS * 3));
}

#[test]
fn fifty_processes_push_to_a_folder_at_once() {
    let folder = tempfile::tempdir().unwrap();
    crowd(&format!("file://{}", folder.path().display()));
}

#[test]
fn fifty_processes_push_to_s3_at_once() {
    let _alone = ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let Some(server) = Server::start() else { return };
    Server::environment(server.port());
    crowd("s3://cache/tamis");
}
