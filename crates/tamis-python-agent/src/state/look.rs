//! One look: every object that can be reached from a root, and what each refers to.

use super::State;
use super::compare::is_equal;
use super::kinds::{HEAD_WORDS, Kind, Way};
use crate::layout::{subclasses_of, tag_of};
use crate::python::*;
use crate::table::{Map, Set};
use std::ffi::{c_int, c_void};
use std::rc::Rc;
use std::sync::OnceLock;

/// More objects than this are not looked at one by one before each test.
const MOST: usize = 300_000;
const DEEPEST_LABELS: u8 = 12;

#[derive(Debug)]
pub(super) struct Node {
    pub(super) thing: Strong,
    pub(super) kind: Option<Rc<Kind>>,
    pub(super) label: u32,
    pub(super) start: u32,
    pub(super) end: u32,
    /// The version of a dictionary, where that is enough to know that it is the same; else 0.
    pub(super) tag: u64,
    /// What it refers to never changes.
    pub(super) is_fixed: bool,
    /// Where its own memory is among the words of the look; as many as its kind says.
    words: u32,
}

impl Node {
    /// A class is in a look twice: what it refers to, and its subclasses.
    pub(super) fn is_subclasses(&self) -> bool {
        self.kind.is_none()
    }
}

/// What is compared by its content.
#[derive(Debug)]
pub(super) struct Special {
    pub(super) thing: Strong,
    pub(super) digest: Strong,
    /// None where it could not be made.
    pub(super) was: Option<Strong>,
    pub(super) label: u32,
    /// As long as its memory and that of this object are the same, the digest is.
    decided_by: Option<Strong>,
    /// How long both are, and where their memory is among the words of the look.
    sizes: [u16; 2],
    words: u32,
}

impl Special {
    /// What decides the digest.
    fn memory(&self) -> Option<[&[u64]; 2]> {
        let other = self.decided_by.as_ref()?;
        let [size, size_of_other] = self.sizes;
        // SAFETY: both are held, and as long as their types say.
        unsafe { Some([words(self.thing.get(), size), words(other.get(), size_of_other)]) }
    }
}

/// A name on the way to an object.
#[derive(Debug)]
pub(super) struct Label {
    pub(super) before: u32,
    pub(super) name: Option<Strong>,
    depth: u8,
}

#[derive(Debug)]
pub(super) struct Look {
    pub(super) nodes: Vec<Node>,
    edges: Vec<Obj>,
    /// The memory of objects that hold what they refer to in themselves.
    words: Vec<u64>,
    pub(super) labels: Vec<Label>,
    pub(super) special: Vec<Special>,
    pub(super) closed: Vec<u32>,
    /// What is referred to by no object here, and still has to keep its address.
    besides: Vec<Strong>,
}

impl Drop for Look {
    fn drop(&mut self) {
        for edge in std::mem::take(&mut self.edges) {
            // SAFETY: the reference was ours.
            unsafe { Py_DecRef(edge) };
        }
    }
}

unsafe extern "C" fn collect(thing: Obj, into: *mut c_void) -> c_int {
    // SAFETY: `referents` gives a vector of its own.
    unsafe {
        Py_IncRef(thing);
        (*into.cast::<Vec<Obj>>()).push(thing);
    }
    0
}

/// The memory of an object that is held, behind its head, as far as its kind says.
unsafe fn memory(thing: Obj, kind: &Kind) -> &[u64] {
    // SAFETY: an object of this kind is as long.
    unsafe { words(thing, kind.words) }
}

unsafe fn words<'a>(thing: Obj, size: u16) -> &'a [u64] {
    // SAFETY: the object is as long; nothing writes to it while this is used.
    unsafe { std::slice::from_raw_parts(thing.cast::<u64>().add(HEAD_WORDS), size as usize) }
}

/// Whether the collector can go through an object; a static type, for one, cannot be traversed.
unsafe fn is_traversed(thing: Obj) -> bool {
    // SAFETY: an object.
    unsafe { PyObject_IS_GC(thing) != 0 }
}

unsafe extern "C" {
    fn PyObject_IS_GC(thing: Obj) -> c_int;
}

/// Calls `visit` for everything that an object refers to.
///
/// # Safety
/// `visit` and `data` fit; nothing of Python runs in between.
pub(super) unsafe fn traverse(thing: Obj, kind: &Kind, visit: Visit, data: *mut c_void) {
    // SAFETY: the slot of the object's own type.
    unsafe {
        if let Some(traverse) = kind.traverse
            && (!kind.asks || is_traversed(thing))
        {
            traverse(thing, visit, data);
        }
    }
}

/// The look before, and what is compared by its content in it, by address.
type Before<'a> = (&'a Look, Map<&'a Special>);

impl Look {
    fn specials(&self) -> Map<&Special> {
        self.special.iter().map(|special| (special.thing.get() as usize, special)).collect()
    }

    /// With room for as much as there was before, if there was a look before.
    fn new(before: Option<&Self>) -> Self {
        let room = |of: fn(&Self) -> usize| before.map_or(0, |look| of(look) + of(look) / 8);
        Self {
            nodes: Vec::with_capacity(room(|look| look.nodes.len())),
            edges: Vec::with_capacity(room(|look| look.edges.len())),
            words: Vec::with_capacity(room(|look| look.words.len())),
            labels: vec![Label { before: 0, name: None, depth: 0 }],
            special: Vec::new(),
            closed: Vec::new(),
            besides: Vec::new(),
        }
    }

    pub(super) fn edges(&self, node: &Node) -> &[Obj] {
        self.edges.get(node.start as usize..node.end as usize).unwrap_or_default()
    }

    /// Whether the digest has to be what it was.
    fn is_decided(&self, special: &Special) -> bool {
        let Some(memory) = special.memory() else { return false };
        let mut at = special.words as usize;
        memory.iter().all(|part| {
            let was = self.words.get(at..at + part.len());
            at += part.len();
            was == Some(*part)
        })
    }

    /// Whether what is compared by its content is as it was.
    pub(super) fn is_same_special(&mut self, at: usize) -> bool {
        let Some(special) = self.special.get(at) else { return false };
        if self.is_decided(special) {
            return true;
        }
        // From before the digest: what another thread changes meanwhile is found next time.
        let memory: Vec<u64> = special.memory().into_iter().flatten().flatten().copied().collect();
        // SAFETY: both are held.
        let now = unsafe { call(special.digest.get(), &[special.thing.get()]) };
        if !is_equal(special.was.as_ref(), now.as_ref()) {
            // It stays as it was: the next look asks again.
            return false;
        }
        let (start, size) = (special.words as usize, special.sizes[0] as usize);
        let mut is_itself = true;
        if let Some(was) = self.words.get_mut(start..start + memory.len()) {
            is_itself = was.get(..size) == memory.get(..size);
            was.copy_from_slice(&memory);
        }
        // It may have got another buffer: until all is looked at again the digest is asked for.
        let gone = match self.special.get_mut(at) {
            Some(special) if !is_itself => special.decided_by.take(),
            _ => None,
        };
        drop(gone);
        true
    }

    fn label(&mut self, before: u32, name: Obj) -> u32 {
        let depth = self.labels.get(before as usize).map_or(0, |label| label.depth);
        if name.is_null() || depth >= DEEPEST_LABELS {
            return before;
        }
        // SAFETY: a string that the object just looked at, or its type, holds.
        let name = Some(unsafe { Strong::borrowed(name) });
        self.labels.push(Label { before, name, depth: depth + 1 });
        self.labels.len() as u32 - 1
    }

    /// Keeps an object with all that it refers to now; a dictionary's keys and values come first.
    unsafe fn keep(&mut self, thing: Strong, kind: Rc<Kind>, label: u32) -> usize {
        let start = self.edges.len() as u32;
        // SAFETY: the object is held; nothing of Python runs here.
        unsafe {
            if kind.is_dict() {
                for_pairs(thing.get(), |key, value| {
                    Py_IncRef(key);
                    Py_IncRef(value);
                    self.edges.extend([key, value]);
                    true
                });
            }
            if kind.way != Way::Dict {
                traverse(thing.get(), &kind, collect, (&raw mut self.edges).cast());
            }
        }
        let end = self.edges.len() as u32;
        // SAFETY: a dictionary.
        let tag = if kind.way == Way::Dict { unsafe { tag_of(thing.get()) } } else { 0 };
        let is_fixed = kind.is_fixed;
        let words = self.words.len() as u32;
        // SAFETY: the object is held.
        self.words.extend(unsafe { memory(thing.get(), &kind) });
        self.nodes.push(Node { thing, kind: Some(kind), label, start, end, tag, is_fixed, words });
        self.nodes.len() - 1
    }

    /// Whether the memory that says all is as it was.
    pub(super) fn is_same_memory(&self, node: &Node) -> bool {
        let Some(kind) = node.kind.as_ref().filter(|kind| kind.words != 0) else { return false };
        let start = node.words as usize;
        let was = self.words.get(start..start + kind.words as usize);
        // SAFETY: the object is held.
        was == Some(unsafe { memory(node.thing.get(), kind) })
    }

    /// Notes the memory of a node that refers to what it did; for one, the interpreter counts in functions.
    pub(super) fn note_memory(&mut self, at: usize) {
        let Some(node) = self.nodes.get(at) else { return };
        let Some(kind) = &node.kind else { return };
        let start = node.words as usize;
        if let Some(was) = self.words.get_mut(start..start + kind.words as usize) {
            // SAFETY: the object is held.
            was.copy_from_slice(unsafe { memory(node.thing.get(), kind) });
        }
    }

    /// Keeps which subclasses a class has.
    unsafe fn keep_subclasses(&mut self, class: Obj) {
        let start = self.edges.len() as u32;
        // SAFETY: a class that is held.
        unsafe {
            for_subclasses(class, |one| {
                Py_IncRef(one);
                self.edges.push(one);
                true
            });
            let end = self.edges.len() as u32;
            let thing = Strong::borrowed(class);
            let (label, tag, is_fixed) = (0, 0, false);
            let words = 0;
            self.nodes.push(Node { thing, kind: None, label, start, end, tag, is_fixed, words });
        }
    }
}

/// The keys and values of a dictionary, until `work` says that it is enough; whether it never did.
///
/// # Safety
/// A dictionary; `work` runs nothing of Python.
pub(super) unsafe fn for_pairs(dict: Obj, mut work: impl FnMut(Obj, Obj) -> bool) -> bool {
    let (mut at, mut key, mut value) = (0, std::ptr::null_mut(), std::ptr::null_mut());
    // SAFETY: as the caller says.
    unsafe {
        while PyDict_Next(dict, &raw mut at, &raw mut key, &raw mut value) != 0 {
            if !work(key, value) {
                return false;
            }
        }
    }
    true
}

/// The weak references to the subclasses of a class.
///
/// # Safety
/// A class; `work` runs nothing of Python.
pub(super) unsafe fn for_subclasses(class: Obj, mut work: impl FnMut(Obj) -> bool) -> bool {
    // SAFETY: only classes that the collector can go through have their own dictionary there.
    unsafe {
        if !is_traversed(class) {
            return true;
        }
        let known = subclasses_of(class);
        known.is_null() || for_pairs(known, |_, one| work(one))
    }
}

impl State {
    pub(super) fn look(&mut self, names: &Strong, before: Option<&Look>) -> Look {
        let mut look = Look::new(before);
        let mut seen = Set::default();
        seen.reserve(look.nodes.capacity() * 2);
        seen.insert(names.get() as usize);
        // SAFETY: the dictionary is held by the root.
        let mut todo = vec![(unsafe { Strong::borrowed(names.get()) }, 0)];
        let mut children = Vec::new();
        let known = before.map(|look| (look, look.specials()));
        while let Some((thing, label)) = todo.pop() {
            if seen.len() > MOST {
                look.closed.push(0);
                break;
            }
            // SAFETY: what is to do is held.
            unsafe { self.keep_and_go_on(&mut look, &mut children, thing, label) };
            for (name, child) in children.drain(..) {
                // SAFETY: the look holds it.
                unsafe {
                    self.add(
                        &mut look,
                        &mut todo,
                        &mut seen,
                        (names.get(), label),
                        (name, child),
                        known.as_ref(),
                    )
                };
            }
        }
        look
    }

    unsafe fn add(
        &mut self,
        look: &mut Look,
        todo: &mut Vec<(Strong, u32)>,
        seen: &mut Set,
        (names, label): (Obj, u32),
        (name, child): (Obj, Obj),
        before: Option<&Before<'_>>,
    ) {
        let number = child as usize;
        if self.kinds.is_leaf(child) || seen.contains(&number) || self.namespaces.contains(&number)
        {
            return;
        }
        let kind = self.kinds.of(child);
        // SAFETY: strings and objects that the look holds.
        unsafe {
            if kind.is_leaf || (!name.is_null() && PySet_Contains(self.not_state.get(), name) == 1)
            {
                return;
            }
            let is_class = kind.way == Way::Class;
            if is_class {
                let home = self.kinds.home_of(child);
                if home != 0 && home != names as usize {
                    return;
                }
            }
            seen.insert(number);
            let label = look.label(label, name);
            if kind.is_closed {
                look.closed.push(label);
                return;
            }
            self.keep_special(look, child, (&kind, label), before);
            if is_class {
                look.keep_subclasses(child);
            }
            if kind.goes_on {
                todo.push((Strong::borrowed(child), label));
            }
        }
    }

    /// Keeps something that is compared by its content. It is asked for only where it may be another one than before.
    unsafe fn keep_special(
        &mut self,
        look: &mut Look,
        thing: Obj,
        (kind, label): (&Kind, u32),
        before: Option<&Before<'_>>,
    ) {
        let Some(digest) = &kind.digest else { return };
        let was = before.and_then(|(look, known)| Some((look, *known.get(&(thing as usize))?)));
        let was =
            was.filter(|(look, special)| look.is_decided(special)).map(|(_, special)| special);
        // SAFETY: objects that are held.
        unsafe {
            let copy = |o: &Strong| Strong::borrowed(o.get());
            let decided_by = match (was, &digest.decided_by) {
                (Some(was), _) => was.decided_by.as_ref().map(copy),
                (None, Some(asks)) => {
                    call(asks.get(), &[thing]).filter(|other| !is_none(other.get()))
                }
                (None, None) => None,
            };
            let size_of_other =
                decided_by.as_ref().map_or(0, |other| self.kinds.of(other.get()).size);
            let words = look.words.len() as u32;
            let (sizes, digest) = ([kind.size, size_of_other], copy(&digest.of));
            let thing = Strong::borrowed(thing);
            let mut special = Special { thing, digest, was: None, label, decided_by, sizes, words };
            for part in special.memory().into_iter().flatten() {
                look.words.extend(part);
            }
            // After its memory: what another thread changes meanwhile is found next time.
            special.was = match was {
                Some(was) => was.was.as_ref().map(copy),
                None => call(special.digest.get(), &[special.thing.get()]),
            };
            look.special.push(special);
        }
    }

    /// What an object refers to, with the name by which code reaches it, or null. The look holds all of it.
    unsafe fn keep_and_go_on(
        &mut self,
        look: &mut Look,
        children: &mut Vec<(Obj, Obj)>,
        thing: Strong,
        label: u32,
    ) {
        let kind = self.kinds.of(thing.get());
        let o = thing.get();
        let nameless = std::ptr::null_mut();
        // SAFETY: the object is held; what is asked for is held by `besides`, or by the object.
        unsafe {
            // First what makes something: the dictionary of attributes may only be made by asking for it.
            // (3.13 traverses the attributes of an instance and not their dictionary.)
            if matches!(kind.way, Way::Instance | Way::DictInstance) {
                let space = PyObject_GenericGetDict(o, std::ptr::null_mut());
                self.besides(look, children, nameless, space);
            }
            match kind.way {
                Way::Call => self.besides(look, children, nameless, PyObject_CallNoArgs(o)),
                Way::Local => {
                    let space = PyObject_GetAttrString(o, c"__dict__".as_ptr());
                    self.besides(look, children, nameless, space);
                }
                Way::Instance | Way::DictInstance => {
                    for (name, get) in &kind.slots {
                        let value =
                            call(get.get(), &[o]).map_or(std::ptr::null_mut(), Strong::into_raw);
                        self.besides(look, children, name.get(), value);
                    }
                }
                Way::Function => self.parts_of_function(look, children, o),
                Way::Dict | Way::Class | Way::Referents => {}
            }
            let at = look.keep(thing, Rc::clone(&kind), label);
            let Some(node) = look.nodes.get(at) else { return };
            let edges = look.edges(node);
            let mut rest = edges;
            if kind.is_dict() {
                let pairs = PyDict_Size(o).max(0) as usize * 2;
                let (pairs, others) = edges.split_at(pairs.min(edges.len()));
                rest = others;
                for pair in pairs.chunks_exact(2) {
                    let is_name = type_of(pair[0]) == &raw mut PyUnicode_Type;
                    children.push((if is_name { pair[0] } else { nameless }, pair[1]));
                    if !is_name {
                        children.push((nameless, pair[0]));
                    }
                }
            }
            match kind.way {
                Way::Class => {
                    let is_dict = |o: &&Obj| type_of(**o) == &raw mut PyDict_Type;
                    children.extend(rest.iter().filter(is_dict).map(|o| (nameless, *o)));
                }
                Way::Instance | Way::DictInstance | Way::Referents => {
                    children.extend(rest.iter().map(|o| (nameless, *o)));
                }
                _ => {}
            }
        }
    }

    /// A value that was asked for (a new reference, or null after an error).
    unsafe fn besides(&self, look: &mut Look, into: &mut Vec<(Obj, Obj)>, name: Obj, value: Obj) {
        // SAFETY: as the caller says.
        if let Some(value) = unsafe { Strong::owned(value) } {
            into.push((name, value.get()));
            look.besides.push(value);
        }
    }

    unsafe fn parts_of_function(&self, look: &mut Look, into: &mut Vec<(Obj, Obj)>, o: Obj) {
        // SAFETY: a function that is held; its parts are counted at once.
        unsafe {
            let closure = PyFunction_GetClosure(o);
            if !closure.is_null() {
                let closure = Strong::borrowed(closure);
                let names = PyObject_GetAttrString(PyFunction_GetCode(o), c"co_freevars".as_ptr());
                if let Some(names) = Strong::owned(names) {
                    let length = PyTuple_Size(closure.get()).min(PyTuple_Size(names.get()));
                    for n in 0..length {
                        let cell = PyTuple_GetItem(closure.get(), n);
                        into.push((PyTuple_GetItem(names.get(), n), cell));
                    }
                    look.besides.push(names);
                }
                look.besides.push(closure);
            }
            let nameless = std::ptr::null_mut();
            for part in [PyFunction_GetDefaults(o), PyFunction_GetKwDefaults(o)] {
                if !part.is_null() {
                    Py_IncRef(part);
                    self.besides(look, into, nameless, part);
                }
            }
            if let Some(space) = space_of_function(o) {
                into.push((nameless, space.get()));
                look.besides.push(space);
            }
        }
    }
}

type DictPlace = unsafe extern "C" fn(Obj) -> *mut Obj;

/// The attributes of a function, if it has any: most have none, and none are made for them.
///
/// # Safety
/// A function.
pub(super) unsafe fn space_of_function(function: Obj) -> Option<Strong> {
    static PLACE: OnceLock<Option<DictPlace>> = OnceLock::new();
    let place = PLACE.get_or_init(|| {
        // SAFETY: the type that this function has had in every Python 3.
        symbol(c"_PyObject_GetDictPtr").map(|f| unsafe { std::mem::transmute::<_, DictPlace>(f) })
    });
    // SAFETY: as the caller says; a place that is not null is one of the object's own.
    unsafe {
        let Some(place) = place else {
            return Strong::owned(PyObject_GenericGetDict(function, std::ptr::null_mut()));
        };
        let place = place(function);
        if place.is_null() || (*place).is_null() {
            return None;
        }
        Some(Strong::borrowed(*place))
    }
}
