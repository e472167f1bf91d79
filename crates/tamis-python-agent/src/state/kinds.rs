//! What to do with an object of a type: Python says it, once for each type.

use crate::python::*;
use crate::table::Map;
use std::rc::Rc;

/// How to come from an object to what it holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    Dict,
    Function,
    /// A weak reference: its target.
    Call,
    /// An attribute `__dict__`, and nothing else.
    Local,
    Class,
    Instance,
    DictInstance,
    Referents,
}

const WAYS: [Way; 8] = [
    Way::Dict,
    Way::Function,
    Way::Call,
    Way::Local,
    Way::Class,
    Way::Instance,
    Way::DictInstance,
    Way::Referents,
];

#[derive(Debug)]
pub(super) struct Kind {
    /// Whether there is anything to look at.
    pub(super) is_leaf: bool,
    /// It cannot be looked into: counts as changed.
    pub(super) is_closed: bool,
    /// Whether what it refers to is gone through.
    pub(super) goes_on: bool,
    /// What an object of it refers to never changes: a tuple.
    pub(super) is_fixed: bool,
    pub(super) way: Way,
    pub(super) traverse: Option<Traverse>,
    /// Whether only some of its objects can be traversed: classes, of which static ones cannot.
    pub(super) asks: bool,
    pub(super) digest: Option<Digest>,
    /// How many words behind the head say all that it refers to; 0 where they do not.
    pub(super) words: u16,
    /// How many words an object of it has behind the head, by its type.
    pub(super) size: u16,
    /// Names and functions that get the value.
    pub(super) slots: Vec<(Strong, Strong)>,
    _type: Strong,
}

/// How the content of an object is compared.
#[derive(Debug)]
pub(super) struct Digest {
    pub(super) of: Strong,
    /// Says for an object which other one decides its digest together with it, both by their memory; None where none does.
    pub(super) decided_by: Option<Strong>,
}

impl Kind {
    pub(super) fn is_dict(&self) -> bool {
        matches!(self.way, Way::Dict | Way::DictInstance)
    }
}

/// Functions, cells and methods hold what they refer to in themselves: as long as their memory is the same, so is that.
fn says_all(kind: Obj, way: Way) -> bool {
    way == Way::Function || kind == &raw mut PyCell_Type || kind == &raw mut PyMethod_Type
}

unsafe fn size_of(kind: Obj) -> u16 {
    // SAFETY: a type; what is no number is an error, which is cleared.
    unsafe {
        let size = Strong::owned(PyObject_GetAttrString(kind, c"__basicsize__".as_ptr()));
        let size = size.map_or(0, |size| PyLong_AsLong(size.get()));
        PyErr_Clear();
        let words = size / 8 - HEAD_WORDS as i64;
        if size % 8 == 0 { u16::try_from(words).unwrap_or(0) } else { 0 }
    }
}

/// The count and the type of an object.
pub(super) const HEAD_WORDS: usize = 2;

#[derive(Debug)]
pub(super) struct Kinds {
    describe: Strong,
    home_of: Strong,
    known: Map<Rc<Kind>>,
    homes: Map<(Strong, usize)>,
}

impl Kinds {
    pub(super) fn new(describe: Strong, home_of: Strong) -> Self {
        Self { describe, home_of, known: Map::default(), homes: Map::default() }
    }

    pub(super) fn of(&mut self, thing: Obj) -> Rc<Kind> {
        // SAFETY: an object that somebody holds.
        let kind = unsafe { type_of(thing) };
        if let Some(known) = self.known.get(&(kind as usize)) {
            return Rc::clone(known);
        }
        // SAFETY: as above; the type is kept by what is known of it.
        let found = Rc::new(unsafe { self.find(kind) });
        self.known.insert(kind as usize, Rc::clone(&found));
        found
    }

    /// Without a new count: for the many objects of types that are known.
    pub(super) fn is_leaf(&self, thing: Obj) -> bool {
        // SAFETY: an object that somebody holds.
        let kind = unsafe { type_of(thing) } as usize;
        self.known.get(&kind).is_some_and(|known| known.is_leaf)
    }

    /// `describe` gives (what, whether to go on, way, digest or None, names and functions of slots, what decides the digest or None).
    unsafe fn find(&self, kind: Obj) -> Kind {
        // SAFETY: a type, and what Python says of it; an answer that is not understood makes it closed.
        unsafe {
            let traverse = PyType_GetSlot(kind, TP_TRAVERSE);
            let is_known = PyType_GetFlags(kind) & HAVE_GC != 0;
            let asks = !PyType_GetSlot(kind, TP_IS_GC).is_null();
            PyErr_Clear();
            let mut found = Kind {
                is_leaf: false,
                is_closed: true,
                goes_on: false,
                is_fixed: kind == &raw mut PyTuple_Type || kind == &raw mut PyFrozenSet_Type,
                way: Way::Referents,
                asks,
                traverse: (!traverse.is_null() && is_known)
                    .then(|| std::mem::transmute::<*mut std::ffi::c_void, Traverse>(traverse)),
                digest: None,
                words: 0,
                size: size_of(kind),
                slots: Vec::new(),
                _type: Strong::borrowed(kind),
            };
            let Some(answer) = call(self.describe.get(), &[kind]) else { return found };
            if PyTuple_Size(answer.get()) != 6 {
                PyErr_Clear();
                return found;
            }
            let at = |n| PyTuple_GetItem(answer.get(), n);
            let what = PyLong_AsLong(at(0));
            found.is_leaf = what == 0;
            found.is_closed = what == 3;
            found.goes_on = PyLong_AsLong(at(1)) != 0;
            found.way = *WAYS.get(PyLong_AsLong(at(2)) as usize).unwrap_or(&Way::Referents);
            if what == 2 {
                let decided_by = (!is_none(at(5))).then(|| Strong::borrowed(at(5)));
                found.digest = Some(Digest { of: Strong::borrowed(at(3)), decided_by });
            }
            found.words = if says_all(kind, found.way) { found.size } else { 0 };
            let slots = at(4);
            for n in (0..PyTuple_Size(slots).max(0) - 1).step_by(2) {
                let part = |n| Strong::borrowed(PyTuple_GetItem(slots, n));
                found.slots.push((part(n), part(n + 1)));
            }
            PyErr_Clear();
            found
        }
    }

    /// The dictionary of the module to which a class belongs; 0 where it belongs to whoever refers to it.
    pub(super) fn home_of(&mut self, class: Obj) -> usize {
        if let Some((_, home)) = self.homes.get(&(class as usize)) {
            return *home;
        }
        // SAFETY: a class that somebody holds, and that is kept from here on.
        unsafe {
            let answer = call(self.home_of.get(), &[class]);
            let home = answer.map_or(0, |answer| PyLong_AsUnsignedLongLong(answer.get()) as usize);
            PyErr_Clear();
            self.homes.insert(class as usize, (Strong::borrowed(class), home));
            home
        }
    }
}
