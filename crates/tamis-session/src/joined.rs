//! What was looked at in several windows, as one.

use crate::pool::Pool;
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use tamis_core::record::{Numbers, Observed, Run};
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
        self.taints.retain(|taint| !is_about(taint, &path));
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

/// The same of numbers in a command's pool, for units that have most in common. It is kept from one unit to the
/// next: what was written down for another one is recognised by its round.
#[derive(Debug, Default)]
pub struct JoinedNumbers {
    round: u32,
    /// By question, the round and the place in `found`.
    places: Vec<(u32, u32)>,
    /// One for each question.
    found: Vec<u32>,
    pub taints: BTreeSet<Taint>,
}

impl JoinedNumbers {
    /// Begins with another unit.
    pub fn begin(&mut self) {
        self.round += 1;
        self.found.clear();
        self.taints.clear();
    }

    pub fn add(&mut self, pool: &mut Pool, numbers: impl IntoIterator<Item = u32>) {
        for number in numbers {
            let question = pool.question_of(number) as usize;
            if question >= self.places.len() {
                self.places.resize(pool.questions(), (0, 0));
            }
            let (round, place) = self.places[question];
            if round != self.round {
                self.places[question] = (self.round, self.found.len() as u32);
                self.found.push(number);
                continue;
            }
            let known = self.found[place as usize];
            if known == number {
                continue;
            }
            let (earlier, later) = (pool.at(known), pool.at(number));
            if earlier.before != later.before {
                // Another unit changed it in between: what counts is not one state.
                if let Question::Path(path, _) = &later.question {
                    self.taints.insert(Taint::Unstable(path.clone()));
                }
            }
            self.found[place as usize] = pool.merged(known, number);
        }
    }

    /// What was seen of these paths does not count. Nothing is added any more; `numbers` says of which observations
    /// the same is true.
    pub fn forget(
        &mut self,
        mut numbers: impl FnMut(u32) -> bool,
        path: impl Fn(&PortablePath) -> bool,
    ) {
        self.found.retain(|&number| !numbers(number));
        self.taints.retain(|taint| !is_about(taint, &path));
    }

    pub fn numbers(&self) -> Numbers {
        self.found.iter().copied().collect()
    }
}

/// Whether a taint is that one of these paths changed.
fn is_about(taint: &Taint, path: impl Fn(&PortablePath) -> bool) -> bool {
    matches!(taint, Taint::Unstable(at) | Taint::ChangedBeforeSeen(at) if path(at))
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
    use tamis_core::record::Access;
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

    /// Numbers and lists say the same of any windows, in any number of rounds.
    #[test]
    fn numbers_are_joined_as_lists_are() {
        let with = |one: Observed, access: Access, after: Option<&str>| Observed {
            access,
            after: after.map(|text| Value::text(text.as_bytes())),
            ..one
        };
        let (read, write) = (Access::READ, Access::WRITE);
        let windows = [
            vec![seen("a", "1"), with(seen("b", "1"), read, None)],
            vec![with(seen("b", "1"), write, Some("2")), seen("c", "1")],
            vec![with(seen("b", "1"), write, Some("3")), with(seen("a", "1"), read, None)],
            vec![with(seen("b", "1"), write, Some("2")), seen("a", "1")],
            vec![seen("c", "2"), seen("report", "1")],
            vec![seen("report", "2")],
        ];
        let is_report = |path: &PortablePath| path.as_bytes() == b"report";
        let mut pool = Pool::default();
        let mut numbers = JoinedNumbers::default();
        for parts in [&[0, 1][..], &[0, 1, 2, 3], &[1, 2, 1], &[3, 4, 5], &[4, 1, 0, 5], &[]] {
            let mut lists = JoinedObservations::default();
            numbers.begin();
            for &part in parts {
                lists.add(windows[part].iter().cloned());
                let all: Vec<u32> =
                    windows[part].iter().map(|one| pool.number(one.clone())).collect();
                numbers.add(&mut pool, all);
            }
            lists.forget(is_report);
            let is_own = |number: u32| pool.at(number).question.path().is_some_and(is_report);
            numbers.forget(is_own, is_report);
            let name = |one: &Observed| one.question.to_string();
            let mut joined = pool.observed(&numbers.numbers());
            joined.sort_by_key(name);
            lists.observed.sort_by_key(name);
            assert_eq!((&joined, &numbers.taints), (&lists.observed, &lists.taints), "{parts:?}");
        }
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
