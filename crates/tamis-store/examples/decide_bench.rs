//! How long a decision takes, on synthetic stores. Prints figures; asserts nothing.
//!
//! ```text
//! cargo run --release -p tamis-store --example decide_bench                # both sizes
//! cargo run --release -p tamis-store --example decide_bench -- small       # 1,000 tests (DIR as below)
//! cargo run --release -p tamis-store --example decide_bench -- large DIR   # 100,000, kept in DIR
//! ```
//!
//! A test looks at a common core (as libraries and tools are) and at a few stretches of
//! neighbouring inputs (as files of one folder are). Time to answer the questions is not counted:
//! they are answered from memory. Decisions are taken in a process of its own, so that its peak
//! memory is that of the decision and not of building the store.

use std::collections::HashSet;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};
use tamis_core::RecordSummary;
use tamis_core::record::{Access, Detail, Observed, Run};
use tamis_core::{Hash, Outcome, PortablePath, Question, Scheme, TestKey, Value};
use tamis_store::{GcPolicy, Store};

#[derive(Clone, Copy)]
struct Shape {
    tests: u32,
    inputs: u32,
    questions: u32,
    /// Inputs that every test has.
    core: u32,
    /// Length of a stretch of neighbouring inputs.
    stretch: u32,
}

const SMALL: Shape =
    Shape { tests: 1_000, inputs: 1_000, questions: 50_000, core: 300, stretch: 20 };
const LARGE: Shape =
    Shape { tests: 100_000, inputs: 1_000, questions: 200_000, core: 300, stretch: 35 };

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["small"] => in_temporary(small),
        ["small", dir] => small(Path::new(dir)),
        ["large"] => in_temporary(large),
        ["large", dir] => large(Path::new(dir)),
        ["decide", shape, dir] => decide_all(named(shape), Path::new(dir)),
        ["one", _, dir] => decide_one(Path::new(dir)),
        [] => {
            in_temporary(small);
            in_temporary(large);
        }
        _ => eprintln!("usage: decide_bench [small [DIR] | large [DIR]]"),
    }
}

fn named(shape: &str) -> Shape {
    if shape == "small" { SMALL } else { LARGE }
}

fn in_temporary(work: fn(&Path)) {
    let dir = tempfile::tempdir().expect("a temporary folder");
    work(dir.path());
}

fn small(dir: &Path) {
    build(SMALL, dir);
    child("one", "small", dir);
    child("decide", "small", dir);
    collect(dir);
}

fn large(dir: &Path) {
    build(LARGE, dir);
    child("one", "large", dir);
    child("decide", "large", dir);
    collect(dir);
}

fn child(what: &str, shape: &str, dir: &Path) {
    let me = std::env::current_exe().expect("own path");
    let status = Command::new(me).args([what, shape]).arg(dir).status().expect("a child");
    assert!(status.success());
}

fn inputs_of(shape: Shape, test: u32) -> Vec<u32> {
    // The same store every time.
    let mut random = tamis_testkit::Random::new(u64::from(test));
    let mut inputs: HashSet<u32> = (0..shape.core).collect();
    while inputs.len() < shape.inputs as usize {
        let start = random.below(shape.questions as usize) as u32;
        for input in start..(start + shape.stretch).min(shape.questions) {
            if inputs.len() < shape.inputs as usize {
                inputs.insert(input);
            }
        }
    }
    let mut inputs: Vec<u32> = inputs.into_iter().collect();
    inputs.sort_unstable();
    inputs
}

fn path(n: u32) -> String {
    format!("src/module{}/package{}/File{n}.java", n / 1_000, n / 30)
}

fn number_of(question: &Question) -> Option<u32> {
    let path = question.path()?.as_bytes();
    let end = path.strip_suffix(b".java")?;
    let digits = end.iter().rev().take_while(|c| c.is_ascii_digit()).count();
    std::str::from_utf8(&end[end.len() - digits..]).ok()?.parse().ok()
}

fn value(n: u32, version: u32) -> Value {
    let hash = (u128::from(version) << 64) | u128::from(n).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    Value::Content { hash: Hash(hash), executable: false }
}

fn test_key(n: u32) -> TestKey {
    TestKey::item("unit", format!("tests/group{}/test{n}", n / 50), ".")
}

fn run(shape: Shape, test: u32) -> Run {
    let observed = inputs_of(shape, test).into_iter().map(|n| Observed {
        question: Question::Path(PortablePath::from_stored(path(n)), Scheme::Raw),
        before: value(n, 0),
        after: None,
        access: Access::READ,
        program: "java".into(),
        detail: Detail::Size(1_000 + u64::from(n)),
    });
    Run {
        test: test_key(test),
        outcome: Outcome::Passed,
        started_ms: 1_700_000_000_000 + u64::from(test),
        wall_us: 100_000,
        cpu_us: 90_000,
        engine: "bench".into(),
        observed: observed.collect(),
        taints: Vec::new(),
        notes: Vec::new(),
        left_behind: Vec::new(),
    }
}

fn build(shape: Shape, dir: &Path) {
    let (store, _) = Store::open(dir).expect("a store");
    let known = store.tests().expect("tests").len() as u32;
    println!("{} tests x {} inputs over {} questions", shape.tests, shape.inputs, shape.questions);
    if known == shape.tests {
        println!("  the store is there already");
        return;
    }
    let start = Instant::now();
    // In the order of a first run the ids of neighbours are neighbours as well.
    for first in (known..shape.tests).step_by(1_000) {
        let chunk: Vec<Run> =
            (first..(first + 1_000).min(shape.tests)).map(|test| run(shape, test)).collect();
        store.append_many(&chunk).expect("appended");
    }
    if shape.tests > 10_000 {
        store.index_now().expect("indexed");
    }
    let megabytes = store.size_on_disk() / 1_000_000;
    println!("  built in {:.1} s, {megabytes} MB on disk", start.elapsed().as_secs_f64());

    let start = Instant::now();
    let again = run(shape, 0);
    const TIMES: u32 = 20;
    for _ in 0..TIMES {
        store.append(&again).expect("appended");
    }
    println!("  append of one run: {}", in_ms(start.elapsed() / TIMES));
}

fn collect(dir: &Path) {
    let (store, _) = Store::open(dir).expect("a store");
    let start = Instant::now();
    store.collect_garbage(&GcPolicy::default()).expect("collected");
    println!("  garbage collection with nothing to remove: {}", in_ms(start.elapsed()));
}

fn decide_one(dir: &Path) {
    let (store, _) = Store::open(dir).expect("a store");
    let asked = [test_key(store.tests().expect("tests").len() as u32 / 2)];
    drop(store);
    let (mut best, mut best_cpu) = (Duration::MAX, Duration::MAX);
    for _ in 0..20 {
        let (start, start_cpu) = (Instant::now(), cpu());
        let (store, _) = Store::open(dir).expect("a store");
        let evidence = store
            .evidence(&asked, &RecordSummary::is_complete, &|q| answers(q, &HashSet::new()))
            .expect("evidence");
        assert!(!evidence.decide(0, &Default::default()).is_run());
        best = best.min(start.elapsed());
        best_cpu = best_cpu.min(cpu() - start_cpu);
    }
    println!("  one test, with opening: best of 20 {}, cpu {}", in_ms(best), in_ms(best_cpu));
}

fn decide_all(shape: Shape, dir: &Path) {
    let asked: Vec<TestKey> = (0..shape.tests).map(test_key).collect();
    for changed in [0_u32, 1, 10, 100, 1_000, 10_000] {
        let mut random = tamis_testkit::Random::new(changed.into());
        let mut set = HashSet::new();
        while set.len() < changed as usize {
            // Not the core: a change there concerns every test.
            set.insert(shape.core + random.below((shape.questions - shape.core) as usize) as u32);
        }
        let (mut times, mut cpus) = (Vec::new(), Vec::new());
        let mut to_run = 0;
        for _ in 0..5 {
            let (start, start_cpu) = (Instant::now(), cpu());
            let (store, _) = Store::open(dir).expect("a store");
            let evidence = store
                .evidence(&asked, &RecordSummary::is_complete, &|q| answers(q, &set))
                .expect("evidence");
            to_run = (0..asked.len())
                .filter(|&n| evidence.decide(n, &Default::default()).is_run())
                .count();
            times.push(start.elapsed());
            cpus.push(cpu() - start_cpu);
        }
        times.sort();
        cpus.sort();
        println!(
            "  all tests, {changed:>6} changed: median {}, best {}, cpu {}; {to_run} to run",
            in_ms(times[times.len() / 2]),
            in_ms(times[0]),
            in_ms(cpus[cpus.len() / 2]),
        );
    }
    println!("  peak memory: {}", peak_memory());
}

fn answers(questions: &[Question], changed: &HashSet<u32>) -> Vec<Value> {
    questions
        .iter()
        .map(|q| number_of(q).map_or(Value::Absent, |n| value(n, changed.contains(&n).into())))
        .collect()
}

/// Processor time of this process. Unlike the clock on the wall it says the same on a busy machine.
fn cpu() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is valid for writing, and this clock always exists.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec as u32)
}

fn in_ms(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1_000.0)
}

fn peak_memory() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|l| l.starts_with("VmHWM")).unwrap_or("VmHWM: not known");
    line.split_whitespace().skip(1).collect::<Vec<_>>().join(" ")
}
