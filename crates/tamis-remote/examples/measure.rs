//! Requests, bytes and seconds of pulls, cold and warm, after so many runs by so many writers.
//!
//! ```text
//! cargo run --release -p tamis-remote --example measure -- [URL] [RUNS WRITERS]...
//! cargo run --release -p tamis-remote --example measure -- [URL] suite TESTS
//! ```
//!
//! `suite`: one suite of so many tests, all of which one machine ran; then one in fifty of them anew, and what a second machine
//! pulls after each.
//!
//! Each run pushes 20 records of 1,000 tests; a test looked at 50 of 5,000 files. Without a URL a folder is used that
//! is removed at the end. An S3 server is found by AWS_ENDPOINT_URL and its like.

use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tamis_core::record::{Access, Detail, Observed, Outcome, Run};
use tamis_core::{PathMap, PortablePath, Question, Scheme, TestKey, Value};
use tamis_remote::Remote;
use tamis_remote::keys::SecretKey;
use tamis_remote::place::Deadline;
use tamis_remote::pull::Wish;
use tamis_store::Store;

const TESTS: usize = 1_000;
const FILES: usize = 5_000;
const A_RUN: usize = 20;

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as u64
}

fn one(test: usize, version: usize) -> Run {
    let file = |n: usize| (test * 37 + n * 101) % FILES;
    let observed = (0..50).map(|n| {
        let file = file(n);
        // A run is in a state of its own: some files have changed.
        let content = if file % 97 == version % 97 { version } else { 0 };
        Observed {
            question: Question::Path(
                PortablePath::from_stored(format!(
                    "src/module{}/package{}/file{file}.c",
                    file % 20,
                    file % 7
                )),
                Scheme::Raw,
            ),
            before: Value::text(format!("{file} {content}").as_bytes()),
            after: None,
            access: Access::READ,
            program: "/usr/bin/test".into(),
            detail: Detail::Size(100),
        }
    });
    Run {
        test: TestKey::item("suite", format!("tests/test{test}.sh"), "."),
        outcome: Outcome::Passed,
        started_ms: now(),
        wall_us: (version * TESTS + test) as u64,
        cpu_us: 1,
        engine: "notify".into(),
        observed: observed.collect(),
        taints: Vec::new(),
        notes: Vec::new(),
        left_behind: Vec::new(),
    }
}

struct Machine {
    store: Store,
    remote: Remote,
    _folder: tempfile::TempDir,
}

fn machine(settings: &tamis_settings::Remote, key: &SecretKey) -> Machine {
    let folder = tempfile::tempdir().expect("a folder");
    let (store, _) = Store::open(&folder.path().join("store")).expect("a store");
    let paths = PathMap::new(folder.path().join("project"), None);
    let remote = Remote::with_key(settings, &paths, Some(key.public())).expect("a remote");
    Machine { store, remote, _folder: folder }
}

fn long() -> Deadline {
    Deadline::within(Duration::from_secs(3_600))
}

fn measure(url: &str, project: &str, runs: usize, writers: usize) {
    let key = SecretKey::from_bytes(&[1; 32]);
    let text = format!(
        "[remote]\nurl = '{url}'\nproject = '{project}'\nread = ['main']\nwrite = 'main'\ntrusted-keys = ['{}']\n",
        key.public()
    );
    let settings =
        tamis_settings::parse(text.as_bytes(), Path::new("tamis.toml")).expect("settings");
    let settings = settings.remote.expect("a remote");
    let machines: Vec<Machine> = (0..writers).map(|_| machine(&settings, &key)).collect();
    let (began, mut bytes, mut pushed) = (Instant::now(), 0, 0);
    for n in 0..runs {
        let writer = &machines[n % writers];
        let tests = (0..A_RUN).map(|t| one((n * 53 + t * 17) % TESTS, n));
        writer.store.append_many(&tests.collect::<Vec<_>>()).expect("records");
        let done = writer.remote.push(&writer.store, "main", &key, long()).expect("a push");
        bytes += done.bytes;
        pushed += done.records;
    }
    let wrote = began.elapsed();
    let requests: u64 = machines.iter().map(|one| one.remote.place().requests()).sum();
    let reader = machine(&settings, &SecretKey::from_bytes(&[2; 32]));
    let mut rows = Vec::new();
    for _ in 0..2 {
        let (before, read) = (reader.remote.place().requests(), reader.remote.place().traffic().0);
        let began = Instant::now();
        let pulled = reader.remote.pull(&reader.store, Wish::default(), long());
        let seconds = began.elapsed().as_secs_f64();
        assert!(pulled.failed.is_empty() && pulled.refused.is_empty(), "{pulled:?}");
        let place = reader.remote.place();
        rows.push((place.requests() - before, place.traffic().0 - read, seconds, pulled.records));
    }
    let (cold, warm) = (rows[0], rows[1]);
    println!(
        "| {runs} | {writers} | {:.1} | {:.0} | {:.1} | {} | {:.1} | {:.2} | {} | {:.4} | {} |",
        requests as f64 / runs as f64,
        bytes as f64 / pushed as f64,
        wrote.as_secs_f64() * 1_000.0 / runs as f64,
        cold.0,
        cold.1 as f64 / 1_000.0,
        cold.2,
        warm.0,
        warm.2,
        cold.3
    );
}

/// One suite of many tests: a cold pull, a warm one with something new, and a warm one with nothing new.
fn suite(url: &str, tests: usize) {
    let key = SecretKey::from_bytes(&[1; 32]);
    let text = format!(
        "[remote]\nurl = '{url}'\nproject = 'suite-{tests}'\nread = ['main']\nwrite = 'main'\ntrusted-keys = ['{}']\n",
        key.public()
    );
    let settings =
        tamis_settings::parse(text.as_bytes(), Path::new("tamis.toml")).expect("settings");
    let settings = settings.remote.expect("a remote");
    let (ci, dev) =
        (machine(&settings, &key), machine(&settings, &SecretKey::from_bytes(&[2; 32])));
    let push = |step: usize, version: usize| {
        for some in (0..tests).step_by(step).collect::<Vec<_>>().chunks(2_000) {
            let runs: Vec<Run> = some.iter().map(|&test| one(test, version)).collect();
            ci.store.append_many(&runs).expect("records");
        }
        let (before, began) = (ci.remote.place().requests(), Instant::now());
        let done = ci.remote.push(&ci.store, "main", &key, long()).expect("a push");
        let requests = ci.remote.place().requests() - before;
        println!(
            "push of {} records: {requests} requests, {} kB, {:.2} s",
            done.records,
            done.bytes / 1_000,
            began.elapsed().as_secs_f64()
        );
    };
    let pull = |what: &str| {
        let (before, read, began) =
            (dev.remote.place().requests(), dev.remote.place().traffic().0, Instant::now());
        let pulled = dev.remote.pull(&dev.store, Wish::default(), long());
        assert!(pulled.failed.is_empty() && pulled.refused.is_empty(), "{pulled:?}");
        let requests = dev.remote.place().requests() - before;
        let kilobytes = (dev.remote.place().traffic().0 - read) / 1_000;
        println!(
            "{what}: {requests} requests, {kilobytes} kB, {:.2} s, {} records",
            began.elapsed().as_secs_f64(),
            pulled.records
        );
    };
    push(1, 0);
    pull("cold pull");
    push(50, 1);
    pull("warm pull, one in fifty is new");
    pull("warm pull, nothing is new");
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let folder = tempfile::tempdir().expect("a folder");
    let (url, rest) = match words.split_first() {
        Some((url, rest)) if url.contains("://") => (url.clone(), rest.to_vec()),
        _ => (format!("file://{}", folder.path().display()), words),
    };
    if let [word, tests] = rest.as_slice()
        && word == "suite"
    {
        return suite(&url, tests.parse().expect("a number"));
    }
    let numbers: Vec<usize> = rest.iter().filter_map(|word| word.parse().ok()).collect();
    let usual = [1, 1, 100, 1, 100, 100, 10_000, 1, 10_000, 100];
    let numbers = if numbers.len() < 2 { usual.to_vec() } else { numbers };
    println!(
        "| runs | writers | requests of a push | bytes of a record | push, ms | cold pull: requests | kB | s | warm pull: requests | s | records |"
    );
    println!("|{}", " --- |".repeat(11));
    for pair in numbers.chunks_exact(2) {
        measure(&url, &format!("measured-{}-{}", pair[0], pair[1]), pair[0], pair[1]);
    }
}
