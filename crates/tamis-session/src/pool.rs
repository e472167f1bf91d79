//! Observations that the units of one command have in common.
//!
//! Where thousands of units look at much the same, each observation is kept once, and a unit has the numbers of
//! those that count for it ([`Numbers`]). Copying, joining and writing its record then costs next to nothing for each
//! observation. Numbers are given once and never change their meaning.

use rustc_hash::FxHashMap;
use tamis_core::Question;
use tamis_core::record::{Numbers, Observed};

#[derive(Debug, Default)]
pub struct Pool {
    all: Vec<Observed>,
    /// The question of each, by its number among the questions.
    question_of: Vec<u32>,
    /// The number of a question, and its answers in `all`.
    questions: FxHashMap<Question, (u32, Vec<u32>)>,
    /// What two observations of one question are together.
    merged: FxHashMap<(u32, u32), u32>,
}

impl Pool {
    /// The number of an observation.
    pub fn number(&mut self, observed: Observed) -> u32 {
        let next = self.questions.len() as u32;
        let known = self.questions.entry(observed.question.clone()).or_insert((next, Vec::new()));
        if let Some(&number) = known.1.iter().find(|&&n| self.all[n as usize] == observed) {
            return number;
        }
        let number = self.all.len() as u32;
        known.1.push(number);
        self.question_of.push(known.0);
        self.all.push(observed);
        number
    }

    pub fn at(&self, number: u32) -> &Observed {
        &self.all[number as usize]
    }

    /// All of them, by their numbers.
    pub fn all(&self) -> &[Observed] {
        &self.all
    }

    /// The question of an observation, by its number among the questions.
    pub fn question_of(&self, number: u32) -> u32 {
        self.question_of[number as usize]
    }

    /// How many questions there are.
    pub fn questions(&self) -> usize {
        self.questions.len()
    }

    /// An observation and a later one of the same question as one: what the first found, and what the last left.
    pub fn merged(&mut self, earlier: u32, later: u32) -> u32 {
        if let Some(&known) = self.merged.get(&(earlier, later)) {
            return known;
        }
        let (first, last) = (self.at(earlier), self.at(later));
        let mut both = first.clone();
        both.after = last.after.or(first.after);
        both.access = first.access.with(last.access);
        let number = self.number(both);
        self.merged.insert((earlier, later), number);
        number
    }

    /// The observations with these numbers.
    pub fn observed(&self, numbers: &Numbers) -> Vec<Observed> {
        numbers.iter().map(|number| self.at(number).clone()).collect()
    }
}
