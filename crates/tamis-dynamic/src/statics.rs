//! What is known of static state: what can keep things from one test to the next.

use crate::answers::class_id;
use crate::retained_state::RetainedState;
use crate::seen::Untouched;
use roaring::RoaringBitmap;
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;
use tamis_classfile::mutf8;
use tamis_classpath::names::{NameId, Names};
use tamis_jvm_wire::StaticState;

#[derive(Debug, Default)]
pub(crate) struct Statics {
    /// Who can depend on earlier tests; dropped when another class is loaded.
    pub(crate) kept: Option<RetainedState>,
    /// What ran in static initialisers, by their probes.
    pub(crate) initialised: FxHashMap<u32, Initialised>,
    /// Classes whose static fields are looked at before each test.
    pub(crate) watched: FxHashSet<NameId>,
    /// What was seen of them for the test that begins next.
    pub(crate) next: Option<Untouched>,
}

/// What one static initialiser used.
#[derive(Debug, Default)]
pub(crate) struct Initialised {
    pub(crate) hits: RoaringBitmap,
    /// Classes that were asked for by name, and resources, as facts.
    pub(crate) classes: RoaringBitmap,
    pub(crate) others: RoaringBitmap,
}

impl Statics {
    /// What static fields hold right before a test begins.
    pub(crate) fn look(&mut self, state: &StaticState, names: &mut Names) {
        let watched = state.watched.iter().map(|class| class_id(class, names));
        self.watched.extend(watched);
        let waiting = state.waiting.iter().map(|class| class_id(class, names)).collect();
        let changed = state.changed.as_ref().map(|changed| {
            let ids = changed.iter().map(|(class, field)| {
                (class_id(class, names), names.intern(&mutf8::encode(field)))
            });
            Arc::new(ids.collect())
        });
        self.next = changed.map(|changed| Untouched { changed, waiting: Arc::new(waiting) });
    }
}
