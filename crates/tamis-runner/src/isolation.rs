//! `--check-isolation`: after a run, some of its tests run again without the others, and those that end otherwise then
//! are named, with the tests that they depend on.
//!
//! 1. A random sample is taken of the tests that began behind others in one process: they can have met what those left.
//! 2. The command is started again as it was, and its front end leaves out what is not asked for ([`Trial`]). One call
//!    gives each test of the sample a process of its own, where the front end can do that ([`Ability::Apart`]); else
//!    there is one call for each. A test that ends otherwise is run alone once more: one that then ends as before is flaky.
//! 3. By what: the tests before it are left out by halves ([`smallest`]), those first whose code counts for it by its record.
//!    So whatever is named was enough, in a run of its own.
//!
//! Nothing of these calls is recorded: how a test ends without the others is no proof of how it ends with them. What
//! the run itself wrote is put back afterwards ([`written`]).
//!
//! What is not seen: a test that depends on a file or a server that the run itself left, since it is there still.

mod smallest;
mod written;

use crate::call::Call;
use crate::cases::Case;
use crate::checker::mix;
use crate::engines::Engines;
use crate::execute::{Ended, Executed, Job, Streams, execute};
use crate::options::IsolationOption;
use anyhow::{Context as _, Result};
use smallest::{Smallest, smallest};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};
use tamis_core::{Question, TestKey};
use tamis_project::World;
use tamis_report::excerpt::{excerpt, headline};
use tamis_report::isolation::{Found, How, Isolation};
use tamis_report::phases::Timeline;
use tamis_report::{Reporters, TestReport, human};
use tamis_session::{Ability, SessionOptions, Trial};
use tamis_store::Store;
use written::Written;

/// Calls that are spent on one finding to learn by what.
const MOST_TRIES: usize = 24;

/// A command that ran, as the check needs it.
#[derive(Debug, Default)]
pub(crate) struct Ran {
    pub(crate) ends: AllEnds,
    /// What the command wrote in the project.
    pub(crate) written: Vec<PathBuf>,
}

/// How the tests inside a command ended.
#[derive(Debug, Default)]
pub(crate) struct AllEnds {
    pub(crate) inside: Vec<TestReport>,
    /// The process that each of them began in, in the order of beginnings.
    pub(crate) processes: Vec<(u32, TestKey)>,
    /// Names of the tests in each that did not pass, where its tool reports them.
    pub(crate) parts: HashMap<TestKey, Vec<String>>,
}

impl AllEnds {
    fn end(&self, key: &TestKey) -> Option<End> {
        let report = self.inside.iter().find(|test| test.key == *key)?;
        let passed = report.outcome?.passed();
        let message = report.output.as_deref().filter(|_| !passed).map(excerpt);
        Some(End {
            passed,
            parts: self.parts.get(key).into_iter().flatten().cloned().collect(),
            message: message.filter(|text| !text.is_empty()),
        })
    }
}

/// Where the check takes place.
#[derive(Clone, Copy)]
pub(crate) struct Place<'a> {
    pub(crate) call: Call<'a>,
    pub(crate) world: &'a World<'a>,
    pub(crate) case: &'a Case,
    pub(crate) store: Option<&'a Store>,
    pub(crate) stop: &'a AtomicBool,
}

/// Looks which of the tests that ran end otherwise alone.
pub(crate) fn check(place: Place<'_>, option: IsolationOption, ran: &Ran) -> Result<Isolation> {
    let seed = option.seed.unwrap_or_else(chance);
    let behind = behind_others(ran);
    let mut isolation = Isolation { seed, behind_others: behind.len(), ..Isolation::default() };
    if behind.is_empty() {
        return Ok(isolation);
    }
    let sample = sample(behind.keys(), option.sample, seed);
    let (some, all) = (sample.len() as u64, behind.len() as u64);
    let (some, all) = (human::counted(some, "test", "tests"), human::number(all));
    place.call.remark(format!(
        "isolation: running {some} of the {all} that ran behind others alone (seed {seed})"
    ));
    let mut kept =
        Written::keep(&ran.written).context("what the run wrote could not be kept for later")?;
    let checked =
        Check { trials: Trials::new(place), ran, behind: &behind }.run(&sample, &mut isolation);
    for file in kept.put_back() {
        let text = format!("{} could not be put back as the run left it", file.display());
        place.call.notices().warn(text);
    }
    checked.map(|()| isolation)
}

/// Short enough to be typed again.
fn chance() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    mix(now.as_nanos() as u64 ^ u64::from(std::process::id())) % 1_000_000_000
}

/// The tests that came to an end behind others in one process, with those others in the order in which they began.
fn behind_others(ran: &Ran) -> BTreeMap<TestKey, Vec<TestKey>> {
    let ended = ran.ends.inside.iter().filter(|test| test.outcome.is_some());
    let ended: BTreeMap<&TestKey, &TestReport> = ended.map(|test| (&test.key, test)).collect();
    let mut processes: BTreeMap<u32, Vec<TestKey>> = BTreeMap::new();
    let mut behind = BTreeMap::new();
    for (process, key) in &ran.ends.processes {
        let before = processes.entry(*process).or_default();
        if !ended.contains_key(key) || before.contains(key) {
            continue;
        }
        // What failed now and passed then is no yardstick.
        if !before.is_empty() && !ended[key].flaky() {
            behind.entry(key.clone()).or_insert_with(|| before.clone());
        }
        before.push(key.clone());
    }
    behind
}

fn sample<'k>(keys: impl Iterator<Item = &'k TestKey>, most: usize, seed: u64) -> Vec<TestKey> {
    let mut keys: Vec<&TestKey> = keys.collect();
    keys.sort_by_cached_key(|key| mix(seed ^ mix(Store::check_id(key))));
    keys.truncate(most);
    keys.into_iter().cloned().collect()
}

/// How a test ended, with the names of the tests in it that failed, where these are known.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct End {
    passed: bool,
    parts: BTreeSet<String>,
    message: Option<String>,
}

impl End {
    /// Whether one of these parts failed; without parts, whether it did as a whole.
    fn fails(&self, parts: &BTreeSet<String>) -> bool {
        !self.passed
            && (parts.is_empty() || self.parts.is_empty() || !self.parts.is_disjoint(parts))
    }
}

/// In which ways a test ends otherwise alone, and which parts of it.
fn differences(behind: &End, alone: &End) -> Vec<(How, BTreeSet<String>)> {
    match (behind.passed, alone.passed) {
        (true, true) => Vec::new(),
        (true, false) => vec![(How::DependsOnOthers, alone.parts.clone())],
        (false, true) => vec![(How::DisturbedByOthers, behind.parts.clone())],
        (false, false) if behind.parts.is_empty() || alone.parts.is_empty() => Vec::new(),
        (false, false) => {
            let all = [
                (How::DependsOnOthers, &alone.parts - &behind.parts),
                (How::DisturbedByOthers, &behind.parts - &alone.parts),
            ];
            all.into_iter().filter(|(_, parts)| !parts.is_empty()).collect()
        }
    }
}

struct Check<'a> {
    trials: Trials<'a>,
    ran: &'a Ran,
    behind: &'a BTreeMap<TestKey, Vec<TestKey>>,
}

impl Check<'_> {
    fn run(mut self, sample: &[TestKey], isolation: &mut Isolation) -> Result<()> {
        let first = self.trials.alone(sample)?;
        let ends = sample.iter().filter_map(|key| Some((key, self.ran.ends.end(key)?)));
        let behind: BTreeMap<&TestKey, End> = ends.collect();
        let is_other = |key: &TestKey, end: &End| !differences(&behind[key], end).is_empty();
        let known = first.iter().filter_map(|(key, end)| Some((key, end.as_ref().ok()?)));
        let others: Vec<TestKey> =
            known.filter(|(key, end)| is_other(key, end)).map(|(key, _)| key.clone()).collect();
        let again = self.trials.alone(&others)?;
        for (key, end) in &first {
            let end = match end {
                Ok(end) => end,
                Err(why) => {
                    isolation.not_alone.push(format!("{key} {why}"));
                    continue;
                }
            };
            isolation.alone.push(key.to_string());
            let second = again.get(key).and_then(|end| end.as_ref().ok());
            if second.is_some_and(|second| second.passed != end.passed) {
                isolation.flaky.push(key.to_string());
                continue;
            }
            for (how, parts) in differences(&behind[key], end) {
                let failed = if how == How::DependsOnOthers { end } else { &behind[key] };
                let message = failed.message.clone();
                let found = Found { test: key.to_string(), how, message, ..Found::default() };
                isolation.found.push(self.by_what(key, parts, found)?);
            }
        }
        isolation.calls = self.trials.calls;
        Ok(())
    }

    /// Looks for the tests behind which it ends as in the run.
    fn by_what(
        &mut self,
        key: &TestKey,
        parts: BTreeSet<String>,
        mut found: Found,
    ) -> Result<Found> {
        let all = &self.behind[key];
        let by_record = self.trials.by_record(key, all);
        let wants_failure = found.how == How::DisturbedByOthers;
        let mut problem = None;
        let trials = &mut self.trials;
        let mut happens = |others: &[TestKey]| match trials.behind(key, others) {
            Ok(tried) => Some(tried?.is_some_and(|end| end.fails(&parts) == wants_failure)),
            Err(error) => {
                problem.get_or_insert(error);
                None
            }
        };
        let mut result = Smallest::Never;
        if !by_record.is_empty() {
            result = smallest(&by_record, MOST_TRIES, &mut happens);
        }
        if result == Smallest::Never && by_record.len() < all.len() {
            result = smallest(all, MOST_TRIES, &mut happens);
        }
        if let Some(problem) = problem {
            return Err(problem);
        }
        let (by, unknown) = match result {
            Smallest::These(by) => (by, None),
            Smallest::Enough(by) => (by, Some("fewer may be enough: it was not tried to the end")),
            Smallest::Never => (
                Vec::new(),
                Some(
                    "behind the same tests once more it ended as it does alone; their order or chance may decide",
                ),
            ),
            Smallest::NotTried => {
                (Vec::new(), Some("it was not tried which of the tests before it are enough"))
            }
        };
        found.by_record =
            by.iter().filter(|other| by_record.contains(other)).map(ToString::to_string).collect();
        found.by = by.iter().map(ToString::to_string).collect();
        found.unknown = unknown.map(str::to_owned);
        found.parts = parts.into_iter().collect();
        Ok(found)
    }
}

/// Starts the command again with some of its tests.
struct Trials<'a> {
    place: Place<'a>,
    calls: usize,
}

/// What a trial showed.
struct Seen {
    ends: AllEnds,
    /// What the command printed, where it did not end well.
    output: Option<Vec<u8>>,
}

impl Seen {
    /// Why a test that was asked for did not come to an end, as far as that is known.
    fn unended(&self) -> String {
        let why = self.output.as_deref().and_then(headline);
        let why = why.map(|why| format!(": {why}")).unwrap_or_default();
        format!("did not come to an end when it was to run alone{why}")
    }

    /// The tests that began in the same process before it, and whether others began behind it.
    fn around(&self, key: &TestKey) -> (Vec<&TestKey>, bool) {
        let process =
            self.ends.processes.iter().find(|(_, its)| its == key).map(|(process, _)| *process);
        let its = self.ends.processes.iter().filter(|(its, _)| Some(*its) == process);
        let its: Vec<&TestKey> = its.map(|(_, key)| key).collect();
        let at = its.iter().position(|its| *its == key).unwrap_or_default();
        (its[..at.min(its.len())].to_vec(), its.len() > at + 1)
    }
}

impl<'a> Trials<'a> {
    fn new(place: Place<'a>) -> Self {
        Self { place, calls: 0 }
    }

    /// How each of these tests ends in a process of its own; why that is not known. Nothing of those that were not tried.
    fn alone(&mut self, keys: &[TestKey]) -> Result<BTreeMap<TestKey, Result<End, String>>> {
        let apart = self.place.case.claim.as_ref().is_some_and(|claim| claim.can(Ability::Apart));
        let mut ends = BTreeMap::new();
        let mut left: Vec<TestKey> = keys.to_vec();
        while let Some(first) = left.first() {
            let units = if apart { left.clone() } else { vec![first.clone()] };
            let Some(seen) = self.run(units.iter().cloned().collect(), apart)? else { break };
            for key in &units {
                let Some(end) = seen.ends.end(key) else { continue };
                let (before, more) = seen.around(key);
                let alone = before.is_empty() && !more;
                let shared = "shared its process with others when it was to run alone".to_owned();
                ends.insert(key.clone(), if alone { Ok(end) } else { Err(shared) });
            }
            let before = left.len();
            left.retain(|key| !ends.contains_key(key));
            if left.len() == before {
                // A build that ends at the first module with a failure comes to the others next time. This one did not.
                let skipped = if apart { left.len() } else { 1 };
                for key in left.drain(..skipped) {
                    ends.insert(key, Err(seen.unended()));
                }
            }
        }
        Ok(ends)
    }

    /// How a test ends behind these others in one process, or that it did not run behind them, which says nothing of what
    /// happens then; nothing where the call did not come to its end.
    fn behind(&mut self, key: &TestKey, others: &[TestKey]) -> Result<Option<Option<End>>> {
        let units = others.iter().chain([key]).cloned().collect();
        let Some(seen) = self.run(units, false)? else { return Ok(None) };
        let (before, _) = seen.around(key);
        let as_asked = others.iter().all(|other| before.contains(&other));
        Ok(Some(seen.ends.end(key).filter(|_| as_asked)))
    }

    /// Starts the command with these of its tests alone; nothing where it was stopped or did not start.
    fn run(&mut self, units: BTreeSet<TestKey>, apart: bool) -> Result<Option<Seen>> {
        let Place { call, world, case, stop, .. } = self.place;
        if stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        self.calls += 1;
        let trial = Some(Arc::new(Trial { units, apart }));
        let session = &SessionOptions { trial, ..SessionOptions::default() };
        // What it prints and remarks is about runs that the user did not ask for, and its time is tamis's own.
        let (reporters, times) = (&Reporters::new(Vec::new()), &Timeline::new());
        let call = Call { reporters, times, check: None, ..call };
        let engines = Engines::none();
        let engine = engines.of(case);
        let streams = Streams::Collect;
        let job = Job { call, world, engine, case, streams, session, stop, checked: false };
        Ok(match execute(job)? {
            Executed::Ended(ended) => {
                let Ended { inside, processes, failed_parts: parts, output, .. } = *ended;
                Some(Seen { ends: AllEnds { inside, processes, parts }, output })
            }
            Executed::Interrupted | Executed::NotStarted(_) => None,
        })
    }

    /// Those of the others whose code counts for a test by its newest record.
    fn by_record(&self, key: &TestKey, others: &[TestKey]) -> Vec<TestKey> {
        let Some(store) = self.place.store else { return Vec::new() };
        let newest = store.history(key).ok().and_then(|history| Some(history.first()?.id));
        let record = newest.and_then(|id| store.record(id).ok().flatten());
        let Some(record) = record else { return Vec::new() };
        let facts = record.run.observed.iter().filter_map(|observed| match &observed.question {
            Question::Fact(fact) => Some(fact.as_ref()),
            _ => None,
        });
        let facts: Vec<&str> = facts.collect();
        let frontends = self.place.call.frontends;
        let counts = |other: &&TestKey| {
            other.scope == key.scope && facts.iter().any(|fact| frontends.is_about(fact, other))
        };
        others.iter().filter(counts).cloned().collect()
    }
}
