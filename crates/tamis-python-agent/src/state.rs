//! What stays in the process between tests: the looks at it, and what is different in two of them.
//!
//! The same model as in `_tamis_state.py`, which says what an object of each type is (`describe`), where a class is
//! at home, and which names are no state. A *root* is a dictionary, of a module or made for another holder of state. A
//! *look* has every object that can be reached from it, with all that each of them refers to. Both are held: an address
//! that was seen is not given to another object meanwhile.
//!
//! While Python is asked, or an object ends, other code may run, and may come here again. It finds nothing (the state
//! is taken out), and the answer is that something unknown changed.

mod compare;
mod kinds;
mod look;

use crate::python::*;
use crate::table::Set;
use kinds::Kinds;
use look::Look;
use std::cell::RefCell;

#[derive(Debug)]
struct State {
    kinds: Kinds,
    /// The dictionaries of modules: where one begins, another root ends.
    namespaces: Set,
    /// A set of names that are no state.
    not_state: Strong,
    roots: Vec<Option<Root>>,
}

#[derive(Debug)]
struct Root {
    names: Strong,
    look: Look,
}

/// Only touched while the GIL is held.
struct Held(RefCell<Option<State>>);
// SAFETY: the GIL is held by whoever comes here.
unsafe impl Sync for Held {}
static STATE: Held = Held(RefCell::new(None));

fn take() -> Option<State> {
    STATE.0.try_borrow_mut().ok()?.take()
}

fn put(state: State) {
    if let Ok(mut place) = STATE.0.try_borrow_mut() {
        *place = Some(state);
    }
}

/// `state(describe, home_of, not_state)`.
pub(crate) unsafe extern "C" fn begin(_: Obj, arguments: *const Obj, count: isize) -> Obj {
    if count != 3 {
        return raise(c"state takes three arguments");
    }
    // SAFETY: three arguments.
    let given = |n: usize| unsafe { Strong::borrowed(*arguments.add(n)) };
    put(State {
        kinds: Kinds::new(given(0), given(1)),
        namespaces: Set::default(),
        not_state: given(2),
        roots: Vec::new(),
    });
    none()
}

/// `namespaces(list)`: adds dictionaries of modules. Python keeps them.
pub(crate) unsafe extern "C" fn namespaces(_: Obj, arguments: *const Obj, count: isize) -> Obj {
    let Some(mut state) = take().filter(|_| count == 1) else { return none() };
    // SAFETY: a list.
    unsafe {
        let list = *arguments;
        let at = |n| PyList_GetItem(list, n) as usize;
        state.namespaces.extend((0..PyList_Size(list).max(0)).map(at));
    }
    put(state);
    none()
}

/// `root(dictionary)`: looks at it for the first time; its number, or None if that is not possible now.
pub(crate) unsafe extern "C" fn root(_: Obj, arguments: *const Obj, count: isize) -> Obj {
    let Some(mut state) = take().filter(|_| count == 1) else { return none() };
    // SAFETY: one argument, a dictionary.
    let names = unsafe { Strong::borrowed(*arguments) };
    let look = state.look(&names, None);
    let number = state.roots.len();
    state.roots.push(Some(Root { names, look }));
    put(state);
    // SAFETY: a number.
    unsafe { PyLong_FromUnsignedLongLong(number as u64) }
}

/// `changes(number)`: a list with the labels of everything that changed since the last look, as frozen sets.
pub(crate) unsafe extern "C" fn changes(_: Obj, arguments: *const Obj, count: isize) -> Obj {
    // SAFETY: as Python calls it.
    changes_in(unsafe { number_in(arguments, count) })
}

/// `changes_of(numbers)`: of each root in which something changed its place in the list, and what `changes` says of it.
pub(crate) unsafe extern "C" fn changes_of(_: Obj, arguments: *const Obj, count: isize) -> Obj {
    if count != 1 {
        return raise(c"changes_of takes a list");
    }
    // SAFETY: a list, which is counted while Python may run; lists and pairs of ours.
    unsafe {
        let numbers = Strong::borrowed(*arguments);
        let found = PyList_New(0);
        for at in 0..PyList_Size(numbers.get()).max(0) {
            let number = PyList_GetItem(numbers.get(), at);
            let Some(changed) = Strong::owned(changes_in(number_in(&raw const number, 1))) else {
                Py_DecRef(found);
                return raise(c"no memory");
            };
            if PyList_Size(changed.get()) == 0 {
                continue;
            }
            let pair = Strong::owned(PyTuple_New(2));
            if let (Some(pair), Some(at)) = (pair, Strong::owned(PyLong_FromLong(at as i64))) {
                PyTuple_SetItem(pair.get(), 0, at.into_raw());
                PyTuple_SetItem(pair.get(), 1, changed.into_raw());
                PyList_Append(found, pair.get());
            }
        }
        found
    }
}

fn changes_in(number: u64) -> Obj {
    let Some(mut state) = take() else { return unknown() };
    let Some(root) = state.roots.get_mut(number as usize).and_then(Option::take) else {
        put(state);
        return unknown();
    };
    let (root, changed, before) = state.compare(root);
    if let Some(place) = state.roots.get_mut(number as usize) {
        *place = Some(root);
    }
    put(state);
    // What only the look before held ends here, and may run code of its own.
    drop(before);
    changed
}

/// `forget(number)`: a root is not looked at any more.
pub(crate) unsafe extern "C" fn forget(_: Obj, arguments: *const Obj, count: isize) -> Obj {
    // SAFETY: as Python calls it.
    let number = unsafe { number_in(arguments, count) };
    let mut gone = None;
    if let Some(mut state) = take() {
        gone = state.roots.get_mut(number as usize).and_then(Option::take);
        put(state);
    }
    drop(gone);
    none()
}

/// The number of a root; one that no root has where there is none.
unsafe fn number_in(arguments: *const Obj, count: isize) -> u64 {
    if count != 1 {
        return u64::MAX;
    }
    // SAFETY: one argument; an error is cleared, and its number finds no root.
    unsafe {
        let number = PyLong_AsUnsignedLongLong(*arguments);
        PyErr_Clear();
        number
    }
}

/// Something changed, and it is not known what.
fn unknown() -> Obj {
    // SAFETY: a list and a set of ours.
    unsafe {
        let list = PyList_New(0);
        if let Some(empty) = Strong::owned(PyFrozenSet_New(std::ptr::null_mut())) {
            PyList_Append(list, empty.get());
        }
        list
    }
}
