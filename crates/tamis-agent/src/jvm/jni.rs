//! The native interface: objects, strings, arrays, calls without access checks.
//!
//! Whatever throws leaves no exception behind: the caller gets `None`.

use super::{call, slots::jni as slot};
use std::ffi::{CStr, c_void};
use std::ptr;

/// A reference to a Java object; perhaps null. Valid on its thread until the native method
/// returns, or everywhere for ever if it is a global one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct Object(pub(crate) *mut c_void);

// SAFETY: only global references are kept beyond one call, and those are for all threads.
unsafe impl Send for Object {}
// SAFETY: as above.
unsafe impl Sync for Object {}

impl Object {
    pub(crate) const NULL: Self = Self(ptr::null_mut());

    pub(crate) fn is_null(self) -> bool {
        self.0.is_null()
    }

    pub(crate) fn present(self) -> Option<Self> {
        (!self.is_null()).then_some(self)
    }
}

/// The environment of one thread.
#[derive(Debug, Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Jni(*mut c_void);

impl Jni {
    /// After a call that may have thrown: the result, or `None` and no exception.
    fn settled(self, result: Object) -> Option<Object> {
        if self.clear_exception() { None } else { result.present() }
    }

    /// Whether there was one.
    pub(crate) fn clear_exception(self) -> bool {
        // SAFETY: both take nothing and are allowed at any time.
        unsafe {
            let thrown = call!(self.0, slot::EXCEPTION_CHECK, () -> u8, ()) != 0;
            if thrown {
                call!(self.0, slot::EXCEPTION_CLEAR, () -> (), ());
            }
            thrown
        }
    }

    /// Defines a class in the boot loader.
    pub(crate) fn define_boot_class(self, name: &CStr, bytes: &[u8]) -> Option<Object> {
        let length = i32::try_from(bytes.len()).ok()?;
        // SAFETY: name, loader (null is the boot loader), bytes and their length.
        let class = unsafe {
            call!(
                self.0,
                slot::DEFINE_CLASS,
                (*const i8, Object, *const u8, i32) -> Object,
                (name.as_ptr(), Object::NULL, bytes.as_ptr(), length)
            )
        };
        self.settled(class)
    }

    /// A class by `java/lang/Name`, loaded by the loader of the calling method.
    pub(crate) fn find_class(self, name: &CStr) -> Option<Object> {
        // SAFETY: a name that ends with NUL.
        let class =
            unsafe { call!(self.0, slot::FIND_CLASS, (*const i8) -> Object, (name.as_ptr())) };
        self.settled(class)
    }

    pub(crate) fn global(self, object: Object) -> Option<Object> {
        // SAFETY: a valid reference.
        unsafe { call!(self.0, slot::NEW_GLOBAL_REF, (Object) -> Object, (object)) }.present()
    }

    pub(crate) fn delete_local(self, object: Object) {
        // SAFETY: a local reference that is not used again.
        unsafe { call!(self.0, slot::DELETE_LOCAL_REF, (Object) -> (), (object)) }
    }

    pub(crate) fn same(self, one: Object, other: Object) -> bool {
        // SAFETY: two valid references.
        unsafe { call!(self.0, slot::IS_SAME_OBJECT, (Object, Object) -> u8, (one, other)) != 0 }
    }

    fn class_of(self, object: Object) -> Option<Object> {
        object.present()?;
        // SAFETY: not null.
        unsafe { call!(self.0, slot::GET_OBJECT_CLASS, (Object) -> Object, (object)) }.present()
    }

    /// Calls a method that takes `arguments`, all objects, and returns an object; access does not matter.
    pub(crate) fn call_object(
        self,
        on: Object,
        name: &CStr,
        kind: &CStr,
        arguments: &[Object],
    ) -> Option<Object> {
        let class = self.class_of(on)?;
        let method = self.member(slot::GET_METHOD_ID, class, name, kind)?;
        let values: Vec<u64> = arguments.iter().map(|object| object.0 as u64).collect();
        // SAFETY: the method takes these arguments, as its descriptor says, and is of this object.
        let result = unsafe {
            call!(
                self.0,
                slot::CALL_OBJECT_METHOD_A,
                (Object, *mut c_void, *const u64) -> Object,
                (on, method, values.as_ptr())
            )
        };
        self.settled(result)
    }

    /// Calls a method that takes `arguments`, all objects, and returns nothing; whether that worked.
    pub(crate) fn call_void(
        self,
        on: Object,
        name: &CStr,
        kind: &CStr,
        arguments: &[Object],
    ) -> bool {
        let method =
            self.class_of(on).and_then(|c| self.member(slot::GET_METHOD_ID, c, name, kind));
        let Some(method) = method else { return false };
        let values: Vec<u64> = arguments.iter().map(|object| object.0 as u64).collect();
        // SAFETY: the method is of this object and takes these arguments, as its descriptor says.
        unsafe {
            call!(
                self.0,
                slot::CALL_VOID_METHOD_A,
                (Object, *mut c_void, *const u64) -> (),
                (on, method, values.as_ptr())
            );
        }
        !self.clear_exception()
    }

    /// The elements of an array of objects, as local references.
    pub(crate) fn elements(self, array: Object) -> Vec<Object> {
        let element = |index: i32| {
            // SAFETY: an array of objects, and the index is below its length.
            unsafe {
                call!(
                    self.0,
                    slot::GET_OBJECT_ARRAY_ELEMENT,
                    (Object, i32) -> Object,
                    (array, index)
                )
            }
        };
        (0..self.length(array)).map(element).collect()
    }

    pub(crate) fn has_method(self, on: Object, name: &CStr, kind: &CStr) -> bool {
        let class = self.class_of(on);
        class.is_some_and(|class| self.member(slot::GET_METHOD_ID, class, name, kind).is_some())
    }

    /// A field that holds an object; access does not matter.
    pub(crate) fn field_object(self, of: Object, name: &CStr, kind: &CStr) -> Option<Object> {
        let class = self.class_of(of)?;
        let field = self.member(slot::GET_FIELD_ID, class, name, kind)?;
        // SAFETY: the field is of this object's class and holds an object, as its descriptor says.
        let value = unsafe {
            call!(self.0, slot::GET_OBJECT_FIELD, (Object, *mut c_void) -> Object, (of, field))
        };
        self.settled(value)
    }

    /// A static field as Java sees it. Initialises the class.
    pub(crate) fn reflected(self, class: Object, name: &CStr, kind: &CStr) -> Option<Object> {
        let field = self.member(slot::GET_STATIC_FIELD_ID, class, name, kind)?;
        // SAFETY: the field is a static one of this class.
        let reflected = unsafe {
            call!(
                self.0,
                slot::TO_REFLECTED_FIELD,
                (Object, *mut c_void, u8) -> Object,
                (class, field, 1)
            )
        };
        self.settled(reflected)
    }

    /// Whether it worked.
    pub(crate) fn set_static_field(
        self,
        class: Object,
        name: &CStr,
        kind: &CStr,
        value: Object,
    ) -> bool {
        let Some(field) = self.member(slot::GET_STATIC_FIELD_ID, class, name, kind) else {
            return false;
        };
        // SAFETY: the field is of this class and holds an object of this kind.
        unsafe {
            call!(
                self.0,
                slot::SET_STATIC_OBJECT_FIELD,
                (Object, *mut c_void, Object) -> (),
                (class, field, value)
            );
        }
        !self.clear_exception()
    }

    /// A new array of objects, all null.
    pub(crate) fn objects(self, length: i32, class: Object) -> Option<Object> {
        // SAFETY: a length and a class; null as the first value of all elements.
        let array = unsafe {
            call!(
                self.0,
                slot::NEW_OBJECT_ARRAY,
                (i32, Object, Object) -> Object,
                (length, class, Object::NULL)
            )
        };
        self.settled(array)
    }

    /// A new array of these objects.
    pub(crate) fn array_of(self, objects: &[Object], class: Object) -> Option<Object> {
        let array = self.objects(i32::try_from(objects.len()).ok()?, class)?;
        for (at, &object) in objects.iter().enumerate() {
            // SAFETY: inside the array, and an object of the array's kind.
            unsafe {
                call!(
                    self.0,
                    slot::SET_OBJECT_ARRAY_ELEMENT,
                    (Object, i32, Object) -> (),
                    (array, at as i32, object)
                );
            }
            self.delete_local(object);
        }
        (!self.clear_exception()).then_some(array)
    }

    /// A reference that does not keep the object alive, for all threads.
    pub(crate) fn weak(self, object: Object) -> Option<Object> {
        // SAFETY: an object.
        let weak =
            unsafe { call!(self.0, slot::NEW_WEAK_GLOBAL_REF, (Object) -> Object, (object)) };
        self.settled(weak)
    }

    /// The object of a weak reference, which ends here; `None` if it is gone.
    pub(crate) fn strong(self, weak: Object) -> Option<Object> {
        // SAFETY: a weak reference, which is not used afterwards.
        let object = unsafe {
            let object = call!(self.0, slot::NEW_LOCAL_REF, (Object) -> Object, (weak));
            call!(self.0, slot::DELETE_WEAK_GLOBAL_REF, (Object) -> (), (weak));
            object
        };
        self.settled(object)
    }

    /// Calls a static method that takes `arguments`, all objects, and returns an object.
    pub(crate) fn call_static(
        self,
        class: Object,
        name: &CStr,
        kind: &CStr,
        arguments: &[Object],
    ) -> Option<Object> {
        let method = self.member(slot::GET_STATIC_METHOD_ID, class, name, kind)?;
        // A `jvalue` is eight bytes; an object fills them on a machine with 64 bits.
        let values: Vec<u64> = arguments.iter().map(|object| object.0 as u64).collect();
        // SAFETY: the method takes these arguments, as its descriptor says.
        let result = unsafe {
            call!(
                self.0,
                slot::CALL_STATIC_OBJECT_METHOD_A,
                (Object, *mut c_void, *const u64) -> Object,
                (class, method, values.as_ptr())
            )
        };
        self.settled(result)
    }

    fn member(self, slot: usize, class: Object, name: &CStr, kind: &CStr) -> Option<*mut c_void> {
        // SAFETY: the four functions that look a member up have the same signature.
        let id = unsafe {
            call!(
                self.0,
                slot,
                (Object, *const i8, *const i8) -> *mut c_void,
                (class, name.as_ptr(), kind.as_ptr())
            )
        };
        (!self.clear_exception() && !id.is_null()).then_some(id)
    }

    /// The text of a `String`; lone surrogates become U+FFFD.
    pub(crate) fn text(self, string: Object) -> Option<String> {
        string.present()?;
        // SAFETY: a string that is not null; the buffer has room for all its characters.
        unsafe {
            let length = call!(self.0, slot::GET_STRING_LENGTH, (Object) -> i32, (string));
            let mut units = vec![0_u16; usize::try_from(length).ok()?];
            call!(
                self.0,
                slot::GET_STRING_REGION,
                (Object, i32, i32, *mut u16) -> (),
                (string, 0, length, units.as_mut_ptr())
            );
            (!self.clear_exception()).then(|| String::from_utf16_lossy(&units))
        }
    }

    pub(crate) fn string(self, text: &str) -> Option<Object> {
        let units: Vec<u16> = text.encode_utf16().collect();
        let length = i32::try_from(units.len()).ok()?;
        // SAFETY: that many characters.
        let string = unsafe {
            call!(
                self.0,
                slot::NEW_STRING,
                (*const u16, i32) -> Object,
                (units.as_ptr(), length)
            )
        };
        self.settled(string)
    }

    /// The texts of a `String[]`; null elements are left out.
    pub(crate) fn texts(self, array: Object) -> Vec<String> {
        let mut texts = Vec::new();
        for index in 0..self.length(array) {
            // SAFETY: an array of objects, and the index is below its length.
            let element = unsafe {
                call!(
                    self.0,
                    slot::GET_OBJECT_ARRAY_ELEMENT,
                    (Object, i32) -> Object,
                    (array, index)
                )
            };
            texts.extend(self.text(element));
            if !element.is_null() {
                self.delete_local(element);
            }
        }
        texts
    }

    fn length(self, array: Object) -> i32 {
        if array.is_null() {
            return 0;
        }
        // SAFETY: an array that is not null.
        unsafe { call!(self.0, slot::GET_ARRAY_LENGTH, (Object) -> i32, (array)) }
    }

    /// A new `int[]`.
    pub(crate) fn ints(self, values: &[u32]) -> Option<Object> {
        let length = i32::try_from(values.len()).ok()?;
        // SAFETY: a length; then an array of this length and as many values.
        unsafe {
            let array = call!(self.0, slot::NEW_INT_ARRAY, (i32) -> Object, (length));
            let array = self.settled(array)?;
            call!(
                self.0,
                slot::SET_INT_ARRAY_REGION,
                (Object, i32, i32, *const u32) -> (),
                (array, 0, length, values.as_ptr())
            );
            (!self.clear_exception()).then_some(array)
        }
    }

    /// All of a `byte[]`.
    pub(crate) fn bytes(self, array: Object) -> Option<Vec<u8>> {
        let length = self.length(array);
        let mut bytes = vec![0; usize::try_from(length).ok()?];
        // SAFETY: an array of bytes that has this length, and there is room for all of them.
        unsafe {
            call!(
                self.0,
                slot::GET_BYTE_ARRAY_REGION,
                (Object, i32, i32, *mut u8) -> (),
                (array, 0, length, bytes.as_mut_ptr())
            );
        }
        (!self.clear_exception()).then_some(bytes)
    }

    /// Elements of an `int[]`, from one of them on.
    pub(crate) fn copy_ints(self, array: Object, from: i32, into: &mut [u32]) -> Option<()> {
        let length = i32::try_from(into.len()).ok()?;
        // SAFETY: an array of numbers; the JVM looks whether it has that many, and there is room.
        unsafe {
            call!(
                self.0,
                slot::GET_INT_ARRAY_REGION,
                (Object, i32, i32, *mut u32) -> (),
                (array, from, length, into.as_mut_ptr())
            );
        }
        (!self.clear_exception()).then_some(())
    }

    /// Elements of a `long[]`, from one of them on.
    pub(crate) fn copy_longs(self, array: Object, from: i32, into: &mut [i64]) -> Option<()> {
        let length = i32::try_from(into.len()).ok()?;
        // SAFETY: as with `copy_ints`.
        unsafe {
            call!(
                self.0,
                slot::GET_LONG_ARRAY_REGION,
                (Object, i32, i32, *mut i64) -> (),
                (array, from, length, into.as_mut_ptr())
            );
        }
        (!self.clear_exception()).then_some(())
    }
}
