//! The native methods of the hook classes. The JVM finds them by name in the agent's library.

use crate::agent::{Agent, guarded};
use crate::jvm::{Jni, Object};
use crate::left_files;
use crate::lookups::LookupKind;
use std::ffi::CString;
use tamis_jvm_wire::{FromJvm, Goal, Scanned, ToJvm};

/// `static native void failed()`
#[unsafe(no_mangle)]
extern "system" fn Java_java_lang_TamisHooks_failed(_: Jni, _: Object) {
    guarded((), Agent::test_failed);
}

/// `static native void failedIn(String name)`
#[unsafe(no_mangle)]
extern "system" fn Java_java_lang_TamisHooks_failedIn(jni: Jni, _: Object, name: Object) {
    guarded((), |agent| agent.test_failed_in(&jni.text(name).unwrap_or_default()));
}

/// `private static native boolean othersAreOpen()`
#[unsafe(no_mangle)]
extern "system" fn Java_java_lang_TamisHooks_othersAreOpen(_: Jni, _: Object) -> u8 {
    guarded(0, |agent| u8::from(agent.open_tests() > 1))
}

/// `static native void trouble(String what)`
#[unsafe(no_mangle)]
extern "system" fn Java_java_lang_TamisHooks_trouble(jni: Jni, _: Object, what: Object) {
    guarded((), |agent| agent.trouble(&jni.text(what).unwrap_or_default()));
}

/// `static native int testBegins(String framework, String name)`
#[unsafe(no_mangle)]
extern "system" fn Java_java_lang_TamisHooks_testBegins(
    jni: Jni,
    _: Object,
    framework: Object,
    name: Object,
) -> i32 {
    guarded(0, |agent| {
        let (framework, name) = (jni.text(framework), jni.text(name));
        let (Some(framework), Some(name)) = (framework, name) else { return 0 };
        agent.test_begins(jni, &framework, &name).cast_signed()
    })
}

/// `static native void testEnds(int test, boolean failed)`
#[unsafe(no_mangle)]
extern "system" fn Java_java_lang_TamisHooks_testEnds(jni: Jni, _: Object, test: i32, failed: u8) {
    guarded((), |agent| agent.test_ends(jni, test.cast_unsigned(), failed != 0));
}

/// `static native void classEnds(String name)`
#[unsafe(no_mangle)]
extern "system" fn Java_java_lang_TamisHooks_classEnds(jni: Jni, _: Object, name: Object) {
    guarded((), |agent| agent.class_ends(jni, &jni.text(name).unwrap_or_default(), false));
}

/// `static native void entityEnds(String name, boolean failed)`
#[unsafe(no_mangle)]
extern "system" fn Java_java_lang_TamisHooks_entityEnds(
    jni: Jni,
    _: Object,
    name: Object,
    failed: u8,
) {
    guarded((), |agent| {
        agent.class_ends(jni, &jni.text(name).unwrap_or_default(), failed != 0);
    });
}

/// `static native void groupBegins(String framework)`
#[unsafe(no_mangle)]
extern "system" fn Java_java_lang_TamisHooks_groupBegins(jni: Jni, _: Object, framework: Object) {
    guarded((), |agent| agent.group_begins(&jni.text(framework).unwrap_or_default()));
}

/// `static native void groupMember(String framework, String name)`
#[unsafe(no_mangle)]
extern "system" fn Java_java_lang_TamisHooks_groupMember(
    jni: Jni,
    _: Object,
    framework: Object,
    name: Object,
) {
    guarded((), |agent| {
        if let (Some(framework), Some(name)) = (jni.text(framework), jni.text(name)) {
            agent.group_member(jni, &framework, &name);
        }
    });
}

/// `static native void groupEnds(String framework, boolean failed)`
#[unsafe(no_mangle)]
extern "system" fn Java_java_lang_TamisHooks_groupEnds(
    jni: Jni,
    _: Object,
    framework: Object,
    failed: u8,
) {
    guarded((), |agent| {
        agent.group_ends(jni, &jni.text(framework).unwrap_or_default(), failed != 0);
    });
}

/// `static native Object call(Object self, String name, String descriptor)`
#[unsafe(no_mangle)]
extern "system" fn Java_java_lang_TamisHooks_call(
    jni: Jni,
    _: Object,
    on: Object,
    name: Object,
    descriptor: Object,
) -> Object {
    guarded(Object::NULL, |_| {
        let call =
            || jni.call_object(on, &name_text(jni, name)?, &name_text(jni, descriptor)?, &[]);
        call().unwrap_or(Object::NULL)
    })
}

/// `static native Object callWith(Object self, String name, String descriptor, Object[] arguments)`
#[unsafe(no_mangle)]
extern "system" fn Java_java_lang_TamisHooks_callWith(
    jni: Jni,
    _: Object,
    on: Object,
    name: Object,
    descriptor: Object,
    arguments: Object,
) -> Object {
    guarded(Object::NULL, |_| {
        let call = || {
            let (name, descriptor) = (name_text(jni, name)?, name_text(jni, descriptor)?);
            jni.call_object(on, &name, &descriptor, &jni.elements(arguments))
        };
        call().unwrap_or(Object::NULL)
    })
}

/// `static native boolean run(Object self, String name, String descriptor, Object[] arguments)`
#[unsafe(no_mangle)]
extern "system" fn Java_java_lang_TamisHooks_run(
    jni: Jni,
    _: Object,
    on: Object,
    name: Object,
    descriptor: Object,
    arguments: Object,
) -> u8 {
    guarded(0, |_| {
        let run = || {
            let (name, descriptor) = (name_text(jni, name)?, name_text(jni, descriptor)?);
            Some(jni.call_void(on, &name, &descriptor, &jni.elements(arguments)))
        };
        u8::from(run().unwrap_or(false))
    })
}

/// `static native boolean has(Object self, String name, String descriptor)`
#[unsafe(no_mangle)]
extern "system" fn Java_java_lang_TamisHooks_has(
    jni: Jni,
    _: Object,
    on: Object,
    name: Object,
    descriptor: Object,
) -> u8 {
    guarded(0, |_| {
        let found =
            || Some(jni.has_method(on, &name_text(jni, name)?, &name_text(jni, descriptor)?));
        u8::from(found().unwrap_or(false))
    })
}

/// `static native Object field(Object self, String name, String descriptor)`
#[unsafe(no_mangle)]
extern "system" fn Java_java_lang_TamisHooks_field(
    jni: Jni,
    _: Object,
    of: Object,
    name: Object,
    descriptor: Object,
) -> Object {
    guarded(Object::NULL, |_| {
        let value = || jni.field_object(of, &name_text(jni, name)?, &name_text(jni, descriptor)?);
        value().unwrap_or(Object::NULL)
    })
}

/// Names of members as the hooks write them: plain characters.
fn name_text(jni: Jni, name: Object) -> Option<CString> {
    CString::new(jni.text(name)?).ok()
}

/// `static native String goalBegins(int goal, String[] texts, String[] classPath,
/// String[] configuration, String[] folders)`
#[unsafe(no_mangle)]
extern "system" fn Java_java_lang_TamisMaven_goalBegins(
    jni: Jni,
    _: Object,
    goal: i32,
    texts: Object,
    class_path: Object,
    configuration: Object,
    folders: Object,
) -> Object {
    guarded(Object::NULL, |agent| {
        let mut texts = jni.texts(texts).into_iter();
        let mut text = || texts.next().unwrap_or_default();
        // In the order of `TamisMaven.begin`.
        let question = Goal {
            id: goal.cast_unsigned(),
            name: text(),
            execution: text(),
            folder: text(),
            artifact: text(),
            test_classes: text(),
            classes: text(),
            java: Some(text()).filter(|java| !java.is_empty()),
            forks: text(),
            class_path: jni.texts(class_path),
            configuration: pairs(jni.texts(configuration)),
            own_folders: jni.texts(folders).into_iter().filter(|f| !f.is_empty()).collect(),
        };
        match agent.ask(&FromJvm::Goal(question)) {
            Some(ToJvm::Goal { arguments: Some(arguments) }) => {
                jni.string(&arguments).unwrap_or(Object::NULL)
            }
            _ => Object::NULL,
        }
    })
}

pub(crate) fn pairs(texts: Vec<String>) -> Vec<(String, String)> {
    let mut texts = texts.into_iter();
    let mut pairs = Vec::new();
    while let (Some(name), Some(value)) = (texts.next(), texts.next()) {
        pairs.push((name, value));
    }
    pairs
}

/// `static native int[] testsFound(int goal, String[] classes)`
#[unsafe(no_mangle)]
extern "system" fn Java_java_lang_TamisMaven_testsFound(
    jni: Jni,
    _: Object,
    goal: i32,
    classes: Object,
) -> Object {
    guarded(Object::NULL, |agent| {
        let classes = jni.texts(classes);
        let count = classes.len();
        let question = FromJvm::Scanned(Scanned { goal: goal.cast_unsigned(), classes });
        match agent.ask(&question) {
            // An index that is none would be an answer to another question.
            Some(ToJvm::Skip { classes }) if classes.iter().all(|&c| (c as usize) < count) => {
                jni.ints(&classes).unwrap_or(Object::NULL)
            }
            _ => Object::NULL,
        }
    })
}

/// `static native void goalEnds(int goal, String error)`
#[unsafe(no_mangle)]
extern "system" fn Java_java_lang_TamisMaven_goalEnds(
    jni: Jni,
    _: Object,
    goal: i32,
    error: Object,
) {
    guarded((), |agent| {
        let error = jni.text(error);
        let ended = FromJvm::GoalEnded { goal: goal.cast_unsigned(), error };
        if let Some(ToJvm::Files(files)) = agent.ask(&ended) {
            for file in files {
                if let Err(problem) = left_files::write(&file) {
                    agent.trouble(&format!("{} could not be written: {problem}", file.path));
                }
            }
        }
    });
}

/// `static native void asked(int kind, String name)`
#[unsafe(no_mangle)]
extern "system" fn Java_java_lang_TamisLookups_asked(jni: Jni, _: Object, kind: i32, name: Object) {
    guarded((), |agent| {
        if let (Some(kind), Some(name)) = (LookupKind::from_number(kind), jni.text(name)) {
            agent.lookups.name(kind, name);
        }
    });
}

/// `static native void askedJar(String jar, String name)`
#[unsafe(no_mangle)]
extern "system" fn Java_java_lang_TamisLookups_askedJar(
    jni: Jni,
    _: Object,
    jar: Object,
    name: Object,
) {
    guarded((), |agent| {
        if let Some(jar) = jni.text(jar) {
            agent.lookups.in_jar(jar, jni.text(name));
        }
    });
}

/// `static native void variablesListed()`
#[unsafe(no_mangle)]
extern "system" fn Java_java_lang_TamisLookups_variablesListed(_: Jni, _: Object) {
    guarded((), |agent| agent.lookups.all_variables());
}
