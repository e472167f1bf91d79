//! A look at a path that does not exist, by which the tracer knows that a window begins or ends.

use crate::python::*;

/// `mark(path)`: as `os.stat`, without the error that a path which is not there makes there.
pub(crate) unsafe extern "C" fn mark(_: Obj, arguments: *const Obj, count: isize) -> Obj {
    if count != 1 {
        return raise(c"mark takes a path");
    }
    // SAFETY: one argument; the text of a string lives as long as it, and ends with a null.
    unsafe {
        let path = PyUnicode_AsUTF8AndSize(*arguments, std::ptr::null_mut());
        if path.is_null() {
            return std::ptr::null_mut();
        }
        access(path, 0);
    }
    none()
}
