//! The loaded classes of the project as types.
//!
//! Classes come test by test. What is known of those that were there stays, unless one comes that was
//! taken for a type that is not the project's: then everything is found anew.

use crate::calls::{Calls, MARKERS};
use crate::known::Known;
use rustc_hash::{FxHashMap, FxHashSet};
use tamis_classpath::names::{NameId, Names};

/// By their position.
#[derive(Debug, Default)]
pub(crate) struct LoadedTypes {
    /// Itself and what it inherits from.
    pub(crate) parents: Vec<FxHashSet<NameId>>,
    /// Everything that an object can be seen as which has this class's methods.
    pub(crate) seen_as: Vec<FxHashSet<NameId>>,
    /// The types among `parents` that are not the project's.
    pub(crate) foreign: Vec<Vec<NameId>>,
    /// Whether it is known what those have.
    pub(crate) all_known: Vec<bool>,
    /// All types that are not the project's among `seen_as` and above those; `None` where not all are
    /// known.
    seen_as_foreign: Vec<Option<FxHashSet<NameId>>>,
    /// Types that are not the project's, as far as is known.
    all_foreign: FxHashSet<NameId>,
    pub(crate) method_names: FxHashMap<NameId, Vec<u8>>,
    pub(crate) object: Option<NameId>,
    pub(crate) known: Known,
}

impl LoadedTypes {
    /// Takes the classes in that have come since.
    pub(crate) fn update(&mut self, calls: &Calls, names: &mut Names) {
        if self.parents.len() == calls.len() {
            return;
        }
        let mut new = calls.classes().skip(self.parents.len());
        if self.parents.is_empty() || new.any(|class| self.all_foreign.contains(&class.name)) {
            let object = Some(names.intern(b"java/lang/Object"));
            *self = Self { known: Known::new(names), object, ..Self::default() };
        }
        let first = self.parents.len();
        let mut changed: FxHashSet<usize> = (first..calls.len()).collect();
        for at in first..calls.len() {
            let parents = calls.parents(at);
            self.seen_as.push(parents.clone());
            self.parents.push(parents);
        }
        for below in first..calls.len() {
            for above in self.parents[below].iter().filter_map(|name| calls.position(*name)) {
                if above != below {
                    self.seen_as[above].extend(self.parents[below].iter().copied());
                    changed.insert(above);
                }
            }
        }
        let is_foreign =
            |name: &NameId| calls.position(*name).is_none() && !MARKERS.contains(&names.get(*name));
        let foreign_of = |all: &FxHashSet<NameId>| -> Vec<NameId> {
            all.iter().copied().filter(is_foreign).collect()
        };
        for (at, class) in calls.classes().enumerate().skip(first) {
            let not_ours = self.parents[at].iter().filter(|name| calls.position(**name).is_none());
            self.all_foreign.extend(not_ours);
            let foreign = foreign_of(&self.parents[at]);
            self.all_known.push(foreign.iter().all(|&class| self.known.is_known(class)));
            self.foreign.push(foreign);
            for method in &class.methods {
                self.method_names.entry(method.signature).or_insert_with_key(|&signature| {
                    let text = names.get(signature);
                    let end = text.iter().position(|&b| b == b'(').unwrap_or(text.len());
                    text[..end].to_vec()
                });
            }
        }
        self.seen_as_foreign.resize_with(calls.len(), || None);
        for at in changed {
            let foreign = foreign_of(&self.seen_as[at]);
            let all_known = foreign.iter().all(|&class| self.known.is_known(class));
            self.seen_as_foreign[at] = all_known.then(|| self.known.all_above(&foreign, names));
        }
    }

    /// Whether this is a type that is not the project's, which some class of the project has.
    pub(crate) fn is_interface_of_others(&self, name: NameId) -> bool {
        self.all_foreign.contains(&name) && Some(name) != self.object
    }

    /// The positions of the classes that have this type.
    pub(crate) fn below(&self, name: NameId) -> impl Iterator<Item = usize> + '_ {
        let all = self.parents.iter().enumerate();
        all.filter(move |(_, parents)| parents.contains(&name)).map(|(at, _)| at)
    }

    /// Whether an object with this class's methods can be seen as a type that is not the project's.
    pub(crate) fn can_be_foreign(&self, at: usize, owner: NameId) -> bool {
        self.seen_as_foreign[at].as_ref().is_none_or(|all| all.contains(&owner))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::class::Class;
    use std::collections::BTreeSet;

    const FOREIGN: [&str; 4] =
        ["java/lang/Runnable", "java/io/IOException", "java/io/Serializable", "x/Foreign"];

    fn class(name: &str, inherits: &[String], names: &mut Names) -> Class {
        Class {
            name: names.intern(name.as_bytes()),
            inherits: inherits.iter().map(|parent| names.intern(parent.as_bytes())).collect(),
            fields: Vec::new(),
            methods: Vec::new(),
            handles: Vec::new(),
            is_interface: false,
            has_natives: false,
            fresh: Vec::new(),
            shown: Default::default(),
        }
    }

    fn sorted(ids: &[NameId]) -> BTreeSet<NameId> {
        ids.iter().copied().collect()
    }

    /// Whichever order classes come in, a class before or after what it inherits from: what is known in
    /// the end is what is found from all of them at once.
    #[test]
    fn classes_that_come_one_by_one_are_related_as_if_they_came_together() {
        let mut random = tamis_testkit::Random::seeded(7);
        for _ in 0..300 {
            let mut names = Names::default();
            let mut calls = Calls::default();
            let mut step_by_step = LoadedTypes::default();
            let mut order: Vec<usize> = (0..9).collect();
            random.shuffle(&mut order);
            for (at, &n) in order.iter().enumerate() {
                // Only from smaller ones: no class inherits from itself.
                let mut inherits = Vec::new();
                for _ in 0..random.below(3) {
                    inherits.push(match n {
                        0 => FOREIGN[random.below(4)].to_owned(),
                        _ if random.chance(3) => FOREIGN[random.below(4)].to_owned(),
                        _ => format!("a/C{}", random.below(n)),
                    });
                }
                let new = class(&format!("a/C{n}"), &inherits, &mut names);
                calls.add(new, at as u32 * 10, &mut names);
                if random.chance(2) {
                    step_by_step.update(&calls, &mut names);
                }
            }
            step_by_step.update(&calls, &mut names);
            let mut at_once = LoadedTypes::default();
            at_once.update(&calls, &mut names);
            assert_eq!(step_by_step.parents, at_once.parents);
            assert_eq!(step_by_step.seen_as, at_once.seen_as);
            assert_eq!(step_by_step.seen_as_foreign, at_once.seen_as_foreign);
            assert_eq!(step_by_step.all_known, at_once.all_known);
            for (one, other) in step_by_step.foreign.iter().zip(&at_once.foreign) {
                assert_eq!(sorted(one), sorted(other));
            }
        }
    }
}
