//! What was seen in the windows of one process, and how several of them become one.
//!
//! Most windows count for many tests. Each observation is kept once, and a window has their numbers.

use rustc_hash::FxHashMap;
use tamis_core::record::Observed;
use tamis_core::{Note, PortablePath, Question, Scheme, Taint};
use tamis_observe::Observations;

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
    all: Vec<Observed>,
    /// The question of each, by its number among the questions.
    question_of: Vec<u32>,
    /// Whether each is about what belongs to the tool itself; as far as that was asked (`forget`).
    own: Vec<bool>,
    /// The number of a question, and its answers in `all`.
    numbers: FxHashMap<Question, (u32, Vec<u32>)>,
    windows: FxHashMap<u32, Window>,
    /// What the process did before its first window.
    outside: Vec<u32>,
    /// The last window whose end the tracer saw.
    pub(crate) last: u32,
}

impl Windows {
    fn number(&mut self, observed: Observed) -> u32 {
        let next = self.numbers.len() as u32;
        let known = self.numbers.entry(observed.question.clone()).or_insert((next, Vec::new()));
        if let Some(&number) = known.1.iter().find(|&&n| self.all[n as usize] == observed) {
            return number;
        }
        let number = self.all.len() as u32;
        known.1.push(number);
        self.question_of.push(known.0);
        self.all.push(observed);
        number
    }

    /// What is about such paths counts for no test.
    pub(crate) fn forget(&mut self, is_own: impl Fn(&PortablePath) -> bool) {
        let new = &self.all[self.own.len()..];
        let own = new.iter().map(|observed| observed.question.path().is_some_and(&is_own));
        self.own.extend(own.collect::<Vec<_>>());
    }

    pub(crate) fn add(&mut self, number: u32, observations: Observations) {
        let mut window = self.windows.remove(&number).unwrap_or_default();
        window.observed.extend(observations.observed.into_iter().map(|o| self.number(o)));
        window.taints.extend(observations.taints);
        window.notes.extend(observations.notes);
        window.left_behind.extend(observations.left_behind);
        self.windows.insert(number, window);
    }

    /// The number of a fact, to be added to windows.
    pub(crate) fn number_of(&mut self, fact: Observed) -> u32 {
        self.number(fact)
    }

    /// Facts that count for a window, by their numbers.
    pub(crate) fn add_numbers(&mut self, number: u32, facts: impl IntoIterator<Item = u32>) {
        self.windows.entry(number).or_default().observed.extend(facts);
    }

    /// Facts that count for a window.
    pub(crate) fn add_facts(&mut self, number: u32, facts: impl IntoIterator<Item = Observed>) {
        let numbers: Vec<u32> = facts.into_iter().map(|fact| self.number(fact)).collect();
        self.windows.entry(number).or_default().observed.extend(numbers);
    }

    /// The names in this folder do not count for a window.
    pub(crate) fn leave_out_names(&mut self, number: u32, folder: PortablePath) {
        self.windows.entry(number).or_default().listed.push(folder);
    }

    pub(crate) fn add_outside(&mut self, observations: Observations) {
        let numbers: Vec<u32> = observations.observed.into_iter().map(|o| self.number(o)).collect();
        self.outside.extend(numbers);
    }

    pub(crate) fn get(&self, number: u32) -> Option<&Window> {
        self.windows.get(&number)
    }

    /// These windows as one, in their order, and facts besides; a window that was not seen is a taint.
    pub(crate) fn together(&self, windows: &[u32], facts: &[u32]) -> Together {
        let mut together = Together::new(self.numbers.len());
        let mut added = Added(vec![0; self.all.len().div_ceil(64)]);
        for (number, own) in (0..).zip(&self.own) {
            if *own {
                added.insert(number);
            }
        }
        let mut add = |together: &mut Together, number: u32| {
            if added.insert(number) {
                together.add(self.question_of[number as usize], self.at(number));
            }
        };
        self.outside.iter().for_each(|&number| add(&mut together, number));
        for window in windows {
            let Some(window) = self.windows.get(window) else {
                together.taints.insert(Taint::Unobserved(
                    "the tracer did not see where it began and ended".into(),
                ));
                continue;
            };
            for &number in &window.observed {
                if window.listed.is_empty() || !window.leaves_out(self.at(number)) {
                    add(&mut together, number);
                }
            }
            together.taints.extend(window.taints.iter().cloned());
        }
        facts.iter().for_each(|&number| add(&mut together, number));
        together
    }

    fn at(&self, number: u32) -> &Observed {
        &self.all[number as usize]
    }
}

/// Which observations there are already: a test can have thousands of windows that share most of them.
struct Added(Vec<u64>);

impl Added {
    fn contains(&self, number: u32) -> bool {
        self.0.get(number as usize / 64).is_some_and(|word| word & (1 << (number % 64)) != 0)
    }

    /// Whether it is new.
    fn insert(&mut self, number: u32) -> bool {
        let is_new = !self.contains(number);
        if let Some(word) = self.0.get_mut(number as usize / 64) {
            *word |= 1 << (number % 64);
        }
        is_new
    }
}

/// Several windows as one.
#[derive(Debug, Default)]
pub(crate) struct Together {
    pub(crate) observed: Vec<Observed>,
    /// Where each question is in `observed`.
    places: Vec<u32>,
    pub(crate) taints: std::collections::BTreeSet<Taint>,
}

impl Together {
    fn new(questions: usize) -> Self {
        Self { places: vec![u32::MAX; questions], ..Self::default() }
    }

    /// What a later window found has to be what an earlier one left.
    fn add(&mut self, question: u32, observed: &Observed) {
        let place = &mut self.places[question as usize];
        let Some(known) = self.observed.get_mut(*place as usize) else {
            *place = self.observed.len() as u32;
            self.observed.push(observed.clone());
            return;
        };
        let left = known.after.unwrap_or(known.before);
        if observed.before != left
            && let Question::Path(path, _) = &observed.question
        {
            self.taints.insert(Taint::Unstable(path.clone()));
        }
        known.after = observed.after.or(known.after);
        known.access = known.access.with(observed.access);
    }

    /// Taints about such paths are none.
    pub(crate) fn forget(&mut self, path: impl Fn(&PortablePath) -> bool) {
        self.taints.retain(|taint| {
            !matches!(taint, Taint::Unstable(at) | Taint::ChangedBeforeSeen(at) if path(at))
        });
    }
}

#[cfg(test)]
mod tests;
