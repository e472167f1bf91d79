//! Garbage collection removes what it should and nothing else.

use crate::common::{World, evidence, key, open, runs};
use std::num::NonZeroUsize;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tamis_store::GcPolicy;

fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as u64
}

#[test]
fn old_records_go_with_what_only_they_used() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let world = World::new(&[("shared", "1"), ("old", "1"), ("new", "1")]);
    let mut old = world.run("old", &["shared", "old"]);
    old.started_ms = now_ms() - 100_000;
    let mut new = world.run("new", &["shared", "new"]);
    new.started_ms = now_ms();
    store.append(&old).unwrap();
    store.append(&new).unwrap();
    store.index_now().unwrap();

    let policy = GcPolicy { max_age: Some(Duration::from_secs(50)), ..GcPolicy::default() };
    let report = store.collect_garbage(&policy).unwrap();
    assert_eq!((report.records, report.tests), (1, 1));
    assert_eq!((report.observations, report.questions), (1, 1));
    assert_eq!(store.tests().unwrap().len(), 1);
    assert!(!runs(&store, "new", &world));
    assert!(runs(&store, "old", &world));
    assert!(runs(&store, "new", &world.with("shared", "2")));
    // Nothing is left to do.
    let again = store.collect_garbage(&policy).unwrap();
    assert_eq!((again.records, again.tests, again.observations, again.questions), (0, 0, 0, 0));
}

#[test]
fn no_limits_remove_nothing_that_is_used() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let world = World::new(&[("a", "1")]);
    let mut run = world.run("t", &["a", "out"]);
    run.observed[1].after = Some(crate::common::content("x"));
    let id = store.append(&run).unwrap();
    let before = store.record(id).unwrap();
    let report = store.collect_garbage(&GcPolicy::default()).unwrap();
    assert_eq!((report.records, report.observations, report.questions), (0, 0, 0));
    assert_eq!(store.record(id).unwrap(), before);
    assert!(!runs(&store, "t", &world.with("out", "x")));
}

/// Where no record went since the last collection, nothing is looked for; what went since is found.
#[test]
fn what_went_since_the_last_collection_is_swept() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let world = World::new(&[("a", "1"), ("b", "1")]);
    store.append(&world.run("t", &["a"])).unwrap();
    store.append(&world.run("u", &["a", "b"])).unwrap();
    let collect = || store.collect_garbage(&GcPolicy::default()).unwrap();
    assert_eq!(collect().observations, 0);
    store.forget(&world.run("u", &[]).test).unwrap();
    let report = collect();
    assert_eq!((report.observations, report.questions), (1, 1));
    store.append(&world.run("u", &["a", "b"])).unwrap();
    assert_eq!(collect().observations, 0);
    assert!(!runs(&store, "t", &world) && !runs(&store, "u", &world));
}

#[test]
fn what_went_before_the_first_collection_is_swept() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let world = World::new(&[("a", "1"), ("b", "1")]);
    store.append(&world.run("t", &["a"])).unwrap();
    store.append(&world.run("u", &["b"])).unwrap();
    store.forget(&world.run("u", &[]).test).unwrap();
    let report = store.collect_garbage(&GcPolicy::default()).unwrap();
    assert_eq!((report.observations, report.questions), (1, 1));
    assert!(!runs(&store, "t", &world));
}

#[test]
fn a_size_limit_takes_older_records_before_the_newest_of_a_test() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let paths: Vec<String> = (0..200).map(|n| format!("some/longer/path/to/file{n}")).collect();
    let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
    let world = |n: usize| {
        let text = n.to_string();
        World::new(&paths.iter().map(|p| (*p, text.as_str())).collect::<Vec<_>>())
    };
    store.append(&world(0).run("first", &paths)).unwrap();
    for n in 0..12 {
        store.append(&world(n).run("t", &paths)).unwrap();
    }
    let policy = GcPolicy { max_bytes: Some(64_000), ..GcPolicy::default() };
    let report = store.collect_garbage(&policy).unwrap();
    assert!(report.bytes_after < report.bytes_before && report.bytes_after <= 64_000, "{report:?}");
    assert!(report.records > 0 && report.observations > 0);
    assert_eq!(report.bytes_after, store.size_on_disk());
    assert!(!runs(&store, "first", &world(0)));
    assert!(!runs(&store, "t", &world(11)));
    assert!(runs(&store, "t", &world(1)));
}

#[test]
fn ids_are_not_reused_after_a_collection() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let world = World::new(&[("a", "1"), ("b", "1")]);
    let first = store.append(&world.run("t", &["a"])).unwrap();
    let proofs = store.record(first).unwrap().unwrap().proofs;
    store.forget(&key("t")).unwrap();
    store.collect_garbage(&GcPolicy::default()).unwrap();
    let second = store.append(&world.run("t", &["b"])).unwrap();
    assert!(second > first);
    assert!(store.record(second).unwrap().unwrap().proofs[0] > proofs[0]);
}

#[test]
fn records_beyond_the_number_go() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let world = |n: usize| World::new(&[("a", &n.to_string())]);
    for n in 0..5 {
        store.append(&world(n).run("t", &["a"])).unwrap();
        store.index_now().unwrap();
    }
    let policy = GcPolicy { keep_per_test: NonZeroUsize::new(2), ..GcPolicy::default() };
    assert_eq!(store.collect_garbage(&policy).unwrap().records, 3);
    assert!(!runs(&store, "t", &world(4)));
    assert!(!runs(&store, "t", &world(3)));
    assert!(runs(&store, "t", &world(2)));
    assert_eq!(evidence(&store, &["t"], &world(4)).questions_asked(), 1);
}
