//! pytest: each test function by itself.
//!
//! 1. [`PytestFrontend`] takes a command line that runs pytest (`words`). Its processes get a folder by
//!    PYTHONPATH (`plugin_files`), in which a `sitecustomize` waits until pytest is imported; nothing is
//!    installed, and no file of the user is touched. An interpreter that does not take PYTHONPATH does not
//!    notice any of it: everything runs as one command then, which is reported.
//! 2. The plugin (`src/plugin`) collects as ever, asks which of the tests need to run, and reports for each
//!    one that ran what it used: windows of the tracer and of functions, and modules (`messages`).
//! 3. [`model`](model::PytestModel) makes records of that. Sources of the project count by what their syntax
//!    trees say (`fingerprint`): the body of each function, and a module without them. All other files count
//!    as the tracer saw them.
//!
//! 4. Where coverage is measured, what each test covered is kept with its record (`kept_coverage`), and given back
//!    to coverage.py for those that do not run.
//!
//! 5. What each test left in the process is kept, too (`left`): a test that leaves more than before puts tests back that
//!    were left out.
//!
//! 6. Test files need not be imported whose tests are all proven and whose import does nothing for others (`collection`).
//!
//! What is not seen: docs/python.md.

mod changed;
mod collection;
mod fingerprint;
mod frontend;
mod kept_coverage;
mod left;
mod messages;
mod model;
#[cfg(test)]
mod native;
mod plugin_files;
mod scope;
mod sources;
mod windows;
mod words;

pub use frontend::PytestFrontend;
pub use words::concerns_pytest;
