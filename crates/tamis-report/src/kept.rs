//! A run as it is kept for later reports: beside the records, because they know neither what was skipped nor why
//! a test ran.
//!
//! [`KeptRun`] is the whole of a run, [`RunFigures`] one line of its figures. Both are for showing alone. A kept run of
//! another format is not read.

use crate::checks::{self, miss_text};
use crate::excerpt::excerpt;
use crate::model::{Reruns, RunReport, TestReport};
use crate::style::Style;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use tamis_core::{Decision, Outcome, TestKey};

/// The first byte of a kept run.
const FORMAT: u8 = 1;

/// What was called, and when.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Called {
    /// When it began, in milliseconds since 1970.
    pub at_ms: u64,
    /// What was called, for people.
    pub name: String,
    /// The command; `None` for the suites.
    pub command: Option<TestKey>,
    /// Options by which not all tests were asked for, or more than had to run: `--only parse`, `--all`.
    pub options: Vec<String>,
}

/// A whole run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptRun {
    pub called: Called,
    pub figures: RunFigures,
    /// Reasons, each once.
    pub reasons: Vec<String>,
    pub tests: Vec<KeptTest>,
    /// Tests that were not run and did not pass when they last were.
    pub still_failing: Vec<(TestKey, Outcome)>,
    /// Its times by phase, one line for people ([`crate::phases`]); empty where they are not known.
    pub phases: String,
    /// What `--shadow` or `--audit` checked, one line for people, and the tests that were missed, each with why it was
    /// believed that it need not run.
    pub checked: Option<(String, Vec<String>)>,
}

/// The figures of a run, as [`crate::Counts`] has them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunFigures {
    pub total: u64,
    pub ran: u64,
    /// Flaky ones are among them.
    pub failed: u64,
    pub flaky: u64,
    pub skipped: u64,
    pub unfinished: u64,
    pub tainted: u64,
    pub still_failing: u64,
    pub times: RunTimes,
    pub interrupted: bool,
    /// The user set that flaky tests do not make the run a failure.
    pub flaky_ok: bool,
}

/// The times of a run, in microseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunTimes {
    /// How long tests ran, by the clock.
    pub ran_us: u64,
    /// How much time was saved ([`crate::savings`]).
    pub saved_us: u64,
    /// How long the skipped tests had run, by the clock, whether or not that is more than deciding took.
    pub left_out_us: u64,
    /// From start to end.
    pub wall_us: u64,
}

/// One test of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptTest {
    pub key: TestKey,
    pub decision: Decision,
    /// Its place in [`KeptRun::reasons`].
    pub reason: u32,
    pub outcome: Option<Outcome>,
    pub wall_us: u64,
    pub saved_us: u64,
    pub inputs: Option<u64>,
    pub failed_before: u32,
    /// Runs and failed runs, where it was run again.
    pub reruns: Option<(u32, u32)>,
    /// What few tests have.
    pub more: Option<Box<More>>,
}

/// What is known of few tests.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct More {
    pub taints: Vec<String>,
    pub notes: Vec<String>,
    /// How it comes to what the reason names, where a graph decided.
    pub way: Vec<String>,
    /// Of a failure: what shows it, in some kilobytes.
    pub output: Option<String>,
}

impl KeptRun {
    pub fn of(report: &RunReport, called: Called) -> Self {
        let mut places: HashMap<&str, u32> = HashMap::new();
        let mut reasons = Vec::new();
        let tests = report.tests.iter().map(|test| {
            let reason = *places.entry(&test.reason).or_insert_with(|| {
                reasons.push(test.reason.clone());
                u32::try_from(reasons.len() - 1).unwrap_or(u32::MAX)
            });
            KeptTest::of(test, reason)
        });
        let tests = tests.collect();
        let still = report.still_failing.iter();
        Self {
            called,
            figures: figures(report),
            tests,
            reasons,
            still_failing: still.map(|failure| (failure.key.clone(), failure.outcome)).collect(),
            phases: report.phases.map(|phases| phases.text()).unwrap_or_default(),
            checked: report.checked.as_ref().map(|checked| {
                let missed = checked.missed.iter();
                let missed = missed.map(|miss| miss_text(miss, Style::plain()).trim().to_owned());
                (checks::headline(report, checked), missed.collect())
            }),
        }
    }

    pub fn to_bytes(&self) -> Vec<u8> {
        // This cannot fail, and what is empty is not read.
        postcard::to_extend(self, vec![FORMAT]).unwrap_or_default()
    }

    /// `None` where another version wrote it.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (&FORMAT, rest) = bytes.split_first()? else { return None };
        postcard::from_bytes(rest).ok()
    }

    /// The reason of a test.
    pub fn reason(&self, test: &KeptTest) -> &str {
        self.reasons.get(test.reason as usize).map_or("", String::as_str)
    }
}

impl KeptTest {
    fn of(test: &TestReport, reason: u32) -> Self {
        let more = More {
            taints: test.taints.clone(),
            notes: test.notes.clone(),
            way: test.way.as_ref().map(|way| way.steps.clone()).unwrap_or_default(),
            output: test.output.as_deref().filter(|_| test.failed()).map(excerpt),
        };
        Self {
            key: test.key.clone(),
            decision: test.decision.clone(),
            reason,
            outcome: test.outcome,
            wall_us: micros(test.wall()),
            saved_us: micros(test.saved),
            inputs: test.inputs,
            failed_before: test.failed_before,
            reruns: test.reruns.map(|Reruns { runs, failed }| (runs, failed)),
            more: (more != More::default()).then(|| Box::new(more)),
        }
    }

    pub fn failed(&self) -> bool {
        self.outcome.is_some_and(|outcome| !outcome.passed())
    }

    /// Did not pass, and then passed without a change.
    pub fn flaky(&self) -> bool {
        self.reruns.is_some_and(|(runs, failed)| failed > 0 && failed < runs)
    }
}

/// The figures of a run.
pub fn figures(report: &RunReport) -> RunFigures {
    let counts = report.counts();
    RunFigures {
        total: counts.total as u64,
        ran: counts.ran as u64,
        failed: counts.failed as u64,
        flaky: counts.flaky as u64,
        skipped: counts.skipped as u64,
        unfinished: counts.unfinished as u64,
        tainted: counts.tainted as u64,
        still_failing: report.still_failing.len() as u64,
        times: RunTimes {
            ran_us: micros(counts.ran_time),
            saved_us: micros(counts.saved),
            left_out_us: micros(report.left_out()),
            wall_us: micros(report.wall),
        },
        interrupted: report.interrupted,
        flaky_ok: report.flaky_ok,
    }
}

/// One line of figures, with when the run began and what was called.
pub fn figures_line(f: &RunFigures, called: &Called) -> String {
    let flags = u8::from(f.interrupted) | u8::from(!called.options.is_empty()) << 1;
    format!(
        "{} {} {} {} {} {} {} {} {} {} {} {flags} {}",
        called.at_ms,
        f.total,
        f.ran,
        f.failed,
        f.flaky,
        f.skipped,
        f.unfinished,
        f.times.ran_us,
        f.times.saved_us,
        f.times.left_out_us,
        f.times.wall_us,
        crate::human::one_line(&called.name),
    )
}

/// A line of figures that was read again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastRun {
    pub at_ms: u64,
    pub figures: RunFigures,
    /// Only a part was asked for, or more than had to run.
    pub special: bool,
    /// What was called, for people.
    pub name: String,
}

impl PastRun {
    /// `None` for what is no line of ours.
    pub fn parse(line: &str) -> Option<Self> {
        let mut words = line.splitn(13, ' ');
        let mut number = || words.next()?.parse::<u64>().ok();
        let at_ms = number()?;
        let figures = RunFigures {
            total: number()?,
            ran: number()?,
            failed: number()?,
            flaky: number()?,
            skipped: number()?,
            unfinished: number()?,
            times: RunTimes {
                ran_us: number()?,
                saved_us: number()?,
                left_out_us: number()?,
                wall_us: number()?,
            },
            ..RunFigures::default()
        };
        let flags = number()?;
        let figures = RunFigures { interrupted: flags & 1 != 0, ..figures };
        let name = words.next().unwrap_or_default().to_owned();
        Some(Self { at_ms, figures, special: flags & 2 != 0, name })
    }
}

fn micros(duration: std::time::Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    fn called() -> Called {
        let command = Some(TestKey::command("mvn test", "."));
        Called { at_ms: 7, name: "mvn test".into(), command, options: vec!["--all".into()] }
    }

    #[test]
    fn a_run_comes_back() {
        let mut report = samples::mixed();
        report.still_failing = vec![samples::still_failing("shell", "tests/old.sh")];
        let kept = KeptRun::of(&report, called());
        let bytes = kept.to_bytes();
        assert_eq!(KeptRun::from_bytes(&bytes), Some(kept.clone()));
        assert_eq!((kept.tests.len(), kept.reasons.len()), (6, 3));
        assert_eq!(kept.reason(&kept.tests[1]), "src/parse.c changed");
        let output = kept.tests[1].more.as_ref().and_then(|more| more.output.clone());
        assert!(output.is_some_and(|text| text.contains("expected <1>")));
        let mut other = bytes.clone();
        other[0] = FORMAT + 1;
        assert_eq!(KeptRun::from_bytes(&other), None);
        assert_eq!(KeptRun::from_bytes(&bytes[..bytes.len() / 2]), None);
        assert_eq!(KeptRun::from_bytes(&[]), None);
    }

    #[test]
    fn figures_come_back_from_their_line() {
        let figures = figures(&samples::mixed());
        let past = PastRun::parse(&figures_line(&figures, &called())).unwrap();
        assert_eq!((past.at_ms, past.special, past.name.as_str()), (7, true, "mvn test"));
        let expected = RunFigures { tainted: 0, still_failing: 0, ..figures };
        assert_eq!(past.figures, expected);
        assert_eq!((past.figures.ran, past.figures.times.left_out_us), (4, 41_200_000));
        let suites = figures_line(&figures, &Called::default());
        assert_eq!(PastRun::parse(&suites).unwrap().name, "");
        for bad in ["", "x", "1 2 3", "1 2 3 4 5 6 7 8 9 10 -11 0 x"] {
            assert_eq!(PastRun::parse(bad), None, "{bad}");
        }
    }
}
