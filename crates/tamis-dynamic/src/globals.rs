//! What of the JVM itself is not as it was before the first test, and which tests made it so.
//!
//! The agent looks before each test begins: system properties one by one, the default locale and time zone,
//! the standard streams, the handlers of uncaught exceptions, the name and the class loader of the thread. A
//! difference that was not there at the last look, or was another one, belongs to the tests that ran in
//! between. It counts for every test that begins while it is there; system properties for those that ask for
//! them by name, or for all of them. What is set back before the next test begins counts for no test.

use std::collections::{BTreeMap, BTreeSet};

/// Tests by what they changed.
pub(crate) type Changed = BTreeMap<String, BTreeSet<u32>>;

const PROPERTY: &str = "system property ";

#[derive(Debug, Default)]
pub(crate) struct Globals {
    /// What differs now: a number for what it is, and who made it so.
    now: BTreeMap<String, (i64, BTreeSet<u32>)>,
    /// Tests that ended since the last look.
    ended: BTreeSet<u32>,
}

impl Globals {
    /// What differs now, while these tests are open.
    pub(crate) fn look(&mut self, seen: &[(String, i64)], open: impl Iterator<Item = u32>) {
        let mut active = std::mem::take(&mut self.ended);
        active.extend(open);
        let mut before = std::mem::take(&mut self.now);
        for (name, number) in seen {
            let (known, mut makers) =
                before.remove(name).unwrap_or((number.wrapping_add(1), BTreeSet::new()));
            if known != *number {
                makers.extend(&active);
            }
            self.now.insert(name.clone(), (*number, makers));
        }
    }

    pub(crate) fn ended(&mut self, test: u32) {
        self.ended.insert(test);
    }

    pub(crate) fn now(&self) -> Changed {
        self.now.iter().map(|(name, (_, makers))| (name.clone(), makers.clone())).collect()
    }

    /// What is now as it was not then; the first of them.
    pub(crate) fn differs_from(&self, then: &BTreeMap<String, i64>) -> Option<String> {
        let is_new = |(name, (number, _)): &(&String, &(i64, BTreeSet<u32>))| {
            then.get(*name) != Some(number)
        };
        let gone = || then.keys().find(|name| !self.now.contains_key(*name)).cloned();
        self.now.iter().find(is_new).map(|(name, _)| name.clone()).or_else(gone)
    }

    pub(crate) fn numbers(&self) -> BTreeMap<String, i64> {
        self.now.iter().map(|(name, (number, _))| (name.clone(), *number)).collect()
    }
}

/// Who made what a test can have met that asked for these system properties.
pub(crate) fn makers(changed: &Changed, asked: &BTreeSet<String>) -> BTreeSet<u32> {
    let asks_all = asked.contains("");
    let is_met = |name: &str| match name.strip_prefix(PROPERTY) {
        Some(key) => asks_all || asked.contains(key),
        None => name != "system properties" || asks_all,
    };
    changed
        .iter()
        .filter(|(name, _)| is_met(name))
        .flat_map(|(_, makers)| makers)
        .copied()
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(all: &[(&str, i64)]) -> Vec<(String, i64)> {
        all.iter().map(|(name, number)| ((*name).to_owned(), *number)).collect()
    }

    #[test]
    fn a_difference_belongs_to_the_tests_since_the_last_look() {
        let mut globals = Globals::default();
        globals.look(&[], [].into_iter());
        globals.ended(1);
        globals.look(&seen(&[("the default locale", 5)]), [].into_iter());
        globals.ended(2);
        globals.look(&seen(&[("the default locale", 5)]), [].into_iter());
        assert_eq!(globals.now()["the default locale"], BTreeSet::from([1]));
        globals.look(&seen(&[("the default locale", 6)]), [3].into_iter());
        assert_eq!(globals.now()["the default locale"], BTreeSet::from([1, 3]));
        globals.look(&[], [].into_iter());
        assert!(globals.now().is_empty());
    }

    #[test]
    fn a_property_counts_for_those_who_ask_for_it() {
        let mut globals = Globals::default();
        globals.ended(1);
        globals.look(&seen(&[("system property a", 1), ("system properties", 2)]), [].into_iter());
        let met = |asked: &[&str]| {
            let asked = asked.iter().map(|key| (*key).to_owned()).collect();
            !makers(&globals.now(), &asked).is_empty()
        };
        assert!(met(&["b", "a"]) && met(&[""]));
        assert!(!met(&["b"]) && !met(&[]));
    }

    #[test]
    fn what_changes_inside_of_a_class_is_named() {
        let mut globals = Globals::default();
        globals.look(&seen(&[("System.out", 1)]), [].into_iter());
        let then = globals.numbers();
        assert_eq!(globals.differs_from(&then), None);
        globals.look(&seen(&[("System.out", 2)]), [7].into_iter());
        assert_eq!(globals.differs_from(&then).as_deref(), Some("System.out"));
        globals.look(&[], [7].into_iter());
        assert_eq!(globals.differs_from(&then).as_deref(), Some("System.out"));
    }
}
