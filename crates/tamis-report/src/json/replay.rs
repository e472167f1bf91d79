//! The lines of `tamis replay`, which are also the file that its result is kept in, and of `tamis audit`.
//!
//! A replay is one `replay` line, one `revision` line for each revision as it ends, and one `replay-summary` line
//! for each strategy at the end. They are read again by `--resume` and by reports, so they are read as leniently as
//! they are written strictly: fields that a later tamis adds are no error.

use super::Version;
use crate::checked::{Miss, OpenMiss};
use crate::phases::PhaseSeconds;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What was replayed; the first line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReplayLine {
    pub version: Version,
    /// The version of tamis.
    pub tamis: String,
    /// The command, as words of a shell; empty for the suites of tamis.toml.
    pub command: String,
    /// Where it runs, relative to the top of the repository.
    pub folder: String,
    /// Which revisions were asked for, in words of git.
    pub range: String,
    /// The ways of choosing that are compared.
    pub strategies: Vec<String>,
    /// Whether only what is selected runs, so that misses are not looked for.
    pub estimate: bool,
    /// The revisions, oldest first, by their full names.
    pub revisions: Vec<String>,
    /// How many faults are put into each revision, one at a time.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub mutants: usize,
    /// When it began, in milliseconds since 1970.
    pub began_ms: u64,
    /// The command by itself, without tamis, on the first revision that could be run; not for estimates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bare_seconds: Option<f64>,
}

/// What became of a revision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RevisionState {
    /// Its tests ran, or did not have to.
    Ran,
    /// It could not be checked out.
    NotCheckedOut,
    /// `--setup` failed.
    SetupFailed,
    /// The command failed without any test that failed: it does not build, or the command is not there.
    NotBuilt,
}

/// One revision; written as soon as it has ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RevisionLine {
    pub version: Version,
    /// Its full name.
    pub commit: String,
    /// The first line of its message.
    pub subject: String,
    /// When it was committed, in milliseconds since 1970.
    pub committed_ms: u64,
    /// How many files differ from the revision that was replayed before it.
    pub changed_files: usize,
    pub state: RevisionState,
    /// Of one that could not be run: why, one line for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    #[serde(flatten)]
    pub times: RevisionTimes,
    /// One for each strategy, in their order.
    pub selections: Vec<Selection>,
    /// Tests that failed when all ran, and failed again when they were tried again.
    pub failed: Vec<String>,
    /// Tests that failed and then passed without a change.
    pub flaky: Vec<String>,
    /// The faults that were put in (`--mutants`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mutants: Vec<Mutant>,
}

/// What a revision took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RevisionTimes {
    /// From the checkout to the end, faults included.
    pub wall_seconds: f64,
    /// What `--setup` took, where it ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub setup_seconds: Option<f64>,
}

/// What became of a fault that was put in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MutantState {
    /// At least one test failed because of it.
    Killed,
    /// All tests ended as without it.
    Survived,
    /// The build compiled its file again: it was not there while tests ran.
    Undone,
    /// The command took too long or failed beside its tests, and no test failed.
    Broken,
}

/// One fault that was put into a revision, while all tests ran.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Mutant {
    /// The source that it is in, from the top of the repository.
    pub file: String,
    /// Its line; 0 where it is not known.
    pub line: u32,
    /// The method or function.
    pub place: String,
    /// What is wrong: `condition negated`, `return value changed` or `call removed`.
    pub fault: String,
    /// Whether it is in a function or line that the revision changed.
    pub touched: bool,
    pub state: MutantState,
    /// How many tests there are, and how many of them were selected because of it.
    pub tests: usize,
    pub selected: usize,
    /// How many tests failed because of it.
    pub failed: usize,
    /// Those of them that would have been skipped.
    pub missed: Vec<Miss>,
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// What one strategy chose in one revision.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Selection {
    pub strategy: String,
    /// How many tests there are.
    pub tests: usize,
    /// How many of them it selects.
    pub selected: usize,
    /// How long all tests take, by the clock, with the command around them, while they are observed.
    pub all_seconds: f64,
    /// The same of what is selected: the tests, and the command around them where it has to start.
    pub selected_seconds: f64,
    /// With finding out what that is: what the papers call offline.
    pub offline_seconds: f64,
    /// With the records as well: what the papers call online.
    pub online_seconds: f64,
    /// Of the run in which these times were taken.
    pub phases: PhaseSeconds,
    /// Tests that should have been selected and were not: safety violations.
    pub missed: Vec<Miss>,
    /// Tests that were selected although what they look at was the same: precision violations.
    pub needless: Vec<String>,
}

/// The sums of a strategy over all revisions that ran; the first of them, in which everything is new, counts for
/// the first-run overhead alone.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReplaySummaryLine {
    pub version: Version,
    pub strategy: String,
    /// Revisions that ran, and that could not be run.
    pub revisions: usize,
    pub left_out: usize,
    /// Tests of all revisions together, and those of them that were selected.
    pub tests: usize,
    pub selected: usize,
    /// The mean, over revisions, of the share that was selected, in percent.
    pub selected_percent: f64,
    /// The mean, over revisions, of the time with tamis in percent of that of all tests.
    pub offline_percent: f64,
    pub online_percent: f64,
    #[serde(flatten)]
    pub seconds: ReplaySeconds,
    pub missed: usize,
    pub needless: usize,
    pub failed: usize,
    pub flaky: usize,
    /// What the first run costs with tamis, over the bare command, in percent; not for estimates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_run_overhead_percent: Option<f64>,
    /// After how many revisions the first run's cost is earned back; nothing where it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub break_even: Option<usize>,
    /// The saving, in percent of all, if collection runs only every Nth time.
    pub every: Vec<CollectEvery>,
    /// What the faults of all revisions say together; for `records`, with `--mutants`.
    #[serde(flatten)]
    pub mutants: Option<MutantSums>,
}

/// Times of all revisions after the first together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReplaySeconds {
    /// All tests, without tamis.
    pub all_seconds: f64,
    pub offline_seconds: f64,
    pub online_seconds: f64,
}

/// What the faults of a replay say together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MutantSums {
    /// Faults that were put in, and those of them that say nothing: undone by a build, or broken beside the tests.
    pub mutants: usize,
    pub mutants_left_out: usize,
    /// Faults by which at least one test failed.
    pub mutants_killed: usize,
    /// Runs of tests that failed because of a fault.
    pub mutants_failed_runs: usize,
    /// Those of them that would have been skipped.
    pub mutants_missed: usize,
    /// The mean, over faults, of the share of tests that was selected because of one, in percent.
    pub mutants_selected_percent: f64,
}

/// What is saved if only every Nth run is recorded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CollectEvery {
    pub n: usize,
    pub saved_percent: f64,
}

/// What has been checked so far by runs of tests that could have been skipped (`--shadow`, `--audit`).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AuditLine {
    pub version: Version,
    /// Calls that checked something, and when the first of them was, in milliseconds since 1970.
    pub calls: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since_ms: Option<u64>,
    /// Tests that could have been skipped and ran all the same, each run of each.
    pub checked: u64,
    /// Different tests among them, as far as they are known.
    pub checked_tests: u64,
    pub missed: u64,
    /// Failed and then passed without a change: no misses, and not among `checked`.
    pub flaky: u64,
    /// More misses than this, in percent of what is skipped, are excluded with 95% certainty.
    pub excluded_percent: f64,
    /// Whether skipping is off.
    pub tripped: bool,
    /// Misses that are not acknowledged yet.
    pub open: Vec<OpenMiss>,
}

/// A line of the file that a replay's result is kept in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum ReplayEntry {
    Replay(ReplayLine),
    Revision(RevisionLine),
    ReplaySummary(ReplaySummaryLine),
}

/// A replay's result, whole.
#[derive(Debug, Clone, PartialEq)]
pub struct Replayed {
    pub replay: ReplayLine,
    /// Oldest first.
    pub revisions: Vec<RevisionLine>,
    pub summaries: Vec<ReplaySummaryLine>,
}

impl Replayed {
    /// Reads the lines of a result's file. A last line that was cut off by a kill is left out.
    pub fn parse(text: &str) -> Option<Self> {
        let mut entries = text.lines().filter_map(|line| serde_json::from_str(line).ok());
        let Some(ReplayEntry::Replay(replay)) = entries.next() else { return None };
        let mut found = Self { replay, revisions: Vec::new(), summaries: Vec::new() };
        for entry in entries {
            match entry {
                // Written again where something became known later.
                ReplayEntry::Replay(replay) => found.replay = replay,
                ReplayEntry::Revision(line) => {
                    found.revisions.retain(|known| known.commit != line.commit);
                    found.revisions.push(line);
                }
                ReplayEntry::ReplaySummary(line) => {
                    found.summaries.retain(|known| known.strategy != line.strategy);
                    found.summaries.push(line);
                }
            }
        }
        let place =
            |line: &RevisionLine| found.replay.revisions.iter().position(|c| *c == line.commit);
        found.revisions.sort_by_key(place);
        Some(found)
    }
}
