//! Joins what a process reported of a unit with the files that the tracer saw.
//!
//! The two arrive in any order, and a record can be made when both are there. What a host did outside of
//! its units counts for every later unit. What ended without being a unit (a suite's member that was
//! not asked for) belongs to everybody later as well.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use tamis_observe::{Observations, Openings};

/// A unit of one process: its host, and its number there.
pub(crate) type UnitNumber = (u32, u32);

/// What the tracer saw of a unit.
#[derive(Debug, Clone)]
pub struct Seen {
    pub observations: Arc<Observations>,
    pub openings: Openings,
}

/// `R` is what a process reports of a unit that ended.
#[derive(Debug)]
pub struct Joiner<R> {
    pending: HashMap<UnitNumber, PendingRecord<R>>,
    outside: HashMap<u32, Vec<Arc<Observations>>>,
    /// Of the units that ended: later ones may rely on them.
    ended: HashMap<UnitNumber, Arc<Observations>>,
    /// Ended, no units, and their files not seen yet.
    unattributed: HashSet<UnitNumber>,
}

#[derive(Debug)]
struct PendingRecord<R> {
    reported: Option<R>,
    seen: Option<Seen>,
}

impl<R> Default for PendingRecord<R> {
    fn default() -> Self {
        Self { reported: None, seen: None }
    }
}

impl<R> Default for Joiner<R> {
    fn default() -> Self {
        Self {
            pending: HashMap::new(),
            outside: HashMap::new(),
            ended: HashMap::new(),
            unattributed: HashSet::new(),
        }
    }
}

impl<R> Joiner<R> {
    /// The process reported a unit that ended; gives both where they are there.
    pub fn reported(&mut self, host: u32, test: u32, report: R) -> Option<(R, Seen)> {
        self.pending.entry((host, test)).or_default().reported = Some(report);
        self.both(host, test)
    }

    /// The tracer saw the end of a unit; gives both where they are there.
    pub fn seen(
        &mut self,
        host: u32,
        test: u32,
        observations: Observations,
        openings: Openings,
    ) -> Option<(R, Seen)> {
        let observations = Arc::new(observations);
        if self.unattributed.remove(&(host, test)) {
            self.outside.entry(host).or_default().push(observations);
            return None;
        }
        self.ended.insert((host, test), Arc::clone(&observations));
        let seen = Some(Seen { observations, openings });
        self.pending.entry((host, test)).or_default().seen = seen;
        self.both(host, test)
    }

    fn both(&mut self, host: u32, test: u32) -> Option<(R, Seen)> {
        let pending = self.pending.remove(&(host, test))?;
        match pending {
            PendingRecord { reported: Some(reported), seen: Some(seen) } => Some((reported, seen)),
            half => {
                self.pending.insert((host, test), half);
                None
            }
        }
    }

    /// What ended was no unit: its files belong to everybody later.
    pub fn is_no_unit(&mut self, host: u32, test: u32) {
        match self.ended.remove(&(host, test)) {
            Some(files) => self.outside.entry(host).or_default().push(files),
            None => drop(self.unattributed.insert((host, test))),
        }
    }

    /// What the tracer saw of a part of a unit, which has no record by itself.
    pub fn take_seen(&mut self, host: u32, test: u32) -> Option<Seen> {
        self.pending.remove(&(host, test))?.seen
    }

    pub fn add_outside(&mut self, host: u32, observations: Observations) {
        self.outside.entry(host).or_default().push(Arc::new(observations));
    }

    /// What a host looked at outside of its units.
    pub fn outside(&self, host: u32) -> &[Arc<Observations>] {
        self.outside.get(&host).map(Vec::as_slice).unwrap_or_default()
    }

    /// What an ended unit looked at.
    pub fn files_of(&self, host: u32, test: u32) -> Option<&Arc<Observations>> {
        self.ended.get(&(host, test))
    }

    /// What all ended units of a host looked at.
    pub fn files_of_host(&self, host: u32) -> impl Iterator<Item = &Arc<Observations>> {
        self.ended.iter().filter(move |((of, _), _)| *of == host).map(|(_, files)| files)
    }

    /// Units that were reported and whose files the tracer never gave.
    pub fn without_files(&mut self) -> Vec<(u32, R)> {
        let pending = std::mem::take(&mut self.pending).into_iter();
        pending.filter_map(|((host, _), half)| Some((host, half.reported?))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nothing() -> (Observations, Openings) {
        (Observations::default(), Openings::new())
    }

    #[test]
    fn both_halves_in_any_order() {
        let mut joiner = Joiner::default();
        let (observations, openings) = nothing();
        assert!(joiner.reported(1, 7, "a").is_none());
        assert_eq!(joiner.seen(1, 7, observations, openings).map(|(r, _)| r), Some("a"));
        let (observations, openings) = nothing();
        assert!(joiner.seen(1, 8, observations, openings).is_none());
        assert_eq!(joiner.reported(1, 8, "b").map(|(r, _)| r), Some("b"));
        assert!(joiner.without_files().is_empty());
    }

    #[test]
    fn what_is_no_unit_counts_outside_whichever_comes_first() {
        let mut joiner: Joiner<()> = Joiner::default();
        joiner.is_no_unit(1, 7);
        let (observations, openings) = nothing();
        assert!(joiner.seen(1, 7, observations, openings).is_none());
        let (observations, openings) = nothing();
        joiner.seen(1, 8, observations, openings);
        joiner.is_no_unit(1, 8);
        assert_eq!(joiner.outside(1).len(), 2);
        assert!(joiner.files_of(1, 7).is_none() && joiner.files_of(1, 8).is_none());
    }

    #[test]
    fn a_unit_without_files_is_given_at_the_end() {
        let mut joiner = Joiner::default();
        joiner.reported(3, 1, "lost");
        assert_eq!(joiner.without_files(), [(3, "lost")]);
    }
}
