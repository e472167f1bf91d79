//! What is used of CPython, by the names that the process has: no library is linked.
//!
//! Declared here is only what all of 3.11 to 3.14 export. What one of them lacks is looked up (`symbol`).
//! Of the layout of objects only the head (count, type) is taken for granted; `layout.rs` checks the rest.

use std::ffi::{CStr, c_char, c_int, c_long, c_ulong, c_void};

#[repr(C)]
#[derive(Debug)]
pub(crate) struct PyObject {
    count: isize,
    pub(crate) kind: Obj,
}

pub(crate) type Obj = *mut PyObject;
pub(crate) type Visit = unsafe extern "C" fn(Obj, *mut c_void) -> c_int;
pub(crate) type Traverse = unsafe extern "C" fn(Obj, Visit, *mut c_void) -> c_int;
pub(crate) type AuditHook = unsafe extern "C" fn(*const c_char, Obj, *mut c_void) -> c_int;
pub(crate) type Fast = unsafe extern "C" fn(Obj, *const Obj, isize) -> Obj;

pub(crate) const METH_FASTCALL: c_int = 0x80;
pub(crate) const TP_TRAVERSE: c_int = 71;
pub(crate) const TP_IS_GC: c_int = 61;
/// Of a type whose objects the collector knows.
pub(crate) const HAVE_GC: c_ulong = 1 << 14;
pub(crate) const MODULE_API: c_int = 1013;

#[repr(C)]
#[derive(Debug)]
pub(crate) struct MethodDef {
    pub(crate) name: *const c_char,
    pub(crate) call: Option<Fast>,
    pub(crate) flags: c_int,
    pub(crate) doc: *const c_char,
}

#[repr(C)]
#[derive(Debug)]
pub(crate) struct ModuleDef {
    pub(crate) head: PyObject,
    pub(crate) init: *const c_void,
    pub(crate) index: isize,
    pub(crate) copy: Obj,
    pub(crate) name: *const c_char,
    pub(crate) doc: *const c_char,
    pub(crate) size: isize,
    pub(crate) methods: *const MethodDef,
    pub(crate) slots: *const c_void,
    pub(crate) traverse: *const c_void,
    pub(crate) clear: *const c_void,
    pub(crate) free: *const c_void,
}

impl PyObject {
    pub(crate) const fn head() -> Self {
        Self { count: 1, kind: std::ptr::null_mut() }
    }
}

unsafe extern "C" {
    pub(crate) static mut PyExc_RuntimeError: Obj;
    pub(crate) static mut PyDict_Type: PyObject;
    pub(crate) static mut PyUnicode_Type: PyObject;
    pub(crate) static mut PyModule_Type: PyObject;
    pub(crate) static mut PyTuple_Type: PyObject;
    pub(crate) static mut PyFrozenSet_Type: PyObject;
    pub(crate) static mut PyCell_Type: PyObject;
    pub(crate) static mut PyMethod_Type: PyObject;
    pub(crate) static Py_Version: c_ulong;
    static mut _Py_NoneStruct: PyObject;

    pub(crate) fn Py_IncRef(o: Obj);
    pub(crate) fn Py_DecRef(o: Obj);
    pub(crate) fn PyModule_Create2(def: *mut ModuleDef, version: c_int) -> Obj;
    pub(crate) fn PyErr_SetString(kind: Obj, text: *const c_char);
    pub(crate) fn PyErr_Clear();
    pub(crate) fn PyErr_Fetch(kind: *mut Obj, value: *mut Obj, trace: *mut Obj);
    pub(crate) fn PyErr_Restore(kind: Obj, value: Obj, trace: Obj);
    pub(crate) fn PyType_GetFlags(kind: Obj) -> c_ulong;
    pub(crate) fn PyType_GetSlot(kind: Obj, slot: c_int) -> *mut c_void;
    pub(crate) fn PyType_IsSubtype(kind: Obj, base: Obj) -> c_int;
    pub(crate) fn PyDict_Next(o: Obj, at: *mut isize, key: *mut Obj, value: *mut Obj) -> c_int;
    pub(crate) fn PyDict_New() -> Obj;
    pub(crate) fn PyDict_Size(o: Obj) -> isize;
    pub(crate) fn PyDict_SetItemString(o: Obj, key: *const c_char, value: Obj) -> c_int;
    pub(crate) fn PyDict_GetItemString(o: Obj, key: *const c_char) -> Obj;
    pub(crate) fn PyDict_DelItemString(o: Obj, key: *const c_char) -> c_int;
    pub(crate) fn PyObject_GenericGetDict(o: Obj, context: *mut c_void) -> Obj;
    pub(crate) fn PyObject_GetAttrString(o: Obj, name: *const c_char) -> Obj;
    pub(crate) fn PyObject_CallNoArgs(o: Obj) -> Obj;
    pub(crate) fn PyObject_CallFunctionObjArgs(o: Obj, ...) -> Obj;
    pub(crate) fn PyObject_RichCompareBool(a: Obj, b: Obj, op: c_int) -> c_int;
    pub(crate) fn PySet_Contains(set: Obj, key: Obj) -> c_int;
    pub(crate) fn PyFrozenSet_New(from: Obj) -> Obj;
    pub(crate) fn PySet_Add(set: Obj, key: Obj) -> c_int;
    pub(crate) fn PyList_New(size: isize) -> Obj;
    pub(crate) fn PyList_Append(list: Obj, item: Obj) -> c_int;
    pub(crate) fn PyList_Size(list: Obj) -> isize;
    pub(crate) fn PyList_GetItem(list: Obj, at: isize) -> Obj;
    pub(crate) fn PyTuple_New(size: isize) -> Obj;
    pub(crate) fn PyTuple_SetItem(tuple: Obj, at: isize, item: Obj) -> c_int;
    pub(crate) fn PyTuple_Size(tuple: Obj) -> isize;
    pub(crate) fn PyTuple_GetItem(tuple: Obj, at: isize) -> Obj;
    pub(crate) fn PyLong_FromLong(value: c_long) -> Obj;
    pub(crate) fn PyLong_FromUnsignedLongLong(value: u64) -> Obj;
    pub(crate) fn PyLong_AsLong(o: Obj) -> c_long;
    pub(crate) fn PyLong_AsUnsignedLongLong(o: Obj) -> u64;
    pub(crate) fn PyFunction_GetClosure(o: Obj) -> Obj;
    pub(crate) fn PyFunction_GetDefaults(o: Obj) -> Obj;
    pub(crate) fn PyFunction_GetKwDefaults(o: Obj) -> Obj;
    pub(crate) fn PyFunction_GetCode(o: Obj) -> Obj;
    pub(crate) fn PySys_AddAuditHook(hook: AuditHook, data: *mut c_void) -> c_int;
    pub(crate) fn PyInterpreterState_Get() -> *mut c_void;
    pub(crate) fn PyUnicode_FromString(text: *const c_char) -> Obj;
    pub(crate) fn Py_GetRecursionLimit() -> c_int;
    pub(crate) fn Py_IsInitialized() -> c_int;
    pub(crate) fn PyBytes_FromStringAndSize(bytes: *const c_char, size: isize) -> Obj;
    pub(crate) fn PyUnicode_AsUTF8AndSize(text: Obj, size: *mut isize) -> *const c_char;
    pub(crate) fn access(path: *const c_char, mode: c_int) -> c_int;

    fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
}

/// What this process has by a name, where it has it.
pub(crate) fn symbol(name: &CStr) -> Option<*mut c_void> {
    // SAFETY: a look at the symbols of the process; a null handle means all of them.
    let found = unsafe { dlsym(std::ptr::null_mut(), name.as_ptr()) };
    (!found.is_null()).then_some(found)
}

pub(crate) fn none() -> Obj {
    let none = &raw mut _Py_NoneStruct;
    // SAFETY: None is always there.
    unsafe { Py_IncRef(none) };
    none
}

pub(crate) fn is_none(o: Obj) -> bool {
    o == &raw mut _Py_NoneStruct
}

/// # Safety
/// `o` is an object.
pub(crate) unsafe fn type_of(o: Obj) -> Obj {
    // SAFETY: every object begins with its count and its type.
    unsafe { (*o).kind }
}

/// An error of ours, as Python raises it.
pub(crate) fn raise(text: &CStr) -> Obj {
    // SAFETY: the exception is one of the interpreter's own, the text ends with a null.
    unsafe { PyErr_SetString(PyExc_RuntimeError, text.as_ptr()) };
    std::ptr::null_mut()
}

/// A reference that counts. It may only be made and dropped while the GIL is held.
#[derive(Debug)]
pub(crate) struct Strong(Obj);

impl Strong {
    /// # Safety
    /// `o` is an object that somebody holds.
    pub(crate) unsafe fn borrowed(o: Obj) -> Self {
        // SAFETY: as the caller says.
        unsafe { Py_IncRef(o) };
        Self(o)
    }

    /// A new reference, as calls of the interpreter return it; an error is cleared and is `None`.
    ///
    /// # Safety
    /// `o` is null or a reference that belongs to the caller.
    pub(crate) unsafe fn owned(o: Obj) -> Option<Self> {
        if o.is_null() {
            // SAFETY: the GIL is held.
            unsafe { PyErr_Clear() };
            return None;
        }
        Some(Self(o))
    }

    pub(crate) fn get(&self) -> Obj {
        self.0
    }

    pub(crate) fn into_raw(self) -> Obj {
        let o = self.0;
        std::mem::forget(self);
        o
    }
}

impl Drop for Strong {
    fn drop(&mut self) {
        // SAFETY: the reference is ours.
        unsafe { Py_DecRef(self.0) };
    }
}

/// Calls a function with up to three arguments.
///
/// # Safety
/// All are objects.
pub(crate) unsafe fn call(function: Obj, arguments: &[Obj]) -> Option<Strong> {
    let end: Obj = std::ptr::null_mut();
    let at = |n: usize| arguments.get(n).copied().unwrap_or(end);
    // SAFETY: the list of arguments ends with a null.
    unsafe { Strong::owned(PyObject_CallFunctionObjArgs(function, at(0), at(1), at(2), end)) }
}
