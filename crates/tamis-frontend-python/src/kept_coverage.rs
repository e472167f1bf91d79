//! What each test covered, kept with its record, by statements: lines move.
//!
//! What counts is what coverage.py measured in the test, in the fixtures that it used, and in modules that were first
//! imported in a test. (What it measures before the first test it measures in each run.) It can be used again while
//! all functions and modules in which there are such statements are the same, and each of these statements has the
//! same layout; and only for a measurement with the same settings.
//!
//! A test that leaves something in the process, or meets what another one left (a cache that one fills and the other
//! only reads), covers other code alone than together. Such tests run together or not at all: all of them
//! if any test runs or there are other tests than then, since it is not known what one that changed leaves now.

use crate::fingerprint::{Position, Statement};
use crate::sources::Sources;
use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use tamis_core::{Decision, Hash, Planned, RecordId};
use tamis_store::{Store, WithRecord};

const VERSION: u32 = 1;

/// What was covered in one file, as coverage.py has it.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(untagged)]
pub(crate) enum CoveredLines {
    Lines(Vec<i64>),
    /// From one line to another; below zero where code begins or ends.
    Arcs(Vec<(i64, i64)>),
}

/// The measurement of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Measurement {
    pub(crate) settings: String,
    /// Of all tests that there were.
    pub(crate) among: Hash,
}

impl Measurement {
    pub(crate) fn new(settings: String, tests: &[String]) -> Self {
        let tests: BTreeSet<&str> = tests.iter().map(String::as_str).collect();
        Self { settings, among: Hash::of_parts(tests.into_iter().map(str::as_bytes)) }
    }
}

/// Lines, or pairs of them, by file.
#[derive(Debug, Default)]
pub(crate) struct Covered(BTreeMap<String, BTreeSet<(i64, Option<i64>)>>);

impl Covered {
    pub(crate) fn add(&mut self, file: &str, covered: &CoveredLines) {
        let known = self.0.entry(file.to_owned()).or_default();
        match covered {
            CoveredLines::Lines(lines) => known.extend(lines.iter().map(|line| (*line, None))),
            CoveredLines::Arcs(arcs) => known.extend(arcs.iter().map(|(a, b)| (*a, Some(*b)))),
        }
    }

    pub(crate) fn into_lines(self) -> BTreeMap<String, CoveredLines> {
        let lines = |found: BTreeSet<(i64, Option<i64>)>| {
            let arcs: Option<Vec<(i64, i64)>> = found.iter().map(|&(a, b)| Some((a, b?))).collect();
            let lines = || CoveredLines::Lines(found.iter().map(|(line, _)| *line).collect());
            arcs.map_or_else(lines, CoveredLines::Arcs)
        };
        self.0.into_iter().map(|(file, found)| (file, lines(found))).collect()
    }
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct KeptCover {
    version: u32,
    settings: String,
    among: Hash,
    alone: bool,
    /// Tests whose files it opened.
    met: BTreeSet<String>,
    files: Vec<KeptFile>,
}

#[derive(Debug, Serialize, Deserialize)]
struct KeptFile {
    file: String,
    /// Functions, and the module, with their fingerprints.
    owners: Vec<(String, Hash)>,
    statements: Vec<Statement>,
    covered: Vec<(End, Option<End>)>,
}

/// A line, or a border of code that begins in it.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct End {
    is_border: bool,
    /// It was line one, and not of a function: perhaps the module's.
    is_first_line: bool,
    /// Its number, from one on; zero: above all of them.
    statement: u32,
    below: u32,
}

impl KeptCover {
    /// None where a file that was covered cannot be read.
    pub(crate) fn new(
        sources: &Sources,
        measurement: &Measurement,
        covered: Covered,
        alone: bool,
        met: BTreeSet<String>,
    ) -> Option<Self> {
        let file = |(file, lines)| KeptFile::new(sources, file, lines);
        let files: Option<Vec<KeptFile>> = covered.0.into_iter().map(file).collect();
        Some(Self {
            version: VERSION,
            settings: measurement.settings.clone(),
            among: measurement.among,
            alone,
            met,
            files: files?,
        })
    }

    pub(crate) fn to_bytes(&self) -> Option<Vec<u8>> {
        tamis_wire::to_bytes(self).ok()
    }

    pub(crate) fn load(store: &Store, record: RecordId) -> Option<Self> {
        let bytes = store.kept_with(WithRecord::Coverage, record).ok()??;
        let kept: Self = tamis_wire::from_bytes(&bytes).ok()?;
        (kept.version == VERSION).then_some(kept)
    }

    /// Adds it to what others covered; the file in which it cannot be found again.
    pub(crate) fn add_to(&self, sources: &Sources, covered: &mut Covered) -> Result<(), String> {
        for kept in &self.files {
            let found = kept.lines(sources).ok_or_else(|| kept.file.clone())?;
            covered.0.entry(kept.file.clone()).or_default().extend(found);
        }
        Ok(())
    }

    /// Why it cannot be added to a measurement.
    fn unfit(&self, sources: &Sources, measurement: &Measurement) -> Option<String> {
        if self.settings != measurement.settings {
            return Some("its record has that of other settings".to_owned());
        }
        let outdated = self.add_to(sources, &mut Covered::default()).err();
        outdated.map(|file| format!("what it covers in {file} is not as it was"))
    }
}

impl KeptFile {
    fn new(sources: &Sources, file: String, covered: BTreeSet<(i64, Option<i64>)>) -> Option<Self> {
        let lines = sources.lines(&file)?;
        let mut numbers: FxHashMap<Statement, u32> = FxHashMap::default();
        let (mut statements, mut is_above) = (Vec::new(), false);
        let mut end = |line: i64| {
            let Position { statement, below } = lines.position(line.unsigned_abs() as u32);
            let number = statement.map_or(0, |statement| {
                *numbers.entry(statement).or_insert_with_key(|statement| {
                    statements.push(statement.clone());
                    statements.len() as u32
                })
            });
            is_above |= number == 0;
            End { is_border: line < 0, is_first_line: line.abs() == 1, statement: number, below }
        };
        let covered: Vec<(End, Option<End>)> =
            covered.into_iter().map(|(a, b)| (end(a), b.map(&mut end))).collect();
        let is_in_function = |end: &End| {
            let statement = end.statement.checked_sub(1).and_then(|at| statements.get(at as usize));
            statement.is_some_and(|statement: &Statement| !statement.owner.is_empty())
        };
        let covered = covered.into_iter().map(|(mut a, mut b)| {
            if let Some(b) = &mut b {
                a.is_first_line &= !is_in_function(b);
                b.is_first_line &= !is_in_function(&a);
            }
            (a, b)
        });
        let covered = covered.collect();
        let names: BTreeSet<&str> = statements.iter().map(|s| s.owner.as_str()).collect();
        // Lines above all statements are the module's.
        let names = names.into_iter().chain(is_above.then_some("")).collect::<BTreeSet<&str>>();
        let owner = |name: &str| Some((name.to_owned(), sources.of_owner(&file, name)?));
        let owners: Option<Vec<_>> = names.into_iter().map(owner).collect();
        Some(Self { owners: owners?, file, statements, covered })
    }

    /// The lines of now; none where something is not as it was.
    fn lines(&self, sources: &Sources) -> Option<Vec<(i64, Option<i64>)>> {
        let is_same =
            |(name, was): &(String, Hash)| sources.of_owner(&self.file, name) == Some(*was);
        if !self.owners.iter().all(is_same) {
            return None;
        }
        let lines = sources.lines(&self.file)?;
        let line = |end: &End| {
            let statement = match end.statement.checked_sub(1) {
                Some(at) => Some(self.statements.get(at as usize)?.clone()),
                None => None,
            };
            let begins_there = end.is_border && statement.is_some() && end.is_first_line;
            let line = i64::from(lines.line(&Position { statement, below: end.below })?);
            // The border of a module is line one; so may be that of a lambda.
            if begins_there && line != 1 {
                return None;
            }
            Some(if end.is_border { -line } else { line })
        };
        let pair = |(a, b): &(End, Option<End>)| match b {
            Some(b) => Some((line(a)?, Some(line(b)?))),
            None => Some((line(a)?, None)),
        };
        self.covered.iter().map(pair).collect()
    }
}

/// Tests that have to run for what they cover, by position, with the reason.
pub(crate) fn wanted(
    sources: &Sources,
    measurement: &Measurement,
    store: Option<&Store>,
    planned: &[Planned],
) -> Vec<(usize, String)> {
    let mut reasons: FxHashMap<usize, String> = FxHashMap::default();
    let mut others_matter: FxHashSet<usize> = FxHashSet::default();
    let mut met: BTreeSet<String> = BTreeSet::new();
    let mut is_other_run = false;
    for (at, planned) in planned.iter().enumerate() {
        let Decision::Skip { record, .. } = planned.decision else { continue };
        let kept = store.and_then(|store| KeptCover::load(store, record));
        let why = match &kept {
            None => Some("its record has none".to_owned()),
            Some(kept) => kept.unfit(sources, measurement),
        };
        reasons.extend(why.map(|why| (at, format!("coverage is measured, and {why}"))));
        if let Some(kept) = kept.filter(|kept| !kept.alone) {
            others_matter.insert(at);
            is_other_run |= kept.among != measurement.among;
            met.extend(kept.met);
        }
    }
    let is_met = |(at, planned): (usize, &Planned)| {
        met.contains(planned.key.unit.name().as_ref()).then_some(at)
    };
    others_matter.extend(planned.iter().enumerate().filter_map(is_met));
    let any_runs = !reasons.is_empty() || planned.iter().any(|planned| planned.decision.is_run());
    if any_runs || is_other_run {
        for at in others_matter.into_iter().filter(|at| planned[*at].skips()) {
            let why = "coverage is measured, and what it covers depends on what other tests leave, or theirs on it";
            reasons.entry(at).or_insert_with(|| why.to_owned());
        }
    }
    let mut reasons: Vec<(usize, String)> = reasons.into_iter().collect();
    reasons.sort();
    reasons
}

#[cfg(test)]
mod tests;
