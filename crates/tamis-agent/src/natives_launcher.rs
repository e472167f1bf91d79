//! The native methods of the hooks in runners that were not prepared.

use crate::agent::guarded;
use crate::jvm::{Jni, Object};
use tamis_jvm_wire::{Candidate, FromJvm, Launch, Role, ToJvm};

/// `static native boolean launched()`
#[unsafe(no_mangle)]
extern "system" fn Java_java_lang_TamisLauncher_launched(_: Jni, _: Object) -> u8 {
    guarded(0, |agent| u8::from(agent.options.role == Role::Launched))
}

/// `static native int openTests()`
#[unsafe(no_mangle)]
extern "system" fn Java_java_lang_TamisLauncher_openTests(_: Jni, _: Object) -> i32 {
    // Where that is not known, something may be open.
    guarded(1, |agent| i32::try_from(agent.open_tests()).unwrap_or(i32::MAX))
}

/// `static native boolean launchBegins(String folder, String[] classPath, String[] properties,
/// String[] ownFolders, boolean otherTask, String unknown)`
#[unsafe(no_mangle)]
extern "system" fn Java_java_lang_TamisUnits_launchBegins(
    jni: Jni,
    _: Object,
    folder: Object,
    class_path: Object,
    properties: Object,
    own_folders: Object,
    other_task: u8,
    unknown: Object,
) -> u8 {
    guarded(0, |agent| {
        let question = FromJvm::Launch(Launch {
            folder: jni.text(folder).unwrap_or_default(),
            class_path: jni.texts(class_path),
            properties: crate::natives::pairs(jni.texts(properties)),
            own_folders: jni.texts(own_folders),
            other_task: other_task != 0,
            unknown: jni.text(unknown),
        });
        u8::from(matches!(agent.ask(&question), Some(ToJvm::Goal { arguments: Some(_) })))
    })
}

/// `static native String choose(String[] names, String[] choices, String needed)`
#[unsafe(no_mangle)]
extern "system" fn Java_java_lang_TamisUnits_choose(
    jni: Jni,
    _: Object,
    names: Object,
    choices: Object,
    needed: Object,
) -> Object {
    guarded(Object::NULL, |agent| {
        let needed = jni.text(needed).filter(|text| !text.is_empty());
        let candidates: Vec<Candidate> = jni
            .texts(names)
            .into_iter()
            .zip(jni.texts(choices))
            .map(|(class, choice)| Candidate { class, choice, needed: needed.clone() })
            .collect();
        let count = candidates.len();
        match agent.ask(&FromJvm::Choose(candidates)) {
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

/// `static native void outsideAnew()`
#[unsafe(no_mangle)]
extern "system" fn Java_java_lang_TamisAnt_outsideAnew(_: Jni, _: Object) {
    guarded((), crate::agent::Agent::outside_anew);
}

/// `static native String agentArgument()`
#[unsafe(no_mangle)]
extern "system" fn Java_java_lang_TamisAnt_agentArgument(jni: Jni, _: Object) -> Object {
    guarded(Object::NULL, |agent| {
        if agent.options.role != Role::Launched {
            return Object::NULL;
        }
        let ours = |argument: &String| {
            argument.starts_with("-agentpath:") && argument.contains(&agent.options.token)
        };
        let argument = crate::hello::vm_arguments(jni).into_iter().find(ours);
        argument.and_then(|argument| jni.string(&argument)).unwrap_or(Object::NULL)
    })
}
