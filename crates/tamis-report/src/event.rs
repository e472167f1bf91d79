//! What happens in a call, as it happens, and who shows it.
//!
//! The runner reports [`Event`]s and prints nothing. Reporters turn them into text, JSON, XML or
//! Markdown; each is given the place that it writes to.

use crate::model::{Mode, RunReport, TestReport};
use std::io;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tamis_core::{Notice, Notices, Step, TestKey};

/// A bare command is shown otherwise than many tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    Command,
    Suites,
}

#[derive(Debug)]
pub enum Event<'a> {
    /// What was decided about all tests, before any of them runs.
    Planned {
        tests: &'a [TestReport],
        mode: Mode,
    },
    /// So many tests are going to run; `collected` if their output is kept until they end.
    Running {
        tests: usize,
        shape: Shape,
        collected: bool,
        /// How long that took when they last ran; `None` where it is not known of each.
        expected: Option<Duration>,
    },
    /// About a test inside a command.
    Inside(Step<'a>),
    Started {
        key: &'a TestKey,
    },
    /// Time passes.
    Tick,
    /// What a test printed, where it was collected.
    Output {
        bytes: &'a [u8],
    },
    /// A test ended, with the units inside it that were distinguished.
    Finished {
        test: &'a TestReport,
        inside: &'a [TestReport],
    },
    Noticed(&'a Notice),
    /// Nothing runs any more; the summary comes.
    Stopped,
    Summary {
        report: &'a RunReport,
        shape: Shape,
    },
}

/// Shows events.
pub trait Reporter: Send {
    fn event(&mut self, event: &Event<'_>) -> io::Result<()>;

    /// Whether the user asked for it by name, so that a call without it is a failure.
    fn is_required(&self) -> bool {
        false
    }
}

/// All reporters of a call.
pub struct Reporters(Mutex<Vec<Box<dyn Reporter>>>);

impl std::fmt::Debug for Reporters {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Reporters")
    }
}

impl Reporters {
    pub fn new(all: Vec<Box<dyn Reporter>>) -> Self {
        Self(Mutex::new(all))
    }

    /// Shows an event everywhere. A closed terminal or pipe does not end the tests; only what the user
    /// asked for by name is an error. Another file that cannot be written is a warning.
    pub fn emit(&self, event: &Event<'_>) -> io::Result<()> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut failures = Vec::new();
        for reporter in all.iter_mut() {
            let required = reporter.is_required();
            failures.extend(reporter.event(event).err().map(|error| (required, error)));
        }
        drop(all);
        for (required, error) in failures {
            match error.kind() {
                _ if required => return Err(error),
                io::ErrorKind::Other => self.warn(error.to_string()),
                _ => {}
            }
        }
        Ok(())
    }
}

impl Notices for Reporters {
    fn notice(&self, notice: Notice) {
        let _ = self.emit(&Event::Noticed(&notice));
    }

    fn step(&self, step: Step<'_>) {
        let _ = self.emit(&Event::Inside(step));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    struct Recording(Arc<Mutex<Vec<String>>>, bool, bool);

    impl Reporter for Recording {
        fn event(&mut self, event: &Event<'_>) -> io::Result<()> {
            self.0.lock().unwrap().push(format!("{event:?}"));
            if self.1 { Err(io::ErrorKind::BrokenPipe.into()) } else { Ok(()) }
        }

        fn is_required(&self) -> bool {
            self.2
        }
    }

    #[test]
    fn a_reporter_that_fails_does_not_keep_the_others_from_showing() {
        let (broken, good) = (Arc::default(), Arc::default());
        let reporters = Reporters::new(vec![
            Box::new(Recording(Arc::clone(&broken), true, false)),
            Box::new(Recording(Arc::clone(&good), false, false)),
        ]);
        assert!(reporters.emit(&Event::Tick).is_ok());
        reporters.remark("x".into());
        assert_eq!(broken.lock().unwrap().len(), 2);
        assert_eq!(good.lock().unwrap().len(), 2);
    }

    #[test]
    fn only_what_was_asked_for_is_an_error() {
        let required = Reporters::new(vec![Box::new(Recording(Arc::default(), true, true))]);
        assert!(required.emit(&Event::Tick).is_err());
    }
}
