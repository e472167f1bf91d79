//! What the cache remembers, and what it must not.

use super::{cached, in_an_hour, plain};
use crate::{Fingerprinter, Ignored, Options, command_id};
use std::cell::Cell;
use std::fs;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tamis_core::record::Detail;
use tamis_core::{Hash, Scheme, Value};

/// A file, and how often it was read.
struct Counted {
    _dir: tempfile::TempDir,
    file: PathBuf,
    options: Options,
    scheme: Scheme,
    reads: Cell<usize>,
}

impl Counted {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("f");
        fs::write(&file, "one").unwrap();
        let options = cached(&dir.path().join("cache/stat"));
        Self { _dir: dir, file, options, scheme: Scheme::Text, reads: Cell::new(0) }
    }

    fn ask(&self, clock: fn() -> i128) -> Value {
        let fingerprinter = Fingerprinter::with_clock(self.options.clone(), clock);
        let value = fingerprinter.answer(&self.file, self.scheme).value;
        fingerprinter.flush().unwrap();
        self.count(&fingerprinter);
        value
    }

    fn count(&self, fingerprinter: &Fingerprinter) {
        self.reads.set(self.reads.get() + fingerprinter.reads.load(Ordering::Relaxed));
    }

    fn runs(&self) -> usize {
        self.reads.get()
    }
}

#[test]
fn a_settled_file_is_read_once_for_all_processes() {
    let counted = Counted::new();
    let first = counted.ask(in_an_hour);
    for _ in 0..3 {
        assert_eq!(counted.ask(in_an_hour), first);
    }
    assert_eq!(counted.runs(), 1);
    fs::write(&counted.file, "another").unwrap();
    assert_ne!(counted.ask(in_an_hour), first);
    assert_eq!(counted.runs(), 2);
}

#[test]
fn a_young_file_is_read_each_time() {
    let counted = Counted::new();
    let now = || in_an_hour() - 3_600_000_000_000;
    counted.ask(now);
    counted.ask(now);
    assert_eq!(counted.runs(), 2);
}

#[test]
fn times_in_the_future_are_not_trusted() {
    let counted = Counted::new();
    counted.ask(in_an_hour);
    counted.ask(|| 1_000_000_000);
    assert_eq!(counted.runs(), 2);
}

#[test]
fn memory_serves_without_a_cache_file() {
    let mut counted = Counted::new();
    counted.options.cache_file = None;
    let fingerprinter = Fingerprinter::with_clock(counted.options.clone(), in_an_hour);
    for _ in 0..3 {
        fingerprinter.answer(&counted.file, counted.scheme);
        fingerprinter.flush().unwrap();
    }
    counted.count(&fingerprinter);
    assert_eq!(counted.runs(), 1);
}

#[test]
fn a_cache_that_cannot_be_written_costs_only_the_cache() {
    let mut counted = Counted::new();
    counted.options.cache_file = Some(counted.file.join("below/a/file"));
    let fingerprinter = Fingerprinter::with_clock(counted.options.clone(), in_an_hour);
    let first = fingerprinter.answer(&counted.file, counted.scheme);
    assert!(fingerprinter.flush().is_err());
    assert_eq!(fingerprinter.answer(&counted.file, counted.scheme), first);
    counted.count(&fingerprinter);
    assert_eq!(counted.runs(), 1);
}

/// Whatever a command reads besides the file, its value is that of now.
#[test]
fn a_command_is_asked_each_time() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("f");
    fs::write(&file, "one").unwrap();
    let side = dir.path().join("side");
    let words: Vec<String> = ["sh", "-c", "cat side"].map(str::to_owned).to_vec();
    let id = command_id(&words);
    let ask = |scheme| {
        let commands = [(id, words.clone())].into();
        let root = dir.path().to_path_buf();
        let options = Options { commands, root, ..cached(&dir.path().join("stat")) };
        let fingerprinter = Fingerprinter::with_clock(options, in_an_hour);
        let answer = fingerprinter.answer(&file, scheme);
        fingerprinter.flush().unwrap();
        (answer, fingerprinter.take_troubles().len())
    };
    let (fingerprint, filter) = (Scheme::Command(id), Scheme::Filter(id));
    assert!(ask(fingerprint).0.error.is_some());
    assert_eq!(ask(fingerprint).1, 1);
    // Without an answer of the filter the file counts.
    let counts = ask(filter).0;
    assert!(matches!(counts.value, Value::Content { .. }) && counts.error.is_none());
    fs::write(&side, "a").unwrap();
    let (first, troubles) = ask(fingerprint);
    assert_eq!((&first.error, troubles), (&None, 0));
    assert_eq!(ask(fingerprint).0, first);
    assert_eq!(ask(filter).0.value, Value::Derived);
    fs::write(&side, "b").unwrap();
    assert_ne!(ask(fingerprint).0.value, first.value);
    fs::write(&side, "").unwrap();
    let nothing = ask(fingerprint).0.value;
    fs::write(&file, "two").unwrap();
    assert_ne!(ask(fingerprint).0.value, nothing, "where it prints nothing the bytes count");
    fs::remove_file(&side).unwrap();
    assert_ne!(ask(filter).0.value, counts.value, "another content");
}

#[test]
fn schemes_and_filters_of_one_path_keep_apart() {
    let dir = tempfile::tempdir().unwrap();
    let cache = dir.path().join("stat");
    let folder = dir.path().join("d");
    fs::create_dir(&folder).unwrap();
    let file = folder.join("f");
    fs::write(&file, "{}").unwrap();
    let with_filter = |name: &'static str| {
        let ignored = Ignored {
            predicate: Arc::new(move |p| p.ends_with(name)),
            digest: Hash::of(name.as_bytes()),
        };
        let options = Options { ignored: Some(ignored), ..cached(&cache) };
        Fingerprinter::with_clock(options, in_an_hour)
    };
    let ask = |fingerprinter: &Fingerprinter| {
        let values = [
            fingerprinter.answer_many(&[(folder.clone(), Scheme::Listing)])[0].value,
            fingerprinter.answer(&file, Scheme::Raw).value,
            fingerprinter.answer(&file, Scheme::Json).value,
            fingerprinter.answer(&file, Scheme::Text).value,
        ];
        fingerprinter.flush().unwrap();
        values
    };
    for _ in 0..2 {
        let (a, b) = (ask(&with_filter("f")), ask(&with_filter("g")));
        assert_ne!(a[0], b[0]);
        assert_eq!(a[1..], b[1..]);
        assert!(a[1] != a[2] && a[2] != a[3] && a[1] != a[3]);
    }
}

#[test]
fn names_are_there_also_when_the_listing_is_known() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("a"), "").unwrap();
    let fingerprinter = Fingerprinter::with_clock(Options::default(), in_an_hour);
    let first = fingerprinter.answer(dir.path(), Scheme::Listing);
    assert_eq!(fingerprinter.answer(dir.path(), Scheme::Listing), first);
    assert_eq!(first.detail, Detail::Names(vec![b"a".to_vec()]));
}

/// Replaces what the cache says about every file by something wrong, with a right checksum: shows
/// that the tests of damage below really read the cache.
#[test]
fn the_cache_file_is_really_used() {
    let dir = tempfile::tempdir().unwrap();
    let cache = dir.path().join("stat");
    let file = dir.path().join("f");
    fs::write(&file, "one").unwrap();
    let ask = || {
        let fingerprinter = Fingerprinter::with_clock(cached(&cache), in_an_hour);
        let value = fingerprinter.answer(&file, Scheme::Raw).value;
        fingerprinter.flush().unwrap();
        value
    };
    let honest = ask();
    let mut bytes = fs::read(&cache).unwrap();
    for slot in bytes[4096..].chunks_exact_mut(64).filter(|s| s.iter().any(|&b| b != 0)) {
        slot[24] ^= 1;
        let sum = xxhash_rust::xxh3::xxh3_64(&slot[..56]);
        slot[56..].copy_from_slice(&sum.to_le_bytes());
    }
    fs::write(&cache, bytes).unwrap();
    assert_ne!(ask(), honest);
    assert_eq!(plain().answer(&file, Scheme::Raw).value, honest);
}

#[test]
fn a_cache_that_is_truncated_while_it_is_open_is_a_miss() {
    let dir = tempfile::tempdir().unwrap();
    let cache = dir.path().join("stat");
    let file = dir.path().join("f");
    fs::write(&file, "one").unwrap();
    let first = Fingerprinter::with_clock(cached(&cache), in_an_hour);
    let value = first.answer(&file, Scheme::Raw).value;
    first.flush().unwrap();
    let second = Fingerprinter::with_clock(cached(&cache), in_an_hour);
    fs::File::options().write(true).open(&cache).unwrap().set_len(10).unwrap();
    assert_eq!(second.answer(&file, Scheme::Raw).value, value);
    second.flush().unwrap();
    let third = Fingerprinter::with_clock(cached(&cache), in_an_hour);
    assert_eq!(third.answer(&file, Scheme::Raw).value, value);
}

#[test]
fn a_cache_of_another_version_is_replaced() {
    let dir = tempfile::tempdir().unwrap();
    let counted = Counted::new();
    let cache = counted.options.cache_file.clone().unwrap();
    counted.ask(in_an_hour);
    let file = fs::File::options().write(true).open(&cache).unwrap();
    file.write_all_at(&99u32.to_le_bytes(), 16).unwrap();
    counted.ask(in_an_hour);
    assert_eq!(counted.runs(), 2);
    counted.ask(in_an_hour);
    assert_eq!(counted.runs(), 2);
    fs::remove_file(&cache).unwrap();
    fs::create_dir(&cache).unwrap();
    let fingerprinter = Fingerprinter::with_clock(counted.options.clone(), in_an_hour);
    fingerprinter.answer(&counted.file, counted.scheme);
    assert!(fingerprinter.flush().is_err());
    drop(dir);
}

#[test]
fn several_writers_at_once_lose_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let cache = dir.path().join("stat");
    let files: Vec<(PathBuf, Scheme)> = (0..1200)
        .map(|i| {
            let path = dir.path().join(i.to_string());
            fs::write(&path, i.to_string()).unwrap();
            (path, Scheme::Raw)
        })
        .collect();
    std::thread::scope(|scope| {
        for part in files.chunks(150) {
            let options = cached(&cache);
            scope.spawn(move || {
                let fingerprinter = Fingerprinter::with_clock(options, in_an_hour);
                for few in part.chunks(30) {
                    fingerprinter.answer_many(few);
                    fingerprinter.flush().unwrap();
                }
            });
        }
    });
    // Served from the cache alone: nothing is left to write.
    let before = fs::metadata(&cache).unwrap().modified().unwrap();
    let fingerprinter = Fingerprinter::with_clock(cached(&cache), in_an_hour);
    let expected: Vec<Value> = plain().answer_many(&files).iter().map(|a| a.value).collect();
    let found: Vec<Value> = fingerprinter.answer_many(&files).iter().map(|a| a.value).collect();
    assert_eq!(found, expected);
    fingerprinter.flush().unwrap();
    assert_eq!(fs::metadata(&cache).unwrap().modified().unwrap(), before);
}
