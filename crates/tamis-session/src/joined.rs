//! What was looked at in several windows, as one.

use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use tamis_core::record::{Observed, Run};
use tamis_core::{PortablePath, Question, Taint};

#[derive(Debug, Default)]
pub struct JoinedObservations {
    pub observed: Vec<Observed>,
    places: FxHashMap<Question, usize>,
    pub taints: BTreeSet<Taint>,
}

impl JoinedObservations {
    /// What was seen of these paths does not count. Nothing is added any more.
    pub fn forget(&mut self, path: impl Fn(&PortablePath) -> bool) {
        self.observed.retain(|observed| !observed.question.path().is_some_and(&path));
        self.places.clear();
        self.taints.retain(|taint| {
            !matches!(taint, Taint::Unstable(at) | Taint::ChangedBeforeSeen(at) if path(at))
        });
    }

    pub fn add(&mut self, observed: impl IntoIterator<Item = Observed>) {
        for observed in observed {
            let Some(&place) = self.places.get(&observed.question) else {
                self.places.insert(observed.question.clone(), self.observed.len());
                self.observed.push(observed);
                continue;
            };
            let known = &mut self.observed[place];
            if known.before != observed.before {
                // Another unit changed it in between: what counts is not one state.
                if let Question::Path(path, _) = &observed.question {
                    self.taints.insert(Taint::Unstable(path.clone()));
                }
            }
            known.after = observed.after.or(known.after);
            known.access = known.access.with(observed.access);
        }
    }
}

/// Two runs of one unit in one command: it did not pass if any of them did not.
pub fn together(earlier: Run, later: Run) -> Run {
    let mut joined = JoinedObservations::default();
    joined.add(earlier.observed);
    joined.add(later.observed);
    joined.taints.extend(earlier.taints.into_iter().chain(later.taints));
    Run {
        outcome: if earlier.outcome.passed() { later.outcome } else { earlier.outcome },
        wall_us: earlier.wall_us + later.wall_us,
        observed: joined.observed,
        taints: joined.taints.into_iter().collect(),
        notes: merged(earlier.notes, later.notes),
        left_behind: merged(earlier.left_behind, later.left_behind),
        ..later
    }
}

fn merged<T: Ord>(mut all: Vec<T>, more: Vec<T>) -> Vec<T> {
    all.extend(more);
    all.sort_unstable();
    all.dedup();
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use tamis_core::{Scheme, Value};

    fn seen(path: &str, value: &str) -> Observed {
        let question = Question::Path(PortablePath::from_stored(path), Scheme::Raw);
        tamis_project::given(question, Value::text(value.as_bytes()))
    }

    #[test]
    fn a_file_that_changed_between_windows_is_no_one_state() {
        let mut joined = JoinedObservations::default();
        joined.add([seen("a", "1"), seen("b", "1")]);
        joined.add([seen("a", "1"), seen("b", "2")]);
        let unstable = Taint::Unstable(PortablePath::from_stored("b"));
        assert_eq!((joined.observed.len(), joined.taints), (2, BTreeSet::from([unstable])));
    }

    #[test]
    fn what_belongs_to_a_tool_is_forgotten_with_its_taints() {
        let mut joined = JoinedObservations::default();
        joined.add([seen("a", "1"), seen("report", "1")]);
        joined.add([seen("report", "2")]);
        joined.forget(|path| path.as_bytes() == b"report");
        assert_eq!((joined.observed.len(), joined.taints.len()), (1, 0));
    }
}
