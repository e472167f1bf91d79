//! The files of a store in every state that people and machines bring them into: damaged in all parts at
//! once, of a newer version, without permission to write.

use crate::common::{World, open, runs};
use crate::damage::{filled, use_it_all};
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use tamis_store::{GcPolicy, Store, StoreError};
use tamis_testkit::Random;

const PARTS: [&str; 4] = ["tamis.db", "tamis.db-wal", "tamis.db-shm", "tamis.db-journal"];

/// The files of a store that a killed process left: with a log that is not written back.
fn in_the_middle(dir: &Path) -> World {
    let live = tempfile::tempdir().unwrap();
    let world = filled(live.path());
    let store = open(live.path());
    for n in 0..10 {
        store.append(&world.run(&format!("t{n}"), &["file1", "file2"])).unwrap();
    }
    for part in PARTS {
        let _ = fs::copy(live.path().join(part), dir.join(part));
    }
    world
}

fn copy(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).unwrap().flatten() {
        fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

/// Does something bad to one file.
fn damage(file: &Path, random: &mut Random) -> String {
    let mut bytes = fs::read(file).unwrap_or_default();
    let at = random.below(bytes.len().max(1));
    let end = (at + random.below(3000)).min(bytes.len());
    let what = match random.below(11) {
        0 if !bytes.is_empty() => {
            bytes[at] ^= 1 << random.below(8);
            "a bit"
        }
        1 => {
            bytes[at.min(end)..end].fill(random.below(256) as u8);
            "a stretch"
        }
        2 => {
            let noise: Vec<u8> = (at..end).map(|_| random.below(256) as u8).collect();
            bytes[at.min(end)..end].copy_from_slice(&noise);
            "noise"
        }
        3 => {
            bytes.truncate(at);
            "cut"
        }
        4 => {
            bytes.extend((0..random.below(5000)).map(|_| random.below(256) as u8));
            "longer"
        }
        5 => {
            bytes.clear();
            "empty"
        }
        6 => {
            bytes.drain(at.min(end)..end);
            "a hole"
        }
        7 => {
            let _ = fs::remove_file(file);
            return "gone".into();
        }
        8 => {
            let _ = fs::remove_file(file);
            fs::create_dir(file).unwrap();
            return "a folder".into();
        }
        9 => {
            // Another page size, and other versions for writing and reading.
            let place = [16, 17, 18, 19, 20, 28, 44, 47, 52, 56][random.below(10)];
            let value = [0, 1, 2, 3, 4, 0x10, 0x80, 0xff][random.below(8)];
            if let Some(byte) = bytes.get_mut(place) {
                *byte = value;
            }
            "the header"
        }
        _ => {
            let other = bytes.len() / 2;
            bytes.rotate_left(other);
            "turned round"
        }
    };
    fs::write(file, bytes).unwrap();
    format!("{what} at {at}")
}

#[test]
fn damage_in_any_part_leads_to_no_error_and_no_wrong_skip() {
    let (closed, killed) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let worlds = [filled(closed.path()), in_the_middle(killed.path())];
    let mut random = Random::seeded(0x52);
    for round in 0..100 {
        let which = round % 2;
        let dir = tempfile::tempdir().unwrap();
        copy([closed.path(), killed.path()][which], dir.path());
        let done: Vec<String> = (0..1 + random.below(3))
            .map(|_| {
                let part = PARTS[[0, 0, 0, 1, 1, 2, 3][random.below(7)]];
                let file = dir.path().join(part);
                let what = match file.is_dir() {
                    true => String::new(),
                    false => damage(&file, &mut random),
                };
                format!("{part}: {what}")
            })
            .collect();
        if let Err(StoreError::Newer { .. }) = Store::open(dir.path()) {
            continue;
        }
        let used = std::panic::catch_unwind(|| use_it_all(dir.path(), &worlds[which]));
        assert!(used.is_ok(), "round {round}: {done:?}");
    }
}

#[test]
fn every_byte_of_the_header_may_be_wrong() {
    let whole = tempfile::tempdir().unwrap();
    let world = filled(whole.path());
    for place in 0..100 {
        let dir = tempfile::tempdir().unwrap();
        copy(whole.path(), dir.path());
        let file = dir.path().join("tamis.db");
        let mut bytes = fs::read(&file).unwrap();
        bytes[place] ^= [0x01, 0x80, 0xff, 0x03][place % 4];
        fs::write(&file, bytes).unwrap();
        match Store::open(dir.path()) {
            // Bytes that name the format.
            Err(StoreError::Newer { .. }) => assert!((60..64).contains(&place), "{place}"),
            _ => use_it_all(dir.path(), &world),
        }
    }
}

/// All files of a folder with their bytes and modes.
fn picture(dir: &Path) -> Vec<(PathBuf, Vec<u8>, u32)> {
    let mut all: Vec<_> = fs::read_dir(dir)
        .unwrap()
        .flatten()
        .map(|entry| (entry.path(), entry.metadata().unwrap().mode()))
        .map(|(path, mode)| (path.clone(), fs::read(path).unwrap(), mode))
        .collect();
    all.sort();
    all
}

#[test]
fn a_newer_store_is_not_touched_by_anything() {
    for in_the_log in [false, true] {
        let dir = tempfile::tempdir().unwrap();
        if in_the_log {
            in_the_middle(dir.path());
        } else {
            filled(dir.path());
        }
        let file = dir.path().join("tamis.db");
        let conn = rusqlite::Connection::open(&file).unwrap();
        conn.pragma_update(None, "user_version", 99).unwrap();
        let copied = tempfile::tempdir().unwrap();
        if in_the_log {
            copy(dir.path(), copied.path());
        }
        drop(conn);
        if !in_the_log {
            copy(dir.path(), copied.path());
        }
        let before = picture(copied.path());
        for _ in 0..2 {
            let error = Store::open(copied.path()).unwrap_err();
            assert!(matches!(error, StoreError::Newer { found: 99, .. }), "{error:?}");
            let text = error.to_string();
            assert!(text.contains("format 99") && text.contains("update tamis"), "{text}");
            assert!(Store::open_existing(copied.path()).is_err());
        }
        assert_eq!(picture(copied.path()), before, "in the log: {in_the_log}");
    }
}

#[test]
fn a_store_that_becomes_newer_while_it_is_open_is_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let world = filled(dir.path());
    let store = open(dir.path());
    assert!(!runs(&store, "t1", &world));
    let conn = rusqlite::Connection::open(dir.path().join("tamis.db")).unwrap();
    conn.execute_batch("DROP TABLE record; PRAGMA user_version = 99;").unwrap();
    let error = store.append(&world.run("t1", &["file1"])).unwrap_err();
    assert!(matches!(error, StoreError::Newer { .. }), "{error:?}");
    let names = fs::read_dir(dir.path()).unwrap().flatten().map(|entry| entry.file_name());
    assert!(!names.into_iter().any(|name| name.to_string_lossy().contains("damaged")));
}

#[test]
fn files_are_for_the_user_alone_whatever_they_were() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("made/by/tamis");
    let (store, _) = Store::open(&folder).unwrap();
    let world = World::new(&[("a", "1")]);
    store.append(&world.run("t", &["a"])).unwrap();
    store.index_now().unwrap();
    assert_eq!(folder.metadata().unwrap().mode() & 0o777, 0o700);
    assert!(picture(&folder).iter().all(|(_, _, mode)| mode & 0o777 == 0o600));
    drop(store);
    fs::set_permissions(folder.join("tamis.db"), Permissions::from_mode(0o666)).unwrap();
    let store = open(&folder);
    store.append(&world.run("u", &["a"])).unwrap();
    assert!(picture(&folder).iter().all(|(_, _, mode)| mode & 0o777 == 0o600));
}

const NOBODY: u32 = 65_534;

/// Does something with files as a user without privileges: as ourselves, or, for root, as another one
/// that gets the folder.
fn unprivileged(folder: &Path, work: impl FnOnce() + Send) {
    // SAFETY: geteuid has no precondition.
    let root = unsafe { libc::geteuid() } == 0;
    if root {
        for entry in fs::read_dir(folder).unwrap().flatten() {
            std::os::unix::fs::chown(entry.path(), Some(NOBODY), Some(NOBODY)).unwrap();
        }
        std::os::unix::fs::chown(folder, Some(NOBODY), Some(NOBODY)).unwrap();
    }
    std::thread::scope(|scope| {
        scope.spawn(move || {
            if root {
                // SAFETY: changes how this one thread, which ends here, is seen by file systems.
                unsafe { libc::setfsuid(NOBODY) };
            }
            work();
        });
    });
}

#[test]
fn a_store_that_can_only_be_read_decides_and_keeps_nothing() {
    for (in_the_log, folder_mode, file_mode) in
        [(false, 0o500, 0o400), (false, 0o700, 0o400), (false, 0o500, 0o600), (true, 0o500, 0o400)]
    {
        let dir = tempfile::tempdir().unwrap();
        fs::set_permissions(dir.path(), Permissions::from_mode(0o755)).unwrap();
        let folder = dir.path().join("store");
        fs::create_dir(&folder).unwrap();
        let world = if in_the_log { in_the_middle(&folder) } else { filled(&folder) };
        // Without its index, as a copy of a store may be.
        let _ = fs::remove_file(folder.join("tamis.db-shm"));
        for (path, _, _) in picture(&folder) {
            fs::set_permissions(path, Permissions::from_mode(file_mode)).unwrap();
        }
        fs::set_permissions(&folder, Permissions::from_mode(folder_mode)).unwrap();
        let before = picture(&folder);
        unprivileged(&folder, || {
            let (store, moved) = Store::open(&folder).unwrap();
            assert_eq!(moved, None);
            assert!(store.read_only().is_some(), "{folder_mode:o} {file_mode:o}");
            assert!(!runs(&store, "t11", &world) && runs(&store, "t11", &world.with("file4", "2")));
            store.append(&world.run("new", &["file1"])).unwrap();
            let errors = [
                store.forget(&crate::common::key("t1")).unwrap_err(),
                store.collect_garbage(&GcPolicy::default()).unwrap_err(),
            ];
            assert!(errors.iter().all(|e| matches!(e, StoreError::ReadOnly { .. })), "{errors:?}");
            drop(store);
            assert!(runs(&Store::open(&folder).unwrap().0, "new", &world));
        });
        fs::set_permissions(&folder, Permissions::from_mode(0o700)).unwrap();
        let names = |all: &[(PathBuf, Vec<u8>, u32)]| -> Vec<(PathBuf, Vec<u8>)> {
            all.iter().map(|(path, bytes, _)| (path.clone(), bytes.clone())).collect()
        };
        assert_eq!(names(&picture(&folder)), names(&before));
    }
}

#[test]
fn where_nothing_can_be_written_and_nothing_is_there_the_error_is_clear() {
    let dir = tempfile::tempdir().unwrap();
    fs::set_permissions(dir.path(), Permissions::from_mode(0o755)).unwrap();
    let folder = dir.path().join("store");
    fs::create_dir(&folder).unwrap();
    fs::set_permissions(&folder, Permissions::from_mode(0o555)).unwrap();
    unprivileged(&folder, || {
        let error = Store::open(&folder).unwrap_err();
        assert!(matches!(error, StoreError::Denied { .. }), "{error:?}");
        let text = error.to_string();
        assert!(text.contains(&folder.display().to_string()) && text.contains("--store"), "{text}");
    });
}
