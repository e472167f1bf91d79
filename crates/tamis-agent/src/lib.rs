//! The agent inside a JVM, loaded by `-agentpath`.
//!
//! In a JVM that runs tests it puts a probe into every method of the program ([`instrument`]),
//! hooks the runners of tests to know where a test class begins and ends ([`hooked`],
//! [`open_tests`]), and tells tamis which probes were passed in between, which of them in static
//! initialisers, and which static fields hold something else than at first when a test begins
//! ([`natives_state`]). Where no build tool prepared
//! the JVM, the hooks in runners also ask which test classes need not run, and leave them out. In Maven
//! it hooks the goals that run tests, and nothing else. A JVM that a test starts has probes and no
//! hooks: all that it does belongs to that test ([`natives_children`]).
//!
//! The program comes first: whatever fails here, the JVM runs on as if the agent were not there.
//! Where tamis can still be reached, it gets a report, so that it does not trust what it got; where not,
//! it misses the greeting. Nothing is ever printed: some build tools read a JVM's output.
//!
//! ```text
//! Agent_OnLoad    options, connection, events on
//! VMInit          probes and hook classes into the boot loader, greeting
//! VMInit, last    after all other agents: from here on classes are changed behind them ([`late`])
//! ClassFileLoad   hash, probes, hooks
//! (hooks)         boundaries of tests, questions of build tools
//! VMDeath         what is left, farewell
//! ```

mod agent;
mod classes;
mod fstat;
mod hello;
mod hooked;
mod instrument;
mod jdk;
mod jvm;
mod late;
mod left_files;
mod link;
mod load;
mod lookups;
mod natives;
mod natives_children;
mod natives_launcher;
mod natives_methods;
mod natives_state;
mod open_tests;
mod prepared;
mod probes;

use agent::{Agent, guarded};
use jdk::Jdk;
use jvm::jvmti::{Callbacks, Capability, Event};
use jvm::{Jni, Jvmti, Object, Vm};
use link::Link;
use load::Offer;
use std::ffi::{CStr, c_char, c_void};
use std::panic::catch_unwind;
use tamis_jvm_wire::{Options, Role};

/// The classes of `java/`, compiled; in the order in which they can be defined.
const CLASSES: [(&CStr, &[u8]); 21] = [
    (c"java/lang/TamisMarks", include_bytes!("../java/classes/java/lang/TamisMarks.class")),
    (c"java/lang/TamisRunners", include_bytes!("../java/classes/java/lang/TamisRunners.class")),
    (c"java/lang/TamisTestng", include_bytes!("../java/classes/java/lang/TamisTestng.class")),
    (c"java/lang/TamisMaven", include_bytes!("../java/classes/java/lang/TamisMaven.class")),
    (c"java/lang/TamisLoaders", include_bytes!("../java/classes/java/lang/TamisLoaders.class")),
    (c"java/lang/TamisUnits", include_bytes!("../java/classes/java/lang/TamisUnits.class")),
    (c"java/lang/TamisLauncher", include_bytes!("../java/classes/java/lang/TamisLauncher.class")),
    (c"java/lang/TamisMethods", include_bytes!("../java/classes/java/lang/TamisMethods.class")),
    (c"java/lang/TamisEntity", include_bytes!("../java/classes/java/lang/TamisEntity.class")),
    (c"java/lang/TamisAnt", include_bytes!("../java/classes/java/lang/TamisAnt.class")),
    (c"java/lang/TamisChildren", include_bytes!("../java/classes/java/lang/TamisChildren.class")),
    (c"java/lang/TamisGlobals", include_bytes!("../java/classes/java/lang/TamisGlobals.class")),
    (c"java/lang/TamisLookups", include_bytes!("../java/classes/java/lang/TamisLookups.class")),
    (
        c"java/lang/TamisCoverage$Known",
        include_bytes!("../java/classes/java/lang/TamisCoverage$Known.class"),
    ),
    (c"java/lang/TamisCoverage", include_bytes!("../java/classes/java/lang/TamisCoverage.class")),
    (
        c"java/lang/TamisHeap$Layout",
        include_bytes!("../java/classes/java/lang/TamisHeap$Layout.class"),
    ),
    (
        c"java/lang/TamisHeap$Layouts",
        include_bytes!("../java/classes/java/lang/TamisHeap$Layouts.class"),
    ),
    (c"java/lang/TamisHeap", include_bytes!("../java/classes/java/lang/TamisHeap.class")),
    (
        c"java/lang/TamisState$Known",
        include_bytes!("../java/classes/java/lang/TamisState$Known.class"),
    ),
    (c"java/lang/TamisState", include_bytes!("../java/classes/java/lang/TamisState.class")),
    (c"java/lang/TamisHooks", include_bytes!("../java/classes/java/lang/TamisHooks.class")),
];

/// What the JVM calls first. Anything but zero would end it.
#[unsafe(no_mangle)]
extern "system" fn Agent_OnLoad(vm: *mut c_void, options: *const c_char, _: *mut c_void) -> i32 {
    // A panic would print to the program's output.
    std::panic::set_hook(Box::new(|_| {}));
    let _ = catch_unwind(|| start(Vm(vm), options));
    0
}

fn start(vm: Vm, options: *const c_char) -> Option<()> {
    if options.is_null() {
        return None;
    }
    // SAFETY: the JVM gives a text that ends with NUL.
    let options = unsafe { CStr::from_ptr(options) };
    let options = Options::parse(options.to_str().ok()?).ok()?;
    let link = Link::connect(&options.socket).ok()?;
    let jvmti = vm.jvmti()?;
    let jdk = match options.role {
        Role::Build | Role::Outcomes => None,
        Role::Tests | Role::Launched | Role::Child(_) => Some(Jdk::prepare(vm, on_jdk_class).ok()?),
    };
    // Without events there is no greeting, and tamis knows.
    let agent = Agent::install(jvmti, jdk, options, link)?;
    let _ = agent.late.in_vm(vm);
    listen(agent).ok()
}

fn listen(agent: &Agent) -> Result<(), String> {
    let jvmti = agent.jvmti;
    jvmti.add_capabilities(&[Capability::AllClassHookEvents])?;
    jvmti.set_callbacks(&Callbacks {
        vm_init: Some(on_vm_init),
        vm_death: Some(on_vm_death),
        class_file_load_hook: Some(on_class_file_load),
        class_prepare: Some(on_class_prepare),
        ..Callbacks::NONE
    })?;
    for event in [Event::VmInit, Event::VmDeath, Event::ClassFileLoadHook] {
        jvmti.enable(event)?;
    }
    if agent.watches_code() {
        jvmti.enable(Event::ClassPrepare)?;
    }
    Ok(())
}

extern "system" fn on_vm_init(_: *mut c_void, jni: Jni, _: Object) {
    guarded((), |agent| {
        let defined = define_classes(agent, jni);
        let blind = match (&agent.jdk, &defined) {
            (Some(jdk), Ok(())) => jdk.watch(jni),
            _ => Vec::new(),
        };
        agent.greet(hello::hello(jni, agent.options.role, blind));
        if let Err(problem) = defined {
            agent.trouble(&problem);
        }
        // Without it the first environment goes on.
        let _ = agent.late.await_others(on_last_vm_init);
    });
}

/// After this the program's classes can be changed.
fn define_classes(agent: &Agent, jni: Jni) -> Result<(), String> {
    let mut reader = None;
    let is_java_8 = jni.find_class(c"jdk/internal/misc/Unsafe").is_none();
    for (name, bytes) in CLASSES {
        let is_reader = name.to_bytes() == probes::FAMILY.as_bytes();
        let class = if is_reader && is_java_8 {
            jni.define_boot_class(name, &probes::for_java_8(bytes))
        } else {
            jni.define_boot_class(name, bytes)
        };
        let class =
            class.ok_or_else(|| format!("{} could not be defined", name.to_string_lossy()))?;
        if is_reader {
            reader = jni.global(class);
        }
    }
    let string = jni.find_class(c"java/lang/String").and_then(|class| jni.global(class));
    let hooks = jni.find_class(c"java/lang/TamisLookups").and_then(|class| jni.global(class));
    if let (Some(hooks), Some(string)) = (hooks, string) {
        agent.lookups.listen(hooks, string);
    } else {
        return Err("the hooks' classes were not found".to_owned());
    }
    let platform = hello::platform_loader(jni).and_then(|loader| jni.global(loader));
    let platform = platform.ok_or("the platform class loader was not found")?;
    let _ = agent.platform_loader.set(platform);
    // Last: methods with probes also have hooks.
    match reader {
        Some(reader) if agent.watches_code() => agent.probes.read_by(jni, reader),
        _ => Ok(()),
    }
}

extern "system" fn on_vm_death(_: *mut c_void, jni: Jni) {
    guarded((), |agent| agent.farewell(jni));
}

/// A class of the program, as its loader gave it.
extern "system" fn on_class_file_load(
    jvmti: Jvmti,
    jni: Jni,
    redefined: Object,
    loader: Object,
    name: *const c_char,
    _: Object,
    length: i32,
    bytes: *const u8,
    new_length: *mut i32,
    new_bytes: *mut *mut u8,
) {
    // The JDK's own classes: nothing to do, and the most frequent.
    if loader.is_null() {
        return;
    }
    guarded((), |agent| {
        fstat::on_class();
        // SAFETY: what the JVM gives to this event.
        let (name, bytes) = unsafe { (text(name), slice(bytes, length)) };
        let offer = Offer { jni, redefined, loader, name, bytes };
        if let Some(changed) = load::on_original(agent, offer) {
            // SAFETY: as above.
            unsafe { replace(agent, jvmti, &changed, new_length, new_bytes) };
        }
    });
}

/// A class of the program, as other agents leave it.
extern "system" fn on_class_behind_others(
    jvmti: Jvmti,
    jni: Jni,
    redefined: Object,
    loader: Object,
    name: *const c_char,
    _: Object,
    length: i32,
    bytes: *const u8,
    new_length: *mut i32,
    new_bytes: *mut *mut u8,
) {
    if loader.is_null() {
        return;
    }
    guarded((), |agent| {
        // SAFETY: what the JVM gives to this event.
        let (name, bytes) = unsafe { (text(name), slice(bytes, length)) };
        let offer = Offer { jni, redefined, loader, name, bytes };
        if let Some(changed) = load::on_class(agent, offer) {
            // SAFETY: as above.
            unsafe { replace(agent, jvmti, &changed, new_length, new_bytes) };
        }
    });
}

extern "system" fn on_class_prepare(jvmti: Jvmti, jni: Jni, _: Object, class: Object) {
    guarded((), |agent| agent.prepared.on_class(jvmti, jni, class));
}

/// All agents of the command line have begun.
extern "system" fn on_last_vm_init(_: *mut c_void, _: Jni, _: Object) {
    guarded((), |agent| {
        let _ = agent.late.begin(on_class_behind_others);
    });
}

/// A class of the JDK that is being changed, or that comes later.
extern "system" fn on_jdk_class(
    jvmti: Jvmti,
    _: Jni,
    redefined: Object,
    loader: Object,
    name: *const c_char,
    _: Object,
    length: i32,
    bytes: *const u8,
    new_length: *mut i32,
    new_bytes: *mut *mut u8,
) {
    if !loader.is_null() {
        return;
    }
    // SAFETY: what the JVM gives to this event.
    let (name, bytes) = unsafe { (text(name).unwrap_or_default(), slice(bytes, length)) };
    if redefined.is_null() && !jdk::comes_late(name) {
        return;
    }
    guarded((), |agent| {
        match agent.jdk.as_ref().map(|jdk| jdk.on_class(name, bytes)) {
            // SAFETY: as above.
            Some(Ok(Some(changed))) => unsafe {
                replace(agent, jvmti, &changed, new_length, new_bytes);
            },
            Some(Err(problem)) => {
                let name = String::from_utf8_lossy(name);
                agent.trouble(&format!("{name} could not be watched: {problem}"));
            }
            Some(Ok(None)) | None => {}
        }
    });
}

/// # Safety
/// Null or a text that ends with NUL.
unsafe fn text<'t>(text: *const c_char) -> Option<&'t [u8]> {
    // SAFETY: not null, so it ends with NUL.
    (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_bytes())
}

/// # Safety
/// That many bytes are there.
unsafe fn slice<'b>(bytes: *const u8, length: i32) -> &'b [u8] {
    match usize::try_from(length) {
        // SAFETY: as above.
        Ok(length) if !bytes.is_null() => unsafe { std::slice::from_raw_parts(bytes, length) },
        _ => &[],
    }
}

/// Gives the JVM other bytes for a class, in memory that it owns.
///
/// # Safety
/// Both places are those of the event.
unsafe fn replace(
    agent: &Agent,
    jvmti: Jvmti,
    changed: &[u8],
    new_length: *mut i32,
    new_bytes: *mut *mut u8,
) {
    let (Ok(length), Some(copy)) = (i32::try_from(changed.len()), jvmti.copy(changed)) else {
        agent.trouble("the JVM has no memory for a changed class");
        return;
    };
    // SAFETY: as above.
    unsafe {
        *new_length = length;
        *new_bytes = copy;
    }
}
