//! What ran in the tests of a JVM, and outside of all of them.

use crate::asked_names::AskedNames;
use crate::divided::Divided;
use crate::globals::{self, Globals};
use crate::seen::{Ended, Seen, Untouched};
use roaring::RoaringBitmap;
use rustc_hash::FxHashMap;

#[derive(Debug, Default)]
pub(crate) struct TestsSeen {
    pub(crate) outside: Seen,
    pub(crate) open: FxHashMap<u32, Seen>,
    /// Those of the open ones whose methods are distinguished.
    pub(crate) divided: FxHashMap<u32, Divided>,
    /// What each ended test did by itself.
    pub(crate) ended: Vec<Ended>,
    pub(crate) globals: Globals,
    pub(crate) asked: AskedNames,
}

impl TestsSeen {
    /// A class was loaded while the open ones ran.
    pub(crate) fn loaded(&mut self, class: &str) {
        for open in self.open.values_mut() {
            open.loaded.insert(class.to_owned());
        }
        for divided in self.divided.values_mut() {
            divided.part(|_| true).loaded.insert(class.to_owned());
        }
    }

    /// What was seen while these tests and stretches of them were open.
    pub(crate) fn absorb(&mut self, open: &[u32], seen: &Seen) {
        if open.is_empty() {
            self.outside.absorb(seen);
            // What was asked for between tests is no test's question.
            self.outside.properties.clear();
            self.outside.lines = false;
        }
        for test in open {
            // A stretch of a test is no test.
            if let Some(open) = self.open.get_mut(test) {
                open.absorb(seen);
            }
            if let Some(divided) = self.divided.get_mut(test) {
                divided.part(|stretch| open.contains(&stretch)).absorb(seen);
            }
        }
    }

    /// What counts for a test of this class from its beginning; static state is known for no test that is
    /// not alone.
    pub(crate) fn beginning(&mut self, class: &str, untouched: Option<Untouched>) -> Seen {
        let untouched = untouched.filter(|_| self.open.is_empty());
        for other in self.open.values_mut() {
            other.untouched = None;
        }
        let changed = self.globals.now();
        Seen { own_class: class.to_owned(), untouched, changed, ..self.outside.clone() }
    }

    /// A stretch of a test class that is open began: one of its methods, or the time between.
    pub(crate) fn stretch_began(&mut self, of: u32, stretch: u32, method: Option<&str>) {
        if !self.divided.contains_key(&of) {
            let Some(seen) = self.open.get(&of) else { return };
            // What the methods leave to each other is not seen before the class begins.
            let mut shared = seen.clone();
            shared.untouched = None;
            let globals = self.globals.numbers();
            let divided =
                Divided { shared, open: None, done: Vec::new(), globals, unsettled: None };
            self.divided.insert(of, divided);
        }
        if let (Some(divided), Some(method)) = (self.divided.get_mut(&of), method) {
            divided.open = Some((stretch, method.to_owned(), Seen::default()));
        }
    }

    /// What ran so far in other test classes that are open.
    pub(crate) fn others_open(&self, class: &str) -> impl Iterator<Item = &RoaringBitmap> {
        self.open.values().filter(move |open| open.own_class != class).map(|open| &open.hits)
    }

    /// What counted for those who changed what of the JVM a test can have met.
    pub(crate) fn changed_by_others(&self, seen: &Seen) -> RoaringBitmap {
        let makers = globals::makers(&seen.changed, &seen.properties);
        let mut found = RoaringBitmap::new();
        for maker in makers {
            let ended = self.ended.iter().filter(|did| did.test == maker);
            ended.for_each(|did| found |= &did.counted);
            let open = self.open.get(&maker).filter(|open| open.own_class != seen.own_class);
            open.iter().for_each(|open| found |= &open.hits);
        }
        found
    }

    /// The agent looked at the state of the JVM.
    pub(crate) fn look(&mut self, seen: &[(String, i64)]) {
        self.globals.look(seen, self.open.keys().copied());
        let now = self.globals.now();
        for (test, open) in &mut self.open {
            for (name, makers) in &now {
                let others = makers.iter().filter(|maker| *maker != test);
                open.changed.entry(name.clone()).or_default().extend(others);
            }
        }
        for divided in self.divided.values_mut() {
            let differs = self.globals.differs_from(&divided.globals);
            divided.unsettled = divided.unsettled.take().or(differs);
        }
    }

    pub(crate) fn stretch_ended(&mut self, of: u32, stretch: u32) {
        let Some(divided) = self.divided.get_mut(&of) else { return };
        if let Some(method) = divided.open.take_if(|(open, ..)| *open == stretch) {
            divided.done.push(method);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hits(probe: u32) -> Seen {
        Seen { hits: [probe].into_iter().collect(), ..Seen::default() }
    }

    #[test]
    fn what_runs_belongs_to_those_that_are_open() {
        let mut tests = TestsSeen::default();
        tests.absorb(&[], &hits(1));
        let first = tests.beginning("a.FirstTest", Some(Untouched::default()));
        assert!(first.hits.contains(1) && first.untouched.is_some());
        tests.open.insert(7, first);
        tests.stretch_began(7, 8, Some("a.FirstTest#one"));
        tests.absorb(&[7, 8], &hits(2));
        tests.stretch_ended(7, 8);
        tests.absorb(&[7], &hits(3));
        let divided = &tests.divided[&7];
        assert_eq!(divided.shared.hits.iter().collect::<Vec<_>>(), [1, 3]);
        assert_eq!(divided.done[0].2.hits.iter().collect::<Vec<_>>(), [2]);
        assert_eq!(tests.open[&7].hits.iter().collect::<Vec<_>>(), [1, 2, 3]);
        assert_eq!(tests.outside.hits.iter().collect::<Vec<_>>(), [1]);
    }

    #[test]
    fn static_state_is_known_of_tests_that_are_alone() {
        let mut tests = TestsSeen::default();
        let first = tests.beginning("a.FirstTest", Some(Untouched::default()));
        tests.open.insert(1, first);
        let second = tests.beginning("a.SecondTest", Some(Untouched::default()));
        assert!(second.untouched.is_none() && tests.open[&1].untouched.is_none());
    }
}
