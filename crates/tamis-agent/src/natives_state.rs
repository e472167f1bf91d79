//! The native methods of `TamisState`: what it cannot see from Java.

use crate::agent::guarded;
use crate::jvm::{Jni, Object};
use crate::prepared::can_change;
use std::ffi::CString;
use std::sync::atomic::Ordering;
use tamis_classfile::{flags, mutf8};

/// Where JaCoCo counts what a class ran, in the class itself: nothing that the program can see.
const JACOCO: &[u8] = b"$jacocoData";

/// `private static native void initialiserBegins(int probe)`
#[unsafe(no_mangle)]
extern "system" fn Java_java_lang_TamisState_initialiserBegins(jni: Jni, _: Object, probe: i32) {
    guarded((), |agent| agent.initialiser_begins(jni, probe.cast_unsigned()));
}

/// `private static native void initialiserEnds(int probe)`
#[unsafe(no_mangle)]
extern "system" fn Java_java_lang_TamisState_initialiserEnds(jni: Jni, _: Object, probe: i32) {
    guarded((), |agent| agent.initialiser_ends(jni, probe.cast_unsigned()));
}

/// `private static native boolean isIdle(String test)`
#[unsafe(no_mangle)]
extern "system" fn Java_java_lang_TamisState_isIdle(jni: Jni, _: Object, test: Object) -> u8 {
    guarded(0, |agent| u8::from(agent.is_idle_for(jni, &jni.text(test).unwrap_or_default())))
}

/// `private static native Class<?>[] prepared(boolean initialises)`
#[unsafe(no_mangle)]
extern "system" fn Java_java_lang_TamisState_prepared(
    jni: Jni,
    _: Object,
    initialises: u8,
) -> Object {
    guarded(Object::NULL, |agent| {
        let classes = agent.prepared.take(jni, initialises != 0);
        let array = || jni.array_of(&classes, jni.find_class(c"java/lang/Class")?);
        array().unwrap_or(Object::NULL)
    })
}

/// `private static native boolean isInitialised(Class<?> type)`
#[unsafe(no_mangle)]
extern "system" fn Java_java_lang_TamisState_isInitialised(_: Jni, _: Object, class: Object) -> u8 {
    guarded(0, |agent| u8::from(agent.jvmti.is_initialised(class)))
}

/// `static native String[] fields(Class<?> type, boolean isStatic)`
#[unsafe(no_mangle)]
extern "system" fn Java_java_lang_TamisState_fields(
    jni: Jni,
    _: Object,
    class: Object,
    is_static: u8,
) -> Object {
    guarded(Object::NULL, |agent| {
        let texts = || {
            let all = agent.jvmti.fields(class)?;
            let own = all.iter().filter(|field| field.name != JACOCO);
            let wanted = own.filter(|field| match is_static {
                0 => field.access & flags::STATIC == 0,
                _ => can_change(field.access, &field.kind),
            });
            let texts = wanted.flat_map(|field| [&field.name, &field.kind]);
            let texts = texts.map(|text| jni.string(&mutf8::decode(text)));
            let texts = texts.collect::<Option<Vec<_>>>()?;
            jni.array_of(&texts, jni.find_class(c"java/lang/String")?)
        };
        // Without an answer the caller gets null, fails, and takes the class for changed.
        texts().unwrap_or(Object::NULL)
    })
}

/// `private static native Field field(Class<?> type, String name, String kind)`
#[unsafe(no_mangle)]
extern "system" fn Java_java_lang_TamisState_field(
    jni: Jni,
    _: Object,
    class: Object,
    name: Object,
    kind: Object,
) -> Object {
    guarded(Object::NULL, |_| {
        let field = || jni.reflected(class, &text(jni, name)?, &text(jni, kind)?);
        field().unwrap_or(Object::NULL)
    })
}

/// `private static native void tell(String[] watched, String[] changed)`
#[unsafe(no_mangle)]
extern "system" fn Java_java_lang_TamisState_tell(
    jni: Jni,
    _: Object,
    watched: Object,
    changed: Object,
) {
    guarded((), |agent| {
        let watched = watched.present().map(|watched| jni.texts(watched)).unwrap_or_default();
        let changed = changed.present().map(|fields| crate::natives::pairs(jni.texts(fields)));
        agent.state_now(watched, changed);
    });
}

/// `private static native void tell(String[] names, long[] numbers)`
#[unsafe(no_mangle)]
extern "system" fn Java_java_lang_TamisGlobals_tell(
    jni: Jni,
    _: Object,
    names: Object,
    numbers: Object,
) {
    guarded((), |agent| {
        let names = jni.texts(names);
        let mut values = vec![0; names.len()];
        if jni.copy_longs(numbers, 0, &mut values).is_some() {
            agent.globals_now(names.into_iter().zip(values).collect());
        } else {
            agent.trouble("the state of the JVM could not be read");
        }
    });
}

/// `private static native void measures()`
#[unsafe(no_mangle)]
extern "system" fn Java_java_lang_TamisCoverage_measures(_: Jni, _: Object) {
    guarded((), |agent| {
        // A runner that is not observed reports no borders.
        agent.measures.store(agent.watches_code(), Ordering::Relaxed);
    });
}

fn text(jni: Jni, text: Object) -> Option<CString> {
    CString::new(jni.text(text)?).ok()
}
