//! Reports for the tests of this crate.

use crate::model::{RunReport, StillFailing, TestReport};
use crate::savings::Span;
use std::time::Duration;
use tamis_core::decide::Cause;
use tamis_core::record::ProofId;
use tamis_core::{Decision, Outcome, RecordId, TestKey};

pub(crate) fn key(suite: &str, name: &str) -> TestKey {
    match suite {
        "" => TestKey::command(name, "."),
        _ => TestKey::item(suite, name, "."),
    }
}

pub(crate) fn skipped(suite: &str, name: &str, saved_ms: u64) -> TestReport {
    let decision = Decision::Skip { record: RecordId(12), proof: ProofId(3) };
    TestReport {
        saved: Duration::from_millis(saved_ms),
        proof: Some("record #12, 1,034 inputs".into()),
        inputs: Some(1_034),
        ..TestReport::new(key(suite, name), decision, "nothing it looked at has changed")
    }
}

pub(crate) fn ran(suite: &str, name: &str, reason: &str, outcome: Outcome) -> TestReport {
    let decision = Decision::Run(match reason {
        "never run before" => Cause::New,
        _ => Cause::Changed(RecordId(11)),
    });
    TestReport {
        outcome: Some(outcome),
        span: Span { began_ms: 0, length: Duration::from_millis(450) },
        inputs: Some(17),
        ..TestReport::new(key(suite, name), decision, reason)
    }
}

pub(crate) fn still_failing(suite: &str, name: &str) -> StillFailing {
    StillFailing {
        key: key(suite, name),
        outcome: Outcome::Failed(3),
        flaky: false,
        record: RecordId(7),
        when: "3 h ago".into(),
        message: Some("expected 1\ngot 2".into()),
    }
}

/// Four tests that ran, each in its own way, and two that were skipped.
pub(crate) fn mixed() -> RunReport {
    let mut net = ran("shell", "tests/net.sh", "never run before", Outcome::Passed);
    net.taints = vec!["talked to a process that was already running: 127.0.0.1:5432".into()];
    net.notes = vec!["talks to example.org:443".into()];
    let mut t3 = ran("shell", "tests/t3.sh", "src/parse.c changed", Outcome::Failed(1));
    t3.failed_before = 2;
    t3.output = Some(b"expected <1> & got \x1b[31m\"2\"\xff\n]]>\n".to_vec());
    RunReport {
        tests: vec![
            ran("shell", "tests/t1.sh", "src/parse.c changed", Outcome::Passed),
            t3,
            net,
            ran("py", "test_slow.py", "src/parse.c changed", Outcome::TimedOut),
            skipped("shell", "tests/a.sh", 41_000),
            skipped("shell", "tests/b|c.sh", 200),
        ],
        wall: Duration::from_millis(1_900),
        ..RunReport::default()
    }
}
