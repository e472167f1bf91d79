//! A project with some history, in a real store: what the browser is shown in tests, and pictures are taken of.

use std::path::Path;
use std::time::Duration;
use tamis_core::record::{Access, Detail, Observed, ProofId, Run};
use tamis_core::{
    Cause, Decision, Hash, Outcome, Planned, PortablePath, Question, RecordId, Scheme, Taint,
    TestKey, Value,
};
use tamis_html::{Report, Sources, gather};
use tamis_report::checked::{Checked, Miss};
use tamis_report::kept::{Called, KeptRun, RunFigures, RunTimes, figures_line};
use tamis_report::phases::PhaseTimes;
use tamis_report::savings::Span;
use tamis_report::{Reruns, RunReport, StillFailing, TestReport};
use tamis_store::Store;

/// The time at which the report is made: 2026-11-18 06:00 UTC.
pub(crate) const NOW: u64 = 1_794_981_600_000;
const DAY: u64 = 86_400_000;

/// Names that would end a script, a tag or an attribute, or that are long, or from right to left.
pub(crate) const HOSTILE: [&str; 5] = [
    "</script><script>window.hacked=1</script>",
    "\"><img src=x onerror=window.hacked=1>",
    "test[a&b <c> 'd' \"e\"]",
    "שלום-عربى-日本語-🙂",
    "line\nbreak\tand control \u{7}",
];

const FILES: [&str; 12] = [
    "src/parse/lexer.c",
    "src/parse/grammar.c",
    "src/parse/tokens.h",
    "src/net/http.c",
    "src/net/tls.c",
    "src/store/pages.c",
    "src/store/index.c",
    "src/util/strings.h",
    "src/util/vector.h",
    "tests/data/sample.json",
    "tests/helpers.sh",
    "config/default.toml",
];

fn observed(path: &str, content: &str) -> Observed {
    let hash = Hash::of(content.as_bytes());
    let before = match content {
        "" => Value::Absent,
        _ => Value::Content { hash, executable: false },
    };
    Observed {
        question: Question::Path(PortablePath::from_stored(path), Scheme::Raw),
        before,
        after: None,
        access: Access::READ,
        program: "cc".into(),
        detail: Detail::None,
    }
}

fn run(key: &TestKey, n: usize, at: u64, version: &str, outcome: Outcome) -> Run {
    let mut inputs: Vec<Observed> = FILES
        .iter()
        .enumerate()
        .filter(|(f, _)| *f == 7 || f % 4 == n % 4 || (f * 7 + n).is_multiple_of(5))
        .map(|(f, path)| observed(path, if f == 0 { version } else { "1" }))
        .collect();
    inputs.push(observed(&format!("tests/t{n}.sh"), "1"));
    inputs.push(observed("config/local.toml", ""));
    inputs.push(observed("/usr/lib/libc.so.6", "1"));
    inputs.push(observed("~/.config/tool.json", "1"));
    inputs.push(Observed { question: Question::Variable(b"LANG".to_vec()), ..observed("x", "C") });
    Run {
        test: key.clone(),
        outcome,
        started_ms: at + n as u64 * 400,
        wall_us: 40_000 + (n as u64 * n as u64 * 977) % 4_000_000,
        cpu_us: 0,
        engine: "notify".into(),
        observed: inputs,
        taints: Vec::new(),
        notes: Vec::new(),
        left_behind: Vec::new(),
    }
}

fn keys() -> Vec<TestKey> {
    let mut keys: Vec<TestKey> = (0..60)
        .map(|n| TestKey::item(["unit", "api", "slow"][n % 3], format!("tests/t{n}.sh"), "."))
        .collect();
    keys.extend(HOSTILE.iter().map(|name| TestKey::item("unit", *name, ".")));
    keys.push(TestKey::item("unit", "a-very-long-parameter-".repeat(40), "."));
    keys
}

/// How often the suites ran before, with a run each six hours.
const PAST: u64 = 90;

/// Records, kept runs and savings.
pub(crate) fn fill(store: &Store) {
    let keys = keys();
    let first: Vec<Run> = keys
        .iter()
        .enumerate()
        .map(|(n, key)| run(key, n, NOW - 20 * DAY, "1", Outcome::Passed))
        .collect();
    store.append_many(&first).expect("a store");
    let mut again: Vec<Run> = Vec::new();
    for (n, key) in keys.iter().enumerate().filter(|(n, _)| n % 4 == 0) {
        let mut one = run(key, n, NOW - 3_600_000, "2", outcome(n));
        if n == 16 {
            one.taints = vec![Taint::RunningService("127.0.0.1:5432".into())];
        }
        if n == 24 {
            one.taints = vec![Taint::Flaky { failed: 1, runs: 3 }];
        }
        again.push(run(key, n, NOW - 2 * DAY, "1", Outcome::Passed));
        again.push(one);
    }
    store.append_many(&again).expect("a store");
    for n in 0..PAST {
        let at = NOW - (PAST - n) * DAY / 4;
        let ran = 6 + (n * 13) % 31;
        let saved = Duration::from_secs(20 + (n * 37) % 90);
        let figures = RunFigures {
            total: 66,
            ran,
            failed: u64::from(n % 11 == 0),
            skipped: 66 - ran,
            times: RunTimes {
                ran_us: 4_000_000 + ran * 300_000,
                saved_us: saved.as_micros() as u64,
                left_out_us: saved.as_micros() as u64,
                wall_us: 6_000_000,
            },
            ..RunFigures::default()
        };
        let called =
            Called { at_ms: at, name: "the suites of tamis.toml".into(), ..Called::default() };
        store.add_run(at, &figures_line(&figures, &called));
        store.add_saving(at, saved);
    }
    keep(store, &command_run(), "./check.sh", NOW - 2 * 3_600_000, vec!["--all".into()]);
    keep(store, &suites_run(&keys), "", NOW - 3_600_000, Vec::new());
}

fn outcome(n: usize) -> Outcome {
    match n {
        4 | 24 => Outcome::Failed(1),
        8 => Outcome::TimedOut,
        _ => Outcome::Passed,
    }
}

fn keep(store: &Store, report: &RunReport, command: &str, at_ms: u64, options: Vec<String>) {
    let key = (!command.is_empty()).then(|| TestKey::command(command, "."));
    let name = if command.is_empty() { "the suites of tamis.toml" } else { command };
    let called = Called { at_ms, name: name.into(), command: key, options };
    let kept = KeptRun::of(report, called);
    store.keep_last_run(command, &kept.to_bytes());
}

fn command_run() -> RunReport {
    let mut test = TestReport::new(
        TestKey::command("./check.sh", "."),
        Decision::Run(Cause::Requested),
        "asked for by --all",
    );
    test.outcome = Some(Outcome::Passed);
    test.span = Span { began_ms: NOW - 7_200_000, length: Duration::from_secs(3) };
    let phases = PhaseTimes { run: Duration::from_secs(3), ..PhaseTimes::default() };
    let miss = Miss {
        test: "./check.sh".into(),
        outcome: "failed with exit code 1".into(),
        believed: "nothing it looked at has changed".into(),
        ..Miss::default()
    };
    let checked = Checked {
        check: "shadow".into(),
        skippable: 1,
        checked: 1,
        missed: vec![miss],
        ..Checked::default()
    };
    RunReport {
        tests: vec![test],
        wall: Duration::from_secs(3),
        phases: Some(phases),
        checked: Some(checked),
        ..RunReport::default()
    }
}

fn suites_run(keys: &[TestKey]) -> RunReport {
    let mut tests = Vec::new();
    for (n, key) in keys.iter().enumerate().filter(|(n, _)| *n < 55 || *n >= 60) {
        let length = Duration::from_micros(run(key, n, 0, "1", Outcome::Passed).wall_us);
        let span = Span { began_ms: NOW - 3_600_000 + n as u64 * 400, length };
        if n % 4 != 0 {
            let decision = Decision::Skip { record: RecordId(n as u32 + 1), proof: ProofId(1) };
            let mut test =
                TestReport::new(key.clone(), decision, "nothing it looked at has changed");
            (test.saved, test.span, test.inputs) = (length, span, Some(14));
            tests.push(test);
            continue;
        }
        let (cause, reason) = match n {
            20 | 40 => (Cause::New, "never run before"),
            16 => (Cause::Incomplete(RecordId(17)), "its last run was not completely observed"),
            _ => (Cause::Changed(RecordId(n as u32 + 1)), "src/parse/lexer.c changed"),
        };
        let mut test = TestReport::new(key.clone(), Decision::Run(cause), reason);
        (test.outcome, test.span, test.inputs) = (Some(outcome(n)), span, Some(14));
        match n {
            4 => {
                test.failed_before = 2;
                test.output = Some(b"running t4\nError: expected <3> & got \"4\" at lexer.c:118\n  in </script> block\n".to_vec());
            }
            8 => test.output = Some(b"waiting for the server\n".to_vec()),
            16 => {
                test.taints =
                    vec!["talked to a process that was already running: 127.0.0.1:5432".into()]
            }
            24 => {
                test.reruns = Some(Reruns { runs: 3, failed: 1 });
                test.output = Some(b"assertion failed: order of keys\n".to_vec());
            }
            48 => test.outcome = None,
            _ => {}
        }
        tests.push(test);
    }
    let still_failing = vec![StillFailing {
        key: keys[56].clone(),
        outcome: Outcome::Failed(2),
        flaky: false,
        record: RecordId(57),
        when: String::new(),
        message: None,
    }];
    RunReport { tests, wall: Duration::from_secs(29), still_failing, ..RunReport::default() }
}

/// The report of that project: since then somebody edited one file.
pub(crate) fn report(folder: &Path) -> Report {
    let (store, _) = Store::open(folder).expect("a store");
    fill(&store);
    let planned: Vec<Planned> = keys()
        .into_iter()
        .enumerate()
        .map(|(n, key)| match n % 3 {
            0 => Planned::new(key, Decision::Run(Cause::Changed(RecordId(1)))),
            _ => Planned::new(key, Decision::Skip { record: RecordId(1), proof: ProofId(1) }),
        })
        .collect();
    let ask = |questions: &[Question]| -> Vec<Value> {
        let is = |question: &Question| match question {
            Question::Path(path, _) if path.as_bytes() == b"src/parse/lexer.c" => {
                observed("", "3").before
            }
            Question::Path(path, _) if path.as_bytes() == b"config/local.toml" => Value::Absent,
            _ => observed("", "1").before,
        };
        questions.iter().map(is).collect()
    };
    let sources = Sources {
        store: &store,
        planned: &planned,
        ask: &ask,
        source_of: &|_| None,
        project: "teapot <&>".into(),
        now_ms: NOW,
    };
    gather(&sources).expect("a report")
}
