//! The JVM's two C interfaces, as far as the agent needs them.
//!
//! Both are tables of function pointers whose order is fixed since Java 6 (later releases only
//! append), so a function is known by its place alone: [`slots`] names the places, and a test
//! compares them with the header files of the JDKs at hand. That is all of the foreign interface,
//! small enough to be read; a binding crate would bring hundreds of functions for the forty that
//! are used here.

pub(crate) mod jni;
pub(crate) mod jvmti;
pub(crate) mod slots;

pub(crate) use jni::{Jni, Object};
pub(crate) use jvmti::Jvmti;

use std::ffi::c_void;

/// Calls the function at a place of an interface's table.
///
/// # Safety
/// The signature must be the one of the function at this place.
macro_rules! call {
    ($env:expr, $slot:expr, ($($type:ty),*) -> $result:ty, ($($value:expr),*)) => {{
        let this: *mut std::ffi::c_void = $env;
        // An environment is a pointer to a pointer to the table.
        let table = *this.cast::<*const *const std::ffi::c_void>();
        let function: unsafe extern "system" fn(*mut std::ffi::c_void $(, $type)*) -> $result =
            std::mem::transmute(*table.add($slot));
        function(this $(, $value)*)
    }};
}
pub(crate) use call;

/// The JVM itself, as `Agent_OnLoad` gets it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Vm(pub(crate) *mut c_void);

// SAFETY: the interface is made for calls from all threads.
unsafe impl Send for Vm {}
// SAFETY: as above.
unsafe impl Sync for Vm {}

impl Vm {
    /// A new environment of the tool interface.
    pub(crate) fn jvmti(self) -> Option<Jvmti> {
        let mut env: *mut c_void = std::ptr::null_mut();
        // SAFETY: GetEnv takes a place for a pointer and a version; 1.2 is in every JDK from 8 on.
        let result = unsafe {
            call!(
                self.0,
                slots::vm::GET_ENV,
                (*mut *mut c_void, i32) -> i32,
                (&raw mut env, jvmti::VERSION_1_2)
            )
        };
        (result == 0 && !env.is_null()).then_some(Jvmti(env))
    }
}
