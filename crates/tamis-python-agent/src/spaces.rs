//! Names of many modules: which of the dictionaries were changed since the last look.
//!
//! A module's dictionary has a version, which is another one after each change. (Those of instances are not asked:
//! 3.13 can change them without one.) Where dictionaries have none (3.14), the interpreter calls a function of ours at
//! each change, and counting these calls makes a version.

use crate::layout::{has_versions, version_of};
use crate::python::*;
use crate::table::Map;
use std::ffi::{c_int, c_void};
use std::sync::Mutex;

static SPACES: Mutex<Vec<(usize, u64)>> = Mutex::new(Vec::new());
/// How often each dictionary was changed (3.14). No lock of it is held while Python runs.
static CHANGES: Mutex<Option<Map<u64>>> = Mutex::new(None);
static WATCHER: std::sync::OnceLock<Option<(c_int, WatchDict)>> = std::sync::OnceLock::new();

type OnChange = unsafe extern "C" fn(c_int, Obj, Obj, Obj) -> c_int;
type AddWatcher = unsafe extern "C" fn(OnChange) -> c_int;
type WatchDict = unsafe extern "C" fn(c_int, Obj) -> c_int;

unsafe extern "C" fn on_change(_: c_int, dict: Obj, _: Obj, _: Obj) -> c_int {
    if let Ok(mut changes) = CHANGES.try_lock() {
        *changes.get_or_insert_default().entry(dict as usize).or_default() += 1;
    }
    0
}

/// The interpreter's way to tell of changes (since 3.12); there are eight places for such functions.
fn watcher() -> Option<(c_int, WatchDict)> {
    *WATCHER.get_or_init(|| {
        let (add, watch) = (symbol(c"PyDict_AddWatcher")?, symbol(c"PyDict_Watch")?);
        // SAFETY: the types that these functions have had since 3.12; the GIL is held.
        unsafe {
            let id = std::mem::transmute::<*mut c_void, AddWatcher>(add)(on_change);
            PyErr_Clear();
            let watch = std::mem::transmute::<*mut c_void, WatchDict>(watch);
            (id >= 0).then_some((id, watch))
        }
    })
}

/// A number that is another one after each change.
unsafe fn version(dict: Obj) -> u64 {
    if has_versions() {
        // SAFETY: a dictionary.
        return unsafe { version_of(dict) };
    }
    let changes = CHANGES.lock().ok();
    let count = |changes: &Option<Map<u64>>| changes.as_ref()?.get(&(dict as usize)).copied();
    changes.and_then(|changes| count(&changes)).unwrap_or_default()
}

/// `spaces(list)`: keeps these dictionaries instead of those before. One that stood at the same place keeps the version that
/// is known of it: what was changed since is still to be found.
pub(crate) unsafe extern "C" fn set(_: Obj, arguments: *const Obj, count: isize) -> Obj {
    if count != 1 {
        return raise(c"spaces takes a list");
    }
    if !has_versions() && watcher().is_none() {
        return raise(c"changes of dictionaries cannot be seen here");
    }
    let known = SPACES.lock().map(|spaces| spaces.clone()).unwrap_or_default();
    let mut found = Vec::new();
    // SAFETY: a list of dictionaries; what is in it is kept.
    unsafe {
        let list = *arguments;
        for at in 0..PyList_Size(list).max(0) {
            let dict = Strong::borrowed(PyList_GetItem(list, at)).into_raw();
            if let Some((id, watch)) = watcher().filter(|_| !has_versions()) {
                watch(id, dict);
                PyErr_Clear();
            }
            let same = known.get(at as usize).filter(|(before, _)| *before == dict as usize);
            found
                .push((dict as usize, same.map_or_else(|| version(dict), |(_, version)| *version)));
        }
    }
    let Ok(mut spaces) = SPACES.lock() else { return raise(c"a panic before") };
    let before = std::mem::replace(&mut *spaces, found);
    drop(spaces);
    for (dict, _) in before {
        // SAFETY: the reference was ours.
        unsafe { Py_DecRef(dict as Obj) };
    }
    none()
}

/// The places in the list of those that have another version now; it is the known one from here on.
pub(crate) unsafe extern "C" fn changed(_: Obj, _: *const Obj, _: isize) -> Obj {
    let Ok(mut spaces) = SPACES.lock() else { return raise(c"a panic before") };
    // SAFETY: a list of ours, and dictionaries that are kept.
    unsafe {
        let list = PyList_New(0);
        for (at, (dict, known)) in spaces.iter_mut().enumerate() {
            let now = version(*dict as Obj);
            if now != *known {
                *known = now;
                if let Some(at) = Strong::owned(PyLong_FromLong(at as i64)) {
                    PyList_Append(list, at.get());
                }
            }
        }
        list
    }
}

/// `same_items(one, other)`: whether two dictionaries have the same keys and values in the same order, by address. Where they
/// do not, they may still have the same in another order.
pub(crate) unsafe extern "C" fn same_items(_: Obj, arguments: *const Obj, count: isize) -> Obj {
    if count != 2 {
        return raise(c"same_items takes two dictionaries");
    }
    // SAFETY: two dictionaries; nothing of Python runs here.
    unsafe {
        let (one, other) = (*arguments, *arguments.add(1));
        let mut same = PyDict_Size(one) == PyDict_Size(other);
        let (mut at, mut beside) = (0, 0);
        let null = std::ptr::null_mut();
        let (mut key, mut value, mut key_beside, mut value_beside) = (null, null, null, null);
        while same && PyDict_Next(one, &raw mut at, &raw mut key, &raw mut value) != 0 {
            let there =
                PyDict_Next(other, &raw mut beside, &raw mut key_beside, &raw mut value_beside)
                    != 0;
            same = there && key == key_beside && value == value_beside;
        }
        PyErr_Clear();
        PyLong_FromLong(same.into())
    }
}
