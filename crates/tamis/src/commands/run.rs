//! `tamis`, `tamis COMMAND`, `tamis run`, `tamis record`.

use crate::args::Options;
use crate::context::Context;
use anyhow::Result;
use std::ffi::OsString;

/// Runs a command, or the suites where there is none.
pub(crate) fn run(options: &Options, words: &[OsString]) -> Result<i32> {
    let context = Context::for_runs(options)?;
    let code = match words {
        [] => tamis_runner::suites(context.call()),
        words => tamis_runner::command(context.call(), words),
    };
    tamis_shared::push_after(&context.project, options.common.offline, context.call().notices());
    code
}
