//! Two looks at the same root.

use super::look::{Look, Node, for_pairs, for_subclasses, space_of_function, traverse};
use super::{Root, State};
use crate::layout::tag_of;
use crate::python::*;
use crate::table::Map;
use std::ffi::{c_int, c_void};

const EQUAL: c_int = 2;

/// What was referred to, as far as it was not found again yet.
struct Rest<'a>(&'a [Obj]);

impl Rest<'_> {
    fn next_is(&mut self, thing: Obj) -> bool {
        match self.0.split_first() {
            Some((first, rest)) if *first == thing => {
                self.0 = rest;
                true
            }
            _ => false,
        }
    }
}

unsafe extern "C" fn expect(thing: Obj, rest: *mut c_void) -> c_int {
    // SAFETY: `is_same_node` gives a `Rest` of its own.
    let same = unsafe { (*rest.cast::<Rest<'_>>()).next_is(thing) };
    if same {
        return 0;
    }
    // SAFETY: as above; from here on nothing fits any more.
    unsafe { (*rest.cast::<Rest<'_>>()).0 = DIFFERENT };
    1
}

const DIFFERENT: &[Obj] = &[std::ptr::null_mut()];

fn is_same_node(look: &Look, node: &Node) -> bool {
    if node.is_fixed {
        return true;
    }
    // SAFETY: only a dictionary has a tag.
    if node.tag != 0 && unsafe { tag_of(node.thing.get()) } == node.tag {
        return true;
    }
    let mut rest = Rest(look.edges(node));
    let thing = node.thing.get();
    // SAFETY: the object is held; nothing of Python runs here.
    unsafe {
        let Some(kind) = &node.kind else {
            return for_subclasses(thing, |one| rest.next_is(one)) && rest.0.is_empty();
        };
        if kind.is_dict()
            && !for_pairs(thing, |key, value| rest.next_is(key) && rest.next_is(value))
        {
            return false;
        }
        if kind.way != super::kinds::Way::Dict {
            traverse(thing, kind, expect, (&raw mut rest).cast());
        }
    }
    rest.0.is_empty()
}

impl Look {
    fn is_same_at(&mut self, at: usize) -> bool {
        let Some(node) = self.nodes.get(at) else { return false };
        if self.is_same_memory(node) {
            return true;
        }
        let (is_same, has_memory) = (is_same_node(self, node), has_memory(node));
        if is_same && has_memory {
            self.note_memory(at);
        }
        is_same
    }
}

/// So many objects before one is compared, its memory is asked for. They lie anywhere, and waiting for each takes longer
/// than comparing it.
const AHEAD: usize = 8;

fn fetch(node: &Node) {
    #[cfg(target_arch = "x86_64")]
    if !node.is_fixed {
        let thing = node.thing.get().cast::<i8>();
        // SAFETY: fetching touches nothing, whatever the address.
        unsafe {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            _mm_prefetch::<_MM_HINT_T0>(thing);
            _mm_prefetch::<_MM_HINT_T0>(thing.wrapping_add(64));
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = node;
}

fn has_memory(node: &Node) -> bool {
    node.kind.as_ref().is_some_and(|kind| kind.words != 0)
}

impl State {
    /// Looks again where something is different; the root, what changed, and the look before.
    pub(super) fn compare(&mut self, mut root: Root) -> (Root, Obj, Option<Look>) {
        let mut changed = Changed::default();
        root.look.closed.iter().for_each(|label| changed.add(&root.look, *label, None));
        let is_same = (0..root.look.nodes.len()).all(|at| {
            root.look.nodes.get(at + AHEAD).inspect(|node| fetch(node));
            root.look.is_same_at(at)
        });
        if is_same && (0..root.look.special.len()).all(|at| root.look.is_same_special(at)) {
            return (root, changed.list(), None);
        }
        let now = self.look(&root.names, Some(&root.look));
        let before = std::mem::replace(&mut root.look, now);
        self.differences(&before, &root.look, &mut changed);
        (root, changed.list(), Some(before))
    }

    fn differences(&self, before: &Look, now: &Look, changed: &mut Changed) {
        let key = |node: &Node| node.thing.get() as usize + usize::from(node.is_subclasses());
        let known: Map<&Node> = before.nodes.iter().map(|node| (key(node), node)).collect();
        for node in &now.nodes {
            let Some(was) = known.get(&key(node)) else { continue };
            let (was, is) = (before.edges(was), now.edges(node));
            if was == is {
                continue;
            }
            if node.kind.as_ref().is_some_and(|kind| kind.is_dict()) {
                self.differences_of_dict(now, node, (was, is), changed);
            } else if node.is_subclasses() {
                changed.add_subclasses();
            } else {
                changed.add(now, node.label, None);
                self.first_attributes(now, node, changed);
            }
        }
        let known: Map<_> = before.special.iter().map(|s| (s.thing.get() as usize, s)).collect();
        for special in &now.special {
            let Some(was) = known.get(&(special.thing.get() as usize)) else { continue };
            if !is_equal(was.was.as_ref(), special.was.as_ref()) {
                changed.add(now, special.label, None);
            }
        }
    }

    /// A function that is different may have got its first attributes: these have names.
    fn first_attributes(&self, look: &Look, node: &Node, changed: &mut Changed) {
        if node.kind.as_ref().is_none_or(|kind| kind.way != super::kinds::Way::Function) {
            return;
        }
        // SAFETY: a function that the look holds.
        if let Some(space) = unsafe { space_of_function(node.thing.get()) } {
            // SAFETY: a dictionary that is held; `add_key` runs nothing of Python but the hash of a string.
            unsafe {
                for_pairs(space.get(), |key, _| {
                    self.add_key(look, node.label, key, changed);
                    true
                });
            }
        }
    }

    /// By keys, and by what follows them in the dictionary of a class of the user's (attributes).
    fn differences_of_dict(
        &self,
        look: &Look,
        node: &Node,
        (was, is): (&[Obj], &[Obj]),
        changed: &mut Changed,
    ) {
        if node.kind.as_ref().is_some_and(|kind| kind.way != super::kinds::Way::Dict) {
            changed.add(look, node.label, None);
        }
        let mut old: Map<Obj> =
            was.chunks_exact(2).map(|pair| (pair[0] as usize, pair[1])).collect();
        for pair in is.chunks_exact(2) {
            if old.remove(&(pair[0] as usize)) != Some(pair[1]) && !is_module(pair[1]) {
                self.add_key(look, node.label, pair[0], changed);
            }
        }
        for gone in old.into_keys() {
            self.add_key(look, node.label, gone as Obj, changed);
        }
    }

    fn add_key(&self, look: &Look, label: u32, key: Obj, changed: &mut Changed) {
        // SAFETY: both looks are held, and with them their keys.
        unsafe {
            if type_of(key) != &raw mut PyUnicode_Type {
                changed.add(look, label, None);
            } else if PySet_Contains(self.not_state.get(), key) != 1 {
                changed.add(look, label, Some(key));
            }
            PyErr_Clear();
        }
    }
}

/// A module in the place of another one is no change of state.
fn is_module(thing: Obj) -> bool {
    // SAFETY: an object that is held.
    unsafe { PyType_IsSubtype(type_of(thing), &raw mut PyModule_Type) != 0 }
}

pub(super) fn is_equal(a: Option<&Strong>, b: Option<&Strong>) -> bool {
    let (Some(a), Some(b)) = (a, b) else { return false };
    // SAFETY: both are held; an error is a difference.
    unsafe {
        let equal = PyObject_RichCompareBool(a.get(), b.get(), EQUAL);
        PyErr_Clear();
        equal == 1
    }
}

/// Sets of labels, each once.
#[derive(Default)]
struct Changed {
    sets: Vec<Strong>,
    added: std::collections::HashSet<(u32, usize)>,
}

impl Changed {
    fn add(&mut self, look: &Look, label: u32, key: Option<Obj>) {
        if !self.added.insert((label, key.map_or(0, |key| key as usize))) {
            return;
        }
        // SAFETY: a set of ours; labels and keys are strings that a look holds.
        unsafe {
            let Some(set) = Strong::owned(PyFrozenSet_New(std::ptr::null_mut())) else { return };
            let mut at = label;
            while let Some(label) = look.labels.get(at as usize)
                && let Some(name) = &label.name
            {
                PySet_Add(set.get(), name.get());
                at = label.before;
            }
            if let Some(key) = key {
                PySet_Add(set.get(), key);
            }
            PyErr_Clear();
            self.sets.push(set);
        }
    }

    fn add_subclasses(&mut self) {
        if !self.added.insert((u32::MAX, 0)) {
            return;
        }
        // SAFETY: a set and a string of ours.
        unsafe {
            let Some(set) = Strong::owned(PyFrozenSet_New(std::ptr::null_mut())) else { return };
            if let Some(name) = Strong::owned(PyUnicode_FromString(c"__subclasses__".as_ptr())) {
                PySet_Add(set.get(), name.get());
            }
            self.sets.push(set);
        }
    }

    fn list(self) -> Obj {
        // SAFETY: a list of ours.
        unsafe {
            let list = PyList_New(0);
            for set in &self.sets {
                PyList_Append(list, set.get());
            }
            list
        }
    }
}
