//! Test classes and test methods inside commands that start JVMs: `tamis mvn test`, `tamis ant test`.
//!
//! The JVMs of a command get our agent (`MAVEN_OPTS` for Maven's own, the fork's arguments for those that
//! run tests; no build file is touched), and each test class is a test of its own:
//!
//! 1. Before a test goal starts its JVM, the agent in Maven reports the goal, its class path and the test
//!    classes that it found ([`goal`]). The model asks for a decision about each of them and answers which
//!    ones need not run; with none left, no JVM is started.
//! 2. The agent in the JVM of the tests reports which classes and methods each test class used
//!    ([`tamis_dynamic`]), the tracer which files ([`tamis_observe::SplitObserver`]).
//! 3. As soon as both are known, the record of that test class is written ([`model`]).
//!
//! Other launchers (`tamis java`, `tamis ant`, `tamis gradle`): the runner in the JVM asks itself, so that
//! the first step happens there ([`launch`], `model/runner_scope.rs`).
//!
//! What the command as a whole relied on then is what it looked at itself, and what the test classes
//! that were skipped had looked at. What is Maven's, Surefire's, Ant's or Gradle's stays in this crate.

mod agent_arguments;
mod always_run;
mod claim;
pub mod commands;
mod configuration;
mod coverage;
mod covered;
pub mod doctor;
mod environment;
mod goal;
mod jacoco;
mod kept_coverage;
mod kept_reports;
mod launch;
mod methods;
mod model;
mod saved_goals;
mod scope;
mod sources;
mod static_strategy;
mod surefire_reports;
mod test_sources;
mod unbuilt;

pub use claim::JvmFrontend;
pub use surefire_reports::failures;
