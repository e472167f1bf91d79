//! A filter before the plugin's audit hook: most events are none of its business, and there are many.
//!
//! The hook is one of the whole process and cannot be taken away: it does nothing in other interpreters, and nothing
//! after `end`.

use crate::python::*;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};

static HOOK: AtomicPtr<PyObject> = AtomicPtr::new(std::ptr::null_mut());
static INTERPRETER: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());

fn matters(event: &[u8]) -> bool {
    matches!(
        event,
        b"open" | b"sqlite3.connect" | b"os.listdir" | b"os.scandir" | b"os.fork" | b"os.forkpty"
    )
}

unsafe extern "C" fn hook(event: *const c_char, arguments: Obj, _: *mut c_void) -> c_int {
    // SAFETY: the interpreter gives a text that ends with a null, and holds the arguments.
    unsafe {
        // All names that matter begin with one of these.
        if !matches!(*event.cast::<u8>(), b'o' | b's') || !matters(CStr::from_ptr(event).to_bytes())
        {
            return 0;
        }
        let function = HOOK.load(Ordering::Relaxed);
        if function.is_null() || Py_IsInitialized() == 0 {
            return 0;
        }
        if PyInterpreterState_Get() != INTERPRETER.load(Ordering::Relaxed) {
            return 0;
        }
        let mut kind = std::ptr::null_mut();
        let mut value = std::ptr::null_mut();
        let mut trace = std::ptr::null_mut();
        PyErr_Fetch(&raw mut kind, &raw mut value, &raw mut trace);
        if let Some(name) = Strong::owned(PyUnicode_FromString(event)) {
            drop(call(function, &[name.get(), arguments]));
        }
        PyErr_Restore(kind, value, trace);
    }
    0
}

/// `audit(function)`: it is called with the name and the arguments of each event that matters.
pub(crate) unsafe extern "C" fn begin(_: Obj, arguments: *const Obj, count: isize) -> Obj {
    if count != 1 || !HOOK.load(Ordering::Relaxed).is_null() {
        return raise(c"audit takes one function, once");
    }
    // SAFETY: one argument; the function is kept until the end of the process.
    unsafe {
        INTERPRETER.store(PyInterpreterState_Get(), Ordering::Relaxed);
        let function = Strong::borrowed(*arguments).into_raw();
        if PySys_AddAuditHook(hook, std::ptr::null_mut()) != 0 {
            return std::ptr::null_mut();
        }
        HOOK.store(function, Ordering::Relaxed);
    }
    none()
}

pub(crate) unsafe extern "C" fn end(_: Obj, _: *const Obj, _: isize) -> Obj {
    HOOK.store(std::ptr::null_mut(), Ordering::Relaxed);
    none()
}
