//! `go test` by packages: the command line, the packages with what they are built from, and the shim around
//! their test binaries. [`claim`], [`list`], [`GoTest::command`], [`Listing::package_of`], [`shim`] and
//! [`tool_paths`] know Go and nothing of sessions; [`GoFrontend`] puts a session together from them.
//!
//! # Model
//! A package is a unit, as in Go's own cache. What decides about its test is its *build inputs* (facts, see
//! [`Listing`]) and what its test binary and the children of that look at while they run, which the
//! session observes. Selected packages run in one `go test`, whose words are those of the user with another
//! package list and `-exec SHIM`; each test binary is then a child of a shim in the folder of its package.
//!
//! # What `go test` does (tried with Go 1.26)
//! - Output comes in the order of the package list, one package at a time, however many run at once
//!   (`-p`); a pattern stands for its packages as a walk through the folders finds them (`a`, `a/x`, `a-b`).
//!   With `-json`, `-bench`, without a package list, or with `-v` and one package it is streamed instead.
//! - Without a package list (`go test`, the package of the current folder) the test's own `PASS` is
//!   printed, and no `FAIL` at the end; so a command without a list must stay without one.
//! - `-exec` switches Go's own cache of results off: there is no `-test.testlogfile`, so nothing is
//!   saved, and the program's name is part of the key, so nothing is found. `(cached)` never appears. Packages
//!   are compiled from the build cache as always, and vet runs as always.
//! - Go splits the value of `-exec` by rules of its own ([`quoted`]).
//! - The shim gets `BINARY -test.paniconexit0 -test.timeout=10m0s ...`, the folder of the package as
//!   current folder and `PWD`, the environment that go was started with (not the one with go's settings
//!   filled in), `/dev/null` as input, and one pipe for output and errors.
//! - A package without test files is built and checked and reported by `?   P  [no test files]`; no process
//!   runs for it. If it does not compile, go test fails.
//! - A package that does not compile, or that vet refuses, is reported by `FAIL  P [build failed]`, one that
//!   cannot be loaded by `FAIL  P [setup failed]`; no process runs for either, the others run. With `-failfast`
//!   packages behind a failed one are neither run nor reported.
//!   So if go ends with 0, every package without a process has no tests and was built. If it ends with
//!   another code, nothing is known about a package that should have had a process and had none but
//!   that it did not pass.
//! - The exit code is 0, 1 where any package failed, 2 where the command line is refused.
//! - A binary that a signal ended is reported by `signal: killed`; the shim ends by the same signal.
//! - After the timeout plus a minute go sends `SIGQUIT` to the process that it started, and kills it later.
//! - For another system than this one (`GOOS`, `GOARCH`) go looks for a program `go_OS_ARCH_exec`, which
//!   `-exec` would replace: such a command runs as one.
//!
//! # Not seen
//! See [`Listing`]. Besides: `-mod=mod` lets `go list` change `go.mod` and `go.sum`, as `go test` would.

mod ask;
mod build_output;
mod c_sources;
mod command;
mod contents;
mod environment;
mod facts;
mod flags;
mod folders;
mod frontend;
mod language;
mod list;
mod listing;
pub mod quoted;
mod saved_listings;
mod scope;
mod shim;
mod shim_process;
mod structure;
mod tool_paths;
mod whole;

pub use ask::GoError;
pub use command::{Claim, GoTest, claim};
pub use environment::Surroundings;
pub use frontend::GoFrontend;
pub use list::list;
pub use listing::{BuildInput, Listing, Package};
pub use scope::GO;
pub use shim::{Ended, shim};
pub use shim_process::{SHIM_VERB, shim_process};
pub use structure::Moved;
pub use tool_paths::{ToolPath, tool_paths};
