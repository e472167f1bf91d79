//! Classes with static fields, from the time at which they are prepared.
//!
//! Whether a class has such fields is seen in its bytes when it is loaded; the class itself is there only
//! when it is prepared, somewhat later. No class is kept alive by being known here.

use crate::jvm::{Jni, Jvmti, Object};
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tamis_classfile::{ClassFile, flags, mutf8};

#[derive(Debug, Default)]
pub(crate) struct Prepared {
    /// So that most classes cost nothing.
    awaited: AtomicUsize,
    classes: Mutex<Classes>,
}

#[derive(Debug, Default)]
struct Classes {
    /// Loaded and not yet prepared: whether it has a static initialiser, and how many there are of the
    /// name.
    loaded: HashMap<Vec<u8>, (bool, u32)>,
    /// Weak references to those that were not asked about yet.
    there: Vec<(Object, bool)>,
}

impl Prepared {
    fn classes(&self) -> MutexGuard<'_, Classes> {
        self.classes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A class is being loaded.
    pub(crate) fn await_class(&self, name: &[u8], bytes: &[u8]) {
        let Ok(class) = ClassFile::parse(bytes) else { return };
        if class.fields.iter().any(|field| can_change(field.access, field.descriptor)) {
            let initialises = class.methods.iter().any(|method| method.name == b"<clinit>");
            let mut classes = self.classes();
            let (has, count) = classes.loaded.entry(name.to_vec()).or_default();
            *has |= initialises;
            *count += 1;
            self.awaited.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// A class was prepared.
    pub(crate) fn on_class(&self, jvmti: Jvmti, jni: Jni, class: Object) {
        if self.awaited.load(Ordering::Relaxed) == 0 {
            return;
        }
        let Some(name) = jvmti.class_name(class) else { return };
        let mut classes = self.classes();
        let Some((initialises, count)) = classes.loaded.get_mut(&name) else { return };
        *count -= 1;
        let (initialises, is_last) = (*initialises, *count == 0);
        if is_last {
            classes.loaded.remove(&name);
        }
        self.awaited.fetch_sub(1, Ordering::Relaxed);
        if let Some(weak) = jni.weak(class) {
            classes.there.push((weak, initialises));
        }
    }

    /// The names of those that are not prepared yet, with dots.
    pub(crate) fn waiting(&self) -> Vec<String> {
        let classes = self.classes();
        classes.loaded.keys().map(|name| mutf8::decode(name).replace('/', ".")).collect()
    }

    /// Those that were prepared since the last time and are still there.
    pub(crate) fn take(&self, jni: Jni, initialises: bool) -> Vec<Object> {
        let mut taken = Vec::new();
        self.classes().there.retain(|&(weak, has)| {
            if has == initialises {
                taken.push(weak);
            }
            has != initialises
        });
        taken.into_iter().filter_map(|weak| jni.strong(weak)).collect()
    }
}

/// Whether a static field can hold something else later. Final numbers and texts cannot.
pub(crate) fn can_change(access: u16, kind: &[u8]) -> bool {
    access & flags::STATIC != 0
        && (access & flags::FINAL == 0
            || (matches!(kind.first(), Some(b'L' | b'[')) && kind != b"Ljava/lang/String;"))
}
