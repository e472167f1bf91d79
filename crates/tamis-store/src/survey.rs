//! The whole store for a report: every test with its runs, every question with its answers, and the proofs one
//! after the other. Nothing here decides; what cannot be read is left out.

use crate::error::StoreError;
use crate::load::load;
use crate::proofs;
use crate::store::{Store, all_records, all_tests};
use crate::summary::RecordRow;
use std::collections::HashMap;
use tamis_core::record::{ProofId, RecordSummary};
use tamis_core::{Question, TestKey, Value};

/// A test with all its records.
#[derive(Debug, Clone)]
pub struct TestHistory {
    pub key: TestKey,
    /// Newest first.
    pub records: Vec<Remembered>,
}

/// One record of a history.
#[derive(Debug, Clone)]
pub struct Remembered {
    pub summary: RecordSummary,
    /// It passed, and so did the run before it, which saw just the same.
    pub needless: bool,
    /// What it looked at, as it was before the test changed anything.
    pub proof: ProofId,
}

/// Every question that was asked, and its answers.
#[derive(Debug, Clone, Default)]
pub struct Asked {
    pub questions: Vec<Question>,
    /// By ascending number: the number that proofs hold, the place of the question, the answer.
    pub observations: Vec<(u32, u32, Value)>,
}

impl Store {
    /// All tests with their records, in the order of their keys.
    pub fn histories(&self) -> Result<Vec<TestHistory>, StoreError> {
        self.with(|conn| {
            let keys = all_tests(conn)?;
            let mut rows: HashMap<i64, Vec<RecordRow>> = HashMap::with_capacity(keys.len());
            all_records(conn, |_, row| {
                if let Some(row) = row {
                    rows.entry(row.test).or_default().push(row);
                }
            })?;
            let of =
                |(id, (_, key))| Some(TestHistory { key, records: remembered(rows.remove(&id)?) });
            let mut all: Vec<TestHistory> = keys.into_iter().filter_map(of).collect();
            all.sort_by(|a, b| a.key.cmp(&b.key));
            Ok(all)
        })
    }

    /// All questions and answers of the store.
    pub fn asked(&self) -> Result<Asked, StoreError> {
        self.with(|conn| {
            let mut questions = Vec::new();
            let found = load(conn, None, |batch| questions.extend(batch))?;
            let observations = found.into_iter().map(|o| (o.id, o.question, o.value)).collect();
            Ok(Asked { questions, observations })
        })
    }

    /// Visits every proof that can be read, ascending, with the numbers of its observations.
    pub fn visit_proofs(
        &self,
        visit: &mut dyn FnMut(ProofId, &mut dyn Iterator<Item = u32>),
    ) -> Result<(), StoreError> {
        self.with(|conn| {
            proofs::visit_after(conn, 0, |id, set| {
                visit(ProofId(id), &mut set.iter());
                true
            })?;
            Ok(())
        })
    }
}

fn remembered(rows: Vec<RecordRow>) -> Vec<Remembered> {
    let same = |row: &RecordRow, before: Option<&RecordRow>| {
        before.is_some_and(|before| {
            let passed = row.summary.outcome.passed() && before.summary.outcome.passed();
            passed && row.state == before.state
        })
    };
    let needless: Vec<bool> =
        rows.iter().enumerate().map(|(n, row)| same(row, rows.get(n + 1))).collect();
    let of = |(row, needless): (RecordRow, bool)| Remembered {
        proof: row.before,
        summary: row.summary,
        needless,
    };
    rows.into_iter().zip(needless).map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tamis_core::record::{Access, Detail, Observed, Run};
    use tamis_core::{Outcome, PortablePath, Scheme};

    fn run(name: &str, content: &str, outcome: Outcome) -> Run {
        let question = Question::Path(PortablePath::from_stored("src/a.c"), Scheme::Raw);
        let hash = tamis_core::Hash::of(content.as_bytes());
        let observed = Observed {
            question,
            before: Value::Content { hash, executable: false },
            after: None,
            access: Access::READ,
            program: "cc".into(),
            detail: Detail::None,
        };
        Run {
            test: TestKey::item("s", name, "."),
            outcome,
            started_ms: 5,
            wall_us: 2_000,
            cpu_us: 0,
            engine: "x".into(),
            observed: vec![observed],
            taints: Vec::new(),
            notes: Vec::new(),
            left_behind: Vec::new(),
        }
    }

    #[test]
    fn a_run_is_needless_after_a_passed_one_that_saw_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let (store, _) = Store::open(folder.path()).unwrap();
        let failed = Outcome::Failed(1);
        for (content, outcome) in [
            ("1", Outcome::Passed),
            ("1", Outcome::Passed),
            ("2", Outcome::Passed),
            ("2", failed),
            ("2", Outcome::Passed),
            ("2", Outcome::Passed),
        ] {
            store.append(&run("a", content, outcome)).unwrap();
        }
        store.append(&run("b", "2", Outcome::Passed)).unwrap();
        let all = store.histories().unwrap();
        let names: Vec<String> = all.iter().map(|test| test.key.to_string()).collect();
        assert_eq!(names, ["s::a", "s::b"]);
        let needless: Vec<bool> = all[0].records.iter().map(|record| record.needless).collect();
        assert_eq!(needless, [true, false, false, false, true, false]);
        let asked = store.asked().unwrap();
        assert_eq!((asked.questions.len(), asked.observations.len()), (1, 2));
        let mut found = Vec::new();
        let newest = all[1].records[0].proof;
        store
            .visit_proofs(&mut |id, set| {
                if id == newest {
                    found.extend(set);
                }
            })
            .unwrap();
        assert_eq!(found, [asked.observations[1].0]);
    }
}
