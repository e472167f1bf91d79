//! The places of the JDK where a program asks by name, and how they are watched.
//!
//! The classes are there before the agent can do anything, so they are retransformed once, by an
//! environment of their own that stays on: when another agent retransforms one of them, the JVM
//! starts from the original and asks again. A retransformation may not add methods; a call at the
//! start of one is allowed.
//!
//! What is not seen: questions that native code of the JDK answers without any of these methods
//! (`Class.getSuperclass`, `isAssignableFrom`, `getModifiers`), loaders that find classes without
//! `ClassLoader.loadClass`, and jars that are opened as a file system.

use crate::hooked::Hook;
use crate::instrument;
use crate::jvm::jvmti::{Callbacks, Capability, Event, OnClass};
use crate::jvm::{Jni, Jvmti, Vm};
use std::ffi::CStr;
use std::sync::{Mutex, PoisonError};
use tamis_classfile::ClassFile;
use tamis_classfile::rewrite::Argument;

const LOOKUPS: &str = "java/lang/TamisLookups";
const CHILDREN: &str = "java/lang/TamisChildren";

/// A method to be watched, known by the start of its descriptor.
#[derive(Debug)]
struct Place {
    class: &'static CStr,
    method: &'static str,
    parameters: &'static str,
    hook: &'static str,
    arguments: &'static [Argument<'static>],
    /// In every JDK that is known; without it something is missed.
    expected: bool,
}

const fn place(
    class: &'static CStr,
    method: &'static str,
    parameters: &'static str,
    hook: &'static str,
    arguments: &'static [Argument<'static>],
) -> Place {
    Place { class, method, parameters, hook, arguments, expected: true }
}

/// Only in some JDKs, or never reached without another place.
const fn perhaps(place: Place) -> Place {
    Place { expected: false, ..place }
}

const CLASS: &CStr = c"java/lang/Class";
const LOADER: &CStr = c"java/lang/ClassLoader";
const ZIP: &CStr = c"java/util/zip/ZipFile";
const JAR: &CStr = c"java/util/jar/JarFile";
const ENVIRONMENT: &CStr = c"java/lang/ProcessEnvironment";
const SYSTEM: &CStr = c"java/lang/System";
const FRAME: &CStr = c"java/lang/StackTraceElement";
/// What it finds by name is not listed by reflection.
const HANDLES: &CStr = c"java/lang/invoke/MethodHandles$Lookup";
/// Comes late, and is not made to come.
const ZONE: &CStr = c"java/util/TimeZone";
/// Loads native code, which may read the environment by itself.
const RUNTIME: &CStr = c"java/lang/Runtime";
/// Calls native code; comes late.
const LINKER: &CStr = c"jdk/internal/foreign/abi/SharedUtils";
const FIRST: &[Argument<'static>] = &[Argument::Local(0)];
const SECOND: &[Argument<'static>] = &[Argument::Local(1)];
const THIRD: &[Argument<'static>] = &[Argument::Local(2)];
const BOTH: &[Argument<'static>] = &[Argument::Local(0), Argument::Local(1)];

const IN_CLASS: &str = "(Ljava/lang/Class;Ljava/lang/String;";

const PLACES: [Place; 55] = [
    place(CLASS, "forName", "(Ljava/lang/String;)", "classNamed", FIRST),
    place(CLASS, "forName", "(Ljava/lang/String;ZLjava/lang/ClassLoader;)", "classNamed", FIRST),
    perhaps(place(CLASS, "forName", "(Ljava/lang/String;Ljava/lang/Class;)", "classNamed", FIRST)),
    perhaps(place(CLASS, "forName", "(Ljava/lang/Module;", "classNamed", SECOND)),
    place(LOADER, "loadClass", "(Ljava/lang/String;)", "classNamed", SECOND),
    perhaps(place(LOADER, "loadClass", "(Ljava/lang/Module;", "classNamed", THIRD)),
    place(CLASS, "privateGetDeclaredFields", "(Z)", "classReflected", FIRST),
    place(CLASS, "privateGetPublicFields", "(", "classReflected", FIRST),
    place(CLASS, "privateGetDeclaredConstructors", "(Z)", "classReflected", FIRST),
    place(CLASS, "privateGetDeclaredMethods", "(Z)", "classReflected", FIRST),
    place(CLASS, "privateGetPublicMethods", "()", "classReflected", FIRST),
    place(CLASS, "getDeclaredClasses", "()", "classReflected", FIRST),
    perhaps(place(CLASS, "getRecordComponents", "()", "classReflected", FIRST)),
    perhaps(place(CLASS, "getNestMembers", "()", "classReflected", FIRST)),
    place(CLASS, "reflectionData", "()", "classMet", FIRST),
    place(CLASS, "annotationData", "()", "classMet", FIRST),
    place(CLASS, "getGenericInfo", "()", "classMet", FIRST),
    place(CLASS, "getEnclosingMethodInfo", "()", "classMet", FIRST),
    place(CLASS, "getDeclaringClass", "()", "classMet", FIRST),
    perhaps(place(CLASS, "isRecord", "()", "classMet", FIRST)),
    perhaps(place(CLASS, "getPermittedSubclasses", "()", "classMet", FIRST)),
    perhaps(place(CLASS, "isSealed", "()", "classMet", FIRST)),
    perhaps(place(CLASS, "getNestHost", "()", "classMet", FIRST)),
    place(ZIP, "getEntry", "(Ljava/lang/String;", "entryNamed", BOTH),
    perhaps(place(JAR, "getVersionedEntry", "(Ljava/lang/String;", "entryNamed", BOTH)),
    place(ZIP, "entries", "()", "entriesListed", FIRST),
    place(ZIP, "stream", "()", "entriesListed", FIRST),
    perhaps(place(ZIP, "entryNameStream", "()", "entriesListed", FIRST)),
    place(JAR, "entries", "()", "entriesListed", FIRST),
    place(JAR, "stream", "()", "entriesListed", FIRST),
    perhaps(place(JAR, "versionedStream", "()", "entriesListed", FIRST)),
    place(ENVIRONMENT, "getenv", "(Ljava/lang/String;)", "variableNamed", FIRST),
    place(ENVIRONMENT, "getenv", "()", "variablesListed", &[]),
    place(ENVIRONMENT, "environment", "()", "variablesListed", &[]),
    place(RUNTIME, "load0", "(Ljava/lang/Class;", "nativeLoaded", SECOND),
    place(RUNTIME, "loadLibrary0", "(Ljava/lang/Class;", "nativeLoaded", SECOND),
    perhaps(place(LINKER, "getSystemLinker", "()", "variablesListed", &[])),
    place(SYSTEM, "getProperty", "(Ljava/lang/String;", "propertyNamed", FIRST),
    place(SYSTEM, "getProperties", "()", "propertiesListed", &[]),
    place(CLASS, "getProtectionDomain", "()", "placeAsked", FIRST),
    place(FRAME, "getLineNumber", "()", "linesAsked", &[]),
    place(HANDLES, "findVirtual", IN_CLASS, "classSearched", SECOND),
    place(HANDLES, "findStatic", IN_CLASS, "classSearched", SECOND),
    place(HANDLES, "findSpecial", IN_CLASS, "classSearched", SECOND),
    place(HANDLES, "findConstructor", "(Ljava/lang/Class;", "classSearched", SECOND),
    place(HANDLES, "findGetter", IN_CLASS, "classSearched", SECOND),
    place(HANDLES, "findSetter", IN_CLASS, "classSearched", SECOND),
    place(HANDLES, "findStaticGetter", IN_CLASS, "classSearched", SECOND),
    place(HANDLES, "findStaticSetter", IN_CLASS, "classSearched", SECOND),
    perhaps(place(HANDLES, "findVarHandle", IN_CLASS, "classSearched", SECOND)),
    perhaps(place(HANDLES, "findStaticVarHandle", IN_CLASS, "classSearched", SECOND)),
    place(HANDLES, "bind", "(Ljava/lang/Object;Ljava/lang/String;", "objectSearched", SECOND),
    perhaps(place(HANDLES, "defineHiddenClass", "([B", "hiddenClassMade", SECOND)),
    perhaps(place(HANDLES, "defineHiddenClassWithClassData", "([B", "hiddenClassMade", SECOND)),
    perhaps(place(ZONE, "setDefault", "(Ljava/util/TimeZone;)", "zoneIsSet", &[])),
];

const CLASSES: [&CStr; 9] = [CLASS, LOADER, ZIP, JAR, ENVIRONMENT, RUNTIME, SYSTEM, FRAME, HANDLES];

fn find(class: &[u8], name: &[u8], descriptor: &[u8]) -> Option<usize> {
    PLACES.iter().position(|place| {
        place.class.to_bytes() == class
            && place.method.as_bytes() == name
            && descriptor.starts_with(place.parameters.as_bytes())
    })
}

/// Where processes are started. The class is not there before the first is, and making it come early
/// would fix how processes are started before the program could say it.
const PROCESS: &[u8] = b"java/lang/ProcessImpl";

pub(crate) fn comes_late(class: &[u8]) -> bool {
    class == PROCESS || class == ZONE.to_bytes() || class == LINKER.to_bytes()
}

fn hook_of(class: &[u8], name: &[u8], descriptor: &[u8]) -> Option<Hook> {
    if class == PROCESS {
        let starts = name == b"start" && descriptor.starts_with(b"([Ljava/lang/String;");
        let kind = "[Ljava/lang/String;";
        let hook = Hook::Replace { owner: CHILDREN, name: "command", kind };
        return starts.then_some(hook);
    }
    let place = &PLACES[find(class, name, descriptor)?];
    Some(Hook::AtStart { owner: LOOKUPS, name: place.hook, arguments: place.arguments })
}

/// The environment that changes the JDK's classes, and which places it found.
#[derive(Debug)]
pub(crate) struct Jdk {
    jvmti: Jvmti,
    found: Mutex<[bool; PLACES.len()]>,
}

impl Jdk {
    /// To be called before the JVM runs: only then can capabilities be had for sure.
    pub(crate) fn prepare(vm: Vm, on_class: OnClass) -> Result<Self, String> {
        let jvmti = vm.jvmti().ok_or("the JVM gives no second environment")?;
        jvmti.add_capabilities(&[Capability::RetransformClasses])?;
        let callbacks = Callbacks { class_file_load_hook: Some(on_class), ..Callbacks::NONE };
        jvmti.set_callbacks(&callbacks)?;
        Ok(Self { jvmti, found: Mutex::new([false; PLACES.len()]) })
    }

    /// Puts the hooks in; gives what could not be watched.
    pub(crate) fn watch(&self, jni: Jni) -> Vec<String> {
        let mut blind = Vec::new();
        blind.extend(self.jvmti.enable(Event::ClassFileLoadHook).err());
        let classes: Vec<_> = CLASSES.iter().filter_map(|name| jni.find_class(name)).collect();
        // All in one step: the JVM stops the program for each.
        blind.extend(self.jvmti.retransform(&classes).err());
        let found = *self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let missing = PLACES.iter().zip(found).filter(|(place, found)| place.expected && !found);
        blind.extend(missing.map(|(place, _)| {
            format!("{}.{}{}", place.class.to_string_lossy(), place.method, place.parameters)
        }));
        blind
    }

    /// The changed bytes of a class that is being retransformed; `None` for all but a few.
    pub(crate) fn on_class(&self, name: &[u8], bytes: &[u8]) -> Result<Option<Vec<u8>>, String> {
        if !comes_late(name) && CLASSES.iter().all(|class| class.to_bytes() != name) {
            return Ok(None);
        }
        let changed = instrument::hook(bytes, hook_of)?;
        let class = ClassFile::parse(bytes).map_err(|error| error.to_string())?;
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        for method in &class.methods {
            if let Some(index) = find(class.name, method.name, method.descriptor) {
                found[index] = true;
            }
        }
        Ok(changed)
    }
}
