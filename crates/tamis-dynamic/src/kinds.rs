//! The loaded classes of the project as types.
//!
//! Classes come test by test. What is known of those that were there stays, unless one comes that was
//! taken for a type that is not the project's: then everything is found anew.

use crate::known::Known;
use crate::reach::{Calls, MARKERS};
use rustc_hash::{FxHashMap, FxHashSet};
use tamis_jvm::names::{NameId, Names};

/// By their position.
#[derive(Debug, Default)]
pub(crate) struct Kinds {
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

impl Kinds {
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

    /// Whether an object with this class's methods can be seen as a type that is not the project's.
    pub(crate) fn can_be_foreign(&self, at: usize, owner: NameId) -> bool {
        self.seen_as_foreign[at].as_ref().is_none_or(|all| all.contains(&owner))
    }
}
