//! A small world of files and runs over it.

use std::collections::BTreeMap;
use tamis_core::RecordSummary;
use tamis_core::record::{Access, Detail, Observed, Run, Taint};
use tamis_core::{Hash, Outcome, PortablePath, Question, Scheme, TestKey, Value};
use tamis_store::{Evidence, Store};

pub(crate) fn key(name: &str) -> TestKey {
    TestKey::item("s", name, ".")
}

pub(crate) fn file(path: &str) -> Question {
    Question::Path(PortablePath::from_stored(path), Scheme::Raw)
}

pub(crate) fn content(text: &str) -> Value {
    Value::Content { hash: Hash::of(text.as_bytes()), executable: false }
}

/// File name to content; what is not in it is absent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct World(pub(crate) BTreeMap<String, String>);

impl World {
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        Self(files.iter().map(|(p, t)| ((*p).to_owned(), (*t).to_owned())).collect())
    }

    pub(crate) fn with(&self, path: &str, text: &str) -> Self {
        let mut world = self.clone();
        world.0.insert(path.to_owned(), text.to_owned());
        world
    }

    pub(crate) fn answer(&self, question: &Question) -> Value {
        let Some(path) = question.path() else {
            return Value::text(b"always the same");
        };
        let path = String::from_utf8_lossy(path.as_bytes());
        self.0.get(path.as_ref()).map_or(Value::Absent, |text| content(text))
    }

    pub(crate) fn answers(&self, questions: &[Question]) -> Vec<Value> {
        questions.iter().map(|q| self.answer(q)).collect()
    }

    pub(crate) fn observed(&self, path: &str) -> Observed {
        let question = file(path);
        Observed {
            before: self.answer(&question),
            question,
            after: None,
            access: Access::READ,
            program: "cat".into(),
            detail: Detail::None,
        }
    }

    /// A passed run that read these files.
    pub(crate) fn run(&self, test: &str, paths: &[&str]) -> Run {
        Run {
            test: key(test),
            outcome: Outcome::Passed,
            started_ms: 1_700_000_000_000,
            wall_us: 1_500,
            cpu_us: 1_000,
            engine: "seccomp".into(),
            observed: paths.iter().map(|p| self.observed(p)).collect(),
            taints: Vec::new(),
            notes: Vec::new(),
            left_behind: Vec::new(),
        }
    }
}

pub(crate) fn tainted(mut run: Run) -> Run {
    run.taints.push(Taint::StandardInput);
    run
}

pub(crate) fn open(dir: &std::path::Path) -> Store {
    let (store, moved) = Store::open(dir).unwrap();
    assert_eq!(moved, None);
    store
}

pub(crate) fn evidence(store: &Store, tests: &[&str], world: &World) -> Evidence {
    let tests: Vec<TestKey> = tests.iter().map(|t| key(t)).collect();
    store.evidence(&tests, &RecordSummary::is_complete, &|q| world.answers(q)).unwrap()
}

/// Whether the test would run in this world.
pub(crate) fn runs(store: &Store, test: &str, world: &World) -> bool {
    evidence(store, &[test], world).decide(0, &Default::default()).is_run()
}
