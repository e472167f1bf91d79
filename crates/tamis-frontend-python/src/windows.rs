//! What was seen in the windows of one process, and how several of them become one.
//!
//! Most windows count for many tests. Each observation is in the command's pool once, and a window has the numbers of
//! those that were made in it. What counts for a test is put together from these numbers alone.

use rustc_hash::FxHashMap;
use tamis_core::record::{Numbers, Observed};
use tamis_core::{Note, PortablePath, Question, Scheme, Taint};
use tamis_observe::Observations;
use tamis_session::Pool;

/// One window, as the tracer and the process saw it.
#[derive(Debug, Default)]
pub(crate) struct Window {
    observed: Vec<u32>,
    /// Folders whose names do not count here: a fact says what does.
    listed: Vec<PortablePath>,
    taints: Vec<Taint>,
    pub(crate) notes: Vec<Note>,
    pub(crate) left_behind: Vec<PortablePath>,
}

impl Window {
    fn leaves_out(&self, observed: &Observed) -> bool {
        let Question::Path(path, Scheme::Listing) = &observed.question else { return false };
        self.listed.contains(path)
    }
}

/// All windows of one process.
#[derive(Debug, Default)]
pub(crate) struct Windows {
    /// Whether each observation is about what belongs to the tool itself; as far as that was asked (`forget`).
    own: Vec<bool>,
    windows: FxHashMap<u32, Window>,
    /// What the process did before its first window.
    outside: Vec<u32>,
    /// The last window whose end the tracer saw.
    pub(crate) last: u32,
    joining: Joining,
}

impl Windows {
    /// What is about such paths counts for no test.
    pub(crate) fn forget(&mut self, pool: &Pool, is_own: impl Fn(&PortablePath) -> bool) {
        let new = pool.all().get(self.own.len()..).unwrap_or_default();
        self.own.extend(new.iter().map(|one| one.question.path().is_some_and(&is_own)));
    }

    pub(crate) fn add(&mut self, pool: &mut Pool, number: u32, observations: Observations) {
        let window = self.windows.entry(number).or_default();
        window.observed.extend(observations.observed.into_iter().map(|o| pool.number(o)));
        window.taints.extend(observations.taints);
        window.notes.extend(observations.notes);
        window.left_behind.extend(observations.left_behind);
    }

    /// Facts that count for a window, by their numbers.
    pub(crate) fn add_numbers(&mut self, number: u32, facts: impl IntoIterator<Item = u32>) {
        self.windows.entry(number).or_default().observed.extend(facts);
    }

    /// The names in this folder do not count for a window.
    pub(crate) fn leave_out_names(&mut self, number: u32, folder: PortablePath) {
        self.windows.entry(number).or_default().listed.push(folder);
    }

    pub(crate) fn add_outside(&mut self, pool: &mut Pool, observations: Observations) {
        self.outside.extend(observations.observed.into_iter().map(|o| pool.number(o)));
    }

    pub(crate) fn get(&self, number: u32) -> Option<&Window> {
        self.windows.get(&number)
    }

    /// Whether nothing was changed in these windows but by the tool for itself, and all of it was seen.
    pub(crate) fn are_quiet(
        &self,
        pool: &Pool,
        windows: &[u32],
        is_own: impl Fn(&PortablePath) -> bool,
    ) -> bool {
        let is_quiet = |number: &u32| {
            let observed = pool.at(*number);
            observed.after.is_none() || observed.question.path().is_some_and(&is_own)
        };
        let quiet = |window: &u32| {
            let window = self.windows.get(window);
            window.is_some_and(|window| {
                window.taints.is_empty()
                    && window.observed.iter().all(is_quiet)
                    && window.left_behind.iter().all(&is_own)
            })
        };
        windows.iter().all(quiet)
    }

    /// These windows as one, in their order, and facts besides; a window that was not seen is a taint.
    pub(crate) fn together(&mut self, pool: &mut Pool, windows: &[u32], facts: &[u32]) -> Together {
        let Self { own, windows: all, outside, joining, .. } = self;
        let mut together = Together::default();
        joining.begin(pool);
        let mut add = |pool: &mut Pool, together: &mut Together, number: u32| {
            if own.get(number as usize) != Some(&true) {
                joining.add(pool, together, number);
            }
        };
        outside.iter().for_each(|&number| add(pool, &mut together, number));
        for window in windows {
            let Some(window) = all.get(window) else {
                together.taints.insert(Taint::Unobserved(
                    "the tracer did not see where it began and ended".into(),
                ));
                continue;
            };
            for &number in &window.observed {
                if window.listed.is_empty() || !window.leaves_out(pool.at(number)) {
                    add(pool, &mut together, number);
                }
            }
            together.taints.extend(window.taints.iter().cloned());
        }
        facts.iter().for_each(|&number| add(pool, &mut together, number));
        together.numbers = joining.numbers();
        together
    }
}

/// What is known of a test while its windows are joined. It is kept from one test to the next, because tests can have
/// thousands of windows that share most of what they saw: what was written for another test is recognised by its round.
#[derive(Debug, Default)]
struct Joining {
    round: u32,
    /// By observation, the round in which it was added.
    added: Vec<u32>,
    /// By question, the round and the place in `found`.
    places: Vec<(u32, u32)>,
    /// The observations so far, one for each question.
    found: Vec<u32>,
}

impl Joining {
    fn begin(&mut self, pool: &Pool) {
        self.round += 1;
        self.found.clear();
        self.added.resize(pool.all().len(), 0);
        self.places.resize(pool.questions(), (0, 0));
    }

    /// What a later window found has to be what an earlier one left.
    fn add(&mut self, pool: &mut Pool, together: &mut Together, number: u32) {
        match self.added.get_mut(number as usize) {
            Some(round) if *round == self.round => return,
            Some(round) => *round = self.round,
            None => {}
        }
        let question = pool.question_of(number) as usize;
        let (round, place) = self.places[question];
        if round != self.round {
            self.places[question] = (self.round, self.found.len() as u32);
            self.found.push(number);
            return;
        }
        let known = &mut self.found[place as usize];
        let (earlier, later) = (pool.at(*known), pool.at(number));
        if later.before != earlier.after.unwrap_or(earlier.before)
            && let Question::Path(path, _) = &later.question
        {
            together.taints.insert(Taint::Unstable(path.clone()));
        }
        *known = pool.merged(*known, number);
    }

    fn numbers(&self) -> Numbers {
        self.found.iter().copied().collect()
    }
}

/// Several windows as one.
#[derive(Debug, Default)]
pub(crate) struct Together {
    /// In the pool, one for each question.
    pub(crate) numbers: Numbers,
    pub(crate) taints: std::collections::BTreeSet<Taint>,
}

impl Together {
    /// Taints about such paths are none.
    pub(crate) fn forget(&mut self, path: impl Fn(&PortablePath) -> bool) {
        self.taints.retain(|taint| {
            !matches!(taint, Taint::Unstable(at) | Taint::ChangedBeforeSeen(at) if path(at))
        });
    }
}

#[cfg(test)]
mod tests;
