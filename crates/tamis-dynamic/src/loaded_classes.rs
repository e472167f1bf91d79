//! The classes that a JVM loaded, and whose probes are whose.

use crate::seen::{Loaded, Place};
use rustc_hash::FxHashSet;
use tamis_classpath::names::NameId;

#[derive(Debug, Default)]
pub(crate) struct LoadedClasses {
    /// Those with probes, by first probe. Two threads that load classes at the same time take their probes in one
    /// order and may report the classes in the other.
    probed: Vec<Loaded>,
    all: FxHashSet<NameId>,
    /// Names of more than one class: which of them is meant is not known.
    pub(crate) twice: FxHashSet<NameId>,
    /// Those that are not on the classpath.
    pub(crate) elsewhere: FxHashSet<NameId>,
}

impl LoadedClasses {
    pub(crate) fn add(&mut self, class: Loaded) {
        if class.place == Place::Elsewhere {
            self.elsewhere.insert(class.id);
        }
        if !self.all.insert(class.id) {
            self.twice.insert(class.id);
        }
        if class.probes > 0 {
            let at = self.probed.partition_point(|other| other.first < class.first);
            self.probed.insert(at, class);
        }
    }

    pub(crate) fn contains(&self, class: NameId) -> bool {
        self.all.contains(&class)
    }

    /// Those with probes.
    pub(crate) fn probed(&self) -> &[Loaded] {
        &self.probed
    }

    /// The class that a probe is in.
    pub(crate) fn find(&self, probe: u32) -> Option<&Loaded> {
        let at = self.probed.partition_point(|l| l.first <= probe).checked_sub(1)?;
        self.probed.get(at).filter(|l| probe < l.first + l.probes)
    }

    /// The class of the project that a probe is in.
    pub(crate) fn find_own(&self, probe: u32) -> Option<&Loaded> {
        self.find(probe).filter(|l| matches!(l.place, Place::Project | Place::Changed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(id: NameId, first: u32, probes: u32, place: Place) -> Loaded {
        Loaded { name: format!("C{id}"), id, first, probes, place }
    }

    #[test]
    fn probes_belong_to_classes() {
        let mut loaded = LoadedClasses::default();
        loaded.add(class(1, 10, 5, Place::Project));
        loaded.add(class(2, 15, 0, Place::Project));
        loaded.add(class(3, 20, 1, Place::Library(0)));
        let id = |probe| loaded.find(probe).map(|class| class.id);
        assert_eq!([9, 10, 14, 15, 20, 21].map(id), [None, Some(1), Some(1), None, Some(3), None]);
        assert!(loaded.find_own(14).is_some() && loaded.find_own(20).is_none());
    }

    #[test]
    fn classes_that_threads_report_in_another_order_keep_their_probes() {
        let mut loaded = LoadedClasses::default();
        for (id, first) in [(1, 10), (4, 40), (2, 20), (3, 30), (0, 0)] {
            loaded.add(class(id, first, 10, Place::Project));
        }
        for probe in 0..50 {
            assert_eq!(loaded.find(probe).map(|class| class.id), Some(probe / 10), "{probe}");
        }
    }

    #[test]
    fn names_of_two_classes_are_known() {
        let mut loaded = LoadedClasses::default();
        loaded.add(class(1, 0, 1, Place::Elsewhere));
        assert!(loaded.twice.is_empty());
        loaded.add(class(1, 1, 0, Place::Project));
        assert!(loaded.twice.contains(&1) && loaded.elsewhere.contains(&1));
        assert_eq!(loaded.probed().len(), 1);
    }
}
