//! Evidence: which records the asked tests have, and which of their proofs hold now.
//!
//! Every distinct question is put to the world once. Two ways lead to the same answer:
//!
//! - **from the proofs**, for few tests: read their proofs, ask what is in them, compare;
//! - **from the answers**, for many: ask every question in the store, and look up in the inverted
//!   index which proofs the broken observations belong to. The cost grows with the change and the
//!   number of distinct questions, not with tests times inputs.
//!
//! Complete records are asked about, and runs that did not pass and were not completely observed: what
//! is older than such a run counts only if that was certainly in another state. Records of others count only while they
//! are believed ([`crate::Believed`]). A proof without any
//! observation never holds: a run that looked at nothing was not observed.

use crate::Ask;
use crate::codec::{integer, text};
use crate::error::{Failure, StoreError};
use crate::index::{Segment, live_segments};
use crate::key::{KeyColumns, StoredKey};
use crate::load::{LoadedObservation, load};
use crate::proofs::Proofs;
use crate::store::{Store, records_of};
use crate::summary::{RECORD_COLUMNS, RecordRow, newest_first};
use roaring::RoaringBitmap;
use rusqlite::Connection;
use std::collections::HashMap;
use std::iter::repeat;
use std::sync::mpsc;
use tamis_core::TestKey;
use tamis_core::decide::{Candidate, Cause, Decision, Demand, decide};
use tamis_core::record::{ProofId, RecordId, RecordSummary};
use tamis_core::{Question, Value};

/// Up to this many proofs are read one by one without a second thought.
const FEW_PROOFS: u64 = 4_096;
/// And never more than these, which have to be kept in memory.
const MOST_PROOFS: u64 = 20_000;
/// For up to this many proofs it is counted how far they are from the world of now.
const MOST_DISTANCES: usize = 4_096;

/// What the store knows about some tests, at one moment.
#[derive(Debug)]
pub struct Evidence {
    store: Store,
    tests: Vec<TestEvidence>,
    /// For each asked test its place in `tests`.
    places: Vec<usize>,
    holding: RoaringBitmap,
    /// How many answers of a proof are different now, where that was counted.
    distances: HashMap<u32, u64>,
    answered: Answered,
}

#[derive(Debug, Default)]
struct TestEvidence {
    records: Vec<RecordSummary>,
    candidates: Vec<Candidate>,
}

/// The world's answers, and the observations that disagree with them.
#[derive(Debug, Default)]
pub(crate) struct Answered {
    pub(crate) questions: Vec<Question>,
    /// In step with the questions; `None` where the world gave none.
    pub(crate) answers: Vec<Option<Value>>,
    pub(crate) broken: HashMap<u32, LoadedObservation>,
}

/// The two ways, see the head of this module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    FromProofs,
    FromAnswers,
}

impl Evidence {
    /// What the decision needs about the test at this position of the question, newest first.
    pub fn candidates(&self, position: usize) -> &[Candidate] {
        &self.tests[self.places[position]].candidates
    }

    /// The summaries of the records, in step with [`Evidence::candidates`].
    pub fn records(&self, position: usize) -> &[RecordSummary] {
        &self.tests[self.places[position]].records
    }

    /// Whether every answer of this proof is the same now. False for all that was not asked about.
    pub fn holds(&self, proof: ProofId) -> bool {
        self.holding.contains(proof.0)
    }

    /// The decision about the test at this position. What changed is taken from the nearest record.
    pub fn decide(&self, position: usize, demand: &Demand) -> Decision {
        match decide(demand, self.candidates(position), |proof| self.holds(proof)) {
            Decision::Run(Cause::Changed(newest)) => {
                Decision::Run(Cause::Changed(self.nearest(position).unwrap_or(newest)))
            }
            other => other,
        }
    }

    /// The complete record of which the fewest answers are different now; of several the newest.
    fn nearest(&self, position: usize) -> Option<RecordId> {
        let distance = |candidate: &Candidate| {
            candidate.proofs.iter().filter_map(|proof| self.distances.get(&proof.0)).min().copied()
        };
        let complete = self.candidates(position).iter().filter(|candidate| candidate.complete);
        // One that looked at nothing is near to everything and explains nothing.
        let known = complete.filter_map(|one| distance(one).map(|far| (far, one.record)));
        known.filter(|(far, _)| *far > 0).min_by_key(|(far, _)| *far).map(|(_, record)| record)
    }

    /// An observation of this record that is different now, the most telling one first: question,
    /// what it was, what it is. `None` where nothing readable differs.
    pub fn first_difference(
        &self,
        record: RecordId,
    ) -> Result<Option<(Question, Value, Value)>, StoreError> {
        self.store.first_broken(record, &self.answered)
    }

    /// How many distinct questions were put to the world.
    pub fn questions_asked(&self) -> usize {
        self.answered.questions.len()
    }
}

impl Store {
    /// Collects what is known about these tests. `complete` says whether the settings of now accept a
    /// record; a tainted one never counts as completely observed, whatever it says.
    pub fn evidence(
        &self,
        tests: &[TestKey],
        complete: &dyn Fn(&RecordSummary) -> bool,
        ask: &Ask<'_>,
    ) -> Result<Evidence, StoreError> {
        self.evidence_by(None, tests, complete, ask)
    }

    pub(crate) fn evidence_by(
        &self,
        way: Option<Way>,
        tests: &[TestKey],
        complete: &dyn Fn(&RecordSummary) -> bool,
        ask: &Ask<'_>,
    ) -> Result<Evidence, StoreError> {
        let believed = self.believed();
        self.with(|conn| {
            // One snapshot from the records to the index: what is removed meanwhile stays visible.
            let tx = conn.transaction()?;
            let (places, mut rows) = records_of_all(&tx, tests)?;
            for rows in &mut rows {
                rows.retain(|row| believed.believes(&row.summary.origin));
            }
            let mut wanted = RoaringBitmap::new();
            let mut tests = rows
                .into_iter()
                .map(|rows| candidates(rows, complete, &mut wanted))
                .collect::<Vec<_>>();
            let way = match way {
                Some(way) => way,
                None => cheaper_way(&tx, wanted.len())?,
            };
            let (holding, answered) = match way {
                Way::FromProofs => from_proofs(&tx, &wanted, ask)?,
                Way::FromAnswers => from_answers(&tx, &wanted, ask)?,
            };
            let distances = distances(&tx, &tests, &holding, &answered)?;
            for test in &mut tests {
                test.find_elsewhere(&distances);
            }
            let questions = answered.questions.len();
            tracing::info!(?way, looked_at = ?wanted, questions, hold = ?holding, "proofs");
            Ok(Evidence { store: self.clone(), tests, places, holding, distances, answered })
        })
    }
}

fn candidates(
    rows: Vec<RecordRow>,
    complete: &dyn Fn(&RecordSummary) -> bool,
    wanted: &mut RoaringBitmap,
) -> TestEvidence {
    let mut evidence = TestEvidence::default();
    let mut decided = false;
    for row in rows {
        let (tainted, failed) = (!row.summary.is_complete(), !row.summary.outcome.passed());
        let accepted = complete(&row.summary);
        let complete = !tainted && accepted;
        let proofs = row.proofs();
        let may_be_elsewhere = accepted && may_be_elsewhere(&row.summary);
        decided |= !complete && failed && !may_be_elsewhere;
        tracing::debug!(record = ?row.summary.id, outcome = ?row.summary.outcome, complete, ?proofs, "record");
        if (complete || may_be_elsewhere) && !decided {
            wanted.extend(proofs.iter().map(|p| p.0));
        }
        let (record, outcome) = (row.summary.id, row.summary.outcome);
        let elsewhere = false;
        evidence.candidates.push(Candidate { record, outcome, complete, elsewhere, proofs });
        evidence.records.push(row.summary);
    }
    evidence
}

impl TestEvidence {
    /// A run that was not completely observed was in another state if something that was observed is
    /// different, whichever of its proofs is compared. (One that was not asked about has no distance.)
    fn find_elsewhere(&mut self, distances: &HashMap<u32, u64>) {
        let differs = |proof: &ProofId| distances.get(&proof.0).is_some_and(|far| *far > 0);
        for (candidate, record) in self.candidates.iter_mut().zip(&self.records) {
            let proofs = &candidate.proofs;
            candidate.elsewhere =
                may_be_elsewhere(record) && !proofs.is_empty() && proofs.iter().all(differs);
        }
    }
}

/// A run that did not pass and was not completely observed. What was flaky is so in any state.
fn may_be_elsewhere(record: &RecordSummary) -> bool {
    !record.is_complete() && !record.outcome.passed() && !record.is_flaky()
}

/// How many answers of each proof are different now, for tests of which no complete record holds and
/// for runs that were not completely observed; of the newest tests where there are many.
fn distances(
    conn: &Connection,
    tests: &[TestEvidence],
    holding: &RoaringBitmap,
    answered: &Answered,
) -> Result<HashMap<u32, u64>, Failure> {
    let is_known = |o: &&LoadedObservation| {
        answered.answers.get(o.question as usize).is_some_and(Option::is_some)
    };
    let broken: RoaringBitmap = answered.broken.values().filter(is_known).map(|o| o.id).collect();
    let mut distances = HashMap::new();
    if broken.is_empty() {
        return Ok(distances);
    }
    let mut proofs = Proofs::new(conn);
    for test in tests {
        let holds = |candidate: &&Candidate| {
            candidate.complete && candidate.proofs.iter().any(|proof| holding.contains(proof.0))
        };
        // What is older than a record that holds decides nothing and explains nothing.
        let until = test.candidates.iter().position(|c| holds(&c)).unwrap_or(test.candidates.len());
        for proof in test.candidates[..until].iter().flat_map(|candidate| &candidate.proofs) {
            if distances.len() >= MOST_DISTANCES {
                return Ok(distances);
            }
            if let Some(set) = proofs.get(proof.0)? {
                distances.insert(proof.0, set.intersection_len(&broken));
            }
        }
    }
    Ok(distances)
}

/// Reading one proof costs about as much as loading and asking two questions in a row.
fn cheaper_way(conn: &Connection, proofs: u64) -> Result<Way, Failure> {
    if proofs <= FEW_PROOFS {
        return Ok(Way::FromProofs);
    }
    let observations: Option<i64> =
        conn.query_row("SELECT max(id) FROM block", [], |row| row.get(0))?;
    let questions_in_store = observations.unwrap_or(0).cast_unsigned();
    let few = proofs <= MOST_PROOFS && proofs * 2 <= questions_in_store;
    Ok(if few { Way::FromProofs } else { Way::FromAnswers })
}

fn from_proofs(
    conn: &Connection,
    wanted: &RoaringBitmap,
    ask: &Ask<'_>,
) -> Result<(RoaringBitmap, Answered), Failure> {
    let mut sets = Vec::with_capacity(wanted.len() as usize);
    let mut union = RoaringBitmap::new();
    let mut proofs = Proofs::new(conn);
    for id in wanted {
        if let Some(set) = proofs.get(id)? {
            union |= &set;
            sets.push((id, set));
        }
    }
    let (good, answered) = put_questions(conn, Some(&union), ask)?;
    let holding = sets.iter().filter(|(_, set)| proves(set, &good)).map(|(id, _)| *id).collect();
    Ok((holding, answered))
}

fn from_answers(
    conn: &Connection,
    wanted: &RoaringBitmap,
    ask: &Ask<'_>,
) -> Result<(RoaringBitmap, Answered), Failure> {
    let mut holding = RoaringBitmap::new();
    if wanted.is_empty() {
        return Ok((holding, Answered::default()));
    }
    let (good, answered) = put_questions(conn, None, ask)?;
    let mut left = wanted.clone();
    for segment in live_segments(conn)? {
        let covered = wanted & &segment.proofs;
        if let Some(broken) = broken_proofs(conn, &segment, &good, covered.len())? {
            holding |= &covered - broken;
            left -= covered;
        }
    }
    let mut proofs = Proofs::new(conn);
    for id in left {
        if proofs.get(id)?.is_some_and(|set| proves(&set, &good)) {
            holding.insert(id);
        }
    }
    Ok((holding, answered))
}

/// The proofs of a segment that do not hold; `None` where reading them one by one is cheaper or
/// the segment is damaged.
fn broken_proofs(
    conn: &Connection,
    segment: &Segment,
    good: &RoaringBitmap,
    covered: u64,
) -> Result<Option<RoaringBitmap>, Failure> {
    // All that the segment knows and that is not known to be good: also what is missing.
    let broken = &segment.observations - good;
    if covered == 0 || broken.len() > covered {
        return Ok(None);
    }
    segment.proofs_with(conn, &broken)
}

fn proves(set: &RoaringBitmap, good: &RoaringBitmap) -> bool {
    !set.is_empty() && set.is_subset(good)
}

/// Asks about these observations (or all) and gives the ids of those that hold. The world is asked
/// on a thread of its own while the store is still read.
fn put_questions(
    conn: &Connection,
    wanted: Option<&RoaringBitmap>,
    ask: &Ask<'_>,
) -> Result<(RoaringBitmap, Answered), Failure> {
    let (hand_on, batches) = mpsc::channel::<Vec<Question>>();
    // Dropping the sender ends the thread, also where reading the store fails.
    let (observations, questions, answers) = std::thread::scope(|scope| {
        let asking = scope.spawn(move || {
            let (mut questions, mut answers) = (Vec::new(), Vec::new());
            for batch in batches {
                let given = ask(&batch);
                // One answer for each: positions must stay in step over the batches.
                answers.extend(given.into_iter().map(Some).chain(repeat(None)).take(batch.len()));
                questions.extend(batch);
            }
            (questions, answers)
        });
        let observations = load(conn, wanted, |batch| {
            // Fails only if the other thread has panicked, which `join` tells.
            let _ = hand_on.send(batch);
        });
        drop(hand_on);
        let (questions, answers) = match asking.join() {
            Ok(asked) => asked,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        observations.map(|observations| (observations, questions, answers))
    })?;
    let mut good = Vec::with_capacity(observations.len());
    let mut broken = HashMap::new();
    for o in observations {
        match answers.get(o.question as usize) {
            Some(Some(is)) if *is == o.value => good.push(o.id),
            _ => {
                broken.insert(o.id, o);
            }
        }
    }
    Ok((good.into_iter().collect(), Answered { questions, answers, broken }))
}

/// The readable records of the asked tests, newest first, each test once, and where each asked
/// test is found.
fn records_of_all(
    conn: &Connection,
    tests: &[TestKey],
) -> Result<(Vec<usize>, Vec<Vec<RecordRow>>), Failure> {
    let stored: Vec<StoredKey> = tests.iter().map(StoredKey::of).collect();
    let mut by_key = HashMap::with_capacity(tests.len());
    let mut distinct: Vec<&StoredKey> = Vec::with_capacity(tests.len());
    let mut places = Vec::with_capacity(tests.len());
    for test in &stored {
        let place = *by_key.entry(test.columns()).or_insert_with(|| {
            distinct.push(test);
            distinct.len() - 1
        });
        places.push(place);
    }
    // There are about as many records as tests, or more. Stepping over a row is about ten times as
    // cheap as searching one.
    let in_store: Option<i64> =
        conn.query_row("SELECT max(id) FROM record", [], |row| row.get(0))?;
    let scan = (distinct.len() as u64) * 10 > in_store.unwrap_or(0).cast_unsigned();
    let rows = if scan && distinct.len() > 1 {
        scan_records(conn, &by_key, &distinct)?
    } else {
        distinct.iter().map(|test| records_of(conn, test)).collect::<Result<_, _>>()?
    };
    Ok((places, rows))
}

fn scan_records(
    conn: &Connection,
    by_key: &HashMap<KeyColumns<'_>, usize>,
    distinct: &[&StoredKey],
) -> Result<Vec<Vec<RecordRow>>, Failure> {
    let mut place_of: HashMap<i64, usize> = HashMap::with_capacity(distinct.len());
    let mut statement = conn.prepare_cached("SELECT id, scope, unit, folder FROM test")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let columns = (
            integer(row.get_ref(0)?),
            text(row.get_ref(1)?),
            text(row.get_ref(2)?),
            text(row.get_ref(3)?),
        );
        if let (Some(id), Some(scope), Some(unit), Some(folder)) = columns
            && let Some(&place) = by_key.get(&KeyColumns { scope, unit, folder })
        {
            place_of.insert(id, place);
        }
    }

    let mut found: Vec<Vec<RecordRow>> = Vec::new();
    found.resize_with(distinct.len(), Vec::new);
    let sql = format!("SELECT {RECORD_COLUMNS} FROM record ORDER BY id DESC");
    let mut statement = conn.prepare_cached(&sql)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let mut place = None;
        let key = |id| {
            place = place_of.get(&id).copied();
            place.map(|place| distinct[place].columns())
        };
        if let Some(record) = RecordRow::read(row, key)?
            && let Some(place) = place
        {
            found[place].push(record);
        }
    }
    found.iter_mut().for_each(|rows| newest_first(rows));
    Ok(found)
}
