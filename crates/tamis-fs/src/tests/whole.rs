//! Whole files: what they hold, and what is remembered of them.

use super::{cached, in_an_hour, plain};
use crate::{Fingerprinter, identity};
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::symlink;
use tamis_core::{Hash, Scheme, Value};

#[test]
fn bytes_and_hash_are_those_of_the_file_also_through_a_link() {
    let dir = tempfile::tempdir().unwrap();
    let (file, link) = (dir.path().join("f"), dir.path().join("l"));
    fs::write(&file, "some text").unwrap();
    symlink("f", &link).unwrap();
    let mut content = b"what was in there before, which is longer".to_vec();
    for path in [&file, &link] {
        let whole = plain().read_whole(path, &mut content).unwrap();
        assert_eq!(content, b"some text");
        assert_eq!(whole.hash, Hash::of(b"some text"));
        assert_eq!(Some(whole.identity), identity(&file).unwrap());
    }
}

#[test]
fn what_was_read_whole_is_not_read_again() {
    let dir = tempfile::tempdir().unwrap();
    let (file, cache) = (dir.path().join("f"), dir.path().join("cache"));
    fs::write(&file, "one").unwrap();
    let fingerprinter = Fingerprinter::with_clock(cached(&cache), in_an_hour);
    let whole = fingerprinter.read_whole(&file, &mut Vec::new()).unwrap();
    fingerprinter.flush().unwrap();
    let value = Value::Content { hash: whole.hash, executable: false };
    let seen = Fingerprinter::with_clock(cached(&cache), in_an_hour);
    assert_eq!(seen.answer(&file, Scheme::Raw).value, value);
    let written = fs::metadata(&cache).unwrap().modified().unwrap();
    seen.read_whole(&file, &mut Vec::new()).unwrap();
    seen.flush().unwrap();
    assert_eq!(fs::metadata(&cache).unwrap().modified().unwrap(), written, "nothing new");
}

#[test]
fn a_file_that_is_too_young_is_not_remembered() {
    let dir = tempfile::tempdir().unwrap();
    let (file, cache) = (dir.path().join("f"), dir.path().join("cache"));
    fs::write(&file, "one").unwrap();
    let fingerprinter = Fingerprinter::new(cached(&cache));
    fingerprinter.read_whole(&file, &mut Vec::new()).unwrap();
    fingerprinter.flush().unwrap();
    assert!(!cache.exists());
    fs::write(&file, "two").unwrap();
    let two = Value::Content { hash: Hash::of(b"two"), executable: false };
    assert_eq!(fingerprinter.answer(&file, Scheme::Raw).value, two);
}

#[test]
fn what_is_no_file_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let fingerprinter = plain();
    let mut content = Vec::new();
    let mut kind = |name: &str| {
        fingerprinter.read_whole(&dir.path().join(name), &mut content).unwrap_err().kind()
    };
    assert_eq!(kind("missing"), ErrorKind::NotFound);
    symlink("nowhere", dir.path().join("dangling")).unwrap();
    assert_eq!(kind("dangling"), ErrorKind::NotFound);
    fs::create_dir(dir.path().join("folder")).unwrap();
    assert_eq!(kind("folder"), ErrorKind::Other);
}
