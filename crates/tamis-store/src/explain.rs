//! What `why`, `why-not` and `deps` show: a record with everything, and what of it does not hold.

use crate::Ask;
use crate::block::GroupHead;
use crate::blocks;
use crate::codec::{QuestionColumns, blob, text, unpack, unseal};
use crate::error::{Failure, StoreError};
use crate::evidence::Answered;
use crate::key::KeyColumns;
use crate::load::LoadedObservation;
use crate::packed::expand;
use crate::proofs::Proofs;
use crate::store::Store;
use crate::summary::{RECORD_COLUMNS, RecordRow};
use roaring::RoaringBitmap;
use rusqlite::{Connection, OptionalExtension};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use tamis_core::TestKey;
use tamis_core::record::{Access, Detail, Observed, ProofId, RecordId, Run};
use tamis_core::{PortablePath, Question, Value};

/// A record with all that was stored of the run. The observations are in the order of their ids.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredRecord {
    pub id: RecordId,
    pub proofs: Vec<ProofId>,
    pub run: Run,
    /// Observations that could not be read; a record with any never holds.
    pub unreadable: u64,
}

/// An observation of a record that is different now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    pub observed: Observed,
    /// The answer that was compared: `before`, or `after` where the state that the test left is
    /// closer to the world of now.
    pub was: Value,
    pub is: Value,
    /// What the store happens to know about the answer of now.
    pub is_detail: Detail,
}

/// Who looked how at the observations of a record, where that is not what their blocks say.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RecordDetail {
    programs: Vec<String>,
    /// In the order of the first proof's ids: how many are as usual, then how many were looked at
    /// by this program in this way.
    looks: Vec<(u32, u32, u32, u8)>,
    /// (observation before, observation after) where the test changed what it had looked at.
    pub(crate) changes: Vec<(u32, u32)>,
}

/// Who looked how at an observation, and whether that is what its block says.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Look<'u> {
    pub(crate) id: u32,
    pub(crate) program: &'u str,
    pub(crate) access: u8,
    pub(crate) is_usual: bool,
}

impl RecordDetail {
    /// Only what the test changed, where it is not known who looked.
    pub(crate) fn of_changes(changes: Vec<(u32, u32)>) -> Self {
        Self { changes, ..Self::default() }
    }

    /// `looks` has the observations before, ascending, each once; `changes` is as it is kept.
    pub(crate) fn of<'u>(looks: impl Iterator<Item = Look<'u>>, changes: Vec<(u32, u32)>) -> Self {
        let mut detail = Self::of_changes(changes);
        let mut programs: HashMap<&str, u32> = HashMap::new();
        let (mut skipped, mut in_a_row) = (0, false);
        for Look { program, access, is_usual, .. } in looks {
            if is_usual {
                skipped += 1;
                in_a_row = false;
                continue;
            }
            let program = *programs.entry(program).or_insert_with(|| {
                detail.programs.push(program.to_owned());
                detail.programs.len() as u32 - 1
            });
            match detail.looks.last_mut() {
                Some((_, n, p, a)) if in_a_row && (*p, *a) == (program, access) => *n += 1,
                _ => detail.looks.push((skipped, 1, program, access)),
            }
            (skipped, in_a_row) = (0, true);
        }
        detail
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.looks.is_empty() && self.changes.is_empty()
    }

    /// Program and access of each observation, in the order of their ids; `None` is as usual.
    fn looks(&self) -> impl Iterator<Item = Option<(&str, Access)>> {
        self.looks.iter().flat_map(|&(skipped, n, program, access)| {
            let program = self.programs.get(program as usize).map_or("", String::as_str);
            let usual = std::iter::repeat_n(None, skipped as usize);
            usual.chain(std::iter::repeat_n(Some((program, Access(access))), n as usize))
        })
    }
}

impl Store {
    /// A record with everything; `None` where it is gone or damaged.
    pub fn record(&self, id: RecordId) -> Result<Option<StoredRecord>, StoreError> {
        self.with(|conn| {
            let tx = conn.transaction()?;
            read_record(&tx, id)
        })
    }

    /// The observations of this record that do not hold, compared with the closest of its proofs.
    /// Empty where the record holds, is gone, or is damaged.
    pub fn differences(&self, id: RecordId, ask: &Ask<'_>) -> Result<Vec<Difference>, StoreError> {
        let Some(record) = self.record(id)? else {
            return Ok(Vec::new());
        };
        let observed = record.run.observed;
        let questions: Vec<Question> = observed.iter().map(|o| o.question.clone()).collect();
        let answers = ask(&questions);
        let against = |value: fn(&Observed) -> Value| -> Vec<usize> {
            (0..observed.len())
                .filter(|&i| answers.get(i).is_some_and(|&is| is != value(&observed[i])))
                .collect()
        };
        let before: fn(&Observed) -> Value = |o| o.before;
        let after: fn(&Observed) -> Value = |o| o.after.unwrap_or(o.before);
        let (from_before, from_after) = (against(before), against(after));
        let (closest, value) = if from_after.len() < from_before.len() {
            (from_after, after)
        } else {
            (from_before, before)
        };
        let is_now: Vec<_> = closest.iter().map(|&i| (&observed[i].question, answers[i])).collect();
        let details = self.with(|conn| details_now(&*conn.transaction()?, &is_now))?;
        let difference = |(i, is_detail): (usize, Detail)| Difference {
            was: value(&observed[i]),
            is: answers[i],
            is_detail,
            observed: observed[i].clone(),
        };
        Ok(closest.into_iter().zip(details).map(difference).collect())
    }

    /// The observation of this record by which a change is best explained: things of the project
    /// come first.
    pub(crate) fn first_broken(
        &self,
        record: RecordId,
        answered: &Answered,
    ) -> Result<Option<(Question, Value, Value)>, StoreError> {
        self.with(|conn| {
            let Some((_, row)) = read_row(conn, record)? else {
                return Ok(None);
            };
            let (mut sets, mut proofs) = (Vec::new(), Proofs::new(conn));
            for id in row.proofs() {
                sets.extend(proofs.get(id.0)?);
            }
            let broken = |set: &RoaringBitmap| -> Vec<LoadedObservation> {
                set.iter().filter_map(|id| answered.broken.get(&id).copied()).collect()
            };
            let closest = sets.iter().map(broken).min_by_key(Vec::len).unwrap_or_default();
            let first = closest.iter().min_by_key(|o| {
                let question = &answered.questions[o.question as usize];
                let project = question.path().is_some_and(PortablePath::in_project);
                // That there are other names says less than a variable that is gone.
                let names = matches!(question, Question::VariableNames);
                (!project, !matches!(o.value, Value::Content { .. }), names, o.id)
            });
            Ok(first.and_then(|o| {
                let at = o.question as usize;
                Some((answered.questions[at].clone(), o.value, (*answered.answers.get(at)?)?))
            }))
        })
    }
}

fn read_row(conn: &Connection, id: RecordId) -> Result<Option<(TestKey, RecordRow)>, Failure> {
    let sql = format!(
        "SELECT {RECORD_COLUMNS}, test.scope, test.unit, test.folder \
         FROM record JOIN test ON test.id = record.test WHERE record.id = ?1"
    );
    let mut statement = conn.prepare_cached(&sql)?;
    let mut rows = statement.query([id.0])?;
    let Some(row) = rows.next()? else {
        return Ok(None);
    };
    let key = (text(row.get_ref(4)?), text(row.get_ref(5)?), text(row.get_ref(6)?));
    let (Some(scope), Some(unit), Some(folder)) = key else {
        return Ok(None);
    };
    let key = KeyColumns { scope, unit, folder };
    let Some(record) = RecordRow::read(row, |_| Some(key))? else {
        return Ok(None);
    };
    Ok(key.to_key().map(|key| (key, record)))
}

fn read_record(conn: &Connection, id: RecordId) -> Result<Option<StoredRecord>, Failure> {
    let Some((test, row)) = read_row(conn, id)? else {
        return Ok(None);
    };
    let Some(before) = Proofs::new(conn).get(row.before.0)? else {
        return Ok(None);
    };
    // Without its details a record can still be shown.
    let detail: RecordDetail = part_of(conn, "looks", id.0)?.unwrap_or_default();
    let changes: HashMap<u32, u32> = detail.changes.iter().copied().collect();
    let wanted = &before | changes.values().copied().collect::<RoaringBitmap>();
    let mut observed = read_observations(conn, &wanted)?;
    let values: HashMap<u32, Value> = observed.iter().map(|(id, o)| (*id, o.before)).collect();
    observed.retain(|(id, _)| before.contains(*id));
    let mut details = blocks::details_of(conn, &before)?;
    let unusual: HashMap<u32, (&str, Access)> =
        before.iter().zip(detail.looks()).filter_map(|(id, look)| Some((id, look?))).collect();
    for (id, one) in &mut observed {
        if let Some(&(program, access)) = unusual.get(id) {
            (one.program, one.access) = (program.into(), access);
        }
        one.after = changes.get(id).and_then(|after| values.get(after)).copied();
        one.detail = details.remove(id).unwrap_or_default();
    }
    let unreadable = before.len() - observed.len() as u64;
    let summary = &row.summary;
    let run = Run {
        test,
        outcome: summary.outcome,
        started_ms: summary.started_ms,
        wall_us: summary.wall_us,
        cpu_us: summary.cpu_us,
        engine: summary.engine.clone(),
        observed: observed.into_iter().map(|(_, one)| one).collect(),
        taints: summary.taints.clone(),
        notes: summary.notes.clone(),
        left_behind: part_of(conn, "left_behind", id.0)?.unwrap_or_default(),
    };
    Ok(Some(StoredRecord { id, proofs: row.proofs(), run, unreadable }))
}

/// These observations as their blocks know them, by ascending id.
pub(crate) fn read_observations(
    conn: &Connection,
    wanted: &RoaringBitmap,
) -> Result<Vec<(u32, Observed)>, Failure> {
    let mut found = Vec::new();
    for id in blocks::blocks_with(conn, wanted)? {
        let Some(block) = blocks::read(conn, id)? else { continue };
        let looks = block.looks().unwrap_or_default();
        let mut some = Vec::new();
        let within = |head: GroupHead<'_>| head.may_have(wanted);
        let whole = block.walk_some(within, |question, answers| {
            for answer in answers.iter().filter(|answer| wanted.contains(answer.id)) {
                let Some(question) = question.to_question() else { return };
                let (program, access) = looks.by.get(answer.at as usize).copied().unwrap_or((0, 0));
                let program = looks.programs.get(program as usize).cloned().unwrap_or_default();
                some.push((
                    answer.id,
                    Observed {
                        question,
                        before: answer.value,
                        after: None,
                        access: Access(access),
                        program,
                        detail: Detail::None,
                    },
                ));
            }
        });
        if whole.is_some() {
            found.extend(some);
        }
    }
    found.sort_by_key(|(id, _)| *id);
    Ok(found)
}

/// What the store knows about these answers, from whichever test got them.
fn details_now(conn: &Connection, asked: &[(&Question, Value)]) -> Result<Vec<Detail>, Failure> {
    let mut known = vec![None; asked.len()];
    let wanted: HashMap<_, _> = asked
        .iter()
        .enumerate()
        .map(|(at, (question, value))| ((QuestionColumns::of(question), *value), at))
        .collect();
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    for id in blocks::block_ids(conn)? {
        let Some(block) = blocks::read(conn, id)? else { continue };
        // Only for showing: what was read before an end that is missing does no harm.
        let _ = block.walk(|question, answers| {
            for answer in answers {
                if let Some(&at) = wanted.get(&(question, answer.value)) {
                    known[at] = Some(answer.id);
                }
            }
        });
    }
    let ids: RoaringBitmap = known.iter().flatten().copied().collect();
    let details = if ids.is_empty() { Default::default() } else { blocks::details_of(conn, &ids)? };
    let detail = |id: Option<u32>| id.and_then(|id| details.get(&id).cloned()).unwrap_or_default();
    Ok(known.into_iter().map(detail).collect())
}

/// One of the columns about a record that only explanations need.
pub(crate) fn part_of<T: DeserializeOwned>(
    conn: &Connection,
    column: &str,
    record: u32,
) -> Result<Option<T>, Failure> {
    let sql = format!("SELECT {column} FROM record_detail WHERE record = ?1");
    let mut statement = conn.prepare_cached(&sql)?;
    let found = statement
        .query_row([record], |row| {
            let sealed = blob(row.get_ref(0)?).and_then(|b| unseal(record.into(), b));
            Ok(sealed.and_then(expand).and_then(|bytes| unpack(&bytes)))
        })
        .optional()?;
    Ok(found.flatten())
}
