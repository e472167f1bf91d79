//! Classes as they are loaded.
//!
//! The environment that listens here cannot retransform classes. Such environments come first: the
//! bytes are those that the class loader gave, before other agents change them, as long as this
//! agent stands before them on the command line. When another agent retransforms a class, the JVM
//! starts from what came out here, probes included, and does not ask again. Only a redefinition,
//! which brings new bytes, comes here a second time.
//!
//! Classes of the boot and the platform loader are the JDK: they are neither reported nor changed.
//! Hidden classes are not offered by the JVM.

use crate::agent::Agent;
use crate::hooked;
use crate::instrument::{self, Probed};
use crate::jvm::{Jni, Object};
use tamis_classfile::ClassFile;
use tamis_classfile::mutf8;
use tamis_jvm_wire::{ClassSeen, Role};
use xxhash_rust::xxh3::xxh3_128;

/// A class that the JVM offers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Offer<'b> {
    pub(crate) jni: Jni,
    /// The class itself, if it is there already.
    pub(crate) redefined: Object,
    pub(crate) loader: Object,
    pub(crate) name: Option<&'b [u8]>,
    pub(crate) bytes: &'b [u8],
}

/// The bytes that the JVM shall use instead.
pub(crate) fn on_class(agent: &Agent, offer: Offer<'_>) -> Option<Vec<u8>> {
    if offer.loader.is_null() {
        return None;
    }
    match agent.options.role {
        Role::Tests | Role::Launched => on_class_of_tests(agent, offer, hooked::of_tests),
        Role::Child(_) => on_class_of_tests(agent, offer, |_, _, _| None),
        Role::Build => {
            let name = offer.name.filter(|name| hooked::in_build(name))?;
            hook_alone(agent, offer, name, hooked::of_build)
        }
        Role::Outcomes => {
            agent.class_seen(ClassSeen {
                name: name_of(offer),
                hash: 0,
                size: 0,
                first_probe: 0,
                probes: 0,
                problem: None,
            });
            let name = offer.name.filter(|name| hooked::may_be_in_tests(name, offer.bytes))?;
            hook_alone(agent, offer, name, hooked::of_tests)
        }
    }
}

fn hook_alone(
    agent: &Agent,
    offer: Offer<'_>,
    name: &[u8],
    hook_of: instrument::HookOf,
) -> Option<Vec<u8>> {
    // The hooks' classes are there once the loader is known.
    agent.platform_loader.get()?;
    match instrument::hook(offer.bytes, hook_of) {
        Ok(bytes) => bytes,
        Err(problem) => {
            agent.trouble(&format!("{} could not be hooked: {problem}", mutf8::decode(name)));
            None
        }
    }
}

fn on_class_of_tests(
    agent: &Agent,
    offer: Offer<'_>,
    hook_of: instrument::HookOf,
) -> Option<Vec<u8>> {
    let platform = agent.platform_loader.get();
    if platform.is_some_and(|&platform| offer.jni.same(platform, offer.loader)) {
        return None;
    }
    if !offer.redefined.is_null() {
        return on_redefinition(agent, offer, hook_of);
    }
    let result = if agent.probes.ready() {
        instrument::probe(offer.bytes, hook_of, |count| agent.probes.take(offer.jni, count))
    } else {
        Err("loaded before the agent was ready".to_owned())
    };
    let name = name_of(offer);
    let (probed, problem) = match result {
        Ok(probed) => (probed, None),
        Err(problem) => (Probed::default(), Some(problem)),
    };
    if probed.bytes.is_some() {
        agent.prepared.await_class(&name, offer.bytes);
        agent.classes.remember_methods(&name, &probed.methods, probed.first);
        let class = (name.clone(), agent.jvmti.identity(offer.loader));
        agent.classes.remember(class, probed.first, probed.probes);
    }
    agent.class_seen(ClassSeen {
        name,
        hash: xxh3_128(offer.bytes),
        size: u32::try_from(offer.bytes.len()).unwrap_or(u32::MAX),
        first_probe: probed.first,
        probes: probed.probes,
        problem,
    });
    probed.bytes
}

/// The same methods keep their ids. Anything else would be counted for the wrong method.
fn on_redefinition(
    agent: &Agent,
    offer: Offer<'_>,
    hook_of: instrument::HookOf,
) -> Option<Vec<u8>> {
    let name = name_of(offer);
    let class = (name, agent.jvmti.identity(offer.loader));
    let result = instrument::probe(offer.bytes, hook_of, |count| {
        if count == 0 { Ok(0) } else { agent.classes.again(&class, count) }
    });
    match result {
        Ok(probed) => probed.bytes,
        Err(problem) => {
            let name = mutf8::decode(&class.0);
            agent.trouble(&format!("{name} was redefined and is not watched any more: {problem}"));
            None
        }
    }
}

/// The JVM does not always know it before it has read the bytes.
fn name_of(offer: Offer<'_>) -> Vec<u8> {
    match offer.name {
        Some(name) => name.to_vec(),
        None => ClassFile::parse(offer.bytes).map(|class| class.name.to_vec()).unwrap_or_default(),
    }
}
