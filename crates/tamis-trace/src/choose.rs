//! Which engine a run gets.

use crate::Engine;
use crate::ebpf::{self, Ebpf};
use crate::notify::Notify;
#[cfg(target_arch = "x86_64")]
use crate::patch::Patch;
use crate::ptrace::Ptrace;

/// An engine, and whether it can work here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    pub name: &'static str,
    /// Why not, and what to do about it.
    pub available: Result<(), String>,
}

struct Entry {
    name: &'static str,
    available: fn() -> Result<(), String>,
    make: fn() -> Box<dyn Engine>,
}

/// The best first.
const ENGINES: &[Entry] = &[
    Entry { name: "ebpf", available: ebpf::available, make: || Box::new(Ebpf::default()) },
    Entry { name: "notify", available: Notify::available, make: || Box::new(Notify) },
    // Cheaper than the one before, which works wherever it does: only for those who ask for it. What
    // somebody else removes in the moment between a read and our look at the log is not noticed.
    #[cfg(target_arch = "x86_64")]
    Entry { name: "patch", available: Patch::available, make: || Box::new(Patch) },
    Entry { name: "ptrace", available: Ptrace::available, make: || Box::new(Ptrace) },
];

/// All engines, the best first.
pub fn engines() -> Vec<Candidate> {
    ENGINES.iter().map(|e| Candidate { name: e.name, available: (e.available)() }).collect()
}

/// The engine of this name; for "auto" the best that works here.
pub fn choose(name: &str) -> Result<Box<dyn Engine>, String> {
    if name != "auto" {
        let entry = ENGINES.iter().find(|e| e.name == name).ok_or_else(|| {
            let known: Vec<&str> = ENGINES.iter().map(|e| e.name).collect();
            format!("no engine is called {name:?}; choose auto, {}", known.join(" or "))
        })?;
        return match (entry.available)() {
            Ok(()) => {
                tracing::info!(engine = name, "engine: asked for by name");
                Ok((entry.make)())
            }
            Err(why) => Err(format!("the {name} engine does not work here: {why}")),
        };
    }
    let mut reasons = Vec::new();
    for entry in ENGINES {
        match (entry.available)() {
            Ok(()) => {
                tracing::info!(engine = entry.name, "engine: the first that works");
                return Ok((entry.make)());
            }
            Err(why) => {
                tracing::info!(engine = entry.name, why, "engine: does not work here");
                reasons.push(format!("{}: {why}", entry.name));
            }
        }
    }
    Err(format!("no engine works here; {}", reasons.join("; ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn auto_takes_the_first_that_works() {
        let first = engines().into_iter().find(|c| c.available.is_ok());
        match (choose("auto"), first) {
            (Ok(engine), Some(first)) => assert_eq!(engine.name(), first.name),
            (Err(why), None) => assert!(why.contains("notify: ") && why.contains("ptrace: ")),
            (chosen, first) => panic!("{chosen:?} against {first:?}"),
        }
    }

    #[test]
    fn names_are_those_of_the_engines() {
        for entry in ENGINES {
            assert_eq!((entry.make)().name(), entry.name);
        }
    }

    #[test]
    fn an_unknown_name_lists_the_known_ones() {
        let why = choose("strace").unwrap_err();
        assert!(why.contains("\"strace\"") && why.contains("notify") && why.contains("auto"));
    }
}
