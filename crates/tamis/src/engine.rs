//! The engine that a command line and the settings ask for.

use crate::args::{EngineName, Options};
use anyhow::{Result, anyhow};
use tamis_settings::Settings;
use tamis_trace::Engine;

/// The name by which the tracer knows it.
fn name(options: &Options, settings: &Settings) -> &'static str {
    use tamis_settings::Engine as Set;
    match (options.engine, settings.engine) {
        (Some(EngineName::Notify), _) | (None, Set::Notify) => "notify",
        (Some(EngineName::Ebpf), _) | (None, Set::Ebpf) => "ebpf",
        (Some(EngineName::Ptrace), _) | (None, Set::Ptrace) => "ptrace",
        (Some(EngineName::Auto), _) | (None, Set::Auto) => "auto",
    }
}

pub(crate) fn choose(options: &Options, settings: &Settings) -> Result<Box<dyn Engine>> {
    let mut name = name(options, settings);
    // Rules by program need to know who asks at the moment of the call.
    if name == "auto" && settings.rules.iter().any(|r| r.program.is_some()) {
        name = "notify";
    }
    tamis_trace::choose::choose(name).map_err(|why| anyhow!(why))
}
