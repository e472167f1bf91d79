//! Stores that earlier builds wrote, as files in fixtures/stores: what a build does with a store that it finds after an update.
//!
//! A store of our own format is used as it is, and none of its records proves less or more than when it was written. One of
//! an older format is set aside, and everything runs (`damage::an_older_format_is_set_aside`); one of a newer format is refused
//! (`states::a_newer_store_is_not_touched_by_anything`). Whoever changes the format leaves the file of the old one here, moves
//! it to `SET_ASIDE` or writes the step that brings it forward, and adds a file of the new one: `TAMIS_WRITE_STORES=1 cargo test
//! -p tamis-store earlier`.

use crate::common::{World, open, runs};
use crate::damage::filled;
use std::fs;
use std::path::{Path, PathBuf};
use tamis_store::{GcPolicy, Store};

/// What is used as it is.
const USED: [&str; 1] = ["format-4.db"];
/// What is set aside.
const SET_ASIDE: [&str; 0] = [];

fn kept(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/stores").join(name)
}

/// A folder with a copy of the store, and the world in which its tests passed.
fn found(name: &str) -> (tempfile::TempDir, World) {
    let dir = tempfile::tempdir().unwrap();
    let world = filled(dir.path());
    if std::env::var_os("TAMIS_WRITE_STORES").is_some() && Some(&name) == USED.last() {
        fs::copy(dir.path().join("tamis.db"), kept(name)).unwrap();
    }
    let dir = tempfile::tempdir().unwrap();
    fs::copy(kept(name), dir.path().join("tamis.db")).unwrap();
    (dir, world)
}

#[test]
fn every_kept_store_has_its_place() {
    let entries = fs::read_dir(kept("")).unwrap().flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().into_string().unwrap()).collect();
    names.sort();
    let mut known = [USED.as_slice(), &SET_ASIDE].concat();
    known.sort_unstable();
    assert_eq!(names, known);
}

#[test]
fn a_store_of_an_earlier_build_decides_as_it_did() {
    for name in USED {
        let (dir, world) = found(name);
        let store = open(dir.path());
        assert_eq!(store.tests().unwrap().len(), 30, "{name}");
        let tests: Vec<String> = (0..30).map(|n| format!("t{n}")).collect();
        for test in &tests {
            assert!(!runs(&store, test, &world), "{name} {test}");
        }
        assert!(runs(&store, "another", &world), "{name}");
        // By the same rule as `filled`: which tests read file9.
        let edited = world.with("file9", "2");
        for (n, test) in tests.iter().enumerate() {
            let read_it = 9 >= n % 10 && (9 - n % 10) % (1 + n % 3) == 0;
            assert_eq!(runs(&store, test, &edited), read_it, "{name} {test}");
        }
        // It is gone on with, and collected.
        store.append(&edited.run("t9", &["file9"])).unwrap();
        assert!(!runs(&store, "t9", &edited) && !runs(&store, "t9", &world), "{name}");
        store.collect_garbage(&GcPolicy::default()).unwrap();
        drop(store);
        let store = open(dir.path());
        assert!(tests.iter().all(|test| !runs(&store, test, &world)), "{name}");
    }
}

#[test]
fn a_store_of_an_older_format_is_set_aside_as_it_is() {
    for name in SET_ASIDE {
        let (dir, world) = found(name);
        let (store, moved) = Store::open(dir.path()).unwrap();
        let moved = moved.expect("it was set aside");
        assert_eq!(fs::read(moved.moved_to).unwrap(), fs::read(kept(name)).unwrap(), "{name}");
        assert!(runs(&store, "t1", &world), "{name}");
    }
}
