//! Names of many modules: which of the dictionaries were changed since the last look.
//!
//! A module's dictionary has a version, which is another one after each change. (Those of instances are not asked:
//! 3.13 can change them without one.)

use crate::layout::version_of;
use crate::python::*;
use std::sync::Mutex;

static SPACES: Mutex<Vec<(usize, u64)>> = Mutex::new(Vec::new());

/// `spaces(list)`: keeps these dictionaries and their versions, instead of those before.
pub(crate) unsafe extern "C" fn set(_: Obj, arguments: *const Obj, count: isize) -> Obj {
    if count != 1 {
        return raise(c"spaces takes a list");
    }
    let mut found = Vec::new();
    // SAFETY: a list of dictionaries; what is in it is kept.
    unsafe {
        let list = *arguments;
        for at in 0..PyList_Size(list).max(0) {
            let dict = Strong::borrowed(PyList_GetItem(list, at)).into_raw();
            found.push((dict as usize, version_of(dict)));
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
        for (at, (dict, version)) in spaces.iter_mut().enumerate() {
            let now = version_of(*dict as Obj);
            if now != *version {
                *version = now;
                if let Some(at) = Strong::owned(PyLong_FromLong(at as i64)) {
                    PyList_Append(list, at.get());
                }
            }
        }
        list
    }
}
