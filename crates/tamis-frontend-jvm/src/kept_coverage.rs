//! What each test class covered, kept with its record.
//!
//! What counts is what JaCoCo counted while the test class was open, and what it counted in the static
//! initialisers of classes that it touches, whoever ran them first. It can be used again while each class file that
//! was covered is the same, byte by byte: another one has other probes.
//!
//! Test classes that meet what others left in static state (a cache that one fills and another one only reads)
//! cover other code alone than together. They are kept as such, and run together or not at all. So do all
//! test classes of a JVM in which code of the project ran outside of all tests: it belongs to no test.
//!
//! Classes that are neither in a folder of classes nor in a jar of the project itself are left out: reports are
//! not about them.

use crate::goal::GoalFacts;
use crate::jacoco::{Cover, Passed};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::Path;
use tamis_core::{Decision, Hash, Planned, RecordId, Unit};
use tamis_store::{Store, WithRecord};

const VERSION: u32 = 1;

#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct KeptCover {
    version: u32,
    classes: Vec<KeptClass>,
    /// Test classes that cover the same only together with this one.
    together: BTreeSet<String>,
}

#[derive(Debug, Serialize, Deserialize)]
struct KeptClass {
    id: i64,
    /// Of its file.
    raw: Hash,
    passed: Passed,
}

/// Whether the data of a class matters to a report about the project; its file, if so.
fn file_of(facts: &GoalFacts, root: &Path, name: &str) -> Option<Hash> {
    let found = facts.index.find_dotted(&name.replace('/', "."))?;
    (found.is_project || found.path.starts_with(root)).then_some(found.facts.raw)
}

/// Whether something of the project is in it.
pub(crate) fn concerns(facts: &GoalFacts, root: &Path, cover: &Cover) -> bool {
    cover.0.values().any(|passed| file_of(facts, root, &passed.name).is_some())
}

impl KeptCover {
    pub(crate) fn new(
        facts: &GoalFacts,
        root: &Path,
        cover: Cover,
        together: BTreeSet<String>,
    ) -> Self {
        let class = |(id, passed): (i64, Passed)| {
            let raw = file_of(facts, root, &passed.name)?;
            Some(KeptClass { id, raw, passed })
        };
        let classes = cover.0.into_iter().filter_map(class).collect();
        Self { version: VERSION, classes, together }
    }

    pub(crate) fn to_bytes(&self) -> Option<Vec<u8>> {
        tamis_wire::to_bytes(self).ok()
    }

    pub(crate) fn load(store: &Store, record: RecordId) -> Option<Self> {
        let bytes = store.kept_with(WithRecord::Coverage, record).ok()??;
        let kept: Self = tamis_wire::from_bytes(&bytes).ok()?;
        (kept.version == VERSION).then_some(kept)
    }

    /// A class whose file is another one now.
    fn outdated(&self, facts: &GoalFacts) -> Option<String> {
        let is_other = |class: &&KeptClass| {
            let name = class.passed.name.replace('/', ".");
            facts.index.find_dotted(&name).is_none_or(|found| found.facts.raw != class.raw)
        };
        self.classes.iter().find(is_other).map(|class| class.passed.name.replace('/', "."))
    }

    /// Adds it to what others covered.
    pub(crate) fn add_to(self, cover: &mut Cover) {
        let classes = self.classes.into_iter().map(|class| (class.id, class.passed));
        cover.merge(&Cover(classes.collect()));
    }
}

/// Test classes that have to run for what they cover, by position, with the reason.
pub(crate) fn wanted(
    facts: &GoalFacts,
    by: &str,
    store: Option<&Store>,
    planned: &[Planned],
) -> Vec<(usize, String)> {
    let Some(store) = store else {
        let skipped = planned.iter().enumerate().filter(|(_, planned)| planned.skips());
        return skipped.map(|(at, _)| (at, crate::coverage::reason(by))).collect();
    };
    let mut reasons: HashMap<usize, String> = HashMap::new();
    let mut together: Vec<BTreeSet<String>> = Vec::new();
    for (at, planned) in planned.iter().enumerate() {
        let skipped_by = match planned.decision {
            Decision::Skip { record, .. } => Some(record),
            _ => None,
        };
        // What one that runs had to do with others is known from its newest record.
        let newest = planned.evidence.newest.as_ref().map(|newest| newest.id);
        let kept = skipped_by.or(newest).and_then(|record| KeptCover::load(store, record));
        if planned.skips() {
            let reason = match &kept {
                None => Some(format!("{by} measures coverage, and its record has none")),
                Some(kept) => kept.outdated(facts).map(|class| {
                    format!("{by} measures coverage, and {class}, which it covers, is another one")
                }),
            };
            reasons.extend(reason.map(|reason| (at, reason)));
        }
        together.push(kept.map(|kept| kept.together).unwrap_or_default());
    }
    add_companions(by, planned, &together, &mut reasons);
    let mut reasons: Vec<(usize, String)> = reasons.into_iter().collect();
    reasons.sort();
    reasons
}

/// Who covers something only together with one that runs has to run, too.
fn add_companions(
    by: &str,
    planned: &[Planned],
    together: &[BTreeSet<String>],
    reasons: &mut HashMap<usize, String>,
) {
    let names: Vec<&str> = planned.iter().map(class_of).collect();
    let places: HashMap<&str, usize> = names.iter().enumerate().map(|(at, &n)| (n, at)).collect();
    let mut beside: Vec<HashSet<usize>> = vec![HashSet::new(); planned.len()];
    for (at, others) in together.iter().enumerate() {
        for other in others {
            match places.get(other.as_str()) {
                Some(&other) => {
                    beside[at].insert(other);
                    beside[other].insert(at);
                }
                None if planned[at].skips() => {
                    let why = format!(
                        "{by} measures coverage, and what it covered depended on {other}, which is not here"
                    );
                    reasons.entry(at).or_insert(why);
                }
                None => {}
            }
        }
    }
    let runs = |at: &usize| !planned[*at].skips() || reasons.contains_key(at);
    let mut todo: Vec<usize> = (0..planned.len()).filter(runs).collect();
    while let Some(at) = todo.pop() {
        for &other in &beside[at] {
            if planned[other].skips() && !reasons.contains_key(&other) {
                let why = format!(
                    "{by} measures coverage, and what it covers depends on whether {} runs before",
                    names[at]
                );
                reasons.insert(other, why);
                todo.push(other);
            }
        }
    }
}

fn class_of(planned: &Planned) -> &str {
    match &planned.key.unit {
        Unit::Class(class) => class,
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tamis_core::record::ProofId;
    use tamis_core::{Cause, TestKey};

    fn planned(class: &str, skips: bool) -> Planned {
        let key = TestKey { unit: Unit::Class(class.into()), ..TestKey::command("mvn", ".") };
        let skip = Decision::Skip { record: RecordId(1), proof: ProofId(1) };
        Planned::new(key, if skips { skip } else { Decision::Run(Cause::New) })
    }

    fn who_runs_besides(classes: &[(&str, bool)], together: &[&[&str]]) -> Vec<usize> {
        let planned: Vec<Planned> = classes.iter().map(|(c, skips)| planned(c, *skips)).collect();
        let names = |names: &&[&str]| names.iter().map(|&name| name.to_owned()).collect();
        let together: Vec<BTreeSet<String>> = together.iter().map(names).collect();
        let mut reasons = HashMap::new();
        add_companions("JaCoCo", &planned, &together, &mut reasons);
        let mut who: Vec<usize> = reasons.into_keys().collect();
        who.sort_unstable();
        who
    }

    #[test]
    fn companions_run_together_or_not_at_all() {
        let skipped = [("A", true), ("B", true), ("C", true), ("D", true)];
        assert!(who_runs_besides(&skipped, &[&[], &["A"], &["B"], &[]]).is_empty());
        // In both directions, and on.
        let first = [("A", false), ("B", true), ("C", true), ("D", true)];
        assert_eq!(who_runs_besides(&first, &[&[], &["A"], &["B"], &[]]), [1, 2]);
        let last = [("A", true), ("B", true), ("C", false), ("D", true)];
        assert_eq!(who_runs_besides(&last, &[&[], &["A"], &["B"], &[]]), [0, 1]);
        // One that is gone leaves nothing any more.
        assert_eq!(who_runs_besides(&skipped, &[&["Gone"], &[], &[], &["A"]]), [0, 3]);
    }

    #[test]
    fn what_was_written_by_another_version_is_none() {
        let kept = KeptCover { version: VERSION, ..KeptCover::default() };
        let bytes = kept.to_bytes().unwrap();
        let read: KeptCover = tamis_wire::from_bytes(&bytes).unwrap();
        assert_eq!(read.version, VERSION);
        assert!(tamis_wire::from_bytes::<KeptCover>(&bytes[..1]).is_err());
    }
}
