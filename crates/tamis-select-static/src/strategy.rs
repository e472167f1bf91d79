//! Selection for a runner that asks before it runs and tells afterwards: the two calls that a hook in
//! a build tool needs.
//!
//! ```text
//! decide(module, tests, settings, level)          before: for each test class, skip or run, with the reason
//!   ... the runner runs what was selected ...
//! record(module, settings, state, finished, level)    after: who finished, and who of them passed
//! ```
//!
//! * The module says where its classes are: test classes, classes, the rest of the classpath in its
//!   order, and what else all tests depend on (JDK, options of the JVM). The state folder is in the
//!   settings. Both calls must get the same.
//! * The tests are the classes that the runner would run, by binary name. A name without a class file
//!   is to run: nothing is known of it. Other test classes of the module are left as they are.
//! * `decide` writes nothing. The two calls may be made by different processes: what connects them is
//!   [`Decisions::state`], one value for everything that the tests could see when it was decided.
//! * `record` looks at the classes again. Where they are not what they were, somebody compiled while
//!   the tests ran, it is not known what they saw, and nothing is written.
//! * Only tests that finished get a new proof: in `finished`, with whether they passed. A skipped
//!   test's proof is carried to the new state, because skipping it was the claim that it holds there.
//!   Every other test keeps what it had: a run that was cut loses nothing.
//!
//! Names that the runner knows and class files do not (a factory's tests, dynamic tests) belong to the
//! class that it reports them for.

use crate::definitions::TestModule;
use crate::lock::Lock;
use crate::method_level::{self, MethodLevel};
use crate::select::{Reason, Session, StaticSettings, TestDecision};
use std::collections::BTreeMap;
use std::io;
use tamis_core::Hash;

/// What to do with each test class.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decisions {
    /// In the order in which they were asked for.
    pub tests: Vec<TestDecision>,
    /// For [`record`].
    pub state: Hash,
    /// Worth telling the user.
    pub notes: Vec<String>,
}

/// What [`record`] did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Recorded {
    Written,
    /// The classes are not what they were when it was decided.
    ClassesChanged,
    /// Not everything on the classpath can be read.
    Blind,
}

/// Decides about the test classes that a runner is about to run; by the graph of types, or at method
/// level.
pub fn decide(
    module: &TestModule,
    tests: &[String],
    settings: &StaticSettings,
    level: Option<&MethodLevel>,
) -> Decisions {
    let mut session = Session::open(module, settings);
    let missing = session.add_tests(tests);
    let decided = match level {
        None => session.select(),
        Some(level) => method_level::select(&mut session, module, level),
    };
    let mut found: BTreeMap<String, Option<Reason>> =
        decided.into_iter().map(|d| (d.name, d.run)).collect();
    let unknown = || Reason::Unknown { why: "no class file of this name was found".into() };
    found.extend(missing.into_iter().map(|name| (name, Some(unknown()))));
    let tests = tests
        .iter()
        .map(|name| TestDecision {
            name: name.clone(),
            // Every name is either found or missing; should one be neither, it runs.
            run: found.get(name).cloned().unwrap_or_else(|| Some(unknown())),
        })
        .collect();
    let notes =
        session.definitions.blind.iter().chain(&session.definitions.notes).cloned().collect();
    Decisions { tests, state: session.digest(), notes }
}

/// Writes down which tests finished, with whether they passed, in the state in which it was decided.
pub fn record(
    module: &TestModule,
    settings: &StaticSettings,
    state: Hash,
    finished: &BTreeMap<String, bool>,
    level: Option<&MethodLevel>,
) -> io::Result<Recorded> {
    let _lock = Lock::take(&settings.state, || {})?;
    let mut session = Session::open(module, settings);
    if session.digest() != state {
        return Ok(Recorded::ClassesChanged);
    }
    let names: Vec<String> = finished.keys().cloned().collect();
    session.add_tests(&names);
    if level.is_some() {
        // Only those that finished: what was skipped at method level proves nothing.
        if !session.record_finished(finished)? {
            return Ok(Recorded::Blind);
        }
        return Ok(match method_level::keep(&session, module)? {
            true => Recorded::Written,
            false => Recorded::ClassesChanged,
        });
    }
    let decisions = session.select();
    Ok(match session.record(&decisions, finished)? {
        true => Recorded::Written,
        false => Recorded::Blind,
    })
}
