//! The environment that changes the program's classes, behind all other agents.
//!
//! An agent such as JaCoCo knows a class by a checksum of the bytes that it is offered, so it has to be
//! offered those of the class loader. The JVM offers a class first to environments that cannot
//! retransform, then to those that can, each in the order in which they were made. Agents in Java make
//! theirs when they are loaded or in their `premain`, which runs when the JVM reports that it is there
//! (`VMInit`). So ours is made after that, and can retransform:
//!
//! ```text
//! Agent_OnLoad     the environment that sees the original bytes
//! VMInit           all agents are loaded: a second one, whose VMInit comes behind theirs
//! VMInit, its own  all `premain`s have returned: a third one, which changes classes from here on
//! ```
//!
//! Classes that come before that (those of the other agents) are changed by the first environment. An
//! agent that is attached to the running JVM and retransforms comes behind ours: it sees the probes.

use crate::jvm::jvmti::{Callbacks, Capability, Event, OnClass, OnVm};
use crate::jvm::{Jvmti, Vm};
use std::sync::OnceLock;

#[derive(Debug, Default)]
pub(crate) struct Late {
    vm: OnceLock<Vm>,
    /// The environment that is called when all other agents have begun.
    last: OnceLock<Jvmti>,
    /// Set once classes are changed by the environment behind all others.
    writes: OnceLock<Jvmti>,
}

impl Late {
    pub(crate) fn in_vm(&self, vm: Vm) -> Result<(), Vm> {
        self.vm.set(vm)
    }

    /// Whether classes are changed behind all other agents, not by the first environment.
    pub(crate) fn writes(&self) -> bool {
        self.writes.get().is_some()
    }

    fn environment(&self) -> Option<Jvmti> {
        self.vm.get().copied().and_then(Vm::jvmti)
    }

    /// The JVM is there, and calls one agent after the other: makes an environment that is called last.
    pub(crate) fn await_others(&self, on_last: OnVm) -> Option<()> {
        let last = self.environment()?;
        let callbacks = Callbacks { vm_init: Some(on_last), ..Callbacks::NONE };
        last.set_callbacks(&callbacks).ok()?;
        last.enable(Event::VmInit).ok()?;
        self.last.set(last).ok()
    }

    /// Makes the environment that changes classes. Without it the first one goes on.
    pub(crate) fn begin(&self, on_class: OnClass) -> Option<()> {
        let late = self.environment()?;
        late.add_capabilities(&[Capability::RetransformClasses]).ok()?;
        late.set_callbacks(&Callbacks { class_file_load_hook: Some(on_class), ..Callbacks::NONE })
            .ok()?;
        late.enable(Event::ClassFileLoadHook).ok()?;
        self.writes.set(late).ok()
    }
}
