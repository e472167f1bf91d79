//! What an object has in its own memory, as bytes: to see that it is another one than before.

use crate::python::*;

/// Behind the count and the type.
const HEAD: usize = 16;

/// `content(object, size)`: what is in it by a base of this size. For objects that hold all they have in themselves.
pub(crate) unsafe extern "C" fn content(_: Obj, arguments: *const Obj, count: isize) -> Obj {
    if count != 2 {
        return raise(c"content takes an object and a size");
    }
    // SAFETY: two arguments; the size is that of one of the object's own types, as Python says it.
    unsafe {
        let size = PyLong_AsLong(*arguments.add(1));
        if size < HEAD as i64 {
            PyErr_Clear();
            return raise(c"an object is not as small as that");
        }
        let begin = (*arguments).cast::<std::ffi::c_char>().add(HEAD);
        PyBytes_FromStringAndSize(begin, size as isize - HEAD as isize)
    }
}

unsafe extern "C" {
    static environ: *const *const std::ffi::c_char;
}

/// pytest itself says in it which test runs.
const OF_PYTEST: &[u8] = b"PYTEST_CURRENT_TEST=";

/// `environment()`: the variables that the process hands on to programs, as bytes; Python knows only those that it set itself.
pub(crate) unsafe extern "C" fn environment(_: Obj, _: *const Obj, _: isize) -> Obj {
    let mut all: Vec<u8> = Vec::new();
    // SAFETY: a list of texts that ends with a null pointer. Only who has the GIL changes it, or races with Python itself.
    unsafe {
        let mut at = environ;
        while !at.is_null() && !(*at).is_null() {
            let variable = std::ffi::CStr::from_ptr(*at).to_bytes_with_nul();
            if !variable.starts_with(OF_PYTEST) {
                all.extend_from_slice(variable);
            }
            at = at.add(1);
        }
        PyBytes_FromStringAndSize(all.as_ptr().cast(), all.len() as isize)
    }
}
