//! Several processes at one store, and processes that are killed.
//!
//! The child is this test binary again: `child` does nothing unless the variable is set.

use crate::common::{World, key, open, runs};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use tamis_store::Store;

const FOLDER: &str = "TAMIS_STORE_TEST_FOLDER";
const NAME: &str = "TAMIS_STORE_TEST_NAME";
const COUNT: &str = "TAMIS_STORE_TEST_COUNT";

fn world() -> World {
    World::new(&[("a", "1"), ("b", "1"), ("c", "1")])
}

/// Appends runs and tells each one that is in the store.
#[test]
fn child() {
    let Some(folder) = std::env::var_os(FOLDER) else {
        return;
    };
    let name = std::env::var(NAME).unwrap();
    let count: usize = std::env::var(COUNT).unwrap().parse().unwrap();
    let (store, moved) = Store::open(Path::new(&folder)).unwrap();
    assert_eq!(moved, None);
    for n in 0..count {
        let test = format!("{name}-{n}");
        store.append(&world().run(&test, &["a", "b", &test])).unwrap();
        if n % 20 == 7 {
            store.index_now().unwrap();
        }
        println!("\nappended {test}");
    }
}

fn spawn(folder: &Path, name: &str, count: usize) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["processes::child", "--exact", "--nocapture"])
        .env(FOLDER, folder)
        .env(NAME, name)
        .env(COUNT, count.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

#[test]
fn processes_and_threads_append_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let mut children: Vec<_> =
        (0..3).map(|n| spawn(dir.path(), &format!("process{n}"), 40)).collect();
    std::thread::scope(|scope| {
        for n in 0..3 {
            let folder = dir.path();
            scope.spawn(move || {
                let store = open(folder);
                for m in 0..40 {
                    let test = format!("thread{n}-{m}");
                    store.append(&world().run(&test, &["a", "c", &test])).unwrap();
                }
            });
        }
    });
    for child in &mut children {
        // Somebody has to read, or the child waits for room in the pipe.
        let lines = BufReader::new(child.stdout.take().unwrap()).lines().count();
        assert!(child.wait().unwrap().success(), "{lines} lines");
    }
    let store = open(dir.path());
    assert_eq!(store.tests().unwrap().len(), 240);
    for n in 0..3 {
        for m in 0..40 {
            assert!(!runs(&store, &format!("process{n}-{m}"), &world()));
            assert!(!runs(&store, &format!("thread{n}-{m}"), &world()));
        }
    }
}

#[test]
fn a_kill_loses_only_what_was_in_flight() {
    let dir = tempfile::tempdir().unwrap();
    for round in 0..8 {
        let name = format!("round{round}");
        let mut child = spawn(dir.path(), &name, 100_000);
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut acknowledged = 0;
        // Another number each round, so that the kill meets other moments.
        while acknowledged < 3 + round * 9 {
            let line = lines.next().expect("the child goes on").unwrap();
            acknowledged += usize::from(line.starts_with("appended"));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        for line in lines {
            acknowledged += usize::from(line.unwrap().starts_with("appended"));
        }

        let store = open(dir.path());
        for n in 0..acknowledged {
            assert!(
                !runs(&store, &format!("{name}-{n}"), &world()),
                "{name}-{n} of {acknowledged}"
            );
        }
        store.index_now().unwrap();
        assert_eq!(store.history(&key(&format!("{name}-0"))).unwrap().len(), 1);
        assert!(runs(&store, &format!("{name}-0"), &world().with("a", "2")));
    }
}

/// A look at the store past SQLite must not take our locks away: another process that closes it would then take it
/// for unused, and remove the log that we go on to write.
#[test]
fn a_look_at_the_format_keeps_the_locks_of_an_open_store() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let world = World::new(&[("a", "1")]);
    store.append(&world.run("one", &["a"])).unwrap();
    Store::refuse_newer(dir.path()).unwrap();
    drop(open(dir.path()));
    let script = "import sqlite3, sys\nc = sqlite3.connect(sys.argv[1])\n\
                  print(c.execute('select count(*) from record').fetchone()[0])\nc.close()\n";
    let look = || {
        let file = dir.path().join("tamis.db");
        let got = Command::new("python3").args(["-c", script]).arg(file).output().unwrap();
        String::from_utf8(got.stdout).unwrap().trim().to_owned()
    };
    assert_eq!(look(), "1");
    assert!(dir.path().join("tamis.db-wal").exists(), "another process removed the log");
    store.append(&world.run("two", &["a"])).unwrap();
    assert_eq!(look(), "2");
}
