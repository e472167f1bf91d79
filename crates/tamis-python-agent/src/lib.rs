//! The native part of the plugin: an extension module in pytest's process.
//!
//! It does what is done often, and nothing else: note which code runs (`watch`), leave out audit events that do not
//! matter (`audit`), compare what stays between tests (`state`, `spaces`, `content`), make marks for the tracer. What that means is decided in
//! Python; without this library the plugin does all of it in Python, slower, with the same result.
//!
//! No library of Python is linked: names are resolved in the process that loads it. `layout` checks what is assumed
//! about objects. Everything is called with the GIL held, and in one interpreter. A panic cannot get out of here other
//! than by ending the process, so nothing here may panic: indices are checked, locks are tried.
//!
//! Built by itself by tamis-frontend-python; in the workspace this crate is only checked.

// Every function that Python calls has the same contract: the GIL is held, and the arguments are objects.
#![allow(clippy::missing_safety_doc)]

mod audit;
mod content;
mod layout;
mod mark;
mod python;
mod spaces;
mod state;
mod table;
mod watch;

use python::*;
use std::ffi::{CStr, c_void};

const fn method(name: &'static CStr, call: Fast) -> MethodDef {
    MethodDef { name: name.as_ptr(), call: Some(call), flags: METH_FASTCALL, doc: std::ptr::null() }
}

struct Methods([MethodDef; 22]);
// SAFETY: never written.
unsafe impl Sync for Methods {}

static METHODS: Methods = Methods([
    method(c"fits", layout::fits),
    method(c"audit", audit::begin),
    method(c"audit_no_more", audit::end),
    method(c"watch", watch::begin),
    method(c"first", watch::first),
    method(c"again", watch::again),
    method(c"border", watch::border),
    method(c"is_watching", watch::is_watching),
    method(c"stop", watch::stop),
    method(c"mark", mark::mark),
    method(c"content", content::content),
    method(c"environment", content::environment),
    method(c"spaces", spaces::set),
    method(c"changed_spaces", spaces::changed),
    method(c"same_items", spaces::same_items),
    method(c"state", state::begin),
    method(c"namespaces", state::namespaces),
    method(c"root", state::root),
    method(c"changes", state::changes),
    method(c"changes_of", state::changes_of),
    method(c"forget", state::forget),
    MethodDef { name: std::ptr::null(), call: None, flags: 0, doc: std::ptr::null() },
]);

static mut MODULE: ModuleDef = ModuleDef {
    head: PyObject::head(),
    init: std::ptr::null(),
    index: 0,
    copy: std::ptr::null_mut(),
    name: c"_tamis_native".as_ptr(),
    doc: std::ptr::null(),
    size: -1,
    methods: METHODS.0.as_ptr(),
    slots: std::ptr::null(),
    traverse: std::ptr::null(),
    clear: std::ptr::null(),
    free: std::ptr::null(),
};

/// What the import system calls.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PyInit__tamis_native() -> *mut c_void {
    // SAFETY: the definition lives as long as the process, and only the interpreter writes to it.
    unsafe { PyModule_Create2(&raw mut MODULE, MODULE_API).cast() }
}
