//! The tool interface: events, capabilities, retransformation.

use super::{Jni, Object, call, slots::jvmti as slot};
use std::ffi::{CStr, c_char, c_void};

pub(crate) const VERSION_1_2: i32 = 0x3001_0200;

/// Bits of `jvmtiCapabilities`.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Capability {
    AllClassHookEvents = 26,
    RetransformClasses = 37,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Event {
    VmInit = 50,
    VmDeath = 51,
    ClassFileLoadHook = 54,
    ClassPrepare = 56,
}

pub(crate) type OnVm = extern "system" fn(*mut c_void, Jni, Object);
/// Environment, thread, class.
pub(crate) type OnPrepare = extern "system" fn(Jvmti, Jni, Object, Object);
pub(crate) type OnDeath = extern "system" fn(*mut c_void, Jni);
/// Environment, thread, class being redefined, loader, name, protection domain, length and bytes,
/// and places for the new ones.
pub(crate) type OnClass = extern "system" fn(
    Jvmti,
    Jni,
    Object,
    Object,
    *const i8,
    Object,
    i32,
    *const u8,
    *mut i32,
    *mut *mut u8,
);

/// The first events of `jvmtiEventCallbacks`; the JVM gets to know how long the table is.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Callbacks {
    pub(crate) vm_init: Option<OnVm>,
    pub(crate) vm_death: Option<OnDeath>,
    pub(crate) thread_start: *const c_void,
    pub(crate) thread_end: *const c_void,
    pub(crate) class_file_load_hook: Option<OnClass>,
    pub(crate) class_load: *const c_void,
    pub(crate) class_prepare: Option<OnPrepare>,
}

impl Callbacks {
    pub(crate) const NONE: Self = Self {
        vm_init: None,
        vm_death: None,
        thread_start: std::ptr::null(),
        thread_end: std::ptr::null(),
        class_file_load_hook: None,
        class_load: std::ptr::null(),
        class_prepare: None,
    };
}

/// A field that a class declares.
#[derive(Debug)]
pub(crate) struct Field {
    pub(crate) name: Vec<u8>,
    pub(crate) kind: Vec<u8>,
    pub(crate) access: u16,
}

/// One method on the stack of a thread.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
struct Frame {
    method: *mut c_void,
    location: i64,
}

/// What one thread is in.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
struct Stack {
    thread: Object,
    state: i32,
    frames: *mut Frame,
    count: i32,
}

/// One environment. Its functions may be called from any thread.
#[derive(Debug, Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Jvmti(pub(crate) *mut c_void);

// SAFETY: the interface is made for calls from all threads.
unsafe impl Send for Jvmti {}
// SAFETY: as above.
unsafe impl Sync for Jvmti {}

impl Jvmti {
    fn done(error: i32, what: &str) -> Result<(), String> {
        if error == 0 { Ok(()) } else { Err(format!("{what}: the JVM answers error {error}")) }
    }

    pub(crate) fn add_capabilities(self, wanted: &[Capability]) -> Result<(), String> {
        // 128 bits, in the order of the machine's own words.
        let mut bits = [0_u32; 4];
        for &capability in wanted {
            bits[capability as usize / 32] |= 1 << (capability as usize % 32);
        }
        // SAFETY: the function reads 128 bits.
        let error =
            unsafe { call!(self.0, slot::ADD_CAPABILITIES, (*const u32) -> i32, (bits.as_ptr())) };
        Self::done(error, "capabilities")
    }

    pub(crate) fn set_callbacks(self, callbacks: &Callbacks) -> Result<(), String> {
        // SAFETY: the JVM copies as many bytes as the length says.
        let error = unsafe {
            call!(
                self.0,
                slot::SET_EVENT_CALLBACKS,
                (*const Callbacks, i32) -> i32,
                (callbacks, size_of::<Callbacks>() as i32)
            )
        };
        Self::done(error, "callbacks")
    }

    /// Turns an event on, for all threads.
    pub(crate) fn enable(self, event: Event) -> Result<(), String> {
        // SAFETY: mode, event, thread (null is all), and no further argument.
        let error = unsafe {
            call!(
                self.0,
                slot::SET_EVENT_NOTIFICATION_MODE,
                (i32, i32, Object) -> i32,
                (1, event as i32, Object::NULL)
            )
        };
        Self::done(error, "event")
    }

    /// A copy in memory of the JVM, which then owns it.
    pub(crate) fn copy(self, bytes: &[u8]) -> Option<*mut u8> {
        let mut place: *mut u8 = std::ptr::null_mut();
        // SAFETY: as many bytes as asked for are then written.
        unsafe {
            let length = i64::try_from(bytes.len()).ok()?;
            let error =
                call!(self.0, slot::ALLOCATE, (i64, *mut *mut u8) -> i32, (length, &raw mut place));
            if error != 0 || place.is_null() {
                return None;
            }
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), place, bytes.len());
        }
        Some(place)
    }

    /// Tells objects apart, most of the time.
    pub(crate) fn identity(self, object: Object) -> i32 {
        let mut hash = 0;
        // SAFETY: an object that is not null, and a place for a number.
        let error = unsafe {
            call!(
                self.0,
                slot::GET_OBJECT_HASH_CODE,
                (Object, *mut i32) -> i32,
                (object, &raw mut hash)
            )
        };
        if error == 0 { hash } else { 0 }
    }

    /// A text of the JVM's, which is given back.
    fn taken(self, text: *mut c_char) -> Vec<u8> {
        if text.is_null() {
            return Vec::new();
        }
        // SAFETY: a text that ends with NUL, allocated for us.
        unsafe {
            let copy = CStr::from_ptr(text).to_bytes().to_vec();
            self.give_back(text.cast());
            copy
        }
    }

    fn give_back(self, memory: *mut u8) {
        // SAFETY: memory that a function of this interface allocated.
        unsafe { call!(self.0, slot::DEALLOCATE, (*mut u8) -> i32, (memory)) };
    }

    /// The threads of now, those that were just started included, by [`Self::identity`]; `None` if the
    /// JVM does not tell.
    pub(crate) fn threads(self, jni: Jni) -> Option<Vec<i32>> {
        let mut count = 0;
        let mut all: *mut Object = std::ptr::null_mut();
        // SAFETY: places for the number of threads and for the threads.
        let error = unsafe {
            call!(
                self.0,
                slot::GET_ALL_THREADS,
                (*mut i32, *mut *mut Object) -> i32,
                (&raw mut count, &raw mut all)
            )
        };
        if error != 0 {
            return None;
        }
        let count = usize::try_from(count).ok()?;
        let one = |at: usize| {
            // SAFETY: as many threads as given, as local references.
            let thread = unsafe { *all.add(at) };
            let identity = self.identity(thread);
            jni.delete_local(thread);
            identity
        };
        let identities = (0..count).map(one).collect();
        self.give_back(all.cast());
        Some(identities)
    }

    /// The methods that threads are in, at most `depth` of each, from the innermost on; every method once.
    /// `None` if the JVM does not tell, or not all of a thread.
    pub(crate) fn methods_on_stacks(self, jni: Jni, depth: i32) -> Option<Vec<*mut c_void>> {
        let mut stacks: *mut Stack = std::ptr::null_mut();
        let mut count = 0;
        // SAFETY: a number, and places for the stacks and how many there are.
        let error = unsafe {
            call!(
                self.0,
                slot::GET_ALL_STACK_TRACES,
                (i32, *mut *mut Stack, *mut i32) -> i32,
                (depth, &raw mut stacks, &raw mut count)
            )
        };
        if error != 0 {
            return None;
        }
        let mut methods = Vec::new();
        let mut all = true;
        for at in 0..usize::try_from(count).ok()? {
            // SAFETY: as many stacks as given, each with as many frames.
            let stack = unsafe { *stacks.add(at) };
            all &= stack.count < depth;
            for frame in 0..usize::try_from(stack.count).unwrap_or(0) {
                // SAFETY: as above.
                methods.push(unsafe { (*stack.frames.add(frame)).method });
            }
            jni.delete_local(stack.thread);
        }
        self.give_back(stacks.cast());
        methods.sort_unstable();
        methods.dedup();
        all.then_some(methods)
    }

    /// Class, name and descriptor of a method.
    pub(crate) fn method(self, jni: Jni, id: *mut c_void) -> Option<(Vec<u8>, Vec<u8>)> {
        let mut class = Object::NULL;
        let mut name: *mut c_char = std::ptr::null_mut();
        let mut kind: *mut c_char = std::ptr::null_mut();
        // SAFETY: a method, and places for what is known of it.
        let errors = unsafe {
            let declared = call!(
                self.0,
                slot::GET_METHOD_DECLARING_CLASS,
                (*mut c_void, *mut Object) -> i32,
                (id, &raw mut class)
            );
            let named = call!(
                self.0,
                slot::GET_METHOD_NAME,
                (*mut c_void, *mut *mut c_char, *mut *mut c_char, *mut *mut c_char) -> i32,
                (id, &raw mut name, &raw mut kind, std::ptr::null_mut())
            );
            declared | named
        };
        let signature = [self.taken(name), self.taken(kind)].concat();
        let class_name = class.present().and_then(|class| self.class_name(class));
        jni.delete_local(class);
        Some((class_name?, signature)).filter(|_| errors == 0)
    }

    /// The class's name as `a/b/C`.
    pub(crate) fn class_name(self, class: Object) -> Option<Vec<u8>> {
        let mut signature: *mut c_char = std::ptr::null_mut();
        // SAFETY: a class, a place for its signature, and none for the generic one.
        let error = unsafe {
            call!(
                self.0,
                slot::GET_CLASS_SIGNATURE,
                (Object, *mut *mut c_char, *mut *mut c_char) -> i32,
                (class, &raw mut signature, std::ptr::null_mut())
            )
        };
        let signature = (error == 0).then(|| self.taken(signature))?;
        Some(signature.strip_prefix(b"L")?.strip_suffix(b";")?.to_vec())
    }

    /// Whether its initialisation has come to an end, a good one or a bad one.
    pub(crate) fn is_initialised(self, class: Object) -> bool {
        const INITIALISED_OR_ERROR: i32 = 4 | 8;
        let mut status = 0;
        // SAFETY: a class, and a place for a number.
        let error = unsafe {
            call!(
                self.0,
                slot::GET_CLASS_STATUS,
                (Object, *mut i32) -> i32,
                (class, &raw mut status)
            )
        };
        error == 0 && status & INITIALISED_OR_ERROR != 0
    }

    /// The fields that a class declares; `None` if the JVM does not tell.
    pub(crate) fn fields(self, class: Object) -> Option<Vec<Field>> {
        let mut count = 0;
        let mut ids: *mut *mut c_void = std::ptr::null_mut();
        // SAFETY: a class, and places for the number of fields and for their ids.
        let error = unsafe {
            call!(
                self.0,
                slot::GET_CLASS_FIELDS,
                (Object, *mut i32, *mut *mut *mut c_void) -> i32,
                (class, &raw mut count, &raw mut ids)
            )
        };
        if error != 0 {
            return None;
        }
        let count = usize::try_from(count).ok()?;
        // SAFETY: as many ids as given; none where there is no memory.
        let all = (0..count).map(|at| self.field(class, unsafe { *ids.add(at) })).collect();
        self.give_back(ids.cast());
        all
    }

    fn field(self, class: Object, id: *mut c_void) -> Option<Field> {
        let mut name: *mut c_char = std::ptr::null_mut();
        let mut kind: *mut c_char = std::ptr::null_mut();
        let mut access = 0;
        // SAFETY: a class, one of its fields, and places for the answers.
        let errors = unsafe {
            let named = call!(
                self.0,
                slot::GET_FIELD_NAME,
                (Object, *mut c_void, *mut *mut c_char, *mut *mut c_char, *mut *mut c_char) -> i32,
                (class, id, &raw mut name, &raw mut kind, std::ptr::null_mut())
            );
            let modified = call!(
                self.0,
                slot::GET_FIELD_MODIFIERS,
                (Object, *mut c_void, *mut i32) -> i32,
                (class, id, &raw mut access)
            );
            named | modified
        };
        let (name, kind) = (self.taken(name), self.taken(kind));
        (errors == 0).then_some(Field { name, kind, access: access as u16 })
    }

    pub(crate) fn retransform(self, classes: &[Object]) -> Result<(), String> {
        // SAFETY: as many classes as given.
        let error = unsafe {
            call!(
                self.0,
                slot::RETRANSFORM_CLASSES,
                (i32, *const Object) -> i32,
                (classes.len() as i32, classes.as_ptr())
            )
        };
        Self::done(error, "retransformation")
    }
}
