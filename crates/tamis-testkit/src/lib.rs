//! What the tests of the other crates share. Nothing of this is in the tool that users get.
//!
//! | module | what a test gets |
//! | --- | --- |
//! | [`project`] | a project in a folder of its own, outside of the temp folder, with a home and a cache of its own |
//! | [`ended`] | how a call of `tamis` ended: its streams, its JSON lines, its decisions |
//! | [`call`] | the same for a command that runs test classes: which ran, why, and which did not |
//! | [`maven`] | a project whose command is `mvn`, offline; poms |
//! | [`runner`] | a project of Java sources that are compiled here and run by a runner of tests |
//! | [`java`] | JDKs, compiled sources (kept between test runs), jars |
//! | [`schema`] | whether a line of `tamis --json` is as the published schema says |
//! | [`tools`] | programs of the machine, copies of folders |
//! | [`needs`] | what to say where a test cannot be tried |
//! | [`random`] | the generator of all property tests that are not proptest's, seeded by `TAMIS_SEED` |
//!
//! Everything panics with a message where it cannot go on: the caller is a test. What is *missing on
//! this machine* does not panic: see [`needs`].

pub mod call;
pub mod ended;
pub mod java;
pub mod maven;
pub mod needs;
pub mod place;
pub mod project;
pub mod random;
pub mod runner;
pub mod schema;
pub mod tools;

pub use call::{Call, simple};
pub use ended::{Decided, Ended, ended, ended_with_input, wait_for};
pub use java::{
    Jdk, Sources, artifact, class_files, classpath_of, figure, jars, jdk, jdks, unpacked,
};
pub use needs::{found, has, need, not_here, not_tried};
pub use project::Project;
pub use random::{Random, for_each_seed, rounds};
pub use tools::{copy_tree, python};
