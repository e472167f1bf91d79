//! The engine that a command line and the settings ask for.

use crate::cases::Case;
use crate::options::EngineName;
use anyhow::{Result, anyhow};
use tamis_core::{RecordSummary, Taint};
use tamis_settings::Settings;
use tamis_trace::{Engine, Untraced};

/// The name by which the tracer knows it.
fn name(asked: Option<EngineName>, settings: &Settings) -> &'static str {
    use tamis_settings::Engine as Set;
    match (asked, settings.engine) {
        (Some(EngineName::Notify), _) | (None, Set::Notify) => "notify",
        (Some(EngineName::Patch), _) | (None, Set::Patch) => "patch",
        (Some(EngineName::Ebpf), _) | (None, Set::Ebpf) => "ebpf",
        (Some(EngineName::Ptrace), _) | (None, Set::Ptrace) => "ptrace",
        (Some(_), _) | (None, Set::Auto) => "auto",
    }
}

/// The engines of one run.
///
/// With `auto`, the cheapest one that works is taken. eBPF hears of a change after it was made: a
/// test that reads a file and rewrites it at once cannot be observed completely by it. Such a test
/// gets an engine that stops the process the next time, and a build gets one at once: builds do that
/// all the time, and where the tests inside it begin and end is exact then: also where an engine is
/// asked for that does not stop at each call.
/// A run that records nothing is not observed at all.
#[derive(Debug)]
pub(crate) struct Engines {
    usual: Option<Box<dyn Engine>>,
    exact: Option<Box<dyn Engine>>,
}

impl Engines {
    /// Engines that observe nothing.
    pub(crate) fn none() -> Self {
        Self { usual: Some(Box::new(Untraced)), exact: None }
    }

    /// Makes what these tests, given with their newest records, need.
    pub(crate) fn new<'r>(
        asked: Option<EngineName>,
        settings: &Settings,
        tests: impl IntoIterator<Item = (&'r Case, Option<&'r RecordSummary>)>,
    ) -> Result<Self> {
        let mut name = name(asked, settings);
        // Rules by program need to know who asks at the moment of the call.
        if name == "auto" && settings.rules.iter().any(|r| r.program.is_some()) {
            name = "notify";
        }
        let choose = |name| tamis_trace::choose::choose(name).map_err(|why| anyhow!(why));
        let (mut usual, mut exact) = (None, None);
        for (case, newest) in tests {
            let has_units_inside = case.claim.is_some();
            let stop = match name {
                "auto" => must_stop(case, newest),
                "ebpf" | "patch" => has_units_inside,
                _ => false,
            };
            let place = if stop { &mut exact } else { &mut usual };
            if place.is_none() {
                *place = Some(if stop {
                    choose("notify").or_else(|_| choose("ptrace"))?
                } else {
                    choose(name)?
                });
            }
        }
        Ok(Self { usual, exact })
    }

    /// The engine for a test with this newest record.
    pub(crate) fn of(&self, case: &Case, newest: Option<&RecordSummary>) -> &dyn Engine {
        let exact = self.exact.as_deref().filter(|_| must_stop(case, newest));
        exact.or(self.usual.as_deref()).expect("made for every selected test")
    }
}

/// Whether the processes have to stop at each call for the test to be observed completely.
fn must_stop(case: &Case, newest: Option<&RecordSummary>) -> bool {
    case.claim.is_some() || was_too_quick(newest)
}

/// Whether the test changed something before an engine that hears of it afterwards could look.
fn was_too_quick(newest: Option<&RecordSummary>) -> bool {
    newest.is_some_and(|record| {
        ["ebpf", "patch"].contains(&record.engine.as_str())
            && record
                .taints
                .iter()
                .any(|t| matches!(t, Taint::ChangedBeforeSeen(_) | Taint::Unstable(_)))
    })
}
