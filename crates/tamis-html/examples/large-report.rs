//! A report of many tests, for `bench/report/measure`: `large-report TESTS DIR`.
//!
//! The store is a real one, with a record of some hundred inputs for each test; most tests were skipped in the last run.

use std::path::Path;
use std::time::{Duration, Instant};
use tamis_core::record::{Access, Detail, Observed, ProofId, Run};
use tamis_core::{
    Cause, Decision, Hash, Outcome, PortablePath, Question, RecordId, Scheme, TestKey, Value,
};
use tamis_html::{Sources, gather, write_folder};
use tamis_report::kept::{Called, KeptRun, figures_line};
use tamis_report::savings::Span;
use tamis_report::{RunReport, TestReport};
use tamis_store::Store;

/// Files of the project, inputs of each test, and tests of one transaction.
const FILES: usize = 10_000;
const INPUTS: usize = 200;
const BATCH: usize = 2_000;
const NOW: u64 = 1_794_981_600_000;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let (tests, folder) = match words.as_slice() {
        [tests, folder] => (tests.parse::<usize>().expect("a number"), Path::new(folder)),
        _ => panic!("large-report TESTS DIR"),
    };
    let (store, _) = Store::open(&folder.join("store")).expect("a store");
    if store.tests().expect("a store").is_empty() {
        fill(&store, tests);
    }
    let is = content(0);
    let began = Instant::now();
    let sources = Sources {
        store: &store,
        planned: &[],
        ask: &|questions| vec![is; questions.len()],
        source_of: &|_| None,
        project: "large".into(),
        now_ms: NOW,
    };
    let report = gather(&sources).expect("a report");
    let gathered = began.elapsed();
    let files = write_folder(&report, folder, "index.html").expect("files");
    let size = std::fs::metadata(&files.html).map_or(0, |meta| meta.len());
    println!(
        "{} tests: gathered in {:.2} s, written in {:.2} s, {:.1} MB",
        report.tests.len(),
        gathered.as_secs_f64(),
        (began.elapsed() - gathered).as_secs_f64(),
        size as f64 / 1e6
    );
}

fn content(n: usize) -> Value {
    Value::Content { hash: Hash::of(&n.to_le_bytes()), executable: false }
}

fn key(n: usize) -> TestKey {
    let suite = ["unit", "integration", "api", "browser"][n % 4];
    TestKey::item(
        suite,
        format!("tests/part{:03}/com.acme.module{:03}.Case{n:06}Test", n / 500, n % 97),
        ".",
    )
}

fn fill(store: &Store, tests: usize) {
    for first in (0..tests).step_by(BATCH) {
        let runs: Vec<Run> = (first..tests.min(first + BATCH)).map(run).collect();
        store.append_many(&runs).expect("records");
    }
    let reports = (0..tests).map(report_of).collect();
    let run = RunReport { tests: reports, wall: Duration::from_secs(300), ..RunReport::default() };
    let called =
        Called { at_ms: NOW, name: "the suites of tamis.toml".into(), ..Called::default() };
    let kept = KeptRun::of(&run, called);
    let began = Instant::now();
    store.keep_last_run("", &kept.to_bytes());
    println!("the last run is kept in {:.0} ms", began.elapsed().as_secs_f64() * 1e3);
    for n in 0..500_u64 {
        store.add_saving(NOW - n * 7_200_000, Duration::from_secs(60 + n % 90));
        store.add_run(NOW - n * 7_200_000, &figures_line(&kept.figures, &kept.called));
    }
}

/// Neighbours look at much the same.
fn run(n: usize) -> Run {
    let observed = |file: usize| Observed {
        question: Question::Path(
            PortablePath::from_stored(format!("src/module{:03}/file{file:05}.c", file / 100)),
            Scheme::Raw,
        ),
        before: content(0),
        after: None,
        access: Access::READ,
        program: "cc".into(),
        detail: Detail::None,
    };
    let near = (n / 40) * 17;
    let files = (0..INPUTS).map(|i| if i < 40 { i * 7 } else { (near + i * 3 + n % 5) % FILES });
    Run {
        test: key(n),
        outcome: Outcome::Passed,
        started_ms: NOW + n as u64,
        wall_us: 1_000 + (n as u64 * 7_919) % 900_000,
        cpu_us: 0,
        engine: "notify".into(),
        observed: files.map(observed).collect(),
        taints: Vec::new(),
        notes: Vec::new(),
        left_behind: Vec::new(),
    }
}

fn report_of(n: usize) -> TestReport {
    let length = Duration::from_micros(1_000 + (n as u64 * 7_919) % 900_000);
    let span = Span { began_ms: NOW + n as u64, length };
    if !n.is_multiple_of(50) {
        let decision = Decision::Skip { record: RecordId(n as u32 + 1), proof: ProofId(1) };
        let test = TestReport::new(key(n), decision, "nothing it looked at has changed");
        return TestReport { saved: length, span, inputs: Some(INPUTS as u64), ..test };
    }
    let reason = format!("src/module{:03}/file{:05}.c changed", n % 7, n % 700);
    let mut test = TestReport::new(key(n), Decision::Run(Cause::Changed(RecordId(1))), reason);
    test.outcome = Some(if n.is_multiple_of(1_000) { Outcome::Failed(1) } else { Outcome::Passed });
    test.output = test.failed().then(|| b"Error: expected 3, got 4\n".to_vec());
    TestReport { span, ..test }
}
