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
