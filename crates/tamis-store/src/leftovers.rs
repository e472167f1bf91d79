//! Tests that leave files behind in the project, and tests that look at what others left.
//!
//! Both come from each test's newest record. Not seen here: a reader that only lists the folder
//! of a left file.

use crate::blocks;
use crate::error::{Failure, StoreError};
use crate::explain::part_of;
use crate::proofs::Proofs;
use crate::store::{RecordCounts, Store, newest_records};
use crate::summary::RecordRow;
use roaring::RoaringBitmap;
use rusqlite::Connection;
use std::collections::{BTreeMap, BTreeSet};
use tamis_core::{PortablePath, TestKey, Tool, Unit};

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
    Ok(part_of(conn, "left_behind", row.summary.id.0)?.unwrap_or_default())
}

/// Whether a test is the other one, or a command or test class that it is a part of: what that wrote for it, a
/// build its classes, is always there before it begins. Commands of one build tool make the same things anew, with the
/// tests inside them.
fn is_around(writer: &TestKey, reader: &TestKey, tools: &BTreeSet<&Tool>) -> bool {
    if writer == reader {
        return true;
    }
    if let (Unit::Class(class), Unit::Method { class: of, .. }) = (&writer.unit, &reader.unit) {
        let is_nested = of.strip_prefix(class.as_str()).is_some_and(|rest| rest.starts_with('$'));
        return writer.scope == reader.scope && (of == class || is_nested);
    }
    if tool_of(reader, tools).is_some_and(|tool| writer.scope.tool() == Some(tool)) {
        return true;
    }
    let Some(started) = tool_of(writer, tools) else { return false };
    reader.scope.tool().or_else(|| tool_of(reader, tools)) == Some(started)
}

/// The tool that a command starts, of those that have tests of their own: `mvn`, `./mvnw`,
/// `/opt/maven/bin/mvn`, `python -m pytest`.
fn tool_of<'t>(key: &TestKey, tools: &BTreeSet<&'t Tool>) -> Option<&'t Tool> {
    let (Unit::Command(words) | Unit::Item(words)) = &key.unit else { return None };
    let is_of = |word: &str, tool: &Tool| {
        word.rsplit('/').next().is_some_and(|program| program.starts_with(tool.name()))
    };
    let mut words = words.split_whitespace();
    words.find_map(|word| tools.iter().find(|tool| is_of(word, tool)).copied())
}

fn readers(conn: &Connection, newest: &Newest) -> Result<Vec<LeftoverReader>, Failure> {
    let tools: BTreeSet<&Tool> = newest.iter().filter_map(|(key, ..)| key.scope.tool()).collect();
    let mut writers: BTreeMap<PortablePath, Vec<&TestKey>> = BTreeMap::new();
    for (key, _, row) in newest {
        for path in left_by(conn, row)? {
            writers.entry(path).or_default().push(key);
        }
    }
    if writers.is_empty() {
        return Ok(Vec::new());
    }
    let paths = blocks::about_paths(conn, &|path| writers.contains_key(path))?;
    let about: RoaringBitmap = paths.keys().copied().collect();
    let (mut found, mut proofs) = (Vec::new(), Proofs::new(conn));
    for (reader, _, row) in newest {
        let Some(set) = proofs.get(row.before.0)? else {
            continue;
        };
        for observation in set & &about {
            let path = &paths[&observation];
            let others = writers[path].iter().filter(|&&writer| !is_around(writer, reader, &tools));
            for &writer in others {
                let [reader, writer] = [reader, writer].map(Clone::clone);
                found.push(LeftoverReader { reader, path: path.clone(), writer });
            }
        }
    }
    found.sort();
    found.dedup();
    Ok(found)
}
