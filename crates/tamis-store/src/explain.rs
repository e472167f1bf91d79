//! What `why`, `why-not` and `deps` show: a record with everything, and what of it does not hold.

use crate::Ask;
use crate::codec::{QuestionColumns, observation_checksum, text, unpack, unseal};
use crate::error::{Failure, StoreError};
use crate::evidence::Answered;
use crate::load::{LoadedObservation, load, proof};
use crate::store::Store;
use crate::summary::{RECORD_COLUMNS, RecordRow};
use roaring::RoaringBitmap;
use rusqlite::{Connection, OptionalExtension};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use tamis_core::record::{Access, Detail, Observed, ProofId, RecordId, Run, TestKey};
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

/// Who looked how at the observations of a record, in the order of the first proof's ids.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RecordDetail {
    programs: Vec<String>,
    /// Neighbours are often looked at by one program in one way: (how many, program, access).
    looks: Vec<(u32, u32, u8)>,
    /// (observation before, observation after) where the test changed what it had looked at.
    changes: Vec<(u32, u32)>,
}

impl RecordDetail {
    /// `ids` are the interned observations of `observed`, before and, where it is set, after.
    pub(crate) fn of(observed: &[Observed], ids: &[(u32, Option<u32>)]) -> Self {
        let mut detail = Self::default();
        let mut programs: HashMap<&str, u32> = HashMap::new();
        let mut looks: Vec<(u32, u32, u8)> = Vec::with_capacity(ids.len());
        for (one, &(id, after)) in observed.iter().zip(ids) {
            let program = *programs.entry(&one.program).or_insert_with(|| {
                detail.programs.push(one.program.clone());
                detail.programs.len() as u32 - 1
            });
            looks.push((id, program, one.access.0));
            detail.changes.extend(after.map(|after| (id, after)));
        }
        looks.sort_by_key(|&(id, ..)| id);
        let mut last = None;
        for (id, program, access) in looks {
            match detail.looks.last_mut() {
                // The same answer was seen twice.
                Some((_, _, known)) if last == Some(id) => *known |= access,
                Some((n, p, a)) if (*p, *a) == (program, access) => *n += 1,
                _ => detail.looks.push((1, program, access)),
            }
            last = Some(id);
        }
        detail
    }

    /// Program and access of each observation, in the order of their ids.
    fn looks(&self) -> impl Iterator<Item = (&str, Access)> {
        self.looks.iter().flat_map(|&(n, program, access)| {
            let program = self.programs.get(program as usize).map_or("", String::as_str);
            std::iter::repeat_n((program, Access(access)), n as usize)
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
        self.with(|conn| {
            closest
                .iter()
                .map(|&i| {
                    let is = answers[i];
                    Ok(Difference {
                        was: value(&observed[i]),
                        is,
                        is_detail: detail_of(conn, &observed[i].question, is)?,
                        observed: observed[i].clone(),
                    })
                })
                .collect()
        })
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
            let mut sets = Vec::new();
            for id in row.proofs() {
                sets.extend(proof(conn, id.0)?);
            }
            let broken = |set: &RoaringBitmap| -> Vec<LoadedObservation> {
                set.iter().filter_map(|id| answered.broken.get(&id).copied()).collect()
            };
            let closest = sets.iter().map(broken).min_by_key(Vec::len).unwrap_or_default();
            let first = closest.iter().min_by_key(|o| {
                let question = &answered.questions[o.question as usize];
                let project = question.path().is_some_and(PortablePath::in_project);
                (!project, !matches!(o.value, Value::Content { .. }), o.id)
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
        "SELECT {RECORD_COLUMNS}, test.suite, test.name, test.folder \
         FROM record JOIN test ON test.id = record.test WHERE record.id = ?1"
    );
    let mut statement = conn.prepare_cached(&sql)?;
    let mut rows = statement.query([id.0])?;
    let Some(row) = rows.next()? else {
        return Ok(None);
    };
    let key = (text(row.get_ref(15)?), text(row.get_ref(16)?), text(row.get_ref(17)?));
    let (Some(suite), Some(name), Some(folder)) = key else {
        return Ok(None);
    };
    let key = (suite, name, folder);
    let Some(record) = RecordRow::read(row, |_| Some(key), &mut Vec::new())? else {
        return Ok(None);
    };
    let [suite, name, folder] = [key.0, key.1, key.2].map(str::to_owned);
    Ok(Some((TestKey { suite, name, folder }, record)))
}

fn read_record(conn: &Connection, id: RecordId) -> Result<Option<StoredRecord>, Failure> {
    let Some((test, row)) = read_row(conn, id)? else {
        return Ok(None);
    };
    let Some(before) = proof(conn, row.before.0)? else {
        return Ok(None);
    };
    let sealed = blob_of(conn, "SELECT detail FROM record_detail WHERE record = ?1", id.0)?;
    // Without its details a record can still be shown.
    let detail: RecordDetail = sealed.and_then(|b| unpack(&b)).unwrap_or_default();
    let changes: HashMap<u32, u32> = detail.changes.iter().copied().collect();
    let looks: HashMap<u32, (&str, Access)> = before.iter().zip(detail.looks()).collect();

    let wanted = &before | changes.values().copied().collect::<RoaringBitmap>();
    let mut questions: Vec<Question> = Vec::new();
    let observations = load(conn, Some(&wanted), |batch| questions.extend(batch))?;
    let values: HashMap<u32, Value> = observations.iter().map(|o| (o.id, o.value)).collect();
    let mut observed = Vec::new();
    for o in observations.iter().filter(|o| before.contains(o.id)) {
        let (program, access) = looks.get(&o.id).copied().unwrap_or_default();
        observed.push(Observed {
            question: questions[o.question as usize].clone(),
            before: o.value,
            after: changes.get(&o.id).and_then(|after| values.get(after)).copied(),
            access,
            program: program.to_owned(),
            detail: value_detail(conn, o.id)?,
        });
    }
    let left = blob_of(conn, "SELECT paths FROM leftover WHERE record = ?1", id.0)?;
    let unreadable = before.len() - observed.len() as u64;
    let summary = &row.summary;
    let run = Run {
        test,
        outcome: summary.outcome,
        started_ms: summary.started_ms,
        wall_us: summary.wall_us,
        cpu_us: summary.cpu_us,
        engine: summary.engine.clone(),
        observed,
        taints: summary.taints.clone(),
        notes: summary.notes.clone(),
        left_behind: left.and_then(|b| unpack(&b)).unwrap_or_default(),
    };
    Ok(Some(StoredRecord { id, proofs: row.proofs(), run, unreadable }))
}

fn value_detail(conn: &Connection, observation: u32) -> Result<Detail, Failure> {
    let sealed =
        blob_of(conn, "SELECT detail FROM value_detail WHERE observation = ?1", observation)?;
    Ok(sealed.and_then(|b| unpack(&b)).unwrap_or_default())
}

/// What the store knows about this answer, from whichever test got it.
fn detail_of(conn: &Connection, question: &Question, value: Value) -> Result<Detail, Failure> {
    let mut bytes = Vec::new();
    QuestionColumns::of(question).write_to(&mut bytes);
    let (tag, hash) = value.to_raw();
    let checksum = observation_checksum(&mut bytes, tag, hash);
    let mut statement = conn.prepare_cached("SELECT id FROM observation WHERE checksum = ?1")?;
    let id: Option<u32> = statement.query_row([checksum], |row| row.get(0)).optional()?;
    id.map_or(Ok(Detail::None), |id| value_detail(conn, id))
}

/// A sealed blob by the id that it is sealed with.
pub(crate) fn blob_of(conn: &Connection, sql: &str, id: u32) -> Result<Option<Vec<u8>>, Failure> {
    let mut statement = conn.prepare_cached(sql)?;
    let found = statement
        .query_row([id], |row| {
            let sealed = row.get_ref(0)?.as_blob().ok();
            Ok(sealed.and_then(|b| unseal(id.into(), b)).map(<[u8]>::to_vec))
        })
        .optional()?;
    Ok(found.flatten())
}
