//! Random histories of a folder, and random damage to the cache file: an answer with the cache
//! always equals one without.

use super::{cached, in_an_hour, plain};
use crate::{Fingerprinter, Options};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use std::fs::{self, File, FileTimes, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, SystemTime};
use tamis_core::{Scheme, Value};

const NAMES: [&str; 4] = ["a", "b", "c", "d"];
const SCHEMES: [Scheme; 5] =
    [Scheme::Raw, Scheme::Listing, Scheme::Kind, Scheme::Text, Scheme::Bytecode];

#[derive(Debug, Clone)]
enum Step {
    /// Same size as any other write, so that only times can tell.
    Rewrite(usize, u8),
    /// Written in place, then the old modification time is set again.
    RewriteWithOldTime(usize, u8),
    Append(usize),
    Remove(usize),
    Rename(usize, usize),
    Chmod(usize, bool),
    Link(usize, usize),
    Folder(usize),
    Ask,
    Flush,
    Reopen,
}

fn step() -> impl Strategy<Value = Step> {
    let name = || 0..NAMES.len();
    prop_oneof![
        4 => (name(), any::<u8>()).prop_map(|(n, b)| Step::Rewrite(n, b)),
        3 => (name(), any::<u8>()).prop_map(|(n, b)| Step::RewriteWithOldTime(n, b)),
        1 => name().prop_map(Step::Append),
        2 => name().prop_map(Step::Remove),
        2 => (name(), name()).prop_map(|(a, b)| Step::Rename(a, b)),
        1 => (name(), any::<bool>()).prop_map(|(n, x)| Step::Chmod(n, x)),
        1 => (name(), name()).prop_map(|(a, b)| Step::Link(a, b)),
        1 => name().prop_map(Step::Folder),
        6 => Just(Step::Ask),
        1 => Just(Step::Flush),
        1 => Just(Step::Reopen),
    ]
}

/// Does the step; one that is not possible in the present state changes nothing.
fn apply(dir: &Path, step: &Step) -> std::io::Result<()> {
    let path = |n: &usize| dir.join(NAMES[*n]);
    match step {
        Step::Rewrite(n, byte) => fs::write(path(n), [*byte; 32]),
        Step::RewriteWithOldTime(n, byte) => {
            let old = fs::metadata(path(n))?.modified()?;
            let mut file = OpenOptions::new().write(true).open(path(n))?;
            file.write_all(&[*byte; 32])?;
            file.set_times(FileTimes::new().set_modified(old))
        }
        Step::Append(n) => OpenOptions::new().append(true).open(path(n))?.write_all(b"more"),
        Step::Remove(n) => fs::remove_file(path(n)).or_else(|_| fs::remove_dir(path(n))),
        Step::Rename(a, b) => fs::rename(path(a), path(b)),
        Step::Chmod(n, executable) => {
            let mode = if *executable { 0o755 } else { 0o644 };
            fs::set_permissions(path(n), fs::Permissions::from_mode(mode))
        }
        Step::Link(a, b) => symlink(NAMES[*a], path(b)),
        Step::Folder(n) => fs::create_dir(path(n)),
        Step::Ask | Step::Flush | Step::Reopen => Ok(()),
    }
}

fn questions(dir: &Path) -> Vec<(PathBuf, Scheme)> {
    let paths = NAMES.iter().map(|n| dir.join(n)).chain([dir.to_path_buf()]);
    paths.flat_map(|path| SCHEMES.map(|scheme| (path.clone(), scheme))).collect()
}

fn values(fingerprinter: &Fingerprinter, questions: &[(PathBuf, Scheme)]) -> Vec<Value> {
    fingerprinter.answer_many(questions).iter().map(|a| a.value).collect()
}

/// Plays a history and compares at every question.
fn play(dir: &Path, options: &Options, steps: &[Step]) -> Result<(), TestCaseError> {
    let mut fingerprinter = Fingerprinter::new(options.clone());
    let questions = questions(dir);
    for step in steps.iter().chain([&Step::Ask]) {
        match step {
            Step::Ask => {
                prop_assert_eq!(values(&fingerprinter, &questions), values(&plain(), &questions));
                for (path, scheme) in &questions {
                    let found = fingerprinter.answer(path, *scheme);
                    prop_assert_eq!(found, plain().answer(path, *scheme));
                }
            }
            Step::Flush => fingerprinter.flush().unwrap(),
            Step::Reopen => {
                fingerprinter.flush().unwrap();
                fingerprinter = Fingerprinter::new(options.clone());
            }
            change => {
                // A change that is not possible now is as good as none.
                let _impossible = apply(dir, change);
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn the_cache_never_changes_an_answer(steps in prop::collection::vec(step(), 1..40)) {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("d");
        fs::create_dir(&folder).unwrap();
        play(&folder, &cached(&dir.path().join("stat")), &steps)?;
    }

    #[test]
    fn damage_never_changes_an_answer(
        hits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..200),
        cut in prop::option::of(any::<prop::sample::Index>()),
        in_header in any::<bool>(),
    ) {
        let dir = tempfile::tempdir().unwrap();
        let cache = dir.path().join("stat");
        let questions: Vec<(PathBuf, Scheme)> = (0..60)
            .map(|i| {
                let path = dir.path().join(i.to_string());
                fs::write(&path, i.to_string()).unwrap();
                (path, Scheme::Raw)
            })
            .collect();
        let expected = values(&plain(), &questions);
        let before = Fingerprinter::with_clock(cached(&cache), in_an_hour);
        prop_assert_eq!(&values(&before, &questions), &expected);
        before.flush().unwrap();

        let mut bytes = fs::read(&cache).unwrap();
        let reach = if in_header { 128 } else { bytes.len() };
        for (at, byte) in hits {
            bytes[at.index(reach)] ^= byte;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        fs::write(&cache, bytes).unwrap();

        for _ in 0..2 {
            let after = Fingerprinter::with_clock(cached(&cache), in_an_hour);
            prop_assert_eq!(&values(&after, &questions), &expected);
            after.flush().unwrap();
        }
    }
}

/// As the first property, from a state that is old enough to be in the cache: only this tries that
/// what is remembered is forgotten again. The wait is the price of the real clock.
#[test]
fn what_was_remembered_is_forgotten_when_it_changes() {
    let dir = tempfile::tempdir().unwrap();
    let cases: Vec<PathBuf> = (0..200).map(|i| dir.path().join(i.to_string())).collect();
    let long_ago = SystemTime::now() - Duration::from_secs(1000);
    for folder in &cases {
        fs::create_dir(folder).unwrap();
        for (i, name) in NAMES.iter().enumerate() {
            fs::write(folder.join(name), [i as u8; 32]).unwrap();
            let file = File::options().write(true).open(folder.join(name)).unwrap();
            file.set_times(FileTimes::new().set_modified(long_ago)).unwrap();
        }
    }
    thread::sleep(Duration::from_millis(2100));
    let options = cached(&dir.path().join("stat"));
    let warm = Fingerprinter::new(options.clone());
    for folder in &cases {
        warm.answer_many(&questions(folder));
    }
    warm.flush().unwrap();
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    for folder in &cases {
        let steps = prop::collection::vec(step(), 1..12);
        let steps = steps.new_tree(&mut runner).unwrap().current();
        play(folder, &options, &steps).unwrap_or_else(|e| panic!("{steps:?}: {e}"));
    }
}
