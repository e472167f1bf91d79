//! Whether objects of this interpreter look as the other files expect, tried on objects that are known.
//!
//! Read directly are: the version of a dictionary and whether its values are its own (3.11 to 3.13), the subclasses of a
//! class, and (3.11) the code of a frame, which is tried by the plugin's tests. A Python where one is elsewhere does
//! without this library. From 3.14 on a dictionary has no version: its items are compared.

use crate::python::*;
use std::ffi::c_ulong;
use std::sync::atomic::{AtomicBool, Ordering};

const VERSION: usize = 24;
const VALUES: usize = 40;
const SUBCLASSES: usize = 360;
const BASE: usize = 256;

/// Python 3.14, as `Py_Version` has it.
const WITHOUT_VERSIONS: c_ulong = 0x030e_0000;
static HAS_VERSIONS: AtomicBool = AtomicBool::new(false);

/// Whether `version_of` says anything here.
pub(crate) fn has_versions() -> bool {
    HAS_VERSIONS.load(Ordering::Relaxed)
}

/// The number that a dictionary gets whenever it is changed (`has_versions`).
///
/// # Safety
/// `dict` is a dictionary.
pub(crate) unsafe fn version_of(dict: Obj) -> u64 {
    // SAFETY: `fits` has tried it.
    unsafe { dict.cast::<u8>().add(VERSION).cast::<u64>().read() }
}

/// The version of a dictionary whose values cannot change without it getting another one; 0 for others.
///
/// 3.13 changes an attribute in the place where an instance has it, which its dictionary shares.
///
/// # Safety
/// `dict` is a dictionary.
pub(crate) unsafe fn tag_of(dict: Obj) -> u64 {
    if !has_versions() {
        return 0;
    }
    // SAFETY: `fits` has tried it.
    let values = unsafe { dict.cast::<u8>().add(VALUES).cast::<usize>().read() };
    // SAFETY: as above.
    if values == 0 { unsafe { version_of(dict) } } else { 0 }
}

/// The dictionary of the weak references to a class's subclasses; null where it has none.
///
/// # Safety
/// `kind` is a class that was made by a `class` statement.
pub(crate) unsafe fn subclasses_of(kind: Obj) -> Obj {
    // SAFETY: `fits` has tried it.
    unsafe { kind.cast::<u8>().add(SUBCLASSES).cast::<Obj>().read() }
}

/// `fits(class, subclass)`: a class with one subclass.
pub(crate) unsafe extern "C" fn fits(_: Obj, arguments: *const Obj, count: isize) -> Obj {
    // SAFETY: a constant of the interpreter.
    let is_versioned = unsafe { Py_Version } < WITHOUT_VERSIONS;
    HAS_VERSIONS.store(is_versioned, Ordering::Relaxed);
    // SAFETY: two arguments, classes; a dictionary of ours.
    let fits = count == 2
        && unsafe { classes_fit(*arguments, *arguments.add(1)) }
        && (!is_versioned || unsafe { versions_fit() });
    // SAFETY: a small number.
    unsafe { PyLong_FromLong(fits.into()) }
}

unsafe fn classes_fit(class: Obj, subclass: Obj) -> bool {
    // SAFETY: a class is longer than these places in every Python since 3.8.
    unsafe {
        let base = subclass.cast::<u8>().add(BASE).cast::<Obj>().read();
        let known = subclasses_of(class);
        base == class
            && !known.is_null()
            && (known as usize).is_multiple_of(8)
            && type_of(known) == &raw mut PyDict_Type
            && PyDict_Size(known) == 1
    }
}

unsafe fn versions_fit() -> bool {
    // SAFETY: a dictionary of ours, and names that end with a null.
    unsafe {
        let Some(dict) = Strong::owned(PyDict_New()) else { return false };
        let dict = dict.get();
        let mut seen = vec![version_of(dict)];
        let one = [PyLong_FromLong(1), PyLong_FromLong(2)];
        for value in [one[0], one[1]] {
            PyDict_SetItemString(dict, c"a".as_ptr(), value);
            PyDict_GetItemString(dict, c"a".as_ptr());
            seen.push(version_of(dict));
        }
        PyDict_DelItemString(dict, c"a".as_ptr());
        seen.push(version_of(dict));
        one.into_iter().for_each(|one| Py_DecRef(one));
        let still = tag_of(dict) == seen[3];
        still && seen.windows(2).all(|pair| pair[0] != pair[1])
    }
}
