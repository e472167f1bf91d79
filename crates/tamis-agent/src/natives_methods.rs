//! The native methods of the hooks for test methods.

use crate::agent::guarded;
use crate::jvm::{Jni, Object};
use tamis_jvm_wire::{FromJvm, Methods, ToJvm};

/// `static native boolean on()`
#[unsafe(no_mangle)]
extern "system" fn Java_java_lang_TamisMethods_on(_: Jni, _: Object) -> u8 {
    guarded(0, |agent| u8::from(agent.options.methods))
}

/// `static native boolean isOutermost(String name)`
#[unsafe(no_mangle)]
extern "system" fn Java_java_lang_TamisMethods_isOutermost(
    jni: Jni,
    _: Object,
    name: Object,
) -> u8 {
    guarded(0, |agent| u8::from(agent.is_outermost(&jni.text(name).unwrap_or_default())))
}

/// `static native int methodBegins(String key)`
#[unsafe(no_mangle)]
extern "system" fn Java_java_lang_TamisMethods_methodBegins(
    jni: Jni,
    _: Object,
    key: Object,
) -> i32 {
    guarded(0, |agent| agent.method_begins(jni, &jni.text(key).unwrap_or_default()).cast_signed())
}

/// `static native void methodEnds(int method, boolean failed)`
#[unsafe(no_mangle)]
extern "system" fn Java_java_lang_TamisMethods_methodEnds(
    jni: Jni,
    _: Object,
    method: i32,
    failed: u8,
) {
    guarded((), |agent| agent.method_ends(jni, method.cast_unsigned(), failed != 0));
}

/// `static native String choose(String name, String[] methods, boolean madeBefore)`
#[unsafe(no_mangle)]
extern "system" fn Java_java_lang_TamisMethods_choose(
    jni: Jni,
    _: Object,
    name: Object,
    methods: Object,
    made_before: u8,
) -> Object {
    guarded(Object::NULL, |agent| {
        let methods = Methods {
            class: jni.text(name).unwrap_or_default(),
            methods: jni.texts(methods),
            made_before: made_before != 0,
        };
        let count = methods.methods.len();
        match agent.ask(&FromJvm::Methods(methods)) {
            // Another number would be an answer to another question.
            Some(ToJvm::Chosen { skipped }) if skipped.len() == count => {
                let lines: Vec<String> = skipped
                    .into_iter()
                    .map(|why| why.unwrap_or_default().replace('\n', " "))
                    .collect();
                jni.string(&lines.join("\n")).unwrap_or(Object::NULL)
            }
            _ => Object::NULL,
        }
    })
}

/// `static native void undivided(String name, String why)`
#[unsafe(no_mangle)]
extern "system" fn Java_java_lang_TamisMethods_undivided(
    jni: Jni,
    _: Object,
    name: Object,
    why: Object,
) {
    guarded((), |agent| {
        let class = jni.text(name).unwrap_or_default();
        let why = jni.text(why).unwrap_or_default();
        agent.tell_now(&FromJvm::Undivided { class, why });
    });
}
