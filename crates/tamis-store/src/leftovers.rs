//! Tests that leave files behind in the project, and tests that look at what others left.
//!
//! Both come from each test's newest record. Not seen here: a reader that only lists the folder
//! of a left file.

use crate::codec::{QuestionColumns, id, unpack};
use crate::error::{Failure, StoreError};
use crate::explain::blob_of;
use crate::load::proof;
use crate::store::{RecordCounts, Store, newest_records};
use crate::summary::RecordRow;
use roaring::RoaringBitmap;
use rusqlite::Connection;
use std::collections::{BTreeMap, HashMap};
use tamis_core::record::TestKey;
use tamis_core::{PortablePath, Question};

/// A test that asked about a file which another test leaves behind.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct LeftoverReader {
    pub reader: TestKey,
    pub path: PortablePath,
    pub writer: TestKey,
}

type Newest = Vec<(TestKey, RecordCounts, RecordRow)>;

impl Store {
    /// The tests whose newest run left files behind in the project, and which.
    pub fn left_behind(&self) -> Result<Vec<(TestKey, Vec<PortablePath>)>, StoreError> {
        self.with(|conn| {
            let newest = newest_records(conn)?;
            let mut found = Vec::new();
            for (key, _, row) in newest {
                let paths = left_by(conn, &row)?;
                if !paths.is_empty() {
                    found.push((key, paths));
                }
            }
            found.sort();
            Ok(found)
        })
    }

    /// The tests whose newest run asked about a path that another test's newest run left behind.
    pub fn readers_of_leftovers(&self) -> Result<Vec<LeftoverReader>, StoreError> {
        self.with(|conn| {
            let tx = conn.transaction()?;
            readers(&tx, &newest_records(&tx)?)
        })
    }
}

fn left_by(conn: &Connection, row: &RecordRow) -> Result<Vec<PortablePath>, Failure> {
    let sql = "SELECT paths FROM leftover WHERE record = ?1";
    Ok(blob_of(conn, sql, row.summary.id.0)?.and_then(|b| unpack(&b)).unwrap_or_default())
}

fn readers(conn: &Connection, newest: &Newest) -> Result<Vec<LeftoverReader>, Failure> {
    let mut writers: BTreeMap<PortablePath, Vec<&TestKey>> = BTreeMap::new();
    for (key, _, row) in newest {
        for path in left_by(conn, row)? {
            writers.entry(path).or_default().push(key);
        }
    }
    if writers.is_empty() {
        return Ok(Vec::new());
    }
    let paths = observations_about(conn, &writers)?;
    let about: RoaringBitmap = paths.keys().copied().collect();
    let mut found = Vec::new();
    for (reader, _, row) in newest {
        let Some(set) = proof(conn, row.before.0)? else {
            continue;
        };
        for observation in set & &about {
            let path = &paths[&observation];
            for &writer in writers[path].iter().filter(|&&writer| writer != reader) {
                let [reader, writer] = [reader, writer].map(Clone::clone);
                found.push(LeftoverReader { reader, path: path.clone(), writer });
            }
        }
    }
    found.sort();
    found.dedup();
    Ok(found)
}

/// The observations whose question is about one of these paths.
fn observations_about(
    conn: &Connection,
    writers: &BTreeMap<PortablePath, Vec<&TestKey>>,
) -> Result<HashMap<u32, PortablePath>, Failure> {
    let mut questions: HashMap<u32, PortablePath> = HashMap::new();
    let mut statement = conn.prepare("SELECT id, kind, scheme, parameter, key FROM question")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let Some(question) = QuestionColumns::read(row, 1)?.and_then(QuestionColumns::to_question)
        else {
            continue;
        };
        if let Question::Path(path, _) = question
            && writers.contains_key(&path)
            && let Some(id) = id(row.get_ref(0)?)
        {
            questions.insert(id, path);
        }
    }
    let mut observations = HashMap::new();
    let mut statement = conn.prepare("SELECT id, question FROM observation")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        if let (Some(id), Some(question)) = (id(row.get_ref(0)?), id(row.get_ref(1)?))
            && let Some(path) = questions.get(&question)
        {
            observations.insert(id, path.clone());
        }
    }
    Ok(observations)
}
