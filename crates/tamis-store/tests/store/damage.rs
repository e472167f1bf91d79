//! Bad bytes in every place: the answer is an empty store or a test that runs, never a wrong skip,
//! an error or a panic.

use crate::common::{World, evidence, key, open, runs};
use std::fs;
use std::path::Path;
use tamis_store::{GcPolicy, SetAside, Store, StoreError};

/// A store with an index, closed, so that all is in one file.
pub(crate) fn filled(dir: &Path) -> World {
    let store = open(dir);
    let names: Vec<String> = (0..40).map(|n| format!("file{n}")).collect();
    let files: Vec<_> = names.iter().map(|n| (n.as_str(), "1")).collect();
    let world = World::new(&files);
    for n in 0..30 {
        let paths: Vec<&str> =
            names.iter().skip(n % 10).step_by(1 + n % 3).map(String::as_str).collect();
        store.append(&world.run(&format!("t{n}"), &paths)).unwrap();
        if n % 7 == 0 {
            store.index_now().unwrap();
        }
    }
    world
}

fn moved(dir: &Path) -> SetAside {
    let (store, moved) = Store::open(dir).unwrap();
    let moved = moved.expect("the store was set aside");
    assert!(moved.moved_to.symlink_metadata().is_ok());
    let name = moved.moved_to.file_name().unwrap().to_string_lossy().into_owned();
    assert!(name.starts_with("tamis.db.damaged-"), "{name}");
    // What takes its place is usable.
    assert_eq!(store.tests().unwrap(), []);
    let world = World::new(&[("a", "1")]);
    store.append(&world.run("t", &["a"])).unwrap();
    assert!(!runs(&store, "t", &world));
    moved
}

#[test]
fn an_empty_file_is_an_empty_store() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("tamis.db"), "").unwrap();
    assert_eq!(open(dir.path()).tests().unwrap(), []);
}

#[test]
fn text_in_place_of_the_database_is_set_aside() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("tamis.db"), "these are not the bytes of a database".repeat(500))
        .unwrap();
    moved(dir.path());
}

#[test]
fn a_folder_in_place_of_the_file_is_set_aside() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("tamis.db")).unwrap();
    fs::write(dir.path().join("tamis.db/x"), "keep me").unwrap();
    let moved = moved(dir.path());
    assert_eq!(fs::read_to_string(moved.moved_to.join("x")).unwrap(), "keep me");
}

#[test]
fn an_older_format_is_set_aside() {
    let dir = tempfile::tempdir().unwrap();
    filled(dir.path());
    sql(dir.path(), "PRAGMA user_version = 1");
    let moved = moved(dir.path());
    assert!(moved.why.contains("format 1 is not known"), "{}", moved.why);
}

#[test]
fn the_log_goes_with_the_database_and_who_has_it_open_does_no_harm() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::new(&[("a", "1")]);
    let old = open(dir.path());
    old.append(&world.run("in the log", &["a"])).unwrap();
    sql(dir.path(), "PRAGMA user_version = 1");
    let (new, moved) = Store::open(dir.path()).unwrap();
    let moved = moved.unwrap().moved_to;
    assert!(fs::metadata(format!("{}-wal", moved.display())).unwrap().len() > 0);

    new.append(&world.run("new", &["a"])).unwrap();
    old.append(&world.run("late", &["a"])).unwrap();
    drop(old);
    new.append(&world.run("newer", &["a"])).unwrap();
    drop(new);
    let store = open(dir.path());
    let names: Vec<_> =
        store.tests().unwrap().into_iter().map(|t| t.key.unit.name().into_owned()).collect();
    assert_eq!(names, ["new", "newer"]);
    let conn = rusqlite::Connection::open(moved).unwrap();
    let tests: i64 = conn.query_row("SELECT count(*) FROM test", [], |row| row.get(0)).unwrap();
    assert_eq!(tests, 2);
}

#[test]
fn a_truncated_file_never_gives_a_wrong_skip() {
    let whole = tempfile::tempdir().unwrap();
    let world = filled(whole.path());
    let bytes = fs::read(whole.path().join("tamis.db")).unwrap();
    for part in 0..24 {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("tamis.db"), &bytes[..bytes.len() * part / 24]).unwrap();
        use_it_all(dir.path(), &world);
    }
}

#[test]
fn overwritten_bytes_never_give_a_wrong_skip() {
    let whole = tempfile::tempdir().unwrap();
    let world = filled(whole.path());
    let bytes = fs::read(whole.path().join("tamis.db")).unwrap();
    let mut random = tamis_testkit::Random::seeded(0x51);
    for round in 0..100 {
        let mut broken = bytes.clone();
        for _ in 0..=round % 20 {
            let at = random.below(broken.len());
            if round % 2 == 0 {
                broken[at] ^= 1 << random.below(8);
            } else {
                let end = (at + random.below(200)).min(broken.len());
                broken[at..end].fill(random.below(256) as u8);
            }
        }
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("tamis.db"), &broken).unwrap();
        use_it_all(dir.path(), &world);
    }
}

/// Uses every part of the interface; asserts that nothing fails, and that nothing is skipped in a
/// world where every file differs.
pub(crate) fn use_it_all(dir: &Path, world: &World) {
    let names: Vec<String> = (0..30).map(|n| format!("t{n}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut other = world.clone();
    other.0.values_mut().for_each(|text| *text = "2".into());

    let (store, _) = Store::open(dir).unwrap();
    let found = evidence(&store, &names, &other);
    for (n, name) in names.iter().enumerate() {
        assert!(found.decide(n, &Default::default()).is_run(), "{name}");
        for candidate in found.candidates(n) {
            found.first_difference(candidate.record).unwrap();
            store.record(candidate.record).unwrap();
            store.differences(candidate.record, &|q| world.answers(q)).unwrap();
        }
    }
    evidence(&store, &names, world);
    store.tests().unwrap();
    store.history(&key("t1")).unwrap();
    store.left_behind().unwrap();
    store.readers_of_leftovers().unwrap();
    store.index_now().unwrap();
    store.collect_garbage(&GcPolicy { max_bytes: Some(1), ..GcPolicy::default() }).unwrap();
    store.forget(&key("t2")).unwrap();
    let id = store.append(&world.run("t3", &["file1"])).unwrap();
    // An append that met damage went to a fresh store.
    assert!(store.record(id).unwrap().is_some());
    drop(store);

    let (store, _) = Store::open(dir).unwrap();
    evidence(&store, &names, &other);
}

#[test]
fn damage_that_shows_later_sets_the_store_aside_once() {
    let dir = tempfile::tempdir().unwrap();
    let world = filled(dir.path());
    let file = dir.path().join("tamis.db");
    let mut bytes = fs::read(&file).unwrap();
    // All pages but the first ones, which hold the header and the tables' definitions.
    for byte in &mut bytes[4096..] {
        *byte = 0xAB;
    }
    fs::write(&file, bytes).unwrap();
    let (store, at_open) = Store::open(dir.path()).unwrap();
    assert!(runs(&store, "t1", &world));
    store.append(&world.run("t1", &["file1"])).unwrap();
    assert!(!runs(&store, "t1", &world));
    let later = store.take_set_aside();
    assert!(at_open.is_some() != later.is_some());
    assert_eq!(store.take_set_aside(), None);
}

#[test]
fn a_second_handle_follows_to_the_new_store() {
    let dir = tempfile::tempdir().unwrap();
    let world = filled(dir.path());
    let (one, two) = (open(dir.path()), open(dir.path()));
    // Both have the file open when its pages go bad.
    let file = dir.path().join("tamis.db");
    let mut bytes = fs::read(&file).unwrap();
    bytes[4096..].fill(0xAB);
    fs::write(&file, bytes).unwrap();
    one.append(&world.run("from one", &["file1"])).unwrap();
    two.append(&world.run("from two", &["file1"])).unwrap();
    drop((one, two));
    let store = open(dir.path());
    assert!(!runs(&store, "from one", &world));
    assert!(!runs(&store, "from two", &world));
    let aside = fs::read_dir(dir.path()).unwrap().filter(|entry| {
        let name = entry.as_ref().unwrap().file_name().into_string().unwrap();
        name.contains("damaged") && !name.ends_with("-wal") && !name.ends_with("-shm")
    });
    assert_eq!(aside.count(), 1);
}

#[test]
fn a_folder_that_cannot_be_is_a_clear_error() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("file"), "").unwrap();
    // Even root can make no folder below these.
    for impossible in [dir.path().join("file/store"), Path::new("/proc/tamis-store").to_path_buf()]
    {
        let error = Store::open(&impossible).unwrap_err();
        assert!(matches!(error, StoreError::Folder { .. }), "{error:?}");
        let text = error.to_string();
        assert!(text.contains(&impossible.display().to_string()), "{text}");
        assert!(text.contains("--store"), "{text}");
    }
}

/// Every byte of a blob with one bit flipped, and the blob cut short.
fn damaged(blob: &[u8]) -> Vec<Vec<u8>> {
    let flipped = (0..blob.len()).map(|at| {
        let mut bytes = blob.to_vec();
        bytes[at] ^= 1 << (at % 8);
        bytes
    });
    let cut = (0..blob.len()).map(|length| blob[..length].to_vec());
    flipped.chain(cut).collect()
}

fn blob(dir: &Path, select: &str) -> Vec<u8> {
    let conn = rusqlite::Connection::open(dir.join("tamis.db")).unwrap();
    conn.query_row(select, [], |row| row.get(0)).unwrap()
}

fn update(dir: &Path, statement: &str, bytes: &[u8]) {
    let conn = rusqlite::Connection::open(dir.join("tamis.db")).unwrap();
    conn.busy_timeout(std::time::Duration::from_secs(10)).unwrap();
    conn.execute(statement, [bytes]).unwrap();
}

#[test]
fn a_record_with_a_flipped_bit_is_ignored() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::new(&[("a", "1"), ("b", "1")]);
    let store = open(dir.path());
    store.append(&crate::common::tainted(world.run("t", &["a"]))).unwrap();
    store.append(&world.run("u", &["b"])).unwrap();
    let whole = blob(dir.path(), "SELECT summary FROM record WHERE id = 1");
    for bytes in damaged(&whole) {
        update(dir.path(), "UPDATE record SET summary = ?1 WHERE id = 1", &bytes);
        assert!(runs(&store, "t", &world), "{bytes:?}");
        assert!(!runs(&store, "u", &world), "{bytes:?}");
        assert_eq!(store.history(&key("t")).unwrap(), [], "{bytes:?}");
    }
    update(dir.path(), "UPDATE record SET summary = ?1 WHERE id = 1", &whole);
    assert_eq!(store.history(&key("t")).unwrap().len(), 1);
    // A summary in the row of another record, and a record in the hands of another test.
    let of_u = blob(dir.path(), "SELECT summary FROM record WHERE id = 2");
    update(dir.path(), "UPDATE record SET summary = ?1 WHERE id = 1", &of_u);
    assert_eq!(store.history(&key("t")).unwrap(), []);
    sql(dir.path(), "UPDATE record SET test = (SELECT min(id) + max(id) - record.test FROM test)");
    assert!(runs(&store, "t", &world));
    assert!(runs(&store, "u", &world));
}

#[test]
fn a_changed_block_or_proof_does_not_hold() {
    let world = World::new(&[("a", "1"), ("b", "1"), ("c", "1")]);
    for statement in [
        "DELETE FROM block",
        "UPDATE block SET id = id + 1",
        "UPDATE block SET observations = x''",
        "UPDATE block SET observations = zeroblob(100)",
        "UPDATE block SET observations = 7",
        "UPDATE block SET observations = (SELECT sets FROM proof)",
        "DELETE FROM proof",
        "UPDATE proof SET sets = x''",
        "UPDATE proof SET sets = zeroblob(40)",
        "UPDATE proof SET sets = (SELECT observations FROM block)",
    ] {
        for indexed in [false, true] {
            let dir = tempfile::tempdir().unwrap();
            let store = open(dir.path());
            store.append(&world.run("t", &["a", "b"])).unwrap();
            if indexed {
                store.index_now().unwrap();
            }
            assert!(!runs(&store, "t", &world));
            sql(dir.path(), statement);
            assert!(runs(&store, "t", &world), "{statement}");
            store.index_now().unwrap();
            assert!(runs(&store, "t", &world), "{statement}");
            // The next run is recorded as if nothing had been, and collecting removes the rest.
            store.append(&world.run("t", &["a", "b"])).unwrap();
            assert!(!runs(&store, "t", &world), "{statement}");
            store.collect_garbage(&GcPolicy::default()).unwrap();
            assert!(!runs(&store, "t", &world), "{statement}");
        }
    }
}

#[test]
fn no_flipped_byte_of_a_block_or_proof_makes_anything_hold() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::new(&[("src/a", "1"), ("src/b", "1"), ("src/c", "1")]);
    let store = open(dir.path());
    let mut run = world.run("t", &["src/a", "src/b", "src/missing"]);
    run.observed[0].detail = tamis_core::record::Detail::Size(7);
    store.append(&run).unwrap();
    let record = store.history(&key("t")).unwrap()[0].id;
    for (select, set) in [
        ("SELECT observations FROM block", "UPDATE block SET observations = ?1"),
        ("SELECT sets FROM proof", "UPDATE proof SET sets = ?1"),
    ] {
        let whole = blob(dir.path(), select);
        for bytes in damaged(&whole) {
            update(dir.path(), set, &bytes);
            assert!(runs(&store, "t", &world), "{bytes:?}");
            store.record(record).unwrap();
            store.differences(record, &|q| world.answers(q)).unwrap();
        }
        update(dir.path(), set, &whole);
        assert!(!runs(&store, "t", &world));
    }
    // Without its details a record still proves what it proves.
    let whole = blob(dir.path(), "SELECT details FROM block");
    for bytes in damaged(&whole) {
        update(dir.path(), "UPDATE block SET details = ?1", &bytes);
        assert!(!runs(&store, "t", &world));
        assert_eq!(store.record(record).unwrap().unwrap().unreadable, 0);
    }
}

#[test]
fn no_flipped_byte_of_a_small_store_gives_a_wrong_skip() {
    let whole = tempfile::tempdir().unwrap();
    let world = World::new(&[("a", "1"), ("b", "1"), ("c", "1")]);
    let store = open(whole.path());
    for (test, paths) in [("t", ["a", "b"]), ("u", ["b", "c"]), ("v", ["c", "missing"])] {
        store.append(&world.run(test, &paths)).unwrap();
    }
    drop(store);
    let bytes = fs::read(whole.path().join("tamis.db")).unwrap();
    let other = World::new(&[("a", "2"), ("b", "2"), ("c", "2"), ("missing", "2")]);
    let dir = tempfile::tempdir().unwrap();
    // Empty parts of pages say nothing. Most of the first ones is the text of the tables. Of the
    // others a third will do: every byte of every blob has its turn in the tests above.
    let step = |at| if at > 4_096 { 3 } else { 40 };
    let places = (0..bytes.len()).filter(|&at| bytes[at] != 0 && at % step(at) == 0);
    for at in places {
        let mut broken = bytes.clone();
        broken[at] ^= 1 << (at % 8);
        fs::write(dir.path().join("tamis.db"), &broken).unwrap();
        let (store, _) = Store::open(dir.path()).unwrap();
        let found = evidence(&store, &["t", "u", "v"], &other);
        for n in 0..3 {
            assert!(found.decide(n, &Default::default()).is_run(), "byte {at}, test {n}");
        }
        // Only one file differs: the test that did not look at it may be skipped, no other.
        let found = evidence(&store, &["t", "u", "v"], &world.with("c", "2"));
        for n in 1..3 {
            assert!(found.decide(n, &Default::default()).is_run(), "byte {at}, test {n}");
        }
        drop(found);
        drop(store);
        for entry in fs::read_dir(dir.path()).unwrap() {
            fs::remove_file(entry.unwrap().path()).unwrap();
        }
    }
}

fn sql(dir: &Path, statement: &str) {
    let conn = rusqlite::Connection::open(dir.join("tamis.db")).unwrap();
    conn.busy_timeout(std::time::Duration::from_secs(10)).unwrap();
    conn.execute_batch(statement).unwrap();
}
