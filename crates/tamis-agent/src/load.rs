//! Classes as they are loaded.
//!
//! A class comes by twice: first as its loader gives it ([`on_original`]), then as other agents leave it
//! ([`on_class`]), on the same thread; in between, what these agents do may load others. The first bytes
//! are those that count, the probes go into the second ([`crate::late`] says why). Before the
//! environment behind the others is there, both are one.
//!
//! When another agent retransforms a class, the JVM starts from what came to [`on_class`] and asks
//! again: the same methods get the same probes. So it is with a redefinition, which brings new bytes.
//!
//! Classes of the boot and the platform loader are the JDK: they are neither reported nor changed.
//! Hidden classes are not offered by the JVM.

use crate::agent::Agent;
use crate::classes::Known;
use crate::hooked;
use crate::instrument::{self, Probed};
use crate::jvm::{Jni, Object};
use std::cell::RefCell;
use tamis_classfile::ClassFile;
use tamis_classfile::mutf8;
use tamis_jvm_wire::{ClassSeen, Role};

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

thread_local! {
    /// Classes that this thread has seen as their loaders give them and not yet as others leave them.
    static ORIGINALS: RefCell<Vec<(Vec<u8>, Vec<u8>)>> = const { RefCell::new(Vec::new()) };
}

/// A class as its loader gives it.
pub(crate) fn on_original(agent: &Agent, offer: Offer<'_>) -> Option<Vec<u8>> {
    if !agent.late.writes() {
        return on_class(agent, offer);
    }
    if !offer.redefined.is_null() {
        let known = agent.classes.again(&key_of(agent, offer)).ok()?;
        let hooks = hooks_of(agent.options.role);
        return known.is_early.then(|| redefined(agent, offer, hooks, Ok(known)))?;
    }
    if agent.watches_code() && !is_of_the_platform(agent, offer) {
        let class = (name_of(offer), offer.bytes.to_vec());
        let _ = ORIGINALS.try_with(|originals| originals.borrow_mut().push(class));
    }
    None
}

/// The bytes of a class as its loader gave them; those of now if they did not come by.
fn original_of(offer: Offer<'_>) -> Vec<u8> {
    let name = name_of(offer);
    let found = ORIGINALS.try_with(|originals| {
        let mut originals = originals.borrow_mut();
        let at = originals.iter().rposition(|(other, _)| *other == name)?;
        // Those behind it were begun inside of it, and did not come this far.
        originals.truncate(at + 1);
        originals.pop().map(|(_, bytes)| bytes)
    });
    found.ok().flatten().unwrap_or_else(|| offer.bytes.to_vec())
}

fn hooks_of(role: Role) -> instrument::HookOf {
    match role {
        Role::Tests | Role::Launched | Role::Outcomes => hooked::of_tests,
        Role::Build => hooked::of_build,
        Role::Child(_) => |_, _, _| None,
    }
}

/// A class as other agents leave it: the bytes that the JVM shall use instead.
pub(crate) fn on_class(agent: &Agent, offer: Offer<'_>) -> Option<Vec<u8>> {
    if offer.loader.is_null() {
        return None;
    }
    let hooks = hooks_of(agent.options.role);
    match agent.options.role {
        Role::Tests | Role::Launched | Role::Child(_) => on_class_of_tests(agent, offer, hooks),
        Role::Build => {
            let name = offer.name.filter(|name| hooked::in_build(name))?;
            hook_alone(agent, offer, name, hooks)
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
            hook_alone(agent, offer, name, hooks)
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

fn is_of_the_platform(agent: &Agent, offer: Offer<'_>) -> bool {
    let platform = agent.platform_loader.get();
    platform.is_some_and(|&platform| offer.jni.same(platform, offer.loader))
}

fn key_of(agent: &Agent, offer: Offer<'_>) -> (Vec<u8>, i32) {
    (name_of(offer), agent.jvmti.identity(offer.loader))
}

fn on_class_of_tests(
    agent: &Agent,
    offer: Offer<'_>,
    hook_of: instrument::HookOf,
) -> Option<Vec<u8>> {
    if is_of_the_platform(agent, offer) {
        return None;
    }
    if !offer.redefined.is_null() {
        let known = agent.classes.again(&key_of(agent, offer));
        // The first environment takes care of those that it changed.
        let is_early = known.as_ref().is_ok_and(|known| known.is_early);
        let is_done = is_early && agent.late.writes();
        return (!is_done).then(|| redefined(agent, offer, hook_of, known))?;
    }
    let original = original_of(offer);
    let is_early = !agent.late.writes();
    let result = if agent.probes.ready() {
        instrument::probe(offer.bytes, &original, hook_of, |methods| {
            let first = agent.probes.take(offer.jni, methods.len() as u32)?;
            Ok(Known::new(first, methods, is_early))
        })
    } else {
        Err("loaded before the agent was ready".to_owned())
    };
    remembered(agent, offer, &original, result)
}

/// Remembers a new class, and reports it.
fn remembered(
    agent: &Agent,
    offer: Offer<'_>,
    original: &[u8],
    result: Result<Probed, String>,
) -> Option<Vec<u8>> {
    let name = name_of(offer);
    let (bytes, (first_probe, probes), problem) = match result {
        Ok(Probed { bytes, known, methods }) => {
            let ids = known.ids();
            if bytes.is_some() {
                agent.prepared.await_class(&name, original);
            }
            agent.classes.remember_methods(&name, &methods, ids.0);
            agent.classes.remember(key_of(agent, offer), known);
            (bytes, ids, None)
        }
        Err(problem) => (None, (0, 0), Some(problem)),
    };
    agent.class_seen(ClassSeen {
        name,
        hash: tamis_classfile::content_hash(original),
        size: u32::try_from(original.len()).unwrap_or(u32::MAX),
        first_probe,
        probes,
        problem,
    });
    bytes
}

/// The same methods keep their ids. Anything else would be counted for the wrong method.
fn redefined(
    agent: &Agent,
    offer: Offer<'_>,
    hook_of: instrument::HookOf,
    known: Result<Known, String>,
) -> Option<Vec<u8>> {
    let none = || Known::new(0, &[], false);
    let result = instrument::probe(offer.bytes, offer.bytes, hook_of, |methods| {
        if methods.is_empty() { Ok(none()) } else { known }
    });
    match result {
        Ok(probed) => probed.bytes,
        Err(problem) => {
            let name = name_of(offer);
            let name = mutf8::decode(&name);
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
